//! The bench: NICs on buses of their own, hosts as scripted doubles, a fabric between. Every bus cycle
//! stands under the monitor, every message is judged by the specification.

// Each test program uses its part of this.
#![allow(dead_code)]

pub mod both;
pub mod fabric;
pub mod program;
pub mod vcd;

use abi::forth::{control, control_bit, register, table, Descriptor, REGION_SIZE};
use bus::Memory;
use des::{Clock, Duration, Time};
use fabric::Fabric;
use forth_nic::{Arrival, Nic, Params, RemoteWrite, Spec, Violation, LINK_HZ};
use pci::{
    register as config, Burst, Bus, ConfigSpace, Cycle, Device, HostRead, Monitor, WriteCombiner,
};
use serial::Symbols;
use std::collections::VecDeque;

/// A world does not end as it should.
#[derive(Debug, thiserror::Error)]
pub enum Unsettled {
    #[error("the world never comes to rest")]
    Restless,
    #[error("{0}")]
    Violation(#[from] Violation),
}

/// A shape whose numbers are no powers of two, with a single lane and small buffers.
pub fn odd() -> Params {
    Params {
        queue_depth: 9,
        tx_words: 64,
        rx_words: 70,
        peer_words: 70,
        reads_max: 3,
        bindings: 5,
        lanes: 1,
        credit_words: 7,
        ..Params::default()
    }
}

/// Address at which hosts put the card's region.
pub const REGION: u64 = 0xF000_0000;
/// Bytes of a host's memory.
pub const MEMORY_BYTES: usize = 1 << 20;
/// Address at which a host wants its notifications.
pub const NOTIFY_ADDR: u64 = 0x100;

/// A card: the model, or what is run beside it.
pub trait Card: Device {
    fn link_clock(&mut self, symbols: Symbols) -> Symbols;
    fn arrival(&self) -> Option<Arrival>;
    fn is_quiet(&self) -> bool;
}

impl Card for Nic {
    fn link_clock(&mut self, symbols: Symbols) -> Symbols {
        Nic::link_clock(self, symbols)
    }
    fn arrival(&self) -> Option<Arrival> {
        Nic::arrival(self)
    }
    fn is_quiet(&self) -> bool {
        Nic::is_quiet(self)
    }
}

/// A host with its card.
pub struct Node<C: Card = Nic> {
    pub bus: Bus,
    pub nic: C,
    monitor: Monitor,
    bus_clock: Clock,
    link_clock: Clock,
    bus_edges: u64,
    link_edges: u64,
    /// Times of the next edges.
    next_bus: Time,
    next_link: Time,
    /// Stores that the processor wants to make, in order.
    pub stores: VecDeque<Burst>,
    combiner: Option<WriteCombiner>,
    /// Cycles of the bus, if they are kept.
    pub cycles: Option<Vec<Cycle>>,
    /// Cycles in which packets came to be in memory.
    pub arrivals: Vec<(u64, Arrival)>,
    /// An arrived packet whose words may still stand in the bridge.
    unjudged: VecDeque<Arrival>,
    /// Faults are planted: bad packets are none of the specification's.
    pub lossy: bool,
    /// They may also lose packets: nothing is.
    pub unspecified: bool,
}

impl<C: Card> Node<C> {
    fn new(nic: C, bus: pci::Params, combining: bool, ppm: i64) -> Node<C> {
        let space = ConfigSpace::new(0x10EE, 0x0300, 0x02_8000, REGION_SIZE, true);
        let hz = LINK_HZ as i64 + LINK_HZ as i64 / 1_000_000 * ppm;
        let mut node = Node {
            bus: Bus::new(bus, Memory::new(0, MEMORY_BYTES), vec![space]),
            nic,
            monitor: Monitor::new(bus),
            bus_clock: Clock::from_hz(bus.hertz),
            link_clock: Clock::from_hz(hz as u64),
            bus_edges: 0,
            link_edges: 0,
            next_bus: Time::ZERO,
            next_link: Time::ZERO,
            stores: VecDeque::new(),
            combiner: combining.then(|| WriteCombiner::new(1)),
            cycles: None,
            arrivals: Vec::new(),
            unjudged: VecDeque::new(),
            lossy: false,
            unspecified: false,
        };
        assert!(node.bus.bridge.config_write(0, config::BAR0, REGION as u32, 0xF));
        assert!(node.bus.bridge.config_write(0, config::COMMAND, 0b110, 0x3));
        node.set(register::NOTIFY, NOTIFY_ADDR);
        node.set(register::INTERRUPT, 1);
        node.set(register::CONTROL, u64::from(control_bit::SEND | control_bit::RECEIVE));
        node
    }

