//! `sunstar bench`: the same programs on several machines or with several builds of the firmware.
//!
//! ```text
//! ladder ─┐                      ┌─ sunstar run ... (a process each, some at a time)
//!         ├─► measure (jobs) ────┤
//! latency ┘                      └─ sunstar trace ...
//!    ├─► published: what a paper says
//!    └─► table, JSON
//! ```

mod ladder;
mod latency;
mod measure;
mod published;
mod rungs;
mod table;

use crate::args::BenchCommand;
use crate::mistake::Mistake;
use crate::root::Root;
use crate::terminal;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Obeys one of the benchmarks; gives the exit status.
pub fn bench(root: &Root, command: &BenchCommand) -> Result<u8, Mistake> {
    match command {
        BenchCommand::Ladder(options) => ladder::ladder(root, options),
        BenchCommand::Latency(options) => latency::latency(root, options),
    }
}

/// The ping-pong that all benchmarks here run.
fn program(root: &Root) -> PathBuf {
    root.path().join("examples/studies/latency.c")
}

/// Writes what was measured for other programs ("-": standard output).
fn write_json(file: &Path, value: &impl Serialize) -> Result<(), Mistake> {
    let text = serde_json::to_string_pretty(value).expect("only strings are keys") + "\n";
    if file.as_os_str() == "-" {
        terminal::print(&text);
        return Ok(());
    }
    std::fs::write(file, text).map_err(|why| Mistake::with_file("write", file, why))
}
