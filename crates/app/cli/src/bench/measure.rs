//! Measurements: each run is a `sunstar` process of its own that a user can repeat; several run at a time.

use super::rungs::Rung;
use crate::args::MachineOptions;
use crate::child;
use crate::interrupt;
use crate::report::quoted;
use crate::summary::{grouped, time_of};
use indicatif::{ProgressBar, ProgressStyle};
use machine::console;
use serde::Serialize;
use serde_json::Value;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;
use std::time::{Duration, Instant};
use sunstar::root::Root;
use sunstar::scratch;

/// Memory for a run of two nodes with its ranks, in KiB: several times what it takes.
pub const RUN_KIB: u64 = 256 << 10;

/// A program that is measured.
#[derive(Clone, Debug)]
pub enum Program {
    /// The ping-pong.
    Latency {
        /// Size of the largest message, in bytes.
        largest: u64,
    },
    /// Atomic adds on the other node's host.
    GetAdd,
    /// A message behind a queue of posted receives, of which a part is walked, for several lengths of the
    /// queue.
    Posted {
        /// Size of the message.
        bytes: u64,
        /// Receives ahead of the message's, of all others.
        percent: u64,
        /// Receives in the longest queue.
        longest: u64,
    },
    /// A message behind a queue of unexpected messages, for several lengths of the queue.
    Unexpected {
        /// Size of the message.
        bytes: u64,
        /// Messages in the longest queue.
        longest: u64,
    },
    /// Packets of Directed Point to and fro, so many of each size.
    DirectedPoint {
        /// Round trips.
        trips: u32,
    },
    /// The same with messages of the bypass library.
    Bypass {
        /// Round trips.
        trips: u32,
    },
    /// The same with datagrams of UDP.
    Udp {
        /// Round trips.
        trips: u32,
    },
    /// A workload of the RDMA NIC (`builtin:rdma-NAME`).
    Rdma {
        /// Its name without `rdma-`.
        workload: &'static str,
        /// Size of a message.
        bytes: u64,
        /// Number of messages.
        times: u32,
    },
    /// Reads of the remote disk, or writes (`builtin:disk-read`).
    Disk {
        /// True for writes.
        writes: bool,
        /// Bytes of a request.
        bytes: u64,
        /// Number of requests.
        times: u32,
    },
    /// Any program, whose output is taken as it is; so many ranks, and of these on each node.
    Other {
        /// Its file, relative to the root or absolute.
        file: PathBuf,
        /// Arguments.
        arguments: Vec<String>,
        /// Ranks in all.
        ranks: u32,
        /// Ranks of a node.
        ranks_per_node: u32,
    },
}

impl Program {
    /// The program and its arguments; a file's name is relative to `root`.
    pub fn words(&self, root: &Path) -> Vec<String> {
        let file = |name: &str| root.join("examples").join(name).to_string_lossy().into_owned();
        match self {
            Program::Latency { largest } => vec![file("studies/latency.c"), largest.to_string()],
            Program::GetAdd => vec![file("portals_getadd.c")],
            Program::Posted { bytes, percent, longest } => {
                let numbers = [bytes, percent, longest].map(|number| number.to_string());
                [vec![file("studies/posted.c")], numbers.into()].concat()
            }
            Program::Unexpected { bytes, longest } => {
                let numbers = [bytes, longest].map(|number| number.to_string());
                [vec![file("studies/unexpected.c")], numbers.into()].concat()
            }
            Program::DirectedPoint { trips } => vec![file("dp_pingpong.c"), trips.to_string()],
            Program::Bypass { trips } => vec![file("bypass_pingpong.c"), trips.to_string()],
            Program::Udp { trips } => vec![file("studies/udp_pingpong.c"), trips.to_string()],
            Program::Rdma { workload, bytes, times } => {
                vec![format!("builtin:rdma-{workload}"), bytes.to_string(), times.to_string()]
            }
            Program::Disk { writes, bytes, times } => {
                let name = if *writes { "builtin:disk-write" } else { "builtin:disk-read" };
                vec![name.into(), bytes.to_string(), times.to_string()]
            }
            Program::Other { file, arguments, .. } => {
                let file = root.join(file).to_string_lossy().into_owned();
                [vec![file], arguments.clone()].concat()
            }
        }
    }

    /// Options that give it its ranks: two on two nodes, if it does not want others.
    fn world(&self) -> Vec<String> {
        let Program::Other { ranks, ranks_per_node, .. } = self else {
            return ["-n", "2"].map(String::from).into();
        };
        let mut words = vec!["-n".to_owned(), ranks.to_string()];
        if *ranks_per_node > 1 {
            words.extend(["--ranks-per-node".to_owned(), ranks_per_node.to_string()]);
        }
        words
    }
}

