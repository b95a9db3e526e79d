//! Speed of the whole simulator: the real firmware, an 8-byte ping-pong, an allreduce and a halo
//! exchange of 4 KiB on 64 ranks, as real processes and as built-in workloads, with the message
//! counts that other simulators were measured with. One thread.
//!
//! # What is measured
//!
//! Messages a second are those that the network interfaces sent, by the wall time of the whole run,
//! its start and the ranks' processes included. Instructions are the firmware's since the launch,
//! on all nodes, that were executed one by one; those of polling turns that the core knew and
//! skipped are named apart and count for nothing. Their number is told by the time of the whole
//! run, and by the time in the processor model alone. That is measured in further runs by reading
//! the time stamp counter around each call of `Core::run`; what reading it costs is taken off, and
//! calls that the operating system interrupted for long are left out with their instructions. It
//! holds what the core does by its own, decoding, timing, caches and the looks whether a turn is
//! known, and the bus accesses that it makes in SRAM and registers. Cycles are those of the time
//! stamp counter, at the nominal frequency: virtual machines often have no performance counters.
//!
//! The best of a few runs counts: other work on the machine only slows down. Processor time, the
//! ranks' processes included, suffers less from it than wall time.
#![allow(clippy::unwrap_used)]

use machine::parameters::Parameters;
use machine::{Executable, Observers, Options, Outcome, Places, Program};
use models::seastar::meter::{ticks, TICKS_ARE_CYCLES};
use models::MODELS;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// Workloads: name, ranks, arguments of the program or (with another first word) of the built-in
/// workload.
const WORKLOADS: [(&str, u32, [&str; 3]); 6] = [
    ("8-byte ping-pong", 2, ["", "pingpong", "100000"]),
    ("allreduce of 8 bytes, 64 ranks", 64, ["", "allreduce", "200"]),
    ("halo of 4 KiB, 64 ranks", 64, ["", "halo", "50"]),
    ("the same ping-pong without processes", 2, ["pingpong", "8", "100000"]),
    ("the same allreduce without processes", 64, ["allreduce", "8", "200"]),
    ("the same halo without processes", 64, ["halo", "4096", "50"]),
];

/// Runs of each kind.
const RUNS: usize = 2;

fn main() {
    // Cargo asks what tests there are.
    if std::env::args().any(|argument| argument == "--list") {
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3).unwrap();
    let needed = ["build/lib/libmpi_abi.so", "build/firmware/seastar.elf"];
    if let Some(missing) = needed.into_iter().find(|file| !root.join(file).exists()) {
        return println!("messages: {missing} is not built (make parts)");
    }
    let program = compile(root);
    println!("whole runs, one thread; parked instructions do not count as executed");
    // Words on the command line choose the workloads that have one of them in their names.
    let words: Vec<_> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let chosen = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(&**word));
    for (name, ranks, arguments) in WORKLOADS {
        if !chosen(name) {
            continue;
        }
        let program = match arguments {
            ["", arguments @ ..] => Program::Executables(vec![Executable {
                ranks,
                path: program.clone(),
                args: arguments.map(Into::into).to_vec(),
                surroundings: Default::default(),
            }]),
            [name, arguments @ ..] => {
                let builtin = rank::Builtin::parse(name, &arguments.map(Into::into), ranks);
                Program::Builtin(builtin.unwrap())
            }
        };
        let options = |meter| options(root, &program, ranks, meter);
        report(name, &options);
    }
}

fn compile(root: &Path) -> PathBuf {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("messages");
    let status = Command::new("gcc")
        .args(["-O2", "-Wall", "-o"])
        .arg(&program)
        .arg(root.join("tests/bench/messages.c"))
        .arg("-I")
        .arg(root.join("include"))
        .arg("-L")
        .arg(root.join("build/lib"))
        .args(["-lmpi_abi"])
        .status()
        .expect("gcc starts");
    assert!(status.success(), "the program compiles");
    program
}

