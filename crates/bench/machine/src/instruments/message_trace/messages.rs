//! The messages of a run, as reported.

use super::flight::{name_of, MessageKind, Protocol};
use super::histogram::Spread;
use super::sample::Story;
use super::tally::{Class, Tally};
use super::{Layer, Unfinished};
use serde::Serialize;
use std::borrow::Cow;

/// All messages that the program has sent since the launch.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Messages {
    /// Number of messages that came to their end.
    pub ended: u64,
    /// Numbers of messages that did not.
    pub unfinished: Unfinished,
    /// The slowest ones of all, the slowest first.
    pub slowest: Vec<Slow>,
    /// Message that the user asked for, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub followed: Option<Slow>,
}

/// A step of a message's way.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Segment {
    /// Name of the step; of a message with several legs with the leg in front: `fetch: `, `data: `,
    /// `reply: `.
    pub name: Cow<'static, str>,
    /// Part of the machine that worked.
    pub place: Layer,
    /// Duration, in nanoseconds.
    pub ns: f64,
}

/// A step of the way of all messages of a class.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    /// Name, as of a segment.
    pub name: Cow<'static, str>,
    /// Part of the machine that worked.
    pub place: Layer,
    /// Messages that passed it.
    pub messages: u64,
    /// Their time there, in picoseconds: those of all steps add up to that of the class.
    pub sum_ps: u64,
    /// The shortest, in nanoseconds.
    pub least_ns: f64,
    /// Median, in nanoseconds: half of them took no longer; too high by 1/16 at most, never too low.
    pub p50_ns: f64,
    /// 99th percentile, in nanoseconds, likewise.
    pub p99_ns: f64,
    /// The longest.
    pub most_ns: f64,
}

/// The messages of one class: of one kind, one protocol, and about one size.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Breakdown {
    /// Kind of the messages, as the program sees them.
    pub kind: MessageKind,
    /// Way in which they travel.
    pub protocol: Protocol,
    /// Payload bytes of the message of `segments`.
    pub bytes: u64,
    /// Payload bytes of the shortest and the longest: sizes up to a power of two are one class.
    pub bytes_least: u64,
    /// As above.
    pub bytes_most: u64,
    /// Payload of all of them.
    pub bytes_sum: u64,
    /// Number of messages that came to their end: all of the run.
    pub messages: u64,
    /// From the sender's call to the receiver's return, in nanoseconds: the median.
    pub total_ns: f64,
    /// Number of messages of which that is the median: all, or a random sample.
    pub median_of: u64,
    /// The shortest of all, in nanoseconds.
    pub least_ns: f64,
    /// Median of all, in nanoseconds: half of them took no longer; too high by 1/16 at most, never too low.
    pub p50_ns: f64,
    /// 90th percentile, in nanoseconds, likewise.
    pub p90_ns: f64,
    /// 99th percentile, in nanoseconds, likewise.
    pub p99_ns: f64,
    /// The longest of all, in nanoseconds.
    pub most_ns: f64,
    /// Time of all of them together, in picoseconds.
    pub sum_ps: u64,
    /// Entries of match lists that were compared with them.
    pub entries: u64,
    /// The most for one of them.
    pub entries_most: u32,
    /// The steps of the median message in order; they add up to its total.
    pub segments: Vec<Segment>,
    /// The steps of all of them in order.
    pub steps: Vec<Step>,
    /// Messages of the class with their whole story: the slowest, the slowest first, and last the median one.
    /// The JSON has the slowest of all classes alone.
    #[serde(skip)]
    pub kept: Vec<Slow>,
}

/// A slow message.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Slow {
    /// Its name: the node that sent it and its number there.
    pub message: String,
    /// Kind of the message, as the program sees it.
    pub kind: MessageKind,
    /// Way in which it travelled.
    pub protocol: Protocol,
    /// Its payload.
    pub bytes: u64,
    /// Rank that sent it, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<u32>,
    /// Rank that received it, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<u32>,
    /// Function in which it began; empty outside of calls.
    pub sent_in: &'static str,
    /// Function in which the receiver took it; empty if no call did.
    pub received_in: &'static str,
    /// Time at which it began, in nanoseconds after the launch.
    pub start_ns: f64,
    /// From the sender's call to the receiver's return, in nanoseconds.
    pub total_ns: f64,
    /// Entries of match lists that were compared with it.
    pub entries: u32,
    /// Its steps, which add up to its total.
    pub segments: Vec<Segment>,
}

