//! The libfabric provider: programs of libfabric over Portals, on the card, in the kernel, in the host.
//!
//! It needs libfabric's headers and library (Debian: libfabric-dev), as `make test-tools` installs them.

use crate::runner::{command, ended, root};
use serde_json::Value;
use std::collections::BTreeSet;
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

/// Report of a run of `counted` with these settings.
fn report(program: &Path, machine: &str, settings: &[String]) -> Value {
    let mut run = command();
    run.args(["run", "-q", "--judge", "--json", "-", "-n", "2", "-m", machine]);
    run.args(settings.iter().flat_map(|setting| ["--set", setting]));
    let run = ended(run.arg(program));
    assert!(run.code == 0 && run.stderr == "ok\n", "{machine}: {}", run.stderr);
    serde_json::from_str(&run.stdout).unwrap()
}

fn counted(folder: &Path) -> PathBuf {
    built(folder, &root().join("tests/fabric/counted.c"))
}

/// The program says how often it calls what; all reports have the same, on machines that match in the
/// firmware, in the kernel, and in the host.
#[test]
fn calls_messages_and_queues_of_libfabric_are_counted() {
    if !Path::new(HEADER).is_file() {
        return eprintln!("skipped: there is no {HEADER}");
    }
    let folder = tempfile::tempdir().unwrap();
    let program = counted(folder.path());
    let long = 1 << 20;
    for machine in MACHINES {
        let report = report(&program, machine, &[]);
        let ranks = report["account"].as_array().unwrap();
        let call = |rank: usize, name: &str| {
            let calls = ranks[rank]["calls"].as_array().unwrap();
            let found = calls.iter().find(|call| call["call"] == name);
            found.map_or([0; 3], |call| {
                ["times", "messages", "bytes"].map(|count| call[count].as_u64().unwrap())
            })
        };
        for rank in ranks {
            for call in rank["calls"].as_array().unwrap() {
                let name = call["call"].as_str().unwrap();
                // The process leaves Portals at its end.
                assert!(name.starts_with("fi_") || name == "PtlFini", "{machine}: {call:#}");
            }
        }
        assert_eq!(call(0, "fi_tsend"), [4, 4, 3 * 64 + long], "{machine}");
        assert_eq!(call(0, "fi_tinject"), [2, 2, 2 * 64], "{machine}");
        assert_eq!(call(0, "fi_send"), [1, 1, 64], "{machine}");
        assert_eq!(call(0, "fi_write"), [1, 1, 512], "{machine}");
        assert_eq!(call(0, "fi_read"), [1, 1, 512], "{machine}");
        assert_eq!(call(0, "fi_fetch_atomic"), [1, 1, 8], "{machine}");
        assert_eq!(call(1, "fi_trecv"), [3 + 2 + 1 + 1, 0, 0], "{machine}");
        assert_eq!(call(1, "fi_recv"), [1, 0, 0], "{machine}");
        for name in ["fi_endpoint", "fi_enable", "fi_mr_reg", "fi_av_insert", "fi_cancel"] {
            assert_eq!(call(1, name), [1, 0, 0], "{machine}: {name}");
        }
        let queues = |rank: usize| {
            let names = ["posted", "unexpected", "unexpected_most", "searches", "searched"];
            names.map(|name| ranks[rank][name].as_u64().unwrap())
        };
        assert_eq!(queues(0), [1, 0, 0, 0, 0], "{machine}");
        assert_eq!(queues(1), [3 + 1 + 1 + 1, 2, 2, 2, 2 + 1], "{machine}");
        let classes = report["breakdowns"].as_array().unwrap();
        let class = |kind: &str, bytes: u64| {
            let is = |class: &&Value| class["kind"] == kind && class["bytes_most"] == bytes;
            classes.iter().find(is).unwrap_or_else(|| panic!("{machine}: no {kind}: {classes:#?}"))
        };
        let short = class("send", 64);
        assert_eq!(short["messages"], 3 + 2 + 1, "{machine}");
        let provider = &short["steps"][0];
        assert_eq!(provider["name"], "libfabric provider, send", "{machine}");
        assert_eq!(class("send", long)["messages"], 1, "{machine}");
        assert_eq!(class("send", long)["protocol"], "rendezvous", "{machine}");
        for (kind, bytes) in [("put", 512), ("get", 512), ("atomic", 8)] {
            assert_eq!(class(kind, bytes)["messages"], 1, "{machine}: {kind}");
        }
        let left = &report["messages"]["unfinished"];
        assert_eq!(left["on_the_way"], 0, "{machine}");
    }
}

/// A call that is said to take longer does.
#[test]
fn each_parameter_of_libfabric_acts() {
    if !Path::new(HEADER).is_file() {
        return eprintln!("skipped: there is no {HEADER}");
    }
    let folder = tempfile::tempdir().unwrap();
    let program = counted(folder.path());
    let report = |settings: &[String]| report(&program, "ideal", settings);
    let before = report(&[]);
    let values = before["machine"]["values"].as_object().unwrap();
    let keys: Vec<_> = values.keys().filter(|key| key.starts_with("fabric.")).collect();
    assert!(keys.len() >= 15, "{keys:?}");
    let time = |report: &Value| report["simulated_ns"].as_f64().unwrap();
    for key in keys {
        let after = report(&[format!("{key}=900us")]);
        assert!(time(&after) > time(&before) + 500e3, "{key}: {} {}", time(&before), time(&after));
    }
}

/// The provider tells of each call that the simulator has a time for, and of no other.
#[test]
fn the_provider_tells_of_all_its_calls() {
    let text = |path: PathBuf| std::fs::read_to_string(path).unwrap();
    let layout: toml::Table = text(root().join("abi/rank/channel.toml")).parse().unwrap();
    let enums = layout["enum"].as_array().unwrap();
    let calls = enums.iter().find(|found| found["name"].as_str() == Some("fabric_call")).unwrap();
    let known: BTreeSet<String> = calls["values"]
        .as_array()
        .unwrap()
        .iter()
        .map(|value| value["name"].as_str().unwrap().to_owned())
        .collect();
    let mut told = BTreeSet::new();
    for entry in std::fs::read_dir(root().join("lib/fabric")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|own| own == "c") {
            let source = text(path);
            let after = source.split("    CALL(").skip(1);
            told.extend(after.map(|rest| rest.split(')').next().unwrap().to_owned()));
        }
    }
    assert_eq!(told, known);
}

/// A program that looks in vain for long sees its memory and its clock not much later: between two looks at
/// its memory it looks at two queues.
#[test]
fn long_waits_end_by_memory_and_clocks() {
    if !Path::new(HEADER).is_file() {
        return eprintln!("skipped: there is no {HEADER}");
    }
    let folder = tempfile::tempdir().unwrap();
    let program = built(folder.path(), &root().join("tests/cli/flag.c"));
    let mut run = command();
    let run = ended(run.args(["run", "-q", "-n", "2", "-m", "ideal"]).arg(&program));
    let late = |word: &str| {
        let text = &run.went_well().stdout;
        let line = text.lines().find_map(|line| line.strip_prefix(word)).expect("it says so");
        line.trim().trim_end_matches(" us late").parse::<u64>().unwrap()
    };
    assert!(late("seen") <= 2 * 200_000 / 64 + 300, "{run:?}");
    assert!(late("ended") <= 20, "{run:?}");
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
