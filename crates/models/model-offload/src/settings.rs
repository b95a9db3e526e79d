//! Configuration of the cards of a machine, from its parameters.

use machine::parameters::schema::{choice, count, frequency, joined, power_of_two, rate, time};
use machine::parameters::{Parameters, Row};

use abi::offload as of;
use alpu::{Config, QueueKind};
use des::Duration;
use offload_nic::{Params, Units};

/// The parameters of machines with a wire between any two nodes.
pub(crate) const ROWS: &[Row] =
    &joined::<{ ON_WIRES.len() + PPC440 }>(&ON_WIRES, &ppc440_debug::ROWS);

/// The parameters of machines with a mesh.
pub(crate) const MESH_ROWS: &[Row] =
    &joined::<{ ON_MESH.len() + PPC440 }>(&ON_MESH, &ppc440_debug::ROWS);

const PPC440: usize = ppc440_debug::ROWS.len();
const MESH: usize = mesh_network::ROWS.len();
const WIRED: [Row; OF_CARD.len() + WIRE.len()] = joined(&OF_CARD, &WIRE);
const ON_WIRES: [Row; WIRED.len() + 1] = joined(&WIRED, &[COMPLETION]);
const ROOMY: [Row; OF_CARD.len() + 2] = joined(&OF_CARD, &[COMPLETION, mesh_network::ROOM]);
const ON_MESH: [Row; ROOMY.len() + MESH] = joined(&ROOMY, &mesh_network::ROWS);

const OF_CARD: [Row; 14] = [
    choice("firmware.search", &["list", "hash"]),
    choice("nic.alpu", &["off", "32", "64", "128", "256", "512", "1024"]),
    power_of_two("alpu.block", "2", "64"),
    count("alpu.header_fifo", "2", "1024"),
    count("alpu.command_fifo", "2", "1024"),
    count("alpu.result_fifo", "2", "1024"),
    count("alpu.threshold", "0", "255"),
    choice("alpu.rtl", &["off", "on", "check", "exact"]),
    frequency("alpu.clock", "1 MHz", "100 GHz"),
    time("offload.bus", "1 ns", "1 us"),
    time("offload.bus_beat", "1 ps", "1 us"),
    time("offload.memory", "0 ns", "1 us"),
    time("offload.host_memory", "0 ns", "1 us"),
    rate("offload.dma_rate", "1 MB/s", "1000 GB/s"),
];

const WIRE: [Row; 2] =
    [rate("offload.wire_rate", "1 MB/s", "1000 GB/s"), time("offload.wire", "1 ns", "1 ms")];

const COMPLETION: Row = time("offload.completion_read", "0 ns", "1 us");

/// Parameters of the parts of such a machine.
pub(super) struct Settings {
    /// Parameters of node 0's card.
    pub card: Params,
    /// The host's time to read a completion that has come.
    pub completion_read: Duration,
}

impl Settings {
    /// Settings of cards at wires of this rate, or at a network with a pace of its own. The error is a
    /// sentence about the parameters.
    pub fn new(p: &Parameters, wire_rate: Option<u64>) -> Result<Settings, String> {
        let card = Params {
            node: 0,
            processor: ppc440_debug::config(p),
            bus_delay: p.duration("offload.bus"),
            bus_beat: p.duration("offload.bus_beat"),
            memory: p.duration("offload.memory"),
            host_memory: p.duration("offload.host_memory"),
            dma_rate: p.number("offload.dma_rate"),
            wire_rate,
            units: units(p)?,
        };
        if p.choice("host.os") != "catamount" || p.number::<u32>("host.linux_nodes") > 0 {
            let model = p.model().name;
            return Err(format!(
                "host.os is catamount on machines of model {model}: a process gives the network \
                 interface physical addresses itself"
            ));
        }
        Ok(Settings { card, completion_read: p.duration("offload.completion_read") })
    }
}

fn units(p: &Parameters) -> Result<Option<Units>, String> {
    let Ok(cells) = p.choice("nic.alpu").parse() else { return Ok(None) };
    let unit = |kind| -> Result<Config, String> {
        let config = Config {
            match_width: of::MATCH_WIDTH,
            tag_width: 20,
            header_depth: p.number("alpu.header_fifo"),
            command_depth: p.number("alpu.command_fifo"),
            result_depth: p.number("alpu.result_fifo"),
            ..Config::new(kind, cells, p.number::<u32>("alpu.block") as usize)
        };
        config.check().map_err(|why| format!("the matching units (nic.alpu, alpu.*): {why}"))?;
        Ok(config)
    };
    Ok(Some(Units {
        posted: unit(QueueKind::Posted)?,
        unexpected: unit(QueueKind::Unexpected)?,
        clock: p.clock("alpu.clock"),
        threshold: p.number("alpu.threshold"),
    }))
}
