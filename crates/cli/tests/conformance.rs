//! The programs of `tests/mpi` print the same here as on MPICH, from the same binary.
//!
//! Needs what `make build` makes beside the command, and MPICH from PyPI in `build/mpich`
//! (`scripts/bootstrap test` puts it there).
#![allow(clippy::unwrap_used)] // Everything here is a test.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn output(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(status.success(), "{command:?}: {status}\n{stdout}{stderr}");
    stdout.into_owned()
}

/// Builds a program of `tests/mpi`, and runs it on so many ranks on both.
fn compare(program: &str, ranks: &[u32], settings: &[&str]) {
    compare_built(&format!("{program}.c"), &["cc", "-O1"], ranks, settings);
}

/// The same for Fortran: on both by the same library over the ABI in C.
fn compare_fortran(source: &str, ranks: &[u32]) {
    compare_built(source, &["fc", "-O1", "-w"], ranks, &[]);
}

fn compare_built(program: &str, compiler: &[&str], ranks: &[u32], settings: &[&str]) {
    let root = root();
    let mpich = root.join("build/mpich");
    let mpiexec = mpich.join("bin/mpiexec");
    assert!(mpiexec.exists(), "{} is missing: scripts/bootstrap test", mpiexec.display());
    let folder = tempfile::tempdir().unwrap();
    let binary = folder.path().join("program");
    let source = root.join("tests/mpi").join(program);
    let mut sunstar = Command::new(env!("CARGO_BIN_EXE_sunstar"));
    sunstar.args(compiler).arg("-I").arg(root.join("tests/mpi"));
    output(sunstar.arg("-o").args([&binary, &source]));
    let libraries = [mpich.join("lib"), root.join("build/lib")];
    let libraries = std::env::join_paths(libraries).unwrap();
    for ranks in ranks {
        let ranks = ranks.to_string();
        let theirs = output(
            Command::new(&mpiexec)
                .env("LD_LIBRARY_PATH", &libraries)
                .args(["-n", &ranks])
                .arg(&binary),
        );
        let mut ours = Command::new(env!("CARGO_BIN_EXE_sunstar"));
        ours.args(["run", "--judge", "-n", &ranks]);
        for setting in settings {
            ours.args(["--set", setting]);
        }
        let ours = output(ours.arg(&binary));
        for (line, (theirs, ours)) in theirs.lines().zip(ours.lines()).enumerate() {
            assert_eq!(ours, theirs, "{program} on {ranks} ranks, line {}", line + 1);
        }
        let theirs = theirs.lines().count();
        assert!(ours.lines().count() >= theirs, "{program} on {ranks} ranks: lines are missing");
    }
}

#[test]
fn datatypes() {
    compare("datatypes", &[1, 3], &[]);
}

#[test]
fn contents_of_datatypes_and_distributed_arrays() {
    compare("contents", &[2], &[]);
}

#[test]
fn graphs_and_exchange_with_neighbours() {
    compare("neighbours", &[1, 2, 6], &[]);
}

#[test]
fn lifetimes_of_requests_and_what_they_need() {
    compare("lifetimes", &[1, 5], &[]);
}

#[test]
fn groups_communicators_and_grids() {
    compare("groups", &[1, 5, 6], &[]);
}

#[test]
fn operations_attributes_and_error_handlers() {
    compare("operations", &[1, 5], &[]);
}

#[test]
fn collectives() {
    compare("collectives", &[1, 4, 5, 9], &[]);
}

/// For each collective another algorithm than the default.
const OTHER_ALGORITHMS: [&str; 10] = [
    "mpi.barrier=tree",
    "mpi.bcast=linear",
    "mpi.reduce=linear",
    "mpi.allreduce=ring",
    "mpi.gather=linear",
    "mpi.scatter=linear",
    "mpi.allgather=linear",
    "mpi.alltoall=linear",
    "mpi.reduce_scatter=reduce",
    "mpi.scan=linear",
];

#[test]
fn collectives_with_other_algorithms() {
    compare("collectives", &[5], &OTHER_ALGORITHMS);
    compare("operations", &[5], &OTHER_ALGORITHMS);
    compare("collectives", &[6], &["mpi.alltoall=bruck", "mpi.allgather=ring"]);
    compare("collectives", &[3], &["mpi.alltoall=pairwise", "mpi.allgather=bruck"]);
}

