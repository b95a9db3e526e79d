//! Packets of Linux guests, each under one id from system call to system call.

use crate::amata::messages::{add_up, call};
use crate::runner::{command, ended};
use serde_json::Value;
use std::path::Path;

/// The report of a run on machine `amata`, and what its programs print.
pub fn told(line: &str) -> (Value, String) {
    let folder = tempfile::tempdir().unwrap();
    told_with(folder.path(), &[], line)
}

/// The same with options that write files.
pub fn told_with(folder: &Path, options: &[&str], line: &str) -> (Value, String) {
    told_on("amata", folder, options, line)
}

/// The same on another machine.
pub fn told_on(machine: &str, folder: &Path, options: &[&str], line: &str) -> (Value, String) {
    let json = folder.join("run.json");
    let words = line.split_whitespace();
    let mut command = command();
    command.args(["run", "-q", "-m", machine, "--json"]).arg(&json).args(options).args(words);
    let output = ended(&mut command).went_well().stdout.clone();
    (serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap(), output)
}

const PINGPONG: &str = "-n 2 examples/dp_pingpong.c 2";

pub fn classes(report: &Value) -> impl Iterator<Item = &Value> {
    report["breakdowns"].as_array().unwrap().iter()
}

pub fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// The median times of a step, by class from 8 bytes on, in nanoseconds.
fn medians(report: &Value, name: &str) -> Vec<f64> {
    let step = |class: &Value| {
        let segments = class["segments"].as_array().unwrap();
        let own = segments.iter().find(|segment| segment["name"] == name);
        own.unwrap_or_else(|| panic!("no {name} in {class:#}"))["ns"].as_f64().unwrap()
    };
    classes(report).filter(|class| number(&class["bytes_least"]) >= 8).map(step).collect()
}

/// Steps of one way add up to what the program measures with its own clock.
#[test]
#[cfg_attr(not(kernel), ignore = "there is no kernel for guests: sunstar guest --prepare")]
fn a_packet_of_a_guest_is_told_step_by_step() {
    let (report, output) = told(PINGPONG);
    add_up(&report);
    // Two that meet, a warm-up and two round trips of each size, and a last one.
    let round_trips = 1 + 12 * 3 + 1;
    assert_eq!(report["messages"]["ended"], 2 * round_trips);
    let left = report["messages"]["unfinished"].as_object().unwrap();
    assert!(left.values().all(|number| number == 0), "{left:?}");
    let expected = [
        "system call, send",
        "module, send",
        "PCI to the card",
        "control program, send",
        "send interface",
        "cables and switches",
        "receive interface",
        "control program, receive",
        "interrupt to the host",
        "interrupt, up to the module",
        "module, look at the card",
        "module, DMA block",
        "start of the DMA over PCI",
        "packet by DMA",
        "control program, completion",
        "module polls the card",
        "system call, return",
    ];
    let measured = output.lines().skip(1).map(|line| {
        let mut words = line.split_whitespace().map(|word| word.parse::<f64>().unwrap());
        (words.next().unwrap(), 1e3 * words.next().unwrap())
    });
    for (bytes, one_way) in measured {
        let class = classes(&report).find(|class| class["bytes_most"].as_f64() == Some(bytes));
        let class = class.unwrap_or_else(|| panic!("no class of {bytes} bytes"));
        let segments = class["segments"].as_array().unwrap();
        let names: Vec<&str> = segments.iter().map(|one| one["name"].as_str().unwrap()).collect();
        // The first packet of a byte is met by poll.
        let names: Vec<&str> = names.into_iter().filter(|name| !name.contains("until")).collect();
        assert_eq!(names, expected, "{bytes} bytes");
        let mean = number(&class["sum_ps"]) as f64 / 1e3 / number(&class["messages"]) as f64;
        // The warm-up is in one of them only.
        let apart = (mean / one_way - 1.0).abs();
        assert!(apart < 0.02, "{bytes} bytes: {mean} ns by steps, {one_way} ns by the program");
    }
    // The answer begins at the instant at which the packet has been read, and nothing is in between.
    let slowest = report["messages"]["slowest"].as_array().unwrap();
    let of = |one: &Value, key: &str| one[key].as_f64().unwrap();
    let begins: Vec<f64> = slowest.iter().map(|one| of(one, "start_ns")).collect();
    let follows = slowest.iter().filter(|one| {
        let end = of(one, "start_ns") + of(one, "total_ns");
        begins.iter().any(|begin| (begin - end).abs() < 0.5)
    });
    assert!(follows.count() > 20, "{slowest:#?}");
    // Each node waits for the other.
    for rank in 0..2 {
        assert_eq!(call(&report, rank, "dp_write")["times"], round_trips);
        let read = call(&report, rank, "dp_read");
        assert_eq!(
            (&read["times"], &read["waits_for"][0]["rank"]),
            (&round_trips.into(), &(1 - rank).into())
        );
        assert!(number(&read["network_ps"]) > 0 && number(&read["late_sender_ps"]) > 0, "{read:#}");
    }
}

/// A parameter that is longer by 500 ns makes its step longer by as much, and nothing else.
#[test]
#[cfg_attr(not(kernel), ignore = "there is no kernel for guests: sunstar guest --prepare")]
fn steps_of_guests_are_those_of_their_parameters() {
    let (before, _) = told(PINGPONG);
    for (setting, step, by) in [
        ("linux.kernel_entry=600ns", "system call, send", None),
        ("linux.interrupt_entry=15400ns", "interrupt, up to the module", Some(500.0)),
        ("guest.context_switch=2500ns", "system call, return", Some(500.0)),
        ("myrinet.interrupt=1us", "interrupt to the host", Some(500.0)),
    ] {
        let (after, _) = told(&format!("--set {setting} {PINGPONG}"));
        add_up(&after);
        let longer: Vec<f64> = medians(&after, step)
            .iter()
            .zip(medians(&before, step))
            .map(|(after, before)| after - before)
            .collect();
        let by = by.unwrap_or(longer[1]);
        let off = |longer: &f64| (longer - by).abs() > 31.0;
        assert!(by > 100.0 && !longer.iter().any(off), "{setting}: {longer:?}");
    }
}

