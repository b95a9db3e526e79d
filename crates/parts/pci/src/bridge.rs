//! The host bridge: what the processor has posted, what devices have posted, reads that wait for memory.

use crate::memory::HostMemory;
use crate::{lanes, Burst, Params, Protocol, BLOCK, WORD};
use bus::Memory;
use std::collections::VecDeque;

/// A read by the host's processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostRead {
    /// Read of a device's memory: the lanes of the word at `addr` (a multiple of 8).
    Memory {
        /// Address.
        addr: u64,
        /// Lanes, bit 0 the lowest address.
        enables: u8,
    },
    /// Read of the configuration register at `offset` (a multiple of 4) of a slot's device.
    Config {
        /// Slot.
        slot: u8,
        /// Bytes.
        offset: u8,
    },
}

/// The answer to a [`HostRead`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadValue {
    /// Token under which the read was posted.
    pub token: u64,
    /// The word; all ones if nobody has answered.
    pub data: u64,
    /// True if nobody has answered.
    pub aborted: bool,
}

/// One access of the processor, as it waits for the bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HostOp {
    /// A data phase of a write; `joined` to the one before it.
    Write {
        addr: u64,
        data: u64,
        enables: u8,
        joined: bool,
    },
    Read {
        read: HostRead,
        token: u64,
    },
    ConfigWrite {
        slot: u8,
        offset: u8,
        value: u32,
        enables: u8,
    },
}

/// A device's read on its way through the bridge.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SplitRead {
    pub slot: u8,
    pub tag: u8,
    pub addr: u64,
    pub bytes_left: u16,
    /// First cycle in which data can be on the bus.
    pub ready_at: u64,
    /// Posted writes that must be in memory before: reads push them.
    after: u64,
}

#[derive(Clone, Copy, Debug)]
struct Posted {
    addr: u64,
    data: u64,
    enables: u8,
}

/// The bridge, with the host's memory behind it.
#[derive(Clone, Debug)]
pub struct Bridge<M = Memory> {
    /// The host's memory; the processor sees it at once.
    pub memory: M,
    params: Params,
    host: VecDeque<HostOp>,
    answers: VecDeque<(u64, ReadValue)>,
    pub(crate) splits: VecDeque<SplitRead>,
    posted: VecDeque<Posted>,
    /// Words that devices have posted, and those that are in memory.
    posted_total: u64,
    drained_total: u64,
    /// Memory takes no posted words before this cycle.
    memory_busy_until: u64,
    interrupt: bool,
}

impl<M: HostMemory> Bridge<M> {
    pub(crate) fn new(params: Params, memory: M) -> Bridge<M> {
        Bridge {
            memory,
            params,
            host: VecDeque::with_capacity(usize::from(params.host_queue)),
            answers: VecDeque::new(),
            splits: VecDeque::with_capacity(usize::from(params.splits_max)),
            posted: VecDeque::with_capacity(usize::from(params.posted_words)),
            posted_total: 0,
            drained_total: 0,
            memory_busy_until: 0,
            interrupt: false,
        }
    }

    /// Data phases that the processor can still post.
    pub fn room(&self) -> usize {
        usize::from(self.params.host_queue).saturating_sub(self.host.len())
    }
    /// True if nothing of the processor's waits for the bus.
    pub fn is_quiet(&self) -> bool {
        self.host.is_empty()
    }
    /// Words that devices have posted and memory has not taken yet.
    pub fn posted_words(&self) -> usize {
        self.posted.len()
    }
    /// Level of the host's interrupt line.
    pub fn interrupt(&self) -> bool {
        self.interrupt
    }
    pub(crate) fn set_interrupt(&mut self, level: bool) {
        self.interrupt = level;
    }

    /// Posts a write of the processor's. False if there is no room for all of it.
    pub fn post(&mut self, burst: &Burst) -> bool {
        let per_word = WORD / u64::from(self.params.width);
        if self.room() < usize::from(burst.words) * per_word as usize {
            return false;
        }
        let mut joined = false;
        for word in 0..usize::from(burst.words) {
            let (addr, data) = (burst.addr + WORD * word as u64, burst.data[word]);
            for half in 0..per_word {
                let lanes = if per_word == 1 { 0xFF } else { 0xF << (4 * half) };
                let enables = burst.enables[word] & lanes;
                if enables != 0 {
                    let addr = addr + 4 * half;
                    let joined = joined || self.continues(addr);
                    self.host.push_back(HostOp::Write { addr, data, enables, joined });
                }
                joined = enables != 0;
            }
        }
        true
    }

    /// True if conventional PCI's bridge joins a write at `addr` to the one before it.
    fn continues(&self, addr: u64) -> bool {
        let last = match self.host.back() {
            Some(HostOp::Write { addr, .. }) => *addr,
            _ => return false,
        };
        self.params.joins_writes() && addr == last + u64::from(self.params.width)
    }

    /// Posts a single store of 4 or 8 bytes, naturally aligned.
    pub fn store(&mut self, addr: u64, bytes: &[u8]) -> bool {
        assert!(matches!(bytes.len(), 4 | 8) && addr % bytes.len() as u64 == 0, "a whole register");
        let lane = (addr % WORD) as usize;
        let mut value = [0; 8];
        value[lane..lane + bytes.len()].copy_from_slice(bytes);
        let enables = (((1_u16 << bytes.len()) - 1) << lane) as u8;
        let mut burst = Burst { addr: addr & !7, data: [0; 8], enables: [0; 8], words: 1 };
        (burst.data[0], burst.enables[0]) = (u64::from_le_bytes(value), enables);
        self.post(&burst)
    }

