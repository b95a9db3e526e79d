//! The processor's view of its card.

use bus::BusError;
use des::Time;

/// Accesses of 8 bytes that the memory gives in a cycle. Two of 8 bytes at 66 MHz are 1.06 GB/s, where the
/// vendor's page of the card promises more than 1 GB/s.
pub const SLOTS_A_CYCLE: u32 = 2;

/// Parts that an access is counted in by [`Board::taken`].
pub const SLOT_UNIT: u32 = 256;

/// Card around a LANai processor. Passive: the core calls it while it runs.
pub trait Board {
    /// First instant at which something else on the card may happen. The core issues no instruction at or
    /// after it. May come nearer with each [`Board::write`], and with each [`Board::read`] that has an
    /// effect.
    fn horizon(&self) -> Time;
    /// The local memory, from address 0, in bytes.
    fn sram(&mut self) -> &mut [u8];
    /// Memory that DMA engines and links, which come first, take until the horizon, in parts of an access
    /// ([`SLOT_UNIT`]) a cycle. At most [`SLOTS_A_CYCLE`] accesses less a sixteenth of one.
    fn taken(&self) -> u32 {
        0
    }
    /// Reads a special register, or whatever else lies beyond the memory: `len` bytes (1, 2, 4) at the
    /// aligned `addr`, as an unsigned number.
    fn read(&mut self, now: Time, addr: u32, len: usize) -> Result<u32, BusError>;
    /// True if a read at `addr`, beyond the memory, gives the same until something else happens on the
    /// card, and reading has no effect: a loop that reads nothing else may be one that only polls.
    fn is_steady(&self, addr: u32) -> bool {
        let _ = addr;
        false
    }
    /// Writes the lower `len` bytes of `value` there.
    fn write(&mut self, now: Time, addr: u32, len: usize, value: u32) -> Result<(), BusError>;
}
