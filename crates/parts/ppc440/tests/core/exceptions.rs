//! Exceptions that software handles, interrupts, timers, translation, and the state out of reset.

use crate::support::asm::*;
use crate::support::{core, map, run_to_fault, Flat, OnAnyBus, ALL, CLOCK, TIMING};
use des::{Duration, Time};
use ppc440::{
    spr, Config, Core, Stop, TlbEntry, MSR_CE, MSR_DS, MSR_EE, MSR_IS, MSR_ME, MSR_PR, MSR_WE,
    TLB_E, TLB_I, TLB_W,
};

const CODE: u32 = 0x1000;
/// IVORn points to `VECTORS + 0x100 * n`; each handler is an illegal word, so the core stops there.
const VECTORS: u32 = 0x2_0000;

const ESR_ST: u32 = 0x0080_0000;

fn machine(words: &[u32]) -> (Core, Flat) {
    let mut flat = Flat::new(0, 0x4_0000);
    flat.words_be(CODE.into(), words);
    let mut core = core(CODE);
    map(&mut core, 0);
    core.set_spr(spr::IVPR, VECTORS).unwrap();
    for n in 0..16 {
        core.set_spr(spr::IVOR0 + n, 0x100 * n).unwrap();
    }
    (core, flat)
}

/// Runs to the handler of vector `n`, which was reached from `from`.
fn expect(core: &mut Core, flat: &mut Flat, n: u32, from: u32) {
    run_to_fault(core, flat, 1000);
    assert_eq!(core.pc(), VECTORS + 0x100 * n, "{}", core.fault().unwrap());
    assert_eq!(core.spr(spr::SRR0), Some(from));
}

#[test]
fn system_call_saves_the_next_instruction_and_the_msr() {
    let (mut core, mut flat) = machine(&[SC]);
    core.set_msr(MSR_EE | MSR_ME | MSR_CE | MSR_PR);
    expect(&mut core, &mut flat, 8, CODE + 4);
    assert_eq!(core.spr(spr::SRR1), Some(MSR_EE | MSR_ME | MSR_CE | MSR_PR));
    assert_eq!(core.msr(), MSR_ME | MSR_CE);
}

#[test]
fn return_from_interrupt_restores_both() {
    let (mut core, mut flat) = machine(&[RFI]);
    core.set_spr(spr::SRR0, 0x1_0000).unwrap();
    core.set_spr(spr::SRR1, MSR_ME | MSR_PR).unwrap();
    flat.words_be(0x1_0000, &[NOP, END]);
    run_to_fault(&mut core, &mut flat, 10);
    assert_eq!((core.pc(), core.msr()), (0x1_0004, MSR_ME | MSR_PR));
}

#[test]
fn critical_and_machine_check_returns_have_registers_of_their_own() {
    for (extended, pc, msr) in [(51, spr::CSRR0, spr::CSRR1), (38, spr::MCSRR0, spr::MCSRR1)] {
        let (mut core, mut flat) = machine(&[19 << 26 | extended << 1]);
        core.set_spr(pc, 0x1_0000).unwrap();
        core.set_spr(msr, MSR_CE).unwrap();
        run_to_fault(&mut core, &mut flat, 10);
        assert_eq!((core.pc(), core.msr()), (0x1_0000, MSR_CE));
    }
}

#[test]
fn data_tlb_miss_tells_address_and_direction() {
    for (word, syndrome) in [(lwz(3, 8, 4), 0), (stw(3, 8, 4), ESR_ST)] {
        let (mut core, mut flat) = machine(&[NOP, word]);
        core.set_gpr(4, 0x8000_0000);
        expect(&mut core, &mut flat, 13, CODE + 4);
        assert_eq!(core.spr(spr::DEAR), Some(0x8000_0008));
        assert_eq!(core.spr(spr::ESR), Some(syndrome));
    }
}

