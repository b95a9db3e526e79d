//! Random cases of system instructions: special registers, MSR, translation, exceptions. A case
//! begins and ends in supervisor mode, address space 0; in between it goes to user mode, to the
//! other address space and through pages of the TLB and back. Exceptions are part of it: `bamboo`
//! has the handlers.

mod pages;
mod registers;

use crate::random::value;
use crate::support::asm::*;
use des::Random;
use ppc440::{spr, MSR_CE, MSR_DE, MSR_DS, MSR_EE, MSR_IS, MSR_ME, MSR_PR};
use registers::{KEPT, STORED};

/// Words of input: r0 to r27, CR, XER, LR, CTR.
pub const INPUT_WORDS: u32 = 32;
const OUTPUT: i32 = 128;
/// Bytes of a case's block: input, output.
pub const BLOCK: u32 = 128 + 256;
/// Memory that pages show: 1 MB.
pub const FRAMES: u32 = 0x0300_0000;
pub const FRAMES_LEN: u32 = 1 << 20;
/// MSR of a case's begin and end, and of what follows `sc` or a failed fetch.
pub const BASE_MSR: u32 = MSR_ME;
/// Register with the address at which the handlers of `sc` and failed fetches go on.
pub const RECOVERY: u32 = spr::SPRG0 + 7;
/// Vectors are at IVPR, one of these, plus IVOR.
pub const BANKS: [u32; 2] = [0x1_0000, 0x2_0000];

/// Registers that hold addresses and constants, and the block.
const ADDRESS: u32 = 28;
const INDEX: u32 = 29;
const CONSTANT: u32 = 30;
const BLOCK_BASE: u32 = 31;

/// The TLB as the program has written it so far: what is needed to keep translations unique.
#[derive(Clone, Copy, Default)]
struct Entry {
    valid: bool,
    space: u32,
    tid: u32,
}

/// State that lasts from case to case, and what a case is made with.
pub struct Generator {
    pub random: Random,
    /// No page is cached: `dccci` loses nothing, and `dcbz` is an alignment exception.
    inhibited: bool,
    code: Vec<u32>,
    executed: Vec<u32>,
    start: u32,
    tlb: [Entry; 64],
    msr: u32,
}

pub struct Case {
    pub code: Vec<u32>,
    /// Instructions of the body that are executed for certain, or raise an exception.
    pub executed: Vec<u32>,
}

/// Name of the word at this offset of a block.
pub fn place(offset: usize) -> String {
    match (offset as i32 - OUTPUT) / 4 {
        _ if offset < OUTPUT as usize => format!("input word {}", offset / 4),
        register @ 0..28 => format!("r{register}"),
        28 => "CR".into(),
        29 => "XER".into(),
        30 => "LR".into(),
        31 => "CTR".into(),
        special @ 32..53 => format!("SPR {}", STORED[special as usize - 32]),
        53 => "MSR".into(),
        word @ 54..57 => format!("word {} of a TLB entry", word - 54),
        57 => "MMUCR after tlbre".into(),
        _ => "padding".into(),
    }
}

