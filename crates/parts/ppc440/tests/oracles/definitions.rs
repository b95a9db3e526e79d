//! Instructions that no QEMU has right, against their definitions in the PPC440x5 manual, written
//! down here a second time.
//!
//! In QEMU 7.2 the overflow test of the signed multiply-accumulates is the wrong way round (it
//! takes equal signs for no overflow), and those that neither saturate nor set OE do not write
//! their result. Its 440EP has no `isel`.

use crate::random::value;
use crate::single::Single;
use crate::support::asm::*;
use des::Random;

const OE: u32 = 1 << 10;
const SO: u32 = 0x8000_0000;

/// A multiply-accumulate: extended opcode, halves, signed, saturating, negative.
const ACCUMULATES: [(u32, char, bool, bool, bool); 18] = [
    (172, 'x', true, false, false),
    (236, 'x', true, true, false),
    (204, 'x', false, true, false),
    (140, 'x', false, false, false),
    (44, 'h', true, false, false),
    (108, 'h', true, true, false),
    (76, 'h', false, true, false),
    (12, 'h', false, false, false),
    (428, 'l', true, false, false),
    (492, 'l', true, true, false),
    (460, 'l', false, true, false),
    (396, 'l', false, false, false),
    (174, 'x', true, false, true),
    (238, 'x', true, true, true),
    (46, 'h', true, false, true),
    (110, 'h', true, true, true),
    (430, 'l', true, false, true),
    (494, 'l', true, true, true),
];

/// Halfword 0 (left) or 1 (right) of a word.
fn half(word: u32, right: bool, signed: bool) -> i128 {
    let half = (if right { word } else { word >> 16 }) as u16;
    if signed {
        (half as i16).into()
    } else {
        half.into()
    }
}

/// Result and whether it overflowed.
fn accumulate(kind: (u32, char, bool, bool, bool), t: u32, a: u32, b: u32) -> (u32, bool) {
    let (_, halves, signed, saturating, negative) = kind;
    let left = half(a, halves != 'h', signed);
    let right = half(b, halves == 'l', signed);
    let old: i128 = if signed { (t as i32).into() } else { t.into() };
    let sum = if negative { old - left * right } else { old + left * right };
    let (least, most) = if signed { (-(1 << 31), (1 << 31) - 1) } else { (0, (1 << 32) - 1) };
    let overflow = !(least..=most).contains(&sum);
    (if saturating { sum.clamp(least, most) } else { sum } as u32, overflow)
}

/// Result, CR0 and XER of dlmzb: the place of the first zero byte, or 8.
fn leftmost_zero_byte(a: u32, b: u32) -> (u32, u32) {
    let bytes = a.to_be_bytes().into_iter().chain(b.to_be_bytes());
    match bytes.into_iter().position(|byte| byte == 0) {
        Some(place) => (place as u32 + 1, if place < 4 { 4 } else { 8 }),
        None => (8, 2),
    }
}

/// Expected result of an instruction on r3 (target), r4 and r5: r3, CR0 if it is set, XER.
struct Expected {
    word: u32,
    result: u32,
    field: Option<u32>,
    xer: u32,
}

/// One of each, in all forms.
fn expected(t: u32, a: u32, b: u32, cr: u32, xer: u32) -> Vec<Expected> {
    let mut all = Vec::new();
    for kind in ACCUMULATES {
        for form in [0, 1, OE, OE | 1] {
            let (result, overflow) = accumulate(kind, t, a, b);
            let xer = match (form & OE != 0, overflow) {
                (true, true) => xer | 0xc000_0000,
                (true, false) => xer & !0x4000_0000,
                _ => xer,
            };
            let order = [8, 2, 4][((result as i32).signum() + 1) as usize];
            let field = (form & 1 != 0).then_some(order | u32::from(xer & SO != 0));
            all.push(Expected { word: x(4, 3, 4, 5, kind.0) | form, result, field, xer });
        }
    }
    for record in [0, 1] {
        let (result, field) = leftmost_zero_byte(a, b);
        let so = u32::from(xer & SO != 0);
        let field = (record != 0).then_some(field | so);
        let xer = xer & !0x7f | result;
        all.push(Expected { word: x(31, 4, 3, 5, 78) | record, result, field, xer });
    }
    for bit in 0..32 {
        for ra in [0, 4] {
            let first = if ra == 0 { 0 } else { a };
            let result = if cr >> (31 - bit) & 1 != 0 { first } else { b };
            let word = x(31, 3, ra, 5, 0) | bit << 6 | 15 << 1;
            all.push(Expected { word, result, field: None, xer });
        }
    }
    all
}

const ROUNDS: u64 = 200;

/// The words of the fast ring.
pub fn words() -> Vec<u32> {
    let round: Vec<u32> = expected(0, 0, 0, 0, 0).iter().map(|one| one.word).collect();
    round.iter().cycle().take(round.len() * ROUNDS as usize).copied().collect()
}

fn check(seed: u64, rounds: u64) {
    let mut random = Random::new(seed);
    let mut single = Single::new(0);
    for round in 0..rounds {
        let mut operand = |kind: u64| match (round + kind) % 5 {
            0 => 0x8000_8000,
            1 => 0x7fff_7fff,
            2 => 0xffff_ff00,
            _ => value(&mut random),
        };
        let (t, a, b) = (operand(0), operand(1), operand(3));
        let (cr, xer) = (random.next_u64() as u32, random.next_u64() as u32 & 0xe000_007f);
        for one in expected(t, a, b, cr, xer) {
            let mut gpr = [0x5555_5555; 32];
            gpr[3..6].copy_from_slice(&[t, a, b]);
            single.set(&gpr, cr, xer);
            single.run(&[one.word]);
            gpr[3] = one.result;
            let cr = one.field.map_or(cr, |field| cr & 0x0fff_ffff | field << 28);
            let context = format!("{:#x}: {t:#x} {a:#x} {b:#x} {cr:#x} {xer:#x}", one.word);
            assert_eq!(single.gpr(), gpr, "{context}");
            assert_eq!((single.core.cr(), single.xer()), (cr, one.xer), "{context}");
        }
    }
}

#[test]
fn instructions_do_what_the_manual_says() {
    check(7, ROUNDS);
}

/// `cargo test -p ppc440 --test oracles -- --ignored`.
#[test]
#[ignore = "soak: a minute or more"]
fn many_instructions_do_what_the_manual_says() {
    for seed in 100..200 {
        check(seed, 2000);
    }
}
