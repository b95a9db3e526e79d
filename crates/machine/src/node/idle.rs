//! The firmware's idle loop: what a turn of it takes, and how long it is watched when all is over.

use super::*;
use crate::seam::IDLE_TURNS;

/// How long before the launch the idle loop is observed, long after the boot, and for how long at least.
pub(super) const IDLE_OBSERVED: Duration = Duration::from_us(100);
const OBSERVED: Duration = Duration::from_us(50);

/// After so many turns those of different lengths have come round.
const ROUND: u64 = 12;

/// The least time for which a machine is watched after the last thing has happened on it.
const REST: Duration = Duration::from_us(2);

/// The cost of one turn.
#[derive(Clone, Debug)]
pub(super) struct IdleTurn {
    pub instructions: f64,
    pub cycles: f64,
    time: Duration,
    /// From when on a heartbeat is wanted to measure it; `Time::NEVER` if that is done, or not begun.
    pub wanted: Time,
    first: Option<Beat>,
}

impl IdleTurn {
    /// Of a firmware that has not been observed.
    pub fn unknown() -> IdleTurn {
        let (instructions, cycles, time) = (0.0, 0.0, Duration::ZERO);
        IdleTurn { instructions, cycles, time, wanted: Time::NEVER, first: None }
    }
}

/// What had been executed when the main loop's heartbeat came.
#[derive(Clone, Debug)]
struct Beat {
    at: Time,
    snapshot: Snapshot,
}

impl Node {
    /// Measures what a turn takes while nothing is due, as far as before `horizon`: whole turns, from one
    /// heartbeat to another, so that what is left of a run without its turns is exact however long it idles.
    #[cold]
    pub(super) fn measure_idle_turn(&mut self, horizon: Time) {
        let limit = horizon.min(self.seam.queue.next_time());
        while self.idle.wanted < limit {
            self.run_processor(self.idle.wanted, false);
            let Some(beat) = self.next_beat(limit) else { return };
            let Some(first) = &self.idle.first else {
                self.idle.wanted = beat.at + OBSERVED;
                self.idle.first = Some(beat);
                continue;
            };
            let turns = beat.snapshot.turns - first.snapshot.turns;
            let each = |end: u64, start: u64| (end - start) as f64 / turns as f64;
            self.idle.instructions = each(beat.snapshot.instructions, first.snapshot.instructions);
            self.idle.cycles = each(beat.snapshot.cycles, first.snapshot.cycles);
            self.idle.time = Duration(beat.at.since(first.at).0 / turns);
            if turns % ROUND == 0 {
                self.idle.wanted = Time::NEVER;
            }
        }
    }

    /// Lets the processor go on until it has written its next heartbeat, before `limit`.
    fn next_beat(&mut self, limit: Time) -> Option<Beat> {
        let turns = self.seam.turns;
        while self.acts < limit && self.seam.failure.is_none() {
            // No further than it does anything.
            self.run_processor(self.acts + Duration(1), false);
            if self.seam.turns != turns {
                return Some(Beat { at: self.acts, snapshot: self.snapshot(self.acts) });
            }
        }
        None
    }

    /// Until when the machine is watched: longer than this firmware takes to idle, and than the windows in
    /// which it does, which depend on when that is found out.
    pub(super) fn rests_at(&self) -> Time {
        let around = nic::Around { link: self.seam.link.latency(), waiting: false };
        let window = self.nic.reach_of_access(around) + self.seam.router.lookahead() * 2;
        let idles = self.idle.time * (u64::from(IDLE_TURNS) + 2);
        (self.last + REST).max(self.last.max(self.seam.acted) + idles + window)
    }

    /// Why nothing comes of this node's firmware any more, where nothing moved at `end`.
    pub(super) fn firmware_stands(&self, end: Time) -> Option<String> {
        let (nid, place) = (self.seam.nid, self.symbols.describe(self.core.pc()));
        if self.core.now() == Time::NEVER && self.core.fault().is_none() {
            return Some(format!("node {nid}: the firmware sleeps until an interrupt, at {place}"));
        }
        let beat = self.seam.beat;
        (beat + self.idle.time * u64::from(IDLE_TURNS) + REST <= end).then(|| {
            format!(
                "node {nid}: the firmware has not come round its main loop since {beat}; \
                 it stands at {place}"
            )
        })
    }

    /// The firmware has not come round its main loop for too long.
    pub(super) fn hangs(&mut self, now: Time) {
        let (nid, beat) = (self.seam.nid, self.seam.beat);
        let place = self.symbols.describe(self.core.pc());
        let sentence = format!(
            "node {nid}: the firmware has not come round its main loop since {beat}; \
             it stands at {place} (machine.ras_patience)"
        );
        self.seam.fail(now, 1, sentence);
    }
}
