//! Starts a rank's process: cheaply, with everything in place before its first instruction.

use crate::compute::Compute;
use crate::mpi_library::MpiLibrary;
use crate::surroundings::{self, RankPosition, Surroundings};
use crate::template::Templates;
use crate::{inspect, limits, processor};
use des::{Duration, Time};
use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::sync::Arc;

/// Descriptor of the channel in every rank. Always the same, because the environment names it and
/// is in the program's memory: its length shall not move the program's stack from run to run.
const CHANNEL_FD: RawFd = 3;
/// The child needs little stack: it only makes system calls.
const STACK_SIZE: usize = 64 << 10;
/// Largest standard signal: real-time signals are nobody's here.
const LAST_SIGNAL: i32 = 31;

/// Standard input of a rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stdin {
    /// None: it reads an end of file at once.
    #[default]
    Null,
    /// The simulator's, as rank 0 under `mpirun`. If that is a terminal, the process stays in the simulator's
    /// process group, so that it may read it, and leaves Ctrl-C to the simulator.
    Inherit,
}

/// Description of a rank's process.
#[derive(Clone, Debug, Default)]
pub struct SpawnOptions {
    /// The executable: a path, not a name to be searched for.
    pub program: PathBuf,
    /// Its arguments, without its name.
    pub args: Vec<OsString>,
    /// Variables added to the simulator's environment.
    pub env: Vec<(OsString, OsString)>,
    /// Rank in `MPI_COMM_WORLD`.
    pub rank: u32,
    /// Size of `MPI_COMM_WORLD`.
    pub size: u32,
    /// Folder that holds `libsunstar_seam.so` and the thin libraries.
    pub library_dir: PathBuf,
    /// Standard input.
    pub stdin: Stdin,
    /// Cost of its own computation.
    pub compute: Compute,
    /// Keep it on one processor, the one on which the simulator's thread runs that hands over to it.
    pub follow: bool,
    /// Leave address randomisation on: to show that nothing depends on addresses.
    pub randomize: bool,
    /// Templates of the run, which may have loaded the program already.
    pub templates: Option<Arc<Templates>>,
    /// Place among the other ranks.
    pub place: RankPosition,
    /// Simulated time at which it begins.
    pub now: Time,
    /// Simulated time that reading a clock takes.
    pub clock_read: Duration,
    /// Hertz of the processor of its node.
    pub frequency: u64,
    /// Environment, folder, date and output.
    pub surroundings: Arc<Surroundings>,
    /// Libraries of the program's own that come before ours ([`crate::ahead_of_mpi`]).
    pub ahead: Arc<[PathBuf]>,
}

/// Reason for which a process could not be started.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// The system refuses memory or descriptors for the channel.
    #[error("cannot make the channel to a rank: {0}")]
    Channel(io::Error),
    /// The thin library is not there.
    #[error("{0} is missing: run `make`")]
    Library(PathBuf),
    /// The system refuses a process.
    #[error("cannot start a process for {0}: {1}{hint}", hint = limits::advice(.1))]
    Process(PathBuf, io::Error),
    /// Its output cannot be opened.
    #[error("cannot open the output of rank {0}: {1}")]
    Output(u32, io::Error),
    /// The program cannot be executed.
    #[error("cannot execute {0}: {1}")]
    Execute(PathBuf, io::Error),
    /// A path, argument or variable holds a zero byte.
    #[error("an argument of {0} holds a zero byte")]
    ZeroByte(PathBuf),
}

impl SpawnError {
    pub(crate) fn channel(error: io::Error) -> SpawnError {
        SpawnError::Channel(error)
    }
}

pub(crate) struct Child {
    pub pid: libc::pid_t,
    pub pidfd: OwnedFd,
    /// The processor on which it was started, if it is to follow the simulator.
    pub processor: Option<libc::c_int>,
}

