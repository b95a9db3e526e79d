//! The packets of the program: steps, account of the calls, explanations.

use super::report;
use crate::runner::unjudged;
use serde_json::Value;

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// Steps of the first class by their names, in picoseconds.
fn steps(report: &Value) -> Vec<(&str, u64)> {
    let steps = report["breakdowns"][0]["steps"].as_array().unwrap();
    steps.iter().map(|step| (step["name"].as_str().unwrap(), number(&step["sum_ps"]))).collect()
}

/// Steps add up to the times of the packets, and the parts of each call to the call's.
pub fn add_up(report: &Value) {
    for class in report["breakdowns"].as_array().unwrap() {
        let steps = class["steps"].as_array().unwrap();
        let sum: u64 = steps.iter().map(|step| number(&step["sum_ps"])).sum();
        assert_eq!(sum, number(&class["sum_ps"]), "{class:#}");
    }
    for rank in report["account"].as_array().unwrap() {
        let between = ["computes_ps", "clocks_ps", "sleeps_ps", "sockets_ps"];
        let mut total: u64 = between.iter().filter_map(|part| rank[part].as_u64()).sum();
        for call in rank["calls"].as_array().unwrap() {
            let parts = [
                "library",
                "kernel",
                "nic",
                "network",
                "late_sender",
                "late_receiver",
                "imbalance",
            ];
            let parts: u64 = parts.iter().map(|part| number(&call[&format!("{part}_ps")])).sum();
            assert_eq!(parts, number(&call["total_ps"]), "{call:#}");
            total += parts;
        }
        assert_eq!(total, number(&rank["total_ps"]), "{rank:#}");
    }
}

/// A call of a rank.
pub fn call<'a>(report: &'a Value, rank: usize, name: &str) -> &'a Value {
    let calls = report["account"][rank]["calls"].as_array().unwrap();
    let found = calls.iter().find(|call| call["call"] == name);
    found.unwrap_or_else(|| panic!("rank {rank} does not call {name}: {calls:#?}"))
}

#[test]
fn a_packet_is_told_step_by_step() {
    let line = "-n 2 builtin:myrinet-pingpong 8 40";
    let told = report(line);
    add_up(&told);
    assert_eq!(told["messages"]["ended"], 80);
    let left = told["messages"]["unfinished"].as_object().unwrap();
    assert!(left.values().all(|number| number == 0), "{left:?}");
    let names: Vec<&str> = steps(&told).iter().map(|(name, _)| *name).collect();
    let expected = [
        "kernel entry",
        "driver, send",
        "PCI to the card",
        "control program, send",
        "send interface",
        "cables and switches",
        "receive interface",
        "control program, receive",
        "interrupt to the host",
        "interrupt",
        "driver, look at the card",
        "driver, DMA block",
        "start of the DMA over PCI",
        "packet by DMA",
        "control program, completion",
        "driver polls the card",
        "return to the process",
        "copy to the process",
    ];
    assert_eq!(names, expected);
    // Half of a round trip is a packet, and the next one begins at once.
    let (sum, whole): (u64, _) =
        (steps(&told).iter().map(|(_, ps)| ps).sum(), told["simulated_ns"].as_f64().unwrap());
    assert!((sum as f64 / (whole * 1e3) - 1.0).abs() < 0.02, "{sum} ps of {whole} ns");
    // The steps are those of the parameters, to the picosecond where nothing waits for a clock.
    let of = |setting: &str, step: &str| {
        let told = report(&format!("--set {setting} {line}"));
        steps(&told).iter().find(|(name, _)| *name == step).unwrap().1 / 80
    };
    for (key, step, times) in [
        ("myrinet.driver", "driver, send", 1),
        ("myrinet.interrupt", "interrupt to the host", 1),
        // Two cables.
        ("myrinet.cable", "cables and switches", 2),
        ("myrinet.route", "cables and switches", 1),
    ] {
        let longer = of(&format!("{key}=900ns"), step) - of(&format!("{key}=400ns"), step);
        assert_eq!(longer, times * 500_000, "{key}");
    }
}

