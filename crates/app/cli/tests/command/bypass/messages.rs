//! Messages of the bypass library, each under one id from the store into its ring to the look at its event.

use super::compiled;
use crate::amata::messages::{add_up, call};
use crate::dp::messages::{classes, number, observers_change_nothing, told_on, told_with};
use crate::pcap::{dissected, SENT};
use crate::runner::{command, ended};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

const MACHINE: &str = "amata-bypass";
const PINGPONG: &str = "-n 2 examples/bypass_pingpong.c 2";

fn told(line: &str) -> (Value, String) {
    let folder = tempfile::tempdir().unwrap();
    told_on(MACHINE, folder.path(), &[], line)
}

fn left(report: &Value) -> u64 {
    report["messages"]["unfinished"].as_object().unwrap().values().map(number).sum()
}

/// Steps of a class, in their order.
fn names(class: &Value) -> Vec<&str> {
    let steps = class["steps"].as_array().unwrap().iter();
    steps.map(|step| step["name"].as_str().unwrap()).collect()
}

/// Steps of one way add up to what the program measures with its own clock.
#[test]
#[cfg_attr(not(kernel), ignore = "there is no kernel for guests: sunstar guest --prepare")]
fn a_message_is_told_step_by_step() {
    let (report, output) = told(PINGPONG);
    add_up(&report);
    // A warm-up and two round trips of each size, and one of no byte.
    let round_trips = 14 * 3 + 1;
    assert_eq!(report["messages"]["ended"], 2 * round_trips);
    assert_eq!(left(&report), 0, "{}", report["messages"]);
    let expected = [
        "library, send",
        "PCI to the card",
        "control program, ring",
        "message by DMA to the card",
        "control program, header",
        "send interface",
        "cables and switches",
        "receive interface",
        "control program, delivery",
        "message by DMA",
        "event by DMA",
        "process sees the event",
    ];
    let mut sizes = 0;
    for line in output.lines().skip(1) {
        let mut words = line.split_whitespace().map(|word| word.parse::<f64>().unwrap());
        let (bytes, one_way) = (words.next().unwrap(), 1e3 * words.next().unwrap());
        let class = classes(&report).find(|class| class["bytes_most"].as_f64() == Some(bytes));
        let class = class.unwrap_or_else(|| panic!("no class of {bytes} bytes"));
        assert_eq!(names(class), expected, "{bytes} bytes");
        assert_eq!((number(&class["messages"]), &class["kind"]), (6, &"send".into()));
        let mean = number(&class["sum_ps"]) as f64 / 1e3 / number(&class["messages"]) as f64;
        // The program gives the place back within its round trip, and a warm-up is in one of them only; the
        // first of all finds control programs that have nothing to do.
        let apart = (mean / one_way - 1.0).abs();
        let most = if bytes > 1.0 { 0.02 } else { 0.05 };
        assert!(apart < most, "{bytes} bytes: {mean} ns by steps, {one_way} ns by the program");
        sizes += 1;
    }
    assert_eq!(sizes, 14, "{output}");
    // One without bytes is not fetched.
    let empty = classes(&report).find(|class| class["bytes_most"] == 0).unwrap();
    assert!(!names(empty).iter().any(|name| name.starts_with("message by DMA")), "{empty:#}");
    // The answer begins at the instant at which the message was seen.
    let slowest = report["messages"]["slowest"].as_array().unwrap();
    let of = |one: &Value, key: &str| one[key].as_f64().unwrap();
    let begins: Vec<f64> = slowest.iter().map(|one| of(one, "start_ns")).collect();
    let follows = slowest.iter().filter(|one| one["from"] == 0).filter(|one| {
        let end = of(one, "start_ns") + of(one, "total_ns");
        begins.iter().any(|begin| (begin - end).abs() < 0.5)
    });
    assert!(follows.count() > 10, "{slowest:#?}");
    // Each node waits for the other, and for its card.
    for rank in 0..2 {
        assert_eq!(call(&report, rank, "bp_send")["times"], round_trips);
        let wait = call(&report, rank, "bp_wait");
        assert_eq!(wait["times"], 2 * round_trips, "{wait:#}");
        assert_eq!(wait["waits_for"][0]["rank"], 1 - rank);
        assert!(number(&wait["network_ps"]) > 0 && number(&wait["late_sender_ps"]) > 0, "{wait:#}");
    }
}

/// A parameter that is longer makes its step longer, and no other but those that poll.
#[test]
#[cfg_attr(not(kernel), ignore = "there is no kernel for guests: sunstar guest --prepare")]
fn steps_of_messages_are_those_of_their_parameters() {
    let medians = |report: &Value, name: &str| -> Vec<f64> {
        let own = |class: &Value| {
            let segments = class["segments"].as_array().unwrap();
            let step = segments.iter().find(|segment| segment["name"] == name);
            step.map(|step| step["ns"].as_f64().unwrap())
        };
        classes(report).filter_map(own).collect()
    };
    let (before, _) = told(PINGPONG);
    for (setting, step, by) in [
        ("host.mmio_write=60ns", "library, send", 200.0),
        ("myrinet.route=600ns", "cables and switches", 500.0),
    ] {
        let (after, _) = told(&format!("--set {setting} {PINGPONG}"));
        add_up(&after);
        let longer = medians(&after, step).into_iter().zip(medians(&before, step));
        let longer: Vec<f64> = longer.map(|(after, before)| after - before).collect();
        assert!(
            longer.len() >= 14 && longer.iter().all(|l| (l - by).abs() < 2.0),
            "{setting}: {longer:?}"
        );
    }
}

