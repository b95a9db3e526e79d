//! The model `bell`: the PCI card of docs/guests.md, written to be copied by who brings a card and its
//! driver. A value that a driver stores goes to a peer's card, which stores it in memory and interrupts: by a
//! message or by its line.
//!
//! ```text
//!  driver ─ store RING ─► card ── link ──► peer's card ─ DMA, interrupt ─► peer's driver
//! ```

#![forbid(unsafe_code)]

use des::{Duration, Links, Time};
use machine::bench::{Bench, Plan};
use machine::models::Model;
use machine::node::{Equipment, Nic, Node, Ports};
use machine::programs::guests::{GuestRank, Guests, Slot, MESSAGES};
use machine::programs::Program;
use machine::{Options, Outcome, UsageError};
use pci::{Function, Identity};
use std::collections::VecDeque;
use std::sync::atomic::Ordering;

/// The row of this model.
pub static MODEL: Model = Model {
    guests: true,
    ..Model::new(
        "bell",
        "docs/guests.md's example: a PCI card for Linux guests, with DMA and an interrupt",
        Params::ROWS,
        run,
    )
};

machine::parameters! {
    /// Its own.
    struct Params in "bell" {
        /// Time between processor and card, each way.
        access: time("1 ns", "1 ms"),
        /// Time from a value's arrival to memory.
        dma: time("1 ns", "1 ms"),
        /// Time from card to card.
        link: time("1 ns", "1 ms"),
    }
}

/// Address of the card's configuration space for the processor; its region lies above.
const CONFIG: u64 = 0xE000_0000;
const IDENTITY: Identity =
    Identity { vendor: 0x1234, device: 0xBE11, class: 0xFF_0000, revision: 1 };
const REGION: u32 = 4096;

/// Registers.
mod register {
    /// "BELL".
    pub const ID: u64 = 0x00;
    /// The node's number.
    pub const NODE: u64 = 0x04;
    /// A value that is stored here goes to the peer: node 1 is that of node 0, and so on in pairs.
    pub const RING: u64 = 0x10;
    /// Address in memory at which a value that arrives is stored, lower and upper half.
    pub const ADDRESS: u64 = 0x18;
    pub const ADDRESS_HIGH: u64 = 0x1C;
    /// 1 while the line is up; a store takes it back.
    pub const PENDING: u64 = 0x20;
}
const MAGIC: u32 = u32::from_le_bytes(*b"BELL");

/// An access of the processor on its way.
enum Access {
    Store { addr: u64, bytes: Vec<u8> },
    Load { addr: u64 },
}

/// Event that the card has scheduled.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// The oldest access is here.
    Access,
    /// The oldest value that has come is in memory.
    Moved,
}

struct Card {
    params: Params,
    function: Function,
    accesses: VecDeque<Access>,
    coming: VecDeque<u32>,
    address: u64,
    pending: bool,
    counts: [u64; 2],
}

impl Card {
    fn load_register(&self, nid: u32, offset: u64) -> u32 {
        match offset {
            register::ID => MAGIC,
            register::NODE => nid,
            register::ADDRESS => self.address as u32,
            register::ADDRESS_HIGH => (self.address >> 32) as u32,
            register::PENDING => self.pending.into(),
            _ => 0,
        }
    }

    fn store_register(&mut self, now: Time, offset: u64, value: u32, ports: &mut Ports<Card>) {
        let value_64 = u64::from(value);
        match offset {
            register::RING => {
                self.counts[0] += 1;
                ports.send(ports.nid() ^ 1, now + self.params.link, value);
            }
            register::ADDRESS => self.address = self.address >> 32 << 32 | value_64,
            register::ADDRESS_HIGH => {
                self.address = self.address & 0xFFFF_FFFF | value_64 << 32;
            }
            register::PENDING => self.pending = false,
            _ => {}
        }
    }

    fn access(&mut self, now: Time, ports: &mut Ports<Card>) {
        let config = |addr: u64| addr.checked_sub(CONFIG).filter(|offset| *offset < 256);
        match self.accesses.pop_front().expect("an access is on its way") {
            Access::Store { addr, bytes } => {
                let offset = self.function.decode(0, addr);
                let value = bytes.as_slice().try_into().map(u32::from_le_bytes);
                match (config(addr), offset, value) {
                    (Some(offset), _, _) => self.function.store(offset as u8, &bytes),
                    (_, Some(offset), Ok(value)) => self.store_register(now, offset, value, ports),
                    // Registers are whole words.
                    _ => {}
                }
            }
            Access::Load { addr } => {
                let word = match (config(addr), self.function.decode(0, addr)) {
                    (Some(offset), _) => self.function.load(offset as u8),
                    (_, Some(offset)) => self.load_register(ports.nid(), offset),
                    _ => u32::MAX,
                };
                ports.answer(now + self.params.access, &word.to_le_bytes());
            }
        }
    }

