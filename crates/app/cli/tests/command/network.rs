//! Results of runs with the network under load and with faults (tests/network).

use crate::accelerated::counter;
use crate::runner::{json, run, Ended};

/// Runs on four nodes in a row.
fn row(line: &str) -> Ended {
    run(&format!("-q -n 4 --set net.topology=row {line}"))
}

fn rates(ended: &Ended) -> Vec<f64> {
    ended.went_well();
    ended.stdout.lines().map(|line| line.parse().unwrap()).collect()
}

#[test]
fn two_flows_share_a_link() {
    // Slow enough that the link is the narrowest part: 64 bytes in 9 flits of 8 ns are 889 MB/s.
    let slow = "--set net.flit=8ns tests/network/share.c";
    let alone = rates(&row(&format!("{slow} alone")))[0];
    assert!((855.0..889.0).contains(&alone), "{alone}");
    let both = rates(&row(slow));
    let sum = both[0] + both[1];
    assert!((862.0..893.0).contains(&sum) && (both[0] - both[1]).abs() < 4.0, "{both:?}");
}

/// Nothing is lost while the receive engine and the network behind it are full, and the senders wait.
#[test]
fn receives_posted_late_do_not_deadlock_the_machine() {
    for topology in ["row", "mesh", "torus"] {
        let ended = run(&format!("--full -n 5 --set net.topology={topology} tests/network/late.c"));
        assert!(ended.went_well().stdout.contains("0 wrong bytes"), "{ended:#?}");
        let blocked = ended.stdout.lines().find(|line| line.contains("tx.blocked"));
        assert!(blocked.is_some(), "no sender was stopped: {ended:#?}");
    }
}

/// Exchanges on a torus whose queues hold a packet each, the worst place for a deadlock.
#[test]
fn the_smallest_queues_do_not_deadlock() {
    let queues = "--set net.input_queue=10 --set net.output_queue=10 --set net.node_queue=10 \
                  --set nic.rx_buffers=1 --set net.credit_batch=1";
    for topology in ["mesh", "torus"] {
        let line = format!("-q -n 8 --set net.topology={topology} {queues}");
        let ended = run(&format!("{line} tests/network/exchange.c 5000"));
        assert_eq!(ended.went_well().stdout, "8 ranks\n");
    }
}

#[test]
fn threads_change_nothing_about_a_jam_or_a_fault() {
    let hash = |threads: u32| {
        let faults = "--fault link.delay=0.1:700ns --seed 5";
        let ended = run(&format!("-n 8 -t {threads} {faults} tests/network/exchange.c 20000"));
        let stdout = &ended.went_well().stdout;
        stdout.lines().find(|line| line.starts_with("Trace hash")).unwrap().to_string()
    };
    assert_eq!(hash(1), hash(2));
}

/// A node keeps up with one sender of its own kind. With one that enters its kernel faster the firmware still
/// does, but the program does not, and leaves the messages to wait.
const FAST: &str = "--set host.kernel_entry=150ns";

/// MPI's queue for unexpected messages grows, and the time and the room for it are counted; a program that
/// never fills it sees neither.
#[test]
fn a_one_way_stream_of_any_length_ends_well() {
    let grown = |line: &str| {
        let run = json(&format!("-q -n 2 {line}"));
        counter(&run, "kernel.queue_events")
    };
    let flood = "tests/network/flood.c";
    assert!(grown(&format!("{FAST} {flood}")) >= 1024);
    assert_eq!(grown(&format!("{FAST} {flood} 200")), 0);
    assert!(grown(&format!("{FAST} --set mpi.unexpected_queue=16 {flood} 200")) >= 1024);
    // Credits hold the sender back, so that a limit is never reached.
    let credits = "--set mpi.unexpected_events=64 --set mpi.send_credits=12";
    assert_eq!(grown(&format!("{FAST} {credits} {flood} 2000")), 0);
    run(&format!("-q -n 2 --set mpi.unexpected_events=3 {flood} 1"))
        .said(2, &["mpi.unexpected_events is 3", "0 means a queue that grows"]);
}

/// Workloads that exhaust or break something, with the ends of their runs as golden sentences.
#[test]
fn what_the_firmware_cannot_survive_is_told() {
    let flood = "tests/network/flood.c";
    let few = format!("-n 2 {FAST} --set mpi.unexpected_events=8192 {flood}");
    run(&few).said(1, &["rank 1", "more unexpected messages", "mpi.unexpected_events = 8192"]);
    run(&format!("-n 3 {flood}")).said(
        1,
        &[
            "node 2",
            "no receive pending",
            "from node",
            "fewer at a time",
            "--set portals.tx_pendings=N",
        ],
    );
    let damaged = "--fault link.biterror=1e-7 examples/pingpong.c";
    run(&format!("-n 2 {damaged}"))
        .said(1, &["MPI_Recv", "the network lost or damaged the message"]);
    let lost = "--fault link.drop=0.02 examples/pingpong.c";
    run(&format!("-n 2 {lost}")).said(
        1,
        &["deadlock", "MPI_Recv from rank 1", "node 1: a packet was lost on the link to node 0;"],
    );
    for (fault, what) in [
        ("link.duplicate=0.001", "a packet was doubled on the link to node"),
        ("link.overtake=0.01:20us", "packets were held up for others to pass on the link to node"),
        ("link.biterror=3e-6", "a packet was damaged on the link to node"),
    ] {
        run(&format!("-n 2 --fault {fault} examples/pingpong.c"))
            .said(1, &["deadlock", "MPI_Recv from rank 1", what]);
    }
    let dead = "--fault link.dead=0-1@1ms examples/pingpong.c";
    run(&format!("-n 2 {dead}"))
        .said(1, &["deadlock", "waits for the link to node", "which is dead"]);
}

#[test]
fn faults_that_make_no_sense_are_mistakes() {
    for (fault, word) in [("link.drop=2", "from 0 to 1"), ("link.dead=0-2", "no node 2")] {
        run(&format!("-n 2 --fault {fault} examples/hello.c")).said(2, &["--fault", word]);
    }
}
