//! The event queue of one logical process.

use crate::{Duration, Time};

/// Event with its time, and its place among events of the same time.
#[derive(Clone)]
struct Entry<E> {
    at: Time,
    /// Process that caused it, then the sequence number of that process: neither depends on how the
    /// simulation is cut into windows or threads.
    cause: u64,
    event: E,
}

/// Bits of a sequence number; the process that counts is above them.
const SEQUENCE_BITS: u32 = 44;

impl<E> Entry<E> {
    /// Its key as one number.
    #[inline(always)]
    fn key(&self) -> u128 {
        Key::of(self).number()
    }
    fn source(&self) -> u32 {
        (self.cause >> SEQUENCE_BITS) as u32
    }
}

/// Place of an event in the order of all: its time, then its cause ([`Entry`]).
#[derive(Clone, Copy)]
struct Key {
    at: Time,
    cause: u64,
}

impl Key {
    /// The greatest.
    const LAST: Key = Key { at: Time::NEVER, cause: u64::MAX };

    #[inline(always)]
    fn of<E>(entry: &Entry<E>) -> Key {
        Key { at: entry.at, cause: entry.cause }
    }
    /// The same as one number, which takes no branches to compare.
    #[inline(always)]
    fn number(self) -> u128 {
        u128::from(self.at.0) << u64::BITS | u128::from(self.cause)
    }
}

/// A place among the events of the same time.
#[derive(Clone, Copy, Debug)]
pub struct TieBreak(u64);

/// Second part of a key.
fn cause(source: u32, sequence: u64) -> u64 {
    debug_assert!(sequence >> SEQUENCE_BITS == 0, "a sequence has its bits");
    u64::from(source) << SEQUENCE_BITS | sequence
}

/// Events ordered by (time, source, sequence of the source).
///
/// A sorted array: a process has some ten events waiting, and a new one makes two of them move on average.
/// Those that have left leave room at the front, so that those make way for a new one that are nearer to
/// their end. Events ought to be small, and cheap to copy. (A binary heap took three times as long; to search
/// by halves and move entries at once, half as long again.)
pub struct EventQueue<E> {
    /// Key of the next event, which is read more often than it changes; the greatest key if there is none.
    next: Key,
    /// Entries in ascending order; those before `first` have left.
    entries: Vec<Entry<E>>,
    first: usize,
    owner: u32,
    sequence: u64,
}

