//! Ranks in a graph.

/// Edges with weights: rank and weight.
pub(crate) type Edges = Vec<(i32, i32)>;

/// A graph, as far as a rank knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Graph {
    /// The neighbours of every rank: MPI_Graph_create.
    Whole(Vec<Vec<i32>>),
    /// The edges of this rank alone, to it and from it: MPI_Dist_graph_create.
    Own {
        /// Ranks that send to this rank.
        sources: Edges,
        /// Ranks that it sends to.
        destinations: Edges,
        /// The weights mean something.
        weighted: bool,
    },
}

impl Graph {
    /// Ranks that send to `rank`, which is this one, and ranks that it sends to.
    pub fn neighbours(&self, rank: u32) -> (Vec<i32>, Vec<i32>) {
        match self {
            Graph::Whole(all) => (all[rank as usize].clone(), all[rank as usize].clone()),
            Graph::Own { sources, destinations, .. } => {
                let ranks = |edges: &Edges| edges.iter().map(|edge| edge.0).collect();
                (ranks(sources), ranks(destinations))
            }
        }
    }
}