#[test]
fn a_handler_can_map_the_page_and_return_to_the_load() {
    // r10 to r12 hold the words of the TLB entry that the handler writes as entry 5.
    let (mut core, mut flat) = machine(&[lwz(3, 8, 4), END]);
    let tlbwe = |rs: u32, ws: u32| x(31, rs, 13, ws, 978);
    flat.words_be(
        (VECTORS + 0xd00).into(),
        &[tlbwe(10, 0), tlbwe(11, 1), tlbwe(12, 2), addi(14, 14, 1), RFI],
    );
    flat.words_be(0x8008, &[0xabcd]);
    let entry = TlbEntry::new(0x8000_0000, 0x8000, 1, ALL);
    for (register, value) in [(4, 0x8000_0000), (13, 5), (14, 0)].into_iter().chain([
        (10, entry.words[0]),
        (11, entry.words[1]),
        (12, entry.words[2]),
    ]) {
        core.set_gpr(register, value);
    }
    run_to_fault(&mut core, &mut flat, 10);
    assert_eq!((core.pc(), core.gpr(3), core.gpr(14)), (CODE + 4, 0xabcd, 1));
    assert_eq!(core.tlb_entry(5), entry);
}

#[test]
fn permissions_depend_on_the_mode() {
    // Page without supervisor write, without user read.
    let attributes = 0x20 | 0x10 | 0x04 | 0x01;
    for (msr, word, faults, syndrome) in [
        (0, lwz(3, 0, 4), false, 0),
        (0, stw(3, 0, 4), true, ESR_ST),
        (MSR_PR, lwz(3, 0, 4), true, 0),
        (MSR_PR, stw(3, 0, 4), false, 0),
    ] {
        let (mut core, mut flat) = machine(&[word]);
        core.set_tlb_entry(7, TlbEntry::new(0x7000_0000, 0x8000, 1, attributes));
        core.set_gpr(4, 0x7000_0000);
        core.set_msr(msr);
        if faults {
            expect(&mut core, &mut flat, 2, CODE);
            assert_eq!(
                (core.spr(spr::ESR), core.spr(spr::DEAR)),
                (Some(syndrome), Some(0x7000_0000))
            );
        } else {
            run_to_fault(&mut core, &mut flat, 10);
            assert_eq!(core.pc(), CODE + 4);
        }
    }
}

#[test]
fn fetch_faults() {
    let (mut core, mut flat) = machine(&[]);
    core.set_pc(0x9000_0000);
    expect(&mut core, &mut flat, 14, 0x9000_0000);
    let (mut core, mut flat) = machine(&[]);
    core.set_tlb_entry(7, TlbEntry::new(0x9000_0000, 0x8000, 1, ALL & !4));
    core.set_pc(0x9000_0000);
    expect(&mut core, &mut flat, 3, 0x9000_0000);
}

#[test]
fn traps_and_privileged_instructions_are_program_exceptions() {
    let (mut core, mut flat) = machine(&[d(3, 4, 5, 7), d(3, 4, 5, 8)]); // tweqi r5,7; tweqi r5,8
    core.set_gpr(5, 8);
    expect(&mut core, &mut flat, 6, CODE + 4);
    assert_eq!(core.spr(spr::ESR), Some(0x0200_0000));
    for word in [
        x(31, 3, 0, 0, 83),  // mfmsr
        x(31, 3, 0, 0, 146), // mtmsr
        mtspr(spr::SRR0, 3),
        mfspr(3, spr::SPRG0),
        RFI,
        x(31, 0, 0, 4, 470),                     // dcbi
        x(31, 0, 0, 0, 966),                     // iccci
        x(31, 3, 4, 0, 978),                     // tlbwe
        x(31, 0, 0, 0, 566),                     // tlbsync
        x(31, 0, 0, 16, 163),                    // wrteei
        31 << 26 | 3 << 21 | 5 << 16 | 323 << 1, // mfdcr
    ] {
        let (mut core, mut flat) = machine(&[word]);
        core.set_msr(MSR_PR);
        expect(&mut core, &mut flat, 6, CODE);
        assert_eq!(core.spr(spr::ESR), Some(0x0400_0000));
    }
}

