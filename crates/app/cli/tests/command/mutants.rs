//! The judge over whole runs: it sees each bug that is planted in the firmware
//! (firmware/seastar/core/plant.h), nothing in the firmware as it is, and it changes nothing. Bugs in the
//! library: portals/tests/driver/planted.rs.

use crate::runner::{command, ended, root, run, unjudged, Ended};
use std::path::Path;
use std::process::Command;

/// Its name, and what the judge says.
type Bug = (&'static str, &'static [&'static str]);

/// Words of the judge about each bug, in the order of `enum mutant`.
const BUGS: &[Bug] = &[
    ("LOSES_INLINE", &["arrival of a message", "before it, got this one", "s2.2"]),
    ("ANNOUNCES_TWICE", &["arrival of a message", "it comes again", "s2.2"]),
    ("OVERTAKES", &["arrival of a message", "before it, got this one", "s2.2"]),
    ("SPOILS_HEADER", &["match bits in the header that arrived", "s2.2"]),
    ("MISPLACES", &["memory that the network interface writes", "s3.10"]),
    ("DEPOSITS_LESS", &["bytes in memory when message", "s3.11"]),
    ("SENDS_BEHIND", &["memory that the network interface reads", "s3.10"]),
    ("ENDS_TOO_SOON", &["bytes read of message", "when its sending ends", "s3.11"]),
    ("CRIES_WOLF", &["ni_fail_type", "expected \"PTL_NI_OK\"", "s3.11"]),
];

/// The same for bugs in the firmware's matching for accelerated processes, which only such an image has.
const MATCHING_BUGS: &[Bug] = &[
    ("LOSES_UNLINK", &["the judge: node ", "s2.2"]),
    ("HEAD_IS_TAIL", &["match entries looked at", "s2.2"]),
    ("COUNTS_TOO_LATE", &["the judge: node ", "s2.2"]),
    ("HALF_THE_BITS", &["fate of message", "s2.2"]),
    ("OFFSET_STAYS", &["offset of message", "s2.2"]),
    ("TAKES_TOO_LONG", &["length of message", "s2.2"]),
    ("LOSES_ACK", &["acknowledgement"]),
    ("FORGETS_POST", &["match entries looked at", "s2.2"]),
];

/// The same of its atomic operations.
const ATOMIC_BUGS: &[Bug] = &[
    ("LOSES_CARRY", &["memory after the", "brightwell2007"]),
    ("SWAPS_ALWAYS", &["memory after the", "brightwell2007"]),
    ("ANSWERS_NEW", &["payload of message", "s3.13"]),
];

/// The same for bugs in the recovery when pendings have run out.
const RECOVERY_BUGS: &[Bug] = &[
    ("REFUSES_LATER", &["the judge: node "]),
    ("TAKES_REFUSED", &["arrival of a message", "before it, got this one", "s2.2"]),
    ("REPEATS_TAKEN", &["arrival of a message", "it comes again", "s2.2"]),
    ("KEEPS_BACKWARDS", &["arrival of a message", "before it, got this one", "s2.2"]),
    ("FREES_EARLY", &["the judge: node "]),
    ("RESUMES_ANYWHERE", &["arrival of a message", "before it, got this one", "s2.2"]),
];

/// The machine whose firmware does the matching.
const MATCHING: &str = "redstorm-accelerated";
/// A machine with eight pendings for messages from five nodes.
/// Those of collective operations, which `make -C firmware/seastar test` finds without a machine.
const FOUND_NATIVELY: [&str; 2] = ["MEETS_NOBODY", "REDUCES_TWICE"];
const FEW: &str = "-n 6 --set portals.accelerated_tx_pendings=376 tests/network/flood.c 30";

/// Runs a program on an installation whose firmware has a bug, or none.
fn run_with(machine: &str, program: &str, bug: usize, installation: &Path, images: &Path) -> Ended {
    let variant = "cache-id_inline-on_shadow-on_trace-off_pinned-on";
    let variant = match machine {
        MATCHING => format!("{variant}_accelerated-on_overflow-nic"),
        _ => variant.to_string(),
    };
    let firmware = installation.join("build/firmware").join(variant);
    std::fs::create_dir_all(&firmware).unwrap();
    for file in ["seastar.elf", "seastar.img", "shim.img"] {
        std::fs::copy(images.join(bug.to_string()).join(file), firmware.join(file)).unwrap();
    }
    let mut command = command();
    command.env("SUNSTAR_ROOT", installation);
    command.args(["run", "--judge", "--quiet", "--machine", machine]).args(program.split(' '));
    ended(&mut command)
}

fn make_mutants(build: &Path, options: &[&str]) {
    let make = Command::new("make")
        .args(["--silent", "planted", "-C"])
        .arg(root().join("firmware/seastar"))
        .arg(format!("BUILD={}", build.display()))
        .args(options)
        .env_remove("MAKEFLAGS")
        .status();
    assert!(make.unwrap().success());
}

#[test]
fn every_bug_in_the_firmware_s_matching_and_recovery_is_found() {
    let build = root().join("build/planted");
    make_mutants(&build, &["ACCELERATED=on", "OVERFLOW=nic"]);
    let folder = tempfile::tempdir().unwrap();
    assert!(crate::usage_errors::installation(folder.path()));
    let images = build.join("planted-accelerated-recovering");
    let run = |program, bug| run_with(MATCHING, program, bug, folder.path(), &images);
    let matching = "-n 2 tests/judge/matching.c";
    assert_eq!(run(matching, 0).went_well().stdout, "0 wrong\n0 wrong\n");
    run(FEW, 0).went_well();
    let atomics = "-n 2 tests/portals/atomics.c";
    run(atomics, 0).went_well();
    let of = |bugs: &'static [Bug], program| bugs.iter().map(move |bug| (bug, program));
    let all = of(MATCHING_BUGS, matching).chain(of(ATOMIC_BUGS, atomics));
    let all = all.chain(of(RECOVERY_BUGS, FEW));
    for (number, ((name, words), program)) in all.enumerate() {
        let ended = run(program, BUGS.len() + 1 + number);
        let found = words.iter().all(|word| ended.stderr.contains(word));
        assert!(found && ended.stderr.contains("the judge: node "), "{name}: {ended:#?}");
    }
}

#[test]
fn every_bug_in_the_firmware_is_found() {
    let build = root().join("build/planted");
    make_mutants(&build, &[]);
    let header = root().join("firmware/seastar/core/plant.h");
    let header = std::fs::read_to_string(header).unwrap();
    let names = header.lines().filter_map(|line| line.trim().strip_prefix("PLANT_"));
    let names: Vec<&str> = names.filter_map(|line| line.split([' ', ',']).next()).collect();
    let all = [BUGS, MATCHING_BUGS, ATOMIC_BUGS, RECOVERY_BUGS];
    let known = all.into_iter().flatten().map(|(name, _)| *name).chain(FOUND_NATIVELY);
    assert_eq!(names, known.collect::<Vec<_>>());

    let folder = tempfile::tempdir().unwrap();
    assert!(crate::usage_errors::installation(folder.path()));
    let images = build.join("planted");
    let run = |bug| run_with("redstorm", "-n 2 tests/judge/mixed.c", bug, folder.path(), &images);
    let none = run(0);
    assert_eq!(none.went_well().stdout, "0 wrong bytes\n0 wrong bytes\n");
    for (number, (_, words)) in BUGS.iter().enumerate() {
        let ended = run(number + 1);
        ended.said(1, words).said(1, &["the judge: node ", "at ", " us"]);
        let reports = ended.stderr.lines().filter(|line| line.contains("the judge")).count();
        assert_eq!(reports, 1, "{ended:#?}");
    }
}

/// The line of a summary that begins with `start`.
fn line<'a>(summary: &'a str, start: &str) -> Option<&'a str> {
    summary.lines().find(|line| line.starts_with(start))
}

