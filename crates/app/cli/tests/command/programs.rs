//! Correct programs: their output, their ends, and the determinism of runs.

use crate::runner::{command, ended, root, run, sunstar};
use std::process::Command;

#[test]
fn hello_comes_from_every_rank() {
    let hello = run("-n 4 --quiet examples/hello.c");
    hello.went_well();
    let mut lines: Vec<&str> = hello.stdout.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines.len(), 4, "{hello:?}");
    for (rank, line) in lines.iter().enumerate() {
        assert!(line.starts_with(&format!("hello from rank {rank} of 4 on ")), "{line}");
    }
}

#[test]
fn ring_allreduce_and_traffic_are_right() {
    let ring = run("-n 5 --quiet examples/ring.c");
    assert!(ring.went_well().stdout.starts_with("token 10 after 5 hops"), "{ring:?}");
    let ring = run("-n 1 --quiet examples/ring.c");
    assert!(ring.went_well().stdout.starts_with("token 0 after 1 hops"), "{ring:?}");
    let sums = run("-n 4 --quiet examples/allreduce.c");
    assert!(sums.went_well().stdout.ends_with("all sums are right\n"), "{sums:?}");
    for ranks in [1, 2, 3, 4] {
        let traffic = run(&format!("-n {ranks} --quiet tests/cli/traffic.c"));
        assert_eq!(traffic.went_well().stdout, "traffic: all right\n");
    }
}

#[test]
fn what_mpich_gets_wrong_is_right() {
    for ranks in [1, 2, 4] {
        let unlike = run(&format!("-n {ranks} --quiet tests/cli/unlike.c"));
        assert_eq!(unlike.went_well().stdout, "unlike: all right\n");
    }
}

/// Programs may use MPI through other libraries, as Python does, or a program whose own library uses MPI.
#[test]
fn programs_may_get_at_mpi_through_other_libraries() {
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("libwork.so");
    let built = |output: &std::path::Path, options: &[&std::ffi::OsStr]| {
        let mut compiler = std::process::Command::new("gcc");
        if options.contains(&"-DSHARED".as_ref()) {
            compiler = command();
            compiler.arg("cc");
        }
        compiler.current_dir(root()).arg("-o").arg(output);
        ended(compiler.arg("tests/cli/loader.c").args(options)).went_well();
    };
    built(&library, &["-DSHARED", "-shared", "-fPIC"].map(AsRef::as_ref));
    let (needs, loads) = (folder.path().join("needs"), folder.path().join("loads"));
    let path = format!("-Wl,-rpath,{}", folder.path().display());
    let later = "-Wl,--unresolved-symbols=ignore-in-shared-libs";
    built(&needs, &["-DNEEDED".as_ref(), library.as_ref(), path.as_ref(), later.as_ref()]);
    built(&loads, &["-ldl".as_ref()]);
    run(&format!("-n 3 -q {}", needs.display())).went_well();
    run(&format!("-n 3 -q {} {}", loads.display(), library.display())).went_well();
}

#[test]
fn cplusplus_ranks_have_exceptions_of_their_own() {
    let program = run("-n 3 --quiet tests/cli/exceptions.cc");
    assert_eq!(program.went_well().stdout, "each its own\n");
}

/// Size and one-way latency in microseconds of each line of the ping-pong's table.
fn latencies(table: &str) -> Vec<(u64, f64)> {
    let numbers = |line: &str| {
        let mut words = line.split_whitespace();
        Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?))
    };
    table.lines().filter_map(numbers).collect()
}

#[test]
fn pingpong_takes_longer_with_more_bytes() {
    let pingpong = run("-n 2 --machine redstorm --quiet examples/pingpong.c 4096");
    let table = latencies(&pingpong.went_well().stdout);
    let sizes: Vec<u64> = table.iter().map(|row| row.0).collect();
    assert_eq!(sizes, [0, 1, 2, 4, 8, 12, 13, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096]);
    let of = |size| table.iter().find(|row| row.0 == size).unwrap().1;
    assert!(
        of(0) > 0.0 && of(12) < of(13) && of(64) < of(1024) && of(1024) < of(4096),
        "{table:?}"
    );
}

