//! The benchmarks' tables, for people.

use super::ladder::{Ladder, Step};
use super::measure::Point;
use super::published::{Comparison, Published, Role, MISS};
use crate::machines::wrapped;
use crate::summary::grouped;
use crate::terminal::Terminal;
use machine::parameters::Parameters;
use std::fmt::{self, Write};

/// Sizes of messages in the ladder's columns, in bytes.
const COLUMNS: [u64; 3] = [0, 8, 16];

/// The ladder's tables.
pub fn ladder(ladder: &Ladder, terminal: &Terminal) -> String {
    let mut out = String::new();
    write_ladder(&mut out, ladder, terminal).expect("a string takes everything");
    out
}

fn write_ladder(out: &mut String, ladder: &Ladder, terminal: &Terminal) -> fmt::Result {
    let Ladder { machine, sunstar, .. } = ladder;
    writeln!(out, "{}", terminal.bold(format!("Ladder of machine {machine}, sunstar {sunstar}")))?;
    for setting in &ladder.overrides {
        writeln!(out, "  set {setting}")?;
    }
    writeln!(out, "  one-way latency in us, asymptote (1 MiB) in MB/s, flat image in bytes\n")?;
    heading(out, "One option away from the full firmware", "saved by it", terminal)?;
    let full = &ladder.aside[0];
    for step in &ladder.aside {
        let saved = (step.rung.key != full.rung.key).then_some((step, full));
        row(out, step.rung.title, step, saved)?;
    }
    writeln!(out)?;
    heading(out, "From the original firmware upwards", "saved by the step", terminal)?;
    for (index, step) in ladder.climb.iter().enumerate() {
        let before = index.checked_sub(1).map(|before| (&ladder.climb[before], step));
        let last = index + 1 == ladder.climb.len();
        let title = if last { "+ pinned registers" } else { step.rung.title };
        row(out, title, step, before)?;
    }
    writeln!(out)?;
    published(out, &ladder.published, terminal)?;
    details(out, ladder)
}

fn heading(out: &mut String, title: &str, saved: &str, terminal: &Terminal) -> fmt::Result {
    writeln!(out, "{}{}", terminal.bold(format!("{title:51}")), terminal.dim(saved))?;
    let sizes: String =
        COLUMNS.iter().map(|bytes| format!("{:>7}", format!("{bytes} B"))).collect();
    let line = format!("{:22}{sizes}{:>8}{sizes}{:>8}", "", "MB/s", "image");
    writeln!(out, "{}", terminal.dim(line))
}

/// A rung; `saved` are the slower and the faster step whose difference is printed.
fn row(out: &mut String, title: &str, step: &Step, saved: Option<(&Step, &Step)>) -> fmt::Result {
    write!(out, "  {title:20}")?;
    for bytes in COLUMNS {
        write!(out, "{}", number(step.latency(bytes), 7, 3))?;
    }
    write!(out, "{}", number(step.asymptote(), 8, 1))?;
    for bytes in COLUMNS {
        let saving =
            saved.and_then(|(slow, fast)| Some(slow.latency(bytes)? - fast.latency(bytes)?));
        write!(out, "{}", number(saving, 7, 3))?;
    }
    writeln!(out, "{:>8}", grouped(step.image_bytes.into()))
}

/// A number with `places` decimal places, or a dash.
fn number(number: Option<f64>, width: usize, places: usize) -> String {
    match number {
        Some(number) => format!("{number:>width$.places$}"),
        None => format!("{:>width$}", "-"),
    }
}

/// Published results beside the simulated ones, under the papers' keys.
fn published(out: &mut String, list: &[Comparison], terminal: &Terminal) -> fmt::Result {
    writeln!(out, "{}", terminal.bold("Published and simulated"))?;
    for results in list.chunk_by(|one, next| one.paper == next.paper) {
        let paper = &results[0].paper;
        let line =
            format!("  {paper:31}{:>12}{:>11}{:>7}  role", "published", "simulated", "ratio");
        writeln!(out, "{}", terminal.dim(line))?;
        for alike in results.chunk_by(|one, next| reason(one) == reason(next)) {
            alike.iter().try_for_each(|result| comparison(out, result))?;
            if let Some(because) = reason(&alike[0]) {
                writeln!(out, "{}", wrapped(because, 6, 78))?;
            }
        }
    }
    writeln!(out)
}

/// The reason of a miss, which is told once of neighbours that share it.
fn reason(result: &Comparison) -> Option<&str> {
    result.missed_because.as_deref().filter(|_| result.missed())
}

