//! Results of runs with faults from the command line (docs/reference/faults.md). Some tests of faults of
//! links are in network.rs.

use crate::runner::{run, sunstar, Ended};

/// Four ranks in a row that exchange random messages and check each byte.
fn traffic(faults: &str) -> Ended {
    run(&format!("-q -n 4 --set net.topology=row {faults} builtin:traffic 20000 3"))
}

/// The same with messages short enough that hosts matter, and not DMA alone.
fn short_traffic(faults: &str) -> Ended {
    run(&format!("-q -n 4 --set net.topology=row {faults} builtin:traffic 3000 10"))
}

/// The time that a workload prints, in microseconds.
fn time(ended: &Ended) -> f64 {
    let words: Vec<&str> = ended.went_well().stdout.split_whitespace().collect();
    words[words.len() - 3].parse().unwrap()
}

/// A counter of all nodes together, from the JSON.
fn counter(line: &str, name: &str) -> u64 {
    let ended = run(&format!("-q --json - {line}"));
    let json: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    let nodes = json["nodes"].as_array().unwrap();
    nodes.iter().map(|node| node["counters"][name].as_u64().unwrap()).sum()
}

#[test]
fn the_list_names_every_kind() {
    let all = sunstar(["faults"]);
    for word in
        ["link.drop=SHARE[@NODE|@NODE-NODE][@TIME[..TIME]]", "Expected:", "--seed", "NUMBER is"]
    {
        assert!(all.went_well().stdout.contains(word), "{all:#?}");
    }
    let few = sunstar(["faults", "interrupt."]);
    assert!(!few.went_well().stdout.contains("link."), "{few:#?}");
    sunstar(["faults", "sun"]).said(2, &["no fault like sun"]);
}

/// Faults after the program's end have no effect.
#[test]
fn a_line_that_gets_stuck_after_the_end_changes_nothing() {
    let plain = time(&run("-q -n 2 builtin:barrier 3"));
    for at in ["10ms", "18446744072ms"] {
        let stuck = run(&format!("-q -n 2 --fault interrupt.stuck=high@{at} builtin:barrier 3"));
        assert_eq!(time(&stuck), plain);
    }
}

#[test]
fn time_is_all_that_delays_cost() {
    let plain = time(&short_traffic(""));
    for (faults, least) in [
        ("--fault link.delay=0.1:1us", 1.02),
        ("--fault interrupt.late=0.5:5us", 1.1),
        ("--fault host.slow=3", 2.0),
        ("--fault host.slow=3@1", 1.1),
        ("--fault host.pause=40us@1@20us", 1.05),
        ("--fault host.pause=2us:4us", 1.4),
        ("--fault pool.tx_pendings=1", 1.01),
        ("--fault pool.event_slots=2048", 1.0),
        ("--fault pool.streams=4", 1.0),
    ] {
        let slow = time(&short_traffic(faults));
        assert!(slow >= plain * least, "{faults}: {slow} instead of {plain}");
    }
    // Over before it begins.
    let over = "--fault host.slow=9@1@900ms --fault link.drop=1@0ns..1ns";
    assert_eq!(time(&short_traffic(over)), plain);
}

#[test]
fn interrupts_that_are_lost_stop_who_waits() {
    let deadlock = "deadlock: nothing in the machine moves any more";
    let waits = "node 1: interrupts were lost, and the firmware's events wait for the next";
    run("-q -n 2 --fault interrupt.lost=0.1@1 builtin:pingpong 8 20").said(1, &[deadlock, waits]);
    run("-q -n 2 --fault interrupt.stuck=low@0@30us builtin:pingpong 8 20")
        .said(1, &[deadlock, "node 0: an interrupt was lost"]);
    // Another one comes and brings what waits.
    let line = "-n 4 --seed 3 --fault interrupt.lost=0.02@1 builtin:traffic 2000 3";
    assert!(counter(line, "nic.interrupts_lost") > 0);
    let stuck = "node 1: 500 interrupts in a row found no event: the line is stuck";
    run("-q -n 2 --set portals.empty_interrupts=500 --fault interrupt.stuck=high@1@30us \
         builtin:pingpong 8 20")
    .said(1, &[stuck]);
}

/// An interrupt whose event has already been taken finds none, which is no fault.
#[test]
fn a_sound_line_is_not_given_up() {
    let least = |value: u32| format!("-q -n 4 --set portals.empty_interrupts={value}");
    for more in ["", "-m redstorm-linux", "--set host.interrupt_entry=0ns"] {
        run(&format!("{} {more} builtin:traffic 2000 3", least(16))).went_well();
    }
    run(&format!("{} builtin:barrier 1", least(15)))
        .said(2, &["portals.empty_interrupts", "allowed is 16"]);
}

#[test]
fn pools_that_run_out_stop_the_node() {
    traffic("--fault pool.rx_pendings=2@1").said(1, &["node 1", "no receive pending is free"]);
    traffic("--fault pool.sources=1").said(1, &["all source structures are in use"]);
    traffic("--fault pool.event_slots=512@2")
        .said(1, &["node 2", "the event ring", "pool.event_slots"]);
    let streams = "more messages in flight than the receive engine can demultiplex";
    traffic("--fault pool.streams=2@2").said(1, &["node 2", streams]);
}

/// Neither library nor firmware detects a message of one packet that comes twice or behind another; within a
/// message the CRC does.
#[test]
fn what_comes_twice_or_late_is_counted_or_fails() {
    let failed = "the network lost or damaged the message";
    run("-q -n 2 --fault link.duplicate=#20@0-1 builtin:pingpong 20000 1").said(1, &[failed]);
    run("-q -n 2 --fault link.overtake=#20:1us@0-1 builtin:pingpong 20000 1").said(1, &[failed]);
    let twice = "-n 2 --fault link.duplicate=#1@0 builtin:barrier 2";
    assert_eq!(counter(twice, "niccb.sequence_errors"), 1);
    assert_eq!(counter(twice, "net.link_doubled"), 1);
    let ended = run(twice);
    assert!(ended.stdout.contains("silent on 2 nodes"), "{ended:#?}");
}

/// Faults are a function of machine, program and seed, however the run is simulated.
#[test]
fn faults_strike_the_same_however_it_is_simulated() {
    let faults = "--fault link.delay=0.05:700ns --fault interrupt.late=0.2:3us@1 \
                  --fault host.slow=1.7@2 --fault host.pause=3us:50us@0 \
                  --fault pool.tx_pendings=2 --fault pool.streams=5@3";
    let hash = |more: &str| {
        let ended = run(&format!("-n 6 --seed 5 {faults} {more} builtin:traffic 60000 2"));
        let stdout = &ended.went_well().stdout;
        stdout.lines().find(|line| line.starts_with("Trace hash")).unwrap().to_string()
    };
    let plain = hash("");
    for more in ["-t 2", "--no-park", "--no-merge", "--cold-boot"] {
        assert_eq!(hash(more), plain, "{more}");
    }
    // Interrupts and hosts do not keep streams from being skipped.
    let merged = "--fault host.slow=1.5 --fault interrupt.late=1:1us builtin:pingpong 400000 2";
    let hash = |more: &str| run(&format!("-n 2 {more} {merged}")).went_well().stdout.clone();
    let of = |text: String| {
        text.lines().find(|line| line.starts_with("Trace hash")).map(str::to_string).unwrap()
    };
    assert_eq!(of(hash("")), of(hash("--no-merge")));
}
