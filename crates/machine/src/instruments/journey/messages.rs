//! The messages of a run as the report tells of them.

use super::flight::{name_of, Kind, Protocol};
use super::histogram::Spread;
use super::sample::Story;
use super::tally::{Class, Tally};
use super::{Place, Unfinished};
use serde::Serialize;
use std::borrow::Cow;

/// All messages that the program has sent since the launch.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Messages {
    /// Those that came to their end.
    pub ended: u64,
    /// Those that did not.
    pub unfinished: Unfinished,
    /// The slowest ones of all, the slowest first.
    pub slowest: Vec<Slow>,
    /// The message that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub followed: Option<Slow>,
}

/// A stretch of a message's way.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Segment {
    /// Where the time went; of a message with several legs with the leg in front: `fetch: `, `data: `,
    /// `reply: `.
    pub name: Cow<'static, str>,
    /// Who was at work.
    pub place: Place,
    /// How long, in nanoseconds.
    pub ns: f64,
}

/// A stretch of the way of all messages of a class.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    /// As that of a segment.
    pub name: Cow<'static, str>,
    /// Who was at work.
    pub place: Place,
    /// Messages that passed it.
    pub messages: u64,
    /// Their time there, in picoseconds: those of all steps add up to that of the class.
    pub sum_ps: u64,
    /// The shortest, in nanoseconds.
    pub least_ns: f64,
    /// Half of them took no longer, to 1/16.
    pub p50_ns: f64,
    /// 99 of a hundred took no longer, to 1/16.
    pub p99_ns: f64,
    /// The longest.
    pub most_ns: f64,
}

/// The messages of one class: of one kind, one protocol, and about one size.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Breakdown {
    /// What they are to the program.
    pub kind: Kind,
    /// How they travel.
    pub protocol: Protocol,
    /// Payload bytes of the message whose segments are told.
    pub bytes: u64,
    /// Payload bytes of the shortest and the longest: sizes up to a power of two are one class.
    pub bytes_least: u64,
    /// See there.
    pub bytes_most: u64,
    /// Payload of all of them.
    pub bytes_sum: u64,
    /// How many came to their end: all of the run.
    pub messages: u64,
    /// From the sender's call to the receiver's return, in nanoseconds: the median.
    pub total_ns: f64,
    /// Messages of which that is the median: all, or a sample of them by chance.
    pub median_of: u64,
    /// The shortest of all, in nanoseconds.
    pub least_ns: f64,
    /// 90 of a hundred took no longer, to 1/16.
    pub p90_ns: f64,
    /// 99 of a hundred took no longer, to 1/16.
    pub p99_ns: f64,
    /// The longest of all, in nanoseconds.
    pub most_ns: f64,
    /// Time of all of them together, in picoseconds.
    pub sum_ps: u64,
    /// Entries of match lists that were looked at for them.
    pub entries: u64,
    /// The most for one of them.
    pub entries_most: u32,
    /// The stretches of the median message in order; they add up to its total.
    pub segments: Vec<Segment>,
    /// The stretches of all of them in order.
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
    /// What it is to the program.
    pub kind: Kind,
    /// How it travelled.
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
    /// When it began, in nanoseconds after the launch.
    pub start_ns: f64,
    /// From the sender's call to the receiver's return, in nanoseconds.
    pub total_ns: f64,
    /// Entries of match lists that were looked at for it.
    pub entries: u32,
    /// Its stretches, which add up to its total.
    pub segments: Vec<Segment>,
}

/// Slow messages that are told of.
const SLOW_MAX: usize = 32;
/// Slow messages that are told of each class.
const KEPT_MAX: usize = 10;

fn ns(ps: u64) -> f64 {
    des::Duration(ps).as_ns()
}

/// What is more than a number of the report holds is told as its most.
fn most(number: u128) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

fn segments(story: &Story) -> Vec<Segment> {
    let segment = |(slot, time): &(u8, des::Duration)| {
        let (name, place) = name_of(usize::from(*slot), (story.way, story.protocol));
        Segment { name, place, ns: time.as_ns() }
    };
    story.steps.iter().map(segment).collect()
}

fn step(slot: usize, class: &Class, spread: &Spread) -> Step {
    let (name, place) = name_of(slot, (class.way, class.protocol));
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
    /// Of all that was counted; with the classes, the program's own messages first, and the short ones of
    /// these.
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
