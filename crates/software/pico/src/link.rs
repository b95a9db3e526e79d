//! The way between two ranks: packets that Directed Point may lose become segments that come all, once and
//! in order.
//!
//! ```text
//!  packet   serial    every packet has one, repetitions and signs too
//!           seen      serial of the last one that came from there
//!  segment  sequence  only what must arrive has one; kept until it is confirmed
//!           expected  sequence that is awaited from there
//! ```
//!
//! **Room.** The module of the other node has `places` for what this rank sends. A channel keeps the order:
//! of the packets up to `seen` none is in a place any more, and serial - seen is the most that can be there.
//! It never exceeds `places`, of which the last is left for signs. A sign is sent when half of the other
//! side's places are read and not told. Each packet tells of one more at least, so a rank that has read one
//! has room to answer.
//!
//! **Loss.** A segment whose serial the other side has passed, and which it has not confirmed, is lost, or
//! thrown away behind a lost one: all from there on are sent again. If nothing is heard, a sign asks. Only a
//! rank that has heard nothing for [`FULL`] takes the last place to ask, and then more than there are: all
//! that it has sent may be lost.

use abi::pico::{kind, Header};
use std::collections::VecDeque;

/// Nanoseconds without an answer after which a rank asks; twice as many each time. Assumed.
pub const FIRST: u64 = 5_000_000;
/// The same, at least, if all places but the last are taken: mostly the other rank computes. Assumed.
pub const FULL: u64 = 1_000_000_000;

/// A segment that is not confirmed.
struct Kept {
    /// Serial of the packet that carried it last.
    serial: u16,
    sequence: u16,
    kind: u8,
    body: Vec<u8>,
}

/// One rank's end of the way to another.
pub struct Link {
    places: u16,
    /// Serial of the last packet, and of the last that the other side has seen.
    serial: u16,
    seen: u16,
    kept: VecDeque<Kept>,
    /// Index of the first of them that is to be sent again; none if it is their number.
    again: usize,
    sequence: u16,
    /// Serial of the last packet that came, and of the last that the other side was told of.
    came: u16,
    told: u16,
    expected: u16,
    /// A sign is due, however little there is to tell.
    owes: bool,
    /// A gap before `expected` is known to the other side.
    gap: bool,
    /// Messages that were received here, and there.
    freed: u16,
    freed_there: u16,
    alarm: Option<u64>,
    patience: u64,
}

/// A packet that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Came<'a> {
    /// Damaged, or nothing that must be handed on.
    Nothing,
    /// The next segment.
    Segment(u8, &'a [u8]),
}

/// True if counting has come to `number` at `at`; numbers go round.
fn reaches(at: u16, number: u16) -> bool {
    at.wrapping_sub(number) as i16 >= 0
}

fn check(packet: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&packet[..abi::pico::header::CHECK]);
    hasher.update(&[0; 4]);
    hasher.update(&packet[Header::SIZE..]);
    hasher.finalize()
}

impl Link {
    /// Nothing has been sent. The other node has so many places.
    pub fn new(places: u16) -> Link {
        Link {
            places,
            serial: 0,
            seen: 0,
            kept: VecDeque::new(),
            again: 0,
            sequence: 0,
            came: 0,
            told: 0,
            expected: 1,
            owes: false,
            gap: false,
            freed: 0,
            freed_there: 0,
            alarm: None,
            patience: FIRST,
        }
    }

    /// Most packets that may be in the other node's places.
    fn under_way(&self) -> u16 {
        self.serial.wrapping_sub(self.seen)
    }

    /// True if all places may be taken but the last.
    fn is_full(&self) -> bool {
        self.under_way() + 1 >= self.places
    }

    /// Time without an answer after which this side asks.
    fn wait(&self) -> u64 {
        if self.is_full() {
            self.patience.max(FULL)
        } else {
            self.patience
        }
    }

    /// True if a new segment may be sent now.
    pub fn may_send(&self) -> bool {
        self.again == self.kept.len() && !self.is_full()
    }

    /// True if all segments have been confirmed.
    pub fn is_quiet(&self) -> bool {
        self.kept.is_empty()
    }

    /// A message of the other side's has been received: it may send another.
    pub fn free(&mut self) {
        self.freed = self.freed.wrapping_add(1);
    }

    /// Messages that the other side has received.
    pub fn freed_there(&self) -> u16 {
        self.freed_there
    }

