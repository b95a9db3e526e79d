//! Timing of instruction issue: the one place of the timing rules.
//!
//! The core issues in order, up to two instructions a cycle, each to a pipe of its own: I (complex
//! integer, branches, everything that touches CR, XER or the system), J (simple integer) and L
//! (loads and stores). An instruction issues when its sources are ready and a pipe is free. A
//! result is ready a latency after the issue, the latency being that of the instruction's class; a
//! load that misses says so itself (`Pipeline::late`). The I pipe is blocked while it divides.
//! Fetch never limits, except in cache misses, taken and mispredicted branches. Not modelled, because
//! nothing public tells their rules: the J pipe's refusal of instructions that follow an I-pipe
//! stall, and conflicts on the result buses.

use crate::decode::Op;
use std::hash::{Hash, Hasher};

pub(crate) mod pipeline_state;
pub(crate) mod predictor;

use pipeline_state::PipelineState;

/// Parameters of the timing model, in core cycles unless said otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Result latency of a simple integer instruction (I or J pipe).
    pub simple: u8,
    /// Result latency of a load that hits: a use can issue this many cycles after the load.
    pub load: u8,
    /// Latency of the updated base register of a load or store with update.
    pub update: u8,
    /// Cycles from a compare, a record form or a CR operation to a use of the condition register field.
    pub compare: u8,
    /// Cycles from a record form of a 16-bit multiplication or multiply-accumulate to a use of CR0.
    pub record_half: u8,
    /// Cycles from a record form of a 32-bit multiplication or division, stwcx. or tlbsx. to a use of CR0.
    pub record_long: u8,
    /// Result latency of a 32 x 32 bit multiplication.
    pub multiply: u8,
    /// Result latency of a 16-bit multiplication and of a multiply-accumulate.
    pub multiply_half: u8,
    /// Result latency of a division.
    pub divide: u8,
    /// Cycles for which a division occupies the I pipe.
    pub divide_busy: u8,
    /// Cycles from a move to LR or CTR to a use.
    pub move_to_branch: u8,
    /// Cycles from a move from LR, CTR, CR, XER, MSR or another SPR to a use.
    pub move_from_special: u8,
    /// Cycles from mtcrf to a use of the condition register.
    pub move_to_cr: u8,
    /// Cycles from a taken branch, predicted right, to the next instruction, beyond the one cycle of its
    /// issue.
    pub taken: u8,
    /// The same if the BTAC holds the branch.
    pub taken_btac: u8,
    /// Cycles from the issue of a mispredicted branch to the issue of the next instruction.
    pub mispredict: u8,
    /// Cycles from the issue of a context-synchronising instruction, or an exception, to the next
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
    /// Cycles from a store that goes to the bus to the request for its write, which others can join until
    /// then; 0 for no gathering.
    pub gather: u8,
}

impl Timing {
    /// A PowerPC 440 as it is built; machines/redstorm.toml tells the source of each number.
    pub const POWERPC_440: Timing = Timing {
        simple: 1,
        load: 3,
        update: 1,
        compare: 2,
        record_half: 3,
        record_long: 4,
        multiply: 3,
        multiply_half: 2,
        divide: 34,
        divide_busy: 33,
        move_to_branch: 4,
        move_from_special: 2,
        move_to_cr: 5,
        taken: 1,
        taken_btac: 0,
        mispredict: 5,
        synchronise: 7,
        bht_entries: 4096,
        btac_entries: 8,
        line_fills: 3,
        load_slots: 4,
        write_slots: 4,
        gather: 5,
    };
}

/// Pipes in which an instruction can execute.
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
    pub const LR: u8 = 33;
    pub const CTR: u8 = 34;
    /// The I pipe's divider.
    pub const DIVIDER: u8 = 35;
    /// Condition register fields 0 to 7.
    pub const CR: u8 = 36;
    /// Written by instructions without (another) result, never read.
    pub const SINK: u8 = 44;
}

const I: u64 = 1;
const J: u64 = 2;
const L: u64 = 4;

/// Position in the stream of issue: eight times the cycle, plus the pipes taken in it. The later of two
/// positions is their maximum; a position in which a result becomes ready has no pipe taken.
type Slot = u64;

const fn slot(cycle: u64) -> Slot {
    cycle << 3
}

/// Distances from a slot, by the pipes taken in it (four bits each), to the first one after it in which an
/// instruction for `pipe` has issued. 0 for one that issues alone: it waits for everything first.
pub(crate) const fn steps(pipe: Pipe) -> u32 {
    match pipe {
        Pipe::Alone => 0,
        pipe => STEPS[pipe as usize],
    }
}

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

/// Distance to `pipe` if it is free, or to the pipe `else_later` in the next cycle.
const fn step(used: u64, pipe: u64, full: bool, else_later: u64) -> u64 {
    if full || used & pipe != 0 {
        slot(1) + else_later - used
    } else {
        pipe
    }
}

/// Latencies of the result and of the second result, by class, in slots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Latencies([[u16; 2]; 16]);

