//! Ends of links without a card: one that sends packets as fast as it may, one that takes them and stops
//! now and then.

use des::{Duration, Random, Time};
use myrinet::{Params, Signal, Slot, Wires};
use std::collections::VecDeque;

/// Sends whole packets, CRC-8 behind them.
pub struct Sender {
    byte: Duration,
    slots: VecDeque<Slot>,
    stopped: bool,
    free: Time,
    pub bytes: u64,
}

impl Sender {
    pub fn new(params: &Params) -> Sender {
        let (slots, free) = (VecDeque::new(), Time::ZERO);
        Sender { byte: params.byte, slots, stopped: false, free, bytes: 0 }
    }

    /// Route and bytes of a packet; its CRC-8 is appended.
    pub fn send(&mut self, route: &[u8], bytes: &[u8]) {
        let mut whole = [route, bytes].concat();
        whole.push(myrinet::crc8(&whole));
        self.send_raw(&whole);
    }

    /// All bytes of a packet, with its CRC.
    pub fn send_raw(&mut self, whole: &[u8]) {
        let count = whole.len().div_ceil(8);
        for (index, chunk) in whole.chunks(8).enumerate() {
            let (len, ends) = (chunk.len() as u8, index + 1 == count);
            let mut slot = Slot { bytes: [0; 8], len, ends, id: None };
            slot.bytes[..chunk.len()].copy_from_slice(chunk);
            self.slots.push_back(slot);
        }
    }

    pub fn is_done(&self) -> bool {
        self.slots.is_empty()
    }

    pub fn arrive(&mut self, signal: Signal) {
        match signal {
            Signal::Stop => self.stopped = true,
            Signal::Go => self.stopped = false,
            // It takes what goes astray.
            Signal::Slot(_) | Signal::Beat => {}
        }
    }

    pub fn advance(&mut self, until: Time, wires: &mut impl Wires) {
        while self.free < until && !self.stopped {
            let Some(slot) = self.slots.pop_front() else {
                // A later packet begins later.
                self.free = until;
                return;
            };
            self.free += self.byte * slot.len.into();
            self.bytes += u64::from(slot.len);
            wires.put(0, self.free, Signal::Slot(slot));
        }
        if self.stopped {
            self.free = self.free.max(until);
        }
    }
}

/// Takes packets; tells the other end to stop and go at random times.
pub struct Sink {
    random: Random,
    /// Mean time to the next change of mind; it never stops if it is zero.
    pause: Duration,
    stopped: bool,
    next: Time,
    open: Vec<u8>,
    pub packets: Vec<Vec<u8>>,
    pub bytes: u64,
}

impl Sink {
    pub fn new(seed: u64, pause: Duration) -> Sink {
        let next = if pause.0 == 0 { Time::NEVER } else { Time::ZERO };
        Sink {
            random: Random::new(seed),
            pause,
            stopped: false,
            next,
            open: Vec::new(),
            packets: Vec::new(),
            bytes: 0,
        }
    }

    pub fn arrive(&mut self, _: Time, signal: Signal) {
        let Signal::Slot(slot) = signal else { return };
        self.bytes += u64::from(slot.len);
        self.open.extend(slot.bytes());
        if slot.ends {
            self.packets.push(std::mem::take(&mut self.open));
        }
    }

    pub fn advance(&mut self, until: Time, wires: &mut impl Wires) {
        while self.next < until {
            self.stopped = !self.stopped;
            let signal = if self.stopped { Signal::Stop } else { Signal::Go };
            wires.put(0, self.next, signal);
            self.next.0 += 1 + self.random.below(2 * self.pause.0);
        }
    }
}
