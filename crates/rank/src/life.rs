//! A process from its birth to its end, as those see it who hold a share of it.

use crate::channel::Channel;
use crate::permitted::is_refusal;
use crate::process::ExitStatus;
use abi::rank::state;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Milliseconds that a process gets to end which has no memory any more: its other threads end first.
const LAST_BREATH_MS: i32 = 2000;

#[derive(Debug)]
pub(crate) struct Life {
    pub rank: u32,
    pub pid: libc::pid_t,
    pub pidfd: OwnedFd,
    pub channel: Arc<Channel>,
    /// It was waited for: its number may be somebody else's now.
    gone: AtomicBool,
    /// Held while that becomes so.
    going: Mutex<()>,
    /// Its memory was wanted when it had ended without being asked.
    missed: AtomicBool,
}

impl Life {
    pub fn new(rank: u32, pid: libc::pid_t, pidfd: OwnedFd, channel: Arc<Channel>) -> Life {
        let (gone, going, missed) = Default::default();
        Life { rank, pid, pidfd, channel, gone, going, missed }
    }

    /// True once it was waited for.
    pub fn is_over(&self) -> bool {
        self.gone.load(Ordering::Relaxed)
    }

    /// What its library has ended it for, as [`crate::Process::fault`] tells it.
    pub fn fault(&self) -> Option<String> {
        self.channel.fault().map(|fault| format!("rank {}: {fault}", self.rank))
    }

    /// Waits until it has ended; to be called once.
    pub fn wait(&self) -> ExitStatus {
        self.wait_with(libc::WEXITED | libc::WNOWAIT);
        let _going = self.going.lock().unwrap_or_else(PoisonError::into_inner);
        let status = self.wait_with(libc::WEXITED);
        self.gone.store(true, Ordering::Relaxed);
        status
    }

    /// Kills the process; nothing happens if it has ended.
    pub fn kill(&self) {
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

    /// Its memory was wanted in vain. True if that is because it ends: its memory goes first
    /// (`without_memory`).
    pub fn miss(&self, without_memory: bool) -> bool {
        let missed = without_memory || self.ends_within(0);
        self.missed.fetch_or(missed, Ordering::Relaxed);
        missed
    }

    /// How it ended, if that was noticed because its memory was missed: whatever has failed since is a
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
        let id = self.pid as libc::id_t;
        // SAFETY: waits for our own child, which nobody has waited for; the structure outlives the call.
        while unsafe { libc::waitid(libc::P_PID, id, &raw mut end, options) } < 0 {
            if std::io::Error::last_os_error().raw_os_error() != Some(libc::EINTR) {
                break;
            }
        }
        // SAFETY: the kernel has filled in the end of a child, or nothing.
        let number = unsafe { end.si_status() };
        let killed = matches!(end.si_code, libc::CLD_KILLED | libc::CLD_DUMPED);
        let state = self.channel.state();
        ExitStatus {
            code: (end.si_code == libc::CLD_EXITED).then_some(number),
            signal: killed.then_some(number),
            initialized: state & state::INITIALIZED != 0,
            finalized: state & state::FINALIZED != 0,
            portals: state & state::PORTALS != 0,
        }
    }
}
