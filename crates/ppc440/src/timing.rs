//! When instructions issue: the one place of the timing rules.
//!
//! The core issues in order, up to two instructions a cycle, each to a pipe of its own: I (complex
//! integer, branches, everything that touches CR, XER or the system), J (simple integer) and L
//! (loads and stores). An instruction issues when its sources are ready and a pipe is free. A
//! result is ready a latency after the issue, the latency being that of the instruction's class; a
//! load that misses says so itself (`Pipeline::late`). The I pipe is blocked while it divides.
//! Fetch never limits, but for cache misses, taken and mispredicted branches. Not modelled, because
//! nothing public tells their rules: the J pipe's refusal of instructions that follow an I-pipe
//! stall, and conflicts on the result buses.

use crate::decode::Op;

/// Parameters of the timing model, in core cycles unless said otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Result latency of a simple integer instruction (I or J pipe).
    pub simple: u8,
    /// Result latency of a load that hits: a use can issue this many cycles after the load.
    pub load: u8,
    /// Latency of the updated base register of a load or store with update.
    pub update: u8,
    /// From a compare, a record form or a CR operation to a use of the condition register field.
    pub compare: u8,
    /// From a record form of a 16-bit multiplication or multiply-accumulate to a use of CR0.
    pub record_half: u8,
    /// From a record form of a 32-bit multiplication or division, stwcx. or tlbsx. to a use of CR0.
    pub record_long: u8,
    /// Result latency of a 32 x 32 bit multiplication.
    pub multiply: u8,
    /// Result latency of a 16-bit multiplication and of a multiply-accumulate.
    pub multiply_half: u8,
    /// Result latency of a division.
    pub divide: u8,
    /// Cycles for which a division occupies the I pipe.
    pub divide_busy: u8,
    /// From a move to LR or CTR to a use.
    pub move_to_branch: u8,
    /// From a move from LR, CTR, CR, XER, MSR or another SPR to a use.
    pub move_from_special: u8,
    /// From mtcrf to a use of the condition register.
    pub move_to_cr: u8,
    /// From a taken branch, predicted right, to the next instruction, beyond the one cycle of its
    /// issue.
    pub taken: u8,
    /// The same if the BTAC holds the branch.
    pub taken_btac: u8,
    /// From the issue of a mispredicted branch to the issue of the next instruction.
    pub mispredict: u8,
    /// From the issue of a context-synchronising instruction, or an exception, to the next
    /// instruction.
    pub synchronise: u8,
    /// Entries of the branch history table; a power of two.
    pub bht_entries: u16,
    /// Entries of each of the two arrays (even, odd) of the BTAC; a power of two, at most 8.
    pub btac_entries: u8,
    /// Line fills that the data cache can have outstanding, 1 to 4.
    pub line_fills: u8,
    /// Loads that can wait for the bus before the next one waits for its turn, 1 to 8.
    pub load_slots: u8,
    /// Writes on the bus that can be outstanding before the next one waits, 1 to 8.
    pub write_slots: u8,
    /// From a store that goes to the bus to the request for its write, which others can join until
    /// then; 0 for no gathering.
    pub gather: u8,
}

/// Where an instruction can execute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Pipe {
    /// Simple integer: I or J.
    IJ = 0,
    /// Load or store.
    L = 1,
    /// Only the I pipe.
    I = 2,
    /// The I pipe, alone, after everything before it.
    Alone = 3,
}

/// Latency class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Class {
    Simple,
    /// Loads and stores.
    Load,
    /// Compares, CR operations, traps.
    Compare,
    /// 32 x 32 bits.
    Mul32,
    /// 16 bits, and multiply-accumulate.
    Mul16,
    Divide,
    Branch,
    /// Moves to LR, CTR and other special registers.
    ToBranch,
    /// Moves from special registers.
    From,
    ToCr,
    /// stwcx.
    StoreIf,
    System,
}

