//! Collective operations. Each has one or more named algorithms over point-to-point messages in the
//! communicator's own context for collectives; a machine file chooses (`mpi.barrier =
//! "dissemination"`).
//!
//! All ranks call the collectives of a communicator in the same order, and messages of a pair of
//! ranks keep their order; so a message needs no more than its source to be told from others.

mod allreduce;
mod barrier;
mod bcast;
mod exchange;
mod gather;
mod reduce;

use crate::comm::CommId;
use crate::error::Result;
use crate::op::Op;
use crate::process::Process;

/// A named way to do a collective operation.
#[derive(Clone, Copy, Debug)]
pub struct Algorithm<Run: 'static> {
    /// Its name in a machine file.
    pub name: &'static str,
    /// What it does, in a line.
    pub doc: &'static str,
    pub(crate) run: Run,
}

/// All of a communicator.
pub(crate) type Barrier = fn(&mut Process, CommId) -> Result<()>;
/// `(va, bytes)` from rank `root` to all.
pub(crate) type Bcast = fn(&mut Process, (u64, u64), u32, CommId) -> Result<()>;
/// The accumulators of all, into that of rank `root`.
pub(crate) type Reduce = fn(&mut Process, &Accumulator, u32, CommId) -> Result<()>;
/// The accumulators of all, into everyone's.
pub(crate) type Allreduce = fn(&mut Process, &Accumulator, CommId) -> Result<()>;

/// Packed items that are being reduced: this rank's own at first, the result in the end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Accumulator {
    pub va: u64,
    pub bytes: u64,
    /// As many bytes, for what others send.
    pub received: u64,
    pub op: Op,
    pub basic: crate::datatype::Basic,
    /// Predefined items.
    pub elements: u64,
}

/// Which algorithm each collective uses.
#[derive(Clone, Copy, Debug)]
pub struct Algorithms {
    pub(crate) barrier: &'static Algorithm<Barrier>,
    pub(crate) bcast: &'static Algorithm<Bcast>,
    pub(crate) reduce: &'static Algorithm<Reduce>,
    pub(crate) allreduce: &'static Algorithm<Allreduce>,
}

impl Default for Algorithms {
    /// The first of each.
    fn default() -> Algorithms {
        Algorithms {
            barrier: &barrier::ALGORITHMS[0],
            bcast: &bcast::ALGORITHMS[0],
            reduce: &reduce::ALGORITHMS[0],
            allreduce: &allreduce::ALGORITHMS[0],
        }
    }
}

impl Algorithms {
    /// The collectives that offer a choice.
    pub const COLLECTIVES: [&'static str; 4] = ["barrier", "bcast", "reduce", "allreduce"];

    /// Chooses `name` for `collective`; else a sentence that says what is allowed.
    pub fn set(&mut self, collective: &str, name: &str) -> std::result::Result<(), String> {
        match collective {
            "barrier" => self.barrier = pick(collective, &barrier::ALGORITHMS, name)?,
            "bcast" => self.bcast = pick(collective, &bcast::ALGORITHMS, name)?,
            "reduce" => self.reduce = pick(collective, &reduce::ALGORITHMS, name)?,
            "allreduce" => self.allreduce = pick(collective, &allreduce::ALGORITHMS, name)?,
            _ => {
                let known = Algorithms::COLLECTIVES.join(", ");
                return Err(format!("no choice of algorithms for \"{collective}\" ({known})"));
            }
        }
        Ok(())
    }

    /// Name and line of each algorithm of `collective`, the default first.
    pub fn of(collective: &str) -> Vec<(&'static str, &'static str)> {
        fn list<Run>(all: &'static [Algorithm<Run>]) -> Vec<(&'static str, &'static str)> {
            all.iter().map(|algorithm| (algorithm.name, algorithm.doc)).collect()
        }
        match collective {
            "barrier" => list(&barrier::ALGORITHMS),
            "bcast" => list(&bcast::ALGORITHMS),
            "reduce" => list(&reduce::ALGORITHMS),
            "allreduce" => list(&allreduce::ALGORITHMS),
            _ => Vec::new(),
        }
    }
}

fn pick<Run>(
    collective: &str,
    all: &'static [Algorithm<Run>],
    name: &str,
) -> std::result::Result<&'static Algorithm<Run>, String> {
    all.iter().find(|algorithm| algorithm.name == name).ok_or_else(|| {
        let known: Vec<_> = all.iter().map(|algorithm| algorithm.name).collect();
        format!("mpi.{collective} has no algorithm \"{name}\" ({})", known.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn algorithms_are_chosen_by_name() {
        let mut algorithms = Algorithms::default();
        for collective in Algorithms::COLLECTIVES {
            for (name, _) in Algorithms::of(collective) {
                algorithms.set(collective, name).expect("a listed name");
            }
        }
        assert_eq!(
            algorithms.set("barrier", "magic").expect_err("unknown"),
            "mpi.barrier has no algorithm \"magic\" (dissemination, tree)"
        );
    }
}
