//! The caches hold data, are not coherent, and obey the cache control instructions.

use crate::support;
use crate::support::asm::*;
use crate::support::{core, map, run_to_fault, Flat, OnAnyBus, ALL};
use ppc440::{spr, Core, TlbEntry, TLB_I, TLB_W};

const CODE: u32 = 0x1000;
const DATA: u32 = 0x8000;

const DCBF: u32 = 86;
const DCBST: u32 = 54;
const DCBI: u32 = 470;
const DCBZ: u32 = 1014;
const DCBT: u32 = 278;
const ICBI: u32 = 982;

fn cache(op: u32, register: u32) -> u32 {
    x(31, 0, 0, register, op)
}

/// A core whose code is at `CODE`, everything mapped with `attributes`; r4 points to `DATA`.
fn machine(attributes: u32) -> (Core, Flat) {
    let mut flat = Flat::new(0, 0x4_0000);
    flat.logging = true;
    let mut core = core(CODE);
    map(&mut core, attributes);
    core.set_gpr(4, DATA);
    flat.words_be(DATA.into(), &[1, 2, 3, 4, 5, 6, 7, 8]);
    (core, flat)
}

/// Executes some words now.
fn execute(core: &mut Core, flat: &mut Flat, words: &[u32]) {
    let mut all = words.to_vec();
    all.push(END);
    flat.words_be(CODE.into(), &all);
    core.memory_changed();
    core.resume_at(CODE);
    let until = core.now() + des::Duration::from_us(1000);
    assert_eq!(core.run_on(flat, until), ppc440::Stop::Fault);
    assert_eq!(core.pc(), CODE + 4 * words.len() as u32, "{}", core.fault().unwrap());
}

#[test]
fn a_line_stays_stale_until_it_is_invalidated() {
    let (mut core, mut flat) = machine(0);
    execute(&mut core, &mut flat, &[lwz(5, 0, 4)]);
    flat.words_be(DATA.into(), &[77]); // a device writes behind the cache's back
    execute(&mut core, &mut flat, &[lwz(5, 0, 4)]);
    assert_eq!(core.gpr(5), 1, "stale");
    execute(&mut core, &mut flat, &[cache(DCBI, 4), lwz(5, 0, 4)]);
    assert_eq!(core.gpr(5), 77);
}

#[test]
fn a_store_stays_in_the_cache_until_it_is_flushed() {
    let (mut core, mut flat) = machine(0);
    execute(&mut core, &mut flat, &[li(5, 99), stw(5, 0, 4)]);
    assert_eq!(flat.word_be(DATA.into()), 1);
    execute(&mut core, &mut flat, &[cache(DCBST, 4)]);
    assert_eq!(flat.word_be(DATA.into()), 99);
    // dcbst keeps the line, dcbf does not.
    flat.words_be(DATA.into(), &[55]);
    execute(&mut core, &mut flat, &[lwz(6, 0, 4), cache(DCBF, 4), lwz(7, 0, 4)]);
    assert_eq!((core.gpr(6), core.gpr(7)), (99, 55));
    // dcbi and dccci throw modified data away.
    execute(&mut core, &mut flat, &[stw(5, 0, 4), cache(DCBI, 4), lwz(7, 0, 4)]);
    assert_eq!(core.gpr(7), 55);
    execute(&mut core, &mut flat, &[stw(5, 0, 4), cache(454, 4), lwz(7, 0, 4)]);
    assert_eq!(core.gpr(7), 55);
}

#[test]
fn a_flush_writes_the_dirty_doublewords_only() {
    for (stores, addr, len) in [
        (&[8][..], 8, 8),
        (&[0, 12][..], 0, 16),
        (&[16, 28][..], 16, 16),
        (&[8, 16][..], 0, 32),
        (&[4, 31][..], 0, 32),
    ] {
        let (mut core, mut flat) = machine(0);
        let mut words: Vec<_> = stores.iter().map(|&offset| d(38, 5, 4, offset)).collect();
        words.push(cache(DCBF, 4));
        execute(&mut core, &mut flat, &words);
        let writes: Vec<_> = flat.log.iter().filter(|entry| entry.3).collect();
        assert_eq!(writes.len(), 1);
        assert_eq!((writes[0].1, writes[0].2), (u64::from(DATA) + addr, len), "{stores:?}");
    }
}

