//! Marks become the breakdown of messages. What MPI's receivers fetch (rendezvous) are three messages on the
//! wire and one of the program: its way has three legs. A long message is one until its receiver fetches it
//! because it was late.
//!
//! ```text
//! marks ─► Journey (of a message on the wire) ─┐
//! ties ──► Ties (which belong together) ───────┴─► Way (of the program's message) ─► Breakdown, Mean
//! ```

use super::{Mark, Place, Tie, Waypoint, STRETCHES};
use abi::MessageId;
use des::{Duration, Time};
use mpi::Rendezvous;
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A stretch of a message's way.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Segment {
    /// Where the time went; of a rendezvous after its announcement, with the leg in front: `fetch: `,
    /// `data: `.
    pub name: Cow<'static, str>,
    /// Who was at work.
    pub place: Place,
    /// How long, in nanoseconds.
    pub ns: f64,
}

/// The breakdown of one message.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Breakdown {
    /// Payload bytes of the message.
    pub bytes: u64,
    /// How many messages of that size were followed from end to end.
    pub messages: usize,
    /// From the sender's call to the receiver's return, in nanoseconds: the median of those messages.
    pub total_ns: f64,
    /// The shortest of them, in nanoseconds.
    pub least_ns: f64,
    /// The longest of them, in nanoseconds.
    pub most_ns: f64,
    /// The stretches in order; they add up to the total.
    pub segments: Vec<Segment>,
    /// The way of the messages of all sizes; only with the smallest size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean: Option<Mean>,
}

/// The mean way of all messages that were followed from end to end.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Mean {
    /// How many.
    pub messages: usize,
    /// From the sender's call to the receiver's return, in nanoseconds, to the picosecond.
    pub total_ns: f64,
    /// The stretches in order; they add up to the total exactly.
    pub segments: Vec<Segment>,
}

struct Journey {
    /// By waypoint; `Time::NEVER` at those where it did not come.
    at: [Time; WAYPOINTS],
    length: Option<u64>,
}

const WAYPOINTS: usize = Waypoint::CallReturned as usize + 1;

impl Journey {
    /// That nobody has begun.
    const NONE: Journey = Journey { at: [Time::NEVER; WAYPOINTS], length: None };

    /// Takes in one of its marks, in the order of the logs.
    fn take(&mut self, mark: &Mark) {
        // The first mark of a kind counts: a later one belongs to a completion, not to the way.
        let at = &mut self.at[mark.waypoint as usize];
        if *at == Time::NEVER {
            *at = mark.at;
        }
        self.length = self.length.or(mark.length);
    }

    /// All its marks have been taken in.
    fn close(&mut self) {
        // What comes in a header needs no command: its stream is closed beside the way.
        if self.at(Waypoint::ReceiveWritten).is_none() {
            let aside = Waypoint::ReceiveWritten as usize..=Waypoint::CompletionDrained as usize;
            self.at[aside].fill(Time::NEVER);
        }
    }

    /// When it came to a waypoint.
    fn at(&self, waypoint: Waypoint) -> Option<Time> {
        Some(self.at[waypoint as usize]).filter(|at| *at < Time::NEVER)
    }

    /// When it began, which every way has.
    fn start(&self) -> Time {
        self.at[Waypoint::CallEntered as usize]
    }
}

/// A message of the program on its way: one leg, or of a rendezvous three (announcement, fetch, data).
struct Way {
    /// Payload of the program's message.
    bytes: u64,
    total: Duration,
    legs: Vec<MessageId>,
}

/// The journeys of all messages on the wire.
struct Journeys(FxHashMap<MessageId, Journey>);

impl Journeys {
    fn of(marks: impl IntoIterator<Item = Mark>) -> Journeys {
        let mut journeys: FxHashMap<MessageId, Journey> = FxHashMap::default();
        for mark in marks {
            journeys.entry(mark.message).or_insert(Journey::NONE).take(&mark);
        }
        journeys.values_mut().for_each(Journey::close);
        Journeys(journeys)
    }

    fn legs(&self, way: &Way) -> Vec<&Journey> {
        way.legs.iter().map(|leg| &self.0[leg]).collect()
    }

