//! Networks of routers for the tests.

use abi::packet::{flag, Packet};
use des::{Duration, EventQueue, Random, Time};
use mesh::{check, Class, Event, Faults, LinkMessage, Params, Ports, Router, Topology};
use std::collections::VecDeque;

pub const PARAMS: Params = Params {
    route: Duration::from_ns(10),
    link_latency: Duration::from_ns(40),
    flit: Duration::from_ns(3),
    port_flit: Duration::from_ns(2),
    input_queue: 96,
    output_queue: 16,
    node_queue: 512,
    node_room: 64,
    credit_batch: 24,
};

#[derive(Clone, Copy)]
pub enum Due {
    Router(Event),
    LinkMessage(LinkMessage),
    Inject,
    /// The NIC has dealt with a packet of a class.
    Room(Class),
}

/// Packets with this bit in their message number are of the control class.
pub const CONTROL: u16 = 0x8000;

pub fn class_of(packet: &Packet) -> Class {
    if packet.message & CONTROL == 0 {
        Class::Data
    } else {
        Class::Control
    }
}

/// A network whose nodes inject what they have as fast as their ports take it, and take packets at
/// a pace of their own.
pub struct Network {
    pub queue: EventQueue<(u32, Due)>,
    pub routers: Vec<Router>,
    pub around: Around,
    /// Time that a NIC takes over a packet.
    pub digest: Duration,
    /// It takes control packets at once.
    pub control_first: bool,
}

#[derive(Default)]
pub struct Around {
    pub ejected: Vec<(Time, u32, Packet)>,
    pub unreachable: Vec<u16>,
    pub backlog: Vec<VecDeque<Packet>>,
    /// Packets that a NIC holds, and when it will be done with the last.
    pub held: Vec<(u32, Time)>,
    pub messages: usize,
    /// Packets and credits on links: to whom, when they arrive, and whether it is a packet.
    pub sent: Vec<(u32, Time, bool)>,
}

struct NodePorts<'a> {
    now: Time,
    node: u32,
    queue: &'a mut EventQueue<(u32, Due)>,
    around: &'a mut Around,
}

impl Ports for NodePorts<'_> {
    fn schedule(&mut self, at: Time, event: Event) {
        assert!(at >= self.now);
        self.queue.schedule(at, (self.node, Due::Router(event)));
    }
    fn send(&mut self, at: Time, neighbour: u32, message: LinkMessage) {
        assert!(at >= self.now + PARAMS.lookahead(), "nothing crosses sooner than the lookahead");
        self.around.messages += 1;
        self.around.sent.push((neighbour, at, matches!(message, LinkMessage::Packet { .. })));
        self.queue.schedule(at, (neighbour, Due::LinkMessage(message)));
    }
    fn unreachable(&mut self, _now: Time, packet: &Packet) {
        self.around.unreachable.push(packet.dest);
    }
}

impl Network {
    pub fn new(topology: &str) -> Network {
        Network::with(topology, &PARAMS)
    }
    pub fn with(topology: &str, params: &Params) -> Network {
        let topology: Topology = topology.parse().expect("the test writes topologies well");
        let nodes = topology.nodes();
        let backlog = vec![VecDeque::default(); nodes as usize];
        let held = vec![(0, Time::ZERO); nodes as usize];
        Network {
            queue: EventQueue::new(0),
            routers: (0..nodes).map(|node| Router::new(params, &topology, node)).collect(),
            around: Around { backlog, held, ..Around::default() },
            digest: Duration::ZERO,
            control_first: false,
        }
    }
    pub fn fail(&mut self, faults: &Faults) {
        for (node, router) in self.routers.iter_mut().enumerate() {
            router.set_faults(faults, node as u32);
        }
    }
    pub fn send(&mut self, at: Time, packet: Packet) {
        let node = u32::from(packet.source);
        let backlog = &mut self.around.backlog[node as usize];
        if backlog.is_empty() {
            self.queue.schedule(at, (node, Due::Inject));
        }
        backlog.push_back(packet);
    }
    pub fn run(&mut self) {
        self.run_until(Time::NEVER);
        self.balance(true);
    }
    pub fn run_until(&mut self, end: Time) {
        while let Some((now, (node, due))) = self.queue.pop_before(end) {
            let router = &mut self.routers[node as usize];
            let (queue, around) = (&mut self.queue, &mut self.around);
            let mut ports = NodePorts { now, node, queue, around };
            match due {
                Due::Router(Event::Eject) => {
                    let packet = router.ejected();
                    self.around.ejected.push((now, node, packet));
                    let class = class_of(&packet);
                    let (held, free) = &mut self.around.held[node as usize];
                    *held += 1;
                    let at_once = class == Class::Control && self.control_first;
                    if !at_once {
                        *free = now.max(*free) + self.digest;
                    }
                    let done = if at_once { now } else { *free };
                    self.queue.schedule(done, (node, Due::Room(class)));
                }
                Due::Room(class) => {
                    ports.around.held[node as usize].0 -= 1;
                    router.room(now, class, 1, &mut ports);
                }
                Due::Router(event @ (Event::Grant { .. } | Event::Recovered { .. })) => {
                    router.handle(now, event, &mut ports);
                }
                Due::LinkMessage(message) => router.receive(now, message, &mut ports),
                Due::Inject | Due::Router(Event::InjectionFree { .. }) => {
                    let backlog = &mut ports.around.backlog[node as usize];
                    let Some(packet) = backlog.pop_front() else { continue };
                    let free = router.inject(now, class_of(&packet), packet, &mut ports);
                    assert!(free > now);
                    let more = !self.around.backlog[node as usize].is_empty();
                    if more && free < Time::NEVER {
                        self.queue.schedule(free, (node, Due::Inject));
                    }
                }
            }
        }
    }
    /// Nothing was lost or made, whatever is still under way.
    pub fn balance(&self, settled: bool) {
        let ledgers = self.routers.iter().enumerate().map(|(node, router)| {
            let mut ledger = router.ledger();
            ledger.held = self.around.held[node].0.into();
            ledger
        });
        check(&ledgers.collect::<Vec<_>>(), settled).expect("the books balance");
    }
}

pub fn packet(source: u32, dest: u32, size: u8, message: u16) -> Packet {
    let (source, dest) = (source as u16, dest as u16);
    Packet { source, dest, size, message, flags: flag::LAST, ..Packet::default() }
}

/// Sends seeded traffic: to a few hot spots, and everywhere.
pub fn traffic(network: &mut Network, nodes: u64, seed: u64, packets: u16) -> Vec<Packet> {
    let mut random = Random::new(seed);
    let hot = random.below(nodes) as u32;
    (0..packets)
        .map(|message| {
            let source = random.below(nodes) as u32;
            let dest = if random.below(3) == 0 { hot } else { random.below(nodes) as u32 };
            let size = if random.below(2) == 0 { 64 } else { random.below(65) as u8 };
            let control = if random.below(4) == 0 { CONTROL } else { 0 };
            let packet = packet(source, dest, size, message | control);
            network.send(Time(random.below(3_000_000)), packet);
            packet
        })
        .collect()
}
