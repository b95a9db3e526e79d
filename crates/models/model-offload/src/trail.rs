//! Records of the program's messages on a node, derived from the actions of its card ([`Point`]) and
//! reports of its library. The firmware does one thing at a time: its actions concern what it has fetched
//! last.
//!
//! ```text
//!  command ─► fetched ─► send engine ─► wire ─► header FIFO ─► fetched ─► matched ─► DMA ─► completion
//!                                                                 │                   ▲
//!                                                               kept ─► receive fetched, matched
//! ```

mod engines;
mod matching;

use super::lists::{List, Pattern, Scope};
use crate::message_path::{ANNOUNCED, INSERTED};
use abi::offload as of;
use abi::offload::{operation, packet_kind, Command, Completion, Packet};
use abi::MessageId;
use des::Time;
use machine::instruments::account::Clerk;
use machine::instruments::journal::Journal;
use machine::instruments::message_trace::{Part, Waypoint};
use machine::instruments::stages::{Piece, Stage, Stages};
use machine::instruments::timeline::{Engine, Gauge};
use offload_nic::Point;
use std::collections::VecDeque;
use std::rc::Rc;

const PROCESSES: usize = of::PROCESSES as usize;
const POSTED: usize = 0;

/// A message that is for another node and has begun to leave.
pub(super) type Departs = (Time, MessageId, u32);

/// A message that is kept.
#[derive(Clone, Copy, Debug)]
struct Kept {
    message: MessageId,
    /// Address of its payload in the card's memory, if it has one there.
    buffer: u32,
}

/// The queues of a process.
#[derive(Debug, Default)]
struct Process {
    posted: List<u32>,
    kept: List<Kept>,
    /// Messages that probes have taken, by their handles.
    taken: Vec<(u32, Kept)>,
    /// Times of the commands that the firmware has not fetched.
    given: VecDeque<Time>,
    /// Place of the command that was fetched last.
    slot: Option<u32>,
    /// The completion that is being stored.
    completion: [u8; Completion::SIZE],
}

/// A search that is not over.
#[derive(Clone, Copy, Debug)]
struct Search {
    process: usize,
    /// Times at which the firmware began it, and began to walk the list.
    since: Time,
    walks_since: Time,
    scope: Scope,
    /// A unit has been asked, and has not answered.
    asked: bool,
    what: Sought,
}

#[derive(Clone, Copy, Debug)]
enum Sought {
    /// A receive for this message.
    Receive(MessageId, Pattern),
    /// A message for this receive, which was given at a time.
    Message { request: u32, wanted: Pattern, given: Time, then: Then },
}

/// Use of a message that is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    Receive,
    Take,
    Nothing,
}

/// A header that the firmware has not fetched.
#[derive(Clone, Copy, Debug)]
struct Waits {
    since: Time,
    /// Time until which the firmware has inserted while it waited.
    inserts: Option<Time>,
}

/// A matching unit.
#[derive(Clone, Copy, Debug, Default)]
struct Unit {
    /// Copies without a result that was fetched.
    asked: u32,
    /// Time since which it is in insert mode, or will be.
    inserts: Option<Time>,
}

/// Numbers of the queues of which the depth is told ([`super::message_path::QUEUES`]).
const COMMANDS: usize = 0;
const UNITS: usize = 4;
const QUEUES: usize = 8;

/// Packets in the send engine; queues have their numbers in [`QUEUES`](crate::message_path::QUEUES).
const OUT: [Stage; 2] = [
    Stage::SILENT.in_queue(2).shows("reads the payload"),
    Stage::SILENT.in_queue(2).shows("sends"),
];
const READS: usize = 0;
const SENDS: usize = 1;

/// Headers in the FIFO; copies by the receive DMA engine; completions on their way to the host.
const HEADERS: [Stage; 1] =
    [Stage::SILENT.in_queue(1).marks(ANNOUNCED).shows("waits for the firmware")];
const MOVES: [Stage; 1] = [Stage::SILENT.in_queue(3).shows("moves the payload")];
const STORES: [Stage; 1] = [Stage::SILENT];
const OLDEST: usize = 0;

/// A copy's part in its message: whether that is whole in the host's memory afterwards.
#[derive(Clone, Copy, Debug)]
struct Copied {
    all: bool,
}

