//! Receives and sends that MPI kept, because the network interface had no room for them, for people.

use super::plural;
use machine::report::Report;
use std::fmt::{self, Write};

/// Says how many; nothing if there were none.
pub fn kept(out: &mut String, report: &Report) -> fmt::Result {
    let counted = |name: &str| -> u64 {
        report.nodes.iter().filter_map(|node| node.counters.get(name)).sum()
    };
    let (receives, sends) = (counted("nic.receives_kept"), counted("nic.sends_kept"));
    if receives + sends == 0 {
        return Ok(());
    }
    let (receives, sends) = (plural(receives, "receive"), plural(sends, "send"));
    writeln!(out, "\nKept by MPI until the network interface had room: {receives}, {sends}")
}
