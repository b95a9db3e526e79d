//! System calls that the standard library does not have: descriptors over sockets, shared memory, polling.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::ptr;
use std::time::Duration;

/// Wall time for which the other end of a socket may stop within a message.
const MESSAGE: Duration = Duration::from_secs(if cfg!(test) { 1 } else { 30 });

/// Most descriptors that come with a message.
const DESCRIPTORS_MAX: usize = 8;

/// Room for them, aligned as headers of control messages are.
#[repr(C, align(8))]
struct Control([u8; 64]);

/// Reads up to `buf.len()` bytes, with the descriptors that come along.
pub(crate) fn receive(
    socket: &UnixStream,
    buf: &mut [u8],
    fds: &mut Vec<OwnedFd>,
) -> io::Result<usize> {
    let mut control = Control([0; 64]);
    let mut iov = libc::iovec { iov_base: buf.as_mut_ptr().cast(), iov_len: buf.len() };
    // SAFETY: all zero is a valid header without anything.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_iov = &mut iov;
    header.msg_iovlen = 1;
    header.msg_control = control.0.as_mut_ptr().cast();
    header.msg_controllen = control.0.len();
    // SAFETY: the header names buffers that live until the call returns, with their lengths.
    let n = unsafe { libc::recvmsg(socket.as_raw_fd(), &mut header, libc::MSG_CMSG_CLOEXEC) };
    if n < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the header is as the kernel has left it, and its buffers live.
    let mut message = unsafe { libc::CMSG_FIRSTHDR(&header) };
    while !message.is_null() {
        // SAFETY: the message lies in our buffer, as the two functions that give it see to.
        let (level, kind, len) =
            unsafe { ((*message).cmsg_level, (*message).cmsg_type, (*message).cmsg_len) };
        if level == libc::SOL_SOCKET && kind == libc::SCM_RIGHTS {
            // SAFETY: this computes with sizes alone.
            let head = unsafe { libc::CMSG_LEN(0) } as usize;
            let count = (len.saturating_sub(head) / size_of::<RawFd>()).min(DESCRIPTORS_MAX);
            for index in 0..count {
                // SAFETY: the message has `count` descriptors, which are ours from now on.
                let fd = unsafe {
                    let data = libc::CMSG_DATA(message).cast::<RawFd>();
                    OwnedFd::from_raw_fd(ptr::read_unaligned(data.add(index)))
                };
                fds.push(fd);
            }
        }
        // SAFETY: as above.
        message = unsafe { libc::CMSG_NXTHDR(&header, message) };
    }
    Ok(n as usize)
}

/// Sends `bytes` with two descriptors.
pub(crate) fn send_with(socket: &UnixStream, bytes: &[u8], fds: [RawFd; 2]) -> io::Result<()> {
    let mut control = Control([0; 64]);
    let mut iov = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    // SAFETY: all zero is a valid header without anything.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_iov = &mut iov;
    header.msg_iovlen = 1;
    header.msg_control = control.0.as_mut_ptr().cast();
    // SAFETY: these compute with sizes; the first control message lies in our buffer, which has room for it.
    unsafe {
        header.msg_controllen = libc::CMSG_SPACE(size_of_val(&fds) as u32) as usize;
        let message = libc::CMSG_FIRSTHDR(&header);
        (*message).cmsg_level = libc::SOL_SOCKET;
        (*message).cmsg_type = libc::SCM_RIGHTS;
        (*message).cmsg_len = libc::CMSG_LEN(size_of_val(&fds) as u32) as usize;
        ptr::write_unaligned(libc::CMSG_DATA(message).cast(), fds);
    }
    // SAFETY: the header names buffers that live until the call returns.
    let n = unsafe { libc::sendmsg(socket.as_raw_fd(), &header, libc::MSG_NOSIGNAL) };
    match usize::try_from(n) {
        Ok(n) if n == bytes.len() => Ok(()),
        Ok(_) => Err(io::ErrorKind::WriteZero.into()),
        Err(_) => Err(io::Error::last_os_error()),
    }
}

