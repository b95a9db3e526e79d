//! Library buffers in the process's address space: pieces that are taken, given back and used
//! again.

use host::{SharedMemory, SpaceId};

/// A library buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Buffer {
    /// Its address in the process.
    pub va: u64,
    class: u8,
}

/// Free buffers by size: each holds a power of two of bytes, at least 64.
pub(crate) struct Scratch {
    space: SpaceId,
    free: [Vec<u64>; 64],
}

impl Scratch {
    /// Nothing yet, in `space`.
    pub fn new(space: SpaceId) -> Scratch {
        Scratch { space, free: std::array::from_fn(|_| Vec::new()) }
    }
    /// A buffer of at least `bytes`.
    pub fn take(&mut self, memory: &SharedMemory, bytes: u64) -> Buffer {
        let size = bytes.max(64).next_power_of_two();
        let class = size.trailing_zeros() as u8;
        let va = self.free[usize::from(class)].pop();
        let va = va.unwrap_or_else(|| memory.borrow_mut().alloc_library(self.space, size));
        Buffer { va, class }
    }
    /// `buffer` is no longer used.
    pub fn give(&mut self, buffer: Buffer) {
        self.free[usize::from(buffer.class)].push(buffer.va);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bus_free_space::NoProcess;

    /// A space without a process: only library memory is used.
    mod bus_free_space {
        use host::AddressSpace;
        pub struct NoProcess;
        impl AddressSpace for NoProcess {
            fn read(&self, addr: u64, buf: &mut [u8]) -> Result<(), bus::BusError> {
                Err(bus::BusError { addr, len: buf.len(), write: false, why: "no process" })
            }
            fn write(&self, addr: u64, data: &[u8]) -> Result<(), bus::BusError> {
                Err(bus::BusError { addr, len: data.len(), write: true, why: "no process" })
            }
            fn read_pieces(
                &self,
                pieces: &[(u64, usize)],
                buf: &mut [u8],
            ) -> Result<(), bus::BusError> {
                host::read_each(pieces, buf, |va, piece| self.read(va, piece))
            }
            fn write_pieces(
                &self,
                pieces: &[(u64, usize)],
                data: &[u8],
            ) -> Result<(), bus::BusError> {
                host::write_each(pieces, data, |va, piece| self.write(va, piece))
            }
        }
    }

    #[test]
    fn buffers_are_used_again() {
        let memory = host::Memory::shared();
        let space = memory.borrow_mut().add_space(Box::new(NoProcess));
        let mut scratch = Scratch::new(space);
        let (a, b) = (scratch.take(&memory, 100), scratch.take(&memory, 128));
        assert_ne!(a.va, b.va);
        scratch.give(a);
        assert_eq!(scratch.take(&memory, 65).va, a.va);
        assert_ne!(scratch.take(&memory, 64).va, b.va);
    }
}
