//! Promises of documents: each command of each document is run, ends as the document says, and prints what it
//! shows. `commands.rs` says how documents are read, `excused.rs` what is not run, and why.

mod commands;
mod excused;
mod named;
mod read;
mod session;

use crate::runner::{command, ended, root, Ended};
use commands::{steps, Step};
use excused::{Fate, ELSEWHERE, LEFT_OUT, LONG};
use read::{documents, Document};
use session::{Session, OWN};
use std::process::Command;

/// Version of the compiler (Debian 12's) of the firmware in the documents: firmware of another compiler has
/// other times.
const FIRMWARE_COMPILER: &str = "12.2.0";

/// Version of the package of the guests' kernel in the documents.
const GUESTS_KERNEL: &str = "6.12.117-1~deb12u1";

/// Parts into which documents are dealt, which run beside each other.
const SHARES: usize = 10;

fn has_the_compiler() -> bool {
    let gcc = Command::new("powerpc-linux-gnu-gcc").arg("-dumpfullversion").output().unwrap();
    String::from_utf8_lossy(&gcc.stdout).trim() == FIRMWARE_COMPILER
}

/// True if guests run the kernel of the documents: another one has other times.
fn has_the_kernel() -> bool {
    let version = std::fs::read_to_string(root().join("build/linux/current/version"));
    version.is_ok_and(|version| version.trim() == GUESTS_KERNEL)
}

/// Programs of others that this computer does not have; documents say where to get them.
fn lacks_a_tool(step: &Step) -> bool {
    let tools = [
        "qperf",
        "sockperf",
        "NPtcp",
        "ib_write_lat",
        "ib_write_bw",
        "ibv_devinfo",
        "qemu-io",
        "nbdinfo",
    ];
    let others = ["fio", "tshark", "fi_info"];
    let mut named = tools.iter().chain(&others).filter(|tool| step.line.contains(*tool));
    let there = |tool: &str| Command::new("which").arg(tool).output().unwrap().status.success();
    named.any(|tool| !there(tool))
}

/// Runs the commands of a document in their order, as its reader would; what is wrong.
fn follow(document: &Document, long: bool) -> Vec<String> {
    let (steps, _) = steps(document);
    let fates: Vec<Fate> = steps.iter().map(Step::fate).collect();
    let runs = |fate: &Fate| *fate == Fate::Run || (long && *fate == Fate::Long);
    let wanted = if long { Fate::Long } else { Fate::Run };
    if !fates.contains(&wanted) {
        return Vec::new();
    }
    let mut session = Session::of(document);
    let mut wrong = Vec::new();
    // Files of commands that are left out here.
    let mut missing: Vec<&str> = Vec::new();
    for (at, step) in steps.iter().enumerate().filter(|(at, _)| runs(&fates[*at])) {
        for left_out in steps[..at].iter().zip(&fates).filter(|(_, fate)| !runs(fate)) {
            missing.extend(left_out.0.line.split_whitespace().filter(|word| is_a_file_name(word)));
        }
        let needs = |file: &&&str| step.line.contains(**file) && session.lacks(file);
        if lacks_a_tool(step) || missing.iter().any(|file| needs(&file)) {
            println!("{}: skipped, as something is not here: {}", step.place, step.line);
            continue;
        }
        if step.in_guest {
            // They are typed together with the command that opens the guest.
            continue;
        }
        let start = std::time::Instant::now();
        let typed: Vec<&Step> = steps[at..].iter().filter(|step| step.in_guest).collect();
        if step.line.contains("sunstar guest") && !typed.is_empty() {
            let ended = session.run_in_guest(step, &typed);
            wrong.extend(typed.iter().zip(&ended).filter_map(|(step, ended)| broken(step, ended)));
        } else {
            wrong.extend(broken(step, &session.run(step)));
        }
        println!("{:7.2} s {}: {}", start.elapsed().as_secs_f64(), step.place, step.line);
    }
    wrong.extend(session.end());
    wrong
}