    /// Writes a register of the card's, behind all that was stored before.
    pub fn set(&mut self, offset: u32, value: u64) {
        let addr = REGION + u64::from(offset);
        let mut burst = Burst { addr, data: [0; 8], enables: [0; 8], words: 1 };
        (burst.data[0], burst.enables[0]) = (value, 0xFF);
        self.stores.push_back(burst);
    }

    /// Gives a flow its words of buffer at the other end.
    pub fn set_limit(&mut self, flow: u8, words: u16) {
        self.set(table::LIMITS + 8 * u32::from(flow), u64::from(words));
    }

    /// Stores descriptors: combined, with a fence behind, or as single words.
    pub fn post(&mut self, descriptors: &[Descriptor]) {
        let mut bytes = vec![0; 16 * descriptors.len()];
        for (place, descriptor) in descriptors.iter().enumerate() {
            descriptor.emit(&mut bytes[16 * place..]);
        }
        let stores = &mut self.stores;
        let Some(combiner) = &mut self.combiner else {
            for (place, word) in bytes.chunks(4).enumerate() {
                let (addr, lane) = (REGION + 8 * (place as u64 / 2 % 8), 4 * (place % 2));
                let mut burst = Burst { addr, data: [0; 8], enables: [0; 8], words: 1 };
                let value = word.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte));
                (burst.data[0], burst.enables[0]) = (value << (8 * lane), 0xF << lane);
                stores.push_back(burst);
            }
            return;
        };
        for (place, word) in bytes.chunks(8).enumerate() {
            combiner
                .store(REGION + 8 * (place as u64 % 8), word, &mut |burst| stores.push_back(burst));
        }
        combiner.flush(&mut |burst| stores.push_back(burst));
    }

    pub fn word(&self, addr: u64) -> u64 {
        let mut bytes = [0; 8];
        self.bus.bridge.memory.read(addr, &mut bytes).expect("it is memory");
        u64::from_le_bytes(bytes)
    }
    pub fn set_word(&mut self, addr: u64, word: u64) {
        self.bus.bridge.memory.write(addr, &word.to_le_bytes()).expect("it is memory");
    }

    fn bus_edge(&mut self) {
        while let Some(burst) = self.stores.front() {
            if !self.bus.bridge.post(burst) {
                break;
            }
            self.stores.pop_front();
        }
        let cycle = self.bus.clock(std::slice::from_mut(&mut self.nic));
        self.monitor.judge(&cycle).unwrap_or_else(|violation| panic!("{violation}"));
        if let Some(arrival) = self.nic.arrival() {
            self.arrivals.push((self.bus_edges, arrival));
            self.unjudged.push_back(arrival);
        }
        if let Some(cycles) = &mut self.cycles {
            cycles.push(cycle);
        }
        self.bus_edges += 1;
        self.next_bus = self.bus_clock.edge(self.bus_edges);
    }

    fn is_quiet(&self) -> bool {
        self.stores.is_empty() && self.bus.is_quiet() && self.nic.is_quiet()
    }

    /// Reads a register behind what was stored; false if the bridge has no room for more.
    fn ask(&mut self, offset: u32) -> bool {
        let read = HostRead::Memory { addr: REGION + u64::from(offset), enables: 0xFF };
        self.bus.bridge.read(read, u64::from(offset))
    }
}

/// Nodes and what lies between them.
pub struct World<F: Fabric, C: Card = Nic> {
    pub nodes: Vec<Node<C>>,
    pub fabric: F,
    pub spec: Spec,
    pub now: Time,
}

impl<F: Fabric> World<F> {
    /// One node for each of `params`, with clocks of its lanes `ppm` off.
    pub fn new(
        params: &[Params],
        bus: pci::Params,
        combining: bool,
        ppm: &[i64],
        fabric: F,
    ) -> Self {
        let cards = params.iter().map(|params| Nic::new(*params)).collect();
        World::with(cards, bus, combining, ppm, fabric)
    }
}

impl<F: Fabric, C: Card> World<F, C> {
    /// A node for each card.
    pub fn with(cards: Vec<C>, bus: pci::Params, combining: bool, ppm: &[i64], fabric: F) -> Self {
        let node = |(card, ppm): (C, &i64)| Node::new(card, bus, combining, *ppm);
        let nodes = cards.into_iter().zip(ppm).map(node).collect();
        World { nodes, fabric, spec: Spec::new(), now: Time::ZERO }
    }

