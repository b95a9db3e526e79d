//! Remote writes in a trace: machines of model `rdma`.

use super::{number, read, Event, Kind, Trace};
use crate::runner::sunstar;
use std::collections::BTreeMap;

fn traced(line: &str) -> Trace {
    let folder = tempfile::tempdir().unwrap();
    let [json, file] = ["run.json", "run.pftrace"].map(|name| folder.path().join(name));
    let words = ["run", "-q", "--json", json.to_str().unwrap(), "--trace", file.to_str().unwrap()];
    sunstar(words.into_iter().chain(line.split_whitespace())).went_well();
    read(&file, serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap())
}

/// Every message is a slice of both engines, begins where its rank posts it, and ends where one takes it.
#[test]
fn engines_ranks_and_queues_are_drawn() {
    for (line, taken) in [
        ("-n 2 -m forth builtin:rdma-pingpong 64 8", 16),
        // One of the doorbells wakes each rank.
        ("-n 3 -m forth-switch builtin:rdma-permutation 12296 4", 3),
    ] {
        let trace = traced(line);
        let ended = number(&trace.report["messages"]["ended"]);
        let slices = trace.slices();
        for (engine, stages) in
            [("NIC/TX DMA", ["reads", "sends"]), ("NIC/RX DMA", ["comes", "to memory"])]
        {
            let of = |depth| {
                let here = slices.iter().filter(move |slice| slice.begin.place == engine);
                here.filter(move |slice| slice.depth == depth)
            };
            assert_eq!(of(0).count() as u64, ended, "{line}: {engine}");
            for stage in stages {
                let named = of(1).filter(|slice| slice.begin.name == stage).count() as u64;
                assert_eq!(named, ended, "{line}: {engine} {stage}");
            }
        }
        let steps = |name: &str| {
            let ranks = trace.events.iter().filter(|event| event.place.starts_with("rank"));
            ranks.filter(|event| event.kind == Kind::Step && event.name == name).count() as u64
        };
        assert_eq!((steps("posts"), steps("takes")), (ended, taken), "{line}");
        for way in trace.ways().values() {
            assert_eq!(way[0].name, "posts", "{line}: {way:?}");
            assert!(way.iter().any(|event| event.place == "NIC/RX DMA"), "{line}: {way:?}");
        }
        let mut depths: BTreeMap<u64, (&Event, i64)> = BTreeMap::new();
        for event in &trace.events {
            let Kind::Value(value) = event.kind else { continue };
            let before = depths.insert(event.track, (event, value));
            assert!(before.is_none_or(|(_, before)| before != value), "{event:?}");
        }
        let queues = |name: &str| {
            let has = |(event, _): &&(&Event, i64)| event.place == format!("NIC/{name}");
            depths.values().filter(has).count()
        };
        // Each node sends and receives.
        let nodes = trace.report["nodes"].as_array().unwrap().len();
        for name in ["request queue: descriptors", "packets come and not in memory"] {
            assert_eq!(queues(name), nodes, "{line}: {name}");
        }
        assert!(depths.values().all(|(_, value)| *value == 0), "{depths:?}");
    }
}
