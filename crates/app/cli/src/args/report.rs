//! Options of `sunstar report`.

use super::bench::{largest, LARGEST_MAX};
use super::value::whole;
use super::RunOptions;
use clap::Args;
use std::path::PathBuf;

/// Page and program of a report.
#[derive(Args, Clone, Debug)]
#[command(mut_arg("command", |program| program.required(false)))]
pub struct ReportOptions {
    /// The page; the program follows it, if there is to be one
    #[arg(value_name = "FILE.html")]
    pub file: PathBuf,
    /// Largest message of the curves; less than 1 MiB, which is the most, leaves the published
    /// bandwidth out
    #[arg(long, value_name = "BYTES", default_value_t = LARGEST_MAX, value_parser = largest)]
    pub largest: u64,
    /// Runs for the curves at a time; as many as processors and memory allow if not given
    #[arg(short, long, value_name = "N")]
    #[arg(value_parser = whole(1..=1024_u16))]
    pub jobs: Option<u16>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub run: RunOptions,
}