#[test]
fn fortran_in_fixed_form_with_mpif_h() {
    compare_fortran("fixed.f", &[1, 3]);
}

#[test]
fn fortran_with_the_module_mpi() {
    compare_fortran("module.f90", &[1, 4]);
}

#[test]
fn fortran_with_the_module_mpi_f08() {
    compare_fortran("module_2008.f90", &[1, 3]);
}

#[test]
fn with_linux_on_the_nodes() {
    compare("messages", &[3], &["host.os=linux"]);
    compare("collectives", &[4], &["host.os=linux"]);
    compare("datatypes", &[3], &["host.linux_nodes=1"]);
}

/// Ranks that share a node are copied to by its kernel, and share everything below it.
#[test]
fn with_two_ranks_a_node() {
    let two = "host.ranks_per_node=2";
    compare("messages", &[2, 3, 4], &[two]);
    compare("collectives", &[4, 5], &[two]);
    compare("datatypes", &[3], &[two]);
    compare("neighbours", &[6], &[two]);
    compare("lifetimes", &[5], &[two]);
    compare("contents", &[2], &[two]);
    compare("groups", &[5, 6], &[two]);
    compare("operations", &[5], &[two]);
    compare_built("module_2008.f90", &["fc", "-O1", "-w"], &[3], &[two]);
    compare("messages", &[3], &[two, "host.os=linux"]);
    compare("collectives", &[4], &[two, "host.os=linux"]);
    compare("datatypes", &[3], &[two, "host.linux_nodes=1"]);
    compare("collectives", &[5], &["host.cores=4", "host.ranks_per_node=4"]);
}

#[test]
fn messages() {
    compare("messages", &[2, 3], &[]);
}

/// The settings of a random run on so many ranks, by its seed.
fn settings_of(seed: u64) -> &'static [&'static str] {
    match seed / 4 % 6 {
        0 => &["host.os=linux"],
        1 => &["host.ranks_per_node=2"],
        2 => &["host.linux_nodes=1", "host.ranks_per_node=2"],
        3 => &["mpi.eager_limit=600B"],
        _ => &[],
    }
}

