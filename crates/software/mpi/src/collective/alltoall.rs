//! A part of each pair of ranks.

use super::algorithm::{Algorithm, Alltoall};
use super::parts::Parts;
use super::plan::Plan;
use crate::error::Result;

pub(super) static ALGORITHMS: [Algorithm<Alltoall>; 4] = [
    Algorithm {
        name: "by_size",
        doc: "bruck for up to mpi.alltoall_short bytes to each of 8 ranks or more, else pairwise",
        run: by_size,
    },
    Algorithm {
        name: "bruck",
        doc: "ceil(log2 n) rounds, in each of which half of all parts move on; pairwise for \
              MPI_Alltoallv and MPI_Alltoallw",
        run: bruck,
    },
    Algorithm {
        name: "pairwise",
        doc: "n - 1 steps, in each of which a rank sends to one and receives from another",
        run: pairwise,
    },
    Algorithm { name: "linear", doc: "each rank to each, all at once", run: linear },
];

/// Fewer ranks do not gain from rounds: MPICH has the same limit.
const ROUNDS_FROM: u32 = 8;

fn by_size(plan: &mut Plan<'_>, out: &Parts, into: &Parts) {
    let short = plan.p2p.local.params.alltoall_short;
    let is_short = into.block().is_some_and(|block| block <= short);
    let run = if is_short && plan.size >= ROUNDS_FROM { bruck } else { pairwise };
    run(plan, out, into);
}

/// Place `i` of a buffer holds the data for the rank that is `i` above: in the round of
/// each bit, the places whose number has it are sent that far.
fn bruck(plan: &mut Plan<'_>, out: &Parts, into: &Parts) {
    let (Some(block), Parts::Equal(first)) = (into.block(), out) else {
        return pairwise(plan, out, into);
    };
    let (rank, size) = (plan.rank, plan.size);
    let bytes = |parts: u32| u64::from(parts) * block;
    let va = plan.buffer(bytes(size));
    let received = plan.buffer(bytes(size / 2 + 1));
    let above = size - rank;
    let from_here = first.nth(rank).times(above);
    plan.copy(from_here, plan.bytes(va, bytes(above)));
    if rank > 0 {
        let below = first.times(rank);
        plan.copy(below, plan.bytes(va + bytes(above), bytes(rank)));
    }
    let mut bit = 1;
    while bit < size {
        let starts = (bit..size).step_by(2 * bit as usize);
        let moving: Vec<_> =
            starts.map(|start| (bytes(start) as i64, bytes(bit.min(size - start)))).collect();
        let moving = plan.runs(va, &moving);
        let heard = plan.bytes(received, moving.bytes());
        let (to, from) = ((rank + bit) % size, (rank + size - bit) % size);
        plan.swap(to, moving.clone(), from, heard.clone());
        plan.copy(heard, moving);
        bit *= 2;
    }
    // Now place `i` holds what came from the rank that is `i` below.
    let source = |place: u32| (rank + size - place) % size;
    match into {
        Parts::Equal(first) if first.times(size).is_contiguous() => {
            let places: Vec<_> =
                (0..size).map(|place| (bytes(source(place)) as i64, block)).collect();
            let all = plan.runs(first.va, &places);
            plan.copy(plan.bytes(va, bytes(size)), all);
        }
        _ => {
            for place in 0..size {
                plan.copy(plan.bytes(va + bytes(place), block), into.of(source(place)));
            }
        }
    }
}

fn pairwise(plan: &mut Plan<'_>, out: &Parts, into: &Parts) {
    exchange(plan, out, into, true);
}

fn linear(plan: &mut Plan<'_>, out: &Parts, into: &Parts) {
    exchange(plan, out, into, false);
}

fn exchange(plan: &mut Plan<'_>, out: &Parts, into: &Parts, stepwise: bool) {
    let (rank, size) = (plan.rank, plan.size);
    for step in 1..size {
        let (to, from) = ((rank + step) % size, (rank + size - step) % size);
        plan.receive_up_to(from, into.of(from));
        plan.send(to, out.of(to));
        if stepwise {
            plan.wait();
        }
    }
}

/// Plans to bring part `i` of everyone's `out` (None: it is that of `into`) to rank `i`, into its part
/// of the sender's rank.
pub(crate) fn plan(plan: &mut Plan<'_>, out: Option<&Parts>, into: &Parts) -> Result<()> {
    let run = plan.collectives.algorithms.alltoall.run;
    let (rank, size) = (plan.rank, plan.size);
    if let Some(out) = out {
        plan.copy(out.of(rank), into.of(rank));
        run(plan, out, into);
        return Ok(());
    }
    // The data sent lie where they will be overwritten: they are sent from a copy.
    if let Parts::Equal(first) = into {
        let (all, block) = (first.times(size), first.bytes());
        let va = plan.buffer(all.bytes());
        let copy = plan.bytes(va, all.bytes());
        plan.copy(all, copy);
        let copies = Parts::Equal(plan.bytes(va, block));
        run(plan, &copies, into);
        return Ok(());
    }
    let bytes: Vec<u64> = (0..size).map(|peer| into.of(peer).bytes()).collect();
    let mut va = plan.buffer(bytes.iter().sum());
    let mut copies = Vec::with_capacity(bytes.len());
    for (peer, bytes) in (0..size).zip(bytes) {
        let copy = plan.bytes(va, bytes);
        plan.copy(into.of(peer), copy.clone());
        copies.push(copy);
        va += bytes;
    }
    run(plan, &Parts::Any(copies), into);
    Ok(())
}
