//! An agent at the pins: master, target, and what lies behind.

use super::lines::{parity, Control, Drive, Lines, HALVES};
use super::master::Master;
use super::mutant::Mutant;
use super::target::Target;
use super::transfer::Transfer;
use crate::{ConfigSpace, Params};
use bus::Memory;

/// A data phase that an agent has taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Cycle.
    pub cycle: u64,
    /// Tag of the read that it belongs to (PCI-X).
    pub tag: u8,
    /// Bytes, each in the lane of its address.
    pub data: u64,
    /// Lanes.
    pub lanes: u8,
}

/// Storage that an agent's transactions reach.
#[derive(Clone, Debug)]
pub(super) enum Store {
    /// The bridge's: the host's memory.
    Host(Memory),
    /// A device's: configuration, registers from the start of its region.
    Card { config: ConfigSpace, registers: Vec<u8> },
}

impl Store {
    /// The word at `addr`, a multiple of 8. Zero outside, where only an agent with a bug reads.
    pub fn word(&self, addr: u64) -> u64 {
        let mut bytes = [0; 8];
        match self {
            Store::Host(memory) => {
                let _ = memory.read(addr, &mut bytes);
            }
            Store::Card { config, registers, .. } => {
                let from = config.decode(addr).map_or(usize::MAX - 8, |from| from as usize);
                if let Some(word) = registers.get(from..from + 8) {
                    bytes.copy_from_slice(word);
                }
            }
        }
        u64::from_le_bytes(bytes)
    }

    /// Stores the `lanes` of the word at `addr`; nothing outside.
    pub fn set(&mut self, addr: u64, data: u64, lanes: u8) {
        for lane in (0..8).filter(|lane| lanes >> lane & 1 == 1) {
            let byte = data.to_le_bytes()[lane as usize];
            match self {
                Store::Host(memory) => {
                    let _ = memory.write(addr + lane, &[byte]);
                }
                Store::Card { config, registers, .. } => {
                    let place = config.decode(addr + lane).map_or(usize::MAX, |at| at as usize);
                    if let Some(register) = registers.get_mut(place) {
                        *register = byte;
                    }
                }
            }
        }
    }
}

/// PERR#, two cycles behind the data phase.
#[derive(Clone, Copy, Debug, Default)]
struct Reporter {
    /// AD and C/BE# that were taken in the last cycle; their parity comes now.
    taken: Option<([u32; HALVES], [u8; HALVES], usize)>,
    /// PERR# is driven: low, or high once before it is released.
    drives: Option<bool>,
}

/// An agent.
#[derive(Clone, Debug)]
pub struct Agent {
    pub(super) place: usize,
    pub(super) store: Store,
    master: Master,
    target: Target,
    /// AD and C/BE# of the last cycle, where this agent drove AD.
    drove: [Option<bool>; HALVES],
    reporter: Reporter,
    interrupts: bool,
    pub(super) mutant: Option<Mutant>,
    received: Vec<Received>,
}

impl Agent {
    /// The bridge, in front of the host's memory.
    pub fn bridge(params: Params, memory: Memory) -> Agent {
        Agent::new(params, 0, Store::Host(memory))
    }
    /// A device in a slot, with `bytes` of registers.
    pub fn device(params: Params, slot: u8, config: ConfigSpace, bytes: usize) -> Agent {
        let store = Store::Card { config, registers: vec![0; bytes] };
        Agent::new(params, 1 + usize::from(slot), store)
    }

    fn new(params: Params, place: usize, store: Store) -> Agent {
        Agent {
            place,
            store,
            master: Master::new(params, place),
            target: Target::new(params, place),
            drove: [None; HALVES],
            reporter: Reporter::default(),
            interrupts: false,
            mutant: None,
            received: Vec::new(),
        }
    }

    /// The host's memory, of the bridge.
    pub fn memory(&self) -> Option<&Memory> {
        match &self.store {
            Store::Host(memory) => Some(memory),
            Store::Card { .. } => None,
        }
    }
    /// Registers, of a device.
    pub fn registers(&self) -> &[u8] {
        match &self.store {
            Store::Host(_) => &[],
            Store::Card { registers, .. } => registers,
        }
    }
    /// Data of reads that this agent has taken, in order.
    pub fn received(&self) -> &[Received] {
        &self.received
    }
    /// Level of the chip's interrupt.
    pub fn interrupt(&mut self, level: bool) {
        self.interrupts = match &mut self.store {
            Store::Host(_) => false,
            Store::Card { config, .. } => config.interrupt(level),
        };
    }

    /// Adds a transaction to those that this agent starts or answers.
    pub(super) fn plan(&mut self, transfer: &Transfer) {
        let me = super::lines::agent(self.place);
        if transfer.master == me {
            self.master.plan(transfer);
        }
        if transfer.target == Some(me) {
            self.target.plan(transfer);
        }
    }
    /// True if nothing is left to start.
    pub(super) fn is_done(&self) -> bool {
        self.master.is_done()
    }

    /// Outputs of the agent in the next cycle: all of them come from registers.
    pub(super) fn drive(&self) -> Drive {
        let mut drive = Drive { interrupts: self.interrupts, ..Drive::default() };
        self.master.drive(&mut drive, &self.store, self.mutant);
        self.target.drive(&mut drive, &self.store, self.mutant);
        drive.par = self.drove;
        if self.mutant == Some(Mutant::EarlyParity) {
            for half in 0..HALVES {
                let of = drive.ad[half].zip(drive.cbe[half]);
                drive.par[half] = of.map(|(ad, cbe)| parity(ad, cbe));
            }
        }
        if self.mutant == Some(Mutant::OddParity) {
            drive.par = drive.par.map(|par| par.map(|par| !par));
        }
        if let Some(high) = self.reporter.drives {
            drive.set(Control::Perr, high);
        }
        drive
    }

    /// The clock's edge at the end of the cycle whose levels are `lines`.
    pub(super) fn clock(&mut self, lines: &Lines) {
        for half in 0..HALVES {
            let ad = lines.drives[self.place].ad[half];
            self.drove[half] = ad.map(|ad| parity(ad, lines.cbe(half).unwrap_or(0xF)));
        }
        let read = self.master.clock(lines, self.mutant);
        let write = self.target.clock(lines, &mut self.store, self.mutant);
        self.received.extend(read.or(write.filter(|taken| taken.1).map(|taken| taken.0)));
        self.report(lines, read.is_some() || write.is_some());
    }

    /// Looks at the parity of what was taken in the last cycle, and keeps what was taken in this.
    fn report(&mut self, lines: &Lines, took: bool) {
        let wrong = self.reporter.taken.is_some_and(|(ad, cbe, halves)| {
            (0..halves).any(|half| lines.par(half) != Some(parity(ad[half], cbe[half])))
        });
        let wrong = match self.mutant {
            Some(Mutant::NoPerr) => false,
            Some(Mutant::IdlePerr) if self.reporter.taken.is_some() => true,
            _ => wrong,
        };
        self.reporter.drives = match self.reporter.drives {
            _ if wrong => Some(false),
            Some(false) => Some(true),
            _ => None,
        };
        let halves = 1 + usize::from(lines.is_low(Control::Ack64));
        let ad = lines.ad.map(|ad| ad.unwrap_or(0));
        let cbe = [0, 1].map(|half| lines.cbe(half).unwrap_or(0xF));
        self.reporter.taken = took.then_some((ad, cbe, halves));
    }
}