#[test]
fn what_is_stored_after_dcbst_is_flushed_as_well() {
    // Another line, whose use makes the core forget what it knows of the first one.
    let other = 0x2000;
    for between in [vec![], vec![lwz(9, other, 4)]] {
        let (mut core, mut flat) = machine(0);
        let mut words = vec![li(5, 99), li(6, 77), lwz(9, 0, 4), stw(5, 0, 4), cache(DCBST, 4)];
        words.extend(&between);
        words.push(stw(6, 4, 4));
        words.extend(&between);
        words.extend([stw(6, 0, 4), cache(DCBST, 4), stw(5, 4, 4), stw(6, 16, 4), cache(DCBF, 4)]);
        execute(&mut core, &mut flat, &words);
        let stored = [0, 4, 16].map(|offset| flat.word_be(u64::from(DATA) + offset));
        assert_eq!(stored, [77, 99, 77], "{between:x?}");
        let lens: Vec<_> = flat.log.iter().filter(|entry| entry.3).map(|entry| entry.2).collect();
        assert_eq!(lens, [8, 8, 32], "{between:x?}");
    }
}

#[test]
fn write_through_and_inhibited_pages_reach_memory_at_once() {
    let (mut core, mut flat) = machine(TLB_W);
    execute(&mut core, &mut flat, &[lwz(6, 0, 4), li(5, 9), stw(5, 0, 4), lwz(7, 0, 4)]);
    assert_eq!((flat.word_be(DATA.into()), core.gpr(7)), (9, 9));
    flat.words_be(DATA.into(), &[33]);
    execute(&mut core, &mut flat, &[lwz(7, 0, 4)]);
    assert_eq!(core.gpr(7), 9, "write-through pages are cached");

    let (mut core, mut flat) = machine(TLB_I);
    execute(&mut core, &mut flat, &[li(5, 9), stw(5, 0, 4), lwz(7, 0, 4)]);
    assert_eq!((flat.word_be(DATA.into()), core.gpr(7)), (9, 9));
    flat.words_be(DATA.into(), &[33]);
    execute(&mut core, &mut flat, &[lwz(7, 0, 4)]);
    assert_eq!(core.gpr(7), 33);
    assert_eq!(core.counters().dcache_misses, 0);
}

#[test]
fn an_inhibited_access_bypasses_a_line_that_another_page_has_cached() {
    let (mut core, mut flat) = machine(0);
    let alias = 0x4000_0000;
    core.set_tlb_entry(1, TlbEntry::new(alias, 0, 5, TLB_I | ALL));
    core.set_gpr(8, alias + DATA);
    execute(&mut core, &mut flat, &[li(5, 9), stw(5, 0, 4), lwz(6, 0, 8), lwz(7, 0, 4)]);
    assert_eq!((core.gpr(6), core.gpr(7)), (1, 9));
}

#[test]
fn dcbz_makes_a_line_of_zeros_without_reading() {
    let (mut core, mut flat) = machine(0);
    flat.log.clear();
    execute(&mut core, &mut flat, &[cache(DCBZ, 4), lwz(5, 28, 4)]);
    assert_eq!(core.gpr(5), 0);
    assert_eq!(core.counters().dcache_misses, 0);
    assert_eq!(flat.word_be(u64::from(DATA) + 28), 8);
    execute(&mut core, &mut flat, &[cache(DCBF, 4)]);
    assert_eq!(flat.word_be(u64::from(DATA) + 28), 0);
}

#[test]
fn stores_without_allocation_go_to_memory() {
    let (mut core, mut flat) = machine(0);
    core.set_spr(spr::MMUCR, 0x0100_0000).unwrap();
    execute(&mut core, &mut flat, &[li(5, 9), stw(5, 0, 4)]);
    assert_eq!(flat.word_be(DATA.into()), 9);
    assert_eq!(core.counters().dcache_misses, 0);
}

#[test]
fn sixty_four_ways_are_replaced_round_robin() {
    // 65 lines of one set (512 bytes apart): the first is replaced, and written back because it is
    // dirty.
    let (mut core, mut flat) = machine(0);
    let lines = |count: u32| [li(5, count as i32), mtspr(9, 5), addi(6, 4, 0)];
    let touch = [lwz(7, 0, 6), addi(6, 6, 512), bdnz(-8)];
    let mut words = vec![li(8, 123), stw(8, 0, 4)];
    words.extend(lines(64));
    words.extend(touch);
    execute(&mut core, &mut flat, &words);
    assert_eq!((core.counters().dcache_misses, core.counters().writebacks), (64, 0));
    execute(&mut core, &mut flat, &[lwz(7, 0x4000, 4), lwz(7, 0x4000, 4)]);
    assert_eq!(flat.word_be(DATA.into()), 1, "64 * 512 is the 65th line; 0x4000 is one of the 64");
    execute(&mut core, &mut flat, &[addi(6, 4, 0x4000), lwz(7, 0x4000, 6)]);
    assert_eq!((core.counters().dcache_misses, core.counters().writebacks), (65, 1));
    assert_eq!(flat.word_be(DATA.into()), 123);
    assert_eq!(core.spr(spr::DNV0).unwrap() >> 24, 1, "the victim index wrapped and went on");
}