    /// A value is in memory, if the driver has given an address, and the driver is told.
    fn moved(&mut self, now: Time, ports: &mut Ports<Card>) {
        let value = self.coming.pop_front().expect("a value is on its way to memory");
        if self.address == 0 || !self.function.is_master() {
            return;
        }
        self.counts[1] += 1;
        let written = ports.write(self.address, &value.to_le_bytes());
        // A message is a store to an address that is no memory; else the line goes up.
        let told = match self.function.message() {
            Some(data) => ports.write(MESSAGES, &u32::from(data).to_le_bytes()),
            None => {
                self.pending = true;
                Ok(())
            }
        };
        if let Err(why) = written.and(told) {
            return ports.fail(now, format_args!("the card's DMA: {why}"));
        }
        if self.function.message().is_some() || self.function.pin(self.pending) {
            ports.interrupt(now);
        }
    }

    fn comes(&mut self, now: Time, access: Access, ports: &mut Ports<Card>) {
        self.accesses.push_back(access);
        ports.schedule(now + self.params.access, Event::Access);
    }
}

impl Nic for Card {
    type Event = Event;
    type Message = u32;
    type Left = ();

    fn handle(&mut self, now: Time, event: Event, ports: &mut Ports<Card>) {
        match event {
            Event::Access => self.access(now, ports),
            Event::Moved => self.moved(now, ports),
        }
    }
    fn receive(&mut self, now: Time, value: u32, ports: &mut Ports<Card>) {
        self.coming.push_back(value);
        ports.schedule(now + self.params.dma, Event::Moved);
    }
    fn store(&mut self, now: Time, addr: u64, data: &[u8], ports: &mut Ports<Card>) {
        self.comes(now, Access::Store { addr, bytes: data.to_vec() }, ports);
    }
    fn load(&mut self, now: Time, addr: u64, _len: usize, ports: &mut Ports<Card>) {
        self.comes(now, Access::Load { addr }, ports);
    }
    fn word(event: &Event) -> u64 {
        *event as u64
    }
    fn counters(&self) -> Vec<(&'static str, u64)> {
        ["bell.rung", "bell.heard"].into_iter().zip(self.counts).collect()
    }
}

struct Machine<'a> {
    bench: &'a Bench<'a>,
    params: Params,
    guests: &'a Guests,
}

impl Plan for Machine<'_> {
    type Process = Node<Card>;
    type Left = ();

    fn links(&self) -> Links {
        Links::between_all(self.params.link, self.bench.nodes)
    }
    fn notice(&self) -> Duration {
        self.params.link * 4
    }
    fn process(&self, nid: u32) -> Node<Card> {
        let journal = self.bench.journal(nid);
        GuestRank::employ(&journal, nid);
        let card = Card {
            params: self.params,
            function: Function::new(IDENTITY).with_region(0, REGION).with_msi(),
            accesses: VecDeque::new(),
            coming: VecDeque::new(),
            address: 0,
            pending: false,
            counts: [0; 2],
        };
        let guest = GuestRank::new(self.bench, self.guests, nid, Slot::new(CONFIG));
        let (host, software) = (GuestRank::host(self.bench), Box::new(guest));
        self.bench.node(nid, card, Equipment { host, software, journal, judge: None })
    }
}

/// Runs programs in guests.
fn run(options: &Options) -> Result<Outcome, UsageError> {
    let Program::Guests(guests) = &options.program else {
        unreachable!("models::run lets nothing else through")
    };
    if options.observers.judge {
        return Err(UsageError::sentence("--judge judges Portals, and model bell has none"));
    }
    let bench = Bench::of_hosts(options)?;
    if bench.nodes % 2 != 0 {
        return Err(UsageError::sentence(
            "the cards of model bell stand in pairs; give -n 2, 4, ...",
        ));
    }
    let params = Params::of(&options.parameters);
    let ended = bench.simulate(&Machine { bench: &bench, params, guests });
    options.writing.store(true, Ordering::Relaxed);
    let (report, _) = bench.conclude(ended, None);
    Ok(Outcome { report, ..Outcome::default() })
}
