//! Differential test: random straight-line programs of user-level instructions run in user-mode
//! QEMU as a big-endian 440 and in our core in big-endian pages; all registers and memory must
//! agree.
//!
//! A program is a series of cases. Each case sets all registers from its block of the data,
//! executes some random instructions, and stores all registers into the block. The whole data
//! region is compared at the end. The instructions are encoded here, independently of the core's
//! own table.
#![allow(clippy::unwrap_used)]

mod random;
mod support;

use des::Random;
use random::{Case, BLOCK, INPUT_WORDS};
use std::path::Path;
use std::process::Command;
use support::asm::*;
use support::{core, need, run_to_fault, Flat, ALL};

const BASE: u32 = 0x1000_0000;
const HANDLER: u32 = 0x80;
const CODE: u32 = 0x100;
/// The data region begins here; the code may not grow beyond it.
const DATA: u32 = BASE + 0x0100_0000;

struct Image {
    bytes: Vec<u8>,
    /// Bytes of data from `DATA` on.
    data: usize,
    cases: Vec<Case>,
}

fn image(seed: u64, cases: usize, length: usize) -> Image {
    let mut random = Random::new(seed);
    let data = cases * BLOCK as usize;
    let mut bytes = vec![0; (DATA - BASE) as usize + data];
    let mut code = Vec::new();
    let mut all = Vec::new();
    for index in 0..cases {
        let block = DATA + index as u32 * BLOCK;
        let start = BASE + CODE + 4 * code.len() as u32;
        let case = Case::new(&mut random, block, start, length);
        let offset = (block - BASE) as usize;
        for word in 0..INPUT_WORDS + 64 {
            let value = random::value(&mut random);
            let at = offset + 4 * word as usize;
            bytes[at..at + 4].copy_from_slice(&value.to_be_bytes());
        }
        code.extend_from_slice(&case.code);
        all.push(case);
    }
    // write(1, DATA, length), exit(0)
    code.extend([li(0, 4), li(3, 1)]);
    code.extend([lis(4, DATA >> 16), ori(4, 4, DATA & 0xffff)]);
    code.extend([lis(5, data as u32 >> 16), ori(5, 5, data as u32 & 0xffff)]);
    code.extend([SC, li(0, 1), li(3, 0), SC]);
    assert!(CODE as usize + 4 * code.len() < (DATA - BASE) as usize, "too many cases");
    // Our core's system call handler: writes the data cache back and stops.
    let lines = data.div_ceil(32) as u32;
    let handler = [
        lis(4, DATA >> 16),
        lis(5, lines >> 16),
        ori(5, 5, lines & 0xffff),
        mtspr(9, 5),
        x(31, 0, 0, 4, 86), // dcbf
        addi(4, 4, 32),
        bdnz(-8),
        END,
    ];
    put(&mut bytes, HANDLER, &handler);
    put(&mut bytes, CODE, &code);
    Image { bytes, data, cases: all }
}

fn put(bytes: &mut [u8], at: u32, words: &[u32]) {
    for (index, word) in words.iter().enumerate() {
        let at = at as usize + 4 * index;
        bytes[at..at + 4].copy_from_slice(&word.to_be_bytes());
    }
}

/// An ELF executable whose single segment is the image; the headers stand in its unused first
/// bytes.
fn elf(image: &Image) -> Vec<u8> {
    let mut bytes = image.bytes.clone();
    let size = bytes.len() as u32;
    // Class 32, big-endian, version 1; type EXEC, machine PowerPC.
    put(&mut bytes, 0, &[0x7f45_4c46, 0x0102_0100, 0, 0, 0x0002_0014, 1, BASE + CODE, 0x34, 0, 0]);
    put(&mut bytes, 0x28, &[0x0034_0020, 0x0001_0000, 0]);
    // Program header: LOAD, offset 0, addresses, sizes, RWX, alignment.
    put(&mut bytes, 0x34, &[1, 0, BASE, BASE, size, size, 7, 0x1000]);
    bytes
}

fn in_qemu(image: &Image, name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, elf(image)).unwrap();
    let mut permissions = std::fs::metadata(&path).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o755);
    std::fs::set_permissions(&path, permissions).unwrap();
    let output = Command::new("qemu-ppc").args(["-cpu", "440EP"]).arg(&path).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "qemu-ppc ended with {}: {error}", output.status);
    assert_eq!(output.stdout.len(), image.data, "qemu-ppc's dump is short: {error}");
    std::fs::remove_file(&path).unwrap();
    output.stdout
}

fn in_core(image: &Image, attributes: u32) -> (Vec<u8>, u64) {
    let mut flat = Flat::new(BASE.into(), image.bytes.len());
    flat.memory.write(BASE.into(), &image.bytes).unwrap();
    let mut core = core(BASE + CODE);
    core.set_tlb_entry(3, ppc440::TlbEntry::new(BASE, BASE.into(), 9, attributes | ALL));
    core.set_spr(ppc440::spr::IVPR, BASE).unwrap();
    core.set_spr(ppc440::spr::IVOR0 + 8, HANDLER).unwrap();
    run_to_fault(&mut core, &mut flat, 60_000_000);
    let fault = core.fault().unwrap();
    let end = BASE + HANDLER + 28;
    assert_eq!(fault.pc, end, "the core stopped early: {fault}");
    (flat.memory.slice(DATA.into(), image.data).unwrap().to_vec(), core.counters().instructions)
}

fn compare(seed: u64, cases: usize, length: usize, attributes: u32) -> u64 {
    let image = image(seed, cases, length);
    let expected = in_qemu(&image, &format!("random-{seed}"));
    let (found, instructions) = in_core(&image, attributes);
    for (index, case) in image.cases.iter().enumerate() {
        let at = index * BLOCK as usize;
        let (expected, found) = (&expected[at..], &found[at..]);
        if let Some(offset) = (0..BLOCK as usize).find(|&i| expected[i] != found[i]) {
            let word = offset & !3;
            panic!(
                "seed {seed} case {index}: {} is {:02x?}, QEMU has {:02x?}\n{}",
                random::place(word),
                &found[word..word + 4],
                &expected[word..word + 4],
                case.listing(),
            );
        }
    }
    instructions
}

#[test]
fn random_programs_agree_with_qemu() {
    need("qemu-ppc", "qemu-user");
    let mut instructions = 0;
    for seed in 1..=4 {
        // Different caches' behaviour must not show in the results.
        let attributes = if seed == 4 { ppc440::TLB_G } else { 0 };
        instructions += compare(seed, 3000, 32, attributes);
    }
    assert!(instructions > 400_000, "only {instructions} instructions compared");
}

/// Millions of instructions: `cargo test -p ppc440 --test qemu -- --ignored`.
#[test]
#[ignore = "soak: a minute or more"]
fn many_random_programs_agree_with_qemu() {
    need("qemu-ppc", "qemu-user");
    let mut instructions = 0;
    for seed in 100..160 {
        instructions += compare(seed, 3000, 32, 0);
        instructions += compare(seed, 1000, 200, ppc440::TLB_G);
    }
    println!("{instructions} instructions agree");
}