impl<E: Clone> EventQueue<E> {
    /// An empty queue of logical process `owner`.
    pub fn new(owner: u32) -> Self {
        assert!(owner >> (u64::BITS - SEQUENCE_BITS) == 0, "a process's number has its bits");
        EventQueue { next: Key::LAST, entries: Vec::new(), first: 0, owner, sequence: 0 }
    }
    /// Schedules an event of the owner at `at`; those of the same time leave in order of scheduling.
    #[inline(always)]
    pub fn schedule(&mut self, at: Time, event: E) {
        self.sequence += 1;
        self.enter(Entry { at, cause: cause(self.owner, self.sequence), event });
    }
    /// Schedules message number `sequence` of logical process `source`.
    #[inline(always)]
    pub fn schedule_from(&mut self, at: Time, source: u32, sequence: u64, event: E) {
        self.enter(Entry { at, cause: cause(source, sequence), event });
    }
    /// Place, among events of the same time, of an event that the owner now schedules in another of its
    /// queues ([`EventQueue::schedule_at`]): events of both have one order, that of their
    /// [`EventQueue::key`]s.
    #[inline(always)]
    pub fn place(&mut self) -> TieBreak {
        self.sequence += 1;
        TieBreak(cause(self.owner, self.sequence))
    }
    /// Schedules an event whose place another queue of the owner has given.
    #[inline(always)]
    pub fn schedule_at(&mut self, at: Time, place: TieBreak, event: E) {
        self.enter(Entry { at, cause: place.0, event });
    }
    /// Key of the next event in the order of all; the greatest key if there is none.
    #[inline(always)]
    pub fn key(&self) -> u128 {
        self.next.number()
    }
    /// Puts an event into its place.
    #[inline(always)]
    fn enter(&mut self, entry: Entry<E>) {
        if entry.key() < self.next.number() && self.first > 0 {
            self.next = Key::of(&entry);
            self.first -= 1;
            self.entries[self.first] = entry;
            return;
        }
        self.enter_behind(entry);
    }
    /// Puts an event into its place, which is mostly behind the next one.
    #[inline(never)]
    fn enter_behind(&mut self, entry: Entry<E>) {
        let key = entry.key();
        let waiting = &mut self.entries[self.first..];
        let ahead = waiting.len() / 2;
        if self.first > 0 && waiting.get(ahead).is_some_and(|other| key < other.key()) {
            self.first -= 1;
            let waiting = &mut self.entries[self.first..];
            let mut place = 0;
            while waiting.get(place + 1).is_some_and(|next| next.key() < key) {
                waiting[place] = waiting[place + 1].clone();
                place += 1;
            }
            waiting[place] = entry;
            return;
        }
        if key < self.next.number() {
            self.next = Key::of(&entry);
        }
        if self.entries.len() == self.entries.capacity() {
            self.make_room();
        }
        self.entries.push(entry.clone());
        let waiting = &mut self.entries[self.first..];
        let mut place = waiting.len() - 1;
        while place > 0 && key < waiting[place - 1].key() {
            waiting[place] = waiting[place - 1].clone();
            place -= 1;
        }
        waiting[place] = entry;
    }
    /// Makes room at the end of the array: its entries move to the front if much is free there, else it
    /// grows.
    #[cold]
    fn make_room(&mut self) {
        if self.first > self.entries.len() / 2 {
            self.entries.drain(..self.first);
            self.first = 0;
        } else {
            self.entries.reserve(self.entries.len().max(LEAST));
        }
    }
    /// Time of the next event; `Time::NEVER` if there is none.
    #[inline]
    pub fn next_time(&self) -> Time {
        self.next.at
    }
    /// The next event.
    #[inline]
    pub fn peek(&self) -> Option<(Time, &E)> {
        self.entries.get(self.first).map(|entry| (entry.at, &entry.event))
    }
    /// Removes the next event if it is due before `horizon`.
    #[inline(always)]
    pub fn pop_before(&mut self, horizon: Time) -> Option<(Time, E)> {
        if self.next.at >= horizon {
            return None;
        }
        let Entry { at, event, .. } = self.entries.get(self.first)?.clone();
        self.remove_next();
        Some((at, event))
    }
    /// Removes the next event.
    #[inline(always)]
    pub fn remove_next(&mut self) {
        self.first += 1;
        if let Some(next) = self.entries.get(self.first) {
            self.next = Key::of(next);
            return;
        }
        self.entries.clear();
        self.first = 0;
        self.next = Key::LAST;
    }
    /// All events in order: time, process that caused them, and event.
    pub fn iter(&self) -> impl Iterator<Item = (Time, u32, &E)> {
        self.entries[self.first..].iter().map(|entry| (entry.at, entry.source(), &entry.event))
    }
    /// All events with their keys ([`EventQueue::key`]), times, and the processes that caused them.
    pub fn keyed(&self) -> impl Iterator<Item = (u128, Time, u32, &E)> {
        let entries = self.entries[self.first..].iter();
        entries.map(|entry| (entry.key(), entry.at, entry.source(), &entry.event))
    }
    /// Postpones the events that `moves` names by `span`, as if the owner had scheduled its own ones among
    /// them last of all.
    pub fn shift(&mut self, span: Duration, moves: impl Fn(&E) -> bool) {
        self.shift_both(span, moves, &mut EventQueue::<()>::new(self.owner), |()| false);
    }
    /// Postpones the events that `moves` names, and those of `other` that `others` names, by `span`, as if
    /// the owner of both had scheduled its own ones among them last of all.
    pub fn shift_both<F: Clone>(
        &mut self,
        span: Duration,
        moves: impl Fn(&E) -> bool,
        other: &mut EventQueue<F>,
        others: impl Fn(&F) -> bool,
    ) {
        let EventQueue { entries, first, sequence, owner, .. } = self;
        let mut own = entries[*first..].iter_mut().filter(|e| moves(&e.event)).peekable();
        let theirs = other.entries[other.first..].iter_mut().filter(|e| others(&e.event));
        let mut theirs = theirs.peekable();
        loop {
            let keys = (own.peek().map(|e| e.key()), theirs.peek().map(|e| e.key()));
            let (at, cause) = match keys {
                (None, None) => break,
                (Some(key), other) if other.is_none_or(|other| key < other) => {
                    own.next().map(|e| (&mut e.at, &mut e.cause)).expect("it was looked at")
                }
                _ => theirs.next().map(|e| (&mut e.at, &mut e.cause)).expect("it was looked at"),
            };
            *at += span;
            if (*cause >> SEQUENCE_BITS) as u32 == *owner {
                *sequence += 1;
                *cause = self::cause(*owner, *sequence);
            }
        }
        self.sort();
        other.sort();
    }
    fn sort(&mut self) {
        self.entries[self.first..].sort_unstable_by_key(Entry::key);
        self.next = self.entries.get(self.first).map_or(Key::LAST, Key::of);
    }
    /// Events waiting.
    pub fn len(&self) -> usize {
        self.entries.len() - self.first
    }
    /// True if no event waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Least capacity of an array, once it has any.
const LEAST: usize = 64;

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
    fn any_order_of_scheduling_leaves_sorted() {
        let mut random = crate::Random::new(3);
        let mut queue = EventQueue::new(7);
        let (mut now, mut left, mut in_queue) = ((0, 0, 0), 0, 0);
        for sequence in 0..20_000_u64 {
            // Bursts and lulls: from none to some hundreds wait.
            let at = now.0 + 1 + random.below(if sequence % 3 == 0 { 4000 } else { 40 });
            let source = random.below(5) as u32;
            queue.schedule_from(Time(at), source, sequence, (at, source, sequence));
            in_queue += 1;
            while random.below(if sequence / 1000 % 2 == 0 { 4 } else { 2 }) == 0 {
                let Some((time, event)) = queue.pop_before(Time::NEVER) else { break };
                assert!(event > now && time == Time(event.0), "{event:?} after {now:?}");
                now = event;
                left += 1;
            }
            assert_eq!(queue.len(), in_queue - left);
        }
        assert!(left > 10_000);
    }

