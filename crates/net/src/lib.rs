//! Links, routers and topologies.
//!
//! A [`Router`] is passive: the bench calls it with the time and a [`Ports`] through which it acts.
//! The router of a node lives in the node's logical process; a packet that crosses a link arrives
//! at least [`Params::lookahead`] later, which is what lets logical processes run in windows.
//!
//! ```text
//!            inject            +--------+   link_latency
//!   NIC --------------------->| route  |==================> neighbour's arrive
//!       <---------------------| output |   a flit takes Params::flit
//!            eject             +--------+
//!   a flit takes Params::port_flit
//! ```
//!
//! Times are those of virtual cut-through: a packet's head is routed, waits for its output, and
//! moves on while the tail follows. A packet alone in the network leaves the destination's router
//! `route + hops * (link_latency + route) + flits * flit` after its head was injected.

mod router;
mod topology;

pub use router::{Counters, Event, OutputCounters, Router};
pub use topology::{Link, Topology, TopologyError, LINKS};

use abi::packet::Packet;
use des::{Duration, Time};

/// What a router costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// From a packet's head at an input to its head at the output that it needs.
    pub route: Duration,
    /// From a head at an output to the head at the neighbour's input: output stage, wire, input
    /// stage.
    pub link_latency: Duration,
    /// A flit on a link, protocol overhead included.
    pub flit: Duration,
    /// A flit between router and NIC, either way.
    pub port_flit: Duration,
}

impl Params {
    /// Time of a hop for a packet that waits for nobody.
    pub fn hop(&self) -> Duration {
        self.route + self.link_latency
    }
    /// Least time between a call of a router and the arrival of what it sends to a neighbour.
    pub fn lookahead(&self) -> Duration {
        self.hop()
    }
}

/// What a router needs of the node around it.
pub trait Ports {
    /// Calls [`Router::handle`] with `event` at `at`.
    fn schedule(&mut self, at: Time, event: Event);
    /// Calls [`Router::arrive`] of node `neighbour` at `at`, when the packet's head stands at its
    /// input.
    fn send(&mut self, at: Time, neighbour: u32, packet: Packet);
    /// Gives a packet, whole, to this node's NIC.
    fn eject(&mut self, now: Time, packet: Packet);
    /// A packet names a destination that does not exist: a fault of whoever sent it. It is dropped.
    fn unreachable(&mut self, now: Time, packet: &Packet);
    /// The injection port, which [`Router::inject`] reported as blocked (`Time::NEVER`), is free.
    fn injection_free(&mut self, now: Time);
}
