//! The processor's time-stamp counter shows simulated time to programs that read it directly.

use crate::runner::{command, ended, Ended};
use std::path::{Path, PathBuf};

fn built(folder: &Path, options: &[&str]) -> PathBuf {
    let output = folder.join("counter");
    let words = ["-O2", "tests/cli/counter.c", "-ldl", "-lm", "-lpthread", "-o"];
    ended(command().arg("cc").args(words).arg(&output).args(options)).went_well();
    output
}

fn started(options: &[&str], program: &Path, words: &[&str]) -> Ended {
    ended(command().arg("run").args(options).arg(program).args(words))
}

fn hash(run: &Ended) -> &str {
    run.hash().expect("a hash")
}

/// Counter, clock and /proc/cpuinfo agree; faults, threads and children of the program are its own.
#[test]
fn the_counter_tells_simulated_time() {
    let folder = tempfile::tempdir().unwrap();
    let program = built(folder.path(), &[]);
    let run = started(&["-n", "2"], &program, &[]);
    for rank in 0..2 {
        let line = format!("rank {rank}: right at 2000 MHz");
        assert!(run.went_well().stdout.lines().any(|own| own == line), "{run:?}");
    }
    let trace = folder.path().join("trace");
    for options in [&["-t", "2"][..], &["--no-park"], &["--trace", trace.to_str().unwrap()]] {
        let other = started(&[&["-n", "2"], options].concat(), &program, &[]);
        assert_eq!(hash(other.went_well()), hash(&run), "{options:?}");
    }
    let slow = started(&["-q", "-n", "2", "--set", "host.clock=1.5 GHz"], &program, &[]);
    assert_eq!(slow.went_well().stdout.matches("right at 1500 MHz").count(), 2, "{slow:?}");
    // Several ranks a node, and each started by itself.
    let all =
        started(&["-q", "-n", "4", "-ppn", "2"], Path::new("env"), &[program.to_str().unwrap()]);
    assert_eq!(all.went_well().stdout.matches("right").count(), 4, "{all:?}");
}

#[test]
fn a_fault_is_a_fault() {
    let folder = tempfile::tempdir().unwrap();
    let run = started(&["-q", "-n", "2"], &built(folder.path(), &[]), &["fault"]);
    run.said(139, &["was killed by SIGSEGV"]);
}

/// Sanitizers and debuggers read it, too; a sanitizer does so while it has blocked all signals.
#[test]
fn sanitizers_and_debuggers_read_it_too() {
    let folder = tempfile::tempdir().unwrap();
    let program = built(folder.path(), &["-g", "-fsanitize=thread"]);
    let run = started(&["-q", "-n", "2"], &program, &[]);
    assert_eq!(run.went_well().stdout.matches("right").count(), 2, "{run:?}");
    let program = built(folder.path(), &[]);
    let quiet = "handle SIGSEGV nostop noprint pass";
    let words = ["-q", "-batch", "-ex", quiet, "-ex", "run", "--args", program.to_str().unwrap()];
    let run = started(&["-q", "-n", "2"], Path::new("gdb"), &words);
    assert_eq!(run.went_well().stdout.matches("right").count(), 2, "{run:?}");
}

/// Before anything calls MPI, in a constructor and behind it, in a program that is not linked to it and in
/// one that is.
#[test]
fn the_counter_is_simulated_before_the_first_constructor() {
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("libcalibrates.so");
    let source = "tests/cli/calibrates.c";
    let mut gcc = std::process::Command::new("gcc");
    gcc.current_dir(crate::runner::root()).args([
        "-O1",
        "-shared",
        "-fPIC",
        "-DLIBRARY",
        source,
        "-o",
    ]);
    ended(gcc.arg(&library)).went_well();
    let program = |name: &str, mut compiler: std::process::Command| {
        let program = folder.path().join(name);
        compiler.current_dir(crate::runner::root()).args([
            "-O1",
            source,
            "-Wl,-rpath,$ORIGIN",
            "-o",
        ]);
        ended(compiler.arg(&program).arg(&library)).went_well();
        program
    };
    let mut cc = command();
    cc.arg("cc");
    for program in [program("foreign", std::process::Command::new("gcc")), program("linked", cc)] {
        let runs = [(); 10].map(|()| started(&["-q", "-n", "4"], &program, &[]));
        // A millisecond, and two readings of 50 ns in each turn.
        for run in &runs {
            let lines: Vec<&str> = run.stdout.lines().collect();
            assert_eq!((run.code, lines.len()), (0, 4), "{run:?}");
            assert!(lines.iter().all(|line| line.starts_with("10000 10000 ")), "{run:?}");
            assert_eq!(run.stdout, runs[0].stdout);
        }
    }
}

#[test]
fn a_static_program_is_told_what_it_has_not() {
    let folder = tempfile::tempdir().unwrap();
    let (source, program) = (folder.path().join("static.c"), folder.path().join("static"));
    std::fs::write(&source, "int main(void) { return 0; }\n").unwrap();
    let mut gcc = std::process::Command::new("gcc");
    ended(gcc.arg("-static").arg("-o").arg(&program).arg(&source)).went_well();
    let words = ["linked statically, so its clocks, time-stamp counter and random numbers"];
    started(&["-q", "-n", "2"], &program, &[]).said(0, &words);
}
