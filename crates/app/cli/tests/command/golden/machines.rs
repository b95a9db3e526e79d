//! Tables of all machines in `machines`: programs on the hosts, without guests.
//!
//! Every machine has rows: its programs; some of them simulated in other ways; recovery; random runs with
//! other parameters and faults; files of observers. The first machine of each model also has rows for each
//! kind of faults that it can have. Parameters have rows in tables of their own (`parameters`).

use super::draws::{all_faults, faults, others};
use super::programs;
use super::row::{short, Bench, Place};
use super::table::{hold, hold_some, lines, reviewed, strays, Job, Share, HEAD};
use crate::runner::root;
use des::Random;
use machine::parameters::{Parameter, Parameters};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Options that change how a run is simulated, and nothing else.
const WAYS: [&str; 6] =
    ["-t 2", "--no-park", "--no-translate", "--no-merge", "--cold-boot", "--judge"];

/// Random runs of each machine.
const RANDOM: u64 = 8;

/// The machines by name.
pub fn all() -> Vec<Parameters> {
    let folder = std::fs::read_dir(root().join("machines")).unwrap();
    let mut files: Vec<PathBuf> = folder.map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
    let mut all: Vec<Parameters> =
        files.iter().map(|file| Parameters::load(&models::MODELS, file).unwrap()).collect();
    all.sort_by(|one, other| one.name().cmp(other.name()));
    all
}

/// The machines on which more than guests runs.
pub fn with_programs() -> Vec<Parameters> {
    let place = Place::new();
    let runs = |machine: &Parameters| !has_guests_only(&Bench::new(machine.clone(), &place));
    all().into_iter().filter(runs).collect()
}

/// Jobs for the rows of a machine; none if nothing but guests run on it.
fn jobs<'a>(bench: &'a Bench, first: bool) -> Vec<Job<'a>> {
    let all = programs::all(bench);
    let mut jobs: Vec<Job> = Vec::new();
    let plain =
        |words: String| -> Job<'a> { Box::new(move || vec![bench.row(&words).line(&words)]) };
    // The first machine of a model has all of its programs, the others every second.
    let step = if first { 1 } else { 2 };
    jobs.extend(all.iter().step_by(step).cloned().map(plain));
    jobs.extend(in_other_ways(bench, first));
    if first {
        jobs.extend(with_faults(bench).into_iter().map(plain));
        jobs.push(Box::new(|| vec![cannot(bench)]));
    }
    jobs.extend(programs::of_recovery(bench).into_iter().map(plain));
    let seeds = 1..=RANDOM;
    jobs.extend(seeds.filter_map(|seed| random(bench, &all, seed)).map(plain));
    jobs.push(Box::new(|| files(bench)));
    jobs
}

/// One program in other ways of simulation, or two; RTL in the place of models, if there is some.
fn in_other_ways<'a>(bench: &'a Bench, first: bool) -> Vec<Job<'a>> {
    let model = bench.machine.model();
    let programs: &[&str] = match (model.processes, model.verbs) {
        (true, _) => &["-n 2 builtin:pingpong 100000 10", "-n 5 builtin:traffic 20000 3"],
        (_, true) => &["-n 2 builtin:rdma-incast 264 8", "-n 2 builtin:disk-write 65536 2"],
        _ => &["-n 3 builtin:myrinet-incast 1400 3", "-n 2 builtin:myrinet-pingpong 100 8"],
    };
    let rtl = bench.machine.iter().any(|parameter| parameter.key.ends_with(".rtl"));
    let rtl = if rtl { &["--rtl", "--rtl -t 2"][..] } else { &[] };
    let ways: Vec<&str> = WAYS.iter().chain(rtl).copied().collect();
    let job = |words: &'static str| -> Job<'a> {
        let ways = ways.clone();
        Box::new(move || {
            let plain = bench.row(words);
            let of = |way: &&str| {
                let words = format!("{way} {words}");
                let row = bench.row(&words);
                if row == plain {
                    format!("{:57}the same  {words}", "")
                } else {
                    row.line(&words)
                }
            };
            [vec![plain.line(words)], ways.iter().map(of).collect()].concat()
        })
    };
    programs.iter().take(1 + usize::from(first)).map(|words| job(words)).collect()
}

/// Runs with each kind of faults that the machine can have.
fn with_faults(bench: &Bench) -> Vec<String> {
    let mut all = Vec::new();
    for kind in all_faults(bench.machine.model()) {
        for program in programs::of_faults(bench.machine.model(), kind) {
            let words = faults(kind).into_iter().map(|fault| format!("--fault {fault} {program}"));
            all.extend(words.filter(|words| bench.suited(words).is_some() && ends(bench, words)));
        }
    }
    all
}

/// False for a run that does not end: the handler of a line that is stuck is called again and again, and
/// takes no time on a machine of constants.
fn ends(bench: &Bench, words: &str) -> bool {
    let key = ["host.interrupt_entry", "linux.interrupt_entry"]
        .into_iter()
        .find(|key| bench.machine.is_set(key))
        .expect("hosts have a system");
    let entry = bench.machine.duration(key);
    entry > des::Duration::ZERO || !words.contains("interrupt.stuck=high")
}

