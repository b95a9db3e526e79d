//! The verdict on Directed Point (`spec::directed_point`), in the report of a run.

use super::switch::Left;
use des::Ending;
use machine::report::{Judged, Report};
use spec::directed_point::{judge, Excuses, Outcome, Record, Stage};

/// Judges a run that is over, unless it was stopped by a fault of its own.
pub(super) fn conclude(
    report: &mut Report,
    records: &[Record],
    mut excuses: Excuses,
    switches: &[Option<Left>],
    ending: Ending,
) {
    // What they have damaged is dropped by a switch or a card.
    excuses.network += report.nodes.iter().map(|node| node.counters["myrinet.lost"]).sum::<u64>();
    for switch in switches.iter().flatten() {
        excuses.network += switch.counters.dropped;
        // Packets that stand somewhere, and those that have met a cut cable.
        excuses.under_way |= switch.held > 0 && switch.blocked.is_none() || switch.lost > 0;
        if let Some(standing) = switch.blocked {
            *excuses.stuck.get_or_insert_default() += standing;
        }
    }
    // Nothing moves in a deadlock.
    excuses.under_way &= ending != Ending::Deadlock;
    let all = |stage: Stage| records.iter().flat_map(move |record| record.at(stage));
    let read = all(Stage::Read).filter(|read| read.outcome == Outcome::Done);
    let bytes = read.map(|read| u64::from(read.packet.length)).sum();
    let calls = [Stage::Written, Stage::Read].map(|stage| all(stage).count() as u64).iter().sum();
    match judge(records, excuses) {
        Ok(tally) => {
            report.judged = Some(Judged {
                calls,
                events: tally.sightings,
                messages: tally.read,
                bytes,
                silent_nodes: tally.silent,
                mpi: None,
            });
        }
        Err(why) if !matches!(ending, Ending::Failed | Ending::Stopped) => {
            report.exit.code = 1;
            report.exit.sentences.insert(0, format!("the judge of Directed Point: {why}"));
        }
        Err(_) => {}
    }
}
