//! Machine `amata`: cards with a LANai that executes its control program, behind source-routed switches.

use crate::runner::{unjudged, Ended};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

fn report(line: &str) -> Value {
    let ended = unjudged(&format!("run --json - -q -m amata {line}"));
    assert_eq!(ended.code, 0, "{ended:#?}");
    serde_json::from_str(&ended.stdout).unwrap_or_else(|why| panic!("{why}: {ended:#?}"))
}

/// A counter of each node.
fn counters(report: &Value, name: &str) -> Vec<u64> {
    let nodes = report["nodes"].as_array().unwrap();
    nodes.iter().map(|node| node["counters"][name].as_u64().unwrap()).collect()
}

/// All that is the same for equal runs.
fn result(line: &str) -> [Value; 3] {
    let report = report(line);
    ["trace_hash", "simulated_ns", "nodes"].map(|key| report[key].clone())
}

/// Bytes of a packet beside its payload: header; and on a link the CRC-32 and CRC-8.
const HEADER: u64 = 16;
const CRCS: u64 = 5;

#[test]
fn packets_go_to_and_fro_with_all_their_bytes() {
    for (bytes, times) in [(1, 3), (8, 20), (1001, 5), (65_520, 2)] {
        let report = report(&format!("-n 2 builtin:myrinet-pingpong {bytes} {times}"));
        for name in ["tx.packets", "rx.packets", "myrinet.blocks", "myrinet.interrupts"] {
            assert_eq!(counters(&report, name), [times, times], "{name} of {bytes} bytes");
        }
        let came = times * (bytes + HEADER + CRCS);
        assert_eq!(counters(&report, "rx.bytes"), [came, came]);
        // The switch has taken the route byte off.
        assert_eq!(counters(&report, "tx.bytes"), [came + times, came + times]);
        let moved = times * (bytes + HEADER);
        assert_eq!(counters(&report, "myrinet.bytes_moved"), [moved, moved]);
        assert_eq!(counters(&report, "myrinet.wrong_crc8"), [0, 0]);
        assert_eq!(counters(&report, "myrinet.wrong_crc32"), [0, 0]);
    }
}

#[test]
fn sixteen_nodes_behind_three_switches_reach_one() {
    let line = "-n 16 builtin:myrinet-incast 200 2";
    let report = report(line);
    assert_eq!(counters(&report, "rx.packets")[0], 30);
    assert_eq!(counters(&report, "rx.bytes")[0], 30 * (200 + HEADER + CRCS));
    // A route byte a switch: nodes 0 to 5 stand at the first, 6 to 11 at the second.
    let sent = |hops: u64| 2 * (200 + HEADER + CRCS + hops);
    assert_eq!(
        counters(&report, "tx.bytes")[1..],
        [[sent(1); 5].as_slice(), &[sent(2); 6], &[sent(3); 4]].concat()
    );
    assert_eq!(counters(&report, "myrinet.held"), [0; 16]);
}

#[test]
fn one_run_has_one_hash() {
    for (line, others) in [
        ("-n 2 builtin:myrinet-pingpong 8 10", &["-t 2", "--no-park"][..]),
        ("-n 2 builtin:myrinet-stream 3000 2", &["-t 2", "--no-park"]),
        ("-n 16 builtin:myrinet-incast 16 1", &["-t 2", "--no-park"]),
    ] {
        let first = result(line);
        for other in others {
            assert_eq!(result(&format!("{other} {line}")), first, "{other} {line}");
        }
    }
    let hash = |line: &str| result(line)[0].clone();
    let pingpong = hash("-n 2 builtin:myrinet-pingpong 8 10");
    assert_ne!(hash("-n 2 builtin:myrinet-pingpong 9 10"), pingpong);
    assert_ne!(hash("-n 2 --set myrinet.cable=60ns builtin:myrinet-pingpong 8 10"), pingpong);
}

/// A packet takes longer over more switches, a longer cable, a slower bus, a slower processor.
#[test]
fn time_comes_from_the_parts() {
    let time = |settings: &str| {
        let line = format!("-n 2 {settings} builtin:myrinet-pingpong 512 3");
        report(&line)["simulated_ns"].as_f64().unwrap()
    };
    let plain = time("");
    for slower in [
        "lanai.clock=33MHz",
        "myrinet.cable=1us",
        "myrinet.rate=100MB/s",
        "myrinet.route=2us",
        "myrinet.pci_clock=16MHz",
        "myrinet.driver=2us",
        "host.interrupt_entry=4us",
    ] {
        assert!(time(&format!("--set {slower}")) > plain, "{slower}");
    }
}

