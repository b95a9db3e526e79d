//! The clock and the three interrupt timers, in ticks of half a microsecond.

use abi::myrinet::{isr, TICK_NS};
use des::{Duration, Time};

const TICK: Duration = Duration::from_ns(TICK_NS as u64);
const BITS: [u32; 3] = [isr::TIME0, isr::TIME1, isr::TIME2];

#[derive(Clone, Debug)]
pub(super) struct Timers {
    /// Time at which each passes 0.
    ends: [Time; 3],
    /// Value to which the clock was set, and the time of that.
    clock: (u32, Time),
}

impl Default for Timers {
    fn default() -> Timers {
        Timers { ends: [Time::NEVER; 3], clock: (0, Time::ZERO) }
    }
}

impl Timers {
    pub fn due(&self) -> Time {
        self.ends.into_iter().min().expect("there are three")
    }
    /// Bits of the timers that have passed 0.
    pub fn pass(&mut self, now: Time) -> u32 {
        let mut bits = 0;
        for (end, bit) in self.ends.iter_mut().zip(BITS) {
            if *end <= now {
                *end = Time::NEVER;
                bits |= bit;
            }
        }
        bits
    }
    pub fn set(&mut self, timer: usize, now: Time, ticks: u32) {
        self.ends[timer] = now + TICK * ticks.into();
    }
    /// Ticks that are left, rounded up; 0 once it has passed 0.
    pub fn left(&self, timer: usize, now: Time) -> u32 {
        match self.ends[timer] {
            Time::NEVER => 0,
            end => end.since(now).0.div_ceil(TICK.0) as u32,
        }
    }
    pub fn clock(&self, now: Time) -> u32 {
        let (value, since) = self.clock;
        value.wrapping_add((now.since(since).0 / TICK.0) as u32)
    }
    pub fn set_clock(&mut self, now: Time, value: u32) {
        self.clock = (value, now);
    }
}
