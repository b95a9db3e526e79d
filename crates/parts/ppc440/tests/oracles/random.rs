//! Random cases of user-level instructions for the differential tests.

use crate::support::asm::*;
use des::Random;

/// Oracle that runs the cases beside our core; it decides what they can contain.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Oracle {
    /// QEMU's 440 in user mode, big-endian.
    User440,
    /// QEMU's 7400, little-endian. It has none of the 440's own instructions, and multiples and
    /// strings are alignment exceptions there in little-endian mode.
    Little7400,
}

/// Words of input: r0 to r29, CR, XER, LR, CTR.
pub const INPUT_WORDS: u32 = 34;
const MEMORY: u32 = 256;
/// Bytes of a case's block: input, padded to a cache line; memory; output.
pub const BLOCK: u32 = 160 + MEMORY + 160;

/// r30 points to the memory, r31 to the block; neither is ever changed for long.
const MEMORY_BASE: u32 = 30;
const BLOCK_BASE: u32 = 31;
/// Registers that memory instructions use for addresses.
const INDEX: u32 = 28;
const UPDATED: u32 = 29;

pub struct Case {
    pub code: Vec<u32>,
    /// The random instructions that are executed for certain: not those that a branch may skip.
    pub executed: Vec<u32>,
    random_from: usize,
    random_to: usize,
}

/// Name of the word at this offset of a block.
pub fn place(offset: usize) -> String {
    match offset {
        0..160 => format!("input word {}", offset / 4),
        160..416 => format!("memory at {}", offset - 160),
        416..536 => format!("r{}", (offset - 416) / 4),
        536 => "CR".into(),
        540 => "XER".into(),
        544 => "LR".into(),
        548 => "CTR".into(),
        _ => "padding".into(),
    }
}

/// A value that is often an interesting one.
pub fn value(random: &mut Random) -> u32 {
    match random.below(8) {
        0 => 0,
        1 => u32::MAX,
        2 => 0x8000_0000,
        3 => 0x7fff_ffff,
        4 => random.below(40) as u32,
        5 => random.next_u64() as u32 & 0x00ff_ff00,
        6 => random.next_u64() as i16 as u32,
        _ => random.next_u64() as u32,
    }
}

/// RT, RA, RB with OE and Rc: primary opcode, 9-bit extended opcode. Of the multiply-accumulates
/// only unsigned ones are here: in QEMU 7.2 the overflow test of the signed ones is the wrong way
/// round (it takes equal signs for no overflow), and those that neither saturate nor set OE do not
/// write their result. What is missing here is tested against the manual instead
/// (`instructions.rs`).
const ARITHMETIC: [(u32, u32); 16] = [
    (31, 266),
    (31, 10),
    (31, 138),
    (31, 40),
    (31, 8),
    (31, 136),
    (31, 235),
    (31, 491),
    (31, 459),
    (4, 204),
    (4, 76),
    (4, 460),
    // Once more, so that they are not drowned.
    (31, 138),
    (31, 136),
    (31, 491),
    (31, 459),
];
/// Unsigned modulo multiply-accumulates, with OE set (see above).
const ACCUMULATE: [u32; 3] = [140, 12, 396];
/// RT, RA with OE and Rc.
const UNARY: [u32; 5] = [104, 200, 202, 232, 234];
/// RT, RA, RB with Rc.
const MULTIPLY: [(u32, u32); 8] =
    [(31, 75), (31, 11), (4, 168), (4, 136), (4, 40), (4, 8), (4, 424), (4, 392)];
/// RA, RS, RB with Rc.
const LOGIC: [u32; 13] = [28, 60, 476, 124, 444, 412, 316, 284, 24, 536, 792, 824, DLMZB];
const DLMZB: u32 = 78;
/// RA, RS with Rc.
const EXTEND: [u32; 3] = [954, 922, 26];
const IMMEDIATE: [u32; 13] = [7, 8, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 14];
const CR_LOGIC: [u32; 8] = [257, 129, 289, 225, 33, 449, 417, 193];
/// Loads and stores with displacement, without update; bytes they move.
const DISPLACED: [(u32, u32); 7] = [(34, 1), (40, 2), (42, 2), (32, 4), (38, 1), (44, 2), (36, 4)];
/// Indexed ones.
const INDEXED: [(u32, u32); 11] = [
    (87, 1),
    (279, 2),
    (343, 2),
    (23, 4),
    (790, 2),
    (534, 4),
    (215, 1),
    (407, 2),
    (151, 4),
    (918, 2),
    (662, 4),
];
/// Indexed ones with update.
const INDEXED_UPDATE: [(u32, u32); 7] =
    [(119, 1), (311, 2), (375, 2), (55, 4), (247, 1), (439, 2), (183, 4)];

