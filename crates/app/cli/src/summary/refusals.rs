//! Messages that found no room at their receivers and came again, for people.

use super::{grouped, heading, plural};
use crate::terminal::Terminal;
use machine::report::{NodeReport, Report};
use serde::Serialize;
use std::fmt::{self, Write};

/// Nodes that have a line.
const NODES_MAX: usize = 3;

/// Refusals of a node, as its counters have them (`firmware.overflow`).
#[derive(Serialize)]
struct OfNode {
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

impl OfNode {
    fn of(node: &NodeReport) -> OfNode {
        let count = |name: &str| node.counters.get(name).copied().unwrap_or(0);
        OfNode {
            nid: node.nid,
            dropped: count("niccb.refused") + count("kernel.turned_away"),
            streams: count("niccb.cam_ovf"),
            called: count("niccb.called") + count("kernel.called"),
            repeated: count("niccb.repeated") + count("kernel.repeated"),
        }
    }
}

/// Refusals of a run, as `--json` has them.
#[derive(Serialize)]
pub struct Refusals {
    dropped: u64,
    repeated: u64,
    /// Nodes that sent messages again.
    senders: usize,
    /// Nodes that refused messages or sent any again, those that refused most first.
    nodes: Vec<OfNode>,
}

impl Refusals {
    /// `None` if nothing was refused.
    pub fn of(report: &Report) -> Option<Refusals> {
        let mut nodes: Vec<OfNode> = report.nodes.iter().map(OfNode::of).collect();
        nodes.retain(|one| one.dropped + one.repeated > 0);
        nodes.sort_by_key(|one| (std::cmp::Reverse(one.dropped), one.nid));
        let sum = |part: fn(&OfNode) -> u64| nodes.iter().map(part).sum::<u64>();
        let (dropped, repeated) = (sum(|one| one.dropped), sum(|one| one.repeated));
        let senders = nodes.iter().filter(|one| one.repeated > 0).count();
        (dropped > 0).then_some(Refusals { dropped, repeated, senders, nodes })
    }
}

/// Prints who refused most, and how many messages were sent again; nothing if none was refused.
pub fn refusals(out: &mut String, report: &Report, terminal: &Terminal) -> fmt::Result {
    let Some(Refusals { repeated, senders, nodes, .. }) = Refusals::of(report) else {
        return Ok(());
    };
    let refusing = nodes.iter().filter(|one| one.dropped > 0).count();
    let shown = if refusing > NODES_MAX {
        format!("the {NODES_MAX} of {refusing} nodes with most")
    } else {
        "firmware.overflow".to_string()
    };
    writeln!(out)?;
    heading(out, terminal, "Messages dropped for lack of buffers, and retransmitted", &shown)?;
    for one in nodes.iter().filter(|one| one.dropped > 0).take(NODES_MAX) {
        let OfNode { nid, dropped, streams, called, .. } = one;
        writeln!(
            out,
            "  node {nid}: {} dropped ({} for lack of a stream), {} to senders",
            grouped(*dropped),
            grouped(*streams),
            plural(*called, "call"),
        )?;
    }
    let who = plural(senders as u64, "node");
    writeln!(out, "  {} sent again, by {who}", plural(repeated, "message"))
}
