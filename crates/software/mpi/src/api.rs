//! The Rust interface of [`Process`], for built-in workloads: bytes instead of datatypes, results
//! instead of codes. Buffers are addresses in the process's memory ([`Process::allocate_buffer`]).

use crate::collective::parts::Parts;
use crate::collective::{allgather, allreduce, alltoall, barrier, bcast};
use crate::comm::{CommId, Comms, OnError, ENDING};
use crate::constant;
use crate::datatype::items::Items;
use crate::datatype::Type;
use crate::error::Result;
use crate::local::Declared;
use crate::process::Process;
use crate::reduction::op::Op;
use crate::reduction::{Operator, Reduction};
use crate::request::waiting::What;
use crate::request::waiting::Whose;
use crate::request::{RequestId, Status};
use crate::transport::Mode;
use std::rc::Rc;

/// Buffers of a collective operation.
#[derive(Clone, Copy, Debug)]
pub struct CollectiveBuffers {
    /// Address of what is sent.
    pub out: u64,
    /// Address of what is received.
    pub into: u64,
}

impl Process {
    /// MPI_COMM_WORLD.
    pub const WORLD: CommId = CommId::WORLD;
    /// MPI_COMM_SELF.
    pub const SELF: CommId = CommId::SELF;

    /// A call begins: it costs its time, and reports name it.
    pub(crate) fn enter(&mut self, function: &'static str) {
        self.p2p.local.function = function;
        if self.p2p.local.witness.is_some() {
            self.p2p.local.declared = Declared::default();
        }
        self.charge(self.p2p.local.params.call);
    }

    /// A call ends: what it used is spent.
    pub(crate) fn leave(&mut self) {
        self.settle();
    }

    fn within<R>(&mut self, function: &'static str, f: impl FnOnce(&mut Process) -> R) -> R {
        self.enter(function);
        let result = f(self);
        self.leave();
        result
    }

    /// Bytes as items.
    pub(crate) fn bytes(&self, va: u64, count: u64) -> Items {
        self.objects.bytes(va, count)
    }

    /// Rank in `comm`.
    pub fn rank(&self, comm: CommId) -> Result<u32> {
        Ok(self.comm(comm)?.rank)
    }
    /// Members of `comm`.
    pub fn size(&self, comm: CommId) -> Result<u32> {
        Ok(self.comm(comm)?.size())
    }
    /// Error handling for operations on `comm`. The caller must apply it.
    pub fn on_error(&self, comm: CommId) -> Result<OnError> {
        Ok(self.comm(comm)?.on_error)
    }

