//! Options of `sunstar bench` and `sunstar validate`.

use super::heading;
use super::queues::BenchQueuesOptions;
use super::runs::MachineOptions;
use super::value::whole;
use super::value_error::ValueError;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Choice of the measurement.
#[derive(Clone, Debug, Subcommand)]
pub enum BenchCommand {
    /// Gain of each optimisation of the firmware, with published values
    ///
    /// Runs examples/studies/latency.c with caches off, I, I and D, and with inline messages, shadow FIFOs,
    /// pinned registers and trace points off and on, then from the original firmware upwards.
    Ladder(LadderOptions),
    /// Latency and bandwidth of a ping-pong on one or more machines
    Latency(LatencyOptions),
    /// Throughput and latency of RDMA writes (Figs. 3 and 4 of marazakis2006)
    ///
    /// Streams and ping-pongs over the size of messages, with descriptors written word by word and
    /// combined; and where the time of 8 bytes goes, by the counters of the cards.
    Rdma(RdmaOptions),
    /// Directed Point compared with UDP, between Linux guests (Table 1 of vorakosit2001)
    ///
    /// Ping-pongs over Directed Point (examples/dp_pingpong.c), and over UDP on the same card and on Fast
    /// Ethernet (examples/studies/udp_pingpong.c), beside what is published. It needs the guests' kernel.
    Dp(DpOptions),
    /// Latency over the lengths of MPI's queues (Figs. 5 and 6 of brightwell2005)
    ///
    /// Posted receives by length and by the part that is walked (examples/studies/posted.c), and unexpected
    /// messages by length (examples/studies/unexpected.c); on a machine with matching units without them and
    /// with units of 128 and 256 cells.
    Queues(BenchQueuesOptions),
    /// Benchmarks of the slides of brightwell2007, with matching by kernel and NIC
    ///
    /// Ping-pong, Sendrecv, streaming, message rate, availability, rotate latency, all pairs, RandomAccess,
    /// Partisn's pattern, put and get, atomic operations, barriers and the flood of unexpected messages
    /// (examples/studies/suite).
    Suite(SuiteOptions),
}

/// Largest message that the ping-pong sends, in bytes (`sizes` in examples/studies/latency.c).
pub const LARGEST_MAX: u64 = 1 << 20;

pub(super) fn largest(text: &str) -> Result<u64, ValueError> {
    let bytes = text.parse().ok().filter(|&bytes| bytes <= LARGEST_MAX);
    bytes.ok_or(ValueError::Largest { most: LARGEST_MAX })
}

pub(super) fn largest_of_words(text: &str) -> Result<u64, ValueError> {
    let whole = |bytes: &u64| (8..=LARGEST_MAX).contains(bytes) && bytes % 8 == 0;
    let bytes = text.parse().ok().filter(whole);
    bytes.ok_or(ValueError::LargestOfWords { most: LARGEST_MAX })
}

pub(super) fn even(text: &str) -> Result<u32, ValueError> {
    let ranks = text.parse().ok().filter(|ranks| (2..=1024).contains(ranks) && ranks % 2 == 0);
    ranks.ok_or(ValueError::Even)
}

/// Options of everything that measures.
#[derive(Args, Clone, Debug)]
pub struct MeasureOptions {
    /// Runs at a time (default: as processors and memory allow)
    #[arg(short, long, value_name = "N", help_heading = heading::SIMULATION)]
    #[arg(value_parser = whole(1..=1024_u16))]
    pub jobs: Option<u16>,
    /// Write the results to FILE as JSON (no FILE: standard output)
    ///
    /// "-" or no FILE: to standard output, instead of the tables.
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    #[arg(help_heading = heading::OUTPUT)]
    pub json: Option<PathBuf>,
}

/// Options of the ladder, for itself or to validate.
#[derive(Args, Clone, Debug)]
pub struct LadderOptions {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub machine: MachineOptions,
    /// Largest message; the bandwidth needs 1 MiB, the maximum
    #[arg(long, value_name = "BYTES", default_value_t = LARGEST_MAX, value_parser = largest)]
    #[arg(help_heading = heading::SELECTION)]
    pub largest: u64,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub measure: MeasureOptions,
}

