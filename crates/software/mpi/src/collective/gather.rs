//! A part of each rank to one.

use super::algorithm::{Algorithm, Rooted};
use super::parts::Parts;
use super::plan::Plan;
use crate::datatype::items::Items;
use crate::error::Result;

pub(super) static ALGORITHMS: [Algorithm<Rooted>; 2] = [
    Algorithm {
        name: "binomial",
        doc: "up a binomial tree, parts joined on the way; linear for MPI_Gatherv",
        run: binomial,
    },
    Algorithm { name: "linear", doc: "each rank to the root", run: linear },
];

fn linear(plan: &mut Plan<'_>, own: Option<&Items>, all: Option<&Parts>, root: u32) {
    let (rank, size) = (plan.rank, plan.size);
    let Some(all) = all.filter(|_| rank == root) else {
        if let Some(own) = own {
            plan.send(root, own.clone());
        }
        return;
    };
    for from in (0..size).filter(|&from| from != rank) {
        plan.receive_up_to(from, all.of(from));
    }
    if let Some(own) = own {
        plan.copy(own.clone(), all.of(rank));
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
    if let Some(own) = own {
        plan.copy(own.clone(), plan.bytes(va, block));
    }
    let mut child = 1;
    while child < bit && relative + child < size {
        let bytes = below(child, relative + child) * block;
        let place = plan.bytes(va + u64::from(child) * block, bytes);
        plan.receive(absolute(relative + child), place);
        child *= 2;
    }
    plan.wait();
    if relative != 0 {
        return plan.send(absolute(relative - bit), plan.bytes(va, held));
    }
    let Some(all) = all else { return };
    for from in 0..size {
        let first = if own.is_some() { 0 } else { 1 };
        if from >= first {
            let packed = plan.bytes(va + u64::from(from) * block, block);
            plan.copy(packed, all.of(absolute(from)));
        }
    }
}

/// Plans to bring everyone's `own` (None: already in place) into the parts of root's `all`.
pub(crate) fn plan(
    plan: &mut Plan<'_>,
    own: Option<&Items>,
    all: Option<&Parts>,
    root: u32,
) -> Result<()> {
    let run = plan.collectives.algorithms.gather.run;
    run(plan, own, all, root);
    Ok(())
}

/// The same where the parts need not be equal.
pub(crate) fn plan_unequal(
    plan: &mut Plan<'_>,
    own: Option<&Items>,
    all: Option<&Parts>,
    root: u32,
) -> Result<()> {
    linear(plan, own, all, root);
    Ok(())
}
