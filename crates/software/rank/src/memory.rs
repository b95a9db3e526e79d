//! A rank's memory, seen from the simulator: what host and devices read and write.

use crate::ending::Ending;
use crate::life::Life;
use crate::moved::worthwhile;
use crate::write_only;
use bus::BusError;
use host::AddressSpace;
use std::sync::Arc;

/// The address space of a rank's process. Stays valid, but answers nothing, when the process has ended.
#[derive(Clone, Debug)]
pub struct ProcessMemory {
    /// Process whose channel holds memory that is read, and stores that are left to it, without the kernel.
    pub(crate) life: Arc<Life>,
}

/// Vectors that the kernel takes at a time.
const PIECES_MAX: usize = 1024;
/// Fewer pieces are left to the process, if they are small enough for that.
const PIECES_MIN: usize = 16;
const PAGE: u64 = 4096;

fn bytes_of(pieces: &[(u64, usize)]) -> usize {
    pieces.iter().map(|piece| piece.1).sum()
}

fn iovec(start: *mut libc::c_void, len: usize) -> libc::iovec {
    libc::iovec { iov_base: start, iov_len: len }
}

const NOT_MAPPED: &str = "the program has no such memory";
const NOT_WRITABLE: &str = "the program has no such memory, or may not write it";
const FORBIDDEN: &str = "the system forbids access to the program's memory (process_vm_readv and \
                         process_vm_writev; a filter of calls, or a program that may not be read)";
const NO_SUCH_CALL: &str =
    "the system has no process_vm_readv and process_vm_writev: a filter of system calls \
                            refuses them";
const ENDED: &str = "the program has ended";

impl ProcessMemory {
    /// Rank and end of the process, if it had ended by itself (or was killed) when something was read
    /// or written here: it is why that, and whatever followed, has failed.
    pub fn ending(&self) -> Option<(u32, Ending)> {
        Some((self.life.rank, Ending::of(self.life.end_if_missed()?, self.life.fault())))
    }

    /// Stores into the process what was left for it to store: the next access goes through the kernel.
    fn flush(&self) -> Result<(), BusError> {
        for (va, data) in self.life.channel.take_log() {
            self.store(va, &data)?;
        }
        Ok(())
    }

