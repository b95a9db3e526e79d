//! Losses of the remote disk's messages on the lanes.

use super::{all_answers, asked, replayed_with, Answer, Ask, Operation};
use serde_json::Value;

/// A log of two writes to the same place, each read back, and what the reads give.
fn log() -> (Vec<u8>, [Vec<u8>; 2]) {
    let data = [7, 9].map(|value| (0..512).map(|at| (at * value % 251) as u8).collect());
    let both = |data: &Vec<u8>| {
        let write = asked(Operation::Write, 0, 512, data);
        [write, asked(Operation::Read, 0, 512, &[])].concat()
    };
    (data.iter().flat_map(both).collect(), data)
}

/// Short silences, for many runs.
pub(super) const SOON: [&str; 4] = ["--set", "block.resend=2 ms", "--set", "block.timeout=200 us"];

/// A run of a log: its answers, and its report.
pub(super) fn run(log: &[u8], options: &[&str]) -> (Vec<(Ask, Answer, Vec<u8>)>, Value) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("report.json");
    let options = [&["-q", "--json", file.to_str().unwrap()], options].concat();
    let back = replayed_with(&options, "builtin:disk", log);
    let text = std::fs::read_to_string(&file).unwrap();
    (all_answers(log, &back), serde_json::from_str(&text).unwrap())
}

/// A counter of both nodes.
pub(super) fn counter(report: &Value, name: &str) -> [u64; 2] {
    [0, 1].map(|node: usize| report["nodes"][node]["counters"][name].as_u64().unwrap())
}

/// Spoils one symbol of what comes to a card, each `stride`th in its turn: data, commands, bells, completions
/// and credits. Gives the messages that both sides have sent again over all runs.
fn spoilt(protocol: &str, node: u32, stride: usize) -> [u64; 2] {
    let (log, data) = log();
    let protocol = format!("block.protocol={protocol}");
    let mut again = [0, 0];
    for number in (1..).step_by(stride) {
        let fault = format!("lane.biterror=#{number}@{node}");
        let options = [&["--set", &protocol, "--fault", &fault], &SOON[..]].concat();
        let (answers, report) = run(&log, &options);
        for (place, (_, answer, read)) in answers.iter().enumerate() {
            assert!(!answer.failed, "{options:?}");
            assert!(place % 2 == 0 || *read == data[place / 2], "{options:?}: wrong data");
        }
        let sent = counter(&report, "host.sent_again");
        again = [again[0] + sent[0], again[1] + sent[1]];
        if counter(&report, "rx.symbols_spoilt") == [0, 0] {
            assert!(number > 250, "so many symbols come: {number}");
            break;
        }
    }
    again
}

/// Losses at each step are made good; both sides' messages are among them.
fn each_step(stride: usize) {
    for protocol in ["flags", "tails"] {
        let to_target = spoilt(protocol, 1, stride);
        let to_initiator = spoilt(protocol, 0, stride);
        assert!(to_target[0] > 0, "commands, {protocol}: {to_target:?}");
        assert!(to_initiator[1] > 0, "completions, {protocol}: {to_initiator:?}");
    }
}

#[test]
fn what_is_lost_at_any_step_is_sent_again() {
    each_step(17);
}

#[test]
#[ignore = "long: every symbol; make soak"]
fn what_is_lost_with_any_symbol_is_sent_again() {
    each_step(1);
}

#[test]
fn what_cannot_be_completed_is_an_error_and_the_run_ends() {
    let (log, data) = log();
    for protocol in ["block.protocol=flags", "block.protocol=tails"] {
        // All packets are spoilt from the first write on.
        let options =
            ["--set", protocol, "--fault", "lane.biterror=0.05", "--set", "block.retries=2"];
        let (answers, report) = run(&log, &options);
        assert!(answers.iter().all(|(_, answer, _)| answer.failed), "{answers:?}");
        assert_eq!(
            counter(&report, "host.card_restarts"),
            [3, 3],
            "both cards begin anew twice, and are given up"
        );
        // What comes behind the first error of a disk that is given up fails at once.
        let took: Vec<u64> = answers.iter().map(|(_, answer, _)| answer.took).collect();
        assert!(took[0] > 60_000_000_000 && took[1..].iter().all(|took| *took == 0), "{took:?}");
    }
    // Credits alone: packets wait for those that were lost.
    let options = ["--fault", "lane.credit=0.9", "--set", "nic.rx_fifo=4120 B"];
    let (answers, _) = run(&log, &options);
    let read = answers.iter().filter(|(ask, ..)| ask.operation == Operation::Read);
    for (at, (_, answer, read)) in read.enumerate() {
        assert!(answer.failed || *read == data[at]);
    }
}

#[test]
fn data_that_lanes_spoil_reach_no_client() {
    let data = |number: u64| vec![number as u8; 65_536];
    let write = |number: u64| asked(Operation::Write, number * 65_536, 65_536, &data(number));
    let read = |number: u64| asked(Operation::Read, number * 65_536, 65_536, &[]);
    let log: Vec<u8> = (0..40).flat_map(write).chain((0..40).flat_map(read)).collect();
    let run = |sums: &str, stop: &str| {
        let set = ["--set", sums, "--set", stop];
        let faults = ["-q", "--seed", "2", "--fault", "lane.biterror=1e-5"];
        let options = [&faults[..], &SOON, &set].concat();
        let answers = all_answers(&log, &replayed_with(&options, "builtin:disk", &log));
        assert!(answers.iter().all(|(_, answer, _)| !answer.failed));
        let read = (0..40).zip(&answers[40..]);
        read.filter(|(number, (.., read))| *read != data(*number)).count()
    };
    // Cards that stop at a wrong CRC, or sums from end to end; with neither nobody has seen it.
    assert_eq!(run("block.sums=off", "block.stop=on"), 0);
    assert_eq!(run("block.sums=on", "block.stop=off"), 0);
    assert!(run("block.sums=off", "block.stop=off") > 0);
}
