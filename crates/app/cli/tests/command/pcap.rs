//! `--pcap`: tshark reads, with the dissector from `abi/`, what was sent and received.

use crate::runner::{ended, root, sunstar};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Runs the words of `line` with `--pcap` and `--json`, to this exit status: the report, and the file.
fn captured(folder: &Path, line: &str, code: i32) -> (Value, Vec<u8>) {
    let [json, pcap] = ["run.json", "run.pcapng"].map(|name| folder.join(name));
    let words = ["run", "--json", json.to_str().unwrap(), "--pcap", pcap.to_str().unwrap()];
    let ended = sunstar(words.into_iter().chain(line.split_whitespace()));
    assert_eq!(ended.code, code, "{ended:#?}");
    let report = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    (report, std::fs::read(&pcap).unwrap())
}

/// These fields of the packets that the filter lets pass, as tshark prints them.
fn tshark(folder: &Path, filter: &str, fields: &[&str]) -> Vec<Vec<String>> {
    dissected("wireshark/sunstar.lua", folder, filter, fields)
}

/// The same with this dissector.
pub fn dissected(file: &str, folder: &Path, filter: &str, fields: &[&str]) -> Vec<Vec<String>> {
    let mut command = Command::new("tshark");
    let dissector = root().join(file);
    // Nothing of the user's settings.
    command.env("HOME", folder).env("XDG_CONFIG_HOME", folder).arg("-n");
    command.args(["-X", &format!("lua_script:{}", dissector.display())]);
    command.arg("-r").arg(folder.join("run.pcapng")).args(["-Y", filter, "-T", "fields"]);
    command.args(fields.iter().flat_map(|field| ["-e", field]));
    let ended = ended(&mut command);
    assert_eq!(ended.code, 0, "{ended:#?}");
    assert!(!ended.stderr.to_lowercase().contains("lua"), "{}", ended.stderr);
    ended.stdout.lines().map(|line| line.split('\t').map(String::from).collect()).collect()
}

pub const SENT: &str = "frame.packet_flags_direction == 2";
const RECEIVED: &str = "frame.packet_flags_direction == 1";

/// Sum of a counter over the nodes.
fn counter(report: &Value, name: &str) -> usize {
    let nodes = report["nodes"].as_array().unwrap();
    nodes.iter().map(|node| node["counters"][name].as_u64().unwrap() as usize).sum()
}

/// The program puts 0, 1, 16, 256, 4,096 and 65,536 bytes with these match bits into portal 4.
#[test]
fn tshark_shows_the_messages_of_a_program() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (report, _) = captured(folder, "-n 2 examples/portals_put.c", 0);
    let fields = [
        "frame.interface_name",
        "seastar.source",
        "seastar.dest",
        "portals.source_nid",
        "portals.target_nid",
        "portals.pt_index",
        "portals.match_bits",
        "portals.length",
        "portals.hdr_data",
        "portals.flags.inline",
    ];
    let expected = |on: &str| -> Vec<String> {
        let row = |bytes: u32| {
            let inline = u32::from(bytes <= 12);
            format!("{on} 0 1 0 1 4 0x0000000000005eed {bytes} 0x{bytes:016x} {inline}")
        };
        [0, 1, 16, 256, 4096, 65536].map(row).into()
    };
    for (side, on) in [(SENT, "node 0"), (RECEIVED, "node 1")] {
        let puts = format!("{side} && portals.op == 1 && portals.match_bits == 0x5eed");
        let rows = tshark(folder, &puts, &fields);
        let rows: Vec<String> = rows.iter().map(|row| row.join(" ")).collect();
        assert_eq!(rows, expected(on));
    }
    let acks = "portals.op == 4 && portals.match_bits == 0x5eed && seastar.source == 1";
    assert_eq!(tshark(folder, &format!("{acks} && {SENT}"), &["portals.op"]).len(), 6);

    // Every packet is there; each message has its payload, and the same CRC at both ends.
    let fields = ["seastar.message", "seastar.size", "seastar.flags.last", "seastar.crc"];
    let [sent, received] = [SENT, RECEIVED].map(|side| {
        let from_0 = format!("{side} && seastar.source == 0");
        (tshark(folder, side, &["frame.number"]).len(), tshark(folder, &from_0, &fields))
    });
    assert_eq!(sent.0, counter(&report, "net.injected"));
    assert_eq!(received.0, counter(&report, "net.ejected"));
    assert_eq!(sent.1, received.1);
    let bytes: usize = sent.1.iter().map(|row| row[1].parse::<usize>().unwrap()).sum();
    let of_puts = 6 * 64 + 16 + 256 + 4096 + 65536;
    assert!((of_puts..of_puts + 4096).contains(&bytes), "{bytes}");
    assert!(sent.1.iter().all(|row| (row[2] == "1") != row[3].is_empty()));
    let malformed = tshark(folder, "_ws.malformed || seastar.malformed", &["frame.number"]);
    assert!(malformed.is_empty(), "{malformed:?}");
    let times = tshark(folder, "frame", &["frame.time_epoch"]).concat();
    assert!(times.is_sorted_by_key(|time| time.parse::<f64>().unwrap()));
}

