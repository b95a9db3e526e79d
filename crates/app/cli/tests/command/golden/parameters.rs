//! Tables of parameters: a row for each, with another value.
//!
//! The first machine of each model has its model's own; one machine has those of hosts.

use super::draws::others;
use super::machines::hold_all;
use super::programs;
use super::row::Bench;
use super::table::{words, Job, Share};
use machine::parameters::Parameter;

/// Values of a parameter that are tried with each program.
const VALUES: usize = 2;

/// The machine on which the parameters of hosts are changed.
const HOSTS: &str = "redstorm";

/// The row of a parameter with another value. The table has the run; one that has no row is
/// searched for.
fn parameter(bench: &Bench, key: &str, table: &str) -> String {
    let known = table.lines().find_map(|line| {
        let words = words(line);
        let (options, _) = programs::parted(words)?;
        let (_, set) = options.rsplit_once("--set ")?;
        (set.split_once('=')?.0 == key && !set.contains(' ')).then_some((line, words))
    });
    let no_change = |words: &str| format!("{:57}no change  {words}", "");
    match known {
        Some((line, words)) => {
            let row = bench.row(words);
            let program = programs::of_parameters(bench.machine.model(), key).into_iter();
            let mut program = program.filter(|program| programs::changed(program, words));
            let unchanged = line.contains("no change ")
                && program.next().is_some_and(|program| bench.row(program) == row);
            if unchanged {
                no_change(words)
            } else {
                row.line(words)
            }
        }
        None => {
            let (found, words) = search(bench, key);
            match words {
                None => format!("{key} has no other value that fits"),
                Some(words) if found => bench.row(&words).line(&words),
                Some(words) => no_change(&words),
            }
        }
    }
}

/// The first run in which another value of a parameter shows, or else the first run.
fn search(bench: &Bench, key: &str) -> (bool, Option<String>) {
    let own = bench.machine.iter().find(|parameter| parameter.key == key);
    let own: &Parameter = own.expect("the machine has it");
    let row = bench.machine.models().row(key).expect("parameters are rows");
    let mut seen = None;
    for program in programs::of_parameters(bench.machine.model(), key) {
        let before = bench.row(program);
        let (options, rest) = programs::parted(program).expect("there is a program");
        // The last of two settings of a key holds.
        let with = |value: &String| format!("{options} --set {key}={value} {rest}");
        let fits = |words: &String| bench.suited(words).is_some();
        for words in others(row, own).iter().map(with).filter(fits).take(VALUES) {
            let row = bench.row(&words);
            if before.0.is_ok() && row.0.is_ok() && row != before {
                return (true, Some(words));
            }
            seen.get_or_insert(words);
        }
    }
    (false, seen)
}

/// Jobs for the rows of a machine's parameters.
fn jobs<'a>(bench: &'a Bench, first: bool, table: &'a str) -> Vec<Job<'a>> {
    let machine = &bench.machine;
    let keys = machine.iter().map(|parameter| parameter.key).filter(|key| {
        let of_guests = key.starts_with("guest.") || key.starts_with("card.");
        let taken = match machine.models().owner(key) {
            Some(_) => first && !of_guests,
            None => machine.name() == HOSTS,
        };
        taken && *key != "nic.model"
    });
    keys.map(|key| -> Job { Box::new(move || vec![parameter(bench, key, table)]) }).collect()
}

#[test]
#[ignore = "long: each parameter of each model; make soak"]
fn every_parameter_does_what_it_did() {
    hold_all("parameters", Share::All, jobs);
}