/// The messages of a node.
pub(super) struct Trail {
    nid: u32,
    /// Rank of process 0.
    first: u32,
    journal: Rc<Journal>,
    processes: [Process; PROCESSES],
    units: [Unit; 2],
    /// Place of the header that the firmware has begun with last, and the one that it has fetched since.
    begun: Option<u32>,
    header: Option<(u32, Packet)>,
    headers: Stages<Waits>,
    search: Option<Search>,
    /// Messages whose payloads are here, and that have not been taken.
    payloads: VecDeque<Packet>,
    /// Kept messages that have met their receives and whose payloads must be copied.
    copies: Vec<Kept>,
    out: Stages,
    moving: Stages<Copied>,
    /// Stores on their way to the host: the message whose completion is whole with it.
    stores: Stages,
    depths: [u32; QUEUES],
}

fn long(lo: u32, hi: u32) -> u64 {
    u64::from(hi) << 32 | u64::from(lo)
}

/// Match bits without the other bits of the words.
fn bits_of(lo: u32, hi: u32) -> u64 {
    long(lo, hi) & ((1 << of::MATCH_WIDTH) - 1)
}

fn kind_of(packet: &Packet) -> u8 {
    packet.kind as u8
}

impl Trail {
    /// Records of node `nid`, whose first rank and journal these are.
    pub fn new(nid: u32, first: u32, journal: Rc<Journal>) -> Trail {
        let receives = Engine::Receive;
        Trail {
            nid,
            first,
            processes: Default::default(),
            units: [Unit::default(); 2],
            begun: None,
            header: None,
            headers: Stages::new(journal.clone(), receives, &HEADERS),
            search: None,
            payloads: VecDeque::new(),
            copies: Vec::new(),
            out: Stages::new(journal.clone(), Engine::Transmit, &OUT),
            moving: Stages::new(journal.clone(), receives, &MOVES),
            stores: Stages::new(journal.clone(), receives, &STORES),
            depths: [0; QUEUES],
            journal,
        }
    }

    /// The journal of the node.
    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// The card has passed a point. A message that begins to leave is given back.
    pub fn passes(&mut self, at: Time, point: Point) -> Option<Departs> {
        match point {
            Point::Given { process, command } => self.given(at, process as usize, &command),
            Point::ReadsCommand { process, slot, command } => {
                self.reads_command(at, process as usize, slot, &command);
            }
            Point::Comes(packet) => {
                let message = self.message_of(&packet);
                self.journal.mark(at, message, Waypoint::ARRIVED);
                self.receives(at, message, Some("header comes"));
            }
            Point::Placed(packet) => self.placed(at, packet),
            Point::ReadsHeader { slot, packet } => {
                self.settle(at);
                // One that it has begun with is fetched again where its line was lost.
                self.header = Some((slot, packet)).filter(|_| self.begun != Some(slot));
            }
            Point::Context(serial) => {
                let header = self.header.take();
                let own = header.filter(|(_, header)| header.serial == serial);
                if let Some((slot, packet)) = own {
                    self.begun = Some(slot);
                    self.begins(at, &packet);
                }
            }
            Point::Acts => self.settle(at),
            Point::Sends(packet, target) => self.sends(at, &packet, target),
            Point::Departs(packet, target) => return self.departs(at, &packet, target),
            Point::Left => {
                self.out.leave(at, SENDS);
                self.out.tell(at);
            }
            Point::Moves(moves) => self.moves(at, moves),
            Point::Moved => self.moved(at),
            Point::Completes { process, offset, length, bytes } => {
                self.completes(at, process as usize, offset, &bytes[..length.into()]);
            }
            Point::Stored => {
                self.stores.mark(at, OLDEST, Waypoint::EVENT_POSTED);
                self.stores.leave(at, OLDEST);
            }
            Point::Delivered(unit) => self.delivered(at, unit),
            Point::Answered(unit, result) => self.answered(at, unit, result),
            Point::Commanded(unit, command) => self.commanded(at, unit, command),
        }
        None
    }

    // ---- who watches -------------------------------------------------------------------------------------

    fn depth(&mut self, at: Time, queue: usize, length: u32) {
        if std::mem::replace(&mut self.depths[queue], length) != length {
            self.journal.watch(|watch| watch.length(at, Gauge::Own(queue as u8), length));
        }
    }

    /// The receive engine does this for a message, or nothing any more.
    fn receives(&self, at: Time, message: MessageId, stage: Option<&str>) {
        self.journal.watch(|watch| watch.stage(at, Engine::Receive, message, stage));
    }

    /// A list of a process becomes longer or shorter.
    fn length(
        &self,
        at: Time,
        process: usize,
        gauge: fn(u32) -> Gauge,
        change: impl FnOnce(&mut Clerk) -> u32,
    ) {
        let rank = self.first + process as u32;
        if let Some(length) = self.journal.account(process as u32, change) {
            self.journal.watch(|watch| watch.length(at, gauge(rank), length));
        }
    }

