//! Parameters that `explain` names beside a step act on it: each is turned, and the step moves.

use crate::golden::{machines_with_programs, others};
use crate::recomputed::programs;
use crate::runner::{command, ended};
use machine::models::Model;
use machine::parameters::{Parameter, Parameters, Row};
use models::MODELS;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

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

/// Programs in which parameters may show, beside those of other laws: some act on long messages or under
/// load only.
fn more_programs(model: &Model) -> &'static [&'static str] {
    match (model.processes, model.verbs) {
        (true, _) => &["-n 2 builtin:pingpong 100000 6", "-n 9 builtin:incast 3000 4"],
        (_, true) => &[
            "-n 2 builtin:rdma-stream 12296 20",
            "-n 3 --set lanes.topology=crossbar builtin:rdma-incast 264 40",
            "-n 3 --set lanes.topology=crossbar builtin:rdma-incast 4096 8",
        ],
        _ => &["-n 2 builtin:myrinet-stream 3000 10"],
    }
}

/// Values of a parameter: near ones, and ones that are far away.
fn values(row: &Row, parameter: &Parameter) -> Vec<String> {
    let mut all = others(row, parameter);
    if let Some(number) = parameter.value.number() {
        let unit = row.kind.smallest_unit();
        let far = [number / 10, number * 10, number / 64, number * 100, number * 1000];
        let less = [number / 4, number * 17 / 20, number * 9 / 10];
        all.extend(far.iter().chain(&less).map(|number| format!("{number}{unit}")));
    }
    all
}

#[test]
#[ignore = "minutes: make soak"]
fn each_parameter_that_explain_names_moves_its_step() {
    let (mut idle, mut turned) = (Vec::new(), 0);
    for machine in machines_with_programs() {
        let of_model = machine.model();
        let lines: Vec<&str> =
            programs(of_model).into_iter().chain(more_programs(of_model).iter().copied()).collect();
        let mut still: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for line in &lines {
            for (key, steps) in named(&machine, line) {
                still.entry(key).or_default().extend(steps);
            }
        }
        for line in &lines {
            let before = steps(&machine, &[], line).unwrap();
            for (key, still) in &mut still {
                let parameter = machine.iter().find(|parameter| parameter.key == *key).unwrap();
                still.retain(|step| !step.is_empty());
                for value in values(MODELS.row(key).unwrap(), parameter) {
                    if !still.iter().any(|step| before.contains_key(step)) {
                        break;
                    }
                    let Some(after) = steps(&machine, &[&format!("{key}={value}")], line) else {
                        continue;
                    };
                    // A step that is gone has not been moved.
                    let moved = |step: &String| match (before.get(step), after.get(step)) {
                        (Some(before), Some(after)) => before != after,
                        _ => false,
                    };
                    still.retain(|step| !moved(step));
                    turned += 1;
                }
            }
        }
        for (key, steps) in still {
            idle.extend(steps.iter().map(|step| format!("{}: {key}: {step}", machine.name())));
        }
    }
    assert!(turned > 200, "{turned} turned");
    assert!(idle.is_empty(), "named, and move nothing: {idle:#?}");
}
