//! From the parameters of a machine to what its parts are built from.

use super::fabric::{Fabric, FabricError};
use super::module::Module;
use ::myrinet::{CardParams, Params, ParamsError, SwitchParams};
use des::Duration;
use machine::parameters::hosts::Host;
use machine::parameters::{Parameters, Row};
use machine::{parameters, rows};

/// The parameters of such machines.
pub(crate) const ROWS: &[Row] = rows![Lanai::ROWS, Own::ROWS, CardModule::ROWS];

parameters! {
    /// The card's processor.
    pub(crate) struct Lanai in "lanai" {
        clock: frequency("1 MHz", "1 GHz"),
    }
}

parameters! {
    /// Links, switches and cards.
    pub(crate) struct Own in "myrinet" {
        rate: rate("1 MB/s", "8 GB/s"),
        cable: time("1 ns", "10 us"),
        stop: bytes("8 B", "64 KiB") as u32,
        go: bytes("0 B", "64 KiB") as u32,
        beat: time("1 us", "1000 ms"),
        beats_missed: count("2", "1000") as u32,
        ports: count("4", "32") as u32,
        route: time("0 ns", "1 ms"),
        dma_burst: bytes("8 B", "4 KiB") as u32,
        pci_clock: frequency("1 MHz", "1 GHz"),
        pci_arbitration: cycles("1 cycles", "64 cycles") as u8,
        pci_decode: cycles("1 cycles", "4 cycles") as u8,
        pci_memory: cycles("4 cycles", "1000 cycles") as u16,
        pci_burst: bytes("8 B", "4 KiB") as u16,
        interrupt: time("1 ns", "1 ms"),
        driver: time("0 ns", "1 ms"),
    }
}

parameters! {
    /// The module that guests load.
    pub(crate) struct CardModule in "card" {
        module: choice("dp", "bypass", "off"),
        check: bytes("0 B", "2 MiB") as u32,
    }
}

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

/// Parameters or nodes that do not fit together.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unfit {
    #[error(transparent)]
    Fabric(#[from] FabricError),
    #[error("myrinet.stop and myrinet.go: {0}")]
    Link(#[from] ParamsError),
}

impl Settings {
    /// For so many nodes.
    pub fn new(p: &Parameters, nodes: u32) -> Result<Settings, Unfit> {
        let own = Own::of(p);
        let ports = own.ports;
        let fabric = Fabric::new(nodes, ports)?;
        fabric.check()?;
        let link = Params {
            byte: Duration(1_000_000_000_000 / own.rate),
            delay: own.cable,
            stop: own.stop,
            go: own.go,
            beat: own.beat,
            beats_missed: own.beats_missed,
        };
        link.check()?;
        let (clock, latency) = (own.pci_clock, own.pci_memory);
        let base = pci::Params::pci_32_33();
        let pci = pci::Params {
            hertz: clock.hz(),
            arbitration_cycles: own.pci_arbitration,
            device_response_cycles: own.pci_decode,
            split: pci::Split { word_cycles: latency, page_cycles: latency },
            burst_words: own.pci_burst / u16::from(base.width),
            ..base
        };
        let card = CardParams {
            clock: Lanai::of(p).clock,
            burst: own.dma_burst,
            bus: 4_000_000_000_000 / clock.cycles(1).0,
            ..CardParams::new(link)
        };
        let route = own.route;
        Ok(Settings {
            fabric,
            card,
            switch: SwitchParams { ports: ports as usize, route, link },
            pci,
            interrupt: own.interrupt,
            driver: own.driver,
            poll: Host::of(p).poll_period,
            module: module(p),
        })
    }
}

/// The module that guests load.
pub(super) fn module(p: &Parameters) -> Module {
    let CardModule { module, check } = CardModule::of(p);
    Module { name: if module == "off" { "" } else { module }, check }
}
