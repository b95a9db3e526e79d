//! A node is put together.

use super::configure::{list_commands, Configuration};
use super::firmware::image::FirmwareImage;
use super::node::observers::Observers;
use super::node::ports::Chipset;
use super::node::{follow, Boot, Chip, Node, Schedule, Station};
use abi::seastar::{SHIM_BASE, TEXT_BASE};
use des::{EventQueue, Time};
use machine::bench::Bench;
use machine::faults::Faults;
use machine::firmware::symbols::Symbols;
use machine::node::Equipment;
use machine::programs::Carrier;
use machine::system::Os;
use portals::seastar::Driver;
use std::cell::OnceCell;
use std::rc::Rc;
use std::sync::Arc;

/// The driver of a node's network interface, once its kernel boots.
pub(super) type LateDriver = Rc<OnceCell<Rc<Driver>>>;

/// Parts from which nodes are assembled.
#[derive(Clone, Copy)]
pub(super) struct Parts<'a> {
    pub(super) bench: &'a Bench<'a>,
    pub(super) configuration: &'a Configuration,
    pub(super) image: &'a FirmwareImage,
    pub(super) symbols: &'a Arc<Symbols>,
    /// Nodes are for the boot that all share.
    pub(super) taping: bool,
}

impl Parts<'_> {
    /// Node `nid`, after the boot if that can be shared, else switched off.
    pub(super) fn node(&self, nid: u32, boot: Option<&Arc<Boot>>) -> Node {
        let wire_nid = u16::try_from(nid).expect("topologies have at most 65,536 nodes");
        if let Some(boot) = boot {
            let mut node = self.assemble(nid, boot.parts(wire_nid));
            if follow(&mut node, boot) {
                return node;
            }
        }
        self.cold(nid, wire_nid)
    }

    /// A node that boots by itself.
    pub(super) fn cold(&self, nid: u32, wire_nid: u16) -> Node {
        self.assemble(nid, self.chip(wire_nid))
    }

    /// A node with this processor and NIC, and ranks over Portals.
    pub(super) fn assemble(&self, nid: u32, chip: Chip) -> Node {
        let Parts { bench, configuration, .. } = *self;
        let (os, host) = (bench.os(nid), bench.host(nid));
        let pools = crate::faults::pools(&bench.faults, (!self.taping).then_some(nid));
        let journal = bench.journal(nid);
        let few = pools.list_commands < portals::seastar::Pools::FULL.list_commands;
        let judge = bench.judge(nid, &host, os == Os::Linux || few);
        let config = portals::seastar::Config {
            list_commands: list_commands(os, &bench.options.parameters),
            pools,
            ..configuration.driver
        };
        let rings = Rc::new(portals::seastar::Rings::default());
        let driver = LateDriver::default();
        let shared = (configuration.driver.accelerated > 0).then(|| rings.clone());
        let mut station = self.station(nid, chip, host.memory(), shared, driver.clone());
        station.set_judge(judge.as_ref());
        let nal = Rc::new(move |cpu: &host::Cpu| {
            let made = Rc::new(Driver::with_rings(cpu.memory(), &config, rings.clone()));
            assert!(driver.set(made.clone()).is_ok(), "a kernel has one driver");
            made as Rc<dyn portals::Nal>
        });
        let carrier = Carrier::Portals(nal);
        let ranks = bench.ranks(os, nid, journal.clone(), judge.clone(), carrier);
        let equipment = Equipment { host, software: Box::new(ranks), journal, judge };
        if self.taping {
            let (faults, launch) = (Faults::default(), bench.common.launch());
            return Node::new(nid, station, equipment, &faults, launch);
        }
        bench.node(nid, station, equipment)
    }

    /// A SeaStar of node `nid`, whose kernel will have this driver, if it has one.
    pub(super) fn station(
        &self,
        nid: u32,
        chip: Chip,
        memory: &host::SharedMemory,
        rings: Option<Rc<portals::seastar::Rings>>,
        driver: LateDriver,
    ) -> Station {
        let configuration = self.configuration;
        let (network, ht) = (&configuration.network, &configuration.nic);
        let chipset = Chipset {
            datapath: EventQueue::new(nid),
            firmware: Default::default(),
            stirs: 0,
            touched: Vec::new(),
            observers: Observers::new(ht.recovers),
            arrivals: Default::default(),
            memory: memory.clone(),
            ht_overhead: [ht.ht_write_bytes, ht.ht_request_bytes, ht.ht_response_bytes],
            dma: Box::new(memory.clone()),
            stores: Box::new(memory.clone()),
            link: configuration.link.clone(),
            router: mesh::Router::new(&network.routers, &network.topology, nid),
            rings,
            now: Time::ZERO,
        };
        let launch = self.bench.common.launch();
        let (ras_poll, ras_patience) = (configuration.ras_poll, configuration.ras_patience);
        let schedule = Schedule { ras_poll, ras_patience, launch };
        Station::start(chip, chipset, driver, self.symbols.clone(), schedule)
    }

    /// A chip in reset, whose firmware the loader has written through the back door.
    pub(super) fn chip(&self, wire_nid: u16) -> Chip {
        let mut nic = seastar_nic::SeaStar::new(&self.configuration.nic, wire_nid);
        for (base, bytes) in [(TEXT_BASE, &self.image.image), (SHIM_BASE, &self.image.shim)] {
            let written = nic.sram_mut().write(base.into(), bytes);
            written.expect("the image was checked against its region");
        }
        Chip { core: self.processor(), nic }
    }
}
