//! `sunstar bench`: the same programs on several machines or with several builds of the firmware; and
//! `sunstar validate`: the ladder and other published results.
//!
//! ```text
//! validate ─► ladder ─┐                      ┌─ sunstar run ... (a process each, some at a time)
//!                     ├─► measure (jobs) ────┤
//!            latency ─┤                      └─ sunstar trace ...
//!      writes, cards ─┤
//!         queues, dp ─┘
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
mod table;
mod validate;
mod writes;

pub use measure::side_by_side;
pub use validate::validate;

use crate::args::BenchCommand;
use crate::outputs::{self, Named};
use crate::root::Root;
use crate::run;
use crate::usage_error::UsageError;
use machine::parameters::Parameters;
use serde::Serialize;
use std::path::Path;

/// Runs one of the benchmarks; returns the exit status.
pub fn bench(root: &Root, command: &BenchCommand) -> Result<u8, UsageError> {
    match command {
        BenchCommand::Ladder(options) => ladder::ladder(root, options),
        BenchCommand::Latency(options) => latency::latency(root, options),
        BenchCommand::Rdma(options) => writes::writes(root, options),
        BenchCommand::Dp(options) => dp::table(root, options),
        BenchCommand::Queues(options) => queues::queues(root, options),
    }
}

/// Checks now that the results can be written later.
fn check_json(file: Option<&Path>, machine: &Parameters) -> Result<(), UsageError> {
    let inputs: Vec<Named> = outputs::files_of(machine).collect();
    file.map_or(Ok(()), |file| outputs::check(&[("--json", file)], &inputs))
}

/// Writes the results for other programs ("-": standard output).
pub fn write_json(file: &Path, value: &impl Serialize) -> Result<(), UsageError> {
    let text = serde_json::to_string_pretty(value).expect("only strings are keys") + "\n";
    run::write(file, &text)
}
