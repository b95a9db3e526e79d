//! The models of docs/adding-a-nic.md: MPI and Portals programs run on them, and each has steps, causes and
//! faults of its own.

use crate::runner::{root, run, unjudged};
use serde_json::Value;

const BOTH: [&str; 2] = ["example", "queuepair"];

pub fn report(line: &str) -> Value {
    let ended = unjudged(&format!("run --json - -q {line}"));
    assert_eq!(ended.code, 0, "{ended:#?}");
    serde_json::from_str(&ended.stdout).unwrap_or_else(|why| panic!("{why}: {ended:#?}"))
}

/// The steps of messages of a size: names, and times in ns.
pub fn steps(line: &str, bytes: u64) -> Vec<(String, f64)> {
    let report = report(&format!("-n 2 {line} builtin:pingpong {bytes} 9"));
    let sizes = report["breakdowns"].as_array().unwrap();
    let size = sizes.iter().find(|size| size["bytes"] == bytes).unwrap();
    let steps = size["segments"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| (step["name"].as_str().unwrap().to_string(), step["ns"].as_f64().unwrap()));
    let steps: Vec<_> = steps.collect();
    let sum: f64 = steps.iter().map(|(_, ns)| ns).sum();
    near(sum, size["total_ns"].as_f64().unwrap());
    steps
}

pub fn step(line: &str, bytes: u64, name: &str) -> f64 {
    let steps = steps(line, bytes);
    let found = steps.iter().find(|(step, _)| step == name);
    found.unwrap_or_else(|| panic!("no {name}: {steps:?}")).1
}

pub fn near(a: f64, b: f64) {
    assert!((a - b).abs() < 0.01, "{a} instead of {b}");
}

/// A counter of both nodes together.
pub fn counted(report: &Value, name: &str) -> u64 {
    let nodes = report["nodes"].as_array().unwrap();
    nodes.iter().map(|node| node["counters"][name].as_u64().unwrap_or_default()).sum()
}

#[test]
fn programs_print_what_they_print_on_any_machine() {
    for program in [
        "-n 4 tests/mpi/messages.c",
        "-n 5 --ranks-per-node 2 tests/mpi/collectives.c",
        "-n 6 tests/soak/random.c 11",
        "-n 3 --set host.os=linux tests/soak/random.c 13",
        "-n 2 examples/portals_getadd.c",
    ] {
        let printed = |machine: &str| {
            let ended = run(&format!("-q -m {machine} {program}"));
            assert_eq!(ended.code, 0, "{ended:#?}");
            let timed = |line: &&str| !line.contains(" us");
            let mut lines: Vec<String> =
                ended.stdout.lines().filter(timed).map(String::from).collect();
            lines.sort();
            lines
        };
        let redstorm = printed("redstorm");
        assert!(!redstorm.is_empty(), "{program}");
        for machine in BOTH {
            assert_eq!(printed(machine), redstorm, "{machine}: {program}");
        }
    }
}

#[test]
fn one_run_has_one_hash() {
    for machine in ["example", "queuepair", "queuepair --fault segment.lost=0.01"] {
        let hash = |options: &str| {
            let report = report(&format!("-m {machine} {options} -n 9 tests/soak/random.c 5"));
            (report["trace_hash"].clone(), report["simulated_ns"].clone(), report["nodes"].clone())
        };
        let first = hash("");
        for options in ["-t 2", "--judge", "-t 2 --cold-boot"] {
            assert_eq!(hash(options), first, "{machine} {options}");
        }
    }
}

#[test]
fn a_message_passes_queue_engine_and_link() {
    let step = |settings: &str, name| step(&format!("-m example {settings}"), 1000, name);
    // Fetched, and read by the engine.
    near(step("", "TX DMA"), 500.0 + 300.0 + 2000.0);
    // With its header on the link.
    near(step("", "wire"), 1064.0 + 200.0);
    // In two packets, of which the second follows the first.
    near(step("--set example.packet=512B", "wire"), 1064.0 + 200.0);
    near(step("--set example.fetch=1us", "TX DMA"), 1000.0 + 300.0 + 2000.0);
}

#[test]
fn a_late_engine_is_seen_where_it_is_late() {
    let line = "-m example -n 2 builtin:pingpong 1000 9";
    let fault = "--fault engine.late=1:7us";
    let (well, late) = (report(line), report(&format!("{fault} --judge {line}")));
    assert_eq!(counted(&well, "engine.late"), 0);
    assert_eq!(counted(&report(&format!("--fault engine.late=#5:7us@1 {line}")), "engine.late"), 1);
    // Each engine reads and writes each message.
    assert_eq!(counted(&late, "engine.late"), 2 * counted(&well, "rx.messages"));
    for (name, longer) in [("TX DMA", 7000.0), ("wire", 0.0), ("kernel Portals, receive", 7000.0)] {
        let with = |fault: &str| step(&format!("-m example {fault}"), 1000, name);
        near(with(fault) - with(""), longer);
    }
    let ended = unjudged(&format!("explain --size 1000 {fault} {line}"));
    for words in ["TX DMA", "example.dma_start = 300 ns"] {
        assert!(ended.stdout.contains(words), "{words}: {}", ended.stdout);
    }
}

#[test]
fn what_they_have_not_is_refused_by_name() {
    for (line, words) in [
        ("-m example --fault segment.lost=1", "machines of model example have no segment.lost"),
        ("-m queuepair --fault engine.late=1:1us", "machines of model queuepair have no engine"),
        ("-m queuepair --fault link.drop=1", "theirs are segment.lost, acknowledgement.lost"),
        ("-m queuepair --set example.packet=64B", "example"),
        ("-m queuepair --pcap no.pcapng", "queuepair"),
        ("-m queuepair --functions --json no.json --trace no.pftrace", "queuepair"),
        ("-m queuepair --gdb 0", "queuepair"),
    ] {
        unjudged(&format!("run -n 2 {line} builtin:pingpong 8 1")).said(2, &[words]);
    }
    unjudged("profile -n 2 -m queuepair builtin:pingpong 8 1").said(2, &["queuepair"]);
}

#[test]
fn the_guide_speaks_of_what_there_is() {
    let read = |file: &str| std::fs::read_to_string(root().join(file)).unwrap();
    let guide = read("docs/adding-a-nic.md");
    for machine in BOTH {
        let folder = root().join(format!("crates/models/model-{machine}/src"));
        let files = std::fs::read_dir(folder).unwrap();
        let lines =
            |file: std::path::PathBuf| std::fs::read_to_string(file).unwrap().lines().count();
        let lines: usize = files.map(|file| lines(file.unwrap().path())).sum();
        let told = format!("| `model-{machine}` | {lines} |");
        assert!(guide.contains(&told), "the guide has not: {told}");
    }
    let code = ["node/nic.rs", "node/ports.rs", "node/software.rs", "bench.rs", "models.rs"]
        .map(|file| read(&format!("crates/bench/machine/src/{file}")))
        .concat();
    for name in ["store", "load", "handle", "receive", "word", "earliest_output", "next_action"] {
        assert!(guide.contains(&format!("`{name}`")) && code.contains(&format!("fn {name}(")));
    }
    let driver = read("crates/software/portals/src/nal/messages.rs");
    for name in ["send", "deposit", "release", "next", "has_events"] {
        assert!(guide.contains(&format!("`{name}`")) && driver.contains(&format!("fn {name}(")));
    }
}
