//! Messages between two desks, as nodes make them.

use super::messages::Messages;
use super::*;
use ::portals::{Begun, ProcessId};
use abi::wire::portals_op;
use abi::MessageId;
use des::{Random, Time};
use std::sync::Arc;

const SEED: u64 = 7;
/// An MPI library's process, and a program's own.
const LIBRARY: u32 = 1;
const PROGRAM: u32 = 100;

fn id(source_nid: u32, serial: u32) -> MessageId {
    MessageId { source_nid, serial }
}

fn begun(op: u8, (from, to): (u32, u32), pid: u32, bytes: u64) -> Begun {
    let process = |nid| ProcessId { nid, pid };
    let (from, to) = (process(from), process(to));
    Begun { op, from, to, pt_index: 9, match_bits: 0, hdr_data: 0, bytes }
}

/// Waypoints of a model.
const HEADER_COMMANDED: Waypoint = Waypoint::own(0);
const ANNOUNCED: Waypoint = Waypoint::own(1);
const DEPOSITED: Waypoint = Waypoint::own(2);

const fn of_hardware(ends: Waypoint, name: &'static str, part: Part) -> PathStep {
    step(ends, name, Layer::DMA, part, cause("", &[]))
}

/// Hosts' steps, and some of a model's hardware between them.
static PATH: MessagePath = MessagePath { legs: 3, commands: true, steps: &STEPS };
const STEPS: [PathStep; 20] = [
    portals::LIBRARY_SENDS,
    portals::KERNEL_ENTRY,
    portals::KERNEL_SENDS,
    of_hardware(Waypoint::COMMAND_ARRIVED, "command", Part::Nic),
    of_hardware(HEADER_COMMANDED, "firmware TX", Part::Nic),
    of_hardware(Waypoint::INJECTED, "TX DMA", Part::Nic),
    of_hardware(Waypoint::ARRIVED, "wire", Part::Network),
    of_hardware(Waypoint::REPEATED, "refused", Part::Refused),
    of_hardware(ANNOUNCED, "RX DMA", Part::Nic),
    of_hardware(Waypoint::SEARCHED, "firmware RX, match", Part::Nic),
    of_hardware(Waypoint::EVENT_DRAINED, "event queue", Part::Kernel),
    portals::KERNEL_MATCHES,
    of_hardware(Waypoint::RECEIVE_WRITTEN, "kernel Portals, command", Part::Kernel),
    of_hardware(DEPOSITED, "payload by DMA", Part::Nic),
    of_hardware(Waypoint::COMPLETION_DRAINED, "event queue, completion", Part::Kernel),
    portals::KERNEL_RECEIVES,
    portals::PROCESS_LATE,
    portals::RETURN,
    portals::RECEIVE_LATE,
    portals::LIBRARY_RECEIVES,
];

struct World {
    desks: Vec<Desk>,
    tallies: Arc<Tallies>,
}

impl World {
    fn new(nodes: u32, workers: usize) -> World {
        let tallies = Arc::new(
            Tallies::new(SEED, None, &Arc::default(), workers, nodes).with_way(Some(&PATH)),
        );
        let desk = |nid| Desk::new(nid, Time::ZERO, tallies.clone());
        World { desks: (0..nodes).map(desk).collect(), tallies }
    }
    /// A message leaves one node for another.
    fn goes(&mut self, message: MessageId, at: u64, from: usize, to: usize, in_header: bool) {
        let flight = self.desks[from].leaves(message, Time(at), in_header).expect("it is there");
        self.desks[to].comes(flight);
    }
    fn put(&mut self, message: MessageId, at: u64, (from, to): (usize, usize), bytes: u64) {
        let flight = self.desks[from].begin(message);
        flight.mark(Time(at), Waypoint::CALL_ENTERED);
        let begun = begun(portals_op::PUT, (from as u32, to as u32), PROGRAM, bytes);
        self.desks[from].begun(message, &begun, None);
    }
    fn mark(&mut self, node: usize, message: MessageId, at: u64, waypoint: Waypoint) {
        self.desks[node].mark(Time(at), message, waypoint);
    }
    fn end(mut self) -> (Messages, Vec<Breakdown>) {
        let mut unfinished = Unfinished::default();
        self.desks.iter_mut().for_each(|desk| unfinished.add(desk.finish()));
        Messages::of(self.tallies.sum(SEED), unfinished, Time::ZERO)
    }
}

