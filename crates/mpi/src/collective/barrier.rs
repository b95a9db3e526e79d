//! Barriers.

use super::on_nic::OnNicOperation;
use super::schedule::Plan;
use super::{Algorithm, Barrier};
use crate::comm::CommId;
use crate::error::Result;
use crate::process::Process;
use crate::request::wait::Whose;
use crate::request::RequestId;

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
        plan.swap((to, nothing.clone()), (from, nothing.clone()));
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

impl Process {
    /// Begins a barrier.
    pub(crate) fn begin_barrier(&mut self, comm: CommId) -> Result<RequestId> {
        let run = self.local.params.algorithms.barrier.run;
        let mut plan = Plan::new(self, comm)?;
        run(&mut plan);
        Ok(plan.begin())
    }

    /// Returns when all ranks of `comm` have called it.
    pub(crate) fn all_meet(&mut self, comm: CommId) -> Result<()> {
        let id = self.begin_barrier(comm)?;
        self.finish(id, Whose::Own).map(|_| ())
    }
}
