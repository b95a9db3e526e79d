//! Tools between a program and MPI (MPI 5.0, 15.2), in each of the ways in which they get there.

use crate::runner::{command, ended, root};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles a source in `tests/cli` into the folder.
fn built(folder: &Path, name: &str, options: &[&str]) -> PathBuf {
    let output = folder.join(name);
    let mut compiler = command();
    compiler.current_dir(root().join("tests/cli")).arg("cc").args(options).arg("-o").arg(&output);
    ended(&mut compiler).went_well();
    output
}

fn library(folder: &Path, name: &str, options: &[&str]) -> PathBuf {
    built(folder, name, &[&["-shared", "-fPIC"], options].concat())
}

/// The program with a library named `lib{name}.so`, from the folder, before that of MPI.
fn linked(folder: &Path, output: &str, name: &str, options: &[&str]) -> PathBuf {
    let (place, path) =
        (format!("-L{}", folder.display()), format!("-Wl,-rpath,{}", folder.display()));
    let name = format!("-l{name}");
    let words = ["watched.c", "-Wl,--no-as-needed", &place, &name, &path];
    built(folder, output, &[&words, options].concat())
}

/// Command for a run of a program on `ranks`, to which words may be added.
fn running(program: &Path, ranks: u32) -> Command {
    let mut run = command();
    run.args(["run", "-q", "-n", &ranks.to_string()]).arg(program);
    run
}

/// Checks that all ranks have printed the tool's counts.
#[track_caller]
fn counted(run: &mut Command, ranks: u32) {
    let run = ended(run);
    let mut lines: Vec<&str> = run.went_well().stdout.lines().collect();
    lines.sort_unstable();
    let expected: Vec<String> = (0..ranks).map(|rank| format!("rank {rank} sends 3")).collect();
    assert_eq!(lines, expected, "{run:?}");
}

#[test]
fn a_tool_in_the_program_is_entered() {
    let folder = tempfile::tempdir().unwrap();
    for options in [&["-DTOOL"][..], &["-DTOOL", "-DNEXT"]] {
        let program = built(folder.path(), "program", &[&["watched.c"], options].concat());
        counted(&mut running(&program, 2), 2);
        counted(&mut running(&program, 6), 6); // forked from a template
    }
}

#[test]
fn a_tool_linked_before_mpi_is_entered() {
    let folder = tempfile::tempdir().unwrap();
    for options in [&["tool.c"][..], &["tool.c", "-DNEXT"]] {
        library(folder.path(), "libtool.so", options);
        let program = linked(folder.path(), "program", "tool", &[]);
        counted(&mut running(&program, 2), 2);
        counted(&mut running(&program, 6), 6);
    }
}

/// A tool works that another library of the program brings along, which itself is linked with MPI's.
#[test]
fn a_tool_that_a_library_brings_along_is_entered() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().to_str().unwrap();
    library(folder.path(), "libtool.so", &["tool.c"]);
    let (place, path) = (format!("-L{at}"), format!("-Wl,-rpath,{at}"));
    let words = ["watched.c", "-Dmain=work", "-Wl,--no-as-needed", &place, "-ltool", &path];
    let work = library(folder.path(), "libwork.so", &words);
    let source = folder.path().join("main.c");
    std::fs::write(
        &source,
        "int work(int, char **);\nint main(int c, char **v) { return work(c, v); }\n",
    )
    .unwrap();
    let program = folder.path().join("program");
    let mut compiler = Command::new("gcc");
    compiler
        .arg(&source)
        .arg(&work)
        .args([&path, "-Wl,--unresolved-symbols=ignore-in-shared-libs"]);
    ended(compiler.arg("-o").arg(&program)).went_well();
    counted(&mut running(&program, 2), 2);
}

#[test]
fn a_preloaded_tool_is_entered() {
    let folder = tempfile::tempdir().unwrap();
    let program = built(folder.path(), "program", &["watched.c"]);
    for options in [&["tool.c"][..], &["tool.c", "-DNEXT"]] {
        let tool = library(folder.path(), "libtool.so", options);
        for ranks in [2, 6] {
            // The command loads it, too, and then has to find what it needs.
            let mut run = running(&program, ranks);
            counted(
                run.env("LD_PRELOAD", &tool).env("LD_LIBRARY_PATH", root().join("build/lib")),
                ranks,
            );
        }
    }
}

/// A folder with a blank cannot be in the list of preloaded libraries.
#[test]
fn a_tool_in_a_folder_with_a_blank_is_entered() {
    let folder = tempfile::Builder::new().prefix("two words ").tempdir().unwrap();
    library(folder.path(), "libtool.so", &["tool.c"]);
    counted(&mut running(&linked(folder.path(), "program", "tool", &[]), 2), 2);
}

/// Work of a tool besides its calls costs the program no simulated time.
#[test]
fn a_tool_that_only_counts_does_not_change_the_run() {
    let folder = tempfile::tempdir().unwrap();
    library(folder.path(), "libtool.so", &["tool.c", "-DSILENT"]);
    let hash = |program: &Path| {
        let mut run = command();
        let run = ended(run.args(["run", "-n", "2"]).arg(program));
        let text = &run.went_well().stdout;
        text.lines().find(|line| line.starts_with("Trace hash")).unwrap().to_owned()
    };
    let plain = built(folder.path(), "plain", &["watched.c"]);
    let tooled = linked(folder.path(), "tooled", "tool", &[]);
    assert_eq!(hash(&plain), hash(&tooled));
}

#[test]
fn clocks_of_the_programs_own_win() {
    let folder = tempfile::tempdir().unwrap();
    let stopped = library(folder.path(), "libstopped.so", &["stopped.c"]);
    let program = linked(folder.path(), "linked", "stopped", &["-DCLOCK"]);
    ended(&mut running(&program, 2)).went_well();
    let program = built(folder.path(), "preloading", &["watched.c", "-DCLOCK"]);
    ended(running(&program, 2).env("LD_PRELOAD", &stopped)).went_well();
    // Without it they are ours.
    assert_eq!(ended(&mut running(&program, 2)).code, 3);
}

/// The library of MPI is Sunstar's, whatever paths a program has built in.
#[test]
fn another_library_of_the_same_name_is_not_taken() {
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("libmpi_abi.so.1");
    let mut compiler = Command::new("gcc");
    compiler.current_dir(root().join("tests/cli")).args(["-shared", "-fPIC", "stopped.c"]);
    ended(compiler.args(["-Wl,-soname,libmpi_abi.so.1", "-o"]).arg(&other)).went_well();
    let old = "-Wl,--disable-new-dtags"; // a path that comes before the environment's
    library(folder.path(), "libtool.so", &["tool.c"]);
    counted(&mut running(&linked(folder.path(), "program", "tool", &[old]), 2), 2);
}
