//! A core as translated code sees it: what the translator may ask of it, what blocks do to it, and the
//! fields that the code of blocks reaches by their offsets. There is no other way from `translate` to the
//! core's state, so what the interpreter changes is either not named here, or it is changed here too.

use crate::code::Text;
use crate::core::{Core, Flow};
use crate::decode::Op;
use crate::timing::pipeline_state::PipelineState;
use crate::timing::predictor::Predictor;
use crate::timing::Pipeline;
use bus::Bus;

/// Offsets of fields that the code of blocks reads and writes.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub(crate) mod offsets {
    use crate::core::Core;
    use std::mem::offset_of;

    pub(crate) const REGISTERS: usize = offset_of!(Core, registers);
    pub(crate) const GPR: usize = offset_of!(Core, registers.gpr);
    pub(crate) const LR: usize = offset_of!(Core, registers.lr);
    pub(crate) const CTR: usize = offset_of!(Core, registers.ctr);
    pub(crate) const PC: usize = offset_of!(Core, registers.pc);
    pub(crate) const SO: usize = offset_of!(Core, registers.so);
    pub(crate) const CR: usize = offset_of!(Core, registers.cr);
    pub(crate) const LOOP_HEAD: usize = offset_of!(Core, idle_loop.loop_head);
    pub(crate) const LINES: usize = offset_of!(Core, idle_loop.lines);
    pub(crate) const LINES_HELD: usize = offset_of!(Core, icache.held);
    pub(crate) const BTAC: usize = offset_of!(Core, predictor.btac);
    pub(crate) const INSTRUCTIONS: usize = offset_of!(Core, counters.instructions);
    pub(crate) const BRANCHES: usize = offset_of!(Core, counters.branches);
    pub(crate) const DATA: usize = offset_of!(Core, dcache.data);
    pub(crate) const HINTS: usize = offset_of!(Core, dcache.hints);
    pub(crate) const MAP: usize = offset_of!(Core, tlb.map);
}

/// Last exit of a core from blocks, and the core's state then.
#[derive(Clone, Copy, Default)]
pub(crate) struct LastExit {
    /// The translator's serial number, and its number of the exit.
    translator: u64,
    exit: usize,
    pc: u32,
    slot: u64,
}

/// A core's address, as blocks hold it.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Address(*mut Core);

impl Address {
    /// The core, while it does not run on in its block.
    ///
    /// # Safety
    ///
    /// The core is the call's: nobody else uses it meanwhile.
    #[inline(always)]
    pub unsafe fn view<'a>(self) -> View<'a> {
        // SAFETY: as the caller says.
        View(unsafe { &mut *self.0 })
    }
}

/// Blocks leave the core like this.
#[derive(Clone, Copy)]
pub(crate) struct Exit {
    /// The next instruction; `None` if the core knows.
    pub pc: Option<u32>,
    /// Cycle of the exit, and the pipeline state then.
    pub cycle: u64,
    pub pipeline_state: PipelineState,
    /// Instructions done that have not been counted.
    pub instructions: u32,
}

/// A core as translated code sees it.
pub(crate) struct View<'a>(&'a mut Core);

impl Core {
    /// Sets the number of executions after which code is translated; 0: never. It changes only the speed of
    /// the simulation.
    pub fn set_translation(&mut self, times: u32) {
        self.hot = times;
    }

    #[inline(always)]
    pub(crate) fn blocks(&mut self) -> View<'_> {
        View(self)
    }

    /// True if it has left blocks where a line begins, because an observer needs to know of it.
    pub(crate) fn has_come_to_line(&self) -> bool {
        self.is_at_last_exit() && self.pipeline.next() < self.limit
    }

    #[inline]
    fn is_at_last_exit(&self) -> bool {
        let LastExit { pc, slot, .. } = self.last_exit;
        slot == self.pipeline.slot && pc == self.registers.pc
    }
}

/// State on which a translation depends.
impl View<'_> {
    /// Requests for a block before it is made; 0: never.
    #[inline(always)]
    pub fn hot(&self) -> u32 {
        self.0.hot
    }
    pub fn never_translate(&mut self) {
        self.0.hot = 0;
    }
    #[inline(always)]
    pub fn block_bits(&self) -> u32 {
        self.0.tlb.block_bits
    }
    /// A pipeline of this kind with nothing in it.
    pub fn empty_pipeline(&self) -> Pipeline {
        self.0.pipeline.empty()
    }
    pub fn predictor(&self) -> &Predictor {
        &self.0.predictor
    }
}

