//! Each number of the summary, of `explain` and of `diff`, on every machine, recomputed from the tables that
//! hold the events of the runs (`told/told.py`, `told/diffed.py`), up to rounding of the last digit. A line
//! with a number of which no source is known is a failure.

use crate::golden::machines_with_programs;
use crate::recomputed::programs;
use crate::runner::{command, ended, root, Ended};
use machine::parameters::Parameters;
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Commands, with their options, that print texts with numbers.
const TEXTS: [&[&str]; 3] = [&["run"], &["run", "--full"], &["explain"]];

/// Runs a program with both tables and JSON in a folder.
fn run(folder: &Path, machine: &Parameters, text: &[&str], line: &str) -> Ended {
    let mut run = command();
    run.args(text).args(["-m", machine.name()]);
    for (option, file) in
        [("--json", "run.json"), ("--messages", "messages.parquet"), ("--calls", "calls.parquet")]
    {
        run.arg(option).arg(folder.join(file));
    }
    let run = ended(run.env("LC_ALL", "C.UTF-8").args(line.split(' ')));
    assert_eq!(run.code, 0, "{run:#?}");
    run
}

/// Recomputes a text with a script; returns how many numbers it has.
fn recomputed(folder: &Path, script: &str, text: &str) -> u64 {
    std::fs::write(folder.join("text"), text).unwrap();
    let mut python = Command::new(root().join("build/tables/bin/python"));
    python.current_dir(folder).env("PYTHONDONTWRITEBYTECODE", "1");
    let script = root().join("crates/app/cli/tests/command/told").join(script);
    let output = python.arg(script).arg("text").output().unwrap();
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(told["wrong"], serde_json::json!([]), "{text}");
    told["checked"].as_u64().unwrap()
}

/// Recomputes the text of a run.
fn of_run(folder: &Path, machine: &Parameters, text: &[&str], line: &str) -> u64 {
    let run = run(folder, machine, text, line);
    // Before that are the program's own words.
    let begins = ["── sunstar", "What the program's time"];
    let begin = begins.into_iter().filter_map(|begin| run.stdout.find(begin)).min().unwrap();
    recomputed(folder, "told.py", &run.stdout[begin..])
}

/// Recomputes the differences of two runs.
fn of_diff(folder: &Path, a: (&Parameters, &str), b: (&Parameters, &str)) -> u64 {
    for (name, (machine, line)) in [("a", a), ("b", b)] {
        let folder = folder.join(name);
        std::fs::create_dir_all(&folder).unwrap();
        run(&folder, machine, &["run", "-q"], line);
    }
    let mut diff = command();
    let runs = ["a", "b"].map(|name| folder.join(name).join("run.json"));
    let diff = ended(diff.env("LC_ALL", "C.UTF-8").arg("diff").args(runs));
    assert_eq!(diff.code, 1, "{diff:#?}");
    recomputed(folder, "diffed.py", &diff.stdout)
}

#[test]
fn each_number_of_every_machine_is_that_of_its_events() {
    of_programs(|[_, many]| many);
}

#[test]
#[ignore = "half a minute: make soak"]
fn each_number_of_more_programs_is_that_of_their_events() {
    of_programs(|[few, _]| few);
}

fn of_programs(chosen: fn([&'static str; 2]) -> &'static str) {
    let folder = tempfile::tempdir().unwrap();
    for machine in machines_with_programs() {
        let line = chosen(programs(machine.model()));
        for text in TEXTS {
            let numbers = of_run(folder.path(), &machine, text, line);
            assert!(numbers > 30, "{} {text:?}: {numbers}", machine.name());
        }
    }
}

#[test]
fn each_number_of_differences_is_that_of_events() {
    let folder = tempfile::tempdir().unwrap();
    for machine in machines_with_programs() {
        let [_, line] = programs(machine.model());
        let longer = format!("{line}0");
        let numbers = of_diff(folder.path(), (&machine, line), (&machine, &longer));
        assert!(numbers > 20, "{}: {numbers}", machine.name());
    }
}

/// Each machine, and the next one that runs the same.
#[test]
#[ignore = "half a minute: make soak"]
fn each_number_of_differences_between_machines_is_that_of_events() {
    let folder = tempfile::tempdir().unwrap();
    let machines = machines_with_programs();
    for (at, machine) in machines.iter().enumerate() {
        let [short, line] = programs(machine.model());
        let runs = |other: &&Parameters| programs(other.model()) == [short, line];
        if let Some(other) = machines[at + 1..].iter().find(runs) {
            of_diff(folder.path(), (machine, line), (other, line));
        }
    }
}

/// Random programs have messages of all kinds, wildcards, late ranks, collective operations.
#[test]
#[ignore = "minutes: make soak"]
fn each_number_of_random_programs_is_that_of_its_events() {
    let folder = tempfile::tempdir().unwrap();
    for machine in machines_with_programs().iter().filter(|machine| machine.model().processes) {
        for seed in 1..=8 {
            let line = format!("-n {} tests/soak/random.c {seed}", 2 + seed % 5);
            for text in TEXTS {
                of_run(folder.path(), machine, text, &line);
            }
        }
    }
}
