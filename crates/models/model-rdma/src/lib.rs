//! The model `rdma`: the RDMA NIC of marazakis2006 on PCI-X, two nodes on a link or up to eight around a
//! crossbar, cycle by cycle, with kernel module and host library of its own instead of Portals.
//!
//! ```text
//! workloads ─► library ─► module          fibres on the host
//!                 │ stores, loads │ ▲ interrupt
//!              card: write combining ─► pci::Bus ─► forth_nic::Nic ─► lanes ──► the other card, or switch
//!                                         │ memory                          (messages: symbols of an edge)
//! ```
//!
//! Clocks stand still while nothing moves behind them; idle symbols are told of only as far as clock
//! correction at the other end may need them.

#![forbid(unsafe_code)]

mod bringup;
mod bugs;
mod card;
mod chip;
mod conservation;
mod console;
mod faults;
mod library;
mod mapped;
mod memory;
mod message_path;
mod module;
mod partial;
mod request_queue;
mod rows;
mod settings;
mod software;
mod storage;
mod switch;
mod tally;
mod trail;
mod verbs;
mod waveform;
mod wiretap;
mod workloads;

pub(crate) use message_path::{MESSAGE_PATH, QUEUES};
pub(crate) use rows::ROWS;
pub(crate) use workloads::WORKLOADS;

use bugs::Bugs;
use card::Card;
use chip::Designs;
use console::NoConsole;
use des::{Duration, Links};
use faults::Lanes;
use machine::bench::{Bench, Common, Plan};
use machine::faults::{parse_of_hosts, FaultKind};
use machine::instruments::calls::Calls;
use machine::instruments::capture::{Capture, Streams};
use machine::models::Model;
use machine::node::{Equipment, Node, Process};
use machine::parameters::{hosts, Parameters};
use machine::placement::Placed;
use machine::programs::Program;
use machine::report::Judged;
use machine::{Options, Outcome, UsageError};
use memory::{Behind, Watch};
use module::{Module, Shared};
use settings::{Settings, Unfit, NODES_MAX};
use software::{Hosted, Work};
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::sync::Arc;
use switch::{Left, Switch};
use tally::{Judge, Tally};
use trail::Trail;
use wiretap::Wiretap;

/// The row of this model.
pub static MODEL: Model = Model {
    messages: Some(&MESSAGE_PATH),
    queues: QUEUES,
    link_type: Some(148),
    faults: faults::KINDS,
    console: Some("firmware/crossbar/console.bin"),
    bus_clock: Some(|machine| rows::Bus::of(machine).clock),
    verbs: true,
    idle,
    hosts: hosts::WITH_VERBS,
    workloads: WORKLOADS,
    nodes,
    check,
    ..Model::new(
        "rdma",
        "an RDMA NIC on PCI-X with bonded links or a crossbar, cycle by cycle (marazakis2006)",
        ROWS,
        run,
    )
};

/// Description of the run.
struct Machine<'a> {
    bench: &'a Bench<'a>,
    settings: Settings,
    designs: Designs,
    work: Work,
    judge: Option<Arc<Judge>>,
    console: Option<console::Params>,
    capture: Option<Capture>,
    streams: Streams,
}

impl Plan for Machine<'_> {
    type Process = Process<Card, Switch>;
    type Left = Option<Left>;

    fn switches(&self) -> u32 {
        u32::from(self.settings.crossbar.is_some())
    }
    fn links(&self) -> Links {
        let (latency, nodes) = (self.settings.latency(), self.settings.nodes);
        if self.settings.crossbar.is_none() {
            return Links::new(latency, 2, |to| [1 - to]);
        }
        let senders = |to| if to == nodes { 0..nodes } else { nodes..nodes + 1 };
        Links::new(latency, nodes + 1, senders)
    }
    fn notice(&self) -> Duration {
        notice(&self.settings)
    }
    fn process(&self, number: u32) -> Process<Card, Switch> {
        match self.settings.crossbar {
            Some(params) if number == self.settings.nodes => Process::Switch(Box::new(
                Switch::new(&self.settings, &self.designs, params, number, self.console.as_ref()),
            )),
            _ => Process::Node(Box::new(self.node(number))),
        }
    }
}

