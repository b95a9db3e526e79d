//! Differences between two runs. The keys are documented in docs/reference/diff.md.

use super::account::{self, CallDifference};
use super::messages::{self, MessageTrace, Unlike};
use super::read::{Firmware, Node, Part, Run};
use crate::summary::{grouped, time_of, NOT_COUNTERS};
use machine::report::is_greatest;
use models::MODELS;
use serde::Serialize;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// All differences between two runs.
#[derive(Debug, Serialize)]
pub struct Diff {
    /// The first run.
    pub a: Side,
    /// The second one.
    pub b: Side,
    /// True if nothing differs but the wall time, number of threads, and names of files.
    pub equal: bool,
    /// Parameters that differ.
    pub parameters: Vec<Parameter>,
    /// Differences of programs, options and endings.
    pub run: Vec<Words>,
    /// Simulated time, in picoseconds: the lower one is that of the faster program.
    pub simulated_ps: Pair,
    /// The same in a sentence.
    pub verdict: String,
    /// Property by which one of them is called slower.
    pub comparable: Comparable,
    /// Messages that came to their end; absent if a run's model does not tell of messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<Pair>,
    /// Cycles in which the firmware did more than poll, on all nodes; absent if a run has no firmware.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub firmware_cycles: Option<Pair>,
    /// Time of all ranks together in each function that differs, the greatest difference first.
    pub account: Vec<CallDifference>,
    /// Time of the messages that both runs sent, class by class; the class with the greatest difference
    /// first.
    pub journeys: Vec<MessageTrace>,
    /// Messages that only one of the runs sent: their steps are compared with nothing.
    pub unlike: Vec<Unlike>,
    /// Time of the hosts' processors by kind, all nodes together, in picoseconds; what differs.
    pub host: Vec<Named>,
    /// Cycles of the firmware's functions, all nodes together; what differs, if both runs have them.
    pub functions: Vec<Named>,
    /// Counters that differ: sums over all nodes, of those that end in `_max` the greatest.
    pub counters: Vec<Counter>,
    /// The machines have network interfaces of different models.
    #[serde(skip)]
    pub other_model: bool,
}

/// Property of two runs by which one of them is called slower.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Comparable {
    /// Their programs have ended well: the times that these took.
    Times,
    /// Both were stopped: the messages that came to their end.
    Messages,
    /// One of them failed, or was stopped alone.
    Nothing,
}

/// One of the runs.
#[derive(Debug, Serialize)]
pub struct Side {
    /// File from which it was read.
    pub file: String,
    /// Program and machine.
    pub title: String,
    /// Hash of all events.
    pub trace_hash: String,
}

/// A parameter that differs; absent where a run has no such parameter.
#[derive(Debug, Serialize)]
pub struct Parameter {
    /// Its key.
    pub key: String,
    /// Value in the first run.
    pub a: Option<String>,
    /// Value in the second run.
    pub b: Option<String>,
    /// Source of the first value, if the run has it.
    pub source_a: Option<String>,
    /// Source of the second value.
    pub source_b: Option<String>,
}

/// Difference in words.
#[derive(Debug, Serialize)]
pub struct Words {
    /// Name.
    pub what: &'static str,
    /// In the first run.
    pub a: String,
    /// In the second run.
    pub b: String,
}

/// A number in both runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Pair {
    /// In the first run.
    pub a: u64,
    /// In the second run.
    pub b: u64,
    /// Second number minus the first.
    pub difference: i64,
}

impl Pair {
    pub(super) fn new(a: u64, b: u64) -> Pair {
        // Runs of ours have no such numbers, files may.
        let most = |by: u64| i64::try_from(by).unwrap_or(i64::MAX);
        let difference = if b >= a { most(b - a) } else { -most(a - b) };
        Pair { a, b, difference }
    }
}

/// A number with a name.
#[derive(Debug, Serialize)]
pub struct Named {
    /// Its name.
    pub name: String,
    /// The number.
    #[serde(flatten)]
    pub pair: Pair,
}

/// A counter that differs.
#[derive(Debug, Serialize)]
pub struct Counter {
    /// Its name and number.
    #[serde(flatten)]
    pub named: Named,
    /// The second over the first; absent if that is 0.
    pub ratio: Option<f64>,
}

