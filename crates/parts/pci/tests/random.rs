//! Random traffic on buses of all kinds: every cycle judged, every byte where it belongs; and the monitor
//! finds planted bugs.

mod bench;

use bench::{Bench, REGION};
use des::Random;
use pci::{Agent, Command, Cycle, Ending, Monitor, Params, Phase, WriteCombiner};

fn kinds() -> [Params; 5] {
    [
        Params::pcix_64_100(),
        Params { completion_blocks: 2, splits_max: 2, ..Params::pcix_64_100() },
        Params::pci_64_66(),
        Params::extender(),
        Params::pci_32_33(),
    ]
}

/// Device traffic in `chips` slots, each in memory of its own, and the host's writes in between.
fn play(params: Params, seed: u64) -> Bench {
    let mut random = Random::new(seed);
    let mut bench = Bench::new(params, 2);
    let mut expected = Vec::new();
    for word in 0..0x2000_u64 {
        bench
            .bus
            .bridge
            .memory
            .write(8 * word, &(word ^ seed << 32).to_le_bytes())
            .expect("it is memory");
    }
    for slot in 0..2_u64 {
        let mut reads = Vec::new();
        for tag in 0..6 {
            let (addr, words) = (8 * random.below(0x1E00), 1 + random.below(512) as u16);
            if random.below(2) == 0 {
                bench.chips[slot as usize].read(addr, words, tag);
                reads.push((tag, addr / 8, words));
            } else {
                let to =
                    0x4_0000 + slot * 0x2_0000 + u64::from(tag) * 0x2000 + 8 * random.below(64);
                let data: Vec<u64> = (0..words).map(|_| random.next_u64()).collect();
                expected.push((to, data.clone()));
                bench.chips[slot as usize].write(to, data);
            }
        }
        for (tag, word, words) in reads {
            expected.push((u64::MAX - slot * 256 - u64::from(tag), vec![word, u64::from(words)]));
        }
    }
    let (mut combiner, mut registers) = (WriteCombiner::new(2), vec![0_u64; 64]);
    let mut waiting = std::collections::VecDeque::new();
    for _ in 0..120 {
        let register = random.below(64);
        let value = random.next_u64();
        registers[register as usize] = value;
        let mut out = |burst| waiting.push_back(burst);
        combiner.store(REGION + 8 * register, &value.to_le_bytes(), &mut out);
        if random.below(4) == 0 {
            combiner.flush(&mut out);
        }
        for _ in 0..random.below(30) {
            bench.chips[0].busy = random.below(4) == 0;
            bench.chips[0].flowing = random.below(3) != 0;
            if let Some(burst) = waiting.front()
                && bench.bus.bridge.post(burst)
            {
                waiting.pop_front();
            }
            bench.clock();
        }
        if random.below(20) == 0 {
            bench.bus.bridge.occupy_memory(bench.bus.now() + random.below(300));
        }
    }
    combiner.flush(&mut |burst| waiting.push_back(burst));
    bench.chips[0].busy = false;
    while let Some(burst) = waiting.front() {
        if bench.bus.bridge.post(burst) {
            waiting.pop_front();
        }
        bench.clock();
    }
    bench.settle();
    assert_eq!(bench.chips[0].registers[..64], registers, "{params:?} seed {seed}");
    check(&bench, &expected, seed);
    bench
}

fn check(bench: &Bench, expected: &[(u64, Vec<u64>)], seed: u64) {
    for (to, data) in expected {
        if *to > u64::MAX - 512 {
            let (slot, tag) = ((u64::MAX - to) / 256, (u64::MAX - to) % 256);
            let words = bench.chips[slot as usize].completions.iter();
            let words = words.filter(|(_, word)| u64::from(word.tag) == tag);
            let words: Vec<u64> = words.map(|(_, word)| word.data ^ seed << 32).collect();
            let right: Vec<u64> = (data[0]..data[0] + data[1]).collect();
            assert_eq!(words, right, "read {tag} of slot {slot}, seed {seed}");
            continue;
        }
        for (place, right) in data.iter().enumerate() {
            let mut bytes = [0; 8];
            bench.bus.bridge.memory.read(to + 8 * place as u64, &mut bytes).expect("it is memory");
            assert_eq!(u64::from_le_bytes(bytes), *right, "word {place} at {to:#x}, seed {seed}");
        }
    }
    assert_eq!(bench.monitor.open_reads(), 0);
}

