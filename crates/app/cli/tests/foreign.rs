//! Programs of other authors are built by Sunstar's compiler commands, run, and pass their own checks.
//!
//! Their sources are Debian's; `scripts/bootstrap test` puts them into `build/debian`.
#![allow(clippy::unwrap_used)] // Everything here is a test.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").canonicalize().unwrap()
}

fn sunstar() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sunstar"));
    command.env("SUNSTAR_ROOT", root());
    command
}

/// Folder of a program's sources.
fn sources(package: &str) -> PathBuf {
    let folder = root().join("build/debian").join(package);
    assert!(
        folder.join("fetched").exists(),
        "{} is missing: scripts/bootstrap test",
        folder.display()
    );
    folder
}

/// Output of the command, which must end well.
fn output(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(status.success(), "{command:?}: {status}\n{stdout}{stderr}");
    format!("{stdout}{stderr}")
}

/// With the library in the kernel, and on the network interface.
const MACHINES: [&str; 2] = ["redstorm", "redstorm-accelerated"];

/// Runs a program in a folder of its own, which it may write to.
fn run(machine: &str, ranks: u32, folder: &Path, program: &Path, arguments: &[&str]) -> String {
    let mut command = sunstar();
    command.current_dir(folder).args(["run", "--judge", "--quiet", "-n", &ranks.to_string()]);
    output(command.args(["--machine", machine]).arg(program).args(arguments))
}

fn netpipe(folder: &Path) -> PathBuf {
    let (sources, program) = (sources("netpipe").join("src"), folder.join("NPmpi"));
    let files = ["netpipe.c", "mpi.c"].map(|name| sources.join(name));
    output(sunstar().args(["cc", "-O2", "-w", "-DMPI", "-o"]).arg(&program).args(files));
    program
}

#[test]
#[ignore = "half a minute: make soak"]
fn netpipe_finds_every_byte_in_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let program = netpipe(folder.path());
    // Plain, with receives posted before, with synchronous sends, and by the time that it measures.
    for options in [&["-n", "5"][..], &["-n", "5", "-a"], &["-n", "5", "-S"], &["-l", "30000"]] {
        for machine in MACHINES {
            let mut arguments = vec!["-i", "-u", "70000"];
            arguments.extend(options);
            let checked = run(machine, 2, folder.path(), &program, &arguments);
            let sizes = checked.lines().filter(|line| line.contains("bytes")).count();
            assert!(sizes > 1, "{checked}");
            assert_eq!(checked.matches("Integrity check passed").count(), sizes, "{checked}");
        }
    }
}

#[test]
fn netpipe_measures() {
    let folder = tempfile::tempdir().unwrap();
    let program = netpipe(folder.path());
    for machine in MACHINES {
        run(machine, 2, folder.path(), &program, &["-n", "10", "-u", "200000"]);
        measured(folder.path());
    }
}

fn measured(folder: &Path) {
    // A line a size: bytes, megabits a second, seconds.
    let table = fs::read_to_string(folder.join("np.out")).unwrap();
    let rows: Vec<Vec<f64>> = table
        .lines()
        .map(|line| line.split_whitespace().map(|word| word.parse().unwrap()).collect())
        .collect();
    let (first, last) = (rows.first().unwrap(), rows.last().unwrap());
    assert!(rows.len() > 30 && last[0] > 100_000.0, "{table}");
    assert!(first[2] > 1e-6 && first[2] < 1e-4, "{table}");
    assert!(last[1] > 50.0 * first[1] && last[2] > 5.0 * first[2], "{table}");
}

/// Builds HPC Challenge, if that was not done before with the same compiler command and header.
fn hpcc() -> PathBuf {
    let folder = sources("hpcc");
    let program = folder.join("hpcc");
    let with = format!(
        "{}\n{}",
        fs::read_to_string(root().join("include/mpi.h")).unwrap(),
        include_str!("foreign/Make.sunstar")
    );
    let stamp = folder.join("built-with");
    if program.exists() && fs::read_to_string(&stamp).is_ok_and(|before| before == with) {
        return program;
    }
    fs::write(folder.join("hpl/Make.sunstar"), include_str!("foreign/Make.sunstar")).unwrap();
    let mut make = Command::new("make");
    make.current_dir(&folder).env("SUNSTAR", env!("CARGO_BIN_EXE_sunstar"));
    make.env("SUNSTAR_ROOT", root()).env_remove("MAKEFLAGS").env_remove("MAKELEVEL");
    output(Command::new("rm").arg("-rf").arg(&program).arg(folder.join("hpl/lib/sunstar")));
    output(make.args(["-j2", "arch=sunstar"]));
    fs::write(stamp, with).unwrap();
    program
}

