//! Little-endian C as GCC compiles it for the 440, on our core, against the same C on this machine.

use crate::program::Program;
use crate::support::{asm, need, run_to_fault, Flat, OnAnyBus};
use object::{Object, ObjectSection};
use ppc440::{mnemonic, spr, Core, Observation, Probe, TLB_I, TLB_W};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// The C programs in tests/programs.
const PROGRAMS: [&str; 2] = ["kernels.c", "algorithms.c"];

/// Results of a program on this machine's processor.
fn native(program: &str) -> Vec<u32> {
    need("cc", "gcc");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/native.c");
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("native-{number}"));
    let flags = ["-O1", "-fwrapv", "-w", &format!("-DPROGRAM=\"{program}\""), "-o"];
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
fn programs_compute_what_they_compute_here() {
    for program in PROGRAMS {
        let expected = native(program);
        assert!(expected.iter().filter(|&&value| value != 0).count() >= 9, "{expected:?}");
        for optimisation in ["-O0", "-Og", "-O1", "-O2", "-O3"] {
            for alignment in ["-mstrict-align", "-mno-strict-align"] {
                let flags = ["-fwrapv", "-w", optimisation, alignment];
                assert_eq!(results(program, &flags, 0), expected, "{program} {flags:?}");
            }
        }
    }
}

#[test]
fn cacheability_does_not_change_results() {
    let flags = ["-fwrapv", "-w", "-O2"];
    for program in PROGRAMS {
        let expected = native(program);
        assert_eq!(results(program, &flags, TLB_W), expected, "{program} write-through");
        assert_eq!(results(program, &flags, TLB_I), expected, "{program} inhibited");
    }
}

#[test]
fn multiples_work_in_little_endian_pages() {
    let expected = [9, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8];
    assert_eq!(results("multiple.S", &[], 0), expected);
}

/// Collects the addresses of completed instructions.
struct Completed(BTreeSet<u32>);

impl Probe for Completed {
    const ON: bool = true;
    fn observe(&mut self, what: Observation) {
        if let Observation::Completed { pc } = what {
            self.0.insert(pc);
        }
    }
    fn repeat(&mut self, iteration: &[Observation], _times: u64) {
        iteration.iter().for_each(|what| self.observe(*what));
    }
}

/// The instructions that the C programs execute.
pub fn executed() -> BTreeSet<&'static str> {
    let mut all = BTreeSet::new();
    let c = PROGRAMS.into_iter().flat_map(|program| [(program, "-O0"), (program, "-O2")]);
    for (source, flags) in c.chain([("multiple.S", "-O0")]) {
        let program = Program::compile(source, &["-fwrapv", "-w", flags]);
        let (mut core, mut flat) = program.load(2, 0);
        let mut completed = Completed(BTreeSet::new());
        core.run_observed_on(&mut flat, des::Time::NEVER, &mut completed);
        assert_eq!(core.pc(), 0x1_0004);
        let words = completed.0.iter().map(|pc| flat.memory.read_u32(u64::from(*pc)).unwrap());
        all.extend(words.map(|word| mnemonic(word).unwrap()));
    }
    all
}

/// The instructions in the NIC's firmware. Data between them may be taken for some.
pub fn firmware() -> BTreeSet<&'static str> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../firmware/seastar");
    let build = Path::new(env!("CARGO_TARGET_TMPDIR")).join("firmware");
    need("make", "make");
    let output = Command::new("make")
        .arg("--silent")
        .arg("-C")
        .arg(folder)
        .arg(format!("BUILD={}", build.display()))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut all = BTreeSet::new();
    for name in ["seastar.elf", "shim.elf"] {
        let elf = std::fs::read(build.join(name)).unwrap();
        let file = object::File::parse(&*elf).unwrap();
        let code = file.sections().filter(|s| s.kind() == object::SectionKind::Text);
        for section in code {
            let words = section.data().unwrap().chunks_exact(4);
            let words = words.map(|word| u32::from_le_bytes(word.try_into().unwrap()));
            all.extend(words.filter_map(mnemonic));
        }
    }
    all
}
