//! A node's card, as the bench sees it: what its host, its cable and its bus do to it, in the order of time.

use super::bypass::Bypass;
use super::evidence::Evidence;
use super::fabric::Socket;
use super::guest_calls::GuestCalls;
use super::image::Image;
use super::master::{start, Master};
use super::monitor::{Desk, Then};
use super::observed::{Observed, Teller};
use super::pins::{is_command, is_reset, runs, Ending, Pins, Wrong};
use super::trail::Trail;
use super::wiretap::Wiretap;
use crate::faults::Cable;
use ::myrinet::{Card, CardParams, Point, Signal, Stopped};
use abi::myrinet::SPACE_SIZE;
use bus::BusError;
use des::{Clock, Duration, Time};
use host::SharedMemory;
use machine::firmware::profile::Profile;
use machine::firmware::work::Work;
use machine::node::{Nic, Ports};
use machine::programs::guests::Pin;
use machine::report::NodeReport;
use pci::node::{digest, Behind, PciBus};
use pci::{ConfigSpace, Device, TargetRead, TargetWrite};
use std::rc::Rc;
use std::sync::Arc;

mod cable;
mod counters;
mod observers;

use cable::{carried, Sent};
pub(super) use counters::{LOST_BYTES, RX_BYTES, TX_BYTES};

/// Message on a cable.
#[derive(Clone, Copy, Debug)]
pub(super) struct CableMessage {
    /// Port at which it arrives.
    pub port: u8,
    pub signal: Signal,
}

/// Connections of a card.
#[derive(Clone, Copy, Debug)]
pub(super) struct Joints {
    pub nid: u32,
    /// The other end of its cable.
    pub socket: Socket,
    /// Time that a signal takes to get there.
    pub cable: Duration,
    pub pci: pci::Params,
    /// From the card's interrupt line to the processor.
    pub interrupt: Duration,
    /// Turns of its processor's polling loop are booked, not executed.
    pub park: bool,
    /// Time at which the cable is cut.
    pub cut: Time,
}

/// A card with its bus.
pub(super) struct Station {
    card: Card,
    bus: PciBus<Behind>,
    pins: Pins,
    /// Time that a wish of the card takes to the bus.
    crossing: Duration,
    joints: Joints,
    line: Pin,
    image: Arc<Image>,
    /// Signals that the card has put on its cable.
    sent: Vec<(Time, Signal)>,
    /// Bytes that a cut cable has lost, out of the card or on their way to it.
    lost: u64,
    failed: bool,
    /// Records of the program's packets, and points that the card has passed.
    trail: Rc<Trail>,
    points: Vec<(Time, Point)>,
    /// Tells of the processor's cycles, if somebody wants to know.
    teller: Option<Box<Teller>>,
    /// Somebody stops the processor and looks.
    desk: Option<Box<Desk>>,
    /// Faults of the cable from the card.
    cable: Option<Box<Cable>>,
    /// Evidence for the judge.
    evidence: Option<Box<Evidence>>,
    /// Captures the packets.
    tap: Option<Box<Wiretap>>,
    /// Calls of the guest, if the host is one.
    calls: Option<Rc<GuestCalls>>,
    /// Messages of the bypass library, if the guest's processes have it.
    bypass: Option<Rc<Bypass>>,
    /// The processor's time at the launch.
    at_launch: Work,
}

/// Exit status of a run that the monitor has ended, as of one that gdb has: 128 + SIGKILL.
const KILLED: i32 = 137;

/// Myricom's card as its configuration space names it (the public list of PCI's IDs), and the class: a
/// network controller of no known kind.
pub(super) const IDS: (u16, u16, u32) = (0x14C1, 0x8043, 0x02_8000);

/// Cycles of the bus from the card's clock to the bus's: two flip-flops, one behind the other (assumed).
const CROSSING: u64 = 2;

#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    /// An edge of the bus's clock, with a digest of what the one before did.
    Edge(u32),
    /// The cable is cut.
    Cut,
}

