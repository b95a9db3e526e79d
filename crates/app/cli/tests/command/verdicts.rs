//! Suites of programs that nobody here wrote, and reviewed tables of what became of each
//! (`tests/golden/suites`).
//!
//! ```text
//! SUITE_ONLY=rma/test1 cargo test -p cli --test command suite -- --ignored    those whose names begin so
//! SUITE_UPDATE=1 cargo test -p cli --test command suite -- --ignored          writes the tables anew
//! ```

use crate::runner::{ended, judged_alone, root, Ended};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Seconds that a program may take (SUITE_SECONDS). Those that end take a tenth of it, unless the machine is
/// busy.
const SECONDS: &str = "300";
/// Runs at a time.
const AT_A_TIME: usize = 2;
/// The verdict of those that do as they should.
pub const OK: &str = "ok";

/// A program of a suite, with what its list says of it.
#[derive(Debug)]
pub struct Case {
    /// Its name in the table, which no other one has.
    pub name: String,
    /// Words of `sunstar run`: options, program and arguments.
    pub words: Vec<String>,
    pub variables: Vec<(String, String)>,
    /// Verdict of a program that is not run.
    pub settled: Option<String>,
}

impl Case {
    /// Runs it with the judge, in a folder that it may fill.
    pub fn run(&self) -> Ended {
        let folder = tempfile::tempdir().unwrap();
        let seconds = std::env::var("SUITE_SECONDS").unwrap_or(SECONDS.into());
        let mut run = judged_alone(&seconds);
        run.args(["-q", "-m", "redstorm-accelerated"]).args(&self.words);
        run.envs(self.variables.iter().map(|(name, value)| (name, value)));
        ended(run.current_dir(folder.path()))
    }
}

/// The verdict of a run that did not do as it should.
pub fn failed(run: &Ended) -> String {
    if [124, 137].contains(&run.code) {
        return "time limit".into();
    }
    let lines = || run.stderr.lines().chain(run.stdout.lines()).map(str::trim);
    let told = run.stderr.lines().rev().find_map(|line| line.strip_prefix("sunstar: "));
    let first = lines().find(|line| !line.is_empty() && *line != "No Errors");
    let why = told.or(first).unwrap_or("it said nothing");
    format!("failed: {}", why.chars().take(160).collect::<String>())
}

/// The number that a verdict counts as, for a summary.
fn kind(verdict: &str) -> &str {
    verdict.split(':').next().unwrap_or(verdict)
}

fn table(suite: &str) -> PathBuf {
    root().join("tests/golden/suites").join(suite).with_extension("tsv")
}

/// Verdicts by names.
fn read(path: &Path) -> BTreeMap<String, String> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let rows = text.lines().filter_map(|line| line.split_once('\t'));
    rows.map(|(name, verdict)| (name.to_owned(), verdict.to_owned())).collect()
}

/// Looks at all cases, some at a time, and holds their verdicts against the suite's table: what passed does.
pub fn hold(suite: &str, versions: &str, cases: &[Case], look: fn(&Case, &Ended) -> String) {
    let only = std::env::var("SUITE_ONLY").unwrap_or_default();
    let chosen: Vec<&Case> = cases.iter().filter(|case| case.name.starts_with(&only)).collect();
    let (left, done) = (Mutex::new(chosen.iter()), Mutex::new(BTreeMap::new()));
    std::thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(|| loop {
                let Some(case) = left.lock().unwrap().next() else { return };
                let settled = case.settled.clone();
                let verdict = settled.unwrap_or_else(|| look(case, &case.run()));
                println!("{}\t{verdict}", case.name);
                done.lock().unwrap().insert(case.name.clone(), verdict);
            });
        }
    });
    let done = done.into_inner().unwrap();
    assert_eq!(done.len(), chosen.len(), "two programs have one name");
    let mut counts = BTreeMap::<&str, usize>::new();
    done.values().for_each(|verdict| *counts.entry(kind(verdict)).or_default() += 1);
    println!("{suite}: {counts:?} of {}", done.len());
    let path = table(suite);
    if std::env::var_os("SUITE_UPDATE").is_some() && only.is_empty() {
        let rows = done.iter().map(|(name, verdict)| format!("{name}\t{verdict}\n"));
        fs::write(&path, format!("# {versions}\n{}", rows.collect::<String>())).unwrap();
        return;
    }
    let reviewed = read(&path);
    assert!(!reviewed.is_empty(), "{} has no verdicts", path.display());
    let passed = |name: &str| reviewed.get(name).is_some_and(|was| was == OK);
    let worse: Vec<_> =
        done.iter().filter(|(name, verdict)| *verdict != OK && passed(name)).collect();
    assert!(worse.is_empty(), "{} passed, and do not any more: {worse:#?}", worse.len());
    let unknown = done.keys().filter(|name| !reviewed.contains_key(*name)).count();
    println!("{unknown} of them are not in {}", path.display());
}
