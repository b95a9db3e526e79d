//! The software of a node: its kernel, and the ranks of the program.

use crate::instruments::journal::Journal;
use crate::judge::Adapter;
use crate::models::Models;
use crate::placement::Placed;
use crate::suggestion;
use des::Time;
use host::Host;
use life::Life;
use observers::{Observer, Observers};
use portals::{Kernel, ProcessId};
use std::cell::{Cell, OnceCell, RefCell};
use std::ffi::OsString;
use std::ops::Range;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

mod carrier;
pub mod guests;
mod life;
pub(crate) mod loopback;
mod marshal;
pub mod native;
mod observers;
mod start;

pub use carrier::{Carrier, MakeNal, OpenQueues};
pub use start::{Late, Start};

/// Program of the ranks.
#[derive(Clone, Debug)]
pub enum Program {
    /// Processes: each executable has the ranks behind those of the ones before it.
    Executables(Vec<Executable>),
    /// A function of this program, over MPI.
    Builtin(rank::Builtin),
    /// A function of this program over an interface that only one model has.
    Native(native::Workload),
    /// Programs in Linux guests, one a node.
    Guests(guests::Guests),
}

/// A built-in workload that cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuiltinError {
    /// One of a model.
    #[error(transparent)]
    Native(#[from] native::WorkloadError),
    /// One over MPI.
    #[error(transparent)]
    Mpi(#[from] rank::WorkloadError),
    /// There is none of this name.
    #[error(
        "there is no built-in workload '{name}'; {}",
        suggestion::question_or(name, known.iter().copied(), || {
            format!("there are: {}", known.join(", "))
        })
    )]
    Unknown {
        /// The name.
        name: String,
        /// Names that there are.
        known: Vec<&'static str>,
    },
}

/// Program that some of the ranks run as a process of their own.
#[derive(Clone, Debug)]
pub struct Executable {
    /// Number of these ranks.
    pub ranks: u32,
    /// An executable of the MPI 5.0 ABI.
    pub path: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Environment, folder, date and output of its processes.
    pub surroundings: Arc<rank::Surroundings>,
}

impl Program {
    /// The built-in workload of this name (without `builtin:`), with its arguments, for so many ranks, of any
    /// of the models.
    pub fn builtin(
        models: &Models,
        name: &str,
        arguments: &[OsString],
        ranks: u32,
    ) -> Result<Program, BuiltinError> {
        Ok(match native::Workload::parse(models, name, arguments, ranks) {
            Some(own) => Program::Native(own?),
            None => match rank::Builtin::parse(name, arguments, ranks) {
                Err(rank::WorkloadError::Unknown { name, .. }) => {
                    let known = Program::builtin_names(models).collect();
                    return Err(BuiltinError::Unknown { name, known });
                }
                parsed => Program::Builtin(parsed?),
            },
        })
    }

    /// Names of all built-in workloads: those over MPI, and those of models.
    pub fn builtin_names(models: &Models) -> impl Iterator<Item = &'static str> + use<'_> {
        let own = models.iter().flat_map(|model| model.workloads).map(|kind| kind.name);
        rank::Builtin::names().chain(own)
    }

    /// The executables; none if the ranks are no processes.
    pub fn executables(&self) -> &[Executable] {
        match self {
            Program::Executables(all) => all,
            Program::Builtin(_) | Program::Native(_) | Program::Guests(_) => &[],
        }
    }

    /// Ranks of each executable that a launcher serves: of those that are no servers themselves.
    pub(crate) fn launched(&self) -> Vec<Range<u32>> {
        let mut ranks = 0;
        let of = |executable: &Executable| {
            let own = ranks..ranks + executable.ranks;
            ranks = own.end;
            (!executable.surroundings.server).then_some(own)
        };
        self.executables().iter().filter_map(of).collect()
    }

    /// Number of the executable that a rank runs; 0 if it runs none.
    fn part_of(&self, rank: u32) -> usize {
        let mut ranks = 0;
        let own = |executable: &Executable| {
            ranks += executable.ranks;
            rank < ranks
        };
        self.executables().iter().position(own).unwrap_or(0)
    }
}