    /// The way of a message that began after `from` and came to its end, with the other legs of its
    /// rendezvous; `None` for what is no way of its own.
    fn way(&self, first: MessageId, ties: &Ties, from: Time) -> Option<Way> {
        let journey = self.0.get(&first)?;
        let start = journey.at(Waypoint::CallEntered)?;
        let (bytes, legs, end) = match ties.announced.get(&first) {
            None => (journey.length?, vec![first], journey.at(Waypoint::CallReturned)?),
            Some(Announced { bytes, carried: true, fetch: None, .. }) => {
                (*bytes, vec![first], journey.at(Waypoint::CallReturned)?)
            }
            Some(announced) => {
                let (fetch, data) = (announced.fetch?, announced.data?);
                let end = self.0.get(&data)?.at(Waypoint::CallReturned)?;
                (announced.bytes, vec![first, fetch, data], end)
            }
        };
        (start >= from).then(|| Way { bytes, total: end.since(start), legs })
    }
}

/// Each announcement and long message with the messages that follow it.
struct Ties {
    announced: BTreeMap<MessageId, Announced>,
}

struct Announced {
    bytes: u64,
    /// They came with it, for a receiver that was there.
    carried: bool,
    fetch: Option<MessageId>,
    data: Option<MessageId>,
}

impl Ties {
    fn of(mut ties: Vec<Tie>) -> Ties {
        // A buffer's number is used again only when its bytes have gone.
        ties.sort_by_key(|tie| tie.at);
        let mut announced: BTreeMap<MessageId, Announced> = BTreeMap::new();
        let mut last: BTreeMap<((u16, u16), u32), MessageId> = BTreeMap::new();
        for Tie { message, sender, part, .. } in ties {
            match part {
                Rendezvous::Announces { exposed, bytes }
                | Rendezvous::Carries { exposed, bytes } => {
                    let carried = matches!(part, Rendezvous::Carries { .. });
                    let alone = Announced { bytes, carried, fetch: None, data: None };
                    announced.insert(message, alone);
                    last.insert((sender, exposed), message);
                }
                Rendezvous::Fetches { exposed } | Rendezvous::Brings { exposed } => {
                    let first = last.get(&(sender, exposed));
                    let Some(first) = first.and_then(|first| announced.get_mut(first)) else {
                        continue;
                    };
                    match part {
                        Rendezvous::Fetches { .. } => first.fetch.get_or_insert(message),
                        _ => first.data.get_or_insert(message),
                    };
                }
            }
        }
        Ties { announced }
    }
}

/// Sizes that are broken down at most: the smallest, and those with the most messages.
const SIZES_MAX: usize = 32;

/// Breaks down, for each size, the message whose total is the median of its size; sizes ascend. The messages
/// of start-up (before `from`) are left out. Empty if no message was followed from end to end.
pub fn break_down(
    marks: impl IntoIterator<Item = Mark>,
    ties: Vec<Tie>,
    from: Time,
) -> Vec<Breakdown> {
    let journeys = Journeys::of(marks);
    let ties = Ties::of(ties);
    let messages = journeys.0.keys().copied();
    let mut ways: Vec<Way> =
        messages.filter_map(|message| journeys.way(message, &ties, from)).collect();
    // Among messages that took equally long, the first ones come first.
    ways.sort_unstable_by_key(|way| (way.bytes, way.total, way.legs[0]));
    let mut sums = Sums::new();
    ways.iter().for_each(|way| sums.add(&journeys.legs(way)));
    let mut sizes: Vec<&[Way]> = ways.chunk_by(|a, b| a.bytes == b.bytes).collect();
    if sizes.len() > SIZES_MAX {
        let smallest = sizes.remove(0);
        sizes.sort_by_key(|ways| std::cmp::Reverse(ways.len()));
        sizes.truncate(SIZES_MAX - 1);
        sizes.push(smallest);
        sizes.sort_by_key(|ways| ways[0].bytes);
    }
    let mut sizes: Vec<Breakdown> =
        sizes.into_iter().map(|ways| of_size(ways, &journeys)).collect();
    if let Some(smallest) = sizes.first_mut() {
        smallest.mean = Some(sums.mean());
    }
    sizes
}

