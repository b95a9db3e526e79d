//! `--trace`: the file, read by Perfetto's own types, is consistent with the report and in itself.

use crate::runner::{command, ended, root, sunstar, waited_for, Ended};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::io::Read;
use std::os::{fd::AsRawFd, unix::fs::OpenOptionsExt};
use std::path::Path;
use std::{process::Command, process::Stdio, time::Duration};

mod guests;
mod lanai;
mod offload;
mod queues;
mod rdma;
mod recovery;

/// An event of the file.
#[derive(Clone, Debug)]
struct Event {
    at: u64,
    kind: Kind,
    /// Number of the track, its node, and its name.
    track: u64,
    node: u64,
    place: String,
    name: String,
    /// Flow of a message, and whether it ends here.
    flow: Option<(u64, bool)>,
    notes: BTreeMap<String, String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Begin,
    End,
    Step,
    Value(i64),
}

/// A trace that was read, its events by time and, of the same time, in the order of the file.
struct Trace {
    description: String,
    events: Vec<Event>,
    bytes: Vec<u8>,
    report: Value,
}

/// A slice: its event, end, nesting depth, and time outside of inner slices.
struct Slice<'a> {
    begin: &'a Event,
    end: u64,
    depth: usize,
    own: u64,
}

/// Runs the words of `line` with `--trace`, `--json` and `--functions`, to this exit status.
fn traced(folder: &Path, line: &str, code: i32) -> Trace {
    let [json, file] = ["run.json", "run.pftrace"].map(|name| folder.join(name));
    let (json_name, name) = (json.to_str().unwrap(), file.to_str().unwrap());
    let words = ["run", "--functions", "--json", json_name, "--trace", name];
    let ended = sunstar(words.into_iter().chain(line.split_whitespace()));
    assert_eq!(ended.code, code, "{ended:#?}");
    let report = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    read(&file, report)
}

/// Reads a trace by the types of the Perfetto project.
fn read(file: &Path, report: Value) -> Trace {
    let python = root().join("build/perfetto/bin/python");
    assert!(python.exists(), "{} is missing: scripts/bootstrap test", python.display());
    let ended = ended(Command::new(python).arg(root().join("tests/trace/read.py")).arg(file));
    ended.went_well();
    let (about, rows): (Vec<&str>, Vec<&str>) =
        ended.stdout.lines().partition(|line| line.starts_with("# "));
    let mut events: Vec<Event> = rows.into_iter().map(event).collect();
    events.sort_by_key(|event| event.at);
    let description = about.concat()[2..].to_string();
    Trace { description, events, bytes: std::fs::read(file).unwrap(), report }
}

fn event(row: &str) -> Event {
    let fields: Vec<&str> = row.split('\t').collect();
    let [at, kind, track, path, name, value, flows, ending, notes] = fields[..] else {
        panic!("{row}");
    };
    let (node, place) = path.split_once('/').unwrap();
    let flow = |text: &str, ends| (!text.is_empty()).then(|| (text.parse().unwrap(), ends));
    Event {
        at: at.parse().unwrap(),
        kind: match kind {
            "begin" => Kind::Begin,
            "end" => Kind::End,
            "step" => Kind::Step,
            _ => Kind::Value(value.parse().unwrap()),
        },
        track: track.parse().unwrap(),
        node: node.strip_prefix("node ").unwrap().parse().unwrap(),
        place: place.into(),
        name: name.into(),
        flow: flow(flows, false).or(flow(ending, true)),
        notes: notes
            .split_whitespace()
            .map(|note| note.split_once('=').unwrap())
            .map(|(name, value)| (name.into(), value.into()))
            .collect(),
    }
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// The program is launched 2 ms after switching on.
const LAUNCH: u64 = 2_000_000;

impl Trace {
    /// The slices, after a check that on each track they nest, and all end.
    fn slices(&self) -> Vec<Slice<'_>> {
        let mut open: BTreeMap<u64, Vec<(&Event, u64)>> = BTreeMap::new();
        let mut slices = Vec::new();
        for event in &self.events {
            let stack = open.entry(event.track).or_default();
            match event.kind {
                Kind::Begin => stack.push((event, 0)),
                Kind::End => {
                    let (begin, inner) = stack.pop().expect("a slice that ends has begun");
                    let length = event.at - begin.at;
                    let depth = stack.len();
                    if let Some((_, inner)) = stack.last_mut() {
                        *inner += length;
                    }
                    let own = length.checked_sub(inner).expect("inner slices are no longer");
                    slices.push(Slice { begin, end: event.at, depth, own });
                }
                Kind::Step | Kind::Value(_) => {}
            }
        }
        assert!(open.values().all(Vec::is_empty), "{open:?}");
        slices
    }

    /// Sum of a report's counter over all nodes.
    fn counter(&self, name: &str) -> u64 {
        let nodes = self.report["nodes"].as_array().unwrap();
        nodes.iter().map(|node| number(&node["counters"][name])).sum()
    }

    /// The steps of each message on its way, in order of time.
    fn ways(&self) -> BTreeMap<u64, Vec<&Event>> {
        let mut ways: BTreeMap<u64, Vec<&Event>> = BTreeMap::new();
        for event in &self.events {
            if let Some((flow, _)) = event.flow {
                ways.entry(flow).or_default().push(event);
            }
        }
        ways
    }
}

