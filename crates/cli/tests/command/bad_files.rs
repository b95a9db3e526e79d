//! Files that a user names: whatever stands there, each command with each of its arguments for files ends at
//! once, with a sentence. The commands and arguments are those of the help, so that a new one is asked, too.

use crate::runner::{command, ended, Ended};
use std::collections::BTreeSet;
use std::ffi::CString;
use std::path::{Path, PathBuf};

/// Arguments that name what is read, with what stands before and behind the file in them.
const READ: &[(&str, &str)] = &[
    ("--machine <NAME|FILE>", "{}"),
    ("--monitor <NODE[:FILE]>", "0:{}"),
    ("--plan <FILE.toml>", "{}"),
    ("--rtl-dir <FOLDER>", "{}"),
    ("--wdir <FOLDER>", "{}"),
    ("<PROGRAM>", "{}"),
    ("<A.json>", "{}"),
    ("<B.json>", "{}"),
    ("[NAME|FILE]", "{}"),
];

/// Arguments that name what is written. A pipe without a reader is waited for there, as anywhere.
const WRITTEN: &[&str] = &[
    "--pcap <FILE>",
    "--trace <FILE>",
    "--messages <FILE>",
    "--calls <FILE>",
    "--rtl-wave <FILE[@NODE:NUMBER]>",
    "--json <FILE>",
    "--json [<FILE>]",
    "--output <FILE>",
    "--flame <FILE.svg>",
    "--out <FILE.csv>",
    "--page <FILE.html>",
    "--socket <PATH>",
    "--record <FILE>",
    "<FILE.html>",
    "<FOLDER>",
];

/// Programs whose words go to another program: a compiler reads its files itself.
const COMPILERS: [&str; 3] = ["cc", "cxx", "fc"];

/// A command with its names, and its arguments for files as the help has them.
struct Verb {
    words: Vec<String>,
    files: Vec<String>,
}

/// True of the name of an argument that is a file, in the help's words.
fn names_a_file(argument: &str) -> bool {
    let names = ["FILE", "FOLDER", "PATH", "PROGRAM", ".json"];
    names.iter().any(|name| argument.contains(name)) && !argument.contains("[PROGRAM]")
}

/// All commands, also those below others, by their own help.
fn verbs(above: &[String]) -> Vec<Verb> {
    let mut help = command();
    help.env("COLUMNS", "300").args(above).arg("--help");
    let text = ended(&mut help).went_well().stdout.clone();
    if let Some((_, list)) = text.split_once("Commands:\n") {
        let list = list.split("\n\n").next().unwrap();
        let names = list.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
        let named = names.filter(|name| !["", "help"].contains(name));
        let words = |name: &str| [above, &[name.to_owned()]].concat();
        return named.flat_map(|name| verbs(&words(name))).collect();
    }
    if COMPILERS.contains(&above[0].as_str()) {
        return Vec::new();
    }
    let usage = text.lines().find(|line| line.starts_with("Usage: ")).unwrap();
    let words: Vec<&str> = usage.split(' ').collect();
    // The value of an option that must be there is no place.
    let placed = words.windows(2).filter(|pair| !pair[0].starts_with("--")).map(|pair| pair[1]);
    let places = placed.map(|word| word.trim_end_matches("...").to_owned());
    let places = places.filter(|word| word.starts_with(['<', '[']) && names_a_file(word));
    let option = |line: &str| {
        let line = line.trim_start();
        let long = &line[line.find("--").filter(|at| *at <= 4)?..];
        Some(long.split("  ").next()?.to_owned())
    };
    let options = text.lines().filter(|line| line.trim_start().starts_with('-')).filter_map(option);
    let mut files: Vec<String> = options.filter(|words| names_a_file(words)).collect();
    files.extend(places);
    files.sort();
    files.dedup();
    vec![Verb { words: above.to_vec(), files }]
}

/// Things that may stand where a file is named.
fn traps(folder: &Path) -> Vec<PathBuf> {
    let pipe = folder.join("pipe");
    let name = CString::new(pipe.to_str().unwrap()).unwrap();
    // SAFETY: the name is a C string that outlives the call.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
    let (zero, lost, noise) = (folder.join("zero"), folder.join("lost"), folder.join("noise"));
    std::os::unix::fs::symlink("/dev/zero", &zero).unwrap();
    std::os::unix::fs::symlink(folder.join("nowhere"), &lost).unwrap();
    std::fs::write(&noise, [0x80, 0, 0xff, b'[', b'"', b'\n'].repeat(100)).unwrap();
    vec![pipe, zero, lost, noise, folder.join("missing")]
}

/// The command with this file in the place of the argument, and harmless words in all other places.
fn call(verb: &Verb, argument: &str, value: &str, folder: &Path) -> Ended {
    let mut line = command();
    line.args(&verb.words);
    let harmless = |name: &str| folder.join(name).display().to_string();
    if let Some((option, _)) = argument.split_once(" <") {
        // With an equals sign it is a value, whatever it begins with.
        line.arg(format!("{option}={value}"));
    }
    if argument.starts_with("--rtl-dir") {
        line.args(["--rtl", "-m", "alpu"]);
    }
    if argument.starts_with("--monitor") {
        line.args(["-m", "amata"]);
    }
    for needed in ["--out", "--socket"] {
        let has = verb.files.iter().any(|file| file.starts_with(&format!("{needed} ")));
        if has && !argument.starts_with(&format!("{needed} ")) {
            line.arg(format!("{needed}={}", harmless("written")));
        }
    }
    for place in verb.files.iter().filter(|file| !file.starts_with('-')) {
        let word = match place.as_str() {
            place if place == argument => value.to_owned(),
            "<PROGRAM>" => "builtin:pingpong".to_owned(),
            "[NAME|FILE]" => continue,
            _ => harmless("written"),
        };
        line.arg(word);
    }
    ended(&mut line)
}

#[test]
fn whatever_stands_where_a_file_is_named_is_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let traps = traps(folder.path());
    let (mut seen, mut calls) = (BTreeSet::new(), 0);
    for verb in verbs(&[]) {
        for argument in &verb.files {
            let known = READ.iter().find(|(name, _)| name == argument);
            assert!(
                known.is_some() || WRITTEN.contains(&argument.as_str()),
                "{:?} {argument}: is it read or written?",
                verb.words
            );
            let Some((name, shape)) = known else { continue };
            seen.insert(*name);
            for trap in &traps {
                let value = shape.replace("{}", &trap.display().to_string());
                let ended = call(&verb, argument, &value, folder.path());
                calls += 1;
                let what = format!("{:?} {argument} {}: {ended:#?}", verb.words, trap.display());
                let sentence =
                    ended.stderr.contains("sunstar: ") || ended.stderr.contains("error:");
                assert!([1, 2, 126, 127].contains(&ended.code) && sentence, "{what}");
                assert!(!ended.stderr.contains("panicked"), "{what}");
            }
        }
    }
    assert_eq!(seen, READ.iter().map(|(name, _)| *name).collect(), "each is in some help");
    assert!(calls > 200, "{calls}");
}
