//! What a run is asked for, and what is left of it.

use crate::effort::Effort;
use crate::firmware::profile::Profile;
use crate::instruments::tables::Tables;
use crate::instruments::timeline::Watcher;
use crate::parameters::Parameters;
use crate::programs::Program;
use crate::report::Report;
use des::{Duration, Stop, Time};
use std::any::Any;
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;

mod outcome;

/// What to run, on what.
#[derive(Clone, Debug)]
pub struct Options {
    /// The machine, with what was set on the command line.
    pub parameters: Parameters,
    /// What runs on it.
    pub program: Program,
    /// Ranks to start, as many a node as the machine says.
    pub ranks: u32,
    /// Worker threads.
    pub threads: usize,
    /// What the program's own computation costs.
    pub compute: rank::Compute,
    /// Seed of everything random: faults.
    pub seed: u64,
    /// What is to go wrong, as `sunstar run --fault` takes it.
    pub faults: Vec<String>,
    /// Skip the turns of polling loops whose every effect is known (changes nothing but the speed).
    pub park: bool,
    /// What the firmware executes often is translated to code of the host's own; nothing but the speed
    /// depends on it.
    pub translate: bool,
    /// Skip stretches in which streams of packets repeat themselves (changes nothing but the speed).
    pub merge: bool,
    /// Let each node boot by itself instead of sharing one boot (changes nothing but the speed).
    pub cold_boot: bool,
    /// Observe where the firmware's cycles go (changes nothing but the speed).
    pub profile: bool,
    /// Write the packets to this file; every packet is carried out then (changes nothing but the speed).
    pub pcap: Option<PathBuf>,
    /// Who watches what happens on all nodes; every packet is carried out then (changes nothing but the
    /// speed).
    pub watchers: Vec<Arc<dyn Watcher>>,
    /// Image of the program behind the switch's console, if what it says is to be printed (changes nothing
    /// but the speed).
    pub console: Option<PathBuf>,
    /// Let somebody look into the processor of a node, from its first instruction on.
    pub inspector: Option<Inspector>,
    /// Hold library and firmware against the specification of Portals (changes nothing but the speed).
    pub judge: bool,
    /// Measure what the processor model costs ([`Outcome::effort`]); that costs a little itself.
    pub meter: bool,
    /// The message whose whole story is to be told ([`Messages::followed`]), if it comes to its end.
    ///
    /// [`Messages::followed`]: crate::instruments::journey::Messages::followed
    pub follow: Option<abi::MessageId>,
    /// Wants a row for each message or call (changes nothing but the speed).
    pub tables: Option<Arc<Tables>>,
    /// How far the run has come, for whoever waits for it.
    pub progress: Arc<Progress>,
    /// Folder with the firmware's images: `seastar.elf`, `seastar.img`, `shim.img`.
    pub firmware: PathBuf,
    /// What is wanted of hardware that is there as RTL.
    pub rtl: Rtl,
    /// Folder with `rtl/`.
    pub root: PathBuf,
    /// Folder for what is compiled of it.
    pub built: PathBuf,
    /// Folder with `libmpi_abi.so.1`.
    pub library: PathBuf,
    /// Simulated time after the launch at which the run ends, whatever goes on then.
    pub until: Option<Duration>,
    /// Ends the run from outside.
    pub stop: Arc<Stop>,
    /// True once nothing is simulated any more: packets and traces are written, which takes a while if there
    /// are many, and the caller tells what is left.
    pub writing: Arc<AtomicBool>,
}

/// A debugger, or what else the model has to look into the processor of a node while the run goes on. Only
/// the model knows what it is.
#[derive(Clone)]
pub struct Inspector(Arc<dyn Any + Send + Sync>);

impl Inspector {
    /// Stands for `own`.
    pub fn new(own: impl Any + Send + Sync) -> Inspector {
        Inspector(Arc::new(own))
    }
    /// What it stands for, if that is what the model has.
    pub fn of<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        Arc::clone(&self.0).downcast().ok()
    }
}

impl fmt::Debug for Inspector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Inspector")
    }
}

/// What is wanted of hardware that is there as RTL, beside the machine's parameters.
#[derive(Clone, Debug, Default)]
pub struct Rtl {
    /// Folder with another matching unit.
    pub folder: Option<PathBuf>,
    /// A waveform of a matching unit.
    pub wave: Option<Wave>,
}

/// A waveform, and what it is about.
#[derive(Clone, Debug)]
pub struct Wave {
    /// File for it.
    pub file: PathBuf,
    /// The message whose header it shows; if none, what a unit does wrong.
    pub message: Option<abi::MessageId>,
}

/// How far a run has come. Nothing simulated depends on it.
#[derive(Debug, Default)]
pub struct Progress {
    messages: AtomicU64,
    at: AtomicU64,
}

impl Progress {
    /// A message has come to its end.
    pub(crate) fn ended(&self, at: Time) {
        self.messages.fetch_add(1, Ordering::Relaxed);
        self.at.fetch_max(at.0, Ordering::Relaxed);
    }
    /// Messages that have ended, and when the last one did.
    pub fn now(&self) -> (u64, Time) {
        (self.messages.load(Ordering::Relaxed), Time(self.at.load(Ordering::Relaxed)))
    }
}

/// What a run leaves behind.
#[derive(Default)]
pub struct Outcome {
    /// The report.
    pub report: Report,
    /// The SRAM of every node as the RAS system sees it at the end; empty without firmware.
    pub sram: Vec<bus::Memory>,
    /// Where the firmware's cycles went, by node; empty unless it was asked for.
    pub profiles: Vec<Profile>,
    /// What simulating the firmware took.
    pub effort: Effort,
}

/// A mistake of the user that keeps a run from starting, as one sentence.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Mistake(pub String);
