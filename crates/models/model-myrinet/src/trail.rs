//! Records of the program's packets on a node: the driver reports the host's actions, the card passes
//! points, and slots are seen on the cable. A card sends one packet at a time, and has one receive buffer.
//! The id of a packet goes beside its first slot.
//!
//! ```text
//!  send ─► given ─► leaves ─► cable ─► comes ─► held by the card ─► driver ─► receive
//! ```

use crate::message_path::{ANNOUNCED, COMPLETED, DEPOSITED, HEADER_COMMANDED, RECEIVE_COMMANDED};
use ::myrinet::{Point, Slot};
use abi::myrinet::{packet_type, PacketHeader};
use abi::MessageId;
use des::Time;
use machine::instruments::calls::{Calls, Function};
use machine::instruments::journal::Journal;
use machine::instruments::message_trace::{MessageKind, Part, Waypoint};
use machine::instruments::stages::{Piece, Stage, Stages};
use machine::instruments::timeline::{Engine, Flow, Gauge, Track};
use machine::placement::Placed;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// The calls of the program: there is no library that has others.
pub(super) const SEND: Function = (0, "dp_send");
pub(super) const RECEIVE: Function = (1, "dp_receive");
/// Those of programs in guests.
const WRITE: Function = (2, "dp_write");
const READ: Function = (3, "dp_read");
const LIBRARY_SEND: Function = (4, "bp_send");
const LIBRARY_WAIT: Function = (5, "bp_wait");

/// Numbers of the queues of which the depth is told ([`super::message_path::QUEUES`]).
const SLACK: u8 = 0;
const BUS: u8 = 1;

/// Packets on their way out, with the node that each is for. The card has one at a time.
const OUT: [Stage; 2] = [Stage::SILENT, Stage::SILENT.shows("sends")];
const GIVEN: usize = 0;
const LEAVES: usize = 1;

/// Packets on their way in. The receive buffer holds one.
const IN: [Stage; 2] = [
    Stage::SILENT.marks(Waypoint::ARRIVED),
    Stage::SILENT.marks(ANNOUNCED).shows("waits for the host"),
];
const COMES: usize = 0;
const HELD: usize = 1;

/// The packets of a node.
pub(super) struct Trail {
    nid: u32,
    nodes: u32,
    journal: Rc<Journal>,
    pub calls: Calls,
    serial: Cell<u32>,
    out: RefCell<Stages<u32>>,
    come: RefCell<Stages>,
    /// Slots of a packet have begun to come, and the last has not.
    comes: Cell<bool>,
    waiting: Cell<usize>,
}

impl Trail {
    /// Of node `nid`, whose journal that is.
    pub fn new(nid: u32, nodes: u32, journal: Rc<Journal>) -> Trail {
        Trail {
            nid,
            nodes,
            calls: Calls::new(journal.clone(), Placed { core: 0, rank: nid }),
            serial: Cell::default(),
            out: RefCell::new(Stages::new(journal.clone(), Engine::Transmit, &OUT)),
            come: RefCell::new(Stages::new(journal.clone(), Engine::Receive, &IN)),
            comes: Cell::default(),
            waiting: Cell::default(),
            journal,
        }
    }

    /// The id of the next packet.
    fn name(&self) -> MessageId {
        let serial = self.serial.get();
        self.serial.set(serial + 1);
        MessageId { source_nid: self.nid, serial }
    }

    // ---- the driver --------------------------------------------------------------------------------------

    /// The program sends a packet.
    pub fn sends(&self, now: Time, target: u16, bytes: usize) -> MessageId {
        let message = self.name();
        self.calls.enters(now, SEND);
        self.calls.sends(now, message, target.into(), bytes as u64);
        self.journal.with(message, |flight| flight.kind = MessageKind::Send);
        self.gives(now, Some(Piece::whole(message, target.into())));
        message
    }

