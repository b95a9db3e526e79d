//! What the documents show is what the command prints.

use crate::runner::{command, ended, root};
use std::collections::BTreeSet;
use std::process::Command;

/// The compiler (Debian 12's) of the firmware that the documents speak of: another one makes another
/// firmware, which takes other times.
const FIRMWARE_COMPILER: &str = "12.2.0";

/// Fails unless each line of the document's first block of code after `words` is one that the command
/// prints, but for those that begin with one of `others`.
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
fn the_calibration_shows_ladder_and_validation() {
    let page = "docs/calibration/redstorm.md";
    shows(page, "`sunstar bench ladder`:", &["["], "bench ladder");
    shows(page, "`sunstar validate`;", &[], "validate");
}

#[test]
fn the_commands_of_the_tour_do_what_it_says() {
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
    for line in commands {
        let ended = run(line);
        match line {
            _ if line.starts_with("diff ") => assert_eq!(ended.code, 1, "{ended:#?}"),
            _ if line.contains("link.drop") => {
                ended.said(1, &["deadlock", "lost"]);
            }
            _ => assert_eq!(ended.code, 0, "{ended:#?}"),
        }
    }
    let slow = run("run -n 2 --machine slow.toml examples/pingpong.c 0");
    assert!(slow.went_well().stdout.contains("machine slow-interrupts"), "{slow:#?}");
}
