//! Traces of machine `amata`: another processor, whose functions are drawn in the same way.

use super::{check_cores, number, read};
use crate::runner::unjudged;
use std::collections::BTreeSet;
use std::path::Path;

const LINE: &str = "-n 2 -m amata builtin:myrinet-pingpong 8 5";

/// The JSON that `sunstar` writes to standard output with these words before those of [`LINE`].
fn told(words: &str) -> serde_json::Value {
    let ended = unjudged(&format!("{words} -q --json - {LINE}"));
    assert_eq!(ended.code, 0, "{ended:#?}");
    serde_json::from_str(&ended.stdout).unwrap()
}

fn trace(folder: &Path) -> super::Trace {
    let file = folder.join("run.pftrace");
    let report = told(&format!("run --trace {}", file.display()));
    read(&file, report)
}

/// Slices nest; functions fill the time of the processors, and their work is that of the profile; the hosts'
/// work is that of the report.
#[test]
fn the_functions_of_a_lanai_are_drawn_as_they_were_executed() {
    let folder = tempfile::tempdir().unwrap();
    let trace = trace(folder.path());
    let slices = trace.slices();
    check_cores(&trace, &slices);
    let profile = told("profile");
    assert_eq!(profile["trace_hash"], trace.report["trace_hash"]);
    let firmware: Vec<_> =
        slices.iter().filter(|slice| slice.begin.place == "NIC/firmware").collect();
    for (what, idle) in [("work", false), ("idle", true)] {
        let drawn = firmware.iter().filter(|slice| (slice.begin.name == "idle") == idle);
        let (count, ns) = drawn.fold((0, 0), |(count, ns), slice| (count + 1, ns + slice.own));
        let cycles = number(&profile[what]["cycles"]) as f64;
        // 66 MHz; a duration is wrong by less than a nanosecond, and one cut in pieces by as much for each.
        let off = (ns as f64 - cycles * 1000.0 / 66.0).abs();
        assert!(count > 10 && off <= 4.0 * f64::from(count), "{what}: {ns} ns, {cycles} cycles");
    }
    let names: BTreeSet<&str> = firmware.iter().map(|slice| &*slice.begin.name).collect();
    for name in ["idle", "start_c", "mcp_step", "receive_step", "send_step"] {
        assert!(names.contains(name), "no {name} in {names:?}");
    }
    // Each card sends and receives five packets, and looks more than once for each.
    let looks = firmware.iter().filter(|slice| slice.begin.name == "receive_step").count();
    assert!(looks > 4 * 5, "{looks}");
}

/// The file is the same for any number of threads, and whether iterations are skipped or executed.
#[test]
fn a_lanai_is_drawn_the_same_however_it_is_run() {
    let folder = tempfile::tempdir().unwrap();
    let first = trace(folder.path()).bytes;
    for option in ["-t 2", "--no-park"] {
        let file = folder.path().join("other.pftrace");
        told(&format!("run {option} --trace {}", file.display()));
        assert!(std::fs::read(&file).unwrap() == first, "{option}");
    }
}

/// `sunstar trace` lists the functions that the timeline draws, entered in the same cycles.
#[test]
fn the_trace_of_a_lanai_lists_the_same_functions() {
    let folder = tempfile::tempdir().unwrap();
    let trace = trace(folder.path());
    let ended = unjudged(&format!("trace -q --node 1 {LINE}"));
    // Behind what the program prints.
    let mut lines = ended.went_well().stdout.lines().skip_while(|line| !line.starts_with('#'));
    let head = lines.next().unwrap();
    let drawn: Vec<_> = trace.slices().into_iter().filter(|slice| slice.begin.node == 1).collect();
    let mut drawn: Vec<_> =
        drawn.iter().filter(|slice| slice.begin.place == "NIC/firmware").collect();
    drawn.sort_by_key(|slice| (slice.begin.at, slice.depth));
    assert_eq!(
        head,
        format!(
            "# node 1: {} functions entered since the launch: cycle, function, time",
            drawn.len()
        )
    );
    assert_eq!(lines.clone().count(), drawn.len());
    for (line, slice) in lines.zip(drawn) {
        let (cycle, rest) = line.split_once(": ").unwrap();
        let at = u64::from_str_radix(cycle, 16).unwrap() as f64 * 1000.0 / 66.0;
        assert!((at - slice.begin.at as f64).abs() < 2.0, "{line}: {:?}", slice.begin);
        let (name, time) = rest.trim_start().split_once(" (").unwrap();
        assert_eq!(
            (name, rest.len() - rest.trim_start().len()),
            (&*slice.begin.name, 2 * slice.depth)
        );
        let ns: f64 = time.trim_end_matches(" ns)").parse().unwrap();
        assert!((ns - (slice.end - slice.begin.at) as f64).abs() < 2.0, "{line}");
    }
}

/// A packet begins where its rank sends it, is in both engines, and ends where one takes it; queues are empty
/// at the end.
#[test]
fn packets_and_queues_are_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let trace = trace(folder.path());
    let slices = trace.slices();
    let of = |place: &str, depth| {
        let place = place.to_owned();
        slices.iter().filter(move |slice| slice.begin.place == place && slice.depth == depth)
    };
    assert_eq!((of("NIC/TX DMA", 0).count(), of("NIC/RX DMA", 0).count()), (10, 10));
    for stage in ["waits for the host", "DMA to the host", "waits for the control program"] {
        let named = of("NIC/RX DMA", 1).filter(|slice| slice.begin.name == stage);
        assert_eq!(named.count(), 10, "{stage}");
    }
    let ways = trace.ways();
    assert_eq!(ways.len(), 10);
    for way in ways.values() {
        assert_eq!(way[0].name, "posts", "{way:?}");
        assert_eq!(way.last().unwrap().name, "takes", "{way:?}");
        assert!(way.iter().any(|event| event.place == "NIC/TX DMA"), "{way:?}");
    }
    let calls = |name: &str| {
        slices
            .iter()
            .filter(|slice| slice.begin.place.starts_with("rank ") && slice.begin.name == name)
            .count()
    };
    assert_eq!((calls("dp_send"), calls("dp_receive")), (10, 10));
    let mut depths = std::collections::BTreeMap::new();
    for event in &trace.events {
        if let super::Kind::Value(value) = event.kind {
            assert_ne!(depths.insert(event.track, value), Some(value), "{event:?}");
        }
    }
    assert!(depths.len() >= 2 && depths.values().all(|value| *value == 0), "{depths:?}");
}