impl Diff {
    /// Compares two runs.
    pub fn of(a: &Run, b: &Run) -> Diff {
        let parameters = parameters(a, b);
        let run = words(a, b);
        let simulated_ps = Pair::new(ps(a.simulated_ns), ps(b.simulated_ns));
        let ended = |run: &Run| run.messages.as_ref().map(|all| all.ended);
        let messages = both(a, b, ended);
        let firmware_cycles = both(a, b, |run| run.firmware.as_ref().map(|all| all.busy_cycles));
        let comparable = match (a.exit.code, b.exit.code) {
            (0, 0) => Comparable::Times,
            (TIME_UP, TIME_UP) if messages.is_some() => Comparable::Messages,
            _ => Comparable::Nothing,
        };
        let verdict = match (comparable, messages) {
            (Comparable::Messages, Some(messages)) => verdict_of_stopped(messages, simulated_ps),
            _ => verdict(a, b, simulated_ps),
        };
        let (journeys, unlike) = messages::journeys(a, b);
        let account = account::differences(a, b);
        let sums = |run: &Run| sums(&run.nodes, |node| &node.host_ns, |_, x, y| x + y);
        let in_ps =
            |sums: BTreeMap<String, f64>| sums.into_iter().map(|(k, ns)| (k, ps(ns))).collect();
        let host = differing(named(&in_ps(sums(a)), &in_ps(sums(b))));
        let counters = counters(a, b);
        let equal = parameters.is_empty()
            && run.is_empty()
            && simulated_ps.difference == 0
            && a.trace_hash == b.trace_hash
            && counters.is_empty();
        let functions = functions(a, b);
        let other_model = parameters.iter().any(|parameter| parameter.key == MODEL);
        let (a, b) = (side(a), side(b));
        Diff {
            a,
            b,
            equal,
            parameters,
            run,
            simulated_ps,
            verdict,
            comparable,
            messages,
            firmware_cycles,
            account,
            journeys,
            unlike,
            host,
            functions,
            counters,
            other_model,
        }
    }
}

impl Counter {
    /// True if both runs have counted something.
    pub fn is_in_both(&self) -> bool {
        self.named.pair.a > 0 && self.named.pair.b > 0
    }
}

impl Diff {
    /// Percent by which the second run is slower than the first: of its time, or, if both were stopped, of
    /// its messages. Infinite if one of them failed, or was stopped alone.
    pub fn slower(&self) -> f64 {
        let percent = |by: i64, of: u64| 100.0 * by as f64 / of.max(1) as f64;
        match self.comparable {
            Comparable::Times => percent(self.simulated_ps.difference, self.simulated_ps.a),
            Comparable::Messages => {
                self.messages.map_or(f64::INFINITY, |all| percent(-all.difference, all.a))
            }
            Comparable::Nothing => f64::INFINITY,
        }
    }
}

fn side(run: &Run) -> Side {
    let Run { machine, ranks, program, arguments, .. } = run;
    let words: Vec<&str> = std::iter::once(program).chain(arguments).map(String::as_str).collect();
    let noun = if *ranks == 1 { "rank" } else { "ranks" };
    Side {
        file: run.file.clone(),
        title: format!("{}, {ranks} {noun}, {}", machine.name, words.join(" ")),
        trace_hash: run.trace_hash.clone(),
    }
}

/// Converts nanoseconds of the JSON back to the picoseconds that they were made from.
fn ps(ns: f64) -> u64 {
    (ns * 1e3).round() as u64
}

fn parameters(a: &Run, b: &Run) -> Vec<Parameter> {
    let (a, b) = (&a.machine.values, &b.machine.values);
    let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    let differ = |key: &&String| match (a.get(*key), b.get(*key)) {
        (Some(a), Some(b)) => !same(key, &a.value, &b.value),
        _ => true,
    };
    let parameter = |key: &String| {
        let (a, b) = (a.get(key), b.get(key));
        Parameter {
            key: key.clone(),
            a: a.map(|a| a.value.clone()),
            b: b.map(|b| b.value.clone()),
            source_a: a.and_then(|a| a.source.clone()),
            source_b: b.and_then(|b| b.source.clone()),
        }
    };
    keys.into_iter().filter(differ).map(parameter).collect()
}

