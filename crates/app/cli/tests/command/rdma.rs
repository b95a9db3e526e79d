//! The model `rdma`: remote writes over PCI-X, bonded lanes and the crossbar, judged and conserved.

use crate::runner::{run, unjudged};
use serde_json::Value;

fn report(line: &str) -> Value {
    let ended = unjudged(&format!("run --json - -q {line}"));
    assert_eq!(ended.code, 0, "{ended:#?}");
    let json = ended.stdout.find("\n{").map_or(0, |at| at + 1);
    serde_json::from_str(&ended.stdout[json..]).unwrap_or_else(|why| panic!("{why}: {ended:#?}"))
}

fn counter(report: &Value, node: usize, name: &str) -> u64 {
    report["nodes"][node]["counters"][name].as_u64().unwrap_or_else(|| panic!("no {name}"))
}

#[test]
fn one_run_has_one_hash() {
    for line in [
        "-n 2 -m forth builtin:rdma-pingpong 8 40",
        "-n 2 -m forth builtin:rdma-permutation 12296 5",
        "-n 5 -m forth-switch builtin:rdma-incast 4096 6",
    ] {
        let hash = |options: &str| {
            let report = report(&format!("{options} {line}"));
            (report["trace_hash"].clone(), report["simulated_ns"].clone(), report["nodes"].clone())
        };
        let first = hash("");
        assert_eq!(hash("-t 2"), first, "{line}");
        assert_eq!(hash("--judge"), first, "{line}: judging is free");
    }
}

#[test]
fn every_message_is_judged() {
    for (line, messages) in [
        ("-n 2 -m forth builtin:rdma-pingpong 8 20", 40),
        // Segments end at 4 KB: three and a rest each; two doorbells.
        ("-n 2 -m forth builtin:rdma-stream 12296 5", 4 * 5 + 2),
        ("-n 2 -m forth --set pcix.combining=off builtin:rdma-stream 12296 5", 4 * 5 + 2),
        ("-n 3 -m forth-switch builtin:rdma-permutation 8192 5", 3 * (2 * 5 + 2)),
        ("-n 8 -m forth-switch builtin:rdma-incast 64 9", 7 * (9 + 2)),
    ] {
        let report = report(&format!("--judge {line}"));
        assert_eq!(report["judged"]["messages"], messages, "{line}");
    }
}

/// Steps of a class by their names, in picoseconds.
fn steps(class: &Value) -> Vec<(&str, u64)> {
    let steps = class["steps"].as_array().unwrap();
    steps.iter().map(|s| (s["name"].as_str().unwrap(), s["sum_ps"].as_u64().unwrap())).collect()
}

fn class(report: &Value, bytes: u64) -> &Value {
    let all = report["breakdowns"].as_array().unwrap();
    let found = all.iter().find(|class| class["bytes_least"] == bytes);
    found.unwrap_or_else(|| panic!("no class of {bytes} bytes: {all:?}"))
}

