//! The card of a node on its bus: PCI-X, the NIC and the receivers of its lanes, each at its clock. A clock
//! stands still while nothing moves in what it drives.

use super::chip::{Chip, Designs};
use super::memory::{Behind, Watch};
use super::module::{notify_addr, Shared};
use super::settings::Settings;
use super::tally::Tally;
use super::trail::{Pins, Trail};
use super::waveform::Waveform;
use super::wiretap::Wiretap;
use crate::faults::{Lanes, Struck};
use abi::forth::mark;
use abi::MessageId;
use des::{Duration, Time};
use forth_nic::Account;
use forth_nic::{Arrival, HostCounters, LinkCounters};
use machine::firmware::profile::Profile;
use machine::node::{Nic, Ports};
use pci::node::{digest, fold, Domain, PciBus, REGION};
use pci::{ConfigSpace, Device, Ending, Phase, WriteCombiner};
use rtl::Sign;
use serial::{are_idle, lane, lane_bytes, set_lane, Elastic, Symbols};
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

/// A store here is none: the processor's fence, which empties its write-combining buffers.
pub(super) const FENCE: u32 = 0xE800_0000;

/// Vendor and device of the card's FPGA, and the class: a network controller of no known kind.
const IDS: (u16, u16, u32) = (0x10EE, 0x0300, 0x02_8000);

/// Edges without a word anywhere, after which the lanes' clock may stand still: more than symbols stay in the
/// alignment circuits.
const STILL_EDGES: u32 = 8;

/// Part of a second after which a packet that waits for credits is given up, and how that is told: longer
/// than the slowest bus takes for what stands before it.
const STARVED_PART: u64 = 50;
const STARVED: &str = "20 ms";

/// An edge of one of the clocks, with a digest of what the one before did.
#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    Bus(u32),
    Lanes(u32),
}

/// The card with its bus.
pub(super) struct Card {
    bus: PciBus<Behind>,
    nic: Chip,
    combiner: Option<WriteCombiner>,
    lanes_clock: Domain,
    receivers: Vec<Elastic>,
    lanes: u8,
    /// Edges since a word was anywhere in the lanes' half, and since one was sent.
    still: u32,
    /// Edges after which a link that stands still and does not rest is given up.
    starved: u32,
    idle_run: u32,
    idle_run_max: u32,
    nid: u32,
    peer: u32,
    latency: Duration,
    account: Account,
    watch: Rc<Watch>,
    tally: Rc<Tally>,
    trail: Rc<Trail>,
    tap: Option<Box<Wiretap>>,
    wave: Option<Arc<Waveform>>,
    /// Faults of the lanes, on request.
    faults: Option<Box<Lanes>>,
    /// Counts from before the last reset of the card.
    before: (HostCounters, LinkCounters),
    /// Packets of which words may still stand in the bridge.
    unjudged: VecDeque<Arrival>,
}

impl Card {
    /// Of node `nid`.
    pub fn new(s: &Settings, designs: &Designs, nid: u32, memory: Behind, shared: Shared) -> Card {
        let Shared { tally, trail, watch } = shared;
        let params = s.nic(nid);
        let (vendor, device, class) = IDS;
        let pcix = s.bus.protocol == pci::Protocol::Pcix;
        let space = ConfigSpace::new(vendor, device, class, s.bugs.region(nid), pcix);
        let receiver = |lane| {
            let mut receiver = Elastic::new(s.card_lane(nid, lane), lane);
            receiver.rest();
            receiver
        };
        Card {
            bus: PciBus::new(s.bus(nid), memory, space),
            nic: designs.nic(params),
            combiner: s.combining.then(|| WriteCombiner::new(1)),
            lanes_clock: Domain::new(s.lanes_clock(nid)),
            receivers: (0..params.lanes).map(receiver).collect(),
            lanes: params.lanes,
            still: 0,
            starved: (s.lanes_hz / STARVED_PART) as u32,
            idle_run: 0,
            idle_run_max: s.idle_run(),
            nid,
            peer: s.peer(nid),
            latency: s.latency(),
            account: Account::default(),
            watch,
            tally,
            trail,
            tap: None,
            wave: designs.wave.clone(),
            faults: None,
            before: Default::default(),
            unjudged: VecDeque::new(),
        }
    }

    /// Its packets are captured.
    pub fn set_tap(&mut self, tap: Wiretap) {
        self.tap = Some(Box::new(tap));
    }

    /// Its lanes are faulty.
    pub fn set_faults(&mut self, faults: Option<Lanes>) {
        self.faults = faults.map(Box::new);
    }

