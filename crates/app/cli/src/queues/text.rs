//! The queues, for people.

use super::figures::{Figures, Own, Queue};
use crate::args::RunOptions;
use crate::summary::{grouped, plural, time_of};
use crate::terminal::Terminal;
use std::fmt::{self, Write};

/// Columns of a queue.
pub const HEAD: [&str; 8] =
    ["entries", "max length", "mean", "searches", "walked", "per search", "max walked", "time"];
/// Ranks that are listed, unless all are asked for.
const RANKS_MAX: usize = 16;

/// Tables of the first run, and the differences of the others.
pub fn text(all: &[Figures], options: &RunOptions, terminal: &Terminal) -> String {
    let mut out = String::new();
    write(&mut out, all, options, terminal).expect("a string takes everything");
    out
}

fn write(
    out: &mut String,
    all: &[Figures],
    options: &RunOptions,
    terminal: &Terminal,
) -> fmt::Result {
    let first = &all[0];
    let title =
        format!("MPI's queues in {} on machine {}", options.programs(), options.machine.machine);
    write!(out, "\n{}", terminal.bold(title))?;
    let ranks = plural(first.ranks.len() as u64, "rank");
    writeln!(out, ": {ranks}, {} of simulated time", time_of(first.simulated_ns))?;
    if let (Some(setting), true) = (&first.setting, all.len() > 1) {
        writeln!(out, "  with {setting}")?;
    }
    let shown = if options.full { first.ranks.len() } else { RANKS_MAX };
    let [posted, unexpected] = first.all();
    let who = |count: usize| match first.ranks.len() {
        ranks if ranks > count => format!(" ({count} of {ranks} ranks are shown, --full has all)"),
        _ => String::new(),
    };
    for (name, all, of) in [
        ("Posted receives", posted, (|own| &own.posted) as fn(&Own) -> &Queue),
        ("Unexpected messages", unexpected, |own| &own.unexpected),
    ] {
        writeln!(out, "\n{}{}", terminal.bold(name), who(shown))?;
        line(out, "", &HEAD.map(String::from))?;
        for own in first.ranks.iter().take(shown) {
            let mean = of(own).time as f64 / own.total_ps.max(1) as f64;
            line(out, &format!("rank {}", own.rank), &cells(of(own), mean))?;
        }
        line(out, "all ranks", &cells(&all, first.mean(of)))?;
    }
    notes(out, first)?;
    if first.units.is_some() {
        units(out, all, terminal)?;
    }
    if all.len() > 1 {
        compare(out, all, terminal)?;
    }
    Ok(())
}

/// Prints requests and matches of the matching units.
fn units(out: &mut String, all: &[Figures], terminal: &Terminal) -> fmt::Result {
    writeln!(out, "\n{}", terminal.bold("Searches of the matching units"))?;
    let head = ["simulated", "posted asked", "found", "unexp. asked", "found"];
    let head: String = head.iter().map(|cell| format!("{cell:>14}")).collect();
    writeln!(out, "  {:<14}{head}", "")?;
    for run in all {
        let mut cells = vec![time_of(run.simulated_ns)];
        cells.extend(run.units.iter().flatten().map(|number| grouped(*number)));
        let cells: String = cells.iter().map(|cell| format!("{cell:>14}")).collect();
        writeln!(out, "  {:<14}{cells}", run.setting.as_deref().unwrap_or("as it is"))?;
    }
    Ok(())
}

fn cells(queue: &Queue, mean: f64) -> [String; 8] {
    [
        grouped(queue.entries),
        grouped(queue.most),
        format!("{mean:.2}"),
        grouped(queue.searches),
        grouped(queue.walked),
        format!("{:.2}", queue.each()),
        grouped(queue.walked_most),
        queue.ps.map_or("-".into(), |ps| time_of(ps as f64 / 1e3)),
    ]
}

fn line(out: &mut String, name: &str, cells: &[String]) -> fmt::Result {
    let cells: String = cells.iter().map(|cell| format!("{cell:>11}")).collect();
    writeln!(out, "{}", format!("  {name:<10}{cells}").trim_end())
}

/// Prints which numbers are incomplete, and which part of the machine walks the lists.
fn notes(out: &mut String, figures: &Figures) -> fmt::Result {
    let whole = match figures.untold {
        0 => "Every search is counted.".to_owned(),
        searches => format!(
            "The counts of posted receives are not whole: of {} more it is not known whose they \
             were.",
            plural(searches, "search")
        ),
    };
    writeln!(out, "\n  {whole} A search ends at its match, which counts as walked.")?;
    match figures.firmware {
        None if figures.walkers.unexpected == "firmware" => writeln!(
            out,
            "  The network interface keeps both lists, and its firmware walks what no matching \
             unit holds of them.\n  What a unit finds is not walked."
        ),
        None => writeln!(
            out,
            "  Posted receives are walked in the kernel, whose time is that of all match lists, of \
             exposed\n  buffers, too, and counts to the rank whose core it was."
        ),
        Some(Some(ns)) => writeln!(
            out,
            "  Posted receives are walked in the firmware: {} on all nodes, in its function that \
             searches.",
            time_of(ns)
        ),
        Some(None) => writeln!(out, "  Posted receives are walked in the firmware."),
    }
}

fn compare(out: &mut String, all: &[Figures], terminal: &Terminal) -> fmt::Result {
    writeln!(out, "\n{}", terminal.bold("Comparison of the settings"))?;
    let width = all.iter().filter_map(|run| run.setting.as_ref()).map(String::len).max();
    let width = width.unwrap_or_default().max(10);
    let head = ["simulated", "posted max", "walked", "time", "unexp. max", "walked", "time"];
    let head: String = head.iter().map(|cell| format!("{cell:>13}")).collect();
    writeln!(out, "  {:width$}{head}", "")?;
    for run in all {
        let [posted, unexpected] = run.all();
        let time = |ns: Option<f64>| ns.map_or("-".to_owned(), time_of);
        let cells = [
            time_of(run.simulated_ns),
            grouped(posted.most),
            grouped(posted.walked),
            time(run.walking_ns()),
            grouped(unexpected.most),
            grouped(unexpected.walked),
            time(unexpected.ps.map(|ps| ps as f64 / 1e3)),
        ];
        let cells: String = cells.iter().map(|cell| format!("{cell:>13}")).collect();
        writeln!(out, "  {:width$}{cells}", run.setting.as_deref().unwrap_or_default())?;
    }
    let times = |run: &Figures| run.simulated_ns;
    let best = all.iter().min_by(|a, b| times(a).total_cmp(&times(b)));
    if let Some(best) = best.filter(|best| times(best) < times(&all[0])) {
        let saved = 100.0 * (1.0 - times(best) / times(&all[0]));
        let setting = best.setting.as_deref().unwrap_or_default();
        writeln!(out, "  The program is {saved:.1} % faster with {setting} than with the first.")?;
    }
    Ok(())
}
