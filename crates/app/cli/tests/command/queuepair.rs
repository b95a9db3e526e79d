//! Machine queuepair: rings, window and acknowledgements, and what happens when something is lost.

use crate::example::{counted, near, report, step, steps};
use crate::runner::{run, unjudged};
use serde_json::Value;

const PINGPONG: &str = "-m queuepair -n 2 builtin:pingpong 1000 9";

/// Times from the parameters, by hand.
#[test]
fn a_message_passes_rings_window_and_link() {
    let of = |settings: &str, name| step(&format!("-m queuepair {settings}"), 1000, name);
    // The doorbell crosses the bus, and the engine reads 96 bytes of submission.
    near(of("", "doorbell, submission"), 150.0 + 250.0 + 96.0);
    near(of("", "first segment read"), 250.0 + 1000.0);
    // Header and 16 bytes of the frame.
    near(of("", "segments"), 1000.0 + 64.0 + 16.0 + 200.0);
    near(of("", "completion written"), 250.0 + 144.0);
    near(of("", "payload to memory"), 250.0 + 1000.0);
    near(of("", "place, completion"), 250.0 + 16.0);
    near(of("", "window"), 0.0);
    near(of("--set queuepair.register=1us", "doorbell, submission"), 1000.0 + 250.0 + 96.0);
    // Three segments: the engine reads the next while the link carries one.
    let of = |settings: &str, name| step(&format!("-m queuepair {settings}"), 5000, name);
    let second = 250.0 + 2048.0;
    let third = second + 2048.0 + 16.0;
    near(of("", "segments"), third + 904.0 + 16.0 + 200.0);
    // In a window of one segment each waits for the acknowledgement of the one before.
    let round = |bytes: f64| bytes + 16.0 + 200.0 + 16.0 + 200.0;
    let read = |bytes: f64| 250.0 + bytes;
    let alone = round(2048.0 + 64.0) + read(2048.0) + round(2048.0) + read(904.0);
    near(of("--set queuepair.window=1", "segments"), alone + 904.0 + 16.0 + 200.0);
}

#[test]
fn full_rings_and_a_small_window_cost_time_and_nothing_else() {
    for settings in [
        "--set queuepair.submissions=2 --set queuepair.completions=2",
        "--set queuepair.window=1 --set queuepair.segment=64B",
        "--set queuepair.timeout=1us",
    ] {
        let ended = run(&format!("-q -m queuepair {settings} -n 5 tests/soak/random.c 3"));
        assert_eq!(ended.code, 0, "{settings}: {ended:#?}");
    }
    let report = report("-m queuepair --set queuepair.submissions=2 -n 5 builtin:traffic 20000 3");
    let nodes = report["nodes"].as_array().unwrap();
    let most = nodes.iter().map(|node| node["counters"]["submissions_max"].as_u64().unwrap()).max();
    assert_eq!(most, Some(2));
}

#[test]
fn a_lost_segment_comes_again_and_its_message_says_so() {
    let well = report(PINGPONG);
    let lost = report(&format!("--fault segment.lost=#3@0 --judge {PINGPONG}"));
    assert_eq!(counted(&well, "link.segments_lost") + counted(&well, "tx.resent"), 0);
    assert_eq!(counted(&lost, "link.segments_lost"), 1);
    assert!(counted(&lost, "tx.resent") > 0);
    for name in ["rx.messages", "rx.bytes"] {
        assert_eq!(counted(&lost, name), counted(&well, name), "{name}");
    }
    // From the end of the lost one on the link: the timeout, and the way of the second one.
    let slowest = &lost["messages"]["slowest"][0];
    let steps = slowest["segments"].as_array().unwrap();
    let of = |name: &str| {
        let step = steps.iter().find(|step| step["name"] == name);
        step.unwrap_or_else(|| panic!("{slowest:#}"))["ns"].as_f64().unwrap()
    };
    assert!((50_000.0..60_000.0).contains(&of("lost segments")), "{slowest:#}");
    let ended = unjudged(&format!("explain --fault segment.lost=#3@0 {PINGPONG}"));
    let told = ["lost segments", "no acknowledgement came; queuepair.timeout = 50 us"];
    for words in told {
        assert!(ended.stdout.contains(words), "{words}: {}", ended.stdout);
    }
    // And without the fault there is no such step.
    assert!(steps_of_all(&well).all(|name| name != "lost segments"));
}

fn steps_of_all(report: &Value) -> impl Iterator<Item = &str> {
    let segments = report["breakdowns"].as_array().unwrap().iter();
    segments
        .flat_map(|size| size["segments"].as_array().unwrap())
        .map(|step| step["name"].as_str().unwrap())
}

#[test]
fn losses_are_recovered_under_the_judge() {
    for faults in [
        "--fault segment.lost=0.05 --fault acknowledgement.lost=0.1",
        "--fault acknowledgement.lost=#2@0",
        "--fault doorbell.lost=#4@0",
    ] {
        for program in ["-n 4 tests/soak/random.c 3", "-n 3 builtin:exchange 300000 2"] {
            let ended = run(&format!("-q -m queuepair {faults} {program}"));
            assert_eq!(ended.code, 0, "{faults} {program}: {ended:#?}");
        }
    }
}

#[test]
fn what_is_lost_for_ever_ends_the_run_in_a_sentence() {
    for (fault, words) in [
        ("segment.lost=1@0", "node 0: gave up on node 1: it is silent"),
        ("acknowledgement.lost=1@0", "node 1: gave up on node 0: it is silent"),
        ("doorbell.lost=1", "deadlock: nothing in the machine moves any more"),
    ] {
        unjudged(&format!("run -q --fault {fault} {PINGPONG}")).said(1, &[words]);
    }
}

/// Reports, pages and traces have this card's words.
#[test]
fn its_queues_and_steps_are_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("run.pftrace");
    let page = folder.path().join("run.html");
    let told = [
        "submissions that the card has not read",
        "segments without acknowledgement",
        "completions that the driver has not read",
    ];
    let line = format!("run -q --trace {} {PINGPONG}", trace.display());
    unjudged(&line).went_well();
    let trace = std::fs::read(&trace).unwrap();
    let trace = String::from_utf8_lossy(&trace);
    for words in told.into_iter().chain(["reads and sends", "waits for its place"]) {
        assert!(trace.contains(words), "{words}");
    }
    unjudged(&format!("report {} --largest 0 {PINGPONG}", page.display())).wrote(&page);
    let page = std::fs::read_to_string(&page).unwrap();
    for words in told.into_iter().chain(["doorbell, submission", "place, completion"]) {
        assert!(page.contains(words), "{words}");
    }
    let names: Vec<String> =
        steps("-m queuepair", 1000).into_iter().map(|(name, _)| name).collect();
    assert!(names.iter().any(|name| name == "completion written"), "{names:?}");
}
