//! Two or four lanes as one link, or one lane that carries the halves of a word one after the other.

use crate::lanes::{is_count, lane, lane_bytes, set_lane, Symbols};
use crate::{Aligner, Symbol, Word};
use std::collections::VecDeque;

/// Symbols that a synchronisation FIFO holds.
pub const SYNC_DEPTH: usize = 8;

/// Most parts of a word.
const PARTS_MAX: usize = 4;

/// The sending side.
#[derive(Clone, Debug)]
pub struct LinkTx {
    lanes: u8,
    /// Second half of a word on a single lane.
    held: Option<Symbol>,
}

impl LinkTx {
    /// Transmitter over one lane, two or four.
    pub fn new(lanes: u8) -> LinkTx {
        assert!(is_count(lanes), "a link has one lane, two or four");
        LinkTx { lanes, held: None }
    }
    /// True if the next cycle takes a word.
    pub fn ready(&self) -> bool {
        self.held.is_none()
    }
    /// A cycle: the symbols of the lanes. `word` is not looked at unless `ready`.
    pub fn clock(&mut self, word: Word) -> Symbols {
        if let Some(half) = self.held.take() {
            return [half, Symbol::default()];
        }
        if self.lanes == 4 {
            let mut symbols = Symbols::default();
            (0..4).for_each(|n| set_lane(&mut symbols, 4, n, word.quarter(n)));
            return symbols;
        }
        let halves = [word.half(0), word.half(1)];
        if self.lanes == 1 {
            self.held = Some(halves[1]);
            return [halves[0], Symbol::default()];
        }
        halves
    }
}

/// The receiving side: aligns each lane, drops idle symbols, and pairs the others by their order.
#[derive(Clone, Debug)]
pub struct LinkRx {
    lanes: u8,
    aligners: [Aligner; PARTS_MAX],
    /// Synchronisation FIFOs, one for each part of a word: its parts do not come in the same cycle.
    fifos: [VecDeque<Symbol>; PARTS_MAX],
    /// Parts of a word: two halves or four quarters.
    parts: usize,
    /// A single lane: which half comes next.
    next: usize,
    word: Option<Word>,
    errors: u64,
    /// Most symbols that have ever stood in each FIFO.
    levels: [usize; PARTS_MAX],
    /// An empty FIFO gives its last item again (a bug, on request).
    repeats: bool,
    last: [Symbol; PARTS_MAX],
}

impl LinkRx {
    /// Receiver over one lane, two or four.
    pub fn new(lanes: u8) -> LinkRx {
        assert!(is_count(lanes), "a link has one lane, two or four");
        LinkRx {
            lanes,
            aligners: [Aligner::new(lane_bytes(lanes)); PARTS_MAX],
            fifos: std::array::from_fn(|_| VecDeque::with_capacity(SYNC_DEPTH)),
            parts: usize::from(lanes).max(2),
            next: 0,
            word: None,
            errors: 0,
            levels: [0; PARTS_MAX],
            repeats: false,
            last: [Symbol::default(); PARTS_MAX],
        }
    }
    /// A reset: all is as it was in the beginning.
    pub fn clear(&mut self) {
        *self = LinkRx { repeats: self.repeats, ..LinkRx::new(self.lanes) };
    }
    /// Plants the bug of marazakis2006 s3.4: within a packet an empty FIFO gives its last item again.
    pub fn set_bug(&mut self) {
        self.repeats = true;
    }
    /// Bytes by which the words of a lane are late, once that is known, and the most symbols that have ever
    /// stood in its synchronisation FIFO.
    pub fn status(&self, lane: usize) -> (Option<u8>, usize) {
        (self.aligners[lane].shift(), self.levels[lane])
    }
    /// The word of the last edge; idle ones are none.
    pub fn word(&self) -> Option<Word> {
        self.word
    }
    /// Parts of words that did not belong together, or found their FIFO full.
    pub fn errors(&self) -> u64 {
        self.errors
    }

    /// True if it holds no word, and no part of one.
    pub fn is_empty(&self) -> bool {
        self.word.is_none() && self.fifos.iter().all(VecDeque::is_empty)
    }

    /// The clock's edge: the symbols at the transceivers.
    pub fn clock(&mut self, symbols: Symbols) {
        // All of it looks at the registers as they were before the edge.
        self.pair();
        for n in 0..self.lanes {
            let place = usize::from(n);
            if let Some(symbol) = self.aligners[place].output() {
                self.take(place, symbol);
            }
            self.aligners[place].clock(lane(&symbols, self.lanes, n));
        }
    }

