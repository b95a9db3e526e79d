//! Observation of the program's messages at the pins of a card: the times at which a descriptor comes over
//! the bus, its source is read, its packet starts on the lanes, arrives at the other end and is in memory.
//! A card keeps all of these in order, so counting is enough; and the card, which is not looked into, may
//! be model or RTL.
//!
//! ```text
//!  library ─► posted ─► queued ─► read ─► ready ─► lanes        pieces of messages, a descriptor each
//!  lanes ─► foreseen of their source ─► here, or rung ─► process, or handler
//! ```

use super::module::is_for_handler;
use super::settings::NODES_MAX;
use crate::message_path::{ANNOUNCED, DEPOSITED, HEADER_COMMANDED};
use abi::forth::{mark, QUEUE_SIZE};
use abi::MessageId;
use des::Time;
use forth_nic::{Arrival, Header};
use machine::instruments::journal::Journal;
use machine::instruments::message_trace::Waypoint;
use machine::instruments::timeline::{Engine, Gauge};
use pci::{Device, DeviceIn, DeviceOut, Operation};
use serial::{Symbol, Word};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

mod of_module;
mod of_storage;

/// The messages of a node.
pub(super) struct Trail {
    nid: u32,
    journal: Rc<Journal>,
    serial: Cell<u32>,
    /// Time of the card's last interrupt.
    raised: Cell<Time>,
    out: RefCell<Out>,
    come: RefCell<Come>,
    /// Depths of the queues, as they were told.
    depths: Cell<[u32; QUEUES]>,
}

/// Part of a message that a descriptor describes.
#[derive(Clone, Copy, Debug)]
struct Piece {
    message: MessageId,
    to: u32,
    first: bool,
    last: bool,
}

/// Pieces on their way out, by where they are.
#[derive(Default)]
struct Out {
    /// `None`: the card will drop it.
    posted: VecDeque<Option<Piece>>,
    queued: VecDeque<Piece>,
    read: VecDeque<Piece>,
    ready: VecDeque<Piece>,
    /// That whose packet is on the lanes.
    sending: Option<Piece>,
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

/// Messages that come, by their sender.
struct Come {
    lanes: Packets,
    foreseen: [VecDeque<Expected>; NODES_MAX as usize],
    /// Packets that have begun to come, oldest first: the message, if it is its first.
    landing: VecDeque<Option<MessageId>>,
    /// The next word to memory is the first of its packet.
    fresh: bool,
    /// In memory, and waited for by the process; and by the handler.
    here: [VecDeque<MessageId>; NODES_MAX as usize],
    rung: [VecDeque<MessageId>; NODES_MAX as usize],
    /// A packet was lost, so that counting tells nothing any more.
    lost: bool,
    /// The last that the handler has found, for a process that sleeps.
    drained: Option<MessageId>,
}

/// Finds packets in what comes over the lanes.
struct Packets {
    state: State,
}

#[derive(Clone, Copy)]
enum State {
    /// So many words of a packet are still to come; of none between packets.
    Rest(u16),
    First {
        start: Time,
    },
    Second {
        start: Time,
        word: u64,
    },
}

/// Part of a packet that an edge has brought.
enum Brought {
    Nothing,
    /// A packet's header, and the time of its beginning.
    Header(Header, Time),
    /// Words without a beginning, or a header that says nothing: a packet whose sender nobody knows.
    Stray,
}

impl Packets {
    /// A word comes.
    fn word(&mut self, now: Time, word: Word) -> Brought {
        match (word, self.state) {
            (Word::Start, _) => self.state = State::First { start: now },
            (Word::Data(word), State::First { start }) => {
                self.state = State::Second { start, word };
            }
            (Word::Data(second), State::Second { start, word }) => {
                let header = Header::parse([word, second]);
                // Behind a header that says nothing nobody knows how long its packet is.
                let rest = header.map_or(u16::MAX, |header| header.words + 1);
                self.state = State::Rest(rest);
                return header.map_or(Brought::Stray, |header| Brought::Header(header, start));
            }
            (Word::Data(_), State::Rest(0)) => {
                self.state = State::Rest(u16::MAX);
                return Brought::Stray;
            }
            (Word::Data(_), State::Rest(left)) => self.state = State::Rest(left - 1),
            _ => {}
        }
        Brought::Nothing
    }
}

/// Numbers of the queues of which the depth is told ([`super::message_path::QUEUES`]).
const QUEUED: u8 = 0;
const READ: u8 = 1;
const READY: u8 = 2;
const LANDING: u8 = 3;

const QUEUES: usize = 4;

impl Trail {
    /// Of node `nid`.
    pub fn new(nid: u32, journal: Rc<Journal>) -> Trail {
        let come = Come {
            lanes: Packets { state: State::Rest(0) },
            foreseen: Default::default(),
            landing: VecDeque::new(),
            fresh: true,
            here: Default::default(),
            rung: Default::default(),
            lost: false,
            drained: None,
        };
        Trail {
            nid,
            journal,
            serial: Cell::default(),
            raised: Cell::default(),
            out: RefCell::default(),
            come: RefCell::new(come),
            depths: Cell::default(),
        }
    }

