//! Linux guests: a program alone, and as hosts of machines. Tests that need the guests' kernel are skipped
//! without it.

use crate::runner::{command, ended, root, sunstar, Ended};
use std::path::Path;
use std::process::Command;

/// A run with JSON output; standard output has only the program's own.
fn run(words: &[&str]) -> Ended {
    ended(command().arg("run").args(words))
}

/// The trace hash of a run, and the output of its programs.
pub fn hash_and_output(threads: &str, words: &[&str]) -> (String, String) {
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("json");
    let options = ["-q", "-t", threads, "--json", json.to_str().unwrap()];
    let run = run(&[&options, words].concat());
    let text = std::fs::read_to_string(&json).unwrap();
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let hash = json["trace_hash"].as_str().unwrap().to_string();
    (hash, run.went_well().stdout.clone())
}

#[test]
#[cfg_attr(not(kernel), ignore = "there is no kernel for guests: sunstar guest --prepare")]
fn a_program_alone_ends_as_it_ends() {
    let alone = sunstar(["guest", "sh", "-c", "hostname; exit 7"]);
    assert_eq!((alone.code, alone.stdout.as_str()), (7, "node0\n"), "{alone:?}");
    let date = sunstar(["guest", "--date", "2001-09-09T01:46:40", "date", "+%s"]);
    // The program begins a second after the boot.
    assert_eq!(date.went_well().stdout, "1000000001\n");
}

/// A guest reads the card's own configuration space over the bus; the machine's own workloads are unchanged.
#[test]
#[cfg_attr(not(kernel), ignore = "there is no kernel for guests: sunstar guest --prepare")]
fn a_guest_finds_the_myrinet_card() {
    let words = ["-q", "-m", "amata", "-n", "2", "lspci", "-nn"];
    let found = run(&words);
    let line = "00:00.0 Network controller [0280]: MYRICOM Inc. Myrinet 2000 Scalable Cluster \
        Interconnect [14c1:8043]";
    assert_eq!(found.went_well().stdout.matches(line).count(), 2, "{found:?}");
}

#[test]
#[cfg_attr(not(kernel), ignore = "there is no kernel for guests: sunstar guest --prepare")]
fn guests_ping_one_another_alike_on_any_number_of_threads() {
    let words = [
        "-m", "ethernet", "-n", "1", "--server", "sleep", "1d", ":", "-n", "1", "ping", "-c", "5",
        "-i", "0.01", "node0",
    ];
    let runs = ["1", "2", "1"].map(|threads| hash_and_output(threads, &words));
    assert!(runs[0].1.contains("5 packets transmitted, 5 received, 0% packet loss"), "{runs:?}");
    assert_eq!(runs[0], runs[1]);
    assert_eq!(runs[0], runs[2]);
}

/// Builds the example's driver and program.
fn build_bell(folder: &Path) {
    let mut make = Command::new("make");
    make.arg("-C").arg(root().join("examples/guests/bell"));
    make.arg(format!("OUT={}", folder.display()));
    ended(&mut make).went_well();
}

/// Round trips between two nodes by the example's driver; interrupts are messages, or use the line.
fn rounds(folder: &Path, threads: &str, messages: bool, times: u32) -> (String, String) {
    let at = folder.display();
    let load = format!("insmod {at}/bell.ko messages={}", u32::from(messages));
    let first = format!("{load}; sleep 0.1; {at}/rounds 0 {times}");
    let second = format!("{load}; {at}/rounds 1 {times}");
    let words = ["-m", "bell", "-n", "1", "sh", "-c", &first, ":", "-n", "1", "sh", "-c", &second];
    let (hash, output) = hash_and_output(threads, &words);
    assert!(output.starts_with(&format!("{times} round trips, ")), "{output}");
    (hash, output)
}

#[test]
#[cfg_attr(not(kernel), ignore = "there is no kernel for guests: sunstar guest --prepare")]
fn a_driver_of_ones_own_has_dma_and_both_kinds_of_interrupts() {
    let folder = tempfile::tempdir().unwrap();
    build_bell(folder.path());
    let one = rounds(folder.path(), "1", true, 50);
    assert_eq!(rounds(folder.path(), "2", true, 50), one);
    // Reading what interrupts and taking it back costs two accesses.
    assert_ne!(rounds(folder.path(), "1", false, 50).1, one.1);
}

#[test]
#[ignore = "long: 12,000 round trips"]
fn two_thousand_round_trips_have_one_hash() {
    let folder = tempfile::tempdir().unwrap();
    build_bell(folder.path());
    let one = rounds(folder.path(), "1", true, 2000);
    for threads in ["1", "2", "1", "2"] {
        assert_eq!(rounds(folder.path(), threads, true, 2000), one);
    }
}
