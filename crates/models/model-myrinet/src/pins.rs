//! The card's pins on the host's bus: the target that the host reads and writes, and the master that moves
//! what the DMA engines ask for.

use abi::myrinet::board::BoardControl;
use abi::myrinet::{command_area, BOARD_CONTROL, REGION_COMMAND_BASE};
use bus::BusError;
use des::Time;
use pci::{Device, DeviceIn, DeviceOut, Operation, Request, TargetRead, TargetWrite, WORD};
use std::collections::VecDeque;

/// Request of a DMA engine.
#[derive(Clone, Copy, Debug)]
struct Transfer {
    operation: Operation,
    addr: u64,
    len: u16,
    /// Time from which the bus can see it.
    from: Time,
    /// Bytes that have gone, or come.
    moved: u16,
    /// Of a read: its data come by themselves.
    accepted: bool,
    ended: Option<Ending>,
}

/// End of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// All has been read.
    Read,
    /// The bus has taken all.
    Written,
    /// The host has no memory there.
    Aborted { addr: u64 },
}

/// The card's pins.
#[derive(Default)]
pub(super) struct Pins {
    now: Time,
    transfer: Option<Transfer>,
    /// The bytes of the transfer.
    bytes: Vec<u8>,
    line: bool,
    /// State of the card's interrupt line, and the time from which the bus can see it.
    changes: VecDeque<(Time, bool)>,
    written: Option<TargetWrite>,
    asked: Option<TargetRead>,
    /// The answer to what was asked for.
    read_word: u64,
}

impl Pins {
    /// Wants `len` bytes of the host's memory.
    pub fn read(&mut self, from: Time, addr: u64, len: usize) {
        self.bytes.clear();
        self.begin(Operation::Read, from, addr, len);
    }

    /// Wants to write `bytes` to the host's memory.
    pub fn write(&mut self, from: Time, addr: u64, bytes: &[u8]) {
        self.bytes.clear();
        self.bytes.extend_from_slice(bytes);
        self.begin(Operation::Write, from, addr, bytes.len());
    }

    fn begin(&mut self, operation: Operation, from: Time, addr: u64, len: usize) {
        assert!(self.transfer.is_none(), "a card asks for one thing at a time");
        let len = u16::try_from(len).expect("a burst is of 4 KB at most");
        let (moved, accepted, ended) = (0, false, None);
        self.transfer = Some(Transfer { operation, addr, len, from, moved, accepted, ended });
    }

    /// Drives the interrupt line.
    pub fn interrupt(&mut self, from: Time, level: bool) {
        self.changes.push_back((from, level));
    }

    /// The next cycle begins at `now`. The interrupt line changes once a cycle at most: no level is lost.
    pub fn edge(&mut self, now: Time) {
        self.now = now;
        if let Some(&(_, level)) = self.changes.front().filter(|(from, _)| *from <= now) {
            self.line = level;
            self.changes.pop_front();
        }
    }

    /// Writes of the host.
    pub fn written(&mut self) -> Option<TargetWrite> {
        self.written.take()
    }

    /// Read of the host; [`Pins::answer`] gives it before the next cycle.
    pub fn asked(&mut self) -> Option<TargetRead> {
        self.asked.take()
    }

    /// Answers.
    pub fn answer(&mut self, word: u64) {
        self.read_word = word;
    }

    /// True if the transfer is over.
    pub fn is_over(&self) -> bool {
        self.transfer.is_some_and(|transfer| transfer.ended.is_some())
    }

    /// End of the transfer, with the bytes of a read.
    pub fn ended(&mut self) -> Option<(Ending, &[u8])> {
        let ending = self.transfer.as_ref()?.ended?;
        self.transfer = None;
        Some((ending, &self.bytes))
    }

    /// Nothing is to be done.
    pub fn rest(&self) -> bool {
        let target = self.written.is_none() && self.asked.is_none();
        target && self.transfer.is_none() && self.changes.is_empty()
    }

