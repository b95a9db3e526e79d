//! A process from its birth to its end, as those see it who hold a share of it.

use crate::channel::Channel;
use crate::exit::ExitStatus;
use crate::heir;
use crate::permitted::is_refusal;
use abi::rank::state;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Milliseconds that a process gets to end which has no memory any more: its other threads end first.
const LAST_BREATH_MS: i32 = 2000;

#[derive(Debug)]
pub(crate) struct Life {
    pub rank: u32,
    pub pid: libc::pid_t,
    pub pidfd: OwnedFd,
    pub channel: Arc<Channel>,
    /// The process that is the rank: this one, or one that it has started.
    rank_pid: AtomicI32,
    heir: Mutex<Option<OwnedFd>>,
    /// It was waited for: its number may be somebody else's now.
    gone: AtomicBool,
    /// Held while that becomes so.
    going: Mutex<()>,
    /// Address of the request while the library's own calls are repeated, 1 if they have none; else 0.
    repeats: AtomicU64,
    /// Microseconds of processor time outside of the kernel, of it and what it has waited for.
    computed: AtomicU64,
    /// Its memory was wanted when it had ended without being asked.
    missed: AtomicBool,
}

impl Life {
    pub fn new(rank: u32, pid: libc::pid_t, pidfd: OwnedFd, channel: Arc<Channel>) -> Life {
        let (heir, repeats, computed, gone, going, missed) = Default::default();
        let rank_pid = AtomicI32::new(pid);
        Life { rank, pid, pidfd, channel, rank_pid, heir, repeats, computed, gone, going, missed }
    }

    /// Begins or ends to do again what the library has done by itself, with the request at this address.
    pub fn repeat(&self, at: Option<u64>) {
        self.repeats.store(at.unwrap_or(0), Ordering::Relaxed);
    }

    /// True while that is done.
    pub fn repeats(&self) -> bool {
        self.repeats.load(Ordering::Relaxed) != 0
    }

    /// The request, if such calls are repeated and it is at `at`.
    pub fn repeated(&self, at: u64) -> Option<u64> {
        (at != 0 && self.repeats.load(Ordering::Relaxed) == at).then(|| self.channel.request())
    }

    /// Processor time of the program's own, once it was waited for.
    pub fn computed(&self) -> Duration {
        Duration::from_micros(self.computed.load(Ordering::Relaxed))
    }

    /// The process whose memory is the rank's.
    pub fn rank_pid(&self) -> libc::pid_t {
        self.rank_pid.load(Ordering::Relaxed)
    }

    /// Another process has become the rank. False if it cannot be one.
    pub fn inherit(&self, pid: libc::pid_t) -> bool {
        let found = (pid != self.pid).then(|| heir::descriptor(pid, self.pid));
        if matches!(found, Some(None)) {
            return false;
        }
        let mut heir = self.heir.lock().unwrap_or_else(PoisonError::into_inner);
        *heir = found.flatten();
        self.rank_pid.store(pid, Ordering::Relaxed);
        true
    }

    /// True once it was waited for.
    pub fn is_over(&self) -> bool {
        self.gone.load(Ordering::Relaxed)
    }

    /// Fault for which its library has ended it, as [`crate::Process::fault`] reports it.
    pub fn fault(&self) -> Option<String> {
        self.channel.fault().map(|fault| format!("rank {}: {fault}", self.rank))
    }

    /// Waits until it has ended; to be called once.
    pub fn wait(&self) -> ExitStatus {
        self.wait_with(libc::WEXITED | libc::WNOWAIT);
        // Nobody waits for calls that it has left unfinished.
        if self.channel.state() & state::FINALIZED == 0 {
            self.kill_heir();
        }
        let _going = self.going.lock().unwrap_or_else(PoisonError::into_inner);
        let status = self.wait_with(libc::WEXITED);
        self.gone.store(true, Ordering::Relaxed);
        status
    }

    /// Stops the rank, which is not to use a processor any more.
    pub fn stop(&self) {
        // SAFETY: a process that was just looked at; no memory is touched.
        unsafe { libc::kill(self.rank_pid(), libc::SIGSTOP) };
    }

    /// Kills the process; nothing happens if it has ended.
    pub fn kill(&self) {
        self.kill_first();
        // Not before a launcher that would report it.
        self.kill_heir();
    }

