//! Configuration of the cards of a machine, from its parameters.

use abi::offload as of;
use alpu::{Config, ConfigError, QueueKind};
use des::Duration;
use machine::parameters::{Parameters, Row};
use machine::{parameters, rows};
use offload_nic::{Params, Units};

/// The parameters of machines with a wire between any two nodes.
pub(crate) const ROWS: &[Row] = rows![CARD, Wire::ROWS, Completion::ROWS, ppc440_debug::ROWS];

/// The parameters of machines with a mesh.
pub(crate) const MESH_ROWS: &[Row] = rows![
    CARD,
    Completion::ROWS,
    mesh_network::Room::ROWS,
    mesh_network::ROWS,
    ppc440_debug::ROWS,
];

const CARD: &[Row] = rows![Firmware::ROWS, Matching::ROWS, Unit::ROWS, Card::ROWS];

parameters! {
    /// The firmware's queues.
    pub(crate) struct Firmware in "firmware" {
        search: choice("list" => Search::List, "hash" => Search::Hash) as Search,
    }
}

/// Searches of queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Search {
    List,
    Hash,
}

parameters! {
    /// Matching units, by their cells.
    pub(crate) struct Matching in "nic" {
        alpu: choice(
            "off" => None, "32" => Some(32), "64" => Some(64), "128" => Some(128),
            "256" => Some(256), "512" => Some(512), "1024" => Some(1024),
        ) as Option<usize>,
    }
}

parameters! {
    /// A matching unit.
    pub(crate) struct Unit in "alpu" {
        block: power_of_two("2", "64") as usize,
        header_fifo: count("2", "1024") as usize,
        command_fifo: count("2", "1024") as usize,
        result_fifo: count("2", "1024") as usize,
        threshold: count("0", "255") as u32,
        rtl: choice("off", "on", "check", "exact"),
        clock: frequency("1 MHz", "100 GHz"),
    }
}

parameters! {
    /// The card.
    pub(crate) struct Card in "offload" {
        bus: time("1 ns", "1 us"),
        bus_beat: time("1 ps", "1 us"),
        memory: time("0 ns", "1 us"),
        host_memory: time("0 ns", "1 us"),
        dma_rate: rate("1 MB/s", "1000 GB/s"),
    }
}

parameters! {
    /// The wire between any two cards.
    pub(crate) struct Wire in "offload" {
        wire_rate: rate("1 MB/s", "1000 GB/s"),
        /// Time from end to end.
        wire: time("1 ns", "1 ms"),
    }
}

parameters! {
    /// The host's part.
    pub(crate) struct Completion in "offload" {
        completion_read: time("0 ns", "1 us"),
    }
}

/// Parameters of the parts of such a machine.
pub(super) struct Settings {
    /// Parameters of node 0's card.
    pub card: Params,
    /// The host's time to read a completion that has come.
    pub completion_read: Duration,
}

impl Settings {
    /// Settings of cards at wires of this rate, or at a network with a pace of its own.
    pub fn new(p: &Parameters, wire_rate: Option<u64>) -> Result<Settings, Unfit> {
        let own = Card::of(p);
        let card = Params {
            node: 0,
            processor: ppc440_debug::config(p),
            bus_delay: own.bus,
            bus_beat: own.bus_beat,
            memory: own.memory,
            host_memory: own.host_memory,
            dma_rate: own.dma_rate,
            wire_rate,
            units: units(p)?,
        };
        Ok(Settings { card, completion_read: Completion::of(p).completion_read })
    }
}

/// Parameters or ranks that do not fit together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unfit {
    #[error("the matching units (nic.alpu, alpu.*): {0}")]
    Units(#[from] ConfigError),
    #[error(
        "host.ranks_per_node is {per_node}, but a network interface of model {model} serves {} \
         processes",
        of::PROCESSES
    )]
    Processes { per_node: u32, model: &'static str },
    #[error("{ranks} ranks are too many for model {model}: match bits name {RANKS_MAX}")]
    Ranks { ranks: u32, model: &'static str },
}

/// Most ranks, as match bits name their sources.
pub(super) const RANKS_MAX: u32 = 1 << of::SOURCE_WIDTH;

fn units(p: &Parameters) -> Result<Option<Units>, ConfigError> {
    let Some(cells) = Matching::of(p).alpu else { return Ok(None) };
    let own = Unit::of(p);
    let unit = |kind| {
        let config = Config {
            match_width: of::MATCH_WIDTH,
            tag_width: 20,
            header_depth: own.header_fifo,
            command_depth: own.command_fifo,
            result_depth: own.result_fifo,
            ..Config::new(kind, cells, own.block)
        };
        config.check().map(|()| config)
    };
    Ok(Some(Units {
        posted: unit(QueueKind::Posted)?,
        unexpected: unit(QueueKind::Unexpected)?,
        clock: own.clock,
        threshold: own.threshold,
    }))
}
