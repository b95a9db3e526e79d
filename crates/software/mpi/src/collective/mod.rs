//! Collective operations. Each has one or more named algorithms over point-to-point messages in the
//! communicator's own context for collectives; a machine file chooses (`mpi.barrier =
//! "dissemination"`). An algorithm plans a schedule (`plan`); `execute` does it.
//!
//! All ranks call the collectives of a communicator in the same order, so that a count of them
//! tells the messages of one from those of another; within one, the messages of a pair of ranks
//! keep their order.

pub(crate) mod algorithm;
pub(crate) mod allgather;
pub(crate) mod allreduce;
pub(crate) mod alltoall;
pub(crate) mod barrier;
pub(crate) mod bcast;
pub(crate) mod execute;
pub(crate) mod gather;
pub(crate) mod numbering;
mod on_nic;
pub(crate) mod parts;
pub(crate) mod plan;
pub(crate) mod reduce;
pub(crate) mod reduce_scatter;
pub(crate) mod scan;
pub(crate) mod scatter;
pub(crate) mod schedule;

pub use algorithm::{Algorithm, Algorithms};

macro_rules! algorithms {
    ($($name:ident = $table:path;)*) => {
        impl Default for Algorithms {
            /// The first of each.
            fn default() -> Algorithms {
                Algorithms { $($name: &$table[0],)* }
            }
        }

        impl Algorithms {
            /// The collectives that offer a choice.
            pub const COLLECTIVES: [&'static str; [$(stringify!($name)),*].len()] =
                [$(stringify!($name)),*];

            /// Chooses `name` for `collective`.
            pub fn set(&mut self, collective: &str, name: &str) -> Result<(), AlgorithmError> {
                match collective {
                    $(stringify!($name) => self.$name = pick(collective, &$table, name)?,)*
                    _ => return Err(AlgorithmError::Collective { name: collective.to_owned() }),
                }
                Ok(())
            }

            /// Name and line of each algorithm of `collective`, the default first.
            pub fn of(collective: &str) -> Vec<(&'static str, &'static str)> {
                match collective {
                    $(stringify!($name) => list(&$table),)*
                    _ => Vec::new(),
                }
            }
        }
    };
}

algorithms! {
    barrier = barrier::ALGORITHMS;
    bcast = bcast::ALGORITHMS;
    reduce = reduce::ALGORITHMS;
    allreduce = allreduce::ALGORITHMS;
    gather = gather::ALGORITHMS;
    scatter = scatter::ALGORITHMS;
    allgather = allgather::ALGORITHMS;
    alltoall = alltoall::ALGORITHMS;
    reduce_scatter = reduce_scatter::ALGORITHMS;
    scan = scan::ALGORITHMS;
}

fn list<Run>(all: &'static [Algorithm<Run>]) -> Vec<(&'static str, &'static str)> {
    all.iter().map(|algorithm| (algorithm.name, algorithm.doc)).collect()
}

fn pick<Run>(
    collective: &str,
    all: &'static [Algorithm<Run>],
    name: &str,
) -> Result<&'static Algorithm<Run>, AlgorithmError> {
    all.iter().find(|algorithm| algorithm.name == name).ok_or_else(|| AlgorithmError::Name {
        collective: collective.to_owned(),
        name: name.to_owned(),
        known: all.iter().map(|algorithm| algorithm.name).collect(),
    })
}

/// A choice that there is not.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AlgorithmError {
    /// A collective without algorithms.
    #[error("no choice of algorithms for \"{name}\" ({})", Algorithms::COLLECTIVES.join(", "))]
    Collective {
        /// The word that names none.
        name: String,
    },
    /// A name of no algorithm.
    #[error("mpi.{collective} has no algorithm \"{name}\" ({})", known.join(", "))]
    Name {
        /// The collective.
        collective: String,
        /// The name.
        name: String,
        /// Names of its algorithms.
        known: Vec<&'static str>,
    },
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
            algorithms.set("barrier", "magic").expect_err("unknown").to_string(),
            "mpi.barrier has no algorithm \"magic\" (dissemination, tree, nic)"
        );
    }
}
