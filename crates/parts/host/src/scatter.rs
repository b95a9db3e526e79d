//! Order in which Linux allocates page frames.
//!
//! A system that has run for long has a free list in no recognizable order: pages that are used one after the
//! other are anywhere. Here a fixed permutation gives the place of the n-th run of pages: as scattered as
//! random numbers, and the same in every simulation.

/// Bits of a slot's number: page frames of 4 KB in 64 GB.
pub(crate) const SLOT_BITS: u32 = 24;

/// Factor of the permutation. It is odd, so that multiplication by it modulo a power of two has an inverse;
/// its bits have no pattern (fractional part of the golden ratio).
const FACTOR: u32 = 0x9e37_79b1;
/// Slot of the first run, before scattering.
const START: u32 = 0x00b7_e151;

/// A permutation of all slots that leaves runs of `1 << run_bits` together.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Scatter {
    run_bits: u32,
}

impl Scatter {
    pub(crate) fn new(run: u32) -> Scatter {
        assert!(run.is_power_of_two() && run <= 1024, "runs are of 1 to 1024 pages");
        Scatter { run_bits: run.trailing_zeros() }
    }

    /// Slot of the page that is used as number `order`.
    pub(crate) fn slot(self, order: u32) -> u32 {
        let (mask, shift) = self.shape();
        let mut run = order >> self.run_bits;
        run = run.wrapping_mul(FACTOR).wrapping_add(START) & mask;
        run ^= run >> shift;
        run = run.wrapping_mul(FACTOR) & mask;
        run ^= run >> shift;
        run << self.run_bits | order & ((1 << self.run_bits) - 1)
    }

    /// Number of the page in `slot`, in order of use: the inverse.
    pub(crate) fn order(self, slot: u32) -> u32 {
        let (mask, shift) = self.shape();
        let mut run = slot >> self.run_bits;
        // Shifts of at least half of the bits undo themselves.
        run ^= run >> shift;
        run = run.wrapping_mul(INVERSE) & mask;
        run ^= run >> shift;
        run = run.wrapping_sub(START).wrapping_mul(INVERSE) & mask;
        run << self.run_bits | slot & ((1 << self.run_bits) - 1)
    }

    /// Mask of a run's number, and half of its bits.
    fn shape(self) -> (u32, u32) {
        let bits = SLOT_BITS - self.run_bits;
        ((1 << bits) - 1, bits.div_ceil(2))
    }
}

/// Inverse of [`FACTOR`] modulo 2^32, by Newton's iteration, which doubles the bits that are right.
const INVERSE: u32 = {
    let mut inverse = FACTOR;
    let mut round = 0;
    while round < 5 {
        inverse = inverse.wrapping_mul(2u32.wrapping_sub(FACTOR.wrapping_mul(inverse)));
        round += 1;
    }
    inverse
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_slot_is_taken_once_and_found_again() {
        assert_eq!(FACTOR.wrapping_mul(INVERSE), 1);
        for run in [1, 2, 8, 512, 1024] {
            let scatter = Scatter::new(run);
            let mut seen = vec![false; 1 << SLOT_BITS];
            for order in (0..1 << SLOT_BITS).step_by(if run == 8 { 1 } else { 97 }) {
                let slot = scatter.slot(order);
                assert_eq!(scatter.order(slot), order, "runs of {run}");
                assert!(!std::mem::replace(&mut seen[slot as usize], true), "runs of {run}");
            }
        }
    }

    #[test]
    fn pages_used_one_after_the_other_are_no_neighbours_but_within_a_run() {
        for run in [1, 4] {
            let scatter = Scatter::new(run);
            let neighbours = |n: &u32| scatter.slot(*n) + 1 == scatter.slot(n + 1);
            let together = (0..4096).filter(neighbours).count();
            assert_eq!(together, 4096 - 4096 / run as usize, "runs of {run}");
        }
    }
}
