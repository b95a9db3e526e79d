//! Observers change nothing: for all machines and all observers the messages, the calls and the hash of a run
//! are those of the run that nobody watches. Tables are compared row by row, reports key by key.

use crate::gdb::Waiting;
use crate::runner::{command, compiled, ended, root};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};

/// A way to watch a run. `{}` in its words is a file of its own, `@` the number of a node.
struct Observer {
    name: &'static str,
    words: &'static str,
    /// Machines that have what it watches.
    on: fn(&str) -> bool,
    how: How,
}

/// Needs of an observer beside its options.
#[derive(Clone, Copy, PartialEq)]
enum How {
    /// Nothing: the command alone.
    Alone,
    /// The machine's hardware as RTL, compared with a run that has it as RTL, too.
    Rtl,
    /// A gdb that does this.
    Gdb(&'static [&'static str]),
}

/// Portals, MPI and Directed Point have judges.
const JUDGED: fn(&str) -> bool = |machine| !["amata-bypass", "bell", "ethernet"].contains(&machine);
const ANY: fn(&str) -> bool = |_| true;
const SEASTAR: fn(&str) -> bool = |machine| machine.starts_with("redstorm");
const POWERPC: fn(&str) -> bool = |machine| SEASTAR(machine) || machine.starts_with("alpu");
const LANAI: fn(&str) -> bool = |machine| machine.starts_with("amata");
const PACKETS: fn(&str) -> bool =
    |machine| !["bell", "ethernet", "ideal", "example", "queuepair"].contains(&machine);

const OBSERVERS: &[Observer] = &[
    Observer { name: "judge", words: "--judge", on: JUDGED, how: How::Alone },
    Observer { name: "trace", words: "--trace {}", on: ANY, how: How::Alone },
    Observer { name: "functions", words: "--functions", on: SEASTAR, how: How::Alone },
    Observer { name: "pcap", words: "--pcap {}", on: PACKETS, how: How::Alone },
    Observer {
        name: "monitor",
        words: "--monitor @:tests/cli/looks.mon",
        on: LANAI,
        how: How::Alone,
    },
    Observer {
        name: "console",
        words: "--console switch",
        on: |machine| machine == "forth-switch",
        how: How::Alone,
    },
    Observer {
        name: "waveform",
        words: "--rtl-wave {} --rtl-trigger @:time=1us",
        on: |machine| machine.starts_with("forth"),
        how: How::Rtl,
    },
    Observer { name: "gdb that leaves", words: "--gdb @", on: POWERPC, how: How::Gdb(&["detach"]) },
    Observer {
        name: "gdb that looks",
        words: "--gdb @",
        on: POWERPC,
        how: How::Gdb(&["stepi 7", "info registers pc lr", "monitor time", "continue"]),
    },
];

/// All machines, with the program of their own that is watched: `{seed}` in its words is the seed. Empty:
/// only guests run there.
const PROGRAMS: &[(&str, &str)] = &[
    ("alpu", "tests/soak/random.c {seed}"),
    ("alpu-mesh", "tests/soak/random.c {seed}"),
    ("amata", "builtin:myrinet-pingpong 8 3"),
    ("amata-bypass", ""),
    ("amata-switches", "builtin:myrinet-incast 16 1"),
    ("bell", ""),
    ("ethernet", ""),
    ("example", "tests/soak/random.c {seed}"),
    ("forth", "builtin:rdma-pingpong 24 3"),
    ("forth-switch", "builtin:rdma-incast 4096 3"),
    ("ideal", "tests/soak/random.c {seed}"),
    ("queuepair", "tests/soak/random.c {seed}"),
    ("redstorm", "tests/soak/random.c {seed}"),
    ("redstorm-2006", "tests/soak/random.c {seed}"),
    ("redstorm-accelerated", "tests/soak/random.c {seed}"),
    ("redstorm-linux", "tests/soak/random.c {seed}"),
];

/// The same of machines with Linux guests.
const GUESTS: &[(&str, &str)] = &[
    ("amata", "-n 2 examples/dp_pingpong.c 1"),
    ("amata-bypass", "-n 2 examples/bypass_pingpong.c"),
    ("amata-switches", "-n 2 examples/hello.c"),
    ("bell", "-n 2 true"),
    ("ethernet", "-n 1 --server sleep 1d : -n 1 ping -c 1 node0"),
];

/// Runs that are made for the observers that need nothing beside their options.
#[derive(Clone, Copy, PartialEq)]
enum Runs {
    /// One for all of them; those that watch one node have the last.
    Together,
    /// One for each, and for each node.
    Each,
}

/// A run that is watched.
struct Watched<'a> {
    folder: &'a Path,
    machine: &'a str,
    /// Options and program, the same with each observer.
    line: Vec<String>,
    ranks: u32,
}

/// Machines whose model tells neither of messages nor of calls: reports and hashes are compared.
const WITHOUT_TABLES: [&str; 2] = ["bell", "ethernet"];

