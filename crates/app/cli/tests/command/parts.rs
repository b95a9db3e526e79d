//! Several programs in one run: `-n 1 a : -n 2 b`.

use crate::runner::{command, ended, root, run, sunstar, Ended};
use serde_json::Value;
use std::path::{Path, PathBuf};

const SOURCE: &str = "tests/cli/part.c";

/// The program under a name of its own.
fn built(folder: &Path, name: &str) -> PathBuf {
    let output = folder.join(name);
    let name = format!("-DNAME=\"{name}\"");
    ended(command().args(["cc", SOURCE, &name, "-o"]).arg(&output)).went_well();
    output
}

#[track_caller]
fn printed(run: &Ended, lines: &[&str]) {
    let found: Vec<&str> = run.went_well().stdout.lines().collect();
    assert_eq!(found, lines);
}

#[test]
fn ranks_are_numbered_through() {
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = (built(folder.path(), "a"), built(folder.path(), "b"));
    let (a, b) = (a.display(), b.display());
    let two = run(&format!("-q -n 1 {a} : -n 2 {b} -n 7 word"));
    printed(&two, &["0 of 3: 0 a", "1 of 3: 1 b [-n] [7] [word]", "2 of 3: 1 b [-n] [7] [word]"]);
    // All ways to say how many; one, if nothing is said; sources of one name; other nodes, threads.
    let many = format!(
        "-q --threads 2 --ranks-per-node 2 -np 2 {a} x : {b} : -n2 {SOURCE} y : -np 1 {SOURCE} \
         : --ranks=1 {a}"
    );
    let lines = [
        "0 of 7: 0 a [x]",
        "1 of 7: 0 a [x]",
        "2 of 7: 1 b",
        "3 of 7: 2 source [y]",
        "4 of 7: 2 source [y]",
        "5 of 7: 3 source",
        "6 of 7: 4 a",
    ];
    printed(&run(&many), &lines);
}

#[test]
fn a_run_of_one_program_in_two_parts_is_the_same_run() {
    let hash = |line: &str| {
        let run = run(&format!("-n {line}"));
        let text = &run.went_well().stdout;
        text.lines().find(|line| line.starts_with("Trace hash")).unwrap().to_owned()
    };
    let folder = tempfile::tempdir().unwrap();
    let a = built(folder.path(), "a");
    let a = a.display();
    let whole = hash(&format!("5 {a}"));
    assert_eq!(whole, hash(&format!("2 {a} : -n 3 {a}")));
    assert_ne!(whole, hash(&format!("2 {a} : -n 3 {a} word")), "the last ranks send more");
}

#[test]
fn every_part_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = (built(folder.path(), "a"), built(folder.path(), "b"));
    let (a, b) = (a.to_str().unwrap(), b.to_str().unwrap());
    let report = |name: &str, words: &[&str]| -> (Value, PathBuf) {
        let file = folder.path().join(name);
        let all = [&["run", "-q", "--json", file.to_str().unwrap(), "-n", "1"], words].concat();
        sunstar(all).went_well();
        (serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap(), file)
    };
    let (json, first) = report("first.json", &[a, ":", "-n", "2", b, "two words"]);
    assert_eq!((&json["ranks"], &json["program"]), (&3.into(), &a.into()));
    assert_eq!(json["arguments"], Value::Array(Vec::new()));
    let [one, two] = json["parts"].as_array().unwrap().as_slice() else { panic!("{json}") };
    assert_eq!((&one["ranks"], &one["program"]), (&1.into(), &a.into()));
    assert_eq!((&two["ranks"], &two["program"]), (&2.into(), &b.into()));
    assert_eq!(two["arguments"], Value::from(vec!["two words"]));
    assert_eq!(one["program_digest"], json["program_digest"]);
    assert_ne!(one["program_digest"], two["program_digest"]);

    let (alone, _) = report("alone.json", &[a]);
    assert!(alone.get("parts").is_none(), "{alone}");
    // What differs only in a part is told.
    let (_, other) = report("other.json", &[a, ":", "-n", "2", a, "two words"]);
    let diff = sunstar(["diff", first.to_str().unwrap(), other.to_str().unwrap()]);
    assert!(diff.code == 1 && diff.stdout.contains(&format!(": -n 2 {b}")), "{diff:?}");

    let page = folder.path().join("page.html");
    let words = ["report", page.to_str().unwrap(), "-n", "1", "--largest", "8", a, ":", "-n", "2"];
    ended(command().args(words).args([b, "x"])).wrote(&page);
    let page = std::fs::read_to_string(&page).unwrap();
    let again = format!("--largest 8 {a} : -n 2 {b} x");
    assert!(page.contains(&again), "no '{again}' in the page");
    let title = format!("{a} : {b}");
    let flame = folder.path().join("flame.svg");
    let words = ["profile", "-q", "--flame", flame.to_str().unwrap(), a, ":", b];
    ended(command().args(words)).went_well();
    assert!(std::fs::read_to_string(&flame).unwrap().contains(&title), "no '{title}'");
}

#[test]
fn mistakes_are_told_in_a_sentence() {
    let usage_error = |line: &str, words: &[&str]| {
        run(line).said(2, words);
    };
    for line in [": a", "-n 2 a :", "a : : b", "a : -n 2", ": ", "a : -n 2 : b"] {
        usage_error(line, &["':' stands between two programs"]);
    }
    let file = root().join(SOURCE);
    let file = file.display();
    usage_error(&format!("{file} : --seed 3 {file}"), &["only -n N", "--seed"]);
    for number in ["0", "many", "4294967296"] {
        let words = ["--ranks", number, "a whole number from 1 to"];
        usage_error(&format!("{file} : -n {number} {file}"), &words);
    }
    usage_error(&format!("{file} : -n -1 {file}"), &["there is no option -1"]);
    usage_error(&format!("-n 4294967295 {file} : {file}"), &["more ranks"]);
    usage_error(&format!("{file} : none"), &["there is no program none"]);
    usage_error(&format!("{file} : builtin:barrier"), &["builtin:barrier", "beside"]);
    let table = ["sweep", "--out", "none.csv", &file.to_string(), ":", &file.to_string()];
    ended(command().args(table)).said(2, &["a sweep runs one"]);
}
