//! How far each logical process may go before anything that others do can reach it.

use crate::{Duration, Time};

/// Who sends messages to whom. Each takes at least the lookahead.
#[derive(Clone, Debug)]
pub struct Links {
    lookahead: Duration,
    /// Where the neighbours of each process begin in `neighbours`, and where the last ones end.
    first: Vec<u32>,
    neighbours: Vec<u32>,
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
        let mut links = Links { lookahead, first: vec![0], neighbours: Vec::new() };
        for process in 0..processes {
            links.neighbours.extend(neighbours(process));
            links.first.push(links.neighbours.len() as u32);
        }
        links
    }
    /// Everybody sends to everybody, and to itself.
    pub fn between_all(lookahead: Duration, processes: u32) -> Links {
        Links::new(lookahead, processes, |_| 0..processes)
    }
    pub(crate) fn lookahead(&self) -> Duration {
        self.lookahead
    }
    #[inline]
    fn of(&self, process: usize) -> &[u32] {
        &self.neighbours[self.first[process] as usize..self.first[process + 1] as usize]
    }
}

/// The horizon of each process: it does everything before it, and takes nothing in before it.
pub(crate) struct Horizons<'a> {
    links: &'a Links,
    /// When each may send anything at the earliest, of its own or because of what others send.
    sends: Vec<Time>,
    /// When the first of what others send can reach each.
    takes: Vec<Time>,
    of: Vec<Time>,
    last: Time,
}

impl<'a> Horizons<'a> {
    pub(crate) fn new(links: &'a Links) -> Horizons<'a> {
        let processes = links.first.len() - 1;
        Horizons {
            links,
            sends: Vec::with_capacity(processes),
            takes: vec![Time::NEVER; processes],
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
        self.sends.clear();
        self.sends.extend(reach);
        self.spread();
        let lookahead = self.links.lookahead;
        for process in 0..self.of.len() {
            // What comes back from the nearest neighbour, should there be none.
            let own = self.sends[process] + lookahead + lookahead;
            let horizon = own.min(self.takes[process]);
            let horizon = if horizon == Time::NEVER { least } else { horizon };
            let of = &mut self.of[process];
            *of = horizon.min(end).max(*of);
            self.last = self.last.max(*of);
        }
    }
    /// Whoever sends may make its neighbours send a lookahead later. Sweeps in both directions,
    /// since neighbours in number tend to be neighbours, until one changes nothing.
    fn spread(&mut self) {
        let count = self.sends.len();
        while self.sweep(0..count) && self.sweep((0..count).rev()) {}
    }
    /// Looks what reaches each process from its neighbours; true if that changes when it may send.
    fn sweep(&mut self, order: impl Iterator<Item = usize>) -> bool {
        let mut changed = false;
        for process in order {
            let sends = self.links.of(process).iter().map(|k| self.sends[*k as usize]);
            let takes = sends.fold(Time::NEVER, Time::min) + self.links.lookahead;
            self.takes[process] = takes;
            if takes < self.sends[process] {
                self.sends[process] = takes;
                changed = true;
            }
        }
        changed
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
            links.of(to).iter().for_each(|from| row[*from as usize] = 1);
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