impl Watched<'_> {
    fn has_tables(&self) -> bool {
        !WITHOUT_TABLES.contains(&self.machine)
    }

    fn command(&self, run: &str, words: &[String]) -> Command {
        let mut command = command();
        let file = |kind: &str| self.folder.join(format!("{run}.{kind}"));
        command.args(["run", "-q", "-m", self.machine]).arg("--json").arg(file("json"));
        if self.has_tables() {
            command.arg("--messages").arg(file("messages.parquet"));
            command.arg("--calls").arg(file("calls.parquet"));
        }
        command.args(words).args(&self.line);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn report(&self, run: &str) -> Value {
        let file = self.folder.join(format!("{run}.json"));
        let mut report: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        let fields = report.as_object_mut().unwrap();
        // What is no result of the machine.
        for name in ["wall_seconds", "own_work_seconds", "judged"] {
            fields.remove(name);
        }
        // What --functions adds.
        if let Some(firmware) = fields.get_mut("firmware").and_then(Value::as_object_mut) {
            firmware.remove("functions");
        }
        report
    }

    /// Runs unwatched with these options.
    fn plain(&self, run: &str, words: &[String]) {
        ended(&mut self.command(run, words)).went_well();
    }

    /// The words of an observer at a node.
    fn words(&self, observer: &Observer, node: u32) -> Vec<String> {
        let own = self.folder.join(format!("{} {node}.out", observer.name)).display().to_string();
        let word = |word: &str| match word {
            "{}" => own.clone(),
            word => word.replace('@', &node.to_string()),
        };
        observer.words.split_whitespace().map(word).collect()
    }

    /// Runs with an observer at a node, and compares the reports.
    fn watched_by(&self, observer: &Observer, node: u32, plain: &str, rtl: bool) -> String {
        let run = format!("{} {node}", observer.name).replace(' ', "-");
        let mut words = self.words(observer, node);
        words.extend(rtl.then(|| "--rtl".to_owned()));
        let mut command = self.command(&run, &words);
        match observer.how {
            How::Gdb(script) => {
                let waiting = Waiting::on(command);
                let gdb = ended(&mut waiting.gdb(script));
                assert_eq!(gdb.code, 0, "{gdb:#?}");
                waiting.ended().went_well();
            }
            _ => assert_eq!(ended(&mut command).code, 0, "{command:?}"),
        }
        self.assert_same(&run, plain);
        run
    }

    fn assert_same(&self, run: &str, plain: &str) {
        let about = format!("{}, {} ranks, {:?}: {run}", self.machine, self.ranks, self.line);
        crate::gdb::assert_same(&about, &self.report(run), &self.report(plain));
    }

    /// Runs with all of these, which need nothing beside their options, in one run.
    fn watched_by_all(&self, observers: &[&Observer]) -> String {
        let words: Vec<String> = observers.iter().flat_map(|one| self.words(one, 0)).collect();
        let mut command = self.command("together", &words);
        assert_eq!(ended(&mut command).code, 0, "{command:?}");
        self.assert_same("together", "plain");
        "together".to_owned()
    }

    /// All these observers that the machine has, at each node where that matters. The names of those that
    /// watched.
    fn all(&self, by: fn(&Observer) -> bool, runs: Runs) -> Vec<&'static str> {
        self.plain("plain", &[]);
        let all = || OBSERVERS.iter().filter(|one| by(one) && (one.on)(self.machine));
        if all().any(|one| one.how == How::Rtl) {
            self.plain("rtl", &["--rtl".to_owned()]);
        }
        let (mut names, mut made) = (Vec::new(), Vec::new());
        // A run has one monitor, at one node.
        let together = |one: &&Observer| {
            runs == Runs::Together && one.how == How::Alone && !one.words.contains('@')
        };
        let some: Vec<&Observer> = all().filter(together).collect();
        if !some.is_empty() {
            made.push((self.watched_by_all(&some), "plain"));
            names.extend(some.iter().map(|one| one.name));
        }
        for observer in all().filter(|one| !together(one)) {
            let nodes = match runs {
                _ if !observer.words.contains('@') => 0..1,
                Runs::Together => self.ranks - 1..self.ranks,
                Runs::Each => 0..self.ranks,
            };
            let by_rtl = observer.how == How::Rtl;
            let plain = if by_rtl { "rtl" } else { "plain" };
            for node in nodes {
                made.push((self.watched_by(observer, node, plain, by_rtl), plain));
            }
            names.push(observer.name);
        }
        if self.has_tables() {
            self.compare(&made);
        }
        names
    }

    /// Compares all tables, row by row.
    fn compare(&self, runs: &[(String, &str)]) {
        let pairs: Vec<String> = runs.iter().map(|(run, plain)| format!("{run}:{plain}")).collect();
        let mut python = Command::new(root().join("build/tables/bin/python"));
        python.current_dir(self.folder).args(["-c", ROWS, &pairs.join(",")]);
        let told = ended(&mut python).went_well().stdout.clone();
        assert_eq!(told, "", "{}, {} ranks, {:?}", self.machine, self.ranks, self.line);
    }
}