/// The judge changes nothing, although it gets each event by itself, while without it packets are moved in
/// bulk if nothing else is due and the processor is not needed.
#[test]
fn the_judge_changes_nothing() {
    for program in [
        "-n 3 tests/cli/traffic.c",
        "-n 2 examples/portals_put.c",
        "-n 2 --machine redstorm-linux examples/pingpong.c 100000",
        "-n 8 -t 2 builtin:allreduce 8 3",
        "-n 8 --set nic.tx_buffers=1 builtin:halo 3000 3",
        "-n 27 builtin:halo 20000 2",
        "-n 8 --set nic.tx_buffers=2 --set nic.rx_buffers=1 builtin:traffic 3000 3",
        "-n 8 --set net.credit_batch=1 --set net.input_queue=10 builtin:alltoall 1000 2",
        "-n 4 --set host.os=linux builtin:exchange 9000 3",
    ] {
        let (judged, free) = (run(program), unjudged(&format!("run {program}")));
        let (judged, free) = (judged.went_well(), free.went_well());
        let hash = line(&judged.stdout, "Trace hash");
        assert!(hash.is_some() && hash == line(&free.stdout, "Trace hash"), "{program}");
        assert!(line(&judged.stdout, "Judged").is_some(), "{program}");
        assert!(line(&free.stdout, "Judged").is_none(), "{program}");
    }
}
