//! Collective operations: each function here begins one. `W` is the width of the numbers in its
//! arrays: 4 bytes (`int`), 8 in the functions for large counts.

use super::arguments::{count, total};
use super::handler::Begun;
use super::vector::{Receives, Sends, Vector};
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
use abi::mpi::args;
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

pub(super) fn barrier(mpi: &mut Process, args: &args::Barrier) -> Begun {
    let comm = mpi.comm_of(args.comm)?;
    mpi.start(comm, barrier::plan)
}

pub(super) fn bcast(mpi: &mut Process, args: &args::Bcast) -> Begun {
    let comm = mpi.comm_of(args.comm)?;
    let items = mpi.items(args.buffer, args.count, args.datatype)?;
    let root = mpi.p2p.check_root(args.root, comm)?;
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

pub(super) fn reduce(mpi: &mut Process, args: &args::Reduce) -> Begun {
    let comm = mpi.comm_of(args.comm)?;
    let root = mpi.p2p.check_root(args.root, comm)?;
    let is_root = mpi.rank(comm)? == root;
    let recv = mpi.items(args.recvbuf, args.count, args.datatype)?;
    let in_place = is_root && args.sendbuf == IN_PLACE;
    let send = Items { va: if in_place { args.recvbuf } else { args.sendbuf }, ..recv.clone() };
    if is_root && !in_place {
        apart(&send, &recv)?;
    }
    let reduction = reduction(mpi, &recv, args.datatype, args.op)?;
    reducing(mpi, &recv, &reduction, |kinds| match is_root {
        true => Share::All(kinds),
        false => Share::Nothing,
    });
    mpi.start(comm, |plan| reduce::plan(plan, &send, is_root.then_some(&recv), &reduction, root))
}

/// Items to send and items to receive.
fn both(mpi: &Process, args: &args::Scan) -> Result<(Items, Items)> {
    let recv = mpi.items(args.recvbuf, args.count, args.datatype)?;
    if args.sendbuf == IN_PLACE {
        return Ok((recv.clone(), recv));
    }
    let send = Items { va: args.sendbuf, ..recv.clone() };
    apart(&send, &recv)?;
    Ok((send, recv))
}

pub(super) fn allreduce(mpi: &mut Process, args: &args::Allreduce) -> Begun {
    let comm = mpi.comm_of(args.comm)?;
    let (send, recv) = both(mpi, args)?;
    let reduction = reduction(mpi, &recv, args.datatype, args.op)?;
    reducing(mpi, &recv, &reduction, Share::All);
    mpi.start(comm, |plan| allreduce::plan(plan, &send, &recv, &reduction))
}

pub(super) fn scan(mpi: &mut Process, args: &args::Scan) -> Begun {
    scan_in(mpi, args, false)
}

pub(super) fn exscan(mpi: &mut Process, args: &args::Exscan) -> Begun {
    scan_in(mpi, args, true)
}

fn scan_in(mpi: &mut Process, args: &args::Scan, exclusive: bool) -> Begun {
    let comm = mpi.comm_of(args.comm)?;
    let (send, recv) = both(mpi, args)?;
    let reduction = reduction(mpi, &recv, args.datatype, args.op)?;
    reducing(mpi, &recv, &reduction, Share::Lower);
    mpi.start(comm, |plan| scan::plan(plan, &send, &recv, &reduction, exclusive))
}

pub(super) fn reduce_scatter_block(mpi: &mut Process, args: &args::ReduceScatterBlock) -> Begun {
    let comm = mpi.comm_of(args.comm)?;
    let counts = vec![count(args.recvcount, "count")?; mpi.size(comm)? as usize];
    let args::ReduceScatterBlock { sendbuf, recvbuf, datatype, op, .. } = *args;
    shares(mpi, &Shares { sendbuf, recvbuf, datatype, op, comm }, &counts)
}

pub(super) fn reduce_scatter<const W: usize>(
    mpi: &mut Process,
    args: &args::ReduceScatter,
) -> Begun {
    let comm = mpi.comm_of(args.comm)?;
    let size = mpi.size(comm)?;
    let counts = mpi.counts::<W>(args.recvcounts, size.into(), "the receive counts")?;
    let args::ReduceScatter { sendbuf, recvbuf, datatype, op, .. } = *args;
    shares(mpi, &Shares { sendbuf, recvbuf, datatype, op, comm }, &counts)
}

/// Arguments of both, but for the counts.
struct Shares {
    sendbuf: u64,
    recvbuf: u64,
    datatype: u64,
    op: u64,
    comm: CommId,
}

fn shares(mpi: &mut Process, args: &Shares, counts: &[u64]) -> Begun {
    let Shares { sendbuf, recvbuf, datatype, op, comm } = *args;
    let own = counts[mpi.rank(comm)? as usize];
    let va = if sendbuf == IN_PLACE { recvbuf } else { sendbuf };
    let send = mpi.items(va, total(counts, "the receive counts")? as i64, datatype)?;
    let recv = Items { va: recvbuf, count: own, ..send.clone() };
    if sendbuf != IN_PLACE {
        apart(&send, &recv)?;
    }
    let reduction = reduction(mpi, &send, datatype, op)?;
    reducing(mpi, &send, &reduction, Share::All);
    mpi.start(comm, |plan| reduce_scatter::plan(plan, &send, &recv, counts, &reduction))
}

/// Items that a call names, unless their address is MPI_IN_PLACE, where it may be that.
fn unless_in_place(
    mpi: &Process,
    may: bool,
    va: u64,
    number: i64,
    datatype: u64,
) -> Result<Option<Items>> {
    if may && va == IN_PLACE {
        return Ok(None);
    }
    mpi.items(va, number, datatype).map(Some)
}

/// One of `size` parts for each member.
fn parts<const W: usize>(mpi: &Process, parts: Vector, size: u32) -> Result<Parts> {
    parts.items::<W>(mpi, size.into()).map(Parts::Any)
}

/// The same; the types are an array, too.
fn each<const W: usize>(mpi: &Process, parts: Vector, size: u32) -> Result<Parts> {
    parts.items_of_types::<W, W>(mpi, size.into()).map(Parts::Any)
}

/// The receive arguments count at the root only.
pub(super) fn gather(mpi: &mut Process, args: &args::Gather) -> Begun {
    let comm = mpi.comm_of(args.comm)?;
    let root = mpi.p2p.check_root(args.root, comm)?;
    let is_root = mpi.rank(comm)? == root;
    let own = unless_in_place(mpi, is_root, args.sendbuf, args.sendcount, args.sendtype)?;
    let all = if is_root {
        Some(Parts::Equal(mpi.items(args.recvbuf, args.recvcount, args.recvtype)?))
    } else {
        None
    };
    own_apart(own.as_ref(), all.as_ref(), root)?;
    gathering(mpi, own.as_ref(), all.as_ref());
    mpi.start(comm, |plan| gather::plan(plan, own.as_ref(), all.as_ref(), root))
}

pub(super) fn gatherv<const W: usize>(mpi: &mut Process, args: &args::Gatherv) -> Begun {
    let comm = mpi.comm_of(args.comm)?;
    let root = mpi.p2p.check_root(args.root, comm)?;
    let (is_root, size) = (mpi.rank(comm)? == root, mpi.size(comm)?);
    let own = unless_in_place(mpi, is_root, args.sendbuf, args.sendcount, args.sendtype)?;
    let all = if is_root { Some(parts::<W>(mpi, args.received(), size)?) } else { None };
    own_apart(own.as_ref(), all.as_ref(), root)?;
    gathering(mpi, own.as_ref(), all.as_ref());
    mpi.start(comm, |plan| gather::plan_unequal(plan, own.as_ref(), all.as_ref(), root))
}

/// The send arguments count at the root only.
pub(super) fn scatter(mpi: &mut Process, args: &args::Scatter) -> Begun {
    let comm = mpi.comm_of(args.comm)?;
    let root = mpi.p2p.check_root(args.root, comm)?;
    let is_root = mpi.rank(comm)? == root;
    let all = if is_root {
        Some(Parts::Equal(mpi.items(args.sendbuf, args.sendcount, args.sendtype)?))
    } else {
        None
    };
    let own = unless_in_place(mpi, is_root, args.recvbuf, args.recvcount, args.recvtype)?;
    own_apart(own.as_ref(), all.as_ref(), root)?;
    scattering(mpi, all.as_ref(), own.as_ref(), root);
    mpi.start(comm, |plan| scatter::plan(plan, all.as_ref(), own.as_ref(), root))
}

pub(super) fn scatterv<const W: usize>(mpi: &mut Process, args: &args::Scatterv) -> Begun {
    let comm = mpi.comm_of(args.comm)?;
    let root = mpi.p2p.check_root(args.root, comm)?;
    let (is_root, size) = (mpi.rank(comm)? == root, mpi.size(comm)?);
    let all = if is_root { Some(parts::<W>(mpi, args.sent(), size)?) } else { None };
    let own = unless_in_place(mpi, is_root, args.recvbuf, args.recvcount, args.recvtype)?;
    own_apart(own.as_ref(), all.as_ref(), root)?;
    scattering(mpi, all.as_ref(), own.as_ref(), root);
    mpi.start(comm, |plan| scatter::plan_unequal(plan, all.as_ref(), own.as_ref(), root))
}

pub(super) fn allgather(mpi: &mut Process, args: &args::Allgather) -> Begun {
    let comm = mpi.comm_of(args.comm)?;
    let own = unless_in_place(mpi, true, args.sendbuf, args.sendcount, args.sendtype)?;
    let all = Parts::Equal(mpi.items(args.recvbuf, args.recvcount, args.recvtype)?);
    own_apart(own.as_ref(), Some(&all), mpi.rank(comm)?)?;
    gathering(mpi, own.as_ref(), Some(&all));
    mpi.start(comm, |plan| allgather::plan(plan, own.as_ref(), &all))
}

pub(super) fn allgatherv<const W: usize>(mpi: &mut Process, args: &args::Allgatherv) -> Begun {
    let comm = mpi.comm_of(args.comm)?;
    let size = mpi.size(comm)?;
    let own = unless_in_place(mpi, true, args.sendbuf, args.sendcount, args.sendtype)?;
    let all = parts::<W>(mpi, args.received(), size)?;
    own_apart(own.as_ref(), Some(&all), mpi.rank(comm)?)?;
    gathering(mpi, own.as_ref(), Some(&all));
    mpi.start(comm, |plan| allgather::plan(plan, own.as_ref(), &all))
}

pub(super) fn alltoall(mpi: &mut Process, args: &args::Alltoall) -> Begun {
    let comm = mpi.comm_of(args.comm)?;
    let out = unless_in_place(mpi, true, args.sendbuf, args.sendcount, args.sendtype)?;
    let out = out.map(Parts::Equal);
    let into = Parts::Equal(mpi.items(args.recvbuf, args.recvcount, args.recvtype)?);
    parts_apart(out.as_ref(), &into, mpi.size(comm)?)?;
    exchanging(mpi, out.as_ref(), &into);
    mpi.start(comm, |plan| alltoall::plan(plan, out.as_ref(), &into))
}

pub(super) fn alltoallv<const W: usize>(mpi: &mut Process, args: &args::Alltoallv) -> Begun {
    let comm = mpi.comm_of(args.comm)?;
    let size = mpi.size(comm)?;
    let out = match args.sendbuf {
        IN_PLACE => None,
        _ => Some(parts::<W>(mpi, args.sent(), size)?),
    };
    let into = parts::<W>(mpi, args.received(), size)?;
    parts_apart(out.as_ref(), &into, size)?;
    exchanging(mpi, out.as_ref(), &into);
    mpi.start(comm, |plan| alltoall::plan(plan, out.as_ref(), &into))
}

/// The displacements are in bytes.
pub(super) fn alltoallw<const W: usize>(mpi: &mut Process, args: &args::Alltoallw) -> Begun {
    let comm = mpi.comm_of(args.comm)?;
    let size = mpi.size(comm)?;
    let out = match args.sendbuf {
        IN_PLACE => None,
        _ => Some(each::<W>(mpi, args.sent(), size)?),
    };
    let into = each::<W>(mpi, args.received(), size)?;
    parts_apart(out.as_ref(), &into, size)?;
    exchanging(mpi, out.as_ref(), &into);
    mpi.start(comm, |plan| alltoall::plan(plan, out.as_ref(), &into))
}