/// Into blocks, and out of them.
impl View<'_> {
    #[inline(always)]
    pub fn pc(&self) -> u32 {
        self.0.registers.pc
    }
    /// No transaction is repeated, and no line is being filled: the core is in no state that blocks do not
    /// know.
    #[inline(always)]
    pub fn is_quiet(&self) -> bool {
        self.0.unit.replay.count == 0 && self.0.unit.filled <= self.0.pipeline.cycle()
    }
    /// The present pipeline state, if a block can be made for it.
    #[inline(always)]
    pub fn pipeline_state(&mut self) -> Option<PipelineState> {
        self.0.pipeline.settle();
        self.0.pipeline.pipeline_state()
    }
    /// The exit of that translator at which the core is.
    #[inline(always)]
    pub fn last_exit(&self, translator: u64) -> Option<usize> {
        let at = self.0.is_at_last_exit() && translator == self.0.last_exit.translator;
        at.then_some(self.0.last_exit.exit)
    }
    /// Begins blocks. The core's address, slots to its limit, and the branch history. The pipeline is not
    /// updated before the exit.
    #[inline(always)]
    pub fn begin(&mut self) -> (Address, u64, *const u8) {
        let slots = self.slots_from(self.0.pipeline.cycle());
        self.0.pipeline.forget();
        let history = self.0.predictor.history.as_ptr();
        (Address(self.0), slots, history)
    }
    /// Issue slots from a cycle to the limit, and the cycle from which there are so many.
    #[inline(always)]
    pub fn slots_from(&self, cycle: u64) -> u64 {
        self.0.limit.0.wrapping_sub(cycle << 3)
    }
    #[inline(always)]
    pub fn cycle_before_limit(&self, slots: u64) -> u64 {
        self.0.limit.0.wrapping_sub(slots) >> 3
    }
    /// Ends blocks at an exit of theirs.
    #[inline(always)]
    pub fn end(&mut self, exit: Exit, translator: u64, number: usize) {
        self.0.counters.instructions += u64::from(exit.instructions);
        if let Some(pc) = exit.pc {
            self.0.registers.pc = pc;
        }
        self.0.pipeline.assume_later(exit.cycle, exit.pipeline_state);
        let (pc, slot) = (self.0.registers.pc, self.0.pipeline.slot);
        self.0.last_exit = LastExit { translator, exit: number, pc, slot };
    }
    /// A branch at `pc` went as the static prediction says, or not. True if it was predicted.
    pub fn learn(&mut self, pc: u32, agrees: bool) -> bool {
        let right = self.0.predictor.learn(pc, agrees);
        self.0.counters.mispredicts += u64::from(!right);
        right
    }
}

/// Issue of an access in the midst of a block.
#[derive(Clone, Copy)]
pub struct Issue {
    /// Its address.
    pub pc: u32,
    pub cycle: u64,
    /// Instructions of the block before it, which have not been counted.
    pub instructions: u32,
}

/// Cycles that an access takes from its issue.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Latency {
    /// Cycles until its result is there.
    pub result: u64,
    /// Cycles until the next instruction can issue.
    pub next: u64,
}

impl Latency {
    /// No access takes so long.
    pub const NEVER: Latency = Latency { result: u64::MAX, next: 0 };
}

/// Loads, stores and barriers in the midst of blocks.
impl View<'_> {
    /// Executes an access.
    #[inline(always)]
    pub fn execute<B: Bus>(
        &mut self,
        bus: &mut B,
        op: &Op,
        at: Issue,
        function: impl FnOnce(&mut Core, &mut B, &Op) -> Flow,
    ) -> Flow {
        self.0.registers.pc = at.pc;
        self.0.counters.instructions += u64::from(at.instructions);
        self.0.issue = at.cycle;
        function(self.0, bus, op)
    }
    /// The access has completed.
    #[inline(always)]
    pub fn complete(&mut self, flow: Flow) -> Latency {
        let mut took = Latency { result: 0, next: 0 };
        if flow == Flow::Late {
            took.result = self.0.unit.data_at.saturating_sub(self.0.issue);
            took.next = self.0.unit.stall.saturating_sub(self.0.issue);
            if self.0.unit.replay.count != 0 {
                self.0.unit.replay_forgotten();
                self.0.refresh_limit();
            }
        }
        self.0.counters.instructions += 1;
        self.0.registers.pc = self.0.registers.pc.wrapping_add(4);
        took
    }
    /// No line is being filled in that cycle. While one is, loads are not quick.
    #[inline(always)]
    pub fn is_filled(&self, cycle: u64) -> bool {
        self.0.unit.filled <= cycle
    }
    /// Cycle in which the access issued.
    #[inline(always)]
    pub fn issue(&self) -> u64 {
        self.0.issue
    }
    /// The pipeline is in that state in a cycle.
    pub fn assume(&mut self, cycle: u64, pipeline_state: PipelineState) {
        self.0.pipeline.assume(cycle, pipeline_state);
    }
    /// The same with an access that `took` so long; the state after it, if a block can be made for it.
    pub fn assume_access(
        &mut self,
        cycle: u64,
        pipeline_state: PipelineState,
        op: &Op,
        took: Latency,
    ) -> Option<PipelineState> {
        let Core { pipeline, issue, .. } = &mut *self.0;
        pipeline.assume(cycle, pipeline_state);
        let place = pipeline.place(op, pipeline.next());
        pipeline.issue(op, place);
        pipeline.late(op, *issue + took.result);
        pipeline.hold(*issue + took.next);
        pipeline.pipeline_state()
    }
    /// The pipeline need not be known: a block goes on.
    pub fn forget_pipeline(&mut self) {
        self.0.pipeline.forget();
    }
    /// The checks of the interpreter before it goes on: true if there is something to do before the next
    /// instruction.
    #[inline(always)]
    pub fn is_up(&mut self, cycle: u64, pipeline_state: PipelineState, text: &Text) -> bool {
        let limit = cycle << 3 | pipeline_state.pipes() >= self.0.limit.0;
        limit || self.0.registers.pc % 32 == 0 && self.is_up_at_line(text)
    }
    /// The same where a line begins.
    fn is_up_at_line(&mut self, text: &Text) -> bool {
        let up = self.0.is_looked_for_loop_head() || self.0.fetched(text).is_none();
        self.0.idle_loop.lines -= u32::from(!up);
        up
    }
}
