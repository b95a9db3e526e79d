//! Counts of all messages, on every model that declares steps and for any number of threads; the program's
//! account; its use in `diff` and `explain`.

use crate::golden::machines_with_programs;
use crate::recomputed::programs;
use crate::runner::{command, ended};
use serde_json::Value;
use std::path::Path;
use std::process::Stdio;

/// The report of a run with these options and program.
fn report(line: &str) -> Value {
    let mut run = command();
    run.args(["run", "-q", "--json", "-"]).args(line.split_whitespace());
    let ended = ended(&mut run);
    assert!(!ended.stderr.contains("panicked"), "{line}: {ended:#?}");
    serde_json::from_str(&ended.stdout).unwrap_or_else(|why| panic!("{line}: {why}: {ended:#?}"))
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// Parts of the time of a call.
const PARTS: [&str; 7] = [
    "library_ps",
    "kernel_ps",
    "nic_ps",
    "network_ps",
    "late_sender_ps",
    "late_receiver_ps",
    "imbalance_ps",
];

/// Classes and account of a report, after a check that all of it adds up.
fn counted(report: &Value) -> (&Value, &Value) {
    let classes = report["breakdowns"].as_array().unwrap();
    for class in classes {
        let steps = class["steps"].as_array().unwrap();
        let sum: u64 = steps.iter().map(|step| number(&step["sum_ps"])).sum();
        assert_eq!(sum, number(&class["sum_ps"]), "{class:#}");
        adds_up(class);
    }
    for slow in report["messages"]["slowest"].as_array().unwrap() {
        adds_up(slow);
    }
    for rank in report["account"].as_array().unwrap() {
        let between = ["computes_ps", "clocks_ps", "sleeps_ps", "sockets_ps"];
        let mut total: u64 = between.iter().filter_map(|part| rank[part].as_u64()).sum();
        for call in rank["calls"].as_array().unwrap() {
            let parts: u64 = PARTS.iter().map(|part| number(&call[part])).sum();
            assert_eq!(parts, number(&call["total_ps"]), "rank {}: {call:#}", rank["rank"]);
            total += parts;
        }
        assert_eq!(total, number(&rank["total_ps"]), "{rank:#}");
    }
    let ended: u64 = classes.iter().map(|class| number(&class["messages"])).sum();
    assert_eq!(ended, number(&report["messages"]["ended"]));
    (&report["messages"], &report["breakdowns"])
}

/// A message's segments add up to its time, to the picosecond.
fn adds_up(message: &Value) {
    let ps = |ns: &Value| (ns.as_f64().unwrap() * 1e3).round() as u64;
    let segments = message["segments"].as_array().unwrap();
    let sum: u64 = segments.iter().map(|segment| ps(&segment["ns"])).sum();
    assert_eq!(sum, ps(&message["total_ns"]), "{message:#}");
}

/// Number of messages of a kind, a protocol and a size.
fn messages(report: &Value, kind: &str, protocol: &str, bytes: u64) -> u64 {
    let classes = report["breakdowns"].as_array().unwrap();
    let is = |class: &&Value| {
        (class["kind"] == kind && class["protocol"] == protocol)
            && class["bytes_least"] == bytes
            && class["bytes_most"] == bytes
    };
    classes.iter().find(is).map_or(0, |class| number(&class["messages"]))
}

#[test]
fn long_messages_after_many_short_ones_are_counted() {
    let report = report("-n 2 tests/cli/mixed.c 2000 30");
    counted(&report);
    let number = |protocol, bytes| messages(&report, "send", protocol, bytes);
    assert_eq!((number("eager", 24), number("eager", 96 << 10)), (2000, 30), "{report:#}");
    assert_eq!(number("header", 0), 2000 / 64);
    let text = ended(command().args(["run", "-n", "2", "tests/cli/mixed.c", "2000", "30"])).stdout;
    for (class, number) in [("24 B", " 2,000 "), ("98,304 B", " 30 ")] {
        let class = format!("  send, eager, {class} ");
        let line = text.lines().find(|line| line.starts_with(&class));
        assert!(line.is_some_and(|line| line.contains(number)), "no '{class}' in\n{text}");
    }
    assert!(text.contains("median of a sample of 256 of 2,000"), "{text}");
}

/// Counts are the same on any number of threads, with streams skipped or not, and with the idle loop skipped
/// or not; and counting changes nothing.
#[test]
fn random_programs_are_counted_to_the_picosecond() {
    are_counted(&COUNTED[..4]);
}

#[test]
#[ignore = "a quarter of a minute: on all machines; make soak"]
fn random_programs_of_all_machines_are_counted_to_the_picosecond() {
    are_counted(&COUNTED);
}

/// Programs, and options with which each is counted again. The first four are one of each kind.
const COUNTED: [(&str, &str); 13] = [
    ("-n 4 tests/soak/random.c 11", "-t 2|--no-merge|--no-park"),
    ("-n 3 tests/soak/portals.c 3", "-t 2|--cold-boot"),
    ("-n 8 --set mpi.eager_limit=600B builtin:traffic 20000 4", "-t 2|--no-merge"),
    ("-n 4 -m alpu tests/soak/random.c 16", "-t 2|--no-park|--no-translate"),
    ("-n 5 --ranks-per-node 2 tests/soak/random.c 12", "-t 2"),
    ("-n 3 --set host.os=linux tests/soak/random.c 13", "-t 2"),
    ("-n 27 builtin:halo 3000 2", "-t 2"),
    ("-n 5 -m ideal tests/soak/random.c 14", "-t 2"),
    ("-n 4 -m example tests/soak/random.c 15", "-t 2"),
    ("-n 4 -m queuepair tests/soak/random.c 19", "-t 2"),
    ("-n 5 -m alpu --ranks-per-node 2 --set nic.alpu=32 tests/soak/random.c 17", "-t 2"),
    ("-n 3 -m alpu --set nic.alpu=off tests/soak/random.c 18", "-t 2"),
    ("-n 6 --fault link.drop=0.02 --until 3ms builtin:alltoall 3000 4", "-t 2"),
];

fn are_counted(programs: &[(&str, &str)]) {
    for (program, others) in programs {
        let first = report(program);
        let all = counted(&first);
        assert!(number(&all.0["ended"]) > 10, "{program}: {}", all.0);
        for option in others.split('|') {
            let other = report(&format!("{option} {program}"));
            assert_eq!(other["trace_hash"], first["trace_hash"], "{option} {program}");
            assert_eq!(counted(&other), all, "{option} {program}");
            assert_eq!(other["account"], first["account"], "{option} {program}");
        }
    }
}

/// Sums of the messages that the network interfaces sent equal the counted legs.
#[test]
fn the_count_is_that_of_the_network_interfaces() {
    for line in ["-n 8 builtin:traffic 20000 4", "-n 2 builtin:pingpong 300000 3"] {
        let report = report(&format!("--set mpi.eager_limit=9000B {line}"));
        let sent = |node: &Value| number(&node["counters"]["tx.messages"]);
        let sent: u64 = report["nodes"].as_array().unwrap().iter().map(sent).sum();
        let legs = |class: &Value| {
            let legs = match class["protocol"].as_str().unwrap() {
                "local" => 0,
                "rendezvous" => 3,
                // With its acknowledgement.
                "long" => 2,
                _ => 1,
            };
            legs * number(&class["messages"])
        };
        let legs: u64 = report["breakdowns"].as_array().unwrap().iter().map(legs).sum();
        assert_eq!(legs, sent, "{line}");
        let unfinished = report["messages"]["unfinished"].as_object().unwrap();
        assert!(unfinished.values().all(|number| *number == 0), "{line}: {unfinished:?}");
    }
}

/// A late receiver has two steps, neither of which is the way back to the process.
#[test]
fn who_comes_late_is_told_from_the_way_back() {
    let report = report("-n 2 -m ideal tests/cli/late.c");
    let class = &report["breakdowns"][0];
    let most = |name: &str| {
        let steps = class["steps"].as_array().unwrap();
        let step = steps.iter().find(|step| step["name"] == name);
        step.unwrap_or_else(|| panic!("no {name} in {class:#}"))["most_ns"].as_f64().unwrap()
    };
    // It sleeps for 2 ms before it looks, and 3 ms more before it receives.
    assert!((1.9e6..2e6).contains(&most("waiting for the process")), "{class:#}");
    assert!((2.9e6..3.1e6).contains(&most("waiting for the receive")), "{class:#}");
    assert!(most("return to the process") < 5e4, "{class:#}");
    // With the one of MPI_Finalize kept from the look to the receive, for 3 ms.
    let rank = &report["account"][1];
    assert_eq!((number(&rank["unexpected"]), number(&rank["unexpected_most"])), (2, 2), "{rank:#}");
    let kept = number(&rank["unexpected_time"]);
    assert!((5_900_000_000..6_100_000_000).contains(&kept), "{rank:#}");
}

fn explain(line: &str) -> String {
    let mut explain = command();
    let ended = ended(explain.arg("explain").args(line.split_whitespace()));
    ended.went_well().stdout.clone() + &ended.stderr
}

/// Slow ranks are found behind those that only wait for one another.
#[test]
fn a_slow_host_is_named_by_account_and_explain() {
    let line = "-n 27 --fault host.slow=4@13 builtin:halo 3000 6";
    let report = report(line);
    counted(&report);
    let mut waits = std::collections::BTreeMap::<u64, u64>::new();
    for rank in report["account"].as_array().unwrap() {
        for call in rank["calls"].as_array().unwrap() {
            for one in call["waits_for"].as_array().unwrap() {
                *waits.entry(number(&one["rank"])).or_default() += number(&one["ps"]);
            }
        }
    }
    let most = waits.iter().max_by_key(|(_, ps)| **ps).unwrap();
    assert_eq!(*most.0, 13, "{waits:?}");
    assert!(2 * most.1 > waits.values().sum::<u64>(), "{waits:?}");
    let text = explain(&format!("--call MPI_Waitall {line}"));
    assert!(text.contains("rank 13 was waited for most"), "{text}");
    assert!(text.contains("waiting for late senders"), "{text}");
    let text = explain(&format!("--rank 13 {line}"));
    assert!(text.contains("the others waited") && text.contains("Rank 13: "), "{text}");
    let text = explain(line);
    assert!(text.contains("for rank 13"), "{text}");
}

/// The rank that came last is reported for each collective operation, not only for all together.
#[test]
fn the_rank_that_came_last_is_named() {
    let line = "-n 8 --fault host.slow=6@5 builtin:allreduce 64 20";
    let report = report(line);
    let of = |name: &str| {
        let all = report["collectives"].as_array().unwrap();
        all.iter().find(|all| all["call"] == name).unwrap_or_else(|| panic!("no {name}: {all:#?}"))
    };
    let all = of("MPI_Allreduce");
    let calls = report["account"].as_array().unwrap().iter().flat_map(|rank| {
        let calls = rank["calls"].as_array().unwrap().iter();
        calls.filter(|call| call["call"] == "MPI_Allreduce").map(|call| number(&call["times"]))
    });
    assert_eq!(8 * number(&all["times"]), calls.sum::<u64>(), "{all:#}");
    let last = all["last"].as_array().unwrap();
    assert_eq!(last[0]["rank"], 5, "{all:#}");
    assert!(number(&last[0]["times"]) > 1, "{all:#}");
    let late: u64 = last.iter().map(|one| number(&one["ps"])).sum();
    assert!(2 * number(&last[0]["ps"]) > late, "{all:#}");
    assert_eq!(last.iter().map(|one| number(&one["times"])).sum::<u64>(), number(&all["times"]));
    assert!(number(&all["spread_ps"]) >= number(&last[0]["ps"]), "{all:#}");
    assert_eq!(of("MPI_Finalize")["times"], 1);
    let text = explain(&format!("--call MPI_Allreduce {line}"));
    let said = format!("{} operations; came last: rank 5 ", number(&all["times"]));
    assert!(text.contains(&said), "no '{said}' in {text}");
    assert!(explain(line).contains("Who came last to collective operations"));
    let other = self::report(&format!("-t 2 {line}"));
    assert_eq!(other["collectives"], report["collectives"]);
}

/// Operations that the network interface performs: the time until the last rank has come is waiting for it,
/// the rest the network interfaces', not the library's.
#[test]
fn collective_operations_of_the_firmware_are_told_from_the_library() {
    let barrier = |options: &str| {
        let line = format!("-m redstorm-accelerated -n 8 --set mpi.barrier=nic {options}");
        let report = report(&format!("{line} builtin:barrier 200"));
        let calls = report["account"][0]["calls"].as_array().unwrap().clone();
        calls.into_iter().find(|call| call["call"] == "MPI_Barrier").unwrap()
    };
    let plain = barrier("");
    let (total, library) = (number(&plain["total_ps"]), number(&plain["library_ps"]));
    assert!(2 * number(&plain["nic_ps"]) > total && 4 * library < total, "{plain:#}");
    assert!(4 * number(&plain["imbalance_ps"]) < total, "{plain:#}");
    let slow = barrier("--fault host.slow=100@5");
    // What the last rank does after its entry is its library's.
    assert!(4 * number(&slow["imbalance_ps"]) > number(&slow["total_ps"]), "{slow:#}");
    assert!(number(&slow["nic_ps"]) <= number(&plain["nic_ps"]), "{slow:#}");
    assert_eq!(slow["waits_for"][0]["rank"], 5, "{slow:#}");
    assert_eq!(barrier("-t 2 --fault host.slow=100@5"), slow);
}

#[test]
fn a_walk_of_many_posted_receives_is_named() {
    let text = explain("--size 24 -n 2 tests/cli/posted.c 400");
    let walk = "walked 400 entries of the posted list, 15 ns each (portals.list_entry)";
    assert!(text.contains(walk), "{text}");
    let step = text.lines().find(|line| line.ends_with("kernel Portals, match")).unwrap();
    assert!(step.contains(" 6.060 us "), "400 times 15 ns, and 60 ns: {step}");
    let report = report("-n 2 tests/cli/posted.c 400");
    let rank = &report["account"][1];
    let of = |key: &str| number(&rank[key]);
    // The last barrier walks all of them, and what catches the unexpected behind.
    assert_eq!((of("posted_most"), of("posted")), (400, 400), "{rank:#}");
    assert!((400..410).contains(&of("entries_most")), "{rank:#}");
    assert!(of("posted_time") > 300 * of("walking_ps"), "{rank:#}");
    // All entries of the list, at `portals.list_entry` each; of the message that took the last, and of what
    // came in the wrong order behind it.
    assert_eq!(of("walking_ps"), 15_000 * of("entries"), "{rank:#}");
    assert!(of("entries") > 400 * 400 / 2, "{rank:#}");
    let text = explain("--rank 1 -n 2 tests/cli/posted.c 400");
    assert!(
        text.contains("up to 400 at a time") && text.contains("1.209 ms in the kernel"),
        "{text}"
    );
}

/// Texts of a run: its summary with everything, what `explain` says of it, and its report.
fn said(machine: &str, line: &str) -> (String, Value) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.json");
    let line = || ["--machine", machine].into_iter().chain(line.split_whitespace());
    let summary = ended(command().args(["run", "--full", "--json"]).arg(&file).args(line()));
    let explained = ended(command().arg("explain").args(line()));
    assert_eq!((summary.code, explained.code), (0, 0), "{machine}: {summary:#?}{explained:#?}");
    let report = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    (summary.stdout + &summary.stderr + &explained.stdout, report)
}

