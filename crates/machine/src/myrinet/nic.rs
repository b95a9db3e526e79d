//! A node's card, as the bench sees it: what its host, its cable and its bus do to it, in the order of time.

use super::fabric::Socket;
use super::image::Image;
use super::monitor::{Desk, Then};
use super::observed::{Observed, Teller};
use super::pci::{Pci, PciParams};
use crate::firmware::profile::Profile;
use crate::node::{Nic, Ports};
use ::myrinet::{Card, CardParams, Host, Signal, Stopped, Wires};
use bus::BusError;
use des::{Duration, Time};
use std::fmt;
use std::sync::Arc;

/// What goes over a cable.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message {
    /// Where it comes in.
    pub port: u8,
    pub signal: Signal,
}

/// What a card is joined to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Joints {
    /// The other end of its cable.
    pub socket: Socket,
    /// How long a signal takes to get there.
    pub cable: Duration,
    pub pci: PciParams,
    /// From the card's interrupt line to the processor.
    pub interrupt: Duration,
    /// Turns of its processor's polling loop are booked, not executed.
    pub park: bool,
}

/// A card with its bus.
pub(super) struct Station {
    card: Card,
    pci: Pci,
    joints: Joints,
    image: Arc<Image>,
    /// The card goes on this far at most before it is seen to what it has asked for.
    step: Duration,
    /// What the card has put on its cable.
    sent: Vec<(Time, Signal)>,
    burst: Burst,
    failed: bool,
    /// Tells of the processor's cycles, if somebody wants to know.
    teller: Option<Box<Teller>>,
    /// Somebody stops the processor and looks.
    desk: Option<Box<Desk>>,
}

/// Exit status of a run that the monitor has ended, as of one that gdb has: 128 + SIGKILL.
const KILLED: i32 = 137;

/// What the card has asked its host for.
struct Burst {
    read: bool,
    addr: u64,
    bytes: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    /// A store of the host has crossed the bus.
    Store { addr: u32, len: u8, data: [u8; 8] },
    /// A load of the host has.
    Load { addr: u32 },
    /// What the card wants of the host's memory has been moved.
    Burst,
}

struct Sent<'a>(&'a mut Vec<(Time, Signal)>);

impl Wires for Sent<'_> {
    fn put(&mut self, _: usize, at: Time, signal: Signal) {
        self.0.push((at, signal));
    }
}

/// The host's bus, for the card.
struct Master<'a> {
    pci: &'a mut Pci,
    burst: &'a mut Burst,
    interrupt: Duration,
    ports: &'a mut Ports<Station>,
    /// When the first thing that was asked for is due.
    due: Time,
}

impl Master<'_> {
    fn ask(&mut self, now: Time, len: usize, read: bool) {
        let done = self.pci.dma(now, len, read);
        self.ports.schedule(done, Event::Burst);
        self.due = self.due.min(done);
    }
}

impl Host for Master<'_> {
    fn read(&mut self, now: Time, addr: u64, len: usize) {
        (self.burst.read, self.burst.addr) = (true, addr);
        self.burst.bytes.resize(len, 0);
        self.ask(now, len, true);
    }
    fn write(&mut self, now: Time, addr: u64, data: &[u8]) {
        (self.burst.read, self.burst.addr) = (false, addr);
        self.burst.bytes.clear();
        self.burst.bytes.extend_from_slice(data);
        self.ask(now, data.len(), false);
    }
    fn interrupt(&mut self, now: Time, asserted: bool) {
        if asserted {
            let at = now + self.interrupt;
            self.ports.interrupt(at);
            self.due = self.due.min(at);
        }
    }
}

impl Station {
    pub fn new(params: CardParams, joints: Joints, image: Arc<Image>) -> Station {
        let mut card = Card::new(params);
        card.set_booking(joints.park);
        Station {
            card,
            pci: Pci::new(joints.pci),
            joints,
            image,
            step: Pci::least(&joints.pci).min(joints.interrupt),
            sent: Vec::new(),
            burst: Burst { read: false, addr: 0, bytes: Vec::new() },
            failed: false,
            teller: None,
            desk: None,
        }
    }

    /// Tells of the processor from now on.
    pub fn set_teller(&mut self, teller: Option<Teller>) {
        self.teller = teller.map(Box::new);
    }

    /// Lets somebody look at the processor from now on.
    pub fn set_desk(&mut self, desk: Option<Desk>) {
        self.desk = desk.map(Box::new);
    }