/// The steps of a message lead from the library's call to the process that waits for it.
#[test]
fn a_message_is_told_step_by_step() {
    let line = "-n 2 -m forth builtin:rdma-pingpong 8 40";
    let told = report(line);
    assert_eq!(told["messages"]["ended"], 80);
    let left = told["messages"]["unfinished"].as_object().unwrap();
    assert!(left.values().all(|number| number == 0), "{left:?}");
    let class = class(&told, 8);
    let kind = [&class["kind"], &class["protocol"], &class["messages"]];
    assert_eq!(kind, [&Value::from("put"), &"eager".into(), &80.into()]);
    let steps = steps(class);
    let names: Vec<&str> = steps.iter().map(|(name, _)| *name).collect();
    let expected = [
        "library, descriptor",
        "descriptor over the bus",
        "request queue",
        "payload over the bus",
        "lanes",
        "receiving FIFO",
        "payload to memory",
        "return to the process",
        "library, receive",
    ];
    assert_eq!(names, expected);
    let sum: u64 = steps.iter().map(|(_, ps)| ps).sum();
    assert_eq!(class["sum_ps"], sum, "steps add up");
    // Half of a round trip is a message, whose next one begins at once.
    let round_trips = told["simulated_ns"].as_f64().unwrap() * 1e3;
    assert!((sum as f64 / round_trips - 1.0).abs() < 0.02, "{sum} of {round_trips}");
    // The steps are those of the parameters.
    let of = |options: &str, step: &str| {
        let told = report(&format!("{options} {line}"));
        let class = self::class(&told, 8);
        self::steps(class).iter().find(|(name, _)| *name == step).unwrap().1 / 80
    };
    let longer = of("--set lanes.delay=484ns", "lanes") - of("", "lanes");
    assert!((95_000..=105_000).contains(&longer), "{longer} ps for 100 ns");
    let post = "library, descriptor";
    assert_eq!(of("--set rdma.post=1us", post) - of("--set rdma.post=0ns", post), 1_000_000);
}

/// Messages that nobody waits for end in memory; a doorbell ends with the handler, or when it wakes a
/// sleeper.
#[test]
fn writes_and_doorbells_are_messages_of_their_kinds() {
    let told = report("-n 5 -m forth-switch builtin:rdma-incast 12296 6");
    assert_eq!(told["messages"]["ended"], 4 * (6 + 2));
    let long = steps(class(&told, 12_296));
    assert_eq!(long.last().unwrap().0, "payload to memory");
    let rings = steps(class(&told, 8));
    assert!(rings.iter().any(|(name, ps)| *name == "doorbells" && *ps > 0), "{rings:?}");
    let sent = told["account"][1]["sent"].as_array().unwrap();
    let [to] = &sent[..] else { panic!("{sent:?}") };
    assert_eq!([&to["to"], &to["messages"]], [&Value::from(0), &8.into()]);
    assert_eq!(to["bytes"], 6 * 12_296 + 2 * 8);
}

/// The parts of each call add up to its time; a sleeping rank waits for its sender.
#[test]
fn calls_of_the_library_have_an_account() {
    let told = report("-n 2 -m forth builtin:rdma-stream 4096 60");
    let ranks = told["account"].as_array().unwrap();
    assert_eq!(ranks.len(), 2);
    for call in ranks.iter().flat_map(|rank| rank["calls"].as_array().unwrap()) {
        let number = |key: &str| call[key].as_u64().unwrap_or_else(|| panic!("{key}: {call}"));
        let parts = ["library", "kernel", "nic", "network", "late_sender", "late_receiver"];
        let parts = parts.map(|part| number(&format!("{part}_ps")));
        let sum = parts.iter().sum::<u64>() + number("imbalance_ps");
        assert_eq!(sum, number("total_ps"), "{call}");
    }
    let call = |rank: usize, name: &str| {
        let calls = ranks[rank]["calls"].as_array().unwrap();
        let found = calls.iter().find(|call| call["call"] == name);
        found.unwrap_or_else(|| panic!("no {name} in {calls:?}")).clone()
    };
    assert_eq!(call(0, "rdma_write")["times"], 60);
    assert_eq!(call(0, "rdma_ring")["messages"], 2);
    let sleep = call(1, "rdma_sleep");
    assert_eq!(sleep["waits_for"][0]["rank"], 0);
    let late = sleep["late_sender_ps"].as_f64().unwrap() / sleep["total_ps"].as_f64().unwrap();
    assert!(late > 0.4, "{sleep}");
}

