//! One run of a sweep: a `sunstar run` process of its own, so that a fault of the simulator or a lack of
//! memory ends only that run (docs/decisions/0022).

use super::plan::Point;
use super::prepare::Prepared;
use super::record::Record;
use crate::args::SweepOptions;
use crate::child;
use serde_json::{Map, Value};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::Mutex;
use std::time::Instant;

/// Most of a program's output that is kept: the end of it, where results are.
const OUTPUT_MAX: u64 = 1 << 20;

/// The runs that are under way, so that they can be ended.
#[derive(Default)]
pub struct Children(Mutex<Vec<libc::pid_t>>);

impl Children {
    /// Asks all of them to end.
    pub fn end(&self) {
        for pid in self.0.lock().expect("no thread panics with the lock").iter() {
            // SAFETY: kill touches no memory; whoever is in the list has not been waited for.
            unsafe { libc::kill(*pid, libc::SIGTERM) };
        }
    }

    /// Waits for a child, which is in the list as long as its process id is valid.
    fn wait(&self, mut child: Child) -> io::Result<ExitStatus> {
        let pid = child.id() as libc::pid_t;
        self.0.lock().expect("no thread panics with the lock").push(pid);
        loop {
            // SAFETY: waitid fills the siginfo that it is given; all zeros is a valid one.
            let ended = unsafe {
                let mut info: libc::siginfo_t = std::mem::zeroed();
                libc::waitid(libc::P_PID, child.id(), &raw mut info, libc::WEXITED | libc::WNOWAIT)
            };
            if ended == 0 || io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
                break;
            }
        }
        let mut list = self.0.lock().expect("no thread panics with the lock");
        list.retain(|other| *other != pid);
        child.wait()
    }
}

/// Words after `sunstar` that run a point; the run's JSON goes to `report`.
fn words(prepared: &Prepared, options: &SweepOptions, point: &Point, report: &Path) -> Vec<String> {
    let machine = prepared.machine(point);
    let mut words: Vec<String> = ["run", "--quiet", "--json"].map(String::from).into();
    words.push(report.to_string_lossy().into_owned());
    let mut option = |name: &str, value: String| words.extend([name.to_string(), value]);
    option("-n", point.ranks.to_string());
    option("--machine", machine.machine);
    option("--threads", options.threads.to_string());
    option("--seed", point.seed.to_string());
    option("--compute", point.compute.clone());
    for assignment in machine.overrides {
        option("--set", assignment);
    }
    for fault in &point.faults {
        option("--fault", fault.clone());
    }
    if let Some(until) = options.until {
        option("--until", format!("{}ps", until.0));
    }
    words.extend(options.judge.then(|| "--judge".to_string()));
    words.extend(prepared.command(point));
    words
}

/// Runs a point; `slot` distinguishes runs at the same time.
pub fn run(
    prepared: &Prepared,
    options: &SweepOptions,
    point: &Point,
    slot: usize,
    children: &Children,
) -> io::Result<Record> {
    let file = |extension: &str| prepared.folder().join(format!("run-{slot}.{extension}"));
    let (report, output, errors) = (file("json"), file("out"), file("err"));
    // What the last run in this slot left must not be taken for what this one did.
    std::fs::remove_file(&report).ok();
    let mut command = child::command();
    command.args(words(prepared, options, point, &report));
    command.env("SUNSTAR_ROOT", prepared.root()).stdin(Stdio::null());
    command.stdout(File::create(&output)?).stderr(File::create(&errors)?);
    // Ctrl-C is for us; they are told once, by `Children::end`.
    command.process_group(0);
    let started = Instant::now();
    let status = children.wait(command.spawn()?)?;
    let wall_seconds = started.elapsed().as_secs_f64();
    let mut report: Value = std::fs::read(&report)
        .ok()
        .and_then(|text| serde_json::from_slice(&text).ok())
        .unwrap_or_default();
    tidy(&mut report, point);
    let exit = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    let sentence = match exit {
        0 => String::new(),
        _ => sentence(&report, &tail(&errors)?, status),
    };
    Ok(Record {
        identity: Value::Null,
        point: Map::new(),
        exit,
        sentence,
        wall_seconds,
        output: tail(&output)?,
        report,
    })
}

/// Restores in the report what the user wrote where the run got a copy, and removes what all runs have in
/// common.
fn tidy(report: &mut Value, point: &Point) {
    let Some(report) = report.as_object_mut() else { return };
    report.insert("program".into(), point.command[0].clone().into());
    let values = report.get_mut("machine").and_then(|machine| machine.get_mut("values"));
    for value in values.and_then(Value::as_object_mut).into_iter().flat_map(Map::values_mut) {
        if let Some(value) = value.as_object_mut().filter(|v| v["source"] != SET) {
            value.remove("source");
        }
    }
}

/// Source of a parameter that was set.
const SET: &str = "set on the command line";

/// Reason for which a run failed: the first sentence of its report, or its last message.
fn sentence(report: &Value, errors: &str, status: ExitStatus) -> String {
    if let Some(first) = report["exit"]["sentences"][0].as_str() {
        return first.to_string();
    }
    let said = errors.lines().rev().find_map(|line| line.strip_prefix("sunstar: "));
    match (said, status.signal()) {
        (Some(said), _) => said.to_string(),
        (None, Some(signal)) => format!("the simulator was killed by signal {signal}"),
        (None, None) if report.is_null() => {
            let last = errors.lines().rev().find(|line| line.contains("panicked"));
            last.or(errors.lines().last()).unwrap_or("the simulator said nothing").to_string()
        }
        (None, None) => {
            let code = status.code().unwrap_or_default();
            format!("the program ended with status {code}")
        }
    }
}

/// The end of a file.
fn tail(file: &Path) -> io::Result<String> {
    let mut file = File::open(file)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(OUTPUT_MAX)))?;
    let mut bytes = Vec::new();
    file.take(OUTPUT_MAX).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