/// Every trap condition against every order of operands.
#[test]
fn trap_conditions() {
    for to in 0..32 {
        for (a, b) in [(1, 2), (2, 1), (5, 5), (u32::MAX, 1), (1, u32::MAX)] {
            let (mut core, mut flat) = machine(&[x(31, to, 4, 5, 4)]);
            core.set_gpr(4, a);
            core.set_gpr(5, b);
            run_to_fault(&mut core, &mut flat, 10);
            let (signed, unsigned) = ((a as i32).cmp(&(b as i32)), a.cmp(&b));
            let hit = to & 16 != 0 && signed.is_lt()
                || to & 8 != 0 && signed.is_gt()
                || to & 4 != 0 && unsigned.is_eq()
                || to & 2 != 0 && unsigned.is_lt()
                || to & 1 != 0 && unsigned.is_gt();
            assert_eq!(core.pc() != CODE + 4, hit, "{to} {a} {b}");
        }
    }
}

#[test]
fn alignment_exceptions_only_where_the_manual_has_them() {
    let aligned_only = [x(31, 3, 0, 4, 20), x(31, 3, 0, 4, 150) | 1]; // lwarx, stwcx.
    for word in aligned_only {
        let (mut core, mut flat) = machine(&[word]);
        core.set_gpr(4, 0x8002);
        expect(&mut core, &mut flat, 5, CODE);
        assert_eq!(core.spr(spr::DEAR), Some(0x8002));
    }
    for attributes in [TLB_I, TLB_W] {
        let (mut core, mut flat) = machine(&[x(31, 0, 0, 4, 1014)]); // dcbz
        core.set_tlb_entry(7, TlbEntry::new(0x7000_0000, 0x8000, 1, attributes | ALL));
        core.set_gpr(4, 0x7000_0000);
        expect(&mut core, &mut flat, 5, CODE);
    }
    // Anything else is done, also across lines and pages; with CCR0[FLSTA] it is not.
    let words = [lwz(3, 0xffe, 4), d(40, 3, 4, 31), d(46, 30, 4, 1), END];
    let (mut core, mut flat) = machine(&words);
    core.set_gpr(4, 0x8000);
    run_to_fault(&mut core, &mut flat, 10);
    assert_eq!(core.pc(), CODE + 12);
    for word in &words[..3] {
        let (mut core, mut flat) = machine(&[*word]);
        core.set_gpr(4, 0x8000);
        core.set_spr(spr::CCR0, 0x100).unwrap();
        expect(&mut core, &mut flat, 5, CODE);
    }
}

#[test]
fn an_access_across_pages_faults_before_it_does_anything() {
    // stw across the end of a mapped page: the bytes on this side stay.
    let (mut core, mut flat) = machine(&[stw(3, 0, 4)]);
    core.set_tlb_entry(7, TlbEntry::new(0x7000_0000, 0x8000, 1, TLB_I | ALL));
    core.set_gpr(3, u32::MAX);
    core.set_gpr(4, 0x7000_0ffe);
    expect(&mut core, &mut flat, 13, CODE);
    assert_eq!(core.spr(spr::DEAR), Some(0x7000_1001));
    assert_eq!(flat.word_be(0x8ffc), 0);
}

#[test]
fn external_interrupts_wait_for_ee() {
    // r3 counts; wrteei 1 after three.
    let (mut core, mut flat) = machine(&[
        addi(3, 3, 1),
        addi(3, 3, 1),
        addi(3, 3, 1),
        x(31, 0, 0, 16, 163),
        addi(3, 3, 1),
    ]);
    core.set_external_interrupt(true, Time::ZERO);
    expect(&mut core, &mut flat, 4, CODE + 16);
    assert_eq!(core.gpr(3), 3);
    assert_eq!(core.msr() & MSR_EE, 0);
    assert_eq!(core.spr(spr::SRR1).unwrap() & MSR_EE, MSR_EE);
}

#[test]
fn an_interrupt_stops_a_loop_when_it_rises() {
    let (mut core, mut flat) = machine(&[addi(3, 3, 1), b(-4)]);
    core.set_msr(MSR_EE);
    let at = Time::ZERO + Duration::from_us(5);
    assert_eq!(core.run_on(&mut flat, at), Stop::Until);
    assert!(core.now() >= at && core.now() < at + Duration::from_ns(20));
    core.set_external_interrupt(true, at);
    run_to_fault(&mut core, &mut flat, 10);
    assert_eq!(core.pc(), VECTORS + 0x400);
    assert!(core.fault().unwrap().at < at + Duration::from_ns(200));
}