/// Breaks down the median of messages of one size, the quickest first.
fn of_size(ways: &[Way], journeys: &Journeys) -> Breakdown {
    let way = &ways[ways.len() / 2];
    let ns = |way: Option<&Way>| way.map_or(0.0, |way| way.total.as_ns());
    Breakdown {
        bytes: way.bytes,
        messages: ways.len(),
        total_ns: way.total.as_ns(),
        least_ns: ns(ways.first()),
        most_ns: ns(ways.last()),
        segments: segments(&journeys.legs(way)),
        mean: None,
    }
}

/// Each instant of a way that ends a stretch, with the stretch's place in [`ALL_LEGS`]. A missing waypoint
/// joins its stretch to the next one; so does one that another overtook.
fn steps<'a>(legs: &'a [&Journey]) -> impl Iterator<Item = (usize, Time)> + 'a {
    let mut reached = legs[0].start();
    let all = legs.iter().enumerate().flat_map(|(number, leg)| {
        let stretches = STRETCHES.iter().enumerate();
        stretches.filter_map(move |(index, (waypoint, ..))| {
            Some((number * STRETCHES.len() + index, *waypoint, leg.at(*waypoint)?))
        })
    });
    // The program's call returns when the last leg has come.
    let last = (legs.len() - 1) * STRETCHES.len();
    let all =
        all.filter(move |(slot, waypoint, _)| *slot >= last || *waypoint < Waypoint::CallReturned);
    all.map(move |(slot, _, at)| {
        reached = reached.max(at);
        (slot, reached)
    })
}

/// Stretches of all legs that a way can have.
const ALL_LEGS: usize = 3 * STRETCHES.len();

/// The stretch at one of [`ALL_LEGS`].
fn segment(slot: usize, time: Duration) -> Segment {
    let (_, name, place) = STRETCHES[slot % STRETCHES.len()];
    let name = match slot / STRETCHES.len() {
        0 => Cow::Borrowed(name),
        1 => Cow::Owned(format!("fetch: {name}")),
        _ => Cow::Owned(format!("data: {name}")),
    };
    Segment { name, place, ns: time.as_ns() }
}

/// The stretches of a way.
fn segments(legs: &[&Journey]) -> Vec<Segment> {
    let mut previous = legs[0].start();
    let ended = |(slot, at): (usize, Time)| {
        let time = at.since(previous);
        previous = at;
        segment(slot, time)
    };
    steps(legs).map(ended).collect()
}

/// What the ways of messages add up to.
struct Sums {
    messages: usize,
    /// Time from the sender's call to the end of each stretch, in picoseconds.
    until: [u128; ALL_LEGS],
    /// Stretches that any message had.
    seen: [bool; ALL_LEGS],
}

impl Sums {
    fn new() -> Sums {
        Sums { messages: 0, until: [0; ALL_LEGS], seen: [false; ALL_LEGS] }
    }

    fn add(&mut self, legs: &[&Journey]) {
        let start = legs[0].start();
        self.messages += 1;
        let mut steps = steps(legs).peekable();
        let mut reached = start;
        for slot in 0..ALL_LEGS {
            if let Some((_, at)) = steps.next_if(|(step, _)| *step == slot) {
                reached = at;
                self.seen[slot] = true;
            }
            self.until[slot] += u128::from(reached.since(start).0);
        }
    }

