//! Sockets between ranks: over the administration network of the simulated cluster, the same in each run.

use crate::runner::{command, ended, Ended};
use std::path::{Path, PathBuf};

fn built(folder: &Path) -> PathBuf {
    let output = folder.join("sockets");
    ended(command().args(["cc", "tests/cli/sockets.c", "-o"]).arg(&output)).went_well();
    output
}

fn started(options: &[&str], program: &Path, words: &[&str]) -> Ended {
    ended(command().arg("run").args(options).arg(program).args(words))
}

/// Lines that the ranks print, in their order, simulated time and hash.
fn told(run: &Ended) -> Vec<&str> {
    assert_eq!(run.code, 0, "{run:?}");
    let mut lines: Vec<&str> = run.stdout.lines().collect();
    lines.retain(|line| {
        line.starts_with(|c: char| c.is_ascii_digit())
            || ["rank ", "Simulated time", "Trace hash"].iter().any(|start| line.starts_with(start))
    });
    lines.sort_unstable();
    lines
}

/// Programs exchange keys by sockets: late listeners, many clients, poll and select, streams, half-closed
/// connections, duplicated descriptors, refusals.
#[test]
fn programs_exchange_keys_by_sockets() {
    let folder = tempfile::tempdir().unwrap();
    let program = built(folder.path());
    let run = started(&["-n", "5"], &program, &[]);
    let lines = told(&run);
    // The last rank sends first.
    assert!(lines.contains(&"rank 0: served 4 in order 1534"), "{run:?}");
    assert_eq!(lines.iter().filter(|line| line.contains(": right after")).count(), 5, "{run:?}");
    let outside = "sockets reach the nodes of the run (nid00000 is 10.0.0.1) and nothing else";
    for said in [outside, "sockets of UDP and raw ones are not simulated", "sockets of IPv6"] {
        assert!(run.stderr.contains(said), "{run:?}");
    }
    for options in [&["-t", "2"][..], &["--no-park"], &["--no-merge"]] {
        let other = started(&[&["-n", "5"], options].concat(), &program, &[]);
        assert_eq!(told(&other), lines, "{options:?}");
    }
    let ideal = started(&["-q", "-n", "3", "--machine", "ideal"], &program, &[]);
    assert_eq!(told(&ideal).len(), 4, "{ideal:?}");
}

#[test]
fn python_has_the_same_sockets() {
    let script = Path::new("tests/cli/sockets.py");
    let run = started(&["-n", "4"], script, &[]);
    for rank in 0..4 {
        let line = format!("{rank} key1 key4 key9 nid0000{rank} 10.0.0.1");
        assert!(told(&run).contains(&&*line), "{run:?}");
    }
    assert_eq!(told(&run), told(&started(&["-n", "4", "-t", "2"], script, &[])));
}

#[test]
fn a_wait_in_vain_ends_and_so_does_a_peer() {
    let folder = tempfile::tempdir().unwrap();
    let program = built(folder.path());
    let run = started(&["-q", "-n", "2"], &program, &["never"]);
    run.said(1, &["rank 0 has waited at a socket for a day of simulated time"]);
    let run = started(&["-q", "-n", "2"], &program, &["dies"]);
    run.said(134, &["rank 1 was killed by SIGABRT"]);
    // Nobody who ends refuses later: there is nobody to connect to any more.
    let run = started(&["-q", "-n", "2"], &program, &["left"]);
    assert!(run.went_well().stdout.contains("rank 0: refused"), "{run:?}");
    let fast = ["-q", "-n", "2", "--set", "admin.latency=1 us"];
    started(&fast, &program, &[]).said(1, &["admin.latency", "sockets need a network"]);
}