#[test]
fn the_wait_state_ends_with_an_interrupt() {
    let (mut core, mut flat) = machine(&[x(31, 3, 0, 0, 146), addi(5, 5, 1)]); // mtmsr
    core.set_gpr(3, MSR_WE | MSR_EE);
    let later = Time::ZERO + Duration::from_us(50);
    assert_eq!(core.run_on(&mut flat, later), Stop::Until);
    assert_eq!(core.now(), Time::NEVER);
    core.set_external_interrupt(true, later);
    assert_eq!(core.now(), later);
    run_to_fault(&mut core, &mut flat, 100);
    assert_eq!(core.pc(), VECTORS + 0x400);
    assert_eq!((core.spr(spr::SRR0), core.gpr(5)), (Some(CODE + 4), 0));
    assert!(core.counters().cycles >= 25_000, "waiting counts");
}

#[test]
fn the_decrementer_interrupts_when_it_reaches_zero() {
    let words = [mtspr(spr::DEC, 3), mtspr(spr::TCR, 4), x(31, 0, 0, 16, 163), b(0)];
    let (mut core, mut flat) = machine(&words);
    core.set_gpr(3, 5000);
    core.set_gpr(4, 0x0400_0000);
    expect(&mut core, &mut flat, 10, CODE + 12);
    let at = core.fault().unwrap().at;
    assert!(at >= CLOCK.edge(5000) && at < CLOCK.edge(5200), "{at}");
    assert_eq!(core.spr(spr::TSR).unwrap() & 0x0800_0000, 0x0800_0000);
    assert_eq!(core.spr(spr::DEC), Some(0));
}

#[test]
fn the_decrementer_ends_the_wait_state_and_reloads() {
    // Handler: count in r5, clear TSR, return; the main program waits for ever.
    let (mut core, mut flat) = machine(&[
        mtspr(spr::TCR, 4),
        mtspr(spr::DECAR, 3),
        mtspr(spr::DEC, 3),
        x(31, 6, 0, 0, 146),
        b(-4),
    ]);
    flat.words_be((VECTORS + 0xa00).into(), &[addi(5, 5, 1), mtspr(spr::TSR, 7), RFI]);
    core.set_gpr(3, 1000); // 2 us
    core.set_gpr(4, 0x0440_0000);
    core.set_gpr(6, MSR_WE | MSR_EE);
    core.set_gpr(7, 0x0800_0000);
    assert_eq!(core.run_on(&mut flat, Time::ZERO + Duration::from_us(101)), Stop::Until);
    assert_eq!(core.gpr(5), 50);
    assert_eq!(core.counters().exceptions, 50);
}

/// The decrementer's interrupts are not taken.
#[test]
fn the_decrementer_reloads_itself_unseen() {
    let (mut core, mut flat) = machine(&[
        mtspr(spr::DECAR, 3),
        mtspr(spr::TCR, 4),
        mtspr(spr::DEC, 3),
        mtspr(spr::CTR, 5),
        16 << 26 | 16 << 21, // bdnz here
        mfspr(6, spr::DEC),
        END,
    ]);
    core.set_gpr(3, 1000);
    core.set_gpr(4, 0x0040_0000); // ARE
    core.set_gpr(5, 1700);
    run_to_fault(&mut core, &mut flat, 100);
    assert_eq!(core.pc(), CODE + 24);
    assert!((1..=1000).contains(&core.gpr(6)), "{}", core.gpr(6));
}

#[test]
fn the_fixed_interval_timer_interrupts() {
    let (mut core, mut flat) = machine(&[mtspr(spr::TCR, 4), x(31, 0, 0, 16, 163), b(0)]);
    core.set_gpr(4, 0x0080_0000); // every 2^13 cycles, when the bit of 2^12 becomes 1
    expect(&mut core, &mut flat, 11, CODE + 8);
    let at = core.fault().unwrap().at;
    assert!(at >= CLOCK.edge(4096) && at < CLOCK.edge(4200), "{at}");
}

