//! Ctrl-C, termination and hang-up, for all commands: nothing is left behind, whenever they come.
//!
//! ```text
//!  signal ─┬─ no run under way: this process becomes the cleaner
//!          └─ a run: its ranks are killed, it ends at once and reports; or, if it does not, the cleaner
//! ```
//!
//! The cleaner is this program once more, by `execve`: the system ends all threads by that, so nothing new
//! can begin, and the children remain ours. It ends them and all that descends from them, and removes
//! temporary folders that nobody owns any more, which ours are by then ([`scratch`]). So no command has to
//! know what it has made.

use crate::keyboard;
use des::Stop;
use machine::console;
use std::ffi::CStr;
use std::io::Read;
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use sunstar::usage_error::UsageError;

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

/// Signals that ask for the end, and their numbers as text.
const SIGNALS: [(libc::c_int, &CStr); 3] =
    [(libc::SIGHUP, c"1"), (libc::SIGINT, c"2"), (libc::SIGTERM, c"15")];

/// Name by which the cleaner is called.
const CLEANER: &CStr = c"sunstar: cleaning up";
/// Word for a cleaner that has nothing to say.
const QUIET: &CStr = c"quiet";
/// Time that what this process has started has to end by itself: compilers remove their own temporary files.
const PATIENCE: Duration = Duration::from_millis(1000);

unsafe extern "C" {
    static environ: *const *const libc::c_char;
}

/// Becomes the cleaner. It makes only calls that a handler of signals may make.
fn become_cleaner(signal: libc::c_int, quiet: bool) -> ! {
    ENDING.store(true, Ordering::Release);
    keyboard::restore();
    let number = SIGNALS.iter().find(|(own, _)| *own == signal).map_or(c"1", |(_, text)| text);
    let end = std::ptr::null();
    let word = if quiet { QUIET.as_ptr() } else { end };
    let words = [CLEANER.as_ptr(), number.as_ptr(), word, end];
    // SAFETY: words and environment are lists that end with a null pointer. No other thread changes the
    // environment. Signals wait from here on, as in a handler: the new program has none for them.
    unsafe {
        let mut wait: libc::sigset_t = std::mem::zeroed();
        for (signal, _) in SIGNALS {
            libc::sigaddset(&raw mut wait, signal);
        }
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const wait, std::ptr::null_mut());
        libc::execve(c"/proc/self/exe".as_ptr(), words.as_ptr(), environ);
        libc::_exit(128 + signal)
    }
}

/// Does what the cleaner does, if this process is one.
pub fn clean_up_if_asked() {
    let mut words = std::env::args_os();
    if words.next().is_none_or(|name| name.as_bytes() != CLEANER.to_bytes()) {
        return;
    }
    let signal = words.next().and_then(|word| word.to_str()?.parse::<i32>().ok()).unwrap_or(0);
    if words.next().is_none() {
        console::say("interrupted");
    }
    rank::end_descendants(PATIENCE);
    scratch::in_memory().iter().for_each(|parent| scratch::remove_abandoned(parent));
    std::process::exit(128 + signal)
}

/// Handles signals from now on; the first call of every command.
pub fn begin() {
    rank::adopt_orphans();
    for (signal, _) in SIGNALS {
        if is_ignored(signal) {
            continue;
        }
        let handler = on_signal as extern "C" fn(libc::c_int);
        // SAFETY: the handler makes only calls that it may make; executed programs get the default action
        // back. A signal waits while another is handled, and the terminal may be set from the background
        // meanwhile.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handler as libc::sighandler_t;
            action.sa_flags = libc::SA_RESTART;
            for (other, _) in SIGNALS {
                libc::sigaddset(&raw mut action.sa_mask, other);
            }
            libc::sigaddset(&raw mut action.sa_mask, libc::SIGTTOU);
            // Where the system refuses it the signal ends this process by itself.
            libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        }
    }
}

extern "C" fn on_signal(signal: libc::c_int) {
    SIGNAL.store(signal, Ordering::Relaxed);
    // Before anybody can see a rank die of the same signal, which comes to the whole group.
    match STOP.get() {
        Some(stop) => stop.request(),
        None => become_cleaner(signal, false),
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

/// True once "interrupted" is printed.
static TOLD: AtomicBool = AtomicBool::new(false);

/// Prints "interrupted", once.
fn tell() {
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
}

/// Lets signals end a run, one in a process. A signal kills all ranks and asks the run to end. If the run has
/// not begun, or takes too long to end, or if more signals come, the process ends at once.
pub fn watch_signals(run: Reins) -> Result<(), UsageError> {
    let mut ends = [0; 2];
    // SAFETY: pipe2 fills the array of two that it is given.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC | libc::O_NONBLOCK) } != 0 {
        let why = std::io::Error::last_os_error();
        return Err(UsageError::sentence(format!("cannot make a pipe for signals: {why}")));
    }
    // SAFETY: the descriptor was just made and nothing else owns it.
    let read_end = std::fs::File::from(unsafe { OwnedFd::from_raw_fd(ends[0]) });
    WAKE.store(ends[1], Ordering::Relaxed);
    let stop = run.stop.clone();
    std::thread::Builder::new()
        .name("interrupt".into())
        .spawn(move || watch(read_end, &run))
        .map_err(|why| {
            UsageError::sentence(format!(
                "cannot watch signals: the system refuses a thread ({why}); allow more memory (ulimit -v) \
                 or processes (ulimit -u)"
            ))
        })?;
    STOP.get_or_init(|| stop);
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
    if !OVER.load(Ordering::Relaxed) {
        tell();
    }
    become_cleaner(SIGNAL.load(Ordering::Relaxed), true)
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
