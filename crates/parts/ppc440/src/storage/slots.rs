//! Places for transactions that are under way.

/// Most slots of a kind.
pub(crate) const MOST: usize = 8;

/// A number of slots, each taken until some cycle.
#[derive(Clone, Hash)]
pub(crate) struct Slots {
    /// Time at which each slot is free, earliest first. Slots that do not exist come first, with time 0: so
    /// the usual change moves entries by a fixed distance.
    ends: [u64; MOST],
    /// Number of slots that do not exist.
    none: usize,
}

impl Slots {
    pub fn new(count: u8) -> Slots {
        assert!((1..=MOST).contains(&count.into()), "1 to 8 slots");
        Slots { ends: [0; MOST], none: MOST - usize::from(count) }
    }
    /// Cycle in which the first slot is free.
    #[inline(always)]
    pub fn free(&self) -> u64 {
        self.ends[self.none % MOST]
    }
    /// Cycle in which all slots are free.
    #[inline(always)]
    pub fn all_free(&self) -> u64 {
        self.ends[MOST - 1]
    }
    /// Takes the slot that is free first.
    #[inline(always)]
    pub fn occupy(&mut self, until: u64) {
        // The newest request mostly ends last.
        if until < self.all_free() {
            return self.occupy_between(until);
        }
        self.ends.copy_within(1.., 0);
        self.ends[MOST - 1] = until;
        if self.none > 0 {
            self.ends[(self.none - 1) % MOST] = 0;
        }
    }
    #[cold]
    fn occupy_between(&mut self, until: u64) {
        let ends = &mut self.ends[self.none..];
        let later = ends[1..].iter().take_while(|&&other| other < until).count();
        ends.copy_within(1..1 + later, 0);
        ends[later] = until;
    }
    /// True if in `cycle` as many are taken, for as long, as of `other` in `other_cycle`.
    pub fn same_phase(&self, cycle: u64, other: &Slots, other_cycle: u64) -> bool {
        let wait = |end: &u64, cycle: u64| end.saturating_sub(cycle);
        let mut pairs = self.ends.iter().zip(&other.ends);
        pairs.all(|(end, other)| wait(end, cycle) == wait(other, other_cycle))
    }
    /// A slot that is free in `cycle` is like any other.
    pub fn forget(&mut self, cycle: u64) {
        for end in self.ends.iter_mut().filter(|end| **end <= cycle) {
            *end = 0;
        }
    }
    /// Is in `cycle` what `end` is in `end_cycle`.
    pub fn repeat(&mut self, cycle: u64, end: &Slots, end_cycle: u64) {
        *self = end.clone();
        self.forget(end_cycle);
        for end in self.ends.iter_mut().filter(|end| **end > 0) {
            *end = cycle + (*end - end_cycle);
        }
    }
}
