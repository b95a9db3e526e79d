//! A run: nodes are assembled, simulated in windows, and what is left of them becomes the report.

use crate::capture::Capture;
use crate::configure::Configuration;
use crate::debugger::Door;
use crate::digest::digest;
use crate::faults::{self, Faults};
use crate::firmware_image::FirmwareImage;
use crate::journal::Journal;
use crate::journey;
use crate::judge::Bailiff;
use crate::meter::Effort;
use crate::node::{Boot, Node, Remains, Schedule};
use crate::parameters::{Parameter, Parameters};
use crate::placement::Placement;
use crate::profile::Profile;
use crate::programs::{Program, Ranks, Software};
use crate::recorder::{Code, Recorder};
use crate::report::{Exit, Firmware, Judged, Machine, Report, Setting};
use crate::seam::{Failure, Seam};
use crate::symbols::Symbols;
use crate::system::Os;
use crate::timeline::Watcher;
use abi::seastar::{SHIM_BASE, TEXT_BASE};
use des::{Ending, EventQueue, Links, Outbox, Stop, Time, TraceHash};
use portals::ProcessId;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

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
    /// Ends the run from outside.
    pub stop: Arc<Stop>,
    /// True while nothing is simulated any more and packets and traces are written, which takes a while if
    /// there are many.
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
    if let Program::Executable { .. } = options.program {
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
    let debugged = options.debugger.as_ref().map(|door| (door, door.wait(options, nodes, launch)));
    let (session, mut debugger) =
        debugged.map(|(door, (session, debugger))| (session, (door.node(), debugger))).unzip();
    let ledger = options.judge.then(|| Arc::new(ledger(nodes, &faults)));
    let (mut remains, ending, _) = {
        let parts = Parts {
            configuration: &configuration,
            image: &image,
            symbols: &symbols,
            options,
            placement,
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
        des::run::<Node, _>(builders, &links, options.threads, &options.stop)
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
    options.writing.store(false, Ordering::Relaxed);
    if let Some(session) = session {
        session.end(outcome.report.exit.code);
    }
    Ok(outcome)
}

/// Mappings of memory that the software of all nodes takes: stacks, and what each process shares with us.
fn mappings(options: &Options, configuration: &Configuration) -> u64 {
    let ranks = configuration.placement.per_node;
    let echo = u32::from(options.parameters.switch("host.echo"));
    // The interrupt handler, and behind the kernel's boot what it starts.
    let fibres = u64::from(1 + ranks + echo) * u64::from(configuration.topology.nodes());
    let shared = match options.program {
        Program::Executable { .. } => options.ranks,
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

/// Where nothing moves any more, every message must have ended.
fn settle(exit: &mut Exit, ledger: &spec::Ledger, ending: Ending, end: Time) {
    if !matches!(ending, Ending::Done | Ending::Deadlock) {
        return;
    }
    if let Some(first) = ledger.unsettled(end.0).first() {
        exit.code = 1;
        exit.sentences.insert(0, first.to_string());
    }
}

/// Where each rank is, to MPI and to Portals' own calls.
type Maps = [Arc<[ProcessId]>; 2];

/// What nodes are assembled from.
#[derive(Clone, Copy)]
struct Parts<'a> {
    configuration: &'a Configuration,
    image: &'a FirmwareImage,
    symbols: &'a Arc<Symbols>,
    options: &'a Options,
    /// Of the program's ranks; none of them while a boot is taped.
    placement: Placement,
    /// The same memory for all nodes.
    maps: &'a Maps,
    /// The judges' ledger, if they are to judge.
    ledger: Option<&'a Arc<spec::Ledger>>,
    faults: &'a Faults,
    /// Nodes are for the boot that all share.
    taping: bool,
}

impl Parts<'_> {
    /// Node `nid`, after the boot if that can be shared, else switched off.
    fn node(&self, nid: u32, boot: Option<&Arc<Boot>>) -> Node {
        let wire_nid = u16::try_from(nid).expect("topologies have at most 65,536 nodes");
        if let Some(boot) = boot {
            let (core, nic) = boot.parts(wire_nid);
            let mut node = self.assemble(nid, wire_nid, |_| (core, nic));
            if node.follow(boot) {
                return node;
            }
        }
        self.cold(nid, wire_nid)
    }

    /// A node whose firmware the loader has written through the back door while the processor is in reset.
    fn cold(&self, nid: u32, wire_nid: u16) -> Node {
        self.assemble(nid, wire_nid, |seam| {
            let mut nic = nic::SeaStar::new(&self.configuration.nic, wire_nid);
            for (base, bytes) in [(TEXT_BASE, &self.image.image), (SHIM_BASE, &self.image.shim)] {
                let written = nic.ras_write(Time::ZERO, base.into(), bytes, seam);
                written.expect("the image was checked against its region");
            }
            (self.processor(), nic)
        })
    }

    /// A node with this processor and NIC.
    fn assemble(
        &self,
        nid: u32,
        wire_nid: u16,
        chip: impl FnOnce(&mut Seam) -> (ppc440::Core, nic::SeaStar),
    ) -> Node {
        let Parts { configuration, options, placement, .. } = *self;
        let parameters = &options.parameters;
        let os = Os::of(parameters, nid);
        let cores = placement.per_node as usize;
        let host = host::Host::with_cores(&os.host(parameters), cores);
        os.map(parameters, &mut host.memory().borrow_mut());
        let pools = self.faults.pools((!self.taping).then_some(nid));
        let journal = Rc::new(Journal::new(configuration.topology.nodes()));
        let ht = &configuration.nic;
        let judge = self.ledger.map(|ledger| {
            let (ledger, memory) = (ledger.clone(), host.memory().clone());
            let few = pools.list_commands < portals::Pools::FULL.list_commands;
            Rc::new(Bailiff::new(nid, ledger, memory, true, os == Os::Linux || few))
        });
        let mut seam = Seam {
            nid,
            queue: EventQueue::new(nid),
            link: configuration.link.clone(),
            memory: host.memory().clone(),
            router: net::Router::new(&configuration.net, &configuration.topology, nid),
            outbox: Outbox::default(),
            journal: journal.clone(),
            hash: TraceHash::default(),
            ht_overhead: [ht.ht_write_bytes, ht.ht_request_bytes, ht.ht_response_bytes],
            failure: None,
            tape: None,
            exception: None,
            touched: Vec::new(),
            idle_turns: 0,
            turns: 0,
            beat: Time::ZERO,
            acted: Time::ZERO,
            firmware_waits: false,
            arrivals: Default::default(),
            horizon: Time::ZERO,
            tap: None,
            judge: judge.clone(),
            interrupts: None,
        };
        let (core, nic) = chip(&mut seam);
        let software = Rc::new(Software {
            portals: portals::Config {
                system: os.portals(parameters),
                pools,
                ..configuration.portals
            },
            echo: os == Os::Linux && parameters.switch("host.echo"),
            mpi: configuration.mpi.clone(),
            agent: configuration.agent,
            program: options.program.clone(),
            library: options.library.clone(),
            compute: options.compute,
            placement,
            map: self.maps[0].clone(),
            programs: self.maps[1].clone(),
        });
        let ranks = Ranks::new(wire_nid, software, journal, judge);
        let launch = Time::ZERO + configuration.launch;
        let (ras_poll, ras_patience) = (configuration.ras_poll, configuration.ras_patience);
        let schedule = Schedule { ras_poll, ras_patience, launch };
        Node::start(core, nic, host, ranks, seam, self.symbols.clone(), schedule)
    }
}

/// No packet, byte or credit was lost or made. If one was, that is a bug of the simulator.
fn balance(remains: &[Remains], ending: Ending) {
    let ledgers: Vec<_> = remains.iter().map(|node| node.ledger.clone()).collect();
    // A run that ends by itself leaves nothing between nodes.
    let settled = matches!(ending, Ending::Done | Ending::Deadlock);
    if let Err(what) = net::check(&ledgers, settled) {
        panic!("the network's books do not balance: {what}");
    }
}

fn report(
    options: &Options,
    image: &FirmwareImage,
    remains: Vec<Remains>,
    ending: Ending,
    launch: Time,
    wall_seconds: f64,
) -> Outcome {
    let exit = exit_of(&remains, ending, options.stop.requested());
    // The last messages may still complete after the last rank has ended; that is no part of its run.
    let last = remains.iter().flat_map(|node| &node.endings).map(|(_, at, _)| *at).max();
    let horizon = remains.iter().map(|node| node.end).max().unwrap_or(launch);
    let end = if ending == Ending::Done { last.unwrap_or(horizon) } else { horizon };
    let mut hash = TraceHash::default();
    let mut firmware = Firmware {
        options: image.options.clone(),
        image: digest(&image.image),
        ..Firmware::default()
    };
    let (mut busy_instructions, mut busy_cycles) = (0.0, 0.0);
    let mut marks = Vec::new();
    let mut ties = Vec::new();
    let (mut nodes, mut sram) = (Vec::new(), Vec::new());
    let (mut profiles, mut effort) = (Vec::new(), Effort::default());
    let mut judged: Option<Judged> = None;
    for node in remains {
        hash.word(node.hash);
        if let Some(tally) = node.judged {
            judged.get_or_insert_default().add(tally);
        }
        firmware.messages += node.work.messages;
        firmware.instructions += node.work.instructions;
        firmware.cycles += node.work.cycles;
        busy_instructions += node.work.busy_instructions;
        busy_cycles += node.work.busy_cycles;
        marks.extend(node.journal.marks);
        ties.extend(node.journal.ties);
        nodes.push(node.report);
        sram.push(node.sram);
        profiles.extend(node.profile.filter(|_| options.profile));
        effort += node.effort;
    }
    let messages = firmware.messages.max(1) as f64;
    firmware.instructions_per_message = busy_instructions / messages;
    firmware.cycles_per_message = busy_cycles / messages;
    let parameters = &options.parameters;
    let ranks_per_node = parameters.number("host.ranks_per_node");
    let roles = parameters.roles().map(|(role, count)| (role.to_string(), count));
    let mut breakdowns = journey::break_down(marks.into_iter().flatten(), ties, launch);
    let breakdown = breakdowns.first().cloned();
    if let Some(first) = breakdowns.first_mut() {
        first.mean = None;
    }
    let report = Report {
        machine: Machine {
            name: parameters.name().to_string(),
            overrides: parameters.overrides().to_vec(),
            faults: options.faults.clone(),
            parameters: roles.into(),
            values: parameters.iter().map(setting).collect(),
        },
        ranks: options.ranks,
        ranks_per_node,
        seed: options.seed,
        compute: options.compute.to_string(),
        deterministic: options.compute.is_deterministic(),
        exit,
        simulated_ns: end.since(launch).as_ns(),
        wall_seconds,
        trace_hash: format!("{:016x}", hash.value()),
        breakdown,
        breakdowns,
        firmware,
        judged,
        nodes,
    };
    Outcome { report, sram, profiles, effort }
}

/// What the report says of a parameter.
fn setting(parameter: &Parameter) -> (&'static str, Setting) {
    let Parameter { key, text, source, .. } = parameter;
    (key, Setting { value: text.clone(), source: source.clone() })
}

/// Exit status and sentences. A process that was missed comes first, as what has failed then, on any node,
/// comes of that; a failure of the machine or of a rank next; then a deadlock; then the first rank that
/// returned something else than 0.
fn exit_of(remains: &[Remains], ending: Ending, interrupted: bool) -> Exit {
    // Ranks die with an interrupted run; that is not their failure.
    if interrupted {
        return Exit { code: 130, sentences: vec!["interrupted".into()] };
    }
    if let Some((code, sentence)) = remains.iter().find_map(|node| node.missed.clone()) {
        return Exit { code, sentences: vec![sentence] };
    }
    let failures = remains.iter().filter_map(|node| node.failure.as_ref());
    let first = failures.min_by_key(|failure| failure.at).cloned();
    if let Some(Failure { code, sentence, .. }) = first {
        return Exit { code, sentences: vec![sentence] };
    }
    match ending {
        Ending::Deadlock => {
            let waiting = remains.iter().flat_map(|node| node.waiting.iter().cloned());
            let mut sentences = vec!["deadlock: nothing in the machine moves any more".to_string()];
            sentences.extend(waiting);
            Exit { code: 1, sentences }
        }
        Ending::Done | Ending::Failed | Ending::Stopped => {
            let bad = remains.iter().flat_map(|node| &node.endings).filter(|ending| ending.2 != 0);
            let code = bad.min_by_key(|(rank, at, _)| (*at, *rank)).map_or(0, |ending| ending.2);
            Exit { code, sentences: Vec::new() }
        }
    }
}

mod boot;
#[cfg(test)]
mod tests;
