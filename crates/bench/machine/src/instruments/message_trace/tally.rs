//! Sums over the messages of a run, by class, in memory that does not grow with their number.

use super::flight::{Flight, MessageKind, Protocol};
use super::histogram::Spread;
use super::message_path::NONE;
use super::sample::{Samples, Story};
use super::{MessagePath, SLOTS};
use crate::instruments::account::Meetings;
use crate::instruments::progress::Progress;
use crate::instruments::tables::Tables;
use abi::MessageId;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Classes between a power of two and the next; up to 9 bytes each size is a class.
const PARTS: usize = 4;
const SIZES: usize = 1 + 63 * PARTS;
const CLASSES: usize = MessageKind::ALL.len() * Protocol::ALL.len() * SIZES;

/// Messages of one kind that travel in one way and are about as long.
#[derive(Clone, Debug)]
pub(crate) struct Class {
    pub kind: MessageKind,
    pub protocol: Protocol,
    pub messages: u64,
    pub bytes: u128,
    pub bytes_least: u64,
    pub bytes_most: u64,
    /// From start to end.
    pub total: Spread,
    /// Times by slot, for slots that any of them passed.
    pub steps: Vec<Option<Spread>>,
    /// Entries of match lists that were compared with them.
    pub entries: u64,
    pub entries_most: u32,
    pub samples: Samples,
    /// The steps of their model.
    pub message_path: &'static MessagePath,
}

/// Counts of some of the nodes.
#[derive(Debug)]
pub(crate) struct Tally {
    seed: u64,
    /// Message whose story is asked for, and the story.
    follow: Option<MessageId>,
    pub followed: Option<Arc<Story>>,
    progress: Arc<Progress>,
    /// Index of each class in `classes`, plus one.
    places: Box<[u16]>,
    classes: Vec<Class>,
}

/// Class of a size. A class ends at a power of two or a quarter of the way to the next.
fn size_class(bytes: u64) -> usize {
    let Some(less) = bytes.checked_sub(1) else { return 0 };
    let shift = (u64::BITS - less.leading_zeros()).saturating_sub(PARTS.ilog2() + 1);
    1 + shift as usize * PARTS + (less >> shift) as usize
}

fn place_of(kind: MessageKind, protocol: Protocol, bytes: u64) -> usize {
    (kind as usize * Protocol::ALL.len() + protocol as usize) * SIZES + size_class(bytes)
}

impl Tally {
    pub fn new(seed: u64, follow: Option<MessageId>, progress: Arc<Progress>) -> Tally {
        Tally {
            seed,
            follow,
            followed: None,
            progress,
            places: vec![0; CLASSES].into(),
            classes: Vec::new(),
        }
    }

    /// The way of a message has ended.
    pub fn ended(&mut self, flight: &Flight) {
        let class = self.class(flight.kind, flight.protocol, flight.bytes, flight.message_path);
        let total = flight.steps(|slot, time| {
            class.steps[slot].get_or_insert_default().add(time.0);
        });
        class.total.add(total.0);
        class.messages += 1;
        class.bytes += u128::from(flight.bytes);
        class.bytes_least = class.bytes_least.min(flight.bytes);
        class.bytes_most = class.bytes_most.max(flight.bytes);
        class.entries += u64::from(flight.entries);
        class.entries_most = class.entries_most.max(flight.entries);
        class.samples.offer(flight, total);
        self.progress.ended(flight.start() + total);
        if self.follow == Some(flight.first) {
            self.followed = Some(Story::of(flight, total));
        }
    }

    fn class(
        &mut self,
        kind: MessageKind,
        protocol: Protocol,
        bytes: u64,
        message_path: &'static MessagePath,
    ) -> &mut Class {
        let place = &mut self.places[place_of(kind, protocol, bytes)];
        if *place == 0 {
            self.classes.push(Class {
                kind,
                protocol,
                messages: 0,
                bytes: 0,
                bytes_least: u64::MAX,
                bytes_most: 0,
                total: Spread::default(),
                steps: vec![None; SLOTS],
                entries: 0,
                entries_most: 0,
                samples: Samples::new(self.seed),
                message_path,
            });
            *place = self.classes.len() as u16;
        }
        &mut self.classes[usize::from(*place) - 1]
    }

