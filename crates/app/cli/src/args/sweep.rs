//! Command line of `sunstar sweep` and `sunstar diff`.

use super::heading;
use super::runs::MachineOptions;
use super::value::{percent, time, whole};
use clap::error::ErrorKind;
use clap::{Args, Error};
use des::Duration;
use std::ffi::OsString;
use std::path::PathBuf;
use sunstar::usage_error::UsageError;

/// Options of `sunstar sweep`.
#[derive(Args, Clone, Debug)]
pub struct SweepOptions {
    /// Number of ranks (default: 1)
    #[arg(short = 'n', long, value_name = "N", help_heading = heading::PROGRAM)]
    #[arg(value_parser = whole(1..=u32::MAX))]
    pub ranks: Option<u32>,
    /// Ranks on each node, as in `sunstar run`
    #[arg(long, visible_alias = "ppn", value_name = "N", help_heading = heading::PROGRAM)]
    #[arg(value_parser = whole(1..=u32::MAX))]
    pub ranks_per_node: Option<u32>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub machine: MachineOptions,
    /// Vary NAME over VALUES; may be repeated
    ///
    /// VALUES are a list, FIRST..LAST:STEP or FIRST..LAST:xFACTOR; the last --vary varies fastest. NAME is a
    /// parameter of the machine (firmware.* are the firmware's options), arg.WORD ({WORD} in the program's
    /// arguments), machine, ranks, seed, fault or compute. 'NAME=..; NAME=..' vary together.
    #[arg(long = "vary", value_name = "NAME=VALUES", help_heading = heading::SELECTION)]
    pub vary: Vec<String>,
    /// Read more to vary and more columns from FILE
    ///
    /// They come before those of the command line (docs/reference/sweep.md).
    #[arg(long, value_name = "FILE.toml", help_heading = heading::SELECTION)]
    pub plan: Option<PathBuf>,
    /// Column NAME: the first match of REGEX in the output; may be repeated
    ///
    /// In the program's output; the first group of REGEX, or all of it. {WORD} stands for the point's value.
    #[arg(long = "take", value_name = "NAME=REGEX", help_heading = heading::OUTPUT)]
    pub take: Vec<String>,
    /// Column with a value of the run's JSON; may be repeated
    ///
    /// E.g. breakdown.total_ns, firmware.cycles, 'max(nodes[].counters.rx.cam_in_use_max)'.
    #[arg(long = "column", value_name = "[NAME=]KEY", help_heading = heading::OUTPUT)]
    pub columns: Vec<String>,
    /// Table to write, a row for each point
    ///
    /// The results of each run are kept in FILE.csv.runs.
    #[arg(short, long, value_name = "FILE.csv", help_heading = heading::OUTPUT)]
    pub out: PathBuf,
    /// Runs at a time (default: as processors and memory allow)
    #[arg(short, long, value_name = "N", help_heading = heading::SIMULATION)]
    #[arg(value_parser = whole(1..=1024_u16))]
    pub jobs: Option<u16>,
    /// Run points again that failed
    #[arg(long, help_heading = heading::SIMULATION)]
    pub retry: bool,
    /// Print the number of points, and run none
    ///
    /// Also how many of them are still to be run.
    #[arg(long, help_heading = heading::SIMULATION)]
    pub dry_run: bool,
    /// Print errors only
    #[arg(short, long, help_heading = heading::OUTPUT)]
    pub quiet: bool,
    /// Worker threads of each run (same result)
    #[arg(short, long, value_name = "N", default_value_t = 1, help_heading = heading::SIMULATION)]
    #[arg(value_parser = whole(1..=1024_u16))]
    pub threads: u16,
    /// Seed of all random numbers (default: 1)
    #[arg(long, value_name = "N", value_parser = whole(0..=u64::MAX))]
    #[arg(help_heading = heading::SIMULATION)]
    pub seed: Option<u64>,
    /// Simulated time of own computation, as in `sunstar run`
    #[arg(long, value_name = "none|scale=FACTOR", help_heading = heading::SIMULATION)]
    pub compute: Option<rank::Compute>,
    /// Inject a fault in every run, as in `sunstar run`; may be repeated
    #[arg(long = "fault", value_name = "FAULT", help_heading = heading::FAULTS)]
    pub faults: Vec<String>,
    /// End every run at this simulated time, as in `sunstar run`
    #[arg(long, value_name = "TIME", value_parser = time, help_heading = heading::SIMULATION)]
    pub until: Option<Duration>,
    /// Check library and firmware in every run, as in `sunstar run`
    #[arg(long, help_heading = heading::FAULTS)]
    pub judge: bool,
    /// MPI program and its arguments, as in `sunstar run`
    ///
    /// {WORD} stands for the point's value of arg.WORD.
    #[arg(value_name = "PROGRAM", required = true, num_args = 1..)]
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub command: Vec<OsString>,
}

/// Options of `sunstar diff`.
#[derive(Args, Clone, Debug)]
pub struct DiffOptions {
    /// JSON of a run (`run --json`), or a point of a sweep (FILE.csv:NAME=VALUE,...)
    ///
    /// As in 'sizes.csv:ranks=8,nic.alpu=128': as many names as distinguish it, in any unit.
    #[arg(value_name = "A.json")]
    pub a: PathBuf,
    /// JSON of another run
    #[arg(value_name = "B.json")]
    pub b: PathBuf,
    /// Write the differences to FILE as JSON (no FILE: standard output)
    ///
    /// "-" or no FILE: to standard output, instead of the tables.
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    pub json: Option<PathBuf>,
    /// Exit with status 1 only if B is slower than A by more than PERCENT
    ///
    /// For scripts, e.g. "2%". If --until has stopped both: if B did less than A by more than that.
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub fail_above: Option<f64>,
}

/// Explains a mistake that clap does not: in `diff --json A.json B.json` the word behind `--json` is its
/// file.
pub fn run_taken_by_json(error: &Error, words: &[OsString]) -> Option<UsageError> {
    if error.kind() != ErrorKind::MissingRequiredArgument {
        return None;
    }
    let found = super::command().ignore_errors(true).try_get_matches_from(words).ok()?;
    let diff = found.subcommand_matches("diff")?;
    let file = diff.get_one::<PathBuf>("json").filter(|file| file.as_os_str() != "-")?.display();
    Some(UsageError::sentence(format!(
        "diff needs two runs, A.json and B.json; --json took {file} for the file that it writes"
    )))
}