    /// The next word of a write, each byte in its lane.
    fn word(&self) -> u64 {
        let Some(Transfer { addr, moved, .. }) = self.transfer else { return 0 };
        let lanes = (addr + u64::from(moved)) % WORD..WORD;
        let rest = self.bytes.get(usize::from(moved)..).unwrap_or_default();
        lanes.zip(rest).fold(0, |word, (lane, byte)| word | u64::from(*byte) << (8 * lane))
    }
}

impl Transfer {
    /// Address at which it goes on.
    fn next(&self) -> u64 {
        self.addr + u64::from(self.moved)
    }
    /// Bytes that are left.
    fn left(&self) -> u16 {
        self.len - self.moved
    }
    /// Bytes of it in the word in which it goes on.
    fn here(&self) -> u16 {
        self.left().min((WORD - self.next() % WORD) as u16)
    }
}

impl Device for Pins {
    fn outputs(&self) -> DeviceOut {
        let asks = |t: &&Transfer| t.from <= self.now && !t.accepted && t.ended.is_none();
        let request = self.transfer.as_ref().filter(asks).map(|t| Request {
            operation: t.operation,
            addr: t.next(),
            bytes: t.left(),
            tag: 0,
        });
        DeviceOut {
            request,
            write_word: self.word(),
            // All of a burst stands in the engine.
            write_on: true,
            read_word: self.read_word,
            busy: false,
            interrupt: self.line,
        }
    }

    fn clock(&mut self, inputs: &DeviceIn) {
        self.written = inputs.write;
        self.asked = inputs.read;
        let Some(transfer) = &mut self.transfer else { return };
        transfer.accepted |= inputs.accepted;
        let here = transfer.here();
        if let Some(completion) = inputs.completion {
            let first = (transfer.next() % WORD) as usize;
            let lanes = first..first + usize::from(here);
            self.bytes.extend_from_slice(&completion.data.to_le_bytes()[lanes]);
            transfer.moved += here;
            if completion.last {
                transfer.ended = Some(Ending::Read);
            }
        }
        if inputs.took_word {
            transfer.moved += here;
        }
        match inputs.ended {
            Some(ended) if ended.aborted => {
                transfer.ended = Some(Ending::Aborted { addr: transfer.next() });
            }
            Some(_) if transfer.left() == 0 => transfer.ended = Some(Ending::Written),
            _ => {}
        }
    }
}

/// The runs of lanes that are set.
pub(super) fn runs(enables: u8) -> impl Iterator<Item = std::ops::Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = enables.checked_shr(at).filter(|rest| *rest != 0)?;
        let first = at + rest.trailing_zeros();
        at = first + (enables >> first).trailing_ones();
        Some(first as usize..at as usize)
    })
}

/// True of a write to the word by which the driver gives a command.
pub(super) fn is_command(write: &TargetWrite) -> bool {
    is_to(write, REGION_COMMAND_BASE + command_area::COMMAND as u32)
}

/// True of a write that resets the processor.
pub(super) fn is_reset(write: &TargetWrite) -> bool {
    let bytes = write.data.to_le_bytes();
    let at = BOARD_CONTROL.wrapping_sub(write.offset) as usize;
    let word = bytes.get(at..).and_then(|rest| rest.first_chunk()).copied().map(u32::from_be_bytes);
    is_to(write, BOARD_CONTROL) && word.is_some_and(|word| word & BoardControl::RESET_ON != 0)
}

/// True of a write to the word at `addr`.
pub(super) fn is_to(write: &TargetWrite, addr: u32) -> bool {
    let lane = addr.wrapping_sub(write.offset);
    lane < 8 && write.enables >> lane & 1 != 0
}
/// Mistake of the driver, or of who has filled a DMA block.
#[derive(Debug, thiserror::Error)]
pub(super) enum Wrong {
    #[error(transparent)]
    Bus(#[from] BusError),
    #[error("DMA to {0:#x}: the host has no memory there")]
    NoMemory(u64),
}
