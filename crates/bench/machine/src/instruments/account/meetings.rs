//! Last arrivals at collective operations. The ranks of all nodes report their arrivals in any order; the
//! result does not depend on it. Memory grows with the operations that are not complete, not with all.

use super::Chain;
use des::Time;
use rustc_hash::FxHashMap;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The collective operations of one function, all that every member has called.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Collective {
    /// The function.
    pub call: &'static str,
    /// Number of operations: a call of every member is one.
    pub times: u64,
    /// Time from the first arrival to the last, summed over all operations, in picoseconds.
    pub spread_ps: u64,
    /// Ranks that came last, the one with the longest total delay first.
    pub last: Vec<CameLast>,
    /// Ranks that came last at least once.
    pub ranks: u64,
}

/// A rank that came last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CameLast {
    /// The rank.
    pub rank: u32,
    /// Number of operations to which it came last.
    pub times: u64,
    /// Time after the rank before it, summed, in picoseconds.
    pub ps: u64,
}

/// Number of ranks that are reported of those that came last.
const LAST_MAX: usize = 8;

/// A collective operation: its communicator, and its number there.
pub(crate) type Meeting = (u64, u64);

/// Arrival of a rank at an operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    /// Its function.
    pub call: &'static str,
    pub rank: u32,
    pub at: Time,
}

/// Arrivals of ranks at an operation that is not complete.
#[derive(Clone, Copy, Debug)]
struct Open {
    call: &'static str,
    came: u32,
    first: Time,
    /// Last arrival, and the time of the one before.
    last: (Time, u32),
    before: Time,
}

#[derive(Debug, Default)]
struct Sum {
    times: u64,
    spread: u64,
    last: FxHashMap<u32, (u64, u64)>,
}

#[derive(Debug, Default)]
struct Book {
    open: FxHashMap<Meeting, Open>,
    sums: BTreeMap<&'static str, Sum>,
    /// Last hand-overs to the network interface: of each communicator the two latest operations, as a rank
    /// can be in the next one before another knows that the one before is over.
    given: FxHashMap<u64, [(u64, Chain); 2]>,
    /// Last rank of each operation, and its time, if rows for calls are written.
    rows: Option<FxHashMap<Meeting, (Time, u32)>>,
}

/// All operations of a run.
#[derive(Debug, Default)]
pub(crate) struct Meetings(Mutex<Book>);

impl Meetings {
    /// Book of operations; it keeps the last arrivals if `rows` are written.
    pub fn new(rows: bool) -> Meetings {
        Meetings(Mutex::new(Book { rows: rows.then(FxHashMap::default), ..Book::default() }))
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the arrival of a rank, one of so many.
    pub fn comes(&self, meeting: Meeting, members: u32, Arrival { call, rank, at }: Arrival) {
        if members < 2 {
            return;
        }
        let book = &mut *self.book();
        let open = book.open.entry(meeting).or_insert(Open {
            call,
            came: 0,
            first: Time::NEVER,
            last: (Time::ZERO, 0),
            before: Time::ZERO,
        });
        open.came += 1;
        open.first = open.first.min(at);
        let (one, other) = (open.last.max((at, rank)), open.last.min((at, rank)));
        (open.last, open.before) = (one, open.before.max(other.0));
        if open.came < members {
            return;
        }
        let Open { call, first, last: (at, rank), before, .. } = *open;
        book.open.remove(&meeting);
        let sum = book.sums.entry(call).or_default();
        sum.times += 1;
        sum.spread += at.since(first).0;
        let last = sum.last.entry(rank).or_default();
        *last = (last.0 + 1, last.1 + at.since(before).0);
        if let Some(rows) = &mut book.rows {
            rows.insert(meeting, (at, rank));
        }
    }

    /// A rank hands the operation over to its network interface, at the end of this chain.
    pub fn hands_over(&self, (communicator, number): Meeting, chain: Chain) {
        let place = (number % 2) as usize;
        let given = &mut self.book().given;
        let (latest, last) = &mut given.entry(communicator).or_default()[place];
        let is_later = (chain.until, chain.rank) > (last.until, last.rank);
        if *latest != number || is_later {
            (*latest, *last) = (number, chain);
        }
    }

    /// Chain of the rank that handed an operation over last, if that is over.
    pub fn last_hand_over(&self, (communicator, number): Meeting) -> Option<Chain> {
        let (latest, last) = self.book().given.get(&communicator)?[(number % 2) as usize];
        (latest == number).then_some(last)
    }

    /// Time and rank of the last arrival at an operation, if rows are asked for and all ranks have arrived.
    pub fn last_of(&self, meeting: Meeting) -> Option<(Time, u32)> {
        self.book().rows.as_ref()?.get(&meeting).copied()
    }

    /// All functions, by name.
    pub fn told(&self) -> Vec<Collective> {
        let told = |(call, sum): (&&'static str, &Sum)| {
            let one = |(rank, (times, ps)): (&u32, &(u64, u64))| CameLast {
                rank: *rank,
                times: *times,
                ps: *ps,
            };
            let mut last: Vec<CameLast> = sum.last.iter().map(one).collect();
            last.sort_by_key(|last| (std::cmp::Reverse((last.ps, last.times)), last.rank));
            let ranks = last.len() as u64;
            last.truncate(LAST_MAX);
            Collective { call, times: sum.times, spread_ps: sum.spread, last, ranks }
        };
        self.book().sums.iter().map(told).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The last rank is found in any order of reports.
    #[test]
    fn the_last_is_found_in_any_order() {
        let came = [(0, 100), (1, 350), (2, 300)];
        let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
        for order in orders {
            let meetings = Meetings::new(true);
            for place in order {
                let (rank, at) = came[place];
                assert!(meetings.told().is_empty());
                let arrival = Arrival { call: "MPI_Barrier", rank, at: Time(at) };
                meetings.comes((7, 3), 3, arrival);
            }
            let last = vec![CameLast { rank: 1, times: 1, ps: 50 }];
            let call = "MPI_Barrier";
            let told = Collective { call, times: 1, spread_ps: 250, last, ranks: 1 };
            assert_eq!(meetings.told(), [told]);
            assert_eq!(meetings.last_of((7, 3)), Some((Time(350), 1)));
            assert!(meetings.book().open.is_empty());
        }
    }

    /// Of ranks that come at the same time, the one with the highest number counts as the last.
    #[test]
    fn others_may_come_at_the_same_time() {
        let meetings = Meetings::new(false);
        for rank in [2, 0, 1] {
            meetings.comes((0, 0), 3, Arrival { call: "MPI_Bcast", rank, at: Time(5) });
        }
        let told = &meetings.told()[0];
        assert_eq!((told.last[0].rank, told.last[0].ps, told.spread_ps), (2, 0, 0));
        assert_eq!(meetings.last_of((0, 0)), None);
    }
}