/// Time of all nodes in kernels and interrupts, in nanoseconds, and that of all calls in kernels.
fn kernels_of(report: &Value) -> (f64, u64) {
    let nodes = report["nodes"].as_array().unwrap().iter();
    let kinds = nodes.flat_map(|node| ["kernel", "interrupt"].map(|kind| &node["host_ns"][kind]));
    let ranks = report["account"].as_array().unwrap().iter();
    let calls = ranks.flat_map(|rank| rank["calls"].as_array().unwrap());
    let in_calls = calls.map(|call| number(&call["kernel_ps"])).sum();
    (kinds.filter_map(Value::as_f64).sum(), in_calls)
}

/// Programs for the law of kernels: two for each machine; and for the one without kernels also answers,
/// payload within a node, legs, and a collective operation of the firmware.
fn of_kernels() -> Vec<(String, &'static str)> {
    let mut lines: Vec<(String, &str)> = Vec::new();
    for machine in machines_with_programs() {
        lines.extend(programs(machine.model()).map(|line| (machine.name().into(), line)));
    }
    let more = [
        "-n 2 examples/portals_getadd.c",
        "-n 4 --ppn 2 examples/allreduce.c",
        "-n 2 builtin:pingpong 300000 3",
        "-n 2 --set mpi.barrier=nic builtin:barrier 10",
    ];
    lines.extend(more.map(|line| (ACCELERATED.into(), line)));
    lines
}

