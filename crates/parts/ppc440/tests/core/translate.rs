//! Translated code does what the interpreter does, instruction by instruction and cycle by cycle: wherever
//! runs are cut, every part of both cores, their memories and all transactions are the same.

use crate::polled::{advance, start, MAILBOX};
use crate::program::Program;
use crate::support;
use crate::support::asm::*;
use crate::support::{twin, Flat, OnAnyBus, ALL};
use des::{Duration, Random, Time};
use ppc440::{Core, Stop, TlbEntry, TLB_E, TLB_G, TLB_I, TLB_W};

/// Two cores with one difference: one is never translated, the other from the first time on.
struct Pair {
    cores: [Core; 2],
    buses: [Flat; 2],
    seed: u64,
}

impl Pair {
    fn new(core: Core, flat: Flat, seed: u64) -> Pair {
        let mut twin = Flat::new(0, 0);
        twin.memory = flat.memory.clone();
        let mut cores = [core.clone(), core];
        cores[0].set_translation(0);
        cores[1].set_translation(1);
        Pair { cores, buses: [flat, twin], seed }
    }
    /// Runs both in slices to their fault; after some of them the second one is another core.
    fn run(&mut self, slice: u64) {
        let mut random = Random::new(self.seed);
        self.buses.iter_mut().for_each(|bus| bus.logging = true);
        let mut now = Time::ZERO;
        loop {
            let until = now + Duration::from_ns(1 + random.below(slice));
            let horizon = now + Duration::from_ns(1 + random.below(slice));
            let [interpreted, translated] = std::array::from_fn(|index| {
                self.buses[index].horizon = horizon;
                self.cores[index].run_on(&mut self.buses[index], until)
            });
            assert_eq!(translated, interpreted, "seed {}", self.seed);
            self.compare();
            if interpreted == Stop::Fault {
                return;
            }
            if random.below(500) == 0 {
                self.cores[1] = twin(&self.cores[1]);
                self.cores[1].set_translation(1);
            }
            now = until.min(horizon).max(now);
        }
    }
    fn compare(&mut self) {
        let [a, b] = &self.cores;
        let at = format!("seed {} at {:#x}, {}", self.seed, a.pc(), a.now());
        assert_eq!((b.pc(), b.now(), b.fault()), (a.pc(), a.now(), a.fault()), "{at}");
        assert_eq!(b.counters(), a.counters(), "{at}");
        assert_eq!(b.digest(), a.digest(), "{at}");
        let [a, b] = &mut self.buses;
        assert_eq!(b.log, a.log, "{at}");
        a.log.clear();
        b.log.clear();
    }
    fn memory(&self, from: u64, len: usize) -> [Vec<u8>; 2] {
        [0, 1].map(|index| self.buses[index].memory.bytes(from, len).unwrap())
    }
}

#[test]
fn compiled_programs_go_the_same_way() {
    for (seed, (source, optimisation)) in (1..).zip([
        ("kernels.c", "-O2"),
        ("kernels.c", "-O0"),
        ("algorithms.c", "-O2"),
        ("algorithms.c", "-O1"),
    ]) {
        let program = Program::compile(source, &["-fwrapv", "-w", optimisation]);
        for attributes in [0, TLB_W, TLB_I] {
            let (core, flat) = program.load(1, attributes);
            let mut pair = Pair::new(core, flat, seed);
            pair.run(if attributes == 0 { 2_000 } else { 20_000 });
            let [a, b] = pair.memory(0, 4 << 20);
            assert!(a == b, "{source} {optimisation} {attributes:#x}");
        }
    }
}

#[test]
fn what_was_translated_is_forgotten_where_there_is_no_more_room() {
    let program = Program::compile("algorithms.c", &["-fwrapv", "-w", "-O2"]);
    for (seed, room) in (1..).zip([4 << 10, 8 << 10, 16 << 10]) {
        ppc440::set_room_for_translations(room);
        // Each text has translations of its own.
        let (core, flat) = program.load(1, 0);
        let mut pair = Pair::new(core, flat, seed);
        pair.run(20_000);
        let [a, b] = pair.memory(0, 4 << 20);
        assert!(a == b, "{room}");
    }
}

/// A page in the cache, one around it, and one of big-endian data.
const PAGES: [u32; 3] = [0x4000, 0x8000, 0xc000];

