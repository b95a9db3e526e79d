//! Sentences about ranks that cannot begin MPI.

use abi::pico::{LEAST_PLACES, NODE_PLACES};
use std::io;

/// Reason for which a rank cannot begin.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // The sentences say what the fields are.
pub enum BeginError {
    /// The module has too few places for so many nodes.
    #[error(
        "Pico-MPI runs on {} nodes at most, not {ranks}: the module of Directed Point has \
         {NODE_PLACES} places for packets",
        NODE_PLACES / LEAST_PLACES + 1
    )]
    Ranks { ranks: u32 },
    /// The rank's node is another's.
    #[error("rank {rank} is on node {node}: Pico-MPI has rank {node} there")]
    Node { rank: u32, node: i32 },
    /// The module is not loaded.
    #[error(
        "rank {rank}: there is no Directed Point for Pico-MPI: {why} (card.module = dp loads it)"
    )]
    Module { rank: u32, why: io::Error },
    /// The module does not open a channel.
    #[error("rank {rank}: there is no channel to node {node}: {why}")]
    Channel { rank: u32, node: i32, why: io::Error },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_is_a_sentence() {
        let why = || io::Error::from_raw_os_error(libc::ENODEV);
        let cases = [
            (
                BeginError::Ranks { ranks: 18 },
                "Pico-MPI runs on 17 nodes at most, not 18: the module of Directed Point has 64 \
                 places for packets",
            ),
            (
                BeginError::Node { rank: 1, node: 2 },
                "rank 1 is on node 2: Pico-MPI has rank 2 there",
            ),
            (
                BeginError::Module { rank: 1, why: why() },
                "rank 1: there is no Directed Point for Pico-MPI: No such device (os error 19) \
                 (card.module = dp loads it)",
            ),
            (
                BeginError::Channel { rank: 1, node: 2, why: why() },
                "rank 1: there is no channel to node 2: No such device (os error 19)",
            ),
        ];
        for (error, sentence) in cases {
            assert_eq!(error.to_string(), sentence);
        }
    }
}