/// Parts of the software of every node.
pub(crate) struct Software {
    /// Costs and limits of Portals, if that carries messages.
    pub portals: Option<portals::Config>,
    /// Transport of the messages of its processes.
    pub carrier: Carrier,
    pub mpi: mpi::Settings,
    /// Costs and limits of MPI over Portals, if that carries messages.
    pub over_portals: Option<mpi::PortalsParams>,
    /// The ledger of MPI's rules, if the ranks are judged.
    pub rules: Option<Arc<spec::mpi::Ledger>>,
    /// Datatypes that do not match end the run.
    pub check_types: bool,
    /// True if a user of Portals in the kernel echoes puts.
    pub loopback: bool,
    /// True if programs may be users of Portals in the kernel.
    pub kernel_programs: bool,
    pub start: Start,
    /// The Portals process of each rank's MPI library.
    pub map: Arc<[ProcessId]>,
    /// The Portals process of each rank's program, if it opens one.
    pub programs: Arc<[ProcessId]>,
}

/// The kernel and the ranks of one node.
pub struct Ranks {
    nid: u32,
    software: Rc<Software>,
    /// Kernel, once it has booted, if it has Portals.
    kernel: Rc<OnceCell<Rc<Kernel>>>,
    /// Number of parts that are not ready yet (the kernel and each rank); none before the kernel begins to
    /// boot.
    booting: Rc<Cell<Option<usize>>>,
    observers: Rc<Observers>,
    /// A rank for each core, as far as there are ranks.
    slots: Vec<Rc<RankSlot>>,
    /// Number of ranks that have not ended.
    left: Rc<Cell<usize>>,
}

/// A rank, as its fibre and the node see it.
#[derive(Default)]
struct RankSlot {
    rank: u32,
    core: u32,
    ending: RefCell<Option<(Time, rank::Ending)>>,
    waiting: RefCell<Option<mpi::Waiting>>,
    memory: Late,
}

impl Ranks {
    /// The software of node `nid`, on which its ranks run, if there are so many.
    pub(crate) fn new(
        nid: u32,
        software: Rc<Software>,
        journal: Rc<Journal>,
        judge: Option<Rc<Adapter>>,
    ) -> Ranks {
        let placement = software.start.placement;
        let first = placement.per_node * nid;
        let list_entry =
            software.portals.map_or(des::Duration::ZERO, |portals| portals.costs.list_entry);
        let observer = |core| {
            Rc::new(Observer::new(Placed { core, rank: first + core }, journal.clone(), list_entry))
        };
        let cores = (0..placement.per_node).map(observer).collect();
        journal.employ(placement.on(nid));
        let observers = Rc::new(Observers { cores, journal, placement, judge });
        let slot =
            |rank| Rc::new(RankSlot { rank, core: placement.core(rank), ..RankSlot::default() });
        let slots: Vec<_> = placement.on(nid).map(slot).collect();
        let left = Rc::new(Cell::new(slots.len()));
        let (booting, kernel) = Default::default();
        Ranks { nid, software, kernel, booting, observers, slots, left }
    }

    /// Starts the kernel and then the ranks, each on its core: their libraries are ready before `launch`,
    /// when the program itself starts.
    pub fn boot(&self, host: &mut Host, launch: Time) {
        let kernel = self.kernel.clone();
        let for_interrupts = kernel.clone();
        host.set_interrupt_handler(Rc::new(move |cpu| {
            if let Some(kernel) = for_interrupts.get() {
                kernel.interrupt(cpu);
            }
        }));
        let (nid, software) = (self.nid, self.software.clone());
        let (observers, slots) = (self.observers.clone(), self.slots.clone());
        let left = self.left.clone();
        let booting = self.booting.clone();
        booting.set(Some(1 + slots.len()));
        let ready = move || booting.set(booting.get().map(|left| left - 1));
        host.spawn("kernel boot", move |cpu| {
            if let Carrier::Portals(nal) = &software.carrier {
                let nal = nal(&cpu);
                let nid = u16::try_from(nid).expect("Portals names 65,536 nodes");
                let config = software.portals.as_ref().expect("costs of Portals");
                let started = Kernel::boot(&cpu, nid, config, observers.clone(), nal);
                assert!(kernel.set(started.clone()).is_ok(), "a kernel boots once");
                if software.loopback {
                    cpu.spawn("echo", move |cpu| loopback::serve(&cpu, &started));
                }
            }
            ready();
            for slot in slots {
                let (kernel, software) = (kernel.clone(), software.clone());
                let (observers, ready, left) = (observers.clone(), ready.clone(), left.clone());
                let core = slot.core as usize;
                cpu.spawn_on(core, &format!("rank {}", slot.rank), move |cpu| {
                    let (kernel, software, observer) =
                        (kernel.get(), &*software, &observers.cores[core]);
                    let life = Life { cpu: &cpu, kernel, software, observer, slot: &slot };
                    let ending = life.run(|| {
                        ready();
                        cpu.spend(launch.since(cpu.now()));
                    });
                    *slot.ending.borrow_mut() = Some((cpu.now(), ending));
                    left.set(left.get() - 1);
                });
            }
        });
    }

