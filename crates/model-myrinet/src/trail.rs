//! Records of the program's packets on a node: the driver reports the host's actions, the card passes
//! points, and slots are seen on the cable. A card sends one packet at a time, and has one receive buffer;
//! packets of one node arrive in the order in which they were sent.
//!
//! ```text
//!  send ─► sending ─► cable ─► foreseen of its source ─► held by the card ─► driver ─► receive
//! ```

use ::myrinet::{Point, Slot};
use abi::myrinet::{packet_type, PacketHeader};
use abi::MessageId;
use des::Time;
use machine::instruments::calls::{Calls, Function};
use machine::instruments::journal::Journal;
use machine::instruments::message_trace::{MessageKind, Waypoint};
use machine::instruments::timeline::{Engine, Gauge};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

/// The calls of the program: there is no library that has others.
pub(super) const SEND: Function = (0, "dp_send");
pub(super) const RECEIVE: Function = (1, "dp_receive");

/// Numbers of the queues of which the depth is told ([`super::message_path::QUEUES`]).
const SLACK: u8 = 0;
const BUS: u8 = 1;

/// The packets of a node.
pub(super) struct Trail {
    nid: u32,
    journal: Rc<Journal>,
    pub calls: Calls,
    serial: Cell<u32>,
    /// Packet that the driver has given to the card, and its destination node, until it is on the cable.
    sending: Cell<Option<(MessageId, u32)>>,
    /// A packet is on its way out, and what is known of it.
    leaves: Cell<Option<Option<MessageId>>>,
    /// A packet is on its way in.
    comes: Cell<bool>,
    /// Times at which the packets began to arrive that are not in the receive buffer yet.
    begun: RefCell<VecDeque<Time>>,
    /// Packets that are on their way here, by the node that sent them.
    foreseen: RefCell<Vec<VecDeque<MessageId>>>,
    /// The packet in the receive buffer.
    held: Cell<Option<MessageId>>,
    waiting: Cell<usize>,
}

impl Trail {
    /// Of node `nid`, whose journal that is.
    pub fn new(nid: u32, nodes: u32, journal: Rc<Journal>) -> Trail {
        Trail {
            nid,
            calls: Calls::new(journal.clone(), (0, nid)),
            journal,
            serial: Cell::default(),
            sending: Cell::default(),
            leaves: Cell::default(),
            comes: Cell::default(),
            begun: RefCell::default(),
            foreseen: RefCell::new(vec![VecDeque::new(); nodes as usize]),
            held: Cell::default(),
            waiting: Cell::default(),
        }
    }

    // ---- the driver --------------------------------------------------------------------------------------

    /// The program sends a packet.
    pub fn sends(&self, now: Time, target: u16, bytes: usize) -> MessageId {
        let serial = self.serial.get();
        self.serial.set(serial + 1);
        let message = MessageId { source_nid: self.nid as u16, serial };
        self.calls.enters(now, SEND);
        self.calls.sends(now, message, (target.into(), bytes as u64));
        self.journal.with(message, |flight| flight.kind = MessageKind::Send);
        self.sending.set(Some((message, target.into())));
        message
    }

    /// A packet passes a waypoint.
    pub fn mark(&self, now: Time, message: MessageId, waypoint: Waypoint) {
        self.journal.mark(now, message, waypoint);
    }

    /// The driver has written packet and command.
    pub fn commanded(&self, now: Time, message: MessageId) {
        self.calls.handed_over(now, message);
        self.journal.account(0, |clerk| clerk.commanded(now, message));
    }