/// Number of slow messages in the report.
const SLOW_MAX: usize = 32;
/// Number of slow messages of each class in the report.
const KEPT_MAX: usize = 10;

fn ns(ps: u64) -> f64 {
    des::Duration(ps).as_ns()
}

/// Saturates: a number above the greatest that the report holds becomes that one.
fn most(number: u128) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

fn segments(story: &Story) -> Vec<Segment> {
    let segment = |(slot, time): &(u8, des::Duration)| {
        let (name, place) = name_of(usize::from(*slot), story.message_path, story.protocol);
        Segment { name, place, ns: time.as_ns() }
    };
    story.steps.iter().map(segment).collect()
}

fn step(slot: usize, class: &Class, spread: &Spread) -> Step {
    let (name, place) = name_of(slot, class.message_path, class.protocol);
    Step {
        name,
        place,
        messages: spread.count,
        sum_ps: most(spread.sum),
        least_ns: ns(spread.least),
        p50_ns: ns(spread.percentile(50)),
        p99_ns: ns(spread.percentile(99)),
        most_ns: ns(spread.most),
    }
}

fn breakdown(class: &Class, launch: des::Time) -> Breakdown {
    let (median, of) = class.samples.median().expect("a class has messages");
    let steps = class.steps.iter().enumerate();
    let steps = steps.filter_map(|(slot, spread)| Some((slot, spread.as_ref()?)));
    let mut kept = class.samples.slowest();
    kept.truncate(KEPT_MAX);
    kept.retain(|story| story.id != median.id);
    kept.push(median.clone());
    Breakdown {
        kind: class.kind,
        protocol: class.protocol,
        bytes: median.bytes,
        bytes_least: class.bytes_least,
        bytes_most: class.bytes_most,
        bytes_sum: most(class.bytes),
        messages: class.messages,
        total_ns: median.total.as_ns(),
        median_of: of as u64,
        least_ns: ns(class.total.least),
        p50_ns: ns(class.total.percentile(50)),
        p90_ns: ns(class.total.percentile(90)),
        p99_ns: ns(class.total.percentile(99)),
        most_ns: ns(class.total.most),
        sum_ps: most(class.total.sum),
        entries: class.entries,
        entries_most: class.entries_most,
        segments: segments(&median),
        steps: steps.map(|(slot, spread)| step(slot, class, spread)).collect(),
        kept: kept.iter().map(|story| slow(story, launch)).collect(),
    }
}

fn slow(story: &Story, launch: des::Time) -> Slow {
    Slow {
        message: story.id.to_string(),
        kind: story.kind,
        protocol: story.protocol,
        bytes: story.bytes,
        from: story.from,
        to: story.to,
        sent_in: story.sent_in,
        received_in: story.received_in,
        start_ns: story.start.since(launch).as_ns(),
        total_ns: story.total.as_ns(),
        entries: story.entries,
        segments: segments(story),
    }
}

impl Messages {
    /// Messages of a tally, and their classes: the program's own messages first, short ones before long ones.
    pub(crate) fn of(
        tally: Tally,
        unfinished: Unfinished,
        launch: des::Time,
    ) -> (Messages, Vec<Breakdown>) {
        let followed = tally.followed.as_ref().map(|story| slow(story, launch));
        let classes = tally.classes();
        let mut slowest: Vec<_> =
            classes.iter().flat_map(|class| class.samples.slowest()).collect();
        slowest.sort_by_key(|story| (std::cmp::Reverse(story.total), story.id));
        slowest.truncate(SLOW_MAX);
        let messages = Messages {
            ended: classes.iter().map(|class| class.messages).sum(),
            unfinished,
            slowest: slowest.iter().map(|story| slow(story, launch)).collect(),
            followed,
        };
        (messages, classes.iter().map(|class| breakdown(class, launch)).collect())
    }
}
