//! The adapter: registers, four transmit slots, a receive ring in memory.

use crate::eeprom::Eeprom;
use crate::frame::{Address, Frame, Wire};
use crate::registers::{self as reg, accept, cause, command, received, register, slot};
use bus::BusError;
use des::{Duration, Time};
use std::collections::VecDeque;

/// Transmit slots.
const SLOTS: usize = 4;
/// Bytes in front of a frame in the ring: status and length.
const HEADER: usize = 4;
/// Distance by which RX_READ is behind the position to which the driver has read, in bytes.
const READ_BEHIND: u16 = 16;
/// Bytes that a ring whose frames do not wrap has behind its end.
const FRAME_MAX: u32 = 1792;

/// Speed of an adapter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdapterParams {
    /// Wire of its output.
    pub wire: Wire,
    /// Time from a request of its DMA to the first byte.
    pub dma_start: Duration,
    /// Rate of its DMA from then on, in bytes a second.
    pub dma_rate: u64,
}

/// Services of the board for its adapter.
pub trait Board {
    /// Reads the host's memory.
    fn read(&mut self, addr: u64, buf: &mut [u8]) -> Result<(), BusError>;
    /// Writes the host's memory.
    fn write(&mut self, addr: u64, data: &[u8]) -> Result<(), BusError>;
    /// Raises the interrupt line, or lowers and raises it if it has stayed up.
    fn interrupt(&mut self, at: Time);
    /// Puts a frame on the wire, whose last bit leaves at `end`.
    fn send(&mut self, end: Time, frame: Frame);
    /// Asks for [`Adapter::sent`] at `at`.
    fn sent_at(&mut self, at: Time);
    /// Asks for [`Adapter::moved`] at `at`.
    fn moved_at(&mut self, at: Time);
}

/// Counters of an adapter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AdapterCounters {
    /// Frames sent, and their bytes.
    pub sent: u64,
    /// Bytes of them, without preamble and check sequence.
    pub sent_bytes: u64,
    /// Frames put into the ring.
    pub received: u64,
    /// Bytes of these.
    pub received_bytes: u64,
    /// Frames for other adapters.
    pub others: u64,
    /// Frames for which there was no room.
    pub missed: u64,
    /// Interrupts.
    pub interrupts: u64,
}

/// An adapter.
#[derive(Clone, Debug)]
pub struct Adapter {
    params: AdapterParams,
    address: Address,
    eeprom: Eeprom,
    groups: [u8; 8],
    status: [u32; SLOTS],
    frames: [u32; SLOTS],
    ring: u32,
    command: u8,
    read: u16,
    written: u16,
    mask: u16,
    causes: u16,
    tx_config: u32,
    rx_config: u32,
    missed: u32,
    config: [u8; 16],
    mii_control: u16,
    /// Slots whose frames are being sent, the first first.
    sending: VecDeque<usize>,
    /// Times at which the DMA engine and the wire are free.
    dma_free: Time,
    wire_free: Time,
    /// Frames on their way into the ring.
    coming: VecDeque<Frame>,
    counters: AdapterCounters,
}

impl Adapter {
    /// Adapter with this address.
    pub fn new(params: AdapterParams, address: Address) -> Adapter {
        Adapter {
            params,
            address,
            eeprom: Eeprom::new(address),
            groups: [0; 8],
            status: [slot::OWN; SLOTS],
            frames: [0; SLOTS],
            ring: 0,
            command: 0,
            read: 0u16.wrapping_sub(READ_BEHIND),
            written: 0,
            mask: 0,
            causes: 0,
            tx_config: 0,
            rx_config: 0,
            missed: 0,
            config: [0; 16],
            mii_control: reg::MII_CONTROL,
            sending: VecDeque::new(),
            dma_free: Time::ZERO,
            wire_free: Time::ZERO,
            coming: VecDeque::new(),
            counters: AdapterCounters::default(),
        }
    }

    /// Counters so far.
    pub fn counters(&self) -> &AdapterCounters {
        &self.counters
    }

    /// Resets all but address, configuration and the frames on their way.
    fn reset(&mut self) {
        let Adapter { params, address, ref eeprom, dma_free, wire_free, counters, .. } = *self;
        let (eeprom, config) = (eeprom.clone(), self.config);
        let new = Adapter {
            eeprom,
            config,
            dma_free,
            wire_free,
            counters,
            ..Adapter::new(params, address)
        };
        let old = std::mem::replace(self, new);
        // Their times have been asked for.
        (self.sending, self.coming) = (old.sending, old.coming);
    }

    // ---- registers ---------------------------------------------------------------------------------------

