//! Builds the thin library and small C programs, and starts them under a simulator that a test plays itself.

use abi::mpi::Function;
use des::Time;
use mpi::{Callback, CALLBACK_ARGUMENTS};
use rank::{Demand, ExitStatus, Process, SpawnOptions};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

fn crate_dir() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The folder of the library: in cargo's own folder for such things, and made there unless it is current.
pub fn library_dir() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let build = Path::new(env!("CARGO_TARGET_TMPDIR")).join("rank");
        for library in ["mpi", "mpi-fortran"] {
            let status = Command::new("make")
                .args(["-s", "-C"])
                .arg(crate_dir().join("../../../lib").join(library))
                .arg(format!("BUILD={}", build.display()))
                .status()
                .unwrap();
            assert!(status.success(), "{library} builds");
        }
        build.join("lib")
    })
}

/// A compiled C program; its folder lives as long as this.
pub struct Program {
    folder: tempfile::TempDir,
}

impl Program {
    /// Compiles the body of `main` (with `argc`, `argv`), after `before`.
    pub fn new(before: &str, body: &str) -> Program {
        Program::with_options(&[], before, body)
    }

    /// The same with more options for the compiler.
    pub fn with_options(options: &[&str], before: &str, body: &str) -> Program {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("program.c");
        let text = format!(
            "#define _GNU_SOURCE\n#include <mpi.h>\n#include <signal.h>\n#include <stdio.h>\n\
             #include <stdlib.h>\n#include <string.h>\n#include <sys/time.h>\n\
             #include <sys/wait.h>\n#include <time.h>\n#include <unistd.h>\n{before}\n\
             int main(int argc, char **argv)\n{{\n(void)argc; (void)argv;\n{body}\nreturn 0;\n}}\n"
        );
        std::fs::write(&source, text).unwrap();
        let run = Command::new("gcc")
            .args(["-O1", "-g", "-Wall", "-Wno-unused"])
            .args(options)
            .arg("-o")
            .arg(folder.path().join("program"))
            .arg(&source)
            .arg("-I")
            .arg(crate_dir().join("../../../include"))
            .arg("-L")
            .arg(library_dir())
            .args(["-Wl,--no-as-needed", "-lmpi_abi", "-l:libsunstar_seam.so"])
            .output()
            .unwrap();
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
        Program { folder }
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join("program")
    }

    pub fn options(&self) -> SpawnOptions {
        SpawnOptions {
            program: self.path(),
            rank: 3,
            size: 5,
            library_dir: library_dir().into(),
            ..SpawnOptions::default()
        }
    }

    pub fn spawn(&self) -> Process {
        Process::spawn(&self.options()).unwrap()
    }
}

/// Answers success to everything at a clock that advances by a microsecond a demand, and shows all
/// calls (with their arguments, and whether posted) to `see`, whose result is the answer.
pub fn play(
    process: &mut Process,
    mut see: impl FnMut(&mut Process, Function, &[u64], bool) -> i32,
) -> ExitStatus {
    let mut now = Time(0);
    loop {
        now = Time(now.0 + 1_000_000);
        match process.next() {
            Demand::Call { function, args, posted } => {
                let code = see(process, function, &args[..function.arguments()], posted);
                if !posted {
                    process.reply(code, now);
                }
            }
            Demand::Clock => process.reply_with_time(now),
            Demand::Sleep(time) => {
                now += time;
                process.reply_with_time(now);
            }
            Demand::Exited(status) => return status,
            other => panic!("unexpected {other:?}"),
        }
    }
}

/// Plays a run in which every call succeeds; the names of the calls and the end.
pub fn run(program: &Program) -> (Vec<&'static str>, ExitStatus) {
    let mut names = Vec::new();
    let mut process = program.spawn();
    let status = play(&mut process, |_, function, _, _| {
        names.push(function.name());
        0
    });
    (names, status)
}

/// Lets the process run a function that makes no MPI calls, which takes no time: its result and arguments.
pub fn call_back(process: &mut Process, callback: &Callback) -> (u64, [u64; CALLBACK_ARGUMENTS]) {
    process.start_callback(callback, Time(0));
    loop {
        match process.next() {
            Demand::CallbackReturned { result, arguments } => return (result, arguments),
            Demand::Clock | Demand::Sleep(_) => process.reply_with_time(Time(0)),
            Demand::Computed(_) => {}
            other => panic!("unexpected {other:?}"),
        }
    }
}

/// Forbids the calling thread to read or write other processes' memory: the kernel refuses.
pub fn refuse_process_vm() {
    let load = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    let equal = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    let answer = libc::BPF_RET | libc::BPF_K;
    let refused = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
    let step = |code: u32, jf, k| libc::sock_filter { code: code as u16, jt: 0, jf, k };
    let mut steps = [
        step(load, 0, std::mem::offset_of!(libc::seccomp_data, nr) as u32),
        step(equal, 1, libc::SYS_process_vm_readv as u32),
        step(answer, 0, refused),
        step(equal, 1, libc::SYS_process_vm_writev as u32),
        step(answer, 0, refused),
        step(answer, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let filter = libc::sock_fprog { len: steps.len() as u16, filter: steps.as_mut_ptr() };
    // SAFETY: the filter outlives the calls, which read it; it holds for this thread only.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        let set = libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter);
        assert_eq!(set, 0, "{}", std::io::Error::last_os_error());
    }
}
