//! The crossbar with its lanes beside its RTL (`rtl/crossbar/crossbar_switch.sv`): every symbol and every
//! counter is equal in every cycle, over random packets, credits and damaged symbols.

use crossbar::{Params, Switch};
use des::Random;
use rtl::{DesignPaths, SwitchDesign};
use serial::{Credit, LinkRx, LinkTx, Symbol, Word};
use std::collections::VecDeque;

/// Card at a port: it sends packets, mostly without waiting for credits, and frees the words that come.
struct Port {
    number: u8,
    tx: LinkTx,
    rx: LinkRx,
    words: VecDeque<Word>,
    /// Words that have come, and the count that was reported last.
    came: u16,
    told: u16,
}

impl Port {
    fn new(number: usize) -> Port {
        Port {
            number: number as u8,
            tx: LinkTx::new(1),
            rx: LinkRx::new(1),
            words: VecDeque::new(),
            came: 0,
            told: 0,
        }
    }

    fn send(&mut self, ports: usize, random: &mut Random) -> Symbol {
        if !self.tx.ready() {
            return self.tx.clock(Word::Idle)[0];
        }
        if self.words.is_empty() && random.below(6) == 0 {
            self.packet(ports, random);
        }
        let due = self.told != self.came && random.below(4) == 0;
        let word = match random.below(40) {
            0 => Word::Idle,
            1 => Word::Credit(Credit::new(self.number ^ 1, random.next_u64() as u16)),
            _ if due => {
                self.told = self.came;
                Word::Credit(Credit::new(self.number, self.came))
            }
            _ => self.words.pop_front().unwrap_or(Word::Idle),
        };
        let mut symbol = self.tx.clock(word)[0];
        if random.below(900) == 0 {
            symbol.bytes ^= 1 << random.below(32);
        }
        symbol
    }

    fn packet(&mut self, ports: usize, random: &mut Random) {
        let most = if random.below(8) == 0 { 30 } else { 6 };
        let words = 1 + random.below(most);
        // Now and then a port that is not there.
        let beyond = u64::from(random.below(30) == 0);
        let flow = random.below(ports as u64 + beyond);
        let noise = random.next_u64() & 0xFF00_0000_FFFF_FFFF;
        self.words.extend([Word::Start, Word::Data(noise | flow << 48 | words << 32)]);
        self.words.extend((0..words + 2).map(|_| Word::Data(random.next_u64())));
        self.words.push_back(Word::Idle);
    }

    fn receive(&mut self, symbol: Symbol) {
        self.rx.clock([symbol, Symbol::default()]);
        self.came = self.came.wrapping_add(matches!(self.rx.word(), Some(Word::Data(_))).into());
    }
}

/// Plays random traffic; returns the number of words passed, and of errors of all kinds.
fn play(design: SwitchDesign, params: Params, seed: u64, cycles: usize) -> (u64, u64) {
    let mut random = Random::new(seed);
    let (mut model, mut rtl) = (Switch::new(params), rtl::Switch::new(design));
    let mut ports: Vec<Port> = (0..params.ports).map(Port::new).collect();
    for cycle in 0..cycles {
        let symbols: Vec<Symbol> = match cycle % 3000 {
            // Now and then all fall silent, until nothing moves.
            0..2400 => ports.iter_mut().map(|port| port.send(params.ports, &mut random)).collect(),
            _ => vec![Word::Idle.half((cycle % 2) as u8); params.ports],
        };
        let (right, out) = (model.clock(&symbols), rtl.clock(&symbols));
        assert_eq!(out, right, "seed {seed}, cycle {cycle}");
        assert_eq!(rtl.rests(), model.rests(), "seed {seed}, cycle {cycle}: rests");
        if cycle % 64 == 0 {
            assert_eq!(rtl.counters(), model.crossbar.counters(), "seed {seed}, cycle {cycle}");
            assert_eq!(rtl.bond_errors(), model.bond_errors(), "seed {seed}, cycle {cycle}");
        }
        ports.iter_mut().zip(right).for_each(|(port, symbol)| port.receive(symbol));
    }
    let counters = model.crossbar.counters();
    let errors = counters.header_errors + counters.credit_errors + counters.overflows;
    (counters.words.iter().sum(), errors + model.bond_errors())
}

fn check(params: Params, seeds: std::ops::Range<u64>, cycles: usize) {
    let design = SwitchDesign::build(&DesignPaths::of_tests(), &params);
    let design = design.unwrap_or_else(|why| panic!("{why}"));
    let (mut words, mut errors) = (0, 0);
    for seed in seeds {
        let (passed, wrong) = play(design, params, seed, cycles);
        (words, errors) = (words + passed, errors + wrong);
    }
    assert!(words > 1000 && errors > 10, "{words} words, {errors} errors");
}

fn small() -> Params {
    Params { ports: 3, point_words: 16, card_words: 40, urgent_words: 4, miscounts: None }
}

#[test]
fn a_small_switch_is_its_rtl() {
    check(small(), 0..10, 6_000);
}

/// 512 words are 515 with header and trailer, which would be 3 in the bits of a small buffer's counts.
#[test]
fn a_packet_that_the_cards_buffer_cannot_hold_never_leaves() {
    let design = SwitchDesign::build(&DesignPaths::of_tests(), &small());
    let mut rtl = rtl::Switch::new(design.unwrap_or_else(|why| panic!("{why}")));
    let (mut model, mut port) = (Switch::new(small()), Port::new(0));
    port.words.extend([Word::Idle; 8]);
    port.words.extend([Word::Start, Word::Data(1 << 48 | 512 << 32)]);
    port.words.extend((0..6).map(Word::Data));
    for cycle in 0..400 {
        let mut symbols = [Word::Idle.half((cycle % 2) as u8); 3];
        let next = if port.tx.ready() { port.words.pop_front() } else { None };
        symbols[0] = port.tx.clock(next.unwrap_or(Word::Idle))[0];
        assert_eq!(rtl.clock(&symbols), model.clock(&symbols), "cycle {cycle}");
    }
    let counters = model.crossbar.counters();
    assert_eq!((counters.occupancy[1], counters.words[1]), (7, 0));
}

#[test]
#[ignore = "long: verilates three switches, a million cycles; make soak"]
fn switches_of_all_shapes_are_their_rtl() {
    check(Params::default(), 0..20, 20_000);
    check(
        Params { ports: 8, point_words: 64, card_words: 33, urgent_words: 8, miscounts: None },
        0..20,
        20_000,
    );
    check(
        Params { ports: 2, point_words: 32, card_words: 64, urgent_words: 1, miscounts: None },
        0..60,
        6_000,
    );
}
