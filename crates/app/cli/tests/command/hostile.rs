//! Random MPI calls with random arguments (tests/soak/hostile.c). A run ends well, or with a sentence: never
//! with a panic or a signal of the simulator, and it never hangs.
//!
//! ```text
//! HOSTILE_FIRST=17 HOSTILE_SEEDS=1 cargo test -p cli --test command hostile -- --ignored    one seed
//! ```

use crate::runner::{command, ended, root, Ended};
use crate::seeds::number;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The functions that work and whose arguments go to the simulator, as `FUNCTION(name, "parameters")`: from
/// the header, the page of functions, and the list of those that the library answers itself.
fn functions() -> String {
    let text = |path: &str| std::fs::read_to_string(root().join(path)).unwrap();
    let (page, data) = (text("docs/reference/mpi.md"), text("abi/mpi/functions.toml"));
    let local = data.split("local = [").nth(1).unwrap().split("\n]").next().unwrap();
    let works = |name: &str| {
        page.contains(&format!("\n| `{name}` | yes")) && !local.contains(&format!("\"{name}\""))
    };
    let mut lines = String::new();
    for line in text("include/mpi.h").lines() {
        let Some((start, rest)) = line.split_once('(') else { continue };
        let (Some(name), Some(parameters)) = (start.split(' ').nth(1), rest.strip_suffix(");"))
        else {
            continue;
        };
        if works(name) && !parameters.contains("...") {
            lines += &format!("FUNCTION({name}, \"{parameters}\")\n");
        }
    }
    lines
}

/// The program, compiled into this folder.
fn compiled_in(folder: &Path) -> PathBuf {
    let lines = functions();
    assert!(lines.lines().count() > 300, "{lines}");
    std::fs::write(folder.join("functions.h"), lines).unwrap();
    let program = folder.join("hostile");
    let mut cc = command();
    cc.args(["cc", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-Wno-cast-function-type", "-I"]);
    cc.arg(folder).arg("tests/soak/hostile.c").arg("-o").arg(&program);
    ended(&mut cc).went_well();
    program
}

/// The run of a seed.
fn run_of(program: &Path, seed: u64) -> Command {
    let mut run = command();
    run.args(["run", "--quiet", "--seed", &seed.to_string(), "-n", &(1 + seed % 4).to_string()]);
    run.arg(program).arg(seed.to_string());
    run
}

/// Checks the ending of a run; the error is what should not happen.
fn judged(ended: &Ended) -> Result<(), &'static str> {
    match ended.code {
        -9 => Err("it hangs, or wants too much memory"),
        ..=-1 => Err("a signal ends the simulator"),
        101 => Err("the simulator panics"),
        _ if ended.stderr.contains("panicked") => Err("the simulator panics"),
        1.. if !ended.stderr.contains("sunstar: ") => Err("it fails without a sentence"),
        _ => Ok(()),
    }
}

fn run_many(first: u64, seeds: u64) {
    let folder = tempfile::tempdir().unwrap();
    let program = compiled_in(folder.path());
    let (mut well, mut wrong) = (0, Vec::new());
    for seed in first..first + seeds {
        let ended = ended(&mut run_of(&program, seed));
        well += u64::from(ended.code == 0);
        if let Err(why) = judged(&ended) {
            let again = format!("HOSTILE_FIRST={seed} HOSTILE_SEEDS=1");
            let start: Vec<&str> = ended.stderr.lines().take(12).collect();
            wrong.push(format!("seed {seed}: {why}: {again}\n{}", start.join("\n")));
        }
    }
    println!("{seeds} seeds from {first}: {well} ended well");
    assert!(wrong.is_empty(), "{} of {seeds} seeds failed:\n{}", wrong.len(), wrong.join("\n"));
    assert!(seeds < 10 || well > 0, "no program got to its end");
}

#[test]
fn whatever_is_called_with_whatever_ends_with_a_sentence() {
    run_many(1, 24);
}

#[test]
#[ignore = "an hour: 3,000 programs, or as many as HOSTILE_SEEDS says from HOSTILE_FIRST on; make soak"]
fn whatever_is_called_with_whatever_soak() {
    run_many(number("HOSTILE_FIRST", 1000), number("HOSTILE_SEEDS", 3000));
}
