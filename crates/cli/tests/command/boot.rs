//! What makes runs shorter and nobody sees: one boot for all nodes, merged stretches of long messages.

use crate::runner::sunstar;
use serde_json::Value;
use std::path::Path;

/// What a command writes as JSON, without the wall time.
fn json(folder: &Path, command: &str, option: &str, line: &str) -> Value {
    let file = folder.join("out.json");
    let mut words = vec![command, "--json", file.to_str().unwrap()];
    words.extend(option.split_whitespace().chain(line.split_whitespace()));
    let ended = sunstar(words);
    let mut value: Value = serde_json::from_slice(&std::fs::read(&file).unwrap())
        .unwrap_or_else(|why| panic!("{why}: {ended:#?}"));
    if let Some(wall) = value.get_mut("wall_seconds") {
        wall.take();
    }
    value
}

#[test]
fn a_shared_boot_changes_nothing_but_the_wall_time() {
    let folder = tempfile::tempdir().unwrap();
    for line in [
        "-n 5 -t 2 examples/allreduce.c",
        "-n 8 examples/ring.c",
        // Nodes without a rank, and one more than a power of two.
        "-n 2 --set net.x=9 --set net.y=1 --set net.z=1 examples/pingpong.c 64",
        "-n 4 --no-park --set ppc440.clock=333MHz examples/ring.c",
        "-n 4 --set firmware.shadow_fifos=off --set firmware.cache=none examples/ring.c",
        "-n 4 --set firmware.trace=on --fault link.drop=0.01 examples/ring.c",
        "-n 4 tests/cli/wrong.c deadlock",
    ] {
        let [warm, cold] =
            ["", "--cold-boot"].map(|option| json(folder.path(), "run", option, line));
        assert_eq!(warm, cold, "{line}");
    }
}

/// Real programs; the machine's own tests compare built-in workloads on many machines.
#[test]
fn merging_changes_nothing_but_the_wall_time() {
    let folder = tempfile::tempdir().unwrap();
    for line in [
        "-n 2 examples/pingpong.c 1048576",
        "-n 4 -t 2 --set net.topology=row tests/network/share.c",
        "-n 2 --set host.os=linux examples/pingpong.c 262144",
        "-n 4 --fault link.delay=0.0001:1us tests/network/exchange.c",
        "-n 2 --no-park --set nic.rx_buffers=3 examples/pingpong.c 65536",
    ] {
        let [merged, plain] =
            ["", "--no-merge"].map(|option| json(folder.path(), "run", option, line));
        assert_eq!(merged, plain, "{line}");
    }
    let line = "-n 2 examples/pingpong.c 524288";
    let [merged, plain] =
        ["", "--no-merge"].map(|option| json(folder.path(), "profile", option, line));
    assert_eq!(merged, plain);
}

#[test]
fn a_profile_does_not_tell_how_the_nodes_booted() {
    let folder = tempfile::tempdir().unwrap();
    let line = "-n 6 examples/allreduce.c";
    let [warm, cold] =
        ["", "--cold-boot"].map(|option| json(folder.path(), "profile", option, line));
    assert_eq!(warm, cold);
}
