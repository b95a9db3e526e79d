//! The receive interface: takes packets out of the slack buffer, and writes them to memory from a pointer
//! to a limit. The CRCs are taken off and checked.

use super::chip::Chip;
use super::points::Point;
use crate::crc::extend8;
use crate::link::{Params, Signal, Slot, Wires};
use crate::mutant::{is_mutant, Mutant};
use crate::slack::Slack;
use abi::myrinet::isr;
use des::Time;

pub(super) struct Receive {
    slack: Slack,
    pub next: u32,
    pub limit: u32,
    /// First byte of the packet that is let in.
    begin: u32,
    /// Address behind the last byte of the last packet.
    pub end: u32,
    /// A packet may come in, or does.
    open: bool,
    /// A packet has begun.
    begun: bool,
    /// Time at which it was let in, if nobody has looked since.
    since: Time,
    too_long: bool,
    /// The processor was reset within a packet: the rest of it goes nowhere.
    discards: bool,
    /// The last bytes, which may be CRCs.
    last: [u8; 5],
    last_len: usize,
    crc8: u8,
    crc32: crc32fast::Hasher,
}

impl Receive {
    pub fn new(link: &Params) -> Receive {
        Receive {
            slack: link.buffer(),
            next: 0,
            limit: 0,
            begin: 0,
            end: 0,
            open: false,
            begun: false,
            since: Time::NEVER,
            too_long: false,
            discards: false,
            last: [0; 5],
            last_len: 0,
            crc8: 0,
            crc32: crc32fast::Hasher::new(),
        }
    }
    pub fn due(&self) -> Time {
        self.since
    }
    pub fn held(&self) -> u32 {
        self.slack.held()
    }
    pub fn high(&self) -> u32 {
        self.slack.high
    }
    pub fn is_active(&self) -> bool {
        self.begun
    }
    /// Nothing is let in any more, and what is coming in is lost.
    pub fn reset(&mut self) {
        self.open = false;
        self.discards |= self.begun;
    }
    /// Lets the next packet in.
    pub fn let_in(&mut self, now: Time, limit: u32) {
        (self.limit, self.open, self.begin) = (limit, true, self.next);
        self.since = now;
    }
    pub fn take(&mut self, slot: Slot) -> Option<Signal> {
        self.slack.push(slot)
    }

    /// Takes a byte, and gives the one that is pushed out: the last `keep` may be CRCs.
    fn push(&mut self, byte: u8, keep: usize) -> Option<u8> {
        if self.last_len < keep {
            self.last[self.last_len] = byte;
            self.last_len += 1;
            return None;
        }
        let out = self.last[0];
        self.last[..keep].rotate_left(1);
        self.last[keep - 1] = byte;
        Some(out)
    }

    /// Forgets the packet of which that is the rest, at its end.
    fn discard(&mut self, slot: &Slot) {
        if slot.ends {
            (self.discards, self.begun, self.too_long, self.last_len) = (false, false, false, 0);
            (self.crc8, self.crc32) = (0, crc32fast::Hasher::new());
        }
    }

    /// Status bits of the packet that ends.
    fn close(&mut self, keep: usize) -> u32 {
        let whole = self.last_len == keep;
        let right8 = std::mem::take(&mut self.crc8) == 0;
        let crc32 = std::mem::take(&mut self.crc32).finalize().to_be_bytes();
        let right32 = keep == 1 || self.last[..4] == crc32 || is_mutant(Mutant::TrustsCrc32);
        let bits = [
            (!whole, isr::LINK2),
            (!right8, isr::LINK0),
            (whole && !right32, isr::LINK1),
            (std::mem::take(&mut self.too_long), isr::BUFF),
        ];
        self.last_len = 0;
        (self.open, self.begun, self.end) = (false, false, self.next);
        bits.iter().filter(|(set, _)| *set).fold(isr::RECV, |bits, (_, bit)| bits | bit)
    }
}

impl Chip {
    /// Empties the slack buffer, up to the end of a packet.
    pub fn drain(&mut self, now: Time, wires: &mut impl Wires) {
        self.receive.since = Time::NEVER;
        self.take_slots(now, wires);
        self.tell_held(now);
    }

    fn take_slots(&mut self, now: Time, wires: &mut impl Wires) {
        let keep = if self.crc32 { 5 } else { 1 };
        while self.receive.open || self.receive.discards {
            let Some((slot, answer)) = self.receive.slack.pop() else {
                return;
            };
            if let Some(answer) = answer {
                wires.put(0, now, answer);
            }
            if self.receive.discards {
                self.receive.discard(&slot);
                if slot.ends {
                    self.points.pass(now, Point::Discarded);
                }
                continue;
            }
            self.deposit(&slot, keep);
            if slot.ends {
                let bits = self.receive.close(keep);
                self.counters.packets_received += 1;
                self.counters.wrong_crc8 += u64::from(bits & isr::LINK0 != 0);
                self.counters.wrong_crc32 += u64::from(bits & isr::LINK1 != 0);
                let bytes = self.receive.next.wrapping_sub(self.receive.begin);
                self.points.pass(now, Point::Received { bytes, good: bits == isr::RECV });
                self.raise(now, bits);
            }
        }
    }

    fn deposit(&mut self, slot: &Slot, keep: usize) {
        let receive = &mut self.receive;
        receive.begun = true;
        receive.crc8 = extend8(receive.crc8, slot.bytes());
        let (mut out, mut count) = ([0; 8], 0);
        for byte in slot.bytes() {
            if let Some(byte) = receive.push(*byte, keep) {
                out[count] = byte;
                count += 1;
            }
        }
        receive.crc32.update(&out[..count]);
        let limit = match is_mutant(Mutant::IgnoresLimit) {
            true => u32::MAX,
            false => receive.limit,
        };
        let room = limit.min(self.sram.len() as u32).saturating_sub(receive.next) as usize;
        let fits = count.min(room);
        receive.too_long |= fits < count;
        let at = receive.next;
        self.sram[at as usize..][..fits].copy_from_slice(&out[..fits]);
        receive.next += fits as u32;
        self.wrote(at, fits as u32);
    }
}
