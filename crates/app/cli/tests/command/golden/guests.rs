//! Tables of all machines whose hosts can be Linux guests.
//!
//! A guest's run depends on neither the caller nor the folder (docs/decisions/0136), but on its kernel, and
//! on the system calls of this computer's loader, shell and tools. The first line of a table names those with
//! which it was made. With others only the status of each run is compared, and the test says so.

use super::draws::{all_faults, faults, others};
use super::machines::all;
use super::row::{joined, short, Bench, Place};
use super::table::{hold, hold_some, lines, reviewed, strays, Job, Share, HEAD};
use crate::guests::build_bell;
use crate::runner::root;
use std::collections::BTreeSet;
use std::path::Path;

/// Files that guests execute beside their programs, but for the kernel.
const TOOLS: [&str; 6] = [
    "/lib/x86_64-linux-gnu/libc.so.6",
    "/lib64/ld-linux-x86-64.so.2",
    "/bin/sh",
    "/bin/sleep",
    "/bin/ping",
    "/sbin/insmod",
];

/// Folder in which the driver of machine bell stands while the table is made.
const BELL: &str = "BELL";

/// A driver that is loaded, and round trips between two nodes.
const ROUNDS: &str = "-n|1|sh|-c|insmod BELL/bell.ko; sleep 0.01; BELL/rounds 0 5|:|\
    -n|1|sh|-c|insmod BELL/bell.ko; BELL/rounds 1 5";
const ROUNDS_BY_LINE: &str =
    "-n|1|sh|-c|insmod BELL/bell.ko messages=0; sleep 0.01; BELL/rounds 0 5|:|\
    -n|1|sh|-c|insmod BELL/bell.ko messages=0; BELL/rounds 1 5";
const PING: &str = "-n|1|--server|sleep|1d|:|-n|1|ping|-c|3|-i|0.01|node0";

/// Runs of a machine; words are parted by bars. The first is made in other ways, too.
fn runs(bench: &Bench) -> Vec<String> {
    let model = bench.machine.model();
    let by_bypass = || bench.machine.choice("card.module") == "bypass";
    let runs: &[&str] = match model.name {
        "bell" => &[ROUNDS, ROUNDS_BY_LINE],
        "ethernet" => &[PING, "-n|2|--until|50ms|examples/studies/udp_pingpong.c|1"],
        "myrinet" if by_bypass() => &[
            "-n|2|examples/bypass_pingpong.c|1",
            "--fault|link.drop=0.05|--fault|link.biterror=1e-5|-n|3|tests/bypass/random.c|20|1",
        ],
        "myrinet" if bench.machine.name() == "amata" => &[
            "-n|2|examples/dp_pingpong.c|1",
            "-n|2|examples/pingpong.c|0",
            "--judge|--until|80ms|--fault|link.drop=0.02|--fault|interrupt.late=0.2:40us|\
             --fault|switch.stuck=0.05:100us|-n|3|tests/soak/dp.c|1|5|3",
            "--fault|link.drop=0.03|--fault|link.biterror=2e-5|-n|3|tests/mpi/operations.c",
        ],
        "myrinet" => &["-n|2|tests/dp/channels.c"],
        other => panic!("model {other} has guests and no rows"),
    };
    runs.iter().map(|run| (*run).to_string()).collect()
}

/// Each parameter and each kind of faults of a machine that runs nothing but guests.
fn changed(bench: &Bench) -> Vec<String> {
    let program = match bench.machine.model().name {
        "bell" => ROUNDS,
        "ethernet" => PING,
        _ => return Vec::new(),
    };
    let sets = parameters(bench).into_iter().map(|set| format!("--set|{set}|{program}"));
    let faults = with_faults(bench).into_iter();
    let faults = faults.map(|fault| format!("--until|30ms|--fault|{fault}|{program}"));
    sets.chain(faults).collect()
}

/// Each parameter of its model with another value; those of all guests on one machine only.
fn parameters(bench: &Bench) -> Vec<String> {
    let models = bench.machine.models();
    let own = bench.machine.iter().filter(|one| {
        let of_guests = one.key.starts_with("guest.");
        match of_guests {
            true => bench.machine.name() == "ethernet",
            false => models.owner(one.key).is_some(),
        }
    });
    let other = |one: &machine::parameters::Parameter| {
        let row = models.row(one.key).expect("parameters are rows");
        let set = others(row, one).into_iter().map(|value| format!("{}={value}", one.key));
        set.into_iter().find(|set| bench.suited(&format!("-n 2 --set {set} x")).is_some())
    };
    own.filter_map(other).collect()
}