/// Registers whose readiness is tracked: 0 to 31 are the general registers.
pub(crate) mod reg {
    /// Always ready.
    pub const ZERO: u8 = 32;
    /// Condition register fields 0 to 7.
    pub const CR: u8 = 33;
    pub const LR: u8 = 41;
    pub const CTR: u8 = 42;
    /// The I pipe's divider.
    pub const DIVIDER: u8 = 43;
    /// Written by instructions without (another) result, never read.
    pub const SINK: u8 = 44;
}

const I: u64 = 1;
const J: u64 = 2;
const L: u64 = 4;

/// Where in the stream of issue: eight times the cycle, and the pipes taken in it. The later of two
/// places is their maximum, and one in which a result gets ready has no pipe taken.
type Slot = u64;

const fn slot(cycle: u64) -> Slot {
    cycle << 3
}

/// By kind of instruction: from a slot, by the pipes taken in it (four bits each), to the first one
/// after it in which the instruction has issued.
const STEPS: [u32; 4] = {
    let mut steps = [0; 4];
    let mut used = 0;
    while used < 8 {
        // Two instructions a cycle: with two pipes taken the third stays empty.
        let full = used != 0 && used & (used - 1) != 0;
        let simple = if used & J == 0 { J } else { I };
        let by_pipe = [
            step(used, simple, full, J),
            step(used, L, full, L),
            step(used, I, full, I),
            step(used, I, used != 0, I),
        ];
        let mut pipe = 0;
        while pipe < 4 {
            steps[pipe] |= (by_pipe[pipe] as u32) << (4 * used);
            pipe += 1;
        }
        used += 1;
    }
    steps
};

/// To `pipe` if it is free, or to the pipe `else_later` in the next cycle.
const fn step(used: u64, pipe: u64, full: bool, else_later: u64) -> u64 {
    if full || used & pipe != 0 {
        slot(1) + else_later - used
    } else {
        pipe
    }
}

/// By kind of instruction: what it waits for beside its sources.
const WAITS: [u8; 4] = [reg::ZERO, reg::ZERO, reg::DIVIDER, reg::DIVIDER];

/// An instruction's place: the slot after it has issued.
#[derive(Clone, Copy)]
pub(crate) struct Place(Slot);

impl Place {
    /// The cycle in which it issues.
    #[inline(always)]
    pub fn cycle(self) -> u64 {
        self.0 >> 3
    }
}

/// The state of issue.
#[derive(Clone, Hash)]
pub(crate) struct Pipeline {
    /// The earliest in which the next instruction can issue.
    slot: Slot,
    /// When each register is ready (see `reg`). Indices are masked, so that none needs a check.
    ready: [Slot; 64],
    /// By class: latency of the result and of the second result.
    latency: [[u8; 2]; 16],
    divide_busy: u8,
}

