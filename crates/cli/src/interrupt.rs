//! Ctrl-C, termination and hang-up: all ranks are killed, the run ends at once with what is known then, and
//! nothing is left behind.

use crate::mistake::Mistake;
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
/// The signal that came, 0 if none did.
static SIGNAL: AtomicI32 = AtomicI32::new(0);
/// What a signal asks to end.
static STOP: OnceLock<Arc<Stop>> = OnceLock::new();
/// A signal ends this process, and what it has started, on the spot.
static ENDING: AtomicBool = AtomicBool::new(false);
/// There is no run any more that would have to end by itself.
static OVER: AtomicBool = AtomicBool::new(false);

/// How long the simulator may take to end by itself before it is ended. It looks in every window, so that
/// only the assembly of a large machine takes a part of it.
const GRACE: Duration = Duration::from_secs(20);
/// A signal that comes so often is no echo of the first: timeout(1) signals its child, and then its group.
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

/// The exit status if a signal ended the run: 128 + its number, as a shell has it.
pub fn exit_status() -> Option<i32> {
    match SIGNAL.load(Ordering::Relaxed) {
        0 => None,
        signal => Some(128 + signal),
    }
}

/// Says why a command ends of which there is nothing else to tell.
fn tell() {
    static TOLD: AtomicBool = AtomicBool::new(false);
    if !TOLD.swap(true, Ordering::Relaxed) {
        console::say("interrupted");
    }
}

/// Exit status of a command that could not be obeyed, if a signal has asked for its end: what it has started
/// (a compiler) was ended, too, and what that has led to is nobody's mistake.
pub fn instead_of_mistake() -> Option<u8> {
    let status = exit_status().and_then(|status| u8::try_from(status).ok());
    status.inspect(|_| tell())
}

/// What a run shares with those who watch for signals.
#[derive(Clone, Default)]
pub struct Reins {
    /// Asks the run to end.
    pub stop: Arc<Stop>,
    /// The run has begun: there is something to tell of it when it ends.
    pub begun: Arc<AtomicBool>,
    /// Nothing is simulated any more: what is written then is written whole, however long it takes.
    pub writing: Arc<AtomicBool>,
    /// What is to be removed, as soon as it is there.
    pub folder: Arc<OnceLock<PathBuf>>,
}

/// From now on a signal kills all ranks and asks the run to end. If it has not begun, or if that takes too
/// long, or if signals go on coming, its folder is removed and the process ends on the spot. Only once in a
/// process.
pub fn watch_signals(run: Reins) -> Result<(), Mistake> {
    let failed =
        |verb| Mistake(format!("cannot {verb} signals: {}", std::io::Error::last_os_error()));
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

/// Whoever started us wants us to outlive this signal (nohup; a job of a shell in the background).
fn is_ignored(signal: libc::c_int) -> bool {
    // SAFETY: a structure of plain data, which the call fills in and which outlives it.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut action);
        action.sa_sigaction == libc::SIG_IGN
    }
}

/// A write beyond the largest file that is allowed (`ulimit -f`) shall fail as one on a full disk
/// does, and not end this process with a signal. Ranks get the default back.
pub fn let_writes_fail() {
    // SAFETY: ignores a signal; nothing of ours is called.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// The run has ended, and this process goes on: from now on a signal ends it on the spot.
pub fn run_is_over() {
    OVER.store(true, Ordering::Relaxed);
}

/// To be called when what this process has started has ended, before anything is said of it: does not return if
/// a signal has ended it and will end this process.
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

/// Waits until there is something to read; false after `patience`.
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