    /// Adds what others have counted.
    pub fn merge(&mut self, other: &Tally) {
        self.followed = self.followed.take().or(other.followed.clone());
        for theirs in &other.classes {
            let class =
                self.class(theirs.kind, theirs.protocol, theirs.bytes_most, theirs.message_path);
            class.messages += theirs.messages;
            class.bytes += theirs.bytes;
            class.bytes_least = class.bytes_least.min(theirs.bytes_least);
            class.bytes_most = class.bytes_most.max(theirs.bytes_most);
            class.entries += theirs.entries;
            class.entries_most = class.entries_most.max(theirs.entries_most);
            class.total.merge(&theirs.total);
            for (own, theirs) in class.steps.iter_mut().zip(&theirs.steps) {
                if let Some(theirs) = theirs {
                    own.get_or_insert_default().merge(theirs);
                }
            }
            class.samples.merge(&theirs.samples);
        }
    }

    /// The classes: the program's own messages first, and short ones before long ones.
    pub fn classes(mut self) -> Vec<Class> {
        self.classes.sort_by_key(|class| (class.kind, class.bytes_least, class.protocol));
        self.classes
    }
}

/// Counts of a run's nodes, with a tally for each worker, so that workers rarely wait for one another. The
/// sum does not depend on the worker that counts a message.
#[derive(Debug)]
pub(crate) struct Tallies {
    parts: Vec<Mutex<Tally>>,
    nodes: u32,
    /// The steps of the model's messages.
    message_path: &'static MessagePath,
    /// Tables that get a row for each message, or each call.
    tables: Option<Arc<Tables>>,
    /// Ranks that came last to collective operations.
    meetings: Arc<Meetings>,
}

impl Tallies {
    pub fn new(
        seed: u64,
        follow: Option<MessageId>,
        progress: &Arc<Progress>,
        workers: usize,
        nodes: u32,
    ) -> Tallies {
        let tally = |_| Mutex::new(Tally::new(seed, follow, progress.clone()));
        let parts = (0..workers.max(1)).map(tally).collect();
        Tallies {
            parts,
            nodes: nodes.max(1),
            message_path: &NONE,
            tables: None,
            meetings: Arc::default(),
        }
    }

    /// Sets the way of the messages, if the model declares one.
    pub fn with_way(self, message_path: Option<&'static MessagePath>) -> Tallies {
        Tallies { message_path: message_path.unwrap_or(&NONE), ..self }
    }
    /// The steps of messages.
    pub fn message_path(&self) -> &'static MessagePath {
        self.message_path
    }
    /// Sets the tables that get rows for messages and calls.
    pub fn with_tables(self, tables: Option<Arc<Tables>>) -> Tallies {
        let rows = tables.as_ref().is_some_and(|tables| tables.has_calls());
        Tallies { tables, meetings: Arc::new(Meetings::new(rows)), ..self }
    }
    /// The collective operations.
    pub fn meetings(&self) -> &Arc<Meetings> {
        &self.meetings
    }
    /// Tables with a row for each message, or each call.
    pub fn tables(&self) -> Option<&Arc<Tables>> {
        self.tables.as_ref()
    }

    /// Tally of a node.
    pub fn of(&self, nid: u32) -> MutexGuard<'_, Tally> {
        let part = nid as usize * self.parts.len() / self.nodes as usize;
        let part = &self.parts[part.min(self.parts.len() - 1)];
        part.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sum of all tallies.
    pub fn sum(&self, seed: u64) -> Tally {
        let mut sum = Tally::new(seed, None, Arc::default());
        for part in &self.parts {
            sum.merge(&part.lock().unwrap_or_else(PoisonError::into_inner));
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_that_benchmarks_use_are_classes_of_their_own() {
        let mut last = 0;
        for bytes in (0..5000).chain((13..64).map(|bits| 1 << bits)).chain([u64::MAX]) {
            let class = size_class(bytes);
            assert!((last..SIZES).contains(&class), "{bytes}");
            assert!(bytes > 9 || class == bytes as usize, "{bytes}");
            last = class;
        }
        for bits in 3..63 {
            let (whole, half) = (1_u64 << bits, 3 << (bits - 1));
            let classes = [whole, whole + 1, half, half + 1, 2 * whole].map(size_class);
            assert!(classes.windows(2).all(|pair| pair[0] < pair[1]), "{bits}: {classes:?}");
        }
        assert_ne!(size_class(13), size_class(16));
    }
}
