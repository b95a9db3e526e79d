//! A machine with a mesh between its cards.

use crate::message_path::{HOST_CAPTION, MESH_PATH, QUEUES};
use crate::network::Network as Joined;
use crate::nic::Station;
use crate::settings::{Settings, MESH_ROWS};
use crate::{check_ranks, Machine, FIRMWARE};
use des::{Duration, Links, Time};
use machine::bench::{Bench, Common, Plan};
use machine::faults::{parse_of_hosts, Faults};
use machine::instruments::timeline::Room;
use machine::models::{Depth, Model};
use machine::node::Node;
use machine::parameters::{hosts, Parameters};
use machine::{Options, Outcome, UsageError};
use mesh_network::{balance, Left, Network, Port};

/// The row of this model.
pub static MODEL: Model = Model {
    firmware: Some(&FIRMWARE),
    messages: Some(&MESH_PATH),
    queues: QUEUES,
    depths: DEPTHS,
    link_type: Some(149),
    processes: true,
    hosts: hosts::WITH_QUEUES,
    captions: &[HOST_CAPTION],
    nodes,
    check,
    ..Model::new(
        "offload-mesh",
        "MPI's queues on the NIC (brightwell2005), joined by the SeaStar's mesh or torus",
        MESH_ROWS,
        run,
    )
};

/// Queues whose greatest depth its nodes count.
const DEPTHS: &[Depth] = &[
    Depth {
        counter: "rx.held_max",
        name: "packets that wait for the receive engine",
        room: Room::Parameter(mesh_network::Room::rx_buffers),
    },
    Depth {
        counter: "net.input_flits_max",
        name: "flits in an input queue of the router",
        room: Room::Untold,
    },
];

struct OnMesh<'a> {
    machine: &'a Machine<'a>,
    network: Network,
}

impl Plan for OnMesh<'_> {
    type Process = Node<Station>;
    type Left = Option<Left>;

    fn links(&self) -> Links {
        self.network.links()
    }

    fn notice(&self) -> Duration {
        self.network.notice()
    }

    fn process(&self, nid: u32) -> Node<Station> {
        // Its engines have one rate, that of the card's DMA.
        let port = Port::new(&self.network, nid, self.machine.settings.card.dma_rate);
        let (station, equipment) = self.machine.node(nid, Joined::Mesh(Box::new(port)));
        self.machine.bench.node(nid, station, equipment)
    }
}

/// The network of a machine for so many ranks.
fn network(parameters: &Parameters, ranks: u32) -> Result<Network, UsageError> {
    let placement = Common::new(parameters, ranks)?.placement;
    let network = Network::new(parameters, placement)?;
    Settings::new(parameters, None)?;
    check_ranks(parameters, ranks)?;
    Ok(network)
}

/// Nodes of a machine for so many ranks.
fn nodes(parameters: &Parameters, ranks: u32) -> Result<u32, UsageError> {
    Ok(network(parameters, ranks)?.topology.nodes())
}

/// Faults of hosts and interrupt lines: firmware without recovery could not do without a packet.
fn faults_of(
    p: &Parameters,
    network: &Network,
    texts: &[String],
    seed: u64,
    launch: Time,
) -> Result<Faults, UsageError> {
    let nodes = network.topology.nodes();
    Ok(parse_of_hosts(texts, seed, nodes, launch, p.model().fault_kinds())?)
}

/// Finds out whether machine, ranks and faults fit together, without a run.
fn check(p: &Parameters, ranks: u32, faults: &[String], seed: u64) -> Result<(), UsageError> {
    let launch = Common::new(p, ranks)?.launch();
    faults_of(p, &network(p, ranks)?, faults, seed, launch).map(drop)
}

/// Runs a program.
fn run(options: &Options) -> Result<Outcome, UsageError> {
    let parameters = &options.parameters;
    let network = network(parameters, options.ranks)?;
    let common = Common::new(parameters, options.ranks)?;
    let (texts, seed, launch) = (&options.faults, options.seed, common.launch());
    let faults = faults_of(parameters, &network, texts, seed, launch)?;
    let bench = Bench::new(options, common, network.topology.nodes(), faults)?;
    let settings = Settings::new(parameters, None)?;
    crate::run(options, &bench, settings, |machine| {
        let ended = bench.simulate(&OnMesh { machine, network });
        balance(&ended);
        ended
    })
}
