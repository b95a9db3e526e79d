//! Broadcasts.

use super::algorithm::{Algorithm, Bcast};
use super::plan::Plan;
use crate::datatype::items::Items;
use crate::error::Result;

pub(super) static ALGORITHMS: [Algorithm<Bcast>; 2] = [
    Algorithm {
        name: "binomial",
        doc: "down a binomial tree from the root; ceil(log2 n) rounds",
        run: binomial,
    },
    Algorithm { name: "linear", doc: "from the root to each rank in turn", run: linear },
];

fn binomial(plan: &mut Plan<'_>, data: &Items, root: u32) {
    let (rank, size) = (plan.rank, plan.size);
    // Ranks are counted from the root on.
    let relative = (rank + size - root) % size;
    let absolute = |relative: u32| (relative + root) % size;
    let mut bit = 1;
    while bit < size && relative & bit == 0 {
        bit *= 2;
    }
    if relative != 0 {
        plan.receive(absolute(relative - bit), data.clone());
        plan.wait();
    }
    while bit > 1 {
        bit /= 2;
        if relative + bit < size {
            plan.send(absolute(relative + bit), data.clone());
        }
    }
}

fn linear(plan: &mut Plan<'_>, data: &Items, root: u32) {
    if plan.rank != root {
        return plan.receive(root, data.clone());
    }
    (0..plan.size).filter(|&to| to != root).for_each(|to| plan.send(to, data.clone()));
}

/// Plans to bring root's items to all.
pub(crate) fn plan(plan: &mut Plan<'_>, items: &Items, root: u32) -> Result<()> {
    let run = plan.collectives.algorithms.bcast.run;
    let bytes = items.bytes();
    items.check(&plan.p2p.local)?;
    if bytes == 0 || plan.size == 1 {
        return Ok(());
    }
    if items.is_contiguous() {
        run(plan, items, root);
        return Ok(());
    }
    let va = plan.buffer(bytes);
    let packed = plan.bytes(va, bytes);
    if plan.rank == root {
        plan.copy(items.clone(), packed.clone());
    }
    run(plan, &packed, root);
    if plan.rank != root {
        plan.wait();
        plan.copy(packed, items.clone());
    }
    Ok(())
}