    /// The card has this to send, and nothing else.
    fn gives(&self, now: Time, piece: Option<Piece<u32>>) {
        let out = &mut *self.out.borrow_mut();
        out.leave(now, GIVEN);
        piece.into_iter().for_each(|piece| out.enter(now, GIVEN, piece));
    }

    /// A packet passes a waypoint.
    pub fn mark(&self, now: Time, message: MessageId, waypoint: Waypoint) {
        self.journal.mark(now, message, waypoint);
    }

    /// The driver has written packet and command.
    pub fn commanded(&self, now: Time, message: MessageId) {
        self.calls.handed_over(now, message);
        self.journal.account(0, |clerk| clerk.handed_over(now, message, Part::Kernel));
    }

    /// The packet that stands in the receive buffer.
    pub fn held(&self) -> Option<MessageId> {
        self.come.borrow().message(HELD)
    }

    /// The driver keeps a packet for which nobody waits.
    pub fn keeps(&self, now: Time) {
        let length = self.journal.account(0, |clerk| clerk.keeps(now));
        self.depth(now, Gauge::Unexpected(self.nid), length);
    }
    /// It is asked for.
    pub fn claims(&self, now: Time) {
        let length = self.journal.account(0, |clerk| clerk.claims(now));
        self.depth(now, Gauge::Unexpected(self.nid), length);
    }

    fn depth(&self, now: Time, gauge: Gauge, length: Option<u32>) {
        if let Some(length) = length {
            self.journal.watch(|watch| watch.length(now, gauge, length));
        }
    }

    // ---- a guest's module --------------------------------------------------------------------------------

    /// A guest's module has commanded a packet: the instants at which its call began, the module first looked
    /// at the card, and the command was stored. None if it is for no node.
    pub fn module_sends(&self, times: [Time; 3], header: &PacketHeader) -> Option<Sent> {
        let [begun, looks, commanded] = times;
        let to = u32::from(header.target);
        if to >= self.nodes {
            return None;
        }
        let (message, bytes) = (self.name(), u64::from(header.length));
        let in_call = header.kind == packet_type::DP;
        if in_call {
            self.calls.enters(begun, WRITE);
            self.calls.sends(begun, message, to, bytes);
            self.journal.with(message, |flight| flight.kind = MessageKind::Send);
        } else {
            self.journal.begin_in_system(begun, message, self.nid, to, bytes);
        }
        self.mark(looks, message, Waypoint::KERNEL_ENTERED);
        self.module(looks, message, "looks at the card");
        self.commanded(commanded, message);
        self.module(commanded, message, "commands");
        self.gives(commanded, Some(Piece::whole(message, to)));
        Some(Sent { message, in_call })
    }

    /// The module does something with a packet.
    pub fn module(&self, at: Time, message: MessageId, what: &str) {
        self.point(at, Track::Core(0), message, what);
    }

    fn point(&self, at: Time, track: Track, message: MessageId, what: &str) {
        self.journal.watch(|watch| watch.point(at, track, what, message, Flow::Step));
    }

    /// It knows that the card has sent it; or not (`done`), and then nobody will have it.
    pub fn module_has_sent(&self, now: Time, sent: Sent, done: bool) {
        if !done {
            self.gives(now, None);
            self.drops(sent.message);
        }
        if sent.in_call {
            self.calls.awaited_interface(now);
            self.calls.returns(now);
        }
    }

    /// True of a packet for a process, which may wait for it; none of another kind.
    pub fn is_for_reader(&self, message: MessageId) -> bool {
        self.journal.with(message, |flight| flight.kind == MessageKind::Send).unwrap_or_default()
    }

    /// A call has read a packet, from its beginning to its return.
    pub fn module_has_read(&self, [begun, now]: [Time; 2], message: MessageId) {
        self.calls.enters(begun, READ);
        let posted =
            self.journal.with(message, |flight| flight.at(Waypoint::EVENT_POSTED)).flatten();
        if posted.is_some_and(|posted| posted <= begun) {
            // It was there before: all is the call's own work.
            self.calls.works(now, Part::Kernel);
        }
        self.calls.takes(now, message, Waypoint::EVENT_POSTED);
        self.calls.returns(now);
        self.journal.end(message);
    }

