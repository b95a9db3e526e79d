//! Random programs (tests/soak) over MPI and Portals on machine redstorm-accelerated, with one and two ranks
//! a node, beside generic processes and Linux, with all that the firmware does switched on or off, judged.
//! A failure prints its seed and the line that repeats it.
//!
//! ```text
//! SOAK_FIRST=17 SOAK_SEEDS=1 cargo test -p cli --test command accelerated::random -- --ignored    one seed
//! ```

use crate::runner::{compiled, run, Ended};
use des::Random;
use std::path::{Path, PathBuf};

const PROGRAMS: [&str; 3] =
    ["tests/soak/random.c", "tests/soak/portals.c", "tests/soak/collectives.c"];

/// A run to be made.
struct Case {
    seed: u64,
    options: String,
    /// Index in [`PROGRAMS`].
    program: usize,
    arguments: String,
}

impl Case {
    fn new(seed: u64) -> Case {
        let mut random = Random::new(seed ^ 0xacce);
        let mut below = |bound: usize| random.below(bound as u64) as usize;
        let mut options = format!("--machine redstorm-accelerated --seed {seed}");
        options += &format!(" -n {} --ranks-per-node {}", 2 + below(6), 1 + below(4) / 3);
        let topology = ["row", "row", "mesh", "torus"][below(4)];
        options += &format!(" --set net.topology={topology}");
        let panics = below(4) == 0;
        let barrier = if panics { "tree" } else { "nic" };
        options += if panics { " --set firmware.overflow=panic" } else { "" };
        let mut set = |one_in: usize, setting: &dyn Fn(usize) -> String| {
            if below(one_in) == 0 {
                options += &format!(" --set {}", setting(below(1000)));
            }
        };
        set(6, &|_| "firmware.accelerated=1".into());
        set(5, &|some| format!("host.linux_nodes={}", 1 + some % 3));
        set(4, &|some| format!("mpi.eager_limit={}B", [600, 5000, 20_000][some % 3]));
        set(6, &|some| format!("nic.rx_buffers={}", 1 + some % 20));
        set(6, &|some| format!("portals.accelerated_tx_pendings={}", 320 + some % 32));
        set(4, &|_| format!("mpi.barrier={barrier}"));
        let program = [0, 0, 0, 1, 1, 2][below(6)];
        Case { seed, options, program, arguments: seed.to_string() }
    }

    fn run(&self, programs: &[PathBuf], more: &str) -> Ended {
        let (options, program) = (&self.options, programs[self.program].display());
        run(&format!("{more} {options} {program} {}", self.arguments))
    }

    fn check(&self, programs: &[PathBuf]) -> Result<(), String> {
        let ended = self.run(programs, "");
        if ended.code != 0 || !ended.stderr.is_empty() {
            return Err(format!("{ended:#?}"));
        }
        // The same run, simulated in another way, is the same.
        let other = ["-t 2", "--no-park", "--no-merge", "--cold-boot"];
        if let Some(other) = other.get((self.seed % 32) as usize) {
            let again = self.run(programs, other);
            if hash(&again).is_none() || hash(&again) != hash(&ended) {
                return Err(format!("{other} changes it: {again:#?} {ended:#?}"));
            }
        }
        Ok(())
    }

    /// Command line that repeats the run.
    fn replay(&self) -> String {
        let Case { options, program, arguments, .. } = self;
        format!("sunstar run --judge {options} {} {arguments}", PROGRAMS[*program])
    }
}

fn hash(ended: &Ended) -> Option<&str> {
    ended.stdout.lines().find(|line| line.starts_with("Trace hash"))
}

/// Makes these runs, and fails with a list of those that failed.
fn soak(cases: impl Iterator<Item = Case>) {
    let folder = tempfile::tempdir().unwrap();
    let build = |source: &&str| compiled(Path::new(folder.path()), source);
    let programs: Vec<PathBuf> = PROGRAMS.iter().map(build).collect();
    let (mut made, mut wrong) = (0, Vec::new());
    for case in cases {
        made += 1;
        if let Err(why) = case.check(&programs) {
            let told = format!("seed {}: {}\n{why}", case.seed, case.replay());
            eprintln!("{told}");
            wrong.push(told);
        }
    }
    println!("{made} seeds, {} wrong", wrong.len());
    assert!(wrong.is_empty(), "{} of {made} seeds failed:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn random_programs_go_well_with_matching_on_the_network_interface() {
    soak((0..12).map(Case::new));
}

#[test]
#[ignore = "an hour: SOAK_FIRST and SOAK_SEEDS choose the seeds, 10,000 of them by default"]
fn random_programs_with_matching_on_the_network_interface_soak() {
    let number = |name: &str, default: u64| {
        std::env::var(name).map_or(default, |text| text.parse().expect("it is a number"))
    };
    let first = number("SOAK_FIRST", 1000);
    soak((first..first + number("SOAK_SEEDS", 10_000)).map(Case::new));
}