/// Prints each row in which a table of the first run of a pair is not that of the second, of at most five.
const ROWS: &str = r#"
import polars as pl, sys
for pair in sys.argv[1].split(","):
    watched, plain = pair.split(":")
    for kind in ("messages", "calls"):
        one, other = (pl.read_parquet(f"{run}.{kind}.parquet") for run in (watched, plain))
        if one.columns != other.columns or one.height != other.height:
            print(watched, kind, one.shape, other.shape, one.columns, other.columns)
        rows = zip(one.iter_rows(named=True), other.iter_rows(named=True))
        odd = [(at, a, b) for at, (a, b) in enumerate(rows) if a != b]
        for at, a, b in odd[:5]:
            differ = {key: (a[key], b[key]) for key in a if a[key] != b[key]}
            print(watched, kind, "row", at, differ)
        if len(odd) > 5:
            print(watched, kind, len(odd), "of", one.height, "rows differ, 5 are shown")
"#;

/// Watches the program of one machine with these options.
fn watch(
    (machine, program, ranks): (&str, &str, u32),
    options: &str,
    by: fn(&Observer) -> bool,
    runs: Runs,
) -> Vec<&'static str> {
    let folder = tempfile::tempdir().unwrap();
    let count = if program.starts_with("-n ") { String::new() } else { format!("-n {ranks}") };
    let mut words: Vec<String> =
        format!("{options} {count} {program}").split_whitespace().map(String::from).collect();
    if let Some(source) = words.iter_mut().find(|word| word.starts_with("tests/soak/")) {
        *source = compiled(folder.path(), source).display().to_string();
    }
    Watched { folder: folder.path(), machine, line: words, ranks }.all(by, runs)
}

/// Programs of machines that run without guests' kernel.
fn native() -> impl Iterator<Item = (&'static str, &'static str)> {
    PROGRAMS.iter().copied().filter(|(_, program)| !program.is_empty())
}

#[test]
fn observers_change_nothing_on_any_machine() {
    // Each machine of the installation has its program here.
    let all = ended(command().arg("machines")).went_well().stdout.clone();
    let all: BTreeSet<&str> = all
        .lines()
        .filter(|line| line.starts_with(|first: char| first.is_ascii_lowercase()))
        .filter_map(|line| line.split_once("  ").map(|(name, _)| name.trim()))
        .filter(|name| !name.contains(' '))
        .collect();
    let here: BTreeSet<&str> = PROGRAMS.iter().map(|(machine, _)| *machine).collect();
    assert_eq!(all, here);

    let mut names = BTreeSet::new();
    for (machine, program) in native() {
        let program = program.replace("{seed}", "11");
        names.extend(watch((machine, &program, 2), "", |_| true, Runs::Together));
    }
    let every: BTreeSet<&str> = OBSERVERS.iter().map(|observer| observer.name).collect();
    assert_eq!(names, every, "each observer has watched");
}

/// Machines without a program above have guests.
#[test]
#[cfg_attr(not(kernel), ignore = "there is no kernel for guests: sunstar guest --prepare")]
fn observers_change_nothing_of_guests() {
    let here = |machine: &str| GUESTS.iter().any(|(name, _)| *name == machine);
    assert!(PROGRAMS.iter().all(|(machine, program)| !program.is_empty() || here(machine)));
    for (machine, program) in GUESTS {
        let names = watch((machine, program, 2), "", |_| true, Runs::Together);
        assert_eq!(names.contains(&"judge"), JUDGED(machine), "{machine}");
    }
}

/// The same comparisons, each observer by itself: it names the one that changes something.
#[test]
#[cfg_attr(kernel, ignore = "a minute: make soak")]
#[cfg_attr(not(kernel), ignore = "there is no kernel for guests: sunstar guest --prepare")]
fn each_observer_alone_changes_nothing() {
    for (machine, program) in native().chain(GUESTS.iter().copied()) {
        watch((machine, &program.replace("{seed}", "11"), 2), "", |_| true, Runs::Each);
    }
}

/// The firmware with queues on its card, where an end of a window must not matter: found with six ranks.
#[test]
fn a_debugger_changes_no_message_of_six_ranks() {
    let line = ("alpu", "tests/soak/collectives.c 78671 1", 6);
    let by: fn(&Observer) -> bool = |one| one.how == How::Gdb(&["detach"]);
    assert_eq!(watch(line, "--fault host.slow=3@1", by, Runs::Each).len(), 1);
}

/// The same with three to six ranks of random programs and faults.
#[test]
#[ignore = "takes a quarter of an hour"]
fn observers_change_nothing_with_more_ranks() {
    for seed in 0..6 {
        for (machine, program) in native() {
            let ranks = if machine == "forth" { 2 } else { 3 + seed % 4 };
            let faults = ["", "--fault host.slow=3@1", "--seed 7", "-t 2"][seed as usize % 4];
            let program = program.replace("{seed}", &(100 + seed).to_string());
            watch((machine, &program, ranks), faults, |_| true, Runs::Each);
        }
    }
}
