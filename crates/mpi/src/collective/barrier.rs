//! Barriers.

use super::{Algorithm, Barrier};
use crate::comm::CommId;
use crate::error::Result;
use crate::process::Process;

pub(super) static ALGORITHMS: [Algorithm<Barrier>; 2] = [
    Algorithm {
        name: "dissemination",
        doc: "in round k every rank tells the rank 2^k above it; ceil(log2 n) rounds",
        run: dissemination,
    },
    Algorithm { name: "tree", doc: "up a binomial tree to rank 0 and down again", run: tree },
];

const NOTHING: (u64, u64) = (0, 0);

fn dissemination(process: &mut Process, comm: CommId) -> Result<()> {
    let (rank, size) = (process.comm(comm)?.rank, process.comm(comm)?.size());
    let mut distance = 1;
    while distance < size {
        let (to, from) = ((rank + distance) % size, (rank + size - distance) % size);
        process.swap(comm, (to, NOTHING), (from, NOTHING))?;
        distance *= 2;
    }
    Ok(())
}

fn tree(process: &mut Process, comm: CommId) -> Result<()> {
    let (rank, size) = (process.comm(comm)?.rank, process.comm(comm)?.size());
    let mut bit = 1;
    while bit < size && rank & bit == 0 {
        if rank + bit < size {
            process.hear(comm, rank + bit, NOTHING)?;
        }
        bit *= 2;
    }
    if rank != 0 {
        process.tell(comm, rank - bit, NOTHING)?;
        process.hear(comm, rank - bit, NOTHING)?;
    }
    while bit > 1 {
        bit /= 2;
        if rank + bit < size {
            process.tell(comm, rank + bit, NOTHING)?;
        }
    }
    Ok(())
}

impl Process {
    /// Returns when all ranks of `comm` have called it.
    pub(crate) fn all_meet(&mut self, comm: CommId) -> Result<()> {
        (self.params.algorithms.barrier.run)(self, comm)
    }
}
