//! The messages of a run, for people: a table of all, and the breakdown of the class that took most time.

use super::{grouped, heading, time_of};
use crate::terminal::Terminal;
use machine::instruments::message_trace::{Breakdown, Messages};
use std::fmt::{self, Write};

/// Classes of messages that have a line.
const CLASSES_MAX: usize = 5;

/// Least number of steps of a way that have a line: the longest.
const SEGMENTS_MIN: usize = 5;
/// Part of a message's time that the steps with a line cover at least: who reads them has the cause.
const COVERED: f64 = 0.9;
/// If all steps are asked for each has a line, but of a way with more than this number, in several legs, only
/// those that take a part of the time.
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

/// The same in the table, where room is short.
fn sizes_of(class: &Breakdown) -> String {
    match (class.bytes_least, class.bytes_most) {
        (least, most) if least == most => format!("{} B", grouped(least)),
        (least, most) => format!("{} to {} B", grouped(least), grouped(most)),
    }
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
    // In the order of all classes.
    let is_shown = |class: &&Breakdown| shown.iter().any(|one| std::ptr::eq(*one, *class));
    let rows: Vec<_> = classes.iter().filter(is_shown).map(cells_of).collect();
    lines(out, &rows, terminal)?;
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

/// Cells of the table of classes.
type Cells = [String; 6];
/// The one that is left out where the terminal is too narrow.
const MEDIAN: usize = 3;

fn cells_of(class: &Breakdown) -> Cells {
    let name = format!("{}, {}, {}", class.kind.name(), class.protocol.name(), sizes_of(class));
    let times = [mean_of(class), class.p50_ns, class.p99_ns, class.most_ns];
    let [mean, p50, p99, max] = times.map(time_of);
    [name, grouped(class.messages), mean, p50, p99, max]
}

/// Prints the lines of the table, below its heading.
fn lines(out: &mut String, rows: &[Cells], terminal: &Terminal) -> fmt::Result {
    let head = ["kind, protocol, size", "number", "mean", "p50", "p99", "max"].map(String::from);
    let widest = |at: usize| {
        let all = std::iter::once(&head).chain(rows);
        all.map(|cells| cells[at].chars().count()).max().unwrap_or(0)
    };
    let widths: [usize; 6] = std::array::from_fn(widest);
    let fits = 2 + widths.iter().sum::<usize>() + widths.len() - 1 <= terminal.width;
    for cells in std::iter::once(&head).chain(rows) {
        write!(out, "  {:1$}", cells[0], widths[0])?;
        for (at, cell) in cells.iter().enumerate().skip(1).filter(|(at, _)| fits || *at != MEDIAN) {
            write!(out, " {cell:>0$}", widths[at])?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Least time of a step that has a line.
fn least(class: &Breakdown, full: bool) -> f64 {
    let most = if full { ALL_MAX } else { SEGMENTS_MIN };
    if class.segments.len() <= most {
        return 0.0;
    }
    let mut times: Vec<f64> = class.segments.iter().map(|segment| segment.ns).collect();
    times.sort_by(|a, b| b.total_cmp(a));
    let (all, mut sum, mut shown): (f64, f64, usize) = (times.iter().sum(), 0.0, 0);
    while sum < COVERED * all && shown < times.len() {
        sum += times[shown];
        shown += 1;
    }
    let covers = times[shown.max(SEGMENTS_MIN) - 1];
    if full {
        covers.min(SHARE_MIN * class.total_ns)
    } else {
        covers
    }
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
        let what = format!("{number} other step{}", if number == 1 { "" } else { "s" });
        let share = 100.0 * short / total;
        writeln!(out, "  {what:name_width$}{:>12}{share:>4.0} %", time_of(short))?;
    }
    writeln!(out, "  {:name_width$}{:>12}", "total", time_of(class.total_ns))
}
