//! A rank's memory, seen from the simulator: what host and devices read and write.

use crate::channel::Channel;
use bus::BusError;
use host::AddressSpace;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

/// The address space of a rank's process. Stays valid, but answers nothing, when the process has ended.
#[derive(Clone, Debug)]
pub struct ProcessMemory {
    pub(crate) pid: libc::pid_t,
    /// The process was waited for: its number may be somebody else's now.
    pub(crate) gone: Arc<AtomicBool>,
    /// What the two share: what stands there is read, and left to be stored, without the kernel.
    pub(crate) channel: Arc<Channel>,
}

const NOT_MAPPED: &str = "the program has no such memory";
const NOT_WRITABLE: &str = "the program has no such memory, or may not write it";
const ENDED: &str = "the program has ended";

impl ProcessMemory {
    fn ended(&self) -> bool {
        self.gone.load(Ordering::Relaxed)
    }

    /// What was left for the process to store reaches it now: whoever looks next goes through the kernel.
    fn flush(&self) -> Result<(), BusError> {
        for (va, data) in self.channel.take_log() {
            self.store(va, &data)?;
        }
        Ok(())
    }

    fn store(&self, va: u64, data: &[u8]) -> Result<(), BusError> {
        let mut done = 0;
        while done < data.len() {
            let rest = data.len() - done;
            let start = data[done..].as_ptr().cast_mut();
            let local = libc::iovec { iov_base: start.cast(), iov_len: rest };
            let remote = libc::iovec { iov_base: (va as usize + done) as *mut _, iov_len: rest };
            // SAFETY: the kernel only reads the local vector, `data`'s rest, and checks the remote one.
            let moved = unsafe {
                libc::process_vm_writev(self.pid, &raw const local, 1, &raw const remote, 1, 0)
            };
            match usize::try_from(moved) {
                Ok(0) | Err(_) => {
                    let why = why(NOT_WRITABLE);
                    return Err(BusError { addr: va, len: data.len(), write: true, why });
                }
                Ok(moved) => done += moved,
            }
        }
        Ok(())
    }
}

impl AddressSpace for ProcessMemory {
    fn read(&self, va: u64, buf: &mut [u8]) -> Result<(), BusError> {
        let len = buf.len();
        let error = |why| BusError { addr: va, len, write: false, why };
        if self.ended() {
            return Err(error(ENDED));
        }
        if self.channel.read_passed(va, buf) {
            return Ok(());
        }
        self.flush()?;
        let mut done = 0;
        while done < buf.len() {
            let rest = buf.len() - done;
            let local = libc::iovec { iov_base: buf[done..].as_mut_ptr().cast(), iov_len: rest };
            let remote = libc::iovec { iov_base: (va as usize + done) as *mut _, iov_len: rest };
            // SAFETY: the local vector is `buf`'s rest; the remote one is checked by the kernel.
            let moved = unsafe {
                libc::process_vm_readv(self.pid, &raw const local, 1, &raw const remote, 1, 0)
            };
            match usize::try_from(moved) {
                Ok(0) | Err(_) => return Err(error(why(NOT_MAPPED))),
                Ok(moved) => done += moved,
            }
        }
        Ok(())
    }

    fn write(&self, va: u64, data: &[u8]) -> Result<(), BusError> {
        if self.ended() {
            return Err(BusError { addr: va, len: data.len(), write: true, why: ENDED });
        }
        if self.channel.log(va, data) {
            return Ok(());
        }
        self.flush()?;
        self.store(va, data)
    }
}

/// What the last error means.
fn why(no_memory: &'static str) -> &'static str {
    match std::io::Error::last_os_error().raw_os_error() {
        Some(libc::ESRCH) => ENDED,
        Some(libc::EPERM) => "the kernel forbids access to the program's memory",
        _ => no_memory,
    }
}
