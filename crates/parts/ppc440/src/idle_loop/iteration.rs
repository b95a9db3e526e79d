//! An iteration of a polling loop: what it depends on, and what it changes (see `idle_loop`).
//!
//! # Why an iteration can be repeated without being executed
//!
//! What an instruction does and when depends on registers, on words in the cache, on what the bus
//! answers, on the predictor and on what is still outstanding. An iteration is summarised only if all of
//! these are the same at its end as at its start (times: as seen from the head), except for a few
//! *items*, registers and words in the cache, that hold something else. Their
//! values are followed through the iteration: they may be moved, stored, and have constants added;
//! anything else that is done with them, and above all a decision or an address made of them,
//! makes the iteration unfit. So the next iteration is the same iteration, with items that have moved on.
//! An item that ends as its own first value plus a constant counts: after n iterations it has n times the
//! constant added. Any other item follows another one an iteration behind, and each written word is made of
//! an item plus a constant.

mod path;

use super::analysis::{self, memory_access, Analysis, Item, Location, Step, Value};
use super::Record;
use crate::code::Text;
use crate::core::loops::{Last, View};
use crate::core::Counters;
use crate::outside::probe::Observation;
use crate::registers::Snapshot;
use crate::semantics::memory::doublewords;
use crate::storage::arrays::LINE;
use crate::storage::tlb::Mapped;
use crate::storage::unit::Under;
use crate::timing::predictor::State;
use crate::timing::Phase;
use bus::{Access, Bus};
use des::Time;
use path::Path;

/// A word of the data cache that an iteration uses: what it holds, and whether that stays the same.
#[derive(Clone, Copy)]
struct Word {
    offset: usize,
    value: [u8; 4],
    same: bool,
}

/// A line of the data cache that an iteration uses, its index, and which doublewords must be dirty,
/// so that stores make none dirty.
#[derive(Clone, Copy)]
struct Cached {
    line: u32,
    index: usize,
    dirty: u8,
}

/// A branch of an iteration, and its state in the predictor.
#[derive(Clone, Copy)]
struct Branch {
    pc: u32,
    state: State,
}

/// A repeatable iteration.
#[derive(Clone)]
pub(crate) struct Iteration {
    loop_head: u32,
    period: u64,
    /// The core's state at its end.
    pipeline: Phase,
    unit: Under,
    start: Under,
    free: [Time; 2],
    free_start: [Time; 2],
    registers: Snapshot,
    ended: Last,
    /// Increments of the counters in one iteration.
    counts: Counters,
    epoch: u64,
    /// Lines of the text, a bit each of the numbered words (`InstructionCache::holds`).
    lines: Vec<(usize, u64)>,
    branches: Vec<Branch>,
    /// `None` if it is too wide to be followed.
    path: Option<Path>,
    /// Pages and cache lines of its loads and stores: translations, and lines of the data cache.
    pages: Vec<(u32, Mapped)>,
    cached: Vec<Cached>,
    /// CCR0 says how stores go to the bus.
    ccr0: u32,
    /// The registers, words and answers of the bus are those of an iteration that can be repeated.
    settled: bool,
    words: Vec<Word>,
    /// Registers whose readiness it depends on, and those that it writes (see `timing::reg`), a bit
    /// each.
    awaited: u64,
    written: u64,
    /// General registers that are items.
    moving: u32,
    items: Vec<(Item, Value)>,
    accesses: Vec<(Access, bool, Value)>,
    /// Observations of the iteration reported to a probe.
    told: Option<Vec<Observation>>,
    /// Values of the items, and accesses of the last iteration: buffers that `repeat` uses again.
    firsts: Vec<u32>,
    last: Vec<Access>,
}

