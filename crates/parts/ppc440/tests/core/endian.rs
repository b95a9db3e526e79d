//! Byte order is a property of the page: properties from the PPC440x5 manual.

use crate::support::asm::*;
use crate::support::{core, run_to_fault, Flat, ALL};
use des::Random;
use ppc440::{Core, TlbEntry, TLB_E, TLB_I, TLB_W};

const CODE: u32 = 0x1_0000;
/// The same 16 KB of real memory at `REAL`, seen big-endian and little-endian.
const BIG: u32 = 0x10_0000;
const LITTLE: u32 = 0x20_0000;
const REAL: u64 = 0x4000;

/// Code in a little-endian page, data in both views with further attributes.
fn two_views(words: &[u32], attributes: u32) -> (Core, Flat) {
    let mut flat = Flat::new(0, 0x1_0000);
    flat.words_le(0x1000, words);
    let mut random = Random::new(3);
    for at in (0..0x1000).step_by(8) {
        flat.memory.write(REAL + at, &random.next_u64().to_le_bytes()).unwrap();
    }
    let mut core = core(CODE);
    core.set_tlb_entry(0, TlbEntry::new(CODE, 0x1000, 1, TLB_E | ALL));
    core.set_tlb_entry(1, TlbEntry::new(BIG, REAL, 2, attributes | ALL));
    core.set_tlb_entry(2, TlbEntry::new(LITTLE, REAL, 2, TLB_E | attributes | ALL));
    (core, flat)
}

fn run(words: &[u32], attributes: u32, registers: &[(usize, u32)]) -> (Core, Flat) {
    let (mut core, mut flat) = two_views(words, attributes);
    for &(register, value) in registers {
        core.set_gpr(register, value);
    }
    run_to_fault(&mut core, &mut flat, 1000);
    assert_eq!(core.pc(), CODE + 4 * words.len() as u32, "{}", core.fault().unwrap());
    (core, flat)
}

/// Indexed loads and their reversing twins: (plain, reversing).
const LOADS: [(u32, u32); 2] = [(279, 790), (23, 534)];

#[test]
fn a_load_from_a_little_endian_page_is_a_reversed_load_from_a_big_endian_page() {
    for attributes in [0, TLB_W, TLB_I] {
        for offset in 0..40 {
            for (plain, reversing) in LOADS {
                let words = [
                    x(31, 5, 3, 9, plain),
                    x(31, 6, 4, 9, reversing),
                    x(31, 7, 3, 9, reversing),
                    x(31, 8, 4, 9, plain),
                    x(31, 10, 3, 9, 87), // bytes have no order
                    x(31, 11, 4, 9, 87),
                ];
                let views = [(3, LITTLE), (4, BIG), (9, offset)];
                let (core, _) = run(&words, attributes, &views);
                assert_eq!(core.gpr(5), core.gpr(6), "offset {offset}");
                assert_eq!(core.gpr(7), core.gpr(8), "offset {offset}");
                assert_eq!(core.gpr(10), core.gpr(11), "offset {offset}");
                let swapped = if plain == 23 {
                    core.gpr(8).swap_bytes()
                } else {
                    (core.gpr(8) as u16).swap_bytes().into()
                };
                assert_eq!(core.gpr(5), swapped, "offset {offset}");
            }
        }
    }
}

#[test]
fn a_store_to_a_little_endian_page_reads_back_reversed_from_a_big_endian_page() {
    for attributes in [0, TLB_W, TLB_I] {
        for offset in 0..40 {
            for (store, load) in [(151, 534), (407, 790), (662, 23), (918, 279)] {
                let words = [x(31, 5, 3, 9, store), x(31, 6, 4, 9, load)];
                let views = [(3, LITTLE), (4, BIG), (9, offset), (5, 0x1122_3344)];
                let (core, _) = run(&words, attributes, &views);
                let half = [407, 918].contains(&store);
                let expected = if half { 0x3344 } else { 0x1122_3344 };
                assert_eq!(core.gpr(6), expected, "store {store} offset {offset}");
            }
        }
    }
}

#[test]
fn multiples_follow_the_word_rule_and_strings_ignore_byte_order() {
    let words = [
        d(46, 28, 3, 4),        // lmw r28, 4(little)
        x(31, 20, 4, 0, 534),   // lwbrx of the first word
        x(31, 16, 12, 11, 597), // lswi r16, 11 bytes, little view
        x(31, 24, 14, 11, 597), // the same, big view
        d(47, 28, 3, 64),       // stmw r28, 64(little)
        d(32, 5, 13, 0),        // lwz of a word of it, big view
    ];
    let registers = [(3, LITTLE), (4, BIG + 4), (12, LITTLE), (14, BIG), (13, BIG + 64)];
    let (core, _) = run(&words, 0, &registers);
    assert_eq!(core.gpr(28), core.gpr(20));
    for register in 16..19 {
        assert_eq!(core.gpr(register), core.gpr(register + 8));
    }
    assert_eq!(core.gpr(18) & 0xff, 0, "a string fills its last register with zeros");
    assert_eq!(core.gpr(5), core.gpr(28).swap_bytes());
}

#[test]
fn misaligned_accesses_agree_with_bytes() {
    // Every offset around a line's end, each of the two orders, cached and not.
    for attributes in [0, TLB_I] {
        for offset in 12..36 {
            let words =
                [lwz(5, offset, 3), lwz(6, offset, 4), d(40, 7, 3, offset), d(42, 8, 4, offset)];
            let (core, flat) = run(&words, attributes, &[(3, LITTLE), (4, BIG)]);
            let mut bytes = [0; 4];
            flat.memory.read(REAL + offset as u64, &mut bytes).unwrap();
            assert_eq!(core.gpr(5), u32::from_le_bytes(bytes));
            assert_eq!(core.gpr(6), u32::from_be_bytes(bytes));
            assert_eq!(core.gpr(7), u16::from_le_bytes([bytes[0], bytes[1]]).into());
            assert_eq!(core.gpr(8), i16::from_be_bytes([bytes[0], bytes[1]]) as u32);
        }
    }
}

#[test]
fn code_can_stand_in_pages_of_either_order() {
    let program = [li(3, 11), addi(3, 3, 22), END];
    for (attributes, little) in [(0, false), (TLB_E, true), (TLB_I, false), (TLB_I | TLB_E, true)] {
        let mut flat = Flat::new(0, 0x4000);
        if little {
            flat.words_le(0x1000, &program);
        } else {
            flat.words_be(0x1000, &program);
        }
        let mut core = core(0x1000);
        core.set_tlb_entry(0, TlbEntry::new(0x1000, 0x1000, 1, attributes | ALL));
        run_to_fault(&mut core, &mut flat, 10);
        assert_eq!(core.gpr(3), 33);
    }
}