/// Everything that the child needs, prepared by the parent: between its birth and `execve` the
/// child shares the parent's memory, so it only reads this and makes system calls.
struct Plan {
    program: CString,
    argv: Vec<*const libc::c_char>,
    envp: Vec<*const libc::c_char>,
    memory: RawFd,
    null: Option<RawFd>,
    /// Standard output and standard error, where they are not the simulator's.
    streams: [Option<RawFd>; 2],
    /// Folder in which it starts.
    folder: Option<CString>,
    /// Ctrl-C at a terminal reaches only the simulator, which then ends its ranks.
    own_group: bool,
    parent: libc::pid_t,
    /// The processor to start on.
    processor: Option<libc::c_int>,
    randomize: bool,
    /// The limit of open files, if it is not the simulator's.
    files: Option<libc::rlimit>,
    /// Signals that were blocked before the parent blocked all.
    mask: libc::sigset_t,
    /// Set by the child if it could not be executed.
    error: i32,
}

/// Starts the program; `memory` is its end of the channel.
pub(crate) fn start(options: &SpawnOptions, memory: &OwnedFd) -> Result<Child, SpawnError> {
    let mut libraries = vec![options.library_dir.join(inspect::SEAM)];
    if options.surroundings.mpi == MpiLibrary::Own {
        libraries.insert(0, options.library_dir.join(inspect::LIBRARY));
    }
    if let Some(missing) = libraries.iter().find(|library| !library.is_file()) {
        return Err(SpawnError::Library(missing.clone()));
    }
    let c_string = |text: &OsStr| {
        let zero = |_| SpawnError::ZeroByte(options.program.clone());
        CString::new(text.as_bytes()).map_err(zero)
    };
    let mut arguments = vec![c_string(options.program.as_os_str())?];
    for argument in &options.args {
        arguments.push(c_string(argument)?);
    }
    let environment = environment(options, &libraries)
        .iter()
        .map(|entry| c_string(entry))
        .collect::<Result<Vec<_>, _>>()?;
    let process = |error| SpawnError::Process(options.program.clone(), error);
    let null = match options.stdin {
        Stdin::Inherit => None,
        Stdin::Null => Some(std::fs::File::open("/dev/null").map_err(process)?),
    };
    let streams = options.surroundings.output.of(options.rank);
    let streams = streams.map_err(|why| SpawnError::Output(options.rank, why))?;
    let folder = options.surroundings.folder.as_ref().map(|folder| c_string(folder.as_os_str()));
    let mut plan = Plan {
        program: c_string(options.program.as_os_str())?,
        argv: pointers(&arguments),
        envp: pointers(&environment),
        memory: memory.as_raw_fd(),
        null: null.as_ref().map(AsRawFd::as_raw_fd),
        streams: streams.descriptors(),
        folder: folder.transpose()?,
        own_group: null.is_some() || !std::io::IsTerminal::is_terminal(&io::stdin()),
        parent: std::process::id() as libc::pid_t,
        processor: options.follow.then(processor::now).flatten(),
        randomize: options.randomize,
        files: limits::of_programs(),
        // SAFETY: a signal set is plain data; it is filled before it is used.
        mask: unsafe { std::mem::zeroed() },
        error: 0,
    };
    let child = clone(&mut plan).map_err(process)?;
    if plan.error != 0 {
        let mut status = 0;
        // SAFETY: reaps our own child, which has just ended.
        unsafe { libc::waitpid(child.pid, &raw mut status, 0) };
        let error = io::Error::from_raw_os_error(plan.error);
        return Err(SpawnError::Execute(options.program.clone(), error));
    }
    Ok(child)
}

