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
    /// Written by instructions without (another) result, never read.
    pub const SINK: u8 = 43;
}

const I: u8 = 1;
const J: u8 = 2;
const L: u8 = 4;

/// By kind of instruction and pipes taken: the pipes taken with this instruction, and `LATER` if
/// none that it can use is free, so that it issues a cycle later.
const PICK: [[u8; 8]; 4] = {
    let mut pick = [[0; 8]; 4];
    let mut used = 0;
    while used < 8 {
        // Two instructions a cycle: with two pipes taken the third stays empty.
        let full = used != 0 && used & (used - 1) != 0;
        let taken = used as u8;
        let simple = if taken & J == 0 { J } else { I };
        pick[Pipe::IJ as usize][used] = pick_one(taken, simple, full, J);
        pick[Pipe::L as usize][used] = pick_one(taken, L, full, L);
        pick[Pipe::I as usize][used] = pick_one(taken, I, full, I);
        pick[Pipe::Alone as usize][used] = pick_one(taken, I, taken != 0, I);
        used += 1;
    }
    pick
};

const LATER: u8 = 8;

/// `pipe` if it is free, or the pipe `else_later` in the next cycle.
const fn pick_one(taken: u8, pipe: u8, full: bool, else_later: u8) -> u8 {
    if full || taken & pipe != 0 {
        LATER | else_later
    } else {
        taken | pipe
    }
}

/// An instruction's place: the cycle in which it issues and the pipes taken in it, its own
/// included.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub cycle: u64,
    used: u8,
}

/// The state of issue.
#[derive(Clone, Hash)]
pub(crate) struct Pipeline {
    /// Earliest cycle in which the next instruction can issue.
    pub cycle: u64,
    /// Pipes taken in it.
    used: u8,
    /// When each register is ready (see `reg`). As long as an index can be, so that none needs a
    /// check.
    ready: [u64; 256],
    /// When the I pipe has divided.
    divided: u64,
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
        let divide_busy = t.divide_busy;
        Pipeline { cycle: 0, used: 0, ready: [0; 256], divided: 0, latency, divide_busy }
    }
    /// Where `op` would issue. Changes nothing, so that an instruction that must wait for the bench
    /// can be placed again.
    #[inline(always)]
    pub fn place(&self, op: &Op) -> Place {
        let [a, b, c] = op.source;
        let mut cycle = self.cycle.max(self.ready(a)).max(self.ready(b).max(self.ready(c)));
        if op.pipe as u8 >= Pipe::I as u8 {
            cycle = cycle.max(self.divided);
            if op.pipe == Pipe::Alone {
                cycle = self.all_ready(cycle);
            }
        }
        // No branches: which way they went would be unpredictable.
        let used = self.used & u8::from(cycle == self.cycle).wrapping_neg();
        let pick = PICK[op.pipe as usize][usize::from(used & 7)];
        Place { cycle: cycle + u64::from(pick >> 3), used: pick & 7 }
    }
    #[inline(always)]
    fn ready(&self, register: u8) -> u64 {
        self.ready[usize::from(register)]
    }
    /// When a register is ready.
    pub fn ready_at(&self, register: u8) -> u64 {
        self.ready(register)
    }
    /// Something issues in the present cycle.
    pub fn is_taken(&self) -> bool {
        self.used != 0
    }
    #[cold]
    fn all_ready(&self, cycle: u64) -> u64 {
        self.ready[..usize::from(reg::SINK)].iter().fold(cycle, |latest, &ready| latest.max(ready))
    }
    /// Issues `op` at its place.
    #[inline(always)]
    pub fn issue(&mut self, op: &Op, place: Place) {
        self.cycle = place.cycle;
        self.used = place.used;
        let [first, second] = op.result;
        let [first_latency, second_latency] = op.latency;
        self.ready[usize::from(first)] = place.cycle + u64::from(first_latency);
        self.ready[usize::from(second)] = place.cycle + u64::from(second_latency);
    }
    /// Fills in what depends on the parameters.
    pub fn prepare(&self, op: Op) -> Op {
        Op { latency: self.latency[op.class as usize], ..op }
    }
    /// The instruction that issues in `cycle` divides.
    pub fn divide(&mut self, cycle: u64) {
        self.divided = cycle + u64::from(self.divide_busy);
    }
    /// The first result of the instruction just issued is ready no earlier than `cycle`.
    pub fn late(&mut self, op: &Op, cycle: u64) {
        self.late_register(op.result[0], cycle);
    }
    /// `register` is ready no earlier than `cycle`.
    pub fn late_register(&mut self, register: u8, cycle: u64) {
        let ready = &mut self.ready[usize::from(register)];
        *ready = (*ready).max(cycle);
    }
    /// What issues next would issue after the same waits as from `other`.
    pub fn same_phase(&self, other: &Pipeline) -> bool {
        let wait = |at: u64, cycle: u64| at.saturating_sub(cycle);
        let tracked = usize::from(reg::SINK);
        let pairs = self.ready[..tracked].iter().zip(&other.ready[..tracked]);
        self.used == other.used
            && wait(self.divided, self.cycle) == wait(other.divided, other.cycle)
            && pairs
                .fold(true, |same, (a, b)| same & (wait(*a, self.cycle) == wait(*b, other.cycle)))
    }
    /// What happened between `start` and `end` has happened again, to end in `cycle`.
    pub fn repeat(&mut self, start: &Pipeline, end: &Pipeline, cycle: u64) {
        let tracked = usize::from(reg::SINK) + 1;
        let shift = cycle.wrapping_sub(end.cycle);
        let pairs = start.ready[..tracked].iter().zip(&end.ready[..tracked]);
        for (ready, (before, after)) in self.ready.iter_mut().zip(pairs) {
            if before != after {
                *ready = after.wrapping_add(shift);
            }
        }
        self.cycle = cycle;
        self.used = end.used;
    }
    /// The load or store just issued keeps the L pipe until `cycle`, and what follows waits.
    pub fn hold(&mut self, cycle: u64) {
        if cycle > self.cycle {
            self.cycle = cycle;
            self.used = L;
        }
    }
    /// Nothing issues before `cycle`.
    #[inline(always)]
    pub fn stall(&mut self, cycle: u64) {
        if cycle > self.cycle {
            self.cycle = cycle;
            self.used = 0;
        }
    }
}
