//! Five lines about a run.

use super::{firmware_words, grouped, messages, own_work, plural, ranks, time_of, Facts};
use crate::args::Date;
use crate::terminal::Terminal;
use machine::report::Report;
use std::fmt::{self, Write};

/// Prints program, latency of a message, its cost to the firmware, time of the run, and the hash.
pub fn write(out: &mut String, report: &Report, facts: &Facts, _: &Terminal) -> fmt::Result {
    let (name, nodes) = (&report.machine.name, plural(report.nodes.len() as u64, "node"));
    let (ranks, seed) = (ranks(report), report.seed);
    let version = env!("CARGO_PKG_VERSION");
    let date = match facts.date {
        date if date == Date::default() => String::new(),
        date => format!(", date {date}"),
    };
    let mpi = if facts.mpi.is_empty() { String::new() } else { format!(", {}", facts.mpi) };
    writeln!(out, "sunstar {version}, machine {name}{mpi}, {ranks}, {nodes}, seed {seed}{date}")?;
    match messages::heaviest(&report.breakdowns) {
        Some(class) => {
            let mean = time_of(class.sum_ps as f64 / 1e3 / class.messages.max(1) as f64);
            let (of, messages) = (messages::class_of(class), grouped(class.messages));
            let all = grouped(report.messages.as_ref().map_or(0, |all| all.ended));
            writeln!(out, "A message       {mean} (mean of {messages}: {of}; {all} total)")?;
        }
        None if report.messages.is_none() => {
            let model = report.machine.model;
            writeln!(out, "A message       model {model} tells of none")?;
        }
        None => writeln!(out, "A message       none was sent")?,
    }
    match &report.firmware {
        Some(firmware) => writeln!(out, "Firmware        {}", firmware_words(firmware))?,
        None => writeln!(out, "Firmware        none (model {})", report.machine.model)?,
    }
    let (simulated, wall) = (report.simulated_ns, time_of(report.wall_seconds * 1e9));
    let work = match own_work(report, facts) {
        Some(work) => format!("; {work} of the program's own computation counted as 0"),
        None => String::new(),
    };
    writeln!(out, "Simulated time  {} in {wall}{work}", time_of(simulated))?;
    writeln!(out, "Trace hash      {}", report.trace_hash)
}
