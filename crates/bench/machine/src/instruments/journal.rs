//! Journal of a node, which its observers share: the hardware's observer and those of the libraries, which
//! run in fibres, all report to it.

use super::account::{Chain, Clerk, Meetings, Rank};
use super::message_trace::{Desk, Flight, Tallies, Unfinished, Waypoint};
use super::tables::Tables;
use super::timeline::Watch;
use abi::wire::{header_flag, PortalsHeader};
use abi::MessageId;
use des::Time;
use portals::EventKind;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

/// Records of a node's messages, shared between the hardware's observer and the libraries' observers.
pub struct Journal {
    desk: RefCell<Desk>,
    /// Clerk of each rank, in the order of their cores.
    clerks: RefCell<Vec<Clerk>>,
    launch: Time,
    /// Tables that get a row for each call.
    tables: Option<Arc<Tables>>,
    meetings: Arc<Meetings>,
    /// Time at which the last posted write of the host reaches the NIC.
    pub last_write_arrives: Cell<Time>,
    /// Interrupts on their way to the host and the last ones that arrived, oldest first: time of the
    /// firmware's write, and time of arrival.
    interrupts: RefCell<Interrupts>,
    /// The message that the firmware announces by its present store to a process's event ring.
    announces: Cell<Option<MessageId>>,
    /// Such stores on their way to the host, oldest first: physical address, and message.
    announcements: RefCell<VecDeque<(u64, MessageId)>>,
    /// True if there are observers, from the launch on.
    watched: Cell<bool>,
    watch: RefCell<Option<Box<Watch>>>,
}

/// Results of a node: its messages and its ranks.
#[derive(Debug, Default)]
pub struct Told {
    /// Messages that are here and have not come to their end.
    pub unfinished: Unfinished,
    /// The accounts of the ranks.
    pub ranks: Vec<Rank>,
}

/// Calls with which a rank sends a message.
pub(crate) struct Sending {
    pub rank: u32,
    /// The program's call: its time, and its function.
    pub called: Time,
    pub function: &'static str,
    /// Time of the call of `PtlPut` or its like, and whose call that is.
    pub put: Time,
    pub by: Waypoint,
    pub chain: Chain,
}

/// Properties of a message that begins, beside those that Portals knows.
pub(crate) struct Begins {
    /// The rank that it is for, if it is one.
    pub to: Option<u32>,
    /// The call of libfabric in which it begins, if there is one.
    pub above: Option<rank::FabricCall>,
}

type Interrupts = VecDeque<(Time, Option<Time>)>;

/// Number of interrupts that are kept.
const INTERRUPTS: usize = 32;

