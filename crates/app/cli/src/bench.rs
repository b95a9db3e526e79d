//! `sunstar bench`: the same programs on several machines or with several builds of the firmware; and
//! `sunstar validate`: the ladder and other published results.
//!
//! ```text
//! validate ─► ladder ─┐                      ┌─ sunstar run ... (a process each, some at a time)
//!                     ├─► measure (jobs) ────┤
//!            latency ─┤                      └─ sunstar trace ...
//!      writes, cards ─┤
//!  queues, dp, suite ─┘
//!    ├─► published: what papers say
//!    └─► table, JSON
//! ```

mod cards;
mod dp;
pub mod ladder;
mod latency;
pub mod measure;
pub mod published;
pub mod queues;
pub mod rungs;
mod suite;
mod table;
mod validate;
mod writes;

pub use measure::side_by_side;
#[cfg(test)]
pub use suite::find as study;
pub use suite::STUDIES;
pub use validate::validate;

use crate::args::{BenchCommand, MeasureOptions};
use crate::outputs::{self, Named};
use crate::run;
use crate::terminal::{self, Terminal};
use machine::parameters::Parameters;
use serde::Serialize;
use std::path::Path;
use sunstar::root::Root;
use sunstar::usage_error::UsageError;

/// Runs one of the benchmarks; returns the exit status.
pub fn bench(root: &Root, command: &BenchCommand) -> Result<u8, UsageError> {
    match command {
        BenchCommand::Ladder(options) => ladder::ladder(root, options),
        BenchCommand::Latency(options) => latency::latency(root, options),
        BenchCommand::Rdma(options) => writes::writes(root, options),
        BenchCommand::Dp(options) => dp::table(root, options),
        BenchCommand::Queues(options) => queues::queues(root, options),
        BenchCommand::Suite(options) => suite::suite(root, options),
    }
}

impl MeasureOptions {
    /// Runs at a time.
    fn side_by_side(&self) -> usize {
        self.jobs.map_or_else(|| side_by_side(measure::RUN_KIB), usize::from)
    }

    /// Checks now that the results can be written later.
    fn check(&self, machine: &Parameters) -> Result<(), UsageError> {
        let inputs: Vec<Named> = outputs::files_of(machine).collect();
        let file = self.json.as_deref();
        file.map_or(Ok(()), |file| outputs::check(&[("--json", file)], &inputs))
    }

    /// Writes the results: as JSON if that is wanted, and as `text` unless JSON has standard output.
    fn tell(
        &self,
        results: &impl Serialize,
        text: impl FnOnce(&Terminal) -> String,
    ) -> Result<(), UsageError> {
        if let Some(file) = &self.json {
            write_json(file, results)?;
        }
        if self.json.as_ref().is_none_or(|file| file.as_os_str() != "-") {
            terminal::write(&text(&Terminal::of_stdout()))?;
        }
        Ok(())
    }
}

/// Writes the results for other programs ("-": standard output).
pub fn write_json(file: &Path, value: &impl Serialize) -> Result<(), UsageError> {
    let text = serde_json::to_string_pretty(value).expect("only strings are keys") + "\n";
    run::write(file, &text)
}