fn ps(ns: f64) -> u64 {
    (ns * 1e3).round() as u64
}

/// Marks of a copy that was refused do not count.
#[test]
fn a_refused_message_has_a_step_of_waiting() {
    let mut world = World::new(2, 1);
    world.put(id(0, 1), 100, (0, 1), 0);
    world.goes(id(0, 1), 200, 0, 1, false);
    let marks = [
        (300, Waypoint::ARRIVED),
        (300, Waypoint::REPEATED),
        (310, ANNOUNCED),
        (900, Waypoint::ARRIVED),
        (900, Waypoint::REPEATED),
        (915, ANNOUNCED),
        (1000, Waypoint::EVENT_DRAINED),
        (1100, Waypoint::REPEATED),
        (1200, Waypoint::EVENT_RETURNED),
    ];
    for (at, waypoint) in marks {
        world.mark(1, id(0, 1), at, waypoint);
    }
    world.desks[1].end(id(0, 1));
    let (_, classes) = world.end();
    let steps = classes[0].steps.iter().map(|step| (step.name.as_ref(), step.sum_ps));
    let expected = [
        ("TX DMA", 100),
        ("wire", 100),
        ("refused", 600),
        ("RX DMA", 15),
        ("event queue", 85),
        ("return to the process", 200),
    ];
    assert_eq!(steps.collect::<Vec<_>>(), expected);
}

/// It is the last time that counts, and none behind the entrance into the network.
#[test]
fn a_message_that_was_lost_has_the_time_at_which_it_was_sent_again() {
    let mut flight = Flight::default();
    flight.mark(Time(10), HEADER_COMMANDED);
    assert_eq!(flight.at(Waypoint::RESENT), None);
    flight.mark(Time(500), Waypoint::RESENT);
    flight.mark(Time(900), Waypoint::RESENT);
    flight.mark(Time(910), Waypoint::INJECTED);
    flight.mark(Time(1500), Waypoint::RESENT);
    let at = [HEADER_COMMANDED, Waypoint::RESENT, Waypoint::INJECTED];
    assert_eq!(at.map(|at| flight.at(at)), [10, 900, 910].map(|at| Some(Time(at))));
}