const ACCELERATED: &str = "redstorm-accelerated";

/// No kernel is named where no process enters one and no interrupt comes during the program: by no line and
/// no step, and no call has time there. Where kernels work, both say so.
#[test]
fn a_kernel_is_named_where_one_is_entered() {
    let names = |text: &str| text.contains("kernel") || text.contains("interrupt");
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for (machine, line) in of_kernels() {
        let (text, report) = said(&machine, line);
        let (entered, in_calls) = kernels_of(&report);
        let classes = report["breakdowns"].as_array().unwrap().iter();
        let steps = classes.flat_map(|class| class["steps"].as_array().unwrap());
        let steps: Vec<&str> = steps.map(|step| step["name"].as_str().unwrap()).collect();
        let named = steps.iter().any(|step| names(step));
        if entered == 0.0 || machine == *ACCELERATED {
            assert!(!named && in_calls == 0, "{machine}, {line}: {in_calls} ps, {steps:?}");
        }
        if entered == 0.0 {
            let line_of = text.lines().find(|line| names(line));
            assert_eq!(line_of, None, "{machine}, {line}: {text}");
            without.push(machine.clone());
        } else {
            assert!(names(&text), "{machine}, {line}: {text}");
            with.push(machine.clone());
        }
        if machine == *ACCELERATED {
            let own = ["Portals library, send", "Portals library, receive", "event ring"];
            // A program that uses Portals itself enters the kernel to open the interface.
            let told = |own: &str| steps.iter().any(|step| step.ends_with(own));
            assert!(own.into_iter().all(told), "{line}: {steps:?}");
        }
    }
    assert!(with.iter().any(|of| of == "redstorm"), "{with:?}");
    assert_eq!(without.iter().filter(|of| *of == ACCELERATED).count(), 5, "{without:?}");
}

