//! The summary of a run, for people. Everything in it is also in the JSON (docs/reference/run-json.md).

use crate::args::Date;
use crate::terminal::Terminal;
use machine::report::{is_greatest, Firmware, Judged, JudgedMatching, NodeReport, Report};
use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::time::Duration;

pub mod account;
mod brief;
mod kept;
pub mod messages;
mod refusals;

pub use refusals::{refusals, Refusals};

/// Fields of the control block that are no counters.
pub const NOT_COUNTERS: [&str; 3] = ["niccb.build_time", "niccb.local_nid", "niccb.version"];

/// Nodes that still get a column each.
const NODE_COLUMNS_MAX: usize = 4;

/// Least time of the programs' own work that the summary prints, and its least share: a longer one of the
/// wall time, or a shorter one of the simulated time of all ranks, which it would have made longer.
const WORK_MIN: Duration = Duration::from_millis(100);
const WORK_MIN_OF_SIMULATED: Duration = Duration::from_millis(5);
const PART_MIN: f64 = 0.1;

/// Facts about a run that its report does not have.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Worker threads.
    pub threads: u16,
    /// Date of the programs' calendar at the start of the machine.
    pub date: Date,
    /// Real time of the programs' own work.
    pub worked: Duration,
    /// The MPI of the programs, in words; empty if they have none.
    pub mpi: String,
    /// Length of the summary.
    pub extent: Extent,
}

/// Length of a summary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Extent {
    /// Five lines.
    Brief,
    /// A screenful: program, messages, totals.
    #[default]
    Screenful,
    /// All steps of a message, the firmware's work, and counters, too.
    Full,
}

/// The summary, to the extent that was asked for.
pub fn summary(report: &Report, facts: &Facts, terminal: &Terminal) -> String {
    let mut out = String::new();
    let write = if facts.extent == Extent::Brief { brief::write } else { write_summary };
    // Writing into a string cannot fail.
    write(&mut out, report, facts, terminal).expect("a string takes everything");
    out
}

/// Real time of the programs' own work as text, if it is not simulated and long enough.
fn own_work(report: &Report, facts: &Facts) -> Option<String> {
    let counts = !report.deterministic; // it was measured
    let seconds = facts.worked.as_secs_f64();
    let simulated = account::whole(&report.account) as f64 / 1e12;
    let is_much = |least, of: f64| facts.worked >= least && seconds >= PART_MIN * of;
    let much = is_much(WORK_MIN, report.wall_seconds) || is_much(WORK_MIN_OF_SIMULATED, simulated);
    (much && !counts).then(|| time_of(seconds * 1e9))
}

fn write_summary(
    out: &mut String,
    report: &Report,
    facts: &Facts,
    terminal: &Terminal,
) -> fmt::Result {
    writeln!(out)?;
    stamp(out, report, facts, terminal)?;
    if !report.account.is_empty() {
        writeln!(out)?;
        account::largest(out, &report.account, terminal)?;
        writeln!(out)?;
        account::calls(out, &report.account, "all ranks together", terminal)?;
        if facts.extent == Extent::Full && !report.collectives.is_empty() {
            writeln!(out)?;
            account::collectives(out, &report.collectives, terminal)?;
        }
    }
    refusals(out, report, terminal)?;
    kept::kept(out, report)?;
    match &report.messages {
        Some(all) => {
            writeln!(out)?;
            messages::table(out, all, &report.breakdowns, terminal)?;
        }
        None => {
            writeln!(out)?;
            writeln!(out, "{}", untold(report))?;
        }
    }
    if let Some(class) = messages::heaviest(&report.breakdowns) {
        writeln!(out)?;
        messages::waterfall(out, class, facts.extent == Extent::Full, terminal)?;
    }
    // Where nothing is known of messages, counters are all that there is.
    if facts.extent == Extent::Full || report.messages.is_none() {
        firmware(out, report, terminal)?;
        writeln!(out)?;
        let nodes: Vec<&BTreeMap<String, u64>> =
            report.nodes.iter().map(|node| &node.counters).collect();
        counters(out, "NIC since power-on", &columns_of(&report.nodes), &nodes, terminal)?;
        switches(out, report, terminal)?;
        host_time(out, &report.nodes, terminal)?;
    }
    writeln!(out)?;
    totals(out, report, facts, terminal)
}

