//! What the bench knows of a model: a row, given to it by the crate that has the model. `nic.model` of a
//! machine chooses.

use crate::bench;
use crate::instruments::journey::{Cause, Way};
use crate::parameters::schema;
use crate::parameters::{Parameters, Row, MODEL};
use crate::programs::native;
use crate::programs::Program;
use crate::run::{Mistake, Options, Outcome};
use std::path::Path;
use std::sync::OnceLock;

/// A model: network interfaces, what joins them, and the driver that the kernel has for them.
#[derive(Debug)]
pub struct Model {
    /// What `nic.model` says.
    pub name: &'static str,
    /// What it is, in a line.
    pub doc: &'static str,
    /// Parameters that machines of this model have beside those that all have, in the order in which they are
    /// printed.
    pub rows: &'static [Row],
    /// What its network interfaces execute, if they do: it can be listed and profiled.
    pub firmware: Option<&'static Firmware>,
    /// The steps of its messages; none if it tells neither of messages nor of calls.
    pub messages: Option<&'static Way>,
    /// Queues of its nodes whose depth it tells, in the order of their numbers (`Gauge::Own`).
    pub queues: &'static [&'static str],
    /// Packets cross a network of routers and links, which can fail.
    pub packets: bool,
    /// Link type of captured packets; none if they are not captured.
    pub link_type: Option<u16>,
    /// Cards hang on cables that can be cut.
    pub cables: bool,
    /// Cards hang on lanes that can spoil what they carry.
    pub lanes: bool,
    /// Image, in `build`, of the program behind the console of a switch; none if there is no such.
    pub console: Option<&'static str>,
    /// Processes call MPI and Portals on it.
    pub processes: bool,
    /// Processes call verbs on it.
    pub verbs: bool,
    /// Its cards are PCI devices for Linux guests.
    pub guests: bool,
    /// Workloads over an interface that only it has.
    pub workloads: &'static [native::Kind],
    /// Nodes of a machine for so many ranks.
    pub nodes: fn(&Parameters, u32) -> Result<u32, String>,
    /// Whether machine, ranks, faults and seed fit together.
    pub check: fn(&Parameters, u32, &[String], u64) -> Result<(), String>,
    /// Runs a program of such a machine.
    pub run: fn(&Options) -> Result<Outcome, Mistake>,
}

impl Model {
    /// A model that has only what all have: hosts without processes, no firmware, nothing observed. A row
    /// states what is different (`Model { processes: true, ..Model::new(...) }`).
    pub const fn new(
        name: &'static str,
        doc: &'static str,
        rows: &'static [Row],
        run: fn(&Options) -> Result<Outcome, Mistake>,
    ) -> Model {
        Model {
            name,
            doc,
            rows,
            run,
            firmware: None,
            messages: None,
            queues: &[],
            packets: false,
            link_type: None,
            cables: false,
            lanes: false,
            console: None,
            processes: false,
            verbs: false,
            guests: false,
            workloads: &[],
            nodes: bench::nodes_needed,
            check: bench::check_hosts,
        }
    }
}

/// The program on the processors of network interfaces.
#[derive(Debug)]
pub struct Firmware {
    /// Folder of its sources.
    pub sources: &'static str,
    /// Folder in `build/firmware` where `make parts` leaves the images for these parameters; none if images
    /// are built when `firmware.*` parameters ask for them.
    pub built: Option<fn(&Parameters) -> &'static str>,
    /// Its ELF, which stands there.
    pub elf: &'static str,
    /// The files there that a run reads.
    pub images: &'static [&'static str],
    /// What executes it.
    pub processor: Processor,
    /// It can be built with a trace ring and counters of functions in the memory of its processor.
    pub ring: bool,
    /// Reads the images in a folder.
    pub listing: fn(&Path) -> Result<Listing, String>,
}

impl Firmware {
    /// What the images in a folder occupy. The error is a sentence.
    pub fn listing(&self, folder: &Path) -> Result<Listing, String> {
        (self.listing)(folder)
    }
}

/// What firmware occupies of the memory of its processor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// How it was built, or what it is.
    pub title: String,
    /// Sizes, as tables.
    pub sizes: String,
}

/// A processor of network interfaces, by who can look at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Processor {
    /// A PowerPC 440: gdb debugs it.
    PowerPc,
    /// A LANai, which no gdb knows: a monitor looks at it.
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
    /// These.
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

    /// The cause of a step of a message on machines of a model; of one that is no step nothing is known.
    pub fn cause_of(&self, model: &str, step: &str) -> Option<&'static Cause> {
        self.model(model)?.messages?.cause_of(step)
    }

    /// The row of the parameter that chooses one.
    pub(crate) fn choice(&'static self) -> &'static Row {
        let names = || self.iter().map(|model| model.name).collect::<Vec<_>>();
        self.row.get_or_init(|| schema::choice(MODEL, names().leak()))
    }
}

/// Runs a program.
pub fn run(options: &Options) -> Result<Outcome, Mistake> {
    suits(&options.program, &options.parameters)?;
    (options.parameters.model().run)(options)
}

/// Finds out whether a machine of this model can run the program.
fn suits(program: &Program, parameters: &Parameters) -> Result<(), Mistake> {
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
            Err(Mistake(format!(
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
            Err(Mistake(format!(
                "machines of model {} have neither MPI nor Portals; they run {}",
                model.name,
                own.collect::<Vec<_>>().join(", ")
            )))
        }
    }
}

/// Finds out whether machine, ranks and faults fit together, without a run.
pub fn check(
    parameters: &Parameters,
    ranks: u32,
    faults: &[String],
    seed: u64,
) -> Result<(), Mistake> {
    (parameters.model().check)(parameters, ranks, faults, seed).map_err(Mistake)
}

/// Finds out whether a machine for so many ranks has node `nid`; `option` is what asks for it.
pub fn check_node(
    parameters: &Parameters,
    ranks: u32,
    option: &str,
    nid: u32,
) -> Result<(), Mistake> {
    let nodes = (parameters.model().nodes)(parameters, ranks).map_err(Mistake)?;
    if nid < nodes {
        return Ok(());
    }
    let last = nodes - 1;
    Err(Mistake(format!(
        "{option} {nid}: there is no such node, the machine has nodes 0 to {last}"
    )))
}
