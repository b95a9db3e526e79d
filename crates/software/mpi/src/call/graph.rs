//! Ranks in a graph.

use super::arguments::{count, total};
use super::handler::Answer;
use crate::collective::allgather;
use crate::collective::parts::Parts;
use crate::comm::graph::{Edges, Graph};
use crate::comm::{Comm, CommId};
use crate::constant;
use crate::error::{Error, Result};
use crate::process::Process;
use crate::request::waiting::Whose;
use abi::mpi::args;
use std::rc::Rc;

impl Comm {
    /// Its graph; an error if it has none.
    pub(crate) fn graph(&self) -> Result<Rc<Graph>> {
        self.graph.clone().ok_or_else(|| {
            let text = format!("{} has no such topology", self.name);
            Error::new(constant::ERR_TOPOLOGY, text)
        })
    }
}

/// The neighbours of every rank.
fn whole(mpi: &mut Process, handle: u64) -> Result<(Rc<Graph>, u32)> {
    let comm = mpi.comm_of(handle)?;
    let graph = mpi.comm(comm)?.graph()?;
    match &*graph {
        Graph::Whole(_) => Ok((graph, mpi.comm(comm)?.rank)),
        Graph::Own { .. } => {
            let text = format!("{} knows only the edges of each rank", mpi.comm(comm)?.name);
            Err(Error::new(constant::ERR_TOPOLOGY, text))
        }
    }
}

/// Arrays with the edges of all nodes, as the neighbours of each.
fn listed(mpi: &Process, nodes: i32, ends: u64, edges: u64) -> Result<Vec<Vec<i32>>> {
    let nodes = count(nodes, "the number of nodes")?;
    let ends = mpi.counts::<4>(ends, nodes, "the index")?;
    let edges = mpi.numbers::<4>(edges, ends.last().copied().unwrap_or(0), "the edges")?;
    if let Some(edge) = edges.iter().find(|&&edge| edge < 0 || edge >= nodes as i64) {
        let text = format!("the edge to {edge} leads to no node of {nodes}");
        return Err(Error::new(constant::ERR_ARG, text));
    }
    let mut all = Vec::new();
    let mut from = 0;
    for end in ends {
        let part = edges.get(from..end as usize).ok_or_else(|| {
            Error::new(constant::ERR_ARG, format!("the index falls from {from} to {end}"))
        })?;
        all.push(part.iter().map(|&edge| edge as i32).collect());
        from = end as usize;
    }
    Ok(all)
}

/// Ranks stay in their order.
pub(super) fn create(mpi: &mut Process, args: &args::GraphCreate) -> Answer {
    let comm = mpi.comm_of(args.comm_old)?;
    let all = listed(mpi, args.nnodes, args.indx, args.edges)?;
    let (rank, members) = (mpi.comm(comm)?.rank, mpi.comm(comm)?.members.clone());
    if all.len() > members.len() {
        let text = format!("a graph of {} ranks needs more than {}", all.len(), members.len());
        return Err(Error::new(constant::ERR_ARG, text));
    }
    let inside = (rank as usize) < all.len();
    let new = mpi.make_comm(comm, inside.then(|| (rank, members[..all.len()].into())))?;
    if let Some(new) = new {
        mpi.p2p.comms.get_mut(new)?.graph = Some(Rc::new(Graph::Whole(all)));
    }
    let handle = new.map_or(constant::COMM_NULL, CommId::handle);
    mpi.put_word(args.comm_graph, "the new communicator", handle)
}

pub(super) fn dims_get(mpi: &mut Process, args: &args::GraphdimsGet) -> Answer {
    let (graph, _) = whole(mpi, args.comm)?;
    let Graph::Whole(all) = &*graph else { unreachable!("looked at before") };
    mpi.put_int(args.nnodes, "the number of nodes", all.len() as i32)?;
    mpi.put_int(args.nedges, "the number of edges", all.iter().map(Vec::len).sum::<usize>() as i32)
}

fn put_ranks(mpi: &Process, va: u64, what: &str, room: i32, ranks: &[i32]) -> Answer {
    let room = count(room, "the room")? as usize;
    let list: Vec<i64> = ranks.iter().take(room).map(|&rank| rank.into()).collect();
    mpi.put_numbers::<4>(va, what, &list)
}

pub(super) fn get(mpi: &mut Process, args: &args::GraphGet) -> Answer {
    let (graph, _) = whole(mpi, args.comm)?;
    let Graph::Whole(all) = &*graph else { unreachable!("looked at before") };
    let mut end = 0;
    let ends: Vec<i32> = all
        .iter()
        .map(|edges| {
            end += edges.len() as i32;
            end
        })
        .collect();
    put_ranks(mpi, args.indx, "the index", args.maxindex, &ends)?;
    put_ranks(mpi, args.edges, "the edges", args.maxedges, &all.concat())
}

