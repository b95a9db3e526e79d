//! Configuration of the cards of a machine, from its parameters.

use machine::parameters::schema::{choice, count, frequency, joined, power_of_two, rate, time};
use machine::parameters::{Parameters, Row};

use abi::offload as of;
use alpu::{Config, QueueKind};
use des::Duration;
use offload_nic::{Params, Units};

/// The parameters of such machines.
pub(crate) const ROWS: &[Row] =
    &joined::<{ OWN.len() + ppc440_debug::ROWS.len() }>(&OWN, &ppc440_debug::ROWS);

const OWN: [Row; 17] = [
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
    rate("offload.wire_rate", "1 MB/s", "1000 GB/s"),
    time("offload.wire", "1 ns", "1 ms"),
    time("offload.completion_read", "0 ns", "1 us"),
];

/// Parameters of the parts of such a machine.
pub(super) struct Settings {
    /// Parameters of node 0's card.
    pub card: Params,
    /// The host's time to read a completion that has come.
    pub completion_read: Duration,
}

impl Settings {
    /// The error is a sentence about the parameters.
    pub fn new(p: &Parameters) -> Result<Settings, String> {
        let card = Params {
            node: 0,
            processor: ppc440_debug::config(p),
            bus_delay: p.duration("offload.bus"),
            bus_beat: p.duration("offload.bus_beat"),
            memory: p.duration("offload.memory"),
            host_memory: p.duration("offload.host_memory"),
            dma_rate: p.number("offload.dma_rate"),
            wire_rate: p.number("offload.wire_rate"),
            wire: p.duration("offload.wire"),
            units: units(p)?,
        };
        if p.choice("host.os") != "catamount" || p.number::<u32>("host.linux_nodes") > 0 {
            return Err("host.os is catamount on machines of model offload: a process gives the \
                        network interface physical addresses itself"
                .into());
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
