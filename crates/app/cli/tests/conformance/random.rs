//! Programs whose behaviour depends on a seed (`tests/soak`): each seed gives the same output on both. A
//! difference is printed with the line that repeats it.

use crate::both::Program;
use crate::OTHER_ALGORITHMS;
use std::ops::Range;

const FLAGS: [&str; 6] = ["cc", "-O1", "-g", "-Wall", "-Wextra", "-Werror"];

/// A program that takes a seed.
struct Seeded {
    source: &'static str,
    /// Most ranks; successive seeds go through all numbers.
    ranks: u64,
    /// Settings that successive seeds go through.
    settings: &'static [&'static [&'static str]],
    /// Arguments with which the program itself knows the right results from the standard, and runs only here.
    alone: Option<[&'static str; 2]>,
}

/// Random datatypes. Alone it also tests cases that MPICH gets wrong (`h`, in four rounds).
const TYPES: Seeded = Seeded {
    source: "tests/soak/types.c",
    ranks: 4,
    settings: &[
        &["host.os=linux"],
        &["host.ranks_per_node=2"],
        &["host.linux_nodes=1", "host.ranks_per_node=2"],
        &["mpi.eager_limit=600B"],
        &[],
        &[],
    ],
    alone: Some(["4", "h"]),
};

/// Random calls on random communicators.
const COLLECTIVES: Seeded = Seeded {
    source: "tests/soak/collectives.c",
    ranks: 9,
    settings: &[
        &[],
        &OTHER_ALGORITHMS,
        &["host.ranks_per_node=2", "mpi.allreduce=reduce_bcast"],
        &["mpi.alltoall=bruck", "mpi.allgather=ring", "mpi.eager_limit=600B"],
        &["mpi.alltoall=pairwise", "mpi.allgather=bruck", "host.os=linux"],
    ],
    alone: None,
};

impl Seeded {
    fn check(&self, seeds: Range<u64>) {
        let program = Program::build(self.source, &FLAGS);
        let count = seeds.end - seeds.start;
        let (mut faults, mut left_out) = (Vec::new(), 0);
        for seed in seeds {
            let ranks = 1 + (seed % self.ranks) as u32;
            let settings = self.settings[(seed / self.ranks) as usize % self.settings.len()];
            let seed = seed.to_string();
            if let Some([rounds, word]) = self.alone {
                let ours = program.ours(ranks, settings, &[&seed, rounds, word]);
                let deviates = ours.stdout.contains("instead") || ours.stderr.contains("instead");
                faults.extend(ours.fault(""));
                faults.extend(deviates.then_some(ours.line + "\n" + &ours.stdout + &ours.stderr));
            }
            let Some(theirs) = program.theirs(ranks, &[&seed]) else {
                eprintln!("seed {seed} on {ranks} ranks: MPICH fails");
                left_out += 1;
                continue;
            };
            assert!(!theirs.is_empty(), "{} prints something", self.source);
            faults.extend(program.ours(ranks, settings, &[&seed]).fault(&theirs));
        }
        assert!(faults.is_empty(), "{} of {count} seeds:\n{}", faults.len(), faults.join("\n"));
        assert!(left_out * 20 <= count, "MPICH fails {left_out} times");
    }
}

/// The seeds of a long test.
fn chosen(count: u64) -> Range<u64> {
    let number = |name: &str, default| {
        std::env::var(name).map_or(default, |text| text.parse().expect("it is a number"))
    };
    let first = number("SOAK_FIRST", 1000);
    first..first + number("SOAK_SEEDS", count)
}

#[test]
fn random_datatypes_are_packed_and_sent_alike() {
    TYPES.check(0..24);
}

#[test]
#[ignore = "minutes: SOAK_FIRST and SOAK_SEEDS choose the seeds, 600 of them by default"]
fn random_datatypes_soak() {
    TYPES.check(chosen(600));
}

#[test]
fn random_collectives() {
    COLLECTIVES.check(2..12);
}

#[test]
#[ignore = "minutes: SOAK_FIRST and SOAK_SEEDS choose the seeds, 1000 of them by default"]
fn random_collectives_soak() {
    COLLECTIVES.check(chosen(1000));
}
