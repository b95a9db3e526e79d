//! What happens on every node over time, from the launch on: what ranks call, what cores, firmware and DMA
//! engines do, how long links are busy, how many entries stand in each queue.
//!
//! A node tells it while it runs, to whoever watches ([`Watcher`], [`Sink`]); nothing of it is kept here.
//! Times are those of the simulation, to the picosecond. Without a watcher nothing is gathered at all, and
//! with one nothing simulated changes.
//!
//! ```text
//!   seam (bus, FIFOs, router) ─┐
//!   host (work of cores) ──────┤
//!   programs (calls, marks) ───┼─► Watch ──► Sink of the node, for each Watcher
//!   recorder (firmware) ───────┘
//! ```
//!
//! Records of one track come in order of time, but for [`What::Step`]s, some of which are told once the
//! message is known that they belong to. Slices of a track nest.

mod lanes;
mod links;
mod picture;
mod watch;

pub use picture::Picture;
pub use watch::{Engine, Point, Watch};

use abi::MessageId;
use des::{Duration, Time};

/// Where slices and steps are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Track {
    /// A rank's calls of MPI and Portals.
    Rank(u32),
    /// What a core of the host does: user, kernel, interrupt or polling; within them reads of the NIC that it
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
    /// The same: that in which copies of headers, or of receives, wait for their results to be fetched.
    Matches(u8),
    /// An output of the router: the number of a link, or [`LINKS`] for the output to the NIC.
    Output(u8),
}

/// Links of a node's router at most.
pub const LINKS: usize = 6;

/// A queue, whose depth is told whenever it has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Gauge {
    /// Commands that the host has written into mailboxes and the firmware has not taken.
    Mailbox,
    /// Events that the firmware has written to host memory and the kernel has not taken.
    Events,
    /// Commands in the transmit engine's FIFO.
    TransmitCommands,
    /// Completions of the transmit engine that the firmware has not taken.
    TransmitCompletions,
    /// Commands in the receive engine's FIFO.
    ReceiveCommands,
    /// Notifications and completions of the receive engine that the firmware has not taken.
    Notifications,
    /// Packets that the receive engine holds.
    Packets,
    /// Messages with a stream of the receive engine (CAM entries in use).
    Streams,
    /// Packets that wait for an output of the router, by the number of [`Track::Output`].
    Output(u8),
    /// Receives of a rank that are posted and have not met their message.
    Posted(u32),
    /// Messages of a rank that its library keeps for receives that come later.
    Unexpected(u32),
    /// A queue that only this model has, by its number among those that the model declares.
    Own(u8),
}

impl Gauge {
    /// All of a node that its hardware has.
    pub const ALL: [Gauge; 8 + LINKS + 1] = [
        Gauge::Mailbox,
        Gauge::Events,
        Gauge::TransmitCommands,
        Gauge::TransmitCompletions,
        Gauge::ReceiveCommands,
        Gauge::Notifications,
        Gauge::Packets,
        Gauge::Streams,
        Gauge::Output(0),
        Gauge::Output(1),
        Gauge::Output(2),
        Gauge::Output(3),
        Gauge::Output(4),
        Gauge::Output(5),
        Gauge::Output(6),
    ];
}

/// Depths of all gauges, in the order of [`Gauge::ALL`].
pub type Depths = [u32; Gauge::ALL.len()];

/// Whether a record is a step of its message's way, from the sender's call to the receiver's event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// It belongs to the message, but goes on beside its way.
    Beside,
    /// It is a step of the way.
    Step,
    /// It is the last step.
    Last,
}

/// What a run of packets of one message took of an output, of which it had at least half the time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Packets.
    pub packets: u64,
    /// Bytes in them, headers of messages included.
    pub bytes: u64,
    /// Time in which their flits were on the output.
    pub busy: Duration,
}

/// Something that happened at a time.
#[derive(Clone, Copy, Debug)]
pub enum What<'a> {
    /// A slice begins.
    Begin {
        /// Where.
        track: Track,
        /// What it is called; a slice without a name has that of its message.
        name: Option<&'a str>,
        /// The message that it is about.
        message: Option<MessageId>,
    },
    /// The innermost slice of a track ends.
    End {
        /// Where.
        track: Track,
    },
    /// Something without a duration.
    Step {
        /// Where.
        track: Track,
        /// What.
        name: &'a str,
        /// The message that it is about.
        message: Option<MessageId>,
        /// Whether it is on the message's way.
        flow: Flow,
    },
    /// Packets of a message have an output of the router; told when they have left.
    Busy {
        /// Number of the output, as in [`Track::Output`].
        output: u8,
        /// When the last of them has left.
        until: Time,
        /// The message to which they belong.
        message: MessageId,
        /// What they took.
        load: Load,
    },
    /// The depth of a queue has changed.
    Depth {
        /// Which.
        gauge: Gauge,
        /// Entries in it.
        value: u32,
    },
}

/// What is known of a node beforehand.
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
    /// Names of the queues that only this model has ([`Gauge::Own`]).
    pub queues: &'static [&'static str],
}

/// Somebody who watches a run.
pub trait Watcher: std::fmt::Debug + Send + Sync {
    /// What is told of this node goes there. Called on the thread that runs the node.
    fn node(&self, about: About) -> Box<dyn Sink>;
    /// All nodes have finished. The error is a sentence for the user.
    fn finish(&self) -> Result<(), String>;
}

/// Takes the records of one node.
pub trait Sink {
    /// This happened at `at`.
    fn record(&mut self, at: Time, what: What);
    /// The node is over, at `at`; all slices have ended.
    fn finish(self: Box<Self>, at: Time);
}