    /// The packet of a new segment, which [`Link::may_send`] allows.
    pub fn send(&mut self, kind: u8, body: Vec<u8>) -> Vec<u8> {
        self.sequence = self.sequence.wrapping_add(1);
        let packet = self.packet(kind, false, self.sequence, &body);
        let (serial, sequence) = (self.serial, self.sequence);
        self.kept.push_back(Kept { serial, sequence, kind, body });
        self.again = self.kept.len();
        packet
    }

    fn packet(&mut self, kind: u8, ask: bool, sequence: u16, body: &[u8]) -> Vec<u8> {
        self.serial = self.serial.wrapping_add(1);
        (self.told, self.owes) = (self.came, false);
        let header = Header {
            kind,
            ask: ask.into(),
            serial: self.serial,
            seen: self.came,
            sequence,
            expected: self.expected,
            freed: self.freed,
            check: 0,
        };
        let mut packet = vec![0; Header::SIZE + body.len()];
        packet[Header::SIZE..].copy_from_slice(body);
        header.emit(&mut packet);
        let check = check(&packet);
        Header { check, ..header }.emit(&mut packet);
        packet
    }

    /// A sign is worth its packet.
    fn signs(&self) -> bool {
        self.owes || self.came.wrapping_sub(self.told) >= self.places / 2
    }

    /// The next packet that is due by itself: a repetition, or a sign.
    pub fn due(&mut self) -> Option<Vec<u8>> {
        if self.again < self.kept.len() && !self.is_full() {
            let Kept { sequence, kind, ref mut body, .. } = self.kept[self.again];
            let body = std::mem::take(body);
            let packet = self.packet(kind, false, sequence, &body);
            let kept = &mut self.kept[self.again];
            (kept.serial, kept.body) = (self.serial, body);
            self.again += 1;
            return Some(packet);
        }
        let may = self.signs() && self.under_way() < self.places;
        may.then(|| self.packet(kind::SIGN, false, 0, &[]))
    }

    /// All that came is to be told with the next packet that is due: there may be no other.
    pub fn sign_off(&mut self) {
        self.owes |= self.came != self.told;
    }

    /// Takes a packet in.
    pub fn take<'a>(&mut self, packet: &'a [u8]) -> Came<'a> {
        let Some(header) = Header::parse(packet).filter(|own| own.check == check(packet)) else {
            return Came::Nothing;
        };
        self.came = header.serial;
        self.freed_there = header.freed;
        self.owes |= header.ask != 0;
        if header.seen != self.seen && reaches(header.seen, self.seen) {
            self.seen = header.seen;
            (self.alarm, self.patience) = (None, FIRST);
        }
        while self.kept.front().is_some_and(|kept| !reaches(kept.sequence, header.expected)) {
            self.kept.pop_front();
            self.again = self.again.saturating_sub(1);
        }
        if self.kept.front().is_some_and(|kept| reaches(self.seen, kept.serial)) {
            self.again = 0;
        }
        if header.kind == kind::SIGN {
            return Came::Nothing;
        }
        if header.sequence != self.expected {
            // The first behind a gap says so; one that came before, that its sender does not know it.
            let repeated = !reaches(header.sequence, self.expected);
            self.owes |= repeated || !self.gap;
            self.gap |= !repeated;
            return Came::Nothing;
        }
        (self.expected, self.gap) = (self.expected.wrapping_add(1), false);
        Came::Segment(header.kind, &packet[Header::SIZE..])
    }

    /// True if this side must hear from the other; `blocked`: it has more to send.
    pub fn listens(&self, blocked: bool) -> bool {
        blocked || !self.kept.is_empty() || self.signs()
    }

    /// Time at which this side asks; `now` is only called if it was not known. None if it need not.
    pub fn alarm(&mut self, blocked: bool, now: impl FnOnce() -> u64) -> Option<u64> {
        if !self.listens(blocked) {
            (self.alarm, self.patience) = (None, FIRST);
            return None;
        }
        let patience = self.wait();
        Some(*self.alarm.get_or_insert_with(|| now() + patience))
    }

    /// The packet that asks, if it is time.
    pub fn ask(&mut self, now: u64) -> Option<Vec<u8>> {
        self.alarm.take_if(|alarm| *alarm <= now)?;
        self.patience = self.wait().saturating_mul(2);
        Some(self.packet(kind::SIGN, true, 0, &[]))
    }
}

#[cfg(test)]
mod tests;
