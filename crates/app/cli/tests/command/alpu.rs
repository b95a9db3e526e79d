//! Machine alpu, whose network interfaces keep MPI's queues: programs have the same results as on redstorm,
//! with matching units and without, at any length of queue.

use crate::runner::{run, unjudged, Ended};
use serde_json::Value;

mod mesh;
mod messages;
mod random;

/// A counter of a run, of all nodes together.
fn counter(run: &Value, name: &str) -> u64 {
    let nodes = run["nodes"].as_array().unwrap();
    nodes.iter().map(|node| node["counters"][name].as_u64().unwrap_or(0)).sum()
}

/// The lines of the program's output, sorted: ranks print side by side.
fn lines(ended: &Ended) -> Vec<&str> {
    let mut lines: Vec<&str> = ended.went_well().stdout.lines().collect();
    lines.sort_unstable();
    lines
}

#[test]
fn programs_see_what_they_see_on_redstorm() {
    for program in [
        "-n 8 tests/mpi/messages.c",
        "-n 5 tests/mpi/collectives.c",
        "-n 3 tests/mpi/datatypes.c",
        "-n 4 tests/mpi/groups.c",
        "-n 5 tests/mpi/lifetimes.c",
    ] {
        let redstorm = run(&format!("-q {program}"));
        for how in ["--set nic.alpu=off", "--set nic.alpu=32", "--ranks-per-node 2"] {
            let alpu = run(&format!("-q -m alpu {how} {program}"));
            assert_eq!(lines(&redstorm), lines(&alpu), "{how} {program}");
        }
    }
}

#[test]
fn nothing_but_the_machine_changes_the_hash() {
    for line in ["-n 9 examples/allreduce.c", "-n 3 tests/cli/traffic.c"] {
        for units in ["off", "128"] {
            let hash = |options: &str| {
                let run = json_of(&format!("{options} --set nic.alpu={units} {line}"));
                run["trace_hash"].as_str().unwrap().to_string()
            };
            let plain = hash("");
            assert_eq!(plain, hash("-t 2 --no-park"), "{units} {line}");
            assert_eq!(plain, hash("--no-translate"), "{units} {line}");
        }
    }
}

fn json_of(line: &str) -> Value {
    let ended = unjudged(&format!("run --json - -q -m alpu {line}"));
    assert_eq!(ended.code, 0, "{ended:#?}");
    serde_json::from_str(&ended.stdout).unwrap_or_else(|why| panic!("{why}: {ended:#?}"))
}

/// Headers and new receives go to the units, which find the entries that they hold.
#[test]
fn units_find_what_they_hold() {
    let with = json_of("-n 2 builtin:pingpong 8 50");
    assert!(counter(&with, "alpu.posted_requests") >= 100, "{with:#?}");
    assert!(counter(&with, "alpu.posted_matches") > 0, "{with:#?}");
    let without = json_of("-n 2 --set nic.alpu=off builtin:pingpong 8 50");
    assert_eq!(counter(&without, "alpu.posted_requests"), 0);
}

#[test]
fn what_the_machine_has_not_is_refused() {
    for (line, words) in [
        ("--functions --json - -n 2 examples/ring.c", "--functions wants firmware with counters"),
        (
            "-n 2 --set host.os=linux examples/ring.c",
            "machines of model offload (nic.model) have no host.os",
        ),
        ("-n 10 --set host.cores=8 --ranks-per-node 5 examples/ring.c", "serves 4 processes"),
        ("-n 2 --set nic.alpu=32 --set alpu.block=64 examples/ring.c", "the matching units"),
    ] {
        let ended = unjudged(&format!("run -q -m alpu {line}"));
        assert_eq!(ended.code, 2, "{ended:#?}");
        assert!(ended.stderr.contains(words), "{line}: {ended:#?}");
    }
}

/// The judge distinguishes the messages for which an entry of the network interface was used.
#[test]
fn the_judge_tells_taken_messages_apart() {
    for machine in ["alpu", "alpu --set nic.alpu=off", "redstorm"] {
        let ended = run(&format!("-q -n 3 -m {machine} tests/judge/taken.c"));
        assert_eq!(ended.went_well().stdout, "0 wrong\n", "{machine}: {ended:#?}");
    }
}

/// Programs that need Portals end with a sentence on a machine that has none.
#[test]
fn portals_is_not_there() {
    let ended = unjudged("run -q -m alpu -n 2 examples/portals_put.c");
    assert_eq!(ended.code, 1, "{ended:#?}");
    assert!(ended.stderr.contains("this machine has no Portals, only MPI"), "{ended:#?}");
}

/// A profile separates the walk of a list from the rest.
#[test]
fn a_profile_names_the_functions_of_the_firmware() {
    let ended = unjudged("profile -m alpu --set nic.alpu=off -n 2 builtin:pingpong 8 20");
    assert_eq!(ended.code, 0, "{ended:#?}");
    for function in ["search_posted", "take_headers", "take_commands", "complete"] {
        assert!(ended.stdout.contains(function), "{function}: {}", ended.stdout);
    }
}
