//! Collective operations. Each has one or more named algorithms over point-to-point messages in the
//! communicator's own context for collectives; a machine file chooses (`mpi.barrier =
//! "dissemination"`). An algorithm plans a schedule; `schedule` does it.
//!
//! All ranks call the collectives of a communicator in the same order, so that a count of them
//! tells the messages of one from those of another; within one, the messages of a pair of ranks
//! keep their order.

mod allgather;
mod allreduce;
mod alltoall;
mod barrier;
mod bcast;
mod gather;
mod on_nic;
mod parts;
mod reduce;
mod reduce_scatter;
mod scan;
mod scatter;
pub(crate) mod schedule;

pub(crate) use parts::Parts;

use crate::datatype::items::Items;
use crate::reduction::Reduction;
use schedule::Plan;
use std::rc::Rc;

/// A named way to do a collective operation.
#[derive(Clone, Copy, Debug)]
pub struct Algorithm<Run: 'static> {
    /// Its name in a machine file.
    pub name: &'static str,
    /// Description, in a line.
    pub doc: &'static str,
    pub(crate) run: Run,
}

/// All of a communicator.
pub(crate) type Barrier = fn(&mut Plan<'_>);
/// Items from rank `root` to all.
pub(crate) type Bcast = fn(&mut Plan<'_>, &Items, u32);
/// The accumulators of all, into that of rank `root`.
pub(crate) type Reduce = fn(&mut Plan<'_>, &Accumulator, u32);
/// The accumulators of all, into everyone's.
pub(crate) type Allreduce = fn(&mut Plan<'_>, &Accumulator);
/// A part of each rank to or from `root`. Each rank names its own part (None: already in place),
/// the root all parts.
pub(crate) type Rooted = fn(&mut Plan<'_>, Option<&Items>, Option<&Parts>, u32);
/// Everyone's part, which lies in place already, to all.
pub(crate) type Allgather = fn(&mut Plan<'_>, &Parts);
/// A part of each pair of ranks; the one for oneself lies in place already.
pub(crate) type Alltoall = fn(&mut Plan<'_>, &Parts, &Parts);
/// The accumulators of all, of which rank `i` gets as many items as the list says, in place.
pub(crate) type ReduceScatter = fn(&mut Plan<'_>, &Accumulator, &[u64]);
/// The accumulators of all ranks up to this one into its own (exclusive: of those before it; rank
/// 0's stays).
pub(crate) type Scan = fn(&mut Plan<'_>, &Accumulator, bool);

/// Packed items that are being reduced: this rank's own at first, the result in the end.
#[derive(Clone, Debug)]
pub(crate) struct Accumulator {
    pub va: u64,
    pub bytes: u64,
    /// Buffer of as many bytes, for the items of others.
    pub received: u64,
    pub reduction: Rc<Reduction>,
    /// Items.
    pub count: u64,
}

impl Plan<'_> {
    /// The accumulator's bytes.
    fn own(&self, acc: &Accumulator) -> Items {
        self.bytes(acc.va, acc.bytes)
    }
    /// Items that another rank sends.
    fn other(&self, acc: &Accumulator) -> Items {
        self.bytes(acc.received, acc.bytes)
    }
    /// Combines what was received from ranks `before` this rank's, or behind them, with the
    /// accumulator.
    fn take_in(&mut self, acc: &Accumulator, before: bool) {
        self.merge(&acc.reduction, acc.received, acc.va, acc.count, before);
    }
    /// `own = other op own` if `before`, else `own = own op other`; `other` is lost.
    fn merge(&mut self, reduction: &Rc<Reduction>, other: u64, own: u64, count: u64, before: bool) {
        if before || reduction.operator.commutes() {
            self.combine(reduction, other, own, count);
        } else {
            self.combine(reduction, own, other, count);
            let bytes = count * reduction.size();
            self.copy(self.bytes(other, bytes), self.bytes(own, bytes));
        }
    }
}

macro_rules! algorithms {
    ($($name:ident: $kind:ty = $table:path, $doc:literal;)*) => {
        /// Algorithm of each collective.
        #[derive(Clone, Copy, Debug)]
        pub struct Algorithms {
            $(#[doc = $doc] pub(crate) $name: &'static Algorithm<$kind>,)*
        }

        impl Default for Algorithms {
            /// The first of each.
            fn default() -> Algorithms {
                Algorithms { $($name: &$table[0],)* }
            }
        }

        impl Algorithms {
            /// The collectives that offer a choice.
            pub const COLLECTIVES: [&'static str; [$(stringify!($name)),*].len()] =
                [$(stringify!($name)),*];

            /// Chooses `name` for `collective`; else a sentence that says what is allowed.
            pub fn set(&mut self, collective: &str, name: &str) -> Result<(), String> {
                match collective {
                    $(stringify!($name) => self.$name = pick(collective, &$table, name)?,)*
                    _ => {
                        let known = Algorithms::COLLECTIVES.join(", ");
                        let none = format!("no choice of algorithms for \"{collective}\"");
                        return Err(format!("{none} ({known})"));
                    }
                }
                Ok(())
            }

            /// Name and line of each algorithm of `collective`, the default first.
            pub fn of(collective: &str) -> Vec<(&'static str, &'static str)> {
                match collective {
                    $(stringify!($name) => list(&$table),)*
                    _ => Vec::new(),
                }
            }
        }
    };
}

algorithms! {
    barrier: Barrier = barrier::ALGORITHMS, "MPI_Barrier.";
    bcast: Bcast = bcast::ALGORITHMS, "MPI_Bcast.";
    reduce: Reduce = reduce::ALGORITHMS, "MPI_Reduce.";
    allreduce: Allreduce = allreduce::ALGORITHMS, "MPI_Allreduce.";
    gather: Rooted = gather::ALGORITHMS, "MPI_Gather, and MPI_Gatherv if it can.";
    scatter: Rooted = scatter::ALGORITHMS, "MPI_Scatter, and MPI_Scatterv if it can.";
    allgather: Allgather = allgather::ALGORITHMS, "MPI_Allgather, and MPI_Allgatherv if it can.";
    alltoall: Alltoall = alltoall::ALGORITHMS, "MPI_Alltoall, MPI_Alltoallv, MPI_Alltoallw.";
    reduce_scatter: ReduceScatter = reduce_scatter::ALGORITHMS,
        "MPI_Reduce_scatter and MPI_Reduce_scatter_block.";
    scan: Scan = scan::ALGORITHMS, "MPI_Scan and MPI_Exscan.";
}

fn list<Run>(all: &'static [Algorithm<Run>]) -> Vec<(&'static str, &'static str)> {
    all.iter().map(|algorithm| (algorithm.name, algorithm.doc)).collect()
}

fn pick<Run>(
    collective: &str,
    all: &'static [Algorithm<Run>],
    name: &str,
) -> Result<&'static Algorithm<Run>, String> {
    all.iter().find(|algorithm| algorithm.name == name).ok_or_else(|| {
        let known: Vec<_> = all.iter().map(|algorithm| algorithm.name).collect();
        format!("mpi.{collective} has no algorithm \"{name}\" ({})", known.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn algorithms_are_chosen_by_name() {
        let mut algorithms = Algorithms::default();
        for collective in Algorithms::COLLECTIVES {
            for (name, _) in Algorithms::of(collective) {
                algorithms.set(collective, name).expect("a listed name");
            }
        }
        assert_eq!(
            algorithms.set("barrier", "magic").expect_err("unknown"),
            "mpi.barrier has no algorithm \"magic\" (dissemination, tree, nic)"
        );
    }
}
