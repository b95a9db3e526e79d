//! Signals that ask a run to end: to the process or to its group, once or twice, at any moment. The summary
//! so far and complete files are always written, there is no panic, and nothing is left behind, not even
//! processes that ranks have started.

use crate::runner::{command, ended, waited_for, Ended};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

const SIGNALS: [i32; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// Target and number of the signals: as of kill(1), of a terminal's Ctrl-C, of timeout(1), which signals its
/// child and then the group, and of an impatient user.
#[derive(Clone, Copy, Debug)]
enum To {
    Process,
    Group,
    Both,
    GroupTwice,
}

const ALL: [To; 4] = [To::Process, To::Group, To::Both, To::GroupTwice];

impl To {
    fn signal(self, child: &Child, signal: i32) {
        let pid = child.id() as libc::pid_t;
        let targets: &[libc::pid_t] = match self {
            To::Process => &[pid],
            To::Group => &[-pid],
            To::Both => &[pid, -pid],
            To::GroupTwice => &[-pid, -pid],
        };
        for target in targets {
            // SAFETY: kill touches no memory; the child leads its group and has not been waited for.
            unsafe { libc::kill(*target, signal) };
        }
    }
}

/// Folder and program of a run that is interrupted; a variable in their environment identifies its processes.
struct Bench {
    folder: tempfile::TempDir,
    program: PathBuf,
}

const MARK: &str = "SUNSTAR_TEST_MARK";

impl Bench {
    fn new() -> Bench {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("endless");
        ended(command().args(["cc", "-O2", "-o"]).arg(&program).arg("tests/cli/endless.c"))
            .went_well();
        Bench { folder, program }
    }

    fn mark(&self) -> String {
        format!("{MARK}={}", self.folder.path().display())
    }

    fn json(&self) -> PathBuf {
        self.folder.path().join("run.json")
    }

    /// A run in a group of its own.
    fn start(&self, program: &Path, way: &str) -> Child {
        fs::remove_file(self.json()).ok();
        let mut command = command();
        command.args(["run", "-n", "2", "--json"]).arg(self.json()).arg(program).arg(way);
        command.env(MARK, self.folder.path()).env("TMPDIR", self.folder.path()).process_group(0);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Processes of this bench that are still alive.
    fn left(&self) -> Vec<String> {
        let mark = self.mark();
        let ours = |process: &PathBuf| {
            let read = fs::read(process.join("environ")).unwrap_or_default();
            read.split(|byte| *byte == 0).any(|entry| entry == mark.as_bytes())
        };
        let all = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
        all.filter(ours).map(|process| process.display().to_string()).collect()
    }

    /// Checks that no process and no temporary folder of it is left.
    #[track_caller]
    fn is_clean(&self, what: &str, ended: &Ended) {
        assert_eq!(self.left(), [""; 0], "{what}: {ended:#?}");
        let entries = fs::read_dir(self.folder.path()).unwrap().flatten();
        let scratch =
            entries.filter(|entry| entry.file_name().as_encoded_bytes().starts_with(b".sunstar-"));
        assert_eq!(scratch.count(), 0, "{what}: {ended:#?}");
    }
}

/// The rest of what a run prints, once both ranks are ready.
fn once_ready(mut child: Child, then: impl FnOnce(&Child)) -> Ended {
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    for _ in 0..2 {
        line.clear();
        stdout.read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
    }
    then(&child);
    let reader = std::thread::spawn(move || {
        let mut rest = String::new();
        stdout.read_to_string(&mut rest).map(|_| rest)
    });
    let ended = waited_for(child);
    Ended { stdout: reader.join().unwrap().unwrap(), ..ended }
}

#[track_caller]
fn tells_all(bench: &Bench, what: &str, signal: i32, ended: &Ended) {
    assert_eq!(ended.code, 128 + signal, "{what}: {ended:#?}");
    assert_eq!(ended.stderr, "sunstar: interrupted\n", "{what}: {ended:#?}");
    assert_eq!(ended.stdout.matches("Trace hash").count(), 1, "{what}: {ended:#?}");
    let json = fs::read(bench.json()).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(json["exit"]["sentences"][0], "interrupted", "{what}");
    bench.is_clean(what, ended);
}

#[test]
fn runs_end_with_what_is_known_then() {
    let bench = Bench::new();
    let mut signals = SIGNALS.iter().cycle();
    for way in ["stream", "barriers", "deaf", "outside"] {
        for to in ALL {
            let signal = *signals.next().unwrap();
            let what = format!("signal {signal} to {to:?} in {way}");
            let ended =
                once_ready(bench.start(&bench.program, way), |child| to.signal(child, signal));
            println!("{what}: {}", ended.code);
            tells_all(&bench, &what, signal, &ended);
        }
    }
}

/// A run that is interrupted before it has begun prints no summary, and does not wait for a compiler.
#[test]
fn compilers_end_with_their_run() {
    let bench = Bench::new();
    let compiler = bench.folder.path().join("compiler");
    // It says so when it runs, and never ends.
    let script =
        "#!/bin/sh\ntrap '' HUP INT TERM\ntouch \"${0%/*}\"/runs\nwhile :; do sleep 1000; done\n";
    fs::write(&compiler, script).unwrap();
    fs::set_permissions(&compiler, fs::Permissions::from_mode(0o755)).unwrap();
    let source = bench.folder.path().join("program.c");
    fs::write(&source, "").unwrap();
    for (to, signal) in [(To::Process, libc::SIGTERM), (To::Both, libc::SIGINT)] {
        let runs = bench.folder.path().join("runs");
        fs::remove_file(&runs).ok();
        let mut command = command();
        command.args(["run", "-n", "2"]).arg(&source).env("SUNSTAR_CC", &compiler);
        command.env(MARK, bench.folder.path()).env("TMPDIR", bench.folder.path()).process_group(0);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        while !runs.exists() {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        to.signal(&child, signal);
        let ended = waited_for(child);
        ended.said(128 + signal, &["interrupted"]);
        bench.is_clean("compiling", &ended);
    }
}

/// A run that is interrupted at any moment either has printed nothing yet and dies of the signal, or ends as
/// documented.
#[test]
#[ignore = "runs for minutes: make soak"]
fn runs_end_at_any_moment() {
    let bench = Bench::new();
    let seed = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    println!("SEED={seed}");
    let mut random = des::Random::new(seed);
    let mut whole = 0;
    for turn in 0..400 {
        let way = ["stream", "barriers", "deaf", "outside"][random.below(4) as usize];
        let (to, signal) = (ALL[random.below(4) as usize], SIGNALS[random.below(3) as usize]);
        let delay = std::time::Duration::from_micros(random.below(600_000));
        let what = format!("turn {turn}: signal {signal} to {to:?} in {way} after {delay:?}");
        let child = bench.start(&bench.program, way);
        std::thread::sleep(delay);
        to.signal(&child, signal);
        let ended = waited_for(child);
        if ended.code == -signal {
            // It did not hear signals yet.
            assert!(ended.stdout.is_empty() && ended.stderr.is_empty(), "{what}: {ended:#?}");
        } else if ended.stdout.is_empty() {
            // Nothing ran yet.
            ended.said(128 + signal, &["interrupted"]);
        } else {
            tells_all(&bench, &what, signal, &ended);
            whole += 1;
        }
        bench.is_clean(&what, &ended);
    }
    println!("{whole} of 400 with a summary");
    assert!(whole > 0, "no signal came while something ran");
}
