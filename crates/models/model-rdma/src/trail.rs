//! Observation of the program's messages at the pins of a card: the times at which a descriptor comes over
//! the bus, its source is read, its packet starts on the lanes, arrives at the other end and is in memory.
//! A card keeps all of these in order, so counting is enough; and the card, which is not looked into, may
//! be model or RTL.
//!
//! ```text
//!  library ─► posted ─► queued ─► read ─► ready ─► sending ─►     pieces of messages, a descriptor each
//!  lanes ─► comes ─► to memory ─►                                 packets
//!  lanes ─► foreseen of their source ─► here, or rung ─► process, or handler
//! ```

use super::module::is_for_handler;
use super::settings::NODES_MAX;
use crate::message_path::{ANNOUNCED, DEPOSITED, HEADER_COMMANDED};
use abi::forth::mark;
use abi::MessageId;
use des::Time;
use forth_nic::Arrival;
use machine::instruments::journal::Journal;
use machine::instruments::message_trace::{Flight, Waypoint};
use machine::instruments::stages::{Piece, Stage, Stages};
use machine::instruments::timeline::Engine;
use packets::{Brought, Packets};
use pins::Seen;
use serial::{Symbol, Word};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

pub(crate) use pins::Pins;

mod of_storage;
mod packets;
mod pins;

/// Pieces on their way out, with the node that each is for; queues have their numbers in
/// [`QUEUES`](crate::message_path::QUEUES). The card drops a posted one of no message.
const OUT: [Stage; 5] = [
    Stage::SILENT,
    Stage::SILENT.in_queue(0).marks(Waypoint::COMMAND_ARRIVED),
    Stage::SILENT.in_queue(1).marks(HEADER_COMMANDED).shows("reads"),
    Stage::SILENT.in_queue(2),
    Stage::SILENT.shows("sends"),
];
const POSTED: usize = 0;
const QUEUED: usize = 1;
const READ: usize = 2;
const READY: usize = 3;
const SENDING: usize = 4;

/// Packets on their way in. A message ends when its last one is in memory, behind these.
const IN: [Stage; 2] = [
    Stage::SILENT.in_queue(3).shows("comes"),
    Stage::SILENT.in_queue(3).marks(ANNOUNCED).shows("to memory"),
];
const COMES: usize = 0;
const TO_MEMORY: usize = 1;

/// The messages of a node.
pub(super) struct Trail {
    nid: u32,
    journal: Rc<Journal>,
    serial: Cell<u32>,
    /// Time of the card's last interrupt.
    raised: Cell<Time>,
    out: RefCell<Stages<u32>>,
    come: RefCell<Come>,
}

/// A message that is expected, and how many of its packets have begun to come and have come to memory.
#[derive(Clone, Copy, Debug)]
struct Expected {
    message: MessageId,
    packets: u32,
    begun: u32,
    landed: u32,
    /// A packet of it was spoilt.
    spoilt: bool,
    /// Somebody waits for it.
    awaited: bool,
    /// True if somebody has found it in memory before the card said so.
    taken: bool,
}

/// Something that the handler has found of a node, and when it was entered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drain {
    pub entered: Time,
    pub now: Time,
    pub source: u32,
}

/// Messages that come, by their sender.
struct Come {
    lanes: Packets,
    foreseen: [VecDeque<Expected>; NODES_MAX as usize],
    landing: Stages,
    /// In memory, and waited for by the process; and by the handler.
    here: [VecDeque<MessageId>; NODES_MAX as usize],
    rung: [VecDeque<MessageId>; NODES_MAX as usize],
    /// A packet was lost, so that counting tells nothing any more.
    lost: bool,
    /// The last that the handler has found, for a process that sleeps.
    drained: Option<MessageId>,
}

impl Trail {
    /// Of node `nid`.
    pub fn new(nid: u32, journal: Rc<Journal>) -> Trail {
        let come = Come {
            lanes: Packets::new(),
            foreseen: Default::default(),
            landing: Stages::new(journal.clone(), Engine::Receive, &IN),
            here: Default::default(),
            rung: Default::default(),
            lost: false,
            drained: None,
        };
        Trail {
            nid,
            serial: Cell::default(),
            raised: Cell::default(),
            out: RefCell::new(Stages::new(journal.clone(), Engine::Transmit, &OUT)),
            come: RefCell::new(come),
            journal,
        }
    }