    /// Turns bits on the way; true if it has.
    fn spoil(&mut self, now: Time, symbols: &mut Symbols) -> bool {
        let Some(faults) = &mut self.faults else { return false };
        let spoilt = faults.spoilt;
        let bits = 8 * u64::from(lane_bytes(self.lanes));
        for n in 0..self.lanes {
            let mut symbol = lane(symbols, self.lanes, n);
            if symbol.is_idle() {
                continue;
            }
            if let Some(chance) = faults.next(now, Struck::Symbols) {
                symbol.bytes ^= 1 << (chance % bits);
            }
            // The part with the flow stands for the credit.
            let credit = symbol.control == 1 && symbol.bytes & 0xFF == u32::from(mark::CREDIT);
            let told = bits == 16 || symbol.bytes >> 8 & 0xFF == 0;
            if credit
                && n == 0
                && told
                && let Some(chance) = faults.next(now, Struck::Credits)
            {
                symbol.bytes ^= 1 << (bits / 2 + chance % 8);
            }
            set_lane(symbols, self.lanes, n, symbol);
        }
        faults.spoilt > spoilt
    }

    /// Nothing has moved on the lanes for long, and they do not rest: a packet waits for credits that nobody
    /// will send any more.
    #[cold]
    fn starve(&mut self, now: Time, ports: &mut Ports<Card>) {
        if self.tally.recovers.get() {
            return;
        }
        let words = |flow| self.nic.outstanding(flow);
        let flows = (0..abi::forth::FLOWS as u8).filter(|flow| words(*flow) > 0);
        let told: Vec<_> =
            flows.map(|flow| format!("{} words of flow {flow}", words(flow))).collect();
        if told.is_empty() {
            return; // The sampling memory runs.
        }
        let told = told.join(" and ");
        ports.fail(
            now,
            format_args!(
                "a packet has waited {} for credits that were lost: {told} are not known to have \
                 left the receiver, and nothing sends their credit again",
                STARVED
            ),
        );
    }

    fn start_bus(&mut self, now: Time, ports: &mut Ports<Card>) {
        if let Some(skipped) = self.bus.start(now) {
            self.account.pass(skipped);
            self.nic.pass(false, skipped);
            ports.schedule(self.bus.next(), Event::Bus(0));
        }
    }

    fn start_lanes(&mut self, now: Time, ports: &mut Ports<Card>) {
        if self.lanes_clock.runs {
            return;
        }
        let skipped = self.lanes_clock.start(now);
        self.nic.pass(true, skipped);
        self.still = 0;
        ports.schedule(self.lanes_clock.time(), Event::Lanes(0));
    }

    // ---- the bus -----------------------------------------------------------------------------------------

    /// Counters of the card, from the launch on.
    fn totals(&self) -> (HostCounters, LinkCounters) {
        let (host, link) = &self.before;
        (self.nic.host_counters().plus(host), self.nic.link_counters().plus(link))
    }

    fn bus_edge(&mut self, now: Time, ports: &mut Ports<Card>) {
        if self.tally.resetting.take() {
            self.before = self.totals();
        }
        self.nic.set_time(now);
        let mut pins = Pins::of(&mut self.nic, notify_addr(self.nid));
        let cycle = self.bus.cycle(&mut pins);
        let seen = pins.seen();
        seen.into_iter().for_each(|seen| self.trail.bus(now, seen));
        if self.tally.counts_anew.take() {
            self.account = Account::default();
        }
        self.account.cycle(&cycle);
        if cycle.phase == Phase::End(Ending::Retry) {
            self.nic.sign(Sign::Retry, now);
        }
        let next = self.bus.next();
        if let Some(arrival) = self.nic.arrival() {
            self.trail.passes(now);
            self.unjudged.push_back(arrival);
        }
        if let Some(word) = self.bus.answer() {
            ports.answer(next, &word.to_le_bytes());
        }
        if self.bus.rises() {
            self.trail.raises(now);
            ports.interrupt(now);
        }
        if self.bus.posted_words() == 0 {
            self.judge(now, ports);
        }
        if self.watch.take() {
            self.tally.wake();
            ports.attend(now);
        }
        if self.bus_rests() {
            self.bus.stop();
        } else {
            ports.schedule(next, Event::Bus(digest(&cycle)));
        }
        if !self.nic.lanes_rest() {
            self.start_lanes(now, ports);
        }
    }

    fn bus_rests(&self) -> bool {
        self.bus.rests(&self.nic.outputs()) && self.nic.bus_rests() && self.unjudged.is_empty()
    }

    /// Packets are in memory, to the last word.
    fn judge(&mut self, now: Time, ports: &mut Ports<Card>) {
        while let Some(arrival) = self.unjudged.pop_front() {
            if let Err(why) = self.tally.arrived(&arrival) {
                ports.fail(now, why);
            }
            self.trail.landed(now, &arrival);
        }
    }

