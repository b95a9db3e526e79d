//! The libfabric provider: programs that call libfabric, over Portals on the card, in the kernel, in the host.
//!
//! It needs libfabric's headers and library (Debian: libfabric-dev), as `make test-tools` installs them.

use crate::runner::{command, ended, root};
use std::path::{Path, PathBuf};
use std::process::Command;

const HEADER: &str = "/usr/include/rdma/fabric.h";
const MACHINES: [&str; 3] = ["redstorm-accelerated", "redstorm", "ideal"];

/// The program of a source in `tests/fabric`.
fn built(folder: &Path, source: &Path) -> PathBuf {
    let program = folder.join(source.file_stem().unwrap());
    let mut gcc = Command::new("gcc");
    gcc.args(["-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-o"])
        .arg(&program)
        .arg(source);
    ended(gcc.args(["-lfabric", "-lpthread"])).went_well();
    program
}

/// Each program of `tests/fabric` on each machine that has Portals in another place; twice the same.
#[test]
fn programs_of_libfabric_do_as_its_pages_say() {
    if !Path::new(HEADER).is_file() {
        return eprintln!("skipped: there is no {HEADER}");
    }
    let folder = tempfile::tempdir().unwrap();
    let mut sources: Vec<PathBuf> = std::fs::read_dir(root().join("tests/fabric"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|own| own == "c"))
        .collect();
    sources.sort();
    assert!(sources.len() >= 11, "{sources:?}");
    for source in &sources {
        let program = built(folder.path(), source);
        for machine in MACHINES {
            let hash = |threads: &str| {
                let mut run = command();
                run.args(["run", "--brief", "-n", "2", "-m", machine, "-t", threads]);
                run.env("FI_PROVIDER", "sunstar");
                run.env("FI_PROVIDER_PATH", root().join("build/lib/libfabric"));
                let run = ended(run.arg(&program));
                // What the provider refuses it says on standard error.
                let ended_well = run.code == 0 && run.stdout.lines().any(|line| line == "ok");
                assert!(ended_well, "{run:?}");
                run.hash().expect("a hash").to_owned()
            };
            let name = program.file_name().unwrap().to_string_lossy();
            let [one, two] = ["1", "2"].map(hash);
            // Of a program with threads the system decides which one is first.
            assert!(one == two || name == "threads", "{name} on {machine}: {one}, {two}");
        }
    }
}

/// A program that lists what there is needs no run.
#[test]
fn the_provider_is_listed() {
    if !Path::new("/usr/bin/fi_info").is_file() {
        return eprintln!("skipped: there is no fi_info (Debian: libfabric-bin)");
    }
    let mut list = Command::new("fi_info");
    list.args(["-p", "sunstar"]).env("FI_PROVIDER_PATH", root().join("build/lib/libfabric"));
    assert!(ended(&mut list).went_well().stdout.contains("provider: sunstar"));
}
