//! Options of `sunstar bench queues` and `sunstar queues`.

use super::bench::MeasureOptions;
use super::heading;
use super::runs::RunOptions;
use super::value::whole;
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
    #[arg(help_heading = heading::MACHINE)]
    pub machine: String,
    /// Override a parameter of the machine; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE", help_heading = heading::MACHINE)]
    pub overrides: Vec<String>,
    /// Size of the message that is timed
    #[arg(long, value_name = "BYTES", default_value_t = 0, value_parser = whole(0..=BYTES_MAX))]
    #[arg(help_heading = heading::SELECTION)]
    pub bytes: u64,
    /// Longest queue, up to 500
    #[arg(long, value_name = "N", default_value_t = LONGEST_MAX)]
    #[arg(value_parser = whole(0..=LONGEST_MAX), help_heading = heading::SELECTION)]
    pub longest: u64,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub measure: MeasureOptions,
    /// Draw both figures into FILE, a page for a browser
    #[arg(long, value_name = "FILE.html", help_heading = heading::OUTPUT)]
    pub page: Option<PathBuf>,
}

/// Options of `sunstar queues`.
#[derive(Args, Clone, Debug)]
pub struct QueuesOptions {
    /// Run once for each value of a parameter
    ///
    /// E.g. nic.alpu=off,128,256, the default of a machine with matching units.
    #[arg(long, value_name = "KEY=VALUE,...", help_heading = heading::SELECTION)]
    pub vary: Option<String>,
    /// Draw the results and depths over time into FILE, a page for a browser
    #[arg(long, value_name = "FILE.html", help_heading = heading::OUTPUT)]
    pub page: Option<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub run: RunOptions,
}
