//! A run of a machine with SeaStars.

use super::assembly::Parts;
use super::configure::{Configuration, RecoveryError};
use super::firmware::image::FirmwareImage;
use super::node::{Boot, Left, Node};
use des::{Duration, Ending, Links, Time};
use machine::bench::{self, Bench, Common, Ended};
use machine::digest;
use machine::faults::{parse, Faults, Network};
use machine::firmware::recorder::{Code, Recorder};
use machine::firmware::symbols::Symbols;
use machine::instruments::capture::Capture;
use machine::instruments::timeline::Picture;
use machine::node::NodeParts;
use machine::parameters::Parameters;
use machine::report::{Firmware, Report};
use machine::{Options, Outcome, UsageError};
use mesh::Topology;
use ppc440_debug::debugger::Visit;
use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::Arc;

struct Plan<'a> {
    parts: Parts<'a>,
    boot: Option<Arc<Boot>>,
    code: Option<Arc<Code>>,
    capture: Option<Capture>,
    /// gdb's.
    visit: Option<Visit>,
}

/// Nodes of a machine for so many ranks.
pub(crate) fn nodes(parameters: &Parameters, ranks: u32) -> Result<u32, UsageError> {
    let placement = Common::new(parameters, ranks)?.placement;
    Ok(Configuration::new(parameters, placement)?.network.topology.nodes())
}

/// Finds out whether machine, ranks and faults fit together, without a run.
pub(crate) fn check(
    parameters: &Parameters,
    ranks: u32,
    faults: &[String],
    seed: u64,
) -> Result<(), UsageError> {
    let common = Common::new(parameters, ranks)?;
    let configuration = Configuration::new(parameters, common.placement)?;
    faults_of(faults, seed, &configuration, common.launch()).map(drop)
}

/// A mesh or torus as the place of faults.
struct Mesh<'a>(&'a Topology);

impl fmt::Display for Mesh<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Network for Mesh<'_> {
    fn nodes(&self) -> u32 {
        self.0.nodes()
    }
    fn joins(&self, a: u32, b: u32) -> bool {
        let mut links = (0..mesh::LINKS).map(mesh::Link::from_index);
        links.any(|link| self.0.neighbour(a, link) == Some(b))
    }
}

/// Reads the faults of such a machine.
fn faults_of(
    texts: &[String],
    seed: u64,
    configuration: &Configuration,
    launch: Time,
) -> Result<Faults, UsageError> {
    let (topology, nic) = (&configuration.network.topology, &configuration.nic);
    let faults = parse(texts, seed, &Mesh(topology), launch, crate::MODEL.fault_kinds())?;
    let few = |nid| crate::faults::pools(&faults, Some(nid)).receives < 2;
    if nic.recovers && nic.local_headers && (0..topology.nodes()).any(few) {
        return Err(RecoveryError::Pool.into());
    }
    Ok(faults)
}

/// Runs a program.
pub(crate) fn run(options: &Options) -> Result<Outcome, UsageError> {
    let common = Common::new(&options.parameters, options.ranks)?;
    let launch = common.launch();
    let configuration = Configuration::new(&options.parameters, common.placement)?;
    let topology = &configuration.network.topology;
    let faults = faults_of(&options.faults, options.seed, &configuration, launch)?;
    let nodes = topology.nodes();
    let mut bench = Bench::new(options, common, nodes, faults)?;
    if configuration.nic.recovers {
        bench.expect_repeats();
    }
    let image = FirmwareImage::load(&options.places.firmware)?;
    let symbols = Arc::new(Symbols::load(&image.elf)?);
    let watched = !options.observers.watchers.is_empty();
    let visit = Visit::expected(options, nodes, launch)?;
    let parts = Parts {
        bench: &bench,
        configuration: &configuration,
        image: &image,
        symbols: &symbols,
        taping: false,
    };
    let mut plan = Plan {
        boot: parts.boot(),
        parts,
        code: (options.observers.profile || watched).then(|| Arc::new(Code::new(&symbols))),
        capture: options.capture()?,
        visit,
    };
    let mut ended = bench.simulate(&plan);
    balance(&ended);
    options.writing.store(true, Ordering::Relaxed);
    let captured = plan.capture.take().map(|capture| {
        let packets =
            ended.remains.iter_mut().filter_map(|node| node.left.as_mut()?.packets.take());
        capture.write(packets.collect(), options.parameters.name())
    });
    let profiles = ended.take_profiles();
    let (report, left) = bench.conclude(ended, captured);
    let mut outcome = outcome(&image, report, left.into_iter().flatten());
    if options.observers.profile {
        outcome.profiles = profiles;
    }
    if let Some(visit) = plan.visit {
        visit.end(outcome.report.exit.code);
    }
    Ok(outcome)
}

impl bench::Plan for Plan<'_> {
    type Process = Node;
    type Left = Option<Left>;

    fn links(&self) -> Links {
        self.parts.configuration.network.links()
    }

    fn notice(&self) -> Duration {
        self.parts.configuration.network.notice()
    }

    fn process(&self, nid: u32) -> Node {
        let Bench { options, faults, .. } = self.parts.bench;
        let debugger = self.visit.as_ref().and_then(|visit| visit.debugger(nid));
        // It is debugged from its first instruction on.
        let boot = self.boot.as_ref().filter(|_| debugger.is_none());
        let tap = self.capture.as_ref().map(|capture| capture.tap(nid));
        let watched = !options.observers.watchers.is_empty();
        let mut node = self.parts.node(nid, boot);
        let NodeParts { nic, ports, .. } = node.parts();
        nic.set_faults(nid, faults);
        nic.set_meter(options.observers.meter);
        let merge = options.shortcuts.merge && tap.is_none() && !watched;
        nic.set_merging(merge && options.observers.inspector.is_none());
        nic.set_tap(tap);
        let mut recorder = self.code.clone().map(Recorder::new);
        if let Some(recorder) = recorder.as_mut().filter(|_| watched) {
            let clock = self.parts.configuration.ppc440.clock;
            recorder.set_picture(Picture::new(ports.journal().clone(), clock));
        }
        nic.set_recorder(recorder);
        nic.set_debugger(debugger);
        node
    }
}

/// No packet, byte or credit was lost or made. If one was, that is a bug of the simulator.
fn balance(ended: &Ended<Option<Left>>) {
    let left = ended.remains.iter().filter_map(|node| node.left.as_ref());
    let ledgers: Vec<_> = left.map(|left| left.ledger.clone()).collect();
    // A run that ends by itself leaves nothing between nodes.
    let settled = matches!(ended.ending, Ending::Done | Ending::Deadlock);
    if let Err(what) = mesh::check(&ledgers, settled) {
        panic!("the network's books do not balance: {what}");
    }
}

/// Results of the nodes beside the report, and their additions to it.
fn outcome(image: &FirmwareImage, mut report: Report, left: impl Iterator<Item = Left>) -> Outcome {
    let (options, digest) = (image.options.clone(), digest(&image.image));
    report.firmware = Some(Firmware::of(options, digest, &report.nodes));
    let mut outcome = Outcome::default();
    for node in left {
        outcome.sram.push(node.sram);
        outcome.effort += node.effort;
    }
    outcome.report = report;
    outcome
}
