//! Ranks that serve others: when all others have ended, or have reached MPI_Finalize where all ranks wait for
//! one another, they are told so, as a launcher tells them, with SIGTERM.

use crate::life::Life;
use des::{Duration, Time};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Milliseconds of real time that a server gets to end.
const PATIENCE_MS: i32 = 2000;

/// The ranks of a run that are no servers.
#[derive(Debug, Default)]
pub struct Crowd {
    all: u32,
    ended: AtomicU32,
    /// Time of the last end among those that have ended, in picoseconds.
    last: AtomicU64,
    /// Time until everybody knows of it, in picoseconds.
    notice: AtomicU64,
}

impl Crowd {
    /// So many ranks are no servers.
    pub fn new(all: u32) -> Crowd {
        Crowd { all, ..Crowd::default() }
    }

    /// No node is simulated further than this ahead of another: only then a server is told of the end, so
    /// that it is told at the same simulated time in every run.
    pub fn set_notice(&self, notice: Duration) {
        self.notice.store(notice.0, Ordering::Relaxed);
    }

    /// One of them has ended, or reached its end.
    pub fn end(&self, now: Time) {
        self.last.fetch_max(now.0, Ordering::AcqRel);
        self.ended.fetch_add(1, Ordering::AcqRel);
    }

    /// True if servers are told at `now` that all of them have ended.
    pub fn is_over(&self, now: Time) -> bool {
        (self.all > 0 && self.ended.load(Ordering::Acquire) == self.all)
            && now.0 > self.last.load(Ordering::Acquire) + self.notice.load(Ordering::Relaxed)
    }
}

/// Sends SIGTERM. True if the process ends of it; one that handles the signal goes on.
pub(crate) fn terminate(life: &Life) -> bool {
    let handles = handles_terminate(life.rank_pid());
    // SAFETY: our own child, for which nobody has waited, or one that it has started; no memory is touched.
    unsafe { libc::kill(life.rank_pid(), libc::SIGTERM) };
    !handles && ends(life)
}

/// Waits until the process has ended, for a while.
pub(crate) fn ends(life: &Life) -> bool {
    let (fd, events) = (life.pidfd.as_raw_fd(), libc::POLLIN);
    let mut watched = libc::pollfd { fd, events, revents: 0 };
    // SAFETY: one structure of our own, which outlives the call.
    unsafe { libc::poll(&raw mut watched, 1, PATIENCE_MS) == 1 }
}

/// True if it catches, ignores or blocks the signal (proc(5)).
fn handles_terminate(process: libc::pid_t) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let set = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let mask = line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
        mask >> (libc::SIGTERM - 1) & 1 != 0
    };
    set("SigCgt:") || set("SigIgn:") || set("SigBlk:")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_told_when_everybody_can_know() {
        let crowd = Crowd::new(2);
        crowd.set_notice(Duration(100));
        crowd.end(Time(50));
        assert!(!crowd.is_over(Time(1000)));
        crowd.end(Time(40));
        assert!(!crowd.is_over(Time(150)) && crowd.is_over(Time(151)));
        assert!(!Crowd::new(0).is_over(Time(1)), "there is nobody whom a server has served");
    }
}