    /// Meaning of the last error.
    fn why(&self, no_memory: &'static str) -> &'static str {
        let error = std::io::Error::last_os_error().raw_os_error();
        if self.life.miss(error == Some(libc::ESRCH)) {
            return ENDED;
        }
        match error {
            Some(libc::EPERM | libc::EACCES) => FORBIDDEN,
            Some(libc::ENOSYS) => NO_SUCH_CALL,
            _ => no_memory,
        }
    }

    /// Reads pieces with one call of the kernel, which looks for a page once if several lie in it. False if
    /// not all were read.
    fn load_together(&self, pieces: &[(u64, usize)], buf: &mut [u8]) -> bool {
        // The bytes between pieces of a page are not wanted.
        let mut unwanted = [0u8; PAGE as usize];
        let (mut local, mut remote) = (Vec::new(), Vec::<(u64, u64)>::new());
        let (mut at, mut all) = (buf.as_mut_ptr(), 0);
        for &(va, len) in pieces {
            let Some(end) = va.checked_add(len as u64) else { return false };
            match remote.last_mut() {
                Some(last) if last.1 <= va && (last.1 - 1) / PAGE == va / PAGE => {
                    let gap = (va - last.1) as usize;
                    local.push((unwanted.as_mut_ptr(), gap));
                    last.1 = end;
                    all += gap;
                }
                _ => remote.push((va, end)),
            }
            local.push((at, len));
            all += len;
            // SAFETY: the pieces are `buf` together, so the next one begins here, or there is none.
            at = unsafe { at.add(len) };
        }
        let vector = |(start, len): (*mut u8, usize)| iovec(start.cast(), len);
        let local: Vec<_> = local.into_iter().filter(|&(_, len)| len > 0).map(vector).collect();
        let remote =
            remote.into_iter().map(|(va, end)| iovec(va as usize as _, (end - va) as usize));
        let remote: Vec<_> = remote.collect();
        let (here, there) = (local.len() as libc::c_ulong, remote.len() as libc::c_ulong);
        // SAFETY: the local vectors lie in `buf` and in `unwanted`, which nothing else uses meanwhile; the
        // kernel checks the remote ones.
        let moved = unsafe {
            libc::process_vm_readv(
                self.life.rank_pid(),
                local.as_ptr(),
                here,
                remote.as_ptr(),
                there,
                0,
            )
        };
        usize::try_from(moved) == Ok(all)
    }

    /// Stores pieces with one call of the kernel. False if not all were stored.
    fn store_together(&self, pieces: &[(u64, usize)], data: &[u8]) -> bool {
        let local = iovec(data.as_ptr().cast_mut().cast(), data.len());
        let remote = pieces.iter().map(|&(va, len)| iovec(va as usize as _, len));
        let remote: Vec<_> = remote.collect();
        let there = remote.len() as libc::c_ulong;
        // SAFETY: the kernel only reads the local vector, which is `data`, and checks the remote ones.
        let moved = unsafe {
            libc::process_vm_writev(
                self.life.rank_pid(),
                &raw const local,
                1,
                remote.as_ptr(),
                there,
                0,
            )
        };
        usize::try_from(moved) == Ok(data.len())
    }

    fn store(&self, va: u64, data: &[u8]) -> Result<(), BusError> {
        let (mut done, mut opened) = (0, false);
        while done < data.len() {
            let rest = data.len() - done;
            let start = data[done..].as_ptr().cast_mut();
            let local = libc::iovec { iov_base: start.cast(), iov_len: rest };
            let remote = libc::iovec { iov_base: (va as usize + done) as *mut _, iov_len: rest };
            // SAFETY: the kernel only reads the local vector, `data`'s rest, and checks the remote one.
            let moved = unsafe {
                libc::process_vm_writev(
                    self.life.rank_pid(),
                    &raw const local,
                    1,
                    &raw const remote,
                    1,
                    0,
                )
            };
            match usize::try_from(moved) {
                Ok(0) | Err(_) if !opened && self.open(va + done as u64, rest) => opened = true,
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
        if let (Some(request), 8) = (self.life.repeated(va), len) {
            buf.copy_from_slice(&request.to_ne_bytes());
            return Ok(());
        }
        if self.life.is_over() {
            return Err(error(ENDED));
        }
        if self.life.channel.read_passed(va, buf) {
            return Ok(());
        }
        self.flush()?;
        let (mut done, mut opened) = (0, false);
        while done < buf.len() {
            let rest = buf.len() - done;
            let local = libc::iovec { iov_base: buf[done..].as_mut_ptr().cast(), iov_len: rest };
            let remote = libc::iovec { iov_base: (va as usize + done) as *mut _, iov_len: rest };
            // SAFETY: the local vector is `buf`'s rest; the remote one is checked by the kernel.
            let moved = unsafe {
                libc::process_vm_readv(
                    self.life.rank_pid(),
                    &raw const local,
                    1,
                    &raw const remote,
                    1,
                    0,
                )
            };
            match usize::try_from(moved) {
                Ok(0) | Err(_) if !opened && self.open(va + done as u64, rest) => opened = true,
                Ok(0) | Err(_) => {
                    let why = self.why(NOT_MAPPED);
                    let (pid, at) = (self.life.rank_pid(), va + done as u64);
                    return match why == NOT_MAPPED && write_only::read(pid, at, &mut buf[done..]) {
                        true => Ok(()),
                        false => Err(error(why)),
                    };
                }
                Ok(moved) => done += moved,
            }
        }
        Ok(())
    }

    fn read_pieces(&self, pieces: &[(u64, usize)], buf: &mut [u8]) -> Result<(), BusError> {
        let (mut pieces, mut done) = (pieces, 0);
        while let Some((runs, bytes)) = worthwhile(pieces) {
            let (these, here) = (&pieces[..runs], &mut buf[done..done + bytes]);
            if self.life.is_over() || self.flush().is_err() || !self.gather(these, here) {
                break;
            }
            (pieces, done) = (&pieces[runs..], done + bytes);
        }
        let mut rest = &mut buf[done..];
        pieces.chunks(PIECES_MAX / 2).try_for_each(|pieces| {
            let (here, after) = std::mem::take(&mut rest).split_at_mut(bytes_of(pieces));
            rest = after;
            if !self.life.is_over() && self.flush().is_ok() && self.load_together(pieces, here) {
                return Ok(());
            }
            // One of them is not there: it is found, and told.
            host::read_each(pieces, here, |va, piece| self.read(va, piece))
        })
    }

    fn write_pieces(&self, pieces: &[(u64, usize)], data: &[u8]) -> Result<(), BusError> {
        if pieces.len() < PIECES_MIN {
            return host::write_each(pieces, data, |va, piece| self.write(va, piece));
        }
        self.life.channel.forget_carried();
        let (mut pieces, mut rest) = (pieces, data);
        while let Some((runs, bytes)) = worthwhile(pieces) {
            let (these, here) = (&pieces[..runs], &rest[..bytes]);
            if self.life.is_over() || self.flush().is_err() || !self.scatter(these, here) {
                break;
            }
            (pieces, rest) = (&pieces[runs..], &rest[bytes..]);
        }
        pieces.chunks(PIECES_MAX).try_for_each(|pieces| {
            let (here, after) = rest.split_at(bytes_of(pieces));
            rest = after;
            if !self.life.is_over() && self.flush().is_ok() && self.store_together(pieces, here) {
                return Ok(());
            }
            host::write_each(pieces, here, |va, piece| self.write(va, piece))
        })
    }

    fn write(&self, va: u64, data: &[u8]) -> Result<(), BusError> {
        if self.life.repeats() {
            return Ok(()); // The library has written the same.
        }
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