/// True for a word with an ending of letters.
fn is_a_file_name(word: &str) -> bool {
    word.rsplit_once('.').is_some_and(|(name, ending)| {
        !name.is_empty() && !ending.is_empty() && ending.chars().all(|c| c.is_ascii_alphabetic())
    })
}

/// The part of a command's promise that was not kept.
fn broken(step: &Step, ended: &Ended) -> Option<String> {
    let printed = format!("{}\n{}", ended.stdout, ended.stderr);
    let same_kernel = !step.wants_guests() || has_the_kernel();
    let shown = step.shown.as_ref().filter(|_| has_the_compiler() && same_kernel);
    let why = match shown.and_then(|shown| shown.missing_from(&printed)) {
        _ if ended.code != step.status => format!("ends with {}", ended.code),
        _ if printed.contains("panicked") => "panics".into(),
        missing => missing?,
    };
    let begin = printed.lines().take(60).collect::<Vec<_>>().join("\n");
    Some(format!("{}: {}\n{why}\n{begin}", step.place, step.line))
}

fn follow_share(share: usize, long: bool) {
    let all = documents();
    let chosen = std::env::var("DOCUMENT").ok();
    let wrong: Vec<String> = all
        .iter()
        .enumerate()
        .filter(|(at, document)| match &chosen {
            Some(name) => document.name == *name && share == 0,
            None => at % SHARES == share,
        })
        .flat_map(|(_, document)| follow(document, long))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n----\n"));
}

macro_rules! shares {
    ($($share:literal $fast:ident $long:ident)*) => { $(
        #[test]
        fn $fast() {
            follow_share($share, false);
        }

        #[test]
        #[ignore = "minutes: make soak"]
        fn $long() {
            follow_share($share, true);
        }
    )* };
}

shares! {
    0 documents_do_what_they_say_1 documents_with_long_commands_1
    1 documents_do_what_they_say_2 documents_with_long_commands_2
    2 documents_do_what_they_say_3 documents_with_long_commands_3
    3 documents_do_what_they_say_4 documents_with_long_commands_4
    4 documents_do_what_they_say_5 documents_with_long_commands_5
    5 documents_do_what_they_say_6 documents_with_long_commands_6
    6 documents_do_what_they_say_7 documents_with_long_commands_7
    7 documents_do_what_they_say_8 documents_with_long_commands_8
    8 documents_do_what_they_say_9 documents_with_long_commands_9
    9 documents_do_what_they_say_10 documents_with_long_commands_10
}