/// One run.
#[derive(Clone, Debug)]
pub struct Job {
    /// Title for the progress bar.
    pub title: String,
    /// Machine name or file.
    pub machine: String,
    /// `key=value` each.
    pub settings: Vec<String>,
    /// Program to run.
    pub program: Program,
    /// True to collect the firmware's trace ring of node 0.
    pub trace: bool,
}

impl Job {
    /// Command line that repeats it in the repository.
    pub fn command(&self) -> String {
        let mut words = vec![if self.trace { "trace" } else { "run" }.to_owned()];
        words.extend(self.program.world());
        words.extend(["--machine", &self.machine].map(String::from));
        words.extend(self.settings.iter().flat_map(|set| ["--set".to_owned(), set.clone()]));
        words.extend(self.program.words(Path::new("")));
        let quoted: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        format!("sunstar {}", quoted.join(" "))
    }
    /// Run of a program with a build of the firmware on the machine that the user chose.
    pub fn of_rung(machine: &MachineOptions, rung: &Rung, program: Program, trace: bool) -> Job {
        Job {
            title: rung.title.to_string(),
            machine: machine.machine.clone(),
            settings: machine.overrides.iter().cloned().chain(rung.settings()).collect(),
            program,
            trace,
        }
    }
}

/// A line of the ping-pong's table.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Point {
    /// Payload in bytes.
    pub bytes: u64,
    /// Half of the round trip, in microseconds.
    pub latency_us: f64,
    /// Payload over latency, 10^6 bytes a second; absent for empty messages.
    #[serde(rename = "mb_per_s")]
    pub rate: Option<f64>,
}

/// A message of the RDMA NIC's workloads.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Message {
    /// Its time, as the workload counts it.
    pub ns: f64,
    /// Payload over time, 2^20 bytes a second.
    pub mib_per_s: f64,
}

/// A line of the benchmarks of queues.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Queued {
    /// Entries in the queue beside the message's own.
    pub length: u64,
    /// Entries of these that are walked.
    pub walked: u64,
    /// Half of the round trip.
    pub ns: f64,
}

/// Difference of `latency` and `full`, in microseconds: both are given to the nanosecond, so the difference
/// is rounded to the nanosecond.
pub fn saving_us(latency: f64, full: f64) -> f64 {
    ((latency - full) * 1e3).round() / 1e3
}

/// Converts a rate in 10^6 bytes a second, which is given to a hundredth, to 10^9 bytes a second.
pub fn gb_per_s(rate: f64) -> f64 {
    (rate * 1e2).round() / 1e5
}

/// Results of a run.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// The ping-pong's table; empty for other programs.
    pub curve: Vec<Point>,
    /// Time of an atomic add, in microseconds; absent for other programs.
    pub add_us: Option<f64>,
    /// A message of the RDMA NIC's workloads; absent for other programs.
    pub message: Option<Message>,
    /// The table of a benchmark of queues; empty for other programs.
    pub queued: Vec<Queued>,
    /// The trace ring's records, oldest first: time from each to the next, in nanoseconds, absent for the
    /// last; empty without tracing.
    pub trace: Vec<Option<f64>>,
    /// Output of the program.
    pub text: String,
    /// JSON report of the run.
    pub report: Value,
}

impl Measured {
    /// Cycles of the firmware for a message sent or received, its idle loop left out.
    pub fn firmware_cycles(&self) -> Option<f64> {
        self.report["firmware"]["cycles_per_message"].as_f64()
    }
}

/// A run that failed: its messages, and its exit status.
#[derive(Clone, Debug)]
pub struct Broken {
    /// Sentences for standard error.
    pub text: String,
    /// Exit status.
    pub code: u8,
}

impl Broken {
    /// Prints the messages; returns the exit status.
    pub fn tell(self) -> u8 {
        console::pass_on(&self.text);
        self.code
    }
}

/// Sums over the finished runs, for the progress bar.
#[derive(Debug, Default)]
struct Told {
    runs: u64,
    simulated_ns: f64,
    messages: u64,
    passed: Duration,
    left: u64,
}

impl Told {
    fn add(&mut self, report: &Value) {
        self.runs += 1;
        self.simulated_ns += report["simulated_ns"].as_f64().unwrap_or(0.0);
        self.messages += report["messages"]["ended"].as_u64().unwrap_or(0);
    }
}

