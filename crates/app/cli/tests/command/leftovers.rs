//! Signals that ask for the end, at any moment, of each command: nothing is left in the folders for temporary
//! files, and no process.
//!
//! `interrupted.rs` tests what a run says then.

use crate::runner::{command, ended, waited_for};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// Call of a command that takes some time: `%` stands for the bench's folder.
struct Call {
    verb: &'static str,
    words: &'static str,
    /// Wall time within which signals come, in ms.
    span: u64,
}

const fn call(verb: &'static str, span: u64, words: &'static str) -> Call {
    Call { verb, words, span }
}

/// Each command; some more than once.
const CALLS: &[Call] = &[
    call("run", 500, "-q -n 2 %/endless stream"),
    call("run", 900, "-q -m amata -n 2 sh -c while:;do/bin/true;done"),
    call("run", 600, "-q -n 2 tests/cli/endless.c barriers"),
    call("guest", 700, "sh -c while:;do/bin/true;done"),
    call("guest", 900, "-m ethernet 0 sh -c while:;do/bin/true;done"),
    call("cc", 300, "-O2 -c tests/soak/types.c -o %/types.o"),
    call("cxx", 600, "-O2 -c %/slow.cc -o %/slow.o"),
    call("fc", 600, "-O2 -c %/slow.f90 -o %/slow-f.o"),
    call("trace", 500, "-n 2 %/endless stream"),
    call("profile", 500, "-n 2 %/endless stream"),
    call("explain", 500, "-n 2 %/endless stream"),
    call("queues", 500, "-m alpu -n 2 %/endless stream"),
    call("queues", 900, "-q -m alpu -n 2 builtin:alltoall 100 50"),
    call("report", 500, "%/page.html -n 2 %/endless stream"),
    call("report", 900, "%/page.html --largest 4096"),
    call("sweep", 900, "-o %/table.csv -n 2 --vary seed=1..40 examples/pingpong.c 100000"),
    call("diff", 20, "%/one.json %/one.json"),
    call("fw", 100, "-m redstorm"),
    call("fw", 60, "--copy %/copied"),
    call("lanai-link", 20, "--map abi/myrinet/memory.toml -o %/linked.elf %/no.o"),
    call("doctor", 600, ""),
    call("bench", 900, "latency --largest 4096"),
    call("bench", 900, "ladder"),
    call("validate", 1500, ""),
    call("machines", 20, "redstorm"),
    call("faults", 10, ""),
    call("nic", 300, "link"),
    call("disk", 500, "--socket %/disk.socket"),
    call("completions", 20, "bash"),
    call("manual", 60, "%/manual"),
];

const SIGNALS: [i32; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];
const MARK: &str = "SUNSTAR_TEST_MARK";
/// Time that what ends has to be gone.
const PATIENCE: Duration = Duration::from_secs(5);

/// Programs, sources and inputs of all calls, and an empty folder for temporary files.
struct Bench {
    folder: tempfile::TempDir,
}

impl Bench {
    fn new() -> Bench {
        let bench = Bench { folder: tempfile::tempdir().unwrap() };
        let at = |name: &str| bench.folder.path().join(name);
        for name in ["temporary", "manual"] {
            fs::create_dir(at(name)).unwrap();
        }
        ended(command().args(["cc", "-O2", "tests/cli/endless.c", "-o"]).arg(at("endless")))
            .went_well();
        let mut run = command();
        run.args(["run", "-q", "-n", "2", "--json"]).arg(at("one.json"));
        ended(run.args(["builtin:pingpong", "8", "2"])).went_well();
        fs::write(at("slow.cc"), "#include <regex>\nstd::regex slow(\"a*\");\n").unwrap();
        let lines: String = (0..600)
            .map(|i| format!("subroutine s{i}(a)\nreal a(9,9)\na=matmul(a,a)\nend\n"))
            .collect();
        fs::write(at("slow.f90"), lines).unwrap();
        bench
    }

    fn temporary(&self) -> PathBuf {
        self.folder.path().join("temporary")
    }

