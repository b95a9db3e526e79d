//! A core as idle-loop fast-forward sees it: it reads the parts on which an iteration depends, and changes
//! what an iteration changes. There is no other way from `idle_loop` to the core's state.

use crate::code::Text;
use crate::core::{Core, Counters};
use crate::decode::Op;
use crate::idle_loop::IdleLoop;
use crate::outside::probe::{Observation, Probe};
use crate::registers::Registers;
use crate::storage::arrays::DataCache;
use crate::storage::tlb::Tlb;
use crate::storage::unit::{Under, Unit};
use crate::timing::predictor::{Predictor, State};
use crate::timing::{Phase, Pipeline};
use bus::Bus;
use des::Time;

/// The last instruction's issue, and the branch that was executed last.
#[derive(Clone, Copy)]
pub(crate) struct Last {
    /// Cycles from the issue until now.
    pub since: u64,
    /// Target, and cycles from its issue to the next instruction.
    pub next: u32,
    pub bubble: u64,
}

/// A core as idle-loop fast-forward sees it.
pub(crate) struct View<'a>(&'a mut Core);

/// Fast-forward as the core's users see it.
impl Core {
    /// Switches idle-loop fast-forward on or off. It changes nothing but the speed of the simulation, and
    /// works only on a bus that can repeat transactions.
    pub fn set_idle_fast_forward(&mut self, enabled: bool) {
        self.idle_loop.start_anew(enabled);
    }
    /// Forgets what idle-loop fast-forward knows of loops, as a core does that comes out of a file.
    pub fn forget_loops(&mut self) {
        self.set_idle_fast_forward(self.idle_loop.enabled);
    }
    /// Iterations of polling loops that were not executed, because what they do was known.
    pub fn skipped_iterations(&self) -> u64 {
        self.idle_loop.skipped
    }
    /// Instructions of those iterations; [`crate::Counters::instructions`] counts them too.
    pub fn skipped_instructions(&self) -> u64 {
        self.idle_loop.skipped_instructions
    }
    /// True if the last run ended early because the core does nothing but poll, and what was due does not
    /// concern it ([`Bus::passes`]). It must only be run up to what does, before that happens; the next run
    /// goes on from where this one ended.
    pub fn is_waiting(&self) -> bool {
        self.idle_loop.waiting
    }
}

/// Fast-forward as the main loop sees it.
impl Core {
    /// The core itself is changed from outside: the present iteration is no longer known.
    pub(crate) fn disturb(&mut self) {
        self.idle_loop.waiting = false;
    }
    /// The core enters a line. Finds a loop head, and handles the arrival there. True if it waits from here
    /// on.
    #[inline(always)]
    pub(crate) fn look_for_loop_head<B: Bus, P: Probe>(
        &mut self,
        bus: &mut B,
        text: &Text,
        probe: &mut P,
    ) -> bool {
        if self.registers.pc == self.idle_loop.loop_head {
            return View(self).arrive(bus, text, probe);
        }
        // Translated code comes back in the midst of lines, where no iteration is ever seen to begin.
        if self.hot > 0 && self.registers.pc % 32 != 0 && !self.has_come_to_line() {
            return false;
        }
        self.idle_loop.lines = self.idle_loop.lines.wrapping_sub(1);
        if self.idle_loop.lines == 0 {
            self.idle_loop.drop_loop_head(self.registers.pc);
        }
        false
    }
    /// True if that would do more than count the line.
    #[inline(always)]
    pub(crate) fn is_looked_for_loop_head(&self) -> bool {
        self.registers.pc == self.idle_loop.loop_head || self.idle_loop.lines == 1
    }
    /// A line was fetched the long way: it can only be part of an iteration if it is in text and cache now.
    pub(crate) fn expect_known(&mut self, text: &Text) {
        if self.idle_loop.recording() && self.fetched(text).is_none() {
            self.idle_loop.failed();
        }
    }
    /// Records an instruction of a line, before its execution.
    pub(crate) fn record(&mut self, op: &Op) {
        View(self).record(op);
    }
}

