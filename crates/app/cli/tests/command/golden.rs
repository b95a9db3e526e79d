//! Runs have the results of reviewed tables in `tests/golden`, which have a row for each run: random runs of
//! machine redstorm here, and runs of every machine in `machines`, `parameters` and `guests`.
//!
//! A change of the model changes rows, and its commit gives the reason. A change of the bench changes none;
//! if it renames inputs of the trace hash, only the column `hash` changes.
//!
//! ```text
//! INSTA_UPDATE=always cargo test -p cli --test command golden -- --include-ignored    writes all tables anew
//! ```

mod draws;
mod guests;
mod machines;
mod parameters;
mod programs;
mod row;
mod table;

use crate::runner::{command, ended, root};
use crate::soak::{fault, kinds_here};
use des::Random;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

pub use draws::others;
pub use machines::{all as all_machines, with_programs as machines_with_programs};

const RUNS: u64 = 64;

/// Programs whose behaviour depends on a seed; compiled once.
const PROGRAMS: [&str; 3] = ["random", "portals", "endings"];

/// Built-in workloads, with arguments.
const BUILTIN: [&str; 8] = [
    "pingpong 8 20",
    "pingpong 100000 3",
    "barrier 10",
    "allreduce 64 5",
    "alltoall 3000 2",
    "halo 4096 2",
    "exchange 300000 2",
    "traffic 20000 3",
];

/// The options of run `seed`, and its program.
fn words(seed: u64) -> (Vec<String>, String) {
    let mut random = Random::new(seed ^ 0x901d);
    let mut below = |bound: u64| random.below(bound);
    let built_in = below(3) == 0;
    let most = [3, 8, 30][below(if built_in { 3 } else { 2 }) as usize];
    let ranks = 2 + below(most);
    let per_node = 1 + u64::from(below(4) == 0);
    let topology = ["row", "mesh", "torus"][below(3) as usize];
    let mut options = vec![format!("-n {ranks}"), format!("--ranks-per-node {per_node}")];
    options.push(format!("--set net.topology={topology}"));
    match below(8) {
        0 => options.push("--set host.os=linux".into()),
        1 => options.push("--set host.linux_nodes=1".into()),
        2 => options.push(format!("--set nic.rx_buffers={}", 2 + below(20))),
        3 => options.push(format!("--set mpi.eager_limit={}B", [600, 20_000][below(2) as usize])),
        4 => options.push("--set firmware.inline=off".into()),
        _ => {}
    }
    if below(3) == 0 {
        let had = kinds_here();
        let kind = had[below(had.len() as u64) as usize];
        let nodes = ranks.div_ceil(per_node) as u32;
        let fault = fault(kind, nodes, &options, &mut below);
        options.extend(fault.map(|fault| format!("--fault {fault}")));
    }
    options.push("--until 5ms".into());
    let program = match built_in {
        true => format!("builtin:{}", BUILTIN[below(BUILTIN.len() as u64) as usize]),
        false => format!("{} {seed}", PROGRAMS[below(PROGRAMS.len() as u64) as usize]),
    };
    (options, program)
}

/// A row of the table.
fn row(folder: &Path, seed: u64) -> String {
    let (options, program) = words(seed);
    let json = folder.join("run.json");
    let mut command = command();
    command.args(["run", "-q", "--seed", &seed.to_string(), "--json"]).arg(&json);
    command.args(options.iter().flat_map(|option| option.split(' ')));
    for (at, word) in program.split(' ').enumerate() {
        match at {
            0 if !word.starts_with("builtin:") => command.arg(folder.join(word)),
            _ => command.arg(word),
        };
    }
    let run = ended(&mut command);
    let bytes = std::fs::read(&json).unwrap_or_else(|why| panic!("{why}: {run:#?}"));
    let report: Value = serde_json::from_slice(&bytes).unwrap();
    let digest = |keys: &[&str]| {
        let parts: Vec<_> = keys.iter().map(|key| report[key].to_string()).collect();
        machine::digest(parts.join("\n").as_bytes())
    };
    format!(
        "{seed:>2} {} {} {:>3} {:>14} {} {} {}  {} {program}",
        report["trace_hash"].as_str().unwrap(),
        report["firmware"]["image"].as_str().unwrap(),
        report["exit"]["code"],
        report["simulated_ns"].to_string(),
        digest(&["exit"]),
        digest(&["nodes", "firmware"]),
        digest(&["breakdown", "breakdowns"]),
        options.join(" "),
    )
}

/// The programs, compiled in a folder.
fn compile(folder: &Path) {
    for program in PROGRAMS {
        let source: PathBuf = format!("tests/soak/{program}.c").into();
        let mut cc = Command::new(env!("CARGO_BIN_EXE_sunstar"));
        cc.current_dir(root()).env("SUNSTAR_ROOT", root());
        cc.args(["cc", "-O1"]).arg(source).arg("-o").arg(folder.join(program));
        ended(&mut cc).went_well();
    }
}

#[test]
fn a_quarter_of_random_runs_is_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    compile(folder.path());
    let rows: Vec<_> = (1..=RUNS).step_by(4).map(|seed| row(folder.path(), seed)).collect();
    table::hold_some("", "runs", &rows).unwrap_or_else(|changed| panic!("{changed}"));
}

#[test]
#[ignore = "ten seconds: all rows; make soak"]
fn runs_are_as_they_were() {
    let folder = tempfile::tempdir().unwrap();
    compile(folder.path());
    let rows: Vec<_> = (1..=RUNS).map(|seed| row(folder.path(), seed)).collect();
    let head = "seed, trace hash, firmware image, status, simulated ns, digests of exit, counters \
                and message steps, options and program";
    let table = format!("{head}\n{}\n", rows.join("\n"));
    insta::with_settings!({
        snapshot_path => root().join("tests/golden"),
        prepend_module_to_snapshot => false,
        omit_expression => true,
    }, {
        insta::assert_snapshot!("runs", table);
    });
}
