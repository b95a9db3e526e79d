//! Command lines, read.

use super::*;
use clap::CommandFactory;
use std::path::Path;

#[test]
fn the_command_line_is_consistent() {
    Arguments::command().debug_assert();
}

#[test]
fn what_follows_the_program_is_the_programs() {
    let words = ["sunstar", "run", "-np", "4", "./a.out", "-n", "--seed", "-np", "7"];
    let words = plain(words.iter().map(OsString::from)).unwrap().words;
    let Command::Run(options) = Arguments::parse_from(words).command else {
        panic!("not a run");
    };
    assert_eq!((options.ranks, options.program()), (4, Path::new("./a.out")));
    assert_eq!(options.arguments(), ["-n", "--seed", "-np", "7"]);
}

#[test]
fn a_report_may_be_about_a_program() {
    let parse = |words: &[&str]| {
        let words = ["sunstar", "report", "page.html"].iter().chain(words);
        match Arguments::parse_from(plain(words.map(OsString::from)).unwrap().words).command {
            Command::Report(options) => options,
            other => panic!("{other:?}"),
        }
    };
    let alone = parse(&["--set", "net.route=20 ns"]);
    assert_eq!((alone.file.to_str(), alone.run.command.len()), (Some("page.html"), 0));
    let with = parse(&["-np", "8", "a.c", "-n", "3"]);
    assert_eq!((with.run.ranks, with.run.program()), (8, Path::new("a.c")));
    assert_eq!(with.run.arguments(), ["-n", "3"]);
}

#[test]
fn json_without_a_file_goes_to_standard_output() {
    let json = |words: &[&str]| match Arguments::parse_from(words).command {
        Command::Validate(options) => options.measure.json,
        other => panic!("{other:?}"),
    };
    assert_eq!(json(&["sunstar", "validate"]), None);
    assert_eq!(json(&["sunstar", "validate", "--json"]), Some("-".into()));
    assert_eq!(json(&["sunstar", "validate", "--json", "x"]), Some("x".into()));
}