impl std::fmt::Display for Told {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.runs == 0 {
            return Ok(());
        }
        let seconds = self.passed.as_secs_f64();
        let rate = grouped((self.messages as f64 / seconds.max(1e-3)).round() as u64);
        let (time, messages) = (time_of(self.simulated_ns), grouped(self.messages));
        let left = seconds * self.left as f64 / self.runs as f64;
        write!(
            f,
            ": {time} simulated, {messages} messages, {rate} a second, about {left:.0} s left"
        )
    }
}

/// Runs all jobs, `side_by_side` at a time, with a progress bar if standard error is a terminal.
pub fn measure(root: &Root, jobs: &[Job], side_by_side: usize) -> Result<Vec<Measured>, Broken> {
    let begun = Instant::now();
    let bar = ProgressBar::new(jobs.len() as u64);
    let style = ProgressStyle::with_template("{bar:24} {pos}/{len}  {msg}");
    bar.set_style(style.expect("the template is right"));
    let (next, told) = (AtomicUsize::new(0), Mutex::new(Told::default()));
    let results: Mutex<Vec<Option<Result<Measured, Broken>>>> = Mutex::new(vec![None; jobs.len()]);
    let work = || loop {
        let index = next.fetch_add(1, Ordering::Relaxed);
        let Some(job) = jobs.get(index) else { return };
        let told = || told.lock().expect("no thread panics with the lock");
        bar.set_message(format!("{}{}", job.title, told()));
        let result = run(root, job);
        if let Ok(measured) = &result {
            let mut told = told();
            told.add(&measured.report);
            told.passed = begun.elapsed();
            told.left = (jobs.len() as u64).saturating_sub(told.runs);
            bar.set_message(format!("{}{told}", job.title));
        }
        if result.is_err() {
            // Nothing more is begun.
            next.store(jobs.len(), Ordering::Relaxed);
        }
        results.lock().expect("no thread panics with the lock")[index] = Some(result);
        bar.inc(1);
    };
    std::thread::scope(|scope| {
        for _ in 1..side_by_side.min(jobs.len()) {
            // The system may grant fewer threads: then it takes longer.
            if std::thread::Builder::new().spawn_scoped(scope, work).is_err() {
                break;
            }
        }
        work();
    });
    bar.finish_and_clear();
    let mut results = results.into_inner().expect("no thread panics with the lock");
    if let Some(Err(broken)) = results.iter_mut().find_map(|r| r.take_if(|r| r.is_err())) {
        return Err(broken);
    }
    Ok(results.into_iter().map(|r| r.expect("all were run").expect("none broke")).collect())
}

/// Number of runs at a time for which there are processors and memory, if one takes so many KiB.
pub fn side_by_side(run_kib: u64) -> usize {
    let processors = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let memory = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let available = memory.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = available.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    let room = kib.map_or(1, |kib| kib / run_kib).max(1);
    processors.min(usize::try_from(room).unwrap_or(usize::MAX))
}

/// Words after `sunstar` that repeat a job, without those that only suit this command.
fn words(root: &Root, job: &Job) -> Vec<String> {
    let verb: &[&str] = if job.trace { &["trace", "--node", "0"] } else { &["run"] };
    let mut words: Vec<String> = verb.iter().map(ToString::to_string).collect();
    words.extend(job.program.world());
    words.extend(["--machine", &job.machine].map(String::from));
    for setting in &job.settings {
        words.extend(["--set".into(), setting.clone()]);
    }
    words.push("--quiet".into());
    words.extend(job.program.words(root.path()));
    words
}

fn run(root: &Root, job: &Job) -> Result<Measured, Broken> {
    let words = words(root, job);
    let broken = |said: &str, code| Broken {
        text: format!("{said}sunstar: this failed: sunstar {}\n", words.join(" ")),
        code,
    };
    let folder = scratch::folder("").map_err(|why| broken(&format!("sunstar: {why}\n"), 1))?;
    let json = folder.path().join("run.json");
    let mut command = child::command();
    command.args(&words[..1]).arg("--json").arg(&json).args(&words[1..]);
    command.env("SUNSTAR_ROOT", root.path()).stdin(Stdio::null());
    let output = command.output();
    interrupt::go_on();
    let output = output.map_err(|why| broken(&format!("sunstar: {why}\n"), 1))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        let code = output.status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
        return Err(broken(&said, code));
    }
    console::pass_on(&said);
    let json = std::fs::read(&json).unwrap_or_default();
    let text = String::from_utf8_lossy(&output.stdout);
    read(&text, &json, matches!(job.program, Program::Other { .. }))
        .ok_or_else(|| broken("sunstar: a run printed something else than expected\n", 1))
}