    fn kill_first(&self) {
        // SAFETY: a process descriptor names one process for ever, so nobody else can be hit.
        let refused = unsafe {
            let none = std::ptr::null::<libc::siginfo_t>();
            let fd = self.pidfd.as_raw_fd();
            libc::syscall(libc::SYS_pidfd_send_signal, fd, libc::SIGKILL, none, 0) < 0
        };
        if !refused || !is_refusal(&std::io::Error::last_os_error()) {
            return;
        }
        // By its number, which is its own until it has been waited for.
        let _going = self.going.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.is_over() {
            // SAFETY: our own child; no memory is touched.
            unsafe { libc::kill(self.pid, libc::SIGKILL) };
        }
    }

    fn kill_heir(&self) {
        let heir = self.heir.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(heir) = &*heir else { return };
        // SAFETY: a process descriptor names one process for ever. Where the call is refused it dies of its
        // parent's end.
        unsafe {
            let none = std::ptr::null::<libc::siginfo_t>();
            libc::syscall(libc::SYS_pidfd_send_signal, heir.as_raw_fd(), libc::SIGKILL, none, 0);
        }
    }

    /// Its memory was wanted in vain. True if that is because it ends: its memory goes first
    /// (`without_memory`).
    pub fn miss(&self, without_memory: bool) -> bool {
        let missed = without_memory || self.ends_within(0);
        self.missed.fetch_or(missed, Ordering::Relaxed);
        missed
    }

    /// End of the process, if it was noticed because its memory was missing: whatever has failed since is a
    /// consequence.
    pub fn end_if_missed(&self) -> Option<ExitStatus> {
        let missed = self.missed.load(Ordering::Relaxed) && !self.is_over();
        // A process whose main thread alone has ended lives on, without memory for us.
        let ended = missed && self.ends_within(LAST_BREATH_MS);
        ended.then(|| self.wait_with(libc::WEXITED | libc::WNOWAIT))
    }

    fn ends_within(&self, milliseconds: i32) -> bool {
        let (fd, events) = (self.pidfd.as_raw_fd(), libc::POLLIN);
        let mut watched = libc::pollfd { fd, events, revents: 0 };
        // SAFETY: one structure of our own, which outlives the call.
        unsafe { libc::poll(&raw mut watched, 1, milliseconds) == 1 }
    }

    fn wait_with(&self, options: libc::c_int) -> ExitStatus {
        // SAFETY: a structure of numbers and pointers that nobody follows.
        let mut end: libc::siginfo_t = unsafe { std::mem::zeroed() };
        // SAFETY: numbers.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        let id = self.pid as libc::id_t;
        // SAFETY: waits for our own child, which nobody has waited for; the structure outlives the call.
        while unsafe { waitid(id, &raw mut end, options, &raw mut usage) } < 0 {
            if std::io::Error::last_os_error().raw_os_error() != Some(libc::EINTR) {
                break;
            }
        }
        let time = usage.ru_utime;
        let time = time.tv_sec.saturating_mul(1_000_000).saturating_add(time.tv_usec);
        self.computed.store(time as u64, Ordering::Relaxed);
        // SAFETY: the kernel has filled in the end of a child, or nothing.
        let number = unsafe { end.si_status() };
        let killed = matches!(end.si_code, libc::CLD_KILLED | libc::CLD_DUMPED);
        let state = self.channel.state();
        ExitStatus {
            code: (end.si_code == libc::CLD_EXITED).then_some(number),
            signal: killed.then_some(number),
            initialized: state & state::INITIALIZED != 0,
            finalized: state & state::FINALIZED != 0,
            portals: state & (state::PORTALS | state::VERBS) != 0,
        }
    }
}

/// waitid(2), with what the child has used; the C library's function does not tell that.
///
/// # Safety
/// Both pointers are of structures that outlive the call.
unsafe fn waitid(
    id: libc::id_t,
    end: *mut libc::siginfo_t,
    options: libc::c_int,
    usage: *mut libc::rusage,
) -> libc::c_long {
    // SAFETY: as the caller promises.
    unsafe { libc::syscall(libc::SYS_waitid, libc::P_PID, id, end, options, usage) }
}