#[test]
fn a_message_and_a_call_are_explained() {
    let explain = |options: &str| {
        let line = format!("explain {options} -n 2 -m forth builtin:rdma-pingpong 8 10");
        unjudged(&line).went_well().stdout.clone()
    };
    let one = explain("--message 0:3");
    assert!(one.contains("Message 0:3 (put, eager, 8 bytes)"), "{one}");
    for words in ["lanes.delay = 384 ns", "descriptor over the bus", "pcix.split_word"] {
        assert!(one.contains(words), "no {words} in {one}");
    }
    let call = explain("--call rdma_wait");
    assert!(call.contains("rdma_wait: 20 calls of all ranks"), "{call}");
    let both = explain("");
    assert!(both.contains("slowest of 20 messages"), "{both}");
}

/// Observation changes nothing, and reports do not depend on the number of threads.
#[test]
fn what_is_told_of_messages_is_one_for_any_number_of_threads() {
    let line = "-n 5 -m forth-switch builtin:rdma-permutation 4104 6";
    let keys = ["trace_hash", "messages", "breakdowns", "account"];
    let of = |options: &str| {
        let told = report(&format!("{options} {line}"));
        keys.map(|key| told[key].clone())
    };
    assert_eq!(of("-t 2"), of(""));
}

#[test]
fn interrupts_are_handled_and_handles_come_back() {
    let report = report("-n 8 -m forth-switch builtin:rdma-incast 4096 16");
    let raised = counter(&report, 0, "nic.interrupts");
    assert!((1..=14).contains(&raised), "{raised} for 14 doorbells");
    assert_eq!(counter(&report, 0, "host.interrupts"), raised);
    for node in 1..8 {
        // 16 messages and 2 doorbells; every eighth descriptor is notified of.
        assert_eq!(counter(&report, node, "host.handles_reclaimed"), 16);
        assert_eq!(counter(&report, node, "nic.credits_out"), 0);
    }
}

#[test]
fn where_all_want_one_port_each_gets_its_share() {
    let ended = run("-q -n 5 -m forth-switch builtin:rdma-incast 4096 30");
    let text = &ended.went_well().stdout;
    let (_, shares) = text.split_once("shares of each are ").unwrap();
    let numbers = shares.split_whitespace().filter_map(|word| word.parse::<f64>().ok());
    let [least, most] = numbers.collect::<Vec<_>>()[..] else { panic!("{text}") };
    assert!(least >= 98.0 && most <= 102.0, "{text}");
}

#[test]
fn what_the_model_has_not_is_refused_by_name() {
    let refused = |line: &str, words: &[&str]| {
        unjudged(line).said(2, words);
    };
    refused("run -n 2 -m forth builtin:pingpong", &["model rdma", "rdma-pingpong"]);
    refused("run -n 2 builtin:rdma-pingpong", &["model rdma", "model seastar"]);
    refused("run -n 3 -m forth builtin:rdma-pingpong", &["link", "2 only"]);
    refused("run -n 9 -m forth-switch builtin:rdma-incast", &["ports", "8 only"]);
    refused("run -n 1 -m forth builtin:rdma-incast", &["needs 2 ranks"]);
    refused("run -n 2 -m forth builtin:rdma-stream 12", &["steps of 8", "not 12"]);
    refused(
        "run -n 2 -m forth --set nic.rx_fifo=4120B --set nic.estimate=conservative \
             builtin:rdma-stream",
        &["never"],
    );
    refused(
        "run -n 2 -m forth --set lanes.bonded=3 builtin:rdma-stream",
        &["lanes.bonded", "allowed is 2 or 4"],
    );
    refused(
        "run -n 2 -m forth-switch --set lanes.bonded=4 builtin:rdma-stream",
        &["lanes.bonded=4", "a lane each way"],
    );
    refused("run -n 2 -m forth --gdb 0 builtin:rdma-pingpong", &["--gdb", "firmware"]);
    refused("run -n 2 -m forth --set ht.latency=1ns builtin:rdma-pingpong", &["ht.latency"]);
}