/// Checks that times are within the run, and that depths change with each record and are 0 at the end.
fn check_times_and_depths(trace: &Trace) {
    let mut depths: BTreeMap<u64, (&Event, i64)> = BTreeMap::new();
    for event in &trace.events {
        assert!(event.at >= LAUNCH, "{event:?}");
        let Kind::Value(value) = event.kind else { continue };
        assert!((0..=4096).contains(&value), "{event:?}");
        let before = depths.insert(event.track, (event, value));
        assert!(before.is_none_or(|(before, same)| before.node == event.node && same != value));
    }
    for (event, value) in depths.values() {
        assert_eq!(*value, 0, "{event:?}");
    }
    // The last rank ends when the report says so, and nothing is told of ranks after that.
    let simulated = trace.report["simulated_ns"].as_f64().unwrap() as u64;
    let of_ranks = trace.events.iter().filter(|event| event.place.starts_with("rank"));
    let last = of_ranks.map(|event| event.at).max().unwrap();
    assert!((LAUNCH + simulated / 2..=LAUNCH + simulated).contains(&last), "{last} {simulated}");
}

/// Checks that functions of the firmware fill the time, and that the work is that of the profile.
fn check_firmware(trace: &Trace, slices: &[Slice]) {
    const CYCLE_NS: u64 = 2;
    let nodes = trace.report["nodes"].as_array().unwrap().len() as u64;
    let firmware = || slices.iter().filter(|slice| slice.begin.place == "NIC/firmware");
    let work = firmware().filter(|slice| slice.begin.name != "idle");
    let work: u64 = work.map(|slice| slice.own).sum();
    let profiled = trace.report["firmware"]["functions"].as_array().unwrap();
    let profiled: u64 = profiled.iter().map(|function| number(&function["cycles"])).sum();
    assert_eq!(work, profiled * CYCLE_NS);
    let all: u64 = firmware().map(|slice| slice.own).sum();
    let cycles = number(&trace.report["firmware"]["cycles"]) * CYCLE_NS;
    // A node may be in the middle of an access at its launch, and is drawn from the end of that on: of one
    // that takes 15 cycles, or of a read of SRAM that takes 34, what is left of it in these runs.
    assert!(all <= cycles && cycles - all <= nodes * 10 * CYCLE_NS, "{all} {cycles}");
    // The report estimates work from turns and what an idle one costs; turns of work poll, too.
    let told = |key: &str| trace.report["firmware"][key].as_f64().unwrap();
    let ratio = work as f64 / (told("cycles_per_message") * told("messages") * CYCLE_NS as f64);
    assert!((1.0..1.5).contains(&ratio), "{ratio}");
    let names: BTreeSet<&str> = firmware().map(|slice| &*slice.begin.name).collect();
    for name in ["idle", "mainloop", "command_take_all", "rx_take_all", "event_post"] {
        assert!(names.contains(name), "{names:?}");
    }
    assert!(firmware()
        .all(|slice| (slice.depth == 0) == ["idle", "mainloop"].contains(&&*slice.begin.name)));
}

