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
            p50_ns: 1000.0,
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
        ns: 10.0 * 1.4_f64.powi(number as i32),
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
    // Seven steps are nine tenths of these messages, and all of them are shown: two more than at least.
    assert!((24..=40 + 2).contains(&text.lines().count()), "{}:{text}", text.lines().count());
    assert!(text.contains("18 other steps") && text.contains("step 24"), "{text}");
    let all = summary(&long, &full(), &PLAIN);
    assert!(all.lines().count() > 50 && all.contains("step 0 "), "{all}");
}

/// The steps with a line cover nine tenths of the message, however the time is divided among them; and the
/// rest is told with its share.
#[test]
fn steps_with_a_line_cover_nine_tenths() {
    let mut random = des::Random::new(68);
    for number in 0..200 {
        let mut long = report(2);
        let class = &mut long.breakdowns[0];
        let steps = 1 + random.below(60) as usize;
        let equal = random.below(2) == 0;
        let ns = |random: &mut des::Random| match equal {
            true => 100.0,
            false => 1.0 + (1_u64 << random.below(12)) as f64,
        };
        class.segments = (0..steps)
            .map(|at| Segment {
                name: format!("step {at}").into(),
                place: Layer::HOST,
                ns: ns(&mut random),
            })
            .collect();
        class.total_ns = class.segments.iter().map(|segment| segment.ns).sum();
        let facts = if number % 2 == 0 { full() } else { Facts::default() };
        let text = summary(&long, &facts, &PLAIN);
        let shown = |name: &str| text.lines().any(|line| line.starts_with(&format!("  {name} ")));
        let class = &long.breakdowns[0];
        let told = class.segments.iter().filter(|segment| shown(&segment.name));
        let (sum, count) = told.fold((0.0, 0), |(sum, n), segment| (sum + segment.ns, n + 1));
        assert!(sum >= 0.9 * class.total_ns - 1e-6, "{text}");
        let rest = format!("  {} other step", steps - count);
        assert!(count == steps || text.contains(&rest), "{text}");
        let share = format!("{:>4.0} %", 100.0 * (1.0 - sum / class.total_ns));
        let line = text.lines().find(|line| line.starts_with(&rest)).unwrap_or(&share);
        assert!(line.trim_end().ends_with(&share), "{line} has no {share}");
    }
}

#[test]
fn a_narrow_terminal_has_no_median() {
    let narrow = Terminal { width: 60, ..PLAIN };
    let report = report(2);
    for (terminal, columns) in [(PLAIN, "mean      p50      p99      max"), (narrow, "max")] {
        let text = summary(&report, &Facts::default(), &terminal);
        let head = text.lines().find(|line| line.contains("kind, protocol, size")).unwrap();
        assert!(head.ends_with(columns), "{text}");
        assert_eq!(head.contains("p50"), terminal.width == 80, "{text}");
        assert!(head.chars().count() <= terminal.width, "{text}");
    }
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

/// Work that is little beside the wall time may be much beside the simulated time, and change the picture.
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
    assert!(told(22, ms) && told(22, 109 * ms));
    assert!(!told(22, 111 * ms), "a tenth of the time of both ranks");
    assert!(!told(4, ms), "a process starts");
}

#[test]
fn few_nodes_have_columns_and_many_a_summary() {
    let text = summary(&report(2), &full(), &PLAIN);
    assert!(text.contains("node 1") && text.contains("1,001"), "{text}");
    assert!(!text.lines().any(|line| line.trim_start().starts_with("z ")), "{text}");
    let text = summary(&report(9), &full(), &PLAIN);
    assert!(text.contains("min") && text.contains("9,036"), "{text}");
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
