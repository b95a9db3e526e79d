//! The committed output is current, and C compilers agree with it.

#![allow(clippy::unwrap_used)] // Helpers of tests, too.

use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

#[test]
fn committed_output_is_current() {
    let outputs = abigen::generate(&root()).unwrap();
    let stale: Vec<_> = outputs.iter().filter(|output| !output.is_current(&root())).collect();
    let names: Vec<_> = stale.iter().map(|output| output.path.display().to_string()).collect();
    assert!(names.is_empty(), "stale, run `cargo run -p abigen`: {}", names.join(", "));
}

/// Compiles a file that includes the header; its static assertions do the checking.
fn compile(compiler: &str, options: &[&str], include: &str, header: &str) {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("header.c");
    std::fs::write(&source, format!("#include \"{header}\"\n")).unwrap();
    let run = Command::new(compiler)
        .args(["-Wall", "-Wextra", "-Werror", "-pedantic", "-c", "-o", "/dev/null"])
        .args(options)
        .arg("-I")
        .arg(root().join(include))
        .arg(&source)
        .output()
        .unwrap_or_else(|error| panic!("cannot run {compiler}: {error}"));
    assert!(run.status.success(), "{compiler}: {}", String::from_utf8_lossy(&run.stderr));
}

#[test]
fn seastar_header_compiles_for_workstation_and_440() {
    let include = "firmware/seastar/include";
    compile("gcc", &[], include, "abi_seastar.h");
    let options = ["-mcpu=440", "-mlittle", "-ffreestanding"];
    compile("powerpc-linux-gnu-gcc", &options, include, "abi_seastar.h");
}

#[test]
fn myrinet_header_compiles_for_workstation_and_lanai() {
    let include = "firmware/lanai/include";
    compile("gcc", &[], include, "abi_myrinet.h");
    compile("clang-14", &["--target=lanai", "-ffreestanding"], include, "abi_myrinet.h");
}

#[test]
fn portals3_header_compiles_as_c_and_as_cplusplus() {
    compile("gcc", &["-std=c99"], "include", "portals3.h");
    compile("g++", &["-x", "c++", "-std=c++11"], "include", "portals3.h");
}

#[test]
fn seastar_constants_can_be_used_by_the_assembler() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("constants.S");
    std::fs::write(
        &source,
        "#include \"abi_seastar.h\"\n.long SS_SRAM_BASE, SS_EVENT_TYPE_ERR_TX\n",
    )
    .unwrap();
    let run = Command::new("gcc")
        .args(["-c", "-o", "/dev/null", "-I"])
        .arg(root().join("firmware/seastar/include"))
        .arg(&source)
        .output()
        .unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
}

#[test]
fn rank_header_compiles() {
    compile("gcc", &[], "lib/seam/generated", "abi_rank.h");
}

#[test]
fn mpi_header_compiles_in_c_and_cxx() {
    compile("gcc", &[], "include", "mpi.h");
    compile("g++", &["-x", "c++", "-std=c++11"], "include", "mpi.h");
}

/// Compiles a program that uses accessors, and runs it.
fn runs(include: &str, header: &str, body: &str) {
    let folder = tempfile::tempdir().unwrap();
    let (source, program) = (folder.path().join("accessors.c"), folder.path().join("accessors"));
    let text = format!("#include \"{header}\"\nint main(void)\n{{\n    return !({body});\n}}\n");
    std::fs::write(&source, text).unwrap();
    let run = Command::new("gcc")
        .args(["-Wall", "-Wextra", "-Werror", "-Wconversion", "-pedantic", "-o"])
        .arg(&program)
        .arg("-I")
        .arg(root().join(include))
        .arg(&source)
        .output()
        .unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    assert!(Command::new(&program).status().unwrap().success(), "{body} is false");
}

#[test]
fn accessors_in_c_find_their_fields() {
    let credits = "forth_register_credits";
    runs(
        "include",
        "registers_forth.h",
        &format!(
            "{credits}_get_limit(0x0000028000000000ull) == 640 \
             && {credits}_set_limit(~0ull, 0xF0000ull) == 0xFFFF0000FFFFFFFFull \
             && FORTH_REGISTER_CONTROL_AFTER_RESET == 0"
        ),
    );
}

#[test]
fn functions_with_the_same_arguments_share_a_structure_as_wide_as_any_needs() {
    let outputs = abigen::generate(&root()).unwrap();
    let args = outputs.iter().find(|output| output.path.ends_with("mpi/args.rs")).unwrap();
    // MPI_Send_c has a wider count, and MPI_Isend a request behind the others.
    for line in [
        "        let [buf, count, datatype, dest, tag, comm] = *first(words);",
        "    pub count: i64,",
        "    pub dest: i32,",
        "pub type SendC = Send;",
        "pub type Isend = Send;",
        "pub type SsendInit = Send;",
        // An address is no handle.
        "pub struct CommFree {",
        "pub struct Barrier {",
    ] {
        assert!(args.text.lines().any(|there| there == line), "{line}");
    }
}
