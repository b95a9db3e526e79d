//! What observers of a node share: the seam, which is asked by the hardware, and the libraries' observers in
//! their fibres all tell it here.

use super::account::{Chain, Clerk, Meetings, Rank};
use super::journey::{Desk, Flight, Tallies, Unfinished, Waypoint};
use super::tables::Tables;
use super::timeline::Watch;
use abi::seastar::{header_flag, PortalsHeader};
use abi::MessageId;
use des::Time;
use portals::EventKind;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

/// What a node knows of its messages, shared between the hardware's seam and the observers in the libraries.
pub struct Journal {
    desk: RefCell<Desk>,
    /// One for each rank, in the order of their cores.
    clerks: RefCell<Vec<Clerk>>,
    launch: Time,
    /// Wants a row for each call.
    tables: Option<Arc<Tables>>,
    meetings: Arc<Meetings>,
    /// When the last posted write of the host reaches the NIC.
    pub last_write_arrives: Cell<Time>,
    /// Interrupts on their way to the host and the last ones that arrived, oldest first: when the firmware
    /// wrote the register, and when the host had them.
    interrupts: RefCell<Interrupts>,
    /// Somebody watches, from the launch on.
    watched: Cell<bool>,
    watch: RefCell<Option<Box<Watch>>>,
}

