//! Placement of ranks on nodes: ranks with neighbouring numbers share a node, each with a core of its own.

use crate::parameters::hosts::Cores;
use portals::ProcessId;
use std::ops::Range;
use std::sync::Arc;

/// Process id of the first MPI library's Portals process on its node; the next rank's follows.
const RANK_PID: u32 = 1;
/// The same for the program's own Portals process, if it asks for no other.
const PROGRAM_PID: u32 = 100;

/// A rank on a core of its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The core.
    pub core: u32,
    /// The rank.
    pub rank: u32,
}

/// Placement of the ranks of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// Number of ranks.
    pub ranks: u32,
    /// Ranks on a node, a core each.
    pub per_node: u32,
}

/// Ranks that cannot be placed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlacementError {
    /// A node has fewer cores than ranks.
    #[error(
        "host.ranks_per_node is {per_node}, but a node of {machine} has {} (host.cores), and every \
         rank needs one",
        if *cores == 1 { "1 core".to_owned() } else { format!("{cores} cores") }
    )]
    Cores {
        /// Name of the machine.
        machine: String,
        /// Ranks on a node.
        per_node: u32,
        /// Cores of a node.
        cores: u32,
    },
    /// There are more ranks than messages can name.
    #[error("{ranks} ranks are too many: messages can name {} at most", mpi::MAX_RANKS)]
    Ranks {
        /// Number of ranks.
        ranks: u32,
    },
    /// They need more nodes than messages can name.
    #[error("{ranks} ranks need {nodes} nodes, but messages can name {NODES_MAX}")]
    Nodes {
        /// Number of ranks.
        ranks: u32,
        /// Nodes that they need.
        nodes: u32,
    },
}

/// Most nodes of a machine: Portals' header, and the commands of cards, name a node with 16 bits.
const NODES_MAX: u32 = 1 << 16;

impl Placement {
    /// Placement of so many ranks on the nodes of a machine with these cores; with none told, one on each.
    pub fn new(
        machine: &str,
        cores: Option<Cores>,
        ranks: u32,
    ) -> Result<Placement, PlacementError> {
        let (per_node, cores) = cores.map_or((1, 1), |cores| (cores.ranks_per_node, cores.cores));
        if per_node > cores {
            return Err(PlacementError::Cores { machine: machine.to_owned(), per_node, cores });
        }
        if ranks > mpi::MAX_RANKS {
            return Err(PlacementError::Ranks { ranks });
        }
        Ok(Placement { ranks, per_node })
    }

    /// Nodes of a machine without a topology: as many as the ranks need.
    pub fn nodes_needed(self) -> Result<u32, PlacementError> {
        let (ranks, nodes) = (self.ranks, self.nodes().max(1));
        if nodes > NODES_MAX {
            return Err(PlacementError::Nodes { ranks, nodes });
        }
        Ok(nodes)
    }

    /// Nodes that have a rank.
    pub fn nodes(self) -> u32 {
        self.ranks.div_ceil(self.per_node)
    }

    /// The ranks of node `nid`, in the order of its cores.
    pub fn on(self, nid: u32) -> Range<u32> {
        let first = nid.saturating_mul(self.per_node).min(self.ranks);
        first..first.saturating_add(self.per_node).min(self.ranks)
    }

    /// The core of `rank` on its node.
    pub fn core(self, rank: u32) -> u32 {
        rank % self.per_node
    }

    /// The Portals process of the MPI library of the rank on `core`, without its node.
    pub fn library_pid(core: u32) -> u32 {
        RANK_PID + core
    }

    /// The rank whose library or program this Portals process is, if it is one.
    pub fn rank_of(self, process: ProcessId) -> Option<u32> {
        let first = if Placement::is_library(process.pid) { RANK_PID } else { PROGRAM_PID };
        let core = process.pid.checked_sub(first).filter(|core| *core < self.per_node)?;
        Some(process.nid * self.per_node + core).filter(|rank| *rank < self.ranks)
    }

    /// Tells whether a Portals process is that of an MPI library.
    pub fn is_library(pid: u32) -> bool {
        (RANK_PID..PROGRAM_PID).contains(&pid)
    }

    /// The Portals process of each rank's MPI library.
    pub fn libraries(self) -> Arc<[ProcessId]> {
        self.map(RANK_PID)
    }

    /// The Portals process of each rank's program, if it opens one.
    pub fn programs(self) -> Arc<[ProcessId]> {
        self.map(PROGRAM_PID)
    }

    fn map(self, first: u32) -> Arc<[ProcessId]> {
        let id = |rank| ProcessId { nid: rank / self.per_node, pid: first + self.core(rank) };
        (0..self.ranks).map(id).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rank_is_on_one_node_and_one_core() {
        for per_node in 1..5 {
            for ranks in 0..12 {
                let placement = Placement { ranks, per_node };
                let all: Vec<u32> = (0..placement.nodes()).flat_map(|n| placement.on(n)).collect();
                assert_eq!(all, (0..ranks).collect::<Vec<_>>());
                assert!(placement.on(placement.nodes()).is_empty());
                let ids = [placement.libraries(), placement.programs()].concat();
                for (index, id) in ids.iter().enumerate() {
                    let rank = index as u32 % ranks;
                    assert!(placement.on(id.nid).contains(&rank));
                    assert!(ids[..index].iter().all(|other| other != id));
                    assert_ne!(id.pid, crate::programs::loopback::PID);
                    assert_eq!(placement.rank_of(*id), Some(rank));
                }
            }
        }
        assert!(Placement { ranks: 3, per_node: 2 }.on(u32::MAX).is_empty());
    }
}
