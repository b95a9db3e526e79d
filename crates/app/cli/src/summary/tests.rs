//! Summaries of made-up reports.

use super::*;
use machine::instruments::message_trace::{
    Breakdown, Layer, MessageKind, Messages, Protocol, Segment,
};
use machine::report::{Firmware, Machine};
use std::collections::BTreeMap;

const PLAIN: Terminal = Terminal { colour: false, unicode: false, width: 80 };

fn full() -> Facts {
    Facts { extent: Extent::Full, ..Facts::default() }
}

fn report(nodes: u32) -> Report {
    let node = |nid| NodeReport {
        nid,
        ranks: vec![nid],
        counters: BTreeMap::from([("tx.messages".into(), 1000 + u64::from(nid)), ("z".into(), 0)]),
        host_ns: BTreeMap::from([("kernel".into(), 1500.0)]),
        ..NodeReport::default()
    };
    Report {
        machine: Machine {
            name: "redstorm".into(),
            model: "seastar",
            overrides: vec!["net.hop=60 ns".into()],
            parameters: BTreeMap::from([("assumed".into(), 12), ("documented".into(), 30)]),
            ..Machine::default()
        },
        ranks: nodes,
        ranks_per_node: 1,
        seed: 7,
        compute: "none".into(),
        deterministic: true,
        simulated_ns: 2e6,
        wall_seconds: 0.5,
        trace_hash: "00c0ffee00c0ffee".into(),
        account: Vec::new(),
        messages: Some(Messages { ended: 31, ..Messages::default() }),
        breakdown: None,
        breakdowns: vec![Breakdown {
            kind: MessageKind::Send,
            protocol: Protocol::Header,
            bytes: 0,
            bytes_least: 0,
            bytes_most: 0,
            bytes_sum: 0,
            messages: 31,
            total_ns: 1000.0,
            median_of: 31,
            least_ns: 900.0,
            p90_ns: 1000.0,
            p99_ns: 1100.0,
            most_ns: 1100.0,
            sum_ps: 31_000_000,
            entries: 31,
            entries_most: 1,
            segments: vec![
                Segment { name: "kernel entry".into(), place: Layer::HOST, ns: 250.0 },
                Segment { name: "firmware TX".into(), place: Layer::FIRMWARE, ns: 0.5 },
                Segment { name: "wire".into(), place: Layer::NETWORK, ns: 749.5 },
            ],
            steps: Vec::new(),
            kept: Vec::new(),
        }],
        firmware: Some(Firmware { messages: 62, ..Firmware::default() }),
        nodes: (0..nodes).map(node).collect(),
        ..Report::default()
    }
}