#[test]
fn messages_are_explained_by_name() {
    let slowest = explain("--slowest 2 -n 2 builtin:pingpong 300000 3");
    assert!(slowest.contains("The 2 slowest of "), "{slowest}");
    assert!(slowest.contains("nic.rx_packet = "), "{slowest}");
    let name = slowest.lines().find_map(|line| line.strip_prefix("Message ")).unwrap();
    let name = name.split(' ').next().unwrap();
    let one = explain(&format!("--message {name} -n 2 builtin:pingpong 300000 3"));
    assert!(one.contains(&format!("Message {name} (send, long, 300,000 bytes)")), "{one}");
    let refused = |line: &str, words: &[&str]| {
        let line = format!("explain {line}");
        ended(command().args(line.split_whitespace())).said(2, words);
    };
    refused("--message 7 -n 2 builtin:barrier", &["NODE:NUMBER"]);
    refused("--message 1:99999 -n 2 builtin:barrier", &["message 1:99999 did not come to its end"]);
    refused("--size 77 -n 2 builtin:barrier", &["no message of 77 bytes"]);
    refused("--rank 2 -n 2 builtin:barrier", &["there is no rank 2"]);
    refused("--call MPI_Bcast -n 2 builtin:barrier", &["MPI_Bcast was not called", "MPI_Barrier"]);
}

