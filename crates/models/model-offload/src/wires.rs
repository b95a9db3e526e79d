//! A machine with a wire between any two of its cards.

use crate::message_path::{HOST_CAPTION, MESSAGE_PATH, QUEUES};
use crate::network::Network;
use crate::nic::Station;
use crate::settings::{Settings, Unfit, Wire, ROWS};
use crate::{check_ranks, Machine, FIRMWARE};
use des::{Duration, Links};
use machine::bench::{self, Bench, Plan};
use machine::models::Model;
use machine::node::Node;
use machine::parameters::{hosts, Parameters};
use machine::{Options, Outcome, UsageError};

/// The row of this model.
pub static MODEL: Model = Model {
    firmware: Some(&FIRMWARE),
    messages: Some(&MESSAGE_PATH),
    queues: QUEUES,
    link_type: Some(149),
    processes: true,
    hosts: hosts::WITH_QUEUES,
    captions: &[HOST_CAPTION, ("links", NO_LINKS)],
    nodes,
    check,
    ..Model::new(
        "offload",
        "MPI's queues on the NIC, with or without matching units (brightwell2005)",
        ROWS,
        run,
    )
};

/// Caption of the section of links.
const NO_LINKS: &str =
    "Between any two nodes lies a wire, which no other pair uses: there is no load to tell.";

struct Wires<'a> {
    machine: &'a Machine<'a>,
    /// Time from the departure of a byte to its arrival.
    delay: Duration,
}

impl Plan for Wires<'_> {
    type Process = Node<Station>;
    type Left = Option<mesh_network::Left>;

    fn links(&self) -> Links {
        Links::between_all(self.delay, self.machine.bench.nodes)
    }

    fn notice(&self) -> Duration {
        self.delay * 4
    }

    fn process(&self, nid: u32) -> Node<Station> {
        let (station, equipment) = self.machine.node(nid, Network::Wire(self.delay));
        self.machine.bench.node(nid, station, equipment)
    }
}

fn settings(parameters: &Parameters) -> Result<Settings, Unfit> {
    Settings::new(parameters, Some(Wire::of(parameters).wire_rate))
}

/// Nodes of a machine for so many ranks.
fn nodes(parameters: &Parameters, ranks: u32) -> Result<u32, UsageError> {
    let nodes = bench::nodes_needed(parameters, ranks)?;
    settings(parameters)?;
    check_ranks(parameters, ranks)?;
    Ok(nodes)
}

/// Finds out whether machine, ranks and faults fit together, without a run.
fn check(p: &Parameters, ranks: u32, faults: &[String], seed: u64) -> Result<(), UsageError> {
    nodes(p, ranks)?;
    bench::check_hosts(p, ranks, faults, seed)
}

/// Runs a program.
fn run(options: &Options) -> Result<Outcome, UsageError> {
    let parameters = &options.parameters;
    nodes(parameters, options.ranks)?;
    let bench = Bench::of_hosts(options)?;
    let settings = settings(parameters)?;
    let delay = Wire::of(parameters).wire;
    crate::run(options, &bench, settings, |machine| bench.simulate(&Wires { machine, delay }))
}
