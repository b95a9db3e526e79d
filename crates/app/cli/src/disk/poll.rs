//! Waiting for several streams at once, and signals to a child.

use std::os::fd::{AsFd, AsRawFd};
use std::process::Child;
use std::time::Duration;

/// A stream that is waited for.
#[repr(transparent)]
pub struct Watched(libc::pollfd);

impl Watched {
    /// Wait for the time at which it can be read.
    pub fn read(stream: &impl AsFd) -> Watched {
        Watched::of(stream, true, false)
    }
    /// Wait for the time at which it can be read or written, as wanted; its end is seen in any case.
    pub fn of(stream: &impl AsFd, read: bool, write: bool) -> Watched {
        let wanted = |is, events| if is { events } else { 0 };
        let events = wanted(read, libc::POLLIN) | wanted(write, libc::POLLOUT);
        Watched(libc::pollfd { fd: stream.as_fd().as_raw_fd(), events, revents: 0 })
    }
    /// True if there is something to read, or it has ended.
    pub fn has_come(&self) -> bool {
        self.0.revents != 0
    }
    /// True if the other end is closed, for both directions.
    pub fn is_gone(&self) -> bool {
        self.0.revents & (libc::POLLHUP | libc::POLLERR | libc::POLLNVAL) != 0
    }
}

/// Waits until something has come on one of them; false after `patience`, or when a signal has come.
pub fn wait(watched: &mut [Watched], patience: Duration) -> bool {
    let (count, timeout) = (watched.len() as libc::nfds_t, patience.as_millis() as libc::c_int);
    // SAFETY: the array is one of `pollfd`, as `Watched` is transparent, and outlives the call.
    let ready = unsafe { libc::poll(watched.as_mut_ptr().cast(), count, timeout) };
    ready > 0
}

/// True if the other end of a stream is closed, for both directions.
pub fn is_gone(stream: &impl AsFd) -> bool {
    let mut watched = [Watched::of(stream, false, false)];
    wait(&mut watched, Duration::ZERO) && watched[0].is_gone()
}

/// Sends a signal to a child that has not been waited for.
pub fn signal(child: &Child, signal: libc::c_int) {
    // SAFETY: the number is the child's, as nobody has waited for it.
    unsafe { libc::kill(child.id() as libc::pid_t, signal) };
}
