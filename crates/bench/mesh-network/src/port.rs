//! A node's router with the engines at both of its ends.
//!
//! Trace vocabulary (events): Router: for the router itself; Ready: the next packet can be injected; Gone:
//! the tail of a message's last packet has passed the port; Taken: a packet has left its buffer.
//!
//! A message leaves as packets, one at a time: while one passes the port, the next is made. A packet that
//! comes stands in a buffer until the engine has taken it, which gives its room back to the router; so
//! whatever the network interface cannot take as fast as it comes stays in the network. Of a message the
//! network interface is told when the first packet has been taken, and when the last has; before that it has
//! no more than the first.

use crate::books::Left;
use crate::packets::{Assembly, Leaving, Told};
use crate::router;
use crate::settings::Network;
use abi::packet::{Packet, PAYLOAD_BYTES};
use abi::MessageId;
use des::{Duration, Interval, Time};
use mesh::{Class, LinkMessage, Router};
use std::collections::VecDeque;
use std::fmt;

/// Event for which a port waits: [`Port::handle`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The router's.
    Router(mesh::Event),
    /// The next packet of the message that leaves is ready, and the router has room for it.
    Ready,
    /// The message has left.
    Gone,
    /// The oldest packet has left its buffer.
    Taken,
}

impl Event {
    /// Word for a trace hash, below 2^48.
    pub fn word(self) -> u64 {
        match self {
            Event::Router(mesh::Event::Grant { output }) => 1 | u64::from(output) << 8,
            Event::Router(mesh::Event::Recovered { link, channel, flits }) => {
                2 | u64::from(link) << 8 | u64::from(channel) << 16 | u64::from(flits) << 24
            }
            Event::Router(mesh::Event::Eject) => 3,
            Event::Router(mesh::Event::InjectionFree { control }) => 4 | u64::from(control) << 8,
            Event::Ready => 5,
            Event::Gone => 6,
            Event::Taken => 7,
        }
    }
}

/// A message to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// Node to which it goes.
    pub target: u32,
    /// Its id, for observers.
    pub id: MessageId,
    /// All of its bytes.
    pub bytes: Vec<u8>,
}

/// Services that a port needs of its node.
pub trait Ports {
    /// Asks for [`Port::handle`] with `event` at `at`.
    fn schedule(&mut self, at: Time, event: Event);
    /// Calls [`Port::receive`] of node `neighbour` at `at`.
    fn send(&mut self, at: Time, neighbour: u32, message: LinkMessage);
    /// A packet has an output of the router for an interval; for observers.
    fn passed(&mut self, output: usize, interval: Interval, packet: &Packet) {
        let _ = (output, interval, packet);
    }
    /// Ends the run; `what` is a sentence without a period that follows "node 3: ".
    fn fail(&mut self, now: Time, what: fmt::Arguments<'_>);
}

/// The node, for its router.
struct OfRouter<'a, P>(&'a mut P);

impl<P: Ports> mesh::Ports for OfRouter<'_, P> {
    fn schedule(&mut self, at: Time, event: mesh::Event) {
        self.0.schedule(at, Event::Router(event));
    }
    fn send(&mut self, at: Time, neighbour: u32, message: LinkMessage) {
        self.0.send(at, neighbour, message);
    }
    fn passed(&mut self, output: usize, interval: Interval, packet: &Packet) {
        self.0.passed(output, interval, packet);
    }
    fn unreachable(&mut self, now: Time, packet: &Packet) {
        nowhere(self.0, now, packet.dest.into());
    }
}

fn nowhere(ports: &mut impl Ports, now: Time, node: u32) {
    ports.fail(now, format_args!("a message at {now} names node {node}, which does not exist"));
}

/// A node's router, what leaves through it, and what comes.
#[derive(Debug)]
pub struct Port {
    router: Router,
    nodes: u32,
    nid: u16,
    port_flit: Duration,
    window: Duration,
    /// Bytes a second at which packets are made, and taken from their buffers.
    rate: u64,
    leaving: Option<Leaving>,
    /// Number of the next message.
    number: u16,
    /// Time at which the next packet is made, and at which the router takes one; the latter `Time::NEVER`
    /// until the router tells.
    made: Time,
    free: Time,
    /// Packets in their buffers, the oldest first, which the engine takes.
    held: VecDeque<Packet>,
    held_max: u64,
    assembly: Assembly,
}

impl Port {
    /// The port of a node whose network interface makes packets, and takes them, at so many bytes a second.
    pub fn new(network: &Network, nid: u32, rate: u64) -> Port {
        let Network { topology, routers } = network;
        Port {
            router: Router::new(routers, topology, nid),
            nodes: topology.nodes(),
            nid: u16::try_from(nid).expect("topologies have at most 65,536 nodes"),
            port_flit: routers.port_flit,
            window: network.window(),
            rate,
            leaving: None,
            number: 0,
            made: Time::ZERO,
            free: Time::ZERO,
            held: VecDeque::new(),
            held_max: 0,
            assembly: Assembly::default(),
        }
    }

