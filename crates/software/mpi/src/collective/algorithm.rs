//! Algorithms of collective operations, as a machine file chooses them.

use super::parts::Parts;
use super::plan::Plan;
use super::schedule::Accumulator;
use crate::datatype::items::Items;

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

/// Algorithm of each collective.
#[derive(Clone, Copy, Debug)]
pub struct Algorithms {
    /// MPI_Barrier.
    pub(crate) barrier: &'static Algorithm<Barrier>,
    /// MPI_Bcast.
    pub(crate) bcast: &'static Algorithm<Bcast>,
    /// MPI_Reduce.
    pub(crate) reduce: &'static Algorithm<Reduce>,
    /// MPI_Allreduce.
    pub(crate) allreduce: &'static Algorithm<Allreduce>,
    /// MPI_Gather, and MPI_Gatherv if it can.
    pub(crate) gather: &'static Algorithm<Rooted>,
    /// MPI_Scatter, and MPI_Scatterv if it can.
    pub(crate) scatter: &'static Algorithm<Rooted>,
    /// MPI_Allgather, and MPI_Allgatherv if it can.
    pub(crate) allgather: &'static Algorithm<Allgather>,
    /// MPI_Alltoall, MPI_Alltoallv, MPI_Alltoallw.
    pub(crate) alltoall: &'static Algorithm<Alltoall>,
    /// MPI_Reduce_scatter and MPI_Reduce_scatter_block.
    pub(crate) reduce_scatter: &'static Algorithm<ReduceScatter>,
    /// MPI_Scan and MPI_Exscan.
    pub(crate) scan: &'static Algorithm<Scan>,
}