impl Latencies {
    pub fn new(t: &Timing) -> Latencies {
        let mut latencies = [[0; 2]; 16];
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
            latencies[class as usize] = [first, second].map(|cycles| u16::from(cycles) << 3);
        }
        Latencies(latencies)
    }
    pub fn of(&self, class: Class) -> [u16; 2] {
        self.0[class as usize]
    }
}

/// A place in the stream of issue: an instruction's is the slot after it has issued.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct IssueSlot(pub Slot);

impl IssueSlot {
    /// The first one of a cycle, or of the last one that can be represented (`u64::MAX`: never).
    pub const fn first_of(cycle: u64) -> IssueSlot {
        IssueSlot(if cycle >> 61 == 0 { slot(cycle) } else { Slot::MAX })
    }
    /// The cycle in which it issues.
    #[inline(always)]
    pub fn cycle(self) -> u64 {
        self.0 >> 3
    }
}

/// Registers that are read, and those that are written: the sink too.
const READ: usize = reg::SINK as usize;
const WRITTEN: usize = READ + 1;

/// The numbers of the bits that are set.
fn bits(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = mask.trailing_zeros() as usize;
        mask &= mask.wrapping_sub(1);
        (bit < 64).then_some(bit)
    })
}

/// Snapshot of a pipeline at some instant.
#[derive(Clone)]
pub(crate) struct Phase {
    slot: Slot,
    late: u64,
    ready: [Slot; WRITTEN],
}

impl Phase {
    /// The cycle of that instant.
    pub fn cycle(&self) -> u64 {
        self.slot >> 3
    }
}

/// The state of issue.
#[derive(Clone)]
#[repr(C)]
pub(crate) struct Pipeline {
    /// The earliest in which the next instruction can issue.
    pub slot: Slot,
    /// Registers that may not be ready yet, a bit each: all others are.
    late: u64,
    /// Changes that `ready` and `late` do not contain yet: registers that are not ready as of this cycle.
    owed: (u64, PipelineState),
    divide_busy: u8,
    /// Slot in which each register is ready (see `reg`). The array is as long as an index can be, so that
    /// no index needs a check.
    ready: [Slot; 256],
}

impl Hash for Pipeline {
    /// Ignores how long a register that is ready has been ready.
    fn hash<H: Hasher>(&self, state: &mut H) {
        let mut settled = self.clone();
        settled.settle();
        let now = slot(self.cycle());
        self.slot.hash(state);
        settled.ready[..READ].iter().for_each(|ready| ready.saturating_sub(now).hash(state));
    }
}