    /// The network's [`Network::window`].
    pub fn window(&self) -> Duration {
        self.window
    }

    fn time_of(&self, bytes: usize) -> Duration {
        Duration::of_transfer(bytes as u64, self.rate)
    }

    /// Begins to send a message.
    ///
    /// # Panics
    /// If the one before has not left ([`Told::Left`]).
    pub fn send(&mut self, now: Time, message: Outgoing, ports: &mut impl Ports) {
        let Outgoing { target, id, bytes } = message;
        assert!(self.leaving.is_none(), "a message leaves after another");
        let Some(dest) = u16::try_from(target).ok().filter(|_| target < self.nodes) else {
            nowhere(ports, now, target);
            return ports.schedule(now, Event::Gone);
        };
        let leaving = Leaving::new([self.nid, dest], self.number, id, bytes);
        self.number = self.number.wrapping_add(1);
        self.made = now + self.time_of(leaving.size());
        self.leaving = Some(leaving);
        self.wait_for_port(ports);
    }

    /// Waits until the next packet is made and the router takes it, if it is known when that is.
    fn wait_for_port(&self, ports: &mut impl Ports) {
        if self.free < Time::NEVER && self.leaving.is_some() {
            ports.schedule(self.made.max(self.free), Event::Ready);
        }
    }

    /// The next packet enters the router.
    fn inject(&mut self, now: Time, ports: &mut impl Ports) {
        let leaving = self.leaving.as_mut().expect("a message leaves");
        let packet = leaving.next();
        let next = leaving.size();
        self.free = self.router.inject(now, Class::Data, packet, &mut OfRouter(ports));
        if packet.is_last() {
            self.leaving = None;
            let tail = now + self.port_flit * u64::from(packet.flits());
            return ports.schedule(tail, Event::Gone);
        }
        self.made = now + self.time_of(next);
        self.wait_for_port(ports);
    }

    /// Takes what a neighbour sent.
    pub fn receive(&mut self, now: Time, message: LinkMessage, ports: &mut impl Ports) {
        self.router.receive(now, message, &mut OfRouter(ports));
    }

    /// Carries out what was scheduled.
    pub fn handle(&mut self, now: Time, event: Event, ports: &mut impl Ports) -> Option<Told> {
        match event {
            Event::Router(mesh::Event::Eject) => {
                let packet = self.router.ejected();
                self.held.push_back(packet);
                self.held_max = self.held_max.max(self.held.len() as u64);
                if self.held.len() == 1 {
                    self.take_next(now, ports);
                }
            }
            Event::Router(mesh::Event::InjectionFree { .. }) => {
                self.free = now;
                self.made = self.made.max(now);
                self.wait_for_port(ports);
            }
            Event::Router(event) => self.router.handle(now, event, &mut OfRouter(ports)),
            Event::Ready => self.inject(now, ports),
            Event::Gone => return Some(Told::Left),
            Event::Taken => {
                let packet = self.held.pop_front().expect("a packet is taken");
                self.router.room(now, Class::Data, 1, &mut OfRouter(ports));
                self.take_next(now, ports);
                return self.assembly.take(&packet);
            }
        }
        None
    }

    /// The engine begins to take the oldest packet, if there is one.
    fn take_next(&self, now: Time, ports: &mut impl Ports) {
        if let Some(packet) = self.held.front() {
            ports.schedule(now + self.time_of(packet.size.into()), Event::Taken);
        }
    }

    /// Counters, by name.
    pub fn counters(&self) -> Vec<(&'static str, u64)> {
        let held = [("rx.held_max", self.held_max)];
        router::counters(&self.router).into_iter().chain(held).collect()
    }

    /// Reasons why a message does not leave or come, a sentence each.
    pub fn waiting(&self) -> Vec<String> {
        let mut all = Vec::new();
        if self.leaving.is_some() {
            all.push("a message waits to enter the network".to_string());
        }
        match self.assembly.partial() {
            0 => {}
            partial => all.push(format!("{partial} messages have not come whole")),
        }
        all
    }

    /// The router.
    pub fn router(&self) -> &Router {
        &self.router
    }

    /// Its books at the end of the run, for `balance`.
    pub fn left(&self) -> Left {
        let mut ledger = self.router.ledger();
        ledger.held = self.held.len() as u64;
        let unfinished = self.assembly.partial() + usize::from(self.leaving.is_some());
        Left { ledger, unfinished }
    }
}

// A packet's size fits its field.
const _: () = assert!(PAYLOAD_BYTES <= u8::MAX as usize);
