//! `sunstar report`: a run, or the machine itself, as one page for a browser.
//!
//! ```text
//! run (the program, or the ping-pong) ─┬─► report ─► waterfall, links, facts ─┐
//!                                      └─► depths ─► queues, links ───────────┤
//! series (ping-pongs beside one another) ─► curves, with what is published ───┴─► page
//!
//! svg, units: how all of them draw and write
//! ```

mod account;
pub mod again;
mod curves;
mod depths;
pub mod facts;
mod links;
mod matrix;
mod messages;
pub mod page;
pub mod prose;
pub mod published;
pub mod queues;
mod series;
pub mod stacks;
pub mod svg;
pub mod units;
mod uses;
mod waterfall;

use machine::input;
pub use units::quoted;

use crate::args::{ReportOptions, LARGEST_MAX};
use crate::bench::measure::Program;
use crate::run::{self, Observers, Run};
use crate::streams::{Output, Silence};
use crate::{interrupt, machines};
use again::Again;
pub use depths::{Depths, Node};
use indicatif::{ProgressBar, ProgressStyle};
use machine::instruments::timeline::Watcher;
use maud::Markup;
use series::{Curves, Plan};
use std::ffi::OsStr;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use sunstar::root::Root;
use sunstar::usage_error::UsageError;

/// Runs the program and the measurements, writes the page, and returns the exit status.
pub fn report(root: &Root, options: &ReportOptions) -> Result<u8, UsageError> {
    check_page(&options.file)?;
    check_name(&options.file)?;
    let about_machine = options.run.command.is_empty();
    let mut options = options.clone();
    if about_machine {
        the_ping_pong(root, &mut options)?;
    }
    // What is wrong with the machine, its firmware or what is published is told before anything runs.
    let parameters = machines::chosen(root, &options.run.machine())?;
    let plan = Plan::new(root, &options, about_machine)?;
    run::check_files(&options.run, &parameters, Some(("the page", &options.file)))?;
    let json = Output::of("--json", options.run.json.as_deref())?;
    let depths = Depths::default();
    let watchers: Vec<Arc<dyn Watcher>> = vec![Arc::new(depths.clone())];
    let observers = Observers { watchers, ..Observers::default() };
    let execute = || run::execute(root, &options.run, observers);
    let run = if about_machine { aside("ping-pong", execute) } else { execute() }?;
    let status = run::finish(&options.run, &run, &json, Ok(()));
    interrupt::run_is_over();
    if interrupt::exit_status().is_some() {
        return Ok(status);
    }
    let curves = match plan.measure(root) {
        Ok(curves) => curves,
        Err(broken) => return Ok(broken.tell()),
    };
    let page = draw(&options, about_machine, &run, &curves, &depths.take());
    Ok(run::unless_written(status, page::write(&options.file, &page, options.run.quiet)))
}

/// Checks that the page overwrites only a page: a user who forgets to name one names the program in its
/// place.
pub fn check_page(file: &Path) -> Result<(), UsageError> {
    if file.as_os_str() == "-" {
        return Err(UsageError::sentence("report writes a file, not standard output"));
    }
    if !file.metadata().is_ok_and(|found| found.is_file() && found.len() > 0) {
        return Ok(());
    }
    let mut head = [0; page::HEAD.len()];
    let read = input::open(file).and_then(|mut file| file.read_exact(&mut head));
    match read {
        Ok(()) if head.eq_ignore_ascii_case(page::HEAD) => Ok(()),
        _ => {
            let file = file.display();
            Err(UsageError::sentence(format!(
                "{file} is there already, but is no page; the page is named before the program, as \
                 in sunstar report page.html -n 2 {file}"
            )))
        }
    }
}

/// Checks that a browser would take the file for a page; else it is most likely a program, or its input.
/// Devices are named as they are.
fn check_name(file: &Path) -> Result<(), UsageError> {
    let is_page = |name: &OsStr| ["html", "htm"].iter().any(|end| name.eq_ignore_ascii_case(end));
    let is_device = || file.metadata().is_ok_and(|found| !found.is_file() && !found.is_dir());
    if file.extension().is_some_and(is_page) || is_device() {
        return Ok(());
    }
    let file = file.display();
    Err(UsageError::sentence(format!(
        "{file} is no page: its name does not end with .html; the page is named before the \
         program, as in sunstar report page.html -n 2 {file}"
    )))
}

