//! The send interface: reads memory from a pointer to a limit, and sends it in slots.

use super::chip::Chip;
use super::Stopped;
use crate::crc::extend8;
use crate::link::{Outlet, Params, Slot, Wires, SLOT};
use crate::mutant::{is_mutant, Mutant};
use abi::myrinet::isr;
use des::Time;

pub(super) struct Send {
    wire: Outlet,
    pub next: u32,
    pub header_end: u32,
    pub limit: u32,
    /// True until it has read up to the limit.
    reading: bool,
    /// The packet ends at the limit.
    ends: bool,
    /// Time at which it was told to go on.
    since: Time,
    /// Bytes of the routing header still to come.
    header_left: u32,
    /// The slot that is filled.
    slot: Slot,
    /// CRCs behind the last byte, and how many of their bytes are on their way.
    tail: [u8; 5],
    tail_len: usize,
    tail_sent: usize,
    crc8: u8,
    crc32: crc32fast::Hasher,
}

const EMPTY: Slot = Slot { bytes: [0; SLOT], len: 0, ends: false, id: None };

impl Send {
    pub fn new(link: &Params) -> Send {
        Send {
            wire: Outlet::new(link),
            next: 0,
            header_end: 0,
            limit: 0,
            reading: false,
            ends: false,
            since: Time::ZERO,
            header_left: 0,
            slot: EMPTY,
            tail: [0; 5],
            tail_len: 0,
            tail_sent: 0,
            crc8: 0,
            crc32: crc32fast::Hasher::new(),
        }
    }
    pub fn stop(&mut self) {
        self.wire.stop();
    }
    pub fn go(&mut self, now: Time) {
        self.wire.go(now);
    }
    pub fn is_active(&self) -> bool {
        self.reading
    }
    pub fn due(&self) -> Time {
        if self.reading || self.tail_len > 0 {
            self.wire.free().max(self.since)
        } else {
            Time::NEVER
        }
    }
    /// The routing header ends before `end`.
    pub fn set_header_end(&mut self, end: u32) {
        self.header_end = end;
        self.header_left = end.saturating_sub(self.next);
    }
    /// Reads up to `limit` from now on.
    pub fn begin(&mut self, now: Time, limit: u32, ends: bool) {
        (self.limit, self.ends, self.reading, self.since) = (limit, ends, true, now);
    }

    /// Puts bytes into the slot, and into the CRCs.
    fn put(&mut self, bytes: &[u8]) {
        let at = usize::from(self.slot.len);
        self.slot.bytes[at..at + bytes.len()].copy_from_slice(bytes);
        self.slot.len += bytes.len() as u8;
        self.crc8 = extend8(self.crc8, bytes);
        let header = bytes.len().min(self.header_left as usize);
        self.header_left -= header as u32;
        let covered = if is_mutant(Mutant::CoversRoute) { bytes } else { &bytes[header..] };
        self.crc32.update(covered);
    }

    /// Prepares what follows the last byte of the packet.
    fn close(&mut self, with_crc32: bool) {
        let crc32 = std::mem::take(&mut self.crc32).finalize().to_be_bytes();
        let crc32: &[u8] = if with_crc32 { &crc32 } else { &[] };
        self.tail_len = crc32.len() + 1;
        self.tail_sent = 0;
        self.tail[..crc32.len()].copy_from_slice(crc32);
        self.tail[crc32.len()] = extend8(std::mem::take(&mut self.crc8), crc32);
        self.header_left = 0;
    }

    /// Puts as much of the CRCs into the slot as it has room for.
    fn put_tail(&mut self) {
        while self.tail_sent < self.tail_len && usize::from(self.slot.len) < SLOT {
            self.slot.bytes[usize::from(self.slot.len)] = self.tail[self.tail_sent];
            self.slot.len += 1;
            self.tail_sent += 1;
        }
        if self.tail_len > 0 && self.tail_sent == self.tail_len {
            self.slot.ends = true;
            self.tail_len = 0;
        }
    }
}

impl Chip {
    /// Fills the next slot, and sends it if it is full or ends the packet.
    pub fn send_slot(&mut self, now: Time, wires: &mut impl Wires) -> Option<Stopped> {
        // What follows a packet stands before the next, which may be asked for before the link takes it.
        if self.send.reading && self.send.tail_len == 0 {
            let send = &mut self.send;
            let (from, limit) = (send.next, send.limit);
            let whole = self.sram.get(from as usize..limit as usize);
            let Some(bytes) = whole else {
                return Some(Stopped::Send { at: now, from, limit });
            };
            let count = bytes.len().min(SLOT - usize::from(send.slot.len));
            send.put(&bytes[..count]);
            send.next += count as u32;
            if send.next == limit {
                send.reading = false;
                if send.ends {
                    send.close(self.crc32);
                }
                self.raise(now, isr::SEND);
            }
        }
        let send = &mut self.send;
        send.put_tail();
        if send.slot.ends || usize::from(send.slot.len) == SLOT {
            let slot = std::mem::replace(&mut send.slot, EMPTY);
            self.counters.bytes_sent += u64::from(slot.len);
            self.counters.packets_sent += u64::from(slot.ends);
            send.wire.send(now, 0, slot, wires);
        }
        None
    }
}
