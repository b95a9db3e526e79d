//! The timing model on small loops: cycles an iteration in the steady state, with the reason.

use crate::support::asm::*;
use crate::support::{core, run_to_fault, Flat, ALL, CLOCK};
use des::Time;
use ppc440::{spr, Core, TlbEntry, TLB_G, TLB_I};

/// A line fill and an uncached read take 20 cycles on this test's bus (40 ns), a write 10.
const FILL: u64 = 20;
const DEVICE: u32 = 0x4000_0000;
const GUARDED: u32 = 0x5000_0000;
/// CCR0: one line ahead.
const CCR0_ICSLC: u32 = 4;

/// Cycles that 600 iterations of a loop with this body and bdnz take, less those of 300, a hundred
/// iterations.
fn per_hundred(body: &[u32]) -> u64 {
    let run = |iterations: u32| -> u64 {
        let mut flat = Flat::new(0, 0x10_0000);
        let mut words = body.to_vec();
        words.push(bdnz(-4 * body.len() as i32));
        words.push(END);
        flat.words_be(0x1000, &words);
        flat.words_be(0x8000, &[0x8000]);
        let mut core: Core = core(0x1000);
        core.set_tlb_entry(0, TlbEntry::new(0, 0, 9, ALL));
        core.set_tlb_entry(1, TlbEntry::new(DEVICE, 0, 9, TLB_I | ALL));
        core.set_tlb_entry(2, TlbEntry::new(GUARDED, 0, 9, TLB_I | TLB_G | ALL));
        core.set_gpr(4, 0x8000);
        core.set_gpr(10, DEVICE);
        core.set_gpr(11, GUARDED);
        core.set_gpr(12, 0x7000);
        core.set_spr(spr::CTR, iterations).unwrap();
        run_to_fault(&mut core, &mut flat, 1000);
        assert_eq!(core.pc(), 0x1004 + 4 * body.len() as u32, "{}", core.fault().unwrap());
        core.counters().cycles
    };
    (run(600) - run(300)) / 3
}

