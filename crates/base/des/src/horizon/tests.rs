//! Horizons against the ways between all processes.

use super::*;
use crate::Random;

const HOP: Duration = Duration(50);

/// The same horizons, computed from the shortest ways between all processes and from each one back to
/// itself.
fn by_ways(links: &Links, earliest_output: &[Time]) -> Vec<Time> {
    let count = earliest_output.len();
    let far = u64::MAX / 4;
    let mut steps = vec![vec![far; count]; count];
    for from in 0..links.processes {
        let receivers = links.to.of(from).iter().filter(|to| **to < links.processes);
        receivers.for_each(|to| steps[*to as usize][from as usize] = 1);
    }
    for via in 0..count {
        for to in 0..count {
            for from in 0..count {
                let through = steps[to][via] + steps[via][from];
                steps[to][from] = steps[to][from].min(through);
            }
        }
    }
    let horizon = |to: usize| {
        let ways = (0..count).filter(|from| steps[to][*from] < far);
        let first =
            ways.map(|from| earliest_output[from] + links.lookahead() * steps[to][from]).min();
        first.unwrap_or(Time::NEVER).min(earliest_output[to] + links.lookahead() * 2)
    };
    (0..count).map(horizon).collect()
}

/// Tells of the next event, the earliest output and the reaction time of each process.
fn learn(horizons: &mut Horizons, states: &[(Time, Time, Duration)]) {
    for (process, &(next, earliest_output, reaction_time)) in (0..).zip(states) {
        let lookahead = Lookahead { earliest_output, reaction_time };
        horizons.learn(&Change { process, next, lookahead });
    }
}

fn horizons<'a>(links: &'a Links, states: &[(Time, Time, Duration)]) -> Horizons<'a> {
    let mut horizons = Horizons::new(links);
    learn(&mut horizons, states);
    horizons
}

#[test]
fn between_all_is_as_if_each_named_all() {
    let mut random = Random::new(2);
    for count in (1..9).cycle().take(200) {
        let (all, named) = (
            Links::between_all(Duration(50), count),
            Links::new(Duration(50), count, |_| 0..count),
        );
        let earliest_output: Vec<_> = (0..count)
            .map(|_| match random.below(3) {
                0 => Time::NEVER,
                _ => Time(1_000 + 25 * random.below(16)),
            })
            .collect();
        let states: Vec<_> =
            earliest_output.iter().map(|sends| (Time(900), *sends, Duration::ZERO)).collect();
        let of = |links: &Links| {
            let mut horizons = horizons(links, &states);
            horizons.apart(&[], Time(1_050), Time(1_300));
            (0..count).map(|process| horizons.of(process)).collect::<Vec<_>>()
        };
        assert_eq!(of(&all), of(&named), "{earliest_output:?}");
    }
}

#[test]
fn messages_between_two_sides_go_to_the_other_one() {
    let ring = |count: u32| {
        Links::new(Duration(1), count, |to| [(to + 1) % count, (to + count - 1) % count])
    };
    let even = ring(6).side.unwrap();
    assert!((0..6).all(|process| even[process] != even[(process + 1) % 6]));
    assert_eq!(ring(5).side, None);
    assert_eq!(Links::between_all(Duration(1), 2).side, None);
    // Two pairs that know nothing of one another, each with one way.
    let pairs = Links::new(Duration(1), 4, |to| (to % 2 == 1).then(|| to - 1));
    assert_eq!(pairs.side.unwrap(), [false, true, false, true]);
}

#[test]
fn of_two_sides_that_send_at_once_the_same_goes_whoever_tells_first() {
    let row =
        Links::new(Duration(50), 4, |i| [i.wrapping_sub(1), i + 1].into_iter().filter(|i| *i < 4));
    let told = |source, target| (source, Announced { target, at: Time(1_050), ends: true });
    let goes = |announced: &[_]| {
        let mut horizons = horizons(&row, &[(Time(900), Time::NEVER, Duration(90)); 4]);
        horizons.apart(announced, Time(1_050), Time::NEVER);
        [0, 1, 2, 3].map(|process| horizons.of(process))
    };
    let (one, other) = (goes(&[told(1, 0), told(2, 3)]), goes(&[told(2, 3), told(1, 0)]));
    assert_eq!(one, other);
    assert!(one[1] > Time::ZERO && one[0] == Time::ZERO, "the side of process 1 goes: {one:?}");
}

