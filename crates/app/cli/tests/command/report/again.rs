//! The command that a page has under "Again" makes that very page: for every command that writes a page, with
//! each of its options that changes one.

use super::kinds::{made, PAGE};
use super::{all, words};
use crate::bad_files::verbs;
use crate::runner::{command, copied, ended, root};
use scraper::Html;
use std::collections::BTreeSet;
use std::path::Path;

/// Lines with options that are not the usual ones; OWN is a folder with a copy of the machine, and with what
/// the program reads.
const CASES: &[&str] = &[
    "report PAGE --largest 8 -n 5 --ranks-per-node 2 -m OWN/redstorm.toml \
     --set 'host.kernel_entry=210 ns' --fault link.delay=0.5:1us --seed 7 --env BYTES=1000 \
     --genv MORE=30 --wdir OWN --initial-errhandler mpi_errors_return --date 2026-03-31 --judge \
     --check-types SAME tests/cli/again.c 4 nobody : -n 2 --env BYTES=2 tests/cli/again.c 'a b'",
    "report PAGE --largest 0 -m redstorm-accelerated --set net.flit=4ns -j 2",
    "report PAGE --largest 0 --until 30us -n 2 tests/cli/wrong.c endless",
    "queues --page PAGE --vary portals.list_entry=100ns,1us -n 5 --ranks-per-node 2 \
     -m OWN/redstorm.toml --set 'host.kernel_entry=210 ns' --fault link.delay=0.5:1us --seed 7 \
     --env BYTES=1000 --genv MORE=30 --wdir OWN --initial-errhandler mpi_errors_return \
     --date 2026-03-31 --judge --check-types SAME tests/cli/again.c 4 nobody : -n 2 --env BYTES=2 \
     tests/cli/again.c 'a b'",
    "queues --page PAGE --until 60us -n 2 builtin:alltoall 100 500",
    "bench queues --page PAGE -m OWN/redstorm.toml --set portals.list_entry=1us --bytes 40 \
     --longest 5 -j 1 --json OWN/run.json",
    "bench rdma --page PAGE -m OWN/forth.toml --set pcix.split_page=67cycles --largest 24 -j 1 \
     --json OWN/run.json",
    "bench suite --page PAGE -m OWN/redstorm.toml --set 'host.kernel_entry=210 ns' --only rate \
     --only flood --only barrier --original rate=examples/hello.c -n 4 --largest 1024 --flood 60 \
     -j 1 --json OWN/run.json",
    #[cfg(kernel)]
    "bench dp --page PAGE -m OWN/amata.toml --set lanai.clock=50MHz -j 1 --json OWN/run.json",
];

/// Options of a run that change nothing on a page, which is shown by pages that are made without them.
const SAME: &str = "-t 2 --no-park --no-translate --no-merge --cold-boot -q --json OWN/run.json \
                    --pcap OWN/run.pcap --trace OWN/run.trace --messages OWN/messages.parquet \
                    --calls OWN/calls.parquet --functions --label";

/// Options that no case has, with the reason.
const ELSEWHERE: &[(&str, &str)] = &[
    ("--help", "ends the command"),
    ("--compute", "makes runs differ"),
    ("--brief", "is of the summary, as --quiet"),
    ("--full", "is of the summary, as --quiet"),
    ("--output", "is where ranks print to, as --label"),
    ("--console", "only prints, of one machine"),
    ("--gdb", "waits for a debugger"),
    ("--monitor", "waits for commands"),
    ("--rtl", "compiles for minutes; args/again.rs tests its word"),
    ("--rtl-dir", "the same"),
    ("--rtl-wave", "the same"),
    ("--rtl-trigger", "the same"),
    ("--rtl-before", "the same"),
    ("--rtl-after", "the same"),
    ("--mpi", "another MPI need not be there; args/again.rs tests its word"),
    ("--server", "a run with a server is args/again.rs's"),
];

/// Long options of a command, with the letter of each that has one.
fn options_of(verb: &[String]) -> Vec<(String, Option<String>)> {
    let mut help = command();
    help.env("COLUMNS", "300").args(verb).arg("--help");
    let text = ended(&mut help).went_well().stdout.clone();
    let option = |line: &str| {
        let line = line.trim_start();
        let at = line.find("--").filter(|at| *at <= 4)?;
        let long = line[at..].split([' ', '[', '=']).next()?.to_owned();
        let short = line.split(',').next().filter(|first| first.len() == 2).map(str::to_owned);
        Some((long, short))
    };
    // Texts of options stand further to the right.
    let names = |line: &&str| {
        let inner = line.trim_start();
        inner.starts_with('-') && line.len() - inner.len() <= 6
    };
    text.lines().filter(names).filter_map(option).collect()
}

#[test]
fn every_option_that_changes_a_page_is_tried() {
    for verb in verbs(&[]) {
        if !verb.files.iter().any(|file| file.contains("FILE.html")) {
            continue;
        }
        let name = verb.words.join(" ");
        if name == "bench dp" && !cfg!(kernel) {
            continue;
        }
        let own = CASES.iter().filter(|case| case.starts_with(&format!("{name} ")));
        let tried: BTreeSet<String> = own
            .flat_map(|case| {
                case.replace("SAME", SAME).split_whitespace().map(str::to_owned).collect::<Vec<_>>()
            })
            .collect();
        for (long, short) in options_of(&verb.words) {
            let here =
                [Some(&long), short.as_ref()].into_iter().flatten().any(|o| tried.contains(o));
            let told = ELSEWHERE.iter().any(|(option, _)| *option == long);
            assert!(here != told, "{name} {long}: tried or told why not, one of both");
        }
    }
}

