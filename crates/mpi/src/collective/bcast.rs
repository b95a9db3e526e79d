//! Broadcasts.

use super::{Algorithm, Bcast};
use crate::comm::CommId;
use crate::error::Result;
use crate::items::Items;
use crate::process::Process;

pub(super) static ALGORITHMS: [Algorithm<Bcast>; 2] = [
    Algorithm {
        name: "binomial",
        doc: "down a binomial tree from the root; ceil(log2 n) rounds",
        run: binomial,
    },
    Algorithm { name: "linear", doc: "from the root to each rank in turn", run: linear },
];

fn binomial(process: &mut Process, data: (u64, u64), root: u32, comm: CommId) -> Result<()> {
    let (rank, size) = (process.comm(comm)?.rank, process.comm(comm)?.size());
    // Ranks are counted from the root on.
    let relative = (rank + size - root) % size;
    let absolute = |relative: u32| (relative + root) % size;
    let mut bit = 1;
    while bit < size && relative & bit == 0 {
        bit *= 2;
    }
    if relative != 0 {
        process.hear(comm, absolute(relative - bit), data)?;
    }
    while bit > 1 {
        bit /= 2;
        if relative + bit < size {
            process.tell(comm, absolute(relative + bit), data)?;
        }
    }
    Ok(())
}

fn linear(process: &mut Process, data: (u64, u64), root: u32, comm: CommId) -> Result<()> {
    let (rank, size) = (process.comm(comm)?.rank, process.comm(comm)?.size());
    if rank != root {
        return process.hear(comm, root, data);
    }
    (0..size).filter(|&to| to != root).try_for_each(|to| process.tell(comm, to, data))
}

impl Process {
    /// Root's items to all.
    pub(crate) fn broadcast(&mut self, items: &Items, root: u32, comm: CommId) -> Result<()> {
        let (bytes, rank) = (items.bytes(), self.comm(comm)?.rank);
        if bytes == 0 || self.comm(comm)?.size() == 1 {
            return Ok(());
        }
        let run = self.params.algorithms.bcast.run;
        if items.is_contiguous() {
            self.check_items(items)?;
            return run(self, (items.va, bytes), root, comm);
        }
        let buffer = self.scratch.take(self.cpu.memory(), bytes);
        let packed = if rank == root { self.gather(items, buffer.va) } else { Ok(()) };
        let mut result = packed.and_then(|()| run(self, (buffer.va, bytes), root, comm));
        if result.is_ok() && rank != root {
            result = self.scatter(buffer.va, &items.datatype, items.va, items.count, bytes);
        }
        self.scratch.give(buffer);
        result
    }
}
