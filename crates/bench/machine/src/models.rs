//! Description of a model for the bench: a row that the model's crate provides. `nic.model` of a machine
//! chooses among them.

use crate::bench;
use crate::faults::{FaultKind, ModelFaults};
use crate::instruments::message_trace::{Cause, Layer, MessagePath};
use crate::instruments::timeline::{Queue, Room};
use crate::parameters::{hosts, schema};
use crate::parameters::{Parameters, Row, MODEL};
use crate::programs::native;
use crate::programs::Program;
use crate::run::{Options, Outcome};
use crate::suggestion;
use crate::usage_error::UsageError;
use des::Clock;
use std::path::Path;
use std::sync::OnceLock;

/// A model: network interfaces, the network between them, and the kernel's driver for them.
#[derive(Debug)]
pub struct Model {
    /// Name, as in `nic.model`.
    pub name: &'static str,
    /// Description, in a line.
    pub doc: &'static str,
    /// Parameters of its hosts: of what they are made of ([`hosts`]), and no more.
    pub hosts: &'static [Row],
    /// Parameters that its machines have beside those of hosts, in the order in which they are printed.
    pub rows: &'static [Row],
    /// Firmware that its network interfaces execute, if they do: it can be listed and profiled.
    pub firmware: Option<&'static Firmware>,
    /// The steps of its messages; none if it reports neither messages nor calls.
    pub messages: Option<&'static MessagePath>,
    /// The same of Linux guests, if theirs are others.
    pub guest_messages: Option<GuestMessages>,
    /// Queues of its nodes whose depth it reports, in the order of their numbers (`Gauge::Own`).
    pub queues: &'static [Queue],
    /// Queues whose greatest depth its nodes count, in the order in which a report lists them.
    pub depths: &'static [Depth],
    /// Words of reports about this model: the name of a figure, of a section or of a layer of messages' paths
    /// (`host`), and what is said there instead of what suits any model.
    pub captions: &'static [(&'static str, &'static str)],
    /// True if packets cross a network of routers and links, which can fail.
    pub packets: bool,
    /// Link type of captured packets; none if they are not captured.
    pub link_type: Option<u16>,
    /// Kinds of faults that its machines have, beside those that all have.
    pub faults: &'static [&'static FaultKind],
    /// Words of the sentences with which a run may end because network interfaces run out of something.
    pub exhausted: &'static [&'static str],
    /// Image, in `build`, of the program behind the console of a switch; none if there is none.
    pub console: Option<&'static str>,
    /// True if processes call MPI and Portals on it.
    pub processes: bool,
    /// True if processes on a machine with these parameters reach network interfaces without their kernel.
    pub accelerated: fn(&Parameters) -> bool,
    /// True for a parameter that others switch off: a crossbar's where there is none.
    pub idle: fn(&Parameters, &str) -> bool,
    /// Clock of the bus whose cycles its nodes count.
    pub bus_clock: Option<fn(&Parameters) -> Clock>,
    /// True if its network interfaces can perform MPI's collective operations.
    pub collectives: bool,
    /// True if processes call verbs on it.
    pub verbs: bool,
    /// True if its cards are PCI devices for Linux guests.
    pub guests: bool,
    /// Folder, below that of the libraries, of the MPI library that programs in such guests load; none if
    /// there is none.
    pub guest_mpi: Option<&'static str>,
    /// Workloads over an interface that only it has.
    pub workloads: &'static [native::WorkloadKind],
    /// Number of nodes of a machine for so many ranks.
    pub nodes: fn(&Parameters, u32) -> Result<u32, UsageError>,
    /// Checks that machine, ranks, faults and seed fit together.
    pub check: fn(&Parameters, u32, &[String], u64) -> Result<(), UsageError>,
    /// Runs a program of such a machine.
    pub run: fn(&Options) -> Result<Outcome, UsageError>,
}

