//! The card of a node on its bus: PCI-X, the NIC and the receivers of its lanes, each at its clock. A clock
//! stands still while nothing moves in what it drives.

use super::chip::{Chip, Designs};
use super::memory::{Behind, Watch};
use super::settings::Settings;
use super::tally::Tally;
use crate::node::{Nic, Ports};
use ::rdma::Account;
use ::rdma::Arrival;
use abi::forth::REGION_SIZE;
use des::{Clock, Duration, Time};
use pci::{Burst, Bus, ConfigSpace, Cycle, Device, HostRead, Monitor, Phase, WriteCombiner, WORD};
use serial::{Elastic, Symbol};
use std::collections::VecDeque;
use std::rc::Rc;

/// Where the kernel module puts the card's region.
pub(super) const REGION: u32 = 0xF000_0000;
/// Where the processor sees the configuration space of the slot; below, nothing is the bus's.
pub(super) const CONFIG: u32 = 0xE000_0000;
/// A store here is none: the processor's fence, which empties its write-combining buffers.
pub(super) const FENCE: u32 = 0xE800_0000;

/// Vendor and device of the card's FPGA, and the class: a network controller of no known kind.
const IDS: (u16, u16, u32) = (0x10EE, 0x0300, 0x02_8000);

/// Edges without a word anywhere, after which the lanes' clock may stand still: more than symbols stay in the
/// alignment circuits.
const STILL_EDGES: u32 = 8;

/// An edge of one of the clocks, with a digest of what the one before did.
#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    Bus(u32),
    Lanes(u32),
}

/// The symbols of an edge, for the receivers at the other end.
pub(super) type Symbols = [Symbol; 2];

/// A clock that may stand still.
pub(super) struct Domain {
    clock: Clock,
    /// Number of the next edge.
    pub next: u64,
    pub runs: bool,
}

impl Domain {
    pub fn new(clock: Clock) -> Domain {
        Domain { clock, next: 0, runs: false }
    }
    /// Time of the next edge.
    pub fn time(&self) -> Time {
        self.clock.edge(self.next)
    }
    /// Runs again, from the first edge at or after `now` on that has not been; gives the edges left out.
    pub fn start(&mut self, now: Time) -> u64 {
        let first = self.clock.edge_at_or_after(now).max(self.next);
        let skipped = first - self.next;
        (self.next, self.runs) = (first, true);
        skipped
    }
}

/// What the processor wants of the bus, in order.
enum Access {
    Write(Burst),
    Config { offset: u8, value: u32, enables: u8 },
    Read(HostRead),
}

/// The card with its bus.
pub(super) struct Card {
    bus: Bus<Behind>,
    nic: Chip,
    monitor: Monitor,
    combiner: Option<WriteCombiner>,
    accesses: VecDeque<Access>,
    accesses_max: usize,
    bus_clock: Domain,
    lanes_clock: Domain,
    receivers: Vec<Elastic>,
    /// Edges since a word was anywhere in the lanes' half, and since one was sent.
    still: u32,
    idle_run: u32,
    idle_run_max: u32,
    peer: u32,
    latency: Duration,
    line: bool,
    account: Account,
    watch: Rc<Watch>,
    tally: Rc<Tally>,
    /// Packets of which words may still stand in the bridge.
    unjudged: VecDeque<Arrival>,
}

impl Card {
    /// Of node `nid`, whose lanes go to process `peer`.
    pub fn new(
        (s, designs): (&Settings, &Designs),
        nid: u32,
        peer: u32,
        memory: Behind,
        shared: (Rc<Watch>, Rc<Tally>),
    ) -> Card {
        let params = s.nic(nid);
        let (vendor, device, class) = IDS;
        let pcix = s.bus.protocol == pci::Protocol::Pcix;
        let space = ConfigSpace::new(vendor, device, class, REGION_SIZE, pcix);
        let receiver = |lane| {
            let mut receiver = Elastic::new(s.lane(nid, lane), lane);
            receiver.rest();
            receiver
        };
        Card {
            bus: Bus::new(s.bus, memory, vec![space]),
            nic: designs.nic(params),
            monitor: Monitor::new(s.bus),
            combiner: s.combining.then(|| WriteCombiner::new(1)),
            accesses: VecDeque::new(),
            accesses_max: 0,
            bus_clock: Domain::new(Clock::from_hz(s.bus.hertz)),
            lanes_clock: Domain::new(s.lanes_clock(nid)),
            receivers: (0..params.lanes).map(receiver).collect(),
            still: 0,
            idle_run: 0,
            idle_run_max: s.idle_run(),
            peer,
            latency: s.latency(),
            line: false,
            account: Account::default(),
            watch: shared.0,
            tally: shared.1,
            unjudged: VecDeque::new(),
        }
    }

    fn start_bus(&mut self, now: Time, ports: &mut Ports<Card>) {
        if self.bus_clock.runs {
            return;
        }
        let skipped = self.bus_clock.start(now);
        if skipped > 0 {
            self.bus.pass(skipped);
            self.monitor.pass(skipped);
            self.account.pass(skipped);
        }
        ports.schedule(self.bus_clock.time(), Event::Bus(0));
    }

