//! Whole jobs on the RTL of the RDMA NIC and of its crossbar: the same runs as on their models.

use crate::runner::{command, ended, unjudged};
use serde_json::Value;

fn report(line: &str) -> Value {
    let ended = unjudged(&format!("run --json - -q {line}"));
    assert_eq!(ended.code, 0, "{ended:#?}");
    let json = ended.stdout.find("\n{").map_or(0, |at| at + 1);
    serde_json::from_str(&ended.stdout[json..]).unwrap_or_else(|why| panic!("{why}: {ended:#?}"))
}

/// Report without the description of the command.
pub fn said(line: &str) -> [Value; 7] {
    let report = report(line);
    let keys = ["trace_hash", "simulated_ns", "nodes", "exit", "messages", "breakdowns", "account"];
    keys.map(|key| report[key].clone())
}

#[test]
fn a_job_on_rtl_is_the_same_job() {
    let line = "-n 2 -m forth builtin:rdma-pingpong 8 100";
    let model = said(line);
    assert_eq!(said(&format!("--rtl {line}")), model);
    assert_eq!(said(&format!("--rtl -t 2 {line}")), model);
    let stream = "-n 2 -m forth --judge builtin:rdma-stream 12296 6";
    assert_eq!(said(&format!("--set nic.rtl=on {stream}")), said(stream));
}

#[test]
fn a_disk_on_rtl_is_the_same_disk() {
    let lost = "-n 2 -m forth --fault lane.biterror=1e-5 builtin:disk-write 4096 60";
    for line in [
        "-n 2 -m forth builtin:disk-read 65536 2",
        "-n 2 -m forth --set block.stop=off builtin:disk-write 65536 2",
        lost,
    ] {
        let model = said(line);
        let nodes = &model[2];
        for node in 0..2 {
            let resets = &nodes[node]["counters"]["host.card_restarts"];
            assert_eq!(*resets, u64::from(line == lost), "{line}: resets of card {node}");
        }
        assert_eq!(said(&format!("--rtl {line}")), model, "{line}");
    }
}

#[test]
fn a_job_around_the_rtl_of_the_crossbar_is_the_same_job() {
    let line = "-n 3 -m forth-switch builtin:rdma-incast 4096 8";
    let model = said(line);
    assert_eq!(said(&format!("--set switch.rtl=on {line}")), model);
    assert_eq!(said(&format!("--set switch.rtl=on -t 2 {line}")), model);
}

#[test]
#[ignore = "long: eight cards and the crossbar as RTL; make soak"]
fn eight_cards_and_their_crossbar_are_rtl() {
    for line in [
        "-n 8 -m forth-switch builtin:rdma-incast 4096 40",
        "-n 8 -m forth-switch builtin:rdma-permutation 12296 10",
        "-n 5 -m forth-switch --set nic.estimate=conservative builtin:rdma-incast 264 30",
    ] {
        let model = said(line);
        assert_eq!(said(&format!("--rtl {line}")), model, "{line}");
        assert_eq!(said(&format!("--rtl -t 2 {line}")), model, "{line}");
    }
}

#[test]
#[ignore = "long: verilates one more shape; make soak"]
fn four_lanes_and_bindings_are_rtl() {
    for line in [
        "-n 2 -m forth --set lanes.bonded=4 --set nic.bindings=16 builtin:rdma-pingpong 8 60",
        "-n 2 -m forth --set lanes.bonded=4 --set nic.bindings=16 --judge \
         builtin:rdma-stream 12296 6",
    ] {
        let model = said(line);
        assert_eq!(said(&format!("--rtl {line}")), model, "{line}");
        assert_eq!(said(&format!("--rtl -t 2 {line}")), model, "{line}");
    }
}

#[test]
fn without_verilator_there_is_a_sentence() {
    let mut run = command();
    // A shape that nobody has compiled.
    let line = "run -n 2 -m forth --rtl --set nic.queue=23 builtin:rdma-pingpong 8 1";
    run.env("PATH", "/proc/none").args(line.split_whitespace());
    ended(&mut run).said(2, &["verilator", "install"]);
    unjudged("run -n 2 --rtl builtin:pingpong").said(2, &["--rtl", "model seastar"]);
}
