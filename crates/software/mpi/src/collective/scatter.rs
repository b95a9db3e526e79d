//! A part for each rank from one.

use super::algorithm::{Algorithm, Rooted};
use super::parts::Parts;
use super::plan::Plan;
use crate::datatype::items::Items;
use crate::error::Result;

pub(super) static ALGORITHMS: [Algorithm<Rooted>; 2] = [
    Algorithm {
        name: "binomial",
        doc: "down a binomial tree, parts split on the way; linear for MPI_Scatterv",
        run: binomial,
    },
    Algorithm { name: "linear", doc: "from the root to each rank", run: linear },
];

fn linear(plan: &mut Plan<'_>, own: Option<&Items>, all: Option<&Parts>, root: u32) {
    let (rank, size) = (plan.rank, plan.size);
    let Some(all) = all.filter(|_| rank == root) else {
        if let Some(own) = own {
            plan.receive_up_to(root, own.clone());
        }
        return;
    };
    for to in (0..size).filter(|&to| to != rank) {
        plan.send(to, all.of(to));
    }
    if let Some(own) = own {
        plan.copy(all.of(rank), own.clone());
    }
}

fn binomial(plan: &mut Plan<'_>, own: Option<&Items>, all: Option<&Parts>, root: u32) {
    let (rank, size) = (plan.rank, plan.size);
    let relative = (rank + size - root) % size;
    let absolute = |relative: u32| (relative + root) % size;
    let block = match (own, all) {
        (_, Some(all)) if rank == root => all.block().unwrap_or(0),
        (own, _) => own.map_or(0, Items::bytes),
    };
    let below = |bit: u32, relative: u32| u64::from(bit.min(size - relative));
    let mut bit = 1;
    while bit < size && relative & bit == 0 {
        bit *= 2;
    }
    let held = below(bit, relative) * block;
    let va = plan.buffer(held);
    match all.filter(|_| rank == root) {
        Some(all) => {
            for to in 0..size {
                let packed = plan.bytes(va + u64::from(to) * block, block);
                plan.copy(all.of(absolute(to)), packed);
            }
        }
        None => {
            plan.receive(absolute(relative - bit), plan.bytes(va, held));
            plan.wait();
        }
    }
    while bit > 1 {
        bit /= 2;
        if relative + bit < size {
            let bytes = below(bit, relative + bit) * block;
            let place = plan.bytes(va + u64::from(bit) * block, bytes);
            plan.send(absolute(relative + bit), place);
        }
    }
    if let Some(own) = own {
        plan.copy(plan.bytes(va, block), own.clone());
    }
}

/// Plans to bring the parts of root's `all` to everyone's `own` (None: it stays in place).
pub(crate) fn plan(
    plan: &mut Plan<'_>,
    all: Option<&Parts>,
    own: Option<&Items>,
    root: u32,
) -> Result<()> {
    let run = plan.collectives.algorithms.scatter.run;
    run(plan, own, all, root);
    Ok(())
}

/// The same where the parts need not be equal.
pub(crate) fn plan_unequal(
    plan: &mut Plan<'_>,
    all: Option<&Parts>,
    own: Option<&Items>,
    root: u32,
) -> Result<()> {
    linear(plan, own, all, root);
    Ok(())
}
