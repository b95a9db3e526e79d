//! Recovery on the network interface (`firmware.overflow=nic`) and by the host (`host`): whatever resource runs
//! out, programs end with every byte right. All runs are judged.

use crate::accelerated::counter;
use crate::runner::{compiled, json, run};
use crate::seeds::number;
use std::path::Path;

const NIC: &str = "-q --machine redstorm-accelerated";
const HOST: &str = "-q --machine redstorm --set firmware.overflow=host";

/// Programs end well although streams, pendings and sources run out; senders are refused, called, and send
/// again.
#[test]
fn nothing_that_runs_out_stops_a_program() {
    for line in [
        "-n 6 --fault pool.streams=1 tests/mpi/messages.c",
        "-n 9 --fault pool.streams=4 tests/network/flood.c 20",
        "-n 20 --fault pool.streams=2 builtin:incast 3000 2",
        "-n 6 --fault pool.rx_pendings=8 tests/network/flood.c 20",
        "-n 6 --fault pool.sources=3 tests/mpi/collectives.c",
        "-n 6 --set portals.accelerated_tx_pendings=376 tests/network/flood.c 100",
    ] {
        let run = json(&format!("{NIC} {line}"));
        assert!(counter(&run, "niccb.refused") > 0, "{line}");
        assert_eq!(counter(&run, "niccb.refused"), counter(&run, "niccb.called"), "{line}");
    }
}

/// The same by the hosts' kernels.
#[test]
fn nothing_that_runs_out_stops_a_program_of_a_kernel_that_recovers() {
    for line in [
        "-n 6 --fault pool.streams=1 tests/mpi/messages.c",
        "-n 9 --fault pool.streams=4 tests/network/flood.c 20",
        "-n 20 --fault pool.streams=2 builtin:incast 3000 2",
        "-n 6 --fault pool.rx_pendings=1 tests/network/flood.c 20",
        "-n 6 --fault pool.sources=1 tests/mpi/collectives.c",
        "-n 8 --ranks-per-node 2 --set portals.tx_pendings=1272 tests/mpi/messages.c",
        "-n 4 --set host.os=linux --set portals.tx_pendings=1272 tests/mpi/messages.c",
    ] {
        let run = json(&format!("{HOST} {line}"));
        assert!(counter(&run, "niccb.refused") > 0, "{line}");
        let (refused, called) = (counter(&run, "kernel.refused"), counter(&run, "kernel.called"));
        assert!(called > 0 && counter(&run, "kernel.repeated") >= called, "{line}");
        // A refusal that is called at once is one packet.
        assert!(refused <= called, "{line}: {refused} {called}");
    }
}

/// Room in MPI's queue for unexpected messages is a resource, too: without recovery it ends the program.
#[test]
fn unexpected_messages_wait_at_their_senders_if_the_kernel_recovers() {
    let few = "-n 4 --set mpi.unexpected_events=32 tests/network/flood.c 100";
    run(&format!("-q {few}")).said(1, &["more unexpected messages"]);
    let run = json(&format!("{HOST} {few}"));
    assert_eq!(counter(&run, "niccb.refused"), 0);
    assert!(counter(&run, "kernel.turned_away") > 0 && counter(&run, "kernel.called") > 0);
}

/// An empty message causes no packet of the control class if nothing runs out.
#[test]
fn the_kernel_s_recovery_says_nothing_of_empty_messages_that_come_well() {
    let run = json(&format!("{HOST} -n 2 builtin:pingpong 0 7"));
    for name in ["refused", "called", "repeated", "turned_away", "taken"] {
        assert_eq!(counter(&run, &format!("kernel.{name}")), 0, "{name}");
    }
}

/// Answers do not wait for one another, although they hold pendings until they are taken, so that all nodes'
/// pendings could hold answers.
#[test]
fn answers_do_not_wait_for_one_another() {
    let program = "-n 8 --ranks-per-node 2 tests/mpi/messages.c";
    run(&format!("{NIC} --set portals.accelerated_tx_pendings=380 {program}")).went_well();
}