/// Four lanes carry twice as much as two: more than the bus does.
#[test]
fn four_lanes_carry_what_the_bus_can() {
    let line = "-n 2 -m forth builtin:rdma-stream 4096 40";
    let time = |options: &str| {
        let told = report(&format!("--judge {options} {line}"));
        assert_eq!(told["judged"]["messages"], 42, "{options}");
        (told["trace_hash"].clone(), told["simulated_ns"].as_f64().unwrap())
    };
    let (two, four) = (time(""), time("--set lanes.bonded=4"));
    assert_eq!(time("-t 2 --set lanes.bonded=4"), four);
    assert_eq!(time("--set lanes.bonded=2"), two);
    assert!(four.1 < two.1, "{four:?} {two:?}");
    // A symbol is of two bytes, and any of them can be spoilt.
    let told = report(&format!("--set lanes.bonded=4 --fault lane.biterror=#3000@1 {line}"));
    let errors = ["rx.header_errors", "rx.payload_errors"].map(|name| counter(&told, 1, name));
    assert_eq!(errors.iter().sum::<u64>(), 1);
}

/// Handles instead of addresses lead to the same memory, in the same cycles.
#[test]
fn handles_lead_to_the_same_memory() {
    for (line, bindings, messages) in [
        ("-n 2 -m forth builtin:rdma-stream 12296 5", 6, 4 * 5 + 2),
        ("-n 4 -m forth-switch builtin:rdma-permutation 8192 5", 10, 4 * (2 * 5 + 2)),
    ] {
        let plain = report(&format!("--judge {line}"));
        let bound = report(&format!("--judge --set nic.bindings={bindings} {line}"));
        assert_eq!(bound["judged"]["messages"], messages, "{line}");
        assert_eq!(bound["breakdowns"], plain["breakdowns"], "{line}");
        assert_ne!(bound["trace_hash"], plain["trace_hash"], "{line}: bindings are made");
        let few = format!("run --set nic.bindings={} {line}", bindings - 1);
        let need = format!("need {bindings} each");
        unjudged(&few).said(2, &["nic.bindings", "too few", &need]);
    }
}

#[test]
fn a_lost_interrupt_is_a_deadlock_that_is_told() {
    let lost = "-q -n 2 -m forth --fault interrupt.lost=1 builtin:rdma-stream 64 3";
    run(lost).said(1, &["deadlock", "rank 1 waits"]);
}

/// A doorbell rung between the handler's first poll and the enabling raises no interrupt: the second poll
/// finds it, and a handler without a second poll loses it.
#[test]
fn the_second_look_finds_what_came_before_the_interrupt_was_enabled() {
    let line = "-n 2 -m forth-switch --set rdma.doorbell=500ns builtin:rdma-stream 512 2";
    let told = report(line);
    assert_eq!(counter(&told, 1, "host.second_looks"), 1);
    assert_eq!(counter(&told, 1, "nic.interrupts"), 1, "two doorbells");
    let once = format!("-q --set rdma.second_look=off {line}");
    run(&once).said(1, &["deadlock", "rank 1 waits"]);
}

/// Counts of credits are cumulative, so that the next credit makes up for a lost one.
#[test]
fn a_lost_credit_costs_time_and_the_last_one_is_told() {
    let line = "-n 2 -m forth builtin:rdma-stream 4096 60";
    let told = report(&format!("--judge --fault lane.credit=0.2@0 {line}"));
    let (lost, spoilt) =
        (counter(&told, 0, "rx.credit_errors"), counter(&told, 0, "rx.symbols_spoilt"));
    assert!(lost > 5 && lost == spoilt, "{lost} of {spoilt}");
    assert_eq!(told["judged"]["silent_nodes"], 2, "the judge says that it has fallen silent");
    assert_eq!(counter(&told, 1, "rx.messages"), 62);
    let plain = report(line);
    assert!(told["simulated_ns"].as_f64() > plain["simulated_ns"].as_f64());
    let line = "-q -n 2 -m forth --fault lane.credit=1@0 builtin:rdma-stream 4096 60";
    let words = ["node 0: a packet has waited 20 ms for credits that were lost", "words of flow 1"];
    run(line).said(1, &words);
    // Beside the RTL it is the same.
    run(&line.replace("-q ", "-q --rtl ")).said(1, &words);
}

