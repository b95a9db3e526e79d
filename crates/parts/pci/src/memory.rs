//! The host's memory, as the bridge sees it.

use bus::{BusError, Memory};

/// Memory that the bridge reads and writes for the devices. Addresses are physical.
pub trait HostMemory {
    /// True if `len` bytes at `addr` are memory: the bridge claims no other transaction.
    fn contains(&self, addr: u64, len: usize) -> bool;
    /// Fills `buf` from `addr` on.
    fn read(&self, addr: u64, buf: &mut [u8]) -> Result<(), BusError>;
    /// Stores `data` at `addr`.
    fn write(&mut self, addr: u64, data: &[u8]) -> Result<(), BusError>;
}

impl HostMemory for Memory {
    fn contains(&self, addr: u64, len: usize) -> bool {
        Memory::contains(self, addr, len)
    }
    fn read(&self, addr: u64, buf: &mut [u8]) -> Result<(), BusError> {
        Memory::read(self, addr, buf)
    }
    fn write(&mut self, addr: u64, data: &[u8]) -> Result<(), BusError> {
        Memory::write(self, addr, data)
    }
}
