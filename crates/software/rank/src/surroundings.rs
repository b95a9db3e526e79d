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

#[cfg(test)]
mod tests {
    use super::*;

    fn options(rank: u32, server: bool, env: &[(&str, &str)]) -> SpawnOptions {
        let network = Arc::new(Network::default());
        // Ranks 1 to 4, on nodes of two: rank 0 serves them.
        network.begin(crate::SocketCosts::default(), des::Duration::ZERO, 5, 2);
        network.launch(std::slice::from_ref(&(1..5)));
        let env = env.iter().map(|(name, value)| (name.into(), value.into())).collect();
        let launcher = Launcher::Pmi1;
        let around = Surroundings { network, launcher, server, env, ..Surroundings::default() };
        let place = RankPosition { node: rank / 2, ..RankPosition::default() };
        SpawnOptions { rank, place, surroundings: Arc::new(around), ..SpawnOptions::default() }
    }

    #[test]
    fn a_rank_of_pmi_knows_where_to_ask_and_nothing_else() {
        let told = |options: SpawnOptions| {
            let all =
                variables(&options).into_iter().map(|(name, value)| format!("{name}={value}"));
            all.collect::<Vec<_>>().join(" ")
        };
        let address = "PMI_PORT=10.255.255.254:7000";
        assert_eq!(told(options(3, false, &[])), format!("SUNSTAR_NODE=1 {address} PMI_ID=2"));
        assert_eq!(told(options(0, true, &[])), "SUNSTAR_NODE=0");
        let users = options(3, false, &[("PMI_ID", "7")]);
        assert_eq!(told(users), format!("SUNSTAR_NODE=1 {address}"), "what the user has set stays");
        let own = SpawnOptions::default();
        assert!(told(own).contains("PMI_RANK=0 PMI_SIZE=0 "), "other launchers' as ever");
    }

    #[test]
    fn another_launcher_is_not_heard() {
        let passed = |name: &str| is_passed_on(OsStr::new(name), Launcher::Pmi1);
        for name in ["PMI_FD", "PMIX_RANK", "OMPI_COMM_WORLD_SIZE", "SLURM_PROCID", "PMI_ID"] {
            assert!(!passed(name) && is_passed_on(OsStr::new(name), Launcher::Own), "{name}");
        }
        for name in ["PATH", "MPIR_CVAR_DEBUG", "MV2_SMP_USE_CMA", "I_MPI_DEBUG", "FI_PROVIDER"] {
            assert!(passed(name), "{name}");
        }
        // All that Sunstar itself sets is of those names.
        for (name, _) in variables(&SpawnOptions::default()) {
            assert!(name == NODE || !passed(name), "{name}");
        }
    }

    /// The address as a number is the one that the network knows.
    #[test]
    fn the_address_is_the_launchers() {
        let (host, port) = launch::ADDRESS.split_once(':').unwrap();
        let host: std::net::Ipv4Addr = host.parse().unwrap();
        let first = u32::from(std::net::Ipv4Addr::new(10, 0, 0, 1));
        assert_eq!((u32::from(host) - first, port.parse()), (launch::NODE, Ok(launch::PORT)));
    }
}
