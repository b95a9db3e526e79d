//! Memory files: what simulator and processes share.

use crate::channel::SIZE;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// A new one with room for so many channels, all zeros. Closed on exec unless told otherwise.
pub(crate) fn new(channels: u32) -> io::Result<OwnedFd> {
    // SAFETY: the name is a C string; the descriptor is new and nobody else's.
    let fd = unsafe { libc::memfd_create(c"sunstar-rank".as_ptr(), libc::MFD_CLOEXEC) };
    let refused = |call| {
        let why = io::Error::last_os_error();
        io::Error::new(why.kind(), format!("{call}: {why}"))
    };
    if fd < 0 {
        return Err(refused("memfd_create"));
    }
    // SAFETY: just opened, owned by nobody else.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    // SAFETY: sets the size of our own file.
    if unsafe { libc::ftruncate(fd.as_raw_fd(), at(channels)) } != 0 {
        return Err(refused("ftruncate"));
    }
    Ok(fd)
}

/// Where a channel begins.
pub(crate) fn at(channel: u32) -> libc::off_t {
    libc::off_t::from(channel) * SIZE as libc::off_t
}
