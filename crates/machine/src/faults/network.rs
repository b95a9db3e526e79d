//! Faults of a network of routers and links, independent of the model: a model with such a network translates
//! them for its routers.

use des::{Duration, Time};
use std::fmt;

/// Network whose links may fail. Its text is its description: "mesh of 4x2x1".
pub trait Network: fmt::Display {
    /// Nodes on it.
    fn nodes(&self) -> u32;
    /// Tells whether a link joins two nodes.
    fn joins(&self, a: u32, b: u32) -> bool;
}

/// Network without links, with this number of nodes.
pub(super) struct Apart(pub u32);

impl fmt::Display for Apart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("network without links")
    }
}

impl Network for Apart {
    fn nodes(&self) -> u32 {
        self.0
    }
    fn joins(&self, _: u32, _: u32) -> bool {
        false
    }
}

/// Faults of links.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OnLinks {
    /// Faults that strike packets.
    pub rules: Vec<OnPackets>,
    /// Links that die.
    pub dead: Vec<DeadLink>,
}

impl OnLinks {
    /// True if nothing is asked for.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty() && self.dead.is_empty()
    }
}

/// Fault that strikes packets on links.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OnPackets {
    /// Kind of the fault.
    pub what: Mishap,
    /// Packets of a link that it strikes.
    pub which: Which,
    /// Links that it strikes.
    pub place: FaultSite,
    /// Time from which packets that enter the link are struck.
    pub from: Time,
    /// End of that time.
    pub until: Time,
}

/// Fault of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mishap {
    /// It is lost.
    Drop,
    /// Bits of it arrive wrong.
    BitError,
    /// It is late, and all behind it on the link.
    Delay(Duration),
    /// It comes twice.
    Duplicate,
    /// It is late, and those behind it pass.
    Overtake(Duration),
}

/// Selection from a sequence of things, or of bits for [`Mishap::BitError`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Which {
    /// Each one, with this probability.
    Chance(f64),
    /// The one with this number, from 1; of a packet, one bit of it.
    Number(u64),
}

/// Links to which a fault applies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FaultSite {
    /// All.
    #[default]
    Everywhere,
    /// Those that leave a node.
    From(u32),
    /// The one between two neighbours, both ways.
    Between(u32, u32),
}

/// A link between two neighbours, both ways, that carries nothing any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeadLink {
    /// One end.
    pub a: u32,
    /// The other.
    pub b: u32,
    /// Time from which it is dead.
    pub from: Time,
}