    /// Lets the card do what it does before `until`. When the first of what it asks for is due.
    fn advance(&mut self, until: Time, ports: &mut Ports<Station>) -> Time {
        let mut due = Time::NEVER;
        let mut halted = true;
        while halted {
            let Station { card, pci, sent, burst, teller, desk, .. } = self;
            let interrupt = self.joints.interrupt;
            let mut master = Master { pci, burst, interrupt, ports: &mut *ports, due };
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

    /// What is on the cable goes to the other end; why the card has stopped ends the run.
    fn tell(&mut self, ports: &mut Ports<Station>) {
        let Joints { socket, cable, .. } = self.joints;
        for (at, signal) in self.sent.drain(..) {
            ports.send(socket.process, at + cable, Message { port: socket.port, signal });
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

    /// The bus or the card has no place for it: a wrong of the driver.
    fn refused(&self, now: Time, why: &impl fmt::Display, ports: &mut Ports<Station>) {
        ports.fail(now, format_args!("{why}"));
    }

    fn end_burst(&mut self, now: Time, ports: &mut Ports<Station>) -> Result<(), BusError> {
        let Burst { read, addr, bytes } = &mut self.burst;
        if *read {
            ports.read(*addr, bytes)?;
            self.card.read_done(now, bytes);
        } else {
            ports.write(*addr, bytes)?;
            self.card.write_done(now);
        }
        Ok(())
    }
}

impl Nic for Station {
    type Event = Event;
    type Message = Message;

    fn handle(&mut self, now: Time, event: Event, ports: &mut Ports<Station>) {
        self.advance(now, ports);
        let done = match event {
            Event::Store { addr, len, data } => {
                self.card.host_write(now, addr, &data[..usize::from(len)])
            }
            Event::Load { addr } => {
                let mut word = [0; 4];
                let read = self.card.host_read(now, addr, &mut word);
                ports.answer(now + Duration(1), u32::from_be_bytes(word));
                read
            }
            Event::Burst => self.end_burst(now, ports),
        };
        if let Err(why) = done {
            self.refused(now, &why, ports);
        }
        self.tell(ports);
    }

    fn receive(&mut self, now: Time, message: Message, ports: &mut Ports<Station>) {
        self.advance(now, ports);
        self.card.arrive(now, message.signal, &mut Sent(&mut self.sent));
        self.tell(ports);
    }

    fn store(&mut self, now: Time, addr: u32, data: &[u8], ports: &mut Ports<Station>) {
        let at = self.pci.store(now, addr, data.len());
        let mut bytes = [0; 8];
        bytes[..data.len()].copy_from_slice(data);
        ports.schedule(at, Event::Store { addr, len: data.len() as u8, data: bytes });
    }

    fn load(&mut self, now: Time, addr: u32, ports: &mut Ports<Station>) {
        let at = self.pci.load(now);
        ports.schedule(at, Event::Load { addr });
    }

    fn word(event: &Event) -> u64 {
        match event {
            Event::Store { addr, data, .. } => {
                1 ^ u64::from(*addr) << 8 ^ u64::from_le_bytes(*data).rotate_left(17)
            }
            Event::Load { addr } => 2 | u64::from(*addr) << 8,
            Event::Burst => 3,
        }
    }

    fn next_action(&self) -> Time {
        self.card.next()
    }

    fn run(&mut self, until: Time, ports: &mut Ports<Station>) {
        let mut until = until;
        while self.card.next() < until {
            // What it asks for is due no sooner than the end of the step.
            let end = until.min(self.card.next() + self.step);
            let due = self.advance(end, ports);
            until = until.min(due);
        }
    }

    fn launched(&mut self, now: Time, ports: &mut Ports<Station>) {
        if self.teller.is_some() {
            self.advance(now, ports);
        }
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
        let teller = self.teller.take()?;
        Some(teller.finish(ports.nid(), self.card.core()))
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let (card, core) = (self.card.counters(), self.card.core().counters());
        vec![
            ("lanai.cycles", self.card.core().cycle()),
            ("lanai.instructions", core.instructions),
            ("lanai.load_waits", core.load_waits),
            ("lanai.memory_waits", core.memory_waits),
            ("myrinet.blocks", card.blocks),
            ("myrinet.bytes_moved", card.bytes_moved),
            ("myrinet.held", self.card.held()),
            ("myrinet.interrupts", card.interrupts),
            ("myrinet.wrong_crc8", card.wrong_crc8),
            ("myrinet.wrong_crc32", card.wrong_crc32),
            (RX_BYTES, card.bytes_received),
            ("rx.packets", card.packets_received),
            (TX_BYTES, card.bytes_sent),
            ("tx.packets", card.packets_sent),
        ]
    }

    fn waiting(&self) -> Vec<String> {
        let held = self.card.held();
        let sentence = || format!("{held} bytes stand before the card");
        (held > 0).then(sentence).into_iter().collect()
    }
}

/// Counters of what crossed a card's cable.
pub(super) const RX_BYTES: &str = "rx.bytes";
pub(super) const TX_BYTES: &str = "tx.bytes";
