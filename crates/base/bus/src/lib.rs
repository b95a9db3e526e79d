//! Address spaces, memories and links between processors and devices.

#![forbid(unsafe_code)]

mod copies;
mod hypertransport;
mod memory;
mod words;

pub use copies::{copies, Copy16};
pub use hypertransport::{Direction, HyperTransport};
pub use memory::{copy, Memory};
pub use words::{read_words, write_words, Words};

use des::Time;
use std::fmt;

/// Transaction that no device answers. It is a fault of the program or firmware, never of the simulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BusError {
    /// Address of the transaction.
    pub addr: u64,
    /// Bytes to be moved.
    pub len: usize,
    /// True for a write.
    pub write: bool,
    /// Reason, as the end of a sentence: "no device answers", "wild store into the mailbox of process 3".
    pub why: &'static str,
}

impl fmt::Display for BusError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let op = if self.write { "write" } else { "read" };
        write!(f, "{op} of {} bytes at {:#010x}: {}", self.len, self.addr, self.why)
    }
}
impl std::error::Error for BusError {}

/// A transaction of a loop that is repeated without being executed (see [`Bus::repeat`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Real address, naturally aligned.
    pub addr: u64,
    /// Bytes: 1, 2 or 4.
    pub len: u8,
    /// True for a write.
    pub write: bool,
    /// The bytes, in memory order.
    pub data: [u8; 4],
}

impl Access {
    /// The bytes that it moves.
    pub fn bytes(&self) -> &[u8] {
        &self.data[..usize::from(self.len)]
    }
}

/// Bus as a processor sees it. Data are bytes in memory order; byte order is the processor's business. A
/// transaction moves 1 to 16 bytes within an aligned quadword (one beat, any of its bytes), or an aligned
/// cache line of 32.
pub trait Bus {
    /// First instant at which something else on this node may happen. A processor issues no transaction at or
    /// after it; it stops instead, lets the bench handle the event, and retries. May change after each
    /// transaction (a device may have scheduled something nearer).
    fn horizon(&self) -> Time;
    /// True if the event at the horizon changes nothing that the processor sees, so that a processor which
    /// only polls need not stop there (`ppc440::Core::is_waiting`).
    fn passes(&self) -> bool {
        false
    }
    /// Reads `buf.len()` bytes at real address `addr`, issued at `now`. Returns when the data are there
    /// (critical word first for a line: when the first beat is there).
    fn read(&mut self, now: Time, addr: u64, buf: &mut [u8]) -> Result<Time, BusError>;
    /// Writes `data` at `addr`, issued at `now`. Returns when the write no longer occupies a write slot of
    /// the processor; the processor itself need not wait for it.
    fn write(&mut self, now: Time, addr: u64, data: &[u8]) -> Result<Time, BusError>;

    /// Times at which the data paths are free again: reads, writes. `None` if this bus cannot repeat
    /// transactions: then the three methods below are never called.
    fn free(&self) -> Option<[Time; 2]> {
        None
    }
    /// Fills `buf` with what a read would give now, without any effect. False if a read may have effects
    /// other than time, occupancy and counters, so that it cannot be repeated.
    fn peek(&mut self, addr: u64, buf: &mut [u8]) -> bool {
        let _ = (addr, buf);
        false
    }
    /// True if of several writes at `addr` only the last one, and their number, can be noticed.
    fn repeatable(&self, addr: u64) -> bool {
        let _ = addr;
        false
    }
    /// Applies the effect of doing `accesses`, which are peeks and repeatable writes, `turns` times, with the
    /// data of the last time; afterwards the data paths are free at `free`.
    fn repeat(&mut self, turns: u64, accesses: &[Access], free: [Time; 2]) {
        let _ = (turns, accesses, free);
    }
}
