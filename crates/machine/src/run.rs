//! A run: nodes are assembled, simulated in windows, and what is left of them becomes the report.

use crate::configure::Configuration;
use crate::debugger::Door;
use crate::faults::{self, Faults};
use crate::firmware::image::FirmwareImage;
use crate::firmware::symbols::Symbols;
use crate::instruments::capture::Capture;
use crate::instruments::meter::Effort;
use crate::instruments::profile::Profile;
use crate::instruments::recorder::{Code, Recorder};
use crate::instruments::timeline::Watcher;
use crate::node::Node;
use crate::parameters::Parameters;
use crate::programs::{Executable, Program};
use crate::report::Report;
use assembly::Parts;
use des::{Bounds, Duration, Links, Stop, Time};
use outcome::{balance, report, settle};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

mod assembly;
mod boot;
mod outcome;
mod shelf;
#[cfg(test)]
mod tests;

/// Hops of the network that the notice of a failure takes to end the run everywhere: more than any window is
/// ahead of others, so that it costs no speed.
const NOTICE_HOPS: u64 = 100;

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
    /// Folder where boots are kept for later runs (changes nothing but the speed).
    pub boots: Option<PathBuf>,
    /// Observe where the firmware's cycles go (changes nothing but the speed).
    pub profile: bool,
    /// Write the packets to this file; every packet is carried out then (changes nothing but the speed).
    pub pcap: Option<PathBuf>,
    /// Who watches what happens on all nodes; every packet is carried out then (changes nothing but the
    /// speed).
    pub watchers: Vec<Arc<dyn Watcher>>,
    /// Let gdb debug the processor of a node; the run begins when it has connected.
    pub debugger: Option<Arc<Door>>,
    /// Hold library and firmware against the specification of Portals (changes nothing but the speed).
    pub judge: bool,
    /// Measure what the processor model costs ([`Outcome::effort`]); that costs a little itself.
    pub meter: bool,
    /// Folder with the firmware's images: `seastar.elf`, `seastar.img`, `shim.img`.
    pub firmware: PathBuf,
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