    /// The way of a packet ends in memory, with the module or an event: nobody was seen to take it.
    pub fn ends_in_memory(&self, message: MessageId) {
        self.journal.with(message, |flight| flight.kind = MessageKind::Put);
        self.journal.end(message);
    }

    // ---- a guest's process -------------------------------------------------------------------------------

    /// A process has begun to write a message into its ring at `begun`, and now stores the last of it. None
    /// if it is for no node.
    pub fn process_sends(&self, [begun, now]: [Time; 2], to: u32, bytes: u64) -> Option<MessageId> {
        let message = (to < self.nodes).then(|| self.name())?;
        self.calls.enters(begun, LIBRARY_SEND);
        self.calls.sends(begun, message, to, bytes);
        self.journal.with(message, |flight| flight.kind = MessageKind::Send);
        self.point(now, Track::Core(0), message, "stores into the ring");
        Some(message)
    }

    /// All of it has left the processor.
    pub fn process_has_sent(&self, now: Time, message: MessageId) {
        self.calls.handed_over(now, message);
        self.journal.account(0, |clerk| clerk.handed_over(now, message, Part::Library));
        self.calls.returns(now);
    }

    /// A call has waited for an event from its beginning to its return.
    pub fn process_waits(&self, [begun, now]: [Time; 2], found: Found) {
        self.calls.enters(begun, LIBRARY_WAIT);
        match found {
            Found::Message(Some(message)) => self.process_finds(now, message),
            Found::Message(None) | Found::Nothing => {}
            Found::Sent => self.calls.awaited_interface(now),
        }
        self.calls.returns(now);
    }

    /// A process has seen the event of a message.
    pub fn process_finds(&self, now: Time, message: MessageId) {
        // The bus may have told of the event's end later than its bytes were in memory.
        self.mark(now, message, Waypoint::EVENT_POSTED);
        self.calls.takes(now, message, Waypoint::EVENT_POSTED);
        self.journal.end(message);
    }

    /// The card has begun to bring a message to its place, from its buffer, where a whole copy of it is:
    /// when that came, and when the buffer had it.
    pub fn delivers(&self, at: Time, message: MessageId, [came, had]: [Time; 2]) {
        self.mark(came, message, Waypoint::REPEATED);
        self.mark(had, message, ANNOUNCED);
        self.mark(at, message, RECEIVE_COMMANDED);
        self.point(at, Track::Firmware, message, "delivers");
        self.receive_stage(at, message, Some("DMA to the host"));
    }

    /// Its event is behind it, and the buffer is free.
    pub fn has_delivered(&self, at: Time, message: MessageId) {
        self.mark(at, message, Waypoint::EVENT_POSTED);
        self.receive_stage(at, message, None);
    }

    fn receive_stage(&self, at: Time, message: MessageId, stage: Option<&str>) {
        self.journal.watch(|watch| watch.stage(at, Engine::Receive, message, stage));
    }

    /// The control program gives a packet to the send interface: a message with its destination node, or
    /// something that has no id.
    pub fn asks(&self, at: Time, what: Option<(MessageId, u32)>) {
        self.gives(at, what.map(|(message, to)| Piece::whole(message, to)));
        self.asked(at);
    }

    /// The card begins to send what it was given.
    fn asked(&self, at: Time) {
        if let Some(message) = self.out.borrow().message(GIVEN) {
            self.mark(at, message, HEADER_COMMANDED);
            self.point(at, Track::Firmware, message, "sends");
        }
    }

    /// Nobody will have a packet.
    pub fn drops(&self, message: MessageId) {
        self.journal.dropped(message);
    }

    // ---- the bus -----------------------------------------------------------------------------------------

    /// The command stands in the card's memory.
    pub fn command_arrives(&self, now: Time) {
        self.out.borrow().mark(now, GIVEN, Waypoint::COMMAND_ARRIVED);
    }

