//! All of the card but the processor, and what the processor sees of it.

use super::dma::Dma;
use super::points::Points;
use super::receive::Receive;
use super::send::Send;
use super::timers::Timers;
use super::{CardParams, Counters, Host, Stopped};
use crate::link::{Signal, Wires};
use crate::mutant::{is_mutant, Mutant};
use crate::pulse::Pulse;
use abi::myrinet::{self as my, isr};
use bus::BusError;
use des::Time;
use lanai::{Board, SLOT_UNIT};

pub(super) struct Chip {
    pub sram: Vec<u8>,
    /// Interface status, and its bits that interrupt the host.
    pub isr: u32,
    pub mask: u32,
    pub interrupts_on: bool,
    /// The line as the host knows it, and when it has to be looked at.
    line: bool,
    pub line_due: Time,
    /// CRC-32 on.
    pub crc32: bool,
    pub led: u32,
    pub send: Send,
    pub receive: Receive,
    pub pulse: Pulse,
    pub dma: Dma,
    pub timers: Timers,
    /// Next entry of the queue of doorbells.
    pub doorbells: u32,
    pub counters: Counters,
    pub points: Points,
    /// Memory written by others than the processor since it was last told.
    pub written: Option<(u32, u32)>,
    pub until: Time,
    /// Shares of the memory's cycles that a link, and a DMA engine, take.
    link_share: u32,
    dma_share: u32,
}

impl Chip {
    pub fn new(params: CardParams) -> Chip {
        let cycle_ps = params.clock.cycles(1000).0 / 1000;
        // An access of 8 bytes each time that so many have passed.
        let share = |eight_bytes_ps: u64| (u64::from(SLOT_UNIT) * cycle_ps / eight_bytes_ps) as u32;
        Chip {
            sram: vec![0; params.sram as usize],
            isr: 0,
            mask: 0,
            interrupts_on: false,
            line: false,
            line_due: Time::NEVER,
            crc32: false,
            led: 0,
            send: Send::new(&params.link),
            receive: Receive::new(&params.link),
            pulse: Pulse::new(0, &params.link),
            dma: Dma::new(params.burst),
            timers: Timers::default(),
            doorbells: 0,
            counters: Counters::default(),
            points: Points::default(),
            written: None,
            until: Time::ZERO,
            link_share: share(8 * params.link.byte.0),
            dma_share: share(8_000_000_000_000 / params.bus),
        }
    }

    /// Time of its next action.
    pub fn due(&self) -> Time {
        let interfaces = self.send.due().min(self.receive.due()).min(self.dma.due());
        interfaces.min(self.timers.due()).min(self.pulse.due()).min(self.line_due)
    }

    /// Handles the events that are due at `now`.
    pub fn step(
        &mut self,
        now: Time,
        wires: &mut impl Wires,
        host: &mut impl Host,
    ) -> Option<Stopped> {
        if self.send.due() <= now
            && let Some(stopped) = self.send_slot(now, wires)
        {
            return Some(stopped);
        }
        if self.receive.due() <= now {
            self.drain(now, wires);
        }
        if self.dma.due() <= now
            && let Some(stopped) = self.move_burst(now, host)
        {
            return Some(stopped);
        }
        if self.timers.due() <= now {
            let passed = self.timers.pass(now);
            self.raise(now, passed);
        }
        if self.pulse.due() <= now && self.pulse.pass(now, wires) {
            self.raise(now, isr::LINK3);
        }
        self.line_due = Time::NEVER;
        let line = self.interrupts_on && self.isr & self.mask_in_use() != 0;
        if line != self.line {
            self.line = line;
            self.counters.interrupts += u64::from(line);
            host.interrupt(now, line);
        }
        None
    }

    /// The processor is held in reset: nothing of what the interfaces told it is left. A packet that is being
    /// sent, and a DMA, go on.
    pub fn reset(&mut self, now: Time) {
        (self.isr, self.mask) = (0, 0);
        self.line_due = self.line_due.min(now);
        self.receive.reset();
    }

    fn mask_in_use(&self) -> u32 {
        if is_mutant(Mutant::IgnoresMask) {
            return u32::MAX;
        }
        self.mask
    }

    /// Sets bits of the status.
    pub fn raise(&mut self, now: Time, bits: u32) {
        self.isr |= bits;
        self.line_due = self.line_due.min(now);
    }

    /// Takes a signal from the link.
    pub fn arrive(&mut self, now: Time, signal: Signal, wires: &mut impl Wires) {
        self.pulse.hear(now);
        match signal {
            Signal::Beat => {}
            Signal::Stop => self.send.stop(),
            Signal::Go => self.send.go(now),
            Signal::Slot(slot) => {
                self.counters.bytes_received += u64::from(slot.len);
                if let Some(answer) = self.receive.take(slot) {
                    wires.put(0, now, answer);
                }
                self.drain(now, wires);
            }
        }
    }

    /// Notes a write by others than the processor.
    pub fn wrote(&mut self, addr: u32, len: u32) {
        let (from, to) = self.written.unwrap_or((addr, addr + len));
        self.written = Some((from.min(addr), to.max(addr + len)));
    }

    /// A word of memory.
    pub fn word(&self, addr: u32) -> Option<u32> {
        let bytes = self.sram.get(addr as usize..)?.get(..4)?;
        Some(u32::from_be_bytes(bytes.try_into().expect("four bytes")))
    }

    /// Writes a word of memory, which is there.
    pub fn put_word(&mut self, addr: u32, value: u32) {
        self.sram[addr as usize..][..4].copy_from_slice(&value.to_be_bytes());
        self.wrote(addr, 4);
    }
}

impl Board for Chip {
    #[inline]
    fn horizon(&self) -> Time {
        self.until.min(self.due())
    }
    #[inline]
    fn sram(&mut self) -> &mut [u8] {
        &mut self.sram
    }
    fn taken(&self) -> u32 {
        let links = u32::from(self.send.is_active()) + u32::from(self.receive.is_active());
        links * self.link_share + u32::from(self.dma.is_active()) * self.dma_share
    }
    fn read(&mut self, now: Time, addr: u32, len: usize) -> Result<u32, BusError> {
        let why = match addr.checked_sub(my::SPECIAL_BASE) {
            Some(offset) if len == 4 => match self.read_register(now, offset) {
                Some(value) => return Ok(value),
                None => "there is no such register",
            },
            Some(_) => "registers are words",
            None => "no device answers",
        };
        Err(BusError { addr: addr.into(), len, write: false, why })
    }
    fn is_steady(&self, addr: u32) -> bool {
        addr.checked_sub(my::SPECIAL_BASE).is_some_and(|offset| !Chip::counts(offset))
    }
    fn write(&mut self, now: Time, addr: u32, len: usize, value: u32) -> Result<(), BusError> {
        let why = match addr.checked_sub(my::SPECIAL_BASE) {
            Some(offset) if len == 4 => match self.write_register(now, offset, value, true) {
                true => return Ok(()),
                false => "there is no such register",
            },
            Some(_) => "registers are words",
            None => "no device answers",
        };
        Err(BusError { addr: addr.into(), len, write: true, why })
    }
}