/// Checks that the work of the host's cores adds up to the times in each node's report, up to rounding.
fn check_cores(trace: &Trace, slices: &[Slice]) {
    let names = [
        ("user", "user"),
        ("kernel", "kernel"),
        ("interrupt", "interrupt"),
        ("polling", "polling"),
        ("reads the NIC", "mmio_stall"),
        ("waits for a lock", "lock"),
    ];
    for node in trace.report["nodes"].as_array().unwrap() {
        for (name, key) in names {
            let on_core = |slice: &&Slice| {
                let place = &slice.begin.place;
                slice.begin.node == number(&node["nid"])
                    && (place == "processor" || place.starts_with("core "))
            };
            let of_name = slices.iter().filter(on_core).filter(|slice| slice.begin.name == name);
            let (count, sum) = of_name.fold((0, 0), |(n, sum), slice| (n + 1, sum + slice.own));
            let told = node["host_ns"].get(key).map_or(0.0, |told| told.as_f64().unwrap());
            // A duration is wrong by less than a nanosecond, and one cut in pieces by as much for each.
            let off = (sum as f64 - told).abs();
            assert!(off <= 4.0 * f64::from(count) + 1.0, "{name}: {sum} in {count}, {told}");
        }
    }
}

/// Checks the transport by the counters, and that overlapping slices have tracks of their own.
fn check_transport(trace: &Trace, slices: &[Slice]) {
    let messages = |place: &str| {
        let is = |slice: &&Slice| slice.begin.place == place && slice.depth == 0;
        slices.iter().filter(is).count() as u64
    };
    assert_eq!(messages("NIC/TX DMA"), trace.counter("tx.messages"));
    assert_eq!(messages("NIC/RX DMA"), trace.counter("rx.messages"));
    for node in trace.report["nodes"].as_array().unwrap() {
        for link in node["links"].as_array().unwrap() {
            let to = format!(" to node {}", number(&link["to"]));
            let of_link = |slice: &&Slice| {
                let place = &slice.begin.place;
                slice.begin.node == number(&node["nid"])
                    && place.starts_with("router/link")
                    && place.ends_with(&to)
            };
            let of_link: Vec<_> = slices.iter().filter(of_link).collect();
            let sum = |key: &str| -> u64 {
                of_link.iter().map(|slice| slice.begin.notes[key].parse::<u64>().unwrap()).sum()
            };
            assert_eq!(sum("packets"), number(&link["packets"]));
            assert_eq!(sum("bytes"), number(&link["bytes"]));
            let (busy, told) = (sum("busy_ns"), link["busy_ns"].as_f64().unwrap() as u64);
            assert!((busy..=busy + of_link.len() as u64).contains(&told), "{busy} {told}");
            for slice in of_link {
                let busy: u64 = slice.begin.notes["busy_ns"].parse().unwrap();
                let length = slice.end - slice.begin.at;
                assert_eq!(slice.depth, 0);
                assert!(busy <= length + 1 && 2 * busy + 2 >= length, "{:?}", slice.begin);
            }
        }
    }
}

/// Part of the machine in which a step of a message's way is.
fn room(event: &Event) -> &str {
    match &*event.place {
        place if place.starts_with("rank") => "rank",
        place if place == "processor" || place.starts_with("core ") => "kernel",
        place if place.starts_with("router/link to the NIC") => "port",
        place if place.starts_with("router/link") => "link",
        place => place,
    }
}

