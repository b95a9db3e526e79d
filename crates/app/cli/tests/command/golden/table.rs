//! Tables of rows that are made side by side, and what is said about rows that have changed.

use super::row::COLUMNS;
use crate::runner::root;
use std::collections::{BTreeSet, HashMap};
use std::panic::catch_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;

/// Threads on which rows are made.
const THREADS: usize = 2;
/// Changed rows of a machine that are described.
const DESCRIBED: usize = 12;

/// The first line of each table.
pub const HEAD: &str = "hash, firmware image, status, simulated ns, digests of exit, counters, \
                        message steps, calls and output; options and program";

/// The lines of a row.
pub type Job<'a> = Box<dyn Fn() -> Vec<String> + Send + Sync + 'a>;

/// The lines of all rows, in order.
pub fn lines(jobs: &[Job]) -> Vec<String> {
    let (next, made) = (AtomicUsize::new(0), Mutex::new(vec![Vec::new(); jobs.len()]));
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while let Some((at, job)) = Some(next.fetch_add(1, Ordering::Relaxed))
                    .and_then(|at| Some((at, jobs.get(at)?)))
                {
                    let lines = job();
                    made.lock().unwrap()[at] = lines;
                }
            });
        }
    });
    made.into_inner().unwrap().concat()
}

/// Share of the rows that a test makes.
#[derive(Clone, Copy, PartialEq)]
pub enum Share {
    /// Every one: the long ring, and whoever writes tables anew.
    All,
    /// One of so many; another of each machine's, so that each program is run on one machine at least.
    OneOf(usize),
}

impl Share {
    /// The jobs of the machine with this number.
    pub fn of<T>(self, machine: usize, jobs: Vec<T>) -> Vec<T> {
        match self {
            Share::All => jobs,
            Share::OneOf(all) => jobs.into_iter().skip(machine % all).step_by(all).collect(),
        }
    }
}

/// The table of a machine in `tests/golden/FOLDER`, as it was reviewed; empty if there is none.
pub fn reviewed(folder: &str, machine: &str) -> String {
    let file = root().join("tests/golden").join(folder).join(format!("{machine}.snap"));
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.splitn(3, "---\n").nth(2).unwrap_or_default().to_string()
}

/// Tables in a folder beside those that were held: of machines that are not there, or that have no rows any
/// more.
pub fn strays(folder: &str, held: &BTreeSet<String>) -> Vec<String> {
    let files = std::fs::read_dir(root().join("tests/golden").join(folder)).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let names = names.filter_map(|name| name.strip_suffix(".snap").map(String::from));
    let stray = names.filter(|name| !held.contains(name));
    stray.map(|name| format!("tests/golden/{folder}/{name}.snap: nothing has these rows")).collect()
}

/// A machine's table is another than the reviewed one, or has other rows.
#[derive(Debug, thiserror::Error)]
#[error("machine {machine}:\n{rows}")]
pub struct Changed {
    machine: String,
    /// Description of the rows that differ.
    rows: String,
}

impl Changed {
    fn between(machine: &str, before: &str, table: &str) -> Changed {
        Changed { machine: machine.to_owned(), rows: differences(machine, before, table) }
    }
}

/// Compares a machine's table with the reviewed one.
pub fn hold(folder: &str, machine: &str, table: &str) -> Result<(), Changed> {
    let before = reviewed(folder, machine);
    let held = catch_unwind(|| {
        insta::with_settings!({
            snapshot_path => root().join("tests/golden").join(folder),
            prepend_module_to_snapshot => false,
            omit_expression => true,
        }, {
            insta::assert_snapshot!(machine, table);
        });
    });
    held.map_err(|_| Changed::between(machine, &before, table))
}

/// Looks for each of some rows in a machine's table.
pub fn hold_some(folder: &str, machine: &str, rows: &[String]) -> Result<(), Changed> {
    let before = reviewed(folder, machine);
    let there: BTreeSet<&str> = before.lines().collect();
    let mut others = rows.iter().filter(|row| !there.contains(&***row)).peekable();
    if others.peek().is_none() {
        return Ok(());
    }
    Err(Changed::between(machine, &before, &rows.join("\n")))
}

/// The words of a line, behind its columns.
pub fn words(line: &str) -> &str {
    line.find("  -").map_or(line, |at| &line[at + 2..])
}

/// Each changed row: the columns that differ, and the command that prints its whole report.
fn differences(machine: &str, before: &str, table: &str) -> String {
    let old: HashMap<&str, &str> = before.lines().map(|line| (words(line), line)).collect();
    let changed = |line: &&str| old.get(words(line)) != Some(line);
    let changed: Vec<&str> = table.lines().filter(changed).collect();
    let runs = changed.iter().filter(|line| words(line).starts_with('-'));
    let described = runs.take(DESCRIBED).map(|line| {
        let columns = old.get(words(line)).map_or("new or another run".to_string(), |before| {
            let pairs = before.split_whitespace().zip(line.split_whitespace());
            let pairs = pairs.zip(COLUMNS).filter(|((old, new), _)| old != new);
            pairs.map(|(_, column)| column).collect::<Vec<_>>().join(", ")
        });
        let verbs = ["tests/verbs/", "examples/rdma/"].iter().any(|of| line.contains(of));
        let built = if verbs { " (built by gcc -O1 -Iinclude SOURCE -libverbs)" } else { "" };
        format!("  {columns}: sunstar run --full --json - -m {machine} {}{built}", words(line))
    });
    let described: Vec<String> = described.collect();
    format!("{} lines have changed\n{}", changed.len(), described.join("\n"))
}
