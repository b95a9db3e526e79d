//! Event queues: rings that are overwritten when nobody reads them (Portals 3.3 s3.11).

use super::types::Event;

/// An event taken from a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Next {
    /// The event.
    pub event: Event,
    /// True if events before it were overwritten (`PTL_EQ_DROPPED`).
    pub dropped: bool,
}

/// One event queue.
pub(crate) struct EventQueue {
    ring: Vec<Option<Event>>,
    /// Events posted so far; the last one's sequence number.
    written: u64,
    /// Events read or lost so far.
    read: u64,
    /// Events that operations under way will still post.
    pub(crate) promised: u32,
}

impl EventQueue {
    /// A queue of at least `count` events, rounded up to a power of two.
    pub(crate) fn new(count: u32) -> EventQueue {
        let slots = (count.max(1) as usize).next_power_of_two();
        EventQueue { ring: vec![None; slots], written: 0, read: 0, promised: 0 }
    }

    /// Sequence number that the next event will have.
    pub(crate) fn next_sequence(&self) -> u64 {
        self.written + 1
    }

    /// Writes an event; an old one is lost if the ring is full.
    pub(crate) fn post(&mut self, mut event: Event) {
        event.sequence = self.next_sequence();
        let slot = self.written as usize & (self.ring.len() - 1);
        self.ring[slot] = Some(event);
        self.written += 1;
    }

    /// Takes the oldest event that is still there.
    pub(crate) fn get(&mut self) -> Option<Next> {
        if self.is_empty() {
            return None;
        }
        let oldest = self.written.saturating_sub(self.ring.len() as u64);
        let dropped = self.read < oldest;
        self.read = self.read.max(oldest);
        let slot = self.read as usize & (self.ring.len() - 1);
        self.read += 1;
        let event = self.ring[slot].expect("slots between read and written are filled");
        Some(Next { event, dropped })
    }

    /// Events that it holds, and how many wait in it.
    pub(crate) fn fill(&self) -> (u64, u64) {
        let slots = self.ring.len() as u64;
        (slots, (self.written - self.read).min(slots))
    }

    /// True if every event that was posted has been read.
    pub(crate) fn is_empty(&self) -> bool {
        self.read == self.written
    }
}
