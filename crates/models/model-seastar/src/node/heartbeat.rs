//! The firmware's main loop, observed by its heartbeat: the cost of an idle turn, the time until which it
//! is watched after the last event, and a hang.

use super::progress::IDLE_TURNS;
use super::*;
use machine::remains::Failure;

/// Start of the observation of the idle loop, before the launch and long after the boot; and its least
/// length.
pub(super) const IDLE_OBSERVED: Duration = Duration::from_us(100);
const OBSERVED: Duration = Duration::from_us(50);

/// Turns after which those of different lengths have come round.
const ROUND: u64 = 12;

/// The least time for which a machine is watched after the last thing has happened on it.
const REST: Duration = Duration::from_us(2);

/// The cost of one turn. The fields that each event needs come last, beside the meter's switch (see
/// [`Node`]).
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct IdleTurn {
    pub instructions: f64,
    pub cycles: f64,
    /// Zero if it is not known.
    time: Duration,
    first: Option<Beat>,
    /// Time from which a heartbeat is wanted to measure it; `Time::NEVER` if that is done, or not begun.
    pub wanted: Time,
}

impl IdleTurn {
    /// Cost for a firmware that has not been observed.
    pub fn unknown() -> IdleTurn {
        let (instructions, cycles, time) = (0.0, 0.0, Duration::ZERO);
        IdleTurn { instructions, cycles, time, wanted: Time::NEVER, first: None }
    }
}

/// Counts at a heartbeat of the main loop.
#[derive(Clone, Copy, Debug)]
struct Beat {
    at: Time,
    turns: u64,
    instructions: u64,
    cycles: u64,
}

impl Station {
    /// Measures the cost of a turn while nothing is due, as far as before `horizon`: whole turns, from one
    /// heartbeat to another, so that the cost of a run without its idle turns is exact however long it idles.
    #[cold]
    pub(super) fn measure_idle_turn(&mut self, horizon: Time, ports: &mut Ports<Station>) {
        let limit = horizon.min(self.next_time(ports));
        while self.idle.wanted < limit {
            self.run_processor(self.idle.wanted, false, ports);
            let Some(beat) = self.next_beat(limit, ports) else { return };
            let Some(first) = self.idle.first else {
                self.idle.first = Some(beat);
                self.idle.wanted = beat.at;
                continue;
            };
            let turns = beat.turns - first.turns;
            let each = |end: u64, start: u64| (end - start) as f64 / turns as f64;
            self.idle.instructions = each(beat.instructions, first.instructions);
            self.idle.cycles = each(beat.cycles, first.cycles);
            self.idle.time = Duration(beat.at.since(first.at).0 / turns);
            // Of a slow loop the first turns must do.
            self.idle.wanted = match turns {
                _ if beat.at < first.at + OBSERVED => first.at + OBSERVED,
                _ if turns % ROUND > 0 => beat.at,
                _ => Time::NEVER,
            };
        }
    }

    /// Lets the processor go on until it has written its next heartbeat, before `limit`.
    fn next_beat(&mut self, limit: Time, ports: &mut Ports<Station>) -> Option<Beat> {
        let before = self.chipset.firmware.turns;
        while self.acts < limit && ports.failure().is_none() {
            // No further than it does anything.
            self.run_processor(self.acts + Duration(1), false, ports);
            let (at, turns) = (self.acts, self.chipset.firmware.turns);
            if turns != before {
                let instructions = self.core.counters().instructions;
                return Some(Beat { at, turns, instructions, cycles: self.core.cycles_at(at) });
            }
        }
        None
    }

    /// Time until which the machine is watched: longer than this firmware takes to idle, and than the
    /// windows in which it does; these depend on when idleness is found out. A window is at most as long as
    /// the way of what a node may send to the farthest one, or to a neighbour and that one's answer back.
    pub(super) fn rests_from(&self, last: Time) -> Time {
        let Chipset { link, router, .. } = &self.chipset;
        let around = seastar_nic::Around { link: link.latency(), waiting: false };
        let access = self.nic.earliest_output_of_access(around);
        let ways = router.longest_way().max(access) + router.lookahead() * 2;
        let window = link.latency() + access + ways;
        let idles = self.idle.time * (u64::from(IDLE_TURNS) + 2);
        (last + REST).max(last.max(self.chipset.firmware.acted) + idles + window)
    }

    /// Reason for which this node's firmware does nothing more, if nothing moved at `end`.
    pub(super) fn firmware_stands(&self, end: Time, nid: u32) -> Option<String> {
        if self.core.now() == Time::NEVER && self.core.fault().is_none() {
            let place = self.symbols.describe(self.core.pc());
            return Some(format!("node {nid}: the firmware sleeps until an interrupt, at {place}"));
        }
        let turn = Some(self.idle.time).filter(|time| *time > Duration::ZERO)?;
        let late = self.chipset.firmware.beat + turn * u64::from(IDLE_TURNS) + REST;
        (late <= end).then(|| self.missed_beat(nid))
    }

    /// The firmware has not come round its main loop for too long.
    pub(super) fn hangs(&mut self, now: Time, ports: &mut Ports<Station>) {
        let sentence = self.missed_beat(ports.nid()) + " (machine.ras_patience)";
        ports.end_with(Failure { at: now, sentence, code: 1 });
    }

    fn missed_beat(&self, nid: u32) -> String {
        let (beat, place) = (self.chipset.firmware.beat, self.symbols.describe(self.core.pc()));
        format!(
            "node {nid}: the firmware has not come round its main loop since {beat}; \
             it stands at {place}"
        )
    }
}
