//! A rank's memory, seen from the simulator: what host and devices read and write.

use crate::agent::Ending;
use crate::life::Life;
use bus::BusError;
use host::AddressSpace;
use std::sync::Arc;

/// The address space of a rank's process. Stays valid, but answers nothing, when the process has ended.
#[derive(Clone, Debug)]
pub struct ProcessMemory {
    /// What stands in its channel is read, and left to be stored, without the kernel.
    pub(crate) life: Arc<Life>,
}

const NOT_MAPPED: &str = "the program has no such memory";
const NOT_WRITABLE: &str = "the program has no such memory, or may not write it";
const ENDED: &str = "the program has ended";

impl ProcessMemory {
    /// Rank and end of the process, if it had ended by itself (or was killed) when something was to be read
    /// or written here: it is why that, and whatever followed, has failed.
    pub fn ending(&self) -> Option<(u32, Ending)> {
        Some((self.life.rank, Ending::of(self.life.end_if_missed()?, self.life.fault())))
    }

    /// What was left for the process to store reaches it now: whoever looks next goes through the kernel.
    fn flush(&self) -> Result<(), BusError> {
        for (va, data) in self.life.channel.take_log() {
            self.store(va, &data)?;
        }
        Ok(())
    }

    /// What the last error means.
    fn why(&self, no_memory: &'static str) -> &'static str {
        let error = std::io::Error::last_os_error().raw_os_error();
        if self.life.miss(error == Some(libc::ESRCH)) {
            return ENDED;
        }
        match error {
            Some(libc::EPERM) => "the kernel forbids access to the program's memory",
            _ => no_memory,
        }
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
                libc::process_vm_writev(self.life.pid, &raw const local, 1, &raw const remote, 1, 0)
            };
            match usize::try_from(moved) {
                Ok(0) | Err(_) => {
                    let (addr, why) = (va + done as u64, self.why(NOT_WRITABLE));
                    return Err(BusError { addr, len: rest, write: true, why });
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
        if self.life.is_over() {
            return Err(error(ENDED));
        }
        if self.life.channel.read_passed(va, buf) {
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
                libc::process_vm_readv(self.life.pid, &raw const local, 1, &raw const remote, 1, 0)
            };
            match usize::try_from(moved) {
                Ok(0) | Err(_) => return Err(error(self.why(NOT_MAPPED))),
                Ok(moved) => done += moved,
            }
        }
        Ok(())
    }

    fn write(&self, va: u64, data: &[u8]) -> Result<(), BusError> {
        if self.life.is_over() {
            return Err(BusError { addr: va, len: data.len(), write: true, why: ENDED });
        }
        if self.life.channel.log(va, data) {
            return Ok(());
        }
        self.flush()?;
        self.store(va, data)
    }
}