    /// Posts a write of the aligned configuration register at `offset`. False if there is no room.
    pub fn config_write(&mut self, slot: u8, offset: u8, value: u32, enables: u8) -> bool {
        let room = self.room() > 0;
        if room {
            self.host.push_back(HostOp::ConfigWrite { slot, offset: offset & !3, value, enables });
        }
        room
    }

    /// Asks for a read; the answer comes under `token`. False if there is no room. It goes behind all that
    /// the processor has posted, and its answer comes behind all that devices have.
    pub fn read(&mut self, read: HostRead, token: u64) -> bool {
        let room = self.room() > 0;
        if room {
            self.host.push_back(HostOp::Read { read, token });
        }
        room
    }

    /// The next answer to a read.
    pub fn answer(&mut self) -> Option<ReadValue> {
        let (after, _) = self.answers.front()?;
        if self.drained_total < *after {
            return None;
        }
        self.answers.pop_front().map(|(_, value)| value)
    }

    pub(crate) fn push_answer(&mut self, value: ReadValue) {
        self.answers.push_back((self.posted_total, value));
    }
    pub(crate) fn host_head(&self) -> Option<&HostOp> {
        self.host.front()
    }
    /// Data phases of the write at the head: it and those joined to it.
    pub(crate) fn burst_phases(&self) -> u16 {
        let joined = |op: &&HostOp| matches!(op, HostOp::Write { joined: true, .. });
        1 + self.host.iter().skip(1).take_while(joined).count() as u16
    }
    pub(crate) fn pop_host(&mut self) -> Option<HostOp> {
        self.host.pop_front()
    }

    /// Keeps memory busy with others until `cycle`: what devices post waits here.
    pub fn occupy_memory(&mut self, cycle: u64) {
        self.memory_busy_until = cycle;
    }

    /// True if words up to the next 128-byte boundary can be taken from a device.
    pub(crate) fn takes_block(&self) -> bool {
        self.posted.len() + (BLOCK / WORD) as usize <= usize::from(self.params.posted_words)
    }
    pub(crate) fn push_posted(&mut self, addr: u64, data: u64, enables: u8) {
        self.posted.push_back(Posted { addr, data, enables });
        self.posted_total += 1;
    }

    /// Takes in a device's read. False if it must be retried.
    pub(crate) fn open_read(&mut self, slot: u8, tag: u8, addr: u64, bytes: u16, now: u64) -> bool {
        if self.splits.len() >= usize::from(self.params.splits_max) {
            return false;
        }
        // The request's turn-around comes before the latency is counted.
        let ready_at = now + 2 + self.params.split.cycles(lanes::words(addr, bytes));
        let after = self.posted_total;
        self.splits.push_back(SplitRead { slot, tag, addr, bytes_left: bytes, ready_at, after });
        true
    }

    /// The oldest read, if its data can be on the bus `lead` cycles after `now`.
    pub(crate) fn completion_due(&self, now: u64, lead: u64) -> Option<&SplitRead> {
        let due =
            |split: &&SplitRead| split.ready_at <= now + lead && split.after <= self.drained_total;
        self.splits.front().filter(due)
    }

    /// A conventional device's read, and its place, once its data are there.
    pub(crate) fn delayed(&self, slot: u8, now: u64) -> Option<usize> {
        self.splits.iter().position(|split| {
            split.slot == slot && split.ready_at <= now && split.after <= self.drained_total
        })
    }

    /// Next word of the read at `place`, which stays.
    pub(crate) fn peek_word(&self, place: usize) -> u64 {
        let mut bytes = [0; 8];
        let inside = self.memory.read(self.splits[place].addr & !(WORD - 1), &mut bytes);
        inside.expect("the bridge claims only what is memory");
        u64::from_le_bytes(bytes)
    }

    /// Next word of the read at `place`; true with its last.
    pub(crate) fn read_word(&mut self, place: usize) -> (u64, bool) {
        let word = self.peek_word(place);
        let split = &mut self.splits[place];
        split.bytes_left -= lanes::of_run(split.addr, split.bytes_left).count_ones() as u16;
        split.addr = (split.addr & !(WORD - 1)) + WORD;
        let last = split.bytes_left == 0;
        if last {
            self.splits.remove(place);
        }
        (word, last)
    }

    /// A cycle of the memory: one posted word.
    pub(crate) fn clock(&mut self, now: u64) {
        if now < self.memory_busy_until {
            return;
        }
        if let Some(Posted { addr, data, enables }) = self.posted.pop_front() {
            // Lanes of a run of bytes are one run.
            let first = enables.trailing_zeros() as usize;
            let bytes = &data.to_le_bytes()[first..first + enables.count_ones() as usize];
            let inside = self.memory.write(addr + first as u64, bytes);
            inside.expect("the bridge claims only what is memory");
            self.drained_total += 1;
        }
    }

    /// True if reads come back by themselves instead of being requested again.
    pub(crate) fn splits_reads(&self) -> bool {
        self.params.protocol == Protocol::Pcix
    }
}