impl Generator {
    pub fn new(seed: u64, inhibited: bool) -> Generator {
        Generator {
            random: Random::new(seed),
            inhibited,
            code: Vec::new(),
            executed: Vec::new(),
            start: 0,
            tlb: [Entry::default(); 64],
            msr: BASE_MSR,
        }
    }
    fn below(&mut self, bound: u32) -> u32 {
        self.random.below(bound.into()) as u32
    }
    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.random.below(from.len() as u64) as usize]
    }
    fn flag(&mut self) -> bool {
        self.below(2) != 0
    }
    fn reg(&mut self) -> u32 {
        self.below(28)
    }
    fn pc(&self) -> u32 {
        self.start + 4 * self.code.len() as u32
    }
    fn push(&mut self, word: u32) {
        self.code.push(word);
        self.executed.push(word);
    }
    /// An address or a register's new value; not counted.
    fn constant(&mut self, register: u32, value: u32) {
        self.code.push(lis(register, value >> 16));
        self.code.push(ori(register, register, value & 0xffff));
    }
    fn set(&mut self, number: u32, value: u32) {
        self.constant(CONSTANT, value);
        self.push(mtspr(number, CONSTANT));
    }
    fn user(&self) -> bool {
        self.msr & MSR_PR != 0
    }

    /// A case that will be at `start`, with its data at `block`.
    pub fn case(&mut self, start: u32, block: u32, length: usize) -> Case {
        self.start = start;
        self.code.clear();
        self.constant(BLOCK_BASE, block);
        for (index, number) in [(29, 1), (30, 8), (31, 9)] {
            self.push(lwz(0, 4 * index, BLOCK_BASE));
            if number == 1 {
                self.push(keep_xer(0));
            }
            self.push(mtspr(number, 0));
        }
        self.push(lwz(0, 4 * 28, BLOCK_BASE));
        self.push(31 << 26 | 0xff << 12 | 144 << 1);
        for register in 0..28 {
            self.push(lwz(register, 4 * register as i32, BLOCK_BASE));
        }
        self.executed.clear();
        let from = self.code.len();
        while self.code.len() < from + length {
            self.operation();
        }
        self.back();
        let executed = std::mem::take(&mut self.executed);
        self.store();
        Case { code: std::mem::take(&mut self.code), executed }
    }

    /// Stores the state into the block.
    fn store(&mut self) {
        for register in 0..28 {
            self.push(stw(register, OUTPUT + 4 * register as i32, BLOCK_BASE));
        }
        let mut at = OUTPUT + 4 * 28;
        let mut next = |generator: &mut Generator, word: u32| {
            generator.push(word);
            generator.push(stw(0, at, BLOCK_BASE));
            at += 4;
        };
        next(self, x(31, 0, 0, 0, 19));
        for number in [1, 8, 9].into_iter().chain(STORED) {
            next(self, mfspr(0, number));
        }
        next(self, MFMSR);
        let entry = self.below(64);
        self.push(li(1, entry as i32));
        for word in 0..3 {
            next(self, x(31, 0, 1, word, 946));
        }
        next(self, mfspr(0, spr::MMUCR));
    }

    /// Back to supervisor mode and address space 0.
    fn back(&mut self) {
        let next = self.pc() + 4 * 4;
        if self.user() {
            // RECOVERY was set on the way into user mode.
            let end = self.code.len();
            self.push(SC);
            self.patch(end + 1);
        } else {
            self.set(RECOVERY, next);
            self.push(SC);
        }
        self.msr = BASE_MSR;
    }

    /// Lets the constant that was last loaded for RECOVERY be the address of instruction `index`.
    fn patch(&mut self, index: usize) {
        let address = self.start + 4 * index as u32;
        let mark = |word: u32, half: u32| word & 0xffff_0000 == half & 0xffff_0000;
        let (high, low) = (lis(CONSTANT, PENDING >> 16), ori(CONSTANT, CONSTANT, 0));
        let at = (0..self.code.len() - 1)
            .rev()
            .find(|&at| self.code[at] == high && mark(self.code[at + 1], low))
            .unwrap();
        self.code[at] = lis(CONSTANT, address >> 16);
        self.code[at + 1] = ori(CONSTANT, CONSTANT, address & 0xffff);
    }

    fn operation(&mut self) {
        match self.below(20) {
            0..=2 => self.arithmetic(),
            3..=8 => self.access(),
            9 => self.trap(),
            10 => self.user_special(),
            _ if self.user() => match self.below(4) {
                0 => self.back(),
                _ => self.forbidden(),
            },
            11 | 12 => self.special(),
            13 => self.machine_state(),
            14..=16 => self.tlb_write(),
            17 => self.tlb_look(),
            18 => self.fetch_elsewhere(),
            _ => match self.below(6) {
                0 => self.vectors(),
                1 => self.timer(),
                2 => self.back(),
                3 => self.synchronise(),
                _ => self.enter_user_mode(),
            },
        }
    }

    fn arithmetic(&mut self) {
        let (rt, ra, rb) = (self.reg(), self.reg(), self.reg());
        let xo = self.pick(&[266, 10, 138, 40, 316, 235, 24]);
        let record = self.below(2);
        self.push(x(31, rt, ra, rb, xo) | record);
    }

    fn trap(&mut self) {
        let (to, ra, rb) = (self.below(32), self.reg(), self.reg());
        let imm = value(&mut self.random) as i32;
        let word = if self.flag() { x(31, to, ra, rb, 4) } else { d(3, to, ra, imm) };
        self.push(word);
    }

    /// Special registers that a user may use.
    fn user_special(&mut self) {
        let rt = self.reg();
        let word = match self.below(3) {
            0 => mfspr(rt, 260 + self.below(3)),
            1 => mfspr(rt, spr::USPRG0),
            _ => mtspr(spr::USPRG0, rt),
        };
        self.push(word);
    }

    fn special(&mut self) {
        let (rt, rs) = (self.reg(), self.reg());
        match self.below(8) {
            0 => {
                let pid = self.below(4);
                self.set(spr::PID, pid);
                self.push(mfspr(rt, spr::PID));
            }
            1 => {
                // The lower half would be counted before it is read.
                self.push(li(CONSTANT, 0));
                self.push(mtspr(spr::TBL, CONSTANT));
                self.push(mtspr(spr::TBU, rs));
                // As mftb it differs in the extended opcode, 371 for 339.
                let as_mftb = if self.flag() { (371 ^ 339) << 1 } else { 0 };
                self.push(mfspr(rt, spr::TBU_READ) ^ as_mftb);
            }
            _ => {
                let (number, bits) = self.pick(&KEPT);
                if !self.inhibited && matches!(number, 880..=883 | 912..=915) {
                    // The caches' next victims change by themselves.
                    return;
                }
                if bits == u32::MAX {
                    self.push(mtspr(number, rs));
                } else {
                    let value = value(&mut self.random) & bits;
                    self.set(number, value);
                }
                self.push(mfspr(rt, number));
            }
        }
    }

    /// An MSR that a supervisor may be in.
    fn new_msr(&mut self) -> u32 {
        // EE finds no interrupt pending; CE and DE have no source.
        let bits = [MSR_EE, MSR_CE, MSR_DE, MSR_DS, MSR_IS, 0x2000, 0x800, 0x400, 0x100];
        let mut msr = BASE_MSR;
        for bit in bits {
            msr |= if self.below(3) == 0 { bit } else { 0 };
        }
        msr
    }

    fn machine_state(&mut self) {
        let (rt, rs) = (self.reg(), self.reg());
        match self.below(5) {
            0 => self.push(MFMSR | rt << 21),
            1 => {
                self.push(WRTEE | rs << 21);
                self.push(MFMSR | rt << 21);
            }
            2 => {
                let bit = self.below(2) << 15;
                self.push(WRTEEI | bit);
                self.push(MFMSR | rt << 21);
            }
            3 => {
                self.msr = self.new_msr();
                self.constant(CONSTANT, self.msr);
                self.push(MTMSR | CONSTANT << 21);
                self.push(ISYNC);
                self.push(MFMSR | rt << 21);
            }
            _ => {
                self.msr = self.new_msr();
                let msr = self.msr;
                let behind = self.pc() + 4 * 7;
                self.return_to(behind, msr);
            }
        }
    }

    /// One of the three returns from interrupts, seven instructions.
    fn return_to(&mut self, address: u32, msr: u32) {
        let (pc, state, word) = self.pick(&[
            (spr::SRR0, spr::SRR1, RFI),
            (spr::CSRR0, spr::CSRR1, RFCI),
            (spr::MCSRR0, spr::MCSRR1, RFMCI),
        ]);
        self.set(pc, address);
        self.set(state, msr);
        self.push(word);
    }

    fn enter_user_mode(&mut self) {
        // The address at which to go on is known only at the end of the stay.
        self.set(RECOVERY, PENDING);
        self.msr = self.new_msr() | MSR_PR;
        let msr = self.msr;
        let behind = self.pc() + 4 * 7;
        self.return_to(behind, msr);
    }

    /// Generates an instruction that a user may not execute.
    fn forbidden(&mut self) {
        let (rt, ra) = (self.reg(), self.reg());
        let (number, _) = self.pick(&KEPT[..8]);
        let dcr = 31 << 26 | rt << 21 | ra << 16;
        let word = self.pick(&[
            MFMSR | rt << 21,
            MTMSR | rt << 21,
            WRTEE | rt << 21,
            WRTEEI,
            WRTEEI | 0x8000,
            mfspr(rt, number),
            mtspr(number, rt),
            mtspr(spr::PID, rt),
            mfspr(rt, spr::IVPR),
            RFI,
            RFCI,
            RFMCI,
            x(31, rt, ra, 0, 946),
            x(31, rt, ra, 1, 978),
            x(31, rt, 0, ra, 914),
            TLBSYNC,
            DCCCI,
            ICCCI,
            x(31, 0, 0, ra, 470), // dcbi
            dcr | 323 << 1,       // mfdcr
            dcr | 451 << 1,       // mtdcr
        ]);
        self.push(word);
    }

    fn synchronise(&mut self) {
        let words = [ISYNC, MSYNC, MBAR, TLBSYNC, ICCCI, DCCCI];
        let known = if self.inhibited { 6 } else { 5 };
        let word = self.pick(&words[..known]);
        self.push(word);
    }

    /// Other vectors: both banks, three places for each.
    fn vectors(&mut self) {
        let (bank, rt) = (self.pick(&BANKS), self.reg());
        self.set(spr::IVPR, bank);
        let number = self.pick(&[2, 3, 5, 6, 8, 10, 11, 13, 14]);
        let place = self.below(3);
        self.set(spr::IVOR0 + number, 0x1000 * place + 0x100 * number);
        self.push(mfspr(rt, spr::IVOR0 + number));
    }

    /// Waits until the decrementer has ended, then lets the interrupt come, if it is enabled.
    fn timer(&mut self) {
        let (rt, enabled) = (self.reg(), self.flag());
        self.push(WRTEEI);
        self.set(spr::TCR, if enabled { 0x0400_0000 } else { 0 });
        self.set(spr::TSR, DIS);
        // QEMU takes less than 3 for an interrupt at once, without TSR.
        let ticks = 3 + self.below(50);
        self.set(spr::DEC, ticks);
        self.constant(ADDRESS, DIS);
        // Until the bit is there.
        self.code.extend([
            mfspr(CONSTANT, spr::TSR),
            x(31, CONSTANT, CONSTANT, ADDRESS, 28) | 1, // and.
            bc(12, 2, -8),
        ]);
        self.executed.extend([mfspr(CONSTANT, spr::TSR), bc(12, 2, -8)]);
        self.push(x(31, CONSTANT, rt, 0, 444)); // or rt, CONSTANT, r0
        self.push(WRTEEI | 0x8000);
        self.push(WRTEEI);
        self.set(spr::TCR, 0);
        self.set(spr::TSR, DIS);
        let msr = self.msr;
        self.constant(CONSTANT, msr);
        self.push(MTMSR | CONSTANT << 21);
    }

    fn block(&self) -> u32 {
        // The first two instructions of the case load it.
        self.code[0] << 16 | self.code[1] & 0xffff
    }
}

/// Placeholder of an address that is not known yet.
const PENDING: u32 = 0xdead_0000;

/// TSR: the decrementer has ended.
const DIS: u32 = 0x0800_0000;

const MFMSR: u32 = 31 << 26 | 83 << 1;
const MTMSR: u32 = 31 << 26 | 146 << 1;
const WRTEE: u32 = 31 << 26 | 131 << 1;
const WRTEEI: u32 = 31 << 26 | 163 << 1;
const RFCI: u32 = 19 << 26 | 51 << 1;
const RFMCI: u32 = 19 << 26 | 38 << 1;
const TLBSYNC: u32 = 31 << 26 | 566 << 1;
const DCCCI: u32 = 31 << 26 | 454 << 1;
const ICCCI: u32 = 31 << 26 | 966 << 1;

/// rlwinm that leaves the bits of `register` that XER implements (mask from bit 25 round to bit 2).
fn keep_xer(register: u32) -> u32 {
    21 << 26 | register << 21 | register << 16 | 25 << 6 | 2 << 1
}
