//! Random numbers that the system gives a rank are a function of seed and rank.

use crate::runner::{command, ended, root};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program compiled without Sunstar's libraries.
fn foreign(compiler: &str, folder: &Path, source: &Path) -> PathBuf {
    let program = folder.join(source.file_stem().unwrap());
    let mut compile = Command::new(compiler);
    compile.current_dir(root()).args(["-O1", "-Wall", "-o"]).arg(&program).arg(source);
    ended(&mut compile).went_well();
    program
}

/// Lines of two ranks with a seed, sorted: the ranks print at about the same time.
fn told(seed: &str, program: &Path, words: &[&str]) -> Vec<String> {
    let options = ["run", "-q", "--label", "-n", "2", "--seed", seed];
    let run = ended(command().args(options).arg(program).args(words));
    run.said(0, &["has used MPI"]);
    let mut lines: Vec<String> = run.stdout.lines().map(Into::into).collect();
    lines.sort();
    lines
}

fn without_children(lines: Vec<String>) -> Vec<String> {
    lines.into_iter().filter(|line| !line.contains("child")).collect()
}

#[test]
fn numbers_of_the_system_follow_the_seed() {
    let folder = tempfile::tempdir().unwrap();
    let program = foreign("gcc", folder.path(), Path::new("tests/cli/random.c"));
    let all = told("1", &program, &[]);
    let one = without_children(all.clone());
    assert_eq!(one.len(), 2 * 10, "{one:#?}");
    assert_eq!(without_children(told("1", &program, &[])), one);
    // Each number once, but for the zeros: ways, ranks and seeds differ.
    let numbers = |lines: &[String]| -> BTreeSet<String> {
        let words = lines.iter().filter(|line| !line.contains("zeros"));
        words.map(|line| line.rsplit(' ').next().unwrap().into()).collect()
    };
    let other = without_children(told("2", &program, &[]));
    let both: BTreeSet<String> = numbers(&one).union(&numbers(&other)).cloned().collect();
    assert_eq!(both.len(), 4 * 9, "{one:#?} {other:#?}");
    assert!(one.iter().filter(|line| line.ends_with("zeros 00000000")).count() == 2, "{one:#?}");
    // What a rank starts has the system's.
    let again = told("1", &program, &[]);
    assert_ne!(again, all, "children's numbers are the same");
}

#[test]
fn hash_seeds_and_devices_of_other_languages_do_so_too() {
    let folder = tempfile::tempdir().unwrap();
    let python = ["-c", "import os; print(hash('x'), os.urandom(8).hex(), {'a', 'b', 'c', 'd'})"];
    let one = told("1", Path::new("python3"), &python);
    assert_eq!(told("1", Path::new("python3"), &python), one);
    assert_ne!(told("2", Path::new("python3"), &python), one);
    let source = folder.path().join("device.cc");
    let text = "#include <cstdio>\n#include <random>\nint main() { std::random_device d; \
        printf(\"%u %u\\n\", d(), d()); }\n";
    std::fs::write(&source, text).unwrap();
    let program = foreign("g++", folder.path(), &source);
    let one = told("1", &program, &[]);
    assert_eq!(told("1", &program, &[]), one);
    assert_ne!(told("2", &program, &[]), one);
}
