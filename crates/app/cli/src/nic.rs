//! `sunstar nic`: brings an RDMA NIC up in stages, and looks for what is wrong with it.

pub(crate) mod diagnosis;

use crate::child;
use crate::terminal::{self, Terminal};
use diagnosis::{stage, Finding, Run, Stage, STAGES};
use machine::suggestion;
use std::fmt::Write;
use sunstar::usage_error::UsageError;

/// Seed of runs that no other was chosen for.
const SEED: u64 = 1;

/// Options of `sunstar nic`.
#[derive(clap::Args, Clone, Debug)]
pub struct NicOptions {
    /// config, dma, loopback, link, switch; or all, up to the first finding
    #[arg(value_name = "STAGE")]
    pub stage: String,
    /// Print what the debugging aids say, without a diagnosis
    #[arg(long)]
    pub aids: bool,
    /// Inject a bug, e.g. bug.skew=1 (see `sunstar faults bug`); may be repeated
    #[arg(long = "fault", value_name = "FAULT")]
    pub faults: Vec<String>,
    /// Seed of all random numbers
    #[arg(long, value_name = "N", default_value_t = SEED)]
    pub seed: u64,
}

/// Goes through the stages; 1 if something was found.
pub fn nic(options: &NicOptions) -> Result<u8, UsageError> {
    let stages: Vec<&Stage> = match &*options.stage {
        "all" => STAGES.iter().collect(),
        name => vec![stage(name).ok_or_else(|| unknown(name))?],
    };
    if !options.aids && options.faults.iter().any(|fault| fault.starts_with("quiz=")) {
        let why = "the bug of a quiz is for you to find: add --aids, which prints what the \
                   debugging aids say";
        return Err(UsageError::sentence(why.to_owned()));
    }
    let terminal = Terminal::of_stdout();
    for stage in stages {
        let mut said = Vec::new();
        for run in stage.runs {
            let text = carry_out(run, &options.faults, options.seed)?;
            if options.aids {
                terminal::write(&labelled(run, &text))?;
            }
            said.push((run.label, text));
        }
        if options.aids {
            continue;
        }
        let found = stage.find(&said);
        terminal::write(&told(stage, &found, terminal))?;
        if !found.is_empty() {
            return Ok(1);
        }
    }
    Ok(0)
}

fn unknown(name: &str) -> UsageError {
    let names: Vec<&str> = STAGES.iter().map(|stage| stage.name).collect();
    let all = names.iter().copied().chain(["all"]);
    let advice =
        suggestion::question_or(name, all, || format!("there are {} and all", names.join(", ")));
    UsageError::sentence(format!("there is no stage {name}; {advice}"))
}

/// Lines that `--aids` prints of a run, with the usual seed.
pub fn aids(run: &Run, faults: &[String]) -> Result<String, UsageError> {
    Ok(labelled(run, &carry_out(run, faults, SEED)?))
}

fn labelled(run: &Run, text: &str) -> String {
    text.lines().map(|line| format!("{} {line}\n", run.label)).collect()
}

/// The text of a run, in a process of its own.
fn carry_out(run: &Run, faults: &[String], seed: u64) -> Result<String, UsageError> {
    let mut command = child::command();
    command.args(["run", "-q", "--machine", run.machine, "-n", &run.ranks.to_string()]);
    for setting in run.settings {
        command.args(["--set", setting]);
    }
    for fault in faults {
        command.args(["--fault", fault]);
    }
    command.args(["--seed", &seed.to_string()]);
    command.arg(format!("builtin:{}", run.workload));
    let ended = command
        .output()
        .map_err(|why| UsageError::sentence(format!("cannot run {}: {why}", run.label)))?;
    if !ended.status.success() {
        let why = String::from_utf8_lossy(&ended.stderr);
        let why = why.trim().trim_start_matches("sunstar: ");
        return Err(UsageError::sentence(format!("{}: {why}", run.label)));
    }
    Ok(String::from_utf8_lossy(&ended.stdout).into_owned())
}

fn told(stage: &Stage, found: &[Finding], terminal: Terminal) -> String {
    let mut out = format!("{}\n", terminal.bold(stage.name));
    if found.is_empty() {
        terminal::paragraph(
            &mut out,
            &format!("As it should be: {}.", stage.proves),
            terminal.width,
        );
    }
    for Finding { node, bug, why } in found {
        // Writing into a string cannot fail.
        let _ = writeln!(out, "    node {node}: {}", terminal.bold(bug));
        terminal::paragraph(&mut out, &format!("{why}."), terminal.width);
    }
    out
}
