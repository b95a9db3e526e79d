//! Many ranks, and workloads without processes.

use crate::runner::{command, ended, run, Ended};
use std::fs;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Processes that a process has started and that have not ended.
fn children(process: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let lists = tasks.map(|task| fs::read_to_string(task.path().join("children")));
    let numbers = |list: String| list.split(' ').filter_map(|n| n.parse().ok()).collect::<Vec<_>>();
    lists.flat_map(|list| numbers(list.unwrap_or_default())).collect()
}

/// Memory of a process and of those that it has started, in bytes: shared memory counts once.
fn memory(process: u32) -> u64 {
    let rollup = fs::read_to_string(format!("/proc/{process}/smaps_rollup")).unwrap_or_default();
    let share = rollup.lines().find_map(|line| line.strip_prefix("Pss:"));
    let own = share.and_then(|text| text.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    own.unwrap_or(0) * 1024 + children(process).into_iter().map(memory).sum::<u64>()
}

/// Runs a command, which `argument` identifies; returns its end and the most memory that it and its ranks
/// use.
fn run_watched(line: &str, argument: &str) -> (Ended, u64) {
    let over = AtomicBool::new(false);
    let is_it = |process: &u32| {
        let words = fs::read_to_string(format!("/proc/{process}/cmdline")).unwrap_or_default();
        words.split('\0').any(|word| word == argument)
    };
    std::thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let mut most = 0;
            while !over.load(Ordering::Relaxed) {
                let it = children(std::process::id()).into_iter().find(is_it);
                most = most.max(it.map_or(0, memory));
                std::thread::sleep(Duration::from_millis(200));
            }
            most
        });
        let ended = run(line);
        over.store(true, Ordering::Relaxed);
        (ended, watcher.join().unwrap())
    })
}

/// More nodes than the system has stacks for are refused at the start.
#[test]
fn more_nodes_than_the_system_has_stacks_for() {
    let allowed = fs::read_to_string("/proc/sys/vm/max_map_count").unwrap_or_default();
    if allowed.trim().parse::<u64>().is_ok_and(|allowed| allowed < 262_144) {
        run("-n 65536 builtin:barrier 1")
            .said(2, &["65536 nodes need", "mappings of memory", "sysctl vm.max_map_count=263168"]);
    }
}

/// Runs a collective of all ranks, within the pendings of host and firmware and 6 GiB for 1,024 ranks.
fn collective(ranks: u64, what: &str) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.json");
    let line = format!("-q -n {ranks} --json {} tests/network/scale.c {what}", file.display());
    let (ended, memory) = run_watched(&line, file.to_str().unwrap());
    let sum = ranks * (ranks - 1) / 2;
    let expected = format!("{ranks} ranks, 0 wrong bytes, sum {sum}\n");
    assert_eq!(ended.went_well().stdout, expected);
    assert!((1..ranks * (6 << 20)).contains(&memory), "{memory} bytes for {ranks} ranks");
    let json = fs::read_to_string(file).unwrap();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let most = |counter: &str| {
        let nodes = json["nodes"].as_array().unwrap().iter();
        nodes.map(|node| node["counters"][counter].as_u64().unwrap()).max().unwrap()
    };
    let (transmit, receive) = (most("kernel.tx_pendings_max"), most("kernel.rx_pendings_max"));
    // An alltoall goes in rounds: a node never has more than a few messages under way.
    assert!((1..64).contains(&transmit), "{transmit} pendings for transmits");
    assert!((1..64).contains(&receive), "{receive} pendings for receives");
    eprintln!("{ranks} ranks, {what}: {} MiB, {transmit} and {receive} pendings", memory >> 20);
}

#[test]
fn two_hundred_and_fifty_six_ranks_meet() {
    collective(256, "barrier");
}

#[test]
fn alltoall_lives_within_the_firmwares_resources() {
    collective(128, "alltoall");
}

#[test]
#[ignore = "minutes: make soak"]
fn a_thousand_ranks_meet_sum_and_exchange() {
    for what in ["barrier", "allreduce", "alltoall"] {
        collective(1024, what);
    }
}

#[test]
#[ignore = "minutes: make soak"]
fn four_thousand_nodes_run_built_in_workloads() {
    for workload in ["builtin:barrier 1", "builtin:allreduce 8 1", "builtin:halo 64 1"] {
        let ended = run(&format!("-q -n 4096 {workload}"));
        assert!(ended.went_well().stdout.contains("4096 ranks, 1 times"), "{ended:#?}");
    }
}

/// Built-in workloads run without processes; each checks every byte that it receives.
#[test]
fn built_in_workloads_run_without_processes() {
    for workload in [
        "pingpong 1000 3",
        "barrier 3",
        "allreduce 64 3",
        "alltoall 64 3",
        "halo 200 3",
        "exchange 500 3",
        "traffic 3000 3",
    ] {
        let name = workload.split(' ').next().unwrap();
        let ended = run(&format!("-q -n 12 builtin:{workload}"));
        let stdout = &ended.went_well().stdout;
        assert!(stdout.starts_with(name) && stdout.contains("12 ranks, 3 times: "), "{stdout}");
    }
}

#[test]
fn a_workload_that_is_not_there_is_a_mistake() {
    run("-n 2 builtin:sort").said(2, &["no built-in workload 'sort'", "pingpong, barrier"]);
    run("builtin:pingpong").said(2, &["needs 2 ranks"]);
    run("-n 2 builtin:halo much").said(2, &["[BYTES] [TIMES]", "'much' is no number"]);
    // It reduced more bytes than it was told to.
    run("-n 2 builtin:allreduce 9").said(2, &["allreduce adds doubles", "multiple of 8, not 9"]);
}

#[test]
fn more_ranks_than_open_files_is_a_mistake() {
    let sunstar = command();
    let mut limited = Command::new("sh");
    let script = "ulimit -n 40 && exec \"$0\" run -n 30 examples/hello.c";
    limited.arg("-c").arg(script).arg(sunstar.get_program()).current_dir(crate::runner::root());
    limited.envs(sunstar.get_envs().filter_map(|(name, value)| Some((name, value?))));
    ended(&mut limited).said(2, &["30 ranks need", "the system allows 40", "ulimit"]);
}
