//! Memory files: what simulator and processes share.

use crate::channel::SIZE;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Name under which the system shows one among a process's mappings.
pub(crate) const SHOWN: &str = "/memfd:sunstar-rank";

/// A new one with room for so many channels, all zeros. Closed on exec unless told otherwise. Its size stays
/// as it is: were it shortened by a program, the next access of the simulator's would end the simulator.
pub(crate) fn new(channels: u32) -> io::Result<OwnedFd> {
    let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
    // SAFETY: the name is a C string; the descriptor is new and nobody else's.
    let fd = unsafe { libc::memfd_create(c"sunstar-rank".as_ptr(), flags) };
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
    let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
    // SAFETY: seals our own file.
    if unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_ADD_SEALS, seals) } != 0 {
        return Err(refused("fcntl"));
    }
    Ok(fd)
}

/// Offset of a channel.
pub(crate) fn at(channel: u32) -> libc::off_t {
    libc::off_t::from(channel) * SIZE as libc::off_t
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_can_shorten_it() {
        let file = new(2).unwrap();
        for length in [0, at(1), at(3)] {
            // SAFETY: our own file.
            let refused = unsafe { libc::ftruncate(file.as_raw_fd(), length) };
            let error = std::io::Error::last_os_error().raw_os_error();
            assert_eq!((refused, error), (-1, Some(libc::EPERM)), "{length}");
        }
    }
}
