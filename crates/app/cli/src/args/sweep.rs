//! Command line of `sunstar sweep` and `sunstar diff`.

use super::value::{percent, time, whole};
use super::{Arguments, MachineOptions};
use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Error};
use des::Duration;
use std::ffi::OsString;
use std::path::PathBuf;
use sunstar::usage_error::UsageError;

/// Options of `sunstar sweep`.
#[derive(Args, Clone, Debug)]
pub struct SweepOptions {
    /// Values that NAME goes through: a list, FIRST..LAST:STEP, FIRST..LAST:xFACTOR; may be repeated, the
    /// last one varies fastest. NAME is a parameter of the machine (firmware.* are the firmware's options),
    /// arg.WORD ({WORD} in the program's arguments), machine, ranks, seed, fault or compute.
    /// 'NAME=..; NAME=..' go in step
    #[arg(long = "vary", value_name = "NAME=VALUES")]
    pub vary: Vec<String>,
    /// Read more to vary, take and show from FILE (docs/reference/sweep.md), before what is said here
    #[arg(long, value_name = "FILE.toml")]
    pub plan: Option<PathBuf>,
    /// A column with what REGEX finds first in the program's output: its first group, or all of it; {WORD}
    /// stands for the point's value; may be repeated
    #[arg(long = "take", value_name = "NAME=REGEX")]
    pub take: Vec<String>,
    /// A column with a value of the run's JSON, e.g. breakdown.total_ns, firmware.cycles,
    /// 'max(nodes[].counters.rx.cam_in_use_max)'; may be repeated
    #[arg(long = "column", value_name = "[NAME=]KEY")]
    pub columns: Vec<String>,
    /// Table that is written, a row for each point; what each run left is kept in FILE.csv.runs
    #[arg(short, long, value_name = "FILE.csv")]
    pub out: PathBuf,
    /// Runs at a time; as many as processors and memory allow if not given
    #[arg(short, long, value_name = "N")]
    #[arg(value_parser = whole(1..=1024_u16))]
    pub jobs: Option<u16>,
    /// Run points again that failed
    #[arg(long)]
    pub retry: bool,
    /// Tell how many points there are and how many of them are still to be run, and run none
    #[arg(long)]
    pub dry_run: bool,
    /// Print nothing but what went wrong
    #[arg(short, long)]
    pub quiet: bool,
    /// Number of ranks; 1 if not given
    #[arg(short = 'n', long, value_name = "N")]
    #[arg(value_parser = whole(1..=u32::MAX))]
    pub ranks: Option<u32>,
    /// Ranks on each node, as in `sunstar run`
    #[arg(long, visible_alias = "ppn", value_name = "N")]
    #[arg(value_parser = whole(1..=u32::MAX))]
    pub ranks_per_node: Option<u32>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub machine: MachineOptions,
    /// Worker threads of each run; the simulated result is the same for any number
    #[arg(short, long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = whole(1..=1024_u16))]
    pub threads: u16,
    /// Seed of everything random; 1 if not given
    #[arg(long, value_name = "N", value_parser = whole(0..=u64::MAX))]
    pub seed: Option<u64>,
    /// Simulated time of the program's own computation, as in `sunstar run`
    #[arg(long, value_name = "none|scale=FACTOR")]
    pub compute: Option<rank::Compute>,
    /// A fault of every run, as in `sunstar run`; may be repeated
    #[arg(long = "fault", value_name = "FAULT")]
    pub faults: Vec<String>,
    /// End every run at this simulated time after its launch, as in `sunstar run`
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub until: Option<Duration>,
    /// Hold library and firmware against the specification in every run, as in `sunstar run`
    #[arg(long)]
    pub judge: bool,
    /// MPI program and its arguments, as in `sunstar run`; {WORD} stands for the point's value of arg.WORD
    #[arg(value_name = "PROGRAM", required = true, num_args = 1..)]
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub command: Vec<OsString>,
}

/// Options of `sunstar diff`.
#[derive(Args, Clone, Debug)]
pub struct DiffOptions {
    /// JSON of a run (`sunstar run --json`), or a point of a sweep: FILE.csv:NAME=VALUE,..., as in
    /// 'sizes.csv:ranks=8,nic.alpu=128'
    #[arg(value_name = "A.json")]
    pub a: PathBuf,
    /// JSON of another run
    #[arg(value_name = "B.json")]
    pub b: PathBuf,
    /// Write the differences to FILE as JSON ("-" or no FILE: standard output, instead of the tables)
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    pub json: Option<PathBuf>,
    /// For scripts: exit status 1 only if B takes more than PERCENT longer than A ("2%"), or did less by that
    /// if --until has stopped both
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub fail_above: Option<f64>,
}

/// Explains a mistake that clap does not: in `diff --json A.json B.json` the word behind `--json` is its
/// file.
pub fn run_taken_by_json(error: &Error, words: &[OsString]) -> Option<UsageError> {
    if error.kind() != ErrorKind::MissingRequiredArgument {
        return None;
    }
    let found = Arguments::command().ignore_errors(true).try_get_matches_from(words).ok()?;
    let diff = found.subcommand_matches("diff")?;
    let file = diff.get_one::<PathBuf>("json").filter(|file| file.as_os_str() != "-")?.display();
    Some(UsageError::sentence(format!(
        "diff needs two runs, A.json and B.json; --json took {file} for the file that it writes"
    )))
}
