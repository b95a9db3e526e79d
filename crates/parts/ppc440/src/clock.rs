//! Cycles and time.

use crate::core::Core;
use des::{Clock, Time};

impl Core {
    /// Time of a cycle.
    #[inline(always)]
    pub(crate) fn edge(&self, cycle: u64) -> Time {
        // The multiplication saves two divisions a bus transaction.
        match self.period {
            0 => self.clock.edge(cycle),
            period => Time(cycle * period),
        }
    }
    /// First cycle at or after a time.
    #[inline(always)]
    pub(crate) fn cycle_at(&self, time: Time) -> u64 {
        match self.period {
            0 => self.clock.edge_at_or_after(time),
            period => quotient_above(time.0, period, self.inverse),
        }
    }
}

/// The period of a clock whose edges are its multiples; 0 if they are not.
pub(crate) fn whole_period(clock: Clock) -> u64 {
    let period = clock.edge(1).0;
    // Exact in the long run as well, not only for the first edge.
    let exact = clock.edge(0) == Time::ZERO && clock.edge(clock.hz()).0 == period * clock.hz();
    if exact {
        period
    } else {
        0
    }
}

/// 2^64 divided by a period; 0 for none.
pub(crate) fn inverse(period: u64) -> u64 {
    u64::MAX.checked_div(period).unwrap_or(0)
}

/// `time` divided by a period, rounded up: without the division, which takes several times as long.
#[inline(always)]
fn quotient_above(time: u64, period: u64, inverse: u64) -> u64 {
    // The quotient or one less.
    let less = ((u128::from(time) * u128::from(inverse)) >> 64) as u64;
    let left = time - less * period;
    less + u64::from(left > 0) + u64::from(left > period)
}

#[cfg(test)]
mod tests {
    use super::*;
    use des::Random;

    #[test]
    fn a_quotient_is_rounded_up() {
        let mut random = Random::new(1);
        for _ in 0..100_000 {
            let period = 1 + (random.next_u64() >> random.below(64));
            let any = random.next_u64() >> random.below(64);
            let multiple = any / period * period;
            for time in [any, multiple, multiple.saturating_add(1), u64::MAX] {
                assert_eq!(quotient_above(time, period, inverse(period)), time.div_ceil(period));
            }
        }
    }
}
