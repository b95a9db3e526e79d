//! A node with a port, as a process of a run: its report has the links of its router.

use des::{Announced, Ending, Envelope, LogicalProcess, Lookahead, Outbox, Status, Time};
use machine::bench::Ended;
use machine::node::{Crossing, Nic, Node};
use machine::remains::Remains;
use machine::report::Link;
use std::cell::RefCell;
use std::rc::Rc;

/// Results that only a node with a port leaves.
#[derive(Debug)]
pub struct Left {
    /// Links of its router that carried packets.
    pub(crate) links: Vec<Link>,
    /// Books of its router.
    pub(crate) ledger: mesh::Ledger,
    /// Messages that have not left or not come whole.
    pub(crate) unfinished: usize,
}

/// Place where a port leaves its results for its process.
#[derive(Clone, Debug, Default)]
pub struct Handover(Rc<RefCell<Option<Left>>>);

impl Handover {
    pub(crate) fn put(&self, left: Left) {
        *self.0.borrow_mut() = Some(left);
    }
}

/// A node with a port.
pub struct Process<N: Nic> {
    node: Node<N>,
    handover: Handover,
}

impl<N: Nic> Process<N> {
    /// The process of a node whose port has this handover. Its network interface closes the port when it
    /// finishes (`Port::close`).
    pub fn new(node: Node<N>, handover: Handover) -> Process<N> {
        Process { node, handover }
    }
}

impl<N: Nic> LogicalProcess for Process<N> {
    type Message = Crossing<N::Message>;
    type Report = Remains<Left>;

    fn next_event(&self) -> Time {
        self.node.next_event()
    }
    fn earliest_output(&self) -> Time {
        self.node.earliest_output()
    }
    fn lookahead(&self, told: &mut Vec<Announced>) -> Lookahead {
        self.node.lookahead(told)
    }
    fn advance_to(&mut self, horizon: Time, outbox: &mut Outbox<Crossing<N::Message>>) {
        self.node.advance_to(horizon, outbox);
    }
    fn receive(&mut self, envelope: Envelope<Crossing<N::Message>>) {
        self.node.receive(envelope);
    }
    fn status(&self) -> Status {
        self.node.status()
    }
    fn quiesce_time(&self) -> Time {
        self.node.quiesce_time()
    }
    fn finish(self, end: Time) -> Remains<Left> {
        let mut remains = self.node.finish(end);
        let mut left = self.handover.0.take().expect("a network interface closes its port");
        if let Some(report) = &mut remains.report {
            report.links = std::mem::take(&mut left.links);
        }
        remains.with(left)
    }
}

/// Checks at the end of a run that no packet, byte or credit was lost or made.
///
/// # Panics
/// If one was: that is a bug of the simulator.
pub fn balance(ended: &Ended<Left>) {
    let left = ended.remains.iter().map(|node| &node.left);
    let ledgers: Vec<_> = left.clone().map(|left| left.ledger.clone()).collect();
    // A run that ends by itself leaves nothing between nodes.
    let settled = matches!(ended.ending, Ending::Done | Ending::Deadlock);
    if let Err(what) = mesh::check(&ledgers, settled) {
        panic!("the network's books do not balance: {what}");
    }
    let unfinished: usize = left.map(|left| left.unfinished).sum();
    assert!(!settled || unfinished == 0, "{unfinished} messages are left in the network");
}
