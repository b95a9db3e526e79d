//! Depths of queues and use of parts over time, from the records of the running machine
//! (`machine::instruments::timeline`). Memory for a node does not grow with the length of the run.

use super::uses::{Use, Uses};
use des::{Duration, Time};
use machine::instruments::timeline::{About, Gauge, Sink, Watcher, What};
use machine::instruments::write_error::WriteError;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Most bins of a course; it has at least half of them.
const BINS: usize = 256;

/// First width of a bin, in picoseconds; it doubles as the run gets longer.
const NARROWEST: u64 = 1 << 18;

/// A span of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bin {
    /// Sum over time, in picoseconds times entries (of queues) or in picoseconds (of links that are busy).
    pub sum: u64,
    /// The greatest depth.
    pub most: u32,
}

/// Depth or use over time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    /// Bins of `width` from the launch on; missing ones are 0.
    pub bins: Vec<Bin>,
    /// Width of a bin, in picoseconds.
    pub width: u64,
    /// Time in which it was not 0, in picoseconds.
    pub used: u64,
    /// Present depth, as (since, depth).
    last: (u64, u32),
}

impl Default for Series {
    fn default() -> Series {
        Series { bins: Vec::new(), width: NARROWEST, used: 0, last: (0, 0) }
    }
}

impl Series {
    /// The greatest depth of all.
    pub fn most(&self) -> u32 {
        self.bins.iter().map(|bin| bin.most).max().unwrap_or(0)
    }
    /// Sum over all of the time.
    pub fn sum(&self) -> u64 {
        self.bins.iter().map(|bin| bin.sum).sum()
    }

    /// Halves the number of bins.
    fn coarsen(&mut self) {
        let join = |pair: &[Bin]| Bin {
            sum: pair.iter().map(|bin| bin.sum).sum(),
            most: pair.iter().map(|bin| bin.most).max().unwrap_or(0),
        };
        self.bins = self.bins.chunks(2).map(join).collect();
        self.width *= 2;
    }

    /// The bin at a time, in picoseconds.
    fn bin(&mut self, at: u64) -> &mut Bin {
        while at / self.width >= BINS as u64 {
            self.coarsen();
        }
        let index = (at / self.width) as usize;
        if index >= self.bins.len() {
            self.bins.resize(index + 1, Bin::default());
        }
        &mut self.bins[index]
    }

    /// Calls `each` for every bin from one time to another, with the time in it.
    fn over(&mut self, from: u64, to: u64, mut each: impl FnMut(&mut Bin, u64)) {
        let mut at = from;
        while at < to {
            // It may become wider now, so its end is looked up behind that.
            self.bin(at);
            let end = (at / self.width + 1) * self.width;
            each(self.bin(at), end.min(to) - at);
            at = end.min(to);
        }
    }

    /// Sets the depth from `at` on.
    pub fn set(&mut self, at: u64, depth: u32) {
        let (since, before) = std::mem::replace(&mut self.last, (at, depth));
        if before > 0 {
            self.used += at - since;
            self.over(since, at, |bin, time| {
                bin.sum += u64::from(before) * time;
                bin.most = bin.most.max(before);
            });
        }
        if depth > 0 {
            let bin = self.bin(at);
            bin.most = bin.most.max(depth);
        }
    }

    /// Adds busy time between two times.
    fn busy(&mut self, from: u64, to: u64, busy: u64) {
        self.used += busy;
        let (span, mut left) = ((to - from).max(1), busy);
        self.over(from, to.max(from + 1), |bin, time| {
            // What is left over by rounding goes to the last one.
            let part = (u128::from(busy) * u128::from(time) / u128::from(span)) as u64;
            bin.sum += part;
            left -= part.min(left);
        });
        self.bin(to).sum += left;
    }
}

/// One node over time.
#[derive(Clone, Debug, Default)]
pub struct Node {
    /// Its number.
    pub nid: u32,
    /// Queues that were ever used.
    pub queues: BTreeMap<Gauge, Series>,
    /// Links that were ever used, by the neighbour behind them.
    pub links: BTreeMap<u32, Series>,
    /// Use of parts other than links.
    pub uses: BTreeMap<Use, Series>,
    /// Cores of the host, and nodes to which links lead.
    pub cores: u32,
    pub neighbours: u32,
    /// Time from the launch to the end of the node, in picoseconds.
    pub span: u64,
}