/// Waits until one of these can be read or has ended; its index, unless `ms` have passed.
pub(crate) fn poll(fds: &[Option<RawFd>], ms: i32) -> io::Result<Option<usize>> {
    let mut polled = [libc::pollfd { fd: -1, events: libc::POLLIN, revents: 0 }; 4];
    for (slot, fd) in polled.iter_mut().zip(fds) {
        slot.fd = fd.unwrap_or(-1); // -1 is left out
    }
    loop {
        // SAFETY: the array lives until the call returns, and is as long as said.
        let n = unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as u64, ms) };
        match n {
            0 => return Ok(None),
            n if n > 0 => return Ok(polled.iter().position(|slot| slot.revents != 0)),
            _ => {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
        }
    }
}

/// Sets the wall time for which the other end of a socket may stop within a message.
pub(crate) fn limit(socket: &UnixStream) -> io::Result<()> {
    socket.set_read_timeout(Some(MESSAGE))?;
    socket.set_write_timeout(Some(MESSAGE))
}

/// Bytes of a file; 0 if that is not known.
pub(crate) fn size(fd: &OwnedFd) -> u64 {
    let file = fd.try_clone().map(std::fs::File::from);
    file.and_then(|file| file.metadata()).map_or(0, |facts| facts.len())
}

/// A file of `len` zero bytes in memory, without a name.
pub(crate) fn memory_file(len: u64) -> io::Result<OwnedFd> {
    // SAFETY: the name ends with a zero byte; a descriptor comes back that is ours.
    let fd = unsafe {
        let fd = libc::memfd_create(c"sunstar".as_ptr(), libc::MFD_CLOEXEC);
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        OwnedFd::from_raw_fd(fd)
    };
    let file = std::fs::File::from(fd);
    file.set_len(len)?;
    Ok(file.into())
}

/// A file's bytes, shared with other processes that map it.
pub(crate) struct Mapping {
    base: *mut u8,
    len: usize,
}

impl Mapping {
    pub fn new(fd: &OwnedFd, offset: u64, len: usize) -> io::Result<Mapping> {
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
        // SAFETY: a new mapping at an address that the system chooses.
        let base = unsafe {
            libc::mmap(ptr::null_mut(), len, protection, flags, fd.as_raw_fd(), offset as i64)
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Mapping { base: base.cast(), len })
    }
    /// Fills `buf` from `offset` on. The caller has checked the bounds.
    pub fn read(&self, offset: usize, buf: &mut [u8]) {
        assert!(offset.checked_add(buf.len()).is_some_and(|end| end <= self.len), "inside");
        // SAFETY: inside of the mapping. The guest, who could write there, is suspended meanwhile.
        unsafe { ptr::copy_nonoverlapping(self.base.add(offset), buf.as_mut_ptr(), buf.len()) }
    }
    /// Stores `data` from `offset` on. The caller has checked the bounds.
    pub fn write(&self, offset: usize, data: &[u8]) {
        assert!(offset.checked_add(data.len()).is_some_and(|end| end <= self.len), "inside");
        // SAFETY: as above.
        unsafe { ptr::copy_nonoverlapping(data.as_ptr(), self.base.add(offset), data.len()) }
    }
    pub fn len(&self) -> usize {
        self.len
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and nothing points into it any more.
        unsafe { libc::munmap(self.base.cast(), self.len) };
    }
}

/// Gives a child that is about to become another program the same addresses in each run, and ends it with the
/// simulator.
pub(crate) fn fixed_addresses() -> io::Result<()> {
    // SAFETY: both calls take numbers.
    unsafe {
        if libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong) < 0 {
            return Err(io::Error::last_os_error());
        }
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
    }
    Ok(())
}

/// Ends a process.
pub(crate) fn kill(pid: u32) {
    // SAFETY: a call that takes numbers.
    unsafe { libc::kill(pid as libc::pid_t, libc::SIGKILL) };
}

/// Error that keeps a guest from going on.
pub(crate) fn wrong(what: impl ToString) -> io::Error {
    io::Error::other(what.to_string())
}