impl Machine<'_> {
    fn node(&self, nid: u32) -> Node<Card> {
        let (bench, settings) = (self.bench, &self.settings);
        let host = bench.host(nid);
        let memory = host.memory().clone();
        let watch = Rc::new(Watch::default());
        let tally = Rc::new(Tally::new(nid, memory.clone(), self.judge.clone()));
        let behind = Behind::new(nid, memory, watch.clone(), self.judge.clone());
        let journal = bench.journal(nid);
        let trail = Rc::new(Trail::new(nid, journal.clone()));
        let shared = Shared { tally, trail, watch };
        let mut card = Card::new(settings, &self.designs, nid, behind, shared.clone());
        card.set_faults(Lanes::of(&bench.faults, nid));
        if let Some(capture) = &self.capture {
            let streams = self.streams.clone();
            let lanes = settings.nic(nid).lanes;
            card.set_tap(Wiretap::new(nid, lanes, capture.tap(nid), streams));
        }
        let module = Rc::new(Module::new(settings, nid, shared));
        let ranks = bench.common.placement.ranks;
        journal.employ(nid..ranks.min(nid + 1));
        let calls = Rc::new(Calls::new(journal.clone(), Placed { core: 0, rank: nid }));
        let hosted = Hosted::new(nid, ranks, self.work.clone(), module, calls);
        let software = Box::new(hosted);
        bench.node(nid, card, Equipment { host, software, journal, judge: None })
    }
}

/// Time by which no node is ahead of another.
fn notice(settings: &Settings) -> Duration {
    settings.latency() * 4
}

/// Nodes of a machine for so many ranks: one each; a link has two ends.
pub(crate) fn nodes(parameters: &Parameters, ranks: u32) -> Result<u32, UsageError> {
    let placement = Common::new(parameters, ranks)?.placement;
    let crossed = rows::Lanes::of(parameters).topology == rows::Topology::Crossbar;
    let most = if crossed { NODES_MAX } else { 2 };
    let nodes = placement.nodes().max(2);
    if nodes > most {
        let ends = if crossed { "the crossbar has ports" } else { "a link has ends" };
        return Err(Unfit::Nodes { ranks, nodes, ends, most }.into());
    }
    Ok(nodes)
}

/// Parameters of a crossbar, where there is none.
fn idle(parameters: &Parameters, key: &str) -> bool {
    let of_crossbar = rows::Crossbar::ROWS.iter().any(|row| row.key == key);
    of_crossbar && rows::Lanes::of(parameters).topology != rows::Topology::Crossbar
}

/// Card or crossbar are RTL.
fn is_rtl(parameters: &Parameters) -> bool {
    rows::Card::of(parameters).rtl || rows::Switch::of(parameters).rtl
}

/// Finds out whether machine, ranks and faults fit together, without a run.
pub(crate) fn check(
    parameters: &Parameters,
    ranks: u32,
    faults: &[String],
    seed: u64,
) -> Result<(), UsageError> {
    let (nodes, launch) = (nodes(parameters, ranks)?, Common::new(parameters, ranks)?.launch());
    let mut settings = Settings::of(parameters, nodes)?;
    let faults = parse_of_hosts(faults, seed, nodes, launch, parameters.model().fault_kinds())?;
    Ok(settings.set_bugs(Bugs::of(&faults, nodes), is_rtl(parameters))?)
}

/// The processor behind the console of the switch, if it is asked for.
fn console_of(
    options: &Options,
    settings: &Settings,
) -> Result<Option<console::Params>, NoConsole> {
    let Some(image) = &options.observers.console else { return Ok(None) };
    if settings.crossbar.is_none() {
        return Err(NoConsole::Link);
    }
    if rows::Switch::of(&options.parameters).rtl {
        return Err(NoConsole::Rtl);
    }
    let rows::Console { clock, baud } = settings.console;
    console::Params::load(image, clock, baud).map(Some)
}