#[test]
fn loops() {
    let mullw = |rt: u32, ra: u32, rb: u32| x(31, rt, ra, rb, 235);
    let divw = x(31, 5, 6, 7, 491);
    let macchw = |rt: u32| x(4, rt, 6, 7, 172);
    let table: &[(&str, &[u32], u64, &str)] = &[
        ("empty", &[], 100, "a bdnz in the BTAC costs nothing but its own cycle"),
        ("dependent adds", &[addi(3, 3, 1); 4], 400, "latency 1; bdnz goes with the last"),
        (
            "independent adds",
            &[addi(3, 3, 1), addi(5, 5, 1), addi(6, 6, 1), addi(7, 7, 1)],
            300,
            "I and J take two a cycle; bdnz needs the I pipe alone after them",
        ),
        ("load and use", &[lwz(5, 0, 4), add(6, 5, 5)], 400, "load-use 3, then bdnz with the add"),
        ("pointer chase", &[lwz(4, 0, 4)], 300, "load to address 3"),
        ("two loads", &[lwz(5, 0, 4), lwz(6, 4, 4)], 200, "one L pipe"),
        (
            "load and three adds",
            &[lwz(5, 0, 4), addi(6, 6, 1), addi(7, 7, 1), NOP],
            300,
            "pairs: L+J, J+I; I",
        ),
        ("store", &[stw(5, 0, 4)], 100, "a store that hits goes with bdnz"),
        ("update", &[d(33, 5, 4, 0), d(33, 6, 4, 0)], 200, "an updated base is ready after 1"),
        ("dependent multiplications", &[mullw(3, 3, 6)], 300, "latency 3"),
        (
            "multiplications",
            &[mullw(3, 6, 7), mullw(5, 6, 7)],
            300,
            "one a cycle, all in the I pipe",
        ),
        ("dependent MACs", &[macchw(3), macchw(3)], 400, "latency 2"),
        ("division", &[divw], 3400, "the I pipe is busy for 33, then bdnz"),
        ("division and J pipe", &[divw, addi(3, 3, 1), addi(8, 8, 1)], 3400, "adds hide behind it"),
        ("division and use", &[divw, addi(3, 5, 1)], 3500, "latency 34, bdnz with the add"),
        ("division and MAC", &[divw, macchw(3)], 3500, "three registers, and waits for the I pipe"),
        ("division and CR", &[divw, x(19, 8, 8, 8, 193)], 3500, "the same for three CR fields"),
        ("compare and branch", &[cmpwi(0, 3, 1), bc(12, 2, 4)], 400, "CR ready after 2; both I"),
        (
            "andi. and branch",
            &[d(28, 12, 5, 0x1000), bc(12, 2, 4)],
            400,
            "CR0 of a record form, too",
        ),
        ("andis. and branch", &[d(29, 10, 5, 0x4000), bc(12, 2, 4)], 400, "the same"),
        ("addic. and branch", &[d(13, 5, 3, 1), bc(12, 2, 4)], 400, "the same"),
        ("rlwinm. and branch", &[d(21, 12, 5, 0x3f), bc(12, 2, 4)], 400, "the same"),
        (
            "far compare",
            &[cmpwi(0, 3, 1), addi(5, 5, 1), addi(6, 6, 1), bc(12, 2, 4)],
            400,
            "the gap is filled",
        ),
        (
            "alternating branch",
            &[d(26, 3, 3, 1), cmpwi(0, 3, 0), bc(12, 2, 4)],
            700,
            "5 if predicted, 9 if not: every second time",
        ),
        (
            "move to and from LR",
            &[mfspr(5, 8), addi(5, 5, 0), mtspr(8, 5)],
            700,
            "round through LR: mflr 2, add 1, mtlr 4",
        ),
        ("isync", &[ISYNC], 800, "7 to the next instruction"),
        ("uncached read", &[lwz(5, 0, 10)], 100 * FILL / 4, "nobody waits; four outstanding"),
        (
            "uncached read, used",
            &[lwz(5, 0, 10), add(6, 5, 5)],
            100 * (FILL + 1),
            "the add waits for the data, bdnz goes with it",
        ),
        (
            "two uncached reads, used",
            &[lwz(5, 0, 10), lwz(6, 4, 10), add(7, 5, 6)],
            100 * (FILL + 2),
            "the second is asked for a cycle later",
        ),
        (
            "four uncached reads, used",
            &[lwz(5, 0, 10), lwz(6, 4, 10), lwz(7, 8, 11), lwz(8, 12, 11), add(9, 5, 8)],
            100 * (FILL + 4),
            "all four are outstanding, guarded or not",
        ),
        (
            "five uncached reads, used",
            &[lwz(5, 0, 10), lwz(6, 4, 10), lwz(7, 8, 10), lwz(8, 12, 10), lwz(9, 16, 10), NOP]
                .map(|word| if word == NOP { add(3, 9, 9) } else { word }),
            100 * (2 * FILL + 1),
            "the fifth waits until the first is answered",
        ),
        (
            "hit under uncached reads",
            &[lwz(5, 0, 10), lwz(6, 0, 12), add(7, 6, 6)],
            500,
            "1 + load-use 3 + bdnz with the add: the hit waits for nothing",
        ),
        (
            "hit under a miss",
            &[lwz(5, 0, 4), addi(4, 4, 32), lwz(6, 0, 12), add(7, 6, 6)],
            100 * FILL / 3,
            "the fills limit; the hit and its use, 5 cycles, hide behind them",
        ),
        (
            "loads from a line on its way",
            &[lwz(5, 0, 4), lwz(6, 4, 4), lwz(7, 8, 4), addi(4, 4, 32)],
            100 * (FILL + 3) / 2,
            "each is an outstanding load: three of one line, one of the next, then they wait",
        ),
        (
            "stores to one word",
            &[stw(5, 0, 10)],
            275,
            "inhibited bytes are not written twice in one write; held for 1 cycle, 10 on the bus, \
             four at once",
        ),
        ("guarded stores", &[stw(5, 0, 11)], 250, "four slots of 10 cycles"),
        (
            "a quadword of stores",
            &[stw(5, 0, 10), stw(5, 4, 10), stw(5, 8, 10), stw(5, 12, 10)],
            400,
            "gathered: one write of 10 cycles for 4 cycles of stores",
        ),
        (
            "a quadword of guarded stores",
            &[stw(5, 0, 11), stw(5, 4, 11), stw(5, 8, 11), stw(5, 12, 11)],
            1000,
            "four writes of 10 cycles in four slots",
        ),
        (
            "stores to four quadwords",
            &[stw(5, 0, 10), stw(5, 16, 10), stw(5, 32, 10), stw(5, 48, 10)],
            1100,
            "not contiguous: as four stores to one word",
        ),
        (
            "stores and a read",
            &[stw(5, 0, 10), stw(5, 4, 10), lwz(6, 8, 10), add(7, 6, 6)],
            100 * (FILL + 3),
            "the read goes at 2, with the gathered write before it",
        ),
        (
            "line fills, used",
            &[lwz(5, 0, 4), add(6, 5, 5), addi(4, 4, 32)],
            100 * (FILL + 2),
            "each waits for its data",
        ),
        ("line fills", &[lwz(5, 0, 4), addi(4, 4, 32)], 100 * FILL / 3, "three outstanding"),
        ("msync", &[stw(5, 0, 10), MSYNC], 1200, "asks for the write at 1 and waits for it"),
        ("mbar", &[stw(5, 0, 10), MBAR], 1200, "is msync on the 440"),
        ("msync after a read", &[lwz(5, 0, 10), MSYNC], 100 * (FILL + 1), "waits for the data"),
        ("misaligned", &[lwz(5, 13, 4)], 200, "split at a quadword"),
        ("lmw", &[d(46, 28, 4, 0)], 400, "a word a cycle"),
    ];
    let mut wrong = Vec::new();
    for (name, body, expected, why) in table {
        let found = per_hundred(body);
        // Start and end of the steady state may differ by a cycle or two in a hundred iterations.
        if found.abs_diff(*expected) > 1 {
            wrong.push(format!("{name}: {found}, expected {expected} ({why})"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn instruction_misses_stall() {
    // Straight-line code of 64 lines, each fetched once: the fill begins when the last pair of the
    // line before issues; 20 cycles, then three more pairs.
    let mut flat = Flat::new(0, 0x10_0000);
    let words: Vec<u32> = (0..512).map(|i| addi(3 + i % 2, 3 + i % 2, 1)).collect();
    flat.words_be(0x1000, &words);
    let mut core = core(0x1000);
    core.set_tlb_entry(0, TlbEntry::new(0, 0, 9, ALL));
    run_to_fault(&mut core, &mut flat, 100);
    let cycles = core.counters().cycles;
    assert!(cycles.abs_diff(64 * (FILL + 3) + FILL) <= 2, "{cycles}");
    assert_eq!(core.counters().icache_misses, 65);
}

/// Cycles, and lines filled, of a program with CCR0, from its first instruction to its end, over
/// 20 cycles a read, of which the bus answers one in `busy` cycles; `words` begin at 0x1000.
fn fetched(ccr0: u32, busy: u64, words: &[u32]) -> (u64, u64) {
    let mut flat = Flat::new(0, 0x10_0000);
    flat.read_busy = CLOCK.edge(busy).since(Time::ZERO);
    flat.words_be(0x1000, words);
    let mut core = core(0x1000);
    core.set_tlb_entry(0, TlbEntry::new(0, 0, 9, ALL));
    core.set_spr(spr::CCR0, ccr0).unwrap();
    run_to_fault(&mut core, &mut flat, 100);
    let counters = core.counters();
    (counters.cycles, counters.icache_misses)
}

#[test]
fn lines_are_fetched_ahead_as_ccr0_says() {
    let lines = |count: u32| CCR0_ICSLC * count;
    // Four lines of eight independent instructions, and one with the end.
    let mut straight: Vec<u32> = (0..32).map(|i| addi(3 + i % 2, 3 + i % 2, 1)).collect();
    straight.push(END);
    let (plain, misses) = fetched(0, 0, &straight);
    assert_eq!(misses, 5);
    for (count, waits) in [(0, 5), (1, 3), (2, 2), (3, 2)] {
        // On this bus lines that are requested together arrive together, so that only the first
        // is waited for.
        let (cycles, misses) = fetched(lines(count), 0, &straight);
        assert_eq!(misses, 5, "{count} ahead");
        let saved = (5 - waits) * FILL;
        assert!((cycles + saved).abs_diff(plain) <= 4, "{count} ahead: {cycles}, {plain}");
    }
    // A jump to a line far away, whose miss abandons the lines ahead unless they are there.
    let mut far = vec![NOP; 256];
    far[0] = b(4 * 128);
    far[128] = END;
    assert_eq!(fetched(0, 0, &far).1, 2);
    assert_eq!(fetched(lines(3) | 1, 0, &far).1, 2 + 3, "all came with the first line");
    assert_eq!(fetched(lines(3) | 1, 10, &far).1, 2, "none was there");
    assert_eq!(fetched(lines(3), 10, &far).1, 2 + 1, "threshold 0: the one on its way is kept");
    // Not beyond the kilobyte.
    let mut end = vec![NOP; 248];
    end.push(END);
    assert_eq!(fetched(lines(3), 0, &end).1, 32);
}