    /// MPI_Send of `bytes` bytes at `va` to rank `to`.
    pub fn send(&mut self, va: u64, bytes: u64, to: i32, tag: i32, comm: CommId) -> Result<()> {
        self.within("MPI_Send", |p| {
            let items = p.bytes(va, bytes);
            let id = p.p2p.begin_send(&items, to, tag, comm, Mode::Standard)?;
            p.finish(id, Whose::Own).map(|_| ())
        })
    }
    /// MPI_Ssend: returns when the receive has started.
    pub fn ssend(&mut self, va: u64, bytes: u64, to: i32, tag: i32, comm: CommId) -> Result<()> {
        self.within("MPI_Ssend", |p| {
            let items = p.bytes(va, bytes);
            let id = p.p2p.begin_send(&items, to, tag, comm, Mode::Synchronous)?;
            p.finish(id, Whose::Own).map(|_| ())
        })
    }
    /// MPI_Recv of up to `bytes` bytes to `va` from rank `from` (or MPI_ANY_SOURCE).
    pub fn recv(
        &mut self,
        va: u64,
        bytes: u64,
        from: i32,
        tag: i32,
        comm: CommId,
    ) -> Result<Status> {
        self.within("MPI_Recv", |p| {
            let items = p.bytes(va, bytes);
            let id = p.p2p.begin_receive(&items, from, tag, comm)?;
            p.finish(id, Whose::Own)
        })
    }
    /// MPI_Isend.
    pub fn isend(
        &mut self,
        va: u64,
        bytes: u64,
        to: i32,
        tag: i32,
        comm: CommId,
    ) -> Result<RequestId> {
        self.within("MPI_Isend", |p| {
            let items = p.bytes(va, bytes);
            p.p2p.begin_send(&items, to, tag, comm, Mode::Standard)
        })
    }
    /// MPI_Irecv.
    pub fn irecv(
        &mut self,
        va: u64,
        bytes: u64,
        from: i32,
        tag: i32,
        comm: CommId,
    ) -> Result<RequestId> {
        self.within("MPI_Irecv", |p| {
            let items = p.bytes(va, bytes);
            p.p2p.begin_receive(&items, from, tag, comm)
        })
    }
    /// MPI_Wait.
    pub fn wait(&mut self, request: RequestId) -> Result<Status> {
        self.within("MPI_Wait", |p| p.finish(request, Whose::Earlier))
    }
    /// MPI_Waitall: the first error, if any.
    pub fn waitall(&mut self, requests: &[RequestId]) -> Result<Vec<Status>> {
        self.within("MPI_Waitall", |p| {
            p.wait_all(requests, Whose::Earlier)?;
            let ends: Vec<_> = requests.iter().map(|&id| p.p2p.take(id)).collect();
            ends.into_iter().map(|(status, result)| result.map(|()| status)).collect()
        })
    }
    /// MPI_Test: the status if it is complete; the request is then gone.
    pub fn test(&mut self, request: RequestId) -> Result<Option<Status>> {
        self.within("MPI_Test", |p| {
            p.progress();
            if !p.p2p.requests.get(request).is_complete() {
                return Ok(None);
            }
            let (status, result) = p.p2p.take(request);
            result.map(|()| Some(status))
        })
    }
    /// MPI_Cancel of a receive: true if no message had matched it. It must be waited for in any
    /// case.
    pub fn cancel(&mut self, request: RequestId) -> bool {
        self.within("MPI_Cancel", |p| p.p2p.withdraw(request))
    }
    /// MPI_Probe.
    pub fn probe(&mut self, from: i32, tag: i32, comm: CommId) -> Result<Status> {
        self.within("MPI_Probe", |p| {
            let envelope = p.p2p.receive_envelope(from, tag, comm)?;
            p.look_until_found(envelope)
        })
    }
    /// MPI_Iprobe.
    pub fn iprobe(&mut self, from: i32, tag: i32, comm: CommId) -> Result<Option<Status>> {
        self.within("MPI_Iprobe", |p| {
            let envelope = p.p2p.receive_envelope(from, tag, comm)?;
            p.look(envelope)
        })
    }
    /// MPI_Barrier.
    pub fn barrier(&mut self, comm: CommId) -> Result<()> {
        self.within("MPI_Barrier", |p| p.all_meet(comm))
    }
    /// MPI_Bcast of bytes.
    pub fn bcast(&mut self, va: u64, bytes: u64, root: u32, comm: CommId) -> Result<()> {
        self.within("MPI_Bcast", |p| {
            let items = p.bytes(va, bytes);
            p.p2p.check_root(root as i32, comm)?;
            let id = p.start(comm, |plan| bcast::plan(plan, &items, root))?;
            p.finish(id, Whose::Own).map(|_| ())
        })
    }
    /// MPI_Allreduce of `count` items of the predefined type `datatype` (a handle of the ABI).
    pub fn allreduce(
        &mut self,
        buffers: CollectiveBuffers,
        count: u64,
        datatype: u64,
        op: Op,
        comm: CommId,
    ) -> Result<()> {
        self.within("MPI_Allreduce", |p| {
            let send =
                Items { va: buffers.out, count, datatype: p.objects.types.committed(datatype)? };
            let recv = Items { va: buffers.into, ..send.clone() };
            p.allreduce_items(&send, &recv, datatype, op, comm)
        })
    }
    /// MPI_Alltoall of `bytes` bytes from each to each.
    pub fn alltoall(&mut self, buffers: CollectiveBuffers, bytes: u64, comm: CommId) -> Result<()> {
        self.within("MPI_Alltoall", |p| {
            let out = Parts::Equal(p.bytes(buffers.out, bytes));
            let into = Parts::Equal(p.bytes(buffers.into, bytes));
            let id = p.start(comm, |plan| alltoall::plan(plan, Some(&out), &into))?;
            p.finish(id, Whose::Own).map(|_| ())
        })
    }
    /// MPI_Finalize: a barrier; then nothing of this process is under way any more.
    pub fn finalize(&mut self) -> Result<()> {
        self.within("MPI_Finalize", |p| p.shut_down())
    }

    // Common part of both interfaces.