    #[test]
    fn events_that_are_put_off_keep_their_order_and_come_after_those_that_stay() {
        let mut queue = EventQueue::new(3);
        for (at, event) in [(1, 'x'), (5, 'c'), (6, 'i'), (11, 'b'), (30, 'f')] {
            queue.schedule(Time(at), event);
        }
        queue.schedule_from(Time(5), 9, 1, 'd');
        queue.schedule_from(Time(9), 1, 1, 'a');
        assert_eq!(queue.pop_before(Time(5)), Some((Time(1), 'x')));
        let mut other = EventQueue::new(3);
        other.schedule_at(Time(5), queue.place(), 'h');
        queue.schedule(Time(5), 'e');
        let moves = |event: &char| "cdeh".contains(*event);
        queue.shift_both(Duration(6), moves, &mut other, moves);
        queue.schedule(Time(12), 'g');
        let next = || match other.key() < queue.key() {
            true => other.pop_before(Time::NEVER),
            false => queue.pop_before(Time::NEVER),
        };
        let left: Vec<_> = std::iter::from_fn(next).map(|(at, event)| (at.0, event)).collect();
        let expected =
            [(6, 'i'), (9, 'a'), (11, 'b'), (11, 'c'), (11, 'h'), (11, 'e'), (11, 'd'), (12, 'g')];
        assert_eq!(left[..8], expected);
        assert_eq!(left[8..], [(30, 'f')]);
    }

    #[test]
    fn nothing_leaves_at_or_after_the_horizon() {
        let mut queue = EventQueue::new(0);
        queue.schedule(Time(7), ());
        assert!(queue.pop_before(Time(7)).is_none());
        assert!(queue.pop_before(Time(8)).is_some());
    }
}
