//! Directed Point against its specification (`spec::directed_point`): random programs with faults, and bugs
//! in control program and module that are found.

use crate::amata::faulty;
use crate::dp::module;
use crate::guests::hash_and_output;
use crate::runner::{command, ended, root, Ended};
use crate::seeds::number;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Seeds of one run of the random program: a guest boots once for them. Fewer for a bug, with which drivers
/// may wait for the card until the end.
const SEEDS: u64 = 20;
const SEEDS_OF_BUG: u64 = 8;

/// Words of a judged run of the random program, with so many seeds from `first` on, each of 10 ms.
fn random((first, seeds): (u64, u64), nodes: u32, faults: &[&str]) -> Vec<String> {
    let time = format!("{}ms", 10 * seeds + 30);
    let [first, seeds, nodes] = [first.to_string(), seeds.to_string(), nodes.to_string()];
    let faults = faults.iter().flat_map(|fault| ["--fault", fault]);
    let words = ["-m", "amata", "--judge", "--until", &time, "--seed", &first, "-n", &nodes];
    let program = ["tests/soak/dp.c", &first, &seeds, &nodes];
    words.into_iter().chain(faults).chain(program).map(String::from).collect()
}

/// Packets that were read and compared.
fn judged(words: &[String]) -> u64 {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("json");
    ended(command().args(["run", "-q", "--json"]).arg(&file).args(words)).went_well();
    let json: serde_json::Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    assert_eq!(json["judged"]["silent_nodes"], 0, "{words:?}");
    json["judged"]["messages"].as_u64().unwrap()
}

/// Faults of a run by its first seed; none of them breaks a rule.
const FAULTS: [&[&str]; 7] = [
    &[],
    &["link.drop=0.05"],
    &["link.biterror=1e-5"],
    &["interrupt.late=0.2:40us"],
    &["link.drop=0.02@0", "link.biterror=2e-5@1", "interrupt.late=0.1:100us@1"],
    &["host.slow=3@1"],
    &["switch.stuck=0.05:100us"],
];

#[test]
#[cfg_attr(not(kernel), ignore = "there is no kernel for guests: sunstar guest --prepare")]
fn random_programs_follow_the_specification_with_faults() {
    let faults = &["link.drop=0.02", "link.biterror=1e-5", "interrupt.late=0.1:40us"];
    let words = random((1, SEEDS_OF_BUG), 3, faults);
    let read = judged(&words);
    assert!(read > 80, "{read}");
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    // Guests that write at about the same time do so in any order.
    let [one, other] = ["1", "2"].map(|threads| {
        let (hash, output) = hash_and_output(threads, &words);
        let mut lines: Vec<String> = output.lines().map(Into::into).collect();
        lines.sort_unstable();
        (hash, lines)
    });
    assert_eq!(one, other);
}

#[test]
#[ignore = "an hour: SOAK_FIRST and SOAK_SEEDS choose the seeds, 10,000 of them by default"]
fn ten_thousand_random_programs_follow_the_specification() {
    let (first, seeds) = (number("SOAK_FIRST", 1000), number("SOAK_SEEDS", 10_000));
    let mut read = 0;
    for first in (first..first + seeds).step_by(SEEDS as usize) {
        let run = first / SEEDS;
        read += judged(&random(
            (first, SEEDS),
            2 + run as u32 % 3,
            FAULTS[run as usize % FAULTS.len()],
        ));
    }
    println!("{seeds} programs, {read} packets were read");
}

/// Outputs of switches that are stuck for a while hold packets up, and lose none.
#[test]
#[cfg_attr(not(kernel), ignore = "there is no kernel for guests: sunstar guest --prepare")]
fn random_programs_follow_the_specification_behind_stuck_outputs() {
    let words =
        random((3, SEEDS_OF_BUG / 2), 3, &["switch.stuck=0.1:80us", "switch.stuck=0.05:2ms@1"]);
    let folder = tempfile::tempdir().unwrap();
    let told = |threads: &str| -> serde_json::Value {
        let file = folder.path().join("json");
        let mut command = command();
        command.args(["run", "-q", "-t", threads, "--json"]).arg(&file).args(&words);
        ended(&mut command).went_well();
        serde_json::from_slice(&fs::read(&file).unwrap()).unwrap()
    };
    let (one, two) = (told("1"), told("2"));
    for key in ["trace_hash", "judged", "messages", "switches"] {
        assert_eq!(one[key], two[key], "{key}");
    }
    assert!(one["judged"]["messages"].as_u64().unwrap() > 25, "{}", one["judged"]);
    assert_eq!(one["messages"]["unfinished"]["on_the_way"], 0);
    let counters = &one["switches"][0]["counters"];
    assert!(counters["stuck"].as_u64().unwrap() > 5, "{counters}");
    assert_eq!((&counters["bytes_held"], &counters["dropped"]), (&0.into(), &0.into()));
    let wire = one["breakdowns"].as_array().unwrap().iter();
    let wire = wire.flat_map(|class| class["steps"].as_array().unwrap());
    let wire = wire.filter(|step| step["name"] == "cables and switches");
    let most = wire.map(|step| step["most_ns"].as_f64().unwrap()).fold(0.0, f64::max);
    assert!(most > 80_000.0, "{most} ns");
}

