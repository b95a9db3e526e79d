//! Fast-forward of idle loops: a polling loop is learnt once and then skipped, exactly.
//!
//! An *iteration* goes from one arrival at an address, the *head*, to the next one. One iteration is executed
//! instruction by instruction and recorded (`record`); from the record a summary is made
//! (`iteration::Iteration`) that holds everything the iteration depends on and everything it changes.
//! Whenever the core arrives at the head and everything that the iteration depends on is as it was, the
//! iteration would be executed in the same cycles with the same transactions, and so would the next one: as
//! many as fit before anything else can happen on the node are booked at once (`Core::skip`). The last,
//! partial iteration is executed. So no observer can see the difference at any time.
//!
//! Where something is due that the core cannot see (`Bus::passes`) it need not even do that: it stays
//! at the head, *waiting* (`Core::is_waiting`), and the iterations are booked when something is due that it
//! may see, before that happens.
//!
//! The head is any address at which the core has been seen often enough; nothing is said about
//! firmware here.

use crate::code::Text;
use crate::core::Core;
use crate::decode::Op;
use crate::outside::probe::{Observation, Probe};
use crate::semantics::flow;
use analysis::{is_branch, memory_access, Location, Step};
use bus::Bus;
use iteration::Iteration;
use std::cell::Cell;

mod analysis;
pub(crate) mod iteration;

/// Lines executed without an arrival at the head before another head is tried: as long as no iteration
/// is known, and after one was.
const LINES_BEFORE_NEXT_HEAD: u32 = 64;
const LINES_BEFORE_NEXT_HEAD_KNOWN: u32 = 4096;
/// Instructions that an iteration has at most.
const STEPS: usize = 512;
/// Arrivals at the head for which nothing is learnt after an iteration that cannot be repeated; doubled
/// with each failure in a row up to the second number.
const PAUSE: u32 = 1;
const PAUSE_MAX: u32 = 1024;

/// A run without an end is not skipped to its end.
const FOREVER: u64 = 1 << 60;

/// State of the idle-loop fast-forward.
#[derive(Clone)]
pub(crate) struct IdleLoop {
    pub enabled: bool,
    /// Address at which iterations begin; 1, which is no address, if it is not known.
    pub loop_head: u32,
    /// Lines to execute without an arrival before another head is tried.
    pub lines: u32,
    /// The iteration that is being recorded.
    record: Option<Box<Record>>,
    iteration: Option<Box<Iteration>>,
    /// Cycle and instructions completed at the last arrival, and how many of both the iteration before
    /// it had.
    arrived: (u64, u64),
    last: (u64, u64),
    /// Arrivals until the next attempt to learn, and how long the pause after the next failure is.
    pause: u32,
    pause_next: u32,
    /// The core is at the head, and iteration follows iteration until something concerns it.
    pub waiting: bool,
    /// Iterations that were not executed.
    pub skipped: u64,
    /// Instructions of theirs.
    pub skipped_instructions: u64,
}

impl IdleLoop {
    pub fn new(enabled: bool) -> IdleLoop {
        IdleLoop {
            enabled,
            loop_head: 1,
            lines: LINES_BEFORE_NEXT_HEAD,
            record: None,
            iteration: None,
            arrived: (0, 0),
            last: (0, 0),
            pause: 0,
            pause_next: 0,
            waiting: false,
            skipped: 0,
            skipped_instructions: 0,
        }
    }

    /// An iteration is being recorded.
    #[inline(always)]
    pub fn recording(&self) -> bool {
        self.record.is_some()
    }

    /// Notes an observation reported to a probe: it belongs to the iteration that is being recorded.
    #[inline(always)]
    pub fn tell(&mut self, what: Observation) {
        if let Some(Record { told: Some(told), .. }) = self.record.as_deref_mut() {
            told.push(what);
        }
    }
}

/// An iteration that is being recorded.
#[derive(Clone)]
pub(crate) struct Record {
    /// The core as it was at the head, without its arrays.
    pub start: Start,
    pub steps: Vec<Step>,
    /// Observations reported to a probe, if there is one.
    pub told: Option<Vec<Observation>>,
}

thread_local! {
    /// A record that is not in use. It is only needed within a call of `run`: hundreds of cores that
    /// are run in turns use the same memory, which stays in the host's caches.
    static SPARE: Cell<Option<Box<Record>>> = const { Cell::new(None) };
}

/// Parts of the core that an iteration may change, as they were at the head.
#[derive(Clone)]
pub(crate) struct Start {
    pub registers: crate::registers::Snapshot,
    pub pipeline: crate::timing::Phase,
    pub unit: crate::storage::unit::Under,
    pub counters: crate::Counters,
    pub free: [des::Time; 2],
}

