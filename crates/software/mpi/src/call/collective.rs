//! Collective operations: each function here begins one. `W` is the width of the numbers in its
//! arrays: 4 bytes (`int`), 8 in the functions for large counts.

use super::arguments::{count, int, total};
use super::handler::Begun;
use crate::collective::parts::Parts;
use crate::collective::{
    allgather, allreduce, alltoall, barrier, bcast, gather, reduce, reduce_scatter, scan, scatter,
};
use crate::comm::CommId;
use crate::constant::{self, IN_PLACE};
use crate::datatype::items::Items;
use crate::error::{Error, Result};
use crate::observe::{Exchange, Kinds, Share};
use crate::process::Process;
use crate::reduction::{Operator, Reduction};
use std::rc::Rc;

/// Kinds of items in a call.
fn kinds(items: &Items, call: &'static str) -> Kinds {
    items.kinds(items.bytes(), call).expect("the items are whole")
}

/// The same with the operation that reduces them.
fn reduced(items: &Items, reduction: &Reduction, call: &'static str) -> Kinds {
    let mut kinds = kinds(items, call);
    let name = match reduction.operator {
        Operator::Predefined(op) => op.name(),
        Operator::User(_) => "an operation of the program's",
    };
    let add = |number: u64, byte: u8| number.wrapping_mul(31).wrapping_add(byte.into());
    kinds.number = name.bytes().fold(kinds.number, add);
    kinds.text = format!("{} with {name}", kinds.text);
    kinds
}

/// Kinds of each member's part.
fn share(parts: &Parts, call: &'static str) -> Share {
    match parts {
        Parts::Equal(first) => Share::All(kinds(first, call)),
        Parts::Any(parts) => Share::Each(parts.iter().map(|part| kinds(part, call)).collect()),
    }
}

/// A reduction in which each gives the same, and takes of those that the second makes.
fn reducing(
    mpi: &mut Process,
    items: &Items,
    reduction: &Reduction,
    takes: impl FnOnce(Kinds) -> Share,
) {
    mpi.p2p.local.declare_exchange(|call| {
        let kinds = reduced(items, reduction, call);
        Exchange { gives: Share::All(kinds.clone()), takes: takes(kinds) }
    });
}

/// An exchange of a rank's own items, if it has any, and parts of all.
fn gathering(mpi: &mut Process, own: Option<&Items>, all: Option<&Parts>) {
    mpi.p2p.local.declare_exchange(|call| Exchange {
        gives: own.map(|own| Share::All(kinds(own, call))).unwrap_or_default(),
        takes: all.map(|all| share(all, call)).unwrap_or_default(),
    });
}

/// The other way round, from the root.
fn scattering(mpi: &mut Process, all: Option<&Parts>, own: Option<&Items>, root: u32) {
    mpi.p2p.local.declare_exchange(|call| Exchange {
        gives: all.map(|all| share(all, call)).unwrap_or_default(),
        takes: own.map(|own| Share::One(root, kinds(own, call))).unwrap_or_default(),
    });
}

/// An exchange of parts; without those to send, these are what is received.
fn exchanging(mpi: &mut Process, out: Option<&Parts>, into: &Parts) {
    mpi.p2p.local.declare_exchange(|call| Exchange {
        gives: share(out.unwrap_or(into), call),
        takes: share(into, call),
    });
}

pub(super) fn barrier(mpi: &mut Process, args: &[u64]) -> Begun {
    let comm = mpi.comm_of(args[0])?;
    mpi.start(comm, barrier::plan)
}

/// `buffer, count, datatype, root, comm`.
pub(super) fn bcast(mpi: &mut Process, args: &[u64]) -> Begun {
    let comm = mpi.comm_of(args[4])?;
    let items = mpi.items(args[0], args[1], args[2])?;
    let root = mpi.p2p.check_root(int(args[3]), comm)?;
    let is_root = mpi.rank(comm)? == root;
    mpi.p2p.local.declare_exchange(|call| match (is_root, kinds(&items, call)) {
        (true, kinds) => Exchange { gives: Share::All(kinds), takes: Share::Nothing },
        (false, kinds) => Exchange { gives: Share::Nothing, takes: Share::One(root, kinds) },
    });
    mpi.start(comm, |plan| bcast::plan(plan, &items, root))
}

/// Operation and type of a reduction.
pub(super) fn reduction(
    mpi: &Process,
    items: &Items,
    handle: u64,
    op: u64,
) -> Result<Rc<Reduction>> {
    let operator = mpi.objects.ops.get(op)?;
    Ok(Rc::new(Reduction { operator, datatype: items.datatype.clone(), handle }))
}

