//! Instruction groups against values from the PPC440x5 manual's definitions.

use crate::support::asm::*;
use crate::support::{core, map, run_to_fault, Flat};
use ppc440::{spr, Core, FaultKind};

/// Executes `words` with the given registers and returns the core.
fn execute(words: &[u32], registers: &[(usize, u32)]) -> Core {
    let mut flat = Flat::new(0, 0x4000);
    flat.words_be(0x1000, words);
    let mut core = core(0x1000);
    map(&mut core, 0);
    for &(register, value) in registers {
        core.set_gpr(register, value);
    }
    run_to_fault(&mut core, &mut flat, 100);
    assert_eq!(core.pc(), 0x1000 + 4 * words.len() as u32, "{}", core.fault().unwrap());
    core
}

const OE: u32 = 1 << 10;

#[test]
fn determine_leftmost_zero_byte() {
    let dlmzb = x(31, 4, 3, 5, 78) | 1;
    for (word0, word1, number, field) in [
        (0x0041_4243, 0x4445_4647, 1, 4),
        (0x4142_4300, 0x0000_0000, 4, 4),
        (0x4142_4344, 0x0045_4647, 5, 8),
        (0x4142_4344, 0x4546_4700, 8, 8),
        (0x4142_4344, 0x4546_4748, 8, 2),
    ] {
        let core = execute(&[dlmzb], &[(4, word0), (5, word1)]);
        assert_eq!(core.gpr(3), number);
        assert_eq!(core.spr(spr::XER), Some(number));
        assert_eq!(core.cr() >> 28, field);
    }
}

#[test]
fn integer_select_takes_ra_or_zero_if_the_bit_is_set() {
    let isel = |ra: u32, bit: u32| x(31, 3, ra, 5, 0) | bit << 6 | 15 << 1;
    let set = [d(11, 0, 4, 1)]; // cmpwi cr0, r4, 1: equal, bit 2
    let run = |ra, bit| execute(&[set[0], isel(ra, bit)], &[(4, 1), (5, 55)]).gpr(3);
    assert_eq!((run(4, 2), run(4, 1), run(0, 2)), (1, 55, 0));
}

#[test]
fn division_that_the_manual_leaves_undefined_returns_the_dividend_and_overflows() {
    for (a, b, extended) in [(77, 0, 491), (0x8000_0000, u32::MAX, 491), (77, 0, 459)] {
        let core = execute(&[x(31, 3, 4, 5, extended) | OE], &[(4, a), (5, b)]);
        assert_eq!((core.gpr(3), core.spr(spr::XER)), (a, Some(0xc000_0000)));
    }
}

#[test]
fn a_store_conditional_needs_a_reservation() {
    let lwarx = x(31, 6, 0, 4, 20);
    let stwcx = x(31, 5, 0, 4, 150) | 1;
    let at = [(4, 0x2000), (5, 9)];
    assert_eq!(execute(&[lwarx, stwcx], &at).cr() >> 28, 2);
    assert_eq!(execute(&[stwcx], &at).cr() >> 28, 0);
    assert_eq!(execute(&[lwarx, stwcx, stwcx], &at).cr() >> 28, 0);
    assert_eq!(execute(&[lwarx, stwcx, lwz(7, 0x2000, 0)], &at).gpr(7), 9);
}

#[test]
fn branches_link_and_count() {
    // bl over one instruction; the skipped one would set r3.
    let core = execute(&[b(8) | 1, li(3, 1), NOP], &[]);
    assert_eq!((core.gpr(3), core.spr(spr::LR)), (0, Some(0x1004)));
    // A loop of five.
    let core = execute(&[li(4, 5), mtspr(9, 4), addi(3, 3, 2), bdnz(-4)], &[]);
    assert_eq!((core.gpr(3), core.spr(spr::CTR)), (10, Some(0)));
    // bdz does not branch while CTR is not zero; ba and bca go to an absolute address.
    let core = execute(&[li(4, 5), mtspr(9, 4), bc(18, 0, 8), li(3, 7)], &[]);
    assert_eq!(core.gpr(3), 7);
    for absolute in [b(0x1008) | 2, bc(20, 0, 0x1008) | 2] {
        let core = execute(&[absolute, li(3, 1), li(4, 2)], &[]);
        assert_eq!((core.gpr(3), core.gpr(4)), (0, 2));
    }
}

