//! One cycle of the bus, as an analyser on its pins would tell it.

/// Agent that drives the bus, or answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agent {
    /// The host bridge, which is also the arbiter.
    Bridge,
    /// A device, by its slot.
    Device(u8),
}

/// Bus command of an address phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// First of two address phases, for addresses from 4 GB on.
    DualAddress,
    /// Read of a configuration register.
    ConfigRead,
    /// Write of a configuration register.
    ConfigWrite,
    /// Read of memory (in PCI-X: a block).
    Read,
    /// Write of memory.
    Write,
    /// PCI-X: data of an earlier read.
    SplitCompletion,
}

impl Command {
    /// Code on C/BE# (PCI and PCI-X specifications).
    pub fn code(self) -> u8 {
        match self {
            Command::DualAddress => 0xD,
            Command::ConfigRead => 0xA,
            Command::ConfigWrite => 0xB,
            Command::Read => 0xE,
            Command::Write => 0xF,
            Command::SplitCompletion => 0xC,
        }
    }
    /// True if the master drives the data.
    pub fn is_write(self) -> bool {
        matches!(self, Command::ConfigWrite | Command::Write | Command::SplitCompletion)
    }
}

/// A response without data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The data will come in a transaction of the target's.
    Split,
    /// Ask again.
    Retry,
    /// The address was not claimed.
    MasterAbort,
}

/// Use of a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Nothing.
    Idle,
    /// Address on AD, command on C/BE#.
    Address {
        /// Master of the transaction.
        master: Agent,
        /// Command of the transaction.
        command: Command,
    },
    /// PCI-X: who asks, and for how much.
    Attribute {
        /// Agent that requests; for a completion, the one that had requested.
        requester: Agent,
        /// Tag of the read.
        tag: u8,
        /// Bytes of the sequence that are left.
        bytes: u16,
    },
    /// The target decodes; `target` once DEVSEL# is asserted.
    Response {
        /// Agent that has claimed the transaction.
        target: Option<Agent>,
    },
    /// A data phase: bytes on AD, their lanes (low active on the bus) in `cbe`.
    Data {
        /// Address of the lowest lane.
        addr: u64,
        /// The transaction ends here.
        last: bool,
    },
    /// The target answers without data, or there is no target.
    End(Ending),
    /// No agent drives.
    TurnAround,
}

/// A cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// Number since the bus was switched on.
    pub number: u64,
    /// Agent that may start next (GNT#).
    pub grant: Agent,
    /// Use.
    pub phase: Phase,
    /// AD: address, attributes or data.
    pub ad: u64,
    /// C/BE#: command, or the lanes that move, high active here.
    pub cbe: u8,
    /// PAR of this cycle's AD and C/BE# (on the pins it follows a cycle later).
    pub parity: bool,
}

/// Even parity over AD and C/BE#.
pub fn parity(ad: u64, cbe: u8) -> bool {
    (ad.count_ones() + cbe.count_ones()) % 2 == 1
}
