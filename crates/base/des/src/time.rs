//! Simulated time in integer picoseconds, and clocks whose edges are exact.

use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub};

/// A point in simulated time, in picoseconds since the machine was switched on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

/// A span of simulated time, in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(pub u64);

/// Simulated time from one point to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// Its beginning.
    pub start: Time,
    /// The first time after it.
    pub end: Time,
}

impl Time {
    /// Time at which the machine is switched on.
    pub const ZERO: Time = Time(0);
    /// Later than every event.
    pub const NEVER: Time = Time(u64::MAX);

    /// Time since `earlier`; zero if `earlier` is later.
    pub fn since(self, earlier: Time) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
    /// Value in seconds, for reports only.
    pub fn as_seconds(self) -> f64 {
        self.0 as f64 * 1e-12
    }
}

impl Duration {
    /// Span of no time.
    pub const ZERO: Duration = Duration(0);

    /// From nanoseconds.
    pub const fn from_ns(ns: u64) -> Duration {
        Duration(ns * 1_000)
    }
    /// From microseconds.
    pub const fn from_us(us: u64) -> Duration {
        Duration(us * 1_000_000)
    }
    /// Value in nanoseconds, for reports only.
    pub fn as_ns(self) -> f64 {
        // Divided, not multiplied by 0.001, which is no binary number: the nearest to the decimal comes out.
        self.0 as f64 / 1e3
    }
    /// Time that `bytes` take at `bytes_per_second`, rounded up to a picosecond.
    pub fn of_transfer(bytes: u64, bytes_per_second: u64) -> Duration {
        const PS_PER_SECOND: u64 = 1_000_000_000_000;
        if let Some(product) = bytes.checked_mul(PS_PER_SECOND) {
            return Duration(product.div_ceil(bytes_per_second));
        }
        let product = u128::from(bytes) * u128::from(PS_PER_SECOND);
        let ps = product.div_ceil(u128::from(bytes_per_second));
        Duration(u64::try_from(ps).expect("a transfer takes less than 200 days"))
    }
}

impl Add<Duration> for Time {
    type Output = Time;
    fn add(self, span: Duration) -> Time {
        Time(self.0.saturating_add(span.0))
    }
}
impl AddAssign<Duration> for Time {
    fn add_assign(&mut self, span: Duration) {
        *self = *self + span;
    }
}
impl Add for Duration {
    type Output = Duration;
    fn add(self, other: Duration) -> Duration {
        Duration(self.0.saturating_add(other.0))
    }
}
impl AddAssign for Duration {
    fn add_assign(&mut self, other: Duration) {
        *self = *self + other;
    }
}
impl Sub for Duration {
    type Output = Duration;
    fn sub(self, other: Duration) -> Duration {
        Duration(self.0.saturating_sub(other.0))
    }
}
impl Mul<u64> for Duration {
    type Output = Duration;
    fn mul(self, times: u64) -> Duration {
        Duration(self.0.saturating_mul(times))
    }
}
impl std::iter::Sum for Duration {
    fn sum<I: Iterator<Item = Duration>>(spans: I) -> Duration {
        spans.fold(Duration::ZERO, Add::add)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Duration(self.0), f)
    }
}

/// Prints with the largest unit that leaves at least one digit before the point: `1.25 us`.
impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scale, unit) = match self.0 {
            0..=999 => return write!(f, "{} ps", self.0),
            1_000..=999_999 => (1e3, "ns"),
            1_000_000..=999_999_999 => (1e6, "us"),
            1_000_000_000..=999_999_999_999 => (1e9, "ms"),
            _ => (1e12, "s"),
        };
        let digits = f.precision().unwrap_or(3);
        write!(f, "{:.*} {unit}", digits, self.0 as f64 / scale)
    }
}

/// A clock whose edge `n` is at `phase + floor(n * num / den)` picoseconds, so that no period is rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    phase: Time,
    num: u64,
    den: u64,
}

impl Clock {
    /// A clock of `hertz`, first edge at time zero.
    pub const fn from_hz(hertz: u64) -> Clock {
        Clock { phase: Time::ZERO, num: 1_000_000_000_000, den: hertz }
    }
    /// Time of edge `n`.
    pub fn edge(&self, n: u64) -> Time {
        // 64-bit arithmetic when the period is a whole number of picoseconds, the common case.
        if self.num % self.den == 0 {
            return Time(self.phase.0 + n * (self.num / self.den));
        }
        let ps = u128::from(n) * u128::from(self.num) / u128::from(self.den);
        Time(self.phase.0 + u64::try_from(ps).expect("simulated time fits in 64 bits"))
    }
    /// Number of the first edge at or after `t`.
    pub fn edge_at_or_after(&self, t: Time) -> u64 {
        let ps = t.since(self.phase).0;
        if self.num % self.den == 0 {
            return ps.div_ceil(self.num / self.den);
        }
        let n = (u128::from(ps) * u128::from(self.den)).div_ceil(u128::from(self.num));
        u64::try_from(n).expect("simulated time fits in 64 bits")
    }
    /// Span of `n` periods, rounded down to a picosecond.
    pub fn cycles(&self, n: u64) -> Duration {
        self.edge(n).since(self.phase)
    }
    /// Frequency in hertz.
    pub fn hz(&self) -> u64 {
        self.den
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_of_a_fractional_period_never_drift() {
        let clock = Clock::from_hz(78_125_000 * 3); // period 4266.66.. ps
        assert_eq!(clock.edge(3), Time(12_800));
        assert_eq!(clock.edge(3_000_000_000), Time(12_800_000_000_000));
        for n in 0..1000 {
            assert_eq!(clock.edge_at_or_after(clock.edge(n)), n);
            assert_eq!(clock.edge_at_or_after(Time(clock.edge(n).0 + 1)), n + 1);
        }
    }

    #[test]
    fn transfers_round_up() {
        assert_eq!(Duration::of_transfer(1, 3_200_000_000), Duration(313));
        assert_eq!(Duration::of_transfer(64, 3_200_000_000), Duration::from_ns(20));
        assert_eq!(Duration::of_transfer(1 << 40, 1 << 30), Duration(1_024_000_000_000_000));
    }

    #[test]
    fn nanoseconds_are_told_as_the_decimals_that_they_are() {
        assert_eq!(Duration(515_334).as_ns().to_string(), "515.334");
        for ps in (0..100_000).chain(12_261_000..12_263_000) {
            let (whole, rest) = (ps / 1000, ps % 1000);
            let decimal: f64 = format!("{whole}.{rest:03}").parse().unwrap();
            assert_eq!(Duration(ps).as_ns(), decimal);
        }
    }

    #[test]
    fn times_print_with_units() {
        assert_eq!(Duration(4_900_000).to_string(), "4.900 us");
        assert_eq!(format!("{:.1}", Duration(178_000)), "178.0 ns");
    }
}
