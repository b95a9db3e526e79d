//! The model `queuepair`: the second network interface of docs/adding-a-nic.md. Its commands stand in a ring
//! in host memory, which the card reads by DMA after a doorbell; it answers in another ring, whose entries
//! carry a phase bit. On the link segments are acknowledged, within a window, and lost ones sent again.
//!
//! ```text
//!                host memory                        card
//! driver ──► submission ring ◄── reads ─── engine ─► window ─► link ──► segments ────► other card
//!   │                                        │ ▲      ▲                                   │
//!   └────── doorbell: index of the tail ─────┼─┘      └──── acknowledgements ◄────────────┘
//! driver ◄── completion ring ◄── writes ─────┘
//!   ▲ interrupt
//! ```

#![forbid(unsafe_code)]

mod card;
mod engine;
mod entries;
mod faults;
mod link;
mod message_path;
mod rings;
mod settings;

use card::Card;
use des::{Duration, Links};
use faults::Losses;
use machine::bench::{Bench, Plan};
use machine::models::Model;
use machine::node::Node;
use machine::parameters::hosts;
use machine::{Options, Outcome, UsageError};
use portals::messages::Driver;
use rings::Rings;
use settings::Params;
use std::rc::Rc;
use std::sync::atomic::Ordering;

/// The row of this model.
pub static MODEL: Model = Model {
    messages: Some(&message_path::MESSAGE_PATH),
    queues: message_path::QUEUES,
    depths: message_path::DEPTHS,
    faults: faults::KINDS,
    processes: true,
    hosts: hosts::WITH_PORTALS,
    ..Model::new(
        "queuepair",
        "docs/adding-a-nic.md's other example: rings in host memory, a window, acknowledgements",
        Params::ROWS,
        run,
    )
};

struct Machine<'a> {
    bench: &'a Bench<'a>,
    params: Params,
}

impl Plan for Machine<'_> {
    type Process = Node<Card>;
    type Left = ();

    fn links(&self) -> Links {
        Links::between_all(self.params.link_latency, self.bench.nodes)
    }

    fn notice(&self) -> Duration {
        self.params.link_latency * 4
    }

    fn process(&self, nid: u32) -> Node<Card> {
        let Machine { bench, params } = *self;
        // Driver and card share the host's memory and the card's registers, and nothing else.
        let nal = Rc::new(move |cpu: &host::Cpu| {
            let rings = Rc::new(Rings::new(cpu.memory(), params));
            Rc::new(Driver::new(rings, Duration::ZERO)) as Rc<dyn portals::Nal>
        });
        bench.node_with_portals(nid, Card::new(params, Losses::of(&bench.faults, nid)), nal)
    }
}

/// Runs a program.
fn run(options: &Options) -> Result<Outcome, UsageError> {
    let bench = Bench::of_hosts(options)?;
    let params = Params::of(&options.parameters);
    let ended = bench.simulate(&Machine { bench: &bench, params });
    options.writing.store(true, Ordering::Relaxed);
    let (report, _) = bench.conclude(ended, None);
    Ok(Outcome { report, ..Outcome::default() })
}
