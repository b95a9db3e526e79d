//! Random programs (tests/soak) on machine alpu, at any depth of the queues, with units of any size and shape
//! and without them, held by the judge of MPI's rules. A failure prints its seed and the line that repeats
//! it.
//!
//! ```text
//! SOAK_FIRST=17 SOAK_SEEDS=1 cargo test -p cli --test command alpu::random -- --ignored    one seed
//! ```

use crate::runner::{command, compiled, ended, root, Ended};
use crate::seeds::{chosen, hold, same_in_another_way, Unexpected};
use crate::soak::quoted;
use crate::units::MACHINE;
use crate::usage_errors::installation;
use des::Random;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Most receives that a rank posts, and most messages to it, in a round of the program.
const DEPTHS: [u64; 8] = [2, 8, 30, 30, 90, 140, 270, 520];

/// Cells of the units, and none.
const CELLS: [&str; 7] = ["off", "32", "64", "128", "256", "512", "1024"];

/// A run to be made.
struct Case {
    seed: u64,
    options: String,
    program: &'static str,
    /// Arguments of the program.
    arguments: String,
}

impl Case {
    fn new(seed: u64) -> Case {
        let mut random = Random::new(seed ^ 0xa1b0);
        let mut below = |bound: usize| random.below(bound as u64) as usize;
        let mut options = format!("-m alpu -n {}", 2 + below(4));
        if below(3) == 0 {
            options += &format!(" --set host.cores=4 --ranks-per-node {}", 2 + below(3));
        }
        if below(6) == 0 {
            options += " --set firmware.search=hash";
        }
        let cells = CELLS[below(CELLS.len())];
        options += &format!(" --set nic.alpu={cells}");
        if cells != "off" {
            options += &format!(" --set alpu.block={}", [2, 4, 8, 16, 32][below(5)]);
            // A FIFO that is full now and then, and one that never is.
            for fifo in ["header", "command", "result"] {
                let depth = [2, 4, 8, 16, 16, 64][below(6)];
                options += &format!(" --set alpu.{fifo}_fifo={depth}");
            }
            if below(3) == 0 {
                options += &format!(" --set alpu.threshold={}", [1, 5, 40][below(3)]);
            }
            if below(6) == 0 {
                options += " --set alpu.clock=100MHz";
            }
        }
        if below(8) == 0 {
            let program = "tests/soak/random.c";
            return Case { seed, options, program, arguments: seed.to_string() };
        }
        let depth = DEPTHS[below(DEPTHS.len())];
        let rounds = if depth > 100 { 1 } else { 1 + below(3) };
        let arguments = format!("{seed} {depth} {rounds}");
        Case { seed, options, program: "tests/soak/queues.c", arguments }
    }

    /// Case on RTL units, compared with their model in every cycle.
    fn on_rtl(seed: u64) -> Case {
        let mut random = Random::new(seed ^ 0x471);
        let (ranks, depth) = (2 + random.below(3), [8, 40, 90][random.below(3) as usize]);
        let options = format!("-n {ranks} {MACHINE} --rtl=check");
        let arguments = format!("{seed} {depth} 1");
        Case { seed, options, program: "tests/soak/queues.c", arguments }
    }

    fn run(&self, programs: &Programs, more: &str) -> Ended {
        let mut command = command();
        command.args(["run", "--judge"]).args(self.options.split_whitespace());
        command.args(more.split_whitespace()).arg(programs.compiled(self.program));
        command.args(self.arguments.split(' '));
        ended(command.env("SUNSTAR_ROOT", &programs.installation))
    }

    fn check(&self, programs: &Programs) -> Result<(), Unexpected> {
        let ended = self.run(programs, "");
        // A busy machine is no fault of the program.
        let slow = |line: &str| line.ends_with("without an MPI call");
        let well = ended.code == 0 && ended.stderr.lines().all(slow);
        if !well || !ended.stdout.contains("rounds, all right") {
            return Err(Unexpected::end(&ended));
        }
        let others = ["-t 2", "--no-park", "--no-translate", "--cold-boot"];
        same_in_another_way((self.seed, 32), &ended, &others, |other| self.run(programs, other))
    }