/// Refuses buffers whose data begin at the same byte: the standard has them apart, and MPI_IN_PLACE
/// for a buffer that is both. Others that overlap are not looked for, as in MPICH; a null pointer is
/// told later, as such.
pub(super) fn apart(send: &Items, recv: &Items) -> Result<()> {
    let first = |items: &Items| {
        let offset = items.datatype.layout.first().filter(|_| items.count > 0)?;
        Some(items.va.wrapping_add_signed(offset)).filter(|&va| va != 0)
    };
    match first(send) {
        Some(va) if first(recv) == Some(va) => {
            let text = format!(
                "what is sent and what is received are both at {va:#x}: MPI_IN_PLACE is for that, \
                 where it is allowed"
            );
            Err(Error::new(constant::ERR_BUFFER, text))
        }
        _ => Ok(()),
    }
}

/// The same for a rank's own items and the parts of all, where it has both.
fn own_apart(own: Option<&Items>, all: Option<&Parts>, rank: u32) -> Result<()> {
    own.zip(all).map_or(Ok(()), |(own, all)| apart(own, &all.of(rank)))
}

/// The same for parts to send, unless MPI_IN_PLACE replaces them, and parts to receive.
fn parts_apart(out: Option<&Parts>, into: &Parts, size: u32) -> Result<()> {
    out.map_or(Ok(()), |out| (0..size).try_for_each(|rank| apart(&out.of(rank), &into.of(rank))))
}

/// `sendbuf, recvbuf, count, datatype, op, root, comm`.
pub(super) fn reduce(mpi: &mut Process, args: &[u64]) -> Begun {
    let comm = mpi.comm_of(args[6])?;
    let root = mpi.p2p.check_root(int(args[5]), comm)?;
    let is_root = mpi.rank(comm)? == root;
    let recv = mpi.items(args[1], args[2], args[3])?;
    let in_place = is_root && args[0] == IN_PLACE;
    let send = Items { va: if in_place { args[1] } else { args[0] }, ..recv.clone() };
    if is_root && !in_place {
        apart(&send, &recv)?;
    }
    let reduction = reduction(mpi, &recv, args[3], args[4])?;
    reducing(mpi, &recv, &reduction, |kinds| match is_root {
        true => Share::All(kinds),
        false => Share::Nothing,
    });
    mpi.start(comm, |plan| reduce::plan(plan, (&send, is_root.then_some(&recv)), &reduction, root))
}

/// Items to send and items to receive, from the arguments `sendbuf, recvbuf, count, datatype`.
fn both(mpi: &Process, args: &[u64]) -> Result<(Items, Items)> {
    let recv = mpi.items(args[1], args[2], args[3])?;
    if args[0] == IN_PLACE {
        return Ok((recv.clone(), recv));
    }
    let send = Items { va: args[0], ..recv.clone() };
    apart(&send, &recv)?;
    Ok((send, recv))
}

/// `sendbuf, recvbuf, count, datatype, op, comm`.
pub(super) fn allreduce(mpi: &mut Process, args: &[u64]) -> Begun {
    let comm = mpi.comm_of(args[5])?;
    let (send, recv) = both(mpi, args)?;
    let reduction = reduction(mpi, &recv, args[3], args[4])?;
    reducing(mpi, &recv, &reduction, Share::All);
    mpi.start(comm, |plan| allreduce::plan(plan, (&send, &recv), &reduction))
}

/// Arguments as of allreduce.
pub(super) fn scan(mpi: &mut Process, args: &[u64]) -> Begun {
    scan_in(mpi, args, false)
}

/// Arguments as of allreduce.
pub(super) fn exscan(mpi: &mut Process, args: &[u64]) -> Begun {
    scan_in(mpi, args, true)
}

fn scan_in(mpi: &mut Process, args: &[u64], exclusive: bool) -> Begun {
    let comm = mpi.comm_of(args[5])?;
    let (send, recv) = both(mpi, args)?;
    let reduction = reduction(mpi, &recv, args[3], args[4])?;
    reducing(mpi, &recv, &reduction, Share::Lower);
    mpi.start(comm, |plan| scan::plan(plan, (&send, &recv), &reduction, exclusive))
}

/// `sendbuf, recvbuf, recvcount, datatype, op, comm`.
pub(super) fn reduce_scatter_block(mpi: &mut Process, args: &[u64]) -> Begun {
    let comm = mpi.comm_of(args[5])?;
    let counts = vec![count(args[2], "count")?; mpi.size(comm)? as usize];
    shares(mpi, args, &counts, comm)
}

