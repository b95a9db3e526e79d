//! The profile as tables.

use crate::profile::{name, walks};
use crate::summary::grouped;
use crate::terminal::Terminal;
use machine::firmware::profile::{Cause, Cost, Summary};
use std::collections::HashMap;
use std::fmt::{self, Write};
use std::path::Path;

/// Columns of stalls: title and causes.
const STALLS: [(&str, &[Cause]); 8] = [
    ("oper", &[Cause::Operand]),
    ("load", &[Cause::Load]),
    ("read", &[Cause::Read]),
    ("write", &[Cause::Write]),
    ("fetch", &[Cause::Fetch]),
    ("brnch", &[Cause::Branch, Cause::Mispredict]),
    ("sync", &[Cause::Synchronise, Cause::Sleep]),
    ("mem", &[Cause::Memory]),
];

/// Width of the column with function names.
const NAME: usize = 20;

/// Share of the work below which functions are printed together.
const SMALL: f64 = 0.05;

/// All tables.
pub fn table(
    summary: &Summary,
    nodes: &[u32],
    lines: usize,
    sources: &Path,
    terminal: &Terminal,
) -> String {
    let mut out = String::new();
    // Writing into a string cannot fail.
    write_tables(&mut out, summary, nodes, lines, sources, terminal)
        .expect("a string takes everything");
    out
}

fn write_tables(
    out: &mut String,
    summary: &Summary,
    nodes: &[u32],
    lines: usize,
    sources: &Path,
    terminal: &Terminal,
) -> fmt::Result {
    totals(out, summary, nodes, terminal)?;
    writeln!(out)?;
    functions(out, summary, terminal)?;
    if lines > 0 {
        writeln!(out)?;
        hottest(out, summary, lines, sources, terminal)?;
    }
    Ok(())
}

fn totals(out: &mut String, summary: &Summary, nodes: &[u32], terminal: &Terminal) -> fmt::Result {
    let who = match nodes {
        [node] => format!("Firmware of node {node}"),
        _ => format!("Firmware of {} nodes", nodes.len()),
    };
    let all = summary.work.total() + summary.idle.total();
    writeln!(out)?;
    writeln!(out, "{}", terminal.bold(format!("{who} since the launch")))?;
    writeln!(
        out,
        "  {:14}{:>16}{:>8}{:>16}{:>14}{:>8}{:>8}",
        "", "cycles", "%", "instructions", "turns", "Imiss", "Dmiss"
    )?;
    let walks = walks(summary);
    let rows = [
        ("work", Some(&summary.work), Some(summary.work_turns)),
        ("  of it walks", walks.as_ref(), None),
        ("idle polling", Some(&summary.idle), Some(summary.idle_turns)),
    ];
    for (title, cost, turns) in rows {
        let Some(cost) = cost else { continue };
        writeln!(
            out,
            "  {title:14}{:>16}{:>8.2}{:>16}{:>14}{:>8}{:>8}",
            grouped(cost.total()),
            percent(cost.total(), all),
            grouped(cost.instructions),
            turns.map(grouped).unwrap_or_default(),
            grouped(cost.icache_misses),
            grouped(cost.dcache_misses),
        )?;
    }
    Ok(())
}

fn functions(out: &mut String, summary: &Summary, terminal: &Terminal) -> fmt::Result {
    let aside = "(% of its cycles in which it issues, or stalls for ...)";
    writeln!(out, "{} {}", terminal.bold("Work by function"), terminal.dim(aside))?;
    write!(out, "  {:NAME$}{:>11}{:>6}{:>6}{:>10}", "", "cycles", "%", "with", "instr.")?;
    write!(out, "{:>6}", "issue")?;
    for (title, _) in columns(summary) {
        write!(out, "{title:>6}")?;
    }
    writeln!(out, "{:>6}{:>6}", "Imiss", "Dmiss")?;
    let all = summary.work.total();
    let (mut small, mut others) = (0, Cost::default());
    for function in &summary.functions {
        if percent(function.own.total(), all) < SMALL {
            small += 1;
            others += function.own;
        } else {
            let share = percent(function.with_callees, all);
            row(out, summary, &function.name, &function.own, Some(share))?;
        }
    }
    if small > 0 {
        row(out, summary, &format!("{small} others"), &others, None)?;
    }
    row(out, summary, "all", &summary.work, None)
}

/// Columns that are not empty.
fn columns(summary: &Summary) -> impl Iterator<Item = &'static (&'static str, &'static [Cause])> {
    let work = summary.work;
    STALLS.iter().filter(move |(_, causes)| causes.iter().any(|&cause| work.of(cause) > 0))
}

fn row(
    out: &mut String,
    summary: &Summary,
    name: &str,
    cost: &Cost,
    with: Option<f64>,
) -> fmt::Result {
    let own = cost.total();
    let with = with.map_or(String::new(), |share| format!("{share:.1}"));
    write!(
        out,
        "  {:NAME$}{:>11}{:>6.1}{with:>6}{:>10}{:>6.1}",
        shortened(name, NAME - 1),
        grouped(own),
        percent(own, summary.work.total()),
        grouped(cost.instructions),
        percent(cost.of(Cause::Issue), own),
    )?;
    for (_, causes) in columns(summary) {
        let cycles: u64 = causes.iter().map(|&cause| cost.of(cause)).sum();
        match cycles {
            0 => write!(out, "{:>6}", ".")?,
            _ => write!(out, "{:>6.1}", percent(cycles, own))?,
        }
    }
    writeln!(out, "{:>6}{:>6}", grouped(cost.icache_misses), grouped(cost.dcache_misses))
}

/// The most expensive lines of the source, with their text if the sources are there.
fn hottest(
    out: &mut String,
    summary: &Summary,
    count: usize,
    sources: &Path,
    terminal: &Terminal,
) -> fmt::Result {
    writeln!(out, "{}", terminal.bold("Work by line"))?;
    writeln!(out, "  {:>11}{:>6}  {:12} place", "cycles", "%", "mostly")?;
    let all = summary.work.total();
    let mut files = HashMap::new();
    for line in summary.lines.iter().take(count) {
        let text = files
            .entry(line.file.clone())
            .or_insert_with(|| {
                std::fs::read_to_string(sources.join(&line.file)).unwrap_or_default()
            })
            .lines()
            .nth((line.line as usize).wrapping_sub(1))
            .unwrap_or("")
            .trim();
        let mostly = Cause::ALL.into_iter().max_by_key(|&cause| line.cost.of(cause));
        let place = match line.line {
            0 => line.function.clone(),
            number => format!("{}:{number} ({})", line.file, line.function),
        };
        writeln!(
            out,
            "  {:>11}{:>6.1}  {:12} {place}",
            grouped(line.cost.total()),
            percent(line.cost.total(), all),
            mostly.map_or("", name),
        )?;
        if !text.is_empty() {
            writeln!(out, "  {:33}{}", "", terminal.dim(text))?;
        }
    }
    Ok(())
}

fn percent(part: u64, all: u64) -> f64 {
    if all == 0 {
        0.0
    } else {
        100.0 * part as f64 / all as f64
    }
}

/// At most `width` characters of a name.
fn shortened(name: &str, width: usize) -> String {
    if name.chars().count() <= width {
        return name.to_string();
    }
    name.chars().take(width - 1).chain(['~']).collect()
}