/// A message that is lost or damaged comes again under its id, and no other message gets it.
#[test]
#[cfg_attr(not(kernel), ignore = "there is no kernel for guests: sunstar guest --prepare")]
fn a_message_that_is_sent_again_keeps_its_id() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let program = compiled(folder, "tests/bypass/random.c");
    let faults = "--fault link.drop=0.05 --fault link.biterror=1e-5";
    let line = format!("--seed 2 -n 3 {faults} {} 40 2", program.display());
    let capture = folder.join("run.pcapng").display().to_string();
    let (report, _) = told_on(MACHINE, folder, &["--pcap", &capture], &line);
    add_up(&report);
    // Each node sends 40 messages, and to each other one that ends it; the program has seen all.
    assert_eq!((number(&report["messages"]["ended"]), left(&report)), (3 * 42, 0));
    for rank in 0..3 {
        assert_eq!(call(&report, rank, "bp_send")["messages"], 42);
    }
    let counter = |name: &str| -> u64 {
        let nodes = report["nodes"].as_array().unwrap();
        nodes.iter().map(|node| number(&node["counters"][name])).sum()
    };
    assert!(counter("myrinet.lost") > 5 && counter("myrinet.damaged") > 5);
    // Each packet of a message has an id, which says what the header does: ports, epoch and sequence are
    // where Directed Point has points.
    let fields = ["source", "target", "target_point", "source_point", "unused", "length"];
    let fields: Vec<String> = fields.iter().map(|field| format!("myrinet.{field}")).collect();
    let fields: Vec<&str> =
        ["myrinet.message"].into_iter().chain(fields.iter().map(String::as_str)).collect();
    let dissected = |filter: &str| dissected("wireshark/myrinet.lua", folder, filter, &fields);
    let rows = dissected(&format!("{SENT} && myrinet.kind == 16976"));
    let (mut by_id, mut by_header) = (BTreeMap::new(), BTreeMap::new());
    for row in &rows {
        let (id, header) = row.split_first().unwrap();
        assert!(!id.is_empty(), "{row:?}");
        assert_eq!(by_id.entry(id).or_insert(header), &header, "one id, two messages");
        assert_eq!(by_header.entry(header).or_insert(id), &id, "one message, two ids");
    }
    assert_eq!(by_id.len(), 3 * 42);
    assert!(rows.len() > 3 * 42 + 10, "{} packets", rows.len());
    let slowest = report["messages"]["slowest"].as_array().unwrap();
    for slow in slowest {
        let header = by_id[&String::from(slow["message"].as_str().unwrap())];
        let [from, to, bytes] = ["from", "to", "bytes"].map(|key| slow[key].to_string());
        assert_eq!((&header[0], &header[1], &header[5]), (&from, &to, &bytes), "{slow}");
    }
    let answers = dissected(&format!("{SENT} && myrinet.kind > 16976 && myrinet.kind < 16980"));
    assert!(answers.len() > 100 && answers.iter().all(|row| row[0].is_empty()), "{answers:?}");
    // The time of what was sent again has steps of its own.
    let mut all = BTreeSet::new();
    for class in classes(&report) {
        for step in class["steps"].as_array().unwrap() {
            let (name, most) = (step["name"].as_str().unwrap(), &step["most_ns"]);
            all.insert(name);
            if name == "cables and switches" || name == "receive interface" {
                assert!(most.as_f64().unwrap() < 1e5, "{class:#}");
            }
        }
    }
    for again in ["lost, until it was sent again", "not taken, until it came again"] {
        assert!(all.contains(again), "{all:?}");
    }
}

/// Messages that are given up end with nobody, and those behind them have their own ids.
#[test]
#[cfg_attr(not(kernel), ignore = "there is no kernel for guests: sunstar guest --prepare")]
fn messages_that_are_given_up_are_unfinished() {
    let (report, output) = told("-n 1 tests/bypass/errors.c : -n 1 --server sleep 1d");
    assert_eq!(output, "content\n");
    add_up(&report);
    assert_eq!(report["messages"]["ended"], 0);
    // Those to node 1, where nobody has the port; others are for no node.
    assert_eq!(left(&report), 2 + 16 + 3, "{}", report["messages"]);
}

/// Each by itself and on two threads; all together in `observers`.
#[test]
#[cfg_attr(kernel, ignore = "ten seconds: make soak")]
#[cfg_attr(not(kernel), ignore = "there is no kernel for guests: sunstar guest --prepare")]
fn observers_of_messages_change_nothing() {
    observers_change_nothing(MACHINE, PINGPONG);
}

#[test]
#[cfg_attr(not(kernel), ignore = "there is no kernel for guests: sunstar guest --prepare")]
fn the_other_driver_of_the_card_has_its_own_steps() {
    let folder = tempfile::tempdir().unwrap();
    let (other, _) = told_with(folder.path(), &[], "-n 2 examples/dp_pingpong.c 1");
    assert!(names(classes(&other).next().unwrap()).contains(&"module, send"));
}

#[test]
#[cfg_attr(not(kernel), ignore = "there is no kernel for guests: sunstar guest --prepare")]
fn a_message_of_the_library_is_explained() {
    let words = ["explain", "--message", "1:5", "-m", MACHINE, "-n", "2"];
    let program = ["examples/bypass_pingpong.c", "2"];
    let text = ended(command().args(words).args(program)).went_well().stdout.clone();
    for words in [
        "Message 1:5 (send, eager, 2 bytes)",
        "myrinet.pci_memory = 15",
        "send_next",
        "receive_step",
    ] {
        assert!(text.contains(words), "no '{words}' in {text}");
    }
}