/// The host's side of a card: its memory, its observer, and the line of the interrupt.
pub(super) struct HostSide {
    pub memory: SharedMemory,
    pub trail: Rc<Trail>,
    pub line: Pin,
}

impl Station {
    pub fn new(params: CardParams, joints: Joints, image: Arc<Image>, host: HostSide) -> Station {
        let HostSide { memory, trail, line } = host;
        let (vendor, device, class) = IDS;
        let space = ConfigSpace::new(vendor, device, class, SPACE_SIZE, false);
        let mut card = Card::new(params);
        card.set_booking(joints.park);
        card.watch_points();
        Station {
            card,
            bus: PciBus::new(joints.pci, Behind(memory), space),
            pins: Pins::default(),
            crossing: Clock::from_hz(joints.pci.hertz).cycles(CROSSING),
            joints,
            line,
            image,
            sent: Vec::new(),
            lost: 0,
            failed: false,
            trail,
            points: Vec::new(),
            teller: None,
            desk: None,
            cable: None,
            evidence: None,
            tap: None,
            calls: None,
            bypass: None,
            at_launch: Work::default(),
        }
    }

    /// Lets the card do what it does before `until`. When the bus sees the first of what it asks for.
    fn advance(&mut self, until: Time, ports: &mut Ports<Station>) -> Time {
        let mut due = Time::NEVER;
        let mut halted = true;
        while halted {
            let Station { card, bus, pins, sent, teller, desk, .. } = self;
            let crossing = self.crossing;
            let mut master = Master { bus, pins, crossing, ports: &mut *ports, due };
            let wires = &mut Sent(sent);
            halted = match (teller.as_deref_mut(), desk.as_deref_mut()) {
                (None, None) => {
                    card.advance(until, wires, &mut master);
                    false
                }
                (teller, desk) => {
                    let stops = desk.map(|desk| &mut desk.stops);
                    let mut observed = Observed { teller, stops };
                    !card.advance_observed(until, wires, &mut master, &mut observed)
                }
            };
            due = master.due;
            if let Some(teller) = &mut self.teller {
                teller.ran(self.card.core());
            }
            if halted && !self.stand(None, ports) {
                // Nothing is to be done any more.
                due = Time::ZERO;
                break;
            }
        }
        self.tell(ports);
        due
    }

    /// The processor stands, for somebody who looks at it; before a fault, which it tells, for the last time.
    /// False if the run ends here.
    fn stand(&mut self, fault: Option<String>, ports: &mut Ports<Station>) -> bool {
        let Some(desk) = &mut self.desk else { return true };
        match desk.talk(&self.card, &self.image, fault) {
            Then::Run => true,
            Then::Detached => {
                self.desk = None;
                true
            }
            Then::Quit => {
                self.desk = None;
                let core = self.card.core();
                let place = self.image.symbols.describe(core.pc());
                ports.end(
                    core.now(),
                    KILLED,
                    format_args!("the monitor ended the run, in {place}"),
                );
                false
            }
        }
    }

