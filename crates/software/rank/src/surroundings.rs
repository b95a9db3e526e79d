//! Surroundings of a program's processes: environment, folder, date, destination of their output.

use crate::crowd::Crowd;
use crate::launch::{self, Launcher};
use crate::mpi_library::MpiLibrary;
use crate::output::Output;
use crate::sockets::Network;
use crate::spawn::SpawnOptions;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Duration;

/// Surroundings of all ranks of a program.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// Variables that they have beside the simulator's.
    pub env: Vec<(OsString, OsString)>,
    /// Folder in which they begin, if it is not the simulator's.
    pub folder: Option<PathBuf>,
    /// Seconds since 1970 at which their calendar begins: at the start of the machine.
    pub date: u64,
    /// Seed of the random numbers that the system gives them.
    pub seed: u64,
    /// Destination of their output.
    pub output: Output,
    /// They serve the other ranks: SIGTERM ends them when all others have ended.
    pub server: bool,
    /// The MPI library that they have.
    pub mpi: MpiLibrary,
    /// Error handler before they set one.
    pub errors: mpi::InitialErrors,
    /// The other ranks, the same for all programs of a run.
    pub crowd: Arc<Crowd>,
    /// Network of their sockets, the same for all programs of a run.
    pub network: Arc<Network>,
    /// Way in which they learn who they are. With [`Launcher::Pmi1`] the network has the launcher
    /// ([`Network::launch`]).
    pub launcher: Launcher,
    /// Notes on them, in one place for all programs of a run.
    pub notes: Arc<Notes>,
}

/// Work of processes outside of the simulation.
#[derive(Debug, Default)]
pub struct Notes {
    /// Nanoseconds of real time.
    worked: AtomicU64,
    used: AtomicBool,
    begun_mpi: AtomicBool,
}

impl Notes {
    /// Real time in which the simulator has waited for the programs' own work: computation, files.
    pub fn worked(&self) -> Duration {
        Duration::from_nanos(self.worked.load(Ordering::Relaxed))
    }

    /// True if any process is linked with MPI or Portals, or has called them.
    pub fn used(&self) -> bool {
        self.used.load(Ordering::Relaxed)
    }

    /// True if any process has begun MPI by Sunstar's library.
    pub fn begun_mpi(&self) -> bool {
        self.begun_mpi.load(Ordering::Relaxed)
    }

    pub(crate) fn add(&self, worked: Duration, used: bool, begun_mpi: bool) {
        let worked = u64::try_from(worked.as_nanos()).unwrap_or(u64::MAX);
        self.worked.fetch_add(worked, Ordering::Relaxed);
        self.used.fetch_or(used, Ordering::Relaxed);
        self.begun_mpi.fetch_or(begun_mpi, Ordering::Relaxed);
    }
}

/// Name of the variable by which what a rank has started knows its node.
const NODE: &str = "SUNSTAR_NODE";

/// Variables by which programs and scripts find out who they are before they call MPI, by the names that PMI
/// (MPICH, Intel MPI), PMIx, Open MPI, MVAPICH and Slurm give them.
pub(crate) fn variables(options: &SpawnOptions) -> Vec<(&'static str, String)> {
    let SpawnOptions { rank, size, place, surroundings, .. } = options;
    if surroundings.launcher == Launcher::Pmi1 {
        return of_pmi1(*rank, place.node, surroundings);
    }
    let (node, nodes, local, locals) = (place.node, place.nodes, place.local, place.locals);
    let numbers = [
        (NODE, node),
        ("PMI_RANK", *rank),
        ("PMI_SIZE", *size),
        ("MPI_LOCALRANKID", local),
        ("MPI_LOCALNRANKS", locals),
        ("PMIX_RANK", *rank),
        ("OMPI_COMM_WORLD_RANK", *rank),
        ("OMPI_COMM_WORLD_SIZE", *size),
        ("OMPI_COMM_WORLD_LOCAL_RANK", local),
        ("OMPI_COMM_WORLD_LOCAL_SIZE", locals),
        ("OMPI_COMM_WORLD_NODE_RANK", local),
        ("OMPI_UNIVERSE_SIZE", *size),
        ("MV2_COMM_WORLD_RANK", *rank),
        ("MV2_COMM_WORLD_SIZE", *size),
        ("MV2_COMM_WORLD_LOCAL_RANK", local),
        ("MV2_COMM_WORLD_LOCAL_SIZE", locals),
        ("MVP_COMM_WORLD_RANK", *rank),
        ("MVP_COMM_WORLD_SIZE", *size),
        ("MVP_COMM_WORLD_LOCAL_RANK", local),
        ("MVP_COMM_WORLD_LOCAL_SIZE", locals),
        ("SLURM_PROCID", *rank),
        ("SLURM_NTASKS", *size),
        ("SLURM_NPROCS", *size),
        ("SLURM_LOCALID", local),
        ("SLURM_NODEID", node),
        ("SLURM_NNODES", nodes),
        ("SLURM_JOB_NUM_NODES", nodes),
    ];
    let numbers = numbers.into_iter().map(|(name, number)| (name, number.to_string()));
    let all = numbers.chain([("SLURMD_NODENAME", format!("nid{node:05}"))]);
    // Variables that the user has set stay.
    all.filter(|(name, _)| !surroundings.env.iter().any(|(own, _)| own == name)).collect()
}

/// Variables by which a rank finds the PMI-1 server. One that serves the others has no number there.
fn of_pmi1(rank: u32, node: u32, surroundings: &Surroundings) -> Vec<(&'static str, String)> {
    let number = surroundings.network.lock().number_of(rank).filter(|_| !surroundings.server);
    let own = number
        .map(|number| [("PMI_PORT", launch::ADDRESS.to_owned()), ("PMI_ID", number.to_string())]);
    let all = [(NODE, node.to_string())].into_iter().chain(own.into_iter().flatten());
    all.filter(|(name, _)| !surroundings.env.iter().any(|(own, _)| own == name)).collect()
}

/// Names of variables by which launchers tell a process who it is. Settings of the MPI libraries, which begin
/// with the same words, are others.
const LAUNCHERS: [&str; 11] = [
    "PMI_",
    "PMI2_",
    "PMIX_",
    "OMPI_COMM_WORLD_",
    "OMPI_UNIVERSE_SIZE",
    "MV2_COMM_WORLD_",
    "MVP_COMM_WORLD_",
    "SLURM_",
    "SLURMD_",
    "MPI_LOCALRANKID",
    "MPI_LOCALNRANKS",
];

/// True if a variable of the simulator's own environment reaches its ranks: one that another launcher has set
/// does not where they have one.
pub(crate) fn is_passed_on(name: &OsStr, launcher: Launcher) -> bool {
    let is_launchers = |name: &[u8]| LAUNCHERS.iter().any(|own| name.starts_with(own.as_bytes()));
    launcher == Launcher::Own || !is_launchers(name.as_bytes())
}

/// Place of a rank among the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RankPosition {
    /// Number of its node.
    pub node: u32,
    /// Nodes that have a rank.
    pub nodes: u32,
    /// Its number among the ranks of its node.
    pub local: u32,
    /// Ranks of its node.
    pub locals: u32,
}
