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
    /// Breakdown of the messages' time, by class.
    pub breakdowns: Vec<Class>,
    /// Work of the firmware; absent where there is none.
    pub firmware: Option<Firmware>,
    /// The nodes.
    pub nodes: Vec<Node>,
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
    pub messages: u64,
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

/// Reads a run.
pub fn read(file: &Path) -> Result<Run, UsageError> {
    let text = input::read(file, input::WRITTEN_MAX)
        .map_err(|why| UsageError::with_file("read", file, why))?;
    parse(file.display().to_string(), &text)
}

/// Reads the text of the file of this name.
pub(super) fn parse(name: String, text: &[u8]) -> Result<Run, UsageError> {
    let wrong = |why: String| UsageError(format!("{name} {why}"));
    let value: Value = serde_json::from_slice(text)
        .map_err(|why| wrong(format!("is not the JSON of a run: {why}")))?;
    let report = report_of(value).map_err(wrong)?;
    let mut run: Run = serde_json::from_value(report)
        .map_err(|why| wrong(format!("is not the JSON of a run: {why}")))?;
    run.file = name;
    Ok(run)
}

/// The report itself, if it is one and of this version; else the error.
fn report_of(value: Value) -> Result<Value, String> {
    let report = match (value.get("identity"), value.get("report")) {
        (Some(_), Some(Value::Null)) => {
            let sentence = value["sentence"].as_str().unwrap_or_default();
            return Err(format!("is a run of a sweep that left no report: {sentence}"));
        }
        (Some(_), Some(report)) => report.clone(),
        _ => value,
    };
    if report.get("work_turns").is_some() {
        return Err("is a profile, not the JSON of a run (sunstar run --json)".into());
    }
    if report.get("trace_hash").is_none() {
        return Err("is not the JSON of a run (sunstar run --json)".into());
    }
    match report.get("format").and_then(Value::as_u64) {
        Some(FORMAT) => Ok(report),
        Some(newer) if newer > FORMAT => {
            Err(format!("was written by a newer Sunstar, in format {newer} instead of {FORMAT}"))
        }
        _ => Err("was written by an older Sunstar, which did not tell all that is compared; \
                  run it again"
            .into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_reports_of_this_version_are_taken() {
        let cases = [
            (json!([1]), "is not the JSON of a run"),
            (json!({"trace_hash": "0"}), "older"),
            (json!({"trace_hash": "0", "format": 1}), "older"),
            (json!({"trace_hash": "0", "format": 3}), "newer Sunstar, in format 3 instead of 2"),
            (json!({"work_turns": 1}), "is a profile"),
            (json!({"identity": {}, "report": null, "sentence": "it broke"}), "it broke"),
            (json!({"identity": {}, "report": {"trace_hash": "0"}}), "older"),
        ];
        for (value, expected) in cases {
            let said = report_of(value).unwrap_err();
            assert!(said.contains(expected), "{said}");
        }
        let report = json!({"trace_hash": "0", "format": FORMAT});
        assert_eq!(report_of(json!({"identity": {}, "report": report})).unwrap(), report);
    }
}
