//! Queues of ranks' libraries in a trace.

use super::{number, Kind, Trace};

/// Checks that the lengths of each rank's queues over time add up to those of its account, to the nanosecond.
pub fn check(trace: &Trace) {
    for rank in trace.report["account"].as_array().unwrap() {
        for (name, most, sum) in [
            ("posted receives", "posted_most", "posted_time"),
            ("unexpected messages", "unexpected_most", "unexpected_time"),
        ] {
            let place = format!("rank {}: {name}", rank["rank"]);
            let (mut since, mut length, mut longest, mut area) = (0, 0, 0, 0);
            for event in trace.events.iter().filter(|event| event.place == place) {
                let Kind::Value(value) = event.kind else { panic!("{event:?}") };
                area += (event.at - since) * length;
                (since, length) = (event.at, value as u64);
                longest = longest.max(length);
            }
            assert_eq!((longest, length), (number(&rank[most]), 0), "{place}");
            let told = number(&rank[sum]) / 1000;
            let changes = trace.events.iter().filter(|event| event.place == place).count() as u64;
            assert!(area.abs_diff(told) <= changes + 1, "{place}: {area} of {told}");
        }
    }
}
