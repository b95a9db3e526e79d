//! Whole runs of the `sunstar` command, start included (the program is compiled before): beside SMPI on
//! the same programs, on machine `ideal`, which has no firmware, and on two threads beside one.
//!
//! SMPI (SimGrid, Debian's `libsimgrid-dev`) models no network interface; the benchmark compares how
//! fast both carry the same messages, on one core each. Runs of both alternate, and the median of
//! their ratios counts, since other work on the machine slows down both. Words on the command line
//! choose workloads.
//!
//! It measures the command that `make build` has left, not one that cargo builds for benches: there
//! libraries have other features, and most of what `make tune` gains is lost (decision 0036).
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// Workloads: name in the program, ranks, how often, messages that a rank sends each time.
const WORKLOADS: [(&str, u32, u32, u32); 4] = [
    ("pingpong", 2, 100_000, 1),
    ("allreduce", 64, 200, 6),
    ("halo", 64, 50, 6),
    ("barrier", 1024, 20, 10),
];

/// Nodes and repetitions of the built-in workload for threads.
const THREADS: [&str; 4] = ["-n", "1024", "builtin:allreduce", "8"];

/// The program that both run.
const SOURCE: &str = "tests/bench/messages.c";

/// The command.
const SUNSTAR: &str = "target/release/sunstar";

/// Pairs of runs.
const RUNS: usize = 3;

fn main() {
    // Cargo asks what tests there are.
    if std::env::args().any(|argument| argument == "--list") {
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3).unwrap();
    let needed = [SUNSTAR, "build/lib/libmpi_abi.so", "build/firmware/seastar.elf"];
    if let Some(missing) = needed.into_iter().find(|file| !root.join(file).exists()) {
        return println!("peers: {missing} is not built (make build)");
    }
    let words: Vec<_> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let chosen = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(&**word));
    let smpi = Smpi::new(root);
    if smpi.is_none() {
        println!("SMPI is not installed (apt-get install libsimgrid-dev)");
    }
    // Compiled before, as for SMPI.
    let program = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("peers-sunstar");
    wall(sunstar(root).args(["cc", "-O2", "-o"]).arg(&program).arg(root.join(SOURCE)));
    for (name, ranks, times, each) in WORKLOADS.into_iter().filter(|workload| chosen(workload.0)) {
        let messages = f64::from(ranks) * f64::from(times) * f64::from(each);
        let on = |machine: &str| {
            let mut command = sunstar(root);
            command.args(["run", "-m", machine, "-n", &ranks.to_string()]).arg(&program);
            wall(command.args([name, &times.to_string()]))
        };
        let ours = || on("redstorm");
        println!("{name}, {ranks} ranks, {times} times, {messages} messages");
        let tell = |who: &str, mut seconds: Vec<f64>| {
            let seconds = median(&mut seconds);
            println!(
                "  {who:<16} {:>9.0} messages a second of wall time, {seconds:.2} s, \
                 {:.3} ms each time",
                messages / seconds,
                1e3 * seconds / f64::from(times),
            );
        };
        tell("Sunstar, ideal", (0..RUNS).map(|_| on("ideal")).collect());
        let Some(smpi) = &smpi else {
            tell("Sunstar", (0..RUNS).map(|_| ours()).collect());
            continue;
        };
        let pairs = (0..RUNS).map(|_| (ours(), smpi.run(name, ranks, times)));
        let pairs: Vec<_> = pairs.collect();
        tell("Sunstar", pairs.iter().map(|pair| pair.0).collect());
        tell("SMPI", pairs.iter().map(|pair| pair.1).collect());
        let ratio =
            median(&mut pairs.iter().map(|(ours, theirs)| ours / theirs).collect::<Vec<_>>());
        println!("  Sunstar takes {ratio:.2} times SMPI's time");
    }
    if chosen("threads") {
        threads(root);
    }
}

/// One thread and two at 1,024 nodes.
fn threads(root: &Path) {
    let on = |threads: &str| {
        let mut command = sunstar(root);
        wall(command.args(["run", "--threads", threads]).args(THREADS).arg("2"))
    };
    let pairs: Vec<_> = (0..RUNS).map(|_| (on("1"), on("2"))).collect();
    println!("threads: sunstar run {} 2", THREADS.join(" "));
    for (one, two) in &pairs {
        println!("  one thread {one:.2} s, two {two:.2} s: {:.2} times as fast", one / two);
    }
    let ratio = median(&mut pairs.iter().map(|(one, two)| one / two).collect::<Vec<_>>());
    println!("  median {ratio:.2}");
}

fn sunstar(root: &Path) -> Command {
    let mut command = Command::new(root.join(SUNSTAR));
    command.env("SUNSTAR_ROOT", root);
    command
}

/// Wall seconds of a command that succeeds.
fn wall(command: &mut Command) -> f64 {
    let started = Instant::now();
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    started.elapsed().as_secs_f64()
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The same program, compiled for SMPI.
struct Smpi {
    program: PathBuf,
    platform: PathBuf,
    hosts: PathBuf,
}

impl Smpi {
    /// `None` if SMPI is not installed.
    fn new(root: &Path) -> Option<Smpi> {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
        let (program, hosts) = (folder.join("peers-smpi"), folder.join("peers-hosts"));
        let built = Command::new("smpicc")
            .args(["-O2", "-o"])
            .arg(&program)
            .arg(root.join(SOURCE))
            .output();
        let built = built.ok()?;
        assert!(built.status.success(), "smpicc: {}", String::from_utf8_lossy(&built.stderr));
        let names: String = (0..1024).map(|node| format!("node-{node}\n")).collect();
        std::fs::write(&hosts, names).unwrap();
        Some(Smpi { program, platform: root.join("crates/models/models/benches/peers.xml"), hosts })
    }
    fn run(&self, name: &str, ranks: u32, times: u32) -> f64 {
        let mut command = Command::new("smpirun");
        command.args(["-np", &ranks.to_string(), "-platform"]).arg(&self.platform);
        command.arg("-hostfile").arg(&self.hosts);
        // The program's computation costs no simulated time, as with us.
        command.args(["--cfg=smpi/simulate-computation:no", "--log=root.thresh:critical"]);
        wall(command.arg(&self.program).args([name, &times.to_string()]))
    }
}
