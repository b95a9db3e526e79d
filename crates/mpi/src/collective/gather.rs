//! Collectives that move items without changing them: gather and scatter (the root deals with each
//! rank), allgather (a ring), alltoall (pairwise exchanges).
//!
//! `all` names the whole buffer of a rank that has one: `size` parts of `count` items each.

use crate::comm::CommId;
use crate::error::Result;
use crate::items::Items;
use crate::process::Process;

/// Part of rank `rank` in a buffer that holds a part for each rank.
fn part(all: &Items, rank: u32) -> Items {
    all.part(u64::from(rank) * all.count, all.count)
}

impl Process {
    /// Everyone's `own` (None: already in place) into the parts of root's `all`.
    pub(crate) fn gather_items(
        &mut self,
        own: Option<&Items>,
        all: Option<&Items>,
        root: u32,
        comm: CommId,
    ) -> Result<()> {
        let (rank, size) = (self.comm(comm)?.rank, self.comm(comm)?.size());
        let Some(all) = all.filter(|_| rank == root) else {
            let sent = own.map(|items| self.tell_items(comm, root, items)).transpose()?;
            return self.finish_all(sent.as_slice());
        };
        let mut requests = Vec::with_capacity(size as usize);
        for from in (0..size).filter(|&from| from != rank) {
            requests.push(self.hear_items(comm, from, &part(all, from))?);
        }
        if let Some(own) = own {
            self.copy_items(own, &part(all, rank))?;
        }
        self.finish_all(&requests)
    }

    /// The parts of root's `all` to everyone's `own` (None: it stays in place).
    pub(crate) fn scatter_items(
        &mut self,
        all: Option<&Items>,
        own: Option<&Items>,
        root: u32,
        comm: CommId,
    ) -> Result<()> {
        let (rank, size) = (self.comm(comm)?.rank, self.comm(comm)?.size());
        let Some(all) = all.filter(|_| rank == root) else {
            let heard = own.map(|items| self.hear_items(comm, root, items)).transpose()?;
            return self.finish_all(heard.as_slice());
        };
        let mut requests = Vec::with_capacity(size as usize);
        for to in (0..size).filter(|&to| to != rank) {
            requests.push(self.tell_items(comm, to, &part(all, to))?);
        }
        if let Some(own) = own {
            self.copy_items(&part(all, rank), own)?;
        }
        self.finish_all(&requests)
    }

    /// Everyone's `own` (None: already in place) into the parts of everyone's `all`. In each step
    /// of the ring a rank passes on the part that it got last.
    pub(crate) fn allgather_items(
        &mut self,
        own: Option<&Items>,
        all: &Items,
        comm: CommId,
    ) -> Result<()> {
        let (rank, size) = (self.comm(comm)?.rank, self.comm(comm)?.size());
        if let Some(own) = own {
            self.copy_items(own, &part(all, rank))?;
        }
        let (next, previous) = ((rank + 1) % size, (rank + size - 1) % size);
        for step in 1..size {
            let out = (rank + size + 1 - step) % size;
            let into = (rank + size - step) % size;
            let incoming = self.hear_items(comm, previous, &part(all, into))?;
            let outgoing = self.tell_items(comm, next, &part(all, out))?;
            self.finish_all(&[incoming, outgoing])?;
        }
        Ok(())
    }

    /// Part `i` of everyone's `out` to rank `i`, into its part of the sender's rank.
    pub(crate) fn alltoall_items(&mut self, out: &Items, into: &Items, comm: CommId) -> Result<()> {
        let (rank, size) = (self.comm(comm)?.rank, self.comm(comm)?.size());
        self.copy_items(&part(out, rank), &part(into, rank))?;
        for step in 1..size {
            let (to, from) = ((rank + step) % size, (rank + size - step) % size);
            let incoming = self.hear_items(comm, from, &part(into, from))?;
            let outgoing = self.tell_items(comm, to, &part(out, to))?;
            self.finish_all(&[incoming, outgoing])?;
        }
        Ok(())
    }
}
