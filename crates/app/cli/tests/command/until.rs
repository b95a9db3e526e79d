//! Runs that end at a simulated time.

use crate::runner::{run, sunstar, unjudged};
use crate::wrong::lives;
use serde_json::Value;
use std::path::Path;

/// Report of a run with `words`, without what describes the command; its packets and its trace.
fn reported(folder: &Path, words: &str, files: bool, code: i32) -> (Value, Vec<Vec<u8>>) {
    let file = |name: &str| folder.join(name).display().to_string();
    let (json, outputs) = (file("run.json"), [file("run.pcapng"), file("run.pftrace")]);
    let asked = match files {
        true => format!("--pcap {} --trace {}", outputs[0], outputs[1]),
        false => String::new(),
    };
    let ended = unjudged(&format!("run -q --json {json} {asked} {words}"));
    assert_eq!(ended.code, code, "{words}: {ended:#?}");
    let mut value: Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    for key in ["threads", "wall_seconds", "own_work_seconds", "until_ns"] {
        value.as_object_mut().unwrap().remove(key);
    }
    let outputs = outputs.iter().filter(|_| files).map(|file| std::fs::read(file).unwrap());
    (value, outputs.collect())
}

#[test]
fn a_program_that_polls_for_ever_ends_when_its_time_is_up() {
    let folder = tempfile::tempdir().unwrap();
    let words = "-n 2 --until 300us --fault link.drop=1@0-1 tests/cli/wrong.c polls";
    let ended = run(words);
    ended
        .said(124, &["stopped at 300.000 us of simulated time", "rank 1 is in no call that waits"]);
    ended.said(124, &["node 0: 2 packets were lost on the link to node 1"]);
    assert!(ended.stdout.contains("Simulated time  300.000 us"), "{ended:#?}");
    let (report, files) = reported(folder.path(), words, true, 124);
    assert_eq!(report["simulated_ns"], 300_000.0);
    assert!(files.iter().all(|bytes| bytes.len() > 300), "packets and trace are there");
    for how in ["", "--threads 2", "--no-park", "--cold-boot"] {
        let words = format!("{how} {words}");
        let again = reported(folder.path(), &words, true, 124);
        assert!(again.1 == files, "{how}");
        // Without files the host goes on without events where it is alone.
        let plain = reported(folder.path(), &words, false, 124).0;
        for key in ["trace_hash", "exit", "breakdown", "firmware", "nodes"] {
            assert_eq!(again.0[key], report[key], "{how}: {key}");
            assert_eq!(plain[key], report[key], "{how}: {key}");
        }
    }
}

#[test]
fn all_that_is_due_before_is_done_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    // Streams that repeat themselves, of two that meet and of many; where a window ends does not matter.
    for (program, times) in [
        ("-n 2 builtin:pingpong 1048576 4", ["1ms", "1234567ps", "2.5ms"]),
        ("-n 5 builtin:alltoall 30000 3", ["20us", "40007ns", "100us"]),
    ] {
        for until in times {
            let words = format!("--until {until} {program}");
            let (report, _) = reported(folder.path(), &words, false, 124);
            for how in ["--threads 2", "--no-merge", "--no-park --cold-boot"] {
                let words = format!("{how} {words}");
                assert_eq!(reported(folder.path(), &words, false, 124).0, report, "{words}");
            }
        }
    }
}

#[test]
fn a_run_that_is_over_before_is_as_without() {
    let folder = tempfile::tempdir().unwrap();
    for (words, code) in [
        ("-n 2 tests/cli/wrong.c polls", 0),
        ("-n 2 tests/cli/wrong.c deadlock", 1),
        ("-n 2 tests/cli/wrong.c exit-three", 3),
        ("-n 4 builtin:allreduce 8 20", 0),
    ] {
        let (without, files) = reported(folder.path(), words, true, code);
        let with = reported(folder.path(), &format!("--until 20ms {words}"), true, code);
        assert_eq!(with.0, without, "{words}");
        // The trace tells the command.
        assert!(with.1[0] == files[0], "{words}");
    }
}

#[test]
fn ranks_end_with_the_run() {
    let ended = run("-n 2 --until 30us tests/cli/wrong.c endless");
    ended.said(124, &["stopped at 30.000 us"]);
    let pids = ended.stdout.lines().filter_map(|line| line.strip_prefix("pid "));
    let pids: Vec<i32> = pids.map(|pid| pid.parse().unwrap()).collect();
    assert_eq!(pids.len(), 2, "{ended:#?}");
    assert!(!pids.into_iter().any(lives), "a rank outlives its run");
}

#[test]
fn a_time_needs_a_unit_and_is_more_than_nothing() {
    for (time, word) in [("5", "the unit is missing"), ("0ns", "more than nothing")] {
        let ended = sunstar(["run", "--until", time, "examples/hello.c"]);
        assert!(ended.code == 2 && ended.stderr.contains(word), "{ended:#?}");
    }
}

#[test]
fn other_commands_that_run_a_program_end_it_too() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html").display().to_string();
    let words = "-n 2 --until 30us tests/cli/wrong.c endless";
    for (command, told) in [
        ("profile", "Work by function"),
        ("trace", "mainloop+"),
        (&*format!("report {page} --largest 0"), ""),
    ] {
        let ended = unjudged(&format!("{command} {words}"));
        ended.said(124, &["stopped at 30.000 us"]);
        assert!(ended.stdout.contains(told), "{command}: {ended:#?}");
    }
    assert!(std::fs::read_to_string(page).unwrap().contains("stopped at 30.000 us"));
    let table = folder.path().join("table.csv").display().to_string();
    let line =
        format!("sweep -q -o {table} --until 30us --vary ranks=2 -- tests/cli/wrong.c endless");
    unjudged(&line).said(1, &["stopped at 30.000 us"]);
    assert!(std::fs::read_to_string(table).unwrap().contains(",30000.0,124,"));
}
