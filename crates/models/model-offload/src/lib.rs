//! The model `offload`: network interfaces that keep MPI's queues, with or without matching units, and a wire
//! between any two of them (brightwell2005).
//!
//! ```text
//!  ranks ─► mpi::Queues ─ commands, stored ─► nic: offload_nic::Card with its firmware ─ wire ─ other cards
//!                ▲                                  │
//!                └─ completions, polled in memory ◄─┘
//! ```
//!
//! | module | what |
//! |---|---|
//! | `settings` | parameters, and the configuration made of them |
//! | `image` | the firmware's files, and what it occupies |
//! | `nic` | a card on its node |
//! | `debug` | the same while gdb debugs its processor |
//! | `trail` | records of the program's messages there |
//! | `lists` | MPI's lists, as far as that needs them |
//! | `message_path` | the steps of a message |
//! | `hardware` | matching units as RTL, and their comparison with model or specification |
//! | `wave` | waveforms of both of a node in one file |
//!
//! There is no kernel below MPI and no Portals: calls of it fail.

#![forbid(unsafe_code)]

use des::{Duration, Links};
use hardware::Hardware;
use image::Loaded;
use machine::bench::{self, Bench, Plan};
use machine::firmware::recorder::{Code, Recorder};
use machine::instruments::capture::{Capture, Streams};
use machine::instruments::timeline::Picture;
use machine::models::Model;
use machine::node::{Equipment, Node};
use machine::parameters::Parameters;
use machine::programs::Carrier;
use machine::{Options, Outcome, UsageError};
use nic::Station;
use ppc440_debug::debugger::Visit;
use settings::Settings;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::sync::Arc;
use trail::Trail;

mod debug;
mod hardware;
mod image;
mod lists;
mod message_path;
mod nic;
mod settings;
mod trail;
mod wave;

pub(crate) use image::FIRMWARE;
pub(crate) use message_path::{MESSAGE_PATH, QUEUES};
pub(crate) use settings::ROWS;

/// The row of this model.
pub static MODEL: Model = Model {
    firmware: Some(&FIRMWARE),
    messages: Some(&MESSAGE_PATH),
    queues: QUEUES,
    link_type: Some(149),
    processes: true,
    nodes,
    check,
    ..Model::new(
        "offload",
        "MPI's queues on the NIC, with or without matching units (brightwell2005)",
        ROWS,
        run,
    )
};

struct Machine<'a> {
    bench: &'a Bench<'a>,
    settings: Settings,
    image: Arc<Loaded>,
    /// Matching units that are RTL.
    hardware: Option<Hardware>,
    /// The program's functions, if there are recorders.
    code: Option<Arc<Code>>,
    /// Node and process of each rank.
    map: Arc<[(u32, u32)]>,
    capture: Option<Capture>,
    streams: Streams,
    /// gdb's.
    visit: Option<Visit>,
}

impl Machine<'_> {
    fn recorder(&self, journal: &Rc<machine::instruments::journal::Journal>) -> Option<Recorder> {
        let mut recorder = Recorder::new(self.code.clone()?);
        if !self.bench.options.observers.watchers.is_empty() {
            let clock = self.settings.card.processor.clock;
            recorder.set_picture(Picture::new(journal.clone(), clock));
        }
        Some(recorder)
    }
}