/// State on which an iteration depends.
impl View<'_> {
    #[inline(always)]
    pub fn pc(&self) -> u32 {
        self.0.registers.pc
    }
    #[inline(always)]
    pub fn registers(&self) -> &Registers {
        &self.0.registers
    }
    #[inline(always)]
    pub fn pipeline(&self) -> &Pipeline {
        &self.0.pipeline
    }
    #[inline(always)]
    pub fn unit(&self) -> &Unit {
        &self.0.unit
    }
    #[inline(always)]
    pub fn predictor(&self) -> &Predictor {
        &self.0.predictor
    }
    #[inline(always)]
    pub fn tlb(&self) -> &Tlb {
        &self.0.tlb
    }
    #[inline(always)]
    pub fn data_cache(&self) -> &DataCache {
        &self.0.dcache
    }
    /// Changes whenever the instruction cache gets other lines.
    pub fn fetch_epoch(&self) -> u64 {
        self.0.icache.epoch
    }
    /// The instruction cache holds these lines, as [`Core::fetched`] finds them.
    pub fn holds(&self, lines: &[(usize, u64)]) -> bool {
        self.0.icache.holds(self.0.tlb.fetch_generation, lines)
    }
    /// Register that says how stores go to the bus, and whether those to a page are gathered.
    pub fn ccr0(&self) -> u32 {
        self.0.special.ccr0
    }
    pub fn gathers(&self, flags: u8) -> bool {
        self.0.gathers(flags)
    }
    pub fn counters(&self) -> &Counters {
        &self.0.counters
    }
    pub fn last(&self) -> Last {
        let since = self.0.pipeline.cycle().wrapping_sub(self.0.issue);
        Last { since, next: self.0.next, bubble: self.0.bubble }
    }
    /// Time of a cycle.
    pub fn edge(&self, cycle: u64) -> Time {
        self.0.edge(cycle)
    }
    /// Cycle before which nothing but the core's own instructions happens, if the bus says so until
    /// `horizon`.
    pub fn calm_until(&self, horizon: Time) -> u64 {
        self.0.true_limit().min(self.0.cycle_at(horizon))
    }
    pub fn is_timer_off(&self) -> bool {
        self.0.timer_cycle() == u64::MAX
    }
}

/// State that an iteration changes.
impl View<'_> {
    /// Knowledge of the core's loops.
    #[inline(always)]
    pub fn known(&mut self) -> &mut IdleLoop {
        &mut self.0.idle_loop
    }
    /// Registers on which an iteration is tried.
    pub fn registers_mut(&mut self) -> &mut Registers {
        &mut self.0.registers
    }
    pub fn set_register(&mut self, register: u8, value: u32) {
        self.0.registers.set(register, value);
    }
    /// Word of the data cache at an offset.
    pub fn set_word(&mut self, offset: usize, word: [u8; 4]) {
        self.0.dcache.set_word(offset, word);
    }
    pub fn leave_branch(&mut self, pc: u32, state: State) {
        self.0.predictor.leave(pc, state);
    }
    /// The load and store unit in `cycle`, after an iteration that found it as `start` and left it as `end`
    /// in its last cycle.
    pub fn repeat_unit(&mut self, cycle: u64, start: &Under, end: &Under, end_cycle: u64) {
        self.0.unit.repeat(cycle, start, end, end_cycle);
    }
    /// The pipeline in `cycle`, after an iteration that writes these registers and ends like that.
    pub fn repeat_pipeline(&mut self, cycle: u64, end: &Phase, written: u64, last: Last) {
        self.0.pipeline.repeat(end, written, cycle);
        self.0.issue = cycle.wrapping_sub(last.since);
        self.0.next = last.next;
        self.0.bubble = last.bubble;
    }
    /// Counts `iterations`, each of which counts so much.
    pub fn count(&mut self, iterations: u64, each: &Counters) {
        let counters = &mut self.0.counters;
        counters.instructions += iterations * each.instructions;
        counters.uncached_reads += iterations * each.uncached_reads;
        counters.uncached_writes += iterations * each.uncached_writes;
        counters.branches += iterations * each.branches;
        counters.mispredicts += iterations * each.mispredicts;
    }
    /// Tells a probe of iterations.
    pub fn tell<P: Probe>(&mut self, probe: &mut P, iteration: &[Observation], times: u64) {
        self.0.tell_again(probe, iteration, times);
    }
}