fn options(root: &Path, program: &Program, ranks: u32, meter: bool) -> Options {
    let parameters = Parameters::load(&MODELS, &root.join("machines/redstorm.toml")).unwrap();
    let places = Places::of_repository(root);
    let observers = Observers { meter, ..Observers::default() };
    Options { observers, ..Options::new(parameters, program.clone(), ranks, places) }
}

fn run(options: &Options) -> Outcome {
    let outcome = machine::run(options).unwrap();
    assert_eq!(outcome.report.exit.code, 0, "{:?}", outcome.report.exit.sentences);
    outcome
}

fn report(name: &str, options: &dyn Fn(bool) -> Options) {
    let (mut wall, mut processor) = (f64::MAX, f64::MAX);
    // Ticks an instruction and the instructions a second that this is.
    let (mut each, mut rate) = (f64::MAX, 0.0);
    let mut last = None;
    for _ in 0..RUNS {
        let (started, before) = (Instant::now(), processor_seconds());
        let plain = run(&options(false));
        wall = wall.min(started.elapsed().as_secs_f64());
        processor = processor.min(processor_seconds() - before);
        let (started, before) = (Instant::now(), ticks());
        let metered = run(&options(true));
        let ticks_a_second = (ticks() - before) as f64 / started.elapsed().as_secs_f64();
        let m = metered.effort.metered;
        let spent = m.ticks as f64 - m.calls as f64 * reading();
        each = each.min(spent / m.executed as f64);
        rate = ticks_a_second / each;
        assert_eq!(plain.report.trace_hash, metered.report.trace_hash);
        assert_eq!(plain.effort.executed, metered.effort.executed);
        let all = metered.effort.executed + metered.effort.parked;
        assert_eq!(all, metered.report.firmware.as_ref().expect("firmware ran").instructions);
        last = Some(metered);
    }
    let Outcome { report, effort, .. } = last.expect("at least one run");
    let sent = |node: &machine::report::NodeReport| node.counters["tx.messages"];
    let messages = report.nodes.iter().map(sent).sum::<u64>() as f64;
    let (executed, metered) = (effort.executed as f64, effort.metered);
    println!("{name}: {messages} messages");
    println!(
        "  {:.0} messages a second of wall time ({wall:.2} s), {:.0} of processor time \
         ({processor:.2} s)",
        messages / wall,
        messages / processor,
    );
    println!(
        "  {:.0} firmware instructions a message executed, {:.0} parked",
        executed / messages,
        effort.parked as f64 / messages,
    );
    println!(
        "  {:.1} million instructions a second of the whole run's wall time, {:.1} of its \
         processor time",
        executed / wall / 1e6,
        executed / processor / 1e6,
    );
    println!(
        "  {:.1} million instructions a second of the processor model, {each:.1} host {} each",
        rate / 1e6,
        if TICKS_ARE_CYCLES { "cycles (time stamp counter)" } else { "nanoseconds" },
    );
    println!(
        "  the processor model: {:.0} % of the processor time, {:.1} calls a message ({} left out)",
        100.0 * executed / rate / processor,
        (metered.calls + metered.interrupted) as f64 / messages,
        metered.interrupted,
    );
}

/// Processor time of this process and of those that it has waited for, in seconds.
fn processor_seconds() -> f64 {
    let of = |who| {
        // SAFETY: getrusage fills the structure that it is given; all zeros is a valid one.
        let usage = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            assert_eq!(libc::getrusage(who, &mut usage), 0);
            usage
        };
        let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 * 1e-6;
        seconds(usage.ru_utime) + seconds(usage.ru_stime)
    };
    of(libc::RUSAGE_SELF) + of(libc::RUSAGE_CHILDREN)
}

/// Ticks that reading the clock twice adds to the time measured between.
fn reading() -> f64 {
    let differences = (0..10_000).map(|_| {
        let before = ticks();
        ticks() - before
    });
    differences.min().unwrap_or(0) as f64
}
