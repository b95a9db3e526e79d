//! The cost of a turn of the firmware's main loop that finds nothing to do, measured before the launch.

use super::nic::Station;
use des::{Duration, Time};
use machine::firmware::work::{Count, IdleTurn};
use machine::node::Ports;

/// Most time for which the idle loop is observed, and the part of the time before the launch that this is
/// at most: the firmware is ready by then.
const OBSERVED: Duration = Duration::from_us(500);
const PART_OF_LAUNCH: u64 = 4;

/// Turns after which those of different lengths have come round.
const ROUND: u64 = 12;

impl Station {
    /// The processor's counts at `now`, to which it has been run.
    pub(super) fn count(&self, now: Time) -> Count {
        let (core, turns) = (self.card.core(), self.card.counters().turns);
        let instructions = core.counters().instructions;
        Count { instructions, cycles: core.cycles_at(now), turns }
    }

    /// Measures the cost of a turn while nothing is due until `launch`: whole rounds, from one heartbeat to
    /// another, each of the nearest whole number of instructions and cycles, as a heartbeat is seen some late.
    /// Of a firmware without room for that before the launch, and where a debugger has already had the
    /// processor go there, it stays unknown.
    pub(super) fn measure_idle_turn(&mut self, launch: Time, ports: &mut Ports<Station>) {
        let observed = Duration(OBSERVED.0.min(launch.0 / PART_OF_LAUNCH));
        self.advance(Time(launch.0 - observed.0 - observed.0 / PART_OF_LAUNCH), ports);
        let Some((begun, first)) = self.next_beat(launch, ports) else { return };
        self.advance((begun + observed).min(launch), ports);
        while let Some((_, beat)) = self.next_beat(launch, ports) {
            let turns = beat.turns - first.turns;
            if turns % ROUND == 0 {
                let rounds = (turns / ROUND).max(1) as f64;
                let each =
                    |end: u64, start: u64| ((end - start) as f64 / rounds).round() / ROUND as f64;
                self.meter.idle = IdleTurn {
                    instructions: each(beat.instructions, first.instructions),
                    cycles: each(beat.cycles, first.cycles),
                };
                return;
            }
        }
    }

    /// Lets the processor go on until it has written its next heartbeat, before `limit`.
    fn next_beat(&mut self, limit: Time, ports: &mut Ports<Station>) -> Option<(Time, Count)> {
        let before = self.card.counters().turns;
        while self.card.core().now() < limit && ports.failure().is_none() {
            // No further than it does anything.
            self.advance(self.card.core().now() + Duration(1), ports);
            let now = self.card.core().now();
            let count = self.count(now);
            if count.turns != before {
                return Some((now, count));
            }
        }
        None
    }
}
