//! Broadcasts.

use super::schedule::Plan;
use super::{Algorithm, Bcast};
use crate::comm::CommId;
use crate::datatype::items::Items;
use crate::error::Result;
use crate::process::Process;
use crate::request::RequestId;

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

impl Process {
    /// Begins to bring root's items to all.
    pub(crate) fn begin_bcast(
        &mut self,
        items: &Items,
        root: u32,
        comm: CommId,
    ) -> Result<RequestId> {
        let run = self.local.params.algorithms.bcast.run;
        let bytes = items.bytes();
        self.check_items(items)?;
        let mut plan = Plan::new(self, comm)?;
        if bytes == 0 || plan.size == 1 {
            return Ok(plan.begin());
        }
        if items.is_contiguous() {
            run(&mut plan, items, root);
            return Ok(plan.begin());
        }
        let va = plan.buffer(bytes);
        let packed = plan.bytes(va, bytes);
        if plan.rank == root {
            plan.copy(items.clone(), packed.clone());
        }
        run(&mut plan, &packed, root);
        if plan.rank != root {
            plan.wait();
            plan.copy(packed, items.clone());
        }
        Ok(plan.begin())
    }
}
