//! The differences, for people.

use super::account::CallDifference;
use super::compare::{Diff, Named, Pair, Parameter};
use super::messages::{MessageTrace, Unlike};
use super::read::Like;
use crate::summary::{grouped, row, time_of};
use crate::terminal::Terminal;
use std::fmt::{self, Write};

/// Functions and counters that are listed; kinds of the hosts' time, and counters that different models
/// share. The JSON has all.
const ROWS_MAX: usize = 20;
const HOST_MAX: usize = 4;

/// Classes of messages whose steps are listed, and the steps of each. Those of different models share few
/// steps.
const SHOWN: Shown = Shown { classes: 2, steps: usize::MAX };
const SHOWN_OF_MODELS: Shown = Shown { classes: 1, steps: 6 };

/// Rows of the messages' part.
struct Shown {
    classes: usize,
    steps: usize,
}

/// Functions whose times are listed, and their parts.
const CALLS_MAX: usize = 6;
const PARTS_MAX: usize = 3;

/// Parameters of one run only that are listed.
const SINGLE_MAX: usize = 3;

/// Share of a message's time below which differences of steps are one line.
const STEP_MIN: f64 = 0.01;

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
    if let Some(messages) = diff.messages {
        pair(out, "messages", messages, grouped, share)?;
    }
    if let Some(cycles) = diff.firmware_cycles {
        pair(out, "firmware, cycles beyond polling", cycles, grouped, share)?;
    }
    account(out, &diff.account, terminal)?;
    let (differ, equal): (Vec<_>, Vec<_>) =
        diff.journeys.iter().partition(|message_trace| message_trace.total.difference != 0);
    let shown = if diff.other_model { SHOWN_OF_MODELS } else { SHOWN };
    for message_trace in differ.iter().take(shown.classes) {
        steps(out, message_trace, shown.steps, terminal)?;
    }
    classes(out, diff, differ.len().saturating_sub(shown.classes), equal.len())?;
    if !diff.host.is_empty() {
        writeln!(out)?;
        heading(out, terminal, "Host processors, all nodes", &["A", "B", "difference"])?;
        for named in diff.host.iter().take(HOST_MAX) {
            pair(out, &named.name, named.pair, time, share)?;
        }
        more(out, diff.host.len(), HOST_MAX)?;
    }
    if !diff.functions.is_empty() {
        writeln!(out)?;
        heading(out, terminal, "Firmware, cycles", &["A", "B", "difference"])?;
        for named in diff.functions.iter().take(ROWS_MAX) {
            pair(out, &named.name, named.pair, grouped, share)?;
        }
        more(out, diff.functions.len(), ROWS_MAX)?;
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
    let both = |parameter: &&Parameter| parameter.a.is_some() && parameter.b.is_some();
    let (shared, single): (Vec<_>, Vec<_>) = diff.parameters.iter().partition(both);
    // One or two can be read; those of another model are many.
    let folds = single.len() > SINGLE_MAX;
    let shown = if folds { &shared } else { &diff.parameters.iter().collect() };
    for parameter in shown {
        let value = |value: &Option<String>| value.as_deref().unwrap_or("-").to_string();
        line(out, &parameter.key, &[value(&parameter.a), value(&parameter.b)])?;
        for (side, source) in [("A", &parameter.source_a), ("B", &parameter.source_b)] {
            if let Some(source) = source {
                writeln!(out, "    {}", terminal.dim(format!("{side}: {source}")))?;
            }
        }
    }
    if folds {
        let only_a = single.iter().filter(|parameter| parameter.b.is_none()).count();
        let only_b = single.len() - only_a;
        writeln!(out, "  {only_a} more are of A's model only, {only_b} of B's (--json has all)")?;
    }
    Ok(())
}

