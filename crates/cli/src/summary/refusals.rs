//! Messages that found no room at their receivers and came again, for people.

use super::{grouped, heading, plural};
use crate::terminal::Terminal;
use machine::report::{NodeReport, Report};
use std::fmt::{self, Write};

/// Nodes that have a line.
const NODES_MAX: usize = 3;

/// Refusals of a node, as its counters have them (`firmware.overflow`).
struct Refusals {
    nid: u32,
    /// Messages that were dropped or turned away there: those behind a refused one included.
    dropped: u64,
    /// Those of them without a stream.
    streams: u64,
    /// Senders that were called.
    called: u64,
    /// Messages that it sent again to others.
    repeated: u64,
}

impl Refusals {
    fn of(node: &NodeReport) -> Refusals {
        let count = |name: &str| node.counters.get(name).copied().unwrap_or(0);
        Refusals {
            nid: node.nid,
            dropped: count("niccb.refused") + count("kernel.turned_away"),
            streams: count("niccb.cam_ovf"),
            called: count("niccb.called") + count("kernel.called"),
            repeated: count("niccb.repeated") + count("kernel.repeated"),
        }
    }
}

/// Prints who refused most, and how many messages were sent again; nothing if none was refused.
pub fn refusals(out: &mut String, report: &Report, terminal: &Terminal) -> fmt::Result {
    let mut all: Vec<Refusals> = report.nodes.iter().map(Refusals::of).collect();
    let sum = |part: fn(&Refusals) -> u64| all.iter().map(part).sum::<u64>();
    let (dropped, repeated) = (sum(|one| one.dropped), sum(|one| one.repeated));
    if dropped == 0 {
        return Ok(());
    }
    let senders = all.iter().filter(|one| one.repeated > 0).count() as u64;
    let refusing = all.iter().filter(|one| one.dropped > 0).count();
    let shown = if refusing > NODES_MAX {
        format!("the {NODES_MAX} of {refusing} nodes with most")
    } else {
        "firmware.overflow".to_string()
    };
    writeln!(out)?;
    heading(out, terminal, "Messages that found no room and came again", &shown)?;
    all.sort_by_key(|one| (std::cmp::Reverse(one.dropped), one.nid));
    for one in all.iter().filter(|one| one.dropped > 0).take(NODES_MAX) {
        let Refusals { nid, dropped, streams, called, .. } = one;
        writeln!(
            out,
            "  node {nid}: {} dropped ({} for lack of a stream), {} to senders",
            grouped(*dropped),
            grouped(*streams),
            plural(*called, "call"),
        )?;
    }
    let who = plural(senders, "node");
    writeln!(out, "  {} sent again, by {who}", plural(repeated, "message"))
}