struct Generator<'a> {
    oracle: Oracle,
    random: &'a mut Random,
    code: Vec<u32>,
    executed: Vec<u32>,
    start: u32,
    block: u32,
}

impl Generator<'_> {
    fn below(&mut self, bound: u32) -> u32 {
        self.random.below(bound.into()) as u32
    }
    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.random.below(from.len() as u64) as usize]
    }
    /// Any register that may be changed.
    fn reg(&mut self) -> u32 {
        self.below(30)
    }
    fn low(&mut self) -> u32 {
        self.below(28)
    }
    fn pick_where<T: Copy>(&mut self, from: &[T], fits: impl Fn(&T, Oracle) -> bool) -> T {
        loop {
            let picked = self.pick(from);
            if fits(&picked, self.oracle) {
                return picked;
            }
        }
    }
    fn flag(&mut self) -> u32 {
        self.below(2)
    }
    fn imm(&mut self) -> i32 {
        value(self.random) as i16 as i32
    }
    /// An offset into the memory at which `size` bytes fit.
    fn offset(&mut self, size: u32) -> i32 {
        self.below(MEMORY - size + 1) as i32
    }
    fn pc(&self) -> u32 {
        self.start + 4 * self.code.len() as u32
    }
    fn push(&mut self, word: u32) {
        self.code.push(word);
        self.executed.push(word);
    }
    /// An address; not counted.
    fn constant(&mut self, register: u32, value: u32) {
        self.code.push(lis(register, value >> 16));
        self.code.push(ori(register, register, value & 0xffff));
    }

    fn instruction(&mut self) {
        let (rt, ra, rb) = (self.reg(), self.reg(), self.reg());
        match self.below(21) {
            0..=3 => {
                let (op, xo) = self.pick_where(&ARITHMETIC, |&(op, _), oracle| has(oracle, op));
                let form = self.flag() << 10 | self.flag();
                self.push(x(op, rt, ra, rb, xo) | form);
            }
            4 => {
                let xo = self.pick(&UNARY);
                let form = self.flag() << 10 | self.flag();
                self.push(x(31, rt, ra, 0, xo) | form);
            }
            5 => {
                let record = self.flag();
                let word = if has(self.oracle, 4) && self.below(4) == 0 {
                    x(4, rt, ra, rb, self.pick(&ACCUMULATE)) | 1 << 10
                } else {
                    let (op, xo) = self.pick_where(&MULTIPLY, |&(op, _), oracle| has(oracle, op));
                    x(op, rt, ra, rb, xo)
                };
                self.push(word | record);
            }
            6 | 7 => {
                let xo =
                    self.pick_where(&LOGIC, |&xo, oracle| xo != DLMZB || oracle == Oracle::User440);
                let record = self.flag();
                self.push(x(31, rt, ra, rb, xo) | record);
            }
            8 => {
                let xo = self.pick(&EXTEND);
                let record = self.flag();
                self.push(x(31, rt, ra, 0, xo) | record);
            }
            9 | 10 => {
                let op = self.pick(&IMMEDIATE);
                let imm = self.imm();
                self.push(d(op, rt, ra, imm));
            }
            11 | 12 => {
                let op = self.pick(&[20, 21, 23]);
                let fields = self.below(1 << 11);
                self.push(op << 26 | rt << 21 | ra << 16 | rb << 11 | fields);
            }
            13 => self.compare(ra, rb),
            14 | 15 => self.condition(rt),
            16 => self.branch(),
            17 => self.trap(ra),
            _ => self.memory(),
        }
    }

    fn compare(&mut self, ra: u32, rb: u32) {
        let field = self.below(8) << 2;
        let imm = self.imm();
        let word = match self.below(4) {
            0 => d(11, field, ra, imm),
            1 => d(10, field, ra, imm),
            2 => x(31, field, ra, rb, 0),
            _ => x(31, field, ra, rb, 32),
        };
        self.push(word);
    }

    fn condition(&mut self, rt: u32) {
        let (a, b, c) = (self.below(32), self.below(32), self.below(32));
        match self.below(8) {
            0..=2 => {
                let xo = self.pick(&CR_LOGIC);
                self.push(x(19, a, b, c, xo));
            }
            3 => self.push(x(19, a & 28, b & 28, 0, 0)),
            4 => self.push(x(31, a & 28, 0, 0, 512)),
            5 => self.push(x(31, rt, 0, 0, 19)),
            6 => {
                let fields = self.below(256);
                self.push(31 << 26 | rt << 21 | fields << 12 | 144 << 1);
            }
            _ => {
                let number = self.pick(&[1, 8, 9]);
                if self.flag() == 0 {
                    return self.push(mfspr(rt, number));
                }
                if number == 1 {
                    // QEMU keeps XER's reserved bits.
                    self.push(keep_xer(rt));
                }
                self.push(mtspr(number, rt));
            }
        }
    }

    /// A branch over one or two instructions.
    fn branch(&mut self) {
        let link = self.flag();
        let bo = self.pick(&[0, 2, 4, 8, 10, 12, 16, 18, 20, 5, 13, 1, 3, 9, 11, 17, 19]);
        let bi = self.below(32);
        let over = 4 + 4 * self.below(2) as i32 + 4;
        match self.below(4) {
            0 => {
                let target = self.pc() + over as u32;
                let absolute = target < 0x0200_0000 && self.flag() != 0;
                self.push(if absolute { b(target as i32) | 2 } else { b(over) } | link);
            }
            1 => self.push(bc(bo, bi, over) | link),
            kind => {
                // To a register: the target is behind the branch and one or two instructions.
                let target = self.pc() + 12 + over as u32;
                self.constant(INDEX, target);
                let (number, xo) = if kind == 2 { (8, 16) } else { (9, 528) };
                self.push(mtspr(number, INDEX));
                // A branch to CTR must not count CTR.
                let bo = if kind == 2 { bo } else { bo | 4 };
                self.push(x(19, bo, bi, 0, xo) | link);
            }
        }
        for _ in 0..over / 4 - 1 {
            let (rt, ra, imm) = (self.reg(), self.reg(), self.imm());
            self.code.push(d(14, rt, ra, imm));
        }
    }

    /// A trap that is not taken: there is nobody to handle it.
    fn trap(&mut self, ra: u32) {
        let to = self.below(32);
        if self.flag() == 0 {
            return self.push(x(31, to & !4, ra, ra, 4));
        }
        let (value, imm) = (self.imm(), self.imm());
        self.push(li(INDEX, value));
        let (low, unsigned) = (value.cmp(&imm), (value as u32).cmp(&(imm as u32)));
        let mut holds = if low.is_eq() { 4 } else { 0 };
        holds |= if low.is_lt() { 16 } else { 0 } | if low.is_gt() { 8 } else { 0 };
        holds |= if unsigned.is_lt() { 2 } else { 0 } | if unsigned.is_gt() { 1 } else { 0 };
        self.push(d(3, to & !holds, INDEX, imm));
    }

    fn memory(&mut self) {
        let rt = self.low();
        let little = self.oracle == Oracle::Little7400;
        match self.below(12) {
            0..=2 => {
                let (op, size) = self.pick(&DISPLACED);
                let offset = self.offset(size);
                self.push(d(op, rt, MEMORY_BASE, offset));
            }
            3 => {
                let (op, size) = self.pick(&DISPLACED);
                let (base, offset) = (self.imm(), self.offset(size));
                // UPDATED + base is the address.
                let address = self.block + 160 + offset as u32;
                self.constant(UPDATED, address.wrapping_sub(base as u32));
                self.push(d(op + 1, rt, UPDATED, base));
            }
            4..=6 => {
                let (xo, size) = self.pick(&INDEXED);
                let offset = self.offset(size);
                self.push(li(INDEX, offset));
                let word = if self.flag() == 0 {
                    x(31, rt, MEMORY_BASE, INDEX, xo)
                } else {
                    // RA = 0: the address is in RB alone.
                    self.push(add(INDEX, INDEX, MEMORY_BASE));
                    x(31, rt, 0, INDEX, xo)
                };
                self.push(word);
            }
            7 => {
                let (xo, size) = self.pick(&INDEXED_UPDATE);
                let offset = self.offset(size);
                self.push(li(INDEX, offset));
                self.push(addi(UPDATED, MEMORY_BASE, 0));
                self.push(x(31, rt, UPDATED, INDEX, xo));
            }
            8 if !little => self.multiple(),
            9 | 10 if !little => self.string(),
            _ => self.special_memory(rt),
        }
    }

    fn multiple(&mut self) {
        let rt = 12 + self.below(18);
        let offset = self.offset(4 * (32 - rt));
        let op = 46 + self.flag();
        self.push(d(op, rt, MEMORY_BASE, offset));
        if op == 46 {
            let block = self.block;
            self.constant(MEMORY_BASE, block + 160);
            self.constant(BLOCK_BASE, block);
        }
    }

    fn string(&mut self) {
        let rt = self.below(20);
        let count = 1 + self.below(32);
        let offset = self.offset(count);
        let store = self.flag();
        if self.flag() == 0 {
            self.push(addi(UPDATED, MEMORY_BASE, offset));
            self.push(x(31, rt, UPDATED, count & 31, if store == 1 { 725 } else { 597 }));
        } else {
            self.push(li(INDEX, count as i32));
            self.push(mtspr(1, INDEX));
            self.push(li(INDEX, offset));
            self.push(x(31, rt, MEMORY_BASE, INDEX, if store == 1 { 661 } else { 533 }));
        }
    }

    /// lwarx with stwcx., stwcx. without a reservation, cache operations.
    fn special_memory(&mut self, rt: u32) {
        let offset = self.offset(4) & !3;
        self.push(li(INDEX, offset));
        match self.below(6) {
            0 => {
                self.push(x(31, rt, MEMORY_BASE, INDEX, 20));
                let value = self.low();
                self.push(x(31, value, MEMORY_BASE, INDEX, 150) | 1);
            }
            1 => self.push(x(31, rt, MEMORY_BASE, INDEX, 150) | 1),
            2 => self.push(x(31, 0, MEMORY_BASE, INDEX, 1014)),
            3 => {
                let word = self.pick(&[MSYNC, MBAR, ISYNC]);
                self.push(word);
            }
            _ => {
                // dcbf, dcbst, dcbt, dcbtst, icbi, dcba; icbt as Book E encodes it.
                let all = [86, 54, 278, 246, 982, 758, 22];
                let xo = self.pick_where(&all, |&xo, oracle| xo != 22 || oracle == Oracle::User440);
                self.push(x(31, 0, MEMORY_BASE, INDEX, xo));
            }
        }
    }
}

