//! The models `offload` and `offload-mesh`: network interfaces that keep MPI's queues, with or without
//! matching units (brightwell2005), and between any two of them a wire, or between all of them a mesh.
//!
//! ```text
//!  ranks ─► mpi::Queues ─ commands, stored ─► nic: offload_nic::Card with its firmware ─ wire ─ other cards
//!                ▲                                  │                 or mesh_network::Port ─ other routers
//!                └─ completions, polled in memory ◄─┘
//! ```
//!
//! | module | what |
//! |---|---|
//! | `settings` | parameters, and the configuration made of them |
//! | `network` | what joins cards, with its events and messages |
//! | `wires`, `on_mesh` | the machine with each of the networks |
//! | `image` | the firmware's files, and what it occupies |
//! | `nic` | a card on its node |
//! | `meter`, `idle` | work of its firmware, without turns that find nothing to do |
//! | `debug` | the same while gdb debugs its processor |
//! | `trail` | records of the program's messages there |
//! | `lists` | MPI's lists, as far as that needs them |
//! | `message_path` | the steps of a message |
//! | `hardware` | matching units as RTL, and their comparison with model or specification |
//! | `wave` | waveforms of both of a node in one file |
//!
//! There is no kernel below MPI and no Portals: calls of it fail.

#![forbid(unsafe_code)]

use hardware::Hardware;
use image::Loaded;
use machine::bench::{Bench, Ended};
use machine::firmware::recorder::{Code, Recorder};
use machine::instruments::capture::{Capture, Streams};
use machine::instruments::timeline::Picture;
use machine::node::Equipment;
use machine::parameters::hosts::Cores;
use machine::parameters::Parameters;
use machine::programs::Carrier;
use machine::report::Firmware;
use machine::{Options, Outcome, UsageError};
use network::Network;
use nic::{Station, Surroundings};
use ppc440_debug::debugger::Visit;
use settings::{Settings, Unfit, RANKS_MAX};
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::sync::Arc;
use trail::Trail;

mod debug;
mod hardware;
mod idle;
mod image;
mod lists;
mod message_path;
mod meter;
mod network;
mod nic;
mod on_mesh;
mod settings;
mod trail;
mod wave;
mod wires;

pub use on_mesh::MODEL as ON_MESH;
pub use wires::MODEL;

pub(crate) use image::FIRMWARE;

/// All of a machine but what joins its cards.
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

    /// The card of a node at its network, and the rest of the node.
    fn node(&self, nid: u32, network: Network) -> (Station, Equipment) {
        let bench = self.bench;
        let host = bench.host(nid);
        let journal = bench.journal(nid);
        let rings = Rc::new(mpi::Rings::default());
        let first = bench.common.placement.per_node * nid;
        let trail = Trail::new(nid, first, journal.clone());
        let chips = self.hardware.as_ref().map(|hardware| hardware.chips(nid));
        let surroundings = Surroundings { network, rings: rings.clone(), trail, chips };
        let mut station = Station::new(nid, &self.settings, &self.image, surroundings);
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
        let ranks = bench.ranks(bench.os(nid), nid, journal.clone(), None, carrier);
        let software = Box::new(ranks);
        (station, Equipment { host, software, journal, judge: None })
    }
}

/// Checks that cards can serve so many ranks.
fn check_ranks(parameters: &Parameters, ranks: u32) -> Result<(), Unfit> {
    let (per_node, model) = (Cores::of(parameters).ranks_per_node, parameters.model().name);
    if per_node > abi::offload::PROCESSES {
        return Err(Unfit::Processes { per_node, model });
    }
    if ranks > RANKS_MAX {
        return Err(Unfit::Ranks { ranks, model });
    }
    Ok(())
}

/// Runs a program on a machine that `simulate` gives its network.
fn run<L>(
    options: &Options,
    bench: &Bench<'_>,
    settings: Settings,
    simulate: impl FnOnce(&Machine<'_>) -> Ended<L>,
) -> Result<Outcome, UsageError> {
    let parameters = &options.parameters;
    let hardware = Hardware::of(options, &settings)?;
    let image = Arc::new(Loaded::load(&options.places.firmware)?);
    let recorded = options.observers.profile || !options.observers.watchers.is_empty();
    let placement = bench.common.placement;
    let place = |rank| (rank / placement.per_node, placement.core(rank));
    let mut machine = Machine {
        bench,
        settings,
        code: recorded.then(|| Arc::new(Code::new(&image.symbols))),
        image,
        hardware,
        map: (0..options.ranks).map(place).collect(),
        capture: options.capture()?,
        streams: Streams::default(),
        visit: Visit::expected(options, bench.nodes, bench.common.launch())?,
    };
    let mut ended = simulate(&machine);
    options.writing.store(true, Ordering::Relaxed);
    let profiles = if options.observers.profile { ended.take_profiles() } else { Vec::new() };
    let (capture, streams) = (machine.capture.take(), machine.streams.take());
    let captured = capture.map(|capture| capture.write(streams, parameters.name()));
    let (mut report, _) = bench.conclude(ended, captured);
    let search = parameters.choice(settings::Firmware::search);
    let options = format!("search={search}");
    report.firmware = Some(Firmware::of(options, machine.image.digest.clone(), &report.nodes));
    let drawn = machine.hardware.as_ref().map_or(Ok(()), Hardware::write_wave);
    if let Err(why) = drawn {
        report.exit.code = report.exit.code.max(1);
        report.exit.sentences.push(why.to_string());
    }
    if let Some(visit) = machine.visit {
        visit.end(report.exit.code);
    }
    Ok(Outcome { report, profiles, ..Outcome::default() })
}
