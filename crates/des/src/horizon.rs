//! Horizons: the time up to which each logical process may advance before anything that others do can reach
//! it.

use crate::{Duration, Time};

/// Links between processes. Each message takes at least the lookahead.
#[derive(Clone, Debug)]
pub struct Links {
    lookahead: Duration,
    processes: u32,
    /// Processes that take messages from anybody.
    receivers: usize,
    /// True if all send to all.
    all: bool,
    /// Receivers of each process's messages; empty if all send to all.
    to: Rows,
    /// Side of each process, if there are two sides and messages only go from one to the other.
    side: Option<Vec<bool>>,
}

impl Links {
    /// Process `i` of `processes` takes messages from `neighbours(i)` only. The lookahead must not
    /// be zero.
    pub fn new<I: IntoIterator<Item = u32>>(
        lookahead: Duration,
        processes: u32,
        neighbours: impl Fn(u32) -> I,
    ) -> Links {
        assert!(lookahead > Duration::ZERO, "windows need a lookahead");
        let mut to = vec![Vec::new(); processes as usize];
        let mut receivers = 0;
        for process in 0..processes {
            let mut senders = neighbours(process).into_iter().peekable();
            receivers += usize::from(senders.peek().is_some());
            senders.for_each(|sender| to[sender as usize].push(process));
        }
        let (all, side, to) = (false, sides(&to), Rows::new(&to));
        Links { lookahead, processes, receivers, all, to, side }
    }
    /// Everybody sends to everybody, and to itself.
    pub fn between_all(lookahead: Duration, processes: u32) -> Links {
        let links = Links::new(lookahead, processes, |_| None);
        Links { all: true, side: None, ..links }
    }
    pub(crate) fn lookahead(&self) -> Duration {
        self.lookahead
    }
}

/// Divides the processes, which send messages `to` others, into two sides, if no message then stays on its
/// side.
fn sides(to: &[Vec<u32>]) -> Option<Vec<bool>> {
    let mut linked = to.to_vec();
    for (process, receivers) in (0..).zip(to) {
        receivers.iter().for_each(|receiver| linked[*receiver as usize].push(process));
    }
    let mut sides = vec![None; to.len()];
    let mut found = Vec::new();
    for first in 0..to.len() {
        if sides[first].is_none() {
            sides[first] = Some(false);
            found.push(first);
        }
        while let Some(process) = found.pop() {
            let other = sides[process].map(|side: bool| !side);
            for neighbour in linked[process].iter().map(|neighbour| *neighbour as usize) {
                if sides[neighbour].is_none() {
                    sides[neighbour] = other;
                    found.push(neighbour);
                } else if sides[neighbour] != other {
                    return None;
                }
            }
        }
    }
    sides.into_iter().collect()
}

/// Numbers of processes for each process. All rows are as long as the longest, so that their ends need not be
/// looked up: shorter rows are filled with the number behind the last process, which is that of nobody.
#[derive(Clone, Debug)]
struct Rows {
    width: usize,
    numbers: Vec<u32>,
}

impl Rows {
    fn new(rows: &[Vec<u32>]) -> Rows {
        let width = rows.iter().map(Vec::len).max().unwrap_or(0);
        let nobody = std::iter::repeat(rows.len() as u32);
        let padded = |row: &'_ Vec<u32>| row.clone().into_iter().chain(nobody.clone()).take(width);
        Rows { width, numbers: rows.iter().flat_map(padded).collect() }
    }
    fn of(&self, process: u32) -> &[u32] {
        &self.numbers[process as usize * self.width..][..self.width]
    }
}

/// Announcement of a message before it is sent, because its process will pass on something that is on its
/// way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Announced {
    /// Process that will receive it.
    pub target: u32,
    /// Earliest time of its arrival.
    pub at: Time,
    /// True if it is meant for the target, which may send something because of it after its reaction time
    /// ([`crate::Lookahead::reaction_time`]). If not, every message that the target sends because of it is
    /// announced, too.
    pub ends: bool,
}

/// Times at which a process may affect others, and others it.
#[derive(Clone, Copy)]
struct Contact {
    /// Earliest time at which it may send anything, by itself or because of others' messages.
    sends: Time,
    /// Earliest time at which a message of others can reach it.
    takes: Time,
}

/// Hops over which horizons are looked for. Whoever is further away from all that may send is kept back to what
/// can reach it over so many: the work of a window does not grow with the diameter of the network.
const REACH: usize = 8;

/// The horizon of each process: it does everything before it, and takes nothing in before it.
pub(crate) struct Horizons<'a> {
    links: &'a Links,
    /// Times of each process. The last entry is that of nobody, who never sends and is never reached.
    contacts: Vec<Contact>,
    /// Earliest arrival of an announced message, for each process.
    meets: Vec<Time>,
    /// Processes that may send and have not updated their neighbours yet, in no order.
    waiting: Vec<u32>,
    of: Vec<Time>,
    last: Time,
}

