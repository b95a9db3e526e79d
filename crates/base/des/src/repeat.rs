//! Spans of time that repeat themselves, and are skipped.
//!
//! While nothing but a stream of packets moves in the machine, its state recurs after some packets: all is
//! the same, except for the time, sums, and the contents of packets. The events in between will then happen
//! again, until something new comes. At regular points of the stream ("beats", which its sender counts) every
//! process that has moved saves its state, relative to the time, and compares it with earlier saved states.
//! If all are in the state of the same earlier beat, the span since then is repeated without being
//! simulated: each process adds to its sums what the span added, as often as all of them offer, and goes
//! on later.

use crate::{Duration, Time};

/// Earlier samples with which a new one is compared.
pub const LAGS: usize = 8;

/// Numbers of times that the span since each earlier sample can be repeated, that of the last sample
/// first; 0 if the state is not the same.
pub type Offers = [u64; LAGS];

/// Numbers of times that the spans from `began` to `now` fit before `end`.
pub fn fitting(end: Time, now: Time, began: [Time; LAGS]) -> Offers {
    began.map(|began| end.since(now).0 / now.since(began).0.max(1))
}

/// The least of each.
pub(crate) fn least(a: Offers, b: Offers) -> Offers {
    std::array::from_fn(|lag| a[lag].min(b[lag]))
}

/// Leader (the first process with a stream) and the progress of its stream.
pub(crate) type Lead = Option<(u32, u64)>;

/// Samples, as each worker knows them; they are the same on all.
#[derive(Default)]
pub(crate) struct Repeats {
    lead: Lead,
    /// Number of the last sample, and times of it and of those before it.
    number: u64,
    at: [Time; LAGS + 1],
    /// Distance of each sample to the earliest output of any process: the length of the windows.
    earliest_output: [Duration; LAGS + 1],
    /// First sample after which spans may begin.
    first: u64,
    /// Samples since the last repetition, beats still to be skipped, and the number that was skipped the last
    /// time.
    vain: u32,
    pause: u32,
    paused: u32,
}

/// Number of samples in vain after which [`PAUSE`] beats are skipped; each further time twice as many, up to
/// [`PAUSE_MAX`]: with many streams at once, the same state rarely recurs.
const VAIN: u32 = 4 * LAGS as u32;
const PAUSE: u32 = 2 * VAIN;
const PAUSE_MAX: u32 = 8 * PAUSE;

/// A span to be repeated.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Repeat {
    /// Sample at which it began.
    pub(crate) since: u64,
    pub(crate) span: Duration,
    pub(crate) times: u64,
}

impl Repeats {
    /// True while samples are taken, for which all processes must be at the same time.
    pub(crate) fn are_looked_for(&self) -> bool {
        self.lead.is_some() && self.pause == 0
    }
    /// True if it is time for a sample: the leader has come to another beat.
    pub(crate) fn progressed(&mut self, lead: Lead) -> bool {
        let progressed = lead.is_some() && lead != self.lead;
        self.lead = lead;
        if progressed && self.pause > 0 {
            self.pause -= 1;
            return false;
        }
        progressed
    }
    /// Counts a sample at `now`; nothing can be sent before `earliest_output`. Returns its number, and the
    /// times at which the spans of all lags began.
    pub(crate) fn sample(&mut self, now: Time, earliest_output: Time) -> (u64, [Time; LAGS]) {
        self.number += 1;
        self.at.rotate_right(1);
        self.earliest_output.rotate_right(1);
        (self.at[0], self.earliest_output[0]) = (now, earliest_output.since(now));
        (self.number, std::array::from_fn(|lag| self.at[lag + 1]))
    }
    /// Repetition that all processes can make: of the spans that everybody offers, and which `limits`
    /// allows, the shortest.
    pub(crate) fn chosen(&mut self, offers: Option<Offers>, limits: Offers) -> Option<Repeat> {
        // Who offers nothing is asked in vain, too.
        let offers = offers.unwrap_or_default();
        let known = (self.number - self.first).saturating_sub(1).min(LAGS as u64) as usize;
        // A span in which nobody has come any farther repeats for ever and is none.
        let fits = |lag: &usize| {
            let offered = (1..u64::MAX).contains(&offers[*lag]) && limits[*lag] > 0;
            offered && self.earliest_output[0] == self.earliest_output[lag + 1]
        };
        let Some(lag) = (0..known).find(fits) else {
            self.vain += 1;
            if self.vain == VAIN {
                self.paused = (2 * self.paused).clamp(PAUSE, PAUSE_MAX);
                (self.vain, self.pause) = (0, self.paused);
                // In no span have some gone ahead of the others.
                self.first = self.number;
            }
            return None;
        };
        (self.vain, self.paused) = (0, 0);
        let since = self.number - 1 - lag as u64;
        self.first = self.number;
        Some(Repeat {
            since,
            span: self.at[0].since(self.at[lag + 1]),
            times: offers[lag].min(limits[lag]),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes a sample at each beat, in vain unless there are `offers`, until beats are skipped. Returns the
    /// number of samples, and the number of skipped beats, at which no process need wait for others.
    fn look(
        repeats: &mut Repeats,
        progress: &mut impl Iterator<Item = u64>,
        offer: u64,
    ) -> (u32, u32) {
        let (mut samples, mut passed, mut apart) = (0, 0, 0);
        for progressed in progress {
            let looks = repeats.progressed(Some((0, progressed)));
            if looks && (passed > 0 || samples == 2 * VAIN) {
                break;
            } else if looks {
                let now = Time(progressed * 1000);
                let (_, began) = repeats.sample(now, now + Duration(50));
                repeats.chosen(Some([offer; LAGS]), fitting(Time::NEVER, now, began));
                samples += 1;
            } else {
                passed += 1;
                apart += u32::from(!repeats.are_looked_for());
            }
        }
        (samples, apart)
    }

    #[test]
    fn who_looks_in_vain_looks_less_often() {
        let (mut repeats, mut progress) = (Repeats::default(), 1..);
        for times in [1, 2, 4, 8, 8] {
            // At the last of these beats all come together again.
            assert_eq!(look(&mut repeats, &mut progress, 0), (VAIN, times * PAUSE - 1));
        }
        assert_eq!(look(&mut repeats, &mut progress, 1), (2 * VAIN, 0));
        assert_eq!(
            look(&mut repeats, &mut progress, 0).1,
            PAUSE - 1,
            "after what has repeated itself"
        );
    }
}
