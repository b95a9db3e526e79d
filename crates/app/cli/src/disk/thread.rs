//! A clocked client's threads, as far as they are known.

use super::calls::{Register, Time};
use super::tracee::Tid;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// State of a thread, as far as it is known.
pub(super) enum State {
    Runs,
    /// It is stopped in a call, until then.
    Sleeps(Time),
    /// It makes a file that stands for a timer.
    MakesTimer,
    /// It is in a call, in the kernel, until then at most.
    Waits {
        until: Time,
        before: Register,
        result: i64,
        sets: u64,
        over: bool,
    },
}

pub(super) struct Thread {
    pub state: State,
    /// The kernel's files about it.
    stat: File,
    schedstat: File,
}

impl Thread {
    pub fn of(pid: Tid, tid: Tid) -> io::Result<Thread> {
        let file = |name: &str| File::open(format!("/proc/{pid}/task/{tid}/{name}"));
        Ok(Thread { state: State::Runs, stat: file("stat")?, schedstat: file("schedstat")? })
    }

    pub fn until(&self) -> Option<Time> {
        match self.state {
            State::Sleeps(until) | State::Waits { until, over: false, .. } => Some(until),
            _ => None,
        }
    }

    /// Number of times that it has run, if it sleeps in the kernel; none if it does not.
    pub fn asleep(&self) -> Option<u64> {
        let mut bytes = [0; 512];
        let length = self.stat.read_at(&mut bytes, 0).ok()?;
        // The name, in brackets, may have any bytes.
        let name = bytes[..length].iter().rposition(|byte| *byte == b')')?;
        (bytes.get(name + 2) == Some(&b'S')).then_some(())?;
        let length = self.schedstat.read_at(&mut bytes, 0).ok()?;
        let text = std::str::from_utf8(&bytes[..length]).ok()?;
        text.split_whitespace().nth(2)?.parse().ok()
    }
}