fn comparison(out: &mut String, result: &Comparison) -> fmt::Result {
    let Comparison { quantity, simulated, ratio, unit, role, .. } = result;
    let places = if simulated.is_some_and(|number| number.abs() >= 100.0) { 1 } else { 2 };
    let simulated = match simulated {
        Some(number) => format!("{number:.places$} {unit}").trim_end().to_string(),
        None => "-".into(),
    };
    let (published, ratio) = (result.published_text(), number(*ratio, 7, 2));
    let miss = if result.missed() { "miss" } else { "" };
    // A long one is kept apart from the published one all the same.
    let simulated = if simulated.len() > 10 { format!(" {simulated}") } else { simulated };
    let line = format!("  {quantity:31}{published:>12}{simulated:>11}{ratio}  {role:10} {miss}");
    writeln!(out, "{}", line.trim_end())
}

/// Published numbers that are parameters of the machine: there is nothing to compare.
fn inputs(out: &mut String, all: &[Published], terminal: &Terminal) -> fmt::Result {
    let mut inputs = all.iter().filter(|result| result.role == Role::Input).peekable();
    if inputs.peek().is_none() {
        return Ok(());
    }
    writeln!(
        out,
        "{}",
        terminal.bold("Published inputs of the machine, and what follows from them (not counted)")
    )?;
    for input in inputs {
        let published = input.number().map_or(String::new(), |number| number.text(&input.unit));
        writeln!(out, "  {:49}{published:>12}", input.quantity)?;
    }
    writeln!(out)
}

/// All published results beside those of a machine.
pub fn validation(
    machine: &Parameters,
    published: &[Published],
    results: &[Comparison],
    terminal: &Terminal,
) -> String {
    let mut out = String::new();
    write_validation(&mut out, machine, published, results, terminal)
        .expect("a string takes everything");
    out
}

fn write_validation(
    out: &mut String,
    machine: &Parameters,
    all: &[Published],
    results: &[Comparison],
    terminal: &Terminal,
) -> fmt::Result {
    let title =
        format!("Validation of machine {}, sunstar {}", machine.name(), env!("CARGO_PKG_VERSION"));
    writeln!(out, "{}", terminal.bold(title))?;
    for setting in machine.overrides() {
        writeln!(out, "  set {setting}")?;
    }
    writeln!(out)?;
    published(out, results, terminal)?;
    inputs(out, all, terminal)?;
    let role = |role| {
        let of_role = || results.iter().filter(move |result| result.role == role);
        let within = of_role().filter(|result| result.ratio.is_some() && !result.missed()).count();
        let simulated = of_role().filter(|result| result.simulated.is_some()).count();
        format!("{within} of {simulated} {role}")
    };
    let counts = ["calibrated", "predicted", "reported"].map(role).join(", ");
    let within = results.first().map_or(MISS, |result| result.within);
    writeln!(out, "Within {:.0} %{:5}{counts}", within * 100.0, "")?;
    let unmeasured = results.iter().filter(|result| result.simulated.is_none()).count();
    writeln!(
        out,
        "Not measured    {unmeasured}; published/*.toml says why, or --largest left it out"
    )
}

fn details(out: &mut String, ladder: &Ladder) -> fmt::Result {
    let Ladder { sram_read_ns, host_read_ns, sizes, .. } = ladder;
    writeln!(
        out,
        "Reads           {sram_read_ns:.1} ns local SRAM, {host_read_ns:.1} ns host memory"
    )?;
    match ladder.trace_point {
        Some(point) => {
            let per_message = point.a_message;
            writeln!(out, "Trace point     {:.1} ns, {per_message:.1} hit a message", point.ns)?;
        }
        None => writeln!(out, "Trace point     not measured: the ring wrapped")?,
    }
    let [sources, source_size] = sizes.sources;
    let [pendings, pending_size] = sizes.pendings;
    let m = grouped(sizes.occupancy_bytes.into());
    writeln!(
        out,
        "SRAM pools      {sources} sources of {source_size} bytes, {pendings} pendings of \
         {pending_size}; M = {m} bytes"
    )?;
    let roles = ladder.parameters.iter().filter(|(_, count)| **count > 0);
    let roles: Vec<String> = roles.map(|(role, count)| format!("{count} {role}")).collect();
    writeln!(out, "Parameters      {}", roles.join(", "))
}

/// Latency and rate of several machines in columns.
pub fn latency(machines: &[(String, Vec<Point>)], terminal: &Terminal) -> String {
    let mut out = String::new();
    write_latency(&mut out, machines, terminal).expect("a string takes everything");
    out
}