/// What a run leaves behind.
pub struct Outcome {
    /// The report.
    pub report: Report,
    /// The SRAM of every node as the RAS system sees it at the end.
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

/// Runs a program.
pub fn run(options: &Options) -> Result<Outcome, Mistake> {
    let configuration = Configuration::new(&options.parameters, options.ranks).map_err(Mistake)?;
    let launch = Time::ZERO + configuration.launch;
    let placement = configuration.placement;
    let topology = &configuration.topology;
    let faults = faults::parse(&options.faults, options.seed, topology, launch).map_err(Mistake)?;
    if !options.program.executables().is_empty() {
        rank::allow_ranks(options.ranks).map_err(Mistake)?;
    }
    rank::allow_mappings(topology.nodes(), mappings(options, &configuration)).map_err(Mistake)?;
    let image = FirmwareImage::load(&options.firmware).map_err(|e| Mistake(e.to_string()))?;
    let symbols = Arc::new(Symbols::load(&image.elf).map_err(|e| Mistake(e.to_string()))?);
    let watched = !options.watchers.is_empty();
    let code = (options.profile || watched).then(|| Arc::new(Code::new(&symbols)));
    let capture = options.pcap.as_deref().map(Capture::to).transpose().map_err(Mistake)?;
    let started = std::time::Instant::now();
    let nodes = configuration.topology.nodes();
    let debugged = options
        .debugger
        .as_ref()
        .map(|door| door.wait(options, nodes, launch).map(|waiting| (door, waiting)))
        .transpose()?;
    let (session, mut debugger) =
        debugged.map(|(door, (session, debugger))| (session, (door.node(), debugger))).unzip();
    let ledger = options.judge.then(|| Arc::new(ledger(nodes, &faults)));
    let templates = match options.program.executables() {
        [all] => rank::Templates::of(&all.path, options.ranks),
        _ => None, // A template has loaded one program.
    };
    let ahead = ahead(options)?;
    let (mut remains, ending, _) = {
        let parts = Parts {
            configuration: &configuration,
            image: &image,
            symbols: &symbols,
            options,
            placement,
            templates: templates.as_ref(),
            ahead: &ahead,
            maps: &[placement.libraries(), placement.programs()],
            ledger: ledger.as_ref(),
            faults: &faults,
            taping: false,
        };
        let boot = parts.boot();
        let builders = (0..configuration.topology.nodes())
            .map(|nid| {
                let (parts, boot, faults, code) = (&parts, boot.as_ref(), &faults, code.clone());
                let tap = capture.as_ref().map(|capture| capture.tap(nid));
                let debugger = debugger.take_if(|(of, _)| *of == nid).map(|(_, debugger)| debugger);
                // It is debugged from its first instruction on.
                let boot = boot.filter(|_| debugger.is_none());
                move || {
                    let mut node = parts.node(nid, boot);
                    node.set_faults(faults);
                    node.set_meter(options.meter);
                    let merge = options.merge && tap.is_none() && !watched;
                    node.set_merging(merge && options.debugger.is_none());
                    node.set_tap(tap);
                    node.set_recorder(code.map(Recorder::new));
                    if watched {
                        let sinks = options.watchers.iter().map(|w| w.node(node.about()));
                        node.set_watch(sinks.collect(), parts.configuration.ppc440.clock);
                    }
                    node.set_debugger(debugger);
                    node
                }
            })
            .collect();
        let neighbours = |nid| {
            (0..net::LINKS)
                .map(net::Link::from_index)
                .filter_map(move |link| topology.neighbour(nid, link))
        };
        let links = Links::new(configuration.net.lookahead(), topology.nodes(), neighbours);
        let until = options.until.map_or(Time::NEVER, |until| launch + until);
        // Nodes that share a boot begin behind it, when one that does not may have failed in its own.
        let notice = configuration.net.lookahead() * NOTICE_HOPS;
        let bounds = Bounds { until, notice, begins: launch };
        des::run::<Node, _>(builders, &links, options.threads, bounds, &options.stop)
    };
    let wall_seconds = started.elapsed().as_secs_f64();
    let end = remains.iter().map(|node| node.end).max().unwrap_or(launch);
    balance(&remains, ending);
    options.writing.store(true, Ordering::Relaxed);
    let captured = capture.map(|capture| {
        let packets = remains.iter_mut().filter_map(|node| node.packets.take()).collect();
        capture.write(packets, options.parameters.name())
    });
    let mut outcome = report(options, &image, remains, ending, launch, wall_seconds);
    if let Some(ledger) = ledger {
        settle(&mut outcome.report.exit, &ledger, ending, end);
    }
    let told = options.watchers.iter().map(|watcher| watcher.finish());
    for why in captured.into_iter().chain(told).filter_map(Result::err) {
        let exit = &mut outcome.report.exit;
        exit.code = if exit.code == 0 { 1 } else { exit.code };
        exit.sentences.push(why);
    }
    if let Some(session) = session {
        session.end(outcome.report.exit.code);
    }
    Ok(outcome)
}

/// Each executable's own libraries that come before that of MPI.
fn ahead(options: &Options) -> Result<Arc<[Arc<[PathBuf]>]>, Mistake> {
    let of = |executable: &Executable| {
        let path = &executable.path;
        let ahead = rank::ahead_of_mpi(path, &executable.args, &options.library).map(Arc::from);
        ahead.map_err(|e| Mistake(format!("cannot list the libraries of {}: {e}", path.display())))
    };
    options.program.executables().iter().map(of).collect()
}

/// Mappings of memory that the software of all nodes takes: stacks, and what each process shares with us.
fn mappings(options: &Options, configuration: &Configuration) -> u64 {
    let ranks = configuration.placement.per_node;
    let echo = u32::from(options.parameters.switch("host.echo"));
    // The interrupt handler, and behind the kernel's boot what it starts.
    let fibres = u64::from(1 + ranks + echo) * u64::from(configuration.topology.nodes());
    let shared = match options.program {
        Program::Executables(_) => options.ranks,
        Program::Builtin(_) => 0,
    };
    fibres * host::MAPPINGS_PER_FIBRE + u64::from(shared)
}

/// Finds out whether machine, ranks and faults fit together, without a run.
pub fn check(
    parameters: &Parameters,
    ranks: u32,
    faults: &[String],
    seed: u64,
) -> Result<(), Mistake> {
    let configuration = Configuration::new(parameters, ranks).map_err(Mistake)?;
    let launch = Time::ZERO + configuration.launch;
    faults::parse(faults, seed, &configuration.topology, launch).map_err(Mistake)?;
    Ok(())
}

/// Finds out whether a machine for so many ranks has node `nid`; `option` is what asks for it.
pub fn check_node(
    parameters: &Parameters,
    ranks: u32,
    option: &str,
    nid: u32,
) -> Result<(), Mistake> {
    let nodes = Configuration::new(parameters, ranks).map_err(Mistake)?.topology.nodes();
    if nid < nodes {
        return Ok(());
    }
    let last = nodes - 1;
    Err(Mistake(format!(
        "{option} {nid}: there is no such node, the machine has nodes 0 to {last}"
    )))
}

/// The judges' ledger, with what the faults excuse.
fn ledger(nodes: u32, faults: &Faults) -> spec::Ledger {
    spec::Ledger::new(nodes, faults.loses()).with_stalls(faults.stalls())
}
