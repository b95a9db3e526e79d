//! A run by its command line, and its row of a table.

use crate::disk;
use crate::runner::{self, command, compiled_by_gcc, ended, root, Ended};
use crate::soak::quoted;
use machine::models;
use machine::parameters::Parameters;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Mutex;
use tempfile::TempDir;

/// Names of the columns.
pub const COLUMNS: [&str; 9] =
    ["hash", "image", "status", "ns", "exit", "counters", "steps", "account", "output"];

/// Keys of the report that are digested in a column each.
const DIGESTS: [&[&str]; 4] = [
    &["exit"],
    &["nodes", "firmware", "switches"],
    &["messages", "breakdown", "breakdowns"],
    &["account", "collectives"],
];

/// The first half of a digest: two results that differ are alike by chance in one of 4e9 cases.
pub fn short(bytes: &[u8]) -> String {
    machine::digest(bytes)[..8].to_string()
}

/// A folder for files, and programs there that are compiled once, by their sources.
pub struct Place {
    pub folder: TempDir,
    compiled: Mutex<HashMap<String, PathBuf>>,
}

/// Requests for a remote disk, in that folder.
const LOG: &str = "requests";

/// A machine, and the rows of its runs by their words.
pub struct Bench<'a> {
    pub machine: Parameters,
    pub place: &'a Place,
    rows: Mutex<HashMap<String, Row>>,
    /// Counters, each with whether one of a row was not 0.
    counted: Mutex<BTreeMap<String, bool>>,
}

/// Results of a run, or why it has none.
#[derive(Clone, PartialEq, Eq)]
pub struct Row(pub Result<[String; COLUMNS.len()], String>);

impl Place {
    pub fn new() -> Place {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(LOG), disk::log().0).unwrap();
        Place { folder, compiled: Mutex::default() }
    }

    fn compiled(&self, source: &str, verbs: bool) -> PathBuf {
        let mut compiled = self.compiled.lock().unwrap();
        let place = compiled.entry(source.to_string()).or_insert_with(|| match verbs {
            true => compiled_by_gcc(self.folder.path(), &[source]),
            false => runner::compiled(self.folder.path(), source),
        });
        place.clone()
    }
}

