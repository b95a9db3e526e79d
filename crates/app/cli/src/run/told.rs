//! Files that a run writes while it goes on.

use crate::args::RunOptions;
use machine::console;
use machine::instruments::perfetto::Trace;
use machine::instruments::tables::Tables;
use machine::instruments::timeline::Watcher;
use machine::parameters::Parameters;
use std::path::Path;
use std::sync::Arc;
use sunstar::usage_error::UsageError;

/// The tables that were asked for, of a program that runs in Linux guests or not.
pub fn tables(
    options: &RunOptions,
    parameters: &Parameters,
    guests: bool,
) -> Result<Option<Arc<Tables>>, UsageError> {
    let (messages, calls) = (options.messages.as_deref(), options.calls.as_deref());
    let asked = match (messages, calls) {
        (Some(_), _) => "--messages",
        (None, Some(_)) => "--calls",
        (None, None) => return Ok(None),
    };
    let Some(way) = parameters.model().message_path(guests, parameters) else {
        let model = parameters.model().name;
        return Err(UsageError::sentence(format!(
            "{asked}: model {model} tells neither of messages nor of calls"
        )));
    };
    let about = description(options, parameters);
    let tables = Tables::to(messages, calls, way, about)?;
    Ok(Some(Arc::new(tables)))
}

/// The trace that was asked for, with a description of the run.
pub fn trace(
    options: &RunOptions,
    parameters: &Parameters,
    file: &Path,
) -> Result<Arc<dyn Watcher>, UsageError> {
    let text = description(options, parameters);
    Ok(Arc::new(Trace::to(file, text)?))
}

/// Description of a run, for these files.
fn description(options: &RunOptions, parameters: &Parameters) -> String {
    let arguments = options.command.iter().map(|word| word.to_string_lossy().into_owned());
    let words = if options.others.is_empty() { arguments.collect() } else { options.words() };
    let command = words.join(" ");
    let mut text = format!(
        "sunstar {}, machine {}, {} ranks, seed {}: {command}",
        env!("CARGO_PKG_VERSION"),
        parameters.name(),
        options.ranks,
        options.seed,
    );
    let settings = parameters.overrides().iter().map(|set| ("--set", set.as_str()));
    let faults = options.faults.iter().map(|fault| ("--fault", fault.as_str()));
    for (option, value) in settings.chain(faults) {
        text += &format!("; {option} {value}");
    }
    text
}

/// Warns of datatypes that do not match on both sides; with --check-types that was the run's end.
pub(super) fn warn_of_types(mismatches: &[String], check_types: bool) {
    /// Sentences that are printed.
    const MOST: usize = 3;
    if check_types {
        return;
    }
    for mismatch in mismatches.iter().take(MOST) {
        console::say(&format!("warning: {mismatch}"));
    }
    if let Some(more) = mismatches.len().checked_sub(MOST).filter(|more| *more > 0) {
        console::say(&format!("warning: and {more} others (--check-types ends the run)"));
    }
}