/// The words of a case as a shell takes them.
fn split(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for letter in line.chars() {
        match letter {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            other => words.last_mut().unwrap().push(other),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// A folder with copies of machines and with what the program reads.
fn own() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for machine in ["redstorm", "forth", "amata"] {
        let text =
            std::fs::read_to_string(root().join(format!("machines/{machine}.toml"))).unwrap();
        std::fs::write(folder.path().join(format!("{machine}.toml")), text).unwrap();
    }
    std::fs::write(folder.path().join("rounds"), "3\n").unwrap();
    folder
}

/// Runs a line that writes `page`; the text of the page, which is then removed.
fn page_of(line: &str, page: &Path) -> String {
    let name = page.to_str().unwrap();
    let words = split(line).into_iter().map(|word| if word == PAGE { name.into() } else { word });
    let run = ended(command().args(words));
    assert!(!run.stderr.contains("panicked"), "{line}: {run:#?}");
    taken(page).unwrap_or_else(|| panic!("{line}: {run:#?}"))
}

fn taken(page: &Path) -> Option<String> {
    let text = std::fs::read_to_string(page).ok()?;
    std::fs::remove_file(page).unwrap();
    Some(text)
}

fn command_of(text: &str) -> String {
    let page = Html::parse_document(text);
    words(&all(&page, "#replay pre")[0])
}

#[test]
fn the_command_under_again_makes_the_same_page() {
    let (folder, own) = (tempfile::tempdir().unwrap(), own());
    let page = folder.path().join("a page.html");
    let folder = own.path().to_str().unwrap();
    for case in CASES {
        let line = case.replace("SAME", SAME).replace("OWN", folder);
        let text = page_of(&line, &page);
        let again = command_of(&text);
        let run = copied(&again);
        let second = taken(&page).unwrap_or_else(|| panic!("{again}: {run:#?}"));
        if let Some((one, two)) = text.lines().zip(second.lines()).find(|(one, two)| one != two) {
            panic!("{line}\n{again}\n{}\n{}", near(one, two), near(two, one));
        }
        assert_eq!(text, second, "{line}\n{again}");
        // What changes nothing is not in it.
        for word in ["--json", "--threads", "--jobs", "--no-park", "--quiet"] {
            assert!(!again.contains(word), "{again}");
        }
    }
}

/// The part of a text where it begins to be unlike another.
fn near(text: &str, other: &str) -> String {
    let same = text.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
    let shown: Vec<u8> = text.bytes().skip(same.saturating_sub(60)).take(200).collect();
    String::from_utf8_lossy(&shown).into_owned()
}

/// Every option of the first case changes its page: without one it would be another.
#[test]
fn pages_without_one_of_the_options_are_others() {
    let (folder, own) = (tempfile::tempdir().unwrap(), own());
    let page = folder.path().join("page.html");
    let whole = CASES[0].replace("SAME", "").replace("OWN", own.path().to_str().unwrap());
    let numbers = |line: &str| {
        let text = page_of(line, &page);
        let page = Html::parse_document(&text);
        // The command itself is another in any case.
        let parts = all(&page, "main > section:not(#replay)");
        parts.iter().map(words).collect::<Vec<_>>().join("\n")
    };
    let all = numbers(&whole);
    for option in [
        "--ranks-per-node 2",
        "--seed 7",
        "--env BYTES=1000",
        "--genv MORE=30",
        "--date 2026-03-31",
        "--initial-errhandler mpi_errors_return",
        "--fault link.delay=0.5:1us",
    ] {
        assert_ne!(numbers(&whole.replace(option, "")), all, "{option}");
    }
}

/// Other drawings for a browser are told, too; who wants the program's output only is told nothing.
#[test]
fn files_for_a_browser_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let flame = folder.path().join("flame.svg");
    let line = format!("profile --flame {} -n 2 builtin:pingpong 8 2", flame.display());
    ended(command().args(line.split(' '))).wrote(&flame);
    let page = folder.path().join("page.html");
    let line = format!("report {} -q --largest 0 -n 2 builtin:pingpong 8 2", page.display());
    ended(command().args(line.split(' '))).went_well();
    // What goes to standard output is no file.
    let words = ["profile", "--flame", "-", "-n", "2", "builtin:pingpong", "8", "2"];
    let told = ended(command().args(words));
    assert!(told.code == 0 && !told.stderr.contains("written:"), "{told:#?}");
    // A page that cannot be written is told as such alone.
    let nowhere = "report /dev/full --largest 0 -n 2 builtin:pingpong 8 2";
    let told = ended(command().args(nowhere.split(' ')));
    assert!(!told.stderr.contains("written:") && told.code != 0, "{told:#?}");
    made("report PAGE --largest 0", folder.path());
}