    /// True once the program can be launched.
    pub fn booted(&self) -> bool {
        self.booting.get() == Some(0)
    }

    /// Part of the host that is not ready when the firmware is.
    pub fn late(&self) -> Option<String> {
        let left = self.booting.get()?;
        match (left > self.slots.len(), left) {
            (true, _) => Some("the kernel was".into()),
            (false, 1) => Some("a rank's libraries were".into()),
            (false, _) => Some(format!("the libraries of {left} ranks were")),
        }
    }

    /// True once no rank of this node runs any more.
    pub fn all_ended(&self) -> bool {
        self.left.get() == 0
    }

    /// Counters of the kernel's Portals for the report, if the node has it: by name.
    pub fn counters(&self) -> Option<(String, u64)> {
        let counters = self.kernel.get()?.counters();
        Some(("kernel.queue_events".into(), counters.queue_events))
    }

    /// The ranks of this node, in the order of its cores.
    pub fn numbers(&self) -> Vec<u32> {
        self.slots.iter().map(|slot| slot.rank).collect()
    }

    /// Exit status and sentence of the first rank that ended in a way that ends the run.
    pub fn failure(&self) -> Option<(i32, String)> {
        if self.left.get() == self.slots.len() {
            return None; // as mostly: nothing else is looked at
        }
        let failure = |slot: &Rc<RankSlot>| {
            let ending = slot.ending.borrow();
            let (at, ending) = ending.as_ref()?;
            Some((*at, ending.failure(slot.rank)?))
        };
        let failures = self.slots.iter().filter_map(failure);
        failures.min_by_key(|(at, _)| *at).map(|(_, failure)| failure)
    }

    /// The same of the first rank whose process had ended when its memory was wanted.
    pub fn missed(&self) -> Option<(i32, String)> {
        let missed = |slot: &Rc<RankSlot>| {
            let (rank, ending) = slot.memory.get()?.ending()?;
            ending.failure(rank)
        };
        self.slots.iter().find_map(missed)
    }

    /// Ends of the ranks: rank, time, exit status.
    pub fn endings(&self) -> Vec<(u32, Time, i32)> {
        let slots = self.slots.iter();
        slots
            .filter_map(|slot| {
                let ending = slot.ending.borrow();
                ending.as_ref().map(|(at, ending)| (slot.rank, *at, ending.code()))
            })
            .collect()
    }

    /// Reasons for which the remaining ranks wait.
    pub fn waiting(&self) -> Vec<String> {
        let slots = self.slots.iter().filter(|slot| slot.ending.borrow().is_none());
        slots
            .map(|slot| {
                let waiting = slot.waiting.borrow();
                let what =
                    waiting.as_ref().and_then(|wait| Some(wait.borrow().as_ref()?.to_string()));
                match what {
                    Some(what) => format!("rank {} waits in {what}", slot.rank),
                    None if self.observers.cores[slot.core as usize].is_endless() => format!(
                        "rank {} is in a loop of its own that nothing ends, and makes no call",
                        slot.rank
                    ),
                    None => format!("rank {} is in no call that waits", slot.rank),
                }
            })
            .collect()
    }
}