impl Iteration {
    /// The iteration that was recorded and ends now; `None` if it is not repeatable.
    pub fn new<B: Bus>(core: &View<'_>, bus: &mut B, record: &Record) -> Option<Iteration> {
        let start = &record.start;
        let free = bus.free()?;
        let counts = difference(core.counters(), &start.counters);
        let rare = [counts.icache_misses, counts.dcache_misses, counts.writebacks];
        let (was, is) = (start.pipeline.cycle(), core.pipeline().cycle());
        let branches = record
            .steps
            .iter()
            .filter_map(|step| step.predicted.map(|state| Branch { pc: step.pc, state }));
        if is == was
            || rare != [0; 3]
            || counts.exceptions != 0
            || counts.gathered_stores != 0
            || !core.registers().equal_others(&start.registers)
            || !core.unit().same_phase(is, &start.unit, was)
            || wait(start.free, core.edge(was)) != wait(free, core.edge(is))
            || branches.clone().any(|branch| !core.predictor().is_in(branch.pc, branch.state))
        {
            return None;
        }
        let mut all = Analysis::new(core, record);
        record.steps.iter().try_for_each(|step| all.step(step))?;
        all.finish()?;
        if !core.pipeline().same_phase(&start.pipeline, all.awaited) {
            return None;
        }
        settle_accesses(bus, &mut all.accesses)?;
        let word = |word: &analysis::Word| {
            let (offset, value) = (word.offset, core.data_cache().word(word.offset));
            Word { offset, value, same: word.before == value }
        };
        let mut iteration = Iteration {
            loop_head: core.pc(),
            period: is - was,
            pipeline: core.pipeline().phase(),
            unit: core.unit().under(is),
            start: start.unit.clone(),
            free,
            free_start: start.free,
            registers: core.registers().snapshot(),
            ended: core.last(),
            counts,
            epoch: core.fetch_epoch(),
            lines: lines_of(&record.steps),
            branches: branches.collect(),
            path: Path::new(&record.steps, &all.words),
            pages: Vec::new(),
            cached: Vec::new(),
            ccr0: core.ccr0(),
            settled: true,
            words: all.words.iter().map(word).collect(),
            awaited: all.awaited,
            written: all.written,
            moving: 0,
            items: all.items,
            accesses: all.accesses,
            told: record.told.clone(),
            firsts: Vec::new(),
            last: Vec::new(),
        };
        for (item, _) in &iteration.items {
            if let Item::Register(register) = item {
                iteration.moving |= 1 << register;
            }
        }
        record.steps.iter().try_for_each(|step| iteration.keep_place(core, step))?;
        Some(iteration)
    }

    /// Keeps where a load or store went.
    fn keep_place(&mut self, core: &View<'_>, step: &Step) -> Option<()> {
        let (Some(form), Some(place)) = (memory_access(step.op.kind), step.place) else {
            return Some(());
        };
        let page = core.tlb().mapped(step.addr)?;
        if self.pages.iter().all(|(_, known)| *known != page) {
            self.pages.push((step.addr, page));
        }
        if let Location::Cached { offset, .. } = place {
            let dirty = if form.write { doublewords(step.addr, form.len.into()) } else { 0 };
            let line = core.tlb().line(page, step.addr);
            match self.cached.iter_mut().find(|known| known.line == line) {
                Some(known) => known.dirty |= dirty,
                None => self.cached.push(Cached { line, index: offset / LINE, dirty }),
            }
        }
        Some(())
    }

    /// Address of the loop head.
    pub fn loop_head(&self) -> u32 {
        self.loop_head
    }
    /// Instructions of one iteration.
    pub fn instructions(&self) -> u64 {
        self.counts.instructions
    }

    /// Core cycles.
    pub fn period(&self) -> u64 {
        self.period
    }

    /// Observations of the iteration reported to a probe, if there was one.
    pub fn told(&self) -> Option<&[Observation]> {
        self.told.as_deref()
    }

    /// True if the core, which has arrived at an address, would now execute this iteration, and then again
    /// and again. False where it is likely not to: finding out takes as long as executing an iteration.
    pub fn is_next<B: Bus>(&mut self, core: &mut View<'_>, bus: &mut B, text: &Text) -> bool {
        !self.has_news(bus)
            && self.stands(core, bus)
            && (self.has_values(core, bus) || self.follow(core, bus, text))
    }

