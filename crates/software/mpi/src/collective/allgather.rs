//! A part of each rank to all.

use super::algorithm::{Algorithm, Allgather};
use super::parts::Parts;
use super::plan::Plan;
use crate::datatype::items::Items;
use crate::error::Result;

pub(super) static ALGORITHMS: [Algorithm<Allgather>; 4] = [
    Algorithm {
        name: "by_size",
        doc: "bruck for up to mpi.allgather_short bytes of all ranks, else ring",
        run: by_size,
    },
    Algorithm {
        name: "ring",
        doc: "in each of n - 1 steps a rank passes on the part that it got last",
        run: ring,
    },
    Algorithm {
        name: "bruck",
        doc: "ceil(log2 n) rounds, in each of which what a rank holds doubles; ring for \
              MPI_Allgatherv",
        run: bruck,
    },
    Algorithm { name: "linear", doc: "each rank to each, all at once", run: linear },
];

fn by_size(plan: &mut Plan<'_>, all: &Parts) {
    let short = plan.p2p.local.params.allgather_short;
    let is_short = all.block().is_some_and(|block| block * u64::from(plan.size) <= short);
    let run = if is_short { bruck } else { ring };
    run(plan, all);
}

fn ring(plan: &mut Plan<'_>, all: &Parts) {
    let (rank, size) = (plan.rank, plan.size);
    let (next, previous) = ((rank + 1) % size, (rank + size - 1) % size);
    for step in 1..size {
        let out = (rank + size + 1 - step) % size;
        let into = (rank + size - step) % size;
        plan.receive_up_to(previous, all.of(into));
        plan.send(next, all.of(out));
        plan.wait();
    }
}

fn bruck(plan: &mut Plan<'_>, all: &Parts) {
    let (rank, size) = (plan.rank, plan.size);
    let Some(block) = all.block() else { return ring(plan, all) };
    let va = plan.buffer(block * u64::from(size));
    plan.copy(all.of(rank), plan.bytes(va, block));
    let mut held = 1;
    while held < size {
        let bytes = u64::from(held.min(size - held)) * block;
        let into = plan.bytes(va + u64::from(held) * block, bytes);
        let (to, from) = ((rank + size - held) % size, (rank + held) % size);
        plan.swap(to, plan.bytes(va, bytes), from, into);
        held *= 2;
    }
    for distance in 1..size {
        let packed = plan.bytes(va + u64::from(distance) * block, block);
        plan.copy(packed, all.of((rank + distance) % size));
    }
}

fn linear(plan: &mut Plan<'_>, all: &Parts) {
    let (rank, size) = (plan.rank, plan.size);
    for step in 1..size {
        let (to, from) = ((rank + step) % size, (rank + size - step) % size);
        plan.receive_up_to(from, all.of(from));
        plan.send(to, all.of(rank));
    }
}

/// Plans to bring everyone's `own` (None: already in place) into the parts of everyone's `all`.
pub(crate) fn plan(plan: &mut Plan<'_>, own: Option<&Items>, all: &Parts) -> Result<()> {
    let run = plan.collectives.algorithms.allgather.run;
    if let Some(own) = own {
        plan.copy(own.clone(), all.of(plan.rank));
    }
    run(plan, all);
    Ok(())
}