    // ---- commands ----------------------------------------------------------------------------------------

    fn given(&mut self, at: Time, process: usize, command: &Command) {
        self.processes[process].given.push_back(at);
        self.depth(at, COMMANDS, self.depths[COMMANDS] + 1);
        if matches!(command.operation as u8, operation::SEND | operation::SEND_SYNCHRONOUS) {
            let message = MessageId { source_nid: self.nid, serial: command.serial };
            self.journal.mark(at, message, Waypoint::COMMAND_WRITTEN);
            let library = |clerk: &mut Clerk| clerk.handed_over(at, message, Part::Library);
            self.journal.account(process as u32, library);
        }
    }

    fn reads_command(&mut self, at: Time, process: usize, slot: u32, command: &Command) {
        let own = &mut self.processes[process];
        if own.slot == Some(slot) {
            return; // Its line was lost in between.
        }
        let Some(given) = own.given.pop_front() else { return };
        own.slot = Some(slot);
        self.header = None;
        self.settle(at);
        self.depth(at, COMMANDS, self.depths[COMMANDS].saturating_sub(1));
        let own = &mut self.processes[process];
        let then = match command.operation as u8 {
            operation::SEND | operation::SEND_SYNCHRONOUS => {
                let message = MessageId { source_nid: self.nid, serial: command.serial };
                return self.journal.mark(at, message, Waypoint::COMMAND_ARRIVED);
            }
            operation::RECEIVE => Then::Receive,
            operation::TAKE => Then::Take,
            operation::PROBE => Then::Nothing,
            operation::RECEIVE_TAKEN => {
                let taken = own.taken.iter().position(|(handle, _)| *handle == command.handle);
                if let Some(place) = taken {
                    let (_, kept) = own.taken.swap_remove(place);
                    self.meets(at, kept, given, at);
                }
                return;
            }
            operation::CLOSE => {
                let (posted, kept) = (own.posted.len(), own.kept.len());
                own.posted.clear();
                own.kept.clear();
                (0..posted).for_each(|_| self.unposts(at, process));
                (0..kept).for_each(|_| self.claims(at, process));
                return;
            }
            _ => return,
        };
        let wanted =
            (bits_of(command.bits_lo, command.bits_hi), long(command.mask_lo, command.mask_hi));
        let asked = then == Then::Receive && command.bits_hi & of::DELIVERED != 0;
        let what = Sought::Message { request: command.request, wanted, given, then };
        let scope = if asked { Scope::Rest } else { Scope::All };
        let (since, walks_since) = (at, at);
        self.search = Some(Search { process, since, walks_since, scope, asked, what });
    }

    // ---- headers -----------------------------------------------------------------------------------------

    /// The message of which a packet is a part.
    fn message_of(&self, packet: &Packet) -> MessageId {
        let source_nid = match kind_of(packet) {
            // It goes back to who sent the message.
            packet_kind::CLEAR => self.nid,
            _ => packet.kind >> 16,
        };
        MessageId { source_nid, serial: packet.serial }
    }

    fn placed(&mut self, at: Time, packet: Packet) {
        let message = self.message_of(&packet);
        let alone = packet.process >> 8 == 0;
        let waits = Waits { since: at, inserts: None };
        self.headers.enter(at, OLDEST, Piece { last: alone, ..Piece::whole(message, waits) });
        self.headers.tell(at);
        if !alone {
            self.payloads.push_back(packet);
        }
    }

    /// The firmware begins with a header.
    fn begins(&mut self, at: Time, packet: &Packet) {
        let message = self.message_of(packet);
        if let Some(waited) = self.headers.leave(at, OLDEST) {
            self.headers.tell(at);
            if let Some(until) = waited.with.inserts {
                self.journal.mark(until, message, INSERTED);
            }
        }
        self.journal.mark(at, message, Waypoint::EVENT_DRAINED);
        if !matches!(kind_of(packet), packet_kind::EAGER | packet_kind::REQUEST) {
            return;
        }
        let process = (packet.kind >> 8 & 0xFF) as usize;
        if process >= PROCESSES {
            return;
        }
        let asked = packet.bits_hi & of::DELIVERED != 0;
        let scope = if asked { Scope::Rest } else { Scope::All };
        let what = Sought::Receive(message, (bits_of(packet.bits_lo, packet.bits_hi), 0));
        let (since, walks_since) = (at, at);
        self.search = Some(Search { process, since, walks_since, scope, asked, what });
    }
}