impl Model {
    /// A model that has only what all have: hosts that are Linux guests, no firmware, nothing observed. A row
    /// states what is different (`Model { processes: true, ..Model::new(...) }`).
    pub const fn new(
        name: &'static str,
        doc: &'static str,
        rows: &'static [Row],
        run: fn(&Options) -> Result<Outcome, UsageError>,
    ) -> Model {
        Model {
            name,
            doc,
            hosts: hosts::GUESTS,
            rows,
            run,
            firmware: None,
            messages: None,
            guest_messages: None,
            queues: &[],
            depths: &[],
            captions: &[],
            packets: false,
            link_type: None,
            faults: &[],
            exhausted: &[],
            console: None,
            processes: false,
            accelerated: |_| false,
            idle: |_, _| false,
            bus_clock: None,
            collectives: false,
            verbs: false,
            guests: false,
            guest_mpi: None,
            workloads: &[],
            nodes: bench::nodes_needed,
            check: bench::check_hosts,
        }
    }

    /// Text of a layer in legends, for its machines.
    pub fn text_of(&self, layer: Layer) -> &'static str {
        match self.caption(layer.name()) {
            "" => layer.text(),
            own => own,
        }
    }

    /// The sentence below a figure, if there is one.
    pub fn caption(&self, figure: &str) -> &'static str {
        let of = self.captions.iter().find(|(name, _)| *name == figure);
        of.map_or("", |(_, sentence)| sentence)
    }

    /// Faults that its machines can have.
    pub fn fault_kinds(&self) -> ModelFaults {
        ModelFaults { model: self.name, kinds: self.faults }
    }

    /// The steps of the messages of a program, which runs in Linux guests or not, on this machine.
    pub fn message_path(
        &self,
        in_guests: bool,
        parameters: &Parameters,
    ) -> Option<&'static MessagePath> {
        let of_guests = self.guest_messages.as_ref().filter(|_| in_guests);
        of_guests.map(|guests| guests.paths[(guests.driver)(parameters)]).or(self.messages)
    }
}

/// A queue whose greatest depth a node counts.
#[derive(Debug)]
pub struct Depth {
    /// The counter.
    pub counter: &'static str,
    /// Name of the queue.
    pub name: &'static str,
    /// Entries for which it has room.
    pub room: Room,
}

impl Room {
    /// Entries on a machine, if that is told.
    pub fn on(self, machine: &Parameters) -> Option<u64> {
        match self {
            Room::Untold => None,
            Room::Entries(entries) => Some(entries),
            Room::Parameter(key) => Some(machine.number(key)),
        }
    }
}

/// The steps of the messages of Linux guests.
#[derive(Debug)]
pub struct GuestMessages {
    /// Those of each driver that guests may load.
    pub paths: &'static [&'static MessagePath],
    /// Index of the one that the guests of a machine load.
    pub driver: fn(&Parameters) -> usize,
}

/// The program on the processors of network interfaces.
#[derive(Debug)]
pub struct Firmware {
    /// Folder of its sources, with a Makefile.
    pub sources: &'static str,
    /// Other folders with sources of its.
    pub shared: &'static [&'static str],
    /// Folder in `build/firmware` where the Makefile leaves the images for these parameters, below the folder
    /// that it is given; none if images are built when `firmware.*` parameters ask for them.
    pub built: Option<fn(&Parameters) -> &'static str>,
    /// Its ELF in that folder.
    pub elf: &'static str,
    /// The files there that a run reads.
    pub images: &'static [&'static str],
    /// Processor that executes it.
    pub processor: Processor,
    /// Clock of that processor.
    pub clock: fn(&Parameters) -> Clock,
    /// True if it can be built with a trace ring and counters of functions in the memory of its processor.
    pub ring: bool,
    /// Reads the images in a folder.
    pub listing: fn(&Path) -> Result<Listing, UsageError>,
}