    // ---- the lanes ---------------------------------------------------------------------------------------

    fn lanes_edge(&mut self, now: Time, ports: &mut Ports<Card>) {
        let mut waits = false;
        let mut arrived = Symbols::default();
        for (n, receiver) in (0..).zip(&mut self.receivers) {
            waits |= !receiver.is_idle();
            set_lane(&mut arrived, self.lanes, n, receiver.receive());
        }
        self.nic.set_time(now);
        let sent = self.nic.link_clock(arrived);
        self.lanes_clock.next += 1;
        if let Some(tap) = &mut self.tap {
            tap.edge(now, arrived, sent);
        }
        let first = lane(&sent, self.lanes, 0);
        if let Some((message, to)) = self.trail.lanes(now, self.nic.word(), first) {
            ports.departs(now, message, to);
        }
        let idle = are_idle(&sent, self.lanes);
        self.idle_run = if idle { self.idle_run.saturating_add(1) } else { 0 };
        if self.idle_run <= self.idle_run_max {
            ports.send(self.peer, now + self.latency, sent);
        }
        let rests = self.nic.lanes_rest();
        self.still = if waits || !idle { 0 } else { self.still + 1 };
        if self.still == self.starved {
            self.starve(now, ports);
        }
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

impl Nic for Card {
    type Event = Event;
    type Message = Symbols;
    type Left = ();

    fn handle(&mut self, now: Time, event: Event, ports: &mut Ports<Card>) {
        match event {
            Event::Bus(_) => self.bus_edge(now, ports),
            Event::Lanes(_) => self.lanes_edge(now, ports),
        }
    }

    fn foreseen(&mut self, message: MessageId) {
        self.trail.foreseen(message);
    }

    fn receive(&mut self, now: Time, mut symbols: Symbols, ports: &mut Ports<Card>) {
        if !self.lanes_clock.runs && are_idle(&symbols, self.lanes) {
            return; // The receivers know: they rest.
        }
        if self.spoil(now, &mut symbols) {
            self.nic.sign(Sign::Fault, now);
        }
        for (n, receiver) in (0..).zip(&mut self.receivers) {
            receiver.arrive(lane(&symbols, self.lanes, n));
        }
        self.start_lanes(now, ports);
    }

    fn store(&mut self, now: Time, addr: u64, data: &[u8], ports: &mut Ports<Card>) {
        let bus = &mut self.bus;
        let mut out = |burst| bus.post(burst);
        let window = u64::from(REGION)..u64::from(REGION + abi::forth::QUEUE_SIZE);
        let combined = self.combiner.is_some() && window.contains(&addr);
        match &mut self.combiner {
            Some(combiner) if combined => combiner.store(addr, data, &mut out),
            Some(combiner) => combiner.flush(&mut out),
            None => {}
        }
        if !combined {
            self.bus.store(addr, data);
        }
        if self.bus.is_wanted() {
            self.start_bus(now, ports);
        }
    }

    fn load(&mut self, now: Time, addr: u64, _len: usize, ports: &mut Ports<Card>) {
        self.nic.set_transceivers(&self.receivers);
        let bus = &mut self.bus;
        if let Some(combiner) = &mut self.combiner {
            combiner.flush(&mut |burst| bus.post(burst));
        }
        self.bus.load(addr);
        self.start_bus(now, ports);
    }

    fn word(event: &Event) -> u64 {
        match *event {
            Event::Bus(digest) => u64::from(digest) << 1,
            Event::Lanes(digest) => u64::from(digest) << 1 | 1,
        }
    }

    fn finish(&mut self, _end: Time, _ports: &mut Ports<Card>) -> Option<Profile> {
        if let Some(wave) = &self.wave {
            wave.take(self.nid, self.nic.recorded());
        }
        self.tap.take().into_iter().for_each(|tap| tap.finish());
        None
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let bus = self.bus.counters();
        let (host, link) = self.totals();
        let flows = 0..abi::forth::FLOWS as u8;
        let mut counters = vec![
            ("pcix.cycles", bus.cycles),
            ("pcix.data_cycles", bus.data_cycles),
            ("pcix.transactions", bus.transactions),
            ("pcix.retries", bus.retries),
            ("pcix.splits", bus.splits),
            ("pcix.aborts", bus.aborts),
            ("pcix.parity_errors", bus.parity_errors),
            ("pcix.stores_waiting_max", self.bus.accesses_max() as u64),
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
            ("rx.symbols_spoilt", self.faults.as_ref().map_or(0, |faults| faults.spoilt)),
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
