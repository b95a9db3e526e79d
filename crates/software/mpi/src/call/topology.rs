//! Ranks in a grid.

use super::arguments::count;
use super::handler::Answer;
use crate::comm::graph::Graph;
use crate::comm::topology::{balance, Cartesian};
use crate::comm::CommId;
use crate::constant;
use crate::error::{Error, Result};
use crate::process::Process;
use abi::mpi::args;
use std::rc::Rc;

fn wrong(class: i32, text: impl Into<String>) -> Error {
    Error::new(class, text)
}

/// The grid of a communicator, and this rank in it.
fn grid(mpi: &mut Process, handle: u64) -> Result<(CommId, Rc<Cartesian>)> {
    let id = mpi.comm_of(handle)?;
    let comm = mpi.comm(id)?;
    let grid = comm.cartesian.clone().ok_or_else(|| {
        wrong(constant::ERR_TOPOLOGY, format!("{} is not a Cartesian communicator", comm.name))
    })?;
    Ok((id, grid))
}

/// A grid of so many dimensions, whose lengths and rings are in arrays.
fn shape(mpi: &Process, number: i32, lengths: u64, rings: u64) -> Result<Cartesian> {
    let number = count(number, "the number of dimensions")?;
    let lengths = mpi.numbers::<4>(lengths, number, "the dimensions")?;
    let rings = mpi.numbers::<4>(rings, number, "the periods")?;
    let mut dimensions = Vec::new();
    for (length, ring) in lengths.into_iter().zip(rings) {
        let known = u32::try_from(length).ok().filter(|&length| length > 0);
        let text = || format!("a dimension of {length} ranks is not possible");
        dimensions.push((known.ok_or_else(|| wrong(constant::ERR_DIMS, text()))?, ring != 0));
    }
    Ok(Cartesian { dimensions })
}

/// Ranks stay in their order.
pub(super) fn cart_create(mpi: &mut Process, args: &args::CartCreate) -> Answer {
    let comm = mpi.comm_of(args.comm_old)?;
    let grid = shape(mpi, args.ndims, args.dims, args.periods)?;
    let (rank, members) = (mpi.comm(comm)?.rank, mpi.comm(comm)?.members.clone());
    let here = members.len() as u64;
    let size = grid.size().filter(|&size| size <= here).ok_or_else(|| {
        let size = grid.size().map_or("more than 2^64".into(), |size| size.to_string());
        wrong(constant::ERR_ARG, format!("a grid of {size} ranks needs more than the {here} here"))
    })?;
    let inside = u64::from(rank) < size;
    let new = mpi.make_comm(comm, inside.then(|| (rank, members[..size as usize].into())))?;
    if let Some(new) = new {
        mpi.p2p.comms.get_mut(new)?.cartesian = Some(Rc::new(grid));
    }
    let handle = new.map_or(constant::COMM_NULL, CommId::handle);
    mpi.put_word(args.comm_cart, "the new communicator", handle)
}

pub(super) fn cart_rank(mpi: &mut Process, args: &args::CartRank) -> Answer {
    let (_, grid) = grid(mpi, args.comm)?;
    let number = grid.dimensions.len() as u64;
    let coordinates = mpi.numbers::<4>(args.coords, number, "the coordinates")?;
    let coordinates: Vec<i32> = coordinates.into_iter().map(|at| at as i32).collect();
    let rank = grid.rank(&coordinates).ok_or_else(|| {
        wrong(constant::ERR_ARG, format!("the coordinates {coordinates:?} lie outside of the grid"))
    })?;
    mpi.put_int(args.rank, "the rank", rank as i32)
}

fn put_ints(mpi: &Process, va: u64, room: i32, what: &str, list: &[i32]) -> Answer {
    let room = count(room, "the number of dimensions")? as usize;
    if room < list.len() {
        let text = format!("there is room for {room} of {} dimensions", list.len());
        return Err(wrong(constant::ERR_ARG, text));
    }
    let list: Vec<i64> = list.iter().copied().map(i64::from).collect();
    mpi.put_numbers::<4>(va, what, &list)
}

pub(super) fn cart_coords(mpi: &mut Process, args: &args::CartCoords) -> Answer {
    let (comm, grid) = grid(mpi, args.comm)?;
    let members = mpi.comm(comm)?;
    let rank = args.rank;
    if !members.has(rank) {
        return Err(members.not_a_rank(constant::ERR_RANK, "rank", rank));
    }
    put_ints(mpi, args.coords, args.maxdims, "the coordinates", &grid.coordinates(rank as u32))
}

pub(super) fn cart_shift(mpi: &mut Process, args: &args::CartShift) -> Answer {
    let (comm, grid) = grid(mpi, args.comm)?;
    let (rank, distance) = (mpi.comm(comm)?.rank, args.disp);
    let direction = usize::try_from(args.direction).ok().filter(|&d| d < grid.dimensions.len());
    let direction = direction.ok_or_else(|| {
        let text = format!("direction {} is none of {}", args.direction, grid.dimensions.len());
        wrong(constant::ERR_ARG, text)
    })?;
    let source = grid.neighbour(rank, direction, distance.wrapping_neg());
    mpi.put_int(args.rank_source, "the source", source)?;
    mpi.put_int(args.rank_dest, "the destination", grid.neighbour(rank, direction, distance))
}

