//! The model `myrinet`: cards with a LANai that executes its control program, source-routed switches, and
//! hosts that drive them as Directed Point's driver does (vorakosit2001).
//!
//! ```text
//!  workloads ─► driver ─ stores, loads, interrupt ─► nic: card with LANai ══ cable ══ switch ══ other cards
//!                            └─ pcibus, pins: one bus a node, DMA ─┘
//! ```
//!
//! | module | what |
//! |---|---|
//! | `settings` | parameters, and what is built from them |
//! | `fabric` | switches in a row, cables, routes |
//! | `nic` | a node's card on its host's bus |
//! | `master` | the card's wishes on their way to the bus |
//! | `pins` | what card and bus do to one another |
//! | `image` | the control program's files, and what it occupies |
//! | `observed` | what the card's processor tells a recorder of its cycles |
//! | `monitor` | somebody who stops the card's processor and looks |
//! | `switch` | a switch as a process of its own |
//! | `trail`, `message_path` | what is known of the program's packets, and the steps of their way |
//! | `wiretap` | packets for a capture file |
//! | `guest_calls` | system calls and interrupt service of a guest, as they show at its card |
//! | `bypass` | messages of the bypass library, as they show there |
//! | `evidence`, `judgement` | packets as the judge of Directed Point sees them, and its verdict |
//! | `module` | the module of Directed Point in Linux guests |
//! | `driver` | what the host does to the card |
//! | `workloads` | the packets that it sends |
//!
//! There is no Portals, and MPI only in guests (crate `pico`): who names another program is told so.

#![forbid(unsafe_code)]

use bypass::Bypass;
use des::{Duration, Ending, Links, Time};
use driver::Driver;
use evidence::{Evidence, File};
use fabric::Socket;
use faults::{Cable, StuckOutput};
use guest_calls::GuestCalls;
use image::Image;
use machine::bench::{self, Bench, Ended, Plan};
use machine::firmware::recorder::{Code, Recorder};
use machine::instruments::capture::{Capture, Streams};
use machine::instruments::journal::Journal;
use machine::instruments::timeline::Picture;
use machine::models::{GuestMessages, Model};
use machine::node::{Equipment, Node, Process, Software};
use machine::parameters::hosts;
use machine::parameters::Parameters;
use machine::programs::guests::{self, Guests, KeptByRank, Slot};
use machine::programs::native::Workload;
use machine::programs::Program;
use machine::report::Firmware;
use machine::{Inspector, Options, Outcome, UsageError};
use monitor::{Desk, Monitor};
use nic::{HostSide, Joints, Station, LOST_BYTES, RX_BYTES, TX_BYTES};
use observed::Teller;
use pci::node::CONFIG;
use settings::Settings;
use spec::directed_point::Excuses;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use switch::{Crossbar, Left};
use trail::Trail;
use wiretap::Wiretap;
use workloads::RankSlot;

mod bypass;
mod driver;
mod evidence;
mod fabric;
mod faults;
mod guest_calls;
mod image;
mod judgement;
mod master;
mod message_path;
mod module;
pub mod monitor;
mod nic;
mod observed;
mod pins;
mod settings;
mod switch;
mod trail;
mod wiretap;
mod workloads;

pub(crate) use image::FIRMWARE;
pub(crate) use message_path::{BYPASS_PATH, GUEST_PATH, MESSAGE_PATH, QUEUES};
pub(crate) use settings::ROWS;
pub(crate) use workloads::WORKLOADS;

/// The row of this model.
pub static MODEL: Model = Model {
    firmware: Some(&FIRMWARE),
    messages: Some(&MESSAGE_PATH),
    guest_messages: Some(GuestMessages {
        paths: &[&GUEST_PATH, &BYPASS_PATH],
        driver: |parameters| usize::from(settings::module(parameters).is_bypass()),
    }),
    queues: QUEUES,
    link_type: Some(150),
    faults: faults::KINDS,
    guests: true,
    hosts: hosts::WITH_DRIVERS,
    guest_mpi: Some("pico"),
    workloads: WORKLOADS,
    nodes,
    check,
    ..Model::new(
        "myrinet",
        "Myrinet: a control program on a LANai, source-routed switches (vorakosit2001)",
        ROWS,
        run,
    )
};

/// Work of the hosts.
enum Work<'a> {
    /// One of the model's own workloads.
    Own(Workload),
    /// Linux, with the card as a PCI device.
    Guests(&'a Guests),
}

struct Machine<'a> {
    bench: &'a Bench<'a>,
    settings: Settings,
    image: Arc<Image>,
    work: Work<'a>,
    /// The program's functions, if recorders are to be told of them.
    code: Option<Arc<Code>>,
    /// The monitor's desk, for the node of that number.
    desk: Mutex<Option<(u32, Desk)>>,
    /// Evidence for the judge of Directed Point, and what guests leave for it.
    file: Option<Arc<File>>,
    kept: KeptByRank,
    capture: Option<Capture>,
    streams: Streams,
}