/// Times in calls, those first that differ most: their parts, and the rank with most of it.
fn account(out: &mut String, calls: &[CallDifference], terminal: &Terminal) -> fmt::Result {
    let differ: Vec<_> = calls.iter().filter(|call| !call.parts.is_empty()).collect();
    if differ.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    heading(out, terminal, "Time in calls, all ranks", &["A", "B", "difference"])?;
    for call in differ.iter().take(CALLS_MAX) {
        pair(out, &call.call, call.total, time, share)?;
        let parts = call.parts.iter().take(PARTS_MAX);
        let mut told: Vec<String> =
            parts.map(|part| format!("{} {}", part.name, signed(part.pair, time))).collect();
        if call.parts.len() > PARTS_MAX {
            told.push("...".into());
        }
        let rank = call.ranks.first();
        let rank = rank.map(|rank| format!("; rank {}: {}", rank.rank, signed(rank.pair, time)));
        let text = format!("{}{}", told.join(", "), rank.unwrap_or_default());
        writeln!(out, "    {}", terminal.dim(text))?;
    }
    more(out, differ.len(), CALLS_MAX)
}

fn steps(
    out: &mut String,
    message_trace: &MessageTrace,
    most: usize,
    terminal: &Terminal,
) -> fmt::Result {
    let Pair { a, b, .. } = message_trace.messages;
    let of = if a == b { format!("{a}") } else { format!("{a} in A, {b} in B") };
    writeln!(out)?;
    let like = match &message_trace.like_b {
        Some(like_b) => format!("{} in A; {} in B", words(&message_trace.like), words(like_b)),
        None => words(&message_trace.like),
    };
    let title = format!("Where the time of a message went, {like}");
    writeln!(out, "{} {}", terminal.bold(title), terminal.dim(format!("(mean of {of})")))?;
    row(out, "", 0, &["A", "B", "difference"].map(String::from))?;
    let whole = message_trace.total.a.max(message_trace.total.b) as f64;
    let is_little = |step: &&Named| (step.pair.difference.unsigned_abs() as f64) < STEP_MIN * whole;
    let (differ, equal): (Vec<_>, Vec<_>) =
        message_trace.steps.iter().partition(|step| step.pair.difference != 0);
    let (mut little, mut much): (Vec<_>, Vec<_>) = differ.iter().copied().partition(is_little);
    // A single one, and all if none is more, stand for themselves.
    if little.len() == 1 || much.is_empty() {
        (little, much) = (Vec::new(), differ.clone());
    }
    let name = if much.len() > most { "other steps" } else { "steps with less than 1 % each" };
    little.extend(much.iter().skip(most));
    for step in much.iter().take(most) {
        pair(out, &step.name, step.pair, time, |_| String::new())?;
    }
    if !little.is_empty() {
        let sum = |side: fn(&Pair) -> u64| little.iter().map(|step| side(&step.pair)).sum::<u64>();
        let rest = Pair::new(sum(|pair| pair.a), sum(|pair| pair.b));
        pair(out, &format!("{} {name}", little.len()), rest, time, |_| String::new())?;
    }
    if equal.iter().any(|step| step.pair.a > 0) {
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
        let mut told: Vec<_> = all.iter().take(SHOWN.classes).map(|unlike| of(unlike)).collect();
        if all.len() > SHOWN.classes {
            let more = all.len() - SHOWN.classes;
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
    // Those of another model are many, and say nothing of a difference.
    let (shared, single): (Vec<_>, Vec<_>) =
        diff.counters.iter().partition(|counter| !diff.other_model || counter.is_in_both());
    let most = if diff.other_model { HOST_MAX } else { ROWS_MAX };
    for counter in shared.iter().take(most) {
        let Pair { a, b, .. } = counter.named.pair;
        let ratio = counter.ratio.map_or("-".to_string(), |ratio| format!("{ratio:.3}"));
        line(out, &counter.named.name, &[grouped(a), grouped(b), ratio])?;
    }
    more(out, shared.len(), most)?;
    match single.len() {
        0 => Ok(()),
        single => writeln!(out, "  {single} are of one model only (--json has all)"),
    }
}

fn more(out: &mut String, rows: usize, shown: usize) -> fmt::Result {
    match rows.saturating_sub(shown) {
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
    let mut cells = vec![show(pair.a), show(pair.b), signed(pair, &show), aside(pair)];
    cells.retain(|cell| !cell.is_empty());
    line(out, name, &cells)
}

/// The difference with its sign.
fn signed(pair: Pair, show: impl Fn(u64) -> String) -> String {
    match pair.difference {
        0 => "0".to_string(),
        some if some < 0 => format!("-{}", show(some.unsigned_abs())),
        some => format!("+{}", show(some.unsigned_abs())),
    }
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
