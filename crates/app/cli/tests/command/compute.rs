//! Computation that takes simulated time: by the documented call, and measured.

use crate::runner::{command, ended, root, run};
use std::process::Command;

/// The picoseconds behind `word` in a program's output.
fn picoseconds(output: &str, word: &str) -> f64 {
    let line = output.lines().find_map(|line| line.strip_prefix(word)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {word} in\n{output}")).parse().unwrap()
}

/// The trace hash in a summary.
fn hash(output: &str) -> &str {
    output.lines().find_map(|line| line.strip_prefix("Trace hash")).unwrap().trim()
}

#[test]
fn what_a_program_says_that_it_computes_takes_exactly_that_long() {
    let once = run("tests/cli/compute.c 0.002");
    let output = &once.went_well().stdout;
    assert_eq!(picoseconds(output, "nothing"), 0.0, "{output}");
    assert_eq!(picoseconds(output, "said"), 2e9, "{output}");
    assert_eq!(picoseconds(output, "often"), 2e6, "{output}");
    assert_eq!(picoseconds(output, "worked"), 0.0, "{output}");
    let again = run("--threads 2 tests/cli/compute.c 0.002");
    assert_eq!(hash(&again.went_well().stdout), hash(output));
    let longer = run("tests/cli/compute.c 0.003");
    assert_ne!(hash(&longer.went_well().stdout), hash(output));
}

#[test]
fn messages_travel_while_ranks_compute() {
    let both = run("-n 2 --quiet tests/cli/compute.c");
    assert!(both.went_well().stdout.contains("overlapped yes"), "{both:?}");
}

#[test]
fn measured_computation_takes_time_and_the_report_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("run.json");
    let measured = |factor: &str| {
        let file = json.display();
        let ended = run(&format!("--compute scale={factor} --json {file} tests/cli/compute.c"));
        let output = ended.went_well().stdout.clone();
        assert!(output.contains(&format!("compute scale={factor}: measured here")), "{output}");
        picoseconds(&output, "worked")
    };
    // Twenty million turns take a millisecond on the fastest of machines.
    let (little, much) = (measured("0.001"), measured("1000"));
    assert!(little > 1e6 && much > 1e3 * little, "{little} {much}");
    let report: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
    assert_eq!(report["compute"], "scale=1000");
    assert_eq!(report["deterministic"], false);
    let file = json.display();
    run(&format!("--json {file} tests/cli/compute.c")).went_well();
    let text = std::fs::read_to_string(&json).unwrap();
    let report: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(report["compute"] == "none" && report["deterministic"] == true, "{text}");
}

#[test]
fn fortran_computes_in_simulated_time_too() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("computes.f90");
    let text = "use mpi\nreal(8) :: a, b, c\ncall MPI_Init(i)\na = MPI_Wtime()\nb = MPI_Wtime()\n\
                call sunstar_compute(0.25d0)\nc = MPI_Wtime()\n\
                print '(f0.9)', (c - b) - (b - a)\ncall MPI_Finalize(i)\nend\n";
    std::fs::write(&source, text).unwrap();
    let program = run(&format!("--quiet {}", source.display()));
    assert_eq!(program.went_well().stdout, ".250000000\n");
}

#[test]
fn elsewhere_the_call_does_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("plain.c");
    let text = "#include <sunstar.h>\nint main(void) { sunstar_compute(-1); return 3; }\n";
    std::fs::write(&source, text).unwrap();
    let program = folder.path().join("plain");
    for compiler in ["gcc", "g++"] {
        let mut build = Command::new(compiler);
        build.arg("-I").arg(root().join("include")).arg("-o").args([&program, &source]);
        ended(&mut build).went_well();
        assert_eq!(ended(&mut Command::new(&program)).code, 3);
    }
    let mut with_library = command();
    ended(with_library.args(["cc", "-o"]).args([&program, &source])).went_well();
    let mut alone = Command::new(&program);
    assert_eq!(ended(alone.env("LD_LIBRARY_PATH", root().join("build/lib"))).code, 3);
}

#[test]
fn wrong_amounts_are_refused() {
    for wrong in ["scale=0", "scale=x", "all"] {
        let refused = run(&format!("--compute {wrong} tests/cli/compute.c"));
        assert!(refused.code == 2 && refused.stderr.contains("scale=FACTOR"), "{refused:?}");
    }
    let negative = run("--quiet tests/cli/compute.c -1");
    negative.said(1, &["rank 0", "sunstar_compute takes 0 to 1e+06 seconds, not -1"]);
}

/// Whole iterations of the idle loop are left out, however many there are.
#[test]
fn what_the_firmware_does_for_a_message_does_not_depend_on_how_long_it_idled() {
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("run.json");
    let work = |seconds: &str| {
        run(&format!("-n 2 --json {} tests/cli/compute.c {seconds}", json.display())).went_well();
        let text = std::fs::read_to_string(&json).unwrap();
        let report: serde_json::Value = serde_json::from_str(&text).unwrap();
        ["instructions_per_message", "cycles_per_message"]
            .map(|key| report["firmware"][key].as_f64().unwrap())
    };
    let short = work("0.001");
    // Beyond 2^32 turns.
    for long in [work("0.3"), work("600")] {
        for (short, long) in short.iter().zip(long) {
            assert!((short - long).abs() < 0.01 * short, "{short} {long}");
        }
    }
}

/// Bytes and the three waits in microseconds of `examples/studies/overlap.c`.
fn waits(output: &str) -> Vec<[f64; 4]> {
    let numbers = |line: &str| line.split_whitespace().map(|word| word.parse().unwrap()).collect();
    let rows = output.lines().skip(1).map(numbers);
    rows.map(|row: Vec<f64>| row.try_into().unwrap()).collect()
}

#[test]
fn messages_of_any_length_come_to_posted_receives_while_both_sides_compute() {
    let accelerated = "--machine redstorm-accelerated";
    for options in ["", "--machine ideal", "--set host.os=linux", "--ranks-per-node 2", accelerated]
    {
        let ended = run(&format!("-n 2 --quiet {options} examples/studies/overlap.c"));
        let rows = waits(&ended.went_well().stdout);
        assert_eq!((rows.len(), rows[11][0]), (12, 4194304.0));
        for [bytes, send, receive, late] in rows {
            assert!(send < 3.0 && receive < 3.0, "{options} {bytes}: {send} and {receive} us");
            // What nobody was there for is fetched: at 1.1 GB/s, on an ideal machine faster.
            let fetched = bytes > 131072.0 && options != "--machine ideal";
            assert!(!fetched || late > bytes / 4000.0, "{options} {bytes}: {late} us");
        }
    }
}
