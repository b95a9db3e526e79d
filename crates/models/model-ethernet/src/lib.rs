//! The model `ethernet`: hosts that are Linux guests, each with a Fast Ethernet adapter that its own driver
//! (8139too) drives, and one switch.
//!
//! ```text
//!  guest ─ loads, stores, interrupt ─► nic: link, configuration, adapter ══ wire ══ switch ══ other adapters
//! ```
//!
//! There is no Portals and no MPI: programs speak TCP/IP with Linux.

#![forbid(unsafe_code)]

use des::{Duration, Links};
use ethernet::{AdapterParams, Switch, SwitchParams, Wire};
use machine::bench::{Bench, Plan};
use machine::models::Model;
use machine::node::{Equipment, Process};
use machine::parameters::Parameters;
use machine::programs::guests::{GuestRank, Guests, Slot};
use machine::programs::Program;
use machine::{Options, Outcome, UsageError};
use nic::{Joints, Station, CONFIG};
use std::sync::atomic::Ordering;
use switch::Middle;

mod nic;
mod switch;

/// The row of this model.
pub static MODEL: Model = Model {
    guests: true,
    ..Model::new(
        "ethernet",
        "Fast Ethernet: Linux guests with RTL8139 adapters, a store-and-forward switch",
        Params::ROWS,
        run,
    )
};

machine::parameters! {
    /// Its own.
    struct Params in "ethernet" {
        store: time("1 ns", "1 ms"),
        load: time("1 ns", "1 ms"),
        dma_start: time("0 ns", "1 ms"),
        dma_rate: rate("13 MB/s", "8 GB/s"),
        interrupt: time("1 ns", "1 ms"),
        rate: rate("1 MB/s", "8 GB/s"),
        cable: time("1 ns", "10 us"),
        forward: time("0 ns", "1 ms"),
        buffer: bytes("2 KiB", "64 MiB"),
    }
}

#[derive(Clone, Copy, Debug)]
struct Settings {
    joints: Joints,
    switch: SwitchParams,
}

impl Settings {
    fn new(p: &Parameters) -> Settings {
        let own = Params::of(p);
        let wire = Wire { byte: Duration(1_000_000_000_000 / own.rate), delay: own.cable };
        let Params { dma_start, dma_rate, store, load, interrupt, forward, buffer, .. } = own;
        Settings {
            joints: Joints {
                adapter: AdapterParams { wire, dma_start, dma_rate },
                store,
                load,
                interrupt,
            },
            switch: SwitchParams { wire, forward, buffer },
        }
    }

    /// The least time that a frame takes from one process to another.
    fn lookahead(&self) -> Duration {
        self.switch.wire.least() + self.switch.wire.delay
    }
}

struct Machine<'a> {
    bench: &'a Bench<'a>,
    settings: Settings,
    guests: &'a Guests,
}

impl Plan for Machine<'_> {
    type Process = Process<Station, Middle>;
    type Left = Option<switch::Left>;

    fn switches(&self) -> u32 {
        1
    }

    /// Each node and the switch, which comes behind the nodes.
    fn links(&self) -> Links {
        let nodes = self.bench.nodes;
        Links::new(self.settings.lookahead(), nodes + 1, move |process| {
            if process == nodes {
                0..nodes
            } else {
                nodes..nodes + 1
            }
        })
    }

    fn notice(&self) -> Duration {
        self.settings.lookahead() * 4
    }

    fn process(&self, number: u32) -> Process<Station, Middle> {
        let nodes = self.bench.nodes;
        if number == nodes {
            let switch = Switch::new(self.settings.switch, nodes as usize);
            return Process::Switch(Box::new(Middle::new(number, switch)));
        }
        let journal = self.bench.journal(number);
        GuestRank::employ(&journal, number);
        let host = GuestRank::host(self.bench);
        let nic = Station::new(number, nodes, self.settings.joints);
        let guest = GuestRank::new(self.bench, self.guests, number, Slot::new(CONFIG));
        let equipment = Equipment { host, software: Box::new(guest), journal, judge: None };
        Process::Node(Box::new(self.bench.node(number, nic, equipment)))
    }
}

/// Runs programs in guests.
fn run(options: &Options) -> Result<Outcome, UsageError> {
    let Program::Guests(guests) = &options.program else {
        unreachable!("models::run lets nothing else through")
    };
    if options.observers.judge {
        return Err(UsageError::sentence("--judge judges Portals, and model ethernet has none"));
    }
    let bench = Bench::of_hosts(options)?;
    let settings = Settings::new(&options.parameters);
    let ended = bench.simulate(&Machine { bench: &bench, settings, guests });
    options.writing.store(true, Ordering::Relaxed);
    let (mut report, left) = bench.conclude(ended, None);
    report.switches = left.into_iter().flatten().map(|left| left.report()).collect();
    Ok(Outcome { report, ..Outcome::default() })
}
