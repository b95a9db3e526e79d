//! A guest's process: its start, its environment, and its end.

use crate::confinement::Confinement;
use crate::start_error::{LastWords, StartError, NO_PROCESS, REFUSED};
use crate::{environment, sys, Ending, Input, Kernel};
use scratch::Scratch;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The device's number among those of virtio, which has none for PCI: as in the kernel's configuration.
const DEVICE: u32 = 1234;

/// Wall time, in ms, that a kernel may take before its first message.
const START_MS: i32 = 30_000;
/// Wall time, in ms, between two looks whether it has ended.
const START_LOOK_MS: i32 = 100;

/// Costs of a guest's kernel, in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// A system call.
    pub syscall: u32,
    /// An interrupt.
    pub interrupt: u32,
    /// A change from one process to another.
    pub context_switch: u32,
    /// An IP packet, in or out.
    pub packet: u32,
    /// Each 1,024 bytes copied between kernel and process.
    pub copied_kb: u32,
    /// A reading of the clock; at least 1.
    pub clock: u32,
}

/// Length of a kernel's command line, unless paths of the computer's are longer. Programs may read it (insmod
/// does), and its copy is charged.
const COMMAND_LINE: usize = 1024;
/// Option without a meaning that makes it so long.
const PADDING: &str = "bench.padding=";

/// Place in a guest of the libraries of [`Task::libraries`] (linux/init/init.c). A loader takes more memory
/// for longer paths, by system calls; so a run would depend on where the bench is installed.
pub const LIBRARIES: &str = "/run/lib";

/// Kernel, program and memory of a guest.
#[derive(Clone, Debug)]
pub struct Task {
    /// Its number among all guests: `node0` is number 0.
    pub number: u32,
    /// Number of guests.
    pub guests: u32,
    /// Its memory, in MB.
    pub memory_mb: u32,
    /// Seed of its random numbers.
    pub seed: u64,
    /// Costs of its kernel.
    pub costs: Costs,
    /// Date of its calendar when it boots, in ns since 1970.
    pub date: u64,
    /// Start of the program, by the guest's clock in ns; later if the guest is not ready by then.
    pub begins: u64,
    /// True if it has a device.
    pub device: bool,
    /// The program, and its arguments.
    pub arguments: Vec<OsString>,
    /// Variables that its program is given: name and value; of two of a name the last one holds.
    pub variables: Vec<(OsString, OsString)>,
    /// Its working folder.
    pub folder: PathBuf,
    /// Folder of this computer that stands at [`LIBRARIES`] in the guest.
    pub libraries: Option<PathBuf>,
    /// Its standard input.
    pub input: Input,
    /// Preparations before the program begins.
    pub setup: Setup,
}

/// Preparations of a guest before its program begins, and before its interfaces work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Setup {
    /// Modules that its kernel loads, each with its options.
    pub modules: Vec<(PathBuf, String)>,
    /// Files that are written then: path and contents.
    pub files: Vec<(PathBuf, String)>,
    /// Files of the guest that are kept when its program has ended.
    pub kept: Vec<PathBuf>,
    /// True if what libraries tell observers by the kernel's own system call is kept.
    pub log: bool,
}

/// Files that a guest has left.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// Contents of the file that [`Setup::log`] asks for.
    pub log: Option<Vec<u8>>,
    /// Contents of the files of [`Setup::kept`], with the guest's time in ns; none if a file did not exist,
    /// or the guest did not come to its end.
    pub files: Vec<Option<(u64, Vec<u8>)>>,
}

/// A guest's process, with its folder.
pub(crate) struct Process {
    child: Child,
    folder: Scratch,
    clock: UnixListener,
    device: Option<UnixListener>,
    /// Output files of the program; their positions are behind the bytes already read.
    outputs: [File; 2],
    /// Files of what has been typed so far.
    typed: u64,
    /// Number of files that are kept.
    kept: usize,
}

impl Process {
    pub fn start(kernel: &Kernel, task: &Task) -> Result<Process, StartError> {
        // In memory if possible: each write of its program blocks the simulator.
        let folder = Scratch::new("guest-", &scratch::in_memory()).map_err(StartError::Folder)?;
        Process::start_in(folder, kernel, task).map_err(StartError::Process)
    }