    /// Instants are rounded, not stretches: so these add up.
    fn mean(&self) -> Mean {
        let messages = self.messages.max(1) as u128;
        let until = |slot: usize| Duration(((self.until[slot] + messages / 2) / messages) as u64);
        let mut segments = Vec::new();
        let mut previous = Duration(0);
        for slot in (0..ALL_LEGS).filter(|slot| self.seen[*slot]) {
            segments.push(segment(slot, Duration(until(slot).0 - previous.0)));
            previous = until(slot);
        }
        Mean { messages: self.messages, total_ns: previous.as_ns(), segments }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(serial: u32, waypoint: Waypoint, ns: u64, length: Option<u64>) -> Mark {
        let message = MessageId { source_nid: 0, serial };
        Mark { at: Time(ns * 1000), message, waypoint, length }
    }

    #[test]
    fn segments_add_up_to_the_total_of_the_median_message() {
        let mut marks = Vec::new();
        for (serial, slow) in [(1, 0), (2, 100), (3, 50)] {
            let start = 10_000 * u64::from(serial);
            marks.push(mark(serial, Waypoint::CallEntered, start, None));
            marks.push(mark(serial, Waypoint::PutEntered, start + 40, Some(0)));
            marks.push(mark(serial, Waypoint::Arrived, start + 400 + slow, None));
            marks.push(mark(serial, Waypoint::CallReturned, start + 900 + slow, None));
        }
        marks.push(mark(4, Waypoint::CallEntered, 90_000, Some(8)));
        let broken = break_down(marks, Vec::new(), Time::ZERO);
        let [breakdown] = &broken[..] else { panic!("{broken:?}") };
        assert_eq!((breakdown.bytes, breakdown.messages, breakdown.total_ns), (0, 3, 950.0));
        assert_eq!((breakdown.least_ns, breakdown.most_ns), (900.0, 1000.0));
        let parts: Vec<f64> = breakdown.segments.iter().map(|s| s.ns).collect();
        assert_eq!(parts, [40.0, 410.0, 500.0]);
        let mean = breakdown.mean.as_ref().unwrap();
        assert_eq!((mean.messages, mean.total_ns), (3, 950.0));
        assert_eq!(mean.segments, breakdown.segments);
    }

    #[test]
    fn means_are_of_all_sizes_and_add_up_to_the_picosecond() {
        let mut marks = Vec::new();
        for (serial, size, slow) in [(1, 0, 0), (2, 64, 1), (3, 4096, 1)] {
            let start = 10_000 * u64::from(serial);
            marks.push(mark(serial, Waypoint::CallEntered, start, Some(size)));
            marks.push(mark(serial, Waypoint::PutEntered, start + 1 + slow, None));
            // One of the messages has a waypoint that the others do not have.
            if size == 64 {
                marks.push(mark(serial, Waypoint::KernelEntered, start + 3, None));
            }
            marks.push(mark(serial, Waypoint::CallReturned, start + 7 + slow, None));
        }
        let mean = break_down(marks, Vec::new(), Time::ZERO).remove(0).mean.unwrap();
        let ps: Vec<u64> = mean.segments.iter().map(|s| (s.ns * 1e3).round() as u64).collect();
        // Instants after the call: 5/3, 6/3 and 23/3 ns.
        assert_eq!(ps, [1667, 333, 5667]);
        assert_eq!((mean.messages, mean.total_ns), (3, 7.667));
    }

    #[test]
    fn messages_that_never_ended_are_not_broken_down() {
        let marks = [mark(1, Waypoint::CallEntered, 1, Some(0))];
        assert_eq!(break_down(marks, Vec::new(), Time::ZERO), []);
    }
    #[test]
    fn every_size_is_broken_down_until_there_are_too_many() {
        let messages = |sizes: u32| {
            let way = |serial| {
                let start = 10_000 * u64::from(serial);
                // The second size has a message more than the others.
                let size = if serial == sizes + 1 { 2 } else { serial };
                let length = Some(u64::from(size));
                let first = mark(serial, Waypoint::CallEntered, start, length);
                [first, mark(serial, Waypoint::CallReturned, start + 500, None)]
            };
            let marks = (1..=sizes + 1).flat_map(way);
            let broken = break_down(marks, Vec::new(), Time::ZERO);
            broken.iter().map(|size| (size.bytes, size.messages)).collect::<Vec<_>>()
        };
        assert_eq!(messages(3), [(1, 1), (2, 2), (3, 1)]);
        let many = messages(100);
        assert_eq!((many.len(), many[0], many[1]), (SIZES_MAX, (1, 1), (2, 2)));
        assert!(many.is_sorted());
    }
    #[test]
    fn a_rendezvous_is_one_message_with_three_legs() {
        let tie = |serial, ns, part| {
            let message = MessageId { source_nid: 0, serial };
            Tie { at: Time(ns * 1000), message, sender: (0, 9), part }
        };
        let exposed = 5;
        let (mut marks, mut ties) = (Vec::new(), Vec::new());
        // The second uses the same buffer after the first, and nobody fetches the third.
        for round in [0_u64, 10] {
            let ns = |ns| 1000 * round + ns;
            let serial = |leg| round as u32 + leg;
            marks.extend([
                mark(serial(1), Waypoint::CallEntered, ns(100), None),
                mark(serial(1), Waypoint::Injected, ns(150), Some(0)),
                mark(serial(1), Waypoint::EventReturned, ns(200), None),
                mark(serial(2), Waypoint::CallEntered, ns(210), None),
                mark(serial(2), Waypoint::PutEntered, ns(210), None),
                mark(serial(2), Waypoint::EventDrained, ns(300), None),
                mark(serial(3), Waypoint::CommandWritten, ns(320), None),
                mark(serial(3), Waypoint::ReceiveWritten, ns(400), None),
                mark(serial(3), Waypoint::Deposited, ns(900), None),
                mark(serial(3), Waypoint::CallReturned, ns(1000), None),
            ]);
            ties.extend([
                tie(serial(1), ns(150), Rendezvous::Announces { exposed, bytes: 4096 }),
                tie(serial(2), ns(250), Rendezvous::Fetches { exposed }),
                tie(serial(3), ns(350), Rendezvous::Brings { exposed }),
            ]);
        }
        marks.push(mark(30, Waypoint::CallEntered, 30_000, Some(0)));
        marks.push(mark(30, Waypoint::CallReturned, 31_000, None));
        ties.push(tie(30, 30_500, Rendezvous::Announces { exposed, bytes: 8 }));
        let broken = break_down(marks, ties, Time::ZERO);
        let [breakdown] = &broken[..] else { panic!("{broken:?}") };
        assert_eq!((breakdown.bytes, breakdown.messages, breakdown.total_ns), (4096, 2, 900.0));
        let named: Vec<(&str, f64)> =
            breakdown.segments.iter().map(|segment| (&*segment.name, segment.ns)).collect();
        assert_eq!(named[1], ("return to the process", 50.0));
        assert_eq!(named[2], ("fetch: MPI library, send", 10.0));
        assert_eq!(named[4], ("data: kernel Portals, send", 20.0));
        assert_eq!(named[6], ("data: payload by DMA", 500.0));
        assert_eq!(named.iter().map(|(_, ns)| ns).sum::<f64>(), 900.0);
    }

    #[test]
    fn a_long_message_has_one_leg_until_it_is_fetched() {
        let tie = |serial, ns: u64, part| {
            let message = MessageId { source_nid: 0, serial };
            Tie { at: Time(ns * 1000), message, sender: (0, 9), part }
        };
        let carries = |exposed| Rendezvous::Carries { exposed, bytes: 4096 };
        let mut ties = vec![tie(1, 150, carries(5)), tie(2, 1150, carries(5))];
        let mut marks = vec![
            mark(1, Waypoint::CallEntered, 100, None),
            mark(1, Waypoint::Injected, 150, Some(4096)),
            mark(1, Waypoint::CallReturned, 600, None),
            // Nobody was there for the second.
            mark(2, Waypoint::CallEntered, 1100, None),
            mark(2, Waypoint::Injected, 1150, Some(4096)),
            mark(3, Waypoint::CallEntered, 1500, None),
            mark(3, Waypoint::EventDrained, 1600, None),
        ];
        // Its receiver has asked, and the run ends.
        ties.push(tie(3, 1550, Rendezvous::Fetches { exposed: 5 }));
        let broken = break_down(marks.clone(), ties.clone(), Time::ZERO);
        assert_eq!((broken[0].messages, broken[0].total_ns), (1, 500.0));
        // The bytes come.
        ties.push(tie(4, 1700, Rendezvous::Brings { exposed: 5 }));
        marks.push(mark(4, Waypoint::CommandWritten, 1700, None));
        marks.push(mark(4, Waypoint::CallReturned, 2000, None));
        let broken = break_down(marks, ties, Time::ZERO);
        assert_eq!((broken[0].messages, broken[0].total_ns), (2, 900.0));
        let last = broken[0].segments.last().unwrap();
        assert_eq!((&*last.name, last.ns), ("data: MPI library, receive", 300.0));
    }
}