/// All packets of all nodes are reported, with sender and receiver.
#[test]
fn packets_through_three_switches_are_counted_by_their_ranks() {
    let told = report("-n 16 builtin:myrinet-incast 200 3");
    add_up(&told);
    let class = &told["breakdowns"][0];
    assert_eq!([&class["kind"], &class["bytes_least"]], [&Value::from("send"), &200.into()]);
    assert_eq!(class["messages"], 45);
    for rank in 1..16 {
        let sent = &told["account"][rank]["sent"];
        assert_eq!(*sent, serde_json::json!([{ "to": 0, "messages": 3, "bytes": 600 }]));
        assert_eq!(call(&told, rank, "dp_send")["times"], 3);
    }
    assert_eq!(call(&told, 0, "dp_receive")["times"], 45);
    // A packet waits for the receive buffer as long as the one before it takes, and in the switches for all.
    let most = |name: &str| {
        let all = told["breakdowns"][0]["steps"].as_array().unwrap();
        all.iter().find(|step| step["name"] == name).unwrap()["most_ns"].as_f64().unwrap()
    };
    let (card, switches) = (most("receive interface"), most("cables and switches"));
    assert!(card > 5_000.0 && switches > 10.0 * card, "{card} and {switches} ns");
    for option in ["-t 2", "--no-park"] {
        let other = report(&format!("{option} -n 16 builtin:myrinet-incast 200 3"));
        for key in ["trace_hash", "messages", "breakdowns", "account"] {
            assert_eq!(other[key], told[key], "{option}: {key}");
        }
    }
}

/// Late partners are named: in a ping-pong each rank waits for the other, and longer for one that is slow.
#[test]
fn late_senders_and_late_receivers_are_named() {
    let line = "-n 2 builtin:myrinet-pingpong 64 10";
    let late = |options: &str| {
        let told = report(&format!("{options} {line}"));
        add_up(&told);
        let receive = call(&told, 0, "dp_receive");
        assert_eq!(receive["waits_for"][0]["rank"], 1, "{receive:#}");
        number(&receive["late_sender_ps"])
    };
    assert!(late("--fault host.slow=4@1") > 2 * late(""));
    // Packets that come while the process copies one wait with the driver.
    let told = report("-n 4 --fault host.slow=8@0 builtin:myrinet-incast 2000 5");
    add_up(&told);
    let own = &told["account"][0];
    assert!(number(&own["unexpected"]) > 0 && number(&own["unexpected_time"]) > 0, "{own:#}");
    let waits = steps(&told).iter().any(|(name, ps)| *name == "waiting for the process" && *ps > 0);
    assert!(waits, "{:?}", steps(&told));
}

/// Packets lost on a cut cable are counted as unfinished.
#[test]
fn lost_packets_are_unfinished() {
    let line =
        "run --json - -q -n 2 -m amata --fault cable.dead=1@33us builtin:myrinet-stream 64 100";
    let ended = unjudged(line);
    assert_eq!(ended.code, 1, "{ended:#?}");
    let told: Value = serde_json::from_str(&ended.stdout).unwrap();
    add_up(&told);
    let left: u64 = told["messages"]["unfinished"].as_object().unwrap().values().map(number).sum();
    let sent = number(&call(&told, 0, "dp_send")["messages"]);
    assert_eq!(number(&told["messages"]["ended"]) + left, sent, "{:#}", told["messages"]);
    assert!(left > 0 && number(&told["messages"]["ended"]) > 0, "{:#}", told["messages"]);
}

#[test]
fn a_packet_and_a_call_are_explained() {
    let explain = |options: &str| {
        let line = format!("explain {options} -n 2 -m amata builtin:myrinet-pingpong 8 10");
        unjudged(&line).went_well().stdout.clone()
    };
    let one = explain("--message 0:3");
    for words in
        ["Message 0:3 (send, eager, 8 bytes)", "send_step", "myrinet.interrupt = 500 ns", "polls"]
    {
        assert!(one.contains(words), "no '{words}' in {one}");
    }
    assert!(explain("--call dp_receive").contains("dp_receive: 20 calls of all ranks"));
    assert!(explain("").contains("slowest of 20 messages"));
    let people = unjudged("run -n 2 -m amata builtin:myrinet-pingpong 8 10");
    let people = &people.went_well().stdout;
    assert!(people.contains("send, eager, 8 B"), "{people}");
}

/// `diff` names the step that has become slower.
#[test]
fn two_runs_are_compared_by_steps() {
    let folder = tempfile::tempdir().unwrap();
    let [a, b] = ["a.json", "b.json"].map(|name| folder.path().join(name));
    let line = "-n 2 -m amata builtin:myrinet-pingpong 8 10";
    for (file, setting) in [(&a, "lanai.clock=66MHz"), (&b, "lanai.clock=33MHz")] {
        let file = file.display();
        unjudged(&format!("run -q --json {file} --set {setting} {line}")).went_well();
    }
    let ended = unjudged(&format!("diff {} {}", a.display(), b.display()));
    let text = &ended.stdout;
    assert_eq!(ended.code, 1, "they differ: {ended:#?}");
    assert!(text.contains("control program, send") && text.contains("lanai.clock"), "{text}");
}
