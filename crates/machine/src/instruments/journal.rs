//! What observers of a node share: the seam, which is asked by the hardware, and the libraries' observers in
//! their fibres all tell it here.

use super::journey::{Log, Mark, Taken, Tie, Waypoint};
use super::timeline::Watch;
use abi::seastar::{portals_op, PortalsHeader};
use abi::MessageId;
use des::Time;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

/// Marks of a node, shared between the hardware's seam and the observers in the libraries.
pub(crate) struct Journal {
    log: RefCell<Log>,
    /// When the last posted write of the host reaches the NIC.
    pub last_write_arrives: Cell<Time>,
    /// Interrupts on their way to the host and the last ones that arrived, oldest first: when the firmware
    /// wrote the register, and when the host had them.
    interrupts: RefCell<Interrupts>,
    /// Somebody watches, from the launch on.
    watched: Cell<bool>,
    watch: RefCell<Option<Box<Watch>>>,
}

type Interrupts = VecDeque<(Time, Option<Time>)>;

/// Interrupts that are remembered.
const INTERRUPTS: usize = 32;

/// They arrive in order: where the first stands that has not. Looked for from the end, near which it is.
fn first_on_its_way(interrupts: &Interrupts) -> Option<usize> {
    let under_way = interrupts.iter().rev().take_while(|(_, arrived)| arrived.is_none()).count();
    (under_way > 0).then(|| interrupts.len() - under_way)
}

impl Journal {
    /// The journal of one of `nodes` nodes.
    pub fn new(nodes: u32) -> Journal {
        Journal {
            log: RefCell::new(Log::new(nodes)),
            last_write_arrives: Cell::default(),
            interrupts: RefCell::default(),
            watched: Cell::default(),
            watch: RefCell::default(),
        }
    }
    pub fn mark(&self, at: Time, message: MessageId, waypoint: Waypoint, length: Option<u64>) {
        self.log.borrow_mut().push(Mark { at, message, waypoint, length });
    }
    pub fn tie(&self, tie: Tie) {
        self.log.borrow_mut().tie(tie);
    }
    /// A message with this header enters the network.
    pub fn injected(&self, at: Time, header: &PortalsHeader) {
        let message = MessageId::from(header);
        // Answers are no journeys of their own, but may be the last leg of one.
        let length = (header.op == portals_op::PUT).then_some(header.length.into());
        self.mark(at, message, Waypoint::Injected, length);
        if let Some(part) = mpi::Rendezvous::of(header) {
            let sender = match part {
                mpi::Rendezvous::Fetches { .. } => (header.target_nid, header.target_pid),
                _ => (header.source_nid, header.source_pid),
            };
            self.tie(Tie { at, message, sender, part });
        }
    }
    pub fn take(&self) -> Taken {
        self.log.borrow_mut().take()
    }
    pub fn interrupt_written(&self, at: Time) {
        let mut interrupts = self.interrupts.borrow_mut();
        if interrupts.len() == INTERRUPTS {
            interrupts.pop_front();
        }
        interrupts.push_back((at, None));
    }
    pub fn interrupt_arrived(&self, at: Time) {
        let mut interrupts = self.interrupts.borrow_mut();
        if let Some(first) = first_on_its_way(&interrupts) {
            interrupts[first].1 = Some(at);
        }
    }
    pub fn interrupt_lost(&self) {
        let mut interrupts = self.interrupts.borrow_mut();
        if let Some(first) = first_on_its_way(&interrupts) {
            interrupts.remove(first);
        }
    }
    /// When the firmware wrote the register for the interrupt that the host had at `arrived`.
    pub fn written_for(&self, arrived: Time) -> Option<Time> {
        let interrupts = self.interrupts.borrow();
        let mut latest = interrupts.iter().rev();
        latest.find(|(_, at)| *at == Some(arrived)).map(|(written, _)| *written)
    }

    /// Somebody is to watch from the launch on.
    pub fn set_watch(&self, watch: Watch) {
        *self.watch.borrow_mut() = Some(Box::new(watch));
    }
    /// The launch: if somebody is to watch, he does from now on. True if so.
    pub fn begin_watch(&self) -> bool {
        self.watched.set(self.watch.borrow().is_some());
        self.watched.get()
    }
    /// Tells whoever watches.
    #[inline(always)]
    pub fn watch(&self, tell: impl FnOnce(&mut Watch)) {
        if self.watched.get() {
            self.tell(tell);
        }
    }
    #[cold]
    fn tell(&self, tell: impl FnOnce(&mut Watch)) {
        if let Some(watch) = self.watch.borrow_mut().as_deref_mut() {
            tell(watch);
        }
    }
    /// Nobody watches any more.
    pub fn end_watch(&self) -> Option<Watch> {
        self.watched.set(false);
        self.watch.take().map(|watch| *watch)
    }
}

/// Tells whoever watches what the cores do.
pub(crate) struct Cores(pub Rc<Journal>);

impl host::Observer for Cores {
    fn does(&self, core: usize, at: Time, class: host::Class) {
        self.0.watch(|watch| watch.core_does(core as u32, at, class));
    }
}
