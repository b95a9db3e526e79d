//! User-level instructions, big-endian: user-mode QEMU as a 440.

use crate::image::{Image, Order, Plan};
use crate::random::Oracle;
use crate::support::asm::*;
use crate::support::{core, need, run_to_fault, twin, Flat, OnAnyBus};
use des::{Duration, Random, Time};
use ppc440::{Core, Stop};
use std::path::Path;
use std::process::Command;

const BASE: u32 = 0x1000_0000;
const HANDLER: u32 = 0x80;
const CODE: u32 = 0x100;

fn image(seed: u64, cases: usize, length: usize) -> Image {
    let plan = Plan {
        oracle: Oracle::User440,
        order: Order::Big,
        base: BASE,
        code: BASE + CODE,
        data: BASE + 0x0100_0000,
        cases,
        length,
    };
    let mut image = Image::new(seed, plan);
    // write(1, data, length), exit(0)
    let (data, len) = (image.plan.data, image.data_len() as u32);
    image.append(&[li(0, 4), li(3, 1)]);
    image.append(&[lis(4, data >> 16), ori(4, 4, data & 0xffff)]);
    image.append(&[lis(5, len >> 16), ori(5, 5, len & 0xffff)]);
    image.append(&[SC, li(0, 1), li(3, 0), SC]);
    // Our core's system call handler: writes the data cache back and stops.
    let mut handler = image.flush();
    handler.push(END);
    image.put(BASE + HANDLER, &handler);
    image
}

/// An ELF executable whose single segment is the image; the headers are in its unused first
/// bytes.
fn elf(image: &mut Image) -> &[u8] {
    let size = image.bytes.len() as u32;
    // Class 32, big-endian, version 1; type EXEC, machine PowerPC.
    let file = [0x7f45_4c46, 0x0102_0100, 0, 0, 0x0002_0014, 1, BASE + CODE, 0x34, 0, 0];
    image.put(BASE, &file);
    image.put(BASE + 0x28, &[0x0034_0020, 0x0001_0000, 0]);
    // Program header: LOAD, offset 0, addresses, sizes, RWX, alignment.
    image.put(BASE + 0x34, &[1, 0, BASE, BASE, size, size, 7, 0x1000]);
    &image.bytes
}

fn in_qemu(image: &mut Image, name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, elf(image)).unwrap();
    let mut permissions = std::fs::metadata(&path).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o755);
    std::fs::set_permissions(&path, permissions).unwrap();
    let output = Command::new("qemu-ppc").args(["-cpu", "440EP"]).arg(&path).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "qemu-ppc ended with {}: {error}", output.status);
    assert_eq!(output.stdout.len(), image.data_len(), "qemu-ppc's dump is short: {error}");
    std::fs::remove_file(&path).unwrap();
    output.stdout
}

fn in_core(image: &Image, code: u32, data: u32) -> Vec<u8> {
    in_cores(image, code, data, |core, flat| run_to_fault(core, flat, 60_000_000)).1
}

/// The same; `run` runs it to its end. Returns the core as well.
fn in_cores(
    image: &Image,
    code: u32,
    data: u32,
    run: impl FnOnce(&mut Core, &mut Flat),
) -> (Core, Vec<u8>) {
    let mut flat = Flat::new(BASE.into(), image.bytes.len());
    flat.memory.write(BASE.into(), &image.bytes).unwrap();
    let mut core = core(BASE + CODE);
    image.map(&mut core, code, data);
    core.set_spr(ppc440::spr::IVPR, BASE).unwrap();
    core.set_spr(ppc440::spr::IVOR0 + 8, HANDLER).unwrap();
    run(&mut core, &mut flat);
    let fault = core.fault().unwrap();
    let end = BASE + HANDLER + 4 * image.flush().len() as u32;
    assert_eq!(fault.pc, end, "the core stopped early: {fault}");
    let executed = core.counters().instructions;
    assert!(executed >= image.executed() as u64, "only {executed} instructions executed");
    let found = flat.memory.bytes(image.plan.data.into(), image.data_len()).unwrap();
    (core, found)
}

/// Returns the number of random instructions that both executed.
fn compare(seed: u64, cases: usize, length: usize, attributes: u32) -> usize {
    let mut image = image(seed, cases, length);
    let found = in_core(&image, attributes, attributes);
    let expected = in_qemu(&mut image, &format!("random-{seed}-{length}"));
    image.compare(seed, &expected, &found);
    image.executed()
}

/// Seeds of the fast ring, with the cases and their length.
const FAST: [(u64, usize, usize); 4] = [(1, 4000, 40), (2, 4000, 40), (3, 4000, 40), (4, 4000, 40)];

/// The random instructions of the fast ring.
pub fn words() -> Vec<u32> {
    FAST.iter().flat_map(|(seed, cases, length)| image(*seed, *cases, *length).words()).collect()
}

#[test]
fn random_programs_agree_with_qemu() {
    need("qemu-ppc", "qemu-user");
    let mut instructions = 0;
    for (seed, cases, length) in FAST {
        // Different caches' behaviour must not show in the results.
        let attributes = if seed == 4 { ppc440::TLB_G } else { 0 };
        instructions += compare(seed, cases, length, attributes);
    }
    println!("{instructions} instructions agree");
    assert!(instructions > 500_000, "only {instructions} instructions compared");
}

#[test]
fn random_programs_go_on_in_twins() {
    let image = image(6, 400, 40);
    let (whole, expected) = in_cores(&image, 0, 0, |core, flat| run_to_fault(core, flat, 60_000));
    let mut random = Random::new(7);
    let mut cuts = 0;
    let (last, found) = in_cores(&image, 0, 0, |core, flat| {
        let mut until = Time::ZERO;
        loop {
            until += Duration(1 + random.below(2_000_000));
            if core.run_on(flat, until) == Stop::Fault {
                return;
            }
            *core = twin(core);
            cuts += 1;
        }
    });
    assert!(cuts > 100, "{cuts} cuts");
    assert!(found == expected);
    assert_eq!(last.digest(), whole.digest());
    assert_eq!((last.counters(), last.fault()), (whole.counters(), whole.fault()));
}

#[test]
fn little_endian_code_does_the_same_to_big_endian_data() {
    let mut image = image(5, 1000, 32);
    let expected = in_core(&image, 0, 0);
    image.iteration_code();
    assert!(in_core(&image, ppc440::TLB_E, 0) == expected);
}

/// Millions of instructions: `cargo test -p ppc440 --test oracles -- --ignored`.
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
    assert!(instructions > 15_000_000, "only {instructions} instructions compared");
}
