//! Processes whose match lists are on the network interface (machine redstorm-accelerated): they have the
//! same results as the kernel's processes, also beside those on the same and on other nodes, and get no
//! interrupts.

mod random;
mod room;

use crate::runner::{json, run, sunstar, Ended};
use serde_json::Value;

const MACHINE: &str = "--machine redstorm-accelerated";

/// A counter of a run, of all nodes together.
pub(crate) fn counter(run: &Value, name: &str) -> u64 {
    let nodes = run["nodes"].as_array().unwrap();
    nodes.iter().map(|node| node["counters"][name].as_u64().unwrap_or(0)).sum()
}

/// The lines of the program's output, sorted: ranks print side by side.
pub(crate) fn lines(ended: &Ended) -> Vec<&str> {
    let mut lines: Vec<&str> = ended.went_well().stdout.lines().collect();
    lines.sort_unstable();
    lines
}

#[test]
fn programs_see_what_they_see_in_the_kernel() {
    for program in [
        "-n 2 tests/judge/mixed.c",
        "-n 2 tests/judge/matching.c",
        "-n 8 --ranks-per-node 2 tests/mpi/messages.c",
        "-n 4 --ranks-per-node 2 tests/mpi/collectives.c",
        "-n 3 tests/mpi/datatypes.c",
        "-n 5 --ranks-per-node 2 tests/portals/places.c",
        "-n 4 tests/portals/leave.c",
    ] {
        let kernel = run(&format!("-q {program}"));
        let nic = run(&format!("-q {MACHINE} {program}"));
        assert_eq!(lines(&kernel), lines(&nic), "{program}");
    }
}

/// Accelerated Portals has no interrupts (brightwell2007), between nodes and on one node (VN).
#[test]
fn no_interrupt_comes() {
    for program in ["-n 2 examples/portals_put.c", "-n 4 --ppn 2 examples/allreduce.c"] {
        let nic = json(&format!("-q {MACHINE} {program}"));
        assert_eq!(counter(&nic, "nic.interrupts"), 0, "{program}");
        assert!(counter(&nic, "tx.messages") > 0, "{program}");
        let kernel = json(&format!("-q {program}"));
        assert!(counter(&kernel, "nic.interrupts") > 0, "{program}");
    }
}

/// MPI posts receives without waiting for the network interface; a receive that a message has overtaken is
/// refused, and searches the messages first. The run is judged, like all here.
#[test]
fn posts_that_messages_overtake_keep_their_order() {
    for options in ["-n 3", "-n 3 --ppn 2", "-n 3 -t 2 --set mpi.eager_limit=600B"] {
        let run = json(&format!("-q {MACHINE} {options} tests/judge/overtaken.c"));
        assert!(counter(&run, "nic.posts_refused") > 20, "{options}");
    }
}

/// Accelerated processes run beside generic ones on the same node, and beside nodes that run Linux: these are
/// always generic, because their memory is not contiguous, and PtlNIInit returns the limits of generic ones.
#[test]
fn accelerated_and_generic_processes_meet() {
    for program in [
        "-n 4 --ppn 2 --set firmware.accelerated=1 tests/mpi/collectives.c",
        "-n 4 --set host.linux_nodes=2 tests/mpi/collectives.c",
        "-n 4 --ppn 2 --set host.linux_nodes=1 --set firmware.accelerated=1 examples/ring.c",
        "-n 10 --ppn 2 --set host.linux_nodes=2 --set host.echo=on tests/portals/echo.c 2",
    ] {
        let ended = run(&format!("-q {MACHINE} {program}"));
        ended.went_well();
    }
    let linux = json(&format!("-q {MACHINE} -n 2 --set host.os=linux examples/ring.c"));
    assert!(counter(&linux, "nic.interrupts") > 0);
}

/// Users of Portals in the kernel (kbridge) on Catamount, with the library in the kernel, and on the network
/// interface if there is a place.
#[test]
fn users_in_the_kernel_are_on_the_network_interface_too() {
    let interrupts = |options: &str| {
        let echo = json(&format!("-q {options} --set host.echo=all tests/portals/echo.c 3"));
        counter(&echo, "nic.interrupts")
    };
    let kernel = interrupts("-n 3 --machine redstorm");
    // The loopback has the only place, and no interrupts: every process has.
    let beside = interrupts(&format!("-n 3 {MACHINE} --set firmware.accelerated=1"));
    assert!(beside < kernel, "{beside} {kernel}");
    // MPI has the second place.
    assert!(interrupts(&format!("-n 3 {MACHINE}")) < beside);
    interrupts(&format!("-n 3 {MACHINE} --set host.linux_nodes=1"));
    interrupts(&format!("-n 6 --ppn 2 {MACHINE}"));
}