#[test]
fn the_summary_follows_the_programs_output_and_can_be_left_out() {
    let quiet = run("-n 2 --quiet examples/pingpong.c 0");
    let loud = run("-n 2 --full examples/pingpong.c 0");
    let summary = loud.went_well().stdout.strip_prefix(&quiet.went_well().stdout);
    let summary = summary.unwrap_or_else(|| panic!("{loud:?}\n{quiet:?}"));
    for part in [
        "machine redstorm",
        "2 ranks",
        "seed 1",
        "Where the time of a 0-byte message went",
        "firmware TX",
        "instructions a message",
        "cycles a message",
        "niccb.rx_message",
        "Simulated time",
        "Wall time",
        "Parameters",
        "Trace hash",
    ] {
        assert!(summary.contains(part), "no '{part}' in\n{summary}");
    }
    assert!(!summary.contains('\x1b'), "colours without a terminal:\n{summary}");
}

/// The trace hash, as the summary prints it.
fn hash(output: &str) -> String {
    let line = output.lines().find_map(|line| line.strip_prefix("Trace hash"));
    line.unwrap_or_else(|| panic!("no trace hash in\n{output}")).trim().to_owned()
}

#[test]
fn equal_runs_have_equal_hashes_on_any_number_of_threads() {
    let line = "-n 4 --seed 3 tests/cli/traffic.c";
    let first = run(line);
    let first = hash(&first.went_well().stdout);
    assert_eq!(hash(&run(line).went_well().stdout), first);
    assert_eq!(hash(&run(&format!("--threads 2 {line}")).went_well().stdout), first);
    let other = run("-n 4 --seed 3 --set host.interrupt_entry=2us tests/cli/traffic.c");
    assert_ne!(hash(&other.went_well().stdout), first, "the hash does not see time");
}

/// The workstation's memory layout does not matter: other libraries move the memory mapped below them,
/// another environment the stack.
#[test]
fn where_the_workstation_puts_memory_does_not_enter_the_simulation() {
    let line = |output: &str, name: &str| {
        output.lines().find(|line| line.starts_with(name)).unwrap().to_owned()
    };
    let usual = run("-n 2 tests/cli/places.c");
    let usual = &usual.went_well().stdout;
    for (variable, value, moves) in
        [("LD_PRELOAD", "libm.so.6", "mapped"), ("SOMETHING", &*"x".repeat(3000), "stack")]
    {
        let mut other = command();
        other.args("run -n 2 tests/cli/places.c".split(' ')).env(variable, value);
        let other = ended(&mut other);
        let other = &other.went_well().stdout;
        assert_ne!(line(other, moves), line(usual, moves), "{variable} moves nothing");
        assert_eq!(hash(other), hash(usual), "{variable}");
    }
}

#[test]
fn addresses_of_the_simulator_do_not_enter_the_simulation() {
    let randomised = run("-n 3 tests/cli/traffic.c");
    let mut fixed = Command::new("setarch");
    fixed.args([std::env::consts::ARCH, "--addr-no-randomize", env!("CARGO_BIN_EXE_sunstar")]);
    fixed.args(["run", "-n", "3", "tests/cli/traffic.c"]);
    // Ranks see the environment, so it must be the same.
    let plain = command();
    fixed
        .current_dir(root())
        .envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let fixed = ended(&mut fixed);
    assert_eq!(hash(&fixed.went_well().stdout), hash(&randomised.went_well().stdout));
}

#[test]
fn a_program_can_be_compiled_first_and_run_later() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("hello");
    let source = root().join("examples/hello.c");
    let words = ["cc".as_ref(), "-O1".as_ref(), "-o".as_ref(), program.as_os_str()];
    sunstar(words.into_iter().chain([source.as_os_str()])).went_well();
    let words = ["run".as_ref(), "--quiet".as_ref(), program.as_os_str()];
    let hello = sunstar(words);
    assert!(hello.went_well().stdout.starts_with("hello from rank 0 of 1"), "{hello:?}");

    let shown = sunstar(["cxx", "-show", "a.cc"]);
    assert!(shown.went_well().stdout.contains("-lmpi_abi"), "{shown:?}");
}