impl Plan for Machine<'_> {
    type Process = Node<Station>;
    type Left = ();

    fn links(&self) -> Links {
        Links::between_all(self.settings.card.wire, self.bench.nodes)
    }

    fn notice(&self) -> Duration {
        self.settings.card.wire * 4
    }

    fn process(&self, nid: u32) -> Node<Station> {
        let bench = self.bench;
        let host = bench.host(nid);
        let journal = bench.journal(nid);
        let rings = Rc::new(mpi::Rings::default());
        let first = bench.common.placement.per_node * nid;
        let trail = Trail::new(nid, first, journal.clone());
        let chips = self.hardware.as_ref().map(|hardware| hardware.chips(nid));
        let node_ports = (rings.clone(), trail, chips);
        let mut station = Station::new(nid, &self.settings, &self.image, node_ports);
        station.set_options(bench.options);
        if let Some(capture) = &self.capture {
            station.set_tap(capture.tap(nid), self.streams.clone());
        }
        station.set_recorder(self.recorder(&journal));
        station.set_debugger(self.visit.as_ref().and_then(|visit| visit.debugger(nid)));
        let (map, read) = (self.map.clone(), self.settings.completion_read);
        let open = move |local: &mut mpi::Local, core: u32| {
            let place = mpi::QueuesSetup { map: map.clone(), process: core, read };
            let queues = mpi::Queues::open(local, place, rings.clone());
            Box::new(queues) as Box<dyn mpi::Transport>
        };
        let carrier = Carrier::Queues(Rc::new(open));
        let ranks = bench.ranks((bench.os(nid), nid), journal.clone(), None, carrier);
        let software = Box::new(ranks);
        bench.node(nid, station, Equipment { host, software, journal, judge: None })
    }
}

/// Nodes of a machine for so many ranks.
pub(crate) fn nodes(parameters: &Parameters, ranks: u32) -> Result<u32, String> {
    let nodes = bench::nodes_needed(parameters, ranks)?;
    Settings::new(parameters)?;
    let (per_node, most) =
        (parameters.number::<u32>("host.ranks_per_node"), abi::offload::PROCESSES);
    if per_node > most {
        return Err(format!(
            "host.ranks_per_node is {per_node}, but a network interface of model offload serves \
             {most} processes"
        ));
    }
    let most = 1 << abi::offload::SOURCE_WIDTH;
    if ranks > most {
        return Err(format!(
            "{ranks} ranks are too many for model offload: match bits name {most}"
        ));
    }
    Ok(nodes)
}

/// Finds out whether machine, ranks and faults fit together, without a run.
pub(crate) fn check(
    parameters: &Parameters,
    ranks: u32,
    faults: &[String],
    seed: u64,
) -> Result<(), String> {
    nodes(parameters, ranks)?;
    bench::check_hosts(parameters, ranks, faults, seed)
}

/// Runs a program.
pub(crate) fn run(options: &Options) -> Result<Outcome, UsageError> {
    let parameters = &options.parameters;
    nodes(parameters, options.ranks).map_err(UsageError)?;
    let bench = Bench::of_hosts(options)?;
    let settings = Settings::new(parameters).map_err(UsageError)?;
    let hardware = Hardware::of(options, &settings).map_err(UsageError)?;
    let image = Arc::new(Loaded::load(&options.places.firmware).map_err(UsageError)?);
    let recorded = options.observers.profile || !options.observers.watchers.is_empty();
    let placement = bench.common.placement;
    let place = |rank| (rank / placement.per_node, placement.core(rank));
    let mut machine = Machine {
        bench: &bench,
        settings,
        code: recorded.then(|| Arc::new(Code::new(&image.symbols))),
        image,
        hardware,
        map: (0..options.ranks).map(place).collect(),
        capture: options.capture()?,
        streams: Streams::default(),
        visit: Visit::expected(options, bench.nodes, bench.common.launch())?,
    };
    let mut ended = bench.simulate(&machine);
    options.writing.store(true, Ordering::Relaxed);
    let profiles = if options.observers.profile { ended.take_profiles() } else { Vec::new() };
    let (capture, streams) = (machine.capture.take(), machine.streams.take());
    let captured = capture.map(|capture| capture.write(streams, parameters.name()));
    let (mut report, _) = bench.conclude(ended, captured);
    let drawn = machine.hardware.as_ref().map_or(Ok(()), Hardware::write_wave);
    if let Err(why) = drawn {
        report.exit.code = report.exit.code.max(1);
        report.exit.sentences.push(why);
    }
    if let Some(visit) = machine.visit {
        visit.end(report.exit.code);
    }
    Ok(Outcome { report, profiles, ..Outcome::default() })
}