fn neighbours_of(mpi: &mut Process, comm: u64, rank: i32) -> Result<Vec<i32>> {
    let (graph, _) = whole(mpi, comm)?;
    let Graph::Whole(all) = &*graph else { unreachable!("looked at before") };
    let found = u32::try_from(rank).ok().and_then(|rank| all.get(rank as usize));
    found.cloned().ok_or_else(|| {
        let text = format!("rank {rank} is none of the {} of the graph", all.len());
        Error::new(constant::ERR_RANK, text)
    })
}

pub(super) fn neighbors_count(mpi: &mut Process, args: &args::GraphNeighborsCount) -> Answer {
    let number = neighbours_of(mpi, args.comm, args.rank)?.len();
    mpi.put_int(args.nneighbors, "the number of neighbours", number as i32)
}

pub(super) fn neighbors(mpi: &mut Process, args: &args::GraphNeighbors) -> Answer {
    let list = neighbours_of(mpi, args.comm, args.rank)?;
    put_ranks(mpi, args.neighbors, "the neighbours", args.maxneighbors, &list)
}

pub(super) fn map(mpi: &mut Process, args: &args::GraphMap) -> Answer {
    let comm = mpi.comm_of(args.comm)?;
    let nodes = listed(mpi, args.nnodes, args.indx, args.edges)?.len();
    let rank = mpi.comm(comm)?.rank;
    let inside = (rank as usize) < nodes;
    mpi.put_int(args.newrank, "the rank", if inside { rank as i32 } else { constant::UNDEFINED })
}

/// Ranks and weights; weights may be one of the two constants.
fn edges(mpi: &Process, number: i64, ranks: u64, weights: u64) -> Result<Edges> {
    let number = count(number, "the number of edges")?;
    let ranks = mpi.numbers::<4>(ranks, number, "the edges")?;
    let weights = match weights {
        constant::UNWEIGHTED | constant::WEIGHTS_EMPTY => vec![1; ranks.len()],
        va => mpi.numbers::<4>(va, number, "the weights")?,
    };
    Ok(ranks.into_iter().zip(weights).map(|(rank, w)| (rank as i32, w as i32)).collect())
}

fn check(mpi: &Process, comm: CommId, edges: &Edges) -> Answer {
    let members = mpi.comm(comm)?;
    match edges.iter().find(|edge| !members.has(edge.0)) {
        Some(edge) => Err(members.not_a_rank(constant::ERR_ARG, "neighbour", edge.0)),
        None => Ok(()),
    }
}

/// A copy of a communicator with this rank's edges.
fn make(mpi: &mut Process, comm: CommId, graph: Graph, va: u64) -> Answer {
    let new = mpi.duplicate(comm)?;
    mpi.p2p.comms.get_mut(new)?.graph = Some(Rc::new(graph));
    mpi.put_word(va, "the new communicator", new.handle())
}

pub(super) fn create_adjacent(mpi: &mut Process, args: &args::DistGraphCreateAdjacent) -> Answer {
    let comm = mpi.comm_of(args.comm_old)?;
    let sources = edges(mpi, args.indegree.into(), args.sources, args.sourceweights)?;
    let destinations = edges(mpi, args.outdegree.into(), args.destinations, args.destweights)?;
    check(mpi, comm, &sources)?;
    check(mpi, comm, &destinations)?;
    let weighted = args.sourceweights != constant::UNWEIGHTED;
    make(mpi, comm, Graph::Own { sources, destinations, weighted }, args.comm_dist_graph)
}

/// Words that every rank contributes, by rank.
fn gathered(mpi: &mut Process, comm: CommId, own: &[i64]) -> Result<Vec<i64>> {
    let (rank, size) = (mpi.rank(comm)?, u64::from(mpi.size(comm)?));
    // First how many there are.
    let buffer = mpi.p2p.local.take_buffer(8 * size);
    mpi.write(buffer.va + 8 * u64::from(rank), &(own.len() as u64).to_le_bytes())?;
    let counts = Parts::Equal(mpi.bytes(buffer.va, 8));
    let id = mpi.start(comm, |plan| allgather::plan(plan, None, &counts))?;
    mpi.finish(id, Whose::Own)?;
    let counts = mpi.counts::<8>(buffer.va, size, "the counts")?;
    mpi.p2p.local.give_buffer(buffer);
    let all = counts.iter().sum::<u64>();
    let buffer = mpi.p2p.local.take_buffer(8 * all.max(1));
    let mut parts = Vec::new();
    let mut at = buffer.va;
    for (other, number) in counts.into_iter().enumerate() {
        if other == rank as usize {
            let bytes: Vec<u8> = own.iter().flat_map(|word| word.to_le_bytes()).collect();
            mpi.write(at, &bytes)?;
        }
        parts.push(mpi.bytes(at, 8 * number));
        at += 8 * number;
    }
    let id = mpi.start(comm, |plan| allgather::plan(plan, None, &Parts::Any(parts)))?;
    mpi.finish(id, Whose::Own)?;
    let words = mpi.numbers::<8>(buffer.va, all, "the edges");
    mpi.p2p.local.give_buffer(buffer);
    words
}