impl<'a> Horizons<'a> {
    pub(crate) fn new(links: &'a Links) -> Horizons<'a> {
        let processes = links.processes as usize;
        let nobody = Contact { sends: Time::NEVER, takes: Time::ZERO };
        let (contacts, of) = (vec![nobody; processes + 1], vec![Time::ZERO; processes]);
        let meets = of.clone();
        Horizons { links, contacts, meets, waiting: Vec::new(), of, last: Time::ZERO }
    }
    pub(crate) fn of(&self, process: u32) -> Time {
        self.of[process as usize]
    }
    /// The latest horizon of all.
    pub(crate) fn last(&self) -> Time {
        self.last
    }
    /// Sets the same horizon for all processes that are not beyond it.
    pub(crate) fn together(&mut self, horizon: Time) {
        self.of.iter_mut().for_each(|of| *of = horizon.max(*of));
        self.last = self.last.max(horizon);
    }
    /// Sets the horizon of each process by its distance from those that may send. `earliest_output` is the
    /// earliest output of each, if nothing arrives except the announced messages `announced`: process,
    /// message, and reaction time of its target. No horizon is beyond `end`, and all are at least `least`.
    ///
    /// If there are two sides, only the side of the first process advances: the other one, whose messages
    /// from this side are then known, will advance twice as far in one window.
    pub(crate) fn apart(
        &mut self,
        earliest_output: impl Iterator<Item = Time>,
        announced: &[(u32, Announced, Duration)],
        least: Time,
        end: Time,
    ) {
        let links = self.links;
        let mut first = (Time::NEVER, 0);
        for (process, (contact, earliest_output)) in
            self.contacts.iter_mut().zip(earliest_output).enumerate()
        {
            *contact = Contact { sends: earliest_output, takes: Time::NEVER };
            if earliest_output < first.0 {
                first = (earliest_output, process);
            }
        }
        self.meets.fill(Time::NEVER);
        for &(source, Announced { target, at, ends }, reaction_time) in announced {
            let sent = Time(at.0.saturating_sub(links.lookahead.0));
            // Of several at once it is the least, as what is announced comes in the order of the workers.
            first = first.min((sent, source as usize));
            let target = target as usize;
            self.meets[target] = self.meets[target].min(at);
            if ends || reaction_time == Duration::ZERO {
                let sends = &mut self.contacts[target].sends;
                *sends = (*sends).min(at + reaction_time);
            }
        }
        let sides = links.side.as_deref().filter(|_| first.0 < end);
        let goes = sides.map(|side| (side, side[first.1]));
        self.spread(first.0);
        let lookahead = links.lookahead;
        let processes = self.of.iter_mut().zip(self.contacts.iter().zip(&self.meets));
        for (process, (of, (contact, meets))) in processes.enumerate() {
            if goes.is_some_and(|(side, goes)| side[process] != goes) {
                continue;
            }
            // What comes back from the nearest neighbour, should there be none.
            let own = contact.sends + lookahead + lookahead;
            let horizon = own.min(contact.takes).min(*meets);
            let horizon = if horizon == Time::NEVER { least } else { horizon };
            *of = horizon.min(end).max(*of);
            self.last = self.last.max(*of);
        }
    }
    /// Spreads the earliest outputs: a process that sends may make its neighbours send a lookahead later.
    /// `first` is the earliest output of all. Outputs less than a lookahead behind it are final, so their
    /// processes update their neighbours; then come the next ones, until all are updated, or [`REACH`] rounds
    /// are over: nobody is reached before what is spread next.
    fn spread(&mut self, mut first: Time) {
        let Horizons { links, contacts, waiting, .. } = self;
        let processes = links.processes as usize;
        if links.all {
            let processes = &mut contacts[..processes];
            return processes
                .iter_mut()
                .for_each(|contact| contact.takes = first + links.lookahead);
        }
        waiting.clear();
        let sending = |process: &u32| contacts[*process as usize].sends < Time::NEVER;
        waiting.extend((0..links.processes).filter(sending));
        let mut untold = links.receivers;
        for _ in 0..REACH {
            if untold == 0 || first == Time::NEVER {
                return;
            }
            let limit = first + links.lookahead;
            let (mut next, mut kept, count) = (Time::NEVER, 0, waiting.len());
            for index in 0..count {
                let process = waiting[index];
                let sends = contacts[process as usize].sends;
                if sends >= limit {
                    next = next.min(sends);
                    waiting[kept] = process;
                    kept += 1;
                    continue;
                }
                let arrival = sends + links.lookahead;
                for neighbour in links.to.of(process) {
                    let told = &mut contacts[*neighbour as usize];
                    if arrival < told.takes {
                        untold -= usize::from(told.takes == Time::NEVER);
                        told.takes = arrival;
                        if told.sends == Time::NEVER {
                            waiting.push(*neighbour);
                        }
                        told.sends = told.sends.min(arrival);
                        next = next.min(arrival);
                    }
                }
            }
            waiting.copy_within(count.., kept);
            waiting.truncate(kept + waiting.len() - count);
            first = next;
        }
        let beyond = first + links.lookahead;
        let processes = &mut contacts[..processes];
        processes.iter_mut().for_each(|contact| contact.takes = contact.takes.min(beyond));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

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
            let of = |links: &Links| {
                let mut horizons = Horizons::new(links);
                horizons.apart(earliest_output.iter().copied(), &[], Time(1_050), Time(1_300));
                horizons.of
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
        let row = Links::new(Duration(50), 4, |i| {
            [i.wrapping_sub(1), i + 1].into_iter().filter(|i| *i < 4)
        });
        let told = |source, target| {
            (source, Announced { target, at: Time(1_050), ends: true }, Duration(90))
        };
        let goes = |announced: &[_]| {
            let mut horizons = Horizons::new(&row);
            let earliest_output = [Time::NEVER; 4].into_iter();
            horizons.apart(earliest_output, announced, Time(1_050), Time::NEVER);
            horizons.of
        };
        let (one, other) = (goes(&[told(1, 0), told(2, 3)]), goes(&[told(2, 3), told(1, 0)]));
        assert_eq!(one, other);
        assert!(one[1] > Time::ZERO && one[0] == Time::ZERO, "the side of process 1 goes: {one:?}");
    }

    #[test]
    fn a_horizon_is_the_least_of_all_ways_from_those_that_may_send() {
        let mut random = Random::new(1);
        for _ in 0..500 {
            // Few ways between many, so that some are beyond the reach.
            let (count, share) = [(9, 4), (30, 24)][random.below(2) as usize];
            let count = 1 + random.below(count) as u32;
            let from: Vec<Vec<u32>> = (0..count)
                .map(|_| (0..count).filter(|_| random.below(share) == 0).collect())
                .collect();
            let links = Links::new(Duration(50), count, |to| from[to as usize].clone());
            let earliest_output: Vec<_> = (0..count)
                .map(|_| match random.below(3) {
                    0 => Time::NEVER,
                    _ => Time(1_000 + 25 * random.below(16)), // often several at once
                })
                .collect();
            // Not before somebody could have sent it who is not beyond the others.
            let announced: Vec<_> = (0..random.below(4))
                .map(|_| {
                    let target = random.below(count.into()) as u32;
                    let at = Time(1_050 + 25 * random.below(16));
                    let ends = random.below(2) == 0;
                    let reaction_time = Duration(random.below(3) * 90);
                    (
                        random.below(count.into()) as u32,
                        Announced { target, at, ends },
                        reaction_time,
                    )
                })
                .collect();
            let mut sends = earliest_output.clone();
            let mut meets = vec![Time::NEVER; count as usize];
            for &(_, Announced { target, at, ends }, reaction_time) in &announced {
                let target = target as usize;
                meets[target] = meets[target].min(at);
                if ends || reaction_time == Duration(0) {
                    sends[target] = sends[target].min(at + reaction_time);
                }
            }
            let ways = by_ways(&links, &sends);
            let expected: Vec<_> = ways.into_iter().zip(meets).map(|(a, b)| a.min(b)).collect();
            let (least, end) = (Time(1_050), [Time(1_300), Time::NEVER][random.below(2) as usize]);
            let mut horizons = Horizons::new(&links);
            horizons.apart(earliest_output.iter().copied(), &announced, least, end);
            let own = (0..count).map(|process| (earliest_output[process as usize], process));
            let told = announced.iter().map(|(by, told, _)| (Time(told.at.0 - 50), *by));
            let (sent, first) = own.chain(told).min().unwrap();
            // Whoever tells first.
            let mut other = Horizons::new(&links);
            let turned: Vec<_> = announced.iter().rev().copied().collect();
            other.apart(earliest_output.iter().copied(), &turned, least, end);
            assert!((0..count).all(|process| other.of(process) == horizons.of(process)));
            // Only one of two sides goes, that of the first, if that goes before the end.
            for (process, horizon) in (0..count).zip(&expected) {
                let side = |of: u32| links.side.as_ref().map(|side| side[of as usize]);
                let waits = sent < end && side(process) != side(first);
                let of = horizons.of(process);
                let reach = (sent + links.lookahead() * REACH as u64).min(end);
                match waits {
                    true => assert_eq!(of, Time::ZERO),
                    // Nothing can come; over so many hops nobody has asked.
                    false if *horizon == Time::NEVER => assert!(of == least || of >= reach),
                    false if *horizon.min(&end) <= reach => assert_eq!(of, *horizon.min(&end)),
                    false => assert!(reach <= of && of <= *horizon.min(&end), "{of:?} {horizon:?}"),
                }
            }
            let last = (0..count).map(|process| horizons.of(process)).max();
            assert_eq!(Some(horizons.last()), last);
            // Nobody is called back.
            horizons.apart(earliest_output.iter().map(|_| Time(900)), &[], least, end);
            assert_eq!(Some(horizons.last()), last);
            horizons.together(Time(1_400));
            assert!((0..count).all(|process| horizons.of(process) >= Time(1_400)));
        }
    }
}
