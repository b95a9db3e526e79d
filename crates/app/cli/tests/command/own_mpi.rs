//! Programs with an MPI of another implementation: theirs stays theirs.
//!
//! The other one is MPICH's wheel of PyPI, in `build/mpich` (from `make test-tools`).

use crate::accelerated::counter;
use crate::runner::{command, ended, root, Ended};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program that tells its MPI's version, which may be asked for before MPI begins.
const SOURCE: &str = "#include <mpi.h>\n#include <stdio.h>\n#include <string.h>\n\
    int main(void) {\n    char text[MPI_MAX_LIBRARY_VERSION_STRING];\n    int length;\n    \
    MPI_Get_library_version(text, &length);\n    text[strcspn(text, \" \")] = 0;\n    \
    printf(\"%s\\n\", text);\n    return 0;\n}\n";

fn mpich() -> PathBuf {
    root().join("build/mpich")
}

/// The program, made by a compiler.
fn built(folder: &Path, name: &str, mut compiler: Command) -> PathBuf {
    let (source, program) = (folder.join("version.c"), folder.join(name));
    std::fs::write(&source, SOURCE).unwrap();
    ended(compiler.arg("-o").arg(&program).arg(&source)).went_well();
    program
}

/// A program of `tests/cli`, made by the compiler of MPICH's wheel.
fn by_mpicc(folder: &Path, name: &str) -> PathBuf {
    let program = folder.join(name);
    let mut mpicc = Command::new(mpich().join("bin/mpicc"));
    mpicc.arg("-O2").arg(root().join(format!("tests/cli/{name}.c"))).arg("-o").arg(&program);
    ended(&mut mpicc).went_well();
    program
}

fn sunstar_cc(words: &[&str]) -> Command {
    let mut compiler = command();
    compiler.arg("cc").args(words);
    compiler
}

fn run(words: &[&str], program: &Path) -> Ended {
    ended(command().arg("run").args(words).arg(program))
}

#[test]
fn a_programs_own_mpi_stays_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let wheels = |name: &str| Command::new(mpich().join("bin").join(name));
    let prefix = mpich();
    let chosen = prefix.to_str().unwrap();
    let programs = [
        ("mpicc", built(folder.path(), "mpicc", wheels("mpicc")), "MPICH"),
        ("mpicc_abi", built(folder.path(), "mpicc_abi", wheels("mpicc_abi")), "MPICH"),
        ("cc --mpi", built(folder.path(), "cc-mpi", sunstar_cc(&["--mpi", chosen])), "MPICH"),
        ("cc", built(folder.path(), "cc", sunstar_cc(&[])), "Sunstar"),
    ];
    for (how, program, own) in &programs {
        assert_eq!(run(&["-q"], program).went_well().stdout, format!("{own}\n"), "{how}");
        // A launcher is looked behind.
        let launched = ended(command().args(["run", "-q", "env"]).arg(program));
        assert_eq!(launched.went_well().stdout, format!("{own}\n"), "env, {how}");
    }
    // The ABI of the standard is that of both.
    for (how, program, _) in &programs[..] {
        let ours = run(&["-q", "--mpi", "own"], program);
        let theirs = run(&["-q", "--mpi", chosen], program);
        match *how {
            "mpicc_abi" | "cc" => {
                assert_eq!(ours.went_well().stdout, "Sunstar\n", "{how}");
                assert_eq!(theirs.went_well().stdout, "MPICH\n", "{how}");
            }
            _ => {
                ours.said(2, &["needs another implementation's library", "`sunstar cc`"]);
                assert_eq!(theirs.went_well().stdout, "MPICH\n", "{how}");
            }
        }
    }
    // Source is compiled for the one that was named.
    let source = folder.path().join("version.c");
    assert_eq!(run(&["-q"], &source).went_well().stdout, "Sunstar\n");
    assert_eq!(run(&["-q", "--mpi", chosen], &source).went_well().stdout, "MPICH\n");
}

