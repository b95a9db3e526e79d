//! Collective operations of neighbours: each rank exchanges with those that its topology names. `W`
//! is the width of the numbers in the arrays: 4 bytes (`int`), 8 in the functions for large counts.

use super::handler::Begun;
use super::vector::{Receives, Sends};
use crate::comm::CommId;
use crate::constant::PROC_NULL;
use crate::datatype::items::Items;
use crate::error::Result;
use crate::process::Process;
use abi::mpi::args;

/// Ranks that send to this rank, and ranks that it sends to; MPI_PROC_NULL at the edges of a grid.
pub(super) struct Neighbours {
    pub sources: Vec<i32>,
    pub destinations: Vec<i32>,
    /// They are in pairs, one on each side: what goes to the one comes from the other.
    paired: bool,
}

pub(super) fn neighbours(mpi: &Process, comm: CommId) -> Result<Neighbours> {
    let members = mpi.comm(comm)?;
    if let Some(grid) = &members.cartesian {
        let both = (0..grid.dimensions.len()).flat_map(|dimension| {
            [-1, 1].map(|distance| grid.neighbour(members.rank, dimension, distance))
        });
        let sources: Vec<i32> = both.collect();
        return Ok(Neighbours { destinations: sources.clone(), sources, paired: true });
    }
    let (sources, destinations) = members.graph()?.neighbours(members.rank);
    Ok(Neighbours { sources, destinations, paired: false })
}

/// Begins the exchange: items for each destination, and room for those of each source.
fn exchange(
    mpi: &mut Process,
    comm: CommId,
    neighbours: &Neighbours,
    out: &[Items],
    into: &[Items],
) -> Begun {
    let count = neighbours.sources.len();
    // A neighbour's first message to this side is the one that it sends to its other side, so if it is
    // on both, that comes first.
    let order = (0..count).map(|i| if neighbours.paired { i ^ 1 } else { i });
    mpi.start(comm, |plan| {
        for i in order.filter(|&i| neighbours.sources[i] != PROC_NULL) {
            plan.receive(neighbours.sources[i] as u32, into[i].clone());
        }
        for (i, &to) in neighbours.destinations.iter().enumerate() {
            if to != PROC_NULL {
                plan.send(to as u32, out[i].clone());
            }
        }
        Ok(())
    })
}

/// Equal parts, one behind the other, of which these items are the first.
fn equal(first: &Items, parts: usize) -> Vec<Items> {
    (0..parts as u64).map(|i| first.part(i.wrapping_mul(first.count), first.count)).collect()
}

pub(super) fn allgather(mpi: &mut Process, args: &args::NeighborAllgather) -> Begun {
    let comm = mpi.comm_of(args.comm)?;
    let to = neighbours(mpi, comm)?;
    let out = vec![mpi.items(args.sendbuf, args.sendcount, args.sendtype)?; to.destinations.len()];
    let first = mpi.items(args.recvbuf, args.recvcount, args.recvtype)?;
    let into = equal(&first, to.sources.len());
    exchange(mpi, comm, &to, &out, &into)
}

pub(super) fn allgatherv<const W: usize>(
    mpi: &mut Process,
    args: &args::NeighborAllgatherv,
) -> Begun {
    let comm = mpi.comm_of(args.comm)?;
    let to = neighbours(mpi, comm)?;
    let out = vec![mpi.items(args.sendbuf, args.sendcount, args.sendtype)?; to.destinations.len()];
    let into = args.received().items::<W>(mpi, to.sources.len() as u64)?;
    exchange(mpi, comm, &to, &out, &into)
}

pub(super) fn alltoall(mpi: &mut Process, args: &args::NeighborAlltoall) -> Begun {
    let comm = mpi.comm_of(args.comm)?;
    let to = neighbours(mpi, comm)?;
    let first = mpi.items(args.sendbuf, args.sendcount, args.sendtype)?;
    let out = equal(&first, to.destinations.len());
    let first = mpi.items(args.recvbuf, args.recvcount, args.recvtype)?;
    let into = equal(&first, to.sources.len());
    exchange(mpi, comm, &to, &out, &into)
}

pub(super) fn alltoallv<const W: usize>(
    mpi: &mut Process,
    args: &args::NeighborAlltoallv,
) -> Begun {
    let comm = mpi.comm_of(args.comm)?;
    let to = neighbours(mpi, comm)?;
    let out = args.sent().items::<W>(mpi, to.destinations.len() as u64)?;
    let into = args.received().items::<W>(mpi, to.sources.len() as u64)?;
    exchange(mpi, comm, &to, &out, &into)
}

/// The types are in arrays, too; the displacements are in bytes.
pub(super) fn alltoallw<const W: usize>(
    mpi: &mut Process,
    args: &args::NeighborAlltoallw,
) -> Begun {
    let comm = mpi.comm_of(args.comm)?;
    let to = neighbours(mpi, comm)?;
    let out = args.sent().items_of_types::<W, 8>(mpi, to.destinations.len() as u64)?;
    let into = args.received().items_of_types::<W, 8>(mpi, to.sources.len() as u64)?;
    exchange(mpi, comm, &to, &out, &into)
}
