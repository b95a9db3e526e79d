//! Machine `amata`: cards with a LANai that executes its control program, behind source-routed switches.

use crate::runner::{command, ended, unjudged, Ended};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

pub mod messages;

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

/// Results that are the same for equal runs.
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
        for name in ["tx.packets", "rx.packets", "myrinet.blocks", "nic.interrupts"] {
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
    // A route byte for each switch: nodes 0 to 5 are at the first, 6 to 11 at the second.
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

/// A sweep copies all inputs of its runs, the control program as well.
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
    let own = ["model myrinet", "MPI in Linux guests only", "builtin:myrinet-pingpong"];
    refused("run -n 2 -m amata builtin:pingpong", &own);
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

/// Four beats of 10 us are missed, of which the first would have come at 2,040.05 us.
#[test]
fn a_cut_cable_is_noticed_at_both_ends_and_named() {
    let line = "-n 2 --fault cable.dead=1@33us builtin:myrinet-pingpong 8 100";
    let ended = unjudged(&format!("run -q --json - -m amata {line}"));
    let told = [
        "deadlock",
        "rank 0 waits for a packet",
        "node 1 has found its cable silent at 2.070 ms",
        "switch 0 has found the cable at port 1 silent at 2.070 ms",
    ];
    assert_eq!(ended.code, 1, "{ended:#?}");
    assert!(told.iter().all(|words| ended.stderr.contains(words)), "{}", ended.stderr);
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(counters(&report, "myrinet.silences"), [0, 1]);
    let switch = &report["switches"][0]["counters"];
    assert_eq!(switch["silences"], 1);
    // What cards have sent is at the other one, or is lost.
    let sum = |name: &str| counters(&report, name).iter().sum::<u64>();
    let lost = sum("myrinet.bytes_lost") + switch["bytes_lost"].as_u64().unwrap();
    let routes = switch["route_bytes"].as_u64().unwrap();
    assert!(lost > 0);
    assert_eq!(sum("tx.bytes"), sum("rx.bytes") + routes + lost);
    let hash = |threads: u32| {
        let ended = unjudged(&format!("run -q --json - -t {threads} -m amata {line}"));
        let report: Value = serde_json::from_str(&ended.stdout).unwrap();
        report["trace_hash"].clone()
    };
    assert_eq!(hash(2), report["trace_hash"]);
    // Nothing needs a cable that is cut at the end.
    let whole = "-n 3 --fault cable.dead=2 builtin:myrinet-pingpong 8 3";
    unjudged(&format!("run -q -m amata {whole}")).went_well();
    let elsewhere = "run -n 2 --fault cable.dead=1 builtin:pingpong";
    unjudged(elsewhere).said(2, &["cable.dead=1", "no cable.dead", "link.*"]);
    unjudged("run -n 2 -m ideal --fault cable.dead=1 builtin:pingpong").said(2, &["no cable.dead"]);
}

/// An installation whose control program was built with a planted bug (firmware/lanai/core/plant.h).
pub fn faulty(mutant: u32) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let here = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../..")).canonicalize().unwrap();
    let images = folder.path().join("build/firmware/lanai");
    std::fs::create_dir_all(&images).unwrap();
    for name in ["machines", "include", "build/lib"] {
        std::os::unix::fs::symlink(here.join(name), folder.path().join(name)).unwrap();
    }
    let make = Command::new("make")
        .args(["--silent", "-C"])
        .arg(here.join("firmware/lanai"))
        .arg(format!("PLANT={mutant}"))
        .arg(format!("BUILD={}", images.display()))
        .output()
        .unwrap();
    assert!(make.status.success(), "{}", String::from_utf8_lossy(&make.stderr));
    folder
}

/// A control program that was built without the terminal bit of its DMA block (PLANT=1) ends the run, by
/// function; the fast ring has the tour's wild store (`documents`).
#[test]
#[ignore = "ten seconds: firmware is built; make soak"]
fn a_fault_of_the_control_program_names_function_and_line() {
    let words = ["node 1: the card", "no terminal bit", "its processor was in"];
    ends_the_run(1, &words);
}

#[test]
#[ignore = "ten seconds: firmware is built; make soak"]
fn a_wild_store_of_the_control_program_names_function_and_line() {
    ends_the_run(7, &["node 1: the control program", "guard region", "receive_step", "port.h:"]);
}

fn ends_the_run(mutant: u32, words: &[&str]) {
    let folder = faulty(mutant);
    let line = "run -q -n 2 -m amata builtin:myrinet-pingpong";
    ended(command().env("SUNSTAR_ROOT", folder.path()).args(line.split(' '))).said(1, words);
}

/// Sizes by region, each section beside its budget.
#[test]
fn the_control_program_is_listed_with_its_budget() {
    let listing = unjudged("fw -m amata");
    let listing = &listing.went_well().stdout;
    let row = |name: &str| -> Vec<&str> {
        let found = listing.lines().find(|line| line.trim_start().starts_with(name));
        let found = found.unwrap_or_else(|| panic!("no {name} in {listing}"));
        found.trim_start()[name.len()..].split_whitespace().collect()
    };
    let number = |text: &str| text.parse::<u32>().unwrap();
    let flat = number(row("Flat image")[0]);
    let [base, bytes, budget, free] = row("text")[..] else { panic!("{listing}") };
    assert_eq!((base, number(bytes) + number(free)), ("0x000000", number(budget)));
    assert!(number(bytes) > 1000 && number(bytes) <= flat, "{listing}");
    let [base, size, used, free, ..] = row("control program")[..] else { panic!("{listing}") };
    assert_eq!((base, size), ("0x000000", "262144"));
    assert_eq!(number(used), flat + abi::myrinet::STACK_SIZE);
    assert_eq!(number(free), number(size) - number(used));
    assert_eq!(row("routes")[2], "131070", "21,845 routes of six bytes");
    assert!(row("guard")[2] == "0" && row("send buffer")[2] == "65536");
}