#[test]
fn bars_of_the_waterfall_join_and_fill_the_line() {
    let text = summary(&report(2), &full(), &PLAIN);
    let bars: Vec<&str> = text.lines().filter(|line| line.contains(" %  ")).collect();
    assert_eq!(bars.len(), 3, "{text}");
    let end = |line: &str| line.rfind('#').map(|at| at + 1).unwrap_or(0);
    let start = |line: &str| line.find('#').unwrap_or(0);
    assert_eq!(end(bars[0]), start(bars[1]), "{text}");
    assert!(start(bars[2]) <= end(bars[1]) && end(bars[2]) <= 80, "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn the_stamp_names_all_that_a_replay_needs() {
    let text = summary(&report(2), &Facts { threads: 3, ..Facts::default() }, &PLAIN);
    for word in ["machine redstorm", "2 ranks", "seed 7", "3 threads", "set net.hop=60 ns"] {
        assert!(text.contains(word), "{word} in\n{text}");
    }
    assert!(text.contains(concat!("sunstar ", env!("CARGO_PKG_VERSION"))));
}

#[test]
fn a_brief_summary_has_five_lines() {
    let worked = Duration::from_millis(1500);
    let facts = Facts { extent: Extent::Brief, worked, ..Facts::default() };
    let text = summary(&report(2), &facts, &PLAIN);
    assert_eq!(text.lines().count(), 5, "{text}");
    for words in [
        "2 ranks",
        "1.000 us (mean of 31: send, header, 0 bytes",
        "00c0ffee00c0ffee",
        "1.50 s of the program",
    ] {
        assert!(text.contains(words), "no '{words}' in {text}");
    }
}

#[test]
fn a_screenful_is_not_longer() {
    let mut long = report(64);
    let step = |number: u32| Segment {
        name: format!("step {number}").into(),
        place: Layer::HOST,
        ns: 10.0 + f64::from(number),
    };
    long.breakdowns[0].segments = (0..25).map(step).collect();
    long.breakdowns = vec![long.breakdowns[0].clone(); 20];
    let calls = |number: u32| machine::instruments::account::Call {
        call: ["MPI_Send", "MPI_Recv", "MPI_Wait", "MPI_Isend", "MPI_Irecv", "MPI_Test"]
            [number as usize],
        total_ps: 1 + u64::from(number),
        library_ps: 1 + u64::from(number),
        ..Default::default()
    };
    long.account = vec![machine::instruments::account::Rank {
        calls: (0..6).map(calls).collect(),
        ..Default::default()
    }];
    let text = summary(&long, &Facts::default(), &PLAIN);
    assert!((24..=40).contains(&text.lines().count()), "{text}");
    assert!(text.contains("20 other steps") && text.contains("step 24"), "{text}");
    let all = summary(&long, &full(), &PLAIN);
    assert!(all.lines().count() > 50 && all.contains("step 0 "), "{all}");
}

#[test]
fn a_model_that_tells_of_no_messages_says_so() {
    let untold = Report { messages: None, breakdowns: Vec::new(), ..report(2) };
    let text = summary(&untold, &Facts::default(), &PLAIN);
    assert!(text.contains("Model seastar tells neither of messages nor of calls"), "{text}");
    assert!(text.contains("tx.messages"), "{text}");
}

#[test]
fn own_work_is_told_if_it_counts_for_nothing() {
    let facts = Facts { worked: Duration::from_millis(1500), ..Facts::default() };
    let text = summary(&report(2), &facts, &PLAIN);
    assert!(text.contains("Own work        1.50 s"), "{text}");
    let counted = Report { deterministic: false, ..report(2) };
    for (report, facts) in [(&counted, facts), (&report(2), Facts::default())] {
        assert!(!summary(report, &facts, &PLAIN).contains("Own work"));
    }
}

/// What is little beside the wall time may be much beside the simulated time, and change the picture.
#[test]
fn own_work_is_told_if_it_is_much_beside_the_simulated_time() {
    let ranks = |total_ps| {
        let rank = machine::instruments::account::Rank { total_ps, ..Default::default() };
        Report { account: vec![rank.clone(), rank], wall_seconds: 60.0, ..report(2) }
    };
    let told = |ms, total_ps| {
        let facts = Facts { worked: Duration::from_millis(ms), ..Facts::default() };
        summary(&ranks(total_ps), &facts, &PLAIN).contains("Own work")
    };
    let ms = 1_000_000_000;
    assert!(told(22, ms) && told(22, 110 * ms));
    assert!(!told(22, 111 * ms), "a tenth of the time of both ranks");
    assert!(!told(4, ms), "a process starts");
}

#[test]
fn few_nodes_have_columns_and_many_a_summary() {
    let text = summary(&report(2), &full(), &PLAIN);
    assert!(text.contains("node 1") && text.contains("1,001"), "{text}");
    assert!(!text.lines().any(|line| line.trim_start().starts_with("z ")), "{text}");
    let text = summary(&report(9), &full(), &PLAIN);
    assert!(text.contains("least") && text.contains("9,036"), "{text}");
}

#[test]
fn escape_sequences_appear_only_with_colours() {
    assert!(!summary(&report(2), &Facts::default(), &PLAIN).contains('\x1b'));
    assert!(summary(&report(2), &Facts::default(), &Terminal { colour: true, ..PLAIN })
        .contains('\x1b'));
}

#[test]
fn numbers_are_grouped() {
    let cases = [(0, "0"), (999, "999"), (1000, "1,000"), (1234567, "1,234,567")];
    for (number, text) in cases {
        assert_eq!(grouped(number), text);
    }
}

#[test]
fn a_long_cell_is_apart_from_the_one_before() {
    let mut out = String::new();
    row(&mut out, "  key", 5, &["ring", "recursive_doubling"].map(String::from)).unwrap();
    assert!(out.ends_with("ring recursive_doubling\n"), "{out}");
}
