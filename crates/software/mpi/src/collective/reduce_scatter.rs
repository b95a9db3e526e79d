//! Reductions of which each rank gets a share.

use super::algorithm::{Algorithm, ReduceScatter};
use super::plan::Plan;
use super::reduce;
use super::schedule::Accumulator;
use crate::datatype::items::Items;
use crate::error::Result;
use crate::reduction::Reduction;
use std::rc::Rc;

pub(super) static ALGORITHMS: [Algorithm<ReduceScatter>; 2] = [
    Algorithm {
        name: "pairwise",
        doc: "n - 1 steps, in each of which a rank gets its share of another's items; reduce for \
              operations that do not commute",
        run: pairwise,
    },
    Algorithm { name: "reduce", doc: "a reduce to rank 0, which sends the shares", run: reduce },
];

/// Offset and bytes of a rank's share.
fn share(acc: &Accumulator, counts: &[u64], rank: u32) -> (u64, u64) {
    let item = acc.reduction.size();
    let before: u64 = counts[..rank as usize].iter().sum();
    (before * item, counts[rank as usize] * item)
}

fn pairwise(plan: &mut Plan<'_>, acc: &Accumulator, counts: &[u64]) {
    if !acc.reduction.operator.commutes() {
        return reduce(plan, acc, counts);
    }
    let (rank, size) = (plan.rank, plan.size);
    let (offset, bytes) = share(acc, counts, rank);
    for step in 1..size {
        let (to, from) = ((rank + step) % size, (rank + size - step) % size);
        let (out, length) = share(acc, counts, to);
        let sent = plan.bytes(acc.va + out, length);
        plan.swap(to, sent, from, plan.bytes(acc.received, bytes));
        let (input, inout, count) = (acc.received, acc.va + offset, counts[rank as usize]);
        plan.combine(&acc.reduction, input, inout, count);
    }
}

fn reduce(plan: &mut Plan<'_>, acc: &Accumulator, counts: &[u64]) {
    (plan.collectives.algorithms.reduce.run)(plan, acc, 0);
    plan.wait();
    if plan.rank != 0 {
        let (offset, bytes) = share(acc, counts, plan.rank);
        plan.receive(0, plan.bytes(acc.va + offset, bytes));
        return plan.wait();
    }
    for to in 1..plan.size {
        let (offset, bytes) = share(acc, counts, to);
        plan.send(to, plan.bytes(acc.va + offset, bytes));
    }
    plan.wait();
}

/// Plans to reduce `send` of all ranks; rank `i` gets `counts[i]` items of the result.
pub(crate) fn plan(
    plan: &mut Plan<'_>,
    send: &Items,
    recv: &Items,
    counts: &[u64],
    reduction: &Rc<Reduction>,
) -> Result<()> {
    let run = plan.collectives.algorithms.reduce_scatter.run;
    recv.check(&plan.p2p.local)?;
    reduce::plan_with(plan, send, None, reduction, |plan, acc| {
        run(plan, acc, counts);
        let (offset, bytes) = share(acc, counts, plan.rank);
        plan.copy(plan.bytes(acc.va + offset, bytes), recv.clone());
    })
}
