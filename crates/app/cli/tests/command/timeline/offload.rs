//! Traces of machine `alpu`: matching units, lists on the network interface, and messages on their way.

use super::{check_cores, check_times_and_depths, read, Trace};
use crate::runner::unjudged;
use std::path::Path;

const LINE: &str = "-n 2 -m alpu builtin:pingpong 64 10";

fn trace(folder: &Path, options: &str) -> Trace {
    let file = folder.join("run.pftrace");
    let line = format!("run -q --json - --trace {} {options} {LINE}", file.display());
    let ended = unjudged(&line);
    assert_eq!(ended.code, 0, "{ended:#?}");
    read(&file, serde_json::from_str(&ended.stdout).unwrap())
}

/// A message begins where its rank sends it and ends where one receives it; both engines and both units are
/// drawn; lists and queues have their lengths, and are empty at the end.
#[test]
fn units_lists_and_messages_are_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let trace = trace(folder.path(), "");
    let slices = trace.slices();
    check_cores(&trace, &slices);
    check_times_and_depths(&trace);
    let of = |place: &str| slices.iter().filter(|slice| slice.begin.place == place).count();
    let messages = trace.report["messages"]["ended"].as_u64().unwrap() as usize;
    for place in ["NIC/TX DMA", "NIC/RX DMA", "NIC/firmware"] {
        assert!(of(place) >= messages, "{place}");
    }
    for list in ["posted receives", "unexpected messages"] {
        let drawn = of(&format!("NIC/unit for {list}"));
        assert!(drawn > 0 && drawn <= messages + 4, "{list}: {drawn}");
    }
    assert!(of("NIC/unit for posted receives: inserts") > 0);
    let ways = trace.ways();
    assert_eq!(ways.len(), messages);
    for way in ways.values() {
        assert_eq!(way[0].name, "sends", "{way:?}");
        assert_eq!(way.last().unwrap().name, "receives", "{way:?}");
        for place in ["NIC/TX DMA", "NIC/RX DMA"] {
            assert!(way.iter().any(|event| event.place == place), "{place}: {way:?}");
        }
    }
    let counters = |words: &str| {
        let all = trace.events.iter().filter(|event| matches!(event.kind, super::Kind::Value(_)));
        all.filter(|event| event.place.contains(words)).count()
    };
    for words in ["posted receives", "command FIFOs", "header FIFO", "send engine"] {
        assert!(counters(words) > 0, "no counter {words}");
    }
    assert!(counters("unit for posted receives: entries") > 0);
}

/// The file is the same for any number of threads, and nothing that is drawn changes anything.
#[test]
fn queues_on_the_interface_are_drawn_the_same_however_they_are_run() {
    let folder = tempfile::tempdir().unwrap();
    let first = trace(folder.path(), "");
    assert!(trace(folder.path(), "-t 2").bytes == first.bytes);
    let plain = unjudged(&format!("run -q --json - {LINE}"));
    let plain: serde_json::Value = serde_json::from_str(&plain.stdout).unwrap();
    for key in ["trace_hash", "account", "breakdowns"] {
        assert_eq!(plain[key], first.report[key], "{key}");
    }
}