/// Finds out whether there are handles enough for what the program sends.
fn suffices(settings: &Settings, nodes: u32, program: &Program) -> Result<(), Unfit> {
    let has = settings.bindings();
    let Program::Native(workload) = program else {
        return if has == 0 { Ok(()) } else { Err(Unfit::BindingsOfVerbs) };
    };
    let needs = workloads::bindings(nodes, workload);
    if has > 0 && needs > has.into() {
        return Err(Unfit::Bindings { has, needs, nodes, bytes: workload.bytes });
    }
    Ok(())
}

/// Runs a workload, or a program that uses verbs.
pub(crate) fn run(options: &Options) -> Result<Outcome, UsageError> {
    let parameters = &options.parameters;
    let common = Common::new(parameters, options.ranks)?;
    let nodes = nodes(parameters, options.ranks)?;
    let mut settings = Settings::of(parameters, nodes)?;
    suffices(&settings, nodes, &options.program)?;
    let (model, launch) = (parameters.model(), common.launch());
    let faults = parse_of_hosts(&options.faults, options.seed, nodes, launch, model.fault_kinds());
    let faults = faults?;
    settings.set_bugs(Bugs::of(&faults, nodes), is_rtl(parameters))?;
    let bench = Bench::new(options, common, nodes, faults)?;
    let sockets = bench.common.agent.sockets;
    settings.network.begin(sockets, notice(&settings), options.ranks, 1);
    // What lanes spoil is missing, and everything behind it is in another place of its order.
    let raw = matches!(&options.program, Program::Native(work) if bringup::is_stage(work));
    let own = |kind: &FaultKind| faults::KINDS.iter().any(|own| own.name == kind.name);
    let spoils = bench.faults.rules().iter().any(|rule| own(rule.kind));
    let lossless = !spoils && !raw;
    let judged = options.observers.judge && lossless;
    let of_program = !matches!(options.program, Program::Native(_));
    let judge =
        judged.then(|| Arc::new(if of_program { Judge::of_programs() } else { Judge::default() }));
    let console = console_of(options, &settings)?;
    let designs = Designs::of(options, &settings, launch)?;
    let capture = options.capture()?;
    let streams = Streams::default();
    let work = match &options.program {
        Program::Native(workload) => Work::Workload(*workload),
        Program::Executables(_) => Work::Program(
            Box::new(bench.start()),
            verbs::Shared::new(&settings, &bench.common.agent),
        ),
        Program::Builtin(_) | Program::Guests(_) => panic!("these are refused before"),
    };
    let mut machine =
        Machine { bench: &bench, settings, designs, work, judge, console, capture, streams };
    let ended = bench.simulate(&machine);
    options.writing.store(true, Ordering::Relaxed);
    let capture = machine.capture.take();
    let captured = capture.map(|capture| capture.write(machine.streams.take(), parameters.name()));
    let (mut report, left) = bench.conclude(ended, captured);
    if let Some(wave) = &machine.designs.wave
        && let Err(why) = wave.conclude(report.simulated_ns)
    {
        report.exit.code = report.exit.code.max(1);
        report.exit.sentences.push(why.to_string());
    }
    let judge = machine.judge.as_deref();
    let switch = left.iter().flatten().next();
    if lossless {
        conservation::check(&mut report, switch, judge);
    }
    let said = switch.and_then(|switch| switch.console.as_deref());
    if let Some(Err(why)) = said.map(machine::console::print) {
        report.exit.code = 1;
        report.exit.sentences.push(why.to_string());
    }
    let messages = judge.map_or(0, |judge| judge.spec().arrived());
    let silent_nodes = if spoils { u64::from(nodes) } else { 0 };
    report.judged =
        options.observers.judge.then(|| Judged { messages, silent_nodes, ..Judged::default() });
    Ok(Outcome { report, ..Outcome::default() })
}
