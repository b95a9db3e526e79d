//! The differences, for people.

use super::compare::{Diff, MessageTrace, Pair, Unlike};
use super::read::Like;
use crate::summary::{grouped, row, time_of};
use crate::terminal::Terminal;
use std::fmt::{self, Write};

/// Functions and counters that are listed; the JSON has all.
const ROWS_MAX: usize = 20;

/// Classes of messages whose steps are listed.
const CLASSES_MAX: usize = 3;

/// All tables.
pub fn table(diff: &Diff, terminal: &Terminal) -> String {
    let mut out = String::new();
    write_table(&mut out, diff, terminal).expect("a string takes everything");
    out
}

fn write_table(out: &mut String, diff: &Diff, terminal: &Terminal) -> fmt::Result {
    if diff.equal {
        return writeln!(
            out,
            "The runs are equal: the same parameters, program and firmware, {} of simulated time, \
             trace hash {}.",
            time(diff.simulated_ps.a),
            diff.a.trace_hash
        );
    }
    for (name, side) in [("A", &diff.a), ("B", &diff.b)] {
        writeln!(out, "{}  {}: {}", terminal.bold(name), side.file, side.title)?;
    }
    writeln!(out, "\n{}", terminal.bold(&diff.verdict))?;
    parameters(out, diff, terminal)?;
    if !diff.run.is_empty() {
        writeln!(out, "\n{}", terminal.bold("What differs beside parameters"))?;
        for words in &diff.run {
            let show =
                |text: &str| if text.is_empty() { "-".to_string() } else { text.to_string() };
            let (a, b) = (show(&words.a), show(&words.b));
            writeln!(out, "  {:16}A: {a}\n  {:16}B: {b}", words.what, "")?;
        }
    }
    writeln!(out)?;
    heading(out, terminal, "Result", &["A", "B", "difference"])?;
    pair(out, "simulated time", diff.simulated_ps, time, share)?;
    pair(out, "messages sent and received", diff.messages, grouped, share)?;
    let (differ, equal): (Vec<_>, Vec<_>) =
        diff.journeys.iter().partition(|message_trace| message_trace.total.difference != 0);
    for message_trace in differ.iter().take(CLASSES_MAX) {
        steps(out, message_trace, terminal)?;
    }
    classes(out, diff, differ.len().saturating_sub(CLASSES_MAX), equal.len())?;
    if !diff.host.is_empty() {
        writeln!(out)?;
        heading(out, terminal, "Host processors, all nodes", &["A", "B", "difference"])?;
        for named in &diff.host {
            pair(out, &named.name, named.pair, time, share)?;
        }
    }
    if !diff.functions.is_empty() {
        writeln!(out)?;
        heading(out, terminal, "Firmware, cycles", &["A", "B", "difference"])?;
        for named in diff.functions.iter().take(ROWS_MAX) {
            pair(out, &named.name, named.pair, grouped, share)?;
        }
        more(out, diff.functions.len())?;
    }
    counters(out, diff, terminal)?;
    let nothing = diff.parameters.is_empty() && diff.run.is_empty();
    if nothing && diff.simulated_ps.difference == 0 && diff.counters.is_empty() {
        writeln!(out, "\nOnly the trace hash differs: something happened at another time.")?;
    }
    Ok(())
}

fn parameters(out: &mut String, diff: &Diff, terminal: &Terminal) -> fmt::Result {
    if diff.parameters.is_empty() {
        return writeln!(out, "\nAll parameters are equal.");
    }
    writeln!(out)?;
    heading(out, terminal, "Parameters that differ", &["A", "B"])?;
    for parameter in &diff.parameters {
        let value = |value: &Option<String>| value.as_deref().unwrap_or("-").to_string();
        line(out, &parameter.key, &[value(&parameter.a), value(&parameter.b)])?;
        for (side, source) in [("A", &parameter.source_a), ("B", &parameter.source_b)] {
            if let Some(source) = source {
                writeln!(out, "    {}", terminal.dim(format!("{side}: {source}")))?;
            }
        }
    }
    Ok(())
}

fn steps(out: &mut String, message_trace: &MessageTrace, terminal: &Terminal) -> fmt::Result {
    let Pair { a, b, .. } = message_trace.messages;
    let of = if a == b { format!("{a}") } else { format!("{a} in A, {b} in B") };
    writeln!(out)?;
    let title = format!("Where the time of a message went, {}", words(&message_trace.like));
    writeln!(out, "{} {}", terminal.bold(title), terminal.dim(format!("(mean of {of})")))?;
    row(out, "", 0, &["A", "B", "difference"].map(String::from))?;
    let (differ, equal): (Vec<_>, Vec<_>) =
        message_trace.steps.iter().partition(|step| step.pair.difference != 0);
    for step in &differ {
        pair(out, &step.name, step.pair, time, |_| String::new())?;
    }
    if !equal.is_empty() {
        let (a, b) = (equal.iter().map(|s| s.pair.a).sum(), equal.iter().map(|s| s.pair.b).sum());
        let rest = Pair { a, b, difference: 0 };
        let name = if differ.is_empty() { "all steps, equal" } else { "the other steps, equal" };
        pair(out, name, rest, time, |_| String::new())?;
    }
    pair(out, "total", message_trace.total, time, share)
}