/// Checks that every message from rank to rank of another node passes all parts of the machine in order.
/// Returns the number of messages.
fn check_ways(trace: &Trace, slices: &[Slice]) -> usize {
    let mut of_ranks = 0;
    for (flow, way) in trace.ways() {
        let (source, serial) = ((flow >> 32) - 1, flow & 0xffff_ffff);
        let id = format!("{source}:{serial}");
        assert!(way.iter().all(|step| step.notes["message"] == id), "{way:?}");
        if room(way[0]) != "rank" {
            continue; // an answer
        }
        if way.iter().all(|step| room(step) == "rank" && step.node == source) {
            continue; // the kernel copies it from one rank of the node to another
        }
        of_ranks += 1;
        let ends: Vec<_> = way.iter().filter(|step| step.flow == Some((flow, true))).collect();
        assert_eq!(ends.len(), 1, "{way:?}");
        let target = ends[0].node;
        // Rooms in the order in which the way comes to each of them for the first time.
        let mut rooms: Vec<(&str, u64)> = Vec::new();
        for step in &way {
            let here = (room(step), step.node);
            if !rooms.contains(&here) {
                rooms.push(here);
            }
        }
        let hops: Vec<_> = rooms.iter().filter(|(room, _)| *room == "link").collect();
        let mut expected = vec![
            ("rank", source),
            ("kernel", source),
            ("NIC/firmware", source),
            ("NIC/TX DMA", source),
        ];
        expected.extend(hops);
        expected.extend([("port", target), ("NIC/RX DMA", target), ("NIC/firmware", target)]);
        expected.extend([("kernel", target), ("rank", target)]);
        assert_eq!(rooms, expected, "{way:#?}");
        // The firmware and the kernel do it when they are at it.
        for step in &way {
            let within = match &*step.name {
                "transmit command written" => ["kernel", "interrupt"],
                "event: header" | "event: received" => ["interrupt"; 2],
                "transmit command" | "takes notification" => ["mainloop"; 2],
                _ => continue,
            };
            let around = |slice: &&Slice| {
                let Slice { begin, end, .. } = slice;
                begin.track == step.track && (begin.at..=*end).contains(&step.at)
            };
            let mut around = slices.iter().filter(around);
            assert!(around.any(|slice| within.contains(&&*slice.begin.name)), "{step:?}");
        }
        // Each link leads to the node of the next.
        let places = way.iter().filter(|step| room(step) == "link");
        let leads: BTreeSet<(u64, &str)> = places.map(|s| (s.node, &*s.place)).collect();
        let mut at = source;
        while at != target {
            let (_, place) = leads.iter().find(|(node, _)| *node == at).expect("a link leads on");
            at = place.rsplit(' ').next().unwrap().parse().unwrap();
        }
        let steps: Vec<&str> = way.iter().map(|step| &*step.name).collect();
        assert!(steps.contains(&"takes notification") && steps.contains(&"event: header"));
    }
    of_ranks
}

fn check(trace: &Trace) -> usize {
    let slices = trace.slices();
    check_times_and_depths(trace);
    queues::check(trace);
    check_firmware(trace, &slices);
    check_cores(trace, &slices);
    check_transport(trace, &slices);
    check_ways(trace, &slices)
}

#[test]
fn a_ping_pong_is_drawn_as_it_happened() {
    let folder = tempfile::tempdir().unwrap();
    // Twenty ways there and back, one each before the clock, two barriers and what ends MPI.
    let trace = traced(folder.path(), "-n 2 builtin:pingpong 8 20", 0);
    let messages = check(&trace);
    assert!((42..60).contains(&messages), "{messages}");
    assert!(trace.description.ends_with("2 ranks, seed 1: builtin:pingpong 8 20"));
    // The calls are those of the program, and a message is sent within the call that sends it.
    for rank in [0, 1] {
        let place = format!("rank {rank}");
        let slices = trace.slices();
        let calls = slices.iter().filter(|slice| slice.begin.place == place);
        let names: Vec<&str> = calls.map(|slice| &*slice.begin.name).collect();
        for (name, count) in [("MPI_Send", 21), ("MPI_Recv", 21), ("MPI_Barrier", 2)] {
            assert_eq!(names.iter().filter(|it| **it == name).count(), count, "{name}");
        }
        assert_eq!(names.last(), Some(&"MPI_Finalize"));
    }
}

#[test]
fn collectives_long_messages_and_several_ranks_a_node_are_drawn() {
    let folder = tempfile::tempdir().unwrap();
    for line in [
        "-n 8 builtin:allreduce 8 3",
        "-n 8 --ranks-per-node 2 builtin:halo 2048 2",
        "-n 2 builtin:exchange 65536 2",
        "-n 4 --set host.os=linux builtin:alltoall 4096 2",
    ] {
        assert!(check(&traced(folder.path(), line, 0)) > 4, "{line}");
    }
}

