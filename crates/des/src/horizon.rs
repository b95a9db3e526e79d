//! How far each logical process may go before anything that others do can reach it.

use crate::{Duration, Time};

/// Who sends messages to whom. Each takes at least the lookahead.
#[derive(Clone, Debug)]
pub struct Links {
    lookahead: Duration,
    processes: u32,
    /// From whom each process takes messages, and to whom it sends them.
    from: Rows,
    to: Rows,
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
        let from: Vec<Vec<u32>> =
            (0..processes).map(|i| neighbours(i).into_iter().collect()).collect();
        let mut to = vec![Vec::new(); from.len()];
        for (process, senders) in (0..).zip(&from) {
            senders.iter().for_each(|sender| to[*sender as usize].push(process));
        }
        Links { lookahead, processes, from: Rows::new(&from), to: Rows::new(&to) }
    }
    /// Everybody sends to everybody, and to itself.
    pub fn between_all(lookahead: Duration, processes: u32) -> Links {
        Links::new(lookahead, processes, |_| 0..processes)
    }
    pub(crate) fn lookahead(&self) -> Duration {
        self.lookahead
    }
}

/// Numbers of processes for each process. All rows are as long as the longest, which spares a look at where
/// they end: behind a shorter one's stands the number of nobody, one more than the last process has.
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
    #[inline(always)]
    fn of(&self, process: usize) -> &[u32] {
        &self.numbers[process * self.width..][..self.width]
    }
}

/// The horizon of each process: it does everything before it, and takes nothing in before it.
pub(crate) struct Horizons<'a> {
    links: &'a Links,
    /// When each may send anything at the earliest, of its own or because of what others send. Nobody,
    /// who stands last here and below, never does.
    sends: Vec<Time>,
    /// When the first of what others send can reach each.
    takes: Vec<Time>,
    /// Those that others make send earlier, of which these others have to be told.
    hurried: Vec<u32>,
    of: Vec<Time>,
    last: Time,
}

impl<'a> Horizons<'a> {
    pub(crate) fn new(links: &'a Links) -> Horizons<'a> {
        let processes = links.processes as usize;
        Horizons {
            links,
            sends: vec![Time::NEVER; processes + 1],
            takes: vec![Time::ZERO; processes + 1],
            hurried: Vec::with_capacity(processes),
            of: vec![Time::ZERO; processes],
            last: Time::ZERO,
        }
    }
    pub(crate) fn of(&self, process: u32) -> Time {
        self.of[process as usize]
    }
    /// The latest of all.
    pub(crate) fn last(&self) -> Time {
        self.last
    }
    /// The same one for all, as far as they are not beyond it.
    pub(crate) fn together(&mut self, horizon: Time) {
        self.of.iter_mut().for_each(|of| *of = horizon.max(*of));
        self.last = self.last.max(horizon);
    }
    /// As far as each can go by the distance from those that may send: `reach` tells when each may,
    /// if nothing comes. Nobody goes beyond `end`, and all at least to `least`.
    pub(crate) fn apart(&mut self, reach: impl Iterator<Item = Time>, least: Time, end: Time) {
        self.sends.iter_mut().zip(reach).for_each(|(sends, reach)| *sends = reach);
        self.spread();
        let lookahead = self.links.lookahead;
        let times = self.sends.iter().zip(&self.takes);
        for (of, (sends, takes)) in self.of.iter_mut().zip(times) {
            // What comes back from the nearest neighbour, should there be none.
            let own = *sends + lookahead + lookahead;
            let horizon = own.min(*takes);
            let horizon = if horizon == Time::NEVER { least } else { horizon };
            *of = horizon.min(end).max(*of);
            self.last = self.last.max(*of);
        }
    }
    /// Whoever sends may make its neighbours send a lookahead later.
    fn spread(&mut self) {
        let Horizons { links, sends, takes, hurried, .. } = self;
        hurried.clear();
        for process in 0..links.processes as usize {
            let told = links.from.of(process).iter().map(|from| sends[*from as usize]);
            let first = told.fold(Time::NEVER, Time::min) + links.lookahead;
            takes[process] = first;
            if first < sends[process] {
                sends[process] = first;
                hurried.push(process as u32);
            }
        }
        let mut told = 0;
        while let Some(process) = hurried.get(told) {
            told += 1;
            let process = *process as usize;
            let arrival = sends[process] + links.lookahead;
            for to in links.to.of(process) {
                let other = *to as usize;
                if arrival < takes[other] {
                    takes[other] = arrival;
                    if arrival < sends[other] {
                        sends[other] = arrival;
                        hurried.push(*to);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    /// The same by the shortest ways between all, with one way back to each itself.
    fn by_ways(links: &Links, reach: &[Time]) -> Vec<Time> {
        let count = reach.len();
        let far = u64::MAX / 4;
        let mut steps = vec![vec![far; count]; count];
        for (to, row) in steps.iter_mut().enumerate() {
            let senders = links.from.of(to).iter().filter(|from| **from < links.processes);
            senders.for_each(|from| row[*from as usize] = 1);
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
            let first = ways.map(|from| reach[from] + links.lookahead() * steps[to][from]).min();
            first.unwrap_or(Time::NEVER).min(reach[to] + links.lookahead() * 2)
        };
        (0..count).map(horizon).collect()
    }

    #[test]
    fn a_horizon_is_the_least_of_all_ways_from_those_that_may_send() {
        let mut random = Random::new(1);
        for _ in 0..500 {
            let count = 1 + random.below(9) as u32;
            let from: Vec<Vec<u32>> =
                (0..count).map(|_| (0..count).filter(|_| random.below(4) == 0).collect()).collect();
            let links = Links::new(Duration(50), count, |to| from[to as usize].clone());
            let reach: Vec<_> = (0..count)
                .map(|_| match random.below(3) {
                    0 => Time::NEVER,
                    _ => Time(1_000 + random.below(400)),
                })
                .collect();
            let (least, end) = (Time(1_050), Time(1_300));
            let mut horizons = Horizons::new(&links);
            horizons.apart(reach.iter().copied(), least, end);
            for (process, horizon) in (0..count).zip(by_ways(&links, &reach)) {
                let horizon = if horizon == Time::NEVER { least } else { horizon };
                assert_eq!(horizons.of(process), horizon.min(end));
            }
            let last = (0..count).map(|process| horizons.of(process)).max();
            assert_eq!(Some(horizons.last()), last);
            // Nobody is called back.
            horizons.apart(reach.iter().map(|_| Time(900)), least, end);
            assert_eq!(Some(horizons.last()), last);
            horizons.together(Time(1_400));
            assert!((0..count).all(|process| horizons.of(process) == Time(1_400)));
        }
    }
}
