//! A part of each pair of ranks.

use super::{Algorithm, Alltoall, Parts};
use crate::comm::CommId;
use crate::error::Result;
use crate::process::Process;
use crate::request::RequestId;
use crate::schedule::Plan;

pub(super) static ALGORITHMS: [Algorithm<Alltoall>; 2] = [
    Algorithm {
        name: "pairwise",
        doc: "n - 1 steps, in each of which a rank sends to one and receives from another",
        run: pairwise,
    },
    Algorithm { name: "linear", doc: "each rank to each, all at once", run: linear },
];

fn pairwise(plan: &mut Plan<'_>, out: &Parts, into: &Parts) {
    exchange(plan, out, into, true);
}

fn linear(plan: &mut Plan<'_>, out: &Parts, into: &Parts) {
    exchange(plan, out, into, false);
}

fn exchange(plan: &mut Plan<'_>, out: &Parts, into: &Parts, stepwise: bool) {
    let (rank, size) = (plan.rank, plan.size);
    for step in 1..size {
        let (to, from) = ((rank + step) % size, (rank + size - step) % size);
        plan.receive_up_to(from, into.of(from));
        plan.send(to, out.of(to));
        if stepwise {
            plan.wait();
        }
    }
}

impl Process {
    /// Begins to bring part `i` of everyone's `out` (None: it is that of `into`) to rank `i`, into
    /// its part of the sender's rank.
    pub(crate) fn begin_alltoall(
        &mut self,
        out: Option<&Parts>,
        into: &Parts,
        comm: CommId,
    ) -> Result<RequestId> {
        let run = self.params.algorithms.alltoall.run;
        let mut plan = Plan::new(self, comm)?;
        let (rank, size) = (plan.rank, plan.size);
        match out {
            Some(out) => {
                plan.copy(out.of(rank), into.of(rank));
                run(&mut plan, out, into);
            }
            None => {
                // What is sent lies where it will be overwritten: it is sent from a copy.
                let bytes: Vec<u64> = (0..size).map(|peer| into.of(peer).bytes()).collect();
                let mut va = plan.buffer(bytes.iter().sum());
                let mut copies = Vec::with_capacity(bytes.len());
                for (peer, bytes) in (0..size).zip(bytes) {
                    let copy = plan.bytes(va, bytes);
                    plan.copy(into.of(peer), copy.clone());
                    copies.push(copy);
                    va += bytes;
                }
                run(&mut plan, &Parts::Any(copies), into);
            }
        }
        Ok(plan.begin())
    }
}