    fn start_lanes(&mut self, now: Time, ports: &mut Ports<Card>) {
        if self.lanes_clock.runs {
            return;
        }
        self.lanes_clock.start(now);
        self.still = 0;
        ports.schedule(self.lanes_clock.time(), Event::Lanes(0));
    }

    // ---- the bus -----------------------------------------------------------------------------------------

    fn bus_edge(&mut self, now: Time, ports: &mut Ports<Card>) {
        self.hand_over();
        let cycle = self.bus.clock(std::slice::from_mut(&mut self.nic));
        self.monitor.judge(&cycle).unwrap_or_else(|violation| panic!("{violation}"));
        if self.tally.counts_anew.take() {
            self.account = Account::default();
        }
        self.account.cycle(&cycle);
        self.bus_clock.next += 1;
        let next = self.bus_clock.time();
        if let Some(arrival) = self.nic.arrival() {
            self.unjudged.push_back(arrival);
        }
        if let Some(value) = self.bus.bridge.answer() {
            let upper = value.token & 4 != 0;
            ports.answer(next, (value.data >> if upper { 32 } else { 0 }) as u32);
        }
        let line = self.bus.bridge.interrupt();
        if line && !self.line {
            ports.interrupt(now);
        }
        self.line = line;
        if self.bus.bridge.posted_words() == 0 {
            self.judge(now, ports);
        }
        if self.watch.take() {
            self.tally.wake();
            ports.attend(now);
        }
        if self.bus_rests() {
            self.bus_clock.runs = false;
        } else {
            ports.schedule(next, Event::Bus(digest(&cycle)));
        }
        if !self.nic.lanes_rest() {
            self.start_lanes(now, ports);
        }
    }

    /// What the processor has stored goes to the bridge as far as it has room.
    fn hand_over(&mut self) {
        while let Some(access) = self.accesses.front() {
            let bridge = &mut self.bus.bridge;
            let taken = match *access {
                Access::Write(ref burst) => bridge.post(burst),
                Access::Config { offset, value, enables } => {
                    bridge.config_write(0, offset, value, enables)
                }
                Access::Read(read @ HostRead::Memory { enables, .. }) => {
                    bridge.read(read, if enables & 0xF == 0 { 4 } else { 0 })
                }
                Access::Read(read) => bridge.read(read, 0),
            };
            if !taken {
                return;
            }
            self.accesses.pop_front();
        }
    }

    fn bus_rests(&self) -> bool {
        if !self.accesses.is_empty() || !self.bus.is_at_rest() || !self.nic.bus_rests() {
            return false;
        }
        let out = self.nic.outputs();
        out.request.is_none() && out.interrupt == self.line && self.unjudged.is_empty()
    }

    /// Packets are in memory, to the last word.
    fn judge(&mut self, now: Time, ports: &mut Ports<Card>) {
        while let Some(arrival) = self.unjudged.pop_front() {
            if let Err(why) = self.tally.arrived(&arrival) {
                ports.fail(now, why);
            }
        }
    }

    // ---- the lanes ---------------------------------------------------------------------------------------

    fn lanes_edge(&mut self, now: Time, ports: &mut Ports<Card>) {
        let mut waits = false;
        let mut arrived = Symbols::default();
        for (symbol, receiver) in arrived.iter_mut().zip(&mut self.receivers) {
            waits |= !receiver.is_idle();
            *symbol = receiver.receive();
        }
        let sent = self.nic.link_clock(arrived);
        self.lanes_clock.next += 1;
        let idle = sent.iter().take(self.receivers.len()).all(Symbol::is_idle);
        self.idle_run = if idle { self.idle_run.saturating_add(1) } else { 0 };
        if self.idle_run <= self.idle_run_max {
            ports.send(self.peer, now + self.latency, sent);
        }
        let rests = self.nic.lanes_rest();
        self.still = if waits || !idle { 0 } else { self.still + 1 };
        let told = self.idle_run >= self.idle_run_max;
        if rests && told && self.still >= STILL_EDGES {
            self.lanes_clock.runs = false;
            self.receivers.iter_mut().for_each(Elastic::rest);
        } else {
            let digest = fold(sent[0].bytes, sent[1].bytes.rotate_left(9)) ^ arrived[0].bytes;
            ports.schedule(self.lanes_clock.time(), Event::Lanes(digest));
        }
        if !self.nic.bus_rests() {
            self.start_bus(now, ports);
        }
    }
}

fn fold(a: u32, b: u32) -> u32 {
    a.wrapping_mul(0x9E37_79B9) ^ b.wrapping_mul(0x85EB_CA6B)
}

/// Of what a cycle of the bus did.
fn digest(cycle: &Cycle) -> u32 {
    let phase = match cycle.phase {
        Phase::Idle => 0,
        Phase::Data { last, .. } => 1 + u32::from(last),
        Phase::TurnAround => 3,
        _ => 4 + u32::from(cycle.cbe),
    };
    fold(cycle.ad as u32, (cycle.ad >> 32) as u32) ^ phase
}

impl Nic for Card {
    type Event = Event;
    type Message = Symbols;