/// Any rank may name any edges.
pub(super) fn create_distributed(mpi: &mut Process, args: &args::DistGraphCreate) -> Answer {
    let comm = mpi.comm_of(args.comm_old)?;
    let number = count(args.n, "the number of sources")?;
    let from = mpi.numbers::<4>(args.sources, number, "the sources")?;
    let degrees = mpi.counts::<4>(args.degrees, number, "the degrees")?;
    let to = edges(mpi, total(&degrees, "the degrees")? as i64, args.destinations, args.weights)?;
    let from: Edges = from.into_iter().map(|rank| (rank as i32, 0)).collect();
    check(mpi, comm, &from)?;
    check(mpi, comm, &to)?;
    let mut own = Vec::new();
    let mut rest = to.into_iter();
    for (&(source, _), degree) in from.iter().zip(degrees) {
        for (destination, weight) in rest.by_ref().take(degree as usize) {
            own.extend([source, destination, weight].map(i64::from));
        }
    }
    let weighted = args.weights != constant::UNWEIGHTED;
    let all = gathered(mpi, comm, &own)?;
    let rank = mpi.rank(comm)? as i64;
    let (mut sources, mut destinations) = (Edges::new(), Edges::new());
    for edge in all.chunks_exact(3) {
        if edge[1] == rank {
            sources.push((edge[0] as i32, edge[2] as i32));
        }
        if edge[0] == rank {
            destinations.push((edge[1] as i32, edge[2] as i32));
        }
    }
    make(mpi, comm, Graph::Own { sources, destinations, weighted }, args.comm_dist_graph)
}

/// This rank's edges.
fn own(mpi: &mut Process, handle: u64) -> Result<(Edges, Edges, bool)> {
    let comm = mpi.comm_of(handle)?;
    match &*mpi.comm(comm)?.graph()? {
        Graph::Own { sources, destinations, weighted } => {
            Ok((sources.clone(), destinations.clone(), *weighted))
        }
        Graph::Whole(_) => {
            let text = format!("{} is no distributed graph", mpi.comm(comm)?.name);
            Err(Error::new(constant::ERR_TOPOLOGY, text))
        }
    }
}

pub(super) fn dist_neighbors_count(
    mpi: &mut Process,
    args: &args::DistGraphNeighborsCount,
) -> Answer {
    let (sources, destinations, weighted) = own(mpi, args.comm)?;
    mpi.put_int(args.indegree, "the number of sources", sources.len() as i32)?;
    mpi.put_int(args.outdegree, "the number of destinations", destinations.len() as i32)?;
    mpi.put_int(args.weighted, "the flag", i32::from(weighted))
}

/// Places of the program for edges: ranks, and weights, which may be one of the two constants.
struct EdgesAt {
    room: i32,
    ranks: u64,
    weights: u64,
}

fn put_edges(mpi: &Process, at: &EdgesAt, edges: &Edges, weighted: bool) -> Answer {
    let (ranks, weights): (Vec<i32>, Vec<i32>) = edges.iter().copied().unzip();
    put_ranks(mpi, at.ranks, "the neighbours", at.room, &ranks)?;
    match at.weights {
        constant::UNWEIGHTED | constant::WEIGHTS_EMPTY => Ok(()),
        _ if !weighted => Ok(()),
        va => put_ranks(mpi, va, "the weights", at.room, &weights),
    }
}

pub(super) fn dist_neighbors(mpi: &mut Process, args: &args::DistGraphNeighbors) -> Answer {
    let (sources, destinations, weighted) = own(mpi, args.comm)?;
    let args::DistGraphNeighbors { maxindegree, maxoutdegree, .. } = *args;
    let at = EdgesAt { room: maxindegree, ranks: args.sources, weights: args.sourceweights };
    put_edges(mpi, &at, &sources, weighted)?;
    let at = EdgesAt { room: maxoutdegree, ranks: args.destinations, weights: args.destweights };
    put_edges(mpi, &at, &destinations, weighted)
}
