//! From the parameters of a machine to what its parts are built from.

use super::fabric::Fabric;
use super::module::Module;
use ::myrinet::{CardParams, Params, SwitchParams};
use des::{Clock, Duration};
use machine::parameters::schema::{bytes, choice, count, cycles, frequency, joined, rate, time};
use machine::parameters::{Parameters, Row};
use machine::programs::guests;

/// The parameters of such machines.
pub(crate) const ROWS: &[Row] = &joined::<{ OWN.len() + guests::ROWS.len() }>(OWN, guests::ROWS);

const OWN: &[Row] = &[
    frequency("lanai.clock", "1 MHz", "1 GHz"),
    rate("myrinet.rate", "1 MB/s", "8 GB/s"),
    time("myrinet.cable", "1 ns", "10 us"),
    bytes("myrinet.stop", "8 B", "64 KiB"),
    bytes("myrinet.go", "0 B", "64 KiB"),
    time("myrinet.beat", "1 us", "1000 ms"),
    count("myrinet.beats_missed", "2", "1000"),
    count("myrinet.ports", "4", "32"),
    time("myrinet.route", "0 ns", "1 ms"),
    bytes("myrinet.dma_burst", "8 B", "4 KiB"),
    frequency("myrinet.pci_clock", "1 MHz", "1 GHz"),
    cycles("myrinet.pci_arbitration", "1 cycles", "64 cycles"),
    cycles("myrinet.pci_decode", "1 cycles", "4 cycles"),
    cycles("myrinet.pci_memory", "4 cycles", "1000 cycles"),
    bytes("myrinet.pci_burst", "8 B", "4 KiB"),
    time("myrinet.interrupt", "1 ns", "1 ms"),
    time("myrinet.driver", "0 ns", "1 ms"),
    choice("card.module", &["dp", "bypass", "off"]),
    bytes("card.check", "0 B", "2 MiB"),
];

/// Parameters of the parts of such a machine.
pub(super) struct Settings {
    pub fabric: Fabric,
    pub card: CardParams,
    pub switch: SwitchParams,
    pub pci: pci::Params,
    pub interrupt: Duration,
    /// Time that the driver computes for a packet, beside its accesses to the card.
    pub driver: Duration,
    pub poll: Duration,
    pub module: Module,
}

impl Settings {
    /// For so many nodes. The error is a sentence about the parameters.
    pub fn new(p: &Parameters, nodes: u32) -> Result<Settings, String> {
        let ports: u32 = p.number("myrinet.ports");
        let fabric = Fabric::new(nodes, ports)?;
        fabric.check()?;
        let rate: u64 = p.number("myrinet.rate");
        let link = Params {
            byte: Duration(1_000_000_000_000 / rate),
            delay: p.duration("myrinet.cable"),
            stop: p.number("myrinet.stop"),
            go: p.number("myrinet.go"),
            beat: p.duration("myrinet.beat"),
            beats_missed: p.number("myrinet.beats_missed"),
        };
        if let Some(usage_error) = link.usage_error() {
            return Err(format!("myrinet.stop and myrinet.go: {usage_error}"));
        }
        let clock: Clock = p.clock("myrinet.pci_clock");
        let latency = p.number("myrinet.pci_memory");
        let base = pci::Params::pci_32_33();
        let pci = pci::Params {
            hertz: clock.hz(),
            arbitration_cycles: p.number("myrinet.pci_arbitration"),
            device_response_cycles: p.number("myrinet.pci_decode"),
            split: pci::Split { word_cycles: latency, page_cycles: latency },
            burst_words: p.number::<u16>("myrinet.pci_burst") / u16::from(base.width),
            ..base
        };
        let card = CardParams {
            clock: p.clock("lanai.clock"),
            burst: p.number("myrinet.dma_burst"),
            bus: 4_000_000_000_000 / clock.cycles(1).0,
            ..CardParams::new(link)
        };
        let route = p.duration("myrinet.route");
        Ok(Settings {
            fabric,
            card,
            switch: SwitchParams { ports: ports as usize, route, link },
            pci,
            interrupt: p.duration("myrinet.interrupt"),
            driver: p.duration("myrinet.driver"),
            poll: p.duration("host.poll_period"),
            module: module(p),
        })
    }
}

/// The module that guests load.
pub(super) fn module(p: &Parameters) -> Module {
    let name = match p.choice("card.module") {
        "off" => "",
        name => name,
    };
    Module { name, check: p.number("card.check") }
}
