//! Reductions to one rank.

use super::schedule::Plan;
use super::{Accumulator, Algorithm, Reduce};
use crate::comm::CommId;
use crate::datatype::items::Items;
use crate::error::Result;
use crate::process::Process;
use crate::reduction::Reduction;
use crate::request::RequestId;
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

impl Process {
    /// Plans a reduction over `send`, whose result goes to `recv` (None: this rank gets no result).
    /// `result` says which bytes of the accumulator hold it.
    pub(crate) fn plan_reduction(
        &mut self,
        comm: CommId,
        (send, recv): (&Items, Option<&Items>),
        reduction: &Rc<Reduction>,
        run: impl FnOnce(&mut Plan<'_>, &Accumulator),
    ) -> Result<RequestId> {
        reduction.check()?;
        self.check_items(send)?;
        recv.map_or(Ok(()), |items| self.check_items(items))?;
        let (bytes, count) = (send.bytes(), send.count);
        let mut plan = Plan::new(self, comm)?;
        if bytes == 0 {
            return Ok(plan.begin());
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
        run(&mut plan, &acc);
        if let (Some(items), None) = (recv, in_place) {
            plan.wait();
            plan.copy(plan.own(&acc), items.clone());
        }
        Ok(plan.begin())
    }

    /// Begins to reduce `send` of all ranks into `recv` of rank `root`.
    pub(crate) fn begin_reduce(
        &mut self,
        (send, recv): (&Items, Option<&Items>),
        reduction: &Rc<Reduction>,
        root: u32,
        comm: CommId,
    ) -> Result<RequestId> {
        let run = self.local.params.algorithms.reduce.run;
        self.plan_reduction(comm, (send, recv), reduction, |plan, acc| run(plan, acc, root))
    }
}
