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
            let text = std::fs::read_to_string(&path).unwrap();
            // A module of tests stands at the end of its file.
            let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
            all.push((path.display().to_string(), code.to_string()));
        }
    }
}

/// Names of faults and parameters. Those of guests stand in the bench, which runs guests for all models.
fn words() -> BTreeSet<&'static str> {
    let faults = MODELS.iter().flat_map(|model| model.faults).map(|kind| kind.name);
    let rows = MODELS.iter().flat_map(|model| model.rows).map(|row| row.key);
    faults.chain(rows.filter(|key| !key.starts_with("guest."))).collect()
}

/// Files that have such words still: the steps of Portals' messages are models' own, and not theirs yet.
const KNOWN: [&str; 1] = ["message_trace/portals.rs"];

#[test]
fn the_bench_has_no_word_of_a_model() {
    let mut all = Vec::new();
    sources(&machines().join("../crates/bench/machine/src"), &mut all);
    let (mut found, mut known) = (Vec::new(), BTreeSet::new());
    for (file, code) in &all {
        let here: Vec<_> = words().into_iter().filter(|word| code.contains(word)).collect();
        match KNOWN.iter().find(|known| file.ends_with(**known)) {
            Some(file) => known.extend((!here.is_empty()).then_some(*file)),
            None => found.extend(here.iter().map(|word| format!("{file}: {word}"))),
        }
    }
    assert!(all.len() > 50 && found.is_empty(), "{}", found.join("\n"));
    assert_eq!(known, BTreeSet::from(KNOWN), "what has none any more leaves the list");
}