/// Each block is one of commands, of their output, or says that it is none; and each exception is one.
#[test]
fn each_block_is_read_and_each_exception_is_used() {
    let (mut all, mut wrong) = (Vec::new(), Vec::new());
    for document in documents() {
        let (steps, strange) = steps(&document);
        all.extend(steps);
        wrong.extend(strange);
    }
    for (document, beginning, why) in LEFT_OUT {
        if !all.iter().any(|step| step.is(document, beginning)) {
            wrong.push(format!("no command begins with {beginning} ({document}: {why})"));
        }
    }
    for (document, part, why) in LONG {
        if !all.iter().any(|step| step.has(document, part) && step.fate() != Fate::Named) {
            wrong.push(format!("no command has {part} ({document}: {why})"));
        }
    }
    for (name, made) in OWN {
        if !all.iter().any(|step| step.line.split_whitespace().any(|word| word == *name)) {
            wrong.push(format!("no document names {name} ({made})"));
        }
    }
    let list = ended(Command::new(std::env::current_exe().unwrap()).arg("--list"));
    for (document, beginning, test) in ELSEWHERE {
        let text = std::fs::read_to_string(root().join(document)).unwrap();
        let there = text.lines().any(|line| line.trim_start().starts_with(beginning));
        if !there || !list.stdout.lines().any(|line| line == format!("{test}: test")) {
            wrong.push(format!("{document} has no {beginning}, or there is no {test}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let of = |fate: Fate| all.iter().filter(|step| step.fate() == fate).count();
    let run = of(Fate::Run) + of(Fate::Long) + of(Fate::Guests);
    println!(
        "{run} commands are run, {} in sentences are names, {} left out",
        of(Fate::Named),
        of(Fate::LeftOut)
    );
    assert!(run > 150 && of(Fate::LeftOut) * 5 < run, "{run}");
}

#[test]
fn the_readme_shows_what_make_run_prints() {
    let readme = documents().into_iter().find(|document| document.name == "README.md").unwrap();
    let step =
        steps(&readme).0.into_iter().find(|step| step.line == "make run" && step.shown.is_some());
    let step = step.expect("the README shows what `make run` prints");
    let makefile = std::fs::read_to_string(root().join("Makefile")).unwrap();
    let (_, line) = makefile.split_once("@$(sunstar) run ").unwrap();
    let line = line.lines().next().unwrap();
    if !has_the_compiler() {
        return eprintln!("the README is of another firmware than this compiler's: not compared");
    }
    let run = ended(command().env("LC_ALL", "C.UTF-8").arg("run").args(line.split(' ')));
    let missing = step.shown.unwrap().missing_from(&run.went_well().stdout);
    assert_eq!(missing, None, "{run:#?}");
}

/// Puts the tour's wild store into a copy of the control program: the run ends with the tour's sentence.
fn patch_as_told(tour: &str) {
    let (_, told) = tour.split_once("A wild store of the control program").unwrap();
    let blocks: Vec<&str> = told.split("```").collect();
    let (line, sentence) = (blocks[1].strip_prefix("c\n").unwrap(), blocks[3].trim());
    let folder = tempfile::tempdir().unwrap();
    let sources = folder.path().join("firmware/lanai");
    std::fs::create_dir_all(folder.path().join("firmware")).unwrap();
    let mut copy = Command::new("cp");
    assert!(copy
        .arg("-r")
        .arg(root().join("firmware/lanai"))
        .arg(&sources)
        .status()
        .unwrap()
        .success());
    let file = sources.join("core/receive.c");
    let text = std::fs::read_to_string(&file).unwrap();
    let place = "    mem_count(AREA(received));";
    assert!(text.contains(place), "{text}");
    std::fs::write(&file, text.replace(place, &format!("    {line}{place}"))).unwrap();
    for name in ["machines", "include", "abi"] {
        std::os::unix::fs::symlink(root().join(name), folder.path().join(name)).unwrap();
    }
    std::fs::create_dir_all(folder.path().join("build/firmware/lanai")).unwrap();
    std::os::unix::fs::symlink(root().join("build/lib"), folder.path().join("build/lib")).unwrap();
    // With the repository's settings: cargo would compile it anew without them.
    let [manifest, settings] =
        ["Cargo.toml", ".cargo/config.toml"].map(|file| root().join(file).display().to_string());
    let link = format!(
        "cargo run --quiet --config {settings} --manifest-path {manifest} -p lanai-link --"
    );
    let made = Command::new("make")
        .args(["--silent", "-C"])
        .arg(&sources)
        .arg(format!("BUILD={}", folder.path().join("build/firmware/lanai").display()))
        .arg(format!("LINK={link}"))
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    let line = "run -q -n 2 -m amata builtin:myrinet-pingpong 8 2";
    let run = ended(command().env("SUNSTAR_ROOT", folder.path()).args(line.split(' ')));
    // Text that depends on the compiler is in capitals.
    let sentence = sentence.replace("ADDRESS", "TIME").replace("OFFSET", "TIME");
    let pieces: Vec<&str> = sentence.split("TIME").collect();
    run.said(1, &[]);
    assert_eq!(pieces.len(), 4, "{sentence}");
    let mut rest = run.stderr.as_str();
    for piece in pieces {
        let found = rest.find(piece).unwrap_or_else(|| panic!("no '{piece}' in {run:#?}"));
        rest = &rest[found + piece.len()..];
    }
}

#[test]
fn the_tour_s_wild_store_is_found_as_it_says() {
    patch_as_told(&std::fs::read_to_string(root().join("docs/tour.md")).unwrap());
}
