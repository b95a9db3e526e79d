//! `sunstar bench`: relations between builds of the firmware that must hold, whatever the machine's numbers.

use crate::runner::{root, sunstar};
use serde_json::Value;

/// The smallest ladder: messages of up to 16 bytes.
fn ladder(options: &[&str]) -> Value {
    let words = ["bench", "ladder", "--largest", "16", "--json", "-"];
    let ended = sunstar(words.iter().chain(options));
    serde_json::from_str(&ended.went_well().stdout).unwrap()
}

fn step<'a>(ladder: &'a Value, part: &str, key: &str) -> &'a Value {
    let steps = ladder[part].as_array().unwrap();
    let found = steps.iter().find(|step| step["key"] == key);
    found.unwrap_or_else(|| panic!("no {key} in {ladder:#}"))
}

/// Latency of messages of `bytes`, in microseconds.
fn latency(step: &Value, bytes: u64) -> f64 {
    let points = step["points"].as_array().unwrap();
    let point = points.iter().find(|point| point["bytes"] == bytes);
    point.unwrap_or_else(|| panic!("no {bytes} bytes in {step:#}"))["latency_us"].as_f64().unwrap()
}

fn every_key_is_documented(ladder: &Value) {
    let page = std::fs::read_to_string(root().join("docs/reference/bench-json.md")).unwrap();
    for object in [ladder, &ladder["aside"][0], &ladder["trace_point"], &ladder["sizes"]] {
        for key in object.as_object().unwrap().keys() {
            assert!(page.contains(&format!("`{key}`")), "{key} is not in bench-json.md");
        }
    }
}

#[test]
fn optimisations_save_what_they_are_made_for() {
    let ladder = ladder(&[]);
    let aside = |key: &str, bytes| latency(step(&ladder, "aside", key), bytes);
    for bytes in [0, 8, 12, 13, 16] {
        let full = aside("full", bytes);
        assert!(full > 0.0);
        assert!(full < aside("cache-i", bytes), "{bytes} B: the D cache saves time");
        assert!(aside("cache-i", bytes) < aside("cache-none", bytes), "{bytes} B: so does I");
        assert!(full < aside("shadow-off", bytes), "{bytes} B: and so do shadow FIFOs");
        assert!(full < aside("trace-on", bytes), "{bytes} B: trace points cost time");
    }
    // An inline message saves an interrupt and what comes with it, and longer ones nothing at all.
    let saved = aside("inline-off", 8) - aside("full", 8);
    assert!((1.0..5.0).contains(&saved), "{saved} us is not one interrupt");
    let step_up = aside("full", 13) - aside("full", 12);
    assert!((0.5 * saved..2.0 * saved).contains(&step_up), "{step_up} us against {saved} us");
    let none = aside("inline-off", 13) - aside("inline-off", 12);
    assert!(none.abs() < 0.1 * saved, "{none} us without inline messages");
    // What is processed for a message with payload gains more by caches than what is for one without.
    let gain = |bytes| aside("cache-none", bytes) - aside("full", bytes);
    assert!(gain(16) > gain(8), "{} us and {} us", gain(16), gain(8));

    let climb: Vec<f64> =
        ladder["climb"].as_array().unwrap().iter().map(|step| latency(step, 0)).collect();
    assert_eq!(climb.len(), 6);
    assert!(climb.windows(2).all(|pair| pair[1] < pair[0]), "every step helps: {climb:?}");
    assert_eq!(climb[5], aside("full", 0));
    let point = ladder["trace_point"]["ns"].as_f64().unwrap();
    assert!((2.0..100.0).contains(&point), "{point} ns a trace point");
    let [sram, host] = ["sram_read_ns", "host_read_ns"].map(|key| ladder[key].as_f64().unwrap());
    assert!(host > 3.0 * sram, "{host} ns and {sram} ns");
    let image = |key| step(&ladder, "aside", key)["image_bytes"].as_u64().unwrap();
    assert!(image("trace-on") > image("full"));

    let published = ladder["published"].as_array().unwrap();
    let of = |id: &str| published.iter().find(|result| result["id"] == id).unwrap();
    assert_eq!(of("pedretti2005.latency")["simulated"], aside("full", 0));
    assert_eq!(of("pedretti2005.original")["role"], "reported");
    assert_eq!(of("pedretti2005.trace-point")["role"], "predicted");
    every_key_is_documented(&ladder);
    // Only long messages tell about bandwidth.
    assert!(of("pedretti2005.bandwidth")["simulated"].is_null(), "{published:#?}");
}

#[test]
fn machines_are_measured_side_by_side() {
    let own = root().join("machines/redstorm.toml");
    let own = own.to_str().unwrap();
    let words = ["bench", "latency", "--largest", "1", "--machine", "redstorm", "--machine", own];
    let table = sunstar(words);
    let rows: Vec<Vec<&str>> = table
        .went_well()
        .stdout
        .lines()
        .map(|line| line.split_whitespace().collect())
        .filter(|words: &Vec<&str>| words.first().is_some_and(|word| word.parse::<u64>().is_ok()))
        .collect();
    assert_eq!(rows.len(), 2, "{table:?}");
    for row in rows {
        assert_eq!(row[1..3], row[3..5], "equal machines differ: {table:?}");
    }
}

#[test]
fn what_a_benchmark_cannot_do_is_told_before_it_runs() {
    let ended = sunstar(["bench", "ladder", "--set", "firmware.inline=off"]);
    ended.said(2, &["firmware.inline=off", "ladder"]);
    sunstar(["bench", "latency", "--machine", "nowhere"]).said(2, &["no machine nowhere"]);
    sunstar(["bench", "ladder", "--set", "net.hop=1 ns"]).said(2, &["no parameter net.hop"]);
}