/// Runs all of HPC Challenge on a grid of rows and columns, and checks its own results.
fn challenge(machine: &str, rows: u32, columns: u32, order: u32) {
    let (program, folder) = (hpcc(), tempfile::tempdir().unwrap());
    let example = fs::read_to_string(sources("hpcc").join("_hpccinf.txt")).unwrap();
    let changed = |line: &str| {
        let (value, what) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let value = match what.trim() {
            "Ns" => order.to_string(),
            "NBs" => "32".into(),
            "Ps" => rows.to_string(),
            "Qs" => columns.to_string(),
            _ => value.into(),
        };
        format!("{value} {what}\n")
    };
    let input: String = example.lines().map(changed).collect();
    fs::write(folder.path().join("hpccinf.txt"), input).unwrap();
    run(machine, rows * columns, folder.path(), &program, &[]);
    let said = fs::read_to_string(folder.path().join("hpccoutf.txt")).unwrap();
    let value = |key: &str| {
        let found = said.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        let found = found.unwrap_or_else(|| panic!("{key} is missing in\n{said}"));
        found.parse::<f64>().unwrap()
    };
    assert_eq!(value("Success"), 1.0, "{said}");
    assert_eq!(value("CommWorldProcs"), f64::from(rows * columns));
    assert_eq!(value("PTRANS_residual"), 0.0, "{said}");
    // On more than four ranks it has several receives posted and stops at the last note that a rank has
    // finished, also if MPI_Testany names that before updates that came earlier. Those it loses, and allows
    // for (with one receive, USE_MULTIPLE_RECV undefined, it loses none).
    let lost = if rows * columns > 4 { 0.01 } else { 0.0 };
    for key in ["MPIRandomAccess_ErrorsFraction", "MPIRandomAccess_LCG_ErrorsFraction"] {
        assert!(value(key) <= lost, "{key} in\n{said}");
    }
    assert!(value("HPL_N") == f64::from(order) && value("MPIFFT_maxErr") < 1e-14, "{said}");
    for wrong in ["FAILED", "Errors in", "failed)"] {
        assert!(!said.contains(wrong), "{wrong} in\n{said}");
    }
    let good = [
        ("PASSED", 10),
        ("(passed)", 4),
        ("Node(s) with error 0", 8),
        ("Solution Validates", 1),
        ("0 tests completed and failed residual checks", 2),
        ("End of HPC Challenge tests", 1),
    ];
    for (words, least) in good {
        assert!(said.matches(words).count() >= least, "'{words}' in\n{said}");
    }
    // Messages take time on this machine, and no more than its links allow.
    let (latency, bandwidth) =
        (value("AvgPingPongLatency_usec"), value("AvgPingPongBandwidth_GBytes"));
    assert!((1.0..50.0).contains(&latency) && (0.1..5.0).contains(&bandwidth), "{said}");
}

#[test]
#[ignore = "half a minute: make soak"]
fn hpc_challenge_passes_its_own_checks() {
    MACHINES.iter().for_each(|machine| challenge(machine, 1, 2, 120));
}

#[test]
#[ignore = "minutes: make soak"]
fn hpc_challenge_passes_its_own_checks_on_a_grid() {
    MACHINES.iter().for_each(|machine| challenge(machine, 2, 3, 400));
}

/// Uses the line in docs/programs.md.
#[test]
#[ignore = "builds mpi4py from PyPI in five minutes and more: make soak"]
fn mpi4py_is_installed_by_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("python");
    output(Command::new("python3").args(["-m", "venv"]).arg(&place));
    let page = fs::read_to_string(root().join("docs/programs.md")).unwrap();
    let line = page.lines().find_map(|line| line.trim().strip_prefix("MPI4PY_BUILD_MPIABI=1 "));
    let words = line.unwrap().replace("MPICC=\"sunstar cc\"", "");
    let mut words = words.split_whitespace();
    assert_eq!(words.next(), Some("pip"));
    let compiler = format!("{} cc", env!("CARGO_BIN_EXE_sunstar"));
    let mut install = Command::new(place.join("bin/pip"));
    install.args(words).env("MPI4PY_BUILD_MPIABI", "1").env("MPICC", compiler);
    // It need not be fast.
    output(install.env("SUNSTAR_ROOT", root()).env("CFLAGS", "-O0 -g0"));
    let script = folder.path().join("sum.py");
    let text = "from mpi4py import MPI\nc = MPI.COMM_WORLD\n\
                print(c.rank, c.size, c.allreduce(c.rank), c.bcast({'a': [1, 2]}))\n";
    fs::write(&script, text).unwrap();
    let said =
        run("redstorm", 4, folder.path(), &place.join("bin/python3"), &[script.to_str().unwrap()]);
    let mut lines: Vec<&str> = said.lines().collect();
    lines.sort_unstable();
    let expected: Vec<String> = (0..4).map(|rank| format!("{rank} 4 6 {{'a': [1, 2]}}")).collect();
    assert_eq!(lines, expected);
}