/// Prints the messages whose steps are not listed: `more` classes that differ, and `equal` ones that do not;
/// and those that only one of the runs sent.
fn classes(out: &mut String, diff: &Diff, more: usize, equal: usize) -> fmt::Result {
    let plural = |count: usize| if count == 1 { "class" } else { "classes" };
    if more > 0 {
        let what = plural(more);
        writeln!(out, "\n{more} more {what} of messages differ in their time (--json has all).")?;
    }
    if equal > 0 {
        writeln!(out, "\n{equal} {} of messages took the same mean time.", plural(equal))?;
    }
    if diff.unlike.is_empty() {
        return Ok(());
    }
    let only = |side: fn(&Unlike) -> u64| {
        let of = |unlike: &Unlike| format!("{} {}", grouped(side(unlike)), words(&unlike.like));
        let all: Vec<_> = diff.unlike.iter().filter(|unlike| side(unlike) > 0).collect();
        let mut told: Vec<_> = all.iter().take(CLASSES_MAX).map(|unlike| of(unlike)).collect();
        if all.len() > CLASSES_MAX {
            let more = all.len() - CLASSES_MAX;
            told.push(format!("{more} more {} (--json has all)", plural(more)));
        }
        told.join("; ")
    };
    writeln!(out, "\nSteps of unlike messages are not compared:")?;
    for (name, told) in [("A", only(|u| u.messages.a)), ("B", only(|u| u.messages.b))] {
        if !told.is_empty() {
            writeln!(out, "  only {name} sent {told}.")?;
        }
    }
    Ok(())
}

/// Properties that messages share, as text: `send, eager, 24 bytes`.
fn words(Like { kind, protocol, bytes_least, bytes_most }: &Like) -> String {
    let bytes = match bytes_least == bytes_most {
        true => grouped(*bytes_least),
        false => format!("{} to {}", grouped(*bytes_least), grouped(*bytes_most)),
    };
    format!("{kind}, {protocol}, {bytes} bytes")
}

fn counters(out: &mut String, diff: &Diff, terminal: &Terminal) -> fmt::Result {
    if diff.counters.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    heading(out, terminal, "Counters that differ, all nodes", &["A", "B", "ratio"])?;
    for counter in diff.counters.iter().take(ROWS_MAX) {
        let Pair { a, b, .. } = counter.named.pair;
        let ratio = counter.ratio.map_or("-".to_string(), |ratio| format!("{ratio:.3}"));
        line(out, &counter.named.name, &[grouped(a), grouped(b), ratio])?;
    }
    more(out, diff.counters.len())
}

fn more(out: &mut String, rows: usize) -> fmt::Result {
    match rows.saturating_sub(ROWS_MAX) {
        0 => Ok(()),
        more => writeln!(out, "  {more} more (--json has all)"),
    }
}

fn heading(out: &mut String, terminal: &Terminal, title: &str, cells: &[&str]) -> fmt::Result {
    let cells: Vec<String> = cells.iter().map(ToString::to_string).collect();
    row(out, &terminal.bold(title).to_string(), title.len(), &cells)
}

fn line(out: &mut String, name: &str, cells: &[String]) -> fmt::Result {
    row(out, &format!("  {name}"), name.len() + 2, cells)
}

/// Prints both numbers, the difference, and a note.
fn pair(
    out: &mut String,
    name: &str,
    pair: Pair,
    show: impl Fn(u64) -> String,
    aside: impl Fn(Pair) -> String,
) -> fmt::Result {
    let difference = match pair.difference {
        0 => "0".to_string(),
        some if some < 0 => format!("-{}", show(some.unsigned_abs())),
        some => format!("+{}", show(some.unsigned_abs())),
    };
    let mut cells = vec![show(pair.a), show(pair.b), difference, aside(pair)];
    cells.retain(|cell| !cell.is_empty());
    line(out, name, &cells)
}

fn time(ps: u64) -> String {
    match ps {
        1..=999 => format!("{ps} ps"),
        _ => time_of(ps as f64 / 1e3),
    }
}

/// The difference as a share of the first number.
fn share(pair: Pair) -> String {
    match pair.a {
        0 => String::new(),
        _ if pair.difference == 0 => String::new(),
        a => format!("{:+.2} %", 100.0 * pair.difference as f64 / a as f64),
    }
}