/// State of each process before a window, and the announced messages.
type Scene = (Vec<(Time, Time, Duration)>, Vec<(u32, Announced)>);

fn scene(count: u32, random: &mut Random) -> Scene {
    let at = |random: &mut Random| Time(1_000 + 25 * random.below(16)); // often several at once
                                                                        // Of many processes few move.
    let still = 2 + random.below(3) * u64::from(count) / 9;
    let states = (0..count).map(|_| match random.below(still) {
        0 => (Time(900), at(random), Duration(random.below(3) * 90)),
        1 => (Time(900), Time::NEVER, Duration(random.below(3) * 90)),
        _ => (Time::NEVER, Time::NEVER, Duration(random.below(3) * 90)),
    });
    let states = states.collect();
    // Not before somebody could have sent it who is not beyond the others.
    let announced = (0..random.below(4)).map(|_| {
        let [source, target] = [0; 2].map(|_| random.below(count.into()) as u32);
        let at = at(random) + Duration(50);
        (source, Announced { target, at, ends: random.below(2) == 0 })
    });
    (states, announced.collect())
}

/// Checks the horizons of a window against the ways between all processes.
fn check(horizons: &Horizons, (states, announced): &Scene, least: Time, end: Time) {
    let links = horizons.links;
    let mut sends: Vec<_> = states.iter().map(|state| state.1).collect();
    let mut meets = vec![Time::NEVER; states.len()];
    for &(_, Announced { target, at, ends }) in announced {
        let (target, reaction_time) = (target as usize, states[target as usize].2);
        meets[target] = meets[target].min(at);
        if ends || reaction_time == Duration(0) {
            sends[target] = sends[target].min(at + reaction_time);
        }
    }
    let own = (0..).zip(states).map(|(process, state)| (state.1, process));
    let told = announced.iter().map(|(by, told)| (Time(told.at.0 - 50), *by));
    let (sent, first) = own.chain(told).min().unwrap();
    let ways = by_ways(links, &sends);
    // Only one of two sides goes, that of the first, if that goes before the end.
    for (process, (horizon, meets)) in (0..).zip(ways.into_iter().zip(meets)) {
        let horizon = horizon.min(meets);
        let waits = sent < end && links.side_of(process) != links.side_of(first);
        let of = horizons.of(process);
        let reach = (sent + links.lookahead() * REACH as u64).min(end);
        match waits {
            true => assert_eq!(of, Time::ZERO),
            // Nothing can come; over so many hops nobody has asked.
            false if horizon == Time::NEVER => {
                assert!(of == least || of >= reach || of >= sent + HOP)
            }
            // It has nothing to do before.
            false if states[process as usize].0 >= horizon => assert!(of <= horizon.min(end)),
            false if horizon.min(end) <= reach => assert_eq!(of, horizon.min(end)),
            false => assert!(reach <= of && of <= horizon.min(end), "{of:?} {horizon:?}"),
        }
    }
}

#[test]
fn a_horizon_is_the_least_of_all_ways_from_those_that_may_send() {
    let mut random = Random::new(1);
    for _ in 0..500 {
        // Few ways between many, so that some are beyond the reach.
        let (count, share) = [(9, 4), (30, 24)][random.below(2) as usize];
        let count = 1 + random.below(count) as u32;
        let from: Vec<Vec<u32>> =
            (0..count).map(|_| (0..count).filter(|_| random.below(share) == 0).collect()).collect();
        let links = Links::new(HOP, count, |to| from[to as usize].clone());
        let mut known = Horizons::new(&links);
        for _ in 0..4 {
            let scene = scene(count, &mut random);
            let (least, end) = (Time(1_050), [Time(1_300), Time::NEVER][random.below(2) as usize]);
            let mut once = horizons(&links, &scene.0);
            once.apart(&scene.1, least, end);
            check(&once, &scene, least, end);
            // Whoever tells first, and whatever happened in the windows before.
            learn(&mut known, &scene.0);
            let turned: Vec<_> = scene.1.iter().rev().copied().collect();
            known.apart(&turned, least, end);
            assert!((0..count).all(|process| known.of(process) == once.of(process)));
            once.together(Time(1_400));
            assert!((0..count).all(|process| once.of(process) == Time(1_400)));
        }
    }
}