#[test]
fn what_a_lane_spoils_is_found_and_missed() {
    let deadlock = "deadlock: nothing in the machine moves any more";
    // A start, and a header.
    for symbol in [2, 4] {
        let line = format!(
            "-q -n 2 -m forth --fault lane.biterror=#{symbol}@1 builtin:rdma-pingpong 4096 2"
        );
        run(&line).said(1, &[deadlock, "rank 1 waits"]);
    }
    // Cut-through: a payload is in memory before its checksum has come, and who polls takes it.
    let line = "-q -n 2 -m forth --fault lane.biterror=#300@1 builtin:rdma-pingpong 4096 2";
    run(line).said(1, &["rank 1: word", "of message 0 from rank 0 is wrong"]);
    // What is not waited for is missed by nobody but who counts.
    let told = report("-n 2 -m forth --fault lane.biterror=#2000@1 builtin:rdma-stream 4096 20");
    let errors = ["rx.header_errors", "rx.payload_errors"].map(|name| counter(&told, 1, name));
    assert_eq!(errors.iter().sum::<u64>(), 1);
    unjudged("run -n 2 --fault lane.credit=1 builtin:barrier")
        .said(2, &["model seastar have no lane.credit", "link.*"]);
    unjudged("run -n 2 -m amata --fault lane.credit=1 builtin:myrinet-pingpong")
        .said(2, &["model myrinet have no lane.credit", "cable.dead"]);
}

#[test]
fn published_results_are_met_but_for_two_that_say_why() {
    let ended = unjudged("validate -m forth --json -");
    assert_eq!(ended.code, 0, "{ended:#?}");
    let results: Vec<Value> = serde_json::from_str(&ended.stdout).unwrap();
    let missed = results.iter().filter(|result| {
        let ratio = result["ratio"].as_f64().unwrap_or_else(|| panic!("{result}"));
        (ratio - 1.0).abs() > 0.05
    });
    let missed: Vec<&str> = missed.map(|result| result["id"].as_str().unwrap()).collect();
    // 110 ns of 875 ns, as the paper tells both, are 12.6 %; it prints 12. Flags gain up to 10 %, and here 8.
    assert_eq!(missed, ["marazakis2006.double-initiation", "marazakis2006.flags"]);
    let of =
        |id: &str| results.iter().find(|result| result["id"] == id).unwrap()["simulated"].as_f64();
    assert!((7.0..10.0).contains(&of("marazakis2006.flags").unwrap()));
    assert!((14.0..15.0).contains(&of("marazakis2006.estimate-sampled").unwrap()));
    let calibrated = results.iter().filter(|result| result["role"] == "calibrated").count();
    assert_eq!((results.len(), calibrated), (13, 2));
}

#[test]
#[ignore = "ten seconds: make soak"]
fn results_are_measured_and_follow_the_parameters() {
    let slow = unjudged("validate -m forth --set pcix.split_page=67cycles --json -");
    let slow: Vec<Value> = serde_json::from_str(&slow.stdout).unwrap();
    let read = slow.iter().find(|result| result["id"] == "marazakis2006.dma-read").unwrap();
    assert_eq!(read["simulated"], 587.0);
}

