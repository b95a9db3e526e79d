//! Random programs on three ranks against MPI's matching rules.

use crate::world::{pattern, Carrier, Rank, Setting};
use abi::mpi as c;
use des::{Duration, Random, Time};
use mpi::{Process, RequestId};
use proptest::prelude::*;
use std::cell::RefCell;
use std::rc::Rc;

const RANKS: usize = 3;
const SIZES: [usize; 9] = [0, 1, 12, 13, 256, 257, 4096, 4097, 9000];
const ROOM: usize = 9000;
const WORLD: mpi::CommId = Process::WORLD;

#[derive(Clone, Copy, Debug)]
enum Op {
    Send {
        to: usize,
        tag: i32,
        size: usize,
    },
    /// Wildcards are `ANY_SOURCE` and `ANY_TAG`.
    Receive {
        from: i32,
        tag: i32,
    },
}

/// One operation of one rank.
#[derive(Clone, Copy, Debug)]
struct Step {
    rank: usize,
    op: Op,
}

fn op() -> impl Strategy<Value = Op> {
    let send = (0..RANKS, 0..3i32, 0..SIZES.len()).prop_map(|(to, tag, size)| Op::Send {
        to,
        tag,
        size: SIZES[size],
    });
    let from = prop_oneof![Just(c::ANY_SOURCE), 0..RANKS as i32];
    let tag = prop_oneof![Just(c::ANY_TAG), 0..3i32];
    let receive = (from, tag).prop_map(|(from, tag)| Op::Receive { from, tag });
    prop_oneof![send, receive]
}

fn steps(most: usize) -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec((0..RANKS, op()).prop_map(|(rank, op)| Step { rank, op }), 1..most)
}

fn matches(op: Op, source: usize, tag: i32) -> bool {
    let Op::Receive { from, tag: wanted } = op else { return false };
    (from == c::ANY_SOURCE || from == source as i32) && (wanted == c::ANY_TAG || wanted == tag)
}

fn sent(step: &Step) -> Option<(usize, i32, usize)> {
    match step.op {
        Op::Send { to, tag, size } => Some((to, tag, size)),
        Op::Receive { .. } => None,
    }
}

/// Send that each receive (by index of its step) gets, if every message arrives before
/// the next step begins: MPI's rules, written down naively.
fn model(steps: &[Step]) -> Vec<Option<usize>> {
    let mut taken: Vec<Option<usize>> = vec![None; steps.len()];
    let mut posted: Vec<usize> = Vec::new();
    let mut unexpected: Vec<usize> = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        if let Some((to, tag, _)) = sent(step) {
            let fits = |&r: &usize| steps[r].rank == to && matches(steps[r].op, step.rank, tag);
            match posted.iter().position(fits) {
                Some(at) => taken[posted.remove(at)] = Some(index),
                None => unexpected.push(index),
            }
            continue;
        }
        let fits = |&s: &usize| {
            let (to, tag, _) = sent(&steps[s]).unwrap();
            to == step.rank && matches(step.op, steps[s].rank, tag)
        };
        match unexpected.iter().position(fits) {
            Some(at) => taken[index] = Some(unexpected.remove(at)),
            None => posted.push(index),
        }
    }
    taken
}

/// Message that each receive got: its step, read from its bytes (or from its tag and source, if it has
/// none).
type Got = Rc<RefCell<Vec<Option<Message>>>>;
/// Source, tag and bytes.
type Message = (i32, i32, Vec<u8>);

/// Runs the steps, each at its time. In the end receives without a message are cancelled and
/// messages without a receive are taken, so that the program ends.
fn run(
    steps: &[Step],
    times: Vec<Time>,
    (seed, lateness, carrier): (u64, Duration, Carrier),
) -> Vec<Option<Message>> {
    let got: Got = Rc::new(RefCell::new(vec![None; steps.len()]));
    let (result, steps) = (got.clone(), steps.to_vec());
    let end = *times.last().unwrap() + Duration::from_us(2000);
    let setting = Setting { seed, lateness, carrier, ..Setting::new(RANKS) };
    setting.finish(move |rank| {
        let me = rank.rank as usize;
        let (mut sends, mut receives) = (Vec::new(), Vec::new());
        for (index, step) in steps.iter().enumerate().filter(|(_, step)| step.rank == me) {
            rank.until(times[index]);
            match step.op {
                Op::Send { to, tag, size } => {
                    let va = rank.buffer(&pattern(index as u64, size));
                    let p = rank.process();
                    sends.push(p.isend(va, size as u64, to as i32, tag, WORLD).unwrap());
                }
                Op::Receive { from, tag } => {
                    let va = rank.alloc(ROOM);
                    let p = rank.process();
                    let id = p.irecv(va, ROOM as u64, from, tag, WORLD).unwrap();
                    receives.push((index, va, id));
                }
            }
        }
        rank.until(end);
        collect(rank, &got, receives);
        rank.process().barrier(WORLD).unwrap();
        take_the_rest(rank);
        rank.process().waitall(&sends).unwrap();
        rank.process().finalize().unwrap();
    });
    let result = result.borrow();
    result.clone()
}