#[test]
fn time_base_reads_and_writes() {
    let core = execute(
        &[li(3, 5), mtspr(spr::TBU, 3), li(3, 0), mtspr(spr::TBL, 3), NOP, mfspr(6, spr::TBU_READ)],
        &[],
    );
    assert_eq!(core.gpr(6), 5);
    // mftb r7, 268 and r8 after it: it goes on by one a cycle.
    let mftb = |rt: u32| 31 << 26 | rt << 21 | 12 << 16 | 8 << 11 | 371 << 1;
    let core = execute(&[NOP, NOP, mftb(7), mftb(8)], &[]);
    assert_eq!(core.gpr(8), core.gpr(7) + 1);
}

#[test]
fn special_registers_hold_what_they_are_given() {
    let plain = [
        spr::SRR0,
        spr::CSRR0,
        spr::DEAR,
        spr::ESR,
        spr::USPRG0,
        spr::SPRG0,
        spr::SPRG0 + 7,
        spr::MCSRR0,
        spr::CCR0,
        spr::CCR1,
        spr::DBCR0,
        spr::IAC1,
        spr::DAC1,
        spr::DECAR,
    ];
    for number in plain {
        if number == spr::DECAR {
            continue; // write only
        }
        let core = execute(&[mtspr(number, 4), mfspr(3, number)], &[(4, 0x1234_5678)]);
        assert_eq!(core.gpr(3), 0x1234_5678, "SPR {number}");
    }
    // Victim registers have six bits a set.
    let core = execute(&[mtspr(spr::DNV0, 4), mfspr(3, spr::DNV0)], &[(4, u32::MAX)]);
    assert_eq!(core.gpr(3), 0x3f3f_3f3f);
    // SPRG4 to 7 have second numbers for reading.
    let core = execute(&[mtspr(spr::SPRG0 + 4, 4), mfspr(3, spr::SPRG4R)], &[(4, 99)]);
    assert_eq!(core.gpr(3), 99);
}

#[test]
fn what_the_440_lacks_is_a_recorded_fault() {
    let fault = |word: u32| {
        let mut flat = Flat::new(0, 0x4000);
        flat.words_be(0x1000, &[NOP, word]);
        let mut core = core(0x1000);
        map(&mut core, 0);
        run_to_fault(&mut core, &mut flat, 10);
        let fault = *core.fault().unwrap();
        assert_eq!(fault.pc, 0x1004);
        assert_eq!(core.counters().instructions, 1);
        assert_eq!(core.now(), des::Time::NEVER);
        fault.kind
    };
    let fadd = x(63, 1, 2, 3, 21);
    let lfd = d(50, 1, 3, 0);
    for word in [0, fadd, lfd, x(31, 3, 4, 5, 9), d(11, 1, 4, 0)] {
        assert_eq!(fault(word), FaultKind::Illegal { word });
    }
    assert_eq!(fault(mfspr(3, 1000)), FaultKind::Spr { number: 1000 });
    assert_eq!(fault(mtspr(spr::PVR, 3)), FaultKind::Spr { number: spr::PVR });
    let mfdcr = 31 << 26 | 3 << 21 | 5 << 16 | 1 << 11 | 323 << 1;
    assert_eq!(fault(mfdcr), FaultKind::Dcr { number: 37 });
    let read = lwz(3, 0x7000, 0);
    assert!(matches!(fault(read), FaultKind::Bus(error) if error.addr == 0x7000));
}
