//! Starts the command as a user would.

use std::ffi::OsStr;
use std::io::Read;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Time after which a command hangs. No run of these tests takes a tenth of it, even on a busy machine.
const HANGS_AFTER: Duration = Duration::from_secs(600);

/// Output and ending of a command.
#[derive(Clone, Debug)]
pub struct Ended {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

/// The repository's root.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3).unwrap().to_owned()
}

/// The command, not yet started; it runs in the repository's root.
pub fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sunstar"));
    // The executable may be in a target folder outside of the repository.
    command.current_dir(root()).env("SUNSTAR_ROOT", root()).stdin(Stdio::null());
    // What is kept for later runs is kept among what the tests build.
    command.env("XDG_CACHE_HOME", concat!(env!("CARGO_TARGET_TMPDIR"), "/cache"));
    hearing(&mut command);
    command
}

/// Resets ignored signals of the command: tests in the background, or under nohup, have some ignored.
pub fn hearing(command: &mut Command) {
    let hear = || {
        for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM] {
            // SAFETY: a signal gets what the kernel does with it by itself; nothing of ours is called.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
        Ok(())
    };
    // SAFETY: the closure calls what may be called between fork and exec only.
    unsafe { command.pre_exec(hear) };
}

/// Runs the command to its end. Every such run is judged.
pub fn sunstar<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Ended {
    let mut command = command();
    for (at, argument) in arguments.into_iter().enumerate() {
        command.arg(&argument);
        if at == 0 && argument.as_ref() == "run" {
            command.arg("--judge");
        }
    }
    ended(&mut command)
}

/// A run that is alone sees no shared memory of others.
const ALONE: &str = "mount -t tmpfs none /dev/shm && exec \"$@\"";

/// `sunstar run --judge`, to which more words are added, for so many seconds. Runs of another MPI share names
/// in `/dev/shm`, so this one has its own; all that it starts ends with it.
pub fn judged_alone(seconds: &str) -> Command {
    let mut run = Command::new("unshare");
    run.args(["-rmpf", "--kill-child", "--mount-proc", "sh", "-c", ALONE, "sh"]);
    run.args(["timeout", "-k", "5", seconds, env!("CARGO_BIN_EXE_sunstar"), "run", "--judge"]);
    run.current_dir(root()).env("SUNSTAR_ROOT", root()).stdin(Stdio::null());
    run
}

/// As [`sunstar`], but without the judge.
pub fn unjudged(line: &str) -> Ended {
    ended(command().args(line.split_whitespace()))
}

/// An MPI program of the repository, compiled in `folder`.
pub fn compiled(folder: &Path, source: &str) -> PathBuf {
    let program = folder.join(Path::new(source).file_stem().unwrap());
    let mut cc = command();
    cc.args(["cc", "-O2", "-g", "-Wall", "-Wextra", "-Werror", source, "-o"]).arg(&program);
    ended(&mut cc).went_well();
    program
}

/// A program with verbs or `forth.h`, compiled in `folder` as a user would, of these sources.
pub fn compiled_by_gcc(folder: &Path, sources: &[&str]) -> PathBuf {
    let program = folder.join(Path::new(sources[0]).file_stem().unwrap());
    let mut gcc = Command::new("gcc");
    gcc.current_dir(root()).args(["-O1", "-Wall", "-Wextra", "-Werror", "-Iinclude"]);
    ended(gcc.args(sources).args(["-libverbs", "-o"]).arg(&program)).went_well();
    program
}

/// Runs a line that a page or a file has, `sunstar ...`, as a user copies it into a shell.
pub fn copied(line: &str) -> Ended {
    let rest = line.strip_prefix("sunstar ").expect("a line begins with the command's name");
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("exec \"$SUNSTAR\" {rest}")]);
    shell.current_dir(root()).env("SUNSTAR_ROOT", root()).stdin(Stdio::null());
    shell.env("SUNSTAR", env!("CARGO_BIN_EXE_sunstar"));
    shell.env("XDG_CACHE_HOME", concat!(env!("CARGO_TARGET_TMPDIR"), "/cache"));
    hearing(&mut shell);
    ended(&mut shell)
}

/// `sunstar run` with the words of `line`, split at blanks.
pub fn run(line: &str) -> Ended {
    sunstar(["run"].into_iter().chain(line.split_whitespace()))
}

/// Runs a command whose standard error, and output if `both`, is a terminal; the text on the terminal, and
/// the exit status.
pub fn on_a_terminal(command: Command, both: bool) -> (String, i32) {
    interrupted_on_a_terminal(command, both, |_| false)
}