#[test]
fn calls_of_a_process_are_drawn_whatever_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("put \"ü\\n\".c");
    std::fs::copy(root().join("examples/portals_put.c"), &source).unwrap();
    let file = folder.path().join("run.pftrace");
    let words = ["run", "-n", "2", "--trace", file.to_str().unwrap(), source.to_str().unwrap()];
    sunstar(words).went_well();
    let trace = read(&file, Value::Null);
    assert!(check_ways(&trace, &trace.slices()) > 6);
    // As Python writes what is no plain text.
    assert!(trace.description.ends_with(r#"put "\xfc\\n".c"#), "{}", trace.description);
    let calls = trace.slices();
    let calls = calls.iter().filter(|slice| slice.begin.place.starts_with("rank "));
    let names: BTreeSet<&str> = calls.map(|slice| &*slice.begin.name).collect();
    for name in ["PtlPutRegion", "PtlNIInit", "PtlEQWait", "MPI_Barrier"] {
        assert!(names.contains(name), "{names:?}");
    }
}

#[test]
fn the_file_is_the_same_for_any_number_of_threads_and_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let line = "-n 5 builtin:traffic 4096 2";
    let [one, two, judged] = ["-t 1", "-t 2", "-t 2 --cold-boot"]
        .map(|option| traced(folder.path(), &format!("{option} {line}"), 0));
    assert!(one.bytes == two.bytes && one.bytes == judged.bytes, "{line}");
    let json = folder.path().join("plain.json");
    let words = ["run", "--json", json.to_str().unwrap()];
    sunstar(words.into_iter().chain(line.split_whitespace())).went_well();
    let plain: Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    for key in ["trace_hash", "simulated_ns", "nodes", "breakdown"] {
        assert_eq!(plain[key], one.report[key], "{key} of {line}");
    }
}

#[test]
fn a_run_that_fails_leaves_its_trace() {
    let folder = tempfile::tempdir().unwrap();
    let line = "-n 2 --fault link.drop=0.01 examples/portals_put.c";
    let trace = traced(folder.path(), line, 1);
    assert!(!trace.slices().is_empty());
    assert!(trace.description.ends_with("; --fault link.drop=0.01"), "{}", trace.description);
}

#[test]
fn a_file_that_cannot_be_written_is_told_and_nothing_else_is_lost() {
    for (file, words) in [("/proc/none/x", "cannot write /proc/none/x"), ("-", "--trace")] {
        sunstar(["run", "-n", "2", "--trace", file, "builtin:pingpong"]).said(2, &[words]);
    }
    // A full disk is found out at the end.
    let line = "run -n 2 --trace /dev/full builtin:pingpong";
    let full: Ended = ended(command().args(line.split_whitespace()));
    full.said(1, &["cannot write /dev/full: No space left"]);
    assert!(full.stdout.contains("Trace hash"), "{full:#?}");
}

/// A run that ends before its launch has a trace with nothing on it.
#[test]
fn a_run_that_is_not_launched_has_a_trace() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.pftrace");
    let line = "run -n 2 --fault pool.event_slots=3 builtin:pingpong";
    let mut command = command();
    command.args(line.split(' ').take(1)).arg("--trace").arg(&file).args(line.split(' ').skip(1));
    ended(&mut command).said(1, &["the firmware stopped the node"]);
    assert!(file.metadata().unwrap().len() > 0);
}

/// Processor time that a process has used so far, in ticks of the system's clock (10 ms).
fn ticks(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit_once(')').unwrap().1.split_whitespace().nth(11).unwrap().parse().unwrap()
}

/// The time that the simulator has to end after Ctrl-C does not count while it writes a long trace.
#[test]
fn an_interrupted_run_leaves_its_trace_whole() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut open = OpenOptions::new();
    // Not to wait for the writer.
    let mut reader = open.read(true).custom_flags(libc::O_NONBLOCK).open(&pipe).unwrap();
    let mut run = command();
    run.args(["run", "-n", "2", "--trace"])
        .arg(&pipe)
        .args("builtin:pingpong 8 1000000000".split(' '));
    let mut child = run.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while ticks(child.id()) < 15 {
        assert!(child.try_wait().unwrap().is_none(), "it was over too soon");
        std::thread::sleep(Duration::from_millis(5));
    }
    // SAFETY: kill touches no memory; the child has not been waited for.
    unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGINT) };
    // More than it has without something to write: the pipe is full long before that.
    std::thread::sleep(Duration::from_secs(4));
    // SAFETY: fcntl takes a descriptor that is open and touches no memory.
    unsafe { libc::fcntl(reader.as_raw_fd(), libc::F_SETFL, 0) };
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes).unwrap();
    waited_for(child).said(130, &["interrupted"]);
    let file = folder.path().join("run.pftrace");
    std::fs::write(&file, &bytes).unwrap();
    let trace = read(&file, Value::Null);
    let nodes: BTreeSet<u64> = trace.slices().iter().map(|slice| slice.begin.node).collect();
    assert!(bytes.len() > 1 << 18 && nodes.len() == 2, "{} {nodes:?}", bytes.len());
}
