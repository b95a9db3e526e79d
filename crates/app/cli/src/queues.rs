//! `sunstar queues`: runs a program and prints the lengths of its queues of posted receives and unexpected
//! messages, the part of them that is searched, and the time of that; and the same for other values of a
//! parameter, such as the size of matching units.
//!
//! ```text
//! the first value:  run (in this process) ─┬─► account ─► figures ─┐
//!                                          └─► depths over time ───┼─► text, page
//! the others:       sunstar run --json ... ──► account ─► figures ─┘
//! ```

mod figures;
mod page;
mod text;

use crate::args::queues::QueuesOptions;
use crate::args::RunOptions;
use crate::bench::queues::{has_units, UNITS};
use crate::report::{self, check_page, Depths};
use crate::run::{self, Observers};
use crate::streams::Output;
use crate::terminal::{self, Terminal};
use crate::{child, interrupt, machines};
use figures::Figures;
use machine::console;
use machine::instruments::timeline::Watcher;
use machine::parameters::Parameters;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use sunstar::root::Root;
use sunstar::scratch;
use sunstar::usage_error::UsageError;

/// Sizes of matching units that are tried on a machine that can have them.
const SIZES: [&str; 3] = ["off", "128", "256"];

/// Runs the program, prints its queues after the program's own output, and returns the exit status.
pub fn queues(root: &Root, options: &QueuesOptions) -> Result<u8, UsageError> {
    let parameters = machines::chosen(root, &options.run.machine())?;
    if !parameters.model().processes {
        let name = parameters.name();
        return Err(UsageError::sentence(format!(
            "machine {name} runs no MPI programs, so it has no such queues"
        )));
    }
    let settings = settings(&parameters, options)?;
    // What is wrong with a value is told before anything runs.
    for setting in settings.iter().flatten() {
        let mut machine = options.run.machine();
        machine.overrides.push(setting.clone());
        machines::chosen(root, &machine)?;
    }
    if let Some(page) = &options.page {
        check_page(page)?;
    }
    let page = options.page.as_deref().map(|file| ("the page", file));
    run::check_files(&options.run, &parameters, page)?;
    let json = Output::of("--json", options.run.json.as_deref())?;
    let depths = Depths::default();
    let watchers: Vec<Arc<dyn Watcher>> = vec![Arc::new(depths.clone())];
    let profile = (parameters.model().accelerated)(&parameters);
    let observers = Observers { profile, watchers, ..Observers::default() };
    let mut first = options.run.clone();
    first.machine.overrides.extend(settings[0].clone());
    let run = run::execute(root, &first, observers)?;
    let status = run::finish(&first, &run, &json, Ok(()));
    interrupt::run_is_over();
    if interrupt::exit_status().is_some() {
        return Ok(status);
    }
    let mut all = vec![Figures::of_run(settings[0].clone(), &run)?];
    for setting in settings[1..].iter().flatten() {
        match aside(root, &options.run, setting)? {
            Ok(figures) => all.push(figures),
            Err(code) => return Ok(code),
        }
    }
    let told = text::text(&all, &options.run, &Terminal::of_stdout());
    let written = if options.run.quiet { Ok(()) } else { terminal::write(&told) };
    let status = run::unless_written(status, written);
    let Some(file) = &options.page else { return Ok(status) };
    let text = page::page(&all, &run, options, file, &depths.take());
    Ok(run::unless_written(status, report::page::write(file, &text, options.run.quiet)))
}

/// Setting of each run.
fn settings(
    machine: &Parameters,
    options: &QueuesOptions,
) -> Result<Vec<Option<String>>, UsageError> {
    let Some(vary) = &options.vary else {
        let chosen = |setting: &String| setting.trim_start().starts_with(UNITS);
        let free = has_units(machine) && !options.run.machine.overrides.iter().any(chosen);
        let sizes = SIZES.iter().map(|size| Some(format!("{UNITS}={size}")));
        return Ok(if free { sizes.collect() } else { vec![None] });
    };
    let wrong = || {
        UsageError::sentence(format!(
            "--vary {vary}: it must read KEY=VALUE,VALUE, as {UNITS}=off,128"
        ))
    };
    let (key, values) = vary.split_once('=').ok_or_else(wrong)?;
    let values: Vec<&str> = values.split(',').map(str::trim).collect();
    if key.trim().is_empty() || values.contains(&"") {
        return Err(wrong());
    }
    Ok(values.iter().map(|value| Some(format!("{}={value}", key.trim()))).collect())
}

/// Runs it in a process of its own, without output; the exit status if it did not end well.
fn aside(
    root: &Root,
    options: &RunOptions,
    setting: &str,
) -> Result<Result<Figures, u8>, UsageError> {
    let words = options.again(&["--set".to_owned(), setting.to_owned()]);
    let failed =
        |why: &dyn std::fmt::Display| UsageError::sentence(format!("with {setting}: {why}"));
    let folder = scratch::folder("").map_err(|why| failed(&why))?;
    let json = folder.path().join("run.json");
    let mut command = child::command();
    command.args(["run", "--quiet", "--threads", &options.threads.to_string(), "--json"]);
    command.arg(&json).args(&words);
    command.env("SUNSTAR_ROOT", root.path()).stdin(Stdio::null());
    let output = command.output();
    interrupt::go_on();
    let output = output.map_err(|why| failed(&why))?;
    console::pass_on(&String::from_utf8_lossy(&output.stderr));
    if !output.status.success() {
        console::say(&format!("with {setting} the program did not end well"));
        return Ok(Err(output.status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)));
    }
    Figures::of_file(setting, Path::new(&json)).map(Ok)
}