/// Sentence about a run of a model that reports no messages.
pub fn untold(report: &Report) -> String {
    let model = report.machine.model;
    format!("Model {model} tells neither of messages nor of calls, only what is counted.")
}

/// Prints all that is needed to repeat the run.
fn stamp(out: &mut String, report: &Report, facts: &Facts, terminal: &Terminal) -> fmt::Result {
    let separator = if terminal.unicode { " · " } else { ", " };
    let words = [
        format!("sunstar {}", env!("CARGO_PKG_VERSION")),
        format!("machine {}", report.machine.name),
        facts.mpi.clone(),
        ranks(report),
        plural(report.nodes.len() as u64, "node"),
        format!("seed {}", report.seed),
        plural(u64::from(facts.threads), "thread"),
    ];
    let words: Vec<_> = words.into_iter().filter(|word| !word.is_empty()).collect();
    let words = words.join(separator);
    let line = if terminal.unicode { "─" } else { "-" };
    let rest = terminal.width.saturating_sub(words.chars().count() + 4);
    let text = format!("{0}{0} {words} {1}", line, line.repeat(rest));
    writeln!(out, "{}", terminal.bold(text.trim_end()))?;
    for change in &report.machine.overrides {
        writeln!(out, "   set {change}")?;
    }
    for fault in &report.machine.faults {
        writeln!(out, "   fault {fault}")?;
    }
    if facts.date != Date::default() {
        writeln!(out, "   date {}", facts.date)?;
    }
    if !report.deterministic {
        let how = &report.compute;
        writeln!(out, "   compute {how}: measured here, so times and hash differ from run to run")?;
    }
    Ok(())
}

fn firmware(out: &mut String, report: &Report, terminal: &Terminal) -> fmt::Result {
    let Some(firmware) = &report.firmware else { return Ok(()) };
    writeln!(out)?;
    heading(out, terminal, "Firmware, idle loop left out", &firmware.options)?;
    let rows = [
        ("instructions a message sent or received", firmware.instructions_per_message),
        ("cycles a message sent or received", firmware.cycles_per_message),
        ("messages that NICs sent and received", firmware.messages as f64),
        ("cycles in which it did more than poll", firmware.busy_cycles as f64),
        ("instructions, idle loop included", firmware.instructions as f64),
        ("cycles, idle loop included", firmware.cycles as f64),
    ];
    for (name, value) in rows {
        writeln!(out, "  {name:42}{:>18}", grouped(value.round() as u64))?;
    }
    Ok(())
}

/// A table of counters; those that are zero everywhere are only in the JSON.
fn counters(
    out: &mut String,
    title: &str,
    columns: &[String],
    all: &[&BTreeMap<String, u64>],
    terminal: &Terminal,
) -> fmt::Result {
    let mut names: Vec<&String> = all
        .iter()
        .flat_map(|counts| counts.iter().filter(|(_, value)| **value != 0))
        .map(|(name, _)| name)
        .filter(|name| !NOT_COUNTERS.contains(&name.as_str()))
        .collect();
    names.sort();
    names.dedup();
    row(out, &terminal.bold(title).to_string(), title.len(), columns)?;
    for name in names {
        let value = |counts: &&BTreeMap<String, u64>| counts.get(name).copied().unwrap_or(0);
        let values: Vec<u64> = all.iter().map(value).collect();
        let all = |values: &[u64]| match is_greatest(name) {
            true => values.iter().copied().max().unwrap_or(0),
            false => values.iter().sum(),
        };
        let cells = cells_of(&values, all, |v| grouped(*v), u64::cmp);
        row(out, &format!("  {name}"), name.len() + 2, &cells)?;
    }
    Ok(())
}