#[test]
fn dcbt_fills_and_never_traps() {
    let (mut core, mut flat) = machine(0);
    core.set_gpr(8, 0xf000_0000); // not mapped
    execute(&mut core, &mut flat, &[cache(DCBT, 4), cache(DCBT, 8), x(31, 0, 0, 8, 262)]);
    assert_eq!(core.counters().dcache_misses, 1);
    flat.words_be(DATA.into(), &[77]);
    execute(&mut core, &mut flat, &[lwz(5, 0, 4)]);
    assert_eq!(core.gpr(5), 1, "the touch had filled the line");
}

#[test]
fn changed_code_is_seen_after_icbi_only() {
    // r6 = the new instruction. The code calls a function, changes it, calls it again, invalidates,
    // calls again.
    let function = 0x2000;
    let (mut core, mut flat) = machine(0);
    flat.words_be(function.into(), &[li(3, 1), 0x4e80_0020]);
    core.set_gpr(6, li(3, 2));
    core.set_gpr(4, function);
    let call = |at: u32| 18 << 26 | (function - at) & 0x03ff_fffc | 1;
    let words = [
        call(CODE),
        addi(10, 3, 0),
        stw(6, 0, 4),
        cache(DCBST, 4),
        MSYNC,
        call(CODE + 20),
        addi(11, 3, 0),
        cache(ICBI, 4),
        ISYNC,
        call(CODE + 36),
        addi(12, 3, 0),
    ];
    execute(&mut core, &mut flat, &words);
    assert_eq!((core.gpr(10), core.gpr(11), core.gpr(12)), (1, 1, 2));
}

#[test]
fn the_instruction_cache_has_virtual_tags() {
    // One real function, two effective addresses: icbi of one leaves the other.
    let function = 0x2000;
    let alias = 0x40_0000;
    let (mut core, mut flat) = machine(0);
    core.set_tlb_entry(1, TlbEntry::new(0x4000_0000, 0, 5, ALL));
    flat.words_be(function.into(), &[li(3, 1), 0x4e80_0020]);
    let _ = alias;
    let call_both = [
        mtspr(9, 4),
        0x4e80_0421, // bctrl
        addi(10, 3, 0),
        mtspr(9, 8),
        0x4e80_0421,
        addi(11, 3, 0),
    ];
    core.set_gpr(4, function);
    core.set_gpr(8, 0x4000_0000 + function);
    // `execute` empties the instruction cache each time, so all happens in one program.
    let mut words = call_both.to_vec();
    words.extend([stw(6, 0, 4), cache(DCBST, 4), MSYNC, cache(ICBI, 4), ISYNC]);
    words.extend(call_both);
    core.set_gpr(6, li(3, 2));
    execute(&mut core, &mut flat, &words);
    assert_eq!((core.gpr(10), core.gpr(11)), (2, 1));
}

#[test]
fn a_reloaded_image_is_seen_after_memory_changed() {
    let (mut core, mut flat) = machine(0);
    flat.words_be(CODE.into(), &[li(3, 1), END]);
    run_to_fault(&mut core, &mut flat, 10);
    flat.words_be(CODE.into(), &[li(3, 2), END]);
    core.resume_at(CODE);
    run_to_fault(&mut core, &mut flat, 20);
    assert_eq!(core.gpr(3), 1);
    core.memory_changed();
    core.resume_at(CODE);
    run_to_fault(&mut core, &mut flat, 30);
    assert_eq!(core.gpr(3), 2);
}

#[test]
fn cores_that_share_code_may_have_different_programs_at_an_address() {
    let code = ppc440::Code::new(&support::TIMING);
    let program = |value: i32| {
        // A loop through more than one line.
        let mut loops = vec![li(3, 0), li(7, 50), mtspr(9, 7)];
        loops.extend([addi(3, 3, value); 8]);
        loops.extend([16 << 26 | 16 << 21 | -32i32 as u32 & 0xfffc, END]);
        let mut flat = Flat::new(0, 0x4_0000);
        flat.words_be(CODE.into(), &loops);
        flat
    };
    let run = |code: &ppc440::Code, value: i32| {
        let (mut core, mut flat) = (support::core_with(code, CODE), program(value));
        map(&mut core, 0);
        run_to_fault(&mut core, &mut flat, 1000);
        assert_eq!(core.gpr(3), 400 * value as u32);
        core.digest()
    };
    // Another one's program, one's own, and the first again.
    for value in [1, 2, 3, 1] {
        assert_eq!(run(&code, value), run(&ppc440::Code::new(&support::TIMING), value));
    }
}