    /// Sends what is on the cable to the other end; ends the run if the card has stopped.
    fn tell(&mut self, ports: &mut Ports<Station>) {
        let Joints { socket, cable, cut, .. } = self.joints;
        self.card.take_points(&mut self.points);
        for (at, point) in self.points.drain(..) {
            match &self.bypass {
                None => self.trail.passes(at, point),
                Some(bypass) => bypass.passes(at, point, &self.card),
            }
            if let Some(evidence) = &mut self.evidence {
                evidence.passes(at, point, self.card.sram());
            }
        }
        for (at, mut signal) in self.sent.drain(..) {
            if at >= cut {
                self.lost += signal.bytes();
                continue;
            }
            if let Signal::Slot(slot) = &mut signal {
                let departs = self.trail.slot_leaves(at, slot);
                if let Some(tap) = &mut self.tap {
                    tap.leaves(at, slot);
                }
                if let Some(evidence) = &mut self.evidence {
                    evidence.leaves(at, slot);
                }
                if !carried(&mut self.cable, at, slot) {
                    self.lost += signal.bytes();
                    continue;
                }
                if let Some((message, target)) = departs {
                    ports.departs(at, message, target);
                }
            }
            ports.send(socket.process, at + cable, CableMessage { port: socket.port, signal });
        }
        if let Some(stopped) = self.card.stopped().filter(|_| !self.failed) {
            self.failed = true;
            let place = |pc| self.image.symbols.describe(pc);
            let (at, what) = match stopped {
                Stopped::Fault(fault) => {
                    (fault.at, format!("the control program: {fault}, in {}", place(fault.pc)))
                }
                Stopped::Chain { at, .. }
                | Stopped::Block { at, .. }
                | Stopped::Send { at, .. } => {
                    let near = place(self.card.core().pc());
                    (at, format!("the card: {stopped}; its processor was in {near}"))
                }
            };
            if self.stand(Some(format!("node {}: {what}", ports.nid())), ports) {
                ports.fail(at, what);
            }
        }
    }

    // ---- the bus -----------------------------------------------------------------------------------------

    fn bus_edge(&mut self, now: Time, ports: &mut Ports<Station>) {
        if let Err(why) = self.see(now, ports) {
            ports.fail(now, why);
        }
        self.pins.edge(now);
        let cycle = self.bus.cycle(&mut self.pins);
        if let Some(bypass) = &self.bypass {
            bypass.cycle(now);
        }
        let next = self.bus.next();
        if let Some(word) = self.bus.answer() {
            ports.answer(next, &word.to_le_bytes());
        }
        if self.bus.rises() {
            let at = now + self.joints.interrupt;
            self.trail.interrupts(at);
            ports.interrupt(at);
        }
        self.line.drive(self.bus.line());
        self.trail.bus(now, self.bus.waiting());
        if self.pins.rest() && self.bus.rests(&self.pins.outputs()) {
            self.bus.stop();
        } else {
            ports.schedule(next, Event::Edge(digest(&cycle)));
        }
    }

    /// The card sees what the last cycle of the bus has done to its pins.
    fn see(&mut self, now: Time, ports: &mut Ports<Station>) -> Result<(), Wrong> {
        let (written, asked) = (self.pins.written(), self.pins.asked());
        if let Some(write) = written {
            self.advance(now, ports);
            self.write(now, &write)?;
        }
        if let Some(read) = asked {
            self.advance(now, ports);
            let word = self.read(now, &read)?;
            self.pins.answer(word);
        }
        if self.pins.is_over() {
            self.advance(now, ports);
        }
        match self.pins.ended() {
            Some((Ending::Read, bytes)) => self.card.read_done(now, bytes),
            Some((Ending::Written, _)) => self.card.write_done(now),
            Some((Ending::Aborted { addr }, _)) => {
                return Err(Wrong::NoMemory(addr));
            }
            None => return Ok(()),
        }
        self.tell(ports);
        Ok(())
    }

    fn write(&mut self, now: Time, write: &TargetWrite) -> Result<(), BusError> {
        let bytes = write.data.to_le_bytes();
        if is_command(write) {
            self.trail.command_arrives(now);
        }
        if let Some(bypass) = &self.bypass {
            bypass.written(now, write);
        }
        if is_reset(write) {
            self.trail.resets(now);
            self.bypass.iter().for_each(|bypass| bypass.resets());
        }
        runs(write.enables).try_for_each(|run| {
            self.card.host_write(now, write.offset + run.start as u32, &bytes[run])
        })?;
        if let Some(evidence) = &mut self.evidence {
            evidence.written(now, write, self.card.sram());
        }
        Ok(())
    }

    fn read(&mut self, now: Time, read: &TargetRead) -> Result<u64, BusError> {
        let mut bytes = [0; 8];
        let halves = bytes.chunks_exact_mut(4).zip([0, 4]);
        for (half, at) in halves.filter(|(_, at)| read.enables >> at & 0xF != 0) {
            self.card.host_read(now, read.offset + at, half)?;
        }
        Ok(u64::from_le_bytes(bytes))
    }
}