impl Core {
    /// Switches idle-loop fast-forward on or off. It changes nothing but the speed of the simulation, and
    /// works only on a bus that can repeat transactions.
    pub fn set_idle_fast_forward(&mut self, enabled: bool) {
        let IdleLoop { skipped, skipped_instructions, .. } = self.idle_loop;
        self.idle_loop = IdleLoop { skipped, skipped_instructions, ..IdleLoop::new(enabled) };
    }
    /// Forgets what idle-loop fast-forward knows of loops, as a core does that comes out of a file.
    pub fn forget_loops(&mut self) {
        self.set_idle_fast_forward(self.idle_loop.enabled);
    }
    /// Turns of polling loops that were not executed, because what they do was known.
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

    /// The core itself is changed from outside: the present iteration is no longer known.
    pub(crate) fn disturb(&mut self) {
        self.idle_loop.waiting = false;
    }

    /// The core enters a line. Finds a head, and calls `arrive` there. True if it waits from here on.
    #[inline(always)]
    pub(crate) fn look_for_loop_head<B: Bus, P: Probe>(
        &mut self,
        bus: &mut B,
        text: &Text,
        probe: &mut P,
    ) -> bool {
        if self.registers.pc == self.idle_loop.loop_head {
            return self.arrive(bus, text, probe);
        }
        // Translated code comes back in the midst of lines, where no iteration is ever seen to begin.
        if self.hot > 0 && self.registers.pc % 32 != 0 && !self.has_come_to_line() {
            return false;
        }
        self.idle_loop.lines = self.idle_loop.lines.wrapping_sub(1);
        if self.idle_loop.lines == 0 {
            self.drop_loop_head();
        }
        false
    }

    /// True if that would do more than count the line.
    #[inline(always)]
    pub(crate) fn is_looked_for_loop_head(&self) -> bool {
        self.registers.pc == self.idle_loop.loop_head || self.idle_loop.lines == 1
    }

    #[cold]
    fn drop_loop_head(&mut self) {
        self.idle_loop.lines = LINES_BEFORE_NEXT_HEAD;
        // Without idle-loop fast-forward there is no head, and never an arrival.
        if self.idle_loop.enabled && !self.idle_loop.recording() {
            self.idle_loop.loop_head = self.registers.pc;
        }
    }

    /// Handles an arrival at the head: skips iterations if that is possible, or learns. True if the core
    /// waits.
    #[inline(never)]
    fn arrive<B: Bus, P: Probe>(&mut self, bus: &mut B, text: &Text, probe: &mut P) -> bool {
        self.idle_loop.lines = if self.idle_loop.iteration.is_some() {
            LINES_BEFORE_NEXT_HEAD_KNOWN
        } else {
            LINES_BEFORE_NEXT_HEAD
        };
        if self.unit.replay.count != 0 {
            self.forget_record();
            return false;
        }
        self.finish_record(bus);
        // Nothing issues in the cycle of the horizon, or of the limit.
        let end = self.true_limit().min(self.cycle_at(bus.horizon()));
        let room = end.saturating_sub(self.pipeline.cycle() + 1);
        if room == 0 || end > FOREVER {
            return false;
        }
        let waited = std::mem::take(&mut self.idle_loop.waiting);
        let steady = waited || self.count_iteration();
        // An iteration that was learnt without a probe cannot be reported to one.
        let iteration = self
            .idle_loop
            .iteration
            .take()
            .filter(|iteration| !P::ON || iteration.told().is_some());
        if let Some(mut iteration) = iteration {
            let iterations = room / iteration.period();
            // Iterations are reported to a probe when they would be executed, whatever is known of them.
            let passes = !P::ON && bus.passes() && self.timer_cycle() == u64::MAX;
            let goes_on =
                (iterations > 0 || passes) && (waited || iteration.is_next(self, bus, text));
            if goes_on && passes {
                self.idle_loop.waiting = true;
            } else if goes_on && iterations > 0 {
                self.skip(&mut iteration, bus, probe, iterations);
            }
            self.idle_loop.iteration = Some(iteration);
            // An iteration that is recorded must fit; more make it worth while: to record one takes as
            // long as to execute two, and some are disturbed. (Of 3, 4, 6 and 9 the best.)
            if goes_on || iterations < 6 {
                return self.idle_loop.waiting;
            }
        }
        // An iteration unlike the one before does something: it will not be repeated.
        if steady {
            self.learn(bus, P::ON);
        }
        false
    }