/// Steps of messages that miss marks, and have them in any order, as any model or fault may cause.
#[test]
fn steps_add_up_whatever_marks_there_are() {
    for seed in 0..50 {
        let mut random = Random::new(seed);
        let mut world = World::new(2, 1);
        let mut ended: Vec<(u64, u64, u64)> = Vec::new();
        for serial in 1..200 {
            let (message, start) = (id(0, serial), random.below(1 << 40));
            let bytes = [0, 12, 13, 24, 98_304, 1 << 33][random.below(6) as usize];
            world.put(message, start, (0, 1), bytes);
            let mut latest = start;
            let mut pass = |world: &mut World, node, waypoint| {
                let most = 1 << random.below(36);
                let at = start.saturating_sub(50) + random.below(most);
                if random.below(3) > 0 {
                    world.mark(node, message, at, waypoint);
                    return Some(at);
                }
                None
            };
            for PathStep { ends: waypoint, .. } in &PATH.steps[..5] {
                latest = latest.max(pass(&mut world, 0, *waypoint).unwrap_or(0));
            }
            let injected = start + 77;
            world.goes(message, injected, 0, 1, false);
            latest = latest.max(injected);
            let mut times = Vec::new();
            for PathStep { ends: waypoint, .. } in &PATH.steps[6..] {
                times.push((*waypoint, pass(&mut world, 1, *waypoint)));
            }
            let has = |wanted| times.iter().any(|(it, at)| *it == wanted && at.is_some());
            let by_firmware = has(Waypoint::SEARCHED) && has(Waypoint::COMPLETION_DRAINED);
            let commanded = has(Waypoint::RECEIVE_WRITTEN) || by_firmware;
            let place = |of| times.iter().position(|(it, _)| *it == of).unwrap();
            let aside = place(Waypoint::RECEIVE_WRITTEN)..=place(Waypoint::COMPLETION_DRAINED);
            let first = times[0].1.filter(|_| times[0].0 == Waypoint::ARRIVED);
            for (number, (waypoint, at)) in times.iter().enumerate() {
                // It comes again only after it has come.
                let repeats = first.is_some_and(|first| Some(first) < *at);
                if *waypoint == Waypoint::REPEATED && !repeats {
                    continue;
                }
                if commanded || !aside.contains(&number) {
                    latest = latest.max(at.unwrap_or(0));
                }
            }
            world.desks[1].end(message);
            ended.push((bytes, start, latest));
        }
        let (messages, classes) = world.end();
        assert_eq!((messages.ended, messages.unfinished.all()), (199, 0));
        for class in &classes {
            let of = ended.iter().filter(|(bytes, ..)| *bytes == class.bytes_least);
            let totals: Vec<u64> = of.map(|(_, start, latest)| latest - start).collect();
            assert_eq!(class.messages, totals.len() as u64, "seed {seed}");
            assert_eq!(class.bytes_least, class.bytes_most);
            assert_eq!(class.sum_ps, totals.iter().sum::<u64>(), "seed {seed}");
            let steps: u64 = class.steps.iter().map(|step| step.sum_ps).sum();
            assert_eq!(class.sum_ps, steps, "seed {seed}");
            let segments: u64 = class.segments.iter().map(|segment| ps(segment.ns)).sum();
            assert_eq!(ps(class.total_ns), segments, "seed {seed}");
            assert_eq!(ps(class.least_ns), *totals.iter().min().unwrap());
            assert_eq!(ps(class.most_ns), *totals.iter().max().unwrap());
        }
        let slowest = ended.iter().map(|(_, start, latest)| latest - start).max().unwrap();
        assert_eq!(ps(messages.slowest[0].total_ns), slowest, "seed {seed}");
    }
}

/// Memory for two hundred thousand messages is that of a few, and of their sums.
#[test]
fn what_is_counted_does_not_depend_on_who_counts_or_when() {
    let all = |workers: usize, backwards: bool| {
        let mut world = World::new(4, workers);
        let mut messages: Vec<u32> = (0..20_000).collect();
        if backwards {
            messages.reverse();
        }
        for serial in messages {
            let node = (serial % 4) as usize;
            let (message, start) = (id(node as u32, serial), u64::from(serial) * 1000);
            world.put(message, start, (node, 3 - node), u64::from(serial % 7) * 100);
            world.goes(message, start + 5, node, 3 - node, true);
            let took = u64::from(serial.wrapping_mul(0x9e37_79b1) >> 12);
            world.mark(3 - node, message, start + took, Waypoint::EVENT_RETURNED);
            assert!(world.desks[3 - node].taken(message));
        }
        let (messages, classes) = world.end();
        format!("{messages:?} {classes:?}")
    };
    let one = all(1, false);
    assert!(one.contains("ended: 20000"));
    assert!(one.contains("median_of: 256"), "a sample");
    for (workers, backwards) in [(1, true), (2, false), (4, true)] {
        assert_eq!(all(workers, backwards), one, "{workers} {backwards}");
    }
}