/// True for values that mean the same: `1 us` and `1000ns`.
fn same(key: &str, a: &str, b: &str) -> bool {
    let value = |text: &str| MODELS.row(key).and_then(|row| row.parse(text).ok());
    a == b || value(a).is_some_and(|a| value(b) == Some(a))
}

/// Property of a run in words.
type Text = fn(&Run) -> String;

/// All programs of a run, if there are several.
fn parts(run: &Run) -> String {
    let part = |part: &Part| {
        let words = [&*part.program, &format!("({})", part.program_digest)].map(str::to_owned);
        let words = words.iter().chain(&part.arguments).map(String::as_str).collect::<Vec<_>>();
        format!("-n {} {}", part.ranks, words.join(" "))
    };
    run.parts.iter().map(part).collect::<Vec<_>>().join(" : ")
}

/// Differences in words.
fn words(a: &Run, b: &Run) -> Vec<Words> {
    let program = |run: &Run| match &run.program_digest {
        Some(digest) => format!("{} ({digest})", run.program),
        None => run.program.clone(),
    };
    // The same file may be named in several ways.
    let same_program = match (&a.program_digest, &b.program_digest) {
        (Some(a), Some(b)) => a == b,
        _ => a.program == b.program,
    };
    let mut rows: Vec<(&'static str, String, String)> = Vec::new();
    if !same_program {
        rows.push(("program", program(a), program(b)));
    }
    let texts: [(&'static str, Text); 11] = [
        ("parts", parts),
        ("arguments", |run| run.arguments.join(" ")),
        ("machine", |run| run.machine.name.clone()),
        ("ranks", |run| run.ranks.to_string()),
        ("seed", |run| run.seed.to_string()),
        ("compute", |run| run.compute.clone()),
        ("faults", |run| run.machine.faults.join(", ")),
        ("firmware", |run| firmware(run, |firmware| &firmware.options)),
        ("firmware image", |run| firmware(run, |firmware| &firmware.image)),
        ("sunstar", |run| run.sunstar.clone()),
        ("exit", |run| {
            let code = run.exit.code.to_string();
            std::iter::once(code)
                .chain(run.exit.sentences.first().cloned())
                .collect::<Vec<_>>()
                .join(": ")
        }),
    ];
    rows.extend(texts.iter().map(|(what, text)| (*what, text(a), text(b))));
    let words = rows.into_iter().map(|(what, a, b)| Words { what, a, b });
    words.filter(|words| words.a != words.b).collect()
}

fn firmware(run: &Run, text: fn(&Firmware) -> &String) -> String {
    run.firmware.as_ref().map_or_else(|| "none".into(), |firmware| text(firmware).clone())
}

/// A number that both runs have.
fn both(a: &Run, b: &Run, of: impl Fn(&Run) -> Option<u64>) -> Option<Pair> {
    Some(Pair::new(of(a)?, of(b)?))
}

/// Parameter that names the model of a machine's network interfaces.
const MODEL: &str = "nic.model";

/// Exit status of a run that `--until` has stopped.
const TIME_UP: i32 = 124;

/// Sentence about two runs that were stopped: what they did in their time.
fn verdict_of_stopped(ended: Pair, simulated: Pair) -> String {
    let time = |ps: u64| time_of(ps as f64 / 1e3);
    let at = match simulated.difference {
        0 => format!("Both were stopped (--until) at {}", time(simulated.a)),
        _ => {
            format!("A was stopped (--until) at {}, B at {}", time(simulated.a), time(simulated.b))
        }
    };
    let (in_a, in_b) = (grouped(ended.a), grouped(ended.b));
    let share = 100.0 * ended.difference as f64 / ended.a.max(1) as f64;
    format!("{at}: {in_a} messages had come to their end in A, {in_b} in B ({share:+.2} %).")
}

/// Sentence that says which program takes longer.
fn verdict(a: &Run, b: &Run, Pair { a: in_a, b: in_b, .. }: Pair) -> String {
    let time = |ps: u64| time_of(ps as f64 / 1e3);
    let times = |slow: u64, quick: u64| slow as f64 / quick.max(1) as f64;
    let longer = |name: &str, slow: u64, other: &str, quick: u64| {
        let (ratio, took) = (times(slow, quick), format!("{}, not {}", time(slow), time(quick)));
        match ratio {
            _ if ratio >= 2.0 => {
                format!("{name} takes {ratio:.2} times as long as {other}: {took}")
            }
            _ => {
                let percent = 100.0 * (ratio - 1.0);
                format!("{name} takes {percent:.2} % longer than {other}: {took}")
            }
        }
    };
    let mut sentence = match in_a.cmp(&in_b) {
        Ordering::Equal => format!("Both programs take {}", time(in_a)),
        Ordering::Less => longer("B", in_b, "A", in_a),
        Ordering::Greater => longer("A", in_a, "B", in_b),
    };
    for (name, run) in [("A", a), ("B", b)] {
        if run.exit.code != 0 {
            sentence += &format!("; {name} ended with status {}", run.exit.code);
        }
    }
    sentence + "."
}

fn functions(a: &Run, b: &Run) -> Vec<Named> {
    let cycles = |run: &Run| {
        let functions = run.firmware.as_ref()?.functions.as_ref()?;
        Some(summed(functions.iter().map(|one| (one.function.clone(), one.cycles))))
    };
    match (cycles(a), cycles(b)) {
        (Some(a), Some(b)) => differing(named(&a, &b)),
        _ => Vec::new(),
    }
}

fn counters(a: &Run, b: &Run) -> Vec<Counter> {
    let of = |run: &Run| {
        let fold = |name: &str, x: u64, y: u64| match is_greatest(name) {
            true => x.max(y),
            false => x.saturating_add(y),
        };
        let mut sums = sums(&run.nodes, |node| &node.counters, fold);
        sums.retain(|name, _| !NOT_COUNTERS.contains(&name.as_str()));
        sums
    };
    let counter = |named: Named| {
        let Pair { a, b, .. } = named.pair;
        Counter { ratio: (a > 0).then(|| b as f64 / a as f64), named }
    };
    let mut counters: Vec<Counter> =
        differing(named(&of(a), &of(b))).into_iter().map(counter).collect();
    // What is there in one run only comes first, then what is most times as much or as little.
    let factor = |counter: &Counter| match counter.ratio {
        Some(ratio) if ratio > 0.0 => ratio.max(1.0 / ratio),
        _ => f64::INFINITY,
    };
    counters.sort_by(|x, y| factor(y).total_cmp(&factor(x)));
    counters
}

/// Adds up numbers of the same name.
pub(super) fn summed(numbers: impl Iterator<Item = (String, u64)>) -> BTreeMap<String, u64> {
    let mut sums: BTreeMap<String, u64> = BTreeMap::new();
    for (name, number) in numbers {
        let sum = sums.entry(name).or_default();
        *sum = sum.saturating_add(number);
    }
    sums
}

/// Adds up a table of all nodes.
fn sums<T: Copy>(
    nodes: &[Node],
    table: impl Fn(&Node) -> &BTreeMap<String, T>,
    fold: impl Fn(&str, T, T) -> T,
) -> BTreeMap<String, T> {
    let mut sums: BTreeMap<String, T> = BTreeMap::new();
    for (name, value) in nodes.iter().flat_map(table) {
        let sum = sums.get(name).map_or(*value, |sum| fold(name, *sum, *value));
        sums.insert(name.clone(), sum);
    }
    sums
}

/// The numbers of two tables beside one another; a number that one of them does not have is 0.
fn named(a: &BTreeMap<String, u64>, b: &BTreeMap<String, u64>) -> Vec<Named> {
    let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    let of = |table: &BTreeMap<String, u64>, name| table.get(name).copied().unwrap_or(0);
    let pair =
        |name| Named { name: String::clone(name), pair: Pair::new(of(a, name), of(b, name)) };
    names.into_iter().map(pair).collect()
}

/// Numbers that differ, those first that differ most.
fn differing(mut all: Vec<Named>) -> Vec<Named> {
    all.retain(|named| named.pair.difference != 0);
    all.sort_by_key(|named| std::cmp::Reverse(named.pair.difference.unsigned_abs()));
    all
}
