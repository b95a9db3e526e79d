//! Programs as people start them: launchers and scripts before them, options of other commands, and the
//! environment of the ranks.

use crate::runner::{command, ended, root, Ended};
use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Compiles an example or a test's program into the folder.
fn built(folder: &Path, source: &str) -> PathBuf {
    let output = folder.join(Path::new(source).file_stem().unwrap());
    ended(command().args(["cc", source, "-o"]).arg(&output)).went_well();
    output
}

fn script(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path.to_str().unwrap().into()
}

fn started<S: AsRef<OsStr>>(words: impl IntoIterator<Item = S>) -> Ended {
    ended(command().arg("run").args(words))
}

fn lines(run: &Ended) -> Vec<&str> {
    let mut lines: Vec<&str> = run.stdout.lines().collect();
    lines.sort_unstable();
    lines
}

/// Checks the lines that a run printed, in the order of its ranks.
#[track_caller]
fn printed(words: &[&str], expected: &[&str]) {
    let run = started([&["-q"], words].concat());
    assert_eq!(lines(run.went_well()), expected, "{words:?}");
}

fn hash(run: &Ended) -> &str {
    run.hash().expect("a hash")
}

/// Launchers before the program cost nothing: the run is the same.
#[test]
fn launchers_may_stand_before_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let program = built(folder.path(), "examples/ring.c");
    let program = program.to_str().unwrap();
    let direct = started(["-n", "2", program]);
    let direct = hash(direct.went_well());
    let exec = script(folder.path(), "exec.sh", &format!("#!/bin/sh\nexec {program} \"$@\"\n"));
    let child = script(folder.path(), "child.sh", &format!("#!/bin/sh\n{program} \"$@\"\n:\n"));
    let slow = format!("date; sleep 0.01; {program}; date");
    let cases: [&[&str]; 10] = [
        &["env", "A=1", program],
        &["nice", program],
        &["taskset", "-c", "0", program],
        &["timeout", "60", program],
        &["sh", "-c", program],
        &["bash", "-c", &format!("exec {program}")],
        &["bash", "-c", &slow],
        &[&exec],
        &["env", "B=2", "timeout", "60", &child],
        &["bash", "-c", &format!("time {program}; true")],
    ];
    for words in cases {
        let run = started([&["-n", "2"], words].concat());
        assert_eq!(run.code, 0, "{words:?}: {run:?}");
        assert!(run.stdout.contains("token 1 after 2 hops"), "{words:?}: {run:?}");
        assert_eq!(hash(&run), direct, "{words:?}");
    }
}

#[test]
fn debuggers_may_stand_before_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let program = built(folder.path(), "examples/ring.c");
    let program = program.to_str().unwrap();
    let direct = started(["-n", "2", program]);
    let note = folder.path().join("calls");
    let cases: [&[&str]; 3] = [
        &["valgrind", "-q", "--error-exitcode=9", program],
        &["gdb", "-q", "-batch", "-ex", "run", "--args", program],
        &["strace", "-f", "-o", note.to_str().unwrap(), program],
    ];
    for words in cases {
        let run = started([&["-n", "2"], words].concat());
        assert_eq!(run.code, 0, "{words:?}: {run:?}");
        assert!(run.stdout.contains("token 1 after 2 hops"), "{words:?}: {run:?}");
        assert_eq!(hash(&run), hash(&direct), "{words:?}");
    }
}

/// A launcher may pass no descriptors on, as Python's `subprocess`.
#[test]
fn a_launcher_may_close_all_files() {
    let folder = tempfile::tempdir().unwrap();
    let program = built(folder.path(), "examples/hello.c");
    let closing = format!("exec 3>&-; {}", program.display());
    let run = started(["-q", "-n", "2", "bash", "-c", &format!("({closing})")]);
    assert!(run.went_well().stdout.contains("hello from rank 1 of 2"), "{run:?}");
}

#[test]
fn only_one_process_of_a_rank_uses_mpi() {
    let folder = tempfile::tempdir().unwrap();
    let program = built(folder.path(), "examples/hello.c");
    let twice = format!("{0} && {0}", program.display());
    let run = started(["-q", "-n", "2", "sh", "-c", &twice]);
    assert!(run.code != 0 && run.stdout.contains("hello from rank 1 of 2"), "{run:?}");
    assert!(run.stderr.contains("a second process that rank"), "{run:?}");
    // One that is linked with MPI and does not call it leaves that to the next.
    let asks = folder.path().join("asks");
    let source = folder.path().join("asks.c");
    std::fs::write(
        &source,
        "#include <mpi.h>\nint main(int c, char **v) { return c > 5 ? MPI_Init(0, &v) : 0; }\n",
    )
    .unwrap();
    ended(command().arg("cc").arg(&source).arg("-o").arg(&asks)).went_well();
    let first = format!("{} && exec {}", asks.display(), program.display());
    started(["-q", "-n", "2", "sh", "-c", &first]).went_well();
}

