//! Reductions to all ranks.

use super::{Accumulator, Algorithm, Allreduce};
use crate::comm::CommId;
use crate::error::Result;
use crate::items::Items;
use crate::op::Op;
use crate::process::Process;

pub(super) static ALGORITHMS: [Algorithm<Allreduce>; 2] = [
    Algorithm {
        name: "recursive_doubling",
        doc: "pairs at distance 1, 2, 4 ... exchange; ranks beyond a power of two hand over first",
        run: recursive_doubling,
    },
    Algorithm { name: "reduce_bcast", doc: "a reduce to rank 0, then a bcast", run: reduce_bcast },
];

fn recursive_doubling(process: &mut Process, acc: &Accumulator, comm: CommId) -> Result<()> {
    let (rank, size) = (process.comm(comm)?.rank, process.comm(comm)?.size());
    let (mine, theirs) = ((acc.va, acc.bytes), (acc.received, acc.bytes));
    // The largest power of two takes part; of the first 2 * extra ranks the even ones hand over to
    // the odd.
    let partners = 1 << size.ilog2();
    let extra = size - partners;
    let in_pair = rank < 2 * extra;
    if in_pair && rank % 2 == 0 {
        process.tell(comm, rank + 1, mine)?;
        return process.hear(comm, rank + 1, mine);
    }
    if in_pair {
        process.hear(comm, rank - 1, theirs)?;
        process.combine(acc)?;
    }
    let place = if in_pair { rank / 2 } else { rank - extra };
    let at = |place: u32| if place < extra { 2 * place + 1 } else { place + extra };
    let mut bit = 1;
    while bit < partners {
        let partner = at(place ^ bit);
        process.swap(comm, (partner, mine), (partner, theirs))?;
        process.combine(acc)?;
        bit *= 2;
    }
    if in_pair {
        process.tell(comm, rank - 1, mine)?;
    }
    Ok(())
}

fn reduce_bcast(process: &mut Process, acc: &Accumulator, comm: CommId) -> Result<()> {
    (process.params.algorithms.reduce.run)(process, acc, 0, comm)?;
    (process.params.algorithms.bcast.run)(process, (acc.va, acc.bytes), 0, comm)
}

impl Process {
    /// Reduces `send` of all ranks into everyone's `recv`.
    pub(crate) fn allreduce_items(
        &mut self,
        send: &Items,
        recv: &Items,
        op: Op,
        comm: CommId,
    ) -> Result<()> {
        let run = self.params.algorithms.allreduce.run;
        self.comm(comm)?;
        self.accumulate(send, Some(recv), op, |process, acc| run(process, acc, comm))
    }
}
