//! Two lanes as one link, or one lane that carries the halves of a word one after the other.

use crate::{Aligner, Symbol, Word};
use std::collections::VecDeque;

/// Symbols that a synchronisation FIFO holds.
pub const SYNC_DEPTH: usize = 8;

/// The sending side.
#[derive(Clone, Debug)]
pub struct LinkTx {
    lanes: u8,
    /// Second half of a word on a single lane.
    held: Option<Symbol>,
}

impl LinkTx {
    /// Over one lane or two.
    pub fn new(lanes: u8) -> LinkTx {
        assert!(matches!(lanes, 1 | 2), "a link has one lane or two");
        LinkTx { lanes, held: None }
    }
    /// True if the next cycle takes a word.
    pub fn ready(&self) -> bool {
        self.held.is_none()
    }
    /// A cycle: the symbols of the lanes. `word` is not looked at unless `ready`.
    pub fn clock(&mut self, word: Word) -> [Symbol; 2] {
        if let Some(half) = self.held.take() {
            return [half, Symbol::default()];
        }
        let halves = [word.half(0), word.half(1)];
        if self.lanes == 1 {
            self.held = Some(halves[1]);
            return [halves[0], Symbol::default()];
        }
        halves
    }
}

/// The receiving side: aligns each lane, drops idle symbols, and pairs what is left by its order.
#[derive(Clone, Debug)]
pub struct LinkRx {
    lanes: u8,
    aligners: [Aligner; 2],
    /// Synchronisation FIFOs: halves of a word do not come in the same cycle.
    fifos: [VecDeque<Symbol>; 2],
    /// A single lane: which half comes next.
    next: usize,
    word: Option<Word>,
    errors: u64,
}

impl LinkRx {
    /// Over one lane or two.
    pub fn new(lanes: u8) -> LinkRx {
        assert!(matches!(lanes, 1 | 2), "a link has one lane or two");
        LinkRx {
            lanes,
            aligners: [Aligner::default(); 2],
            fifos: [VecDeque::with_capacity(SYNC_DEPTH), VecDeque::with_capacity(SYNC_DEPTH)],
            next: 0,
            word: None,
            errors: 0,
        }
    }
    /// The word of the last edge; idle ones are none.
    pub fn word(&self) -> Option<Word> {
        self.word
    }
    /// Halves that did not belong together, or found their FIFO full.
    pub fn errors(&self) -> u64 {
        self.errors
    }

    /// True if it holds no word, and no half of one.
    pub fn is_empty(&self) -> bool {
        self.word.is_none() && self.fifos.iter().all(VecDeque::is_empty)
    }

    /// The clock's edge: the symbols at the transceivers.
    pub fn clock(&mut self, symbols: [Symbol; 2]) {
        // All of it looks at the registers as they were before the edge.
        self.pair();
        for (lane, arrived) in symbols.into_iter().enumerate().take(usize::from(self.lanes)) {
            if let Some(symbol) = self.aligners[lane].output() {
                self.take(lane, symbol);
            }
            self.aligners[lane].clock(arrived);
        }
    }

    fn take(&mut self, lane: usize, symbol: Symbol) {
        let place = if self.lanes == 2 { lane } else { symbol.lane().unwrap_or(self.next) };
        self.next = 1 - place;
        if symbol.is_idle() {
            return;
        }
        if self.fifos[place].len() == SYNC_DEPTH {
            self.out_of_step();
        }
        self.fifos[place].push_back(symbol);
    }

    fn pair(&mut self) {
        self.word = None;
        let [even, odd] = &mut self.fifos;
        if even.is_empty() || odd.is_empty() {
            return;
        }
        let halves = even.pop_front().zip(odd.pop_front());
        self.word = halves.and_then(|(even, odd)| Word::join(even, odd));
        if self.word.is_none() {
            self.out_of_step();
        }
    }

    /// The lanes have lost one another: both start anew.
    fn out_of_step(&mut self) {
        self.errors += 1;
        self.fifos.iter_mut().for_each(VecDeque::clear);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What was sent comes, in order, whatever the shifts of the lanes.
    fn check(lanes: u8, shifts: [u32; 2], late: usize) {
        let (mut tx, mut rx) = (LinkTx::new(lanes), LinkRx::new(lanes));
        let sent: Vec<Word> = (0..40).map(|n| Word::Data(n * 0x0101_0203_0509)).collect();
        let mut words = vec![Word::Idle; 5];
        words.extend(&sent);
        words.extend([Word::Idle; 20]);
        let (mut symbols, mut words) = ([Vec::new(), Vec::new()], words.into_iter());
        while let Some(word) = if tx.ready() { words.next() } else { Some(Word::Idle) } {
            let cycle = tx.clock(word);
            (0..2).for_each(|lane| symbols[lane].push(cycle[lane]));
        }
        symbols[1].splice(0..0, vec![Word::Idle.half(1); late]);
        let mut got = Vec::new();
        let mut before = [Symbol::default(); 2];
        let [even, odd] = &symbols;
        for cycle in even.iter().zip(odd).map(|(even, odd)| [*even, *odd]) {
            let arrived = std::array::from_fn(|lane| {
                let (now, old, shift): (Symbol, Symbol, u32) =
                    (cycle[lane], before[lane], shifts[lane]);
                let bytes = u64::from(now.bytes) << 32 | u64::from(old.bytes);
                let control = u16::from(now.control) << 4 | u16::from(old.control);
                before[lane] = now;
                Symbol {
                    bytes: (bytes >> (32 - 8 * shift)) as u32,
                    control: (control >> (4 - shift) & 0xF) as u8,
                }
            });
            rx.clock(arrived);
            got.extend(rx.word());
        }
        assert_eq!(got, sent, "{lanes} lanes, {shifts:?}");
        assert_eq!(rx.errors(), 0);
    }

    #[test]
    fn shifted_lanes_are_aligned_and_paired() {
        for even in 0..4 {
            for odd in 0..4 {
                check(2, [even, odd], 0);
                check(2, [even, odd], 3);
            }
            check(1, [even, 0], 0);
        }
    }

    #[test]
    fn a_lost_half_is_found_out_at_the_next_mark() {
        let (mut tx, mut rx) = (LinkTx::new(2), LinkRx::new(2));
        let mut words = vec![Word::Idle; 3];
        words.extend([Word::Start, Word::Data(1), Word::Data(2), Word::Idle, Word::Start]);
        words.extend([Word::Data(3), Word::Idle, Word::Idle, Word::Idle, Word::Idle]);
        for (cycle, word) in words.into_iter().enumerate() {
            let mut symbols = tx.clock(word);
            if cycle == 5 {
                symbols[0] = Word::Idle.half(0);
            }
            rx.clock(symbols);
        }
        assert_eq!(rx.errors(), 1);
    }
}
