//! The event queue of one logical process.

use crate::Time;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

struct Entry<E> {
    at: Time,
    sequence: u64,
    event: E,
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
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
        (other.at, other.sequence).cmp(&(self.at, self.sequence))
    }
}

/// Events ordered by time; events of the same time leave in the order in which they were scheduled.
pub struct EventQueue<E> {
    heap: BinaryHeap<Entry<E>>,
    sequence: u64,
}

impl<E> Default for EventQueue<E> {
    fn default() -> Self {
        EventQueue { heap: BinaryHeap::new(), sequence: 0 }
    }
}

impl<E> EventQueue<E> {
    /// An empty queue.
    pub fn new() -> Self {
        Self::default()
    }
    /// Schedules `event` at `at`.
    pub fn schedule(&mut self, at: Time, event: E) {
        self.sequence += 1;
        self.heap.push(Entry { at, sequence: self.sequence, event });
    }
    /// When the next event is due; `Time::NEVER` if there is none.
    pub fn next_time(&self) -> Time {
        self.heap.peek().map_or(Time::NEVER, |entry| entry.at)
    }
    /// Removes the next event if it is due before `horizon`.
    pub fn pop_before(&mut self, horizon: Time) -> Option<(Time, E)> {
        if self.next_time() >= horizon {
            return None;
        }
        self.heap.pop().map(|entry| (entry.at, entry.event))
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
    fn ties_leave_in_order_of_scheduling() {
        let mut queue = EventQueue::new();
        for (at, name) in [(5, 'c'), (1, 'a'), (5, 'd'), (1, 'b')] {
            queue.schedule(Time(at), name);
        }
        let order: String =
            std::iter::from_fn(|| queue.pop_before(Time::NEVER)).map(|e| e.1).collect();
        assert_eq!(order, "abcd");
    }

    #[test]
    fn nothing_leaves_at_or_after_the_horizon() {
        let mut queue = EventQueue::new();
        queue.schedule(Time(7), ());
        assert!(queue.pop_before(Time(7)).is_none());
        assert!(queue.pop_before(Time(8)).is_some());
    }
}
