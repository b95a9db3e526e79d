//! Parameters that `explain` names beside a step act on the nodes of the run.

use crate::golden::machines_with_programs;
use crate::runner::{command, ended};
use machine::parameters::Parameters;
use models::MODELS;
use std::collections::{BTreeMap, BTreeSet};

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