/// `sendbuf, recvbuf, recvcounts, datatype, op, comm`.
pub(super) fn reduce_scatter<const W: usize>(mpi: &mut Process, args: &[u64]) -> Begun {
    let comm = mpi.comm_of(args[5])?;
    let size = mpi.size(comm)?;
    let counts = mpi.counts::<W>(args[2], size.into(), "the receive counts")?;
    shares(mpi, args, &counts, comm)
}

fn shares(mpi: &mut Process, args: &[u64], counts: &[u64], comm: CommId) -> Begun {
    let own = counts[mpi.rank(comm)? as usize];
    let va = if args[0] == IN_PLACE { args[1] } else { args[0] };
    let send = mpi.items(va, total(counts, "the receive counts")?, args[3])?;
    let recv = Items { va: args[1], count: own, ..send.clone() };
    if args[0] != IN_PLACE {
        apart(&send, &recv)?;
    }
    let reduction = reduction(mpi, &send, args[3], args[4])?;
    reducing(mpi, &send, &reduction, Share::All);
    mpi.start(comm, |plan| reduce_scatter::plan(plan, (&send, &recv), counts, &reduction))
}

/// `buffer, count, datatype`, unless the buffer is MPI_IN_PLACE.
fn unless_in_place(mpi: &Process, args: &[u64], may: bool) -> Result<Option<Items>> {
    if may && args[0] == IN_PLACE {
        return Ok(None);
    }
    mpi.items(args[0], args[1], args[2]).map(Some)
}

/// Parts of `buffer, counts, displacements, datatype`, of which there are `size`.
fn parts<const W: usize>(mpi: &Process, args: &[u64], size: u32) -> Result<Parts> {
    let counts = mpi.counts::<W>(args[1], size.into(), "the counts")?;
    let places = mpi.numbers::<W>(args[2], size.into(), "the displacements")?;
    let extent = mpi.datatype(args[3])?.extent;
    let parts = counts.iter().zip(places).map(|(&count, place)| {
        mpi.items(args[0].wrapping_add_signed(place.wrapping_mul(extent)), count, args[3])
    });
    parts.collect::<Result<_>>().map(Parts::Any)
}

/// `sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm`; the receive arguments
/// count at the root only.
pub(super) fn gather(mpi: &mut Process, args: &[u64]) -> Begun {
    let comm = mpi.comm_of(args[7])?;
    let root = mpi.p2p.check_root(int(args[6]), comm)?;
    let is_root = mpi.rank(comm)? == root;
    let own = unless_in_place(mpi, args, is_root)?;
    let all =
        if is_root { Some(Parts::Equal(mpi.items(args[3], args[4], args[5])?)) } else { None };
    own_apart(own.as_ref(), all.as_ref(), root)?;
    gathering(mpi, own.as_ref(), all.as_ref());
    mpi.start(comm, |plan| gather::plan(plan, own.as_ref(), all.as_ref(), (root, true)))
}

/// `sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root, comm`.
pub(super) fn gatherv<const W: usize>(mpi: &mut Process, args: &[u64]) -> Begun {
    let comm = mpi.comm_of(args[8])?;
    let root = mpi.p2p.check_root(int(args[7]), comm)?;
    let (is_root, size) = (mpi.rank(comm)? == root, mpi.size(comm)?);
    let own = unless_in_place(mpi, args, is_root)?;
    let all = if is_root { Some(parts::<W>(mpi, &args[3..], size)?) } else { None };
    own_apart(own.as_ref(), all.as_ref(), root)?;
    gathering(mpi, own.as_ref(), all.as_ref());
    mpi.start(comm, |plan| gather::plan(plan, own.as_ref(), all.as_ref(), (root, false)))
}

/// Arguments as of gather; the send arguments count at the root only.
pub(super) fn scatter(mpi: &mut Process, args: &[u64]) -> Begun {
    let comm = mpi.comm_of(args[7])?;
    let root = mpi.p2p.check_root(int(args[6]), comm)?;
    let is_root = mpi.rank(comm)? == root;
    let all =
        if is_root { Some(Parts::Equal(mpi.items(args[0], args[1], args[2])?)) } else { None };
    let own = unless_in_place(mpi, &args[3..], is_root)?;
    own_apart(own.as_ref(), all.as_ref(), root)?;
    scattering(mpi, all.as_ref(), own.as_ref(), root);
    mpi.start(comm, |plan| scatter::plan(plan, all.as_ref(), own.as_ref(), (root, true)))
}