impl Machine<'_> {
    fn node(&self, nid: u32) -> Node<Station> {
        let Settings { fabric, card, pci, interrupt, driver, poll, .. } = &self.settings;
        let joints = Joints {
            nid,
            socket: fabric.other(nid, 0).expect("every card has a cable"),
            cable: card.link.delay,
            pci: *pci,
            interrupt: *interrupt,
            park: self.bench.options.shortcuts.park,
            cut: self.cut(nid),
        };
        let journal = self.bench.journal(nid);
        let host = match self.work {
            Work::Own(_) => self.bench.host(nid),
            Work::Guests(_) => guests::GuestRank::host(self.bench),
        };
        journal.employ(nid..nid + 1);
        let trail = Rc::new(Trail::new(nid, self.bench.nodes, journal.clone()));
        let line = guests::Pin::default();
        let memory = host.memory().clone();
        let shared = HostSide { memory, trail: trail.clone(), line: line.clone() };
        let mut nic = Station::new(*card, joints, self.image.clone(), shared);
        nic.set_teller(self.code.clone().map(|code| self.teller(code, &journal)));
        let launch = self.bench.common.launch();
        let evidence =
            |file: &Arc<File>| Evidence::new(nid, launch, file.clone(), host.memory().clone());
        nic.set_faults(Cable::of(&self.bench.faults, nid));
        if let Some(capture) = &self.capture {
            nic.set_tap(Wiretap::new(nid, capture.tap(nid), self.streams.clone()));
        }
        nic.set_evidence(self.file.as_ref().map(evidence));
        let mut desk = self.desk.lock().unwrap_or_else(PoisonError::into_inner);
        nic.set_desk(desk.take_if(|(of, _)| *of == nid).map(|(_, desk)| desk));
        let software: Box<dyn Software> = match self.work {
            Work::Own(workload) => {
                let routes = fabric.routes(nid);
                let image = self.image.clone();
                let driver = Driver::new(nid as u16, image, routes, *driver, *poll, trail);
                Box::new(RankSlot::new(nid, self.bench.nodes, workload, driver))
            }
            Work::Guests(guests) => {
                let slot = Slot::new(CONFIG.into());
                let mut guest =
                    guests::GuestRank::new(self.bench, guests, nid, slot).with_pin(line);
                // With each driver accesses to the card mean other things.
                let costs = guests::costs(&self.bench.options.parameters);
                guest = if self.settings.module.is_bypass() {
                    let memory = host.memory().clone();
                    let bypass = Rc::new(Bypass::new(trail, launch, costs, memory));
                    nic.set_bypass(bypass.clone());
                    guest.observed_by(bypass)
                } else {
                    let calls = Rc::new(GuestCalls::new(trail, launch, costs));
                    nic.set_guest_calls(calls.clone());
                    guest.observed_by(calls)
                };
                let judged = self.file.is_some();
                let setup = self.settings.module.setup(guests, fabric, nid, judged);
                Box::new(guest.prepared(setup, &self.kept))
            }
        };
        self.bench.node(nid, nic, Equipment { host, software, journal, judge: None })
    }

    /// Time at which the cable of a node is cut; not before the launch, as all nodes boot alike.
    fn cut(&self, nid: u32) -> Time {
        let dead = self.bench.faults.since(&faults::CABLE_DEAD, nid);
        dead.map_or(Time::NEVER, |from| from.max(self.bench.common.launch()))
    }

    /// Recorder's observer of a node's processor, which draws it if the run is watched.
    fn teller(&self, code: Arc<Code>, journal: &Rc<Journal>) -> Teller {
        let mut recorder = Recorder::new(code);
        if !self.bench.options.observers.watchers.is_empty() {
            recorder.set_picture(Picture::new(journal.clone(), self.settings.card.clock));
        }
        Teller::new(recorder)
    }
}

impl Plan for Machine<'_> {
    type Process = Process<Station, Crossbar>;
    type Left = Option<Left>;

    fn switches(&self) -> u32 {
        self.settings.fabric.switches()
    }

    fn links(&self) -> Links {
        let (fabric, ports) = (&self.settings.fabric, self.settings.switch.ports as u32);
        let processes = self.bench.nodes + self.switches();
        Links::new(self.settings.card.link.delay, processes, |process| {
            fabric.sockets(process, ports).into_iter().flatten().map(|socket| socket.process)
        })
    }

    fn notice(&self) -> Duration {
        self.settings.card.link.delay * 4
    }

    fn process(&self, number: u32) -> Process<Station, Crossbar> {
        match number.checked_sub(self.bench.nodes) {
            None => Process::Node(Box::new(self.node(number))),
            Some(switch) => {
                let params = self.settings.switch;
                let sockets = self.settings.fabric.sockets(number, params.ports as u32);
                let cut = |socket: &Option<Socket>| {
                    let node = socket.map(|socket| socket.process);
                    let node = node.filter(|process| *process < self.bench.nodes);
                    node.map_or(Time::NEVER, |nid| self.cut(nid))
                };
                let cuts = sockets.iter().map(cut).collect();
                let stuck = (0..).zip(&sockets).map(|(port, socket)| {
                    let node = socket.map(|socket| socket.process);
                    let node = node.filter(|process| *process < self.bench.nodes);
                    StuckOutput::of(&self.bench.faults, switch, port, node)
                });
                let stuck: Vec<_> = stuck.collect();
                let mut switch = Crossbar::new(switch, number, params, sockets, cuts);
                switch.set_stuck(stuck);
                Process::Switch(Box::new(switch))
            }
        }
    }
}