/// The simulator's environment, with what makes the program load our libraries and find its channel.
fn environment(options: &SpawnOptions, libraries: &[PathBuf]) -> Vec<OsString> {
    let launcher = options.surroundings.launcher;
    let own = std::env::vars_os().filter(|(name, _)| surroundings::is_passed_on(name, launcher));
    let mut variables: Vec<(OsString, OsString)> = own.collect();
    let set = |variables: &mut Vec<(OsString, OsString)>, name: &OsStr, value: OsString| {
        variables.retain(|(other, _)| other != name);
        variables.push((name.into(), value));
    };
    for (name, value) in surroundings::variables(options) {
        set(&mut variables, OsStr::new(name), value.into());
    }
    for (name, value) in options.env.iter().chain(&options.surroundings.env) {
        set(&mut variables, name, value.clone());
    }
    for (name, value) in options.surroundings.mpi.variables(&options.library_dir) {
        if value_of(&variables, name).is_none() {
            set(&mut variables, OsStr::new(name), value);
        }
    }
    let with = |first: &OsStr, variables: &[(OsString, OsString)], name: &str| {
        let mut value = first.to_os_string();
        if let Some(old) = value_of(variables, name) {
            value.push(":");
            value.push(old);
        }
        value
    };
    let preload = preload(options, libraries, value_of(&variables, "LD_PRELOAD"));
    set(&mut variables, OsStr::new("LD_PRELOAD"), preload);
    let folder = options.surroundings.mpi.folder(&options.library_dir);
    let paths = with(folder.as_os_str(), &variables, "LD_LIBRARY_PATH");
    set(&mut variables, OsStr::new("LD_LIBRARY_PATH"), paths);
    // A program built with the address sanitizer otherwise refuses a library that is loaded before it.
    let sanitizer = with(OsStr::new("verify_asan_link_order=0"), &variables, "ASAN_OPTIONS");
    set(&mut variables, OsStr::new("ASAN_OPTIONS"), sanitizer);
    set(&mut variables, OsStr::new("SUNSTAR_RANK_FD"), CHANNEL_FD.to_string().into());
    let entry = |(name, value): (OsString, OsString)| {
        let mut bytes = name.into_vec();
        bytes.push(b'=');
        bytes.extend(value.into_vec());
        OsString::from_vec(bytes)
    };
    variables.into_iter().map(entry).collect()
}

/// The value of a variable that says something.
fn value_of<'a>(variables: &'a [(OsString, OsString)], name: &str) -> Option<&'a OsStr> {
    variables.iter().find(|(n, v)| n == name && !v.is_empty()).map(|(_, value)| &**value)
}

/// Loaded before all that the program names: what the user wants to have before it, the program's own
/// libraries that precede MPI's, and ours. Our MPI is then the one that is meant by its name, whatever paths
/// the program has built in.
fn preload(options: &SpawnOptions, libraries: &[PathBuf], users: Option<&OsStr>) -> OsString {
    let mut list = users.unwrap_or_default().to_os_string();
    for path in options.ahead.iter().chain(libraries) {
        if !list.is_empty() {
            list.push(":");
        }
        // A list cannot hold a path with a blank or a colon: then the name alone must do.
        let plain = !path.as_os_str().as_bytes().iter().any(|byte| b" :".contains(byte));
        let name = path.file_name().unwrap_or_default();
        list.push(if plain { path.as_os_str() } else { name });
    }
    list
}

fn pointers(strings: &[CString]) -> Vec<*const libc::c_char> {
    strings.iter().map(|s| s.as_ptr()).chain([std::ptr::null()]).collect()
}

/// Makes the child. The parent sleeps until the child has executed the program or failed, and the two share
/// memory until then: no page tables are copied, however large the simulator is.
fn clone(plan: &mut Plan) -> io::Result<Child> {
    let mut stack = vec![0u8; STACK_SIZE];
    // SAFETY: the end of our own allocation, aligned as the calling convention wants.
    let top = unsafe { stack.as_mut_ptr().add(STACK_SIZE & !15) };
    let top = (top as usize & !15) as *mut libc::c_void;
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_PIDFD | libc::SIGCHLD;
    let mut pidfd: RawFd = -1;
    // SAFETY: a signal set is plain data.
    let mut all: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: fills the set; blocks all signals in this thread, so that no handler runs in the child while it
    // shares our memory; the old mask goes to the plan and is restored below.
    unsafe {
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, &raw mut plan.mask);
    }
    let argument = std::ptr::from_mut(plan).cast();
    // SAFETY: the child runs `child` on its own stack while this thread sleeps; all that it touches outlives
    // it. The descriptor is stored before this call returns.
    let pid = unsafe { libc::clone(child, top, flags, argument, &raw mut pidfd) };
    let error = io::Error::last_os_error();
    // SAFETY: restores the mask saved above.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const plan.mask, std::ptr::null_mut()) };
    if pid < 0 {
        return Err(error);
    }
    // SAFETY: the kernel has just opened it for us.
    let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
    Ok(Child { pid, pidfd, processor: plan.processor })
}