#[test]
fn a_rank_that_cannot_be_found_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let program = built(folder.path(), "examples/hello.c");
    let run = started(["-q", "-n", "2", "unshare", "-rpf", program.to_str().unwrap()]);
    // Where the system lets nobody make one, that is told.
    let refused = run.stderr.contains("unshare failed");
    assert!(run.code != 0 && (refused || run.stderr.contains("PID namespace")), "{run:?}");
}

#[test]
fn a_program_that_fails_behind_a_launcher_fails() {
    let folder = tempfile::tempdir().unwrap();
    let program = built(folder.path(), "tests/cli/aborting.c");
    let program = program.to_str().unwrap();
    let direct = started(["-q", "-n", "2", program]);
    let run = started(["-q", "-n", "2", "sh", "-c", &format!("{program}; exit 0")]);
    assert_eq!((run.code, &run.stderr), (direct.code, &direct.stderr));
    assert_ne!(run.code, 0);
}

#[test]
fn what_calls_no_mpi_is_told() {
    let run = started(["-q", "-n", "3", "hostname"]);
    assert_eq!(
        lines(run.said(0, &["no process of hostname has used MPI"])),
        ["nid00000", "nid00001", "nid00002"]
    );
}

#[test]
fn ranks_find_who_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let program = built(folder.path(), "tests/cli/around.c");
    let program = program.to_str().unwrap();
    let ranks = ["PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK"];
    let places = ["MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID", "SLURM_NODEID"];
    let sizes = ["PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS", "MPI_LOCALNRANKS"];
    let others = ["SLURM_PROCID", "SLURM_NNODES", "SLURMD_NODENAME", "host", "uname"];
    let words = [&ranks[..], &places, &sizes, &others].concat();
    // Forked from a template, and each started by itself.
    for before in [&[][..], &["env", "X=1"]] {
        let run = [&["-n", "5", "-ppn", "2"], before, &[program], &words].concat();
        printed(
            &run,
            &[
                "0 0 0 0 0 0 0 0 0 5 5 5 2 0 3 nid00000 nid00000 nid00000",
                "1 1 1 1 1 1 1 1 0 5 5 5 2 1 3 nid00000 nid00000 nid00000",
                "2 2 2 2 2 0 0 0 1 5 5 5 2 2 3 nid00001 nid00001 nid00001",
                "3 3 3 3 3 1 1 1 1 5 5 5 2 3 3 nid00001 nid00001 nid00001",
                "4 4 4 4 4 0 0 0 2 5 5 5 1 4 3 nid00002 nid00002 nid00002",
            ],
        );
    }
    let child = "echo $PMI_RANK $(hostname)";
    let all: Vec<String> = (0..2).map(|rank| format!("{rank} nid0000{rank}")).collect();
    let run = started(["-q", "-n", "2", "sh", "-c", child]);
    assert_eq!(lines(&run), all);
}

#[test]
fn environment_and_folder_are_the_programs_own() {
    let folder = tempfile::tempdir().unwrap();
    let program = built(folder.path(), "tests/cli/around.c");
    let program = program.to_str().unwrap();
    let own = folder.path().canonicalize().unwrap();
    let own = own.to_str().unwrap();
    let rest = [program, "A", "B", "PMI_SIZE", "folder"];
    let second = [":", "-n", "1", "-x", "A=3", "-wdir", "/", program, "A", "B", "folder"];
    let before = ["-genv", "A", "1", "--genv", "B=x y", "-n", "1", "-env", "A", "2", "-wdir", own];
    printed(&[&before[..], &rest, &second].concat(), &[&format!("0 2 x y 2 {own}"), "1 3 x y /"]);
    // A user's variable is the user's.
    printed(&["-x", "PMI_RANK=7", "-n", "4", program, "PMI_RANK"], &["0 7", "1 7", "2 7", "3 7"]);
    started(["-q", "-wdir", "/nowhere", program]).said(2, &["no such folder"]);
    started(["-q", "-x", "=3", program]).said(2, &["NAME=VALUE"]);
}

