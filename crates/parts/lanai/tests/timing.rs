//! Cycles of small pieces of code.
#![allow(clippy::unwrap_used)]

mod support;

use des::{Clock, Time};
use lanai::{Counters, SLOT_UNIT};
use support::{core, Flat};

const NOP: u32 = 1;
/// ld 0[%r4], %r6; ld.b 0[%r4], %r6; st %r6, 0[%r4]; st.b %r6, 0[%r4]; mov 0x5, %r6 (21 bits)
const LD: u32 = 0x8310_0000;
const LDB: u32 = 0xf313_4000;
const ST: u32 = 0x9310_0000;
const STB: u32 = 0xf313_6000;
const SLI: u32 = 0xf302_0005;
/// add %r6, %r7, %r8
const ADD: u32 = 0xc418_3800;
/// st %r6, [%r6 add %r7]: reads what it stores.
const ST_R6: u32 = 0xb31a_3802;

/// Cycles of `words`, with `taken` of the memory by others; and what was counted.
fn cycles(words: &[u32], taken: u32) -> (u64, Counters) {
    let mut flat = Flat::new();
    flat.put(0, words);
    flat.taken = taken;
    let mut core = core();
    core.set_register(4, 0x1000);
    while core.counters().instructions < words.len() as u64 {
        core.run(&mut flat, Clock::from_hz(66_000_000).edge(core.cycle() + 1));
        assert_eq!(core.fault(), None);
    }
    (core.cycle(), core.counters())
}

#[test]
fn instructions_take_their_cycles() {
    let table: &[(&str, &[u32], u64)] = &[
        ("nothing", &[NOP, NOP, NOP], 3),
        ("a word", &[LD, NOP, ADD], 3),
        ("a word that is wanted at once", &[LD, ADD], 3),
        ("and later not again", &[LD, ADD, ADD], 4),
        ("a byte", &[LDB, NOP], 3),
        ("a byte that is wanted at once", &[LDB, ADD], 4),
        ("a store", &[ST, ADD], 2),
        ("a store of a byte", &[STB, ADD], 3),
        ("a store of what is loaded", &[LD, ST], 3),
        ("21 bits", &[SLI, NOP], 2),
        ("21 bits that are wanted at once", &[SLI, ADD], 3),
        ("a branch and its slot", &[0xe000_0008, NOP], 2),
    ];
    for (name, words, expected) in table {
        assert_eq!(cycles(words, 0).0, *expected, "{name}");
    }
}

#[test]
fn a_store_waits_for_its_data_and_its_address() {
    let mut flat = Flat::new();
    flat.put(0, &[LD, ST_R6]);
    flat.put(0x1000, &[0x2000]);
    let mut core = core();
    core.set_register(4, 0x1000);
    core.run(&mut flat, Clock::from_hz(66_000_000).edge(3));
    assert_eq!(core.counters().load_waits, 1);
    assert_eq!(flat.sram[0x2000..0x2004], [0, 0, 0x20, 0]);
}

#[test]
fn memory_that_others_take_is_waited_for() {
    let code: Vec<u32> = std::iter::repeat_n([LD, NOP], 500).flatten().collect();
    let waits = |taken| cycles(&code, taken).1.memory_waits;
    // 1,000 instructions fetch 500 accesses and load 500: half an access and one and a half in two cycles.
    assert_eq!(waits(0), 0);
    assert_eq!(waits(SLOT_UNIT / 2), 0);
    assert_eq!(waits(SLOT_UNIT), 0, "one access a cycle is just enough");
    // With half an access a cycle 1,000 accesses take 2,000 cycles.
    let half = waits(SLOT_UNIT * 3 / 2);
    assert!((995..=1000).contains(&half), "{half}");
    // With a quarter 4,000.
    let quarter = waits(SLOT_UNIT * 7 / 4);
    assert!((2990..=3000).contains(&quarter), "{quarter}");
}

