//! A crosspoint: a buffer, and the credits owed to the card at its input.

use std::collections::VecDeque;

#[derive(Clone, Debug)]
pub(crate) struct Point {
    words: VecDeque<u64>,
    depth: usize,
    mask: u16,
    /// Words that have left, cumulative.
    freed: u16,
    /// Words of these that no credit has reported; saturating.
    untold: u16,
    /// Words forwarded, for the monitor.
    pub forwarded: u64,
    pub forwarding: Forwarding,
    /// Cycles in which the packets that are here began to arrive.
    begun: VecDeque<u64>,
    /// It miscounts, and a packet's last word leaves in this cycle.
    miscounts: bool,
    ends: bool,
    /// A word has come in with the last edge.
    pushed: bool,
}

/// Times from a packet's first word in to its last word out, in cycles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Forwarding {
    /// Packets that have passed.
    pub packets: u64,
    /// Sum of their cycles.
    pub sum: u64,
    /// Cycles of the slowest packet.
    pub most: u64,
}

impl Point {
    pub fn new(depth: u16, bits: u32) -> Point {
        Point {
            words: VecDeque::with_capacity(usize::from(depth)),
            depth: usize::from(depth),
            mask: (1 << bits) - 1,
            freed: 0,
            untold: 0,
            forwarded: 0,
            forwarding: Forwarding::default(),
            begun: VecDeque::new(),
            miscounts: false,
            ends: false,
            pushed: false,
        }
    }
    /// Plants a bug: the credit of a packet's last word is lost if it goes as another comes.
    pub fn miscount(&mut self) {
        self.miscounts = true;
    }
    pub fn front(&self) -> Option<u64> {
        self.words.front().copied()
    }
    pub fn len(&self) -> usize {
        self.words.len()
    }
    pub fn untold(&self) -> u16 {
        self.untold
    }
    pub fn freed(&self) -> u16 {
        self.freed
    }
    /// A packet's first word comes in.
    pub fn begin(&mut self, cycle: u64) {
        self.begun.push_back(cycle);
    }
    /// A packet's last word goes out.
    pub fn end(&mut self, cycle: u64) {
        self.ends = true;
        let Some(begun) = self.begun.pop_front() else { return };
        let cycles = cycle - begun;
        self.forwarding.packets += 1;
        self.forwarding.sum += cycles;
        self.forwarding.most = self.forwarding.most.max(cycles);
    }
    /// Clock edge: a word in (false if there was no room), one out, and a credit that was sent.
    pub fn clock(&mut self, push: Option<u64>, pop: bool, told: bool) -> bool {
        let full = self.words.len() == self.depth;
        if told {
            self.untold = 0;
        }
        let before = std::mem::replace(&mut self.pushed, push.is_some());
        let collides = before || push.is_some();
        let lost = std::mem::take(&mut self.ends) && collides && self.miscounts;
        if pop && lost {
            self.words.pop_front();
            self.forwarded += 1;
        } else if pop {
            self.words.pop_front();
            self.freed = self.freed.wrapping_add(1) & self.mask;
            self.untold = self.untold.saturating_add(1).min(self.mask);
            self.forwarded += 1;
        }
        match push {
            Some(_) if full => false,
            Some(word) => {
                self.words.push_back(word);
                true
            }
            None => true,
        }
    }
}
