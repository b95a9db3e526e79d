//! Barriers.

use super::algorithm::{Algorithm, Barrier};
use super::plan::Plan;
use super::schedule::OnNicOperation;
use crate::error::Result;

pub(super) static ALGORITHMS: [Algorithm<Barrier>; 3] = [
    Algorithm {
        name: "dissemination",
        doc: "in round k every rank tells the rank 2^k above it; ceil(log2 n) rounds",
        run: dissemination,
    },
    Algorithm { name: "tree", doc: "up a binomial tree to rank 0 and down again", run: tree },
    Algorithm {
        name: "nic",
        doc: "dissemination by the network interfaces' firmware; by the hosts where a member has \
              none",
        run: |plan| plan.on_nic(OnNicOperation::Barrier),
    },
];

pub(super) fn dissemination(plan: &mut Plan<'_>) {
    let (rank, size, nothing) = (plan.rank, plan.size, plan.bytes(0, 0));
    let mut distance = 1;
    while distance < size {
        let (to, from) = ((rank + distance) % size, (rank + size - distance) % size);
        plan.swap(to, nothing.clone(), from, nothing.clone());
        distance *= 2;
    }
}

fn tree(plan: &mut Plan<'_>) {
    let (rank, size, nothing) = (plan.rank, plan.size, plan.bytes(0, 0));
    let mut bit = 1;
    while bit < size && rank & bit == 0 {
        if rank + bit < size {
            plan.receive(rank + bit, nothing.clone());
        }
        bit *= 2;
    }
    plan.wait();
    if rank != 0 {
        plan.send(rank - bit, nothing.clone());
        plan.receive(rank - bit, nothing.clone());
        plan.wait();
    }
    while bit > 1 {
        bit /= 2;
        if rank + bit < size {
            plan.send(rank + bit, nothing.clone());
        }
    }
}

/// Plans a barrier.
pub(crate) fn plan(plan: &mut Plan<'_>) -> Result<()> {
    let run = plan.collectives.algorithms.barrier.run;
    run(plan);
    Ok(())
}
