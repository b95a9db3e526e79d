//! Programs of other MPIs: small ones over MPICH's wheel, and in long tests random ones, and Intel's wheel.
//! `scripts/bootstrap soak` fetches both.
//!
//! ```text
//! SOAK_FIRST=17 SOAK_SEEDS=1 cargo test -p cli --test command over_mpich -- --ignored    one seed
//! ```

use crate::runner::{ended, judged_alone, root, Ended};
use crate::seeds::{chosen, hold, Unexpected};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Matching by interrupt, on the card, and by the host.
const MACHINES: [&str; 3] = ["redstorm", "redstorm-accelerated", "ideal"];
const SECONDS: &str = "300";

/// A program, made by the compiler of MPICH's wheel.
fn built(folder: &Path, source: &str) -> PathBuf {
    let program = folder.join("program");
    let mut mpicc = Command::new(root().join("build/mpich/bin/mpicc"));
    mpicc.args(["-O2", "-Wall", "-o"]).arg(&program).arg(root().join(source));
    ended(&mut mpicc).went_well();
    program
}

/// The machine and the number of ranks of a seed.
fn options(seed: u64) -> String {
    let machine = MACHINES[(seed % 3) as usize];
    format!("--seed {seed} -m {machine} -n {}", 2 + seed / 3 % 5)
}

/// Runs one seed; a failure comes with the words that repeat it.
fn check(program: &Path, seed: u64) -> Result<(), (String, Unexpected)> {
    let options = options(seed);
    let run = ended(
        judged_alone(SECONDS)
            .args(["-q"])
            .args(options.split(' '))
            .arg(program)
            .arg(seed.to_string()),
    );
    if run.code == 0 && run.stderr.is_empty() && run.stdout.contains("rounds, all right") {
        return Ok(());
    }
    let replay = format!(
        "build/mpich/bin/mpicc -O2 -o random tests/soak/random.c && sunstar run --judge {options} \
         ./random {seed}"
    );
    Err((replay, Unexpected::end(&run)))
}

/// Windows, intercommunicators, files, sessions, partitions, and the shapes of public reports.
#[test]
fn small_programs_over_mpich_do_as_mpi_says() {
    if !root().join("build/lib/libfabric/libsunstar-fi.so").is_file() {
        return eprintln!("skipped: there is no provider (Debian: libfabric-dev)");
    }
    let folder = tempfile::tempdir().unwrap();
    let program = built(folder.path(), "tests/mpich/small.c");
    for part in 0..10 {
        let mut run = judged_alone(SECONDS);
        run.args(["-q", "-n", "4", "-m", "redstorm-accelerated"]).arg(&program);
        let run = ended(run.arg(part.to_string()).current_dir(folder.path()));
        assert_eq!(run.went_well().stdout, "right\n", "part {part}");
    }
}

#[test]
#[ignore = "twenty minutes: SOAK_FIRST and SOAK_SEEDS choose the seeds, 1000 of them by default"]
fn random_programs_over_mpich_soak() {
    let folder = tempfile::tempdir().unwrap();
    let program = built(folder.path(), "tests/soak/random.c");
    hold(chosen(1000), |seed| check(&program, seed));
}

/// Intel's ranks do the same whenever they run. Messages of windows are lists of memory.
#[test]
#[ignore = "half a minute: make soak"]
fn intels_ranks_do_the_same_in_each_run() {
    let own = root().join("build/impi");
    assert!(own.join("lib").is_dir(), "{} is missing: scripts/bootstrap soak", own.display());
    let folder = tempfile::tempdir().unwrap();
    let program = built(folder.path(), "tests/cli/collects.c");
    for ranks in [2_u32, 4, 8] {
        let runs: [Ended; 3] = ["1", "1", "2"].map(|threads| {
            let options = format!("--brief -m redstorm-accelerated -n {ranks} -t {threads} --mpi");
            let mut run = judged_alone(SECONDS);
            ended(run.args(options.split(' ')).arg(&own).arg(&program))
        });
        let sum = format!("sum {}, window {ranks}\n", ranks * (ranks - 1) / 2);
        for run in &runs {
            assert!(run.went_well().stdout.contains(&sum), "{run:?}");
            assert!(run.stdout.contains(", Intel MPI ("), "{run:?}");
            assert_eq!(run.hash(), runs[0].hash(), "{ranks} ranks");
        }
    }
}
