//! Branch prediction: a table of two-bit counters that agree or disagree with the static
//! prediction, and the branch target address cache (BTAC), which saves the fetch bubble of
//! unconditional branches and bdnz.

use crate::Timing;

/// Predictor state for one branch.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct State {
    counter: Option<u8>,
    target: Option<u32>,
}

/// The branch history table and the BTAC.
#[derive(Clone, Hash)]
pub(crate) struct Predictor {
    /// Two-bit counters, four to a byte; 2 and 3 agree with the static prediction.
    pub history: Box<[u8]>,
    history_mask: u32,
    /// Branch addresses, the even and the odd array in turn; 1 (no address) if empty.
    pub btac: [u32; 16],
    pub btac_mask: u32,
    pub taken: u64,
    pub taken_btac: u64,
    pub mispredict: u64,
}

impl Predictor {
    pub fn new(timing: &Timing) -> Predictor {
        assert!(timing.bht_entries.is_power_of_two() && timing.btac_entries.is_power_of_two());
        assert!(timing.btac_entries <= 8, "the BTAC's arrays have at most 8 entries");
        Predictor {
            history: vec![0b10_10_10_10; usize::from(timing.bht_entries).div_ceil(4)].into(),
            history_mask: u32::from(timing.bht_entries) - 1,
            btac: [1; 16],
            btac_mask: u32::from(timing.btac_entries) * 2 - 1,
            taken: 1 + u64::from(timing.taken),
            taken_btac: 1 + u64::from(timing.taken_btac),
            mispredict: u64::from(timing.mispredict),
        }
    }
    /// A conditional branch at `pc`, statically predicted as `guess`, went `taken`. Returns whether
    /// it was predicted, and the cycles from its issue to the next one (0: the same cycle).
    #[inline(always)]
    pub fn conditional(&mut self, pc: u32, guess: bool, taken: bool, counts: bool) -> (bool, u64) {
        let agrees = taken == guess;
        // Most counters are already at that end.
        if self.counter(pc) != if agrees { 3 } else { 0 } && !self.learn(pc, agrees) {
            return (false, self.mispredict);
        }
        if !taken {
            return (true, 0);
        }
        (true, if counts { self.target(pc) } else { self.taken })
    }
    /// A branch at `pc` has gone as the static prediction says, or not. True if that was predicted.
    #[inline(never)]
    pub fn learn(&mut self, pc: u32, agrees: bool) -> bool {
        let counter = self.counter(pc);
        self.set_counter(pc, if agrees { counter + 1 } else { counter - 1 });
        agrees == (counter >= 2)
    }
    /// The byte of the counter for a branch at `pc`, and its position in the byte.
    #[inline(always)]
    pub fn index(&self, pc: u32) -> (usize, u32) {
        let index = pc >> 2 & self.history_mask;
        (index as usize / 4, index % 4 * 2)
    }
    #[inline(always)]
    fn counter(&self, pc: u32) -> u8 {
        let (byte, shift) = self.index(pc);
        self.history[byte] >> shift & 3
    }
    #[inline(always)]
    fn set_counter(&mut self, pc: u32, counter: u8) {
        let (byte, shift) = self.index(pc);
        let four = &mut self.history[byte];
        *four = *four & !(3 << shift) | counter << shift;
    }
    /// Cycles from the issue of an unconditional branch, or a bdnz that is taken, to the next
    /// instruction.
    #[inline(always)]
    pub fn target(&mut self, pc: u32) -> u64 {
        let slot = &mut self.btac[(pc >> 2 & self.btac_mask) as usize & 15];
        if *slot == pc {
            return self.taken_btac;
        }
        *slot = pc;
        self.taken
    }
    /// Predictor state on which the prediction of a branch at `pc` depends and that the branch may change;
    /// `condition`: it has a condition, `target`: its target is looked up in the BTAC.
    pub fn state(&self, pc: u32, condition: bool, target: bool) -> State {
        State {
            counter: condition.then(|| self.counter(pc)),
            target: target.then(|| self.btac[(pc >> 2 & self.btac_mask) as usize & 15]),
        }
    }
    /// True if the predictor holds `state`.
    pub fn is_in(&self, pc: u32, state: State) -> bool {
        self.state(pc, state.counter.is_some(), state.target.is_some()) == state
    }
    /// A branch at `pc` that has left all as it was, `then`, would be predicted as it was and leave
    /// that: a counter at an end of its range goes back there with the first such outcome.
    pub fn predicts_as(&self, pc: u32, then: State) -> bool {
        let now = self.state(pc, then.counter.is_some(), then.target.is_some());
        let counter = match then.counter {
            Some(0) => now.counter < Some(2),
            Some(3) => now.counter >= Some(2),
            other => now.counter == other,
        };
        counter && now.target == then.target
    }
    /// A branch at `pc` has left that.
    pub fn leave(&mut self, pc: u32, state: State) {
        if let Some(counter) = state.counter {
            self.set_counter(pc, counter);
        }
    }
    /// Cycles from the issue of a branch to LR or CTR that was predicted to the next instruction.
    pub fn register(&self) -> u64 {
        self.taken
    }
}