#[test]
fn the_first_line_says_which_mpi_ran() {
    let folder = tempfile::tempdir().unwrap();
    let first = |run: &Ended| {
        let mut lines = run.went_well().stdout.lines();
        lines.find(|line| line.contains("machine redstorm")).expect("a first line").to_owned()
    };
    let own = ended(command().args(["run", "-n", "2", "--brief", "examples/ring.c"]));
    assert!(first(&own).contains(", own MPI, "), "{own:?}");
    let none = ended(command().args(["run", "-n", "2", "--brief", "builtin:pingpong"]));
    assert!(!first(&none).contains("MPI"), "{none:?}");
    let mpicc = Command::new(mpich().join("bin/mpicc"));
    let program = built(folder.path(), "mpicc", mpicc);
    let theirs = run(&["--brief"], &program);
    let library = mpich().join("lib/libmpi.so.12");
    let told = format!(", MPICH ({}), ", library.display());
    assert!(first(&theirs).contains(&told), "{theirs:?}");
}

/// Calibrations at load, PMI, matching by the firmware: none of it depends on anything but the program.
#[test]
fn mpichs_ranks_do_the_same_in_each_run() {
    if !root().join("build/lib/libfabric/libsunstar-fi.so").is_file() {
        return eprintln!("skipped: there is no provider (Debian: libfabric-dev)");
    }
    let folder = tempfile::tempdir().unwrap();
    let program = by_mpicc(folder.path(), "collects");
    for ranks in [2_u32, 4, 8] {
        let runs = ["1", "1", "2"].map(|threads| {
            let ranks = ranks.to_string();
            let options = ["--brief", "--judge", "-m", "redstorm-accelerated"];
            run(&[&options[..], &["-n", &ranks, "-t", threads]].concat(), &program)
        });
        let sum = format!("sum {}, window {}\n", ranks * (ranks - 1) / 2, ranks);
        for run in &runs {
            assert!(run.went_well().stdout.contains(&sum), "{run:?}");
            assert_eq!(run.hash(), runs[0].hash(), "{ranks} ranks");
        }
    }
    for machine in ["redstorm", "ideal"] {
        let run = run(&["-q", "-n", "4", "-m", machine], &program);
        assert_eq!(run.went_well().stdout, "sum 6, window 4\n", "{machine}");
    }
}

/// A program that looks again and again waits, too.
#[test]
fn a_deadlock_names_the_call_that_waits() {
    if !root().join("build/lib/libfabric/libsunstar-fi.so").is_file() {
        return eprintln!("skipped: there is no provider (Debian: libfabric-dev)");
    }
    let folder = tempfile::tempdir().unwrap();
    let program = by_mpicc(folder.path(), "awaits");
    for machine in ["redstorm-accelerated", "redstorm", "ideal"] {
        let run = run(&["-q", "-n", "2", "-m", machine], &program);
        run.said(1, &["deadlock", "rank 0 waits in fi_cq_read", "for MPI_Recv"]);
    }
}

/// A message for which the network interface has no room is refused, and comes again: MPICH loses nothing.
#[test]
fn mpich_loses_nothing_where_the_network_interface_recovers() {
    if !root().join("build/lib/libfabric/libsunstar-fi.so").is_file() {
        return eprintln!("skipped: there is no provider (Debian: libfabric-dev)");
    }
    let folder = tempfile::tempdir().unwrap();
    let program = by_mpicc(folder.path(), "collects");
    for (machine, fault) in [
        (&["redstorm-accelerated"][..], "pool.streams=1"),
        (&["redstorm-accelerated"], "pool.rx_pendings=2"),
        (&["redstorm", "--set", "firmware.overflow=host"], "pool.streams=1"),
    ] {
        let options = ["-q", "--judge", "-n", "6", "--json", "-", "--fault", fault, "-m"];
        let run = run(&[&options[..], machine].concat(), &program);
        // The program's output gives way to the report.
        assert!(run.code == 0 && run.stderr == "sum 15, window 6\n", "{machine:?} {fault}");
        let report: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
        assert!(counter(&report, "niccb.refused") > 0, "{machine:?} {fault}: nothing ran out");
    }
}

#[test]
fn an_mpi_that_cannot_be_had_is_a_sentence() {
    let cases: [(&[&str], &str); 4] = [
        (&["run", "--mpi", "openmpi", "true"], "start by PMIx, which sunstar does not serve"),
        (&["run", "--mpi", "lam", "true"], "own, mpich, intel, or the folder of an installation"),
        (&["run", "--mpi", "/usr/include", "true"], "no libmpi.so.12 is there"),
        (&["cc", "--mpi=lam", "x.c"], "own, mpich, intel, or the folder of an installation"),
    ];
    for (words, sentence) in cases {
        ended(command().args(words)).said(2, &[sentence]);
    }
}
