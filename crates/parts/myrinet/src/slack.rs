//! The slack buffer at the receiving end of a link.

use crate::link::{Signal, Slot, SLOT};
use crate::mutant::{is_mutant, Mutant};
use std::collections::VecDeque;

/// Slots that wait, and whether the other end is stopped.
#[derive(Clone, Debug)]
pub(crate) struct Slack {
    slots: VecDeque<Slot>,
    /// Bytes in them.
    held: u32,
    /// Most bytes that there ever were.
    pub high: u32,
    capacity: u32,
    stop: u32,
    go: u32,
    stopped: bool,
}

impl Slack {
    pub fn new(capacity: u32, stop: u32, go: u32) -> Slack {
        // Room for slots of a byte each, so that nothing is allocated later.
        let slots = VecDeque::with_capacity(capacity as usize);
        Slack { slots, held: 0, high: 0, capacity, stop, go, stopped: false }
    }
    /// Takes a slot; returns the signal for the other end.
    pub fn push(&mut self, slot: Slot) -> Option<Signal> {
        self.held += u32::from(slot.len);
        self.high = self.high.max(self.held);
        assert!(self.held <= self.capacity, "the slack buffer overflows");
        self.slots.push_back(slot);
        let late = if is_mutant(Mutant::LateStop) { SLOT as u32 } else { 0 };
        if !self.stopped && self.held >= self.stop + late {
            self.stopped = true;
            return Some(Signal::Stop);
        }
        None
    }
    pub fn front(&self) -> Option<&Slot> {
        self.slots.front()
    }
    /// Gives the first slot, and the signal for the other end.
    pub fn pop(&mut self) -> Option<(Slot, Option<Signal>)> {
        let slot = self.slots.pop_front()?;
        self.held -= u32::from(slot.len);
        let goes = self.stopped && self.held <= self.go && !is_mutant(Mutant::NoGo);
        if goes {
            self.stopped = false;
        }
        Some((slot, goes.then_some(Signal::Go)))
    }
    /// Bytes in it.
    pub fn held(&self) -> u32 {
        self.held
    }
}
