//! Ends of runs are deterministic: programs that fail, on random machines with random faults, end at the same
//! instant with the same report, with any options that change only the speed, with and without observers.
//!
//! ```text
//! ENDINGS_FIRST=17 ENDINGS_SEEDS=1 cargo test -p cli --test command endings -- --ignored    one seed
//! ```

use crate::runner::{command, compiled, ended, Ended};
use crate::seeds::number;
use crate::seeds::Unexpected;
use crate::soak::{fault, kinds_here, quoted};
use des::Random;
use serde_json::Value;
use std::path::Path;

/// Program that ends in a way that depends on its argument.
const PROGRAM: &str = "tests/soak/endings.c";

/// Options that change nothing but the speed; the last ones are for observers.
const SAME: [&str; 8] = [
    "--threads 2",
    "--no-translate",
    "--no-park",
    "--no-merge",
    "--cold-boot",
    "--judge",
    "--pcap PCAP --trace TRACE",
    "--pcap PCAP --trace TRACE --threads 2 --no-park",
];

/// Keys that describe the command, or wall time.
const OTHERWISE: [&str; 4] = ["threads", "wall_seconds", "own_work_seconds", "judged"];

/// Runs to be compared.
struct Case {
    seed: u64,
    options: Vec<String>,
}

/// One of them.
#[derive(PartialEq)]
struct Run {
    code: i32,
    said: Vec<String>,
    report: Value,
}

impl Case {
    fn new(seed: u64) -> Case {
        let mut random = Random::new(seed ^ 0xe4d5);
        let mut below = |bound: u64| random.below(bound);
        let most = [4, 8, 34][below(3) as usize];
        let ranks = 2 + below(most) as u32;
        let per_node = 1 + u32::from(below(4) == 0);
        let topology = ["row", "mesh", "mesh", "torus"][below(4) as usize];
        let mut options = vec![format!("--seed {seed}"), format!("-n {ranks}")];
        options.push(format!("--ranks-per-node {per_node}"));
        options.push(format!("--set net.topology={topology}"));
        match below(8) {
            0 => options.push("--set host.os=linux".into()),
            1 => options.push(format!("--set nic.rx_buffers={}", 1 + below(20))),
            _ => {}
        }
        // Some programs end only so.
        let until = 1 + below(400_000);
        if below(3) == 0 {
            options.push(format!("--until {until}ns"));
        } else {
            options.push("--until 3ms".into());
        }
        if below(3) == 0 {
            let had = kinds_here();
            let kind = had[below(had.len() as u64) as usize];
            let nodes = ranks.div_ceil(per_node);
            if let Some(fault) = fault(kind, nodes, &options, &mut below) {
                options.push(format!("--fault {fault}"));
            }
        }
        Case { seed, options }
    }

    fn replay(&self) -> String {
        let words = self.options.iter().flat_map(|option| option.split(' '));
        let words: Vec<String> = words.map(quoted).collect();
        format!("sunstar run {} {PROGRAM} {}", words.join(" "), self.seed)
    }

    /// Runs it with `more`, in `folder`.
    fn run(&self, program: &Path, more: &str, folder: &Path) -> Run {
        let json = folder.join("run.json");
        let mut command = command();
        command.args(["run", "-q", "--json"]).arg(&json);
        command.args(self.options.iter().flat_map(|option| option.split(' ')));
        for word in more.split_whitespace() {
            match word {
                "PCAP" | "TRACE" => command.arg(folder.join(word)),
                word => command.arg(word),
            };
        }
        let Ended { code, stderr, .. } = ended(command.arg(program).arg(self.seed.to_string()));
        let said = stderr.lines().filter(|line| line.starts_with("sunstar: ")).map(str::to_owned);
        let bytes = std::fs::read(json).unwrap_or_else(|why| panic!("{why}: {stderr}"));
        let mut report: Value = serde_json::from_slice(&bytes).unwrap();
        for key in OTHERWISE {
            report.as_object_mut().unwrap().remove(key);
        }
        Run { code, said: said.collect(), report }
    }

    /// Compares all runs of it; the error names the one that differs, and the difference. True if it failed.
    fn check(&self, program: &Path) -> Result<bool, Unexpected> {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let first = self.run(program, "", folder);
        let same = |other: &Run, how: &str| match differs(&first, other) {
            None => Ok(()),
            Some(difference) => Err(Unexpected::Differs { how: how.to_owned(), difference }),
        };
        let mut files: Option<[Vec<u8>; 2]> = None;
        for how in SAME {
            let run = self.run(program, how, folder);
            if run.said.iter().any(|line| line.contains("the judge:")) {
                continue; // a fault, found earlier than it shows otherwise
            }
            same(&run, how)?;
            if how.contains("PCAP") {
                let read = ["PCAP", "TRACE"].map(|name| std::fs::read(folder.join(name)).unwrap());
                if *files.get_or_insert(read.clone()) != read {
                    return Err(Unexpected::Files { how: how.to_owned() });
                }
            }
        }
        Ok(first.code != 0)
    }
}

/// First difference between two runs.
fn differs(a: &Run, b: &Run) -> Option<String> {
    if a.code != b.code || a.said != b.said {
        return Some(format!("{} {:#?} instead of {} {:#?}", b.code, b.said, a.code, a.said));
    }
    difference("", &a.report, &b.report)
}

/// First difference between two values.
fn difference(place: &str, a: &Value, b: &Value) -> Option<String> {
    let inner = |key: &str, a: &Value, b: &Value| difference(&format!("{place}/{key}"), a, b);
    match (a, b) {
        (Value::Object(left), Value::Object(right)) if left.len() == right.len() => left
            .iter()
            .find_map(|(key, value)| inner(key, value, right.get(key).unwrap_or(&Value::Null))),
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            left.iter().zip(right).enumerate().find_map(|(at, (a, b))| inner(&at.to_string(), a, b))
        }
        _ if a == b => None,
        _ => Some(format!("{place}: {b} instead of {a}")),
    }
}

/// Compares the runs of so many seeds; returns the number of those that failed.
fn compare(first: u64, seeds: u64) -> u64 {
    let folder = tempfile::tempdir().unwrap();
    let program = compiled(folder.path(), PROGRAM);
    let (mut bad, mut wrong) = (0, Vec::new());
    for seed in first..first + seeds {
        let case = Case::new(seed);
        match case.check(&program) {
            Ok(badly) => bad += u64::from(badly),
            Err(why) => {
                let told = format!("seed {seed}: {}\n{why}", case.replay());
                eprintln!("{told}");
                wrong.push(told);
            }
        }
    }
    println!("{seeds} seeds from {first}: {bad} ended badly");
    assert!(wrong.is_empty(), "{} of {seeds} seeds failed:\n{}", wrong.len(), wrong.join("\n"));
    bad
}

#[test]
fn a_run_that_ends_badly_has_one_end() {
    let bad = compare(1, 3);
    assert!(bad > 0, "{bad}");
}

/// Seeds that found bugs: a node that fails in its own boot, beside nodes that share one; windows, and with
/// them the order of a trace, that depended on threads when two nodes can send at the same time.
const FOUND: [u64; 4] = [1012, 1074, 3005, 7742];

#[test]
fn ends_that_were_found_to_differ_are_one() {
    for seed in FOUND {
        compare(seed, 1);
    }
}

#[test]
#[ignore = "an hour: ENDINGS_FIRST and ENDINGS_SEEDS choose the seeds, 2000 by default"]
fn runs_that_end_badly_soak() {
    compare(number("ENDINGS_FIRST", 1000), number("ENDINGS_SEEDS", 2000));
}