    /// The aligned word at `offset`.
    pub fn load(&self, offset: u8) -> u32 {
        let at = offset & !3;
        let pair = |low: u16, high: u16| u32::from(low) | u32::from(high) << 16;
        let bytes = |of: &[u8]| of.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte));
        match at {
            register::ADDRESS => bytes(&self.address[..4]),
            0x04 => bytes(&self.address[4..]),
            register::GROUPS => bytes(&self.groups[..4]),
            0x0C => bytes(&self.groups[4..]),
            0x10..=0x1C => self.status[usize::from(at - register::TX_STATUS) / 4],
            0x20..=0x2C => self.frames[usize::from(at - register::TX_ADDRESS) / 4],
            register::RX_RING => self.ring,
            0x34 => {
                u32::from(self.command | if self.is_empty() { command::EMPTY } else { 0 }) << 24
            }
            register::RX_READ => pair(self.read, self.written),
            register::INTERRUPT_MASK => pair(self.mask, self.causes),
            register::TX_CONFIG => self.tx_config & !reg::VERSION_MASK | reg::VERSION,
            register::RX_CONFIG => self.rx_config,
            register::RX_MISSED => self.missed,
            register::EEPROM => bytes(&[self.eeprom.register(), self.config[1], self.config[2], 0]),
            // Bit 2: the link is down; bit 3: its rate is 10 Mb/s.
            register::MEDIA => bytes(&[0, self.config[9], self.config[10], 0]),
            0x60 => pair(0, self.mii_control),
            register::MII_STATUS => pair(reg::MII_STATUS, reg::MII_OFFERS),
            register::MII_PARTNER => pair(reg::MII_PARTNER, reg::MII_EXPANSION),
            register::LINK => u32::from(reg::LINK),
            _ => 0,
        }
    }

    /// Stores bytes in one register or in several.
    pub fn store(
        &mut self,
        now: Time,
        offset: u8,
        data: &[u8],
        board: &mut impl Board,
    ) -> Result<(), BusError> {
        let mut word = [0; 4];
        let len = data.len().min(4);
        word[..len].copy_from_slice(&data[..len]);
        let value = u32::from_le_bytes(word);
        let (low, high) = (value as u16, (value >> 16) as u16);
        let unlocked = self.eeprom.register() & reg::UNLOCKED == reg::UNLOCKED;
        match offset {
            0x00..=0x05 if unlocked => put(&mut self.address, offset, data),
            0x08..=0x0F => put(&mut self.groups, offset - register::GROUPS, data),
            0x10 | 0x14 | 0x18 | 0x1C => {
                return self.begin(
                    now,
                    usize::from(offset - register::TX_STATUS) / 4,
                    value,
                    board,
                );
            }
            0x20 | 0x24 | 0x28 | 0x2C => {
                self.frames[usize::from(offset - register::TX_ADDRESS) / 4] = value;
            }
            register::RX_RING => self.ring = value,
            register::COMMAND => self.obey(value as u8),
            register::RX_READ => self.read = low,
            register::INTERRUPT_MASK => {
                self.mask = low;
                if len == 4 {
                    self.causes &= !high;
                }
                self.raise(now, board);
            }
            register::INTERRUPT_STATUS => {
                self.causes &= !low;
                self.raise(now, board);
            }
            register::TX_CONFIG => self.tx_config = value,
            register::RX_CONFIG => self.rx_config = value,
            register::RX_MISSED => self.missed = 0,
            register::EEPROM => self.eeprom.store(value as u8),
            0x51..=0x5F if unlocked => {
                self.config[usize::from(offset - register::EEPROM)] = value as u8;
            }
            register::MII_CONTROL if unlocked => self.mii_control = low,
            _ => {}
        }
        Ok(())
    }

    fn obey(&mut self, value: u8) {
        if value & command::RESET != 0 {
            return self.reset();
        }
        let before = self.command;
        self.command = value & (command::RECEIVE | command::TRANSMIT);
        if self.command & !before & command::RECEIVE != 0 {
            (self.read, self.written) = (0u16.wrapping_sub(READ_BEHIND), 0);
        }
    }

    // ---- interrupts --------------------------------------------------------------------------------------

    /// Raises the line if there is a cause that is not masked, also if it is up already: a handler that has
    /// read the causes runs again.
    fn raise(&mut self, now: Time, board: &mut impl Board) {
        if self.causes & self.mask != 0 {
            self.counters.interrupts += 1;
            board.interrupt(now);
        }
    }

    fn cause(&mut self, now: Time, cause: u16, board: &mut impl Board) {
        let before = self.causes & self.mask;
        self.causes |= cause;
        if before == 0 {
            self.raise(now, board);
        }
    }

    // ---- the way out -------------------------------------------------------------------------------------

    /// Sends a slot's frame: it is read from memory behind those before it, and on the wire as soon as that
    /// is free and as much of it is here as the driver wants.
    fn begin(
        &mut self,
        now: Time,
        number: usize,
        value: u32,
        board: &mut impl Board,
    ) -> Result<(), BusError> {
        self.status[number] = value & (slot::LENGTH | slot::EARLY);
        if self.command & command::TRANSMIT == 0 {
            return Ok(());
        }
        let len = u64::from(value & slot::LENGTH);
        let early = u64::from((value & slot::EARLY) >> slot::EARLY_SHIFT) * slot::EARLY_UNIT;
        // None is the same as 8 bytes (data sheet, 6.2).
        let early = early.max(8).min(len);
        let mut bytes = vec![0; len as usize];
        board.read(self.frames[number].into(), &mut bytes)?;
        let AdapterParams { wire, dma_start, dma_rate } = self.params;
        let from = self.dma_free.max(now) + dma_start;
        self.dma_free = from + Duration::of_transfer(len, dma_rate);
        let frame = Frame(bytes.into());
        let start = self.wire_free.max(from + Duration::of_transfer(early, dma_rate));
        let end = start + wire.time(&frame);
        self.wire_free = wire.free(end);
        self.sending.push_back(number);
        self.counters.sent += 1;
        self.counters.sent_bytes += len;
        board.send(end, frame);
        board.sent_at(end);
        Ok(())
    }

    /// Completes the oldest frame, which has left.
    pub fn sent(&mut self, now: Time, board: &mut impl Board) {
        let number = self.sending.pop_front().expect("a frame is being sent");
        self.status[number] |= slot::OWN | slot::SENT;
        self.cause(now, cause::TX_OK, board);
    }

    // ---- the way in --------------------------------------------------------------------------------------

    /// Takes a frame that has arrived completely; the DMA engine writes it to memory.
    pub fn arrive(&mut self, now: Time, frame: Frame, board: &mut impl Board) {
        if self.kind(&frame).is_none() {
            self.counters.others += 1;
            return;
        }
        let AdapterParams { dma_start, dma_rate, .. } = self.params;
        let len = frame.0.len() as u64 + 8;
        self.dma_free = self.dma_free.max(now) + dma_start + Duration::of_transfer(len, dma_rate);
        self.coming.push_back(frame);
        board.moved_at(self.dma_free);
    }

    /// Status bits for a frame's header, if the adapter takes the frame.
    fn kind(&self, frame: &Frame) -> Option<u16> {
        let (target, _) = frame.addresses()?;
        let wanted = |bit| self.rx_config & bit != 0;
        let kind = match target {
            [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF] => {
                wanted(accept::BROADCAST).then_some(received::BROADCAST)
            }
            _ if target[0] & 1 != 0 => {
                (wanted(accept::GROUP) && self.has_group(&target)).then_some(received::GROUP)
            }
            _ if target == self.address => wanted(accept::OWN).then_some(received::OWN),
            _ => None,
        };
        let kind = kind.or_else(|| wanted(accept::ALL).then_some(0));
        kind.filter(|_| self.command & command::RECEIVE != 0)
    }

    /// Tells whether the filter has the bit of a group address: the upper six bits of its check sequence.
    fn has_group(&self, target: &Address) -> bool {
        let bit = (!crc32fast::hash(target)).reverse_bits() >> 26;
        self.groups[bit as usize / 8] >> (bit % 8) & 1 != 0
    }

    fn ring_size(&self) -> u32 {
        8192 << ((self.rx_config & accept::SIZE) >> accept::SIZE_SHIFT)
    }

    /// Position to which the driver has read, in bytes from the start of the ring.
    fn read_to(&self) -> u32 {
        u32::from(self.read.wrapping_add(READ_BEHIND)) % self.ring_size()
    }

    fn is_empty(&self) -> bool {
        self.read_to() == u32::from(self.written)
    }

    /// Completes the oldest received frame, which is in memory.
    pub fn moved(&mut self, now: Time, board: &mut impl Board) -> Result<(), BusError> {
        let frame = self.coming.pop_front().expect("a frame is on its way to memory");
        // A driver that resets the adapter meanwhile does not want it.
        let Some(kind) = self.kind(&frame) else { return Ok(()) };
        let bytes = frame.checked();
        let size = self.ring_size();
        let needs = (HEADER + bytes.len()).next_multiple_of(4) as u32;
        let used = (u32::from(self.written) + size - self.read_to()) % size;
        // A ring that is full would look as one that is empty.
        if used + needs + 4 > size {
            self.missed += 1;
            self.counters.missed += 1;
            self.cause(now, cause::RX_OVERFLOW, board);
            return Ok(());
        }
        let mut record = Vec::with_capacity(needs as usize);
        record.extend_from_slice(&(kind | received::OK).to_le_bytes());
        record.extend_from_slice(&(bytes.len() as u16).to_le_bytes());
        record.extend_from_slice(&bytes);
        let at = u32::from(self.written);
        let whole = self.rx_config & accept::NO_WRAP != 0 && size <= 32 << 10;
        let here = if whole { FRAME_MAX + size } else { size } - at;
        let (first, rest) = record.split_at(record.len().min(here as usize));
        board.write(u64::from(self.ring + at), first)?;
        board.write(self.ring.into(), rest)?;
        self.written = ((at + needs) % size) as u16;
        self.counters.received += 1;
        self.counters.received_bytes += frame.0.len() as u64;
        self.cause(now, cause::RX_OK, board);
        Ok(())
    }
}

/// Stores bytes in a register of several.
fn put(register: &mut [u8], at: u8, data: &[u8]) {
    for (to, from) in register.iter_mut().skip(at.into()).zip(data) {
        *to = *from;
    }
}
