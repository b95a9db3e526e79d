//! The stage `link`: two cards, first one way, then the other, at times that both know.

use super::super::memory::{set_word, word, PAGE};
use super::super::module::doorbell;
use super::{BringUp, Buffer, PAGES, RUNNING};
use abi::forth::register::{self, DebugSelect, Lanes, Status};
use abi::forth::{control, control_bit, trace_point, trace_tag, WORDS_MAX};
use des::Duration;

impl BringUp<'_> {
    /// Two cards: each phase first one way, then the other.
    pub(super) fn link(&self) {
        let ms = |ms: u64| Duration::from_ns(1_000_000 * ms);
        let phases = [("short", 1), ("long", 2), ("frozen", 2), ("rings", 5)];
        let mut from = Duration::from_ns(100_000);
        for (phase, length) in phases {
            for sender in 0..2 {
                self.fill();
                let bits = RUNNING | if phase == "frozen" { control_bit::FREEZE } else { 0 };
                self.begin(bits);
                if phase == "frozen" {
                    self.trace(1 << trace_point::RECEIVE_IN, 0);
                }
                self.until(from);
                match (phase, sender == self.rank) {
                    ("rings", true) => self.ring(from),
                    ("rings", false) => self.hear(from),
                    ("short", true) => self.send(20, 2, Duration::from_ns(5_000)),
                    ("long", true) => self.send(90, WORDS_MAX, Duration(0)),
                    ("frozen", true) => self.send(30, WORDS_MAX, Duration(0)),
                    _ => {}
                }
                if phase != "rings" {
                    self.until(from + ms(length) - Duration::from_ns(100_000));
                }
                if phase != "rings" && sender != self.rank {
                    self.listen(phase);
                }
                from = from + ms(length) + Duration::from_ns(100_000);
                if phase == "frozen" {
                    from += ms(4); // Samples are read.
                }
            }
        }
    }

    fn send(&self, messages: u64, words: u32, pause: Duration) {
        for message in 0..messages {
            let place = message % PAGES * PAGE;
            let (from, to) = (self.source.phys(place), self.peers_target(place));
            self.post(from, to, self.peer(), words, 0);
            self.pass(pause);
        }
    }
    /// Buffers lie the same way on all nodes.
    fn peers_target(&self, at: u64) -> u64 {
        Buffer { nid: self.peer(), ..self.target }.phys(at)
    }

    fn listen(&self, phase: &str) {
        self.errors(phase);
        for lane in 0..2 {
            self.write(register::DEBUG_SELECT, DebugSelect(0).with_lane(lane).0);
            let status = Lanes(self.read(register::LANES));
            let tell =
                |key: &str, value: u8| self.tell(&format!("{phase}.lane{lane}.{key}"), value);
            tell("aligned", status.comma().into());
            tell("sync_level", status.sync_level());
            tell("buffer_errors", status.buffer_errors());
            tell("corrections", status.corrections());
        }
        if phase != "frozen" {
            return;
        }
        self.tell("frozen.stopped", u8::from(Status(self.read(register::STATUS)).frozen()));
        let samples = self.samples(trace_point::RECEIVE_IN, 1100);
        // From the last header on it is known what should come.
        let payloads = samples.split(|(_, kind)| *kind == trace_tag::HEADER).skip(1);
        let (mut right, mut halves) = (0, 0);
        for payload in payloads {
            let words: Vec<u64> =
                payload.iter().filter(|(_, kind)| *kind == trace_tag::DATA).map(|s| s.0).collect();
            let first = words.first().copied().unwrap_or_default();
            let sender = self.peer();
            let page = (0..PAGES).find(|page| self.pattern(sender, page * PAGE / 8) == first);
            let Some(page) = page else { continue };
            for (place, word) in (page * PAGE / 8..).zip(&words) {
                let wanted = self.pattern(sender, place);
                // Bytes are dealt to the two lanes in turn.
                let [even, odd] = [0x00FF_00FF_00FF_00FF, 0xFF00_FF00_FF00_FF00_u64];
                let lags = |mask: u64| {
                    let before = |n: u64| self.pattern(sender, place.saturating_sub(n));
                    word & !mask == wanted & !mask
                        && (1..=3).any(|n| word & mask == before(n) & mask)
                };
                right += u64::from(*word == wanted);
                halves += u64::from(*word != wanted && (lags(even) || lags(odd)));
            }
        }
        self.tell("frozen.right_words", right);
        self.tell("frozen.lagging_halves", halves);
    }

    // ---- interrupts --------------------------------------------------------------------------------------

    const PAIRS: u64 = 160;
    const PAIR: Duration = Duration::from_us(30);
    const STEP: Duration = Duration::from_ns(40);

    /// Rings twice, a little further apart each time.
    fn ring(&self, from: Duration) {
        let memory = self.library.cpu().memory();
        let to = doorbell(self.peer(), self.rank);
        for pair in 0..Self::PAIRS {
            self.until(from + Self::PAIR * pair);
            for second in 0..2 {
                let place = self.source.phys(8 * (2 * pair + second));
                set_word(memory, place, 2 * pair + second + 1);
                self.post(place, to, self.peer(), 1, control::INTERRUPT);
                if second == 0 {
                    self.pass(Self::STEP * pair);
                }
            }
        }
        self.until(from + Self::PAIR * Self::PAIRS);
    }

    /// Compares what the handler has seen with what stands in memory, when all is quiet.
    fn hear(&self, from: Duration) {
        let memory = self.library.cpu().memory();
        let (mut unseen, mut high) = (0, 0);
        for pair in 0..Self::PAIRS {
            self.until(from + Self::PAIR * pair + Self::PAIR - Duration::from_us(2));
            let rung = word(memory, doorbell(self.rank, self.peer()));
            unseen += u64::from(self.module.seen_of(self.peer()) != rung);
            high += u64::from(self.read(register::INTERRUPT) & 2 != 0);
        }
        self.tell("rings.unseen", unseen);
        self.tell("rings.line_high", high);
        self.tell("rings.interrupts", self.read(register::INTERRUPTS));
        self.tell("rings.interrupts_wanted", self.read(register::INTERRUPTS_WANTED));
    }
}