#[test]
fn the_date_is_fixed_or_said() {
    let folder = tempfile::tempdir().unwrap();
    let program = built(folder.path(), "tests/cli/around.c");
    let program = program.to_str().unwrap();
    printed(&[program, "date"], &["0 1970-01-01 00:00"]);
    printed(&["--date", "2024-02-29T23:59", program, "date"], &["0 2024-02-29 23:59"]);
    let run = started(["--date", "2024-02-29", program, "date"]);
    assert!(run.went_well().stdout.contains("date 2024-02-29T00:00:00Z"), "{run:?}");
    let now = started(["-q", "--date", "now", program, "date"]);
    assert!(lines(now.went_well())[0] > "0 2025", "{now:?}");
    for date in ["tomorrow", "1970-06-01", "2023-02-29"] {
        started(["--date", date, program]).said(2, &["--date", date]);
    }
}

#[test]
fn lines_have_their_ranks_or_files() {
    let folder = tempfile::tempdir().unwrap();
    let said = "echo out $PMI_RANK; echo error >&2; printf last";
    let run = started(["-q", "-n", "2", "-l", "sh", "-c", said]);
    assert_eq!(lines(&run), ["[0] last", "[0] out 0", "[1] last", "[1] out 1"]);
    assert!(run.stderr.contains("[0] error\n") && run.stderr.contains("[1] error\n"), "{run:?}");
    let name = folder.path().join("of-%r.txt");
    let run = started(["-q", "-n", "2", "--output", name.to_str().unwrap(), "sh", "-c", said]);
    assert_eq!(run.stdout, "");
    for rank in 0..2 {
        let file = folder.path().join(format!("of-{rank}.txt"));
        let text = std::fs::read_to_string(file).unwrap();
        assert_eq!(text, format!("out {rank}\nerror\nlast"));
    }
    let nowhere = started(["-q", "--output", "/nowhere/x", "sh", "-c", said]);
    nowhere.said(1, &["cannot open the output of rank 0"]);
}

#[test]
fn options_of_others_are_taken_or_ignored() {
    let hello = root().join("examples/hello.c");
    let words = ["-q", "--bind-to", "core", "-hostfile", "x", "-np", "2", "--mca", "btl", "tcp"];
    let run = started(words.iter().map(OsStr::new).chain([hello.as_os_str()]));
    let said = "--bind-to core, -hostfile x, --mca btl tcp: ignored";
    assert_eq!(run.said(0, &[said]).stdout.lines().count(), 2, "{run:?}");
}

#[test]
fn a_brief_summary_has_five_lines() {
    let run = started(["--brief", "-n", "2", "examples/pingpong.c", "0"]);
    let lines: Vec<&str> = run.went_well().stdout.lines().collect();
    let summary = &lines[lines.len() - 5..];
    assert!(summary[0].starts_with("sunstar ") && summary[4].starts_with("Trace hash"), "{run:?}");
    let whole = started(["-n", "2", "examples/pingpong.c", "0"]);
    assert_eq!(hash(whole.went_well()), summary[4]);
    assert!(whole.stdout.contains("-q nothing"), "{whole:?}");
}

/// A server gets its signal at the same simulated time in each run, and may still finish its work.
#[test]
fn a_server_ends_with_those_that_it_serves() {
    let folder = tempfile::tempdir().unwrap();
    let program = built(folder.path(), "tests/cli/server.c");
    let program = program.to_str().unwrap();
    let run = |options: &[&str]| {
        let words = ["-n", "1", "--server", program, ":", "-n", "3", program, "5"];
        let run = started([options, &words].concat());
        let said = ["rank 1: 0 wrong", "rank 2: 0 wrong", "rank 3: 0 wrong", "served 15"];
        for line in said {
            assert!(run.went_well().stdout.lines().any(|own| own == line), "{line}: {run:?}");
        }
        hash(&run).to_owned()
    };
    let alone = run(&[]);
    assert_eq!((run(&["-t", "2"]), run(&["--no-park"])), (alone.clone(), alone));
}

#[test]
fn python_scripts_are_programs() {
    let expected = ["0 3 9 nid00000 True", "1 3 8 nid00001 True", "2 3 9 nid00002 True"];
    printed(&["-n", "3", "tests/cli/ring.py"], &expected);
    printed(&["-n", "3", "python3", "tests/cli/ring.py"], &expected);
    printed(&["-n", "3", "sh", "-c", "exec python3 tests/cli/ring.py"], &expected);
    let folder = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(root().join("tests/cli/ring.py")).unwrap();
    let own = script(folder.path(), "own.py", &format!("#!/usr/bin/env python3\n{text}"));
    printed(&["-n", "3", &own], &expected);
}
