//! The card: a LANai, its memory and special registers, two DMA chains, the interface to the link.

mod chip;
mod dma;
mod host;
mod points;
mod receive;
mod registers;
mod send;
mod timers;

use crate::link::{Params, Signal, Wires};
use abi::myrinet as my;
use chip::Chip;
use des::{Clock, Time};
use lanai::{Config, Core, Off, Probe, Stop};
pub use points::Point;
use std::fmt;

/// Parameters of a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CardParams {
    /// The processor's clock: 66 MHz, assumed.
    pub clock: Clock,
    /// Its link.
    pub link: Params,
    /// Bytes of memory on the card.
    pub sram: u32,
    /// Bytes that a DMA engine moves at once: assumed.
    pub burst: u32,
    /// Bytes a second of the host's bus, for what DMA takes of the memory.
    pub bus: u64,
}

impl CardParams {
    /// The card of vorakosit2001 on a cable: LANai 7 with 2 MB, on a 32-bit PCI bus of 33 MHz.
    pub fn new(link: Params) -> CardParams {
        CardParams {
            clock: Clock::from_hz(66_000_000),
            link,
            sram: my::SRAM_SIZE,
            burst: 64,
            bus: 132_000_000,
        }
    }
}

/// Host of a card: the card is a master of its bus, and makes one request at a time. The answer comes no
/// sooner than `until` of the [`Card::advance`] in which the card made the request: the bus determines the
/// lookahead of a bench.
pub trait Host {
    /// Wants `len` bytes of host memory; [`Card::read_done`] brings them.
    fn read(&mut self, now: Time, addr: u64, len: usize);
    /// Writes host memory; [`Card::write_done`] says that the bus has taken all.
    fn write(&mut self, now: Time, addr: u64, data: &[u8]);
    /// The interrupt line changes.
    fn interrupt(&mut self, now: Time, asserted: bool);
}

/// Reason for which a card has stopped for good: an error of its control program or driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// The processor's fault.
    Fault(lanai::Fault),
    /// A DMA chain leads to a block that is not in the region of DMA blocks.
    Chain {
        /// Time of the fault.
        at: Time,
        /// The chain.
        chain: usize,
        /// Address of the block.
        block: u32,
    },
    /// A DMA block names memory that is not there.
    Block {
        /// Time of the fault.
        at: Time,
        /// The chain.
        chain: usize,
        /// Address of the block.
        block: u32,
    },
    /// The send interface would read memory that is not there.
    Send {
        /// Time of the fault.
        at: Time,
        /// First byte.
        from: u32,
        /// Byte behind the last.
        limit: u32,
    },
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stopped::Fault(fault) => write!(f, "{fault}"),
            Stopped::Chain { at, chain, block } => write!(
                f,
                "at {at}: DMA chain {chain} goes on at {block:#x}, outside the region of DMA \
                 blocks: a block before has no terminal bit"
            ),
            Stopped::Block { at, chain, block } => {
                write!(f, "at {at}: the block at {block:#x} of DMA chain {chain} leaves the memory")
            }
            Stopped::Send { at, from, limit } => {
                write!(f, "at {at}: {from:#x} to {limit:#x} cannot be sent")
            }
        }
    }
}

/// Counters of a card.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets whose end was sent.
    pub packets_sent: u64,
    /// Bytes sent, with routes and CRCs.
    pub bytes_sent: u64,
    /// Packets whose end came out of the slack buffer.
    pub packets_received: u64,
    /// Bytes that came in, with CRCs.
    pub bytes_received: u64,
    /// Packets with a wrong CRC-8.
    pub wrong_crc8: u64,
    /// Packets with a wrong CRC-32.
    pub wrong_crc32: u64,
    /// DMA blocks that are complete.
    pub blocks: u64,
    /// Bytes moved by DMA.
    pub bytes_moved: u64,
    /// Times that the interrupt line was raised.
    pub interrupts: u64,
    /// Times that the cable fell silent.
    pub silences: u64,
}

/// A Myrinet card.
pub struct Card {
    core: Core,
    chip: Chip,
    running: bool,
    /// Time up to which everything has happened.
    now: Time,
    stopped: Option<Stopped>,
}

impl Card {
    /// A card whose processor is held in reset, with memory of zeros.
    pub fn new(params: CardParams) -> Card {
        let guard = my::REGION_GUARD_BASE..my::REGION_GUARD_BASE + my::REGION_GUARD_SIZE;
        Card {
            core: Core::new(Config { clock: params.clock, guard }),
            chip: Chip::new(params),
            running: false,
            now: Time::ZERO,
            stopped: None,
        }
    }

