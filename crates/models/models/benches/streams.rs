//! Benefit of skipping repeated stretches of long messages: built-in workloads, with and without. One
//! thread; events are those of all nodes. The two runs must be the same run.
#![allow(clippy::unwrap_used)]

use machine::parameters::Parameters;
use machine::{Options, Outcome, Places, Program, Shortcuts};
use models::MODELS;
use std::path::Path;
use std::time::Instant;

/// Ranks, name, and arguments of a built-in workload.
const WORKLOADS: [(u32, &str, [&str; 2]); 8] = [
    (2, "pingpong", ["1048576", "20"]),
    (2, "pingpong", ["65536", "100"]),
    (16, "exchange", ["1048576", "3"]),
    (64, "exchange", ["1048576", "3"]),
    (8, "traffic", ["1048576", "3"]),
    (64, "halo", ["1048576", "1"]),
    (64, "alltoall", ["65536", "1"]),
    (2, "pingpong", ["8", "20000"]),
];

fn main() {
    // Cargo asks what tests there are.
    if std::env::args().any(|argument| argument == "--list") {
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3).unwrap();
    if !root.join("build/firmware/seastar.elf").exists() {
        return println!("streams: the firmware is not built (make parts)");
    }
    for (ranks, name, arguments) in WORKLOADS {
        let run = |merge| {
            let started = Instant::now();
            let outcome = run(root, ranks, name, &arguments, merge);
            (outcome, started.elapsed().as_secs_f64())
        };
        // The first run of a process finds no memory that another has given back: the better of two counts.
        let runs = [true, false, true, false].map(run);
        let [(merged, a), (plain, b), (_, c), (_, d)] = runs;
        let (merged_wall, plain_wall) = (f64::min(a, c), f64::min(b, d));
        assert_eq!(merged.report.trace_hash, plain.report.trace_hash);
        let (merged, plain) = (merged.effort.events, plain.effort.events);
        assert_eq!(merged.carried_out + merged.skipped, plain.carried_out);
        println!(
            "{name} {}, {ranks} ranks: {} events carried out of {}, {:.1} times fewer; \
             {merged_wall:.2} s instead of {plain_wall:.2} s, {:.1} times faster",
            arguments.join(" "),
            merged.carried_out,
            plain.carried_out,
            plain.carried_out as f64 / merged.carried_out as f64,
            plain_wall / merged_wall,
        );
    }
}

fn run(root: &Path, ranks: u32, name: &str, arguments: &[&str; 2], merge: bool) -> Outcome {
    let builtin = rank::Builtin::parse(name, &arguments.map(Into::into), ranks).unwrap();
    let parameters = Parameters::load(&MODELS, &root.join("machines/redstorm.toml")).unwrap();
    let (program, places) = (Program::Builtin(builtin), Places::of_repository(root));
    let shortcuts = Shortcuts { merge, ..Shortcuts::default() };
    let options = Options::new(parameters, program, ranks, places);
    let outcome = machine::run(&Options { shortcuts, ..options }).unwrap();
    assert_eq!(outcome.report.exit.code, 0, "{:?}", outcome.report.exit.sentences);
    outcome
}