    fn start_in(folder: Scratch, kernel: &Kernel, task: &Task) -> io::Result<Process> {
        let at = folder.path();
        let clock = UnixListener::bind(at.join("clock"))?;
        let device = task.device.then(|| UnixListener::bind(at.join("device"))).transpose()?;
        fs::write(at.join("program"), task.fields())?;
        if let Input::All(bytes) = &task.input {
            fs::write(at.join("stdin"), bytes)?;
        }
        let output = |name: &str| -> io::Result<File> {
            File::create(at.join(name))?;
            File::open(at.join(name))
        };
        let outputs = [output("stdout")?, output("stderr")?];
        if task.setup.log {
            File::create(at.join("log"))?;
        }
        let console = File::create(at.join("console"))?;
        let mut command = Command::new(kernel.program());
        command
            .args(task.options(kernel, at))
            .env_clear()
            .env("SUNSTAR_SEED", task.seed.to_string())
            // Where it may write (linux/kernel/read_only.h); its memory is a file there, too.
            .env("SUNSTAR_FOLDER", at)
            .env("TMPDIR", at)
            // The kernel keeps its processor's registers; wider ones than it knows of are not for its C
            // library.
            .env("GLIBC_TUNABLES", "glibc.cpu.hwcaps=-AVX512F")
            .env("HOME", at)
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(console.try_clone()?)
            .stderr(console);
        let confinement = Confinement::to(at)?;
        // SAFETY: between fork and exec, only calls of the system that take numbers, or memory of this
        // process.
        unsafe {
            command.pre_exec(move || {
                sys::fixed_addresses()?;
                confinement.enter()
            })
        };
        let child = command.spawn()?;
        Ok(Process { child, clock, device, outputs, folder, typed: 0, kept: task.setup.kept.len() })
    }

    /// Waits for the kernel's connection.
    pub fn accept_clock(&mut self) -> Result<UnixStream, StartError> {
        for _ in 0..START_MS / START_LOOK_MS {
            match sys::poll(&[Some(self.clock.as_raw_fd())], START_LOOK_MS) {
                Ok(Some(_)) => {
                    let accepted = self.clock.accept().map(|(socket, _)| socket);
                    return accepted.map_err(StartError::Refused);
                }
                Ok(None) if matches!(self.child.try_wait(), Ok(None)) => {}
                Ok(None) => return Err(StartError::Ended(self.last_words())),
                Err(why) => return Err(self.broken(why)),
            }
        }
        Err(StartError::Silent(self.last_words()))
    }

    /// Socket at which the kernel connects to its device.
    pub fn device_listener(&self) -> Option<i32> {
        self.device.as_ref().map(|listener| listener.as_raw_fd())
    }
    pub fn accept_device(&mut self) -> io::Result<UnixStream> {
        let listener = self.device.take().ok_or_else(|| io::Error::other("it has no device"))?;
        listener.accept().map(|(socket, _)| socket)
    }

    fn console(&self) -> String {
        let console = fs::read(self.folder.path().join("console")).unwrap_or_default();
        String::from_utf8_lossy(&console).into_owned()
    }

    /// Ending of a guest whose program has failed, if this computer has refused its kernel a process.
    pub fn refused(&self, status: i32) -> Option<Ending> {
        let refused = status != 0 && self.console().contains(REFUSED);
        let why = || format!("was refused a process by this computer{NO_PROCESS}");
        refused.then(|| Ending::Lost(why()))
    }

    /// Sentence with the kernel's last output, if there is any.
    pub fn why(&self, what: &str) -> String {
        format!("{what}{}", self.last_words())
    }

    /// The kernel's last output.
    pub fn last_words(&self) -> LastWords {
        LastWords::of(&self.console())
    }

    /// A connection to the kernel fails.
    pub fn broken(&self, why: io::Error) -> StartError {
        StartError::Connection { why, last: self.last_words() }
    }

    /// Processor time of the guest and of its programs so far, in ms.
    pub fn processor_ms(&self) -> u64 {
        // SAFETY: a call that takes a number.
        let per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) }.max(1) as u64;
        members(self.child.id()).map(|(_, ticks)| ticks * 1000 / per_second).sum()
    }

    pub fn take_output(&mut self) -> io::Result<[Vec<u8>; 2]> {
        let mut written = [Vec::new(), Vec::new()];
        for (file, to) in self.outputs.iter_mut().zip(&mut written) {
            file.read_to_end(to)?;
        }
        Ok(written)
    }

    /// Files that it has left, after its end.
    pub fn kept(&self) -> Kept {
        let read = |name: &str| fs::read(self.folder.path().join(name)).ok();
        let file = |number: usize| {
            let bytes = read(&format!("kept.{number}"))?;
            let end = bytes.iter().position(|byte| *byte == b'\n')?;
            let time = std::str::from_utf8(&bytes[..end]).ok()?.parse().ok()?;
            Some((time, bytes[end + 1..].to_vec()))
        };
        Kept { log: read("log"), files: (0..self.kept).map(file).collect() }
    }

    /// Lets its first program have what was typed: a file for each time.
    pub fn type_in(&mut self, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let new = self.folder.path().join("typed.new");
        fs::write(&new, bytes)?;
        fs::rename(new, self.folder.path().join(format!("typed.{}", self.typed)))?;
        self.typed += 1;
        Ok(())
    }

    /// Ends all of its processes.
    pub fn end(&mut self) {
        let programs: Vec<u32> = members(self.child.id()).map(|(pid, _)| pid).collect();
        // The kernel's first: it traces the others, and would tell them what to do.
        let _ = self.child.kill();
        programs.into_iter().filter(|pid| *pid != self.child.id()).for_each(sys::kill);
        let _ = self.child.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

/// Processes of the session that a guest is: number, and ticks of the processor's time.
fn members(session: u32) -> impl Iterator<Item = (u32, u64)> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(move |entry| {
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        let text = fs::read_to_string(entry.path().join("stat")).ok()?;
        // Behind the name, which may have anything in it (proc(5)): state, parent, group, session, ...
        let mut fields = text.rsplit_once(')')?.1.split_whitespace();
        let of: u32 = fields.nth(3)?.parse().ok()?;
        let (user, system): (u64, u64) =
            (fields.nth(7)?.parse().ok()?, fields.next()?.parse().ok()?);
        (of == session).then_some((pid, user + system))
    })
}

