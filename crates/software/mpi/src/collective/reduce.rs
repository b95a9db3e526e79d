//! Reductions to one rank.

use super::algorithm::{Algorithm, Reduce};
use super::plan::Plan;
use super::schedule::Accumulator;
use crate::datatype::items::Items;
use crate::error::Result;
use crate::reduction::Reduction;
use std::rc::Rc;

pub(super) static ALGORITHMS: [Algorithm<Reduce>; 2] = [
    Algorithm {
        name: "binomial",
        doc: "up a binomial tree to the root; ceil(log2 n) rounds",
        run: binomial,
    },
    Algorithm { name: "linear", doc: "each rank in turn to the root", run: linear },
];

fn binomial(plan: &mut Plan<'_>, acc: &Accumulator, root: u32) {
    let (rank, size) = (plan.rank, plan.size);
    // Ranks are counted from the top of the tree on. If the order of the operands counts, that is
    // rank 0, from which the result goes on to the root.
    let top = if acc.reduction.operator.commutes() { root } else { 0 };
    let relative = (rank + size - top) % size;
    let absolute = |relative: u32| (relative + top) % size;
    let mut bit = 1;
    while bit < size {
        if relative & bit != 0 {
            plan.send(absolute(relative - bit), plan.own(acc));
            plan.wait();
            break;
        }
        if relative + bit < size {
            plan.receive(absolute(relative + bit), plan.other(acc));
            plan.wait();
            plan.take_in(acc, false);
        }
        bit *= 2;
    }
    if top != root && rank == top {
        plan.send(root, plan.own(acc));
        plan.wait();
    }
    if top != root && rank == root {
        plan.receive(top, plan.own(acc));
        plan.wait();
    }
}

fn linear(plan: &mut Plan<'_>, acc: &Accumulator, root: u32) {
    if plan.rank != root {
        plan.send(root, plan.own(acc));
        return plan.wait();
    }
    // Outwards from the root, so that each comes before or behind all that is there already.
    let size = plan.size;
    for from in (0..root).rev().chain(root + 1..size) {
        plan.receive(from, plan.other(acc));
        plan.wait();
        plan.take_in(acc, from < root);
    }
}

/// Plans a reduction over `send` by `run`, whose result goes to `recv` (None: this rank gets no result).
pub(super) fn plan_with(
    plan: &mut Plan<'_>,
    send: &Items,
    recv: Option<&Items>,
    reduction: &Rc<Reduction>,
    run: impl FnOnce(&mut Plan<'_>, &Accumulator),
) -> Result<()> {
    reduction.check()?;
    send.check(&plan.p2p.local)?;
    recv.map_or(Ok(()), |items| items.check(&plan.p2p.local))?;
    let (bytes, count) = (send.bytes(), send.count);
    if bytes == 0 {
        return Ok(());
    }
    // If the result is wanted in one run of bytes, it is accumulated in place.
    let in_place = recv.filter(|items| items.is_contiguous());
    let va = match in_place {
        Some(items) => items.va,
        None => plan.buffer(bytes),
    };
    let received = plan.buffer(bytes);
    let acc = Accumulator { va, bytes, received, reduction: reduction.clone(), count };
    if va != send.va {
        plan.copy(send.clone(), plan.own(&acc));
    }
    run(plan, &acc);
    if let (Some(items), None) = (recv, in_place) {
        plan.wait();
        plan.copy(plan.own(&acc), items.clone());
    }
    Ok(())
}

/// Plans to reduce `send` of all ranks into `recv` of rank `root`.
pub(crate) fn plan(
    plan: &mut Plan<'_>,
    send: &Items,
    recv: Option<&Items>,
    reduction: &Rc<Reduction>,
    root: u32,
) -> Result<()> {
    let run = plan.collectives.algorithms.reduce.run;
    plan_with(plan, send, recv, reduction, |plan, acc| run(plan, acc, root))
}
