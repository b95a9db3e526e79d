//! Little-endian: QEMU's 7400 with MSR[LE] on its g3beige board, against our core in pages with
//! E = 1. QEMU gives the 7400 true little-endian byte order, not the machine's swapped addresses,
//! and that is what E means on the 440.
//!
//! What both processors have is compared; the 7400 has no multiply-accumulate, and multiples and
//! strings are alignment exceptions in its little-endian mode. For those, `order` has a property.

use crate::image::{Image, Order, Plan};
use crate::random::Oracle;
use crate::support::asm::*;
use crate::support::{core, need, run_to_fault, Flat};
use crate::system::{temporary, Guest, QEMU};
use std::time::Duration;

/// Memory of the board in MiB.
const MEMORY: usize = 64;
const CODE: u32 = 0x1_0000;
/// The guest's sign that it has ended: 1 in little-endian order, or a vector in big-endian order.
const FLAG: u32 = 0x8000;
/// The ROM ends with the address space; the 7400 begins at 0xfff0_0100.
const ROM: usize = 4 << 20;
const RESET: usize = 0x30_0100;

fn image(seed: u64, cases: usize, length: usize) -> Image {
    let plan = Plan {
        oracle: Oracle::Little7400,
        order: Order::Little,
        base: 0,
        code: CODE,
        data: 0x0200_0000,
        cases,
        length,
    };
    let mut image = Image::new(seed, plan);
    let flush = image.flush();
    image.append(&flush);
    image
}

/// Goes to the code in little-endian mode, translation off.
fn rom() -> Vec<u8> {
    let start = [lis(3, CODE >> 16), mtspr(26, 3), li(3, 1), mtspr(27, 3), RFI];
    let mut rom = vec![0; ROM];
    for (index, word) in start.iter().enumerate() {
        rom[RESET + 4 * index..][..4].copy_from_slice(&word.to_be_bytes());
    }
    rom
}

fn in_qemu(image: &mut Image, name: &str) -> Vec<u8> {
    // Exceptions are big-endian; each vector leaves its address.
    for vector in (0x100..0x2000).step_by(0x100) {
        let handler = [li(3, vector as i32), lis(4, 0), ori(4, 4, FLAG), stw(3, 0, 4), b(0)];
        let swapped = handler.map(u32::swap_bytes);
        image.put(vector, &swapped);
    }
    image.append(&[li(3, 1), lis(4, 0), ori(4, 4, FLAG), stw(3, 0, 4), b(0)]);
    let rom = temporary(&format!("{name}.rom"), &rom());
    let arguments = ["-cpu", "7400", "-bios", rom.to_str().unwrap()];
    let mut guest = Guest::start(name, "g3beige", MEMORY, &image.bytes, &arguments).remove(&rom);
    let flag = guest.wait(FLAG.into(), Duration::from_secs(300));
    assert_eq!(flag.swap_bytes(), 1, "the 7400 took the exception of vector {flag:#x}");
    guest.read(image.plan.data.into(), image.data_len())
}

fn in_core(image: &Image, code: u32, data: u32) -> Vec<u8> {
    let mut flat = Flat::new(0, image.bytes.len());
    flat.memory.write(0, &image.bytes).unwrap();
    let mut core = core(CODE);
    image.map(&mut core, code, data);
    run_to_fault(&mut core, &mut flat, 60_000_000);
    let fault = core.fault().unwrap();
    assert_eq!(fault.pc, image.end, "the core stopped early: {fault}");
    let executed = core.counters().instructions;
    assert!(executed >= image.executed() as u64, "only {executed} instructions executed");
    flat.memory.bytes(image.plan.data.into(), image.data_len()).unwrap()
}

/// Returns the number of random instructions that both executed.
fn compare(seed: u64, cases: usize, length: usize, attributes: u32) -> usize {
    let mut image = image(seed, cases, length);
    let little = ppc440::TLB_E | attributes;
    let found = in_core(&image, little, little);
    let expected = in_qemu(&mut image, &format!("little-{seed}"));
    image.compare(seed, &expected, &found);
    image.executed()
}

/// Seeds of the fast ring, with the cases and their length.
const FAST: [(u64, usize, usize); 2] = [(1, 8000, 32), (2, 5000, 60)];

/// The random instructions of the fast ring.
pub fn words() -> Vec<u32> {
    FAST.iter().flat_map(|(seed, cases, length)| image(*seed, *cases, *length).words()).collect()
}

#[test]
fn little_endian_programs_agree_with_a_7400() {
    need(QEMU, "qemu-system-ppc");
    let mut instructions = 0;
    for ((seed, cases, length), attributes) in FAST.into_iter().zip([0, ppc440::TLB_G]) {
        instructions += compare(seed, cases, length, attributes);
    }
    println!("{instructions} instructions agree");
    assert!(instructions > 400_000, "only {instructions} instructions compared");
}

#[test]
fn big_endian_code_does_the_same_to_little_endian_data() {
    let mut image = image(3, 1000, 32);
    let expected = in_core(&image, ppc440::TLB_E, ppc440::TLB_E);
    image.iteration_code();
    assert!(in_core(&image, 0, ppc440::TLB_E) == expected);
}

/// `cargo test -p ppc440 --test oracles -- --ignored`.
#[test]
#[ignore = "soak: a minute or more"]
fn many_little_endian_programs_agree_with_a_7400() {
    need(QEMU, "qemu-system-ppc");
    let mut instructions = 0;
    for seed in 1000..1040 {
        let attributes = if seed % 2 == 0 { 0 } else { ppc440::TLB_G };
        instructions += compare(seed, 8000, 40, attributes);
    }
    println!("{instructions} instructions agree");
    assert!(instructions > 10_000_000, "only {instructions} instructions compared");
}