#[test]
fn a_rendezvous_is_one_message_with_three_legs() {
    let mut world = World::new(2, 1);
    let announced = |bytes: u64| Begun {
        pt_index: 4,
        match_bits: 2 << 60,
        hdr_data: 5 << 40 | bytes,
        ..begun(portals_op::PUT, (0, 1), LIBRARY, 0)
    };
    // The second uses the same buffer after the first, and nobody fetches the third.
    for (round, start) in [(0, 1000), (10, 5000)] {
        let [first, fetch, data] = [id(0, round + 1), id(1, round + 2), id(0, round + 3)];
        world.desks[0].begin(first).mark(Time(start), Waypoint::CALL_ENTERED);
        world.desks[0].begun(first, &announced(4096), None);
        world.goes(first, start + 50, 0, 1, true);
        world.mark(1, first, start + 90, Waypoint::EVENT_POSTED);
        world.mark(1, first, start + 100, Waypoint::EVENT_RETURNED);
        assert!(!world.desks[1].taken(first), "its bytes have not come");
        world.desks[1].begin(fetch).mark(Time(start + 110), Waypoint::CALL_ENTERED);
        world.mark(1, fetch, start + 110, Waypoint::PUT_ENTERED);
        let get = begun(portals_op::GET, (1, 0), LIBRARY, 4096);
        world.desks[1].begun(fetch, &Begun { pt_index: 5, match_bits: 5, ..get }, None);
        world.goes(fetch, start + 120, 1, 0, true);
        world.mark(0, fetch, start + 200, Waypoint::EVENT_DRAINED);
        world.desks[0].answers(data, fetch);
        world.mark(0, data, start + 220, Waypoint::COMMAND_WRITTEN);
        world.goes(data, start + 230, 0, 1, false);
        world.mark(1, data, start + 300, Waypoint::RECEIVE_WRITTEN);
        world.mark(1, data, start + 800, DEPOSITED);
        world.mark(1, data, start + 900, Waypoint::CALL_RETURNED);
        assert!(world.desks[1].taken(data));
    }
    world.desks[0].begin(id(0, 30)).mark(Time(9000), Waypoint::CALL_ENTERED);
    world.desks[0].begun(id(0, 30), &announced(8), None);
    world.goes(id(0, 30), 9050, 0, 1, true);
    world.mark(1, id(0, 30), 9060, Waypoint::ARRIVED);
    let (messages, classes) = world.end();
    let unfinished = Unfinished { not_received: 1, ..Unfinished::default() };
    assert_eq!((messages.ended, messages.unfinished), (2, unfinished));
    let [class] = &classes[..] else { panic!("{classes:?}") };
    let found = (class.kind, class.protocol, class.bytes, class.sum_ps);
    assert_eq!(found, (MessageKind::Send, Protocol::Rendezvous, 4096, 1800));
    let named: Vec<(&str, u64)> =
        class.segments.iter().map(|segment| (&*segment.name, ps(segment.ns))).collect();
    let expected = [
        ("TX DMA", 50),
        ("kernel Portals, receive", 40),
        ("return to the process", 10),
        ("fetch: MPI library, send", 10),
        ("fetch: TX DMA", 10),
        ("fetch: event queue", 80),
        ("data: kernel Portals, send", 20),
        ("data: TX DMA", 10),
        ("data: kernel Portals, command", 70),
        ("data: payload by DMA", 500),
        ("data: MPI library, receive", 100),
    ];
    assert_eq!(named, expected);
}

#[test]
fn a_long_message_has_one_leg_until_it_is_fetched() {
    let mut world = World::new(2, 1);
    let long = Begun {
        pt_index: 4,
        match_bits: 3 << 60,
        hdr_data: 5 << 40 | 4096,
        ..begun(portals_op::PUT, (0, 1), LIBRARY, 4096)
    };
    // The first meets its receive; the second comes while the process has not looked, under the same number.
    for (serial, start) in [(1, 100), (2, 600)] {
        world.desks[0].begin(id(0, serial)).mark(Time(start), Waypoint::CALL_ENTERED);
        world.desks[0].begun(id(0, serial), &long, None);
        world.goes(id(0, serial), start + 50, 0, 1, false);
    }
    world.mark(1, id(0, 1), 700, Waypoint::EVENT_RETURNED);
    assert!(world.desks[1].taken(id(0, 1)));
    // Nobody was there for the second.
    world.desks[1].get(id(0, 2)).unwrap().kept = true;
    world.mark(1, id(0, 2), 800, Waypoint::EVENT_RETURNED);
    assert!(!world.desks[1].taken(id(0, 2)));
    world.desks[1].begin(id(1, 3)).mark(Time(900), Waypoint::CALL_ENTERED);
    let get = begun(portals_op::GET, (1, 0), LIBRARY, 4096);
    world.desks[1].begun(id(1, 3), &Begun { pt_index: 5, match_bits: 5, ..get }, None);
    world.goes(id(1, 3), 950, 1, 0, true);
    world.desks[0].answers(id(0, 4), id(1, 3));
    world.goes(id(0, 4), 1000, 0, 1, false);
    world.mark(1, id(0, 4), 1500, Waypoint::EVENT_RETURNED);
    assert!(world.desks[1].taken(id(0, 4)));
    let (messages, classes) = world.end();
    assert_eq!((messages.ended, messages.unfinished.all()), (2, 0));
    let found: Vec<_> = classes.iter().map(|class| (class.protocol, class.sum_ps)).collect();
    assert_eq!(found, [(Protocol::Long, 600), (Protocol::Rendezvous, 900)]);
}