    /// The packet that stands in the receive buffer.
    pub fn held(&self) -> Option<MessageId> {
        self.held.get()
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

    // ---- the bus -----------------------------------------------------------------------------------------

    /// The command stands in the card's memory.
    pub fn command_arrives(&self, now: Time) {
        if let Some((message, _)) = self.sending.get() {
            self.mark(now, message, Waypoint::CommandArrived);
        }
    }

    /// The interrupt is at the host's processor at `at`.
    pub fn interrupts(&self, at: Time) {
        if let Some(message) = self.held.get() {
            self.mark(at, message, Waypoint::InterruptArrived);
        }
    }

    /// So many accesses of the host wait.
    pub fn bus(&self, now: Time, waiting: usize) {
        if self.waiting.replace(waiting) != waiting {
            self.depth(now, Gauge::Own(BUS), Some(waiting as u32));
        }
    }

    // ---- the cable ---------------------------------------------------------------------------------------

    /// A slot leaves: the message whose first it is, and the node that it is for.
    pub fn slot_leaves(&self, at: Time, slot: &Slot) -> Option<(MessageId, u32)> {
        let first = self.leaves.get().is_none().then(|| self.sending.take()).flatten();
        if self.leaves.get().is_none() {
            self.leaves.set(Some(first.map(|(message, _)| message)));
        }
        if let Some((message, _)) = first {
            let stage = Some("sends");
            self.journal.watch(|watch| watch.stage(at, Engine::Transmit, message, stage));
        }
        if slot.ends {
            if let Some(message) = self.leaves.take().flatten() {
                self.journal.watch(|watch| watch.stage(at, Engine::Transmit, message, None));
            }
        }
        first
    }

    /// A slot comes.
    pub fn slot_comes(&self, now: Time, slot: &Slot) {
        if !self.comes.replace(!slot.ends) {
            self.begun.borrow_mut().push_back(now);
        }
    }

    /// A packet is on its way here.
    pub fn foreseen(&self, message: MessageId) {
        if let Some(known) = self.foreseen.borrow_mut().get_mut(usize::from(message.source_nid)) {
            known.push_back(message);
        }
    }

    // ---- the card ----------------------------------------------------------------------------------------

    /// The card has passed a point; that is its memory.
    pub fn passes(&self, at: Time, point: Point, sram: &[u8]) {
        match point {
            Point::Asked => {
                if let Some((message, _)) = self.sending.get() {
                    self.mark(at, message, Waypoint::HeaderCommanded);
                }
            }
            Point::Received(from) => self.received(at, sram.get(from as usize..)),
            Point::Signalled => self.mark_held(at, Waypoint::InterruptWritten, None),
            Point::Started => self.mark_held(at, Waypoint::ReceiveArrived, Some("DMA to the host")),
            Point::Moved => {
                self.mark_held(at, Waypoint::Deposited, Some("waits for the control program"));
            }
            Point::Released => {
                self.mark_held(at, Waypoint::Completed, None);
                if let Some(message) = self.held.take() {
                    self.journal.watch(|watch| watch.stage(at, Engine::Receive, message, None));
                }
            }
            Point::Held(bytes) => self.depth(at, Gauge::Own(SLACK), Some(bytes)),
        }
    }

    /// The packet in the receive buffer passes a waypoint, and is at a stage from now on.
    fn mark_held(&self, at: Time, waypoint: Waypoint, stage: Option<&str>) {
        let Some(message) = self.held.get() else { return };
        self.mark(at, message, waypoint);
        if stage.is_some() {
            self.journal.watch(|watch| watch.stage(at, Engine::Receive, message, stage));
        }
    }

    /// A packet is in the receive buffer, where one for the host stands until that has it.
    fn received(&self, at: Time, packet: Option<&[u8]>) {
        let begun = self.begun.borrow_mut().pop_front();
        let header = packet.and_then(PacketHeader::parse);
        let Some(header) = header.filter(|header| header.kind == packet_type::DP) else { return };
        let source = usize::from(header.source);
        let mut foreseen = self.foreseen.borrow_mut();
        let Some(message) = foreseen.get_mut(source).and_then(VecDeque::pop_front) else { return };
        self.held.set(Some(message));
        if let Some(begun) = begun {
            self.mark(begun, message, Waypoint::Arrived);
        }
        self.mark_held(at, Waypoint::Announced, Some("waits for the host"));
    }
}
