//! The messages of a run, for people: a table of all, and the breakdown of the class that took most time.

use super::{grouped, heading, time_of};
use crate::terminal::Terminal;
use machine::instruments::message_trace::{Breakdown, Messages};
use std::fmt::{self, Write};

/// Classes of messages that have a line.
const CLASSES_MAX: usize = 5;

/// Number of steps of a way that have a line: the longest.
const SEGMENTS_MAX: usize = 5;
/// The same if all are asked for: then all have a line, but of a way with several legs only those that take a
/// part of the time.
const ALL_MAX: usize = 30;
const SHARE_MIN: f64 = 0.01;

/// Properties that the messages of a class share: `send, eager, 24 bytes`.
pub fn class_of(class: &Breakdown) -> String {
    format!("{}, {}, {}", class.kind.name(), class.protocol.name(), bytes_of(class))
}

/// The mean time of a class, in nanoseconds.
fn mean_of(class: &Breakdown) -> f64 {
    class.sum_ps as f64 / 1e3 / class.messages.max(1) as f64
}

/// Sizes of the class.
fn bytes_of(class: &Breakdown) -> String {
    match (class.bytes_least, class.bytes_most) {
        (1, 1) => "1 byte".into(),
        (least, most) if least == most => format!("{} bytes", grouped(least)),
        (least, most) => format!("{} to {} bytes", grouped(least), grouped(most)),
    }
}

/// The class whose messages took most time together.
pub fn heaviest(classes: &[Breakdown]) -> Option<&Breakdown> {
    // Of several the first one.
    classes.iter().rev().max_by_key(|class| class.sum_ps)
}

/// Prints a line for each class of messages: those with the most time, if there are many.
pub fn table(
    out: &mut String,
    messages: &Messages,
    classes: &[Breakdown],
    terminal: &Terminal,
) -> fmt::Result {
    let mut shown: Vec<&Breakdown> = classes.iter().collect();
    shown.sort_by_key(|class| std::cmp::Reverse(class.sum_ps));
    shown.truncate(CLASSES_MAX);
    let aside = match classes.len() {
        all if all > shown.len() => {
            format!("all are counted; {} of {all} classes are shown, --json has all", shown.len())
        }
        _ => "all are counted".into(),
    };
    let title = format!("Messages {}", grouped(messages.ended));
    heading(out, terminal, &title, &aside)?;
    let cells = ["number", "mean", "99 % to", "most"];
    line(out, "kind, protocol, size", &cells.map(String::from))?;
    for class in classes.iter().filter(|class| shown.iter().any(|one| std::ptr::eq(*one, *class))) {
        let [mean, p99, most] = [mean_of(class), class.p99_ns, class.most_ns].map(time_of);
        line(out, &class_of(class), &[grouped(class.messages), mean, p99, most])?;
    }
    let unfinished = messages.unfinished;
    let left = [
        (unfinished.on_the_way, "on the way"),
        (unfinished.not_received, "at a receiver that never asked for them"),
        (unfinished.dropped, "dropped, as no receive matched"),
        (unfinished.given_up, "given up on, behind many others that nobody asked for"),
    ];
    let told = left.iter().filter(|(number, _)| *number > 0);
    let told: Vec<_> = told.map(|(number, what)| format!("{} {what}", grouped(*number))).collect();
    if !told.is_empty() {
        writeln!(out, "  not at their end: {}", told.join(", "))?;
    }
    Ok(())
}

fn line(out: &mut String, name: &str, cells: &[String; 4]) -> fmt::Result {
    let [number, times @ ..] = cells;
    write!(out, "  {name:33}{number:>11}")?;
    for time in times {
        write!(out, "{time:>11}")?;
    }
    writeln!(out)
}

/// Least time of a step that has a line.
fn least(class: &Breakdown, full: bool) -> f64 {
    let most = if full { ALL_MAX } else { SEGMENTS_MAX };
    if class.segments.len() <= most {
        return 0.0;
    }
    if full {
        return SHARE_MIN * class.total_ns;
    }
    let mut times: Vec<f64> = class.segments.iter().map(|segment| segment.ns).collect();
    times.sort_by(|a, b| b.total_cmp(a));
    times[most - 1]
}

/// Prints the steps of a message's way, each as a bar that starts at the end of the one before: those that
/// take most of the time, or all.
pub fn waterfall(
    out: &mut String,
    class: &Breakdown,
    full: bool,
    terminal: &Terminal,
) -> fmt::Result {
    let (of, all) = (class.median_of, class.messages);
    let median = match of == all {
        true => format!("median of all {}", grouped(all)),
        false => format!("median of a sample of {} of {}", grouped(of), grouped(all)),
    };
    heading(
        out,
        terminal,
        &format!("Where the time of a {}-byte message went", grouped(class.bytes)),
        &format!("{}, {}; {median}", class.kind.name(), class.protocol.name()),
    )?;
    let name_width = class.segments.iter().map(|s| s.name.len()).max().unwrap_or(0).max(14);
    let bar_width = terminal.width.saturating_sub(name_width + 2 + 12 + 6 + 2 + 2);
    let total = if class.total_ns > 0.0 { class.total_ns } else { 1.0 };
    let column = |ns: f64| (ns / total * bar_width as f64).round() as usize;
    let block = if terminal.unicode { "█" } else { "#" };
    let mut start = 0.0;
    let least = least(class, full);
    let (mut short, mut number) = (0.0, 0);
    for segment in &class.segments {
        let end = start + segment.ns;
        if segment.ns < least {
            (short, number, start) = (short + segment.ns, number + 1, end);
            continue;
        }
        // A stretch too short for a column still shows where it is.
        let (left, right) = (column(start).min(bar_width.saturating_sub(1)), column(end));
        let bar = block.repeat(right.saturating_sub(left).max(usize::from(segment.ns > 0.0)));
        let share = 100.0 * segment.ns / total;
        let name = &segment.name;
        let time = time_of(segment.ns);
        let line = format!("  {name:name_width$}{time:>12}{share:>4.0} %  {:left$}", "");
        writeln!(out, "{line}{}", terminal.bar(bar))?;
        start = end;
    }
    if number > 0 {
        let what = format!("{number} other steps");
        writeln!(out, "  {what:name_width$}{:>12}", time_of(short))?;
    }
    writeln!(out, "  {:name_width$}{:>12}", "total", time_of(class.total_ns))
}