    /// The interrupt is at the host's processor at `at`.
    pub fn interrupts(&self, at: Time) {
        self.come.borrow().mark(at, HELD, Waypoint::INTERRUPT_ARRIVED);
    }

    /// So many accesses of the host wait.
    pub fn bus(&self, now: Time, waiting: usize) {
        if self.waiting.replace(waiting) != waiting {
            self.depth(now, Gauge::Own(BUS), Some(waiting as u32));
        }
    }

    // ---- the cable ---------------------------------------------------------------------------------------

    /// The card is reset: what was in it is lost.
    pub fn resets(&self, now: Time) {
        let out = &mut *self.out.borrow_mut();
        out.leave(now, LEAVES);
        out.drop(now, GIVEN);
        self.come.borrow_mut().drop(now, HELD);
    }

    /// A slot leaves, and gets the id of its message, if it is the first: the message, and the node that it
    /// is for.
    pub fn slot_leaves(&self, at: Time, slot: &mut Slot) -> Option<(MessageId, u32)> {
        let out = &mut *self.out.borrow_mut();
        let mut first = None;
        if out.pieces(LEAVES).is_empty() {
            first = out.pass(at, GIVEN);
            if first.is_none() {
                out.enter(at, LEAVES, Piece::nobody(self.nid));
            }
        }
        slot.id = first.and_then(|piece| piece.message);
        if slot.ends {
            out.leave(at, LEAVES);
        }
        first.and_then(|piece| Some((piece.message?, piece.with)))
    }

    /// A slot comes.
    pub fn slot_comes(&self, now: Time, slot: &Slot) {
        if !self.comes.replace(!slot.ends) {
            self.come.borrow_mut().enter(now, COMES, Piece::of(slot.id, ()));
        }
    }

    // ---- the card ----------------------------------------------------------------------------------------

    /// The card has passed a point.
    pub fn passes(&self, at: Time, point: Point) {
        match point {
            Point::Asked => self.asked(at),
            Point::Received { good, .. } => self.received(at, good),
            Point::Discarded => self.come.borrow_mut().drop(at, COMES),
            Point::Signalled { .. } => {
                self.mark_held(at, Waypoint::INTERRUPT_WRITTEN, None);
                if let Some(message) = self.held() {
                    self.point(at, Track::Firmware, message, "signals the host");
                }
            }
            Point::Fetches => {}
            Point::Started => {
                self.mark_held(at, Waypoint::RECEIVE_ARRIVED, Some("DMA to the host"))
            }
            Point::Moved => {
                self.mark_held(at, DEPOSITED, Some("waits for the control program"));
            }
            Point::Released => {
                self.mark_held(at, COMPLETED, None);
                self.come.borrow_mut().leave(at, HELD);
            }
            Point::Held(bytes) => self.depth(at, Gauge::Own(SLACK), Some(bytes)),
        }
    }

    /// The packet in the receive buffer passes a waypoint, and is at a stage from now on.
    fn mark_held(&self, at: Time, waypoint: Waypoint, stage: Option<&str>) {
        let Some(message) = self.held() else { return };
        self.mark(at, message, waypoint);
        if stage.is_some() {
            self.journal.watch(|watch| watch.stage(at, Engine::Receive, message, stage));
        }
    }

    /// A packet is in the receive buffer, where one for the host stands until that has it: one that stood
    /// there was nothing for the host.
    fn received(&self, at: Time, good: bool) {
        let come = &mut *self.come.borrow_mut();
        come.drop(at, HELD);
        if good && come.message(COMES).is_some() {
            come.pass(at, COMES);
        } else {
            come.drop(at, COMES);
        }
    }
}

/// Finding of a call that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// A message, whose id is known or not.
    Message(Option<MessageId>),
    /// One of its own is over.
    Sent,
    /// Nothing, and its time is over.
    Nothing,
}

/// A packet that a guest's module has given to the card.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    message: MessageId,
    /// It is of a system call that waits until it is sent.
    in_call: bool,
}
