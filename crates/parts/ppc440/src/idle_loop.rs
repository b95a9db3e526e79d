//! Fast-forward of idle loops: a polling loop is learnt once and then skipped, exactly.
//!
//! An *iteration* goes from one arrival at an address, the *head*, to the next one. One iteration is executed
//! instruction by instruction and recorded (`record`); from the record a summary is made
//! (`iteration::Iteration`) that holds everything the iteration depends on and everything it changes.
//! Whenever the core arrives at the head and everything that the iteration depends on is as it was, the
//! iteration would be executed in the same cycles with the same transactions, and so would the next one: as
//! many as fit before anything else can happen on the node are booked at once (`View::skip`). The last,
//! partial iteration is executed. So no observer can see the difference at any time.
//!
//! Where something is due that the core cannot see (`Bus::passes`) it need not even do that: it stays
//! at the head, *waiting* (`Core::is_waiting`), and the iterations are booked when something is due that it
//! may see, before that happens.
//!
//! The head is any address at which the core has been seen often enough; nothing is said about
//! firmware here.

use crate::code::Text;
use crate::core::loops::View;
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

    /// Forgets all but what it has done.
    pub fn start_anew(&mut self, enabled: bool) {
        let IdleLoop { skipped, skipped_instructions, .. } = *self;
        *self = IdleLoop { skipped, skipped_instructions, ..IdleLoop::new(enabled) };
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

impl View<'_> {
    /// Handles an arrival at the head: skips iterations if that is possible, or learns. True if the core
    /// waits.
    #[inline(never)]
    pub fn arrive<B: Bus, P: Probe>(&mut self, bus: &mut B, text: &Text, probe: &mut P) -> bool {
        self.known().count_lines_anew();
        if self.unit().replay.count != 0 {
            self.known().forget_record();
            return false;
        }
        self.finish_record(bus);
        // Nothing issues in the cycle of the horizon, or of the limit.
        let end = self.calm_until(bus.horizon());
        let room = end.saturating_sub(self.pipeline().cycle() + 1);
        if room == 0 || end > FOREVER {
            return false;
        }
        let waited = std::mem::take(&mut self.known().waiting);
        let steady = waited || self.count_iteration();
        // An iteration that was learnt without a probe cannot be reported to one.
        let iteration =
            self.known().iteration.take().filter(|iteration| !P::ON || iteration.told().is_some());
        if let Some(mut iteration) = iteration {
            let iterations = room / iteration.period();
            // Iterations are reported to a probe when they would be executed, whatever is known of them.
            let passes = !P::ON && bus.passes() && self.is_timer_off();
            let goes_on =
                (iterations > 0 || passes) && (waited || iteration.is_next(self, bus, text));
            if goes_on && passes {
                self.known().waiting = true;
            } else if goes_on && iterations > 0 {
                self.skip(&mut iteration, bus, probe, iterations);
            }
            self.known().iteration = Some(iteration);
            // An iteration that is recorded must fit; more make it worth while: to record one takes as
            // long as to execute two, and some are disturbed. (Of 3, 4, 6 and 9 the best.)
            if goes_on || iterations < 6 {
                return self.known().waiting;
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
        if let (true, Some(told)) = (P::ON, iteration.told()) {
            self.tell(probe, told, iterations);
        }
        let here = self.here();
        let known = self.known();
        known.skipped += iterations;
        known.skipped_instructions += iterations * iteration.instructions();
        known.pause_next = PAUSE;
        // Of the last of them the length is known.
        known.arrived = here;
    }

    /// Counts an iteration at its end: true if it was as long as the one before, or as the one that is known.
    fn count_iteration(&mut self) -> bool {
        let now = self.here();
        let known = self.known();
        let iteration = (now.0 - known.arrived.0, now.1 - known.arrived.1);
        known.arrived = now;
        let last = std::mem::replace(&mut known.last, iteration);
        let known = known.iteration.as_ref().map(|known| (known.period(), known.instructions()));
        iteration == last || Some(iteration) == known
    }

    /// The present cycle, and the instructions completed.
    fn here(&self) -> (u64, u64) {
        (self.pipeline().cycle(), self.counters().instructions)
    }

    fn learn<B: Bus>(&mut self, bus: &mut B, observed: bool) {
        let known = self.known();
        if known.pause > 0 {
            known.pause -= 1;
            return;
        }
        let Some(free) = bus.free() else {
            known.enabled = false;
            known.loop_head = 1;
            return;
        };
        let start = Start {
            registers: self.registers().snapshot(),
            pipeline: self.pipeline().phase(),
            unit: self.unit().under(self.pipeline().cycle()),
            counters: *self.counters(),
            free,
        };
        let told = observed.then(Vec::new);
        self.known().record = Some(match SPARE.take() {
            Some(mut record) => {
                record.steps.clear();
                (record.start, record.told) = (start, told);
                record
            }
            None => Box::new(Record { start, steps: Vec::with_capacity(STEPS), told }),
        });
    }

    /// Records an instruction of a line, before its execution.
    pub fn record(&mut self, op: &Op) {
        let step = self.next_step(op);
        let known = self.known();
        match (&mut known.record, step) {
            (Some(record), Some(step)) if record.steps.len() < STEPS => record.steps.push(step),
            _ => known.failed(),
        }
    }

    /// An instruction with everything that it depends on; `None` if it is none that an iteration can
    /// have.
    #[inline(always)]
    fn next_step(&self, op: &Op) -> Option<Step> {
        let pc = self.pc();
        let predicted = is_branch(op.kind).then(|| {
            let (condition, target) = flow::prediction(op);
            self.predictor().state(pc, condition, target)
        });
        let mut step = Step::new(pc, *op, predicted);
        if let Some(form) = memory_access(op.kind) {
            let index = if form.indexed { self.registers().get(op.rb) } else { op.imm };
            step.addr = self.registers().get(op.ra).wrapping_add(index);
            step.value = self.registers().get(op.rt);
            step.place = Some(self.place_of(step.addr, form)?);
            if let Some(Location::Cached { offset, .. }) = step.place {
                step.before = self.data_cache().word(offset & !3);
            }
        }
        Some(step)
    }

    /// The iteration that is being recorded, if there is one, is over.
    fn finish_record<B: Bus>(&mut self, bus: &mut B) {
        let Some(record) = self.known().record.take() else { return };
        match Iteration::new(self, bus, &record) {
            Some(iteration) => self.known().iteration = Some(Box::new(iteration)),
            None => self.known().failed(),
        }
        SPARE.set(Some(record));
    }
}

impl IdleLoop {
    /// The core is at the head.
    fn count_lines_anew(&mut self) {
        let known = self.iteration.is_some();
        self.lines = if known { LINES_BEFORE_NEXT_HEAD_KNOWN } else { LINES_BEFORE_NEXT_HEAD };
    }

    /// The core has not come to the head for long: it may be at `pc`.
    #[cold]
    pub fn drop_loop_head(&mut self, pc: u32) {
        self.lines = LINES_BEFORE_NEXT_HEAD;
        // Without idle-loop fast-forward there is no head, and never an arrival.
        if self.enabled && !self.recording() {
            self.loop_head = pc;
        }
    }

    /// The iteration that is being recorded cannot be repeated.
    pub fn failed(&mut self) {
        self.forget_record();
        self.pause = self.pause_next;
        self.pause_next = (self.pause_next.max(PAUSE) * 2).min(PAUSE_MAX);
        // Something may be outstanding here in every iteration: the next line is tried, unless an iteration
        // has once been learnt here.
        let loop_head = self.loop_head;
        if self.iteration.as_ref().is_none_or(|iteration| iteration.loop_head() != loop_head) {
            self.loop_head = 1;
            self.lines = 1;
        }
    }

    /// An iteration that something may have disturbed is none.
    pub fn forget_record(&mut self) {
        if let Some(record) = self.record.take() {
            SPARE.set(Some(record));
        }
    }
}
