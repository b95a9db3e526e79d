//! Parameters that `explain` names beside a step act on it: each is turned, and the step moves.

use crate::golden::{machines_with_programs, others};
use crate::recomputed::programs;
use crate::runner::{command, ended, root};
use machine::parameters::Parameters;
use models::MODELS;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Parameters that move nothing, each with its machine and step.
const UNMOVED: &str = "tests/golden/unmoved.txt";

/// The mean time of each step of a run, by the class of its messages; none if it was refused.
fn steps(machine: &Parameters, set: &[&str], line: &str) -> Option<BTreeMap<String, Vec<f64>>> {
    let mut run = command();
    run.args(["run", "-q", "--json", "-", "-m", machine.name()]);
    run.args(set.iter().flat_map(|set| ["--set", set]));
    let run = ended(run.args(line.split(' ')));
    let report: Value = serde_json::from_str(&run.stdout).ok()?;
    let mut all: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for class in report["breakdowns"].as_array().unwrap() {
        for step in class["steps"].as_array().unwrap() {
            let mean = step["sum_ps"].as_f64().unwrap() / step["messages"].as_f64().unwrap();
            all.entry(step["name"].as_str().unwrap().to_owned()).or_default().push(mean);
        }
    }
    Some(all)
}

/// The parameters that `explain` names, each with the steps.
fn named(machine: &Parameters, line: &str) -> BTreeMap<String, BTreeSet<String>> {
    let mut explain = command();
    explain.args(["explain", "--slowest", "8", "-m", machine.name()]).args(line.split(' '));
    let told = ended(&mut explain);
    assert_eq!(told.code, 0, "{told:#?}");
    let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut step = String::new();
    for line in told.stdout.lines() {
        // `  12 %    1.060 us  interrupt`, and below it `what happens; key = value, ...`.
        match line.trim_start().split_once(" % ") {
            Some((share, rest)) if share.parse::<u32>().is_ok() => {
                let (_, name) = rest.trim_start().split_once("  ").unwrap_or_default();
                step = name.to_owned();
            }
            _ if line.starts_with("         ") => {
                let words: Vec<&str> = line.split([' ', ';', ',']).collect();
                let keys = words.windows(2).filter(|pair| pair[1] == "=").map(|pair| pair[0]);
                let keys = keys.filter(|key| MODELS.row(key).is_some());
                for key in keys {
                    all.entry(key.to_owned()).or_default().insert(step.clone());
                }
            }
            _ => {}
        }
    }
    all
}

/// The entry of an interrupt has another parameter under Linux, which is that of the machine's hosts.
#[test]
fn hosts_under_linux_are_told_the_parameters_of_linux() {
    const LINE: &str = "-n 2 builtin:pingpong 8 20";
    let keys = ["host.interrupt_entry", "linux.interrupt_entry"];
    for (name, line, expected) in [
        ("redstorm", LINE.to_owned(), [true, false]),
        ("redstorm", format!("--set host.os=linux {LINE}"), [false, true]),
        ("redstorm", format!("--set host.linux_nodes=1 {LINE}"), [true, true]),
        ("forth", "-n 2 builtin:rdma-stream 4096 4".to_owned(), [false, true]),
    ] {
        let machines = machines_with_programs();
        let machine = machines.iter().find(|machine| machine.name() == name).unwrap();
        let named = named(machine, &line);
        assert_eq!(keys.map(|key| named.contains_key(key)), expected, "{name} {line}: {named:?}");
    }
}

#[test]
#[ignore = "a minute: make soak"]
fn each_parameter_that_explain_names_moves_its_step() {
    let (mut idle, mut turned) = (Vec::new(), 0);
    for machine in machines_with_programs() {
        for line in programs(machine.model()) {
            let before = steps(&machine, &[], line).unwrap();
            for (key, of) in named(&machine, line) {
                let parameter = machine.iter().find(|parameter| parameter.key == key).unwrap();
                let row = MODELS.row(&key).unwrap();
                let mut still = of.clone();
                for value in others(row, parameter).iter().take(3) {
                    let Some(after) = steps(&machine, &[&format!("{key}={value}")], line) else {
                        continue;
                    };
                    still.retain(|step| before.get(step) == after.get(step));
                    turned += 1;
                    if still.is_empty() {
                        break;
                    }
                }
                idle.extend(still.iter().map(|step| format!("{}: {key}: {step}", machine.name())));
            }
        }
    }
    idle.sort();
    idle.dedup();
    assert!(turned > 50, "{turned} turned");
    // Those that are known not to move with these programs and values: a list that must become shorter.
    let known = std::fs::read_to_string(root().join(UNMOVED)).unwrap();
    let known: Vec<&str> = known.lines().collect();
    assert_eq!(idle, known, "see {UNMOVED}");
}