/// Parses the output of a run: the program's table or line, the trace records, and the JSON. `None` if there
/// is none of these, and not just any output is wanted.
fn read(text: &str, json: &[u8], any: bool) -> Option<Measured> {
    let report = serde_json::from_slice(json).ok()?;
    let curve: Vec<Point> = text.lines().filter_map(point).collect();
    let add_us = text.lines().find_map(add);
    let message = text.lines().find_map(message);
    let trace = text.lines().filter_map(record).collect();
    let queued: Vec<Queued> = text.lines().filter_map(queued).collect();
    let tells = add_us.is_some() || message.is_some() || !curve.is_empty() || !queued.is_empty();
    let text = text.to_owned();
    (any || tells).then_some(Measured { curve, add_us, message, queued, trace, text, report })
}

/// `        12          4.418         2.72`
fn point(line: &str) -> Option<Point> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [bytes, latency, rate] = words[..] else { return None };
    let (bytes, latency_us) = (bytes.parse().ok()?, latency.parse().ok()?);
    Some(Point { bytes, latency_us, rate: rate.parse().ok() })
}

/// The time in `100 adds, 8.740 us each`.
fn add(line: &str) -> Option<f64> {
    line.split_once(" adds, ")?.1.strip_suffix(" us each")?.parse().ok()
}

/// The numbers in `rank 1: 4096 bytes, a message 6933.4 ns, 563.4 MiB/s`.
fn message(line: &str) -> Option<Message> {
    let (time, rate) = line.strip_suffix(" MiB/s")?.rsplit_once(" ns, ")?;
    let ns = time.split_whitespace().next_back()?.parse().ok()?;
    Some(Message { ns, mib_per_s: rate.parse().ok()? })
}

/// The numbers in `posted 400 walked 320: 0 bytes, 9000.5 ns` or `unexpected 400: 0 bytes, 9000.5 ns`.
fn queued(line: &str) -> Option<Queued> {
    let (queue, rest) = line.strip_suffix(" ns")?.split_once(": ")?;
    let (_, ns) = rest.split_once(" bytes, ")?;
    let words: Vec<&str> = queue.split(' ').collect();
    let (length, walked) = match words[..] {
        ["posted", length, "walked", walked] => (length.parse().ok()?, walked.parse().ok()?),
        // Where none is the message, all are.
        ["unexpected", length] => (length.parse().ok()?, length.parse().ok()?),
        _ => return None,
    };
    Some(Queued { length, walked, ns: ns.parse().ok()? })
}

/// The time in `0015f002: 24: 18fe14c0 mainloop+0014 (110 ns)`; the last record has none.
fn record(line: &str) -> Option<Option<f64>> {
    let (stamp, rest) = line.split_once(": ").filter(|(stamp, _)| stamp.len() == 8)?;
    u32::from_str_radix(stamp, 16).ok()?;
    let (_, time) = rest.strip_suffix(')')?.rsplit_once('(')?;
    Some(time.strip_suffix(" ns").and_then(|time| time.parse().ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_is_taken_apart() {
        let text = "     bytes   latency (us)         MB/s\n\
             \u{20}        0          4.266            -\n\
             \u{20}       12          4.418         2.72\n\
             e4681e8b: 24: 18ff0c4c mainloop+0014 (178 ns)\n\
             e4681ee4: 99: 63ff313c rx_complete+001c (last)\n";
        let measured =
            read(text, br#"{ "firmware": { "cycles_per_message": 532.5 } }"#, false).unwrap();
        let point = |bytes, latency_us, rate| Point { bytes, latency_us, rate };
        assert_eq!(measured.curve, [point(0, 4.266, None), point(12, 4.418, Some(2.72))]);
        assert_eq!(measured.trace, [Some(178.0), None]);
        assert_eq!(measured.firmware_cycles(), Some(532.5));
        assert_eq!(read("100 adds, 8.740 us each\n", b"{}", false).unwrap().add_us, Some(8.74));
        let message =
            read("rank 1: 8 bytes, half of a round trip 1500.5 ns, 5.1 MiB/s\n", b"{}", false);
        let numbers = Message { ns: 1500.5, mib_per_s: 5.1 };
        assert_eq!(message.unwrap().message, Some(numbers));
        let lines = "posted 40 walked 20: 8 bytes, 9000.5 ns\nunexpected 7: 0 bytes, 81.0 ns\n";
        let queued = |length, walked, ns| Queued { length, walked, ns };
        let own = [queued(40, 20, 9000.5), queued(7, 7, 81.0)];
        assert_eq!(read(lines, b"{}", false).unwrap().queued, own);
        assert!(read("nothing\n", b"{}", false).is_none());
        assert!(read("100 adds, 8.740 us each\n", b"", false).is_none());
    }
}