/// Nodes of a machine for so many ranks: each has one.
pub(crate) fn nodes(parameters: &Parameters, ranks: u32) -> Result<u32, UsageError> {
    let nodes = bench::nodes_needed(parameters, ranks)?;
    Settings::new(parameters, nodes)?;
    Ok(nodes)
}

/// Finds out whether machine, ranks and faults fit together, without a run.
pub(crate) fn check(
    parameters: &Parameters,
    ranks: u32,
    faults: &[String],
    seed: u64,
) -> Result<(), UsageError> {
    nodes(parameters, ranks)?;
    bench::check_hosts(parameters, ranks, faults, seed)
}

/// Runs one of the model's workloads.
pub(crate) fn run(options: &Options) -> Result<Outcome, UsageError> {
    let parameters = &options.parameters;
    let work = match &options.program {
        Program::Native(workload) => Work::Own(*workload),
        Program::Guests(guests) => Work::Guests(guests),
        _ => unreachable!("models::run lets nothing else through"),
    };
    nodes(parameters, options.ranks)?;
    let bench = Bench::of_hosts(options)?;
    let settings = Settings::new(parameters, bench.nodes)?;
    let own = matches!(work, Work::Own(_));
    if settings.module.is_bypass() && (own || options.observers.judge) {
        let what = if own { "workload of Directed Point" } else { "judge of Directed Point" };
        return Err(UsageError::sentence(format!(
            "card.module = bypass has no {what}: take --set card.module=dp, or machine amata"
        )));
    }
    let image = Arc::new(Image::load(&options.places.firmware)?);
    let recorded = options.observers.profile || !options.observers.watchers.is_empty();
    let sit_down = |own: &Inspector| {
        let monitor = own.of::<Monitor>().expect("a LANai has a monitor");
        let desk = monitor.sit_down(options, bench.nodes, bench.common.launch())?;
        Ok::<_, UsageError>((monitor.node(), desk))
    };
    let mut machine = Machine {
        bench: &bench,
        settings,
        code: recorded.then(|| Arc::new(Code::new(&image.symbols))),
        image,
        work,
        desk: Mutex::new(options.observers.inspector.as_ref().map(sit_down).transpose()?),
        file: options.observers.judge.then(Arc::default),
        kept: KeptByRank::default(),
        capture: options.capture()?,
        streams: Streams::default(),
    };
    let mut ended = bench.simulate(&machine);
    options.writing.store(true, Ordering::Relaxed);
    conserves(&ended);
    let profiles = if options.observers.profile { ended.take_profiles() } else { Vec::new() };
    let end = ended.remains.iter().map(|node| node.end).max().unwrap_or_default();
    let ending = ended.ending;
    let (capture, streams) = (machine.capture.take(), machine.streams.take());
    let captured = capture.map(|capture| capture.write(streams, parameters.name()));
    let (mut report, left) = bench.conclude(ended, captured);
    if let Some(file) = &machine.file {
        let (records, excuses) = file.take(bench.nodes, &machine.kept);
        let excuses = Excuses { end: end.0, ..excuses };
        judgement::conclude(&mut report, &records, excuses, &left, ending);
    }
    let switches = (0..).zip(left.into_iter().flatten());
    report.switches = switches.map(|(number, left)| left.report(number)).collect();
    let program = if machine.settings.module.is_bypass() { "bypass" } else { "dp" };
    let digest = machine::digest(&machine.image.flat);
    report.firmware = Some(Firmware::of(format!("module={program}"), digest, &report.nodes));
    Ok(Outcome { report, profiles, ..Outcome::default() })
}

/// Checks that no byte is lost or made, if all have ended and nothing moves any more: each byte that cards
/// have sent has come to a card, or was a route byte, or was dropped, or was lost with its cable, or is in
/// a switch. Anything else is our bug.
fn conserves(ended: &Ended<Option<Left>>) {
    if ended.ending != Ending::Done {
        return;
    }
    let of_cards = |name: &str| -> u64 {
        let reports = ended.remains.iter().filter_map(|remains| remains.report.as_ref());
        reports.map(|report| report.counters[name]).sum()
    };
    let (sent, mut found) = (of_cards(TX_BYTES), of_cards(RX_BYTES) + of_cards(LOST_BYTES));
    for (number, left) in ended.remains.iter().filter_map(|remains| remains.left).enumerate() {
        let c = left.counters;
        let out = c.bytes_out + c.route_bytes + c.bytes_dropped + left.held;
        assert_eq!(c.bytes_in, out, "switch {number} loses or makes bytes: {left:?}");
        found += c.route_bytes + c.bytes_dropped + left.held + left.lost;
    }
    assert_eq!(sent, found, "bytes that cards have sent, and what has become of them");
}