/// Random datatypes (tests/soak/types.c): of every seed the same is printed on both, and nothing is
/// otherwise than the program knows from the standard, here not even in what MPICH gets wrong (`h`).
fn random_datatypes(seeds: std::ops::Range<u64>) {
    let root = root();
    let folder = tempfile::tempdir().unwrap();
    let binary = folder.path().join("types");
    let source = "tests/soak/types.c";
    let mut cc = Command::new(env!("CARGO_BIN_EXE_sunstar"));
    cc.args(["cc", "-O1", "-Wall", "-Wextra", "-Werror", "-o"]).arg(&binary);
    output(cc.arg(root.join(source)));
    let mpich = root.join("build/mpich");
    let libraries = std::env::join_paths([mpich.join("lib"), root.join("build/lib")]).unwrap();
    let wrong: Vec<String> = seeds
        .filter_map(|seed| {
            let (ranks, seed_word) = ((1 + seed % 4).to_string(), seed.to_string());
            let mut theirs = Command::new("timeout");
            theirs.arg("60").arg(mpich.join("bin/mpiexec")).args(["-n", &ranks]).arg(&binary);
            theirs.env("LD_LIBRARY_PATH", &libraries);
            let theirs = theirs.arg(&seed_word).output().unwrap();
            let theirs = String::from_utf8_lossy(&theirs.stdout).into_owned();
            let mut words = vec!["run", "--judge", "-n", &ranks];
            words.extend(settings_of(seed).iter().flat_map(|setting| ["--set", setting]));
            let ours = |more: &[&str]| {
                let mut run = Command::new(env!("CARGO_BIN_EXE_sunstar"));
                run.args(&words).arg(&binary).arg(&seed_word).args(more);
                let Output { status, stdout, stderr } = run.output().unwrap();
                let text = String::from_utf8_lossy(&stdout) + String::from_utf8_lossy(&stderr);
                (status.success() && !text.contains("instead"), text.into_owned())
            };
            let ((well, plain), (hard_well, hard)) = (ours(&[]), ours(&["4", "h"]));
            let same = !theirs.is_empty() && plain.starts_with(&theirs);
            let replay = format!("sunstar {} {source} {seed}", words.join(" "));
            match (well && same, hard_well) {
                (true, true) => None,
                (false, _) => Some(format!("{replay}\n{plain}\nMPICH:\n{theirs}")),
                (true, false) => Some(format!("{replay} 4 h\n{hard}")),
            }
        })
        .collect();
    assert!(wrong.is_empty(), "{} seeds failed:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn random_datatypes_are_packed_and_sent_alike() {
    random_datatypes(0..24);
}

#[test]
#[ignore = "minutes: SOAK_FIRST and SOAK_SEEDS choose the seeds, 600 of them by default"]
fn random_datatypes_soak() {
    random_datatypes(chosen_seeds(600));
}

/// The seeds of a long test.
fn chosen_seeds(count: u64) -> std::ops::Range<u64> {
    let number = |name: &str, default| {
        std::env::var(name).map_or(default, |text| text.parse().expect("it is a number"))
    };
    let first = number("SOAK_FIRST", 1000);
    first..first + number("SOAK_SEEDS", count)
}

/// Random calls on random communicators (`tests/soak/collectives.c`): seeds, each on ranks and with
/// settings of its own. What differs is told with the line that shows it again.
fn compare_random_collectives(seeds: std::ops::Range<u64>) {
    let settings: [&[&str]; 5] = [
        &[],
        &OTHER_ALGORITHMS,
        &["host.ranks_per_node=2", "mpi.allreduce=reduce_bcast"],
        &["mpi.alltoall=bruck", "mpi.allgather=ring", "mpi.eager_limit=600B"],
        &["mpi.alltoall=pairwise", "mpi.allgather=bruck", "host.os=linux"],
    ];
    let (root, folder) = (root(), tempfile::tempdir().unwrap());
    let (binary, source) = (folder.path().join("program"), "tests/soak/collectives.c");
    let mut cc = Command::new(env!("CARGO_BIN_EXE_sunstar"));
    let flags = ["cc", "-O1", "-g", "-Wall", "-Wextra", "-Werror"];
    output(cc.current_dir(&root).args(flags).arg(source).arg("-o").arg(&binary));
    let libraries = [root.join("build/mpich/lib"), root.join("build/lib")];
    let libraries = std::env::join_paths(libraries).unwrap();
    let (mut wrong, mut left_out) = (Vec::new(), 0);
    let count = seeds.end - seeds.start;
    for seed in seeds {
        let (ranks, seed_text) = ((1 + seed % 9).to_string(), seed.to_string());
        // MPICH waits for ever at times.
        let mut theirs = Command::new("timeout");
        theirs.arg("60").arg(root.join("build/mpich/bin/mpiexec")).args(["-n", &ranks]);
        theirs.arg(&binary).arg(&seed_text).env("LD_LIBRARY_PATH", &libraries);
        let theirs = theirs.output().unwrap();
        if !theirs.status.success() {
            eprintln!("seed {seed} on {ranks} ranks: MPICH fails");
            left_out += 1;
            continue;
        }
        let theirs = String::from_utf8_lossy(&theirs.stdout).into_owned();
        let mut words = vec!["--judge", "-n", &ranks];
        words.extend(settings[(seed / 9 % 5) as usize].iter().flat_map(|name| ["--set", name]));
        let replay = format!("sunstar run {} {source} {seed}", words.join(" "));
        let mut ours = Command::new(env!("CARGO_BIN_EXE_sunstar"));
        let ours = ours.arg("run").args(words).arg(&binary).arg(&seed_text).output().unwrap();
        let (said, errors) =
            (String::from_utf8_lossy(&ours.stdout), String::from_utf8_lossy(&ours.stderr));
        let mut lines = said.lines();
        let differs = theirs.lines().find_map(|line| match lines.next() {
            Some(other) if other == line => None,
            other => Some(format!("{:?} instead of {line:?}", other.unwrap_or("nothing"))),
        });
        if differs.is_some() || !ours.status.success() {
            let told = format!("{replay}\n{}\n{errors}", differs.unwrap_or_default());
            eprintln!("{told}");
            wrong.push(told);
        }
    }
    assert!(wrong.is_empty(), "{} of {count} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(left_out * 20 <= count, "MPICH fails {left_out} times");
}

#[test]
fn random_collectives() {
    compare_random_collectives(2..12);
}

#[test]
#[ignore = "minutes: SOAK_FIRST and SOAK_SEEDS choose the seeds, 1000 of them by default"]
fn random_collectives_soak() {
    compare_random_collectives(chosen_seeds(1000));
}
