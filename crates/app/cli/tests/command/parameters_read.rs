//! Each parameter that a machine lists is read by what the machine is made of.

use crate::golden::all_machines;
use crate::runner::ended;
use machine::parameters::Parameters;
use std::process::Command;
use sunstar::{Machine, Program, Run};

/// A run: words of its program, settings, ranks.
type Words = (&'static [&'static str], &'static [&'static str], u32);

/// Runs of a machine that together have all of it.
fn runs(machine: &Parameters) -> Vec<Words> {
    let model = machine.model();
    let mut all: Vec<Words> = Vec::new();
    if model.processes {
        all.push((&["builtin:pingpong", "8", "2"], &[], 2));
        if machine.is_set("host.linux_nodes") {
            all.push((&["builtin:pingpong", "8", "2"], &["host.linux_nodes=1"], 2));
        }
    }
    if model.verbs {
        all.push((&["builtin:rdma-pingpong", "8", "2"], &[], 2));
        all.push((&["builtin:rdma-incast", "264", "2"], &["lanes.topology=crossbar"], 3));
        all.push((&["builtin:disk-write", "65536", "1"], &["disk.kind=drives"], 2));
    } else if !model.workloads.is_empty() {
        all.push((&["builtin:myrinet-pingpong", "8", "2"], &["card.module=dp"], 2));
    }
    if model.guests {
        all.push((&["true"], &[], 2));
    }
    all
}

/// In a process of its own: what programs print goes past the captured output of tests.
#[test]
fn a_machine_lists_no_parameter_that_nothing_reads() {
    let inner = "parameters_read::every_parameter_of_every_machine_is_read";
    let mut own = Command::new(std::env::current_exe().unwrap());
    let ended = ended(own.args(["--exact", inner, "--ignored", "--nocapture"]));
    assert!(ended.code == 0 && ended.stdout.contains("1 passed"), "{ended:#?}");
}

#[test]
#[ignore = "is run by the test above"]
fn every_parameter_of_every_machine_is_read() {
    let (mut listed, mut all) = (0, Vec::new());
    for own in all_machines() {
        let loaded = Machine::load(own.name()).unwrap();
        listed += loaded.parameters().iter().count();
        for (words, settings, ranks) in runs(&own) {
            let set = |machine: Machine, text: &&str| machine.set(text).unwrap();
            let machine = settings.iter().fold(loaded.clone(), set);
            let program = Program::new(words[0]).args(&words[1..]).ranks(ranks);
            let outcome = Run::new(&machine, &program).outcome().unwrap();
            assert_eq!(outcome.report.exit.code, 0, "{}: {words:?}", own.name());
        }
        all.extend(loaded.parameters().unread().map(|key| format!("{}: {key}", own.name())));
    }
    assert!(all.is_empty(), "{all:#?}");
    assert!(listed > 1000, "{listed} parameters");
}