fn write_latency(
    out: &mut String,
    machines: &[(String, Vec<Point>)],
    terminal: &Terminal,
) -> fmt::Result {
    let width =
        machines.iter().map(|(name, _)| name.chars().count() + 2).max().unwrap_or(0).max(20);
    let names: String = machines.iter().map(|(name, _)| format!("{name:>width$}")).collect();
    writeln!(out, "{}", terminal.bold(format!("{:>10}{names}", "")))?;
    let units: String = machines.iter().map(|_| format!("{:>width$}", "us      MB/s")).collect();
    writeln!(out, "{}", terminal.dim(format!("{:>10}{units}", "bytes")))?;
    let first = machines.first().map_or(&[][..], |(_, points)| points);
    for Point { bytes, .. } in first {
        write!(out, "{bytes:>10}")?;
        for (_, points) in machines {
            let point = points.iter().find(|point| point.bytes == *bytes);
            let latency = number(point.map(|point| point.latency_us), width - 10, 3);
            let rate = number(point.and_then(|point| point.rate), 10, 2);
            write!(out, "{latency}{rate}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::ladder::tests::example;
    use super::super::published::Number;
    use super::*;
    use std::path::Path;
    use sunstar::root::Root;

    const PLAIN: Terminal = Terminal { colour: false, unicode: false, width: 80 };

    #[test]
    fn the_ladder_fits_its_columns() {
        let mut example = example();
        example.published = vec![Comparison {
            id: "pedretti2005.latency".into(),
            paper: "pedretti2005".into(),
            place: "s5".into(),
            quantity: "latency of an empty message".into(),
            unit: "us".into(),
            published: Number::One(4.9),
            simulated: Some(4.0),
            ratio: Some(4.0 / 4.9),
            role: "calibrated",
            missed_because: None,
            within: MISS,
        }];
        let text = ladder(&example, &PLAIN);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let line = |start: &str| {
            let found = text.lines().find(|line| line.trim_start().starts_with(start));
            let words = found.unwrap_or_else(|| panic!("no {start} in\n{text}")).split_whitespace();
            words.map(str::to_owned).collect::<Vec<_>>()
        };
        let no_caches = "no caches 9.000 9.100 - 1613.2 5.000 5.000 - 10,000";
        assert_eq!(line("no caches").join(" "), no_caches);
        let step = "+ pinned registers 4.000 4.100 - 1638.4 12.000 12.900 - 10,000";
        assert_eq!(line("+ pinned").join(" "), step);
        let result = "latency of an empty message 4.9 us 4.00 us 0.82 calibrated miss";
        assert_eq!(line("latency of").join(" "), result);
        assert!(text.contains("set net.route=20 ns") && text.contains("3 assumed"), "{text}");
    }

    #[test]
    fn a_validation_counts_what_came_near() {
        let machine = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../machines/redstorm.toml");
        let machine = Parameters::load(&models::MODELS, &machine).unwrap();
        let result = |paper: &str, published, ratio: Option<f64>, role| Comparison {
            id: format!("{paper}.it"),
            paper: paper.into(),
            place: "s1".into(),
            quantity: "latency of an empty MPI message".into(),
            unit: "us".into(),
            published,
            simulated: ratio.map(|ratio| 10.0 * ratio),
            ratio,
            role,
            missed_because: Some("A reason of some length. ".repeat(8).trim().into()),
            within: MISS,
        };
        let ten = Number::One(10.0);
        let results = [
            result("one", ten, Some(1.05), "predicted"),
            result("one", ten, Some(0.3), "predicted"),
            result("one", ten, Some(0.4), "predicted"),
            result("two", ten, Some(1.0), "calibrated"),
            result("two", Number::Range([2.0, 3.0]), None, "reported"),
        ];
        let text = validation(&machine, &[], &results, &PLAIN);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let lines: Vec<String> = text
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        for line in [
            "one published simulated ratio role",
            "two published simulated ratio role",
            "latency of an empty MPI message 10 us 10.50 us 1.05 predicted",
            "latency of an empty MPI message 10 us 3.00 us 0.30 predicted miss",
            "latency of an empty MPI message 2 to 3 us - - reported",
            "A reason of some length. A reason of some length. A reason of some",
            "Within 10 % 1 of 1 calibrated, 1 of 3 predicted, 0 of 0 reported",
        ] {
            assert!(lines.iter().any(|found| found == line), "no {line} in\n{text}");
        }
        assert_eq!(text.matches("      A reason").count(), 1, "it is told once of both: {text}");
        assert!(text.contains("Not measured    1;"), "{text}");
        assert!(!text.contains("inputs"), "{text}");
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3).unwrap();
        let all = Published::of_paper(&Root::at(root), "marazakis2006").unwrap();
        let text = validation(&machine, &all, &results, &PLAIN);
        let input = text.lines().find(|line| line.contains("largest rate of two lanes"));
        assert!(input.is_some_and(|line| line.ends_with(" 596 MiB/s")), "{text}");
        assert!(!text.contains("one descriptor, combined"), "what is measured is no input: {text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn machines_stand_side_by_side() {
        let points = |latency_us| vec![Point { bytes: 8, latency_us, rate: Some(2.0) }];
        let machines = [("one".to_string(), points(1.0)), ("two".to_string(), points(2.5))];
        let text = latency(&machines, &PLAIN);
        let last: Vec<&str> = text.lines().last().unwrap().split_whitespace().collect();
        assert_eq!(last, ["8", "1.000", "2.00", "2.500", "2.00"], "{text}");
    }
}