/// Packets before an output that is stuck for ever are lost, and the judge knows why.
#[test]
#[cfg_attr(not(kernel), ignore = "there is no kernel for guests: sunstar guest --prepare")]
fn packets_before_an_output_that_is_stuck_for_ever_are_lost_for_that_reason() {
    let folder = tempfile::tempdir().unwrap();
    for (fault, came, stuck) in [("switch.stuck=1@1@10ms", 0, 1), ("switch.stuck=1@0@10ms", 2, 0)] {
        let file = folder.path().join("json");
        let mut command = command();
        command
            .args(["run", "-q", "--judge", "-m", "amata", "-n", "2", "--fault", fault, "--json"]);
        let told = ended(command.arg(&file).arg("tests/dp/stuck.c"));
        assert_eq!(told.went_well().stdout, format!("{came} packets came\n"), "{fault}");
        let json: serde_json::Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        assert_eq!(json["switches"][0]["counters"]["stuck"], stuck, "{fault}");
        assert_eq!(json["messages"]["unfinished"]["on_the_way"], 2 - came, "{fault}");
        assert_eq!(json["judged"]["messages"], came, "{fault}");
    }
}

/// A bug.
#[derive(Clone, Copy)]
enum Bug {
    /// In the control program: its number (firmware/lanai/core/plant.h).
    Program(u32),
    /// In the module: file, line, and what stands there instead.
    Module(&'static str, &'static str, &'static str),
}

/// Runs in which it shows.
#[derive(Clone, Copy)]
enum Shows {
    /// In random programs, with this fault.
    Random(&'static str),
    /// In the number of interrupts.
    Quiet,
    /// On the module's way out, and in again.
    Gone,
    /// With a reader that waits.
    Waits,
    /// In a kernel that checks itself.
    Checked,
}

use Bug::{Module, Program};
use Shows::{Checked, Gone, Quiet, Random, Waits};

/// Name of each bug, the bug, the run, and words of the sentence by which it is found.
const BUGS: [(&str, Bug, Shows, &str); 25] = [
    ("a chain of DMA without an end", Program(1), Random(""), "no terminal bit"),
    ("a size that is too small", Program(2), Random(""), "judge of Directed Point"),
    ("the type is not checked", Program(3), Random(""), "of a kind that nobody wants"),
    ("the last byte of a route is left out", Program(4), Random(""), "No route to host"),
    ("deaf after a packet of another type", Program(5), Random(""), "judge of Directed Point"),
    ("damaged packets are passed on", Program(6), Random("link.biterror=1e-4"), "dp: seed"),
    ("a store into the guard", Program(7), Random(""), "guard region"),
    ("busy is cleared before the send ends", Program(8), Random(""), "a packet that was changed"),
    ("the size is written behind the interrupt", Program(9), Random(""), "its DMA block had"),
    ("the next packet over the receive buffer", Program(10), Random(""), "judge of Directed Point"),
    ("routes are off by one", Program(11), Random(""), "No route to host"),
    (
        "the header is in the wrong byte order",
        Module("send.c", "cpu_to_be16(header.target_point)", "cpu_to_le16(header.target_point)"),
        Random(""),
        "judge of Directed Point",
    ),
    (
        "the interrupt is not acknowledged",
        Module(
            "interrupt.c",
            "\tcard_set(&myri->card, MY_BOARD_SPECIAL + MY_REGISTER_ISR, MY_ISR_HOST);\n",
            "",
        ),
        Quiet,
        "dummy      dp",
    ),
    (
        "the DMA is not waited for",
        Module("interrupt.c", "CARD_AREA(waiting)) != number)", "CARD_AREA(waiting)) + 1)"),
        Random(""),
        "judge of Directed Point",
    ),
    (
        "the point is not looked at",
        Module("service.c", " &&\n\t\t    channel->id.point == id->point)", ")"),
        Random(""),
        "dp: seed",
    ),
    (
        "packets are read in the wrong order",
        Module(
            "service.c",
            "list_add_tail(&packet->link, &channel->arrived)",
            "list_add(&packet->link, &channel->arrived)",
        ),
        Random(""),
        "dp: seed",
    ),
    (
        "packets of closed channels are not counted",
        Module("service.c", "\tdp_counts.closed += channel->count;\n", ""),
        Random(""),
        "were not read, and",
    ),
    (
        "packets without room are not counted",
        Module("service.c", "\t\tdp_counts.no_room++;\n", ""),
        Random(""),
        "were not read, and",
    ),
    (
        "the length is not checked before the copy",
        Module("channel.c", "!length || length > DP_PACKET_MAX", "!length"),
        Random(""),
        "has ended before its program",
    ),
    (
        "a reader is not woken",
        Module("service.c", "\twake_up_interruptible(&channel->readers);\n", ""),
        Waits,
        "",
    ),
    (
        "the line is not freed",
        Module("module.c", "\tfree_irq(pci->irq, myri);\n\tdp_unregister", "\tdp_unregister"),
        Gone,
        "",
    ),
    (
        "an entry of /proc is left",
        Module("files.c", "\tremove_proc_entry(COUNTS, init_net.proc_net);\n", ""),
        Gone,
        "",
    ),
    (
        "a closed channel is not freed",
        Module(
            "channel.c",
            "\tdp_channel_close(channel);\n\tkfree(channel);",
            "\tdp_channel_close(channel);",
        ),
        Checked,
        "unreferenced object",
    ),
    (
        "a channel is used after it was freed",
        Module(
            "channel.c",
            "\tdp_channel_close(channel);\n\tkfree(channel);",
            "\tdp_channel_close(channel);\n\tkfree(channel);\n\
             \tdp_counts.closed += channel->count;",
        ),
        Checked,
        "KASAN",
    ),
    (
        "a lock that interrupts take is taken with interrupts",
        Module(
            "service.c",
            "\tunsigned long flags;\n\n\tspin_lock_irqsave(&lock, flags);\n\tlist_del_init",
            "\tunsigned long flags = 0;\n\n\tspin_lock(&lock);\n\tlist_del_init",
        ),
        Checked,
        "inconsistent lock state",
    ),
];

/// The folder of a kernel that checks itself: KASAN, kmemleak, lockdep (linux/kernel/config.checks).
fn checked() -> PathBuf {
    let folder = root().join("build/linux-checks");
    let mut prepare = Command::new(root().join("linux/kernel/prepare"));
    ended(prepare.arg(&folder).env("SUNSTAR_CHECKS", "on")).went_well();
    folder.join("current")
}

/// An installation with this bug, and a kernel that checks itself where it shows in one.
fn with(bug: Bug, shows: Shows) -> tempfile::TempDir {
    let folder = faulty(if let Program(number) = bug { number } else { 0 });
    let (here, at) = (root(), folder.path());
    for file in ["linux/dp", "linux/card"].iter().flat_map(|folder| walk(&here.join(folder))) {
        let to = at.join(file.strip_prefix(&here).unwrap());
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(&file, to).unwrap();
    }
    fs::create_dir_all(at.join("firmware/lanai")).unwrap();
    let links = ["bypass", "init", "kernel"].map(|name| format!("linux/{name}"));
    for name in links.iter().map(String::as_str).chain(["firmware/lanai/include", "Cargo.toml"]) {
        symlink(here.join(name), at.join(name)).unwrap();
    }
    let usual = || here.join("build/linux/current");
    let from = if matches!(shows, Checked) { checked() } else { usual() };
    let kernel = at.join("build/linux/current");
    fs::create_dir_all(&kernel).unwrap();
    for name in ["linux", "tree", "init.sum", "version"] {
        symlink(from.canonicalize().unwrap().join(name), kernel.join(name)).unwrap();
    }
    // As new as can be, so that nothing is to be prepared.
    fs::copy(from.join("init"), kernel.join("init")).unwrap();
    if let Module(file, line, other) = bug {
        let folders = ["linux/dp", "linux/card"].map(|folder| at.join(folder).join(file));
        let file = folders.into_iter().find(|file| file.exists()).unwrap();
        let text = fs::read_to_string(&file).unwrap();
        assert_eq!(text.matches(line).count(), 1, "{line} is once in {}", file.display());
        fs::write(&file, text.replace(line, other)).unwrap();
    }
    folder
}

fn walk(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (folders, mut files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    files.extend(folders.iter().flat_map(|folder| walk(folder)));
    files
}

/// A program of Directed Point, compiled in `folder`.
fn compiled(folder: &Path, source: &str) -> PathBuf {
    let program = folder.join("program");
    let mut gcc = Command::new("gcc");
    gcc.args(["-O2", "-Iinclude", "-o"]).arg(&program).arg(source);
    ended(gcc.args(["-Lbuild/lib", "-ldp"]).current_dir(root())).went_well();
    program
}

fn run(at: &Path, shows: Shows) -> Ended {
    let mut command = command();
    command.env("SUNSTAR_ROOT", at).args(["run", "-q"]);
    match shows {
        Random(fault) => {
            let faults: &[&str] = if fault.is_empty() { &[] } else { &[fault] };
            command.args(random((1, SEEDS_OF_BUG), 3, faults));
        }
        Quiet => {
            let text = format!(
                "{} 1 && sleep 0.05 && ! awk '/ dp$/ && $2 > 2000' /proc/interrupts | grep .",
                compiled(at, "examples/dp_pingpong.c").display()
            );
            command.args(["-m", "amata", "-n", "2", "sh", "-c", &text]);
        }
        Waits => {
            let words =
                ["-m", "amata", "--until", "50ms", "-n", "2", "examples/dp_pingpong.c", "1"];
            command.args(words);
        }
        Checked => {
            // kmemleak reports what is older than five seconds. A module that is loaded again would meet
            // KASAN's marks of the first one, which User-Mode Linux leaves in its memory.
            let text = format!(
                "mount -t debugfs none /sys/kernel/debug
                leaks=/sys/kernel/debug/kmemleak
                echo clear >$leaks
                {} 1 {SEEDS_OF_BUG} 3; failed=$?
                rmmod dp || exit 1
                sleep 6; echo scan >$leaks; sleep 6; echo scan >$leaks
                ! cat $leaks | grep . || exit 1
                ! dmesg | grep -A30 -e KASAN -e BUG: -e WARNING: && exit $failed",
                compiled(at, "tests/soak/dp.c").display()
            );
            command.args(["-m", "amata", "--set", "guest.memory=256 MiB", "-n", "3", "sh", "-c"]);
            command.arg(text);
        }
        Gone => {
            let own = at.join("build/linux/current/dp/dp.ko");
            let module = if own.exists() { own.display().to_string() } else { module() };
            let text = format!(
                "rmmod dp || exit 1
                grep -w dp /proc/interrupts /proc/modules && exit 2
                ls /proc/net | grep -x -e dp -e myri_route && exit 3
                insmod {module} nid=0 check=4096 && rmmod dp || exit 4"
            );
            command.args(["-m", "amata", "-n", "1", "sh", "-c", &text]);
        }
    }
    ended(&mut command)
}

/// The bugs of these that are not found as they should be.
fn not_found(bugs: &[(&str, Bug, Shows, &str)]) -> Vec<String> {
    let mut missed = Vec::new();
    for (name, bug, shows, words) in bugs {
        let folder = with(*bug, *shows);
        let told = run(folder.path(), *shows);
        println!("{name}: {}", told.stderr.lines().next().unwrap_or_default());
        let said = told.stderr.contains(words) || told.stdout.contains(words);
        if told.code == 0 || !said {
            missed.push(format!("{name}: {told:?}"));
        }
    }
    missed
}

#[test]
#[cfg_attr(not(kernel), ignore = "there is no kernel for guests: sunstar guest --prepare")]
fn a_bug_of_the_module_is_found() {
    let bug = BUGS.iter().find(|bug| bug.0 == "packets are read in the wrong order").unwrap();
    assert_eq!(not_found(&[*bug]), [""; 0]);
}

#[test]
#[ignore = "minutes: each bug is built into an installation of its own; make soak"]
fn each_bug_is_found() {
    let usual = BUGS.into_iter().filter(|(_, _, shows, _)| !matches!(shows, Checked));
    all_are_found(
        &[Random(""), Random("link.biterror=1e-4"), Quiet, Gone, Waits],
        &usual.collect::<Vec<_>>(),
    );
}

#[test]
#[ignore = "minutes: another kernel is built, which checks itself; make soak"]
fn a_kernel_that_checks_itself_finds_nothing_but_bugs() {
    let checked = BUGS.into_iter().filter(|(_, _, shows, _)| matches!(shows, Checked));
    all_are_found(&[Checked], &checked.collect::<Vec<_>>());
}

fn all_are_found(runs: &[Shows], bugs: &[(&str, Bug, Shows, &str)]) {
    for shows in runs {
        let right = run(with(Program(0), *shows).path(), *shows);
        assert_eq!(right.code, 0, "{right:?}");
    }
    // BUG chooses those whose names contain it.
    let chosen = std::env::var("BUG").unwrap_or_default();
    let bugs: Vec<_> = bugs.iter().filter(|bug| bug.0.contains(&chosen)).copied().collect();
    assert_eq!(not_found(&bugs), [""; 0]);
}
