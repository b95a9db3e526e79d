//! Messages whose whole story is kept: of each class the first ones, the slowest, and a random sample. The
//! choice depends on the messages alone, not on the order in which their ends are reported.

use super::flight::{Flight, MessageKind, Protocol};
use super::MessagePath;
use abi::MessageId;
use des::{Duration, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// Messages of a class that are kept.
const FIRST: usize = 8;
const SLOWEST: usize = 32;
const CHANCE: usize = 256;

/// The story of a message.
#[derive(Clone, Debug)]
pub(crate) struct Story {
    pub id: MessageId,
    pub kind: MessageKind,
    pub protocol: Protocol,
    pub bytes: u64,
    pub from: Option<u32>,
    pub to: Option<u32>,
    pub sent_in: &'static str,
    pub received_in: &'static str,
    pub start: Time,
    pub total: Duration,
    pub entries: u32,
    pub message_path: &'static MessagePath,
    /// Its slots, and the time in each.
    pub steps: Box<[(u8, Duration)]>,
}

impl Story {
    pub fn of(flight: &Flight, total: Duration) -> Arc<Story> {
        let mut steps = Vec::with_capacity(flight.message_path.steps.len());
        flight.steps(|slot, time| steps.push((slot as u8, time)));
        Arc::new(Story {
            id: flight.first,
            kind: flight.kind,
            protocol: flight.protocol,
            bytes: flight.bytes,
            from: flight.from,
            to: flight.to,
            sent_in: flight.sent_in,
            received_in: flight.received_in,
            start: flight.start(),
            total,
            entries: flight.entries,
            message_path: flight.message_path,
            steps: steps.into(),
        })
    }
}

/// The stories with the least keys.
#[derive(Clone, Debug)]
struct Least<K> {
    room: usize,
    kept: BinaryHeap<(K, ById)>,
}

/// Story, compared by its id.
#[derive(Clone, Debug)]
struct ById(Arc<Story>);

impl PartialEq for ById {
    fn eq(&self, other: &ById) -> bool {
        self.0.id == other.0.id
    }
}
impl Eq for ById {}
impl PartialOrd for ById {
    fn partial_cmp(&self, other: &ById) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for ById {
    fn cmp(&self, other: &ById) -> std::cmp::Ordering {
        self.0.id.cmp(&other.0.id)
    }
}

impl<K: Ord + Copy> Least<K> {
    fn new(room: usize) -> Least<K> {
        Least { room, kept: BinaryHeap::with_capacity(room + 1) }
    }
    /// Tells whether one with this key may be kept.
    fn wants(&self, key: K) -> bool {
        self.kept.len() < self.room || self.kept.peek().is_some_and(|(most, _)| key <= *most)
    }
    fn keep(&mut self, key: K, story: &Arc<Story>) {
        self.kept.push((key, ById(story.clone())));
        if self.kept.len() > self.room {
            self.kept.pop();
        }
    }
    fn merge(&mut self, other: &Least<K>) {
        other.kept.iter().for_each(|(key, story)| self.keep(*key, &story.0));
    }
}

/// Samples of the messages of a class.
#[derive(Clone, Debug)]
pub(crate) struct Samples {
    seed: u64,
    first: Least<Time>,
    slowest: Least<Reverse<Duration>>,
    chance: Least<u64>,
}

impl Samples {
    pub fn new(seed: u64) -> Samples {
        let (first, slowest) = (Least::new(FIRST), Least::new(SLOWEST));
        Samples { seed, first, slowest, chance: Least::new(CHANCE) }
    }

    /// A message's way has ended.
    pub fn offer(&mut self, flight: &Flight, total: Duration) {
        let keys = (flight.start(), Reverse(total), chance(self.seed, flight.first));
        let wanted =
            (self.first.wants(keys.0), self.slowest.wants(keys.1), self.chance.wants(keys.2));
        if wanted == (false, false, false) {
            return;
        }
        let story = Story::of(flight, total);
        if wanted.0 {
            self.first.keep(keys.0, &story);
        }
        if wanted.1 {
            self.slowest.keep(keys.1, &story);
        }
        if wanted.2 {
            self.chance.keep(keys.2, &story);
        }
    }

    pub fn merge(&mut self, other: &Samples) {
        self.first.merge(&other.first);
        self.slowest.merge(&other.slowest);
        self.chance.merge(&other.chance);
    }

    /// Message whose time is the median of the sample, and the size of the sample: all messages, if they are
    /// few.
    pub fn median(&self) -> Option<(Arc<Story>, usize)> {
        let mut all: Vec<_> = self.chance.kept.iter().map(|(_, story)| story.0.clone()).collect();
        // Among messages that took equally long, the first ones come first.
        all.sort_unstable_by_key(|story| (story.total, story.id));
        Some((all.get(all.len() / 2)?.clone(), all.len()))
    }

    /// The slowest, the slowest first.
    pub fn slowest(&self) -> Vec<Arc<Story>> {
        let mut all: Vec<_> = self.slowest.kept.iter().map(|(_, story)| story.0.clone()).collect();
        all.sort_unstable_by_key(|story| (Reverse(story.total), story.id));
        all
    }
}

/// Random number of a message: a splitmix64 of seed and id.
fn chance(seed: u64, id: MessageId) -> u64 {
    let mut x = seed ^ u64::from(id.source_nid) << 32 ^ u64::from(id.serial);
    for factor in [0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb] {
        x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
        x = (x ^ (x >> 30)).wrapping_mul(factor);
    }
    x ^ (x >> 31)
}