impl Task {
    /// Fields that the guest's first program reads (linux/init/init.c).
    fn fields(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut put = |field: &OsStr| {
            bytes.extend_from_slice(field.as_bytes());
            bytes.push(0);
        };
        put(self.number.to_string().as_ref());
        put(self.guests.to_string().as_ref());
        put(self.begins.to_string().as_ref());
        put(self.folder.as_os_str());
        put(self.libraries.as_ref().map_or(OsStr::new(""), |folder| folder.as_os_str()));
        let (input, rows, columns) = match &self.input {
            Input::Nothing => ("nothing", 0, 0),
            Input::All(_) => ("all", 0, 0),
            Input::Terminal { rows, columns, .. } => ("terminal", *rows, *columns),
        };
        put(input.as_ref());
        put(rows.to_string().as_ref());
        put(columns.to_string().as_ref());
        put(self.arguments.len().to_string().as_ref());
        self.arguments.iter().for_each(|argument| put(argument));
        let variables = environment::of_program(&self.variables);
        put(variables.len().to_string().as_ref());
        for (name, value) in &variables {
            let mut both = name.clone();
            both.push("=");
            both.push(value);
            put(&both);
        }
        for pairs in [&self.setup.modules, &self.setup.files] {
            put((2 * pairs.len()).to_string().as_ref());
            for (path, text) in pairs {
                put(path.as_os_str());
                put(text.as_ref());
            }
        }
        put(self.setup.kept.len().to_string().as_ref());
        self.setup.kept.iter().for_each(|path| put(path.as_os_str()));
        bytes
    }

    /// Options of the kernel's command line.
    fn options(&self, kernel: &Kernel, folder: &Path) -> Vec<OsString> {
        let Costs { syscall, interrupt, context_switch, packet, copied_kb, clock } = self.costs;
        let path = |name: &str, path: &Path| {
            let mut option = OsString::from(name);
            option.push(path);
            option
        };
        // The kernel parts its command line at spaces.
        let mut init = path("init=\"", &kernel.init());
        init.push("\"");
        let mut options = vec![
            path("time-travel=ext:", &folder.join("clock")),
            format!("mem={}M", self.memory_mb).into(),
            "rootfstype=hostfs".into(),
            "rootflags=/".into(),
            "ro".into(),
            // Programs may have IPv6's sockets; their addresses are IPv4's, and IPv6 itself sends nothing.
            "ipv6.disable_ipv6=1".into(),
            init,
            path("SUNSTAR=", folder),
            path("uml_dir=", &folder.join("uml")),
            "con=null".into(),
            "con0=null,fd:1".into(),
            "loglevel=6".into(),
            // A kernel that cannot go on ends.
            "panic=-1".into(),
            format!("sunstar.syscall={syscall}").into(),
            format!("sunstar.interrupt={interrupt}").into(),
            format!("sunstar.context_switch={context_switch}").into(),
            format!("sunstar.packet={packet}").into(),
            format!("sunstar.copied_kb={copied_kb}").into(),
            format!("sunstar.clock={clock}").into(),
        ];
        if self.device {
            let mut device = path("virtio_uml.device=", &folder.join("device"));
            device.push(format!(":{DEVICE}"));
            options.push(device);
        }
        let length: usize = options.iter().map(|option| option.len() + 1).sum();
        let rest = COMMAND_LINE.saturating_sub(length + PADDING.len());
        options.push(format!("{PADDING}{}", "-".repeat(rest)).into());
        options
    }
}
