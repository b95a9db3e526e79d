//! A node is put together.

use super::Options;
use crate::configure::system::Os;
use crate::configure::Configuration;
use crate::faults::Faults;
use crate::firmware::image::FirmwareImage;
use crate::firmware::symbols::Symbols;
use crate::instruments::journal::Journal;
use crate::judge::Bailiff;
use crate::node::seam::Seam;
use crate::node::{Boot, Node, Schedule};
use crate::programs::placement::Placement;
use crate::programs::{Ranks, Software};
use abi::seastar::{SHIM_BASE, TEXT_BASE};
use des::{EventQueue, Outbox, Time, TraceHash};
use portals::ProcessId;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

/// Where each rank is, to MPI and to Portals' own calls.
pub(super) type Maps = [Arc<[ProcessId]>; 2];

/// What nodes are assembled from.
#[derive(Clone, Copy)]
pub(super) struct Parts<'a> {
    pub(super) configuration: &'a Configuration,
    pub(super) image: &'a FirmwareImage,
    pub(super) symbols: &'a Arc<Symbols>,
    pub(super) options: &'a Options,
    /// Of the program's ranks; none of them while a boot is taped.
    pub(super) placement: Placement,
    /// What the program's processes are forked from.
    pub(super) templates: Option<&'a Arc<rank::Templates>>,
    /// Each executable's own libraries that come before that of MPI.
    pub(super) ahead: &'a Arc<[Arc<[PathBuf]>]>,
    /// The same memory for all nodes.
    pub(super) maps: &'a Maps,
    /// The judges' ledger, if they are to judge.
    pub(super) ledger: Option<&'a Arc<spec::Ledger>>,
    pub(super) faults: &'a Faults,
    /// Nodes are for the boot that all share.
    pub(super) taping: bool,
}

impl Parts<'_> {
    /// Node `nid`, after the boot if that can be shared, else switched off.
    pub(super) fn node(&self, nid: u32, boot: Option<&Arc<Boot>>) -> Node {
        let wire_nid = u16::try_from(nid).expect("topologies have at most 65,536 nodes");
        if let Some(boot) = boot {
            let (core, nic) = boot.parts(wire_nid);
            let mut node = self.assemble(nid, wire_nid, |_| (core, nic));
            if node.follow(boot) {
                return node;
            }
        }
        self.cold(nid, wire_nid)
    }

    /// A node whose firmware the loader has written through the back door while the processor is in reset.
    pub(super) fn cold(&self, nid: u32, wire_nid: u16) -> Node {
        self.assemble(nid, wire_nid, |seam| {
            let mut nic = nic::SeaStar::new(&self.configuration.nic, wire_nid);
            for (base, bytes) in [(TEXT_BASE, &self.image.image), (SHIM_BASE, &self.image.shim)] {
                let written = nic.ras_write(Time::ZERO, base.into(), bytes, seam);
                written.expect("the image was checked against its region");
            }
            (self.processor(), nic)
        })
    }

    /// A node with this processor and NIC.
    pub(super) fn assemble(
        &self,
        nid: u32,
        wire_nid: u16,
        chip: impl FnOnce(&mut Seam) -> (ppc440::Core, nic::SeaStar),
    ) -> Node {
        let Parts { configuration, options, placement, .. } = *self;
        let parameters = &options.parameters;
        let os = Os::of(parameters, nid);
        let cores = placement.per_node as usize;
        let host = host::Host::with_cores(&os.host(parameters), cores);
        os.map(parameters, &mut host.memory().borrow_mut());
        let pools = self.faults.pools((!self.taping).then_some(nid));
        let journal = Rc::new(Journal::new(configuration.topology.nodes()));
        let ht = &configuration.nic;
        let judge = self.ledger.map(|ledger| {
            let (ledger, memory) = (ledger.clone(), host.memory().clone());
            let few = pools.list_commands < portals::seastar::Pools::FULL.list_commands;
            Rc::new(Bailiff::new(nid, ledger, memory, true, os == Os::Linux || few))
        });
        let mut seam = Seam {
            nid,
            queue: EventQueue::new(nid),
            moves: EventQueue::new(nid),
            link: configuration.link.clone(),
            memory: host.memory().clone(),
            router: net::Router::new(&configuration.net, &configuration.topology, nid),
            outbox: Outbox::default(),
            journal: journal.clone(),
            hash: TraceHash::default(),
            ht_overhead: [ht.ht_write_bytes, ht.ht_request_bytes, ht.ht_response_bytes],
            failure: None,
            tape: None,
            exception: None,
            touched: Vec::new(),
            idle_turns: 0,
            turns: 0,
            beat: Time::ZERO,
            acted: Time::ZERO,
            firmware_waits: false,
            watched: false,
            arrivals: Default::default(),
            horizon: Time::ZERO,
            tap: None,
            judge: judge.clone(),
            interrupts: None,
        };
        let (core, nic) = chip(&mut seam);
        let software = Rc::new(Software {
            portals: portals::Config { system: os.portals(parameters), ..configuration.portals },
            driver: portals::seastar::Config {
                list_commands: os.list_commands(parameters),
                pools,
                ..configuration.driver
            },
            echo: os == Os::Linux && parameters.switch("host.echo"),
            mpi: configuration.mpi.clone(),
            agent: configuration.agent,
            program: options.program.clone(),
            library: options.library.clone(),
            compute: options.compute,
            templates: self.templates.cloned(),
            ahead: self.ahead.clone(),
            placement,
            map: self.maps[0].clone(),
            programs: self.maps[1].clone(),
        });
        let ranks = Ranks::new(wire_nid, software, journal, judge);
        let launch = Time::ZERO + configuration.launch;
        let (ras_poll, ras_patience) = (configuration.ras_poll, configuration.ras_patience);
        let schedule = Schedule { ras_poll, ras_patience, launch };
        Node::start(core, nic, host, ranks, seam, self.symbols.clone(), schedule)
    }
}