/// Options of `sunstar bench latency`.
#[derive(Args, Clone, Debug)]
pub struct LatencyOptions {
    /// Machine: a name or a file; may be repeated
    #[arg(short, long = "machine", value_name = "NAME|FILE", default_value = "redstorm")]
    #[arg(help_heading = heading::MACHINE)]
    pub machines: Vec<String>,
    /// Override a parameter of all machines; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE", help_heading = heading::MACHINE)]
    pub overrides: Vec<String>,
    /// Largest message, up to 1 MiB
    #[arg(long, value_name = "BYTES", default_value_t = LARGEST_MAX, value_parser = largest)]
    #[arg(help_heading = heading::SELECTION)]
    pub largest: u64,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub measure: MeasureOptions,
}

/// Options of `sunstar bench suite`.
#[derive(Args, Clone, Debug)]
pub struct SuiteOptions {
    /// Machine; may be repeated
    #[arg(short, long = "machine", value_name = "NAME|FILE", help_heading = heading::MACHINE)]
    #[arg(default_values = ["redstorm", "redstorm-accelerated"])]
    pub machines: Vec<String>,
    /// Override a parameter of all machines; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE", help_heading = heading::MACHINE)]
    pub overrides: Vec<String>,
    /// Run this study only; may be repeated
    #[arg(long, value_name = "STUDY", help_heading = heading::SELECTION)]
    pub only: Vec<String>,
    /// Run a program instead of a study; may be repeated
    ///
    /// E.g. streaming=./osu_bw; its output is shown.
    #[arg(long = "original", value_name = "STUDY=PROGRAM", help_heading = heading::SELECTION)]
    pub originals: Vec<String>,
    /// Ranks of the studies that have more than two
    #[arg(short = 'n', long, value_name = "N", default_value_t = 16, value_parser = even)]
    #[arg(help_heading = heading::SELECTION)]
    pub ranks: u32,
    /// Largest message, up to 4 MiB
    #[arg(long, value_name = "BYTES", default_value_t = 1 << 20)]
    #[arg(value_parser = whole(1024..=4_u64 << 20), help_heading = heading::SELECTION)]
    pub largest: u64,
    /// Messages of the flood; the slides have 10000000
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    #[arg(value_parser = whole(20..=10_000_000_u64), help_heading = heading::SELECTION)]
    pub flood: u64,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub measure: MeasureOptions,
    /// Draw the curves into FILE, a page for a browser
    #[arg(long, value_name = "FILE.html", help_heading = heading::OUTPUT)]
    pub page: Option<PathBuf>,
}

/// Options of `sunstar bench dp`.
#[derive(Args, Clone, Debug)]
pub struct DpOptions {
    /// Machine with Myrinet cards: a name or a file
    #[arg(short, long, value_name = "NAME|FILE", default_value = "amata")]
    #[arg(help_heading = heading::MACHINE)]
    pub machine: String,
    /// Override a parameter of the machine; may be repeated
    ///
    /// Parameters of hosts are also those of the hosts with Fast Ethernet.
    #[arg(long = "set", value_name = "KEY=VALUE", help_heading = heading::MACHINE)]
    pub overrides: Vec<String>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub measure: MeasureOptions,
    /// Draw the table and the steps of a message into FILE, a page for a browser
    #[arg(long, value_name = "FILE.html", help_heading = heading::OUTPUT)]
    pub page: Option<PathBuf>,
}

/// Options of `sunstar bench rdma`.
#[derive(Args, Clone, Debug)]
pub struct RdmaOptions {
    /// Machine with RDMA NICs: a name or a file
    #[arg(short, long, value_name = "NAME|FILE", default_value = "forth")]
    #[arg(help_heading = heading::MACHINE)]
    pub machine: String,
    /// Override a parameter of the machine; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE", help_heading = heading::MACHINE)]
    pub overrides: Vec<String>,
    /// Largest message: whole words of 8 bytes, up to 1 MiB
    #[arg(long, value_name = "BYTES", default_value_t = 1 << 16, value_parser = largest_of_words)]
    #[arg(help_heading = heading::SELECTION)]
    pub largest: u64,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub measure: MeasureOptions,
    /// Draw both figures into FILE, a page for a browser
    #[arg(long, value_name = "FILE.html", help_heading = heading::OUTPUT)]
    pub page: Option<PathBuf>,
}
