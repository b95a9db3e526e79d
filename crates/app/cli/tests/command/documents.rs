//! Outputs in the documents are those of the command.

use crate::runner::{command, ended, root};
use std::collections::BTreeSet;
use std::process::Command;

/// Version of the compiler (Debian 12's) of the firmware in the documents: firmware of another compiler has
/// other times.
const FIRMWARE_COMPILER: &str = "12.2.0";

/// Fails unless each line of the document's first block of code after `words` is printed by the command,
/// except for those that begin with one of `others`.
fn shows(document: &str, words: &str, others: &[&str], arguments: &str) {
    let text = std::fs::read_to_string(root().join(document)).unwrap();
    let (_, rest) = text.split_once(words).unwrap_or_else(|| panic!("no '{words}'"));
    let shown = rest.split("```").nth(1).unwrap().lines().skip(1);
    let (others, shown): (Vec<&str>, Vec<&str>) =
        shown.partition(|line| others.iter().any(|other| line.starts_with(other)));
    assert!(shown.len() > 20 && others.len() <= 2, "{shown:#?} {others:#?}");

    let gcc = Command::new("powerpc-linux-gnu-gcc").arg("-dumpfullversion").output().unwrap();
    if String::from_utf8_lossy(&gcc.stdout).trim() != FIRMWARE_COMPILER {
        return eprintln!("{document} is of another firmware than this compiler's: not compared");
    }
    let run = ended(command().env("LC_ALL", "C.UTF-8").args(arguments.split(' ')));
    let printed: BTreeSet<&str> = run.went_well().stdout.lines().collect();
    for line in shown {
        assert!(printed.contains(line), "{document}: '{line}' is not in {:#?}", run.stdout);
    }
}

#[test]
fn the_readme_shows_what_make_run_prints() {
    let makefile = std::fs::read_to_string(root().join("Makefile")).unwrap();
    let (_, run) = makefile.split_once("@$(sunstar) run ").unwrap();
    let run = format!("run {}", run.lines().next().unwrap());
    shows("README.md", "`make run`, shortened", &["[", "Wall time"], &run);
}

#[test]
fn the_calibration_shows_the_validation() {
    shows(CALIBRATION, "`sunstar validate`;", &[], "validate");
}

#[test]
#[ignore = "a quarter of a minute: make soak"]
fn the_calibration_shows_the_ladder() {
    shows(CALIBRATION, "`sunstar bench ladder`:", &["["], "bench ladder");
}

const CALIBRATION: &str = "docs/calibration/redstorm.md";

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

/// Its benchmarks are run by their own tests (`ladder`, `rdma`), and here in the long ring.
#[test]
fn the_commands_of_the_tour_do_what_it_says() {
    runs_the_tour(|line| !line.starts_with("bench "));
}

#[test]
#[ignore = "half a minute: make soak"]
fn the_benchmarks_of_the_tour_do_what_it_says() {
    runs_the_tour(|line| line.starts_with("bench "));
}

fn runs_the_tour(these: fn(&str) -> bool) {
    let tour = std::fs::read_to_string(root().join("docs/tour.md")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(root().join("examples"), folder.path().join("examples")).unwrap();
    let (_, machine) = tour.split_once("```toml\n").unwrap();
    let (machine, _) = machine.split_once("```").unwrap();
    std::fs::write(folder.path().join("slow.toml"), machine).unwrap();
    let run = |line: &str| {
        let mut command = command();
        ended(command.current_dir(folder.path()).args(line.split(' ')))
    };
    let commands: Vec<&str> =
        tour.lines().filter_map(|line| line.strip_prefix("target/release/sunstar ")).collect();
    assert!(commands.len() > 10, "{commands:#?}");
    for line in commands.into_iter().filter(|line| these(line)) {
        let ended = run(line);
        match line {
            _ if line.starts_with("diff ") => assert_eq!(ended.code, 1, "{ended:#?}"),
            _ if line.contains("link.drop") => {
                ended.said(1, &["deadlock", "lost"]);
            }
            _ if line.contains("second_look") => {
                ended.said(1, &["deadlock", "rank 1 waits"]);
            }
            _ => assert_eq!(ended.code, 0, "{ended:#?}"),
        }
    }
    let slow = run("run -n 2 --machine slow.toml examples/pingpong.c 0");
    assert!(slow.went_well().stdout.contains("machine slow-interrupts"), "{slow:#?}");
}

#[test]
fn the_tour_s_wild_store_is_found_as_it_says() {
    patch_as_told(&std::fs::read_to_string(root().join("docs/tour.md")).unwrap());
}