/// Ranks that differ in the dimensions that remain only.
pub(super) fn cart_sub(mpi: &mut Process, args: &args::CartSub) -> Answer {
    let (comm, grid) = grid(mpi, args.comm)?;
    let rank = mpi.comm(comm)?.rank;
    let number = grid.dimensions.len() as u64;
    let remain = mpi.numbers::<4>(args.remain_dims, number, "the dimensions")?;
    let coordinates = grid.coordinates(rank);
    let part = |stays: bool| -> (Cartesian, i32) {
        let chosen: Vec<usize> = (0..remain.len()).filter(|&d| (remain[d] != 0) == stays).collect();
        let dimensions = chosen.iter().map(|&d| grid.dimensions[d]).collect();
        let at: Vec<i32> = chosen.iter().map(|&d| coordinates[d]).collect();
        let part = Cartesian { dimensions };
        let place = part.rank(&at).expect("a part of the grid holds a part of the place");
        (part, place as i32)
    };
    let ((kept, key), (_, color)) = (part(true), part(false));
    let new = mpi.split(comm, color, key)?.expect("every rank has a color");
    mpi.p2p.comms.get_mut(new)?.cartesian = Some(Rc::new(kept));
    mpi.put_word(args.newcomm, "the new communicator", new.handle())
}

pub(super) fn cart_get(mpi: &mut Process, args: &args::CartGet) -> Answer {
    let (comm, grid) = grid(mpi, args.comm)?;
    let coordinates = grid.coordinates(mpi.comm(comm)?.rank);
    let lengths: Vec<i32> = grid.dimensions.iter().map(|d| d.0 as i32).collect();
    let rings: Vec<i32> = grid.dimensions.iter().map(|d| i32::from(d.1)).collect();
    put_ints(mpi, args.dims, args.maxdims, "the dimensions", &lengths)?;
    put_ints(mpi, args.periods, args.maxdims, "the periods", &rings)?;
    put_ints(mpi, args.coords, args.maxdims, "the coordinates", &coordinates)
}

pub(super) fn cart_map(mpi: &mut Process, args: &args::CartMap) -> Answer {
    let comm = mpi.comm_of(args.comm)?;
    let size = shape(mpi, args.ndims, args.dims, args.periods)?.size();
    let rank = mpi.comm(comm)?.rank;
    let inside = size.is_none_or(|size| u64::from(rank) < size);
    mpi.put_int(args.newrank, "the rank", if inside { rank as i32 } else { constant::UNDEFINED })
}

pub(super) fn cartdim_get(mpi: &mut Process, args: &args::CartdimGet) -> Answer {
    let (_, grid) = grid(mpi, args.comm)?;
    mpi.put_int(args.ndims, "the number of dimensions", grid.dimensions.len() as i32)
}

pub(super) fn topo_test(mpi: &mut Process, args: &args::TopoTest) -> Answer {
    let comm = mpi.comm_of(args.comm)?;
    let members = mpi.comm(comm)?;
    let kind = match members.graph.as_deref() {
        _ if members.cartesian.is_some() => constant::CART,
        Some(Graph::Whole(_)) => constant::GRAPH,
        Some(Graph::Own { .. }) => constant::DIST_GRAPH,
        None => constant::UNDEFINED,
    };
    mpi.put_int(args.status, "the topology", kind)
}

/// Dimensions that are 0 are chosen.
pub(super) fn dims_create(mpi: &mut Process, args: &args::DimsCreate) -> Answer {
    let nodes = args.nnodes;
    let number = count(args.ndims, "the number of dimensions")?;
    let mut lengths = mpi.numbers::<4>(args.dims, number, "the dimensions")?;
    let free = lengths.iter().filter(|&&length| length == 0).count();
    // Ranks left for the free ones; `None` if the others do not fit.
    let mut fixed = lengths.iter().filter(|&&length| length != 0);
    let left = fixed.try_fold(u32::try_from(nodes).unwrap_or(0), |left, &length| {
        u32::try_from(length).ok().filter(|length| left % length == 0).map(|length| left / length)
    });
    let left = left.filter(|&left| left > 0);
    let chosen = left.and_then(|left| balance(left, free)).ok_or_else(|| {
        let text = format!("{nodes} ranks do not fit in a grid of dimensions {lengths:?}");
        wrong(constant::ERR_DIMS, text)
    })?;
    let mut chosen = chosen.into_iter();
    for length in lengths.iter_mut().filter(|length| **length == 0) {
        *length = i64::from(chosen.next().expect("a factor for each free dimension"));
    }
    mpi.put_numbers::<4>(args.dims, "the dimensions", &lengths)
}