/// tshark shows refusals, calls, and repeated messages.
#[test]
fn tshark_shows_recovery() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let few = "--machine redstorm-accelerated --set portals.accelerated_tx_pendings=376";
    let (report, _) = captured(folder, &format!("-n 6 {few} tests/network/flood.c 30"), 0);
    let refused = counter(&report, "niccb.refused");
    assert!(refused > 0);
    for (filter, number) in [
        ("control.op == 2", refused),
        ("control.op == 3", refused),
        ("seastar.flags.resumed == 1", refused),
    ] {
        for side in [SENT, RECEIVED] {
            let rows = tshark(folder, &format!("{side} && {filter}"), &["_ws.col.Info"]);
            assert_eq!(rows.len(), number, "{filter}");
        }
    }
    let [sent, received] = [SENT, RECEIVED]
        .map(|side| tshark(folder, &format!("{side} && control.op == 1"), &["control.number"]));
    assert!(sent.len() > 20 && sent.len() == received.len());
    let calls = tshark(folder, "control.op == 3", &["_ws.col.Info", "control.number"]);
    assert!(calls.iter().all(|row| row[0] == format!("CALLED {}", row[1])), "{calls:?}");
    let malformed = tshark(folder, "_ws.malformed || seastar.malformed", &["frame.number"]);
    assert!(malformed.is_empty(), "{malformed:?}");
}

/// tshark shows every packet of remote writes at both ends, as often as the cards have counted.
#[test]
fn tshark_shows_remote_writes() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let forth =
        |filter: &str, fields: &[&str]| dissected("wireshark/forth.lua", folder, filter, fields);
    for line in [
        "-n 2 -m forth builtin:rdma-permutation 12296 3",
        "-n 3 -m forth-switch builtin:rdma-incast 4104 3",
    ] {
        let (report, file) = captured(folder, line, 0);
        let fields = ["forth.source", "forth.flow", "forth.destination", "forth.words"];
        let fields = [&fields[..], &["forth.flags.interrupt", "forth.crc32"]].concat();
        let [mut sent, mut received] = [SENT, RECEIVED].map(|side| forth(side, &fields));
        assert_eq!(sent.len(), counter(&report, "tx.messages"), "{line}");
        assert_eq!(received.len(), counter(&report, "rx.messages"), "{line}");
        let words = sent.iter().map(|row| row[3].parse::<usize>().unwrap()).sum::<usize>();
        assert_eq!(words, counter(&report, "tx.words"), "{line}");
        let rings = sent.iter().filter(|row| row[4] == "1" || row[4] == "True").count();
        assert_eq!(rings, 4, "{line}: two doorbells a sender");
        sent.sort();
        received.sort();
        assert_eq!(sent, received, "{line}: the same bytes at both ends");
        let malformed = forth("_ws.malformed || forth.malformed", &["frame.number"]);
        assert!(malformed.is_empty(), "{malformed:?}");
        let times = forth("frame", &["frame.time_epoch"]).concat();
        assert!(times.is_sorted_by_key(|time| time.parse::<f64>().unwrap()));
        assert!(captured(folder, &format!("-t 2 {line}"), 0).1 == file, "{line}");
    }
}

