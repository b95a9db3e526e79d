//! Options and outcome of a run.

use crate::effort::Effort;
use crate::firmware::facts::Facts;
use crate::firmware::profile::Profile;
use crate::instruments::capture::Capture;
use crate::instruments::progress::Progress;
use crate::instruments::tables::Tables;
use crate::instruments::timeline::Watcher;
use crate::instruments::write_error::WriteError;
use crate::parameters::Parameters;
use crate::programs::Program;
use crate::report::Report;
use des::{Duration, Stop, Time};
use std::any::Any;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::Arc;

mod outcome;

/// Options of a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The machine, with what was set on the command line.
    pub parameters: Parameters,
    /// Program that runs on it.
    pub program: Program,
    /// Number of ranks; the machine sets how many are on a node.
    pub ranks: u32,
    /// Worker threads.
    pub threads: usize,
    /// Cost of the program's own computation.
    pub compute: rank::Compute,
    /// Seed of everything random: faults.
    pub seed: u64,
    /// Faults, as `sunstar run --fault` takes them.
    pub faults: Vec<String>,
    /// Work that is not done because its effects are known.
    pub shortcuts: Shortcuts,
    /// Those who watch the run.
    pub observers: Observers,
    /// Options for hardware that exists as RTL.
    pub rtl: Rtl,
    /// Folders of what a run reads.
    pub places: Places,
    /// Simulated time after the launch at which the run ends in any case.
    pub until: Option<Duration>,
    /// Ends the run from outside.
    pub stop: Arc<Stop>,
    /// True once nothing is simulated any more: packets and traces are written, which takes a while if there
    /// are many, and the caller tells what is left.
    pub writing: Arc<AtomicBool>,
}

/// Work that is not done because its effects are known: none of it changes anything but the speed. All of it by
/// default.
#[derive(Clone, Copy, Debug)]
pub struct Shortcuts {
    /// Skip iterations of polling loops.
    pub park: bool,
    /// Translate frequently executed firmware to code of the host's own.
    pub translate: bool,
    /// Skip spans of time in which streams of packets repeat themselves.
    pub merge: bool,
    /// Let each node boot by itself instead of sharing one boot.
    pub cold_boot: bool,
}

impl Default for Shortcuts {
    fn default() -> Shortcuts {
        Shortcuts { park: true, translate: true, merge: true, cold_boot: false }
    }
}

/// Those who watch a run, which changes nothing but the speed, and the end where one of them finds a fault.
/// Nobody by default.
#[derive(Clone, Debug, Default)]
pub struct Observers {
    /// A profile of the firmware.
    pub profile: bool,
    /// File for the packets; every packet is simulated then.
    pub pcap: Option<PathBuf>,
    /// Observers of all nodes' events; every packet is simulated then.
    pub watchers: Vec<Arc<dyn Watcher>>,
    /// Image of the program behind the switch's console, if its output is wanted.
    pub console: Option<PathBuf>,
    /// Debugger of a node's processor, from its first instruction on.
    pub inspector: Option<Inspector>,
    /// Judge of library and firmware by the specification of Portals.
    pub judge: bool,
    /// End the run where the datatypes of both sides of a message do not match.
    pub check_types: bool,
    /// Measure what the processor model costs ([`Outcome::effort`]); that costs a little itself.
    pub meter: bool,
    /// Message whose whole story is reported ([`Messages::followed`]), if it comes to its end.
    ///
    /// [`Messages::followed`]: crate::instruments::message_trace::Messages::followed
    pub follow: Option<abi::MessageId>,
    /// Tables that get a row for each message or call.
    pub tables: Option<Arc<Tables>>,
    /// Progress of the run, for other threads.
    pub progress: Arc<Progress>,
}

/// Folders of what a run reads.
#[derive(Clone, Debug)]
pub struct Places {
    /// Folder with the firmware's images.
    pub firmware: PathBuf,
    /// Folder with `rtl/`.
    pub root: PathBuf,
    /// Folder for what is compiled of it.
    pub built: PathBuf,
    /// Folder with `libmpi_abi.so.1`.
    pub library: PathBuf,
}

impl Places {
    /// Those of a repository, for tests: firmware as it is built without options.
    pub fn of_repository(root: &Path) -> Places {
        Places {
            firmware: root.join("build/firmware"),
            root: root.to_owned(),
            built: root.join("build/verilated"),
            library: root.join("build/lib"),
        }
    }
}

impl Options {
    /// A run on one thread with seed 1, without faults, with all shortcuts, watched by nobody.
    pub fn new(parameters: Parameters, program: Program, ranks: u32, places: Places) -> Options {
        Options {
            parameters,
            program,
            ranks,
            threads: 1,
            compute: rank::Compute::None,
            seed: 1,
            faults: Vec::new(),
            shortcuts: Shortcuts::default(),
            observers: Observers::default(),
            rtl: Rtl::default(),
            places,
            until: None,
            stop: Arc::default(),
            writing: Arc::default(),
        }
    }

    /// Capture of packets, if one was asked for.
    pub fn capture(&self) -> Result<Option<Capture>, WriteError> {
        let asked = self.observers.pcap.as_deref().zip(self.parameters.model().link_type);
        asked.map(|(file, link_type)| Capture::to(file, link_type)).transpose()
    }

    /// Facts of this run on `nodes` nodes, for the processor of node `nid`.
    pub fn facts(&self, nid: u32, nodes: u32, launch: Time) -> Facts {
        let machine = self.parameters.name().into();
        Facts { nid, machine, nodes, ranks: self.ranks, launch }
    }
}

/// A debugger or monitor of the model for the processor of a node during the run. Only the model knows its
/// type.
#[derive(Clone)]
pub struct Inspector(Arc<dyn Any + Send + Sync>);

impl Inspector {
    /// Wraps `own`.
    pub fn new(own: impl Any + Send + Sync) -> Inspector {
        Inspector(Arc::new(own))
    }
    /// The model's own debugger, if it is of this type.
    pub fn of<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        Arc::clone(&self.0).downcast().ok()
    }
}

impl fmt::Debug for Inspector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Inspector")
    }
}

/// Options for hardware that exists as RTL, beside the machine's parameters.
#[derive(Clone, Debug, Default)]
pub struct Rtl {
    /// Folder with another matching unit.
    pub folder: Option<PathBuf>,
    /// A waveform of a matching unit, or of a card.
    pub wave: Option<Wave>,
}

/// A waveform, and what it is about.
#[derive(Clone, Debug)]
pub struct Wave {
    /// File for it.
    pub file: PathBuf,
    /// Message whose header it shows; if none, the first error of a unit.
    pub message: Option<abi::MessageId>,
    /// Of a card: the event that it shows, in the command line's words.
    pub trigger: Option<String>,
    /// Of a card: cycles of the bus's clock before the event, and after it.
    pub cycles: [u64; 2],
}

/// Outcome of a run.
#[derive(Default)]
pub struct Outcome {
    /// The report.
    pub report: Report,
    /// The SRAM of every node as the RAS system sees it at the end; empty without firmware.
    pub sram: Vec<bus::Memory>,
    /// Firmware profiles, by node; empty unless they were asked for.
    pub profiles: Vec<Profile>,
    /// Effort of simulating the firmware.
    pub effort: Effort,
}