#[test]
fn the_fixed_interval_timer_ends_the_wait_state() {
    // Handler: count in r5, clear TSR, return; the main program waits for ever.
    let (mut core, mut flat) = machine(&[mtspr(spr::TCR, 4), x(31, 6, 0, 0, 146), b(-4)]);
    flat.words_be((VECTORS + 0xb00).into(), &[addi(5, 5, 1), mtspr(spr::TSR, 7), RFI]);
    core.set_gpr(4, 0x0080_0000);
    core.set_gpr(6, MSR_WE | MSR_EE);
    core.set_gpr(7, 0x0400_0000);
    for ended in 0..5 {
        let next = CLOCK.edge(4096 + 8192 * u64::from(ended));
        assert_eq!(core.run_on(&mut flat, next), Stop::Until);
        assert_eq!((core.now(), core.gpr(5)), (next, ended));
    }
}

/// A bit of the time base that is written to 1 is one that becomes 1, unless it was 1 before.
#[test]
fn the_fixed_interval_timer_follows_what_is_written_to_the_time_base() {
    const FIS: u32 = 0x0400_0000;
    // TBL before, the register that is written, its value, and whether an interval ends by that.
    for (before, number, value, ends) in [
        (0, spr::TBL, 0x1000, true),
        (0, spr::TBL, 0x5fff, true),
        (0, spr::TBL, 0xe000, false),
        (0x1000, spr::TBL, 0x3000, false),
        (0x1000, spr::TBL, 0, false),
        (0, spr::TBU, 0x1000, false),
    ] {
        let (mut core, mut flat) = machine(&[b(0)]);
        core.set_spr(spr::TCR, 0x0080_0000).unwrap();
        for (number, value) in [(spr::TBL, before), (spr::TSR, FIS), (number, value)] {
            core.set_spr(number, value).unwrap();
        }
        assert_eq!(core.spr(spr::TSR), Some(if ends { FIS } else { 0 }), "{number} {value:#x}");
        // The next one ends when the bit becomes 1 again.
        core.set_spr(spr::TSR, FIS).unwrap();
        core.set_msr(MSR_EE);
        let low = if number == spr::TBL { u64::from(value) } else { 0 };
        let end = (low + 0x1000) / 0x2000 * 0x2000 + 0x1000 - low;
        expect(&mut core, &mut flat, 11, CODE);
        let at = core.fault().unwrap().at;
        assert!(at >= CLOCK.edge(end) && at < CLOCK.edge(end + 100), "{number} {value:#x} {at}");
    }
}

#[test]
fn tlb_instructions() {
    let tlbre = |rt: u32, ra: u32, ws: u32| x(31, rt, ra, ws, 946);
    let tlbsx = x(31, 9, 0, 4, 914) | 1;
    let words = [tlbre(5, 3, 0), tlbre(6, 3, 1), tlbre(7, 3, 2), tlbsx, mfspr(8, spr::MMUCR)];
    let (mut core, mut flat) = machine(&words);
    let mut entry = TlbEntry::new(0x7000_0000, 0xa_8000_0000, 3, TLB_E | 7).in_space_1();
    entry.tid = 0x42;
    core.set_tlb_entry(20, entry);
    core.set_gpr(3, 20);
    core.set_gpr(4, 0x7000_1234);
    core.set_spr(spr::MMUCR, 0x0001_0042).unwrap();
    run_to_fault(&mut core, &mut flat, 10);
    assert_eq!([core.gpr(5), core.gpr(6), core.gpr(7)], entry.words);
    assert_eq!((core.gpr(9), core.cr() >> 28), (20, 2));
    assert_eq!(core.gpr(8), 0x0001_0042);
    // Wrong space or id: not found.
    for mmucr in [0x42, 0x0001_0041] {
        let (mut core, mut flat) = machine(&[tlbsx]);
        core.set_tlb_entry(20, entry);
        core.set_gpr(4, 0x7000_1234);
        core.set_spr(spr::MMUCR, mmucr).unwrap();
        run_to_fault(&mut core, &mut flat, 10);
        assert_eq!(core.cr() >> 28, 0);
    }
}

