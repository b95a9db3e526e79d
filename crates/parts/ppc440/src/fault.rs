//! Faults that stop the core for good: program errors that no firmware here handles.

use bus::BusError;
use des::Time;
use std::fmt;

/// Kind of fault that stopped the core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// An instruction word that the 440 does not have (or an FP instruction: there is no FPU).
    Illegal {
        /// The word, as the core decoded it.
        word: u32,
    },
    /// `mfdcr` or `mtdcr`: no device is attached to the DCR bus.
    Dcr {
        /// Number of the device control register.
        number: u32,
    },
    /// `mfspr` or `mtspr` of a special purpose register that the 440 does not have.
    Spr {
        /// Number of the special purpose register.
        number: u32,
    },
    /// A bus transaction of the core that nobody answered.
    Bus(BusError),
    /// A load of a byte in the data cache that others have written in memory since.
    Stale {
        /// Its real address.
        addr: u64,
    },
    /// A byte was read from memory by others although its value is in the data cache only. The fault's
    /// instruction is the one at which the core was then.
    Unflushed {
        /// Its real address.
        addr: u64,
    },
}

/// A recorded fault. The core is stopped and stays as it was before the instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Issue time of the instruction.
    pub at: Time,
    /// Its address.
    pub pc: u32,
    /// Kind of the error.
    pub kind: FaultKind,
    /// Real address of the bus transaction, if there was one.
    pub addr: Option<u64>,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at {} pc {:#010x}: ", self.at, self.pc)?;
        match self.kind {
            FaultKind::Illegal { word } => write!(f, "illegal instruction {word:#010x}"),
            FaultKind::Dcr { number } => write!(f, "no device control register {number:#x}"),
            FaultKind::Spr { number } => write!(f, "no special purpose register {number}"),
            FaultKind::Bus(error) => write!(f, "{error}"),
            FaultKind::Stale { addr } => write!(
                f,
                "the byte loaded from {addr:#010x} is stale: it has been written in memory since \
                 it came into the data cache"
            ),
            FaultKind::Unflushed { addr } => write!(
                f,
                "the byte at {addr:#010x} is read from memory by another, but was never flushed \
                 from the data cache, which the processor stored it in"
            ),
        }
    }
}
