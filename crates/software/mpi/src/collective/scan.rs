//! Reductions of all ranks up to each.

use super::algorithm::{Algorithm, Scan};
use super::plan::Plan;
use super::reduce;
use super::schedule::Accumulator;
use crate::datatype::items::Items;
use crate::error::Result;
use crate::reduction::Reduction;
use std::rc::Rc;

pub(super) static ALGORITHMS: [Algorithm<Scan>; 2] = [
    Algorithm {
        name: "recursive_doubling",
        doc: "pairs at distance 1, 2, 4 ... exchange what they hold; ceil(log2 n) rounds",
        run: recursive_doubling,
    },
    Algorithm { name: "linear", doc: "each rank to the next", run: linear },
];

fn recursive_doubling(plan: &mut Plan<'_>, acc: &Accumulator, exclusive: bool) {
    let (rank, size) = (plan.rank, plan.size);
    // The accumulator holds what the ranks of this one's group contribute, `result` those before.
    let result = plan.buffer(acc.bytes);
    let mut have_result = !exclusive;
    if !exclusive {
        plan.copy(plan.own(acc), plan.bytes(result, acc.bytes));
    }
    let mut bit = 1;
    while bit < size {
        let partner = rank ^ bit;
        bit *= 2;
        if partner >= size {
            continue;
        }
        plan.swap(partner, plan.own(acc), partner, plan.other(acc));
        if partner < rank {
            if have_result {
                plan.combine(&acc.reduction, acc.received, result, acc.count);
            } else {
                plan.copy(plan.other(acc), plan.bytes(result, acc.bytes));
                have_result = true;
            }
        }
        plan.take_in(acc, partner < rank);
    }
    if have_result {
        plan.copy(plan.bytes(result, acc.bytes), plan.own(acc));
    }
}

fn linear(plan: &mut Plan<'_>, acc: &Accumulator, exclusive: bool) {
    let (rank, size) = (plan.rank, plan.size);
    let before = plan.buffer(acc.bytes);
    if rank > 0 {
        plan.receive(rank - 1, plan.other(acc));
        plan.wait();
        plan.copy(plan.other(acc), plan.bytes(before, acc.bytes));
        plan.take_in(acc, true);
    }
    if rank + 1 < size {
        plan.send(rank + 1, plan.own(acc));
        plan.wait();
    }
    if exclusive && rank > 0 {
        plan.copy(plan.bytes(before, acc.bytes), plan.own(acc));
    }
}

/// Plans to reduce `send` of all ranks up to each into its `recv`.
pub(crate) fn plan(
    plan: &mut Plan<'_>,
    send: &Items,
    recv: &Items,
    reduction: &Rc<Reduction>,
    exclusive: bool,
) -> Result<()> {
    let run = plan.collectives.algorithms.scan.run;
    let first = plan.rank == 0;
    // The result does not form in place: an exclusive scan leaves rank 0's buffer as it is.
    recv.check(&plan.p2p.local)?;
    reduce::plan_with(plan, send, None, reduction, |plan, acc| {
        run(plan, acc, exclusive);
        if !(exclusive && first) {
            plan.wait();
            plan.copy(plan.own(acc), recv.clone());
        }
    })
}