    fn start(&self, call: &Call) -> Child {
        let here = self.folder.path().to_str().unwrap();
        let mut command = command();
        // A word of a shell's, whose blanks are the words' own.
        let word = |word: &str| match word {
            "while:;do/bin/true;done" => "while :; do /bin/true; done".to_owned(),
            word => word.replace('%', here),
        };
        command.arg(call.verb).args(call.words.split_whitespace().map(word));
        command.env(MARK, here).env("TMPDIR", self.temporary()).process_group(0);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Calls, signals, waits; fails if something is left. True if the signal came in time.
    fn interrupt(&self, call: &Call, signal: i32, group: bool, delay: Duration) -> bool {
        let what = format!("{} {}, signal {signal} after {delay:?}", call.verb, call.words);
        let child = self.start(call);
        std::thread::sleep(delay);
        let pid = child.id() as libc::pid_t;
        // SAFETY: kill touches no memory; the child leads its group and has not been waited for.
        unsafe { libc::kill(if group { -pid } else { pid }, signal) };
        let ended = waited_for(child);
        assert!(!ended.stderr.contains("panicked"), "{what}: {ended:#?}");
        let given = Instant::now();
        loop {
            let left = self.left();
            if left.is_empty() {
                break;
            }
            assert!(given.elapsed() < PATIENCE, "{what} leaves {left:#?}: {ended:#?}");
            std::thread::sleep(Duration::from_millis(10));
        }
        [-signal, 128 + signal].contains(&ended.code)
    }

    /// Processes of this bench that are still alive, and folders and files that nobody owns.
    fn left(&self) -> Vec<String> {
        let mark = format!("{MARK}={}", self.folder.path().display());
        let ours = |process: &PathBuf| {
            let read = fs::read(process.join("environ")).unwrap_or_default();
            read.split(|byte| *byte == 0).any(|entry| entry == mark.as_bytes())
        };
        let paths =
            |folder: &Path| fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path());
        let processes = paths(Path::new("/proc")).filter(ours);
        let temporary = self.temporary();
        let memory = paths(Path::new("/dev/shm")).filter(|path| is_abandoned(path));
        let all = processes.chain(paths(&temporary)).chain(memory);
        all.map(|path| path.display().to_string()).collect()
    }
}

/// True of a folder of ours whose owner has ended: other commands may run beside the test.
fn is_abandoned(folder: &Path) -> bool {
    let name = folder.file_name().unwrap().to_string_lossy().into_owned();
    name.starts_with(".sunstar-")
        && File::open(folder.join(".owner")).is_ok_and(|owner| {
            // SAFETY: flock takes a descriptor that is open and touches no memory.
            unsafe { libc::flock(owner.as_raw_fd(), libc::LOCK_SH | libc::LOCK_NB) == 0 }
        })
}

/// Commands, as the help lists them.
fn verbs() -> BTreeSet<String> {
    let help = ended(command().arg("--help"));
    let (_, list) = help.went_well().stdout.split_once("Commands:\n").unwrap();
    let list = list.split("\n\n").next().unwrap();
    let names = list.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    names.filter(|name| !["", "help"].contains(name)).map(Into::into).collect()
}

/// Calls of commands that this installation can run.
fn calls() -> impl Iterator<Item = &'static Call> {
    let guests = |call: &&Call| call.verb == "guest" || call.words.contains("amata");
    CALLS.iter().filter(move |call| cfg!(kernel) || !guests(call))
}

#[test]
fn each_command_is_interrupted_here() {
    let called: BTreeSet<String> = CALLS.iter().map(|call| call.verb.into()).collect();
    assert_eq!(called, verbs(), "a command without a call, or a call without a command");
}

#[test]
fn nothing_is_left_of_any_command_that_is_interrupted() {
    let bench = Bench::new();
    for (number, call) in calls().enumerate() {
        let (signal, group) = (SIGNALS[number % 3], number % 2 == 0);
        let delay = Duration::from_millis(call.span * (number as u64 % 4 + 1) / 5);
        let in_time = bench.interrupt(call, signal, group, delay);
        println!("{} {}: {signal} after {delay:?}, in time: {in_time}", call.verb, call.words);
    }
}

#[test]
#[ignore = "runs for minutes: make soak"]
fn nothing_is_left_at_any_moment() {
    let bench = Bench::new();
    let seed = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    println!("SEED={seed}");
    let mut random = des::Random::new(seed);
    let mut in_time = 0;
    for turn in 0..324 {
        let all: Vec<&Call> = calls().collect();
        let call = all[turn % all.len()];
        let signal = SIGNALS[random.below(3) as usize];
        let delay = Duration::from_micros(random.below(call.span * 1000));
        in_time += u32::from(bench.interrupt(call, signal, random.below(2) == 0, delay));
    }
    println!("{in_time} of 324 came in time");
    assert!(in_time > 100, "{in_time}");
}