/// The time in which the firmware searches match lists is told for each rank and message: it is what the
/// processor spends there, and what is around that.
#[test]
fn account_and_explain_tell_the_time_of_the_firmware_s_searches() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("profile.json");
    let program = format!("-q -n 2 {MACHINE} tests/judge/matching.c");
    let words = ["profile", "--json", file.to_str().unwrap()];
    sunstar(words.into_iter().chain(program.split_whitespace())).went_well();
    let profile: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let run = json(&program);
    let account = run["account"].as_array().unwrap();
    let told: u64 = account.iter().map(|rank| rank["walking_ps"].as_u64().unwrap()).sum();
    // 500 MHz.
    let functions = profile["functions"].as_array().unwrap();
    let search = functions.iter().find(|function| function["function"] == "match_request");
    let spent = 2000 * search.unwrap()["with_callees"].as_u64().unwrap();
    println!("{told} ps, {spent} ps");
    assert!(spent > 0 && (spent..3 * spent).contains(&told), "{told} of {spent} ps");
    let explained = sunstar(["explain", "--rank", "1"].into_iter().chain(program.split(' ')));
    let told = &explained.went_well().stdout;
    let line = told.lines().find(|line| line.contains("messages walked")).unwrap();
    assert!(line.contains(" us in the firmware"), "{line}");
    let words = ["explain", "--slowest", "2"].into_iter().chain(program.split(' '));
    let told = sunstar(words).went_well().stdout.clone();
    assert!(
        told.contains("entries of the posted list, ") && told.contains(" each; firmware"),
        "{told}"
    );
}

#[test]
fn neither_threads_nor_parking_nor_the_kind_of_boot_change_anything() {
    for line in ["-n 9 --ranks-per-node 2 examples/allreduce.c", "-n 3 tests/cli/traffic.c"] {
        let hash = |options: &str| {
            let run = json(&format!("{options} -q {MACHINE} {line}"));
            run["trace_hash"].as_str().unwrap().to_string()
        };
        assert_eq!(hash(""), hash("-t 2 --no-park --cold-boot --no-merge"), "{line}");
    }
}

/// All add to a number of each process, over the network and within a node. With two ranks on a node MPI has
/// its places on the network interface, so numbers there are the kernel's; that of a rank alone is the
/// firmware's.
#[test]
fn two_processes_of_a_node_own_what_all_add_to() {
    for (options, on_the_nic) in [
        ("-n 3", 3),
        ("-n 2 --ppn 2", 0),
        ("-n 5 --ppn 2", 1),
        ("-n 5 --ppn 2 --fault pool.streams=2", 1),
        ("-n 3 --ppn 2 -t 2 --set firmware.overflow=panic", 1),
        ("-n 3 --ppn 2 --set firmware.accelerated=1", 0),
    ] {
        let adds = json(&format!("-q {MACHINE} {options} tests/portals/adds.c"));
        let ranks = adds["ranks"].as_u64().unwrap();
        assert_eq!(counter(&adds, "nic.atomics"), on_the_nic * ranks * 25, "{options}");
    }
}

/// Nobody tells the firmware that a process's memory is gone: what it stores or reads there is the program's
/// fault, and named.
#[test]
fn memory_that_a_descriptor_had_must_stay() {
    let gone = run(&format!("-q {MACHINE} -n 2 tests/portals/gone.c"));
    gone.said(1, &["node 1: the NIC read from address 0x", "the program has no such memory"]);
}

/// Puts that are refused for their arguments count nowhere, also in the firmware's copy of the descriptor.
#[test]
fn a_refused_put_uses_nothing_up() {
    for machine in ["--machine redstorm", MACHINE] {
        let run = run(&format!("-q {machine} -n 2 tests/portals/refused_put.c"));
        assert_eq!(run.went_well().stdout, "refused: 1 1\ngot 5 with 99\n", "{machine}");
    }
}

/// Atomic operations on the memory of accelerated processes are performed by the firmware, and by no kernel.
#[test]
fn atomic_operations_are_the_firmware_s() {
    let line = format!("-q {MACHINE} -n 2 examples/portals_getadd.c");
    assert!(run(&line).went_well().stdout.contains("the number is 430"), "{line}");
    assert_eq!(counter(&json(&line), "nic.atomics"), 110);
    are_the_firmware_s(&["-n 4", "-n 5 --fault pool.streams=2", "-n 4 --ppn 2"]);
}

#[test]
#[ignore = "ten seconds: make soak"]
fn atomic_operations_are_the_firmware_s_on_any_machine() {
    are_the_firmware_s(&[
        "-n 5 --set firmware.overflow=panic",
        "-n 4 --ppn 2 --set firmware.accelerated=1",
        "-n 3 --set firmware.inline=off",
    ]);
}

fn are_the_firmware_s(runs: &[&str]) {
    for options in runs {
        let nic = json(&format!("-q {MACHINE} {options} tests/portals/atomics.c"));
        // With two ranks on a node MPI has the places that there are.
        assert_eq!(counter(&nic, "nic.atomics") > 0, !options.contains("--ppn"), "{options}");
        let kernel = options.split(" --set").next().unwrap();
        let kernel = run(&format!("-q {kernel} tests/portals/atomics.c"));
        kernel.went_well();
    }
}
