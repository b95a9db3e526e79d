//! Clocks that the library answers by itself: nothing simulated depends on it.

use crate::runner::{command, ended};
use std::path::Path;

/// Lines that the program printed, in the order of its ranks, simulated time and hash.
fn told(options: &[&str]) -> Vec<String> {
    let run = ended(command().arg("run").args(options).args(["tests/cli/spin.c"]));
    let mut lines: Vec<_> = run.went_well().stdout.lines().map(str::to_owned).collect();
    lines.retain(|line| {
        ["rank ", "Simulated time", "Trace hash"].iter().any(|start| line.starts_with(start))
    });
    lines.sort_unstable();
    assert!(lines.iter().all(|line| !line.contains("-1")), "a clock went back: {lines:?}");
    lines
}

/// Runs with an observer of every event are simulated without the library's own answers.
#[test]
fn a_run_is_the_same_when_every_look_at_a_clock_is_simulated() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace");
    let trace = Path::to_str(&trace).unwrap();
    // The network interface of machine alpu is told the addresses of buffers.
    for (machine, ranks) in [("redstorm", "1"), ("redstorm", "2"), ("redstorm", "5"), ("alpu", "4")]
    {
        let with = |options: &[&str]| told(&[&["-m", machine, "-n", ranks], options].concat());
        let leased = with(&[]);
        assert_eq!(leased, with(&["--trace", trace]), "{machine}, {ranks} ranks");
        assert_eq!(leased, with(&["-t", "2"]), "{machine}, {ranks} ranks");
    }
}

/// Ranks that share a node look at the same time, wait for each other, and disturb each other.
#[test]
fn ranks_of_a_node_have_the_same_run_when_every_look_at_a_clock_is_simulated() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace");
    let trace = Path::to_str(&trace).unwrap();
    for node in [
        "-n 2 -ppn 2",
        "-n 4 -ppn 2",
        "-n 5 -ppn 4 --set host.cores=4",
        "-n 4 -ppn 2 -m redstorm-linux",
        "-n 4 -ppn 2 -m redstorm-accelerated",
    ] {
        let node: Vec<&str> = node.split(' ').collect();
        let with = |options: &[&str]| told(&[&node, options].concat());
        let leased = with(&[]);
        assert_eq!(leased, with(&["--trace", trace]), "{node:?}");
        assert_eq!(leased, with(&["-t", "2", "--no-park"]), "{node:?}");
    }
}

/// A reading of the clock has the cost of the machine's parameter.
#[test]
fn a_clock_costs_what_it_costs() {
    let looks = |cost: &str| {
        let lines = told(&["-n", "1", "--set", &format!("rank.clock_read={cost}")]);
        let line = lines.iter().find(|line| line.starts_with("rank 0")).unwrap();
        line.split_whitespace().nth(2).unwrap().parse::<i64>().unwrap()
    };
    assert!((990..=1010).contains(&looks("50 ns")) && (490..=510).contains(&looks("100 ns")));
}
