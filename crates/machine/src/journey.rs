//! Where the time of a message went: the instants that every room leaves behind under a message's id.

use abi::MessageId;
use des::{Duration, Time};
use std::collections::BTreeMap;

/// Instants in the life of a put, in the order in which a message passes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Waypoint {
    /// The program's call reached the MPI library.
    CallEntered,
    /// The MPI library called `PtlPut`.
    PutEntered,
    /// The kernel had the call.
    KernelEntered,
    /// The kernel wrote the tail index of the mailbox.
    CommandWritten,
    /// That write reached the NIC's SRAM.
    CommandArrived,
    /// The TX engine took the firmware's command for the header.
    HeaderCommanded,
    /// The first packet entered the network.
    Injected,
    /// The first packet reached the target's RX engine.
    Arrived,
    /// The firmware could see the notification.
    Announced,
    /// The firmware wrote the interrupt register.
    InterruptWritten,
    /// The interrupt reached the host.
    InterruptArrived,
    /// The interrupt handler's first instruction.
    HandlerEntered,
    /// The handler had read the event.
    EventDrained,
    /// The Portals event stood in the process's event queue.
    EventPosted,
    /// The MPI library had it.
    EventReturned,
    /// The program's call returned.
    CallReturned,
}

/// The stretch that ends at each waypoint after the first.
const STRETCHES: [(Waypoint, &str); 15] = [
    (Waypoint::PutEntered, "MPI library, send"),
    (Waypoint::KernelEntered, "kernel entry"),
    (Waypoint::CommandWritten, "kernel Portals, send"),
    (Waypoint::CommandArrived, "HyperTransport to the NIC"),
    (Waypoint::HeaderCommanded, "firmware TX"),
    (Waypoint::Injected, "TX DMA"),
    (Waypoint::Arrived, "wire"),
    (Waypoint::Announced, "RX DMA"),
    (Waypoint::InterruptWritten, "firmware RX"),
    (Waypoint::InterruptArrived, "HyperTransport to the host"),
    (Waypoint::HandlerEntered, "interrupt"),
    (Waypoint::EventDrained, "event queue"),
    (Waypoint::EventPosted, "kernel Portals, receive"),
    (Waypoint::EventReturned, "return to the process"),
    (Waypoint::CallReturned, "MPI library, receive"),
];

/// One mark of one message on one node.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    /// When.
    pub at: Time,
    /// Which message.
    pub message: MessageId,
    /// Which waypoint.
    pub waypoint: Waypoint,
    /// Payload bytes of the message, where the marker knows them.
    pub length: Option<u64>,
}

/// Marks of one node. Only the first ones of a run are kept: enough for a steady state, bounded in memory.
#[derive(Debug)]
pub struct Log {
    marks: Vec<Mark>,
    capacity: usize,
}

/// Marks that all nodes keep at most, and those that each node may keep whatever their number.
const CAPACITY: usize = 1 << 21;
const CAPACITY_OF_NODE: std::ops::RangeInclusive<usize> = 1 << 12..=1 << 17;

impl Log {
    /// The log of one of `nodes` nodes.
    pub fn new(nodes: u32) -> Log {
        let (least, most) = CAPACITY_OF_NODE.into_inner();
        let capacity = (CAPACITY / nodes.max(1) as usize).clamp(least, most);
        Log { marks: Vec::new(), capacity }
    }
    /// Records a mark.
    pub fn push(&mut self, mark: Mark) {
        if self.marks.len() < self.capacity {
            self.marks.push(mark);
        }
    }
    /// Takes the marks out.
    pub fn take(&mut self) -> Vec<Mark> {
        std::mem::take(&mut self.marks)
    }
}

/// A stretch of a message's way.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Segment {
    /// Where the time went.
    pub name: &'static str,
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
    /// From the sender's call to the receiver's return, in nanoseconds.
    pub total_ns: f64,
    /// The stretches in order; they add up to the total.
    pub segments: Vec<Segment>,
    /// The way of the messages of all sizes.
    pub mean: Mean,
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

#[derive(Default)]
struct Journey {
    at: BTreeMap<Waypoint, Time>,
    length: Option<u64>,
}

impl Journey {
    /// Of the marks of one message.
    fn of(marks: &[Mark]) -> Journey {
        let mut journey = Journey::default();
        for mark in marks {
            // The first mark of a kind counts: a later one belongs to a completion, not to the way.
            journey.at.entry(mark.waypoint).or_insert(mark.at);
            journey.length = journey.length.or(mark.length);
        }
        journey
    }
    fn total(&self) -> Option<Duration> {
        let last = self.at.get(&Waypoint::CallReturned)?;
        Some(last.since(*self.at.get(&Waypoint::CallEntered)?))
    }
}