/// Sets the ping-pong as the program, if there is none: then the page is about the ping-pong whose curves it
/// shows.
fn the_ping_pong(root: &Root, options: &mut ReportOptions) -> Result<(), UsageError> {
    let run = &mut options.run;
    if run.ranks != 1 || run.ranks_per_node.is_some() {
        return Err(UsageError::sentence(
            "-n and --ranks-per-node are for a program, and none was named",
        ));
    }
    let words = Program::Latency { largest: options.largest }.words(root.path());
    run.ranks = 2;
    run.command = words.into_iter().map(Into::into).collect();
    Ok(())
}

/// Runs something without its output, with a spinner.
fn aside<T>(what: &str, run: impl FnOnce() -> T) -> T {
    let spinner = ProgressBar::new_spinner().with_message(what.to_owned());
    let style = ProgressStyle::with_template("{spinner} {msg}");
    spinner.set_style(style.expect("the template is right"));
    spinner.enable_steady_tick(Duration::from_millis(120));
    let silence = Silence::begin();
    let result = run();
    drop(silence);
    spinner.finish_and_clear();
    result
}

/// ` (8 of 12)`, where not all are shown.
fn part_of(shown: usize, all: usize) -> String {
    if shown < all {
        format!(" ({shown} of {all})")
    } else {
        String::new()
    }
}

/// The page's text.
fn draw(
    options: &ReportOptions,
    about_machine: bool,
    run: &Run,
    curves: &Curves,
    nodes: &[Node],
) -> String {
    let (report, machine) = (&run.outcome.report, &run.parameters);
    let program = options.run.program();
    let name = program.file_name().unwrap_or(program.as_os_str()).to_string_lossy();
    let (title, what, messages) = if about_machine {
        let title = format!("Sunstar: machine {}", machine.name());
        (title, "the ping-pong", None)
    } else {
        let title = format!("Sunstar: {name} on machine {}", machine.name());
        (title, "this run", Some(&report.breakdowns[..]))
    };
    let subtitle = if about_machine {
        machine.doc().to_owned()
    } else {
        let ranks = units::count(report.ranks.into(), "rank");
        let nodes = units::count(report.nodes.len() as u64, "node");
        format!("{ranks} on {nodes}; {}", machine.doc())
    };
    let text_of_machine: String = machine.iter().map(|parameter| &*parameter.source).collect();
    let cited = |key: &str| {
        text_of_machine.contains(key)
            || curves.published.iter().any(|overlaid| overlaid.comparison.paper == key)
    };
    let command = command(options, about_machine);
    let account = if about_machine { Markup::default() } else { account::section(report) };
    let named = if report.account.is_empty() || about_machine { "" } else { "The program" };
    let kept = if about_machine { Markup::default() } else { messages::section(report) };
    let listed = if report.breakdowns.is_empty() || about_machine { "" } else { "Messages" };
    let waterfall = waterfall::section(report, what);
    let drawn = curves::section(curves, messages, machine.model());
    let queues = queues::section(report, machine, nodes);
    let links = links::section(report, machine.model(), nodes);
    let heading = if about_machine { "The ping-pong behind this page" } else { "The run" };
    let summary = facts::summary(report, heading);
    let uses = uses::section(nodes);
    let parts = [
        ("Run", "summary", summary),
        (named, "account", account),
        (listed, "messages", kept),
        ("Time of a message", "waterfall", waterfall),
        (if curves.series.is_empty() { "" } else { "Latency and bandwidth" }, "curves", drawn),
        ("Use over time", "uses", uses),
        ("Queues", "queues", queues),
        ("Links", "links", links),
        ("Parameters", "parameters", facts::parameters(machine)),
        ("Again", "replay", facts::replay(&command, machine, &options.run.faults)),
        ("Bibliography", "bibliography", facts::bibliography(&cited)),
    ];
    page::page(&title, &subtitle, &parts)
}

/// The command line that draws the page again.
fn command(options: &ReportOptions, about_machine: bool) -> String {
    let run = &options.run;
    let again = Again::by("report").words([options.file.to_string_lossy().into_owned()]);
    let mut own = Vec::new();
    if options.largest != LARGEST_MAX {
        own.extend(["--largest".to_owned(), options.largest.to_string()]);
    }
    again.words(if about_machine { run.options_again(&own) } else { run.again(&own) }).line()
}
