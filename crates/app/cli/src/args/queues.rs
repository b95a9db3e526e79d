//! Options of `sunstar bench queues` and `sunstar queues`.

use super::bench::MeasureOptions;
use super::value::whole;
use super::RunOptions;
use clap::Args;
use std::path::PathBuf;

/// Longest queue of the two benchmarks (`LONGEST` in examples/studies/posted.c and unexpected.c).
pub const LONGEST_MAX: u64 = 500;
/// Longest message: two buffers of it are in the memory of each rank.
const BYTES_MAX: u64 = 1 << 24;

/// Options of `sunstar bench queues`.
#[derive(Args, Clone, Debug)]
pub struct BenchQueuesOptions {
    /// Machine: a name (see `sunstar machines`) or a file
    #[arg(short, long, value_name = "NAME|FILE", default_value = "redstorm")]
    pub machine: String,
    /// Override a parameter of the machine; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub overrides: Vec<String>,
    /// Size of the message that is timed
    #[arg(long, value_name = "BYTES", default_value_t = 0, value_parser = whole(0..=BYTES_MAX))]
    pub bytes: u64,
    /// Longest queue, 500 at most
    #[arg(long, value_name = "N", default_value_t = LONGEST_MAX)]
    #[arg(value_parser = whole(0..=LONGEST_MAX))]
    pub longest: u64,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub measure: MeasureOptions,
    /// Draw both figures into FILE, a page for a browser
    #[arg(long, value_name = "FILE.html")]
    pub page: Option<PathBuf>,
}

/// Options of `sunstar queues`.
#[derive(Args, Clone, Debug)]
pub struct QueuesOptions {
    /// Run it once for each value of a parameter, e.g. nic.alpu=off,128,256, which is what a machine with
    /// matching units does if nothing is said
    #[arg(long, value_name = "KEY=VALUE,...")]
    pub vary: Option<String>,
    /// Draw the same, with the depths over time, into FILE, a page for a browser
    #[arg(long, value_name = "FILE.html")]
    pub page: Option<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub run: RunOptions,
}
