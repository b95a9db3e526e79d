//! Programs as ranks: the seam to their processes.
//!
//! A program's process holds only the seam (`lib/seam`) and the thin libraries of `lib/mpi`,
//! `lib/portals` and `lib/verbs`. They put its calls into a ring in shared memory and hand over when they
//! need an answer; on this side [`Process`] gives the calls out one by one, and [`agent()`] runs them on
//! the host's simulated timeline: those of Portals through a [`Bridge`].

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod agent;
mod ahead;
mod bridge;
mod builtin;
mod channel;
mod compute;
mod crowd;
mod demand;
mod ending;
mod endless;
mod exit;
mod fabric;
mod heir;
mod inspect;
mod launch;
mod lease;
mod life;
mod limits;
mod memory;
mod memory_file;
mod moved;
mod mpi_library;
mod orphans;
mod output;
mod passed;
mod permitted;
mod process;
mod processor;
mod sockets;
mod spawn;
mod stuck;
mod surroundings;
mod template;
mod verbs;
mod watcher;
mod workload_error;
mod write_only;

pub use agent::{agent, Costs, Observer, Outside, Runner};
pub use ahead::ahead_of_mpi;
pub use bridge::{Bridge, Party, ProgramSpaces};
pub use builtin::{Builtin, PREFIX as BUILTIN_PREFIX};
pub use compute::{Compute, ComputeError};
pub use crowd::Crowd;
pub use demand::Demand;
pub use ending::Ending;
pub use exit::ExitStatus;
pub use fabric::{Costs as FabricCosts, FabricCall, FabricNote};
pub use inspect::{inspect, is_static, FileError, InspectError, ProgramKind};
pub use launch::Launcher;
pub use lease::{Deeds, Lease};
pub use limits::{allow_mappings, allow_ranks, LimitError};
pub use memory::ProcessMemory;
pub use mpi::{Callback, InitialErrors};
pub use mpi_library::{Family, ForeignMpi, MpiLibrary, MpiLibraryError};
pub use orphans::{adopt_orphans, end_descendants, end_orphans};
pub use output::{Labels, Output};
pub use permitted::{permitted, Refused};
pub use process::Process;
pub use processor::{keep_thread_on, processor_now};
pub use sockets::{
    Connection, ConnectionError, Costs as SocketCosts, Network, NodeRank, SocketCall,
};
pub use spawn::{SpawnError, SpawnOptions, Stdin};
pub use surroundings::{Notes, RankPosition, Surroundings};
pub use template::Templates;
pub use verbs::{Verbs, VerbsAnswer};
pub use watcher::kill_all;
pub use workload_error::WorkloadError;
