//! Branch prediction: a table of two-bit counters that agree or disagree with the static
//! prediction, and the branch target address cache (BTAC), which saves the fetch bubble of
//! unconditional branches and bdnz.

use crate::Timing;

/// The branch history table and the BTAC.
#[derive(Clone, Hash)]
pub(crate) struct Predictor {
    /// Two-bit counters; 2 and 3 agree with the static prediction.
    history: Box<[u8]>,
    /// Branch addresses, the even and the odd array in turn; 1 (no address) if empty.
    btac: [u32; 16],
    btac_mask: u32,
    taken: u64,
    taken_btac: u64,
    mispredict: u64,
}

des::checkpointed!(Predictor { history, btac } given { btac_mask, taken, taken_btac, mispredict });

impl Predictor {
    pub fn new(timing: &Timing) -> Predictor {
        assert!(timing.bht_entries.is_power_of_two() && timing.btac_entries.is_power_of_two());
        assert!(timing.btac_entries <= 8, "the BTAC's arrays have at most 8 entries");
        Predictor {
            history: vec![2; usize::from(timing.bht_entries)].into(),
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
        let index = (pc >> 2) as usize & (self.history.len() - 1);
        let counter = &mut self.history[index];
        let predicted = guess == (*counter >= 2);
        *counter = if taken == guess { (*counter + 1).min(3) } else { counter.saturating_sub(1) };
        if predicted != taken {
            return (false, self.mispredict);
        }
        if !taken {
            return (true, 0);
        }
        (true, if counts { self.target(pc) } else { self.taken })
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
    /// What the prediction of a branch at `pc` depends on and may change.
    pub fn state(&self, pc: u32) -> (u8, u32) {
        let index = (pc >> 2) as usize & (self.history.len() - 1);
        (self.history[index], self.btac[(pc >> 2 & self.btac_mask) as usize & 15])
    }
    /// Cycles from the issue of a branch to LR or CTR that was predicted to the next instruction.
    pub fn register(&self) -> u64 {
        self.taken
    }
}
