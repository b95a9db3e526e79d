//! Files that a user names: whatever stands there, each command with each of its arguments for files ends at
//! once, with a sentence that names it. The commands and arguments are those of the help, so that a new one
//! is asked, too.

use crate::runner::{command, ended, Ended};
use std::collections::BTreeSet;
use std::ffi::CString;
use std::path::{Path, PathBuf};

/// An argument that names what is read.
struct Read {
    /// As the help has it.
    argument: &'static str,
    /// Part of it before the file.
    before: &'static str,
    /// Other words that the command needs to come so far that it reads the file.
    with: &'static str,
}

const fn read(argument: &'static str, before: &'static str, with: &'static str) -> Read {
    Read { argument, before, with }
}

const READ: &[Read] = &[
    read("--machine <NAME|FILE>", "", ""),
    read("--monitor <NODE[:FILE]>", "0:", "-m amata -n 2"),
    read("--map <FILE>", "", ""),
    read("<OBJECTS>", "", ""),
    read("--original <STUDY=PROGRAM>", "pingpong=", ""),
    read("--plan <FILE.toml>", "", ""),
    read("--rtl-dir <FOLDER>", "", "--rtl -m alpu -n 2"),
    read("--wdir <FOLDER>", "", ""),
    read("--mpi <own|mpich|intel|FOLDER>", "", ""),
    read("<PROGRAM>", "", ""),
    read("[PROGRAM]", "", ""),
    read("<A.json>", "", ""),
    read("<B.json>", "", ""),
    read("[NAME|FILE]", "", ""),
];

/// Words without which a command looks at no file, or not at that of the argument that begins so.
const NEEDED: &[(&str, &str, &str)] = &[
    ("sweep", "", "--vary host.interrupt_entry=1us..2us:1us"),
    ("guest", "--machine", "0"),
    ("lanai-link", "<OBJECTS>", "--map abi/myrinet/memory.toml"),
];

/// Arguments that a command takes like others of its kind, and always refuses.
const REFUSED: &[(&str, &str)] = &[("queues", "--monitor <NODE[:FILE]>")];

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
    "--copy <FOLDER>",
    "--flat <FILE>",
    "--c-array <FILE>",
    "<FILE.html>",
    "<FOLDER>",
];

/// Programs whose words go to another program: a compiler reads its files itself.
const COMPILERS: [&str; 3] = ["cc", "cxx", "fc"];

/// A command with its names, and its arguments for files as the help has them.
pub struct Verb {
    pub words: Vec<String>,
    pub files: Vec<String>,
}

/// True of the name of an argument that is a file, in the help's words.
fn names_a_file(argument: &str) -> bool {
    let names = ["FILE", "FOLDER", "PATH", "PROGRAM", "OBJECTS", ".json"];
    names.iter().any(|name| argument.contains(name))
}

/// All commands, also those below others, by their own help.
pub fn verbs(above: &[String]) -> Vec<Verb> {
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
fn call(verb: &Verb, read: &Read, trap: &Path, folder: &Path) -> Ended {
    let mut line = command();
    line.args(&verb.words).args(read.with.split_whitespace());
    let value = format!("{}{}", read.before, trap.display());
    let harmless = |name: &str| folder.join(name).display().to_string();
    if let Some((option, _)) = read.argument.split_once(" <") {
        // With an equals sign it is a value, whatever it begins with.
        line.arg(format!("{option}={value}"));
    }
    for needed in ["--out", "--output", "--socket"] {
        if verb.files.iter().any(|file| file.starts_with(&format!("{needed} "))) {
            line.arg(format!("{needed}={}", harmless(&verb.words.concat())));
        }
    }
    let needs = |(name, argument, _): &&(&str, &str, &str)| {
        verb.words == [*name] && read.argument.starts_with(argument)
    };
    let needed = NEEDED.iter().filter(needs);
    line.args(needed.flat_map(|(_, _, words)| words.split_whitespace()));
    for place in verb.files.iter().filter(|file| !file.starts_with('-')) {
        let word = match place.as_str() {
            place if place == read.argument => value.clone(),
            "<PROGRAM>" | "[PROGRAM]" if read.with.contains("amata") => {
                "builtin:myrinet-pingpong".to_owned()
            }
            "<PROGRAM>" | "[PROGRAM]" => "builtin:pingpong".to_owned(),
            "<A.json>" | "<B.json>" => harmless("run.json"),
            "[NAME|FILE]" => continue,
            place if place.contains(".html") => harmless("page.html"),
            _ => harmless(&verb.words.concat()),
        };
        line.arg(word);
    }
    ended(&mut line)
}

/// Fault of the way in which it ended, if any.
fn wrong(ended: &Ended, read: &Read, trap: &Path) -> Option<&'static str> {
    let name = trap.file_name().unwrap().to_str().unwrap();
    let said = &ended.stderr;
    // Lines that are no commands are answered, and the run goes on.
    let answered = read.argument.starts_with("--monitor") && name == "noise";
    // A linker names an object without its folder.
    let named =
        said.contains(trap.to_str().unwrap()) || said.contains(&format!("sunstar: {name}: "));
    match ended.code {
        0 if answered => None,
        1 | 2 | 126 | 127 if said.contains("panicked") => Some("a panic"),
        1 | 2 | 126 | 127 if !said.contains("sunstar: ") => Some("no sentence"),
        1 | 2 | 126 | 127 if !named => Some("file without its name"),
        1 | 2 | 126 | 127 => None,
        _ => Some("another status"),
    }
}

#[test]
fn whatever_stands_where_a_file_is_named_is_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("run.json");
    let mut good = command();
    good.args(["run", "-q", "-n", "2", "--json"]).arg(&json).arg("builtin:pingpong");
    ended(&mut good).went_well();
    let traps = traps(folder.path());
    let (mut seen, mut calls, mut wrongs) = (BTreeSet::new(), 0, Vec::new());
    for verb in verbs(&[]) {
        for argument in &verb.files {
            let known = READ.iter().find(|read| read.argument == argument);
            assert!(
                known.is_some() || WRITTEN.contains(&argument.as_str()),
                "{:?} {argument}: is it read or written?",
                verb.words
            );
            let Some(read) = known else { continue };
            if REFUSED.iter().any(|(name, refused)| verb.words == [*name] && refused == argument) {
                continue;
            }
            seen.insert(read.argument);
            for trap in &traps {
                // The monitor waits for whoever writes into a pipe.
                if read.argument.starts_with("--monitor") && trap.ends_with("pipe") {
                    continue;
                }
                let ended = call(&verb, read, trap, folder.path());
                calls += 1;
                if let Some(wrong) = wrong(&ended, read, trap) {
                    let what = (&verb.words, argument, trap);
                    wrongs.push(format!("{wrong}: {what:?}: {ended:#?}"));
                }
            }
        }
    }
    assert!(wrongs.is_empty(), "{}", wrongs.join("\n"));
    assert_eq!(seen, READ.iter().map(|read| read.argument).collect(), "each is in some help");
    assert!(calls > 200, "{calls}");
}