impl Firmware {
    /// Nanoseconds of a cycle of its processor.
    pub fn cycle_ns(&self, machine: &Parameters) -> f64 {
        1e9 / (self.clock)(machine).hz() as f64
    }
    /// Sizes of the images in a folder.
    pub fn listing(&self, folder: &Path) -> Result<Listing, UsageError> {
        (self.listing)(folder)
    }
}

/// Memory that firmware occupies on its processor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// Build options, or a description.
    pub title: String,
    /// Sizes, as tables.
    pub sizes: String,
}

/// A processor of network interfaces, by its debugger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Processor {
    /// A PowerPC 440: gdb debugs it.
    PowerPc,
    /// A LANai, which no gdb knows: a monitor examines it.
    Lanai,
}

/// The models that there are, in the order in which they are listed. The crate `models` has those of Sunstar.
#[derive(Debug)]
pub struct Models {
    list: &'static [&'static Model],
    /// `nic.model`, which names them.
    row: OnceLock<Row>,
}

impl Models {
    /// List of these models.
    pub const fn new(list: &'static [&'static Model]) -> Models {
        Models { list, row: OnceLock::new() }
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &'static Model> + Clone {
        self.list.iter().copied()
    }

    /// The model of this name.
    pub fn model(&self, name: &str) -> Option<&'static Model> {
        self.iter().find(|model| model.name == name)
    }

    /// The cause of a step of a message on machines of a model; `None` if there is no such step.
    pub fn cause_of(&self, model: &str, step: &str) -> Option<&'static Cause> {
        let model = self.model(model)?;
        let of_guests = model.guest_messages.iter().flat_map(|guests| guests.paths);
        let mut paths = model.messages.iter().chain(of_guests);
        paths.find_map(|path| path.cause_of(step))
    }

    /// The row of the parameter that chooses one.
    pub(crate) fn choice(&'static self) -> &'static Row {
        let names = || self.iter().map(|model| model.name).collect::<Vec<_>>();
        self.row.get_or_init(|| schema::choice(MODEL, names().leak()))
    }
}

/// Runs a program.
pub fn run(options: &Options) -> Result<Outcome, UsageError> {
    suits(&options.program, &options.parameters)?;
    (options.parameters.model().run)(options)
}

/// Checks that a machine of this model can run the program.
fn suits(program: &Program, parameters: &Parameters) -> Result<(), UsageError> {
    let model = parameters.model();
    let prefix = rank::BUILTIN_PREFIX;
    match program {
        Program::Native(workload) => {
            let kind = workload.kind;
            let has = |model: &&Model| model.workloads.iter().any(|own| own == kind);
            let owner = parameters.models().iter().find(has);
            let owner = owner.map_or("none", |owner| owner.name);
            if owner == model.name {
                return Ok(());
            }
            Err(UsageError::sentence(format!(
                "{prefix}{} runs on machines of model {owner}, not of model {}",
                kind.name, model.name
            )))
        }
        _ if model.processes => Ok(()),
        Program::Executables(_) if model.verbs => Ok(()),
        Program::Guests(_) if model.guests => Ok(()),
        _ => {
            let own = model.workloads.iter().map(|own| format!("{prefix}{}", own.name));
            let own = own.chain(model.verbs.then(|| "programs that use verbs".to_string()));
            let own = own.chain(model.guests.then(|| "programs in Linux guests".to_string()));
            let none = match model.guest_mpi {
                Some(_) => "no Portals, and MPI in Linux guests only",
                None => "neither MPI nor Portals",
            };
            Err(UsageError::sentence(format!(
                "machines of model {} have {none}; they run {}",
                model.name,
                own.collect::<Vec<_>>().join(", ")
            )))
        }
    }
}

/// Checks without a run that machine, ranks and faults fit together.
pub fn check(
    parameters: &Parameters,
    ranks: u32,
    faults: &[String],
    seed: u64,
) -> Result<(), UsageError> {
    (parameters.model().check)(parameters, ranks, faults, seed)
}