#[test]
fn what_follows_the_program_is_the_programs_own() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("arguments.c");
    std::fs::write(
        &source,
        "#include <mpi.h>\n#include <stdio.h>\n\
         int main(int c, char **v) { MPI_Init(&c, &v); for (int i = 1; i < c; i++) puts(v[i]);\n\
         MPI_Finalize(); return 7; }\n",
    )
    .unwrap();
    let program =
        sunstar(["run", "-q", source.to_str().unwrap(), "-n", "--quiet", "two words", ""]);
    assert_eq!((program.code, &*program.stdout), (7, "-n\n--quiet\ntwo words\n\n"), "{program:?}");
}

#[test]
fn the_firmwares_trace_is_decoded() {
    let trace = sunstar(["trace", "-n", "2", "--node", "1", "--quiet", "examples/pingpong.c", "8"]);
    trace.went_well();
    let records: Vec<&str> = trace.stdout.lines().filter(|line| line.ends_with("ns)")).collect();
    assert!(records.len() > 100, "{trace:?}");
    for record in &records {
        // e4681e8b: 24: 18ff0c4c mainloop+0014 (178 ns)
        let words: Vec<&str> = record.split_whitespace().collect();
        let hex = |word: &str| u32::from_str_radix(word.trim_end_matches(':'), 16).is_ok();
        assert!(words.len() == 6 && hex(words[0]) && hex(words[2]), "{record}");
        assert!(words[3].contains('+') && words[4].starts_with('('), "{record}");
    }
}

#[test]
fn every_variant_of_the_firmware_runs() {
    for change in [
        "firmware.cache=none",
        "firmware.cache=i",
        "firmware.inline=off",
        "firmware.shadow_fifos=off",
        "firmware.pinned_regs=off",
        "firmware.trace=on",
    ] {
        let ended = run(&format!("-n 2 --set {change} examples/pingpong.c 64"));
        assert!(ended.went_well().stdout.contains(&format!("set {change}")), "{ended:?}");
    }
}

#[test]
fn the_firmwares_sizes_are_told() {
    let sizes = sunstar(["fw"]);
    for part in ["ELF file", "Flat image", ".text", "cached data", "Ssize", "1274", "SRAM"] {
        assert!(sizes.went_well().stdout.contains(part), "no '{part}' in\n{}", sizes.stdout);
    }
}

#[test]
fn machines_are_listed_with_every_parameter() {
    let list = sunstar(["machines"]);
    for word in ["redstorm", "model seastar", "model ideal"] {
        assert!(list.went_well().stdout.contains(word), "no {word} in {list:?}");
    }
    let parameters = sunstar(["machines", "redstorm"]);
    let text = &parameters.went_well().stdout;
    let file = std::fs::read_to_string(root().join("machines/redstorm.toml")).unwrap();
    let headings = file.lines().filter_map(|line| line.strip_prefix('[')?.strip_suffix(']'));
    let mut count = 0;
    for key in headings {
        assert!(text.lines().any(|line| line.split_whitespace().next() == Some(key)), "no {key}");
        count += 1;
    }
    assert!(count > 10 && text.matches("source: ").count() == count, "{text}");
}

#[test]
fn help_tells_every_command() {
    let help = sunstar(["--help"]);
    for word in ["run", "cc", "cxx", "trace", "fw", "machines", "completions", "manual"] {
        assert!(help.stdout.contains(&format!("\n  {word} ")), "no {word} in\n{}", help.stdout);
    }
    let version = command().arg("--version").output().unwrap();
    assert_eq!(version.stdout, concat!("sunstar ", env!("CARGO_PKG_VERSION"), "\n").as_bytes());
}