    /// Books the iterations that come next.
    fn skip<B: Bus, P: Probe>(
        &mut self,
        iteration: &mut Iteration,
        bus: &mut B,
        probe: &mut P,
        iterations: u64,
    ) {
        iteration.repeat(self, bus, iterations);
        self.idle_loop.skipped += iterations;
        self.idle_loop.skipped_instructions += iterations * iteration.instructions();
        if let (true, Some(told)) = (P::ON, iteration.told()) {
            self.tell_again(probe, told, iterations);
        }
        self.idle_loop.pause_next = PAUSE;
        // Of the last of them the length is known.
        self.idle_loop.arrived = self.here();
    }

    /// Counts an iteration at its end: true if it was as long as the one before, or as the one that is known.
    fn count_iteration(&mut self) -> bool {
        let (now, then) = (self.here(), self.idle_loop.arrived);
        let iteration = (now.0 - then.0, now.1 - then.1);
        self.idle_loop.arrived = now;
        let last = std::mem::replace(&mut self.idle_loop.last, iteration);
        let known =
            self.idle_loop.iteration.as_ref().map(|known| (known.period(), known.instructions()));
        iteration == last || Some(iteration) == known
    }

    /// The present cycle, and the instructions completed.
    fn here(&self) -> (u64, u64) {
        (self.pipeline.cycle(), self.counters.instructions)
    }

    fn learn<B: Bus>(&mut self, bus: &mut B, observed: bool) {
        if self.idle_loop.pause > 0 {
            self.idle_loop.pause -= 1;
            return;
        }
        let Some(free) = bus.free() else {
            self.idle_loop.enabled = false;
            self.idle_loop.loop_head = 1;
            return;
        };
        let start = Start {
            registers: self.registers.snapshot(),
            pipeline: self.pipeline.phase(),
            unit: self.unit.under(self.pipeline.cycle()),
            counters: self.counters,
            free,
        };
        let told = observed.then(Vec::new);
        self.idle_loop.record = Some(match SPARE.take() {
            Some(mut record) => {
                record.steps.clear();
                (record.start, record.told) = (start, told);
                record
            }
            None => Box::new(Record { start, steps: Vec::with_capacity(STEPS), told }),
        });
    }

    /// A line was fetched the long way: it can only be part of an iteration if it is in text and cache now.
    pub(crate) fn expect_known(&mut self, text: &Text) {
        if self.idle_loop.recording() && self.fetched(text).is_none() {
            self.failed();
        }
    }

    /// Records an instruction of a line, before its execution.
    pub(crate) fn record(&mut self, op: &Op) {
        let step = self.next_step(op);
        match (&mut self.idle_loop.record, step) {
            (Some(record), Some(step)) if record.steps.len() < STEPS => record.steps.push(step),
            _ => self.failed(),
        }
    }

    /// An instruction with everything that it depends on; `None` if it is none that an iteration can
    /// have.
    #[inline(always)]
    fn next_step(&self, op: &Op) -> Option<Step> {
        let pc = self.registers.pc;
        let predicted = is_branch(op.kind).then(|| {
            let (condition, target) = flow::prediction(op);
            self.predictor.state(pc, condition, target)
        });
        let mut step = Step::new(pc, *op, predicted);
        if let Some(form) = memory_access(op.kind) {
            let index = if form.indexed { self.registers.get(op.rb) } else { op.imm };
            step.addr = self.registers.get(op.ra).wrapping_add(index);
            step.value = self.registers.get(op.rt);
            step.place = Some(self.place_of(step.addr, form)?);
            if let Some(Location::Cached { offset, .. }) = step.place {
                step.before = self.dcache.word(offset & !3);
            }
        }
        Some(step)
    }

    /// The iteration that is being recorded, if there is one, is over.
    fn finish_record<B: Bus>(&mut self, bus: &mut B) {
        let Some(record) = self.idle_loop.record.take() else { return };
        match Iteration::new(self, bus, &record) {
            Some(iteration) => self.idle_loop.iteration = Some(Box::new(iteration)),
            None => self.failed(),
        }
        SPARE.set(Some(record));
    }

    fn failed(&mut self) {
        self.forget_record();
        self.idle_loop.pause = self.idle_loop.pause_next;
        self.idle_loop.pause_next = (self.idle_loop.pause_next.max(PAUSE) * 2).min(PAUSE_MAX);
        // Something may be outstanding here in every iteration: the next line is tried, unless an iteration
        // has once been learnt here.
        let loop_head = self.idle_loop.loop_head;
        if self
            .idle_loop
            .iteration
            .as_ref()
            .is_none_or(|iteration| iteration.loop_head() != loop_head)
        {
            self.idle_loop.loop_head = 1;
            self.idle_loop.lines = 1;
        }
    }

    /// An iteration that something may have disturbed is none.
    pub(crate) fn forget_record(&mut self) {
        if let Some(record) = self.idle_loop.record.take() {
            SPARE.set(Some(record));
        }
    }
}
