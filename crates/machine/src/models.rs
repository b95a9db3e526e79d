//! The models that there are, a row each: the one place that names them. `nic.model` of a machine chooses.

use crate::instruments::journey::{Cause, Way, PORTALS};
use crate::parameters::{Parameters, Row};
use crate::programs::native;
use crate::programs::Program;
use crate::run::{Mistake, Options, Outcome};
use crate::{bench, example, ideal, myrinet, offload, seastar};
use std::path::Path;

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
    /// Workloads over an interface that only it has.
    pub workloads: &'static [native::Kind],
    /// Nodes of a machine for so many ranks.
    nodes: fn(&Parameters, u32) -> Result<u32, String>,
    /// Whether machine, ranks, faults and seed fit together.
    check: fn(&Parameters, u32, &[String], u64) -> Result<(), String>,
    run: fn(&Options) -> Result<Outcome, Mistake>,
}

/// The program on the processors of network interfaces.
#[derive(Debug)]
pub struct Firmware {
    /// Folder of its sources.
    pub sources: &'static str,
    /// Folder in `build/firmware` where `make parts` leaves images that no parameter changes; none if the
    /// machine's `firmware.*` parameters choose them.
    pub built: Option<&'static str>,
    /// Its ELF, which stands there.
    pub elf: &'static str,
    /// The files there that a run reads.
    pub images: &'static [&'static str],
    /// What executes it.
    pub processor: Processor,
    /// Reads the images in a folder.
    pub(crate) listing: fn(&Path) -> Result<Listing, String>,
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
    /// A PowerPC 440: gdb debugs it, and its firmware has a trace ring and counters.
    PowerPc,
    /// A LANai, which no gdb knows: a monitor looks at it.
    Lanai,
    /// A PowerPC 440 that can only be profiled.
    Unattended,
}

/// All of them.
pub static MODELS: [Model; 6] = [
    Model {
        name: "seastar",
        doc: "Cray SeaStar: firmware on a PowerPC 440, DMA engines, a mesh or torus (pedretti2005)",
        rows: seastar::ROWS,
        firmware: Some(&seastar::FIRMWARE),
        messages: Some(&PORTALS),
        queues: &[],
        packets: true,
        link_type: Some(147),
        cables: false,
        lanes: false,
        console: None,
        processes: true,
        workloads: &[],
        nodes: seastar::run::nodes,
        check: seastar::run::check,
        run: seastar::run::run,
    },
    Model {
        name: "ideal",
        doc: "a network interface of constants (LogGP): no firmware, no network, matching free",
        rows: ideal::ROWS,
        firmware: None,
        messages: Some(&PORTALS),
        queues: &[],
        packets: false,
        link_type: None,
        cables: false,
        lanes: false,
        console: None,
        processes: true,
        workloads: &[],
        nodes: bench::nodes_needed,
        check: bench::check_hosts,
        run: ideal::run,
    },
    Model {
        name: "example",
        doc: "docs/adding-a-nic.md's example: a command queue, a DMA engine, a link, an interrupt",
        rows: example::ROWS,
        firmware: None,
        messages: Some(&PORTALS),
        queues: &[],
        packets: false,
        link_type: None,
        cables: false,
        lanes: false,
        console: None,
        processes: true,
        workloads: &[],
        nodes: bench::nodes_needed,
        check: bench::check_hosts,
        run: example::run,
    },
    Model {
        name: "rdma",
        doc: "an RDMA NIC on PCI-X with bonded links or a crossbar, cycle by cycle (marazakis2006)",
        rows: crate::rdma::ROWS,
        firmware: None,
        messages: Some(&crate::rdma::WAY),
        queues: crate::rdma::QUEUES,
        packets: false,
        link_type: Some(148),
        cables: false,
        lanes: true,
        console: Some("firmware/crossbar/console.bin"),
        processes: false,
        workloads: crate::rdma::WORKLOADS,
        nodes: crate::rdma::nodes,
        check: crate::rdma::check,
        run: crate::rdma::run,
    },
    Model {
        name: "myrinet",
        doc: "Myrinet: a control program on a LANai, source-routed switches (vorakosit2001)",
        rows: myrinet::ROWS,
        firmware: Some(&myrinet::FIRMWARE),
        messages: Some(&myrinet::WAY),
        queues: myrinet::QUEUES,
        packets: false,
        link_type: None,
        cables: true,
        lanes: false,
        console: None,
        processes: false,
        workloads: myrinet::WORKLOADS,
        nodes: myrinet::nodes,
        check: myrinet::check,
        run: myrinet::run,
    },
    Model {
        name: "offload",
        doc: "MPI's queues on the NIC, with or without matching units (brightwell2005)",
        rows: offload::ROWS,
        firmware: Some(&offload::FIRMWARE),
        messages: Some(&offload::WAY),
        queues: offload::QUEUES,
        packets: false,
        link_type: Some(149),
        cables: false,
        lanes: false,
        console: None,
        processes: true,
        workloads: &[],
        nodes: offload::nodes,
        check: offload::check,
        run: offload::run,
    },
];

/// The model of this name.
pub fn model(name: &str) -> Option<&'static Model> {
    MODELS.iter().find(|model| model.name == name)
}

/// The cause of a step of a message on machines of a model; of one that is no step nothing is known.
pub fn cause_of(model: &str, step: &str) -> Option<&'static Cause> {
    self::model(model)?.messages?.cause_of(step)
}

/// Runs a program.
pub fn run(options: &Options) -> Result<Outcome, Mistake> {
    suits(&options.program, options.parameters.model())?;
    (options.parameters.model().run)(options)
}

/// Finds out whether a machine of this model can run the program.
fn suits(program: &Program, model: &Model) -> Result<(), Mistake> {
    let prefix = rank::BUILTIN_PREFIX;
    match program {
        Program::Native(workload) => {
            let kind = workload.kind;
            let owner = MODELS.iter().find(|model| model.workloads.iter().any(|own| own == kind));
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
        _ => {
            let own = model.workloads.iter().map(|own| format!("{prefix}{}", own.name));
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
