//! Words that are a model's own do not stand in the bench.

use crate::machines;
use models::MODELS;
use std::collections::BTreeSet;
use std::path::Path;

/// Sources of the bench, but for its tests.
fn sources(folder: &Path, all: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() && !["tests", "benches", "target"].contains(&name) {
            sources(&path, all);
        } else if name.ends_with(".rs") && name != "tests.rs" {
            all.push((path.display().to_string(), std::fs::read_to_string(&path).unwrap()));
        }
    }
}

/// Names of faults, parameters and queues. Those of guests stand in the bench, which runs guests for all
/// models.
fn words() -> BTreeSet<&'static str> {
    let faults = MODELS.iter().flat_map(|model| model.faults).map(|kind| kind.name);
    let rows = MODELS.iter().flat_map(|model| model.rows).map(|row| row.key);
    let queues = MODELS.iter().flat_map(|model| model.queues).map(|queue| queue.title);
    faults.chain(rows.filter(|key| !key.starts_with("guest."))).chain(queues).collect()
}

#[test]
fn the_bench_has_no_word_of_a_model() {
    let mut all = Vec::new();
    sources(&machines().join("../crates/bench/machine/src"), &mut all);
    let words = words();
    let of = |(file, code): &(String, String)| -> Vec<String> {
        let here = words.iter().filter(|word| code.contains(**word));
        here.map(|word| format!("{file}: {word}")).collect()
    };
    let found: Vec<String> = all.iter().flat_map(of).collect();
    assert!(all.len() > 50 && found.is_empty(), "{}", found.join("\n"));
}

/// A step ends at a waypoint that no other ends at: the order of the path is that of its steps alone.
#[test]
fn each_step_of_a_message_s_path_has_a_waypoint_of_its_own() {
    let paths = MODELS.iter().filter_map(|model| Some((model.name, model.messages?)));
    for (name, path) in paths {
        for (number, step) in path.steps.iter().enumerate() {
            let before = path.steps[..number].iter().find(|other| other.ends == step.ends);
            assert!(before.is_none(), "model {name}: {} and {}", before.unwrap().name, step.name);
        }
    }
}
