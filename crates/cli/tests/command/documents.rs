//! What the documents show is what the command prints.

use crate::runner::{command, ended, root};
use std::collections::BTreeSet;

/// The first block of code after `words`.
fn block_after<'a>(text: &'a str, words: &str) -> &'a str {
    let (_, rest) = text.split_once(words).unwrap_or_else(|| panic!("no '{words}'"));
    rest.split("```").nth(1).unwrap()
}

#[test]
fn the_readme_shows_what_make_run_prints() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let shown: Vec<&str> = block_after(&readme, "`make run`, shortened").lines().skip(1).collect();
    // What is left out, and the wall time.
    let of_another_kind = |line: &&str| line.starts_with('[') || line.starts_with("Wall time");
    assert_eq!(shown.iter().filter(|line| of_another_kind(line)).count(), 2, "{shown:#?}");

    let makefile = std::fs::read_to_string(root().join("Makefile")).unwrap();
    let (_, run) = makefile.split_once("@$(sunstar) run ").unwrap();
    let mut command = command();
    command.env("LC_ALL", "C.UTF-8").arg("run").args(run.lines().next().unwrap().split(' '));
    let run = ended(&mut command);
    let printed: BTreeSet<&str> = run.went_well().stdout.lines().collect();
    for line in shown.iter().filter(|line| !of_another_kind(line)) {
        assert!(printed.contains(line), "'{line}' is not in {:#?}", run.stdout);
    }
}