    /// Command line that repeats the run.
    fn replay(&self) -> String {
        let words: Vec<String> = self.options.split_whitespace().map(quoted).collect();
        format!("sunstar run --judge {} {} {}", words.join(" "), self.program, self.arguments)
    }
}

/// The programs, compiled once for all.
struct Programs {
    folder: tempfile::TempDir,
    /// Folder in which the command finds the firmware.
    installation: PathBuf,
}

impl Programs {
    fn new() -> Programs {
        let programs = Programs { folder: tempfile::tempdir().unwrap(), installation: root() };
        for source in ["tests/soak/queues.c", "tests/soak/random.c"] {
            compiled(programs.folder.path(), source);
        }
        programs
    }

    fn compiled(&self, source: &str) -> PathBuf {
        self.folder.path().join(Path::new(source).file_stem().unwrap())
    }
}

/// Makes the runs of these seeds.
fn soak(seeds: Range<u64>, case: impl Fn(u64) -> Case) {
    let programs = Programs::new();
    hold(seeds, |seed| {
        let case = case(seed);
        case.check(&programs).map_err(|why| (case.replay(), why))
    });
}

#[test]
fn random_queues_are_matched_as_mpi_says() {
    soak(0..24, Case::new);
}

#[test]
#[ignore = "an hour: SOAK_FIRST and SOAK_SEEDS choose the seeds, 10,000 of them by default"]
fn random_queues_soak() {
    soak(chosen(10_000), Case::new);
}

#[test]
fn random_queues_on_rtl() {
    soak(0..2, Case::on_rtl);
}

#[test]
#[ignore = "minutes: SOAK_FIRST and SOAK_SEEDS choose the seeds, 200 of them by default"]
fn random_queues_on_rtl_soak() {
    soak(chosen(200), Case::on_rtl);
}

/// Each bug that can be planted in the firmware is found by one of these programs.
#[test]
#[ignore = "a minute: compiles the firmware eleven times"]
fn random_queues_find_every_bug_of_the_firmware() {
    let header = std::fs::read_to_string(root().join("firmware/offload/core/plant.h")).unwrap();
    let names = header.lines().filter_map(|line| line.trim().strip_prefix("PLANT_"));
    let names: Vec<&str> = names.filter_map(|line| line.split([',', ' ']).next()).collect();
    assert!(names.len() >= 11, "{names:?}");
    let (mut programs, installed) = (Programs::new(), tempfile::tempdir().unwrap());
    assert!(installation(installed.path()));
    programs.installation = installed.path().to_owned();
    let build = root().join("build/planted/offload");
    let images = installed.path().join("build/firmware/offload");
    for (number, name) in (1..).zip(names) {
        let mut make = Command::new("make");
        make.args(["--silent", "-C"]).arg(root().join("firmware/offload"));
        make.arg(format!("BUILD={}", build.display())).arg(format!("PLANT={number}"));
        ended(make.env_remove("MAKEFLAGS")).went_well();
        let variant = build.join(format!("walk-ahead_search-list_plant-{number}"));
        for file in ["offload.elf", "offload.img", "shim.img"] {
            std::fs::copy(variant.join(file), images.join(file)).unwrap();
        }
        let found = (0..200).map(Case::new).find(|case| case.run(&programs, "").code != 0);
        let found = found.unwrap_or_else(|| panic!("no seed finds {name}"));
        let ended = found.run(&programs, "");
        eprintln!("{name}: seed {}: {}", found.seed, ended.stderr);
        assert!(ended.stderr.contains("sunstar: ") && !ended.stderr.contains("panicked"));
    }
}