impl Nic for Station {
    type Event = Event;
    type Message = CableMessage;
    type Left = ();

    fn handle(&mut self, now: Time, event: Event, ports: &mut Ports<Station>) {
        match event {
            Event::Edge(_) => self.bus_edge(now, ports),
            Event::Cut => {
                self.advance(now, ports);
                self.card.cut(now);
            }
        }
    }

    fn receive(&mut self, now: Time, message: CableMessage, ports: &mut Ports<Station>) {
        if now >= self.joints.cut {
            self.lost += message.signal.bytes();
            return;
        }
        self.advance(now, ports);
        if let Signal::Slot(slot) = &message.signal {
            match &self.bypass {
                None => self.trail.slot_comes(now, slot),
                Some(bypass) => bypass.slot_comes(now, slot),
            }
            if let Some(tap) = &mut self.tap {
                tap.comes(now, slot);
            }
            if let Some(evidence) = &mut self.evidence {
                evidence.comes(now, slot);
            }
        }
        self.card.arrive(now, message.signal, &mut Sent(&mut self.sent));
        self.tell(ports);
    }

    fn store(&mut self, now: Time, addr: u64, data: &[u8], ports: &mut Ports<Station>) {
        self.bus.store(addr, data);
        self.trail.bus(now, self.bus.waiting());
        if self.bus.is_wanted() {
            start(&mut self.bus, now, ports);
        }
    }

    fn load(&mut self, now: Time, addr: u64, _len: usize, ports: &mut Ports<Station>) {
        self.bus.load(addr);
        start(&mut self.bus, now, ports);
    }

    fn word(event: &Event) -> u64 {
        match event {
            Event::Edge(digest) => u64::from(*digest),
            Event::Cut => 1 << 32,
        }
    }

    fn next_action(&self) -> Time {
        self.card.next()
    }

    fn run(&mut self, until: Time, ports: &mut Ports<Station>) {
        let mut until = until;
        while self.card.next() < until {
            // The bus sees what it asks for no sooner than at the end of the step.
            let end = until.min(self.card.next() + self.crossing);
            let due = self.advance(end, ports);
            until = until.min(due);
        }
    }

    fn launched(&mut self, now: Time, ports: &mut Ports<Station>) {
        if self.joints.cut < Time::NEVER {
            ports.schedule(self.joints.cut.max(now), Event::Cut);
        }
        self.advance(now, ports);
        self.at_launch = self.work();
        if let Some(teller) = &mut self.teller {
            teller.count(self.card.core());
        }
    }

    /// A processor that only polls is brought up to the end.
    fn finish(&mut self, end: Time, ports: &mut Ports<Station>) -> Option<Profile> {
        if let Some(desk) = self.desk.take() {
            desk.end();
        }
        if self.card.next() >= end && self.card.stopped().is_none() {
            self.advance(end, ports);
        }
        if let Some(calls) = &self.calls {
            calls.finish();
        }
        if let Some(bypass) = &self.bypass {
            bypass.finish();
        }
        self.tap.take().into_iter().for_each(|tap| tap.finish());
        if let Some(evidence) = self.evidence.take() {
            evidence.finish(self.card.sram());
        }
        let teller = self.teller.take()?;
        Some(teller.finish(ports.nid(), self.card.core()))
    }

    fn report(&mut self, report: &mut NodeReport, _: &mut Ports<Station>) {
        report.work = Some(self.work_since(self.at_launch));
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        self.counts()
    }

    fn waiting(&self) -> Vec<String> {
        let held = self.card.held();
        let (bytes, nid) = (|| format!("{held} bytes stand before the card"), self.joints.nid);
        let silent = |at| format!("node {nid} has found its cable silent at {at}");
        (held > 0).then(bytes).into_iter().chain(self.card.silent().map(silent)).collect()
    }
}
