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
            period => time.0.div_ceil(period),
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
