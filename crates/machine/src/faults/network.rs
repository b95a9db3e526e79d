//! What is to befall a network of routers and links, in no network's own words: a model that has one says it
//! to its routers.

use des::{Duration, Time};
use std::fmt;

/// A network on whose links something may go wrong. It is called by its description: "mesh of 4x2x1".
pub trait Network: fmt::Display {
    /// Nodes on it.
    fn nodes(&self) -> u32;
    /// Whether a link joins two nodes.
    fn joins(&self, a: u32, b: u32) -> bool;
}

/// Nodes of which none has such a link.
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

/// What is to happen to links.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OnLinks {
    /// What befalls packets.
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

/// Something that befalls packets on links.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OnPackets {
    /// What.
    pub what: Mishap,
    /// Which packets of a link.
    pub which: Which,
    /// On which links.
    pub place: Place,
    /// Since when a packet's head may enter the link.
    pub from: Time,
    /// When that is over.
    pub until: Time,
}

/// What befalls a packet.
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

/// Which of things that follow one another, or which bits for [`Mishap::BitError`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Which {
    /// Each with this chance.
    Chance(f64),
    /// The one with this number, from 1; one bit of it.
    Number(u64),
}

/// Which links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Place {
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
    /// Since when.
    pub from: Time,
}
