//! The model `ideal`: LogGP's formulas hold to the picosecond, and programs run on it as on any machine.

use crate::runner::{run, unjudged, Ended};
use serde_json::Value;

fn report(line: &str) -> Value {
    let ended = unjudged(&format!("run --json - -q -m ideal {line}"));
    assert_eq!(ended.code, 0, "{ended:#?}");
    serde_json::from_str(&ended.stdout).unwrap_or_else(|why| panic!("{why}: {ended:#?}"))
}

/// A parameter of the run's machine, a duration, in picoseconds.
fn ps(report: &Value, key: &str) -> u64 {
    let text = report["machine"]["values"][key]["value"].as_str().unwrap();
    let (number, unit) = text.split_at(text.find(char::is_alphabetic).unwrap());
    let unit = match unit {
        "ps" => 1.0,
        "ns" => 1e3,
        "us" => 1e6,
        other => panic!("{key}: {other}"),
    };
    (number.trim().parse::<f64>().unwrap() * unit).round() as u64
}

/// Time from the first byte of a message to the last.
fn length(report: &Value, bytes: u64) -> u64 {
    ps(report, "ideal.gap_per_byte") * bytes.saturating_sub(1)
}

#[test]
fn a_message_takes_what_loggp_says() {
    let other = "--set ideal.latency=2us --set ideal.gap_per_byte=1234ps --set ideal.overhead=77ns";
    for (settings, bytes) in [("", 1), ("", 8), ("", 100_000), (other, 12), (other, 4097)] {
        let report = report(&format!("-n 2 {settings} builtin:pingpong {bytes} 9"));
        let sizes = report["breakdowns"].as_array().unwrap();
        let size = sizes.iter().find(|size| size["bytes"] == bytes).unwrap();
        let library = ps(&report, "mpi.call") + 2 * ps(&report, "portals.event_get");
        let both = 2 * ps(&report, "ideal.overhead");
        let expected = both + ps(&report, "ideal.latency") + length(&report, bytes) + library;
        // Now and then the library looks at another event first.
        for key in ["least_ns", "total_ns"] {
            let total = (size[key].as_f64().unwrap() * 1e3).round() as u64;
            assert_eq!(total, expected, "{key} of {bytes} bytes");
        }
    }
}

#[test]
fn messages_follow_one_another_as_loggp_says() {
    let values = report("-n 2 builtin:pingpong 1 1");
    for bytes in [1000, 10_000, 100_000] {
        let stream = run(&format!("-q -n 2 -m ideal tests/ideal/stream.c {bytes}"));
        let period: u64 = stream.went_well().stdout.trim().parse().unwrap();
        assert_eq!(period, ps(&values, "ideal.gap") + length(&values, bytes), "{bytes} bytes");
    }
}

#[test]
fn programs_run_as_on_any_machine() {
    let programs = [
        "-n 4 tests/mpi/messages.c",
        "-n 5 tests/mpi/collectives.c",
        "-n 4 tests/mpi/datatypes.c",
        "-n 4 tests/mpi/groups.c",
        "-n 5 --ranks-per-node 2 tests/mpi/lifetimes.c",
        "-n 2 tests/portals/functions.c",
        "-n 2 examples/portals_getadd.c",
    ];
    for program in programs {
        let [ideal, redstorm] =
            ["ideal", "redstorm"].map(|machine| run(&format!("-q -m {machine} {program}")));
        let sorted = |ended: &Ended| {
            // What a program measures differs.
            let timed = |line: &&str| !line.contains(" us") && !line.contains("ns");
            assert_eq!(ended.code, 0, "{ended:#?}");
            let mut lines: Vec<String> =
                ended.stdout.lines().filter(timed).map(String::from).collect();
            lines.sort();
            lines
        };
        assert_eq!(sorted(&ideal), sorted(&redstorm), "{program}");
        assert!(!sorted(&ideal).is_empty(), "{program}");
    }
}

#[test]
fn one_run_has_one_hash() {
    let hash = |options: &str| {
        let report = report(&format!("{options} -n 12 --seed 3 tests/soak/random.c 7"));
        (report["trace_hash"].clone(), report["simulated_ns"].clone(), report["nodes"].clone())
    };
    let first = hash("");
    for options in ["-t 2", "--no-merge", "--cold-boot", "--judge"] {
        assert_eq!(hash(options), first, "{options}");
    }
}

#[test]
fn runs_end_as_on_any_machine() {
    let wrong = |how: &str| run(&format!("-q -n 2 -m ideal tests/cli/wrong.c {how}"));
    wrong("deadlock").said(1, &["deadlock", "rank 0 waits in"]);
    let until = run("-q -n 2 -m ideal --until 20us builtin:pingpong 8 1000");
    until.said(124, &["stopped at 20.000 us"]);
    let lost = "--fault interrupt.lost=1";
    run(&format!("-q -n 2 -m ideal {lost} examples/pingpong.c 8")).said(1, &["deadlock"]);
    let slow = |fault: &str| {
        let line = format!("-n 2 {fault} builtin:pingpong 8 20");
        report(&line)["simulated_ns"].as_f64().unwrap()
    };
    assert!(slow("--fault host.slow=3@1") > slow(""));
}

#[test]
fn what_the_model_has_not_is_refused_by_name() {
    let refused = |line: &str, words: &[&str]| {
        unjudged(line).said(2, &[words, &["model ideal"]].concat());
    };
    refused("run -n 2 -m ideal --pcap x.pcap builtin:barrier", &["--pcap"]);
    refused("run -n 2 -m ideal --gdb 0 builtin:barrier", &["--gdb", "firmware"]);
    refused(
        "run -n 2 -m ideal --json x.json --functions builtin:barrier",
        &["--functions", "firmware"],
    );
    refused("profile -n 2 -m ideal builtin:barrier", &["sunstar profile", "firmware"]);
    refused("trace -n 2 -m ideal builtin:barrier", &["sunstar trace", "firmware"]);
    refused("fw -m ideal", &["sunstar fw", "firmware"]);
    refused("bench ladder -m ideal", &["firmware"]);
    refused("run -n 2 -m ideal --set nic.tx_start=1ns builtin:barrier", &["nic.tx_start"]);
    refused("run -n 2 -m ideal --fault link.drop=0.5 builtin:barrier", &["link.drop"]);
}

#[test]
fn what_constants_hide_is_told_by_a_comparison() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(format!("{name}.json")).display().to_string();
    for machine in ["ideal", "redstorm"] {
        let json = file(machine);
        run(&format!("-q -n 8 -m {machine} --json {json} builtin:alltoall 64 2")).went_well();
    }
    let diff = unjudged(&format!("diff {} {}", file("ideal"), file("redstorm")));
    let text = &diff.stdout;
    for words in ["firmware TX", "interrupt", "wire", "none"] {
        assert!(text.contains(words), "no {words} in {text}");
    }
}
