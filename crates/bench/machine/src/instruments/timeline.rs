//! Events on every node over time, from the launch on: calls of ranks, work of cores, firmware and DMA
//! engines, use of links, depths of queues.
//!
//! A node reports them while it runs, to its observers ([`Watcher`], [`Sink`]); nothing is kept here. Times
//! are those of the simulation, to the picosecond. Without an observer nothing is collected, and with one
//! nothing simulated changes.
//!
//! ```text
//!   seam (bus, FIFOs, router) ─┐
//!   host (work of cores) ──────┤
//!   programs (calls, marks) ───┼─► Watch ──► Sink of the node, for each Watcher
//!   recorder (firmware) ───────┘
//! ```
//!
//! Records of one track come in order of time, but for [`What::Step`]s, some of which are reported once their
//! message is known. Slices of a track nest.

mod lanes;
mod links;
mod picture;
mod queue;
mod watch;

pub use lanes::LANES;
pub use picture::Picture;
pub use queue::{Queue, Room};
pub use watch::{Engine, Point, Watch};

use super::write_error::WriteError;
use abi::MessageId;
use des::{Duration, Time};

/// Track on which slices and steps are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Track {
    /// A rank's calls of MPI and Portals.
    Rank(u32),
    /// Work of a core of the host: user, kernel, interrupt or polling; within them reads of the NIC that it
    /// waits for, and locks.
    Core(u32),
    /// Functions that the NIC's processor executes, as they call one another; its idle polling is one slice.
    Firmware,
    /// Messages in the transmit engine, from the command for the header until the completion is visible. One
    /// that begins before the last one has ended has the next lane.
    Transmit(u16),
    /// Messages in the receive engine, from the first packet until the completion is visible.
    Receive(u16),
    /// A matching unit, by its number: the time in which it gets entries of its list.
    Inserts(u8),
    /// A matching unit, by its number: the time in which copies of headers, or of receives, wait for their
    /// results to be fetched.
    Matches(u8),
    /// An output of the router: the number of a link, or [`LINKS`] for the output to the NIC.
    Output(u8),
}

/// Most links of a node's router.
pub const LINKS: usize = 6;

/// A queue, whose depth is reported whenever it has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Gauge {
    /// Packets that wait for an output of the router, by the number of [`Track::Output`].
    Output(u8),
    /// Receives of a rank that are posted and have not met their message.
    Posted(u32),
    /// Messages of a rank that its library keeps for receives that come later.
    Unexpected(u32),
    /// A queue of the model, by its number among those that it declares ([`Queue`]).
    Own(u8),
}

/// Relation of a record to its message's way, which leads from the sender's call to the receiver's event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// It belongs to the message, but goes on beside its way.
    Beside,
    /// It is a step of the way.
    Step,
    /// It is the last step.
    Last,
}

/// Use of an output by consecutive packets of one message, which had it for at least half the time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Packets.
    pub packets: u64,
    /// Bytes in them, headers of messages included.
    pub bytes: u64,
    /// Time in which their flits were on the output.
    pub busy: Duration,
}

/// Event at a time.
#[derive(Clone, Copy, Debug)]
pub enum What<'a> {
    /// A slice begins.
    Begin {
        /// Track of the slice.
        track: Track,
        /// Name of the slice; a slice without a name has that of its message.
        name: Option<&'a str>,
        /// The message that it is about.
        message: Option<MessageId>,
    },
    /// The innermost slice of a track ends.
    End {
        /// Track of the slice.
        track: Track,
    },
    /// An event without a duration.
    Step {
        /// Track of the step.
        track: Track,
        /// Name of the step.
        name: &'a str,
        /// The message that it is about.
        message: Option<MessageId>,
        /// Relation to the message's way.
        flow: Flow,
    },
    /// Packets of a message use an output of the router; reported when they have left.
    Busy {
        /// Number of the output, as in [`Track::Output`].
        output: u8,
        /// Time at which the last of them has left.
        until: Time,
        /// The message to which they belong.
        message: MessageId,
        /// Their use of the output.
        load: Load,
    },
    /// The depth of a queue has changed.
    Depth {
        /// The queue.
        gauge: Gauge,
        /// Entries in it.
        value: u32,
    },
}

/// Description of a node, known before the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// Its number.
    pub nid: u32,
    /// Its ranks, in the order of its cores.
    pub ranks: Vec<u32>,
    /// Its cores.
    pub cores: u32,
    /// The nodes behind the router's links.
    pub neighbours: [Option<u32>; LINKS],
    /// Names of these links.
    pub links: [&'static str; LINKS],
    /// Queues of its model ([`Gauge::Own`]).
    pub queues: &'static [Queue],
}

/// Observer of a run.
pub trait Watcher: std::fmt::Debug + Send + Sync {
    /// Sink for the records of this node. Called on the thread that runs the node.
    fn node(&self, about: About) -> Box<dyn Sink>;
    /// All nodes have finished.
    fn finish(&self) -> Result<(), WriteError>;
}

/// Takes the records of one node.
pub trait Sink {
    /// Records an event at `at`.
    fn record(&mut self, at: Time, what: What);
    /// Ends the node at `at`; all slices have ended.
    fn finish(self: Box<Self>, at: Time);
}
