//! The model of docs/adding-a-nic.md: it compiles, and MPI and Portals programs run on it.

use crate::runner::{root, run, unjudged};
use serde_json::Value;

fn report(line: &str) -> Value {
    let ended = unjudged(&format!("run --json - -q -m example {line}"));
    assert_eq!(ended.code, 0, "{ended:#?}");
    serde_json::from_str(&ended.stdout).unwrap_or_else(|why| panic!("{why}: {ended:#?}"))
}

#[test]
fn programs_print_what_they_print_on_any_machine() {
    for program in [
        "-n 4 tests/mpi/messages.c",
        "-n 5 --ranks-per-node 2 tests/mpi/collectives.c",
        "-n 6 tests/soak/random.c 11",
        "-n 2 examples/portals_getadd.c",
    ] {
        let [example, redstorm] = ["example", "redstorm"].map(|machine| {
            let ended = run(&format!("-q -m {machine} {program}"));
            assert_eq!(ended.code, 0, "{ended:#?}");
            let timed = |line: &&str| !line.contains(" us");
            let mut lines: Vec<String> =
                ended.stdout.lines().filter(timed).map(String::from).collect();
            lines.sort();
            lines
        });
        assert!(!example.is_empty(), "{program}");
        assert_eq!(example, redstorm, "{program}");
    }
}

#[test]
fn one_run_has_one_hash() {
    let hash = |options: &str| {
        let report = report(&format!("{options} -n 9 tests/soak/random.c 5"));
        (report["trace_hash"].clone(), report["simulated_ns"].clone(), report["nodes"].clone())
    };
    let first = hash("");
    for options in ["-t 2", "--judge", "-t 2 --cold-boot"] {
        assert_eq!(hash(options), first, "{options}");
    }
}

#[test]
fn a_message_passes_queue_engine_and_link() {
    let segment = |settings: &str, bytes: u64, name: &str| {
        let report = report(&format!("-n 2 {settings} builtin:pingpong {bytes} 9"));
        let sizes = report["breakdowns"].as_array().unwrap();
        let size = sizes.iter().find(|size| size["bytes"] == bytes).unwrap();
        let segments = size["segments"].as_array().unwrap();
        let found = segments.iter().find(|segment| segment["name"] == name).unwrap();
        found["ns"].as_f64().unwrap()
    };
    let near = |a: f64, b: f64| assert!((a - b).abs() < 0.01, "{a} instead of {b}");
    // Fetched, and read by the engine.
    near(segment("", 1000, "TX DMA"), 500.0 + 300.0 + 2000.0);
    // With its header on the link.
    near(segment("", 1000, "wire"), 1064.0 + 200.0);
    // In two packets, of which the second follows the first.
    near(segment("--set example.packet=512B", 1000, "wire"), 1064.0 + 200.0);
    near(segment("--set example.fetch=1us", 1000, "TX DMA"), 1000.0 + 300.0 + 2000.0);
}

#[test]
fn the_guide_speaks_of_what_there_is() {
    let read = |file: &str| std::fs::read_to_string(root().join(file)).unwrap();
    let (guide, example) =
        (read("docs/adding-a-nic.md"), read("crates/models/model-example/src/lib.rs"));
    let lines = example.lines().count();
    assert!(guide.contains(&format!("{lines} lines")), "the example has {lines} lines");
    let code = ["node.rs", "node/ports.rs", "node/software.rs", "bench.rs", "models.rs"]
        .map(|file| read(&format!("crates/bench/machine/src/{file}")))
        .concat();
    for name in ["store", "load", "handle", "receive", "word", "earliest_output", "next_action"] {
        assert!(guide.contains(&format!("`{name}`")) && code.contains(&format!("fn {name}(")));
    }
}
