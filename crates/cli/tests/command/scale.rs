//! Many ranks, and workloads without processes.

use crate::runner::{command, ended, run};
use std::process::Command;

fn collective(ranks: u64, what: &str) {
    let ended = run(&format!("-q -n {ranks} tests/network/scale.c {what}"));
    let sum = ranks * (ranks - 1) / 2;
    let expected = format!("{ranks} ranks, 0 wrong bytes, sum {sum}\n");
    assert_eq!(ended.went_well().stdout, expected);
}

#[test]
fn two_hundred_and_fifty_six_ranks_meet() {
    collective(256, "barrier");
}

#[test]
fn alltoall_lives_within_the_firmwares_resources() {
    collective(64, "alltoall");
}

#[test]
#[ignore = "takes minutes"]
fn a_thousand_ranks_meet_sum_and_exchange() {
    for what in ["barrier", "allreduce", "alltoall"] {
        collective(1024, what);
    }
}

#[test]
#[ignore = "takes minutes"]
fn four_thousand_nodes_run_built_in_workloads() {
    for workload in ["builtin:barrier 1", "builtin:allreduce 8 1", "builtin:halo 64 1"] {
        let ended = run(&format!("-q -n 4096 {workload}"));
        assert!(ended.went_well().stdout.contains("4096 ranks, 1 times"), "{ended:#?}");
    }
}

/// Each checks every byte that it receives.
#[test]
fn built_in_workloads_run_without_processes() {
    for workload in
        ["pingpong 1000 3", "barrier 3", "allreduce 64 3", "alltoall 64 3", "halo 200 3"]
    {
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