/// The end of a node: its messages and its ranks.
#[derive(Debug, Default)]
pub struct Told {
    /// Messages that lie here and have not come to their end.
    pub unfinished: Unfinished,
    /// The accounts of the ranks.
    pub ranks: Vec<Rank>,
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
    /// The journal of node `nid`. Messages count from the launch on.
    pub(crate) fn new(nid: u32, launch: Time, tallies: Arc<Tallies>) -> Journal {
        Journal {
            tables: tallies.tables().cloned(),
            meetings: tallies.meetings().clone(),
            desk: RefCell::new(Desk::new(nid, launch, tallies)),
            clerks: RefCell::default(),
            launch,
            last_write_arrives: Cell::default(),
            interrupts: RefCell::default(),
            watched: Cell::default(),
            watch: RefCell::default(),
        }
    }
    /// These ranks are on the node, a core each.
    pub fn employ(&self, ranks: std::ops::Range<u32>) {
        let clerk =
            |rank| Clerk::new(rank, self.launch, self.tables.clone(), self.meetings.clone());
        let clerks = ranks.map(clerk);
        *self.clerks.borrow_mut() = clerks.collect();
    }
    /// Tells the clerk of the rank on a core; where there is no rank nobody keeps an account.
    pub fn account<R>(&self, core: u32, tell: impl FnOnce(&mut Clerk) -> R) -> Option<R> {
        self.clerks.borrow_mut().get_mut(core as usize).map(tell)
    }
    /// A process has an event of a message.
    pub fn takes(&self, (core, at): (u32, Time), message: MessageId, kind: EventKind) {
        let mut desk = self.desk.borrow_mut();
        let answered = match kind {
            EventKind::GetEnd => desk.answered.take(message),
            _ => None,
        };
        let flight = match kind {
            EventKind::PutEnd | EventKind::ReplyEnd => desk.get(message).map(|flight| &*flight),
            _ => answered.as_deref(),
        };
        let posted = flight.and_then(|flight| flight.at(Waypoint::EventPosted));
        self.account(core, |clerk| clerk.takes(at, kind, flight, posted));
    }
    /// A message of a rank begins: the program's call, and that of `PtlPut` or its like.
    pub(crate) fn begin(
        &self,
        message: MessageId,
        (rank, called, function): (u32, Time, &'static str),
        (put, chain): (Time, Chain),
    ) {
        let mut desk = self.desk.borrow_mut();
        let flight = desk.begin(message);
        flight.chain = chain;
        flight.from = Some(rank);
        flight.sent_in = function;
        flight.mark(called, Waypoint::CallEntered);
        flight.mark(put, Waypoint::PutEntered);
    }
    /// It is known what began, and for which rank: its payload, unless it is a part of another message.
    pub fn begun(
        &self,
        message: MessageId,
        begun: &portals::Begun,
        to: Option<u32>,
    ) -> Option<u64> {
        let mut desk = self.desk.borrow_mut();
        if let Some(flight) = desk.get(message) {
            flight.to = to;
        }
        desk.begun(message, begun)
    }
    /// A message passes a waypoint.
    pub fn mark(&self, at: Time, message: MessageId, waypoint: Waypoint) {
        self.desk.borrow_mut().mark(at, message, waypoint);
    }
    /// Does something with a message that is here.
    pub fn with<R>(&self, message: MessageId, f: impl FnOnce(&mut Flight) -> R) -> Option<R> {
        self.desk.borrow_mut().get(message).map(f)
    }
    /// Message `reply` answers message `request`.
    pub fn answers(&self, reply: MessageId, request: MessageId) {
        self.desk.borrow_mut().answers(reply, request);
    }
    /// What is known of a message that is here stays when it goes on, for the end of what it asks for.
    pub fn remember(&self, message: MessageId) {
        self.desk.borrow_mut().remember(message);
    }
    /// True if something has stayed.
    pub fn has_answered(&self, message: MessageId) -> bool {
        self.desk.borrow().answered.has(message)
    }
    /// The process has taken a message. True if that is the end of its way.
    pub fn taken(&self, message: MessageId) -> bool {
        self.desk.borrow_mut().taken(message)
    }
    /// The way of a message has ended.
    pub fn end(&self, message: MessageId) {
        self.desk.borrow_mut().end(message);
    }
    /// A message has not begun after all.
    pub fn forget(&self, message: MessageId) {
        self.desk.borrow_mut().forget(message);
    }
    /// Nobody takes a message.
    pub fn dropped(&self, message: MessageId) {
        self.desk.borrow_mut().dropped(message);
    }
    /// A message with this header enters the network. Its flight, if it has one, must reach the desk of the
    /// header's target not later than the message.
    #[must_use]
    pub fn injected(&self, at: Time, header: &PortalsHeader) -> Option<Box<Flight>> {
        let whole = header.flags & header_flag::INLINE != 0;
        self.desk.borrow_mut().leaves(MessageId::from(header), at, whole)
    }
    /// A message of another interface enters the network: its flight goes with it.
    #[must_use]
    pub fn departs(&self, at: Time, message: MessageId) -> Option<Box<Flight>> {
        self.desk.borrow_mut().leaves(message, at, false)
    }
    /// What is known of a message that comes.
    pub fn comes(&self, flight: Box<Flight>) {
        self.desk.borrow_mut().comes(flight);
    }
    /// The node is over, at `end`.
    pub fn finish(&self, end: Time) -> Told {
        let ranks = self.clerks.borrow_mut().drain(..).map(|clerk| clerk.finish(end)).collect();
        Told { unfinished: self.desk.borrow_mut().finish(), ranks }
    }
    /// The interface's write of its interrupt leaves it.
    pub fn interrupt_written(&self, at: Time) {
        let mut interrupts = self.interrupts.borrow_mut();
        if interrupts.len() == INTERRUPTS {
            interrupts.pop_front();
        }
        interrupts.push_back((at, None));
    }
    /// The interrupt has reached the host.
    pub fn interrupt_arrived(&self, at: Time) {
        let mut interrupts = self.interrupts.borrow_mut();
        if let Some(first) = first_on_its_way(&interrupts) {
            interrupts[first].1 = Some(at);
        }
    }
    /// The interrupt will never reach the host.
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
pub struct Cores(pub Rc<Journal>);

impl host::Observer for Cores {
    fn does(&self, core: usize, at: Time, class: host::Class) {
        self.0.watch(|watch| watch.core_does(core as u32, at, class));
    }
}
