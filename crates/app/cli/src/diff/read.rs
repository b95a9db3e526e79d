//! Reader of files that `sunstar run --json` and `sunstar sweep` wrote.

use crate::run::FORMAT;
use machine::input;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use sunstar::usage_error::UsageError;

/// A run, as far as it is compared (docs/reference/run-json.md).
#[derive(Debug, Deserialize)]
pub struct Run {
    /// The file that it was read from.
    #[serde(default)]
    pub file: String,
    /// Version of Sunstar.
    pub sunstar: String,
    /// The program as it was named.
    pub program: String,
    /// Absent for workloads without a file.
    pub program_digest: Option<String>,
    /// The program's arguments.
    pub arguments: Vec<String>,
    /// All programs, if there are several.
    #[serde(default)]
    pub parts: Vec<Part>,
    /// Machine that it ran on.
    pub machine: Machine,
    /// Ranks.
    pub ranks: u32,
    /// Seed.
    pub seed: u64,
    /// Cost of computation.
    pub compute: String,
    /// End of the run.
    pub exit: Exit,
    /// Simulated time.
    pub simulated_ns: f64,
    /// Hash of all events.
    pub trace_hash: String,
    /// Messages; absent where the model does not tell of them.
    pub messages: Option<Messages>,
    /// Breakdown of the messages' time, by class.
    pub breakdowns: Vec<Class>,
    /// Times of each rank, call by call.
    pub account: Vec<Rank>,
    /// Work of the firmware; absent where there is none.
    pub firmware: Option<Firmware>,
    /// The nodes.
    pub nodes: Vec<Node>,
}

/// Account of a rank.
#[derive(Debug, Deserialize)]
pub struct Rank {
    pub rank: u32,
    pub computes_ps: u64,
    #[serde(default)]
    pub clocks_ps: u64,
    #[serde(default)]
    pub sleeps_ps: u64,
    #[serde(default)]
    pub sockets_ps: u64,
    pub calls: Vec<Call>,
}

/// Calls of one function.
#[derive(Debug, Deserialize)]
pub struct Call {
    pub call: String,
    pub times: u64,
    pub library_ps: u64,
    pub kernel_ps: u64,
    pub nic_ps: u64,
    pub network_ps: u64,
    pub late_sender_ps: u64,
    pub late_receiver_ps: u64,
    pub imbalance_ps: u64,
}

/// One of several programs.
#[derive(Debug, Deserialize)]
pub struct Part {
    pub ranks: u32,
    pub program: String,
    pub arguments: Vec<String>,
    pub program_digest: String,
}

#[derive(Debug, Deserialize)]
pub struct Machine {
    pub name: String,
    pub faults: Vec<String>,
    pub values: BTreeMap<String, Setting>,
}

/// A parameter.
#[derive(Debug, Deserialize)]
pub struct Setting {
    pub value: String,
    /// Source; absent in runs of a sweep unless the parameter was set.
    pub source: Option<String>,
}

#[derive(Debug, Deserialize)]
pub struct Exit {
    pub code: i32,
    pub sentences: Vec<String>,
}

#[derive(Debug, Deserialize)]
pub struct Messages {
    /// Number of those that came to their end.
    pub ended: u64,
}

/// Messages of one kind that travel in one way and are about as long.
#[derive(Debug, Deserialize)]
pub struct Class {
    #[serde(flatten)]
    pub like: Like,
    /// Number of messages.
    pub messages: u64,
    /// Steps of their way, in order, with the time of each.
    pub steps: Vec<Step>,
}

/// Properties that messages must share to be compared step by step.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
pub struct Like {
    pub kind: String,
    pub protocol: String,
    pub bytes_least: u64,
    pub bytes_most: u64,
}

#[derive(Debug, Deserialize)]
pub struct Step {
    pub name: String,
    pub sum_ps: u64,
}

#[derive(Debug, Deserialize)]
pub struct Firmware {
    pub options: String,
    pub image: String,
    /// Cycles outside of its idle loop; absent in files of earlier versions.
    #[serde(default)]
    pub busy_cycles: u64,
    /// Cost by function; only with `--functions`.
    pub functions: Option<Vec<Function>>,
}