#[test]
fn a_machine_that_cannot_recover_says_what_to_do() {
    for (option, words) in [
        ("--set portals.accelerated_tx_pendings=383", "set it to 382 or less"),
        ("--set firmware.sources=2", "set firmware.sources=3 or more"),
        ("--set firmware.trace=on", "set firmware.overflow=panic to trace"),
        ("--fault pool.rx_pendings=1", "give it 2 or more"),
        ("--set firmware.overflow=host", "set firmware.overflow=nic"),
    ] {
        let ended = run(&format!("{NIC} -n 2 {option} examples/pingpong.c"));
        assert!(ended.code != 0 && ended.stderr.contains(words), "{ended:#?}");
    }
}

/// Messages are refused and repeated also with the kernel's Portals, whose pendings run out when nobody takes
/// messages.
#[test]
fn the_kernel_s_messages_are_refused_and_come_again() {
    let line = "-q --set firmware.overflow=nic -n 6 --set portals.tx_pendings=1268 \
                tests/network/flood.c 100";
    let run = json(line);
    assert!(counter(&run, "niccb.refused") > 0);
}

#[test]
fn threads_and_parking_change_nothing() {
    for machine in [
        format!("{NIC} --set portals.accelerated_tx_pendings=380"),
        format!("{HOST} --fault pool.rx_pendings=4"),
    ] {
        let hash = |options: &str| {
            let run = json(&format!("{options} {machine} -n 5 tests/network/flood.c 20"));
            run["trace_hash"].as_str().unwrap().to_string()
        };
        assert_eq!(hash(""), hash("-t 2 --no-park --cold-boot --no-merge"), "{machine}");
    }
}

/// Runs a random program, judged, on a machine with few resources of a kind: on the network interface, or, with
/// every second seed, by the kernel.
fn lacking(program: &Path, seed: u64) {
    let (by_kernel, kind) = (seed % 2 == 1, seed / 2);
    let lacks = match kind % 3 {
        0 if by_kernel => format!("--fault pool.rx_pendings={}", 1 + kind % 32),
        0 => format!("--set portals.accelerated_tx_pendings={}", 320 + kind % 32),
        1 => format!("--fault pool.streams={}", 1 + kind % 5),
        _ if by_kernel => format!("--fault pool.sources={}", 1 + kind % 4),
        _ => "--set firmware.sources=3".to_string(),
    };
    let machine = if by_kernel { HOST } else { NIC };
    let (ranks, per_node) = (2 + seed % 6, 1 + u64::from(kind % 4 == 0));
    let options = format!("--seed {seed} -n {ranks} --ranks-per-node {per_node} {lacks}");
    eprintln!("sunstar run --judge {machine} {options} tests/soak/random.c {seed}");
    run(&format!("{machine} {options} {} {seed}", program.display())).went_well();
}

/// Runs so many seeds. The last line before a failure repeats it.
fn all_lacking(first: u64, seeds: u64) {
    let folder = tempfile::tempdir().unwrap();
    let program = compiled(folder.path(), "tests/soak/random.c");
    (first..first + seeds).for_each(|seed| lacking(&program, seed));
}

#[test]
fn random_programs_end_well_whatever_runs_out() {
    all_lacking(1, 6);
}

/// Seeds that found faults of the judge: a message that is repeated, and another from the same buffer.
#[test]
fn reads_of_one_buffer_for_two_messages_are_told_apart() {
    all_lacking(21_560, 1);
    all_lacking(60_560, 1);
}

#[test]
#[ignore = "hours: RECOVERY_FIRST and RECOVERY_SEEDS choose the seeds, 10,000 of them by default"]
fn random_programs_with_exhausted_pools_soak() {
    let (first, seeds) = (number("RECOVERY_FIRST", 1000), number("RECOVERY_SEEDS", 10_000));
    all_lacking(first, seeds);
}