/// Code of the child. It shares the parent's memory: only system calls, no allocation, no locks.
extern "C" fn child(plan: *mut libc::c_void) -> libc::c_int {
    let plan = plan.cast::<Plan>();
    // SAFETY: the parent sleeps and its plan is alive; nothing else refers to it.
    let plan = unsafe { &mut *plan };
    // SAFETY: system calls on our own descriptors and plain data; after them only `execve` or `_exit`.
    unsafe {
        default_signals();
        if plan.own_group {
            libc::setpgid(0, 0);
        } else {
            libc::signal(libc::SIGINT, libc::SIG_IGN);
        }
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        if libc::getppid() != plan.parent {
            libc::_exit(1); // The simulator died before we asked to die with it.
        }
        if !plan.randomize {
            // If the system forbids this, addresses differ from run to run; nothing depends on them.
            let old = libc::personality(0xFFFF_FFFF);
            libc::personality(old as libc::c_ulong | libc::ADDR_NO_RANDOMIZE as libc::c_ulong);
        }
        if let Some(processor) = plan.processor {
            processor::keep_on(0, processor);
            processor::take_turns_at_once();
        }
        if let Some(files) = &plan.files {
            libc::setrlimit(libc::RLIMIT_NOFILE, files);
        }
        let mut refused = plan.null.is_some_and(|null| libc::dup2(null, 0) < 0);
        for (number, stream) in (1..).zip(plan.streams) {
            refused |= stream.is_some_and(|stream| libc::dup2(stream, number) < 0);
        }
        refused |= plan.folder.as_ref().is_some_and(|folder| libc::chdir(folder.as_ptr()) < 0);
        // Nothing but standard streams and the channel goes to the program.
        let close_on_exec = 4; // CLOSE_RANGE_CLOEXEC
        libc::syscall(libc::SYS_close_range, 3, u32::MAX, close_on_exec);
        if plan.memory == CHANNEL_FD {
            refused |= libc::fcntl(CHANNEL_FD, libc::F_SETFD, 0) < 0;
        } else {
            refused |= libc::dup2(plan.memory, CHANNEL_FD) < 0; // The copy stays open on exec.
        }
        if refused {
            plan.error = *libc::__errno_location();
            libc::_exit(127);
        }
        libc::sigprocmask(libc::SIG_SETMASK, &raw const plan.mask, std::ptr::null_mut());
        libc::execve(plan.program.as_ptr(), plan.argv.as_ptr(), plan.envp.as_ptr());
        plan.error = *libc::__errno_location();
        libc::_exit(127)
    }
}

/// Handlers of the simulator are not the program's: default actions again, but what the user
/// ignores (as under `nohup`) stays ignored. The Rust runtime ignores SIGPIPE and the command
/// SIGXFSZ, the program shall not.
///
/// # Safety
/// Only in the child: it changes what signals do to the process.
unsafe fn default_signals() {
    for signal in 1..=LAST_SIGNAL {
        // SAFETY: plain data; a refused signal (SIGKILL) is left alone.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &raw mut action);
            let ours = [libc::SIGPIPE, libc::SIGXFSZ].contains(&signal);
            if action.sa_sigaction != libc::SIG_IGN || ours {
                libc::signal(signal, libc::SIG_DFL);
            }
        }
    }
}