/// tshark shows every message of machine alpu at both ends, with its match bits.
#[test]
fn tshark_shows_messages_of_queues_on_the_interface() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let offload =
        |filter: &str, fields: &[&str]| dissected("wireshark/offload.lua", folder, filter, fields);
    let line = "-n 2 -m alpu builtin:pingpong 200000 3";
    let (report, file) = captured(folder, line, 0);
    let fields = ["offload.packet_kind", "offload.source", "offload.serial", "offload.payload"];
    let fields = [&fields[..], &["offload.length", "frame.len"]].concat();
    let [mut sent, mut received] = [SENT, RECEIVED].map(|side| offload(side, &fields));
    assert_eq!(sent.len(), counter(&report, "tx.messages"));
    assert_eq!(received.len(), counter(&report, "rx.messages"));
    sent.sort();
    received.sort();
    assert_eq!(sent, received, "the same at both ends");
    // A rendezvous is a request, an answer, and the bytes in packets of 64 KiB.
    let of = |kind: &str| sent.iter().filter(|row| row[0] == kind).count();
    let long = report["breakdowns"].as_array().unwrap().iter();
    let long = long.filter(|class| class["protocol"] == "rendezvous");
    let long: u64 = long.map(|class| class["messages"].as_u64().unwrap()).sum();
    assert_eq!([of("2"), of("3"), of("4")], [long, long, 4 * long].map(|count| count as usize));
    let bytes = sent.iter().map(|row| row[3].parse::<usize>().unwrap()).sum::<usize>();
    assert_eq!(bytes, counter(&report, "tx.bytes"));
    let of_rank = offload("offload.packet_kind == 2 && offload.rank == 1", &["offload.source"]);
    assert!(!of_rank.is_empty() && of_rank.iter().all(|row| row[0] == "1"), "{of_rank:?}");
    let malformed = offload("_ws.malformed || offload.malformed", &["frame.number"]);
    assert!(malformed.is_empty(), "{malformed:?}");
    assert!(captured(folder, &format!("-t 2 {line}"), 0).1 == file);
}

/// tshark shows each packet of Linux guests at both ends, under the id that it has in the report.
#[test]
#[cfg_attr(not(kernel), ignore = "there is no kernel for guests: sunstar guest --prepare")]
fn tshark_shows_packets_of_guests_under_their_ids() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let myrinet =
        |filter: &str, fields: &[&str]| dissected("wireshark/myrinet.lua", folder, filter, fields);
    let line = "-n 2 -m amata examples/dp_pingpong.c 2";
    let (report, file) = captured(folder, line, 0);
    let fields = ["myrinet.message", "myrinet.kind", "myrinet.source", "myrinet.target"];
    let fields =
        [&fields[..], &["myrinet.source_point", "myrinet.length", "myrinet.crc32"]].concat();
    let [mut sent, mut received] = [SENT, RECEIVED].map(|side| myrinet(side, &fields));
    assert_eq!(sent.len(), counter(&report, "tx.packets"));
    sent.sort();
    received.sort();
    assert_eq!(sent, received, "the same at both ends");
    let slowest = report["messages"]["slowest"].as_array().unwrap();
    assert!(slowest.len() > 20);
    for slow in slowest {
        let id = slow["message"].as_str().unwrap();
        let own: Vec<_> = sent.iter().filter(|row| row[0] == id).collect();
        assert_eq!(own.len(), 1, "{id}: {own:?}");
        let (from, to) = (slow["from"].to_string(), slow["to"].to_string());
        let row = ["17488", &from, &to, "7", &slow["bytes"].to_string()];
        assert_eq!(own[0][1..6], row, "{slow}");
    }
    for (side, route) in [(SENT, "1"), (RECEIVED, "0")] {
        let routes = myrinet(side, &["myrinet.route"]).concat();
        assert!(routes.iter().all(|own| own == route), "{routes:?}");
    }
    let of_one = myrinet("myrinet.source_nid == 1 && myrinet.serial == 3", &["_ws.col.Info"]);
    assert_eq!(of_one.len(), 2);
    assert!(of_one[0][0].starts_with("message 1:3, DP, "), "{of_one:?}");
    let malformed = myrinet("_ws.malformed || myrinet.malformed", &["frame.number"]);
    assert!(malformed.is_empty(), "{malformed:?}");
    let times = myrinet("frame", &["frame.time_epoch"]).concat();
    assert!(times.is_sorted_by_key(|time| time.parse::<f64>().unwrap()));
    assert!(captured(folder, &format!("-t 2 {line}"), 0).1 == file);
    // A judge logs in the guests; so does this one.
    let json = folder.join("plain.json");
    let words = ["run", "--json", json.to_str().unwrap()];
    sunstar(words.into_iter().chain(line.split_whitespace())).went_well();
    let plain: Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    for key in ["trace_hash", "simulated_ns", "messages", "breakdowns", "account"] {
        assert_eq!(plain[key], report[key], "{key}");
    }
}