/// The kinds that it cannot have.
fn cannot(bench: &Bench) -> String {
    let all = all_faults(bench.machine.model());
    let mut names: BTreeSet<&str> = all.iter().map(|kind| kind.name).collect();
    for words in with_faults(bench) {
        let (name, _) = words["--fault ".len()..].split_once('=').expect("a fault has a value");
        names.remove(name);
    }
    format!("no faults of kinds: {}", names.into_iter().collect::<Vec<_>>().join(" "))
}

/// A program with other ranks, other values of parameters, and with faults.
fn random(bench: &Bench, all: &[String], seed: u64) -> Option<String> {
    let name = machine::digest(bench.machine.name().as_bytes());
    let mut random = Random::new(u64::from_str_radix(&name, 16).unwrap() ^ seed);
    let mut below = |bound: usize| random.below(bound as u64) as usize;
    let program = all.get(below(all.len().max(1)))?;
    let program = program.replace("--until 5ms ", "");
    let (ranks, rest) = program.strip_prefix("-n ")?.split_once(' ')?;
    let mut words = format!("-n {ranks} --seed {seed} --until 5ms {rest}");
    let mut take = |more: String| {
        if bench.suited(&more).is_some() && ends(bench, &more) {
            words = more;
        }
        words.clone()
    };
    let ranks = [2, 3, 4, 5, 8, 9, 16][below(7)];
    let mut last = take(format!("-n {ranks} --seed {seed} --until 5ms {rest}"));
    let drawn = |parameter: &&Parameter| {
        let (key, own) = (parameter.key, bench.machine.models().owner(parameter.key).is_some());
        // Of their own images, of other drivers, and with more nodes than this computer may have memory for.
        let apart = ["firmware.", "guest.", "card.", "net."].iter().any(|of| key.starts_with(of));
        own && (!apart || key == "net.topology") && !key.ends_with(".rtl")
    };
    let parameters: Vec<&Parameter> = bench.machine.iter().filter(drawn).collect();
    for _ in 0..below(3) {
        let parameter = parameters[below(parameters.len())];
        let row = bench.machine.models().row(parameter.key).expect("parameters are rows");
        let values = others(row, parameter);
        let value = &values[below(values.len())];
        last = take(format!("--set {}={value} {last}", parameter.key));
    }
    if below(2) == 0 {
        let kinds = all_faults(bench.machine.model());
        let values = faults(kinds[below(kinds.len())]);
        last = take(format!("--fault {} {last}", values[below(values.len())]));
    }
    Some(last)
}

/// Digests of what observers write about a run.
fn files(bench: &Bench) -> Vec<String> {
    let model = bench.machine.model();
    let program = match (model.processes, model.verbs) {
        (true, _) => "-n 5 builtin:traffic 20000 3",
        (_, true) => "-n 2 builtin:rdma-stream 4104 8",
        _ => "-n 2 builtin:myrinet-stream 3000 3",
    };
    let words: Vec<String> = program.split(' ').map(String::from).collect();
    let folder = tempfile::tempdir_in(&bench.place.folder).unwrap();
    let of = |option: &&str| {
        let file = folder.path().join(option.trim_start_matches('-'));
        bench.run(&[option, file.to_str().unwrap()], &words);
        let digest = std::fs::read(&file).map_or("none".to_string(), |bytes| short(&bytes));
        format!("{:57}file {digest}  {option} FILE {program}", "")
    };
    ["--trace", "--messages", "--calls", "--pcap"].iter().map(of).collect()
}

/// True if the command refuses all programs of a machine but those in guests.
fn has_guests_only(bench: &Bench) -> bool {
    programs::all(bench).first().is_none_or(|words| bench.row(words).0.is_err())
}

/// Rows of tables whose names are those of the folder; each machine that runs more than guests has one.
pub fn hold_all(
    folder: &str,
    share: Share,
    rows: impl for<'a> Fn(&'a Bench, bool, &'a str) -> Vec<Job<'a>>,
) {
    let (place, mut models) = (Place::new(), BTreeSet::new());
    let (mut held, mut wrong) = (BTreeSet::new(), Vec::new());
    for (number, machine) in all().into_iter().enumerate() {
        let (name, model) = (machine.name().to_string(), machine.model());
        let bench = Bench::new(machine, &place);
        if has_guests_only(&bench) {
            assert!(model.guests, "machine {name} has no rows");
            continue;
        }
        let before = reviewed(folder, &name);
        let rows = rows(&bench, models.insert(model.name), &before);
        if !rows.is_empty() {
            let lines = lines(&share.of(number, rows));
            let table = || format!("{HEAD}\n{}\n{}\n", lines.join("\n"), bench.never_counted());
            let compared = match share {
                Share::All => hold(folder, &name, &table()),
                Share::OneOf(_) => hold_some(folder, &name, &lines),
            };
            wrong.extend(compared.err().map(|changed| changed.to_string()));
            held.insert(name);
        }
    }
    wrong.extend(strays(folder, &held));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_third_of_all_runs_is_as_it_was() {
    hold_all("machines", Share::OneOf(3), |bench, first, _| jobs(bench, first));
}

#[test]
#[ignore = "a minute and a half: all rows; make soak"]
fn every_machine_is_as_it_was() {
    hold_all("machines", Share::All, |bench, first, _| jobs(bench, first));
}