/// The same; the command is interrupted as soon as `enough` has been shown.
pub fn interrupted_on_a_terminal(
    mut command: Command,
    both: bool,
    enough: impl Fn(&str) -> bool,
) -> (String, i32) {
    let mut ends = [0; 2];
    // SAFETY: openpty fills the two descriptors, which nothing else owns then; the rest may be null.
    let [ours, theirs] = unsafe {
        let null = std::ptr::null_mut();
        let (one, other) = ends.split_at_mut(1);
        let opened =
            libc::openpty(&raw mut one[0], &raw mut other[0], null, null.cast(), null.cast());
        assert_eq!(opened, 0);
        ends.map(|end| OwnedFd::from_raw_fd(end))
    };
    let size = libc::winsize { ws_row: 25, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: TIOCSWINSZ reads the winsize that it is given.
    unsafe { libc::ioctl(theirs.as_raw_fd(), libc::TIOCSWINSZ, &raw const size) };
    if both {
        command.stdout(theirs.try_clone().expect("a descriptor can be doubled"));
    }
    command.env("TERM", "xterm").stderr(theirs);
    let mut child = command.spawn().expect("the command starts");
    drop(command);
    let (mut shown, mut part, mut interrupted) = (Vec::new(), [0; 4096], false);
    let mut terminal = std::fs::File::from(ours);
    // The end of a terminal that nobody has open any more is an error.
    while let Ok(length @ 1..) = terminal.read(&mut part) {
        shown.extend_from_slice(&part[..length]);
        if !interrupted && enough(&String::from_utf8_lossy(&shown)) {
            interrupt(&child);
            interrupted = true;
        }
    }
    let code = child.wait().expect("it was started").code().unwrap_or(-1);
    (String::from_utf8_lossy(&shown).into_owned(), code)
}

/// Interrupts a command, as Ctrl-C does.
pub fn interrupt(child: &Child) {
    // SAFETY: kill touches no memory; the child has not been waited for.
    unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGINT) };
}

/// Runs any command to its end; fails if it hangs.
pub fn ended(command: &mut Command) -> Ended {
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    waited_for(command.spawn().expect("the command starts"))
}

/// The end of a command that has been started; it is killed if it hangs.
pub fn waited_for(mut child: Child) -> Ended {
    let id = child.id();
    let (done, watched) = std::sync::mpsc::channel::<()>();
    let watchdog = std::thread::spawn(move || {
        let started = Instant::now();
        let waited = watched.recv_timeout(HANGS_AFTER);
        if waited == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
            // SAFETY: kill touches no memory; the child has not been waited for.
            unsafe { libc::kill(id as libc::pid_t, libc::SIGKILL) };
            eprintln!("killed after {:?}", started.elapsed());
        }
    });
    child.stdin.take();
    let output = child.wait_with_output().expect("the command can be waited for");
    drop(done);
    watchdog.join().unwrap();
    Ended::from(output)
}

impl From<Output> for Ended {
    fn from(output: Output) -> Ended {
        use std::os::unix::process::ExitStatusExt;
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let killed = output.status.signal().map(|signal| -signal);
        Ended {
            code: output.status.code().or(killed).expect("an exit status or a signal"),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }
}

impl Ended {
    /// The line of the summary that has the trace hash, if there is a summary.
    pub fn hash(&self) -> Option<&str> {
        self.stdout.lines().find(|line| line.starts_with("Trace hash"))
    }
    /// Fails unless the command ended with `code` and said each of `words` on standard error, in sentences
    /// that begin with the command's name. A panic is never an answer.
    #[track_caller]
    pub fn said(&self, code: i32, words: &[&str]) -> &Ended {
        assert!(!self.stderr.contains("panicked"), "{self:#?}");
        assert_eq!(self.code, code, "{self:#?}");
        let sentences: Vec<&str> =
            self.stderr.lines().filter_map(|line| line.strip_prefix("sunstar: ")).collect();
        assert!(!sentences.is_empty(), "nothing was said: {self:#?}");
        let sentences = sentences.join("\n").to_lowercase();
        for word in words {
            assert!(sentences.contains(&word.to_lowercase()), "no '{word}' in {self:#?}");
        }
        self
    }

    /// Fails unless the command ended well, and said nothing but that it has written this file.
    #[track_caller]
    pub fn wrote(&self, file: &Path) -> &Ended {
        let said = format!("sunstar: written: {}\n", file.display());
        assert!(self.code == 0 && self.stderr == said, "{self:#?}");
        self
    }

    /// Fails unless the command ended well, without messages.
    #[track_caller]
    pub fn went_well(&self) -> &Ended {
        assert!(self.code == 0 && self.stderr.is_empty(), "{self:#?}");
        self
    }
}

/// JSON that a run writes.
pub fn json(line: &str) -> serde_json::Value {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.json");
    let mut words = vec!["run", "--json", file.to_str().unwrap()];
    words.extend(line.split_whitespace());
    let ended = sunstar(words);
    ended.went_well();
    serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap()
}
