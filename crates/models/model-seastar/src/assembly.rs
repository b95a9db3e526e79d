//! A node is put together.

use super::configure::{list_commands, Configuration};
use super::firmware::image::FirmwareImage;
use super::node::observers::Observers;
use super::node::ports::NodePorts;
use super::node::{Boot, Node, Schedule};
use abi::seastar::{SHIM_BASE, TEXT_BASE};
use des::{EventQueue, Outbox, Time, TraceHash};
use machine::bench::Bench;
use machine::faults::FaultlessLine;
use machine::firmware::symbols::Symbols;
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
            let (core, nic) = boot.parts(wire_nid);
            let mut node = self.assemble(nid, |_| (core, nic));
            if node.follow(boot) {
                return node;
            }
        }
        self.cold(nid, wire_nid)
    }

    /// A node whose firmware the loader has written through the back door while the processor is in reset.
    pub(super) fn cold(&self, nid: u32, wire_nid: u16) -> Node {
        self.assemble(nid, |ports| {
            let mut nic = seastar_nic::SeaStar::new(&self.configuration.nic, wire_nid);
            for (base, bytes) in [(TEXT_BASE, &self.image.image), (SHIM_BASE, &self.image.shim)] {
                let written = nic.ras_write(Time::ZERO, base.into(), bytes, ports);
                written.expect("the image was checked against its region");
            }
            (self.processor(), nic)
        })
    }

    /// A node with this processor and NIC.
    pub(super) fn assemble(
        &self,
        nid: u32,
        chip: impl FnOnce(&mut NodePorts) -> (ppc440::Core, seastar_nic::SeaStar),
    ) -> Node {
        let Parts { bench, configuration, .. } = *self;
        let parameters = &bench.options.parameters;
        let (os, host) = (bench.os(nid), bench.host(nid));
        let pools = crate::faults::pools(&bench.faults, (!self.taping).then_some(nid));
        let journal = bench.journal(nid);
        let ht = &configuration.nic;
        let few = pools.list_commands < portals::seastar::Pools::FULL.list_commands;
        let judge = bench.judge(nid, &host, os == Os::Linux || few);
        let rings = Rc::new(portals::seastar::Rings::default());
        let mut ports = NodePorts {
            nid,
            queue: EventQueue::new(nid),
            datapath: EventQueue::new(nid),
            link: configuration.link.clone(),
            memory: host.memory().clone(),
            dma: Box::new(host.memory().clone()),
            stores: Box::new(host.memory().clone()),
            router: mesh::Router::new(&configuration.net, &configuration.topology, nid),
            outbox: Outbox::default(),
            observers: Observers::new(journal.clone(), judge.clone(), ht.recovers),
            hash: TraceHash::default(),
            ht_overhead: [ht.ht_write_bytes, ht.ht_request_bytes, ht.ht_response_bytes],
            failure: None,
            stirs: 0,
            touched: Vec::new(),
            firmware: Default::default(),
            arrivals: Default::default(),
            horizon: Time::ZERO,
            line: Box::new(FaultlessLine),
            rings: (configuration.driver.accelerated > 0).then(|| rings.clone()),
            now: Time::ZERO,
        };
        ports.judge_memory(judge.as_ref());
        let (core, nic) = chip(&mut ports);
        let config = portals::seastar::Config {
            list_commands: list_commands(os, parameters),
            pools,
            ..configuration.driver
        };
        let driver = LateDriver::default();
        let made = driver.clone();
        let ranks = bench.ranks(
            (os, nid),
            journal,
            judge,
            Carrier::Portals(Rc::new(move |cpu| {
                let driver = Rc::new(Driver::with_rings(cpu.memory(), &config, rings.clone()));
                assert!(made.set(driver.clone()).is_ok(), "a kernel has one driver");
                driver
            })),
        );
        let launch = bench.common.launch();
        let (ras_poll, ras_patience) = (configuration.ras_poll, configuration.ras_patience);
        let schedule = Schedule { ras_poll, ras_patience, launch };
        Node::start(core, nic, host, (ranks, driver), ports, self.symbols.clone(), schedule)
    }
}