#[test]
fn both_figures_are_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let (page, json) = (folder.path().join("page.html"), folder.path().join("figures.json"));
    let line =
        format!("bench rdma --largest 4096 --json {} --page {}", json.display(), page.display());
    let told = unjudged(&line).wrote(&page).stdout.clone();
    let figures: Value = serde_json::from_str(&std::fs::read_to_string(json).unwrap()).unwrap();
    let curve = |index: usize| figures["curves"][index]["points"].as_array().unwrap();
    let rate = |point: &Value| point["mib_per_s"].as_f64().unwrap();
    for index in 0..4 {
        let points = curve(index);
        assert_eq!(points.len(), 10, "8 bytes to 4 KiB");
        assert!(points.windows(2).all(|two| rate(&two[0]) < rate(&two[1])), "{points:?}");
        assert!(points.iter().all(|point| rate(point) < 596.1), "no more than two lanes carry");
    }
    // Curves come in pairs: combined, then word by word.
    for index in [0, 2] {
        let pairs = curve(index).iter().zip(curve(index + 1));
        assert!(pairs.clone().all(|(combined, single)| rate(combined) >= rate(single)));
    }
    for bar in figures["bars"].as_array().unwrap() {
        let number = |value: &Value| value.as_f64().unwrap();
        let parts = bar["parts"].as_array().unwrap();
        let sum: f64 = parts.iter().map(|part| number(&part["ns"])).sum();
        assert!((sum - number(&bar["sum_ns"])).abs() < 1e-6, "{bar}");
        assert!(number(&bar["beside_ns"]) > 0.0, "{bar}");
    }
    for curve in figures["curves"].as_array().unwrap() {
        for point in curve["points"].as_array().unwrap() {
            let cell = format!("{:.1}", rate(point));
            assert!(told.contains(&cell), "no {cell} in {told}");
        }
    }
    let page = std::fs::read_to_string(page).unwrap();
    assert_eq!(page.matches("<polyline").count(), 4 + 4, "a line a curve, and its swatch");
    assert!(page.contains("Time of 8-byte messages"));
    unjudged("bench rdma -m redstorm").said(2, &["redstorm has no RDMA NICs", "forth"]);
    unjudged("bench rdma --largest 12").said(2, &["--largest 12: allowed is 8 to 1048576"]);
}

#[test]
fn the_console_of_the_switch_tells_its_flows() {
    let line = "-n 4 -m forth-switch builtin:rdma-incast 4096 8";
    let hash = |options: &str| {
        let ended = unjudged(&format!("run {options} {line}")).went_well().stdout.clone();
        let hash = ended.lines().find(|line| line.starts_with("Trace hash")).unwrap().to_owned();
        (hash, ended)
    };
    let (plain, silent) = hash("");
    let (watched, told) = hash("--console switch --set console.baud=100000000");
    let baud = hash("--set console.baud=100000000").0;
    assert_eq!((&plain, &baud), (&watched, &watched), "it only reads");
    assert!(!silent.contains("0>"), "{silent}");
    // The run ends before the last words are told: 8 packets and 2 doorbells, with what surrounds them.
    for sender in 1..4 {
        let start = format!("{sender}>0 words");
        // The end of the run cuts the very last line.
        let whole = |line: &&str| line.starts_with(&start) && line.contains(", cycles ");
        let last = told.lines().rfind(whole).unwrap_or_else(|| panic!("{told}"));
        let words: u64 = last[start.len()..].split_whitespace().next().unwrap().parse().unwrap();
        let overhead = u64::from(abi::forth::PACKET_OVERHEAD);
        let all = 8 * (512 + overhead) + 2 * (1 + overhead);
        assert!(words > all / 2 && words <= all, "{words} of {all}: {told}");
    }
    assert!(told.lines().any(|line| line.starts_with("cycle ")), "{told}");
    assert_eq!(
        hash("-t 2 --console switch --set console.baud=100000000").1.lines().next(),
        told.lines().next()
    );
    unjudged(&format!("run --console switch {}", line.replace("forth-switch", "redstorm")))
        .said(2, &["redstorm", "forth-switch"]);
    unjudged(&format!("run --console switch --rtl {line}")).said(2, &["switch.rtl=off"]);
    unjudged("run -n 2 -m forth --console switch builtin:rdma-pingpong")
        .said(2, &["no switch", "forth-switch"]);
}