fn diff(a: &Path, b: &Path) -> String {
    ended(command().arg("diff").args([a, b])).stdout
}

#[test]
fn the_verdict_is_the_programs_time() {
    let folder = tempfile::tempdir().unwrap();
    let kept = |name: &str, line: &str| {
        let file = folder.path().join(name);
        let mut run = command();
        run.args(["run", "-q", "-n", "16", "--json"]).arg(&file).args(line.split_whitespace());
        ended(&mut run).went_well();
        file
    };
    let doubling = kept("a", "--set mpi.allreduce=recursive_doubling builtin:allreduce 64 5");
    let ring = kept("b", "--set mpi.allreduce=ring builtin:allreduce 64 5");
    let text = diff(&doubling, &ring);
    let verdict = text.lines().nth(3).unwrap();
    assert!(verdict.starts_with("B takes ") && verdict.contains(" as long as A: "), "{text}");
    assert!(text.contains("Steps of unlike messages are not compared:"), "{text}");
    assert!(text.contains("only A sent 384 collective, eager, 64 bytes"), "{text}");
    assert!(diff(&ring, &doubling).contains("A takes "), "{text}");
}

/// Ten times as many messages take no more memory.
#[test]
#[ignore = "half a million messages take a minute"]
fn memory_does_not_grow_with_the_messages() {
    let peak = |times: u32| {
        let program = ["builtin:pingpong".into(), "8".to_string(), times.to_string()];
        let mut run = command();
        let run = run.args(["run", "-q", "-n", "2"]).args(program).stdout(Stdio::null());
        // `wait4` below waits for it.
        #[allow(clippy::zombie_processes)]
        let child = run.spawn().unwrap();
        // SAFETY: the child is ours, and the structures live as long as the call.
        let (waited, usage) = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            (libc::wait4(child.id() as i32, &mut 0, 0, &mut usage), usage)
        };
        assert_eq!(waited, child.id() as i32);
        usage.ru_maxrss
    };
    let (few, many) = (peak(25_000), peak(250_000));
    assert!(many < few + few / 50, "{few} KB, then {many} KB");
}