/// `sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root, comm`.
pub(super) fn scatterv<const W: usize>(mpi: &mut Process, args: &[u64]) -> Begun {
    let comm = mpi.comm_of(args[8])?;
    let root = mpi.p2p.check_root(int(args[7]), comm)?;
    let (is_root, size) = (mpi.rank(comm)? == root, mpi.size(comm)?);
    let all = if is_root { Some(parts::<W>(mpi, args, size)?) } else { None };
    let own = unless_in_place(mpi, &args[4..], is_root)?;
    own_apart(own.as_ref(), all.as_ref(), root)?;
    scattering(mpi, all.as_ref(), own.as_ref(), root);
    mpi.start(comm, |plan| scatter::plan(plan, all.as_ref(), own.as_ref(), (root, false)))
}

/// `sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm`.
pub(super) fn allgather(mpi: &mut Process, args: &[u64]) -> Begun {
    let comm = mpi.comm_of(args[6])?;
    let own = unless_in_place(mpi, args, true)?;
    let all = Parts::Equal(mpi.items(args[3], args[4], args[5])?);
    own_apart(own.as_ref(), Some(&all), mpi.rank(comm)?)?;
    gathering(mpi, own.as_ref(), Some(&all));
    mpi.start(comm, |plan| allgather::plan(plan, own.as_ref(), &all))
}

/// `sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm`.
pub(super) fn allgatherv<const W: usize>(mpi: &mut Process, args: &[u64]) -> Begun {
    let comm = mpi.comm_of(args[7])?;
    let size = mpi.size(comm)?;
    let own = unless_in_place(mpi, args, true)?;
    let all = parts::<W>(mpi, &args[3..], size)?;
    own_apart(own.as_ref(), Some(&all), mpi.rank(comm)?)?;
    gathering(mpi, own.as_ref(), Some(&all));
    mpi.start(comm, |plan| allgather::plan(plan, own.as_ref(), &all))
}

/// Arguments as of allgather.
pub(super) fn alltoall(mpi: &mut Process, args: &[u64]) -> Begun {
    let comm = mpi.comm_of(args[6])?;
    let out = unless_in_place(mpi, args, true)?.map(Parts::Equal);
    let into = Parts::Equal(mpi.items(args[3], args[4], args[5])?);
    parts_apart(out.as_ref(), &into, mpi.size(comm)?)?;
    exchanging(mpi, out.as_ref(), &into);
    mpi.start(comm, |plan| alltoall::plan(plan, out.as_ref(), &into))
}

/// `sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm`.
pub(super) fn alltoallv<const W: usize>(mpi: &mut Process, args: &[u64]) -> Begun {
    let comm = mpi.comm_of(args[8])?;
    let size = mpi.size(comm)?;
    let out = match args[0] {
        IN_PLACE => None,
        _ => Some(parts::<W>(mpi, args, size)?),
    };
    let into = parts::<W>(mpi, &args[4..], size)?;
    parts_apart(out.as_ref(), &into, size)?;
    exchanging(mpi, out.as_ref(), &into);
    mpi.start(comm, |plan| alltoall::plan(plan, out.as_ref(), &into))
}

/// `sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm`; the
/// displacements are in bytes.
pub(super) fn alltoallw<const W: usize>(mpi: &mut Process, args: &[u64]) -> Begun {
    let comm = mpi.comm_of(args[8])?;
    let size = mpi.size(comm)?;
    let parts = |mpi: &Process, args: &[u64]| -> Result<Parts> {
        let counts = mpi.counts::<W>(args[1], size.into(), "the counts")?;
        let places = mpi.numbers::<W>(args[2], size.into(), "the displacements")?;
        let types = mpi.numbers::<8>(args[3], size.into(), "the datatypes")?;
        let parts = counts.iter().zip(places).zip(types).map(|((&count, place), datatype)| {
            // A type that is not used need not be one.
            let datatype = if count == 0 { constant::BYTE } else { datatype as u64 };
            mpi.items(args[0].wrapping_add_signed(place), count, datatype)
        });
        parts.collect::<Result<_>>().map(Parts::Any)
    };
    let out = if args[0] == IN_PLACE { None } else { Some(parts(mpi, args)?) };
    let into = parts(mpi, &args[4..])?;
    parts_apart(out.as_ref(), &into, size)?;
    exchanging(mpi, out.as_ref(), &into);
    mpi.start(comm, |plan| alltoall::plan(plan, out.as_ref(), &into))
}