/// Table of the counters of switches that are apart from the nodes.
fn switches(out: &mut String, report: &Report, terminal: &Terminal) -> fmt::Result {
    if report.switches.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    let names = report.switches.iter().map(|switch| format!("switch {}", switch.number));
    let all: Vec<&BTreeMap<String, u64>> =
        report.switches.iter().map(|switch| &switch.counters).collect();
    let columns = columns("switches", names.collect());
    counters(out, "Switches since power-on", &columns, &all, terminal)
}

/// Host processor time by kind: of each node, or of each core where nodes use several.
fn host_time(out: &mut String, nodes: &[NodeReport], terminal: &Terminal) -> fmt::Result {
    let by_core = nodes.iter().any(|node| !node.cores.is_empty());
    let hosts: Vec<&BTreeMap<String, f64>> = if by_core {
        nodes.iter().flat_map(|node| node.cores.iter().map(|core| &core.host_ns)).collect()
    } else {
        nodes.iter().map(|node| &node.host_ns).collect()
    };
    let mut names: Vec<&String> = hosts.iter().flat_map(|host| host.keys()).collect();
    names.sort();
    names.dedup();
    if names.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    let columns = if by_core { columns_of_cores(nodes) } else { columns_of(nodes) };
    let title = "Host since launch";
    row(out, &terminal.bold(title).to_string(), title.len(), &columns)?;
    for name in names {
        let value = |host: &&BTreeMap<String, f64>| host.get(name).copied().unwrap_or(0.0);
        let values: Vec<f64> = hosts.iter().map(value).collect();
        // No host has done any of it, as of the kernel where processes enter none.
        if values.iter().all(|ns| *ns == 0.0) {
            continue;
        }
        let cells = cells_of(&values, |v| v.iter().sum(), |v| time_of(*v), f64::total_cmp);
        row(out, &format!("  {name}"), name.len() + 2, &cells)?;
    }
    Ok(())
}

fn totals(out: &mut String, report: &Report, facts: &Facts, terminal: &Terminal) -> fmt::Result {
    let wall_ns = report.wall_seconds * 1e9;
    let slower = if report.simulated_ns > 0.0 { wall_ns / report.simulated_ns } else { 0.0 };
    let parameters = report
        .machine
        .parameters
        .iter()
        .filter(|(_, count)| **count > 0)
        .map(|(role, count)| format!("{count} {role}"))
        .collect::<Vec<_>>()
        .join(", ");
    writeln!(out, "Simulated time  {}", terminal.bold(time_of(report.simulated_ns)))?;
    writeln!(out, "Wall time       {} ({slower:.0} times as long)", time_of(wall_ns))?;
    if let Some(work) = own_work(report, facts) {
        let said = "of the program's own work took no simulated time";
        writeln!(out, "Own work        {work} {said} (--compute scale=1 counts computation)")?;
    }
    writeln!(out, "Parameters      {parameters}")?;
    if let Some(judged) = report.judged {
        let Judged { calls, events, messages, bytes, silent_nodes, mpi } = judged;
        // Where MPI has no Portals below, nothing else is judged.
        let portals = calls > 0 || mpi.is_none();
        if portals {
            writeln!(
                out,
                "Judged          {calls} calls, {events} events, {messages} messages, \
                 {bytes} payload bytes"
            )?;
        }
        if let Some(JudgedMatching { sent, received, probes, bytes }) = mpi {
            let sent = plural(sent, "message");
            writeln!(
                out,
                "{:16}MPI: {sent} sent, {received} received, {probes} probes, \
                 {bytes} bytes",
                if portals { "" } else { "Judged" }
            )?;
        }
        if silent_nodes > 0 {
            let nodes = plural(silent_nodes, "node");
            writeln!(out, "                silent on {nodes} (docs/reference/judge.md)")?;
        }
    }
    if let (Some(firmware), Extent::Screenful) = (&report.firmware, facts.extent) {
        writeln!(out, "Firmware        {}", firmware_words(firmware))?;
    }
    writeln!(out, "Trace hash      {}", report.trace_hash)?;
    let hint = match facts.extent {
        Extent::Full => "(--brief prints five lines of this, -q nothing)",
        _ => "(--full prints all steps and counters, --brief five lines, -q nothing)",
    };
    writeln!(out, "{}", terminal.dim(hint))
}

