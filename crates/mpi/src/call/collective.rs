//! Collective operations.

use super::arguments::int;
use super::{Answer, Mpi};
use crate::constant::{self, IN_PLACE};
use crate::items::Items;

pub(super) fn barrier(mpi: &mut Mpi, args: &[u64]) -> Answer {
    let comm = mpi.comm(args[0])?;
    mpi.process.all_meet(comm)
}

/// `buffer, count, datatype, root, comm`.
pub(super) fn bcast(mpi: &mut Mpi, args: &[u64]) -> Answer {
    let comm = mpi.comm(args[4])?;
    let items = mpi.items(args[0], args[1], args[2])?;
    let root = mpi.process.check_root(int(args[3]), comm)?;
    mpi.process.broadcast(&items, root, comm)
}

/// `sendbuf, recvbuf, count, datatype, op, root, comm`.
pub(super) fn reduce(mpi: &mut Mpi, args: &[u64]) -> Answer {
    let comm = mpi.comm(args[6])?;
    let root = mpi.process.check_root(int(args[5]), comm)?;
    let is_root = mpi.process.rank(comm)? == root;
    let recv = mpi.items(args[1], args[2], args[3])?;
    let in_place = is_root && args[0] == IN_PLACE;
    let send = Items { va: if in_place { args[1] } else { args[0] }, ..recv.clone() };
    let op = Mpi::op(args[4])?;
    mpi.process.reduce_items(&send, is_root.then_some(&recv), op, root, comm)
}

/// `sendbuf, recvbuf, count, datatype, op, comm`.
pub(super) fn allreduce(mpi: &mut Mpi, args: &[u64]) -> Answer {
    let comm = mpi.comm(args[5])?;
    let recv = mpi.items(args[1], args[2], args[3])?;
    let va = if args[0] == IN_PLACE { args[1] } else { args[0] };
    let send = Items { va, ..recv.clone() };
    let op = Mpi::op(args[4])?;
    mpi.process.allreduce_items(&send, &recv, op, comm)
}

/// `sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm`; the receive arguments
/// count at the root only.
pub(super) fn gather(mpi: &mut Mpi, args: &[u64]) -> Answer {
    let comm = mpi.comm(args[7])?;
    let root = mpi.process.check_root(int(args[6]), comm)?;
    let is_root = mpi.process.rank(comm)? == root;
    let own = if is_root && args[0] == IN_PLACE {
        None
    } else {
        Some(mpi.items(args[0], args[1], args[2])?)
    };
    let all = if is_root { Some(mpi.items(args[3], args[4], args[5])?) } else { None };
    mpi.process.gather_items(own.as_ref(), all.as_ref(), root, comm)
}

/// As gather; the send arguments count at the root only.
pub(super) fn scatter(mpi: &mut Mpi, args: &[u64]) -> Answer {
    let comm = mpi.comm(args[7])?;
    let root = mpi.process.check_root(int(args[6]), comm)?;
    let is_root = mpi.process.rank(comm)? == root;
    let all = if is_root { Some(mpi.items(args[0], args[1], args[2])?) } else { None };
    let own = if is_root && args[3] == IN_PLACE {
        None
    } else {
        Some(mpi.items(args[3], args[4], args[5])?)
    };
    mpi.process.scatter_items(all.as_ref(), own.as_ref(), root, comm)
}

/// `sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm`.
pub(super) fn allgather(mpi: &mut Mpi, args: &[u64]) -> Answer {
    let comm = mpi.comm(args[6])?;
    let own = if args[0] == IN_PLACE { None } else { Some(mpi.items(args[0], args[1], args[2])?) };
    let all = mpi.items(args[3], args[4], args[5])?;
    mpi.process.allgather_items(own.as_ref(), &all, comm)
}

/// As allgather.
pub(super) fn alltoall(mpi: &mut Mpi, args: &[u64]) -> Answer {
    let comm = mpi.comm(args[6])?;
    let into = mpi.items(args[3], args[4], args[5])?;
    if args[0] != IN_PLACE {
        let out = mpi.items(args[0], args[1], args[2])?;
        return mpi.process.alltoall_items(&out, &into, comm);
    }
    // What is sent lies where it will be overwritten: it is sent from a copy.
    let size = u64::from(mpi.process.size(comm)?);
    let whole = Items { count: into.count * size, ..into.clone() };
    let buffer = mpi.process.scratch.take(mpi.process.cpu.memory(), whole.bytes());
    let datatype = mpi.process.datatype(constant::BYTE)?;
    let out = Items { va: buffer.va, count: into.bytes(), datatype };
    let result = mpi
        .process
        .gather(&whole, buffer.va)
        .and_then(|()| mpi.process.alltoall_items(&out, &into, comm));
    mpi.process.scratch.give(buffer);
    result
}
