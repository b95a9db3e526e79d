//! Traces of Linux guests: a packet is followed from track to track.

use super::read;
use crate::runner::unjudged;

/// From the process that sends to the one that reads, through module, control program and interface of both
/// nodes.
#[test]
#[cfg_attr(not(kernel), ignore = "there is no kernel for guests: sunstar guest --prepare")]
fn a_packet_of_a_guest_is_followed_from_track_to_track() {
    let folder = tempfile::tempdir().unwrap();
    let [json, file] = ["run.json", "run.pftrace"].map(|name| folder.path().join(name));
    let files = format!("--json {} --trace {}", json.display(), file.display());
    unjudged(&format!("run -q {files} -n 2 -m amata examples/dp_pingpong.c 2")).went_well();
    let report: serde_json::Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    let trace = read(&file, report);
    // They nest, and all end.
    let slices = trace.slices();
    for (call, rank) in [("dp_write", 0), ("dp_read", 0), ("dp_write", 1), ("dp_read", 1)] {
        let place = format!("rank {rank}");
        let drawn = slices.iter().filter(|slice| slice.begin.place == place);
        let drawn = drawn.filter(|slice| slice.begin.name == call).count() as u64;
        let calls = trace.report["account"][rank]["calls"].as_array().unwrap();
        let told = calls.iter().find(|told| told["call"] == call).unwrap();
        assert_eq!(told["times"], drawn, "{call} of {place}");
    }
    let ways = trace.ways();
    assert_eq!(trace.report["messages"]["ended"], ways.len());
    for way in ways.values() {
        let source = way[0].node;
        let target = 1 - source;
        let mut places: Vec<(u64, &str)> =
            way.iter().map(|event| (event.node, event.place.as_str())).collect();
        places.dedup();
        let [sender, reader] = [source, target].map(|rank| format!("rank {rank}"));
        let expected = [
            (source, sender.as_str()),
            (source, "processor"),
            (source, "NIC/firmware"),
            (source, "NIC/TX DMA"),
            (target, "NIC/RX DMA"),
            (target, "NIC/firmware"),
            (target, "processor"),
            (target, reader.as_str()),
        ];
        assert_eq!(places, expected, "{way:#?}");
        let steps: Vec<&str> = way.iter().map(|event| event.name.as_str()).collect();
        let of_module = ["looks at the card", "commands", "interrupt service", "service layer"];
        assert!(of_module.iter().all(|step| steps.contains(step)), "{steps:?}");
    }
}