    // ---- the library -------------------------------------------------------------------------------------

    /// The name of the next message.
    pub fn name(&self) -> MessageId {
        let serial = self.serial.get();
        self.serial.set(serial + 1);
        MessageId { source_nid: self.nid, serial }
    }

    /// A message has begun: how many packets it is, and whether somebody waits for it at the other end.
    pub fn begins(&self, message: MessageId, packets: u32, awaited: bool) {
        self.journal.with(message, |flight| {
            (flight.packets, flight.kept) = (packets, awaited);
        });
    }

    /// A descriptor is posted, for its piece of a message or for nobody.
    pub fn posts(&self, now: Time, piece: Piece<u32>) {
        self.out.borrow_mut().enter(now, POSTED, piece);
    }

    /// The message from `source` for which a process has waited is in its memory.
    pub fn found(&self, now: Time, source: u32) -> Option<MessageId> {
        let come = &mut *self.come.borrow_mut();
        let here = come.here[source as usize].pop_front();
        here.or_else(|| self.early(now, &mut come.foreseen[source as usize]))
    }

    /// The word that was waited for is there before the card knows that it is.
    fn early(&self, now: Time, foreseen: &mut VecDeque<Expected>) -> Option<MessageId> {
        let first = foreseen.iter_mut().find(|one| one.awaited && !one.taken && one.begun > 0)?;
        first.taken = true;
        self.journal.mark(now, first.message, DEPOSITED);
        Some(first.message)
    }

    // ---- the module --------------------------------------------------------------------------------------

    /// One for node `to` begins, in the handler: it ends in memory there.
    pub fn begins_in_module(&self, now: Time, to: u32, bytes: u64) -> MessageId {
        let message = self.name();
        self.journal.begin_in_system(now, message, self.nid, to, bytes);
        self.begins(message, 1, false);
        message
    }

    /// It is with the card, as far as the processor knows.
    pub fn hands_over(&self, now: Time, message: MessageId) {
        self.journal.mark(now, message, Waypoint::COMMAND_WRITTEN);
    }

    // ---- the handler -------------------------------------------------------------------------------------

    /// The handler has found that somebody has rung; `sleeps`: a process waits for such a ring. He has found
    /// so many at most.
    pub fn drains(&self, drain: Drain, sleeps: bool, most: usize) {
        let Drain { entered, now, source } = drain;
        let come = &mut *self.come.borrow_mut();
        let rung = &mut come.rung[source as usize];
        if rung.is_empty() {
            rung.extend(self.early(now, &mut come.foreseen[source as usize]));
        }
        let rung = &mut come.rung[source as usize];
        for message in rung.drain(..most.min(rung.len())) {
            let interrupt = self.raised.get().min(entered);
            self.journal.with(message, |flight| {
                // One that came while the handler ran has not waited for it.
                if flight.at(DEPOSITED).is_some_and(|at| at <= entered) {
                    flight.mark(interrupt.max(entered), Waypoint::COMPLETION_ENTERED);
                }
                flight.mark(now, Waypoint::COMPLETION_DRAINED);
            });
            let before = if sleeps { come.drained.replace(message) } else { Some(message) };
            before.into_iter().for_each(|message| self.journal.end(message));
        }
    }

    /// The ring that a process which has slept goes on with.
    pub fn woken(&self) -> Option<MessageId> {
        self.come.borrow_mut().drained.take()
    }

    // ---- the card ----------------------------------------------------------------------------------------

    /// The card's interrupt rises.
    pub fn raises(&self, now: Time) {
        self.raised.set(now);
    }

    /// A message comes, which has left its sender.
    pub fn foreseen(&self, message: MessageId) {
        let told = |flight: &mut Flight| (flight.packets, flight.kept);
        let Some((packets, awaited)) = self.journal.with(message, told) else { return };
        let expected = Expected {
            message,
            packets,
            begun: 0,
            landed: 0,
            spoilt: false,
            awaited,
            taken: false,
        };
        let come = &mut *self.come.borrow_mut();
        if come.lost {
            return self.journal.dropped(message);
        }
        come.foreseen[message.source_nid as usize].push_back(expected);
    }

