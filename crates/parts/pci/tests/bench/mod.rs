//! The bench: a bus with scripted devices, every cycle under the monitor.

// Each test program uses its part of this.
#![allow(dead_code)]

use bus::Memory;
use pci::{
    register, Bus, Completion, ConfigSpace, Cycle, Device, DeviceIn, DeviceOut, Ended, HostRead,
    Monitor, Operation, Params, Protocol, Request, TargetWrite,
};
use std::collections::VecDeque;

/// Address at which the bench's host puts the first device's region.
pub const REGION: u64 = 0xF000_0000;
/// Bytes of a region.
pub const REGION_BYTES: u32 = 0x1000;
/// Bytes of the host's memory.
pub const MEMORY_BYTES: usize = 1 << 20;

/// A chip that plays a script of transfers and remembers all that was done to it.
#[derive(Default)]
pub struct Chip {
    /// Transfers to request; the words of writes.
    pub script: VecDeque<(Request, Vec<u64>)>,
    /// Writes go on at boundaries.
    pub flowing: bool,
    /// The host's writes are retried.
    pub busy: bool,
    /// Level of the interrupt.
    pub interrupt: bool,
    /// Registers, in words.
    pub registers: Vec<u64>,
    /// Data phases of the host's writes, with the cycle in which each came.
    pub written: Vec<(u64, TargetWrite)>,
    /// Words that were read, with the cycle in which each came.
    pub completions: Vec<(u64, Completion)>,
    /// Writes that are over.
    pub ended: Vec<(u64, Ended)>,
    /// Reads that were accepted.
    pub accepted: Vec<u64>,
    moved: usize,
    read_word: u64,
    cycle: u64,
}

impl Chip {
    pub fn new() -> Chip {
        Chip { flowing: true, registers: vec![0; REGION_BYTES as usize / 8], ..Chip::default() }
    }
    pub fn read(&mut self, addr: u64, words: u16, tag: u8) {
        self.read_bytes(addr, 8 * words, tag);
    }
    pub fn write(&mut self, addr: u64, data: Vec<u64>) {
        let bytes: Vec<u8> = data.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.write_bytes(addr, &bytes);
    }
    pub fn read_bytes(&mut self, addr: u64, bytes: u16, tag: u8) {
        self.script.push_back((Request { operation: Operation::Read, addr, bytes, tag }, vec![]));
    }
    /// A write of bytes anywhere. The other bytes of their words do not matter.
    pub fn write_bytes(&mut self, addr: u64, data: &[u8]) {
        let before = vec![0xEE; (addr % 8) as usize];
        let lanes = [&before, data, &[0xEE; 7]].concat();
        let words = lanes
            .chunks_exact(8)
            .map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes")));
        let words = words.take((addr % 8 + data.len() as u64).div_ceil(8) as usize).collect();
        let bytes = data.len() as u16;
        let request = Request { operation: Operation::Write, addr, bytes, tag: 0 };
        self.script.push_back((request, words));
    }
    /// Rest of a transfer of which so many words have been moved.
    fn rest(&self, request: &Request) -> Request {
        let addr = match self.moved as u64 {
            0 => request.addr,
            moved => (request.addr & !7) + 8 * moved,
        };
        Request { addr, bytes: request.bytes - (addr - request.addr) as u16, ..*request }
    }
}

impl Device for Chip {
    fn outputs(&self) -> DeviceOut {
        let head = self.script.front();
        DeviceOut {
            request: head.map(|(request, _)| self.rest(request)),
            write_word: head.and_then(|(_, data)| data.get(self.moved)).copied().unwrap_or(0),
            write_on: self.flowing,
            read_word: self.read_word,
            busy: self.busy,
            interrupt: self.interrupt,
        }
    }

    fn clock(&mut self, inputs: &DeviceIn) {
        let cycle = self.cycle;
        if let Some(write) = inputs.write {
            self.written.push((cycle, write));
            let word = &mut self.registers[write.offset as usize / 8];
            for lane in (0..8).filter(|lane| write.enables >> lane & 1 == 1) {
                let mask = 0xFF << (8 * lane);
                *word = *word & !mask | write.data & mask;
            }
        }
        if let Some(read) = inputs.read {
            self.read_word = self.registers[read.offset as usize / 8];
        }
        if inputs.accepted {
            self.accepted.push(cycle);
            self.script.pop_front();
        }
        self.completions.extend(inputs.completion.map(|word| (cycle, word)));
        self.moved += usize::from(inputs.took_word);
        if let Some(ended) = inputs.ended {
            self.ended.push((cycle, ended));
            let head = self.script.front().expect("only what was asked for ends");
            if ended.aborted || self.moved == head.1.len() {
                self.moved = 0;
                self.script.pop_front();
            }
        }
        self.cycle += 1;
    }
}

/// A host, its bus, chips and the monitor.
pub struct Bench {
    pub bus: Bus,
    pub chips: Vec<Chip>,
    pub monitor: Monitor,
    pub cycles: Vec<Cycle>,
}

impl Bench {
    /// Bench with `chips` chips, whose regions are enabled, one behind the other from `REGION` on.
    pub fn new(params: Params, chips: usize) -> Bench {
        let pcix = params.protocol == Protocol::Pcix;
        let space = || ConfigSpace::new(0x10EE, 0x0300, 0x02_8000, REGION_BYTES, pcix);
        let spaces = (0..chips).map(|_| space()).collect();
        let mut bench = Bench {
            bus: Bus::new(params, Memory::new(0, MEMORY_BYTES), spaces),
            chips: (0..chips).map(|_| Chip::new()).collect(),
            monitor: Monitor::new(params),
            cycles: Vec::new(),
        };
        for slot in 0..chips as u8 {
            let bar = REGION as u32 + u32::from(slot) * REGION_BYTES;
            assert!(bench.bus.bridge.config_write(slot, register::BAR0, bar, 0xF));
            assert!(bench.bus.bridge.config_write(slot, register::COMMAND, 0b110, 0x3));
        }
        bench.settle();
        bench
    }

    /// A cycle, judged.
    pub fn clock(&mut self) -> Cycle {
        let cycle = self.bus.clock(&mut self.chips);
        if let Err(violation) = self.monitor.judge(&cycle) {
            let from = self.cycles.len().saturating_sub(20);
            panic!("{violation}\n{:#?}", &self.cycles[from..]);
        }
        self.cycles.push(cycle);
        cycle
    }

    /// Runs until nothing is left to do, and a few cycles more.
    pub fn settle(&mut self) {
        let mut rest = 0;
        for _ in 0..200_000 {
            self.clock();
            let still = self.bus.is_quiet() && self.chips.iter().all(|c| c.script.is_empty());
            rest = if still { rest + 1 } else { 0 };
            if rest == 200 {
                return;
            }
        }
        panic!("the bus never comes to rest");
    }

    /// A read by the host, answered.
    pub fn read(&mut self, read: HostRead) -> pci::ReadValue {
        assert!(self.bus.bridge.read(read, 1));
        self.settle();
        self.bus.bridge.answer().expect("a read is answered")
    }
}
