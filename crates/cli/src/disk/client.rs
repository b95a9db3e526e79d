//! A clocked client as it is known: its threads and its connections.

use super::calls::{Register, Time};
use super::tracee::Tid;
use nbd::Session;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;

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

/// Connection of the client.
pub(super) struct Connection {
    pub stream: UnixStream,
    pub session: Session,
    pub out: Vec<u8>,
    /// The client may send more; and the connection has been closed here.
    pub open: bool,
    pub closed: bool,
}

impl Connection {
    /// Sends what it can; true if something was sent.
    pub fn send(&mut self) -> io::Result<bool> {
        let mut some = false;
        while !self.out.is_empty() {
            match self.stream.write(&self.out) {
                Ok(count) => {
                    self.out.drain(..count);
                    some = true;
                }
                Err(why) if why.kind() == ErrorKind::WouldBlock => break,
                Err(why) if why.kind() == ErrorKind::BrokenPipe => {
                    self.open = false;
                    self.out.clear();
                }
                Err(why) => return Err(why),
            }
        }
        Ok(some)
    }

    /// Receives what has come.
    pub fn receive(&mut self) -> io::Result<()> {
        let mut bytes = vec![0; 1 << 16];
        while self.open {
            match self.stream.read(&mut bytes) {
                Ok(0) => self.open = false,
                Ok(count) => self.session.receive(&bytes[..count]),
                Err(why) if why.kind() == ErrorKind::WouldBlock => break,
                Err(why) if why.kind() == ErrorKind::ConnectionReset => self.open = false,
                Err(why) => return Err(why),
            }
        }
        Ok(())
    }
}