    /// True if polls would read something else than when they were looked at last: there is something to do,
    /// most likely.
    fn has_news<B: Bus>(&mut self, bus: &mut B) -> bool {
        let mut news = false;
        for (access, _, _) in self.accesses.iter_mut().filter(|(access, _, _)| !access.write) {
            let before = access.data;
            // An address that cannot be peeked has not changed; any error is found later.
            let _ = bus.peek(access.addr, &mut access.data[..usize::from(access.len)]);
            news |= access.data != before;
        }
        self.settled &= !news;
        news
    }

    /// True if the core would now execute this iteration unless values make it go another way.
    fn stands<B: Bus>(&self, core: &mut View<'_>, bus: &mut B) -> bool {
        let cycle = core.pipeline().cycle();
        let Some(free) = bus.free() else { return false };
        let predicted = |branch: &Branch| core.predictor().predicts_as(branch.pc, branch.state);
        core.pc() == self.loop_head
            && core.fetch_epoch() == self.epoch
            && self.branches.iter().all(predicted)
            && core.pipeline().same_phase(&self.pipeline, self.awaited)
            && core.unit().same_phase(cycle, &self.unit, self.pipeline.cycle())
            && wait(free, core.edge(cycle)) == wait(self.free, core.edge(self.pipeline.cycle()))
            && core.holds(&self.lines)
            && core.ccr0() == self.ccr0
            && self.pages.iter().all(|&(addr, page)| core.tlb().mapped(addr) == Some(page))
            && self.cached.iter().all(|cached| {
                core.data_cache().hinted_dirty(cached.line, cached.dirty) == Some(cached.index)
            })
    }

    /// All values are those with which it can be repeated.
    fn has_values<B: Bus>(&self, core: &View<'_>, bus: &mut B) -> bool {
        let named = (self.awaited | self.written) as u32 & !self.moving;
        let mut registers = (0..32).filter(|register| named >> register & 1 != 0);
        self.settled
            && core.registers().equal_others(&self.registers)
            && registers.all(|r| core.registers().get(r) == self.registers.gpr(r))
            && self
                .words
                .iter()
                .all(|word| !word.same || core.data_cache().word(word.offset) == word.value)
            && self.accesses.iter().all(|(access, _, _)| access.write || answers(bus, access))
    }

    /// Value of `item` after `iterations`, if the items held `firsts` before.
    fn count(&self, item: usize, iterations: u64, firsts: &[u32]) -> u32 {
        let (mut item, mut iterations, mut plus) = (item, iterations, 0u32);
        while iterations > 0 {
            match self.items[item].1 {
                Value::Of(same, step) if same == item => {
                    plus = plus.wrapping_add(step.wrapping_mul(iterations as u32));
                    break;
                }
                Value::Of(other, step) => {
                    plus = plus.wrapping_add(step);
                    item = other;
                }
                Value::Same => unreachable!("every chain of items ends in a count"),
            }
            iterations -= 1;
        }
        firsts[item].wrapping_add(plus)
    }

    /// Leaves core and bus as if the iteration had been executed `iterations` times, at least once.
    pub fn repeat<B: Bus>(&mut self, core: &mut View<'_>, bus: &mut B, iterations: u64) {
        let end_cycle = self.pipeline.cycle();
        let cycle = core.pipeline().cycle() + iterations * self.period;
        let mut firsts = std::mem::take(&mut self.firsts);
        let mut accesses = std::mem::take(&mut self.last);
        firsts.clear();
        accesses.clear();
        firsts.extend(self.items.iter().map(|(item, _)| read(core, *item)));
        // The value of an expression of an item, `before` iterations after now.
        let value = |value: Value, before: u64| match value {
            Value::Same => None,
            Value::Of(item, plus) => Some(self.count(item, before, &firsts).wrapping_add(plus)),
        };
        for (item, end) in &self.items {
            if let Some(value) = value(*end, iterations - 1) {
                write(core, *item, value);
            }
        }
        let last = |&(mut access, little, of): &(Access, bool, Value)| {
            if let Some(value) = value(of, iterations - 1) {
                access.data = if little { value.to_le_bytes() } else { value.to_be_bytes() };
            }
            access
        };
        accesses.extend(self.accesses.iter().map(last));
        let mut free = bus.free().expect("a bus that could repeat still can");
        let (now, end) = (core.edge(cycle), core.edge(end_cycle));
        for (path, free) in free.iter_mut().enumerate() {
            if self.free[path] != self.free_start[path] {
                *free = Time(now.0 + self.free[path].0 - end.0);
            }
        }
        bus.repeat(iterations, &accesses, free);
        (self.firsts, self.last) = (firsts, accesses);
        for branch in &self.branches {
            core.leave_branch(branch.pc, branch.state);
        }
        core.repeat_unit(cycle, &self.start, &self.unit, end_cycle);
        core.repeat_pipeline(cycle, &self.pipeline, self.written, self.ended);
        core.count(iterations, &self.counts);
    }
}