impl Pipeline {
    pub fn new(t: &Timing) -> Pipeline {
        let mut latency = [[0; 2]; 16];
        for (class, first, second) in [
            (Class::Simple, t.simple, t.compare),
            (Class::Load, t.load, t.update),
            (Class::Compare, t.compare, t.compare),
            (Class::Mul32, t.multiply, t.record_long),
            (Class::Mul16, t.multiply_half, t.record_half),
            (Class::Divide, t.divide, t.record_long.max(t.divide)),
            (Class::Branch, 1, 1),
            (Class::ToBranch, t.move_to_branch, 0),
            (Class::From, t.move_from_special, t.record_long),
            (Class::ToCr, t.move_to_cr, t.move_to_cr),
            (Class::StoreIf, 0, t.record_long),
            (Class::System, t.move_from_special, t.record_long),
        ] {
            latency[class as usize] = [first, second];
        }
        Pipeline { slot: 0, ready: [0; 64], latency, divide_busy: t.divide_busy }
    }
    /// Earliest cycle in which the next instruction can issue.
    #[inline(always)]
    pub fn cycle(&self) -> u64 {
        self.slot >> 3
    }
    /// The place of the next instruction, as far as is known before its operands are.
    #[inline(always)]
    pub fn next(&self) -> Place {
        Place(self.slot)
    }
    /// Where `op` would issue after `last`. Changes nothing, so that an instruction that must wait
    /// for the bench can be placed again.
    #[inline(always)]
    pub fn place(&self, op: &Op, last: Place) -> Place {
        let [a, b, c] = op.source.map(|source| self.ready(source));
        let divider = self.ready(WAITS[op.pipe as usize]);
        let mut slot = last.0.max(a.max(b).max(c.max(divider)));
        if op.pipe == Pipe::Alone {
            slot = slot.max(self.all_ready());
        }
        // No branches and no look into a table: which way they went would be unpredictable, and
        // each instruction waits for the place of the one before.
        let step = STEPS[op.pipe as usize] >> (4 * (slot & 7)) & 15;
        Place(slot + u64::from(step))
    }
    #[inline(always)]
    fn ready(&self, register: u8) -> Slot {
        self.ready[usize::from(register & 63)]
    }
    /// When a register is ready.
    pub fn ready_at(&self, register: u8) -> u64 {
        self.ready(register) >> 3
    }
    /// Something issues in the present cycle.
    pub fn is_taken(&self) -> bool {
        self.slot & 7 != 0
    }
    #[cold]
    fn all_ready(&self) -> Slot {
        self.tracked().iter().fold(0, |latest, &ready| latest.max(ready))
    }
    fn tracked(&self) -> &[Slot] {
        &self.ready[..usize::from(reg::SINK)]
    }
    /// Issues `op` at its place.
    #[inline(always)]
    pub fn issue(&mut self, op: &Op, place: Place) {
        self.slot = place.0;
        let [first, second] = op.result;
        let [first_latency, second_latency] = self.latency(op);
        let cycle = place.cycle();
        self.ready[usize::from(first & 63)] = slot(cycle + first_latency);
        self.ready[usize::from(second & 63)] = slot(cycle + second_latency);
    }
    /// From the issue of an instruction to its results.
    #[inline(always)]
    pub fn latency(&self, op: &Op) -> [u64; 2] {
        self.latency[op.class as usize].map(u64::from)
    }
    /// The instruction that issues in `cycle` divides.
    pub fn divide(&mut self, cycle: u64) {
        self.ready[usize::from(reg::DIVIDER)] = slot(cycle + u64::from(self.divide_busy));
    }
    /// The first result of the instruction just issued is ready no earlier than `cycle`.
    pub fn late(&mut self, op: &Op, cycle: u64) {
        self.late_register(op.result[0], cycle);
    }
    /// `register` is ready no earlier than `cycle`.
    pub fn late_register(&mut self, register: u8, cycle: u64) {
        let ready = &mut self.ready[usize::from(register & 63)];
        *ready = (*ready).max(slot(cycle));
    }
    /// What issues next would issue after the same waits as from `other`.
    pub fn same_phase(&self, other: &Pipeline) -> bool {
        let wait = |at: Slot, pipeline: &Pipeline| at.saturating_sub(slot(pipeline.cycle()));
        let pairs = self.tracked().iter().zip(other.tracked());
        (self.slot ^ other.slot) & 7 == 0
            && pairs.fold(true, |same, (a, b)| same & (wait(*a, self) == wait(*b, other)))
    }
    /// What happened between `start` and `end` has happened again, to end in `cycle`.
    pub fn repeat(&mut self, start: &Pipeline, end: &Pipeline, cycle: u64) {
        let tracked = usize::from(reg::SINK) + 1;
        let shift = slot(cycle).wrapping_sub(slot(end.cycle()));
        let pairs = start.ready[..tracked].iter().zip(&end.ready[..tracked]);
        for (ready, (before, after)) in self.ready.iter_mut().zip(pairs) {
            if before != after {
                *ready = after.wrapping_add(shift);
            }
        }
        self.slot = end.slot.wrapping_add(shift);
    }
    /// The load or store just issued keeps the L pipe until `cycle`, and what follows waits.
    pub fn hold(&mut self, cycle: u64) {
        if cycle > self.cycle() {
            self.slot = slot(cycle) + L;
        }
    }
    /// Nothing issues before `cycle`.
    #[inline(always)]
    pub fn stall(&mut self, cycle: u64) {
        self.slot = self.slot.max(slot(cycle));
    }
}