/// A fault of each kind that the machine can have.
fn with_faults(bench: &Bench) -> Vec<String> {
    let one = |kind| {
        let mut all = faults(kind).into_iter();
        all.find(|fault| bench.suited(&format!("-n 2 --fault {fault} x")).is_some())
    };
    all_faults(bench.machine.model()).into_iter().filter_map(one).collect()
}

/// The kernel, and a digest of the tools.
fn identity() -> String {
    let kernel = std::fs::read_link(root().join("build/linux/current")).unwrap();
    let tools = TOOLS.iter().flat_map(|tool| std::fs::read(tool).unwrap_or_default());
    format!("kernel {}, tools {}", kernel.display(), short(&tools.collect::<Vec<u8>>()))
}

/// The row of a run, and whether it is the same on two threads.
fn row(bench: &Bench, run: &str, bell: &Path, threads: bool) -> Vec<String> {
    let words: Vec<String> = run.split('|').map(String::from).collect();
    let placed: Vec<String> =
        words.iter().map(|word| word.replace(BELL, bell.to_str().unwrap())).collect();
    let one = bench.make(&placed);
    let mut all = vec![one.line(&joined(&words))];
    if threads {
        let two = bench.make(&[&["-t", "2"].map(String::from)[..], &placed].concat());
        let same = if two == one { "the same" } else { "NOT the same" };
        all.push(format!("{:57}{same}  -t 2 {}", "", joined(&words)));
    }
    all
}

/// Columns of a table that do not depend on kernel and tools: status and words.
fn stable(table: &str) -> Vec<String> {
    let rows = table.lines().filter(|line| line.contains("  -"));
    let of = |line: &str| {
        let (columns, words) = line.split_once("  -").expect("rows have words");
        format!("{} -{words}", columns.split_whitespace().nth(2).unwrap_or_default())
    };
    rows.map(of).collect()
}

/// Compares the tables of all machines with guests.
fn hold_all(
    folder: &str,
    share: Share,
    runs: fn(&Bench) -> Vec<String>,
    threads: fn(&str) -> bool,
) {
    let (place, mut held, mut wrong) = (Place::new(), BTreeSet::new(), Vec::new());
    let bell = place.folder.path().join(BELL);
    std::fs::create_dir(&bell).unwrap();
    build_bell(&bell);
    for machine in all().into_iter().filter(|machine| machine.model().guests) {
        let name = machine.name().to_string();
        let bench = Bench::new(machine, &place);
        let runs = runs(&bench);
        let job = |(at, run): (usize, &String)| -> Job {
            let (bench, bell, run): (_, &Path, _) = (&bench, &bell, run.clone());
            Box::new(move || row(bench, &run, bell, at == 0 && threads(bench.machine.name())))
        };
        let jobs: Vec<Job> = runs.iter().enumerate().map(job).collect();
        if jobs.is_empty() {
            continue;
        }
        let identity = identity();
        let lines = lines(&share.of(0, jobs));
        let before = reviewed(folder, &name);
        let renewed = std::env::var("INSTA_UPDATE").is_ok_and(|how| how == "always");
        if renewed || before.is_empty() || before.starts_with(&identity) {
            let rows = lines.join("\n");
            let table = || format!("{identity}\n{HEAD}\n{rows}\n{}\n", bench.never_counted());
            let compared = match share {
                Share::All => hold(folder, &name, &table()),
                Share::OneOf(_) => hold_some(folder, &name, &lines),
            };
            wrong.extend(compared.err().map(|changed| changed.to_string()));
        } else {
            println!("{name}: kernel or tools are not those of the table; statuses are compared");
            let (rows, there) = (stable(&lines.join("\n")), stable(&before));
            let others: Vec<_> = rows.iter().filter(|row| !there.contains(row)).collect();
            assert!(others.is_empty(), "machine {name}: {others:#?}");
            assert!(share != Share::All || rows.len() == there.len(), "machine {name}");
        }
        held.insert(name);
    }
    wrong.extend(strays(folder, &held));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
#[cfg_attr(not(kernel), ignore = "there is no kernel for guests: sunstar guest --prepare")]
fn a_run_of_each_machine_with_guests_is_as_it_was() {
    hold_all("guests", Share::OneOf(4), runs, |name| ["bell", "ethernet"].contains(&name));
}

#[test]
#[ignore = "half a minute: all rows; make soak"]
fn every_machine_with_guests_is_as_it_was() {
    hold_all("guests", Share::All, runs, |name| ["bell", "ethernet"].contains(&name));
}

#[test]
#[ignore = "long: each parameter and fault of cards for guests; make soak"]
fn every_parameter_of_cards_for_guests_does_what_it_did() {
    hold_all("guests/parameters", Share::All, changed, |_| false);
}