/// Index of the first interrupt that has not arrived: they arrive in order. The search begins at the end,
/// which is near.
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
            announces: Cell::default(),
            announcements: RefCell::default(),
            watched: Cell::default(),
            watch: RefCell::default(),
        }
    }
    /// Sets the ranks of the node, one for each core.
    pub fn employ(&self, ranks: std::ops::Range<u32>) {
        let clerk =
            |rank| Clerk::new(rank, self.launch, self.tables.clone(), self.meetings.clone());
        let clerks = ranks.map(clerk);
        *self.clerks.borrow_mut() = clerks.collect();
    }
    /// Passes an event to the clerk of the rank on a core, if there is one.
    pub fn account<R>(&self, core: u32, tell: impl FnOnce(&mut Clerk) -> R) -> Option<R> {
        self.clerks.borrow_mut().get_mut(core as usize).map(tell)
    }
    /// A process has an event of a message.
    pub fn takes(&self, core: u32, at: Time, message: MessageId, kind: EventKind) {
        let mut desk = self.desk.borrow_mut();
        let answered = match kind {
            EventKind::GetEnd => desk.answered.take(message),
            _ => None,
        };
        let flight = match kind {
            EventKind::PutEnd | EventKind::ReplyEnd => desk.get(message).map(|flight| &*flight),
            _ => answered.as_deref(),
        };
        let posted = flight.and_then(Flight::posted);
        self.account(core, |clerk| clerk.takes(at, kind, flight, posted));
    }
    /// A message of a rank begins.
    pub(crate) fn begin(&self, message: MessageId, sending: Sending) {
        let Sending { rank, called, function, put, by, chain } = sending;
        let mut desk = self.desk.borrow_mut();
        let flight = desk.begin(message);
        flight.chain = chain;
        flight.from = Some(rank);
        flight.sent_in = function;
        flight.mark(called, Waypoint::CALL_ENTERED);
        flight.mark(put, by);
    }
    /// A message of so many bytes for rank `to` begins that is the system's of node `nid`, not of a call.
    pub fn begin_in_system(&self, at: Time, message: MessageId, nid: u32, to: u32, bytes: u64) {
        let (function, chain, by) = ("system", Chain::default(), Waypoint::PUT_ENTERED);
        self.begin(message, Sending { rank: nid, called: at, function, put: at, by, chain });
        self.with(message, |flight| (flight.to, flight.bytes) = (Some(to), bytes));
    }
    /// Sets kind and receiver of a message that has begun: its payload, unless it is a part of another
    /// message.
    pub(crate) fn begun(
        &self,
        message: MessageId,
        begun: &portals::Begun,
        Begins { to, above }: Begins,
    ) -> Option<u64> {
        let mut desk = self.desk.borrow_mut();
        if let Some(flight) = desk.get(message) {
            flight.to = to;
        }
        desk.begun(message, begun, above)
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
    /// Keeps the record of a message that is here when the message moves on, for the end of its reply.
    pub fn remember(&self, message: MessageId) {
        self.desk.borrow_mut().remember(message);
    }
    /// True if a record was kept.
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
    /// Drops a message that has not begun after all.
    pub fn forget(&self, message: MessageId) {
        self.desk.borrow_mut().forget(message);
    }
    /// Counts a message that nobody takes.
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
    /// Takes the record of a message that is on its way here.
    pub fn comes(&self, flight: Box<Flight>) {
        self.desk.borrow_mut().comes(flight);
    }
    /// Ends the node at `end`.
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
    /// Time at which the firmware wrote the register for the interrupt that the host had at `arrived`.
    pub fn written_for(&self, arrived: Time) -> Option<Time> {
        let interrupts = self.interrupts.borrow();
        let mut latest = interrupts.iter().rev();
        latest.find(|(_, at)| *at == Some(arrived)).map(|(written, _)| *written)
    }

    /// The firmware stores the event that announces a message to a process on the network interface.
    pub(crate) fn announces(&self, at: Time, message: MessageId) {
        self.mark(at, message, Waypoint::INTERRUPT_WRITTEN);
        self.announces.set(Some(message));
    }
    /// That store goes to this address of host memory.
    pub fn announces_at(&self, phys: u64) {
        if let Some(message) = self.announces.take() {
            self.announcements.borrow_mut().push_back((phys, message));
        }
    }
    /// A store to so many bytes of host memory has arrived there.
    pub fn store_arrives(&self, at: Time, phys: u64, bytes: u64) {
        let mut stores = self.announcements.borrow_mut();
        while let Some((_, message)) =
            stores.pop_front_if(|(place, _)| (phys..phys + bytes).contains(place))
        {
            self.mark(at, message, Waypoint::INTERRUPT_ARRIVED);
        }
    }

    /// Sets the observer, which starts at the launch.
    pub fn set_watch(&self, watch: Watch) {
        *self.watch.borrow_mut() = Some(Box::new(watch));
    }
    /// Starts the observers at the launch, if there are any. True if so.
    pub fn begin_watch(&self) -> bool {
        self.watched.set(self.watch.borrow().is_some());
        self.watched.get()
    }
    /// Passes an event to the observers.
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
    /// Ends the observation.
    pub fn end_watch(&self) -> Option<Watch> {
        self.watched.set(false);
        self.watch.take().map(|watch| *watch)
    }
}

/// Passes the work of the cores to the observers.
pub struct Cores(pub Rc<Journal>);

impl host::Observer for Cores {
    fn does(&self, core: usize, at: Time, class: host::Class) {
        self.0.watch(|watch| watch.core_does(core as u32, at, class));
    }
}
