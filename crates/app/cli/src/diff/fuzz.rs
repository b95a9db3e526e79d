//! Any file of a run is compared, or refused in one sentence.

use super::compare::Diff;
use super::read::{parse, Run};
use super::table::table;
use crate::run::FORMAT;
use crate::terminal::Terminal;
use serde_json::{json, Value};

/// A run with all kinds of data that are compared.
fn run(nanoseconds: f64, counter: u64) -> Value {
    json!({
        "format": FORMAT,
        "sunstar": "0.1.0",
        "program": "examples/pingpong.c",
        "program_digest": "00ff",
        "arguments": ["8", "20"],
        "machine": {
            "name": "redstorm",
            "faults": ["link.drop=0.1"],
            "values": {
                "net.route": { "value": "20 ns", "source": "assumed" },
                "host.cores": { "value": "1" },
            },
        },
        "ranks": 2,
        "seed": 1,
        "compute": "none",
        "exit": { "code": 0, "sentences": [] },
        "simulated_ns": nanoseconds,
        "trace_hash": format!("{counter:x}"),
        "breakdowns": [
            {
                "kind": "send", "protocol": "eager", "bytes_least": 8, "bytes_most": 8,
                "messages": 3,
                "steps": [
                    { "name": "wire", "sum_ps": counter },
                    { "name": "interrupt", "sum_ps": 1500 },
                ],
            },
            {
                "kind": "send", "protocol": "header", "bytes_least": counter, "bytes_most": counter,
                "messages": 1, "steps": [{ "name": "wire", "sum_ps": 7 }],
            },
        ],
        "messages": { "ended": counter },
        "account": [
            {
                "rank": 0, "computes_ps": counter, "sleeps_ps": counter,
                "calls": [{
                    "call": "MPI_Recv", "times": counter, "library_ps": counter, "kernel_ps": 1,
                    "nic_ps": counter, "network_ps": 0, "late_sender_ps": counter,
                    "late_receiver_ps": 2, "imbalance_ps": 3,
                }],
            },
        ],
        "firmware": {
            "busy_cycles": counter,
            "options": "CACHE=id",
            "image": "aa",
            "messages": 7,
            "functions": [{ "function": "main", "cycles": counter }],
        },
        "nodes": [
            { "counters": { "tx.packets": counter, "depth_max": 1 }, "host_ns": { "mpi": 2.0 } },
            { "counters": { "tx.packets": counter }, "host_ns": { "mpi": nanoseconds } },
        ],
    })
}

fn text(run: &Value) -> Vec<u8> {
    serde_json::to_vec(run).unwrap()
}

fn compared(a: &Run, b: &Run) -> Diff {
    let diff = Diff::of(a, b);
    let terminal = Terminal { colour: false, unicode: true, width: 80 };
    assert!(!table(&diff, &terminal).is_empty());
    assert!(serde_json::to_string(&diff).is_ok());
    diff
}

#[test]
fn numbers_that_no_run_has_are_compared_all_the_same() {
    let small = parse("small".into(), &text(&run(0.0, 0))).unwrap();
    for nanoseconds in [1.0, 1e300, -1e300] {
        let large = parse("large".into(), &text(&run(nanoseconds, u64::MAX))).unwrap();
        for (a, b, sign) in [(&small, &large, 1), (&large, &small, -1)] {
            let diff = compared(a, b);
            let packets = diff.counters.iter().find(|one| one.named.name == "tx.packets").unwrap();
            assert_eq!(packets.named.pair.difference, sign * i64::MAX, "two nodes, each with all");
        }
        compared(&large, &large);
    }
}

#[test]
fn fuzz_files_of_runs() {
    let words = [
        "null",
        "-1",
        "1e999",
        "18446744073709551615",
        "18446744073709551616",
        "\"\"",
        "[]",
        "{}",
        "{\"identity\":{},\"report\":",
        "[[[[[[[[",
        "\\ud800",
        "\u{1f600}",
        ",",
        "\"ns\":1e308",
    ];
    let (one, other) = (run(4930.5, 77), run(1e6, 78));
    let in_sweep = json!({ "identity": {}, "report": one, "sentence": "" });
    let beside = parse("beside".into(), &text(&other)).unwrap();
    let target = fuzz::Target::new("files of runs").words(words).few(2048);
    target.seed(text(&one)).seed(text(&other)).seed(text(&in_sweep)).run(|bytes| {
        match parse("file".into(), bytes) {
            Ok(run) => {
                assert!(compared(&run, &run).counters.is_empty());
                compared(&run, &beside);
                compared(&beside, &run);
            }
            Err(usage_error) => {
                assert!(usage_error.to_string().starts_with("file "), "{usage_error}")
            }
        }
    });
}