#[test]
fn random_traffic_keeps_the_rules_and_every_byte() {
    for params in kinds() {
        for seed in 0..40 {
            play(params, seed);
        }
    }
}

/// Address from which on the chip reads.
const BLOCKS: u64 = 0x1000;

/// Ways to spoil a cycle; `None` where there is nothing to spoil.
fn spoil(cycle: &Cycle, way: u64) -> Option<Cycle> {
    let mut spoilt = *cycle;
    spoilt.phase = match (way, cycle.phase) {
        (0, phase) if phase != Phase::TurnAround && phase != Phase::Idle => Phase::Idle,
        (1, Phase::Address { command, .. }) => Phase::Address { master: Agent::Device(3), command },
        (2, Phase::Attribute { requester, tag, bytes }) => {
            Phase::Attribute { requester, tag, bytes: bytes + 8 }
        }
        (3, Phase::Data { addr, last }) => Phase::Data { addr: addr + 8, last },
        (4, Phase::Data { addr, last: false }) => Phase::Data { addr, last: true },
        (5, Phase::Data { addr, last: true }) => Phase::Data { addr, last: false },
        (6, Phase::TurnAround) => Phase::Idle,
        (7, Phase::Response { target: Some(_) }) => Phase::Response { target: None },
        (8, Phase::End(_)) => Phase::End(Ending::MasterAbort),
        (9, Phase::Address { master, command: Command::SplitCompletion }) => {
            spoilt.cbe = Command::Write.code();
            Phase::Address { master, command: Command::SplitCompletion }
        }
        (10, phase) if cycle.ad != 0 => {
            spoilt.ad ^= 1 << 3;
            phase
        }
        (11, Phase::Attribute { requester, tag, bytes }) => {
            Phase::Attribute { requester, tag: tag ^ 7, bytes }
        }
        // Of a block, a byte fewer, and one more; parity is right. Configuration may leave bytes out.
        (12, Phase::Data { addr, .. }) if addr >= BLOCKS && cycle.cbe.count_ones() > 1 => {
            spoilt.cbe &= spoilt.cbe - 1;
            spoilt.parity ^= true;
            cycle.phase
        }
        (13, Phase::Data { addr, .. }) if addr >= BLOCKS && cycle.cbe != 0xFF => {
            spoilt.cbe |= !spoilt.cbe & (spoilt.cbe + 1);
            spoilt.parity ^= true;
            cycle.phase
        }
        _ => return None,
    };
    Some(spoilt)
}

#[test]
fn the_monitor_finds_what_is_spoilt() {
    // Reads with several blocks, so that a disconnect in the middle is one; no transactions of a single word.
    let mut bench = Bench::new(Params::pcix_64_100(), 1);
    for tag in 0..4 {
        let addr = BLOCKS + 8 + 0x1000 * u64::from(tag) + u64::from(tag);
        bench.chips[0].read_bytes(addr, 800, tag);
    }
    bench.settle();
    for way in 0..14 {
        let (mut tried, mut missed) = (0, Vec::new());
        for (place, cycle) in bench.cycles.iter().enumerate() {
            let Some(spoilt) = spoil(cycle, way) else { continue };
            let mut monitor = Monitor::new(*bench.bus.params());
            let before = bench.cycles[..place].iter();
            assert!(before.clone().all(|cycle| monitor.judge(cycle).is_ok()));
            // The rest of the transaction may be what gives it away.
            let after = bench.cycles[place + 1..].iter().take(700);
            let mut rest = std::iter::once(&spoilt).chain(after);
            tried += 1;
            if rest.all(|cycle| monitor.judge(cycle).is_ok()) {
                missed.push(spoilt);
            }
            if tried > 150 {
                break;
            }
        }
        assert!(tried > 0, "way {way} spoils nothing");
        // A bus that ends a burst at a boundary and goes on later is a legal one; so is a tag of one's own
        // choice.
        let legal = |cycle: &Cycle| match cycle.phase {
            Phase::Data { addr, .. } => way == 4 && (addr + 8) % 128 == 0,
            Phase::Attribute { .. } => way == 11,
            _ => false,
        };
        missed.retain(|cycle| !legal(cycle));
        assert!(missed.is_empty(), "way {way}: {missed:#?}");
    }
}