/// Cutting a run anywhere makes no difference.
#[test]
fn cuts_do_not_show() {
    let code: Vec<u32> =
        std::iter::repeat_n([LD, ADD, STB, ST, LDB, ST, NOP], 100).flatten().collect();
    for taken in [0, SLOT_UNIT, SLOT_UNIT * 7 / 4] {
        let (expected, counters) = cycles(&code, taken);
        let mut flat = Flat::new();
        flat.put(0, &code);
        flat.taken = taken;
        let mut core = core();
        core.set_register(4, 0x1000);
        let mut until = Time::ZERO;
        while core.counters().instructions < code.len() as u64 {
            until.0 += 1_000_003;
            let left = code.len() as u64 - core.counters().instructions;
            let last = Clock::from_hz(66_000_000).edge(core.cycle() + left.div_ceil(8));
            core.run(&mut flat, until.min(last));
        }
        assert_eq!((core.cycle(), core.counters()), (expected, counters));
    }
}

/// Counts cycles by cause; each step begins where the last one ended.
#[derive(Default)]
struct Watch {
    next: u64,
    load: u64,
    memory: u64,
    jumps: Vec<(u32, u32)>,
}

impl lanai::Probe for Watch {
    fn step(&mut self, step: lanai::Step) {
        assert_eq!(step.cycle, self.next, "{step:?}");
        self.next += step.cycles();
        self.load += u64::from(step.load_wait);
        self.memory += u64::from(step.memory_wait);
        self.jumps.extend(step.jump.map(|target| (step.pc, target)));
    }
}

#[test]
fn an_observer_is_told_every_cycle_once() {
    let mut code: Vec<u32> =
        std::iter::repeat_n([LD, ADD, STB, ST, LDB, ST, NOP], 20).flatten().collect();
    // bt 0x300 behind it, and there ld 0[%r5], %pc with its two slots, which goes to 0x400.
    let branch = 4 * code.len() as u32;
    code.extend([0xe000_0300, NOP]);
    let (mut flat, mut core) = (Flat::new(), core());
    flat.put(0, &code);
    flat.put(0x300, &[0x8114_0000, NOP, NOP]);
    flat.put(0x400, &[NOP; 8]);
    flat.put(0x1800, &[0x400]);
    flat.taken = SLOT_UNIT * 7 / 4;
    core.set_register(4, 0x1000);
    core.set_register(5, 0x1800);
    let mut watch = Watch::default();
    let mut until = Time::ZERO;
    while core.pc() < 0x400 {
        until.0 += 333_331;
        core.run_observed(&mut flat, until, &mut watch);
        assert_eq!(core.fault(), None);
        assert!(until < Time(1_000_000_000), "it goes elsewhere");
    }
    let counters = core.counters();
    assert_eq!((watch.next, watch.load), (core.cycle(), counters.load_waits));
    assert_eq!(watch.memory, counters.memory_waits);
    assert!(watch.memory > 0 && watch.load > 0);
    assert_eq!(watch.jumps, [(branch, 0x300), (0x300, 0x400)]);
}

/// Halts before every instruction.
#[derive(Default)]
struct Stepper {
    stood: Option<u64>,
    before: Vec<u32>,
}

impl lanai::Probe for Stepper {
    fn step(&mut self, step: lanai::Step) {
        assert_eq!(self.before.last(), Some(&step.pc));
    }
    fn halts(&mut self, pc: u32, before: u64) -> bool {
        if self.stood == Some(before) {
            return false;
        }
        self.stood = Some(before);
        self.before.push(pc);
        true
    }
}

/// A core that halts before each instruction, for an observer, does the same as otherwise.
#[test]
fn a_core_that_stands_does_the_same() {
    let code: Vec<u32> =
        std::iter::repeat_n([LD, ADD, STB, ST, LDB, ST, NOP], 20).flatten().collect();
    let mut boards = [Flat::new(), Flat::new()];
    let mut cores = [core(), core()];
    for (board, core) in boards.iter_mut().zip(&mut cores) {
        board.put(0, &code);
        board.taken = SLOT_UNIT * 7 / 4;
        core.set_register(4, 0x1000);
    }
    let until = Time(1_500_000);
    assert_eq!(cores[0].run(&mut boards[0], until), lanai::Stop::Reached);
    let mut stepper = Stepper::default();
    while cores[1].run_observed(&mut boards[1], until, &mut stepper) == lanai::Stop::Halted {}
    assert!(stepper.before.len() as u64 > cores[0].counters().instructions / 2);
    assert_eq!(stepper.before.len() as u64, cores[1].counters().instructions);
    assert_eq!(cores[0].cycle(), cores[1].cycle());
    assert_eq!(cores[0].counters(), cores[1].counters());
    assert_eq!(cores[0].registers(), cores[1].registers());
}
