//! Address spaces, memories and links: what processors and devices see of one another.

mod hypertransport;
mod memory;
mod words;

pub use hypertransport::{Direction, HyperTransport};
pub use memory::Memory;
pub use words::{read_words, write_words, Words};

use des::Time;
use std::fmt;

/// A transaction that nobody could answer. A fault of the program or firmware, never of the simulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BusError {
    /// Address of the transaction.
    pub addr: u64,
    /// Bytes it wanted to move.
    pub len: usize,
    /// True for a write.
    pub write: bool,
    /// Why, as the end of a sentence: "no device answers", "wild store into the mailbox of process 3".
    pub why: &'static str,
}

impl fmt::Display for BusError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let op = if self.write { "write" } else { "read" };
        write!(f, "{op} of {} bytes at {:#010x}: {}", self.len, self.addr, self.why)
    }
}
impl std::error::Error for BusError {}

/// What a processor sees of the world outside its core. Data are bytes in memory order; byte order is the
/// processor's business. Lengths are 1, 2, 4, 8 or 16 (one beat) or 32 (a cache line), naturally aligned.
pub trait Bus {
    /// First instant at which something else on this node may happen. A processor issues no transaction at or
    /// after it; it stops instead, lets the bench handle the event, and retries. May change after each
    /// transaction (a device may have scheduled something nearer).
    fn horizon(&self) -> Time;
    /// Reads `buf.len()` bytes at real address `addr`, issued at `now`. Returns when the data are there
    /// (critical word first for a line: when the first beat is there).
    fn read(&mut self, now: Time, addr: u64, buf: &mut [u8]) -> Result<Time, BusError>;
    /// Writes `data` at `addr`, issued at `now`. Returns when the write no longer occupies a write slot of the
    /// processor; the processor itself need not wait for it.
    fn write(&mut self, now: Time, addr: u64, data: &[u8]) -> Result<Time, BusError>;
}