/// The lines of the text that hold the steps, which the cache holds while they are recorded.
fn lines_of(steps: &[Step]) -> Vec<(usize, u64)> {
    let mut lines: Vec<(usize, u64)> = Vec::new();
    for step in steps {
        let place = Text::place(step.pc >> 5);
        let (word, bit) = (place / 64, 1 << (place % 64));
        match lines.iter_mut().find(|line| line.0 == word) {
            Some(line) => line.1 |= bit,
            None => lines.push((word, bit)),
        }
    }
    lines
}

/// Remaining busy time of the bus at `now`.
fn wait(free: [Time; 2], now: Time) -> [u64; 2] {
    free.map(|free| free.0.saturating_sub(now.0))
}

/// A read would give what it gave in the iteration.
fn answers<B: Bus>(bus: &mut B, access: &Access) -> bool {
    let mut bytes = [0; 4];
    let len = usize::from(access.len);
    bus.peek(access.addr, &mut bytes[..len]) && bytes[..len] == *access.bytes()
}

/// Fills in what the reads returned; `None` if an access is not repeatable, or reads what another
/// writes.
fn settle_accesses<B: Bus>(bus: &mut B, accesses: &mut [(Access, bool, Value)]) -> Option<()> {
    for index in 0..accesses.len() {
        let Access { addr, len, write, .. } = accesses[index].0;
        if write {
            if !bus.repeatable(addr) {
                return None;
            }
            continue;
        }
        let mut others = accesses.iter();
        if others.any(|(other, _, _)| other.write && other.addr >> 2 == addr >> 2) {
            return None;
        }
        if !bus.peek(addr, &mut accesses[index].0.data[..usize::from(len)]) {
            return None;
        }
    }
    Some(())
}

fn read(core: &View<'_>, item: Item) -> u32 {
    match item {
        Item::Register(register) => core.registers().get(register),
        Item::Word(offset, true) => u32::from_le_bytes(core.data_cache().word(offset)),
        Item::Word(offset, false) => u32::from_be_bytes(core.data_cache().word(offset)),
    }
}

fn write(core: &mut View<'_>, item: Item, value: u32) {
    match item {
        Item::Register(register) => core.set_register(register, value),
        Item::Word(offset, true) => core.set_word(offset, value.to_le_bytes()),
        Item::Word(offset, false) => core.set_word(offset, value.to_be_bytes()),
    }
}

fn difference(end: &Counters, start: &Counters) -> Counters {
    Counters {
        instructions: end.instructions - start.instructions,
        cycles: 0,
        icache_misses: end.icache_misses - start.icache_misses,
        dcache_misses: end.dcache_misses - start.dcache_misses,
        writebacks: end.writebacks - start.writebacks,
        uncached_reads: end.uncached_reads - start.uncached_reads,
        uncached_writes: end.uncached_writes - start.uncached_writes,
        gathered_stores: end.gathered_stores - start.gathered_stores,
        branches: end.branches - start.branches,
        mispredicts: end.mispredicts - start.mispredicts,
        exceptions: end.exceptions - start.exceptions,
    }
}
