//! Pico-MPI: MPI over Directed Point in the Linux guests of machine `amata`.

use crate::guests::hash_and_output;
use crate::runner::{command, ended, Ended};

/// A run of so many nodes.
fn run(nodes: &str, words: &[&str]) -> Ended {
    let before = ["run", "-q", "-m", "amata", "-n", nodes];
    ended(command().args(before).args(words))
}

/// Lines of the outputs, in no order: guests write at about the same time.
fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}

#[test]
#[cfg_attr(not(kernel), ignore = "there is no kernel for guests: sunstar guest --prepare")]
fn every_rank_says_hello() {
    for nodes in ["1", "4"] {
        let ended = run(nodes, &["examples/hello.c"]);
        let hello = |rank: u32| format!("hello from rank {rank} of {nodes} on node{rank}");
        let expected: Vec<String> = (0..nodes.parse().unwrap()).map(hello).collect();
        assert_eq!(sorted(&ended.went_well().stdout), expected);
    }
}

#[test]
#[cfg_attr(not(kernel), ignore = "there is no kernel for guests: sunstar guest --prepare")]
fn a_ping_pong_has_one_hash_twice_and_on_two_threads() {
    let words = ["-n", "2", "-m", "amata", "examples/pingpong.c", "0"];
    let one = hash_and_output("1", &words);
    let rows: Vec<f64> = one.1.lines().skip(1).map(latency).collect();
    assert_eq!(rows.len(), 1, "{}", one.1);
    // Directed Point takes 27 us, and polling and a header some more.
    assert!(rows.iter().all(|row| (27.0..29.0).contains(row)), "{}", one.1);
    assert_eq!(hash_and_output("1", &words), one);
    assert_eq!(hash_and_output("2", &words), one);
}

fn latency(line: &str) -> f64 {
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