#[test]
fn two_address_spaces_and_process_ids() {
    // One effective page, four real ones.
    let (mut core, mut flat) = machine(&[lwz(3, 0, 4), END]);
    for (index, (space, tid)) in [(false, 0), (true, 0), (false, 5), (true, 5)].iter().enumerate() {
        let page = 0x8000 + 0x1000 * index as u32;
        flat.words_be(page.into(), &[100 + index as u32]);
        let entry = TlbEntry::new(0x7000_0000, page.into(), 1, ALL);
        let mut entry = if *space { entry.in_space_1() } else { entry };
        // The ids differ, so that only one entry matches each time.
        entry.tid = if *tid == 0 { 9 } else { *tid };
        core.set_tlb_entry(10 + index, entry);
    }
    core.set_tlb_entry(2, TlbEntry::new(0, 0, 9, ALL).in_space_1());
    for (msr, pid, expected) in [
        (0, 9, 100),
        (MSR_DS, 9, 101),
        (0, 5, 102),
        (MSR_DS, 5, 103),
        (MSR_IS | MSR_DS, 9, 101),
        (MSR_IS, 5, 102),
    ] {
        core.resume_at(CODE);
        core.set_gpr(4, 0x7000_0000);
        core.set_msr(msr);
        core.set_spr(spr::PID, pid).unwrap();
        let until = core.now() + Duration::from_us(100);
        assert_eq!(core.run_on(&mut flat, until), Stop::Fault);
        assert_eq!((core.pc(), core.gpr(3)), (CODE + 4, expected), "{msr:#x} {pid}");
    }
}

#[test]
fn out_of_reset_only_the_top_page_is_there() {
    let config = Config {
        clock: CLOCK,
        timing: TIMING,
        coherence_faults: true,
        code: ppc440::Code::new(&TIMING),
    };
    let mut core = Core::new(&config);
    let mut flat = Flat::new(0xffff_0000, 0x1_0000);
    assert_eq!(core.now(), Time::NEVER);
    assert_eq!(core.run_on(&mut flat, Time::NEVER), Stop::Until);
    // Big-endian code in the top 4 KB; the reset vector branches back.
    let tlbwe = |rs: u32, ws: u32| x(31, rs, 6, ws, 978);
    let start = 0xffff_f000_u64;
    flat.words_be(0xffff_fffc, &[b(-0xffc)]);
    flat.words_be(
        start,
        &[
            lis(3, 0xffff),
            ori(3, 3, 0xf210),
            lis(4, 0xffff),
            ori(4, 4, 0xf000),
            li(5, 0x503),
            ori(5, 5, 0x0405), // I G, SX SR
            li(6, 63),
            tlbwe(3, 0),
            tlbwe(4, 1),
            tlbwe(5, 2),
            ISYNC,
            addi(9, 9, 1),
            lis(7, 0xffff),
            lwz(8, 0, 7), // below the page: data TLB miss
        ],
    );
    core.release_reset(Time(1_234_567));
    assert_eq!(core.now(), Time(1_236_000));
    assert_eq!(core.pc(), 0xffff_fffc);
    let stop = core.run_on(&mut flat, Time::ZERO + Duration::from_us(100));
    // The data miss goes to vector 0 with IVPR 0, which is not mapped: instruction misses without
    // end.
    assert_eq!(stop, Stop::Until);
    assert_eq!(core.gpr(9), 1);
    assert_eq!(core.spr(spr::DEAR), Some(0xffff_0000));
}

#[test]
fn out_of_reset_a_synchronisation_without_a_tlb_entry_loses_the_page() {
    let mut core = Core::new(&Config {
        clock: CLOCK,
        timing: TIMING,
        coherence_faults: true,
        code: ppc440::Code::new(&TIMING),
    });
    let mut flat = Flat::new(0xffff_0000, 0x1_0000);
    flat.words_be(0xffff_fffc, &[b(-0xffc)]);
    flat.words_be(0xffff_f000, &[addi(9, 9, 1), ISYNC, addi(9, 9, 1)]);
    core.release_reset(Time::ZERO);
    core.run_on(&mut flat, Time::ZERO + Duration::from_us(10));
    assert_eq!(core.gpr(9), 1);
    assert!(core.counters().exceptions > 0);
}
