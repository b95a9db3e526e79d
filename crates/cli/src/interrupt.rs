//! Ctrl-C, termination and hang-up: all ranks are killed, the run ends at once and reports, and nothing is
//! left behind.

use crate::usage_error::UsageError;
use des::Stop;
use machine::console;
use std::io::Read;
use std::os::fd::{FromRawFd, OwnedFd};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Write end of the pipe through which the signal handler wakes the watcher.
static WAKE: AtomicI32 = AtomicI32::new(-1);
/// Number of the signal that came, 0 if none did.
static SIGNAL: AtomicI32 = AtomicI32::new(0);
/// Request to end the run, made by a signal.
static STOP: OnceLock<Arc<Stop>> = OnceLock::new();
/// True while a signal ends this process and its children at once.
static ENDING: AtomicBool = AtomicBool::new(false);
/// True once there is no run that could end by itself.
static OVER: AtomicBool = AtomicBool::new(false);

/// Time that the simulator has to end by itself before it is killed. It checks in every window, so that only
/// the assembly of a large machine can take a part of it.
const GRACE: Duration = Duration::from_secs(20);
/// Number of signals at which the process ends at once. Two may have one cause: timeout(1) signals its child,
/// and then its group.
const SIGNALS_MAX: usize = 3;

extern "C" fn on_signal(signal: libc::c_int) {
    SIGNAL.store(signal, Ordering::Relaxed);
    // Before anybody can see a rank die of the same signal, which comes to the whole group.
    if let Some(stop) = STOP.get() {
        stop.request();
    }
    // SAFETY: write is async-signal-safe, and the byte outlives the call. If the pipe is full a signal is
    // already on its way, so the result does not matter.
    unsafe { libc::write(WAKE.load(Ordering::Relaxed), (&raw const WAKE).cast(), 1) };
}

/// Exit status if a signal ended the run: 128 + its number, as in a shell.
pub fn exit_status() -> Option<i32> {
    match SIGNAL.load(Ordering::Relaxed) {
        0 => None,
        signal => Some(128 + signal),
    }
}

/// Prints "interrupted", once.
fn tell() {
    static TOLD: AtomicBool = AtomicBool::new(false);
    if !TOLD.swap(true, Ordering::Relaxed) {
        console::say("interrupted");
    }
}

/// Exit status of a command that failed, if a signal has asked for its end: programs that it has started (a
/// compiler) were ended, too, so the failure is no usage error.
pub fn instead_of_usage_error() -> Option<u8> {
    let status = exit_status().and_then(|status| u8::try_from(status).ok());
    status.inspect(|_| tell())
}

/// State that a run shares with the watcher for signals.
#[derive(Clone, Default)]
pub struct Reins {
    /// Asks the run to end.
    pub stop: Arc<Stop>,
    /// True once the run has begun: it will report when it ends.
    pub begun: Arc<AtomicBool>,
    /// True once nothing is simulated any more: files are then written completely, however long it takes.
    pub writing: Arc<AtomicBool>,
    /// Folder to be removed, once there is one.
    pub folder: Arc<OnceLock<PathBuf>>,
}

/// Installs the handler of signals, once in a process. A signal kills all ranks and asks the run to end. If
/// the run has not begun, or takes too long to end, or if more signals come, its folder is removed and the
/// process ends at once.
pub fn watch_signals(run: Reins) -> Result<(), UsageError> {
    let failed =
        |verb| UsageError(format!("cannot {verb} signals: {}", std::io::Error::last_os_error()));
    let mut ends = [0; 2];
    // SAFETY: pipe2 fills the array of two that it is given.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC | libc::O_NONBLOCK) } != 0 {
        return Err(failed("make a pipe for"));
    }
    // SAFETY: the descriptor was just made and nothing else owns it.
    let read_end = std::fs::File::from(unsafe { OwnedFd::from_raw_fd(ends[0]) });
    WAKE.store(ends[1], Ordering::Relaxed);
    STOP.get_or_init(|| run.stop.clone());
    rank::adopt_orphans();
    std::thread::Builder::new()
        .name("interrupt".into())
        .spawn(move || watch(read_end, &run))
        .map_err(|_| failed("watch"))?;
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        let handler = on_signal as extern "C" fn(libc::c_int);
        // SAFETY: the handler stores a number and writes to a pipe; executed programs get the default action
        // back.
        let handled = is_ignored(signal)
            || unsafe { libc::signal(signal, handler as libc::sighandler_t) } != libc::SIG_ERR;
        if !handled {
            return Err(failed("handle"));
        }
    }
    Ok(())
}

/// True if the parent process has made this process ignore the signal (nohup; a job of a shell in the
/// background).
fn is_ignored(signal: libc::c_int) -> bool {
    // SAFETY: a structure of plain data, which the call fills in and which outlives it.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut action);
        action.sa_sigaction == libc::SIG_IGN
    }
}

/// Makes a write beyond the largest allowed file (`ulimit -f`) fail as on a full disk, instead of ending this
/// process with a signal. Ranks get the default back.
pub fn let_writes_fail() {
    // SAFETY: ignores a signal; nothing of ours is called.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// Tells the watcher that the run has ended and this process goes on: from now on a signal ends it at once.
pub fn run_is_over() {
    OVER.store(true, Ordering::Relaxed);
}

/// Waits if a signal is ending this process. It must be called after the end of a child and before reporting
/// it: the same signal may have ended the child.
pub fn go_on() {
    while ENDING.load(Ordering::Acquire) {
        std::thread::park();
    }
}

fn watch(mut pipe: std::fs::File, run: &Reins) {
    let mut bytes = [0; SIGNALS_MAX];
    if !readable(&pipe, None) {
        return;
    }
    let mut signals = pipe.read(&mut bytes).unwrap_or(0);
    let deadline = Instant::now() + GRACE;
    let on_the_spot = |signals: usize| {
        let writing = run.writing.load(Ordering::Relaxed);
        let late = !writing && Instant::now() >= deadline;
        let begun = run.begun.load(Ordering::Relaxed) && !OVER.load(Ordering::Relaxed);
        !begun || late || signals >= SIGNALS_MAX
    };
    while !on_the_spot(signals) {
        // Again and again: a rank may just be starting.
        rank::kill_all();
        if readable(&pipe, Some(Duration::from_millis(20))) {
            signals += pipe.read(&mut bytes).unwrap_or(0);
        }
    }
    ENDING.store(true, Ordering::Release);
    rank::kill_all();
    rank::end_orphans();
    if let Some(folder) = run.folder.get() {
        // Nothing can be done about a folder that cannot be removed.
        std::fs::remove_dir_all(folder).ok();
    }
    if !OVER.load(Ordering::Relaxed) {
        tell();
    }
    // SAFETY: _exit ends the process; destructors of other threads must not run under their feet.
    unsafe { libc::_exit(exit_status().unwrap_or(1)) }
}

/// Waits until the pipe can be read; false after `patience`.
fn readable(pipe: &std::fs::File, patience: Option<Duration>) -> bool {
    use std::os::fd::AsRawFd;
    let mut poll = libc::pollfd { fd: pipe.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let timeout = patience.map_or(-1, |patience| patience.as_millis() as libc::c_int);
    loop {
        // SAFETY: poll is given one pollfd, which outlives the call.
        let ready = unsafe { libc::poll(&raw mut poll, 1, timeout) };
        let interrupted = std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted;
        if ready >= 0 || !interrupted {
            return ready > 0;
        }
    }
}