    fn take(&mut self, lane: usize, symbol: Symbol) {
        let place = if self.lanes > 1 { lane } else { symbol.lane().unwrap_or(self.next) };
        self.next = 1 - place.min(1);
        if symbol.is_idle() {
            return;
        }
        if self.fifos[place].len() == SYNC_DEPTH {
            self.out_of_step();
        }
        self.fifos[place].push_back(symbol);
        self.levels[place] = self.levels[place].max(self.fifos[place].len());
    }

    fn pair(&mut self) {
        let inside = self.repeats && matches!(self.word, Some(Word::Data(_)));
        self.word = None;
        if self.fifos[..self.parts].iter().any(VecDeque::is_empty) {
            if inside {
                self.repeat();
            }
            return;
        }
        let mut parts = [Symbol::default(); PARTS_MAX];
        for (part, fifo) in parts.iter_mut().zip(&mut self.fifos[..self.parts]) {
            *part = fifo.pop_front().expect("none is empty");
        }
        self.last = parts;
        self.word = match self.parts {
            2 => Word::join(parts[0], parts[1]),
            _ => Word::join_quarters(&parts),
        };
        if self.word.is_none() {
            self.out_of_step();
        }
    }

    /// Some FIFOs are empty and some have data, which go on.
    fn repeat(&mut self) {
        let fronts = self.fifos[..self.parts].iter().filter_map(VecDeque::front);
        let mut data = fronts.map(|symbol| symbol.control == 0).peekable();
        if data.peek().is_none() || data.any(|is_data| !is_data) {
            return;
        }
        let mut parts = self.last;
        for (part, fifo) in parts.iter_mut().zip(&mut self.fifos[..self.parts]) {
            *part = fifo.pop_front().unwrap_or(*part);
        }
        self.word = match self.parts {
            2 => Word::join(parts[0], parts[1]),
            _ => Word::join_quarters(&parts),
        };
        self.last = parts;
    }

    /// The lanes have lost one another: all start anew.
    fn out_of_step(&mut self) {
        self.errors += 1;
        self.fifos.iter_mut().for_each(VecDeque::clear);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Shifter;

    /// Checks that the words sent arrive, in order, for any shifts of the lanes. The last lane is late by
    /// `late` cycles.
    fn check(lanes: u8, shifts: [u8; 4], late: usize) {
        let (mut tx, mut rx) = (LinkTx::new(lanes), LinkRx::new(lanes));
        let sent: Vec<Word> = (0..40).map(|n| Word::Data(n * 0x0101_0203_0509)).collect();
        let mut words = vec![Word::Idle; 5];
        words.extend(&sent);
        words.extend([Word::Idle; 20]);
        let (mut symbols, mut words) = (vec![Vec::new(); lanes.into()], words.into_iter());
        while let Some(word) = if tx.ready() { words.next() } else { Some(Word::Idle) } {
            let cycle = tx.clock(word);
            (0..lanes).for_each(|n| symbols[usize::from(n)].push(lane(&cycle, lanes, n)));
        }
        let last = symbols.last_mut().unwrap();
        last.splice(0..0, vec![Word::Idle.part(lanes, lanes - 1); late]);
        let mut got = Vec::new();
        let mut shifters: Vec<Shifter> =
            (0..lanes).map(|n| Shifter::new(lane_bytes(lanes), shifts[usize::from(n)])).collect();
        let cycles = symbols[0].len();
        let mut waiting: Vec<_> = symbols.into_iter().map(Vec::into_iter).collect();
        for _ in 0..cycles {
            let mut arrived = Symbols::default();
            for n in 0..lanes {
                let place = usize::from(n);
                let symbol = waiting[place].next().expect("the last lane has more");
                let symbol = shifters[place].shift(symbol);
                set_lane(&mut arrived, lanes, n, symbol);
            }
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
                check(2, [even, odd, 0, 0], 0);
                check(2, [even, odd, 0, 0], 3);
            }
            check(1, [even, 0, 0, 0], 0);
        }
        for bits in 0..16 {
            let shifts = std::array::from_fn(|lane| bits >> lane & 1);
            check(4, shifts, 0);
            check(4, shifts, 3);
        }
    }

    #[test]
    fn a_lost_part_is_found_out_at_the_next_mark() {
        for lanes in [2, 4] {
            let (mut tx, mut rx) = (LinkTx::new(lanes), LinkRx::new(lanes));
            let mut words = vec![Word::Idle; 3];
            words.extend([Word::Start, Word::Data(1), Word::Data(2), Word::Idle, Word::Start]);
            words.extend([Word::Data(3), Word::Idle, Word::Idle, Word::Idle, Word::Idle]);
            for (cycle, word) in words.into_iter().enumerate() {
                let mut symbols = tx.clock(word);
                if cycle == 5 {
                    set_lane(&mut symbols, lanes, 0, Word::Idle.part(lanes, 0));
                }
                rx.clock(symbols);
            }
            assert_eq!(rx.errors(), 1, "{lanes} lanes");
        }
    }
}
