//! Places for transactions that are under way.

/// Most slots of a kind.
pub(crate) const MOST: usize = 8;

/// A number of slots, each taken until some cycle.
#[derive(Clone, Hash)]
pub(crate) struct Slots {
    /// When each slot is free, the first one first.
    ends: [u64; MOST],
    count: usize,
}

des::checkpointed!(Slots { ends } given { count });

impl Slots {
    pub fn new(count: u8) -> Slots {
        assert!((1..=MOST).contains(&count.into()), "1 to 8 slots");
        Slots { ends: [0; MOST], count: count.into() }
    }
    /// When a slot is free.
    pub fn free(&self) -> u64 {
        self.ends[0]
    }
    /// When all slots are free.
    pub fn all_free(&self) -> u64 {
        self.ends[self.count - 1]
    }
    /// Takes the slot that is free first.
    #[inline(always)]
    pub fn occupy(&mut self, until: u64) {
        let ends = &mut self.ends[..self.count];
        // What is asked for last mostly ends last.
        if until >= ends[ends.len() - 1] {
            ends.copy_within(1.., 0);
            ends[self.count - 1] = until;
            return;
        }
        let later = ends[1..].iter().take_while(|&&other| other < until).count();
        ends.copy_within(1..1 + later, 0);
        ends[later] = until;
    }
    /// In `cycle` as many are taken for as long as of `other` in `other_cycle`.
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