/// Checks that a machine for so many ranks has node `nid`; `option` is the option that names it.
pub fn check_node(
    parameters: &Parameters,
    ranks: u32,
    option: &str,
    nid: u32,
) -> Result<(), UsageError> {
    let nodes = (parameters.model().nodes)(parameters, ranks)?;
    if nid < nodes {
        return Ok(());
    }
    let last = nodes - 1;
    Err(UsageError::sentence(format!(
        "{option} {nid}: there is no such node, the machine has nodes 0 to {last}"
    )))
}

/// Least letters with which the beginning of a key, or a key without its section, identifies it.
const TELLING: usize = 4;

impl Models {
    /// The parameters of machines of a model, in the order in which they are printed.
    pub fn rows(&'static self, model: &'static Model) -> Vec<&'static Row> {
        let mut rows: Vec<&Row> = model.hosts.iter().chain([self.choice()]).collect();
        for row in model.rows {
            let behind = rows.iter().rposition(|other| other.section() == row.section());
            rows.insert(behind.map_or(rows.len(), |behind| behind + 1), row);
        }
        rows
    }

    /// The row of `key`, of any model.
    pub fn row(&'static self, key: &str) -> Option<&'static Row> {
        self.all().find(|row| row.key == key)
    }

    /// The first model that has the parameter `key` beside those of its hosts.
    pub fn owner(&self, key: &str) -> Option<&'static Model> {
        self.iter().find(|model| model.rows.iter().any(|row| row.key == key))
    }

    /// The models that have the parameter `key`, but for `nic.model`, which all have.
    pub fn owners(&self, key: &str) -> Vec<&'static Model> {
        let has = |model: &&Model| model.hosts.iter().chain(model.rows).any(|row| row.key == key);
        self.iter().filter(has).collect()
    }

    /// The rows of all models: several models may have one, which is then the same for all of them.
    pub fn all(&'static self) -> impl Iterator<Item = &'static Row> + Clone {
        let of_models = self.iter().flat_map(|model| model.hosts.iter().chain(model.rows));
        of_models.chain([self.choice()])
    }

    /// The existing keys that a mistyped one was probably meant to be.
    pub fn nearest(&'static self, wrong: &str) -> Vec<&'static str> {
        let mut keys = self.all().map(|row| row.key);
        let near = suggestion::nearest(wrong, keys.clone());
        let parts = |key: &'static str| key.split_once('.').unwrap_or(("", key));
        let is_section = || keys.clone().any(|key| parts(key).0 == wrong);
        if !near.is_empty() || wrong.len() < TELLING || is_section() {
            return near;
        }
        let begins = |key: &&'static str| key.starts_with(wrong) || parts(key).1.starts_with(wrong);
        keys.find(begins).into_iter().collect()
    }

    /// "machines of model A have no KEY; it belongs to model B", or to several.
    pub(crate) fn foreign(&self, key: &str, model: &Model) -> String {
        let owners: Vec<&str> = self.owners(key).iter().map(|owner| owner.name).collect();
        let owners = match &owners[..] {
            [one] => format!("model {one}"),
            [all @ .., last] => format!("models {} and {last}", all.join(", ")),
            [] => unreachable!("a row belongs to a model"),
        };
        let name = model.name;
        format!("machines of model {name} (nic.model) have no {key}; it belongs to {owners}")
    }

    /// Error of a key that no machine has.
    pub fn unknown(&'static self, key: &str) -> UnknownParameter {
        UnknownParameter { key: key.to_owned(), meant: self.nearest(key) }
    }
}

/// A key that no machine has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no parameter {key}; {}", advice(meant))]
pub struct UnknownParameter {
    /// The key.
    pub key: String,
    /// Keys of which one was probably meant.
    pub meant: Vec<&'static str>,
}

fn advice(meant: &[&str]) -> String {
    let all = || "\"sunstar machines NAME\" lists all".to_owned();
    suggestion::question(meant).unwrap_or_else(all)
}
