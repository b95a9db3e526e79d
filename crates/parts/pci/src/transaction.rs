//! A transaction under way.

use crate::cycle::{Agent, Command, Ending};

/// The next cycle of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    DualAddress,
    Address,
    Attribute,
    /// Cycles of decoding that are left.
    Response(u8),
    End(Ending),
    Data,
    TurnAround,
}

/// Kind of the data phases, for the code that moves them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    HostWrite,
    HostRead { enables: u8, token: u64 },
    ConfigRead { offset: u8, token: u64 },
    ConfigWrite { offset: u8, value: u32, enables: u8 },
    Completion,
    DeviceWrite,
    DeviceRead { tag: u8 },
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Transaction {
    pub master: Agent,
    /// Agent that claims the address, if any does.
    pub target: Option<Agent>,
    pub kind: Kind,
    /// Address of the next data phase.
    pub addr: u64,
    /// Bytes of the whole sequence that are announced.
    pub bytes: u16,
    /// Agent that requests, and its tag, for the attribute phase.
    pub requester: Agent,
    pub tag: u8,
    pub step: Step,
    /// Bytes that are left, of a device's transfer.
    pub left: u16,
    /// Data phases that are over.
    pub phases: u16,
    /// 64-bit words that are over, of a device's transfer.
    pub words: u16,
    /// Place of the read in the bridge, for a conventional device's.
    pub place: usize,
    /// First half of a word on a 32-bit bus, and its lanes.
    pub half: Option<(u32, u8)>,
    /// A core that ignores STOP# has not told its device of the end yet.
    pub ignores_stop: bool,
}

impl Transaction {
    pub fn command(&self) -> Command {
        match self.kind {
            Kind::HostWrite | Kind::DeviceWrite => Command::Write,
            Kind::HostRead { .. } | Kind::DeviceRead { .. } => Command::Read,
            Kind::ConfigRead { .. } => Command::ConfigRead,
            Kind::ConfigWrite { .. } => Command::ConfigWrite,
            Kind::Completion => Command::SplitCompletion,
        }
    }
}