    /// Queue `queue` is so long now.
    fn depth(&self, at: Time, queue: u8, length: usize) {
        self.journal.watch(|watch| {
            let mut depths = self.depths.get();
            let before = std::mem::replace(&mut depths[usize::from(queue)], length as u32);
            if before != length as u32 {
                watch.length(at, Gauge::Own(queue), length as u32);
                self.depths.set(depths);
            }
        });
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

    /// A descriptor of it is posted: number `place` of `packets`.
    pub fn posts(&self, message: MessageId, to: u32, (place, packets): (u32, u32)) {
        let (first, last) = (place == 0, place + 1 == packets);
        self.out.borrow_mut().posted.push_back(Some(Piece { message, to, first, last }));
    }

    /// One is posted that the card drops.
    pub fn posts_in_vain(&self) {
        self.out.borrow_mut().posted.push_back(None);
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

    // ---- the handler -------------------------------------------------------------------------------------

    /// The handler, entered at `entered`, has found that `source` has rung; `sleeps`: a process waits for
    /// such a ring. He has found so many at most.
    pub fn drains(&self, (entered, now): (Time, Time), source: u32, (sleeps, most): (bool, usize)) {
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
        let told = |flight: &mut machine::instruments::message_trace::Flight| {
            (flight.packets, flight.kept)
        };
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
    fn bus(&self, now: Time, seen: Seen) {
        let out = &mut *self.out.borrow_mut();
        for _ in 0..seen.descriptors {
            let Some(piece) = out.posted.pop_front().flatten() else { continue };
            if piece.first {
                self.journal.mark(now, piece.message, Waypoint::COMMAND_ARRIVED);
            }
            out.queued.push_back(piece);
        }
        if seen.accepted
            && let Some(piece) = out.queued.pop_front()
        {
            if piece.first {
                self.journal.mark(now, piece.message, HEADER_COMMANDED);
                let stage = Some("reads");
                self.journal
                    .watch(|watch| watch.stage(now, Engine::Transmit, piece.message, stage));
            }
            out.read.push_back(piece);
        }
        if seen.read {
            out.ready.extend(out.read.pop_front());
        }
        if seen.descriptors > 0 || seen.accepted || seen.read {
            let depths = [(QUEUED, &out.queued), (READ, &out.read), (READY, &out.ready)];
            depths.iter().for_each(|(queue, pieces)| self.depth(now, *queue, pieces.len()));
        }
        if seen.wrote {
            self.lands(now);
        }
    }

    /// A word goes to memory.
    fn lands(&self, now: Time) {
        let come = &mut *self.come.borrow_mut();
        if !std::mem::take(&mut come.fresh) {
            return;
        }
        if let Some(Some(message)) = come.landing.front() {
            self.journal.mark(now, *message, ANNOUNCED);
            let stage = Some("to memory");
            self.journal.watch(|watch| watch.stage(now, Engine::Receive, *message, stage));
        }
    }

    /// The last word of a packet has left the card.
    pub fn passes(&self, now: Time) {
        let come = &mut *self.come.borrow_mut();
        come.fresh = true;
        come.landing.pop_front();
        let left = come.landing.len();
        self.depth(now, LANDING, left);
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
    pub fn lanes(
        &self,
        now: Time,
        (came, sent): (Option<Word>, Symbol),
    ) -> Option<(MessageId, u32)> {
        if let Some(word) = came {
            self.comes(now, word);
        }
        if sent.control == 0 {
            return None;
        }
        let out = &mut *self.out.borrow_mut();
        if sent.is_idle() {
            let last = out.sending.take().filter(|piece| piece.last)?.message;
            self.journal.watch(|watch| watch.stage(now, Engine::Transmit, last, None));
            return None;
        }
        if sent.bytes & 0xFFFF != u32::from(mark::START) {
            return None;
        }
        let piece = out.ready.pop_front()?;
        out.sending = Some(piece);
        let left = out.ready.len();
        self.depth(now, READY, left);
        if !piece.first {
            return None;
        }
        let stage = Some("sends");
        self.journal.watch(|watch| watch.stage(now, Engine::Transmit, piece.message, stage));
        Some((piece.message, piece.to))
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
        come.landing.push_back(first);
        let left = come.landing.len();
        self.depth(now, LANDING, left);
        if let Some(message) = first {
            self.journal.mark(start, message, Waypoint::ARRIVED);
            let stage = Some("comes");
            self.journal.watch(|watch| watch.stage(now, Engine::Receive, message, stage));
        }
    }
}

/// Actions of the bus on a card in a cycle.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    /// Descriptors that it got.
    descriptors: u32,
    /// The read that it wanted is taken.
    accepted: bool,
    /// All words of its oldest read are there.
    read: bool,
    /// A word of a packet went to memory.
    wrote: bool,
}

/// The card's pins at the bus, which are looked at.
pub(super) struct Pins<'a, D> {
    pub card: &'a mut D,
    /// Address at which the card writes its notifications, which are no packets.
    pub notify: u64,
    seen: Seen,
}

impl<D: Device> Pins<'_, D> {
    pub fn of(card: &mut D, notify: u64) -> Pins<'_, D> {
        Pins { card, notify, seen: Seen::default() }
    }
    /// Tells what the edge at `now` has done.
    pub fn tell(self, now: Time, trail: &Trail) {
        let Seen { descriptors, accepted, read, wrote } = self.seen;
        if descriptors > 0 || accepted || read || wrote {
            trail.bus(now, self.seen);
        }
    }
}

impl<D: Device> Device for Pins<'_, D> {
    fn outputs(&self) -> DeviceOut {
        self.card.outputs()
    }
    fn clock(&mut self, inputs: &DeviceIn) {
        let seen = &mut self.seen;
        if let Some(write) = inputs.write.filter(|write| write.offset < QUEUE_SIZE) {
            // The write of a descriptor's last word posts it.
            let last = write.offset % 16 == 8 && write.enables >> 4 == 0xF;
            seen.descriptors += u32::from(last);
        }
        seen.accepted |= inputs.accepted;
        seen.read |= inputs.completion.is_some_and(|completion| completion.last);
        if inputs.took_word {
            let request = self.card.outputs().request;
            let packet =
                |to: pci::Request| to.operation == Operation::Write && to.addr != self.notify;
            seen.wrote |= request.is_some_and(packet);
        }
        self.card.clock(inputs);
    }
}