    /// Reduces items with a predefined operation.
    fn allreduce_items(
        &mut self,
        send: &Items,
        recv: &Items,
        handle: u64,
        op: Op,
        comm: CommId,
    ) -> Result<()> {
        let datatype = send.datatype.clone();
        let operator = Operator::Predefined(op);
        let reduction = Rc::new(Reduction { operator, datatype, handle });
        let id = self.start(comm, |plan| allreduce::plan(plan, send, recv, &reduction))?;
        self.finish(id, Whose::Own).map(|_| ())
    }

    /// A new communicator; all members of `parent` call this, each with the members of its own new
    /// one (none: it takes part without getting one).
    pub(crate) fn make_comm(
        &mut self,
        parent: CommId,
        members: Option<(u32, Rc<[u32]>)>,
    ) -> Result<Option<CommId>> {
        self.p2p.remove_freed_comms()?;
        // Agree on a number that is free everywhere.
        let free = self.p2p.comms.free_numbers();
        let buffer = self.p2p.local.take_buffer(free.len() as u64);
        self.write(buffer.va, &free)?;
        let items = self.bytes(buffer.va, free.len() as u64);
        self.allreduce_items(&items, &items, constant::BYTE, Op::BitAnd, parent)?;
        let mut agreed = vec![0; free.len()];
        self.read(buffer.va, &mut agreed)?;
        self.p2p.local.give_buffer(buffer);
        let number = Comms::lowest(&agreed).ok_or_else(Comms::none_left)?;
        Ok(members.map(|(rank, members)| self.p2p.comms.add(parent, number, rank, members)))
    }

    /// MPI_Comm_dup.
    pub(crate) fn duplicate(&mut self, parent: CommId) -> Result<CommId> {
        let (rank, members) = (self.comm(parent)?.rank, self.comm(parent)?.members.clone());
        let made = self.make_comm(parent, Some((rank, members)))?;
        Ok(made.expect("this rank is a member"))
    }

    /// MPI_Comm_split; a negative color gets no communicator.
    pub(crate) fn split(&mut self, parent: CommId, color: i32, key: i32) -> Result<Option<CommId>> {
        let (rank, size) = (self.comm(parent)?.rank, self.comm(parent)?.size());
        let buffer = self.p2p.local.take_buffer(8 * u64::from(size));
        let mine = [color.to_le_bytes(), key.to_le_bytes()].concat();
        self.write(buffer.va + 8 * u64::from(rank), &mine)?;
        let all = self.bytes(buffer.va, 8);
        let id = self.start(parent, |plan| allgather::plan(plan, None, &Parts::Equal(all)))?;
        self.finish(id, Whose::Own)?;
        let mut table = vec![0; 8 * size as usize];
        self.read(buffer.va, &mut table)?;
        self.p2p.local.give_buffer(buffer);
        let word = |at: &[u8]| i32::from_le_bytes(at.try_into().expect("four bytes"));
        let mut chosen: Vec<(i32, u32)> = (0u32..)
            .zip(table.chunks_exact(8))
            .filter(|(_, entry)| word(&entry[..4]) == color)
            .map(|(rank, entry)| (word(&entry[4..]), rank))
            .collect();
        chosen.sort_unstable();
        let old = self.comm(parent)?.members.clone();
        let place = chosen.iter().position(|&(_, member)| member == rank);
        let members = chosen.iter().map(|&(_, member)| old[member as usize]).collect();
        let place = place.expect("this rank has this color") as u32;
        self.make_comm(parent, (color >= 0).then_some((place, members)))
    }

    /// Returns when all ranks of `comm` have called it.
    fn all_meet(&mut self, comm: CommId) -> Result<()> {
        let id = self.start(comm, barrier::plan)?;
        self.finish(id, Whose::Own).map(|_| ())
    }

    /// Ends all operations, and meets all other ranks.
    pub(crate) fn shut_down(&mut self) -> Result<()> {
        self.collectives.tag = Some(ENDING);
        self.all_meet(Process::WORLD)?;
        // The NIC may still read buffers of this process.
        self.block(
            |p2p| p2p.transport.is_quiet() && p2p.requests.unfinished_send().is_none(),
            |p2p| {
                let send = p2p.requests.unfinished_send();
                What::Receiver(send.map(|send| p2p.message_of(send)))
            },
        )
    }

    /// The committed type of a handle.
    pub(crate) fn datatype(&self, handle: u64) -> Result<Rc<Type>> {
        self.objects.datatype(handle)
    }
}