/// An instruction that is as likely as not to be one that is translated; registers 20 to 22 hold the pages.
fn instruction(random: &mut Random) -> u32 {
    let mut any = |from: u32, to: u32| from + random.below(u64::from(to - from)) as u32;
    let (rt, ra, rb, page) = (any(3, 12), any(3, 12), any(3, 12), any(20, 23));
    let displacement = match any(0, 4) {
        0 => any(0, 256) as i32,
        _ => 4 * any(0, 64) as i32,
    };
    let record = any(0, 4) / 3;
    match any(0, 22) {
        0 => addi(rt, ra, any(0, 0x1_0000) as i32),
        1 => d(15, rt, ra, any(0, 0x1_0000) as i32),
        2 => x(31, rt, ra, rb, 266) | record,
        3 => x(31, rt, ra, rb, 40) | record,
        4 => x(31, rt, ra, rb, [235, 104, 10, 138, 8, 136, 200, 491][any(0, 8) as usize]),
        5 => d([24, 25, 26, 27, 28, 29][any(0, 6) as usize], rt, ra, any(0, 0x1_0000) as i32),
        6 => x(31, rt, ra, rb, [444, 28, 316, 124, 60, 476][any(0, 6) as usize]) | record,
        7 => x(31, rt, ra, 0, [954, 922, 26][any(0, 3) as usize]) | record,
        8 => x(31, rt, ra, rb, [24, 536, 792, 824][any(0, 4) as usize]) | record,
        9 => 20 << 26 | rt << 21 | ra << 16 | any(0, 0x8000) << 1,
        10 => 21 << 26 | rt << 21 | ra << 16 | any(0, 0x8000) << 1 | record,
        11 => cmpwi(any(0, 8), ra, any(0, 0x1_0000) as i32),
        12 => d(10, any(0, 8) << 2, ra, any(0, 0x1_0000) as i32),
        13 => x(31, any(0, 8) << 2, ra, rb, [0, 32][any(0, 2) as usize]),
        14 | 15 => d([32, 34, 40, 42][any(0, 4) as usize], rt, page, displacement),
        16 | 17 => d([36, 38, 44][any(0, 3) as usize], rt, page, displacement),
        // With index and with update: r13 is small, r14 to r16 follow the pages.
        18 => x(31, rt, page, 13, [23, 87, 279, 343, 151, 215, 407, 534][any(0, 8) as usize]),
        19 => d([33, 35, 41, 43, 37, 39, 45][any(0, 7) as usize], rt, any(14, 17), 4),
        20 => [MBAR, MSYNC, mfspr(rt, 8), mtspr(9, rt), mfspr(rt, 9), mfspr(rt, 268)]
            [any(0, 6) as usize],
        _ => x(19, any(0, 32), any(0, 32), any(0, 32), [257, 449, 193][any(0, 3) as usize]),
    }
}

/// A loop of random instructions, with branches over some of them, calls, and jumps through CTR.
fn random_program(random: &mut Random) -> Vec<u32> {
    let mut words = vec![
        lis(20, 0),
        ori(20, 20, PAGES[0]),
        ori(21, 0, 0),
        lis(21, 0),
        ori(21, 21, PAGES[1]),
        lis(22, 0),
        ori(22, 22, PAGES[2]),
        li(2, 60),
    ];
    let iteration = words.len();
    words.extend([addi(13, 0, 4), addi(14, 20, 0), addi(15, 21, 0), addi(16, 22, 0)]);
    for _ in 0..12 + random.below(20) {
        match random.below(6) {
            0 => {
                // Over one or two, if a bit of the condition register says so.
                let over = 1 + random.below(2) as i32;
                let bo = [4, 12, 20][random.below(3) as usize];
                words.push(bc(bo, random.below(32) as u32, 4 * (over + 1)));
                words.extend((0..over).map(|_| instruction(random)));
            }
            // A call of what is skipped otherwise.
            1 => words.extend([
                b(4) | 1,
                mfspr(17, 8),
                addi(17, 17, 12),
                mtspr(8, 17),
                bc(20, 0, 8),
                NOP,
                addi(18, 18, 1),
            ]),
            _ => words.push(instruction(random)),
        }
    }
    // Back through LR from a leaf, and through CTR.
    let iterations = words.len();
    words.extend([
        addi(2, 2, -1),
        cmpwi(7, 2, 0),
        b(4 * 5) | 1,
        bc(4, 30, 4 * (iteration as i32 - (iterations as i32 + 3))),
        END,
        NOP,
        NOP,
        addi(19, 19, 1),
        19 << 26 | 20 << 21 | 16 << 1,
    ]);
    words
}

#[test]
fn random_programs_go_the_same_way() {
    for seed in 0..400 {
        let mut random = Random::new(seed);
        let words = random_program(&mut random);
        let mut flat = Flat::new(0, 0x1_0000);
        flat.words_le(0x1000, &words);
        let mut core = support::core(0x1000);
        let guarded = [0, TLB_G][random.below(2) as usize];
        core.set_tlb_entry(0, TlbEntry::new(0, 0, 2, TLB_E | ALL));
        core.set_tlb_entry(1, TlbEntry::new(PAGES[0], PAGES[0].into(), 2, TLB_E | ALL));
        let around = TLB_E | TLB_I | guarded | ALL;
        core.set_tlb_entry(2, TlbEntry::new(PAGES[1], PAGES[1].into(), 2, around));
        core.set_tlb_entry(3, TlbEntry::new(PAGES[2], PAGES[2].into(), 2, ALL));
        let mut pair = Pair::new(core, flat, seed);
        pair.run([40, 400, 100_000][random.below(3) as usize]);
        let [a, b] = pair.memory(0, 0x1_0000);
        assert!(a == b, "seed {seed}");
    }
}

#[test]
fn a_loop_that_is_parked_is_the_same_loop() {
    for seed in 0..40 {
        let mut random = Random::new(seed);
        let mut pair = [start(false, TLB_E), start(true, TLB_E)];
        pair[0].0.set_translation(0);
        pair[1].0.set_translation(1);
        let mut now = Time::ZERO;
        for iteration in 0..60_u32 {
            now += Duration::from_ns(1 + random.below(3_000));
            for (core, bus) in &mut pair {
                advance(core, bus, now);
                if iteration % 3 == 0 {
                    bus.memory
                        .write(MAILBOX + 4 * u64::from(iteration % 2), &iteration.to_le_bytes())
                        .unwrap();
                }
            }
            let [(a, _), (b, _)] = &pair;
            assert_eq!((b.pc(), b.now()), (a.pc(), a.now()), "seed {seed}, turn {iteration}");
            assert_eq!(b.digest(), a.digest(), "seed {seed}, turn {iteration}");
        }
        assert!(pair[0].1.memory.bytes(0, 0x1_0000) == pair[1].1.memory.bytes(0, 0x1_0000));
    }
}
