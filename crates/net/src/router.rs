//! One node's router.
//!
//! Every output is a FIFO served in the order in which heads reach it. There is no back-pressure between routers
//! yet, so a packet's way through a router is known as soon as it comes in, and needs an event only to leave to
//! the NIC.

use crate::topology::{Link, Topology, LINKS};
use crate::{Params, Ports};
use abi::packet::Packet;
use des::{Duration, Time};
use std::collections::VecDeque;

/// What a router waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The tail of the oldest packet for the NIC has left the router.
    Eject,
}

/// What passed through an output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutputCounters {
    /// Packets sent.
    pub packets: u64,
    /// Flits sent.
    pub flits: u64,
    /// Time in which flits were on the output.
    pub busy: Duration,
    /// Most packets that waited for the output at once.
    pub queue_max: usize,
}

/// What a router has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets from the NIC.
    pub injected: u64,
    /// Packets to the NIC.
    pub ejected: u64,
    /// Packets with a destination that does not exist.
    pub unreachable: u64,
    /// Outputs to neighbours, by [`Link::index`].
    pub links: [OutputCounters; LINKS],
    /// Output to the NIC.
    pub port: OutputCounters,
}

#[derive(Clone, Debug, Default)]
struct Output {
    /// When the tail of the last packet has left.
    free: Time,
    /// When the waiting packets start, oldest first.
    starts: VecDeque<Time>,
    counters: OutputCounters,
}

impl Output {
    /// Gives the output to a packet whose head stands before it at `ready`; returns when the head and when the
    /// tail leave. The tail cannot leave before `tail_ready`.
    fn take(&mut self, ready: Time, tail_ready: Time, flits: u32, flit: Duration) -> (Time, Time) {
        let start = ready.max(self.free);
        let end = (start + flit * u64::from(flits)).max(tail_ready);
        self.free = end;
        while self.starts.front().is_some_and(|&earlier| earlier <= ready) {
            self.starts.pop_front();
        }
        if start > ready {
            self.starts.push_back(start);
        }
        let counters = &mut self.counters;
        counters.packets += 1;
        counters.flits += u64::from(flits);
        counters.busy += end.since(start);
        counters.queue_max = counters.queue_max.max(self.starts.len());
        (start, end)
    }
}

/// A router: up to six links and a port to its node's NIC.
#[derive(Clone, Debug)]
pub struct Router {
    params: Params,
    topology: Topology,
    at: [u32; 3],
    neighbours: [Option<u32>; LINKS],
    links: [Output; LINKS],
    port: Output,
    ejecting: VecDeque<Packet>,
    injected: u64,
    unreachable: u64,
}

impl Router {
    /// The router of `node`.
    ///
    /// # Panics
    /// If the topology has no such node.
    pub fn new(params: &Params, topology: &Topology, node: u32) -> Router {
        assert!(node < topology.nodes(), "node {node} stands in {topology}");
        Router {
            params: *params,
            topology: *topology,
            at: topology.coordinates(node),
            neighbours: std::array::from_fn(|i| topology.neighbour(node, Link::from_index(i))),
            links: Default::default(),
            port: Output::default(),
            ejecting: VecDeque::new(),
            injected: 0,
            unreachable: 0,
        }
    }
    /// Least time from a call to an arrival at a neighbour.
    pub fn lookahead(&self) -> Duration {
        self.params.lookahead()
    }
    /// Takes a packet from the NIC, whose head stands at the input at `now`. Returns when the port can take the
    /// next one, or `Time::NEVER` if that is not known yet; then [`Ports::injection_free`] will tell.
    ///
    /// The port holds one packet: it is free once the packet's output has begun to take it.
    pub fn inject(&mut self, now: Time, packet: Packet, ports: &mut impl Ports) -> Time {
        self.injected += 1;
        let through = now + self.params.port_flit * u64::from(packet.flits());
        let start = self.forward(now, self.params.port_flit, packet, ports);
        through.max(start)
    }
    /// Takes a packet from a neighbour, whose head stands at the input at `now`.
    pub fn arrive(&mut self, now: Time, packet: Packet, ports: &mut impl Ports) {
        self.forward(now, self.params.flit, packet, ports);
    }
    /// Carries out what was scheduled.
    pub fn handle(&mut self, now: Time, event: Event, ports: &mut impl Ports) {
        match event {
            Event::Eject => {
                let packet = self.ejecting.pop_front().expect("an event a packet");
                ports.eject(now, packet);
            }
        }
    }
    /// What happened so far.
    pub fn counters(&self) -> Counters {
        Counters {
            injected: self.injected,
            ejected: self.port.counters.packets - self.ejecting.len() as u64,
            unreachable: self.unreachable,
            links: std::array::from_fn(|i| self.links[i].counters),
            port: self.port.counters,
        }
    }

    /// Routes a packet that comes in at `now` at one flit every `flit_in`; returns when its head leaves.
    fn forward(
        &mut self,
        now: Time,
        flit_in: Duration,
        packet: Packet,
        ports: &mut impl Ports,
    ) -> Time {
        let ready = now + self.params.route;
        let dest = u32::from(packet.dest);
        if dest >= self.topology.nodes() {
            self.unreachable += 1;
            ports.unreachable(now, &packet);
            return ready;
        }
        let flits = packet.flits();
        let tail_ready = ready + flit_in * u64::from(flits);
        match self.topology.next_link(self.at, self.topology.coordinates(dest)) {
            Some(link) => {
                let output = &mut self.links[link.index()];
                let (start, _) = output.take(ready, tail_ready, flits, self.params.flit);
                let neighbour = self.neighbours[link.index()].expect("routes follow links");
                ports.send(start + self.params.link_latency, neighbour, packet);
                start
            }
            None => {
                let (start, end) = self.port.take(ready, tail_ready, flits, self.params.port_flit);
                self.ejecting.push_back(packet);
                ports.schedule(end, Event::Eject);
                start
            }
        }
    }
}