fn collect(rank: &mut Rank, got: &Got, receives: Vec<(usize, u64, RequestId)>) {
    for (index, va, id) in receives {
        rank.process().cancel(id);
        let status = rank.process().wait(id).unwrap();
        if !status.cancelled {
            let data = rank.get(va, status.bytes as usize);
            got.borrow_mut()[index] = Some((status.source, status.tag, data));
        }
    }
}

fn take_the_rest(rank: &mut Rank) {
    let va = rank.alloc(ROOM);
    while let Some(found) = rank.process().iprobe(c::ANY_SOURCE, c::ANY_TAG, WORLD).unwrap() {
        let p = rank.process();
        let status = p.recv(va, ROOM as u64, found.source, found.tag, WORLD).unwrap();
        assert_eq!(status, found);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 150,
        failure_persistence: None,
        ..Default::default()
    })]

    /// Steps with enough time between them have only one right answer.
    #[test]
    fn steps_apart(steps in steps(24), seed: u64) {
        let at = |i: usize| Time(5_000_000_000) + Duration::from_us(200) * (i as u64 + 1);
        for carrier in Carrier::ALL {
            let setting = (seed, Duration::from_us(20), carrier);
            let got = run(&steps, (0..steps.len()).map(at).collect(), setting);
            for (index, message) in model(&steps).into_iter().enumerate() {
                let expected = message.map(|send| {
                    let (_, tag, size) = sent(&steps[send]).unwrap();
                    (steps[send].rank as i32, tag, pattern(send as u64, size))
                });
                prop_assert_eq!(&got[index], &expected, "{:?}, step {}", carrier, index);
            }
        }
    }

    /// Steps on top of one another: the order of arrival is the network's, but the rules hold.
    #[test]
    fn steps_together(steps in steps(40), seed: u64) {
        let mut random = Random::new(seed);
        let mut time = Time(5_100_000_000);
        let times = steps.iter().map(|_| { time += Duration::from_ns(random.below(6000)); time });
        let times: Vec<Time> = times.collect();
        for carrier in Carrier::ALL {
            let got = run(&steps, times.clone(), (seed, Duration::from_us(100), carrier));
            check_rules(&steps, &got)?;
        }
    }
}

/// The matching rules, for an unknown order of arrival (messages of equal source and tag without
/// bytes are told apart by their order).
fn check_rules(steps: &[Step], got: &[Option<Message>]) -> Result<(), TestCaseError> {
    let sends = |to: usize| {
        let all = steps.iter().enumerate();
        all.filter(move |(_, s)| sent(s).is_some_and(|(target, ..)| target == to))
    };
    for receiver in 0..RANKS {
        // The send that each receive got, in the order in which the receives were posted.
        let mut free: Vec<usize> = sends(receiver).map(|(index, _)| index).collect();
        let mut pairs: Vec<(usize, Option<usize>)> = Vec::new();
        let mine = |(_, s): &(usize, &Step)| s.rank == receiver && sent(s).is_none();
        for (index, step) in steps.iter().enumerate().filter(mine) {
            let Some((source, tag, data)) = &got[index] else {
                pairs.push((index, None));
                continue;
            };
            prop_assert!(matches(step.op, *source as usize, *tag), "step {} got a stranger", index);
            let at = free.iter().position(|&s| {
                let (_, t, size) = sent(&steps[s]).unwrap();
                steps[s].rank == *source as usize && t == *tag && pattern(s as u64, size) == *data
            });
            prop_assert!(at.is_some(), "step {} got bytes that nobody sent, or sent once", index);
            pairs.push((index, Some(free.remove(at.unwrap()))));
        }
        for (place, &(receive, message)) in pairs.iter().enumerate() {
            let fits =
                |s: usize| matches(steps[receive].op, steps[s].rank, sent(&steps[s]).unwrap().1);
            // Progress: no receive and message that fit stay alone.
            if message.is_none() {
                prop_assert!(!free.iter().any(|&s| fits(s)), "step {} was left out", receive);
            }
            let Some(message) = message else { continue };
            // Order of messages: an earlier one of the same source that fits went to an earlier
            // receive.
            let earlier = sends(receiver).map(|(s, _)| s).filter(|&s| s < message);
            for other in earlier.filter(|&s| steps[s].rank == steps[message].rank && fits(s)) {
                let before = pairs[..place].iter().any(|&(_, taken)| taken == Some(other));
                prop_assert!(before, "step {} overtook step {}", message, other);
            }
            // Order of receives: an earlier one that fits the message got something.
            for &(other, taken) in &pairs[..place] {
                let (source, tag) = (steps[message].rank, sent(&steps[message]).unwrap().1);
                let passed = matches(steps[other].op, source, tag) && taken.is_none();
                prop_assert!(!passed, "step {} overtook step {}", receive, other);
            }
        }
    }
    Ok(())
}