/// Packets that nobody reads end in the module, like the 8 for which a channel has no room.
#[test]
#[cfg_attr(not(kernel), ignore = "there is no kernel for guests: sunstar guest --prepare")]
fn a_packet_without_a_reader_ends_in_the_module() {
    let (report, _) = told("-n 2 tests/dp/channels.c");
    add_up(&report);
    let of = |kind: &str, bytes: u64| {
        let own = classes(&report).filter(|class| class["kind"] == kind);
        own.filter(|class| class["bytes_most"] == bytes)
            .map(|c| number(&c["messages"]))
            .sum::<u64>()
    };
    // 40 packets for a channel that keeps 32, and one that each node sends to itself.
    assert_eq!(of("send", 4) + of("put", 4), 42);
    assert!(of("put", 4) >= 8 && of("send", 4) >= 32, "{}", of("put", 4));
    let ended = number(&report["messages"]["ended"]);
    let written: u64 =
        (0..2).map(|rank| number(&call(&report, rank, "dp_write")["messages"])).sum();
    assert_eq!(ended, written);
}

/// Packets that faults strike are followed as far as they come; the others are not confused by it.
#[test]
#[cfg_attr(not(kernel), ignore = "there is no kernel for guests: sunstar guest --prepare")]
fn lost_packets_of_guests_are_unfinished() {
    let faults =
        "--fault link.drop=0.05@0us --fault link.biterror=2e-5@0us --fault interrupt.late=0.1:40us";
    let line = format!("-n 3 --until 80ms {faults} tests/soak/dp.c 1 5 3");
    let (report, _) = told(&line);
    add_up(&report);
    let counter = |name: &str| -> u64 {
        let nodes = report["nodes"].as_array().unwrap();
        nodes.iter().map(|node| number(&node["counters"][name])).sum()
    };
    let unfinished = &report["messages"]["unfinished"];
    let left: u64 = unfinished.as_object().unwrap().values().map(number).sum();
    let written: u64 =
        (0..3).map(|rank| number(&call(&report, rank, "dp_write")["messages"])).sum();
    // The network devices have sent some, too.
    let all = number(&report["messages"]["ended"]) + left;
    assert!((written..=counter("tx.packets")).contains(&all), "{all} of {written}: {unfinished}");
    // Those that a cable has lost never come. Cards drop those that it has spoilt, and what is no packet of
    // Directed Point, which the program sends, too.
    let (lost, damaged) = (counter("myrinet.lost"), counter("myrinet.damaged"));
    assert_eq!(unfinished["on_the_way"], lost, "{unfinished}");
    assert!(number(&unfinished["dropped"]) >= damaged, "{damaged} of {unfinished}");
    assert!(lost > 0 && damaged > 0, "{lost} and {damaged}");
    for class in classes(&report) {
        // A packet under another's id would be late by milliseconds.
        let wire = class["steps"].as_array().unwrap().iter();
        let wire = wire.filter(|step| step["name"] == "cables and switches");
        assert!(wire.clone().all(|step| step["most_ns"].as_f64().unwrap() < 1e6), "{class:#}");
    }
}

/// Datagrams of the network device on the same card have ids, too.
#[test]
#[cfg_attr(not(kernel), ignore = "there is no kernel for guests: sunstar guest --prepare")]
fn datagrams_over_the_card_are_told() {
    let (report, _) = told("-n 2 examples/studies/udp_pingpong.c 2");
    add_up(&report);
    // Address, UDP's and IP's headers, and Ethernet's.
    let headers = 14 + 20 + 8;
    let sizes: Vec<u64> = classes(&report).map(|class| number(&class["bytes_most"])).collect();
    assert!(
        [64, 128, 256, 512, 1024].iter().all(|bytes| sizes.contains(&(bytes + headers))),
        "{sizes:?}"
    );
    assert!(classes(&report).all(|class| class["kind"] == "put"));
    let tx: u64 = (0..2).map(|nid| number(&report["nodes"][nid]["counters"]["tx.packets"])).sum();
    assert!(
        number(&report["messages"]["ended"]) <= tx && number(&report["messages"]["ended"]) > 60
    );
}

/// Whatever observes changes nothing, on one thread and on two.
pub fn observers_change_nothing(machine: &str, line: &str) {
    let folder = tempfile::tempdir().unwrap();
    let (plain, _) = told_on(machine, folder.path(), &[], line);
    let file = |name: &str| folder.path().join(name).display().to_string();
    let mut written = Vec::new();
    for threads in ["1", "2"] {
        let options =
            ["-t", threads, "--trace", &file("trace"), "--messages", &file("messages.parquet")];
        let (observed, _) = told_on(machine, folder.path(), &options, line);
        for key in ["trace_hash", "simulated_ns", "messages", "breakdowns", "account"] {
            assert_eq!(observed[key], plain[key], "{key} on {threads} threads");
        }
        written.push(std::fs::read(file("trace")).unwrap());
    }
    assert!(written[0] == written[1], "the traces differ");
}

/// Each by itself and on two threads; all together in `observers`.
#[test]
#[cfg_attr(kernel, ignore = "ten seconds: make soak")]
#[cfg_attr(not(kernel), ignore = "there is no kernel for guests: sunstar guest --prepare")]
fn observers_of_guests_change_nothing() {
    observers_change_nothing("amata", PINGPONG);
}
