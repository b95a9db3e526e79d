//! MPICH's own test suite over MPICH's wheel: intercommunicators, one-sided communication, files, threads,
//! sessions and all else that Sunstar's MPI has not. `scripts/bootstrap soak` compiles it from Debian's
//! sources.

use crate::runner::{root, Ended};
use crate::verdicts::{failed, hold, Case, OK};
use std::fs;
use std::path::PathBuf;

/// Its folders, each of which has a list of programs.
const FOLDERS: [&str; 11] = [
    "rma",
    "comm",
    "init",
    "io",
    "pt2pt",
    "coll",
    "threads/pt2pt",
    "threads/comm",
    "threads/init",
    "threads/rma",
    "threads/coll",
];
const VERSIONS: &str = "programs of MPICH 4.0.2 (Debian), library of MPICH 5.0.2 (PyPI), \
    redstorm-accelerated, with the judge: folder/program ranks options, verdict";

fn suite() -> PathBuf {
    root().join("build/mpich-suite")
}

/// Why a program is not there: the first error of its source.
fn not_compiled(folder: &str, program: &str) -> String {
    let log = fs::read(suite().join(folder).join("make.log")).unwrap_or_default();
    let log = String::from_utf8_lossy(&log);
    let source = format!("{program}.c:");
    let error = log.lines().find(|line| line.contains(&source) && line.contains("error: "));
    let why = error.and_then(|line| line.split("error: ").nth(1));
    format!("does not compile: {}", why.unwrap_or("make.log has no error of its own"))
}

/// A line of a list: `program ranks [option=value ...]`.
fn case(folder: &str, line: &str) -> Option<Case> {
    let line = line.split('#').next()?.trim();
    let (program, rest) = line.split_once(' ')?;
    let mut options = rest.split_whitespace();
    let ranks: u32 = options.next()?.parse().ok()?;
    let path = suite().join(folder).join(program);
    let mut words = vec!["-n".into(), ranks.to_string(), path.display().to_string()];
    let (mut variables, mut settled) = (Vec::new(), None);
    for option in options {
        match option.split_once('=')? {
            ("arg", argument) => words.push(argument.into()),
            ("env", variable) => {
                let (name, value) = variable.split_once('=')?;
                variables.push((name.to_owned(), value.to_owned()));
            }
            ("mem", gigabytes) => settled = Some(format!("skipped: wants {gigabytes} GB")),
            ("resultTest", "TestErrFatal") => {
                settled = Some("skipped: its launcher is to end it".into());
            }
            _ => {}
        }
    }
    if !path.is_file() {
        settled = Some(not_compiled(folder, program));
    }
    let name = format!("{folder}/{}", line.split_whitespace().collect::<Vec<_>>().join(" "));
    Some(Case { name, words, variables, settled })
}

fn look(case: &Case, run: &Ended) -> String {
    let judged = !run.stderr.contains("the judge:");
    let well = match case.name.contains("resultTest=TestStatus") {
        // It ends with another status, and not because of the judge.
        true => run.code > 0 && ![124, 137].contains(&run.code) && judged,
        false => run.code == 0 && run.stdout.contains("No Errors"),
    };
    if well {
        OK.into()
    } else {
        failed(run)
    }
}

#[test]
#[ignore = "an hour: make soak"]
fn mpichs_suite_passes_where_it_did() {
    let there = suite().join("compiled").exists();
    assert!(there, "{} is missing: scripts/bootstrap soak", suite().display());
    let mut cases = Vec::new();
    for folder in FOLDERS {
        let list = fs::read_to_string(suite().join(folder).join("testlist")).unwrap();
        cases.extend(list.lines().filter_map(|line| case(folder, line)));
    }
    // A list names some twice.
    cases.sort_by(|one, other| one.name.cmp(&other.name));
    cases.dedup_by(|one, other| one.name == other.name);
    assert!(cases.len() > 400, "{}", cases.len());
    hold("mpich", VERSIONS, &cases, look);
}