impl<'a> Bench<'a> {
    pub fn new(machine: Parameters, place: &'a Place) -> Bench<'a> {
        Bench { machine, place, rows: Mutex::default(), counted: Mutex::default() }
    }

    /// The machine with the settings of a run, if it takes them, its ranks and its faults.
    pub fn suited(&self, words: &str) -> Option<Parameters> {
        let (mut machine, mut faults, mut ranks) = (self.machine.clone(), Vec::new(), 1);
        let words: Vec<&str> = words.split(' ').collect();
        for pair in words.windows(2) {
            match pair[0] {
                "-n" => ranks = pair[1].parse().unwrap(),
                "--set" => machine.set(pair[1]).ok()?,
                "--ranks-per-node" => {
                    machine.set(&format!("host.ranks_per_node={}", pair[1])).ok()?;
                }
                "--fault" => faults.push(pair[1].to_string()),
                _ => {}
            }
        }
        models::check(&machine, ranks, &faults, 1).ok().map(|()| machine)
    }

    /// The row of a run.
    pub fn row(&self, words: &str) -> Row {
        if let Some(row) = self.rows.lock().unwrap().get(words) {
            return row.clone();
        }
        let row = self.make(&words.split(' ').map(String::from).collect::<Vec<_>>());
        self.rows.lock().unwrap().insert(words.to_string(), row.clone());
        row
    }

    /// Runs the command and reads its report.
    pub fn make(&self, words: &[String]) -> Row {
        let folder = tempfile::tempdir_in(&self.place.folder).unwrap();
        let json = folder.path().join("run.json");
        let run = self.run(&["--json", json.to_str().unwrap()], words);
        let Ok(bytes) = std::fs::read(&json) else {
            let said = run.stderr.trim().replace('\n', " ");
            return Row(Err(match run.code {
                2 => format!("refused: {said}"),
                code => format!("ended with {code} and without a report: {said:.200}"),
            }));
        };
        let report: Value = serde_json::from_slice(&bytes).unwrap();
        self.count(&report);
        let text = |key: &str| report[key].as_str().unwrap().to_string();
        let digests = DIGESTS.map(|keys| {
            let parts: Vec<_> = keys.iter().map(|key| report[key].to_string()).collect();
            short(parts.join("\n").as_bytes())
        });
        // Ranks print side by side.
        let mut lines: Vec<&str> = run.stdout.lines().collect();
        lines.sort_unstable();
        let [exit, counters, steps, account] = digests;
        Row(Ok([
            text("trace_hash"),
            self.image(&report, &words.join(" ")),
            report["exit"]["code"].to_string(),
            report["simulated_ns"].to_string(),
            exit,
            counters,
            steps,
            account,
            short(lines.join("\n").as_bytes()),
        ]))
    }

    /// Notes which counters have counted.
    fn count(&self, report: &Value) {
        let parts = ["nodes", "switches"].into_iter().filter_map(|key| report[key].as_array());
        let mut counted = self.counted.lock().unwrap();
        for part in parts.flatten() {
            for (name, number) in part["counters"].as_object().into_iter().flatten() {
                *counted.entry(name.clone()).or_default() |= number.as_u64() != Some(0);
            }
        }
    }

    /// A line of the counters that are 0 in all rows: what they count no row has seen.
    pub fn never_counted(&self) -> String {
        let counted = self.counted.lock().unwrap();
        let never = counted.iter().filter(|(_, counted)| !**counted);
        let names: Vec<&str> = never.map(|(name, _)| &**name).collect();
        format!("counters that are 0 in all rows: {}", names.join(" "))
    }

    /// The command with options and words; sources among them are compiled once.
    pub fn run(&self, options: &[&str], words: &[String]) -> Ended {
        let mut command = command();
        command.args(["run", "-q", "-m"]).arg(self.machine.file()).args(options);
        for word in words {
            match word.ends_with(".c") && !self.machine.model().guests {
                true => command.arg(self.place.compiled(word, self.machine.model().verbs)),
                false => command.arg(word),
            };
        }
        // What the disk is asked comes by standard input.
        if words.iter().any(|word| ["builtin:disk", "builtin:disk-tails"].contains(&&**word)) {
            let log = self.place.folder.path().join(LOG);
            command.stdin(Stdio::from(std::fs::File::open(log).unwrap()));
        }
        ended(&mut command)
    }

    /// Digest of the firmware that the network interfaces have executed.
    fn image(&self, report: &Value, words: &str) -> String {
        if let Some(image) = report["firmware"]["image"].as_str() {
            return image.to_string();
        }
        let machine = self.suited(words).unwrap_or_else(|| self.machine.clone());
        let Some((firmware, built)) =
            machine.model().firmware.and_then(|firmware| Some((firmware, firmware.built?)))
        else {
            return "-".repeat(16);
        };
        let folder = root().join("build/firmware").join(built(&machine));
        let images = firmware.images.iter().filter(|name| !name.ends_with(".elf"));
        let bytes = images.map(|name| std::fs::read(folder.join(name)).unwrap());
        machine::digest(&bytes.collect::<Vec<_>>().concat())
    }
}

impl Row {
    /// Its line in the table, before these words.
    pub fn line(&self, words: &str) -> String {
        match &self.0 {
            Ok([hash, image, status, ns, rest @ ..]) => {
                format!("{hash} {image} {status:>3} {ns:>14} {}  {words}", rest.join(" "))
            }
            Err(said) => format!("{said}  {words}"),
        }
    }
}

/// Words as a shell takes them.
pub fn joined(words: &[String]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}