    fn handle(&mut self, now: Time, event: Event, ports: &mut Ports<Card>) {
        match event {
            Event::Bus(_) => self.bus_edge(now, ports),
            Event::Lanes(_) => self.lanes_edge(now, ports),
        }
    }

    fn receive(&mut self, now: Time, symbols: Symbols, ports: &mut Ports<Card>) {
        let lanes = self.receivers.len();
        if !self.lanes_clock.runs && symbols.iter().take(lanes).all(Symbol::is_idle) {
            return; // The receivers know: they rest.
        }
        for (receiver, symbol) in self.receivers.iter_mut().zip(symbols) {
            receiver.arrive(symbol);
        }
        self.start_lanes(now, ports);
    }

    fn store(&mut self, now: Time, addr: u32, data: &[u8], ports: &mut Ports<Card>) {
        let accesses = &mut self.accesses;
        let mut out = |burst| accesses.push_back(Access::Write(burst));
        let window = REGION..REGION + abi::forth::QUEUE_SIZE;
        match &mut self.combiner {
            Some(combiner) if window.contains(&addr) => {
                combiner.store(addr.into(), data, &mut out);
            }
            Some(combiner) => combiner.flush(&mut out),
            None => {}
        }
        let combined = self.combiner.is_some() && window.contains(&addr);
        if addr >= REGION && !combined {
            accesses.push_back(Access::Write(single(addr, data)));
        } else if (CONFIG..CONFIG + 0x100).contains(&addr) {
            let mut value = [0; 4];
            value[..data.len().min(4)].copy_from_slice(&data[..data.len().min(4)]);
            let enables = (1_u8 << data.len().min(4)) - 1;
            let (offset, value) = ((addr - CONFIG) as u8, u32::from_le_bytes(value));
            accesses.push_back(Access::Config { offset, value, enables });
        }
        if !accesses.is_empty() {
            self.accesses_max = self.accesses_max.max(accesses.len());
            self.start_bus(now, ports);
        }
    }

    fn load(&mut self, now: Time, addr: u32, ports: &mut Ports<Card>) {
        let accesses = &mut self.accesses;
        if let Some(combiner) = &mut self.combiner {
            combiner.flush(&mut |burst| accesses.push_back(Access::Write(burst)));
        }
        let read = if addr >= REGION {
            let upper = u64::from(addr) % WORD >= 4;
            let enables = if upper { 0xF0 } else { 0x0F };
            HostRead::Memory { addr: u64::from(addr) & !(WORD - 1), enables }
        } else {
            HostRead::Config { slot: 0, offset: (addr.wrapping_sub(CONFIG) & 0xFC) as u8 }
        };
        accesses.push_back(Access::Read(read));
        self.start_bus(now, ports);
    }

    fn word(event: &Event) -> u64 {
        match *event {
            Event::Bus(digest) => u64::from(digest) << 1,
            Event::Lanes(digest) => u64::from(digest) << 1 | 1,
        }
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let (bus, host) = (self.bus.counters(), self.nic.host_counters());
        let link = self.nic.link_counters();
        let flows = 0..abi::forth::FLOWS as u8;
        let mut counters = vec![
            ("pcix.cycles", bus.cycles),
            ("pcix.data_cycles", bus.data_cycles),
            ("pcix.transactions", bus.transactions),
            ("pcix.retries", bus.retries),
            ("pcix.splits", bus.splits),
            ("pcix.aborts", bus.aborts),
            ("pcix.parity_errors", bus.parity_errors),
            ("pcix.stores_waiting_max", self.accesses_max as u64),
            ("tx.messages", host.sent_messages),
            ("tx.words", link.sent_words),
            ("tx.back_pressure_cycles", link.back_pressure),
            ("rx.messages", host.received_messages),
            ("rx.words", host.received_words),
            ("rx.header_errors", link.header_errors),
            ("rx.payload_errors", link.payload_errors),
            ("rx.credit_errors", link.credit_errors),
            ("rx.bond_errors", link.bond_errors),
            ("rx.overflows", link.overflows),
            ("rx.elastic_errors", self.receivers.iter().map(Elastic::errors).sum()),
            ("account.initiation", self.account.initiation),
            ("account.fetch", self.account.fetch),
            ("account.fetch_more", self.account.fetch_more),
            ("account.deposit", self.account.deposit),
            ("nic.interrupts", host.interrupts),
            ("nic.credits_out", flows.map(|flow| u64::from(self.nic.outstanding(flow))).sum()),
        ];
        counters.extend(self.tally.counters());
        counters
    }
}

/// A store that is not combined.
fn single(addr: u32, data: &[u8]) -> Burst {
    let lane = (u64::from(addr) % WORD) as usize;
    let mut value = [0; 8];
    value[lane..lane + data.len()].copy_from_slice(data);
    let mut burst =
        Burst { addr: u64::from(addr) & !(WORD - 1), data: [0; 8], enables: [0; 8], words: 1 };
    burst.data[0] = u64::from_le_bytes(value);
    burst.enables[0] = (((1_u16 << data.len()) - 1) << lane) as u8;
    burst
}
