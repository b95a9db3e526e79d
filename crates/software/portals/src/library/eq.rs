//! Event queues: rings that are overwritten when nobody reads them (Portals 3.3 s3.11).

use super::types::Event;
use crate::mutant::{is_mutant, Mutant};
use std::collections::VecDeque;

/// Events that a message posts at most: START, END, UNLINK, and one to spare.
const EVENTS_OF_MESSAGE: usize = 4;

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
    /// Events posted and neither read nor overwritten, oldest first.
    ring: VecDeque<Event>,
    slots: usize,
    /// Events posted so far; the last one's sequence number.
    written: u64,
    /// Events were overwritten since the last one was read.
    dropped: bool,
    /// Events that operations under way will still post.
    pub(crate) promised: u32,
    /// The youngest events in the ring, which are still being written.
    hidden: usize,
    /// True if posted events stay hidden until they are published.
    holds_back: bool,
    /// Messages are refused while it is full, if the kernel can.
    pub(crate) refuses: bool,
    /// Events by which it grows when it is full, instead of losing one; 0: it does not grow.
    growth: u32,
}

impl EventQueue {
    /// A queue of at least `count` events, rounded up to a power of two.
    pub(crate) fn new(count: u32, holds_back: bool) -> EventQueue {
        EventQueue {
            ring: VecDeque::new(),
            slots: (count.max(1) as usize).next_power_of_two(),
            written: 0,
            dropped: false,
            promised: 0,
            hidden: 0,
            holds_back,
            refuses: false,
            growth: 0,
        }
    }

    /// The same, but it grows by `growth` events when it is full.
    pub(crate) fn growing(self, growth: u32) -> EventQueue {
        EventQueue { growth, ..self }
    }

    /// Sequence number that the next event will have.
    pub(crate) fn next_sequence(&self) -> u64 {
        self.written + 1
    }

    /// Writes an event; an old one is lost if the ring is full and does not grow. Returns the events by which
    /// it grew.
    pub(crate) fn post(&mut self, mut event: Event) -> u32 {
        event.sequence = self.next_sequence();
        let full = self.ring.len() == self.slots;
        let grown = if full { self.growth } else { 0 };
        self.slots += grown as usize;
        if full && grown == 0 {
            self.ring.pop_front();
            self.dropped = !is_mutant(Mutant::DropsInSilence);
        }
        self.ring.push_back(event);
        self.written += 1;
        if self.holds_back {
            self.hidden = self.ring.len().min(self.hidden + 1);
        }
        grown
    }

    /// True if something is posted and cannot be read yet.
    pub(crate) fn is_writing(&self) -> bool {
        self.hidden > 0
    }

    /// Makes all posted events readable: they are written.
    pub(crate) fn publish(&mut self) {
        self.hidden = 0;
    }

    /// Takes the oldest event that is still there.
    pub(crate) fn get(&mut self) -> Option<Next> {
        if self.ring.len() == self.hidden {
            return None;
        }
        let event = self.ring.pop_front()?;
        Some(Next { event, dropped: std::mem::take(&mut self.dropped) })
    }

    /// Events that it holds, and how many wait in it.
    pub(crate) fn fill(&self) -> (u64, u64) {
        (self.slots as u64, self.ring.len() as u64)
    }

    /// Events for which it has room, those that will be posted for sure taken off.
    fn free(&self) -> usize {
        self.slots.saturating_sub(self.ring.len() + self.promised as usize)
    }

    /// True if there is no room for the events of one more message.
    pub(crate) fn is_crowded(&self) -> bool {
        self.refuses && self.growth == 0 && self.free() < EVENTS_OF_MESSAGE
    }

    /// True if half of it is empty.
    pub(crate) fn is_roomy(&self) -> bool {
        !self.refuses || self.free() >= self.slots / 2
    }

    /// True if every event that was posted has been read.
    pub(crate) fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::{EventKind, Md, MdHandle, NiFail, ProcessId};
    use abi::MessageId;

    fn event(mark: u64) -> Event {
        Event {
            kind: EventKind::PutEnd,
            initiator: ProcessId { nid: 0, pid: 0 },
            uid: 0,
            jid: 0,
            pt_index: 0,
            match_bits: mark,
            rlength: 0,
            mlength: 0,
            offset: 0,
            md_handle: MdHandle::from_raw(0),
            md: Md::new(0, 0, 0),
            hdr_data: 0,
            link: 0,
            sequence: 0,
            fail: NiFail::Ok,
            message: MessageId::default(),
        }
    }

    fn get(queue: &mut EventQueue) -> Option<(u64, bool)> {
        queue.get().map(|next| (next.event.match_bits, next.dropped))
    }

    #[test]
    fn what_is_held_back_is_read_once_it_is_published() {
        let mut queue = EventQueue::new(4, true);
        queue.post(event(1));
        queue.post(event(2));
        assert!(queue.is_writing() && !queue.is_empty() && get(&mut queue).is_none());
        queue.publish();
        queue.post(event(3));
        assert_eq!(get(&mut queue), Some((1, false)));
        assert_eq!(get(&mut queue), Some((2, false)));
        assert!(queue.is_writing() && get(&mut queue).is_none());
        queue.publish();
        assert_eq!(get(&mut queue), Some((3, false)));
        assert!(!queue.is_writing() && queue.is_empty());
    }

    #[test]
    fn events_that_nobody_has_read_are_overwritten_though_held_back() {
        let mut queue = EventQueue::new(2, true);
        queue.post(event(1));
        queue.publish();
        (2..5).for_each(|mark| assert_eq!(queue.post(event(mark)), 0));
        assert!(get(&mut queue).is_none());
        queue.publish();
        assert_eq!(get(&mut queue), Some((3, true)));
        assert_eq!(get(&mut queue), Some((4, false)));
    }

    #[test]
    fn a_queue_that_grows_loses_nothing_and_says_by_how_much_it_grew() {
        let mut queue = EventQueue::new(2, false).growing(3);
        queue.refuses = true;
        let grown: Vec<u32> = (1..=6).map(|mark| queue.post(event(mark))).collect();
        assert_eq!(grown, [0, 0, 3, 0, 0, 3]);
        assert_eq!(queue.fill(), (8, 6));
        assert!(!queue.is_crowded());
        let read: Vec<_> = std::iter::from_fn(|| get(&mut queue)).collect();
        assert_eq!(read, (1..=6).map(|mark| (mark, false)).collect::<Vec<_>>());
    }
}
