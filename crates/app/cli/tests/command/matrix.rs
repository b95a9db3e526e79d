//! All machines that run programs by themselves x all soak programs x all exhausted pools, judged. Each
//! machine's own soak has its own kind of program; what runs out often does so for another machine's.
//!
//! ```text
//! SOAK_FIRST=17 SOAK_SEEDS=1 cargo test -p cli --test command matrix -- --ignored    one seed of each
//! ```

use crate::runner::{compiled, sunstar, Ended};
use crate::seeds::{chosen, Unexpected};
use crate::soak::{endings_of, kinds_here};
use machine::faults::Form;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Machines, with options. Those with Linux guests or verbs only have soaks of their own.
const MACHINES: &[&str] = &[
    "redstorm",
    "redstorm --set firmware.overflow=nic",
    "redstorm --set firmware.overflow=host",
    "redstorm-linux",
    "redstorm-linux --set firmware.overflow=host",
    "redstorm-2006",
    "redstorm-accelerated",
    "alpu",
    "alpu --set nic.alpu=off",
    "alpu-mesh",
    "example",
    "queuepair",
    "ideal",
];

/// Programs of tests/soak with their arguments; `@` is the seed.
const PROGRAMS: &[(&str, &str)] = &[
    ("random", "@ 1"),
    ("portals", "@"),
    ("collectives", "@ 1"),
    ("types", "@ 1"),
    ("queues", "@ 60 2"),
];

/// Sizes of a pool that are few, and fewer.
const POOLS: &[(&str, [u32; 2])] = &[
    ("pool.rx_pendings", [64, 8]),
    ("pool.tx_pendings", [6, 2]),
    ("pool.event_slots", [1500, 1024]),
    ("pool.dma_lists", [4, 2]),
    ("pool.match_entries", [64, 16]),
    ("pool.streams", [8, 2]),
    ("pool.sources", [6, 3]),
];

/// A cell of the matrix.
struct Cell {
    machine: &'static str,
    fault: String,
    program: usize,
    seed: u64,
}

impl Cell {
    fn run(&self, programs: &[PathBuf]) -> Result<(), Unexpected> {
        let (program, arguments) = (&programs[self.program], PROGRAMS[self.program].1);
        let seed = self.seed.to_string();
        let line = format!("run -q -n 4 --until 80ms --seed {seed} -m {}", self.machine);
        let words = line.split_whitespace().map(String::from);
        let fault = self.fault.split_whitespace().map(String::from);
        let program = [program.display().to_string()];
        let arguments = arguments.split_whitespace().map(|word| word.replace('@', &seed));
        let all: Vec<String> = words.chain(fault).chain(program).chain(arguments).collect();
        self.look(&sunstar(&all))
            .map_err(|why| Unexpected::Of { line: all.join(" "), why: Box::new(why) })
    }

    /// It ends well, or as is documented of its fault.
    fn look(&self, ended: &Ended) -> Result<(), Unexpected> {
        let says = |word: &str| ended.stderr.contains(word);
        let documented = kinds_here()
            .into_iter()
            .filter(|kind| self.fault.contains(kind.name))
            .flat_map(endings_of)
            .any(|ending| says(ending) && says("sunstar: "));
        let wrong = says("panicked") || says("the judge:") || ended.code < 0;
        if !wrong && (ended.code == 0 || documented) {
            return Ok(());
        }
        Err(Unexpected::end(ended))
    }
}

/// All cells with this seed.
fn cells(seed: u64) -> Vec<Cell> {
    let mut all = Vec::new();
    for machine in MACHINES {
        let mut faults = vec![String::new()];
        if machine.starts_with("redstorm") {
            let sizes = POOLS.iter().flat_map(|(pool, sizes)| sizes.map(|size| (*pool, size)));
            // What an accelerated process may keep of another before that one calls its interface.
            let few = |(pool, size): (&str, u32)| {
                *machine == "redstorm-accelerated" && pool == "pool.rx_pendings" && size < 64
            };
            let withheld = sizes.filter(|one| !few(*one));
            faults.extend(withheld.map(|(pool, size)| format!("--fault {pool}={size}")));
        }
        for fault in faults {
            let cell = |program| Cell { machine, fault: fault.clone(), program, seed };
            // Machines with its cards have MPI only.
            let has = |program: &usize| {
                !(machine.starts_with("alpu") && PROGRAMS[*program].0 == "portals")
            };
            all.extend((0..PROGRAMS.len()).filter(has).map(cell));
        }
    }
    all
}

fn run_all(cells: impl Iterator<Item = Cell>) {
    let folder = tempfile::tempdir().unwrap();
    let programs: Vec<PathBuf> = PROGRAMS
        .iter()
        .map(|(name, _)| compiled(folder.path(), &format!("tests/soak/{name}.c")))
        .collect();
    let (mut runs, mut wrong) = (0, Vec::new());
    for cell in cells {
        runs += 1;
        if let Err(why) = cell.run(&programs) {
            eprintln!("{why}");
            wrong.push(why.to_string());
        }
    }
    println!("{runs} runs, {} wrong", wrong.len());
    assert!(wrong.is_empty(), "{} of {runs} runs failed:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn all_pools_are_in_the_matrix() {
    let here: BTreeSet<&str> = POOLS.iter().map(|(pool, _)| *pool).collect();
    let all: BTreeSet<&str> = kinds_here()
        .into_iter()
        .filter(|kind| kind.name.starts_with("pool.") && matches!(kind.value, Form::Number { .. }))
        .map(|kind| kind.name)
        .collect();
    assert_eq!(here, all);
}

/// A cell in eleven, so that each program, machine and pool has its turn.
#[test]
fn no_program_disagrees_on_any_machine() {
    run_all(cells(3).into_iter().step_by(11));
}

#[test]
#[ignore = "takes ten minutes: SOAK_FIRST and SOAK_SEEDS choose the seeds, three of them by default"]
fn no_program_disagrees_on_any_machine_soak() {
    run_all(chosen(3).flat_map(cells));
}
