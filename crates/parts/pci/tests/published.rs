//! Durations that marazakis2006 s2.6 measured with counters on the card, and those of vorakosit2001's bus:
//! all of them out of phases.

mod bench;

use bench::{Bench, REGION};
use pci::{Agent, Burst, Cycle, Ending, Params, Phase};

/// Cycles from the first address phase from `from` on to the end of the last turn-around.
fn span(cycles: &[Cycle]) -> u64 {
    let is_address = |cycle: &&Cycle| matches!(cycle.phase, Phase::Address { .. });
    let first = cycles.iter().find(is_address).expect("a transaction").number;
    let last = cycles.iter().rev().find(|cycle| cycle.phase == Phase::TurnAround);
    last.expect("it ends").number + 1 - first
}

fn descriptor_words(count: usize) -> Burst {
    Burst { addr: REGION, data: [7; 8], enables: [0xFF; 8], words: count as u8 }
}

#[test]
fn a_combined_descriptor_takes_90_ns_and_two_110() {
    for (words, ns) in [(2, 90), (4, 110)] {
        let mut bench = Bench::new(Params::pcix_64_100(), 1);
        let from = bench.cycles.len();
        assert!(bench.bus.bridge.post(&descriptor_words(words)));
        bench.settle();
        assert_eq!(span(&bench.cycles[from..]) * 10, ns);
    }
}

#[test]
fn a_single_write_takes_10_cycles_and_a_descriptor_40() {
    let mut bench = Bench::new(Params::pcix_64_100(), 1);
    let from = bench.cycles.len();
    for word in 0..32 {
        assert!(bench.bus.bridge.store(REGION + 4 * (word % 4), &[1; 4]));
    }
    bench.settle();
    let starts: Vec<u64> = bench.cycles[from..]
        .iter()
        .filter(|cycle| matches!(cycle.phase, Phase::Address { .. }))
        .map(|cycle| cycle.number)
        .collect();
    assert_eq!(starts.len(), 32);
    assert!(starts.windows(2).all(|pair| pair[1] - pair[0] == 10), "{starts:?}");
    assert!(starts.windows(5).all(|group| group[4] - group[0] == 40));
}

#[test]
fn a_dma_read_of_4_kb_takes_577_cycles_of_which_512_move_data() {
    let mut bench = Bench::new(Params::pcix_64_100(), 1);
    bench.chips[0].read(0x1_0000, 512, 3);
    let asked = bench.bus.now();
    bench.settle();
    let end = bench.cycles.iter().rev().find(|cycle| cycle.phase == Phase::TurnAround).unwrap();
    assert_eq!(end.number + 1 - asked, 577);
    let split = |cycle: &&Cycle| cycle.phase == Phase::End(Ending::Split);
    let split = bench.cycles.iter().find(split).unwrap().number;
    let words = &bench.chips[0].completions;
    assert_eq!(words.len(), 512);
    assert_eq!(words[511].0 - words[0].0, 511, "a word a cycle");
    assert_eq!(words[0].0 - (split + 2), 57, "cycles between the request and the first word");
}

#[test]
fn a_dma_read_of_8_bytes_waits_46_cycles() {
    let mut bench = Bench::new(Params::pcix_64_100(), 1);
    bench.chips[0].read(0x8, 1, 0);
    let asked = bench.bus.now();
    bench.settle();
    let word = bench.chips[0].completions[0];
    assert!(word.1.last);
    assert_eq!(word.0 - asked, 7 + 46);
}

#[test]
fn two_reads_wait_for_memory_side_by_side() {
    let mut bench = Bench::new(Params::pcix_64_100(), 1);
    bench.chips[0].read(0x8, 1, 0);
    bench.chips[0].read(0x10, 1, 1);
    let asked = bench.bus.now();
    bench.settle();
    let words = &bench.chips[0].completions;
    assert_eq!(words[0].0 - asked, 7 + 46);
    assert!(words[1].0 - words[0].0 <= 8, "{words:?}");
}

#[test]
fn programmed_io_at_33_mhz_takes_10_ns_a_byte() {
    let params = Params::pci_32_33();
    let mut bench = Bench::new(params, 1);
    let (words, mut sent, begin) = (1024_u64, 0, bench.bus.now());
    while sent < words || !bench.bus.is_quiet() {
        if sent < words && bench.bus.bridge.store(REGION + 4 * (sent % 512), &[1; 4]) {
            sent += 1;
            continue;
        }
        bench.clock();
    }
    let cycles = bench.bus.now() - begin;
    let ns_per_byte = cycles as f64 * 1e9 / params.hertz as f64 / (4 * words) as f64;
    assert!((9.5..10.5).contains(&ns_per_byte), "{ns_per_byte} ns a byte");
    let data = |cycle: &&Cycle| matches!(cycle.phase, Phase::Data { .. });
    assert!(bench.cycles.iter().filter(data).all(|cycle| cycle.grant == Agent::Bridge));
}