fn profile(line: &str) -> Value {
    let ended = unjudged(&format!("profile --json - -q -m amata {line}"));
    assert_eq!(ended.code, 0, "{ended:#?}");
    serde_json::from_str(&ended.stdout).unwrap()
}

/// Every cycle of the processors counts once, for the right function, whether it was skipped or executed.
#[test]
fn a_profile_adds_up() {
    let line = "-n 2 builtin:myrinet-pingpong 64 4";
    let told = profile(line);
    let [hash, ns, _] = result(line);
    assert_eq!(told["trace_hash"], hash);
    let number = |value: &Value| value.as_u64().unwrap();
    let sum = |list: &str| -> u64 {
        let list = told[list].as_array().unwrap();
        list.iter().map(|item| number(&item["cycles"])).sum()
    };
    let (work, idle) = (number(&told["work"]["cycles"]), number(&told["idle"]["cycles"]));
    assert_eq!([sum("functions"), sum("lines"), sum("stacks")], [work; 3]);
    // Two processors of 66 MHz, from the launch until after the last rank has ended.
    let cycles = 2.0 * ns.as_f64().unwrap() * 0.066;
    assert!((work + idle) as f64 >= cycles - 2.0, "{work} + {idle} of {cycles}");
    assert!(((work + idle) as f64) < 1.1 * cycles, "{work} + {idle} of {cycles}");
    let causes = told["work"]["cycles_by_cause"].as_object().unwrap();
    assert_eq!(causes.values().map(number).sum::<u64>(), work);
    assert!(number(&causes["operand"]) > 0 && number(&causes["sleep"]) == 0);
    // A packet takes several turns, and most of the time there is none.
    let turns = [number(&told["work_turns"]), number(&told["idle_turns"])];
    assert!(turns[0] >= 16 && turns[1] > turns[0] / 2, "{turns:?}");
    let functions = told["functions"].as_array().unwrap();
    let with_callees = |name: &str| {
        let function = functions.iter().find(|function| function["function"] == name);
        number(&function.unwrap_or_else(|| panic!("no {name}"))["with_callees"])
    };
    assert_eq!(with_callees("start_c"), work);
    assert!(with_callees("receive_step") > with_callees("look_at_packet"));
    let line_of = |file: &str| told["lines"].as_array().unwrap().iter().any(|l| l["file"] == file);
    assert!(line_of("core/receive.c") && line_of("core/send.c"), "{:#}", told["lines"]);
    for option in ["--no-park", "-t 2"] {
        let mut other = profile(&format!("{option} {line}"));
        other["threads"] = told["threads"].clone();
        assert_eq!(other, told, "{option}");
    }
    let one = profile(&format!("--node 1 {line}"));
    assert_eq!(one["nodes"], serde_json::json!([1]));
    assert!(number(&one["work"]["cycles"]) < work);
    let people = unjudged("profile -n 2 -m amata builtin:myrinet-pingpong 8 2");
    for words in ["idle polling", "receive_step", "core/send.c:", "switch (mcp->send) {"] {
        assert!(people.went_well().stdout.contains(words), "no '{words}' in {people:#?}");
    }
}

/// Bytes that the links put into a switch come out, or are route bytes.
#[test]
fn switches_are_counted() {
    let report = report("-n 16 builtin:myrinet-incast 200 2");
    let switches = report["switches"].as_array().unwrap();
    let counter = |number: usize, name: &str| switches[number]["counters"][name].as_u64().unwrap();
    assert_eq!(switches.len(), 3);
    // Nodes 1 to 5 are at the first, 6 to 11 at the second, 12 to 15 at the third; node 0 receives all.
    let packets = [0, 1, 2].map(|number| counter(number, "packets_out"));
    assert_eq!(packets, [30, 20, 8]);
    for (number, packets) in packets.into_iter().enumerate() {
        assert_eq!(counter(number, "packets_in"), packets);
        assert_eq!(counter(number, "route_bytes"), packets);
        let out = counter(number, "bytes_out") + counter(number, "route_bytes");
        assert_eq!(counter(number, "bytes_in"), out);
    }
    let people = unjudged("run --full -n 2 -m amata builtin:myrinet-pingpong 8 2");
    assert!(people.went_well().stdout.contains("Switches since power-on"), "{people:#?}");
}

/// The functions of the control program are drawn, and drawing changes nothing.
#[test]
fn traces_show_the_functions_of_the_control_program() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace");
    let line = "-n 2 builtin:myrinet-pingpong 8 3";
    assert_eq!(result(&format!("--trace {} {line}", file.display())), result(line));
    let trace = std::fs::read(&file).unwrap();
    let trace = String::from_utf8_lossy(&trace);
    for name in ["firmware", "receive_step", "send_step", "idle", "interrupt", "reads the NIC"] {
        assert!(trace.contains(name), "no '{name}'");
    }
}
