//! One node's router.
//!
//! Trace vocabulary (events): Grant gives an output to the next input that waits for it; Eject: a
//! packet's tail has left to the NIC.
//!
//! A packet that finds its output free passes at once; others wait in a queue an input, and an
//! output serves the inputs in turn, a packet each. An output is granted [`Params::route`] ahead,
//! while the packet is on its way through the router, so that it is never idle when somebody waits.
//! Queues are not bounded yet: there is no back-pressure.

use crate::topology::{Link, Topology, LINKS};
use crate::{Params, Ports};
use abi::packet::Packet;
use des::{Duration, Time};
use std::collections::VecDeque;

/// What a router waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// An output for which packets wait can be granted.
    Grant {
        /// [`Link::index`], or [`LINKS`] for the output to the NIC.
        output: u8,
    },
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

/// The input from the NIC, and the output to it, beside those of the links.
const PORT: usize = LINKS;

/// A packet that comes through the router.
#[derive(Clone, Debug)]
struct Passing {
    packet: Packet,
    input: usize,
    /// When its tail can be at the output.
    tail: Time,
}

#[derive(Clone, Debug, Default)]
struct Output {
    /// When the tail of the last packet has left.
    free: Time,
    /// Who waits, an input each.
    queues: [VecDeque<Passing>; LINKS + 1],
    waiting: usize,
    /// The input that was served last.
    last: usize,
    counters: OutputCounters,
}

impl Output {
    fn wait(&mut self, passing: Passing) {
        self.queues[passing.input].push_back(passing);
        self.waiting += 1;
        self.counters.queue_max = self.counters.queue_max.max(self.waiting);
    }
    /// The next to be served: the inputs take turns.
    fn next(&mut self) -> Passing {
        let inputs = self.queues.len();
        let turn = (1..=inputs).map(|i| (self.last + i) % inputs);
        let next = turn.filter_map(|input| self.queues[input].pop_front()).next();
        self.waiting -= 1;
        next.expect("a granted output has somebody waiting")
    }
    /// Gives the output to a packet whose head can be there at `ready`; returns when head and tail
    /// leave.
    fn take(&mut self, ready: Time, passing: &Passing, flit: Duration) -> (Time, Time) {
        let flits = u64::from(passing.packet.flits());
        let start = ready.max(self.free);
        let end = (start + flit * flits).max(passing.tail);
        self.free = end;
        self.last = passing.input;
        self.counters.packets += 1;
        self.counters.flits += flits;
        self.counters.busy += end.since(start);
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
    /// To the neighbours and, as number [`PORT`], to the NIC.
    outputs: [Output; LINKS + 1],
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
            outputs: Default::default(),
            ejecting: VecDeque::new(),
            injected: 0,
            unreachable: 0,
        }
    }
    /// Least time from a call to an arrival at a neighbour.
    pub fn lookahead(&self) -> Duration {
        self.params.lookahead()
    }
    /// Takes a packet from the NIC, whose head stands at the input at `now`. Returns when the port
    /// can take the next one, or `Time::NEVER` if that is not known yet; then
    /// [`Ports::injection_free`] will tell. Without back-pressure it is always known.
    pub fn inject(&mut self, now: Time, packet: Packet, ports: &mut impl Ports) -> Time {
        self.injected += 1;
        let through = now + self.params.port_flit * u64::from(packet.flits());
        self.forward(now, PORT, self.params.port_flit, packet, ports);
        through
    }
    /// Takes a packet from a neighbour, whose head stands at the input at `now`.
    pub fn arrive(&mut self, now: Time, packet: Packet, ports: &mut impl Ports) {
        let source = self.topology.coordinates(u32::from(packet.source));
        let input = self.topology.last_link(source, self.at).map_or(PORT, Link::index);
        self.forward(now, input, self.params.flit, packet, ports);
    }
    /// Carries out what was scheduled.
    pub fn handle(&mut self, now: Time, event: Event, ports: &mut impl Ports) {
        match event {
            Event::Grant { output } => {
                let index = usize::from(output);
                let passing = self.outputs[index].next();
                self.pass(now, index, passing, ports);
                if self.outputs[index].waiting > 0 {
                    self.schedule_grant(index, ports);
                }
            }
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
            ejected: self.outputs[PORT].counters.packets - self.ejecting.len() as u64,
            unreachable: self.unreachable,
            links: std::array::from_fn(|i| self.outputs[i].counters),
            port: self.outputs[PORT].counters,
        }
    }

    /// Routes a packet that comes in at `now` at one flit every `flit_in`.
    fn forward(
        &mut self,
        now: Time,
        input: usize,
        flit_in: Duration,
        packet: Packet,
        ports: &mut impl Ports,
    ) {
        let dest = u32::from(packet.dest);
        if dest >= self.topology.nodes() {
            self.unreachable += 1;
            return ports.unreachable(now, &packet);
        }
        let link = self.topology.next_link(self.at, self.topology.coordinates(dest));
        let index = link.map_or(PORT, Link::index);
        let ready = now + self.params.route;
        let tail = ready + flit_in * u64::from(packet.flits());
        let passing = Passing { packet, input, tail };
        let output = &mut self.outputs[index];
        if output.waiting == 0 && output.free <= ready {
            return self.pass(now, index, passing, ports);
        }
        output.wait(passing);
        if output.waiting == 1 {
            self.schedule_grant(index, ports);
        }
    }
    /// The output is granted as early as a packet needs to come through the router.
    fn schedule_grant(&self, index: usize, ports: &mut impl Ports) {
        let at = Time(self.outputs[index].free.0 - self.params.route.0);
        ports.schedule(at, Event::Grant { output: index as u8 });
    }
    /// Sends a packet through an output that is free when the packet comes to it.
    fn pass(&mut self, now: Time, index: usize, passing: Passing, ports: &mut impl Ports) {
        let ready = now + self.params.route;
        let flit = if index == PORT { self.params.port_flit } else { self.params.flit };
        let (start, end) = self.outputs[index].take(ready, &passing, flit);
        if index == PORT {
            self.ejecting.push_back(passing.packet);
            ports.schedule(end, Event::Eject);
        } else {
            let neighbour = self.neighbours[index].expect("routes follow links");
            ports.send(start + self.params.link_latency, neighbour, passing.packet);
        }
    }
}