/// Breaks down the message of the smallest size whose total is the median of its size. The messages of
/// start-up (before `from`) are left out. `None` if no message was followed from end to end.
pub fn break_down(mut marks: Vec<Mark>, from: Time) -> Option<Breakdown> {
    // Stable: each message's marks stay in the order of the logs.
    marks.sort_by_key(|mark| mark.message);
    let started = |j: &Journey| j.at.get(&Waypoint::CallEntered).is_some_and(|t| *t >= from);
    let messages = marks.chunk_by(|a, b| a.message == b.message);
    let mut sums = Sums::default();
    let mut whole: Vec<(u64, Duration, &[Mark])> = messages
        .filter_map(|marks| {
            let journey = Some(Journey::of(marks)).filter(started)?;
            let (length, total) = (journey.length?, journey.total()?);
            sums.add(&journey);
            Some((length, total, marks))
        })
        .collect();
    let bytes = whole.iter().map(|(length, ..)| *length).min()?;
    whole.retain(|(length, ..)| *length == bytes);
    whole.sort_by_key(|(_, total, _)| *total);
    let messages = whole.len();
    let (_, total, marks) = whole.swap_remove(messages / 2);
    let journey = Journey::of(marks);
    let (total_ns, segments) = (total.as_ns(), segments(&journey));
    Some(Breakdown { bytes, messages, total_ns, segments, mean: sums.mean() })
}

/// What the ways of messages add up to.
#[derive(Default)]
struct Sums {
    messages: usize,
    /// Time from the sender's call to the end of each of [`STRETCHES`], in picoseconds.
    until: [u128; STRETCHES.len()],
    /// Stretches that any message had.
    seen: [bool; STRETCHES.len()],
}

impl Sums {
    fn add(&mut self, journey: &Journey) {
        let start = journey.at[&Waypoint::CallEntered];
        let mut reached = start;
        self.messages += 1;
        for (index, (waypoint, _)) in STRETCHES.iter().enumerate() {
            if let Some(at) = journey.at.get(waypoint) {
                reached = reached.max(*at);
                self.seen[index] = true;
            }
            self.until[index] += u128::from(reached.since(start).0);
        }
    }

    /// Instants are rounded, not stretches: so these add up.
    fn mean(&self) -> Mean {
        let messages = self.messages.max(1) as u128;
        let until = |index: usize| Duration(((self.until[index] + messages / 2) / messages) as u64);
        let mut segments = Vec::new();
        let mut previous = Duration(0);
        for (index, (_, name)) in STRETCHES.iter().enumerate().filter(|(i, _)| self.seen[*i]) {
            let ns = Duration(until(index).0 - previous.0).as_ns();
            segments.push(Segment { name, ns });
            previous = until(index);
        }
        Mean { messages: self.messages, total_ns: previous.as_ns(), segments }
    }
}

/// The stretches between a journey's waypoints; a missing waypoint joins its stretch to the next one.
fn segments(journey: &Journey) -> Vec<Segment> {
    let mut segments = Vec::new();
    let mut previous = journey.at[&Waypoint::CallEntered];
    for (waypoint, name) in STRETCHES {
        if let Some(at) = journey.at.get(&waypoint) {
            segments.push(Segment { name, ns: at.since(previous).as_ns() });
            previous = previous.max(*at);
        }
    }
    segments
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
        let breakdown = break_down(marks, Time::ZERO).unwrap();
        assert_eq!((breakdown.bytes, breakdown.messages, breakdown.total_ns), (0, 3, 950.0));
        let parts: Vec<f64> = breakdown.segments.iter().map(|s| s.ns).collect();
        assert_eq!(parts, [40.0, 410.0, 500.0]);
        assert_eq!((breakdown.mean.messages, breakdown.mean.total_ns), (3, 950.0));
        assert_eq!(breakdown.mean.segments, breakdown.segments);
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
        let mean = break_down(marks, Time::ZERO).unwrap().mean;
        let ps: Vec<u64> = mean.segments.iter().map(|s| (s.ns * 1e3).round() as u64).collect();
        // Instants after the call: 5/3, 6/3 and 23/3 ns.
        assert_eq!(ps, [1667, 333, 5667]);
        assert_eq!((mean.messages, mean.total_ns), (3, 7.667));
    }

    #[test]
    fn messages_that_never_ended_are_not_broken_down() {
        let marks = [mark(1, Waypoint::CallEntered, 1, Some(0))];
        assert_eq!(break_down(marks.into(), Time::ZERO), None);
    }
}