/// Watches a run.
#[derive(Clone, Debug, Default)]
pub struct Depths(Arc<Mutex<Vec<Node>>>);

impl Depths {
    /// All nodes, in the order of their numbers.
    pub fn take(&self) -> Vec<Node> {
        let mut nodes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut nodes = std::mem::take(&mut *nodes);
        nodes.sort_by_key(|node| node.nid);
        nodes
    }
}

impl Watcher for Depths {
    fn node(&self, about: About) -> Box<dyn Sink> {
        let (cores, neighbours) = (about.cores, about.neighbours.iter().flatten().count() as u32);
        let node = Node { nid: about.nid, cores, neighbours, ..Node::default() };
        let uses = Uses::default();
        Box::new(Gatherer { about, node, uses, launch: None, all: self.0.clone() })
    }
    fn finish(&self) -> Result<(), WriteError> {
        Ok(())
    }
}

/// Gathers one node.
struct Gatherer {
    about: About,
    node: Node,
    uses: Uses,
    /// Time of the first record: the launch.
    launch: Option<Time>,
    all: Arc<Mutex<Vec<Node>>>,
}

impl Sink for Gatherer {
    fn record(&mut self, at: Time, what: What) {
        let launch = *self.launch.get_or_insert(at);
        let since = |at: Time| at.since(launch).0;
        match what {
            What::Depth { gauge, value } => {
                // A queue that has always been empty is not drawn.
                if value > 0 || self.node.queues.contains_key(&gauge) {
                    self.node.queues.entry(gauge).or_default().set(since(at), value);
                }
            }
            What::Busy { output, until, load, .. } => {
                let link = self.about.neighbours.get(usize::from(output)).copied().flatten();
                if let Some(link) = link {
                    let Duration(busy) = load.busy;
                    let series = self.node.links.entry(link).or_default();
                    series.busy(since(at), since(until), busy);
                }
            }
            What::Begin { track, name, .. } => self.uses.begin(since(at), track, name),
            What::End { track } => self.uses.end(since(at), track),
            What::Step { .. } => {}
        }
    }

    fn finish(mut self: Box<Self>, at: Time) {
        let span = at.since(self.launch.unwrap_or(at)).0;
        for series in self.node.queues.values_mut() {
            series.set(span, 0);
        }
        self.node.uses = self.uses.finish(span);
        self.node.span = span;
        self.all.lock().unwrap_or_else(PoisonError::into_inner).push(self.node);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depths_add_up_however_often_bins_are_joined() {
        let mut series = Series::default();
        let (mut at, mut sum, mut used, mut depth) = (0, 0, 0, 0);
        for step in 0..3000_u64 {
            let next = at + 1 + step * 7919 % (3 * NARROWEST);
            (sum, used) = (sum + depth * (next - at), used + if depth > 0 { next - at } else { 0 });
            (at, depth) = (next, step % 5);
            series.set(at, depth as u32);
        }
        series.set(at, 0);
        assert_eq!((series.sum(), series.used, series.most()), (sum, used, 4));
        assert!(series.bins.len() <= BINS && series.bins.len() >= BINS / 2);
        assert!(series.width > NARROWEST && series.width.is_power_of_two());
    }

    #[test]
    fn a_depth_of_no_duration_is_the_greatest_all_the_same() {
        let mut series = Series::default();
        series.set(10, 1);
        series.set(20, 9);
        series.set(20, 1);
        series.set(30, 0);
        assert_eq!((series.most(), series.sum(), series.used), (9, 20, 20));
    }

    #[test]
    fn links_are_busy_in_the_bins_between() {
        let mut series = Series::default();
        series.busy(NARROWEST / 2, NARROWEST * 5 / 2, NARROWEST);
        let sums: Vec<u64> = series.bins.iter().map(|bin| bin.sum).collect();
        assert_eq!(sums, [NARROWEST / 4, NARROWEST / 2, NARROWEST / 4]);
        series.busy(5, 5, 7);
        assert_eq!((series.sum(), series.used), (NARROWEST + 7, NARROWEST + 7));
    }
}
