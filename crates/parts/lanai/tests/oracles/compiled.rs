//! Random C programs (csmith), compiled by clang at four levels of optimisation for the core, and by GCC
//! for QEMU's PowerPC, which has the same byte order: all print the same checksum.

use crate::support::{compile, core, link, load, programs, run, runtime, try_compile, COMPILER};
use lanai_link::{Image, Input};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

const LEVELS: [&str; 4] = ["-O0", "-O1", "-O2", "-Os"];

/// Cycles after which a program is thought to hang: some seconds of its processor.
const CYCLES: u64 = 400_000_000;

/// A program of csmith; none if it has none for this seed.
fn generate(seed: u64, folder: &Path) -> bool {
    let options = "--no-argc --no-packed-struct --no-bitfields --no-float --no-volatiles \
                   --max-funcs 5 --max-block-depth 3";
    let run = Command::new("prlimit")
        .args(["--cpu=30", "csmith"])
        .args(["--seed", &seed.to_string()])
        .args(options.split_whitespace())
        .arg("--output")
        .arg(folder.join("program.c"))
        .current_dir(folder)
        .output()
        .expect("csmith runs (scripts/bootstrap test)");
    run.status.success()
}

/// The checksum that QEMU's PowerPC computes. The error says what does not end: GCC, or the program in a
/// second of processor time, so that which programs are compared does not depend on what else runs.
fn reference(folder: &Path) -> Result<u32, &'static str> {
    let out = folder.join("powerpc");
    let options = "-m32 -static -nostdlib -no-pie -fno-pic -O1 -w -fno-strict-aliasing \
                   -fno-builtin -ffreestanding -isystem /usr/include/csmith";
    let build = Command::new("prlimit")
        .args([COMPILER, "powerpc-linux-gnu-gcc"])
        .args(options.split_whitespace())
        .arg(format!("-I{}", programs().join("csmith").display()))
        .args([folder.join("program.c"), programs().join("powerpc.c")])
        .args(["-lgcc", "-o"])
        .arg(&out)
        .output()
        .unwrap();
    let complaint = String::from_utf8_lossy(&build.stderr);
    if build.status.code().is_none() || complaint.contains("Killed signal") {
        return Err("GCC does not end");
    }
    assert!(build.status.success(), "{complaint}");
    let run = Command::new("prlimit").args(["--cpu=1", "qemu-ppc"]).arg(&out).output().unwrap();
    let sum = || u32::from_str_radix(&String::from_utf8_lossy(&run.stdout), 16).unwrap();
    run.status.success().then(sum).ok_or("the program does not end")
}

/// The program, compiled and linked with start-up code; none if clang does not end.
fn build(folder: &Path, runtime: &[Input], level: &str) -> Option<Image> {
    let own = format!("-I{}", programs().join("csmith").display());
    let options = [level, "-isystem", "/usr/include/csmith", &own];
    let program = try_compile(&folder.join("program.c"), folder, &options)?;
    let mut inputs = runtime.to_vec();
    inputs.push(program);
    Some(link(&inputs))
}

/// Number of times that each row of the table occurs in the code of compiled programs.
pub type Counts = BTreeMap<(&'static str, &'static str), u64>;

/// Counts in what csmith wrote; start-up code and what clang calls are not its.
fn count(image: &Image, counts: &mut Counts) {
    let own = ["main", "func_", "safe_"];
    let functions = image.symbols.iter().filter(|symbol| {
        symbol.function && own.iter().any(|prefix| symbol.name.starts_with(prefix))
    });
    let words =
        functions.flat_map(|f| image.flat[f.addr as usize..][..f.size as usize].chunks_exact(4));
    for word in words {
        let row = lanai::describe(u32::from_be_bytes(word.try_into().unwrap())).unwrap();
        *counts.entry((row.name, row.format)).or_default() += 1;
    }
}

/// The compiler does not end.
#[derive(Debug, thiserror::Error)]
#[error("clang {level} does not end")]
struct Endless {
    level: &'static str,
}

/// The program's images at all levels.
fn images(folder: &Path, runtime: &[Input]) -> Result<Vec<Image>, Endless> {
    let image = |level| build(folder, runtime, level).ok_or(Endless { level });
    LEVELS.into_iter().map(image).collect()
}

/// Compares `wanted` programs from `seed` on. One that does not end, or is compiled for ever, is passed over
/// with a line, and the next seed is taken.
fn compare(first: u64, wanted: usize) -> Counts {
    let folder = tempfile::tempdir().unwrap();
    let mut runtime = runtime(folder.path());
    runtime.push(compile(&programs().join("lanai.c"), folder.path(), &["-O1"]));
    let (mut compared, mut endless, mut counts) = (0, 0, Counts::new());
    let mut seeds = first..;
    while compared < wanted {
        let seed = seeds.next().unwrap();
        if !generate(seed, folder.path()) {
            println!("seed {seed}: csmith does not end");
            continue;
        }
        let expected = match reference(folder.path()) {
            Ok(expected) => expected,
            Err(why) => {
                println!("seed {seed}: {why}");
                continue;
            }
        };
        let images = match images(folder.path(), &runtime) {
            Ok(images) => images,
            Err(why) => {
                println!("seed {seed}: {why}");
                endless += 1;
                continue;
            }
        };
        for (image, level) in images.iter().zip(LEVELS) {
            count(image, &mut counts);
            let found = run(&mut core(), &mut load(image), CYCLES);
            assert_eq!(found, Ok(expected), "seed {seed} {level}");
        }
        compared += 1;
        if compared % 50 == 0 {
            println!("{compared} of {wanted} programs are compared, up to seed {seed}");
        }
    }
    println!("{compared} programs are compared; clang does not end with {endless} others");
    assert_eq!(compared, wanted);
    assert!(endless * 20 <= compared, "clang does not end with {endless} of {compared}");
    counts
}

/// Rows in the programs of the fast ring.
pub fn counts() -> &'static Counts {
    static COUNTS: OnceLock<Counts> = OnceLock::new();
    COUNTS.get_or_init(|| compare(1, 10))
}

#[test]
fn compiled_programs_compute_what_a_powerpc_does() {
    assert!(counts().len() > 30, "{:?}", counts());
}

#[test]
#[ignore = "takes half an hour; CSMITH_FIRST=seed and CSMITH_PROGRAMS=number choose others"]
fn many_compiled_programs_compute_what_a_powerpc_does() {
    let number = |name: &str, otherwise| {
        std::env::var(name).map_or(otherwise, |text| text.parse().expect("a number"))
    };
    compare(number("CSMITH_FIRST", 10_000), number("CSMITH_PROGRAMS", 500) as usize);
}