    /// Handles the actions of the bus on the card at the edge at `now`.
    pub fn bus(&self, now: Time, seen: Seen) {
        let out = &mut *self.out.borrow_mut();
        for _ in 0..seen.descriptors {
            match out.message(POSTED) {
                Some(_) => out.pass(now, POSTED),
                None => out.leave(now, POSTED),
            };
        }
        if seen.accepted {
            out.pass(now, QUEUED);
        }
        if seen.read {
            out.pass(now, READ);
        }
        out.tell(now);
        let landing = &mut self.come.borrow_mut().landing;
        if seen.wrote && landing.pieces(TO_MEMORY).is_empty() {
            landing.pass(now, COMES);
        }
    }

    /// The last word of a packet has left the card.
    pub fn passes(&self, now: Time) {
        let landing = &mut self.come.borrow_mut().landing;
        let stage = if landing.pieces(TO_MEMORY).is_empty() { COMES } else { TO_MEMORY };
        landing.leave(now, stage);
        landing.tell(now);
    }

    /// A packet is in memory.
    pub fn landed(&self, now: Time, arrival: &Arrival) {
        let Arrival { header, good } = arrival;
        let source = usize::from(header.source);
        let come = &mut *self.come.borrow_mut();
        let Some(expected) = come.foreseen.get_mut(source).and_then(VecDeque::front_mut) else {
            return;
        };
        expected.landed += 1;
        expected.spoilt |= !good;
        let Expected { message, packets, landed, spoilt, awaited, taken, .. } = *expected;
        if landed < packets {
            return;
        }
        come.foreseen[source].pop_front();
        self.journal.mark(now, message, DEPOSITED);
        self.journal.watch(|watch| watch.stage(now, Engine::Receive, message, None));
        let rings = is_for_handler(self.nid, source as u32, header.destination.into());
        match (taken, awaited) {
            (true, _) => {}
            _ if spoilt => self.journal.dropped(message),
            (_, true) if rings => come.rung[source].push_back(message),
            (_, true) => come.here[source].push_back(message),
            (_, false) => self.journal.end(message),
        }
    }

    /// An edge of the lanes: what came, and what goes. Gives the message that leaves with its first packet,
    /// and the node to which.
    pub fn lanes(&self, now: Time, came: Option<Word>, sent: Symbol) -> Option<(MessageId, u32)> {
        if let Some(word) = came {
            self.comes(now, word);
        }
        if sent.control == 0 {
            return None;
        }
        let out = &mut *self.out.borrow_mut();
        let starts = sent.bytes & 0xFFFF == u32::from(mark::START);
        if starts || sent.is_idle() {
            out.leave(now, SENDING);
        }
        if !starts {
            return None;
        }
        let piece = out.pass(now, READY)?;
        out.tell(now);
        piece.message.filter(|_| piece.first).map(|message| (message, piece.with))
    }

    /// A packet of somebody's is lost: which message of his comes next is not known any more.
    #[cold]
    fn give_up(&self, come: &mut Come) {
        come.lost = true;
        for expected in come.foreseen.iter_mut().flat_map(|all| all.drain(..)) {
            self.journal.dropped(expected.message);
        }
    }

    fn comes(&self, now: Time, word: Word) {
        let come = &mut *self.come.borrow_mut();
        let (header, start) = match come.lanes.word(now, word) {
            Brought::Nothing => return,
            Brought::Header(header, start) => (header, start),
            Brought::Stray => return self.give_up(come),
        };
        let foreseen = come.foreseen.get_mut(usize::from(header.source));
        let next = foreseen.and_then(|all| all.iter_mut().find(|one| one.begun < one.packets));
        let first = next.and_then(|next| {
            next.begun += 1;
            (next.begun == 1).then_some(next.message)
        });
        let Some(message) = first else {
            come.landing.enter(now, COMES, Piece::nobody(()));
            return come.landing.tell(now);
        };
        self.journal.mark(start, message, Waypoint::ARRIVED);
        let piece = Piece { last: false, ..Piece::whole(message, ()) };
        come.landing.enter(now, COMES, piece);
        come.landing.tell(now);
    }
}
