//! Differences between the ways of messages: class by class, step by step.

use super::compare::{summed, Named, Pair};
use super::read::{Class, Like, Run};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// The mean way of the messages of a class, all times in picoseconds.
#[derive(Debug, Serialize)]
pub struct MessageTrace {
    /// Properties that these messages share.
    #[serde(flatten)]
    pub like: Like,
    /// Those in the second run, if they travel there in another way.
    pub like_b: Option<Like>,
    /// Number of messages.
    pub messages: Pair,
    /// From the sender's call to the receiver's return.
    pub total: Pair,
    /// The steps, those first that differ most; their differences add up to that of the total.
    pub steps: Vec<Named>,
}

/// Messages that only one of the runs sent.
#[derive(Debug, Serialize)]
pub struct Unlike {
    /// Properties that these messages share.
    #[serde(flatten)]
    pub like: Like,
    /// Number of messages.
    pub messages: Pair,
}

/// The classes that both runs have, step by step, and those that only one has. Messages of a kind and about
/// as long that travel in another way are compared, too.
pub fn journeys(a: &Run, b: &Run) -> (Vec<MessageTrace>, Vec<Unlike>) {
    let (mut a, mut b) = (by_like(a), by_like(b));
    let mut journeys = Vec::new();
    for like in a.keys().copied().collect::<Vec<_>>() {
        let same = b.get_key_value(like).map(|(like, _)| *like);
        if let Some(like_b) = same {
            let pair = a.remove(like).zip(b.remove(like_b));
            journeys.extend(pair.map(|(in_a, in_b)| message_trace(in_a, in_b)));
        }
    }
    for like in a.keys().copied().collect::<Vec<_>>() {
        if let Some(like_b) = nearest(like, b.keys().copied()) {
            let pair = a.remove(like).zip(b.remove(like_b));
            journeys.extend(pair.map(|(in_a, in_b)| message_trace(in_a, in_b)));
        }
    }
    let only = |like: &Like, messages| Unlike { like: like.clone(), messages };
    let mut unlike: Vec<Unlike> =
        a.values().map(|class| only(&class.like, Pair::new(class.messages, 0))).collect();
    unlike.extend(b.values().map(|class| only(&class.like, Pair::new(0, class.messages))));
    unlike.sort_by(|x, y| x.like.cmp(&y.like));
    let weight = |message_trace: &MessageTrace| {
        let messages = u128::from(message_trace.messages.a.max(message_trace.messages.b));
        messages * u128::from(message_trace.total.difference.unsigned_abs())
    };
    journeys.sort_by_key(|message_trace| std::cmp::Reverse(weight(message_trace)));
    (journeys, unlike)
}

/// The classes of a run.
fn by_like(run: &Run) -> BTreeMap<&Like, &Class> {
    run.breakdowns.iter().map(|class| (&class.like, class)).collect()
}

/// Messages of the same kind whose lengths overlap with these: those that share most of their range.
fn nearest<'a>(like: &Like, others: impl Iterator<Item = &'a Like>) -> Option<&'a Like> {
    let shared = |other: &&Like| {
        let least = like.bytes_least.max(other.bytes_least);
        let most = like.bytes_most.min(other.bytes_most);
        (other.kind == like.kind).then(|| most.checked_sub(least)).flatten()
    };
    let all = others.filter_map(|other| Some((shared(&other)?, other)));
    all.max_by_key(|(shared, _)| *shared).map(|(_, other)| other)
}

/// Messages of one class in both runs.
fn message_trace(a: &Class, b: &Class) -> MessageTrace {
    let messages = Pair::new(a.messages, b.messages);
    let like_b = (a.like != b.like).then(|| b.like.clone());
    // In the order of a message's way, for those that differ as much.
    let mut seen = BTreeSet::new();
    let all = a.steps.iter().chain(&b.steps).map(|step| &step.name);
    let names: Vec<&String> = all.filter(|name| seen.insert(*name)).collect();
    let (in_a, in_b) = (means(a), means(b));
    let of = |means: &BTreeMap<String, u64>, name: &str| means.get(name).copied().unwrap_or(0);
    let step = |name: &String| {
        let pair = Pair::new(of(&in_a, name), of(&in_b, name));
        Named { name: name.clone(), pair }
    };
    let mut steps: Vec<Named> = names.into_iter().map(step).collect();
    steps.sort_by_key(|step| std::cmp::Reverse(step.pair.difference.unsigned_abs()));
    let total = |sums: &BTreeMap<String, u64>| sums.values().fold(0, |x, y| y.saturating_add(x));
    let total = Pair::new(total(&in_a), total(&in_b));
    MessageTrace { like: a.like.clone(), like_b, messages, total, steps }
}

/// The mean time of each step. Instants are rounded, not steps, so that steps add up.
fn means(class: &Class) -> BTreeMap<String, u64> {
    let messages = u128::from(class.messages.max(1));
    let (mut until, mut before) = (0_u128, 0_u64);
    summed(class.steps.iter().map(|step| {
        until += u128::from(step.sum_ps);
        let at = u64::try_from((until + messages / 2) / messages).unwrap_or(u64::MAX);
        let mean = at - before;
        before = at;
        (step.name.clone(), mean)
    }))
}
