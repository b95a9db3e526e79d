//! Hosts that are slow, or stop, for a while: faults on request.

use des::{Duration, Time};

/// Effect of a spell on a host's cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speed {
    /// Software takes so many thousandths of its time, 1000 or more.
    Slow(u64),
    /// Software rests for `length`, once or, with a period of `period`, repeatedly.
    Rests {
        /// Duration of each rest.
        length: Duration,
        /// Time between the starts of two rests, longer than `length`; `None` for one rest.
        period: Option<Duration>,
    },
}

/// Span of time in which a host's cores have another speed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spell {
    /// Start.
    pub from: Time,
    /// End.
    pub until: Time,
    /// Effect.
    pub speed: Speed,
}

/// Speed of a host's cores over time. Of slow spells at the same time the slowest counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pace(Vec<Spell>);

/// Full speed, in thousandths of the time that software takes.
const FULL: u64 = 1000;

impl Pace {
    /// The pace with these spells.
    pub fn new(spells: Vec<Spell>) -> Pace {
        Pace(spells)
    }
    /// True if it is always full speed.
    pub fn is_full(&self) -> bool {
        self.0.is_empty()
    }
    /// True if software rests at `at`.
    pub fn rests(&self, at: Time) -> bool {
        self.at(at).0.is_none()
    }
    /// Time at which software that starts at `from` has done `work`, which is given as time at full speed.
    pub fn end(&self, from: Time, mut work: Duration) -> Time {
        let mut at = from;
        // What rests for ever ends never.
        while at < Time::NEVER {
            let (slow, change) = self.at(at);
            if let Some(slow) = slow {
                let span = scaled(work, slow, FULL).max(work);
                if span <= change.since(at) {
                    return at + span;
                }
                // It is never nothing: many short spans end every work.
                let done = scaled(change.since(at), FULL, slow).max(Duration(1));
                work = Duration(work.0 - done.0);
            }
            at = change;
        }
        at
    }
    /// Work, as time at full speed, that software does between `from` and `to`.
    pub fn work(&self, from: Time, to: Time) -> Duration {
        let (mut at, mut work) = (from, Duration::ZERO);
        while at < to {
            let (slow, change) = self.at(at);
            let end = change.min(to);
            if let Some(slow) = slow {
                work += scaled(end.since(at), FULL, slow);
            }
            at = end;
        }
        work
    }
    /// Thousandths at `at`, none during a rest, and the time at which that may change.
    fn at(&self, at: Time) -> (Option<u64>, Time) {
        let (mut slow, mut change) = (Some(FULL), Time::NEVER);
        for spell in &self.0 {
            let (active, until) = spell.at(at);
            change = change.min(until);
            match active.then_some(spell.speed) {
                Some(Speed::Slow(thousandths)) => slow = slow.map(|slow| slow.max(thousandths)),
                Some(Speed::Rests { .. }) => slow = None,
                None => {}
            }
        }
        (slow, change)
    }
}

impl Spell {
    /// Tells whether it is on at `at`, and when that changes.
    fn at(&self, at: Time) -> (bool, Time) {
        if at < self.from {
            return (false, self.from);
        }
        if self.until <= at {
            return (false, Time::NEVER);
        }
        match self.speed {
            Speed::Slow(_) => (true, self.until),
            Speed::Rests { length, period } => {
                let since = at.since(self.from).0;
                let into = period.map_or(since, |period| since % period.0);
                if into < length.0 {
                    return (true, (at + Duration(length.0 - into)).min(self.until));
                }
                let next = period.map_or(Time::NEVER, |period| at + Duration(period.0 - into));
                (false, next.min(self.until))
            }
        }
    }
}

/// A span times a fraction, rounded down.
fn scaled(span: Duration, up: u64, down: u64) -> Duration {
    let scaled = u128::from(span.0) * u128::from(up) / u128::from(down);
    Duration(u64::try_from(scaled).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOW: Spell = Spell { from: Time(100), until: Time(200), speed: Speed::Slow(2500) };

    fn rests(from: u64, until: u64, length: u64, period: Option<u64>) -> Spell {
        let speed = Speed::Rests { length: Duration(length), period: period.map(Duration) };
        Spell { from: Time(from), until: Time(until), speed }
    }

    #[test]
    fn spells_put_ends_off() {
        let slow = Pace::new(vec![SLOW]);
        for (from, work, end) in [
            (0, 100, 100),
            (0, 110, 125),
            (100, 40, 200),
            (100, 41, 201),
            (0, 300, 360),
            (200, 7, 207),
        ] {
            assert_eq!(slow.end(Time(from), Duration(work)), Time(end), "{from} {work}");
            assert_eq!(slow.work(Time(from), Time(end)), Duration(work), "{from} {work}");
        }
        let pause = Pace::new(vec![rests(100, u64::MAX, 30, None)]);
        assert_eq!(pause.end(Time(90), Duration(10)), Time(100));
        assert_eq!(pause.end(Time(90), Duration(11)), Time(131));
        assert_eq!(pause.end(Time(110), Duration::ZERO), Time(130));
        assert_eq!(pause.work(Time(90), Time(131)), Duration(11));
        let ever = Pace::new(vec![rests(100, u64::MAX, u64::MAX, None)]);
        assert_eq!(ever.end(Time(90), Duration(10)), Time(100));
        assert_eq!(ever.end(Time(90), Duration(11)), Time::NEVER);
        assert!(pause.rests(Time(129)) && !pause.rests(Time(130)) && !pause.rests(Time(99)));
    }

    #[test]
    fn rests_come_again_until_they_are_over() {
        let noise = Pace::new(vec![rests(100, 350, 10, Some(100))]);
        assert_eq!(noise.end(Time(0), Duration(500)), Time(530));
        assert_eq!(noise.work(Time(0), Time(530)), Duration(500));
        assert!(noise.rests(Time(305)) && !noise.rests(Time(405)));
        // With a slow spell around one of them.
        let both = Pace::new(vec![SLOW, rests(100, 350, 10, Some(100))]);
        assert_eq!(both.end(Time(100), Duration(10)), Time(135));
    }

    #[test]
    fn work_gets_on_in_gaps_that_are_too_short_for_any() {
        let slow = Spell { from: Time::ZERO, until: Time::NEVER, speed: Speed::Slow(5000) };
        let pace = Pace::new(vec![slow, rests(0, u64::MAX, 7, Some(10))]);
        assert_eq!(pace.end(Time(7), Duration(4)), Time(47));
    }

    #[test]
    fn what_is_left_of_a_span_ends_when_the_whole_would() {
        let pace = Pace::new(vec![SLOW, rests(50, u64::MAX, 7, Some(31))]);
        for start in (0..260).step_by(7) {
            let end = pace.end(Time(start), Duration(60));
            for cut in (start..end.0).step_by(5) {
                let left = pace.work(Time(cut), end);
                let again = pace.end(Time(cut), left);
                assert!(again <= end && end.0 - again.0 <= 12, "{start} {cut}: {again:?} {end:?}");
            }
        }
    }
}
