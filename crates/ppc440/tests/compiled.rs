//! Little-endian C as GCC compiles it for the 440, on our core, against the same C on this machine.
#![allow(clippy::unwrap_used)]

#[path = "support/program.rs"]
mod program;
mod support;

use ppc440::{spr, Core, TLB_I, TLB_W};
use program::Program;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;
use support::{asm, need, run_to_fault, Flat};

/// What tests/programs/kernels.c computes here.
fn native() -> &'static [u32] {
    static RESULTS: OnceLock<Vec<u32>> = OnceLock::new();
    RESULTS.get_or_init(run_natively)
}

fn run_natively() -> Vec<u32> {
    need("cc", "gcc");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/native.c");
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("native");
    let flags = ["-O1", "-fwrapv", "-w", "-o"];
    let status = Command::new("cc").args(flags).arg(&out).arg(source).status().unwrap();
    assert!(status.success(), "cc failed on native.c");
    let output = Command::new(out).output().unwrap();
    String::from_utf8(output.stdout).unwrap().lines().map(|l| l.parse().unwrap()).collect()
}

fn results(source: &str, flags: &[&str], attributes: u32) -> Vec<u32> {
    let program = Program::compile(source, flags);
    let (mut core, mut flat) = program.load(2, attributes);
    run_to_fault(&mut core, &mut flat, 1_000_000);
    let fault = *core.fault().unwrap();
    assert_eq!(fault.kind, ppc440::FaultKind::Illegal { word: 0 }, "{flags:?}: {fault}");
    assert_eq!(fault.pc, 0x1_0004, "{flags:?}: {fault}");
    flush(&mut core, &mut flat);
    let results = program.symbol("results");
    (0..16).map(|index| flat.memory.read_u32(results + 4 * index).unwrap()).collect()
}

/// Writes the data cache back: a fresh core's caches would be empty, so the program itself flushes.
fn flush(core: &mut Core, flat: &mut Flat) {
    let lines = [asm::x(31, 0, 0, 4, 86), asm::addi(4, 4, 32), asm::bdnz(-8), asm::END];
    flat.words_le(0x8000, &lines);
    core.resume_at(0x8000);
    core.set_gpr(4, 0x1_0000);
    core.set_spr(spr::CTR, 0x4_0000 / 32).unwrap();
    run_to_fault(core, flat, 2_000_000);
}

#[test]
fn kernels_compute_what_they_compute_here() {
    let expected = native();
    assert!(expected.iter().filter(|&&value| value != 0).count() >= 9, "{expected:?}");
    for optimisation in ["-O0", "-O1", "-O2", "-O3"] {
        for alignment in ["-mstrict-align", "-mno-strict-align"] {
            let flags = ["-fwrapv", "-w", optimisation, alignment];
            assert_eq!(results("kernels.c", &flags, 0), expected, "{flags:?}");
        }
    }
}

#[test]
fn cacheability_does_not_change_results() {
    let expected = native();
    let flags = ["-fwrapv", "-w", "-O2"];
    assert_eq!(results("kernels.c", &flags, TLB_W), expected, "write-through");
    assert_eq!(results("kernels.c", &flags, TLB_I), expected, "inhibited");
}

#[test]
fn multiples_work_in_little_endian_pages() {
    let expected = [9, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8];
    assert_eq!(results("multiple.S", &[], 0), expected);
}
