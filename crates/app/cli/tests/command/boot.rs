//! Shortcuts that the user does not see: one boot for all nodes, merged stretches of long messages.

use crate::runner::sunstar;
use serde_json::Value;
use std::path::Path;

/// JSON of a command, without the wall time.
fn json(folder: &Path, command: &str, option: &str, line: &str) -> Value {
    let file = folder.join("out.json");
    let mut words = vec![command, "--json", file.to_str().unwrap()];
    words.extend(option.split_whitespace().chain(line.split_whitespace()));
    let ended = sunstar(words);
    read_json(&file).unwrap_or_else(|why| panic!("{why}: {ended:#?}"))
}

fn read_json(file: &Path) -> Result<Value, serde_json::Error> {
    let mut value: Value = serde_json::from_slice(&std::fs::read(file).unwrap())?;
    for own in ["wall_seconds", "own_work_seconds"] {
        value.get_mut(own).map(Value::take);
    }
    Ok(value)
}

/// Fails unless a command writes the same JSON with and without an option, except for the wall time.
fn changes_nothing(command: &str, option: &str, lines: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    for line in lines {
        let [without, with] = ["", option].map(|option| json(folder.path(), command, option, line));
        assert_eq!(without, with, "{command} {option} {line}");
    }
}

#[test]
fn a_shared_boot_changes_nothing_but_the_wall_time() {
    let lines = [
        "-n 5 -t 2 examples/allreduce.c",
        "-n 8 examples/ring.c",
        // Nodes without a rank, and one more than a power of two.
        "-n 2 --set net.x=9 --set net.y=1 --set net.z=1 examples/pingpong.c 64",
        "-n 4 --no-park --set ppc440.clock=333MHz examples/ring.c",
        "-n 4 --set firmware.shadow_fifos=off --set firmware.cache=none examples/ring.c",
        "-n 4 --set firmware.trace=on --fault link.drop=0.01 examples/ring.c",
        "-n 4 tests/cli/wrong.c deadlock",
    ];
    changes_nothing("run", "--cold-boot", &lines);
}

/// Skipping the idle loop changes nothing but the wall time. The state of polling loops decides when a
/// firmware counts as idle, on a slow processor long after the last event.
#[test]
fn parking_changes_nothing_but_the_wall_time() {
    let lines = [
        "-n 2 --set ppc440.clock=40MHz builtin:pingpong 20000 2",
        "-n 8 --set net.link_latency=1us builtin:halo 64 2",
        "-n 2 --set firmware.cache=none examples/pingpong.c 16",
        // Some nodes are so far from the last event that their windows end long after it.
        "-n 60 --set net.topology=row builtin:allreduce 8 1",
    ];
    changes_nothing("run", "--no-park", &lines);
    // A firmware that stops its node, with more due there: the others' last instructions may differ.
    let folder = tempfile::tempdir().unwrap();
    let line = "-n 3 --fault pool.event_slots=64 builtin:barrier";
    let [parked, plain] = ["", "--no-park"].map(|option| json(folder.path(), "run", option, line));
    assert_eq!(parked["trace_hash"], plain["trace_hash"]);
}

/// The processor's own tests compare every part of it (`crates/parts/ppc440/tests/core/translate.rs`).
#[test]
fn translation_changes_nothing_but_the_wall_time() {
    let lines = [
        "-n 2 examples/pingpong.c 65536",
        "-n 8 builtin:halo 4096 2",
        "-n 8 -t 2 builtin:allreduce 8 20",
        "-n 2 --set firmware.cache=none builtin:pingpong 8 50",
        "-n 2 --set ppc440.clock=333MHz builtin:pingpong 8 50",
        "-n 3 --no-park --cold-boot examples/ring.c",
        "-n 2 --judge --fault link.drop=0.001 builtin:pingpong 8 20",
    ];
    changes_nothing("run", "--no-translate", &lines);
}

/// Real programs; the machine's own tests compare built-in workloads on many machines.
#[test]
fn merging_changes_nothing_but_the_wall_time() {
    let lines = [
        "-n 4 -t 2 --set net.topology=row tests/network/share.c",
        "-n 2 --set host.os=linux examples/pingpong.c 262144",
        "-n 4 --fault link.delay=0.0001:1us tests/network/exchange.c",
        "-n 2 --no-park --set nic.rx_buffers=3 examples/pingpong.c 65536",
    ];
    changes_nothing("run", "--no-merge", &lines);
    changes_nothing("profile", "--no-merge", &["-n 2 examples/pingpong.c 524288"]);
}

#[test]
fn a_profile_does_not_tell_how_the_nodes_booted() {
    changes_nothing("profile", "--cold-boot", &["-n 6 examples/allreduce.c"]);
}