    /// Earliest time of its next action that others can see. A processor that only polls ([`Core::polls`])
    /// does nothing; it is brought up to date by the next [`Card::advance`].
    pub fn next(&self) -> Time {
        if self.stopped.is_some() {
            return Time::NEVER;
        }
        let acts = self.running && !self.core.polls();
        let core = if acts { self.core.now() } else { Time::NEVER };
        core.min(self.chip.due())
    }

    /// Sets whether its processor's polling is booked instead of executed ([`Core::set_booking`]).
    pub fn set_booking(&mut self, books: bool) {
        self.core.set_booking(books);
    }

    /// Does what happens before `until`.
    pub fn advance(&mut self, until: Time, wires: &mut impl Wires, host: &mut impl Host) {
        self.advance_observed(until, wires, host, &mut Off);
    }

    /// The same, and tells `probe` of each instruction. False if it has come only to an instruction before
    /// which the observer wants the processor to halt ([`Probe::halts`]).
    pub fn advance_observed(
        &mut self,
        until: Time,
        wires: &mut impl Wires,
        host: &mut impl Host,
        probe: &mut impl Probe,
    ) -> bool {
        while self.stopped.is_none() {
            self.chip.until = until;
            if self.running {
                let stop = self.core.run_observed(&mut self.chip, until, probe);
                match stop {
                    Stop::Reached => {}
                    Stop::Fault => self.stopped = self.core.fault().map(Stopped::Fault),
                    Stop::Halted => return false,
                }
            }
            let due = self.chip.due();
            if due >= until {
                break;
            }
            assert!(due >= self.now, "time goes backwards");
            self.now = due;
            if let Some(stopped) = self.chip.step(due, wires, host) {
                self.stopped = Some(stopped);
            }
            self.tell_core();
        }
        self.now = self.now.max(until);
        true
    }

    /// Sends and awaits each beat of the cable, which are booked otherwise.
    pub fn send_beats(&mut self, now: Time) {
        self.chip.pulse.send_beats(now);
    }

    /// The cable is cut: from now on nothing comes, and signals sent are lost. The card has been advanced
    /// to `now`.
    pub fn cut(&mut self, now: Time) {
        self.chip.pulse.cut(now);
        self.core.disturbed();
    }

    /// Time from which it has known that its cable is silent.
    pub fn silent(&self) -> Option<Time> {
        self.chip.pulse.silent()
    }

    /// Takes a signal from the link. The card has been advanced to `now`.
    pub fn arrive(&mut self, now: Time, signal: Signal, wires: &mut impl Wires) {
        self.chip.arrive(now, signal, wires);
        self.tell_core();
    }

    /// Takes the bytes requested by [`Host::read`]. The card has been advanced to `now`.
    pub fn read_done(&mut self, now: Time, data: &[u8]) {
        self.chip.burst_done(now, Some(data));
        self.tell_core();
    }

    /// The bus has taken what [`Host::write`] gave. The card has been advanced to `now`.
    pub fn write_done(&mut self, now: Time) {
        self.chip.burst_done(now, None);
        self.tell_core();
    }

    /// The core decodes again what others have written.
    fn tell_core(&mut self) {
        self.core.disturbed();
        if let Some((from, to)) = self.chip.written.take() {
            self.core.memory_changed(from, (to - from) as usize);
        }
    }

    /// Reason for which it has stopped, if it has.
    pub fn stopped(&self) -> Option<Stopped> {
        self.stopped
    }

    /// Counters of the card.
    pub fn counters(&self) -> Counters {
        Counters { silences: self.chip.pulse.silences, ..self.chip.counters }
    }

    /// Bytes in its slack buffer.
    pub fn held(&self) -> u64 {
        self.chip.receive.held().into()
    }

    /// Most bytes that were ever in it.
    pub fn high(&self) -> u32 {
        self.chip.receive.high()
    }

    /// The processor.
    pub fn core(&self) -> &Core {
        &self.core
    }

    /// The special register at `offset`, as processor and host would read it. None if there is none.
    pub fn register(&self, now: Time, offset: u32) -> Option<u32> {
        self.chip.read_register(now, offset)
    }

    /// The memory.
    pub fn sram(&self) -> &[u8] {
        &self.chip.sram
    }
}
