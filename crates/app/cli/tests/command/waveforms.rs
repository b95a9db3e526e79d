//! Waveforms of the RDMA NIC's RTL around a trigger (`--rtl-trigger`).

use crate::rtl::said;
use crate::runner::{command, ended, unjudged, Ended};
use std::fs;
use std::path::Path;
use vcd::Vcd;

#[path = "../../../../parts/forth-nic/tests/bench/vcd.rs"]
mod vcd;

const JOB: &str = "-n 2 -m forth builtin:rdma-stream 4096 6";
const FAULTS: &str = "-n 2 -m forth --fault lane.credit=#2@0 builtin:rdma-stream 4096 6";

fn run(file: &Path, line: &str) -> Ended {
    let file = file.display();
    ended(command().args(format!("run --rtl --rtl-wave {file} {line}").split_whitespace()))
}

fn waved(file: &Path, line: &str) -> Vcd {
    let run = run(file, line);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stderr.contains("edges of the bus's clock"), "{run:?}");
    Vcd::read(&fs::read_to_string(file).unwrap())
}

/// Times in nanoseconds of packets that a node has received, as a capture has them.
fn received(pcap: &[u8], node: u32) -> Vec<u64> {
    let word = |at: usize| u32::from_le_bytes(pcap[at..at + 4].try_into().unwrap());
    let (mut at, mut times) = (0, Vec::new());
    while at < pcap.len() {
        let bytes = word(at + 4) as usize;
        if word(at) == 6 && word(at + 8) == node {
            let packet = word(at + 20).next_multiple_of(4) as usize;
            // The first option is the direction: 1 is inbound.
            assert_eq!(word(at + 28 + packet), 4 << 16 | 2);
            if word(at + 32 + packet) & 3 == 1 {
                times.push(u64::from(word(at + 12)) << 32 | u64::from(word(at + 16)));
            }
        }
        at += bytes;
    }
    times
}

#[test]
fn a_waveform_has_the_packets_that_the_model_captures() {
    let folder = tempfile::tempdir().unwrap();
    let (wave, pcap) = (folder.path().join("w.vcd"), folder.path().join("w.pcapng"));
    let vcd = waved(
        &wave,
        &format!("--rtl-trigger 1:arrived_o=1 --rtl-before 6000 --rtl-after 6000 {JOB}"),
    );
    let model = unjudged(&format!("run -q --pcap {} {JOB}", pcap.display()));
    assert_eq!(model.code, 0, "{model:?}");
    let times = received(&fs::read(&pcap).unwrap(), 1);
    let (from, to) = vcd.times;
    let times: Vec<u64> =
        times.into_iter().filter(|ns| from < ns * 1000 && ns * 1000 < to).collect();
    assert!(times.len() > 4, "{times:?} {from} {to}");
    // The parser has the last word of a packet after the edge at which an observer sees it whole.
    let ends = |time: &u64| {
        vcd.at("u_receive.push_o", *time) == 1 && vcd.at("u_receive.kind_o", *time) == 3
    };
    let found: Vec<u64> = vcd.rises("link_clk_i").into_iter().filter(ends).collect();
    let found: Vec<u64> = found.iter().map(|ps| ps / 1000).collect();
    assert_eq!(found, times);
}

#[test]
fn the_first_card_that_sees_the_trigger_is_shown_and_the_run_is_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("w.vcd");
    let wave = format!("--rtl --rtl-wave {} --rtl-trigger", file.display());
    let model = said(FAULTS);
    assert_eq!(said(&format!("{wave} parity {FAULTS}")), model);
    let once = fs::read(&file).unwrap();
    // Spoilt on its way to node 0: the error is there.
    let vcd = Vcd::read(&String::from_utf8_lossy(&once));
    assert!(vcd.comment.contains("parity"), "{}", vcd.comment);
    assert_eq!(vcd.at("source_i", vcd.times.0), 0);
    assert_eq!(said(&format!("{wave} parity -t 2 {FAULTS}")), model);
    assert!(fs::read(&file).unwrap() == once, "with two threads the file is another");
    // Before the error the fault has struck.
    let fault = waved(&file, &format!("--rtl-trigger fault {FAULTS}"));
    let at = |vcd: &Vcd| vcd.comment.split(' ').nth(2).unwrap().parse::<u64>().unwrap();
    assert!((1..5_000_000).contains(&(at(&vcd) - at(&fault))), "{} {}", vcd.comment, fault.comment);
    // Both cards get packets, and the second is first.
    let both = waved(&file, "--rtl-trigger arrived_o=1 -n 2 -m forth builtin:rdma-pingpong 8 10");
    assert_eq!(both.at("source_i", both.times.0), 1);
    let only = fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(only, 1, "files of other cards are left");
}

#[test]
fn a_trigger_that_never_comes_and_wrong_options_are_told_in_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("w.vcd");
    let never = run(&file, &format!("--rtl-trigger 0:overflow {JOB}"));
    assert_eq!(never.code, 0, "{never:?}");
    assert!(never.stderr.contains("has not come at the card of node 0"), "{never:?}");
    assert!(!file.exists());
    for (options, words) in [
        ("--rtl-trigger crash", &["crc, parity, bond, overflow"][..]),
        ("--rtl-trigger clock=1", &["no port", "interrupt_o"]),
        ("--rtl-trigger 2:crc", &["nodes 0 to 1"]),
        ("--rtl-trigger time=5", &["time=5", "the time"]),
        ("-q", &["add --rtl-trigger", "crc, "]),
        ("--rtl-trigger crc --rtl-before 2000000", &["2000000"]),
    ] {
        run(&file, &format!("{options} {JOB}")).said(2, words);
    }
    run(&folder.path().join("none/w.vcd"), &format!("--rtl-trigger interrupt {JOB}"))
        .said(2, &["cannot write", "none/w.vcd"]);
    let units = "-n 2 -m alpu builtin:pingpong 8 1";
    run(&file, &format!("--rtl-trigger crc {units}")).said(2, &["machines forth and forth-switch"]);
    run(Path::new("w.vcd@0:3"), JOB).said(2, &["FILE@NODE:NUMBER shows matching units"]);
}
