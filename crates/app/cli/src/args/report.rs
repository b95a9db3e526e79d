//! Options of `sunstar report`.

use super::bench::{largest, LARGEST_MAX};
use super::heading;
use super::runs::RunOptions;
use super::value::whole;
use clap::Args;
use std::path::PathBuf;

/// Page and program of a report.
#[derive(Args, Clone, Debug)]
#[command(mut_arg("command", |program| program.required(false)))]
pub struct ReportOptions {
    /// Page to write; the program, if any, follows it
    #[arg(value_name = "FILE.html")]
    pub file: PathBuf,
    /// Largest message of the curves, up to 1 MiB
    ///
    /// Less than 1 MiB leaves the published bandwidth out.
    #[arg(long, value_name = "BYTES", default_value_t = LARGEST_MAX, value_parser = largest)]
    #[arg(help_heading = heading::SELECTION)]
    pub largest: u64,
    /// Runs for the curves at a time
    ///
    /// As many as processors and memory allow if not given.
    #[arg(short, long, value_name = "N", help_heading = heading::SIMULATION)]
    #[arg(value_parser = whole(1..=1024_u16))]
    pub jobs: Option<u16>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub run: RunOptions,
}