/// A sweep has a copy of all that its runs read, the control program as well.
#[test]
fn sweeps_run_on_it() {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("table.csv");
    let vary = "--vary lanai.clock=33MHz,66MHz builtin:myrinet-pingpong 8 2";
    let ended = unjudged(&format!("sweep -n 2 -m amata --out {} {vary}", table.display()));
    assert_eq!(ended.code, 0, "{ended:#?}");
    let table = std::fs::read_to_string(table).unwrap();
    let row = |clock: &str| {
        let row = table.lines().find(|line| line.starts_with(clock)).unwrap();
        let cells: Vec<&str> = row.split(',').collect();
        assert_eq!(cells[2], "0", "{table}");
        cells[1].parse::<f64>().unwrap()
    };
    assert!(row("33,") > row("66,"), "{table}");
}

#[test]
fn programs_with_mpi_are_refused_with_the_models_name() {
    let refused = |line: &str, words: &[&str]| {
        unjudged(line).said(2, words);
    };
    let own = ["model myrinet", "neither MPI", "builtin:myrinet-pingpong"];
    refused("run -n 2 -m amata examples/pingpong.c", &own);
    refused("run -n 2 -m amata builtin:pingpong", &own);
    refused("run -n 2 -m amata --judge builtin:myrinet-stream", &["--judge", "model myrinet"]);
    refused("run -n 1 -m amata builtin:myrinet-stream", &["needs 2 ranks"]);
    refused("run -n 2 -m amata builtin:myrinet-stream 65521", &["1 to 65520"]);
    refused("run -n 2 -m amata builtin:myrinet-stream 8 0", &["TIMES"]);
    refused("run -n 2 -m amata builtin:myrinet-stream x", &["'x' is no number"]);
    refused("run -n 37 -m amata builtin:myrinet-incast", &["37 nodes", "myrinet.ports"]);
    refused(
        "run -n 2 -m amata --set host.ranks_per_node=2 builtin:myrinet-stream",
        &["ranks_per_node"],
    );
    refused(
        "run -n 2 -m redstorm builtin:myrinet-stream",
        &["model myrinet", "not of model seastar"],
    );
    refused("fw -m amata", &["control program", "model myrinet"]);
    refused("run -n 2 -m amata --set myrinet.go=64B builtin:myrinet-stream", &["myrinet.go"]);
}

#[test]
fn runs_end_as_on_any_machine() {
    let until = unjudged("run -q -n 2 -m amata --until 20us builtin:myrinet-pingpong 8 100");
    until.said(124, &["stopped at 20.000 us"]);
    // The driver that has lost an interrupt waits for ever, and so does the other one.
    let lost = "--fault interrupt.lost=1";
    let ended: Ended =
        unjudged(&format!("run -q -n 2 -m amata {lost} builtin:myrinet-pingpong 8 9"));
    ended.said(1, &["deadlock", "rank 0 waits for a packet"]);
}

/// A control program that was built with a wild store (PLANT=7) ends the run, by function and line.
#[test]
fn a_fault_of_the_control_program_names_function_and_line() {
    let folder = tempfile::tempdir().unwrap();
    let here = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).canonicalize().unwrap();
    let images = folder.path().join("build/firmware/lanai");
    std::fs::create_dir_all(&images).unwrap();
    for name in ["machines", "include", "build/lib"] {
        std::os::unix::fs::symlink(here.join(name), folder.path().join(name)).unwrap();
    }
    let make = Command::new("make")
        .args(["--silent", "PLANT=7", "-C"])
        .arg(here.join("firmware/lanai"))
        .arg(format!("BUILD={}", images.display()))
        .output()
        .unwrap();
    assert!(make.status.success(), "{}", String::from_utf8_lossy(&make.stderr));
    let ended = Command::new(env!("CARGO_BIN_EXE_sunstar"))
        .args(["run", "-q", "-n", "2", "-m", "amata", "builtin:myrinet-pingpong"])
        .env("SUNSTAR_ROOT", folder.path())
        .output()
        .unwrap();
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    let said = String::from_utf8_lossy(&ended.stderr);
    for words in ["node 1: the control program", "guard region", "receive_step", "port.h:"] {
        assert!(said.contains(words), "{said}");
    }
}
