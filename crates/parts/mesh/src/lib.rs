//! Links, routers and topologies.
//!
//! A [`Router`] is passive: the bench calls it with the time and a [`Ports`] through which it acts.
//! The router of a node lives in the node's logical process; what crosses a link, a packet or
//! credits, arrives at least [`Params::lookahead`] later, which is what lets logical processes run
//! in windows. The cut is after output arbitration.
//!
//! ```text
//!                      input queues            output queues    link_latency
//!   link ---------------->[ VC 0..3 ]--+    +-->[ VC 0..3 ]--=================> neighbour's
//!     <- - - credits - - - - - -       |route|        ^                           input
//!   NIC  inject --------->[ VC 0, 2 ]--+-----+        +- - - - - credits - - - - -
//!        <- eject <-------[ queue to the node ]<-+
//!              - - - - room - - - - - - ->
//! ```
//!
//! A queue takes whole packets only. A packet leaves for a neighbour when the neighbour's input
//! queue of its virtual channel has room for all of it, and for the NIC when the NIC has room.
//!
//! Times are those of virtual cut-through: a packet's head is routed, waits for its output, and
//! moves on while the tail follows. A packet alone in the network leaves the destination's router
//! `route + hops * (link_latency + route) + flits * flit` after its head was injected.

#![forbid(unsafe_code)]

mod announce;
mod conservation;
mod failing;
mod faults;
mod queues;
mod router;
mod steady_state;
mod topology;

pub use conservation::{check, ChannelAt, Imbalance, Ledger, Volume};
pub use faults::{DeadLink, FaultSite, Faults, Rule, What, Which};
pub use queues::PORT;
pub use router::{Counters, OutputCounters, Router};
pub use topology::{Link, Topology, TopologyError, LINKS, LINK_NAMES};

use abi::packet::{Packet, PAYLOAD_BYTES};
use des::{Duration, Interval, Time};

/// Virtual channels of a link: two a class, before and behind the dateline of a torus.
pub const CHANNELS: usize = 4;

/// Flits of the largest packet: routing, payload, CRC.
pub const PACKET_FLITS: u32 = 1 + (PAYLOAD_BYTES as u32).div_ceil(abi::seastar::FLIT_BYTES) + 1;

/// Class of a packet. Classes never wait for one another except for the wires themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Messages: virtual channel 0, and 1 behind a dateline.
    Data,
    /// Control, which must pass when data are stuck: virtual channel 2, and 3 behind a dateline.
    Control,
}

impl Class {
    pub(crate) fn channel(self) -> usize {
        match self {
            Class::Data => 0,
            Class::Control => 2,
        }
    }
}

/// Costs and capacities of a router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// Time from a packet's head at an input to its head at the output that it needs.
    pub route: Duration,
    /// Time from a head at an output to the head at the neighbour's input: output stage, wire, input
    /// stage. Credits take it too.
    pub link_latency: Duration,
    /// A flit on a link, protocol overhead included.
    pub flit: Duration,
    /// A flit between router and NIC, either way, and within the router.
    pub port_flit: Duration,
    /// Input queue of a virtual channel, of a link or of the NIC, in flits.
    pub input_queue: u32,
    /// Output queue of a virtual channel of a link, in flits.
    pub output_queue: u32,
    /// Queue from router to NIC of a class, in flits.
    pub node_queue: u32,
    /// Packets of a class for which the NIC has room.
    pub node_room: u32,
    /// Freed room of an input queue is told to the sender when it is as much as this, in flits.
    pub credit_batch: u32,
}

impl Params {
    /// Time of a hop for a packet that does not wait.
    pub fn hop(&self) -> Duration {
        self.route + self.link_latency
    }
    /// Least time between a call of a router and the arrival of what it sends to a neighbour.
    pub fn lookahead(&self) -> Duration {
        self.hop()
    }
    /// Checks that nothing waits for ever.
    pub fn check(&self) -> Result<(), ParamsError> {
        let queues = [
            ("input queue", self.input_queue),
            ("output queue", self.output_queue),
            ("node queue", self.node_queue),
        ];
        if let Some((queue, flits)) = queues.into_iter().find(|(_, flits)| *flits < PACKET_FLITS) {
            return Err(ParamsError::Queue { queue, flits });
        }
        // Credits kept back must leave room for a packet, or sender and receiver wait for each
        // other.
        let most = self.input_queue - PACKET_FLITS + 1;
        match self.credit_batch {
            flits if flits > most => Err(ParamsError::CreditBatch { flits }),
            _ => Ok(()),
        }
    }
}

/// Parameters with which packets would wait for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // The sentences say what the fields are.
pub enum ParamsError {
    /// A queue is too small.
    #[error("the {queue} of {flits} flits holds no whole packet of {PACKET_FLITS} flits")]
    Queue { queue: &'static str, flits: u32 },
    /// Credits are kept back that a packet needs.
    #[error("credits of {flits} flits at once leave no room for a packet")]
    CreditBatch { flits: u32 },
}

/// Message across a link. A plain value: it crosses between logical processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkMessage {
    /// A packet, its head at the input when it arrives.
    Packet {
        /// [`Link::index`] of the link as its sender names it.
        link: u8,
        /// Virtual channel.
        channel: u8,
        /// The packet.
        packet: Packet,
    },
    /// Room in the input queue at the other end.
    Credit {
        /// [`Link::index`] of the link as the receiver of the credit names it.
        link: u8,
        /// Virtual channel.
        channel: u8,
        /// Number of flits.
        flits: u16,
    },
}

/// Event for which a router waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// An output for which packets wait can be granted: [`Router::handle`].
    Grant {
        /// [`Link::index`], or [`LINKS`] for the output to the NIC.
        output: u8,
    },
    /// The room that a packet lost on a link would have taken is free again: [`Router::handle`].
    Recovered {
        /// [`Link::index`].
        link: u8,
        /// Virtual channel.
        channel: u8,
        /// Number of flits.
        flits: u16,
    },
    /// The tail of the oldest packet for the NIC has left the router: [`Router::ejected`].
    Eject,
    /// The injection port, which [`Router::inject`] reported as blocked for packets of a class, is free for
    /// them. This is for the NIC.
    InjectionFree {
        /// [`Class::Control`], else [`Class::Data`].
        control: bool,
    },
}

/// Services that a router needs of the node around it.
pub trait Ports {
    /// Calls [`Router::handle`], or what else `event` names, at `at`.
    fn schedule(&mut self, at: Time, event: Event);
    /// Calls [`Router::receive`] of node `neighbour` at `at`.
    fn send(&mut self, at: Time, neighbour: u32, message: LinkMessage);
    /// A packet has an output ([`Link::index`], or [`LINKS`] for the one to the NIC) for an interval; for
    /// observers.
    fn passed(&mut self, output: usize, interval: Interval, packet: &Packet) {
        let _ = (output, interval, packet);
    }
    /// A packet names a destination that does not exist: a fault of its sender. It is dropped.
    fn unreachable(&mut self, now: Time, packet: &Packet);
}
