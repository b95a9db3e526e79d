//! A port on a node of the bench.

use crate::port::{Event, Ports};
use crate::settings::Network;
use abi::packet::Packet;
use des::Time;
use machine::bench::Bench;
use machine::instruments::journal::Journal;
use machine::instruments::timeline::{About, Sink, Watcher};
use machine::node::{self, Equipment, Nic, Node};
use mesh::{Link, LinkMessage, Topology, LINKS, LINK_NAMES};
use std::fmt;
use std::sync::Arc;

/// A node, for the port of its network interface.
pub struct OfNode<'a, N: Nic> {
    /// The bench's services for the network interface.
    pub ports: &'a mut node::Ports<N>,
    /// The node's observers.
    pub journal: &'a Journal,
}

impl<N: Nic> Ports for OfNode<'_, N>
where
    N::Event: From<Event>,
    N::Message: From<LinkMessage>,
{
    fn schedule(&mut self, at: Time, event: Event) {
        self.ports.schedule(at, event.into());
    }
    fn send(&mut self, at: Time, neighbour: u32, message: LinkMessage) {
        self.ports.send(neighbour, at, message.into());
    }
    fn passed(&mut self, output: usize, span: (Time, Time), packet: &Packet) {
        self.journal.watch(|watch| watch.passed(output, span, packet));
    }
    fn fail(&mut self, now: Time, what: fmt::Arguments<'_>) {
        self.ports.fail(now, what);
    }
}

/// An observer that is told of each node's links, too.
#[derive(Debug)]
struct WithLinks {
    inner: Arc<dyn Watcher>,
    topology: Topology,
}

impl Watcher for WithLinks {
    fn node(&self, about: About) -> Box<dyn Sink> {
        let link = |index| self.topology.neighbour(about.nid, Link::from_index(index));
        let neighbours = std::array::from_fn(link);
        self.inner.node(About { neighbours, links: LINK_NAMES, ..about })
    }
    fn finish(&self) -> Result<(), String> {
        self.inner.finish()
    }
}

// The bench's observers have a place for each link.
const _: () = assert!(LINKS == machine::instruments::timeline::LINKS);

/// Node `nid`, which boots from time 0 on, with this equipment; its observers know its links.
pub fn node<N: Nic>(
    bench: &Bench,
    network: &Network,
    nid: u32,
    nic: N,
    equipment: Equipment,
) -> Node<N> {
    let mut node = Node::new(nid, nic, equipment, &bench.faults, bench.common.launch());
    node.set_queues(bench.options.parameters.model().queues);
    let topology = network.topology;
    let with_links = |inner: &Arc<dyn Watcher>| -> Arc<dyn Watcher> {
        Arc::new(WithLinks { inner: inner.clone(), topology })
    };
    let watchers: Vec<_> = bench.options.observers.watchers.iter().map(with_links).collect();
    node.set_watchers(&watchers);
    node
}
