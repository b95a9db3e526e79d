//! Accesses in flight in the load and store unit: iterations of polling loops (`idle_loop`) repeat when
//! these do.

use super::Unit;
use crate::storage::gather::Gather;
use crate::storage::slots::Slots;

/// Accesses that a load and store unit had in flight at some instant.
#[derive(Clone)]
pub(crate) struct Under {
    simple: bool,
    loads: Slots,
    writes: Slots,
    /// [`Unit::at`], [`Unit::data_at`], [`Unit::stall`].
    times: [u64; 3],
    step: u32,
    taken: usize,
}

impl Unit {
    /// Accesses in flight in `cycle`.
    pub fn under(&self, cycle: u64) -> Under {
        Under {
            simple: self.is_simple(cycle),
            loads: self.loads.clone(),
            writes: self.writes.clone(),
            times: [self.at, self.data_at, self.stall],
            step: self.step,
            taken: self.taken,
        }
    }
    /// No line fill is outstanding, no write held, no instruction half done: iterations of polling loops
    /// (`iteration`) do without.
    fn is_simple(&self, cycle: u64) -> bool {
        self.filled <= cycle && self.replay.count == 0 && self.gather.is_empty()
    }
    /// True if code executed from `cycle` on would wait as long as in `other` from `other_cycle` on.
    pub fn same_phase(&self, cycle: u64, other: &Under, other_cycle: u64) -> bool {
        self.is_simple(cycle)
            && other.simple
            && self.loads.same_phase(cycle, &other.loads, other_cycle)
            && self.writes.same_phase(cycle, &other.writes, other_cycle)
    }
    /// Repeats what happened between `start` and `end`, which was in `end_cycle`, so that it ends in
    /// `cycle`.
    pub fn repeat(&mut self, cycle: u64, start: &Under, end: &Under, end_cycle: u64) {
        self.loads.repeat(cycle, &end.loads, end_cycle);
        self.writes.repeat(cycle, &end.writes, end_cycle);
        let shift = cycle.wrapping_sub(end_cycle);
        let mine = [&mut self.at, &mut self.data_at, &mut self.stall];
        for (mine, (before, after)) in mine.into_iter().zip(start.times.iter().zip(end.times)) {
            if after == 0 {
                *mine = 0;
            } else if *before != after {
                *mine = after.wrapping_add(shift);
            }
        }
        self.step = end.step;
        self.taken = end.taken;
    }
    /// Copy of the unit without what no longer matters in `cycle`.
    pub fn without_past(&self, cycle: u64) -> Unit {
        let mut unit = self.clone();
        unit.loads.forget(cycle);
        unit.writes.forget(cycle);
        if unit.gather.is_empty() {
            unit.gather = Gather::EMPTY;
        }
        unit
    }
}