/// True if the oracle has the instructions of this primary opcode.
fn has(oracle: Oracle, op: u32) -> bool {
    op != 4 || oracle == Oracle::User440
}

/// rlwinm that leaves the bits of `register` that XER implements (mask from bit 25 round to bit 2).
fn keep_xer(register: u32) -> u32 {
    21 << 26 | register << 21 | register << 16 | 25 << 6 | 2 << 1
}

impl Case {
    /// A case of about `length` random instructions that will be at `start`, with its data at
    /// `block`.
    pub fn new(oracle: Oracle, random: &mut Random, block: u32, start: u32, length: usize) -> Case {
        let (code, executed) = (Vec::new(), Vec::new());
        let mut g = Generator { oracle, random, code, executed, start, block };
        g.constant(BLOCK_BASE, block);
        for (index, number) in [(31, 1), (32, 8), (33, 9)] {
            g.push(lwz(0, 4 * index, BLOCK_BASE));
            if number == 1 {
                g.push(keep_xer(0));
            }
            g.push(mtspr(number, 0));
        }
        g.push(lwz(0, 4 * 30, BLOCK_BASE));
        g.push(31 << 26 | 0xff << 12 | 144 << 1);
        for register in 0..30 {
            g.push(lwz(register, 4 * register as i32, BLOCK_BASE));
        }
        g.push(addi(MEMORY_BASE, BLOCK_BASE, 160));
        let random_from = g.code.len();
        g.executed.clear();
        while g.code.len() < random_from + length {
            g.instruction();
        }
        let random_to = g.code.len();
        let executed = std::mem::take(&mut g.executed);
        let out = 160 + MEMORY as i32;
        for register in 0..30 {
            g.push(stw(register, out + 4 * register as i32, BLOCK_BASE));
        }
        g.push(x(31, 0, 0, 0, 19));
        g.push(stw(0, out + 120, BLOCK_BASE));
        for (index, number) in [(31, 1), (32, 8), (33, 9)] {
            g.push(mfspr(0, number));
            g.push(stw(0, out + 4 * index, BLOCK_BASE));
        }
        Case { code: g.code, executed, random_from, random_to }
    }
    /// The random instructions as words, for a failure message.
    pub fn listing(&self) -> String {
        let words = &self.code[self.random_from..self.random_to];
        let lines: Vec<_> = words.iter().map(|word| format!("  .long {word:#010x}")).collect();
        format!(
            "the instructions (disassemble with objdump -D -b binary -m powerpc:440):\n{}",
            lines.join("\n")
        )
    }
}
