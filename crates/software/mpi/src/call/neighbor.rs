//! Collective operations of neighbours: each rank exchanges with those that its topology names. `W`
//! is the width of the numbers in the arrays: 4 bytes (`int`), 8 in the functions for large counts.

use super::handler::Begun;
use crate::comm::CommId;
use crate::constant::{self, PROC_NULL};
use crate::datatype::items::Items;
use crate::error::Result;
use crate::process::Process;

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

/// Equal parts, one behind the other, of `buffer, count, datatype`.
fn equal(mpi: &Process, args: &[u64], parts: usize) -> Result<Vec<Items>> {
    let first = mpi.items(args[0], args[1], args[2])?;
    Ok((0..parts as u64).map(|i| first.part(i.wrapping_mul(first.count), first.count)).collect())
}

/// The parts of `buffer, counts, displacements, datatype`.
fn vector<const W: usize>(mpi: &Process, args: &[u64], parts: usize) -> Result<Vec<Items>> {
    let counts = mpi.counts::<W>(args[1], parts as u64, "the counts")?;
    let places = mpi.numbers::<W>(args[2], parts as u64, "the displacements")?;
    let extent = mpi.datatype(args[3])?.extent;
    let parts = counts.iter().zip(places).map(|(&count, place)| {
        mpi.items(args[0].wrapping_add_signed(place.wrapping_mul(extent)), count, args[3])
    });
    parts.collect()
}

/// The parts of `buffer, counts, displacements, datatypes`; the displacements are in bytes, and
/// addresses.
fn each<const W: usize>(mpi: &Process, args: &[u64], parts: usize) -> Result<Vec<Items>> {
    let counts = mpi.counts::<W>(args[1], parts as u64, "the counts")?;
    let places = mpi.numbers::<8>(args[2], parts as u64, "the displacements")?;
    let types = mpi.numbers::<8>(args[3], parts as u64, "the datatypes")?;
    let parts = counts.iter().zip(places).zip(types).map(|((&count, place), datatype)| {
        let datatype = if count == 0 { constant::BYTE } else { datatype as u64 };
        mpi.items(args[0].wrapping_add_signed(place), count, datatype)
    });
    parts.collect()
}

/// `sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm`.
pub(super) fn allgather(mpi: &mut Process, args: &[u64]) -> Begun {
    let comm = mpi.comm_of(args[6])?;
    let to = neighbours(mpi, comm)?;
    let out = vec![mpi.items(args[0], args[1], args[2])?; to.destinations.len()];
    let into = equal(mpi, &args[3..], to.sources.len())?;
    exchange(mpi, comm, &to, &out, &into)
}

/// `sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm`.
pub(super) fn allgatherv<const W: usize>(mpi: &mut Process, args: &[u64]) -> Begun {
    let comm = mpi.comm_of(args[7])?;
    let to = neighbours(mpi, comm)?;
    let out = vec![mpi.items(args[0], args[1], args[2])?; to.destinations.len()];
    let into = vector::<W>(mpi, &args[3..], to.sources.len())?;
    exchange(mpi, comm, &to, &out, &into)
}

/// Arguments as of allgather.
pub(super) fn alltoall(mpi: &mut Process, args: &[u64]) -> Begun {
    let comm = mpi.comm_of(args[6])?;
    let to = neighbours(mpi, comm)?;
    let out = equal(mpi, args, to.destinations.len())?;
    let into = equal(mpi, &args[3..], to.sources.len())?;
    exchange(mpi, comm, &to, &out, &into)
}

/// `sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm`.
pub(super) fn alltoallv<const W: usize>(mpi: &mut Process, args: &[u64]) -> Begun {
    let comm = mpi.comm_of(args[8])?;
    let to = neighbours(mpi, comm)?;
    let out = vector::<W>(mpi, args, to.destinations.len())?;
    let into = vector::<W>(mpi, &args[4..], to.sources.len())?;
    exchange(mpi, comm, &to, &out, &into)
}

/// The same; the types are arrays, too.
pub(super) fn alltoallw<const W: usize>(mpi: &mut Process, args: &[u64]) -> Begun {
    let comm = mpi.comm_of(args[8])?;
    let to = neighbours(mpi, comm)?;
    let out = each::<W>(mpi, args, to.destinations.len())?;
    let into = each::<W>(mpi, &args[4..], to.sources.len())?;
    exchange(mpi, comm, &to, &out, &into)
}