#[derive(Debug, Deserialize)]
pub struct Function {
    pub function: String,
    pub cycles: u64,
}

#[derive(Debug, Deserialize)]
pub struct Node {
    pub counters: BTreeMap<String, u64>,
    pub host_ns: BTreeMap<String, f64>,
}

/// Reason for which a file is not a run that can be compared; its name stands before the sentence.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // The sentences say what the fields are.
pub(super) enum RunError {
    /// It is not in the format.
    #[error("is not the JSON of a run: {0}")]
    Json(serde_json::Error),
    /// It is the JSON of something else.
    #[error("is not the JSON of a run (sunstar run --json)")]
    Other,
    /// It is a profile.
    #[error("is a profile, not the JSON of a run (sunstar run --json)")]
    Profile,
    /// Its run has failed.
    #[error("is a run of a sweep that left no report: {sentence}")]
    NoReport { sentence: String },
    /// It is of a later version.
    #[error("was written by a newer Sunstar, in format {format} instead of {FORMAT}")]
    Newer { format: u64 },
    /// It is of an earlier version.
    #[error(
        "was written by an older Sunstar, which did not tell all that is compared; run it again"
    )]
    Older,
}

/// Reads a run.
pub fn read(file: &Path) -> Result<Run, UsageError> {
    let text = input::read(file, input::WRITTEN_MAX)
        .map_err(|why| UsageError::with_file("read", file, why))?;
    parse(file.display().to_string(), &text)
}

/// Reads the text of the file of this name.
pub(super) fn parse(name: String, text: &[u8]) -> Result<Run, UsageError> {
    let mut run = run_of(text).map_err(|why| UsageError::sentence(format!("{name} {why}")))?;
    run.file = name;
    Ok(run)
}

fn run_of(text: &[u8]) -> Result<Run, RunError> {
    let value = serde_json::from_slice(text).map_err(RunError::Json)?;
    serde_json::from_value(report_of(value)?).map_err(RunError::Json)
}

/// The report itself, if it is one and of this version.
fn report_of(value: Value) -> Result<Value, RunError> {
    let report = match (value.get("identity"), value.get("report")) {
        (Some(_), Some(Value::Null)) => {
            let sentence = value["sentence"].as_str().unwrap_or_default();
            return Err(RunError::NoReport { sentence: sentence.to_owned() });
        }
        (Some(_), Some(report)) => report.clone(),
        _ => value,
    };
    if report.get("work_turns").is_some() {
        return Err(RunError::Profile);
    }
    if report.get("trace_hash").is_none() {
        return Err(RunError::Other);
    }
    match report.get("format").and_then(Value::as_u64) {
        Some(FORMAT) => Ok(report),
        Some(format) if format > FORMAT => Err(RunError::Newer { format }),
        _ => Err(RunError::Older),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_reports_of_this_version_are_taken() {
        let older = "was written by an older Sunstar, which did not tell all that is compared; \
                     run it again";
        let cases = [
            (json!([1]), "is not the JSON of a run (sunstar run --json)"),
            (json!({"trace_hash": "0"}), older),
            (json!({"trace_hash": "0", "format": 1}), older),
            (
                json!({"trace_hash": "0", "format": 3}),
                "was written by a newer Sunstar, in format 3 instead of 2",
            ),
            (json!({"work_turns": 1}), "is a profile, not the JSON of a run (sunstar run --json)"),
            (
                json!({"identity": {}, "report": null, "sentence": "it broke"}),
                "is a run of a sweep that left no report: it broke",
            ),
            (json!({"identity": {}, "report": {"trace_hash": "0"}}), older),
        ];
        for (value, expected) in cases {
            assert_eq!(report_of(value).unwrap_err().to_string(), expected);
        }
        let broken = run_of(b"{").unwrap_err().to_string();
        assert!(broken.starts_with("is not the JSON of a run: EOF while"), "{broken}");
        let report = json!({"trace_hash": "0", "format": FORMAT});
        assert_eq!(report_of(json!({"identity": {}, "report": report})).unwrap(), report);
    }
}
