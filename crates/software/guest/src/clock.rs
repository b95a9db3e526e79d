//! Messages and memory by which a guest's kernel and the simulator agree on the time (Linux,
//! include/uapi/linux/um_timetravel.h).

use crate::act::Watch;
use crate::sys::{self, Mapping};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Bytes of a message.
pub(crate) const SIZE: usize = 16;

/// Kinds of messages.
pub(crate) mod op {
    pub const ACK: u32 = 0;
    /// The guest begins.
    pub const START: u32 = 1;
    /// It waits for RUN.
    pub const WAIT: u32 = 3;
    /// The guest goes on at this time.
    pub const RUN: u32 = 6;
    /// It might go on by itself until a time; with shared memory it just answers.
    pub const FREE_UNTIL: u32 = 7;
    /// It asks for the time of day.
    pub const GET_TOD: u32 = 8;
    /// A number from the guest's first program.
    pub const BROADCAST: u32 = 9;
}

/// A message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClockMessage {
    pub op: u32,
    /// Number of the message; an answer has the number of its request.
    pub sequence: u32,
    /// Nanoseconds, mostly.
    pub time: u64,
}

impl ClockMessage {
    pub fn parse(bytes: [u8; SIZE]) -> ClockMessage {
        let [o0, o1, o2, o3, s0, s1, s2, s3, a, b, c, d, e, f, g, h] = bytes;
        ClockMessage {
            op: u32::from_le_bytes([o0, o1, o2, o3]),
            sequence: u32::from_le_bytes([s0, s1, s2, s3]),
            time: u64::from_le_bytes([a, b, c, d, e, f, g, h]),
        }
    }
    pub fn emit(&self) -> [u8; SIZE] {
        let mut bytes = [0; SIZE];
        bytes[..4].copy_from_slice(&self.op.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[8..].copy_from_slice(&self.time.to_le_bytes());
        bytes
    }
}

/// Shared memory: a page of the simulator, and a record of the guest.
const PAGE: usize = 4096;
const RECORD: usize = 128;
const VERSION: u32 = 2;
/// Offsets in the page.
const LENGTH_AT: usize = 4;
const NOW_AT: usize = 16;
const CLIENTS_AT: usize = 26;
/// Offsets in the guest's record: its abilities, the flag that it wants to go on, and the time for that.
const ABLE_AT: usize = PAGE;
const WANTS_AT: usize = PAGE + 4;
const WISH_AT: usize = PAGE + 8;
/// Offsets of the address of the word at which one of its programs looks, and of its period, 0 if none does.
const WORD_AT: usize = PAGE + RECORD - 16;
const PERIOD_AT: usize = PAGE + RECORD - 4;

/// Memory that the simulator shares with the guest: the time, and the time at which the guest wants to go on.
/// It may never go on by itself (the time until which it might stays 0).
pub(crate) struct Calendar {
    file: OwnedFd,
    memory: Mapping,
}

impl Calendar {
    pub fn new() -> io::Result<Calendar> {
        let file = sys::memory_file((PAGE + RECORD) as u64)?;
        let memory = Mapping::new(&file, 0, PAGE + RECORD)?;
        memory.write(0, &VERSION.to_le_bytes());
        memory.write(LENGTH_AT, &((PAGE + RECORD) as u32).to_le_bytes());
        memory.write(CLIENTS_AT, &1_u16.to_le_bytes());
        Ok(Calendar { file, memory })
    }
    /// Descriptor to be passed to the guest.
    pub fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
    /// Sets the time to `now`.
    pub fn set_now(&self, now: u64) {
        self.memory.write(NOW_AT, &now.to_le_bytes());
    }
    /// True if the guest uses this memory.
    pub fn is_shared(&self) -> bool {
        self.u32(ABLE_AT) & 1 != 0
    }
    /// Time at which the guest wants to go on, if it has said so since it last did.
    pub fn wish(&self) -> Option<u64> {
        let mut bytes = [0; 8];
        self.memory.read(WISH_AT, &mut bytes);
        (self.u32(WANTS_AT) & 1 != 0).then_some(u64::from_le_bytes(bytes))
    }
    /// Word at which the guest looks while it waits.
    pub fn watch(&self) -> Option<Watch> {
        let period = Some(self.u32(PERIOD_AT)).filter(|period| *period > 0)?;
        let mut word = [0; 8];
        self.memory.read(WORD_AT, &mut word);
        Some(Watch { word: u64::from_le_bytes(word), period: period.into() })
    }
    fn u32(&self, at: usize) -> u32 {
        let mut bytes = [0; 4];
        self.memory.read(at, &mut bytes);
        u32::from_le_bytes(bytes)
    }
}