    /// A remote write: posts its descriptor, and tells the specification.
    pub fn write(&mut self, node: usize, from: u64, flow: u8, to: u32, words: u16, flags: u32) {
        let descriptor = self.tell(node, from, flow, to, words, flags);
        self.nodes[node].post(&[descriptor]);
    }

    /// Tells the specification of a remote write, whose descriptor is given.
    pub fn tell(
        &mut self,
        node: usize,
        from: u64,
        flow: u8,
        to: u32,
        words: u16,
        flags: u32,
    ) -> Descriptor {
        let at = &self.nodes[node];
        let data = (0..u64::from(words)).map(|word| at.word(from + 8 * word)).collect();
        let (notify, interrupt) = (flags & control::NOTIFY != 0, flags & control::INTERRUPT != 0);
        self.spec.post(node as u8, flow, RemoteWrite { addr: to, data, notify, interrupt });
        Descriptor {
            source_lo: from as u32,
            source_hi: (from >> 32) as u32,
            destination: to,
            control: u32::from(words) | flags | u32::from(flow) << control::FLOW_SHIFT,
        }
    }

    /// The next edge of any clock.
    pub fn step(&mut self) {
        let edges = self.nodes.iter().enumerate().flat_map(|(place, node)| {
            [(node.next_bus, place, false), (node.next_link, place, true)]
        });
        let (time, place, link) = edges.min().expect("a world has nodes");
        let fabric = self.fabric.next_edge();
        self.now = time.min(fabric);
        if fabric < time {
            self.fabric.edge();
            return;
        }
        let node = &mut self.nodes[place];
        if link {
            let arrived = self.fabric.receive(place, time);
            let sent = node.nic.link_clock(arrived);
            self.fabric.send(place, time, sent);
            node.link_edges += 1;
            node.next_link = node.link_clock.edge(node.link_edges);
            return;
        }
        node.bus_edge();
        self.judge(place);
    }

    /// Judges packets once nothing of them can stand in the bridge any more.
    fn judge(&mut self, place: usize) {
        let node = &mut self.nodes[place];
        if node.bus.bridge.posted_words() > 0 {
            return;
        }
        while let Some(arrival) = node.unjudged.pop_front() {
            if node.unspecified || !arrival.good && node.lossy {
                continue;
            }
            let header = arrival.header;
            let word = |addr| node.word(addr);
            let verdict = self.spec.arrive(
                header.source,
                header.flow,
                header.destination,
                header.words,
                word,
            );
            verdict.unwrap_or_else(|error| panic!("node {place} at {}: {error}", self.now));
        }
    }

    /// Runs for a while.
    pub fn run_until(&mut self, time: Time) {
        while self.now < time {
            self.step();
        }
    }

    /// Runs until `done`; panics after `limit`.
    pub fn run_while(&mut self, limit: Time, busy: impl Fn(&Self) -> bool) {
        while busy(self) {
            self.step();
            assert!(self.now < limit, "still busy at {}", self.now);
        }
    }

    /// Runs until nothing moves, then has the specification say whether anything is missing.
    pub fn settle(&mut self) -> Result<(), Unsettled> {
        let mut rest = 0;
        while rest < 4000 {
            self.step();
            let quiet = self.nodes.iter().all(Node::<C>::is_quiet) && self.fabric.is_quiet();
            rest = if quiet { rest + 1 } else { 0 };
            if self.now > Time(2_000_000_000_000) {
                return Err(Unsettled::Restless);
            }
        }
        for (place, node) in self.nodes.iter().enumerate() {
            self.spec.notified(place as u8, node.word(NOTIFY_ADDR))?;
        }
        Ok(self.spec.at_rest()?)
    }

    /// Reads a register of a node's card; panics if that never answers.
    pub fn register(&mut self, node: usize, offset: u32) -> u64 {
        let limit = self.now + Duration::from_ns(5_000_000);
        while !self.nodes[node].ask(offset) {
            self.step();
            assert!(self.now < limit, "the bridge of node {node} takes no read");
        }
        loop {
            self.step();
            assert!(self.now < limit, "node {node}: register {offset:#x} is not answered");
            if let Some(value) = self.nodes[node].bus.bridge.answer() {
                return value.data;
            }
        }
    }
}