#[test]
fn what_the_library_keeps_ends_with_its_receive() {
    let mut world = World::new(2, 1);
    let message = id(0, 1);
    world.put(message, 10, (0, 1), 8);
    world.goes(message, 20, 0, 1, true);
    world.desks[1].get(message).unwrap().kept = true;
    world.mark(1, message, 40, Waypoint::EVENT_RETURNED);
    assert!(!world.desks[1].taken(message));
    world.desks[1].get(message).unwrap().kept = false;
    world.mark(1, message, 90, Waypoint::CLAIMED);
    assert!(world.desks[1].taken(message) && !world.desks[1].taken(message));
    let steps = &world.end().1[0].steps;
    assert_eq!(
        steps.last().map(|step| (&*step.name, step.sum_ps)),
        Some(("waiting for the receive", 50))
    );
}

#[test]
fn what_never_ends_is_counted_and_does_not_pile_up() {
    let mut world = World::new(2, 1);
    let desk = Desk::new(1, Time::ZERO, world.tallies.clone()).with_room(100);
    world.desks[1] = desk;
    for serial in 1..=1000 {
        let message = id(0, serial);
        world.put(message, u64::from(serial), (0, 1), 8);
        world.goes(message, u64::from(serial) + 1, 0, 1, true);
        world.mark(1, message, u64::from(serial) + 2, Waypoint::ARRIVED);
    }
    // One is still at its sender, one is dropped, one is refused, one began before the launch.
    world.put(id(0, 2000), 5000, (0, 1), 8);
    world.put(id(1, 1), 5000, (1, 0), 8);
    world.desks[1].dropped(id(1, 1));
    world.put(id(1, 2), 5000, (1, 0), 8);
    world.desks[1].forget(id(1, 2));
    // The youngest are still there.
    world.desks[1].end(id(0, 1000));
    let (messages, classes) = world.end();
    let Unfinished { on_the_way, not_received, dropped, given_up } = messages.unfinished;
    assert_eq!((messages.ended, on_the_way, dropped), (1, 1, 1));
    assert!(not_received <= 100 && given_up >= 899, "{:?}", messages.unfinished);
    assert_eq!(not_received + given_up, 999);
    assert_eq!(classes.len(), 1);
}

#[test]
fn messages_before_the_launch_are_none_of_the_program() {
    let tallies = Arc::new(Tallies::new(SEED, None, &Arc::default(), 1, 2).with_way(Some(&PATH)));
    let mut desk = Desk::new(0, Time(100), tallies.clone());
    for (serial, at) in [(1, 99), (2, 100)] {
        desk.begin(id(0, serial)).mark(Time(at), Waypoint::CALL_ENTERED);
        desk.mark(Time(at + 10), id(0, serial), Waypoint::EVENT_POSTED);
        desk.end(id(0, serial));
    }
    let (messages, _) = Messages::of(tallies.sum(SEED), desk.finish(), Time(100));
    assert_eq!((messages.ended, messages.slowest[0].start_ns), (1, 0.0));
}
