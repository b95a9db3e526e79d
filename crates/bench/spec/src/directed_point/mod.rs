//! Directed Point (vorakosit2001 s2) as an executable specification: packets of a channel come once at most,
//! to that channel only, in order, as they were written; and whatever does not come was lost for a reason
//! that somebody has counted.
//!
//! A packet passes stages. At each of them somebody else sees it, and none of them tells another: the program
//! (its library), the card's memory when the driver commands, the cable at both ends, the host's memory when
//! the card's DMA has ended, the program again. The judge looks at a run that is over.
//!
//! ```text
//!  program ─► card ─► cable ─► cable ─► memory ─► program
//!  Written  Commanded  Left     Came     Moved     Read
//! ```

mod judge;
#[cfg(test)]
mod tests;
mod violation;

pub use judge::{judge, Tally};
pub use violation::Violation;

use std::fmt;

/// Most bytes of a packet (vorakosit2001 s4).
pub const PACKET_MAX: u32 = 1500;

/// The way of packets, as their sender sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Channel {
    /// Node that sends (NID).
    pub source: u16,
    /// Its point (DPID).
    pub source_point: u16,
    /// Node that it is for.
    pub target: u16,
    /// Point of that node.
    pub target_point: u16,
}

impl fmt::Display for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Channel { source, source_point, target, target_point } = self;
        write!(f, "{source}.{source_point}-{target}.{target_point}")
    }
}

/// A packet: its channel and its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Its channel.
    pub channel: Channel,
    /// Bytes of data.
    pub length: u32,
    /// [`sum`] of the data.
    pub sum: u64,
}

/// FNV-1a of 64 bits, by which data are compared.
pub fn sum(data: &[u8]) -> u64 {
    let mix = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    data.iter().fold(0xcbf2_9ce4_8422_2325, mix)
}

/// Longest time that a host may let a packet stand in its card, in picoseconds: far more than any interrupt
/// takes.
pub const PATIENCE: u64 = 1_000_000_000;

/// A place that packets pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// A program has written it, and was told whether it was sent.
    Written,
    /// The driver has commanded the card to send it.
    Commanded,
    /// It has left the card, whole.
    Left,
    /// It has come to a card, whole and undamaged.
    Came,
    /// The card's DMA has brought it into the host's memory.
    Moved,
    /// A program has read it.
    Read,
}

impl Stage {
    /// All, in the order in which a packet passes them.
    pub const ALL: [Stage; 6] = {
        use Stage::{Came, Commanded, Left, Moved, Read, Written};
        [Written, Commanded, Left, Came, Moved, Read]
    };
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Stage::Written => "written by a program",
            Stage::Commanded => "given to the card",
            Stage::Left => "sent by the card",
            Stage::Came => "come to the card",
            Stage::Moved => "brought into memory",
            Stage::Read => "read by a program",
        })
    }
}

/// Result of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outcome {
    /// All of it was done.
    #[default]
    Done,
    /// The program was told that the packet was not sent: there is no route, or the card is dead.
    Failed,
    /// The reader had room for so many bytes only, and does not know the rest.
    Cut,
}

/// A packet at a stage of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sighting {
    /// The packet.
    pub packet: Packet,
    /// Picoseconds of simulated time, where they are known.
    pub at: Option<u64>,
    /// Result, for programs.
    pub outcome: Outcome,
    /// Process of the node that did it, for programs; else 0.
    pub process: u32,
}

/// A packet for which the card has interrupted its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Announced {
    /// Picoseconds of simulated time.
    pub at: u64,
    /// Bytes that the card tells the host, in its DMA block.
    pub announced: u32,
    /// Bytes in its receive buffer.
    pub received: u32,
}

impl Announced {
    /// True if the size is not there yet, or is another: it is written before the interrupt (vorakosit2001
    /// s3).
    pub fn is_wrong(&self) -> bool {
        self.announced != self.received
    }
}

/// Counters of a node's module since it was loaded (docs/directed-point.md).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Time at which it was asked, in picoseconds.
    pub at: u64,
    /// Packets that it sent for programs.
    pub sent: u64,
    /// Packets that it took from the card for points.
    pub received: u64,
    /// Packets that programs have read.
    pub read: u64,
    /// Lost, as nobody had opened the channel.
    pub no_channel: u64,
    /// Lost, as the channel kept as many as it may.
    pub no_room: u64,
    /// Lost, as the channel was closed.
    pub closed: u64,
    /// Lost, as their headers are of another length, or of another node.
    pub wrong: u64,
    /// Lost, as the driver had no memory for them.
    pub no_memory: u64,
}

/// All that was seen at a node.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// Sightings in the order of time, by stage.
    pub seen: [Vec<Sighting>; 6],
    /// Undamaged packets that the card kept from its host, each for a reason that it counted.
    pub kept: u64,
    /// Packets of a kind that no host wants, which were brought into memory all the same.
    pub strange: u64,
    /// The first interrupt for a packet of which the card did not tell the size.
    pub announced_wrong: Option<Announced>,
    /// Resets of the card: a packet in it is lost each time.
    pub resets: u64,
    /// Time since which a packet stands in the card, or before it.
    pub standing: Option<u64>,
    /// Counters of the module when the node's program had ended, if it could be asked.
    pub counts: Option<Counts>,
    /// All programs have told what they have written and read.
    pub told: bool,
}

impl Record {
    /// Adds a sighting.
    pub fn add(&mut self, stage: Stage, sighting: Sighting) {
        self.seen[stage as usize].push(sighting);
    }
    /// Sightings at a stage.
    pub fn at(&self, stage: Stage) -> &[Sighting] {
        &self.seen[stage as usize]
    }
    /// True if it is known what its programs have written and read: all have told, and the module knows of no
    /// others.
    pub fn is_told(&self) -> bool {
        let sent = self.at(Stage::Written).iter();
        let sent = sent.filter(|written| written.outcome == Outcome::Done).count() as u64;
        let read = self.at(Stage::Read).len() as u64;
        let agrees = |counts: Counts| self.resets > 0 || (counts.sent, counts.read) == (sent, read);
        self.told && self.counts.is_none_or(agrees)
    }
}

/// Reasons for losses of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Excuses {
    /// Packets that cables and switches have lost or damaged.
    pub network: u64,
    /// Packets that stand in switches, if an output is stuck for ever: a card may stand with another.
    pub stuck: Option<u64>,
    /// Packets were under way when the run ended: the last ones of a channel may be missing.
    pub under_way: bool,
    /// Time of the end, in picoseconds.
    pub end: u64,
}
