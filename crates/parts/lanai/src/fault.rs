//! Faults that stop the core for good: errors of the program that it runs.

use bus::BusError;
use des::Time;
use std::fmt;

/// Kind of fault that stopped the core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// A word that is no instruction.
    Illegal {
        /// The word.
        word: u32,
    },
    /// The program counter is no multiple of 4, or beyond the memory.
    Fetch,
    /// A load or store whose address is no multiple of its size.
    Misaligned {
        /// Bytes.
        len: usize,
        /// True for a store.
        store: bool,
    },
    /// A store into the guard region ([`crate::Config::guard`]).
    Guard,
    /// A branch that is taken in the delay slot of another.
    Slot,
    /// `punt`: there is no second context to change to.
    Punt,
    /// An access beyond the memory that nobody answered.
    Bus(BusError),
}

/// A recorded fault. The core is stopped and stays as it was before the instruction, except for what a slot
/// before it has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Issue time of the instruction.
    pub at: Time,
    /// Its address.
    pub pc: u32,
    /// Kind of the error.
    pub kind: FaultKind,
    /// Address of the access, if there was one.
    pub addr: Option<u32>,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at {} pc {:#08x}: ", self.at, self.pc)?;
        let addr = self.addr.unwrap_or_default();
        match self.kind {
            FaultKind::Illegal { word } => write!(f, "illegal instruction {word:#010x}"),
            FaultKind::Fetch => write!(f, "no instruction can stand there"),
            FaultKind::Misaligned { len, store } => {
                let what = if store { "store" } else { "load" };
                write!(f, "misaligned {what} of {len} bytes at {addr:#08x}")
            }
            FaultKind::Guard => write!(f, "store into the guard region at {addr:#08x}"),
            FaultKind::Slot => write!(f, "a branch is taken in the delay slot of another"),
            FaultKind::Punt => write!(f, "punt, and there is no second context"),
            FaultKind::Bus(error) => write!(f, "{error}"),
        }
    }
}
