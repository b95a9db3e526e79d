//! Memory of the process: the program's own, and buffers of the library.

use bus::BusError;
use host::{read_each, write_each, AddressSpace, SharedMemory, SpaceId};
use mpi::{Bytes, Error};

/// The first page of a process is never mapped: a null pointer is an error of the call, any other bad address
/// the program's end, as in other MPI libraries.
const FIRST: u64 = 4096;
/// Addresses from here on are the kernel's, or MPI_IN_PLACE.
const END: u64 = 1 << 47;

/// The memory of this very process.
pub struct Own;

fn check(addr: u64, len: usize, write: bool) -> Result<(), BusError> {
    match (FIRST..END).contains(&addr) {
        true => Ok(()),
        false => Err(BusError { addr, len, write, why: "no address of the program's" }),
    }
}

impl AddressSpace for Own {
    fn read(&self, va: u64, buf: &mut [u8]) -> Result<(), BusError> {
        check(va, buf.len(), false)?;
        // SAFETY: the program has given this address to MPI as that of its buffer.
        unsafe { std::ptr::copy(va as *const u8, buf.as_mut_ptr(), buf.len()) };
        Ok(())
    }
    fn write(&self, va: u64, data: &[u8]) -> Result<(), BusError> {
        check(va, data.len(), true)?;
        // SAFETY: as above.
        unsafe { std::ptr::copy(data.as_ptr(), va as *mut u8, data.len()) };
        Ok(())
    }
    fn read_pieces(&self, pieces: &[(u64, usize)], buf: &mut [u8]) -> Result<(), BusError> {
        read_each(pieces, buf, |va, piece| self.read(va, piece))
    }
    fn write_pieces(&self, pieces: &[(u64, usize)], data: &[u8]) -> Result<(), BusError> {
        write_each(pieces, data, |va, piece| self.write(va, piece))
    }
}

/// A process's memory, as messages find it.
pub struct Space {
    memory: SharedMemory,
    space: SpaceId,
}

impl Space {
    /// This space of this memory.
    pub fn new(memory: SharedMemory, space: SpaceId) -> Space {
        Space { memory, space }
    }

    /// A copy of these bytes.
    pub fn read(&self, bytes: Bytes) -> mpi::Result<Vec<u8>> {
        let mut copy = vec![0; bytes.length as usize];
        if bytes.length > 0 {
            let read = self.memory.borrow_mut().read(self.space, bytes.va, &mut copy);
            read.map_err(refused)?;
        }
        Ok(copy)
    }

    /// Stores bytes.
    pub fn write(&self, va: u64, data: &[u8]) -> mpi::Result<()> {
        match data {
            [] => Ok(()),
            data => self.memory.borrow_mut().write(self.space, va, data).map_err(refused),
        }
    }
}

fn refused(why: BusError) -> Error {
    let text = format!("{} bytes at {:#x}: {}", why.len, why.addr, why.why);
    Error::new(abi::mpi::ERR_BUFFER, text)
}
