//! The tests of mpi4py (PyPI's sources, in `build/mpi4py-suite`) over MPICH's wheel: calls of most of MPI
//! from Python. `scripts/bootstrap soak` fetches both.

use crate::runner::{root, Ended};
use crate::verdicts::{failed, hold, Case, OK};
use std::fs;
use std::path::PathBuf;

const VERSIONS: &str = "tests of mpi4py 4.1.2, library of MPICH 5.0.2 (PyPI), \
    redstorm-accelerated, 2 ranks, with the judge: file, verdict";

fn case(file: PathBuf) -> Case {
    let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
    let own = root().join("build/mpi4py");
    let words = [
        "--mpi".into(),
        own.display().to_string(),
        "-n".into(),
        "2".into(),
        own.join("bin/python").display().to_string(),
        "-B".into(),
        file.with_file_name("main.py").display().to_string(),
        name.clone(),
    ];
    // Orders of sets are the same in each rank.
    let variables = vec![("PYTHONHASHSEED".to_owned(), "0".to_owned())];
    Case { name, words: words.into(), variables, settled: None }
}

/// Each rank has run its tests: `OK`, or `OK (skipped=3)`.
fn look(_: &Case, run: &Ended) -> String {
    let well = run.stderr.lines().filter(|line| line.starts_with("OK")).count();
    if run.code == 0 && well == 2 {
        OK.into()
    } else {
        failed(run)
    }
}

#[test]
#[ignore = "half an hour: make soak"]
fn mpi4pys_suite_passes_where_it_did() {
    let folder = root().join("build/mpi4py-suite/test");
    let there = folder.join("main.py").exists();
    assert!(there, "{} is missing: scripts/bootstrap soak", folder.display());
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let is_test = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with("test_");
    let mut cases: Vec<Case> = files.filter(is_test).map(case).collect();
    cases.sort_by(|one, other| one.name.cmp(&other.name));
    assert!(cases.len() >= 64, "{}", cases.len());
    hold("mpi4py", VERSIONS, &cases, look);
}
