//! Runs from Rust (`crates/app/sunstar`) are those of the command.

use crate::runner::{command, ended, root};
use serde_json::Value;
use std::path::Path;
use sunstar::{Machine, Program, Report, Run};

/// The whole report of the command, without what is no result of the machine.
fn told(words: &[&str]) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("json");
    ended(command().args(["run", "-q", "--json"]).arg(&file).args(words));
    serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap()
}

fn assert_same(report: &Report, words: &[&str]) {
    let (ours, told) = (serde_json::to_value(report).unwrap(), told(words));
    let keys = ours.as_object().unwrap();
    assert!(keys.len() > 10, "{keys:?}");
    for (key, value) in keys.iter().filter(|(key, _)| *key != "wall_seconds") {
        assert_eq!(value, &told[key], "{key} of {words:?}");
    }
}

#[test]
fn a_run_from_rust_is_that_of_the_command() {
    let machine = Machine::load("redstorm").unwrap().set("host.kernel_entry=125 ns").unwrap();
    let program = Program::new("builtin:traffic").args(["3000", "4"]).ranks(3);
    let outcome = Run::new(&machine, &program).seed(7).threads(2).fault("link.delay=0.01:2us");
    let words = "--seed 7 -t 2 --set host.kernel_entry=125ns --fault link.delay=0.01:2us \
        -n 3 builtin:traffic 3000 4";
    let words: Vec<&str> = words.split_whitespace().collect();
    let report = outcome.outcome().unwrap().report;
    // The machine's own line has the value as it was written.
    assert_eq!(report.trace_hash, told(&words)["trace_hash"]);

    let source = root().join("examples/ring.c");
    let report = Machine::load("ideal").unwrap().run(&Program::new(&source).ranks(4)).unwrap();
    assert_same(&report, &["-m", "ideal", "-n", "4", source.to_str().unwrap()]);
}

#[test]
#[cfg_attr(not(kernel), ignore = "there is no kernel for guests: sunstar guest --prepare")]
fn a_run_of_guests_from_rust_is_that_of_the_command() {
    let program = Program::new("/bin/ping").args(["-c", "1", "node0"]).ranks(2);
    let report = Machine::load("ethernet").unwrap().run(&program).unwrap();
    assert_same(&report, &["-m", "ethernet", "-n", "2", "/bin/ping", "-c", "1", "node0"]);
}

#[test]
fn mistakes_are_the_sentences_of_the_command() {
    let program = Program::new("builtin:pingpong").ranks(2);
    let redstorm = || Machine::load("redstorm").unwrap();
    for (words, why) in [
        (vec!["-m", "nowhere", "builtin:pingpong"], Machine::load("nowhere").err()),
        (vec!["--set", "no.such=1", "builtin:pingpong"], redstorm().set("no.such=1").err()),
        (vec!["-n", "2", "./nothing"], redstorm().run(&Program::new("./nothing").ranks(2)).err()),
        (
            vec!["-n", "2", "--fault", "link.drop=2", "builtin:pingpong"],
            Run::new(&redstorm(), &program).fault("link.drop=2").outcome().err(),
        ),
    ] {
        let refused = ended(command().args(["run", "-q"]).args(&words));
        let why = why.unwrap_or_else(|| panic!("{words:?} is not refused")).to_string();
        refused.said(2, &[&why]);
    }
}

/// The page shows the example as it is, and what it prints.
#[test]
fn the_page_shows_the_example_and_what_it_prints() {
    #[path = "../../../sunstar/examples/kernels.rs"]
    #[allow(dead_code, reason = "its main prints what is compared here")]
    mod kernels;

    let page = std::fs::read_to_string(root().join("docs/library.md")).unwrap();
    let file = Path::new("crates/app/sunstar/examples/kernels.rs");
    assert!(page.contains(&std::fs::read_to_string(root().join(file)).unwrap()));
    for (name, time) in kernels::times().unwrap() {
        let line = format!("{name:40} {time:8.1} ns");
        assert!(page.lines().any(|shown| shown == line), "not there: {line}");
    }
}