/// Work of the firmware in words.
fn firmware_words(firmware: &Firmware) -> String {
    let busy = 100.0 * firmware.busy();
    let cycles = grouped(firmware.cycles_per_message.round() as u64);
    let messages = grouped(firmware.messages);
    format!("busy {busy:.0} %, {cycles} cycles a message, {messages} sent and received")
}

fn heading(out: &mut String, terminal: &Terminal, title: &str, aside: &str) -> fmt::Result {
    match aside {
        "" => writeln!(out, "{}", terminal.bold(title)),
        _ => writeln!(out, "{} {}", terminal.bold(title), terminal.dim(format!("({aside})"))),
    }
}

/// Headings of the columns: the nodes, or statistics over many nodes.
fn columns_of(nodes: &[NodeReport]) -> Vec<String> {
    columns("nodes", nodes.iter().map(|node| format!("node {}", node.nid)).collect())
}

/// Headings for each, or statistics over many.
fn columns(what: &str, each: Vec<String>) -> Vec<String> {
    if each.len() <= NODE_COLUMNS_MAX {
        return each;
    }
    vec![format!("all {what}"), "min".into(), "max".into()]
}

/// The same for the cores of all nodes.
fn columns_of_cores(nodes: &[NodeReport]) -> Vec<String> {
    let cores = |node: &NodeReport| {
        let nid = node.nid;
        (0..node.cores.len()).map(move |core| format!("node {nid} core {core}"))
    };
    columns("cores", nodes.iter().flat_map(cores).collect())
}

/// The cells under `columns_of`.
fn cells_of<T>(
    values: &[T],
    sum: impl Fn(&[T]) -> T,
    show: impl Fn(&T) -> String,
    order: impl Fn(&T, &T) -> std::cmp::Ordering,
) -> Vec<String> {
    if values.len() <= NODE_COLUMNS_MAX {
        return values.iter().map(show).collect();
    }
    let least = values.iter().min_by(|a, b| order(a, b)).map(&show);
    let most = values.iter().max_by(|a, b| order(a, b)).map(&show);
    vec![show(&sum(values)), least.unwrap_or_default(), most.unwrap_or_default()]
}

/// A name (of `width` visible characters) and right-aligned cells.
pub fn row(out: &mut String, name: &str, width: usize, cells: &[String]) -> fmt::Result {
    write!(out, "{name}{:pad$}", "", pad = 32_usize.saturating_sub(width))?;
    for cell in cells {
        write!(out, " {cell:>13}")?;
    }
    writeln!(out)
}

/// `4 ranks`, and the number on a node if it is not one.
fn ranks(report: &Report) -> String {
    let ranks = plural(u64::from(report.ranks), "rank");
    match report.ranks_per_node {
        1 => ranks,
        number => format!("{ranks} ({number} a node)"),
    }
}

/// `1 rank`, `2 ranks`.
pub fn plural(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// A time with the unit that suits its size.
pub fn time_of(ns: f64) -> String {
    match ns {
        _ if ns < 1e3 => format!("{ns:.1} ns"),
        _ if ns < 1e6 => format!("{:.3} us", ns / 1e3),
        _ if ns < 1e9 => format!("{:.3} ms", ns / 1e6),
        _ => format!("{:.2} s", ns / 1e9),
    }
}

/// A number with its digits in groups of three: `1,274`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests;
