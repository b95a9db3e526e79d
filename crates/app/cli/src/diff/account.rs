//! Differences between the accounts of two runs: call by call, in which part of the machine, on which ranks.

use super::compare::{Named, Pair};
use super::read::{Rank, Run};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Ranks that are told of a call.
const RANKS_MAX: usize = 3;

/// Time of all ranks together in the calls of one function, or between calls, in picoseconds.
#[derive(Debug, Serialize)]
pub struct CallDifference {
    /// The function, or what the program does between calls.
    pub call: String,
    /// Number of calls.
    pub times: Pair,
    /// Their time.
    pub total: Pair,
    /// Its parts that differ, the greatest difference first.
    pub parts: Vec<Named>,
    /// Ranks with the greatest differences of that time.
    pub ranks: Vec<RankDifference>,
}

/// Time of a rank in the calls of a function.
#[derive(Debug, Serialize)]
pub struct RankDifference {
    /// The rank.
    pub rank: u32,
    /// Its time.
    #[serde(flatten)]
    pub pair: Pair,
}

/// Calls of a function: number, parts of the time, and the time on each rank.
#[derive(Default)]
struct Sum {
    times: u64,
    parts: BTreeMap<&'static str, u64>,
    ranks: BTreeMap<u32, u64>,
}

impl Sum {
    fn add(&mut self, rank: u32, parts: &[(&'static str, u64)]) {
        for (part, ps) in parts {
            let sum = self.parts.entry(part).or_default();
            *sum = sum.saturating_add(*ps);
            let own = self.ranks.entry(rank).or_default();
            *own = own.saturating_add(*ps);
        }
    }

    fn total(&self) -> u64 {
        self.parts.values().fold(0, |sum, ps| sum.saturating_add(*ps))
    }
}

/// The account, by function.
fn by_call(ranks: &[Rank]) -> BTreeMap<&str, Sum> {
    let mut all: BTreeMap<&str, Sum> = BTreeMap::new();
    for rank in ranks {
        let between = [
            ("computation", rank.computes_ps),
            ("looks at a clock", rank.clocks_ps),
            ("sleep", rank.sleeps_ps),
            ("sockets", rank.sockets_ps),
        ];
        all.entry("between calls").or_default().add(rank.rank, &between);
        for call in &rank.calls {
            let sum = all.entry(&call.call).or_default();
            sum.times = sum.times.saturating_add(call.times);
            let parts = [
                ("library", call.library_ps),
                ("kernel", call.kernel_ps),
                ("NIC", call.nic_ps),
                ("network", call.network_ps),
                ("late senders", call.late_sender_ps),
                ("late receivers", call.late_receiver_ps),
                ("imbalance", call.imbalance_ps),
            ];
            sum.add(rank.rank, &parts);
        }
    }
    all
}

/// All functions whose time or number of calls differs, the greatest difference first.
pub fn differences(a: &Run, b: &Run) -> Vec<CallDifference> {
    let (a, b) = (by_call(&a.account), by_call(&b.account));
    let names: BTreeSet<&str> = a.keys().chain(b.keys()).copied().collect();
    let (none, mut all) = (Sum::default(), Vec::new());
    for name in names {
        let (in_a, in_b) = (a.get(name).unwrap_or(&none), b.get(name).unwrap_or(&none));
        let call = difference(name, in_a, in_b);
        if call.times.difference != 0 || !call.parts.is_empty() {
            all.push(call);
        }
    }
    all.sort_by_key(|call| std::cmp::Reverse(call.total.difference.unsigned_abs()));
    all
}

fn difference(name: &str, a: &Sum, b: &Sum) -> CallDifference {
    let of = |sum: &Sum, part: &str| sum.parts.get(part).copied().unwrap_or(0);
    let parts: BTreeSet<&str> = a.parts.keys().chain(b.parts.keys()).copied().collect();
    let named = |part: &str| {
        let pair = Pair::new(of(a, part), of(b, part));
        Named { name: part.to_owned(), pair }
    };
    let mut parts: Vec<Named> = parts.into_iter().map(named).collect();
    parts.retain(|part| part.pair.difference != 0);
    parts.sort_by_key(|part| std::cmp::Reverse(part.pair.difference.unsigned_abs()));
    let ranks: BTreeSet<u32> = a.ranks.keys().chain(b.ranks.keys()).copied().collect();
    let on = |sum: &Sum, rank: u32| sum.ranks.get(&rank).copied().unwrap_or(0);
    let ranks = ranks.into_iter();
    let mut ranks: Vec<RankDifference> = ranks
        .map(|rank| RankDifference { rank, pair: Pair::new(on(a, rank), on(b, rank)) })
        .filter(|rank| rank.pair.difference != 0)
        .collect();
    ranks.sort_by_key(|rank| std::cmp::Reverse(rank.pair.difference.unsigned_abs()));
    ranks.truncate(RANKS_MAX);
    let (times, total) = (Pair::new(a.times, b.times), Pair::new(a.total(), b.total()));
    CallDifference { call: name.to_owned(), times, total, parts, ranks }
}
