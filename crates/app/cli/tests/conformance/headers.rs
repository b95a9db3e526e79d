//! `mpi.h` agrees with MPICH's header for the ABI.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

fn headers() -> [PathBuf; 2] {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").canonicalize().unwrap();
    ["include/mpi.h", "build/mpich/include/mpi_abi.h"].map(|header| root.join(header))
}

/// Compiles a program that includes the header, with more options.
fn compile(header: &Path, text: &str, options: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let text = format!("#include \"{}\"\n#include <stdio.h>\n{text}", header.display());
    std::fs::write(folder.path().join("a.c"), text).unwrap();
    let compiler = Command::new("gcc").current_dir(&folder).args(options).arg("a.c").output();
    let compiler = compiler.unwrap();
    assert!(compiler.status.success(), "{}", String::from_utf8_lossy(&compiler.stderr));
    folder
}

/// Functions with the types of their arguments, as the compiler has understood them, but for MPICH's own
/// (`MPIX_`).
fn prototypes(header: &Path) -> BTreeSet<String> {
    let folder = compile(header, "", &["-c", "-aux-info", "types"]);
    let text = std::fs::read_to_string(folder.path().join("types")).unwrap();
    let functions = text.lines().filter_map(|line| line.split_once("*/ ")).map(|(_, it)| it);
    // It calls the types of some handles and callbacks otherwise.
    let functions = functions.map(|function| function.replace("MPI_ABI_", "MPI_"));
    let of_mpi = |it: &String| it.starts_with("extern ") && it.contains("MPI_");
    functions.filter(|it| of_mpi(it) && !it.contains("MPIX_")).collect()
}

/// Names of constants: macros without arguments, and members of enumerations.
fn constants(header: &Path) -> BTreeSet<String> {
    let text = std::fs::read_to_string(header).unwrap();
    let name = |line: &str| {
        let line = line.trim_start();
        let (word, rest) = match line.strip_prefix("#define ") {
            Some(rest) => rest.trim_start().split_once(char::is_whitespace)?,
            None => line.split_once('=')?,
        };
        let word = word.trim();
        let plain = word.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
        (plain && word.starts_with("MPI_") && !rest.trim().is_empty()).then(|| word.to_string())
    };
    text.lines().filter_map(name).collect()
}

/// Value of each constant: a number, or a handle as one; sizes of types.
fn values(header: &Path, names: &BTreeSet<String>) -> Vec<String> {
    let show = |name: &String| {
        format!("printf(\"{name} %lld\\n\", (long long)(__INTPTR_TYPE__)({name}));\n")
    };
    let mut lines: String = names.iter().map(show).collect();
    for kind in ["MPI_Status", "MPI_Aint", "MPI_Count", "MPI_Offset", "MPI_Comm"] {
        lines += &format!("printf(\"{kind} %zu\\n\", sizeof({kind}));\n");
    }
    let folder = compile(header, &format!("int main(void) {{\n{lines}}}\n"), &["-w", "-o", "a"]);
    let run = Command::new(folder.path().join("a")).output().unwrap();
    String::from_utf8(run.stdout).unwrap().lines().map(str::to_string).collect()
}

#[test]
fn functions_have_the_types_of_mpichs_header() {
    let [ours, theirs] = headers().map(|header| prototypes(&header));
    assert!(ours.len() > 1300, "{}", ours.len());
    let differ: Vec<_> = ours.symmetric_difference(&theirs).collect();
    assert!(differ.is_empty(), "{differ:#?}");
}

#[test]
fn constants_have_the_values_of_mpichs_header() {
    let [ours, theirs] = headers();
    let (own, other) = (constants(&ours), constants(&theirs));
    let common: BTreeSet<String> = own.intersection(&other).cloned().collect();
    assert!(common.len() > 350, "{}", common.len());
    assert_eq!(values(&ours, &common), values(&theirs, &common));
    // The old name of MPI_F_STATUS_SIZE.
    let differ: Vec<_> = own.symmetric_difference(&other).collect();
    assert_eq!(differ, ["MPI_STATUS_SIZE"]);
}

/// The header compiles in old and new versions of the languages.
#[test]
fn old_and_new_languages_have_the_header() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let folder = tempfile::tempdir().unwrap();
    let text = "#include <mpi.h>\n#include <sunstar.h>\n#include <portals3.h>\n";
    for (compiler, name, standards) in [
        ("gcc", "a.c", &["c89", "gnu89", "c99", "c11", "c17"][..]),
        ("g++", "a.cc", &["c++98", "c++11", "c++20"]),
    ] {
        std::fs::write(folder.path().join(name), text).unwrap();
        for standard in standards {
            let mut command = Command::new(compiler);
            command.current_dir(&folder).args(["-Wall", "-Wextra", "-Werror", "-fsyntax-only"]);
            command.arg(format!("-std={standard}")).arg("-I").arg(root.join("include"));
            let said = command.arg(name).output().unwrap();
            assert!(said.status.success(), "{standard}: {}", String::from_utf8_lossy(&said.stderr));
        }
    }
}