impl Pipeline {
    pub fn new(t: &Timing) -> Pipeline {
        let divide_busy = t.divide_busy;
        Pipeline { slot: 0, late: 0, ready: [0; 256], owed: (0, PipelineState::NONE), divide_busy }
    }
    /// Another one, in which nothing has issued.
    pub fn empty(&self) -> Pipeline {
        let divide_busy = self.divide_busy;
        Pipeline { slot: 0, late: 0, ready: [0; 256], owed: (0, PipelineState::NONE), divide_busy }
    }
    /// Earliest cycle in which the next instruction can issue.
    #[inline(always)]
    pub fn cycle(&self) -> u64 {
        self.slot >> 3
    }
    /// The place of the next instruction, as far as is known before its operands are.
    #[inline(always)]
    pub fn next(&self) -> IssueSlot {
        IssueSlot(self.slot)
    }
    /// Place in which `op` would issue after `last`. Changes nothing, so that an instruction that must wait
    /// for the bench can be placed again.
    #[inline(always)]
    pub fn place(&self, op: &Op, last: IssueSlot) -> IssueSlot {
        let (a, b) = (self.ready(op.source[0]), self.ready(op.source[1]));
        let c = self.ready(op.source[2]);
        let slot = last.0.max(a.max(b).max(c));
        if op.steps == 0 {
            return self.place_late(op, slot);
        }
        // No branches and no look into a table: which way they went would be unpredictable, and
        // each instruction waits for the place of the one before.
        let step = op.steps >> (4 * (slot & 7)) & 15;
        IssueSlot(slot + u64::from(step))
    }
    /// The same for one that issues alone, or after registers and the divider.
    #[cold]
    fn place_late(&self, op: &Op, mut slot: Slot) -> IssueSlot {
        if op.pipe as u8 >= Pipe::I as u8 {
            slot = slot.max(self.ready(reg::DIVIDER));
        }
        if op.pipe == Pipe::Alone {
            slot = self.ready[..READ].iter().fold(slot, |latest, &ready| latest.max(ready));
        }
        let step = STEPS[op.pipe as usize] >> (4 * (slot & 7)) & 15;
        IssueSlot(slot + u64::from(step))
    }
    #[inline(always)]
    fn ready(&self, register: u8) -> Slot {
        self.ready[usize::from(register)]
    }
    /// Cycle in which a register is ready.
    pub fn ready_at(&self, register: u8) -> u64 {
        self.ready(register) >> 3
    }
    /// Something issues in the present cycle.
    pub fn is_taken(&self) -> bool {
        self.slot & 7 != 0
    }
    /// Issues `op` at its place.
    #[inline(always)]
    pub fn issue(&mut self, op: &Op, place: IssueSlot) {
        self.slot = place.0;
        let cycle = slot(place.cycle());
        let [first, second] = op.result;
        self.late |= 1 << (first & 63) | 1 << (second & 63);
        self.ready[usize::from(first)] = cycle + u64::from(op.latency[0]);
        self.ready[usize::from(second)] = cycle + u64::from(op.latency[1]);
    }
    /// The instruction that issues in `cycle` divides.
    pub fn divide(&mut self, cycle: u64) {
        self.late |= 1 << reg::DIVIDER;
        self.ready[usize::from(reg::DIVIDER)] = slot(cycle + u64::from(self.divide_busy));
    }
    /// The first result of the instruction just issued is ready no earlier than `cycle`.
    pub fn late(&mut self, op: &Op, cycle: u64) {
        self.late_register(op.result[0], cycle);
    }
    /// `register` is ready no earlier than `cycle`.
    pub fn late_register(&mut self, register: u8, cycle: u64) {
        self.late |= 1 << (register & 63);
        let ready = &mut self.ready[usize::from(register)];
        *ready = (*ready).max(slot(cycle));
    }
    /// Snapshot of the pipeline.
    pub fn phase(&self) -> Phase {
        let ready = self.ready[..WRITTEN].try_into().expect("fewer than all indices");
        Phase { slot: self.slot, late: self.late, ready }
    }
    /// True if an instruction that issues next and waits for no register except `registers` (a bit each)
    /// would wait as long as from `phase`.
    pub fn same_phase(&self, phase: &Phase, registers: u64) -> bool {
        // A register that is ready stays ready.
        let registers = registers & (self.late | phase.late);
        let (mine, others) = (slot(self.cycle()), slot(phase.cycle()));
        let same = |register: usize| {
            let (a, b) = (self.ready[register], phase.ready[register]);
            (a <= mine && b <= others) || a.wrapping_sub(mine) == b.wrapping_sub(others)
        };
        (self.slot ^ phase.slot) & 7 == 0 && bits(registers).all(same)
    }
    /// Repeats a sequence that ended in `end` and wrote `registers` (a bit each), so that it ends in
    /// `cycle`.
    pub fn repeat(&mut self, end: &Phase, registers: u64, cycle: u64) {
        let shift = slot(cycle).wrapping_sub(slot(end.cycle()));
        // For all others it does not matter how long they have been ready.
        for register in bits(registers & (self.late | end.late)) {
            self.late |= u64::from(end.ready[register] > end.slot) << register;
            self.ready[register] = end.ready[register].wrapping_add(shift);
        }
        self.slot = end.slot.wrapping_add(shift);
    }
    /// The load or store just issued keeps the L pipe until `cycle`, and what follows waits.
    pub fn hold(&mut self, cycle: u64) {
        if cycle > self.cycle() {
            self.slot = slot(cycle) + L;
        }
    }
    /// Pipeline state as seen from the present cycle; `None` if it does not fit into a [`PipelineState`].
    #[inline]
    pub fn pipeline_state(&mut self) -> Option<PipelineState> {
        let (now, ready) = (slot(self.cycle()), &self.ready);
        let late = |late, register: usize| late | u64::from(ready[register] > now) << register;
        self.late = bits(self.late & Self::AWAITED).fold(0, late);
        PipelineState::new(self.slot & 7, self.late, |register| (ready[register] - now) >> 3)
    }
    /// Registers for which an instruction may wait.
    const AWAITED: u64 = (1 << READ) - 1;
    /// True if all of it is there.
    #[inline]
    pub fn forget(&mut self) {
        for register in bits(self.late) {
            self.ready[register] = 0;
        }
        self.late = 0;
        self.owed.1 = PipelineState::NONE;
    }
    /// Sets the state in `cycle`; nothing else is on its way. It takes effect with `settle`.
    #[inline]
    pub fn assume_later(&mut self, cycle: u64, pipeline_state: PipelineState) {
        self.slot = slot(cycle) + pipeline_state.pipes();
        self.owed = (cycle, pipeline_state);
    }
    /// Brings `ready` and `late` up to date, so that registers can be read.
    #[inline]
    pub fn settle(&mut self) {
        let (cycle, pipeline_state) = std::mem::replace(&mut self.owed, (0, PipelineState::NONE));
        self.late |= pipeline_state.late();
        pipeline_state.each(|register, wait| self.ready[register] = slot(cycle + wait));
    }
    /// Sets the state in `cycle`; nothing else is on its way.
    #[inline]
    pub fn assume(&mut self, cycle: u64, pipeline_state: PipelineState) {
        self.slot = slot(cycle) + pipeline_state.pipes();
        self.late |= pipeline_state.late();
        pipeline_state.each(|register, wait| self.ready[register] = slot(cycle + wait));
    }
    /// Nothing issues before `cycle`.
    #[inline(always)]
    pub fn stall(&mut self, cycle: u64) {
        self.slot = self.slot.max(slot(cycle));
    }
}
