//! The event queue of one logical process.

use crate::Time;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Order of events: time, then who caused it, then the causer's sequence. None of them depends on how the
/// simulation is cut into windows or threads.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    at: Time,
    source: u32,
    sequence: u64,
}

struct Entry<E> {
    key: Key,
    event: E,
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}
impl<E> Eq for Entry<E> {}
impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl<E> Ord for Entry<E> {
    // Reversed: BinaryHeap keeps the greatest on top, we want the earliest.
    fn cmp(&self, other: &Self) -> Ordering {
        other.key.cmp(&self.key)
    }
}

/// Events ordered by (time, source, sequence of the source).
pub struct EventQueue<E> {
    heap: BinaryHeap<Entry<E>>,
    owner: u32,
    sequence: u64,
}

impl<E> EventQueue<E> {
    /// An empty queue of logical process `owner`.
    pub fn new(owner: u32) -> Self {
        EventQueue { heap: BinaryHeap::new(), owner, sequence: 0 }
    }
    /// Schedules an event of the owner at `at`; those of the same time leave in order of scheduling.
    pub fn schedule(&mut self, at: Time, event: E) {
        self.sequence += 1;
        let key = Key { at, source: self.owner, sequence: self.sequence };
        self.heap.push(Entry { key, event });
    }
    /// Schedules what logical process `source` sent as its message number `sequence`.
    pub fn schedule_from(&mut self, at: Time, source: u32, sequence: u64, event: E) {
        self.heap.push(Entry { key: Key { at, source, sequence }, event });
    }
    /// When the next event is due; `Time::NEVER` if there is none.
    pub fn next_time(&self) -> Time {
        self.heap.peek().map_or(Time::NEVER, |entry| entry.key.at)
    }
    /// Removes the next event if it is due before `horizon`.
    pub fn pop_before(&mut self, horizon: Time) -> Option<(Time, E)> {
        if self.next_time() >= horizon {
            return None;
        }
        self.heap.pop().map(|entry| (entry.key.at, entry.event))
    }
    /// Events waiting.
    pub fn len(&self) -> usize {
        self.heap.len()
    }
    /// True if no event waits.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_leave_by_source_then_sequence() {
        let mut queue = EventQueue::new(3);
        queue.schedule(Time(5), 'c');
        queue.schedule_from(Time(5), 9, 1, 'e');
        queue.schedule_from(Time(5), 1, 8, 'b');
        queue.schedule(Time(1), 'a');
        queue.schedule(Time(5), 'd');
        let order: String =
            std::iter::from_fn(|| queue.pop_before(Time::NEVER)).map(|e| e.1).collect();
        assert_eq!(order, "abcde");
    }

    #[test]
    fn nothing_leaves_at_or_after_the_horizon() {
        let mut queue = EventQueue::new(0);
        queue.schedule(Time(7), ());
        assert!(queue.pop_before(Time(7)).is_none());
        assert!(queue.pop_before(Time(8)).is_some());
    }
}