/// Lost packets have left and do not come; each that comes has its own id.
#[test]
fn packets_that_a_cable_lost_are_sent_and_not_received() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let line = "-n 4 -m amata --fault link.drop=#4@2 builtin:myrinet-incast 200 5";
    let (report, _) = captured(folder, line, 1);
    let ids = |side| {
        let mut ids =
            dissected("wireshark/myrinet.lua", folder, side, &["myrinet.message"]).concat();
        ids.sort();
        ids
    };
    let (sent, received) = (ids(SENT), ids(RECEIVED));
    assert_eq!(counter(&report, "myrinet.lost"), 1);
    assert!(sent.contains(&"2:3".into()) && !received.contains(&"2:3".into()));
    assert_eq!(sent.len(), received.len() + 1);
    assert!(received.iter().all(|id| sent.contains(id)), "{received:?}");
}

#[test]
fn the_file_is_the_same_for_any_number_of_threads_and_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    for line in ["-n 2 examples/pingpong.c 65536", "-n 5 builtin:exchange 4096 2"] {
        let [one, two] =
            ["-t 1", "-t 2"].map(|t| captured(folder.path(), &format!("{t} {line}"), 0));
        assert!(one.1 == two.1, "{line}");
        // Without, packets of long messages are skipped.
        let json = folder.path().join("plain.json");
        let words = ["run", "--json", json.to_str().unwrap()];
        sunstar(words.into_iter().chain(line.split_whitespace())).went_well();
        let plain: Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
        for key in ["trace_hash", "simulated_ns", "nodes", "breakdown"] {
            assert_eq!(plain[key], one.0[key], "{key} of {line}");
        }
    }
}

#[test]
fn packets_that_a_link_lost_are_sent_and_not_received() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    // The program finds out that bytes are missing.
    let (report, _) = captured(folder, "-n 2 --fault link.drop=0.01 examples/portals_put.c", 1);
    let [sent, received] =
        [SENT, RECEIVED].map(|side| tshark(folder, side, &["frame.number"]).len());
    let lost = counter(&report, "net.link_lost");
    assert!(lost > 0);
    assert_eq!(sent - received, lost);
}

#[test]
fn a_file_that_cannot_be_written_is_a_mistake() {
    for (file, words) in [("/proc/none/x", "cannot write /proc/none/x"), ("-", "--pcap")] {
        sunstar(["run", "-n", "2", "--pcap", file, "examples/pingpong.c"]).said(2, &[words]);
    }
    // A full disk is found out at the end, and nothing else is lost.
    let full = sunstar(["run", "-n", "2", "--pcap", "/dev/full", "builtin:pingpong"]);
    full.said(1, &["cannot write /dev/full: No space left"]);
    assert!(full.stdout.contains("Trace hash"), "{full:#?}");
}
