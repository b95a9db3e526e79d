//! The messages that are under way on a node. A message's flight is on the desk of the node where the message
//! is, and goes to the next node with the first packet.

use super::{fabric, Flight, Leg, MessageKind, Protocol, Tallies, Waypoint};
use crate::instruments::account::Answered;
use crate::instruments::tables::Rows;
use crate::placement::Placement;
use abi::wire::portals_op;
use abi::MessageId;
use des::Time;
use mpi::{PortalsRequest, Rendezvous};
use portals::{Begun, ProcessId};
use rank::FabricCall;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Flights that have not come to their end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Unfinished {
    /// Messages still at their sender, or on their way.
    pub on_the_way: u64,
    /// Messages at their receiver that no receive or poll of the event queue had taken.
    pub not_received: u64,
    /// Messages that nobody took: no entry of the match list matched, or the process had ended.
    pub dropped: u64,
    /// Messages that had been at their receiver for long when too many had come to follow all.
    pub given_up: u64,
}

impl Unfinished {
    /// Adds those of another node.
    pub(crate) fn add(&mut self, other: Unfinished) {
        self.on_the_way += other.on_the_way;
        self.not_received += other.not_received;
        self.dropped += other.dropped;
        self.given_up += other.given_up;
    }
    /// All of them.
    pub fn all(&self) -> u64 {
        self.on_the_way + self.not_received + self.dropped + self.given_up
    }
}

/// Most flights at their receivers: the oldest are given up when more come. Only messages that no process
/// ever asks for become so many.
const HERE_MAX: usize = 1 << 16;

/// Most flights without a message, kept to use their memory again.
const SPARE_MAX: usize = 64;

/// The desk of a node.
pub(crate) struct Desk {
    flights: FxHashMap<MessageId, Box<Flight>>,
    /// Messages that can be fetched, by their sender and the number of its buffer.
    exposed: FxHashMap<(ProcessId, u32), MessageId>,
    /// Fetches that were answered here.
    pub answered: Answered,
    // As boxes they go from node to node, and into the table.
    #[allow(clippy::vec_box)]
    spare: Vec<Box<Flight>>,
    /// Flights that have reached this node.
    here: usize,
    here_max: usize,
    /// Time of the launch: messages that began earlier are no part of the program.
    launch: Time,
    tallies: Arc<Tallies>,
    nid: u32,
    unfinished: Unfinished,
    /// Rows for the messages, if they are wanted.
    rows: Option<Rows>,
}

impl Desk {
    pub fn new(nid: u32, launch: Time, tallies: Arc<Tallies>) -> Desk {
        let rows = tallies.tables().and_then(|tables| tables.message_rows());
        Desk {
            rows,
            flights: FxHashMap::default(),
            exposed: FxHashMap::default(),
            answered: Answered::default(),
            spare: Vec::new(),
            here: 0,
            here_max: HERE_MAX,
            launch,
            tallies,
            nid,
            unfinished: Unfinished::default(),
        }
    }

    /// Sets the most flights at their receivers, for tests.
    #[cfg(test)]
    pub fn with_room(mut self, here_max: usize) -> Desk {
        self.here_max = here_max;
        self
    }

    pub fn get(&mut self, id: MessageId) -> Option<&mut Flight> {
        self.flights.get_mut(&id).map(|flight| &mut **flight)
    }

    /// A message begins here.
    pub fn begin(&mut self, id: MessageId) -> &mut Flight {
        let mut flight = self.spare.pop().unwrap_or_default();
        flight.restart(id, self.tallies.message_path());
        self.flights.entry(id).insert_entry(flight).into_mut()
    }

    /// Sets the kind of the message that has begun with this id, perhaps in a call of libfabric: its payload,
    /// unless it is a part of another message.
    pub fn begun(
        &mut self,
        id: MessageId,
        begun: &Begun,
        above: Option<FabricCall>,
    ) -> Option<u64> {
        let flight = self.flights.get_mut(&id)?;
        let mpi = Placement::is_library(begun.from.pid);
        let two_sided = above.is_some_and(FabricCall::is_two_sided);
        let local = begun.from.nid == begun.to.nid;
        flight.bytes = begun.bytes;
        flight.sender = begun.from;
        flight.kind = match begun.op {
            portals_op::PUT if mpi && mpi::is_collective(begun.match_bits) => {
                MessageKind::Collective
            }
            portals_op::PUT if mpi || two_sided => MessageKind::Send,
            portals_op::PUT => MessageKind::Put,
            portals_op::GET => MessageKind::Get,
            _ => MessageKind::Atomic,
        };
        flight.protocol = match flight.kind {
            _ if local => Protocol::Local,
            MessageKind::Get | MessageKind::Atomic => Protocol::Reply,
            _ => Protocol::Eager,
        };
        let request = PortalsRequest {
            op: begun.op,
            pt_index: begun.pt_index,
            match_bits: begun.match_bits,
            hdr_data: begun.hdr_data,
            carried: begun.bytes,
        };
        let mut bytes = Some(begun.bytes);
        let rendezvous = match above {
            Some(_) => fabric::rendezvous_of(&request),
            None => Rendezvous::of(&request).filter(|_| mpi),
        };
        match rendezvous {
            Some(
                part @ (Rendezvous::Announces { exposed, bytes: all }
                | Rendezvous::Carries { exposed, bytes: all }),
            ) => {
                flight.announces = matches!(part, Rendezvous::Announces { .. });
                (flight.bytes, flight.exposes, bytes) = (all, Some(exposed), Some(all));
                match (local, flight.announces) {
                    (true, _) => drop(self.exposed.insert((begun.from, exposed), id)),
                    (false, true) => flight.protocol = Protocol::Rendezvous,
                    (false, false) => flight.protocol = Protocol::Long,
                }
            }
            Some(Rendezvous::Fetches { exposed }) => {
                self.fetches(id, begun.to, exposed);
                bytes = None;
            }
            _ => {}
        }
        if local {
            self.arrived(id);
        }
        bytes
    }

    /// A message has reached its node.
    fn arrived(&mut self, id: MessageId) {
        let Some(flight) = self.flights.get_mut(&id) else { return };
        if !std::mem::replace(&mut flight.here, true) {
            self.here += 1;
            if self.here > self.here_max {
                self.give_up();
            }
        }
    }

    /// Joins a message that fetches to the one of process `from` that announced its data.
    fn fetches(&mut self, id: MessageId, from: ProcessId, exposed: u32) {
        let Some(exposed) = self.exposed.remove(&(from, exposed)) else { return };
        let Some(mut flight) = self.flights.remove(&exposed) else { return };
        if flight.protocol == Protocol::Long {
            flight.protocol = Protocol::Rendezvous;
        }
        self.here -= usize::from(flight.here);
        if let Some(fetch) = self.flights.remove(&id) {
            flight.fetch(&fetch);
            self.spare(fetch);
        }
        flight.here = false;
        self.flights.insert(id, flight);
    }

    /// A message enters the network: its flight goes with it.
    pub fn leaves(&mut self, id: MessageId, at: Time, in_header: bool) -> Option<Box<Flight>> {
        let mut flight = self.flights.remove(&id)?;
        self.here -= usize::from(flight.here);
        flight.mark(at, Waypoint::INJECTED);
        if in_header && flight.protocol == Protocol::Eager {
            flight.protocol = Protocol::Header;
        }
        flight.here = false;
        Some(flight)
    }

    /// The flight of a message comes, not later than the message.
    pub fn comes(&mut self, flight: Box<Flight>) {
        if let Some(exposed) = flight.exposes.filter(|_| flight.leg == 0) {
            self.exposed.insert((flight.sender, exposed), flight.id);
        }
        self.flights.insert(flight.id, flight);
    }

    /// A message passes a waypoint here.
    pub fn mark(&mut self, at: Time, id: MessageId, waypoint: Waypoint) {
        let Some(flight) = self.get(id) else { return };
        flight.mark(at, waypoint);
        if waypoint == Waypoint::ARRIVED {
            self.arrived(id);
        }
    }

    /// Keeps the record of a message that is here, until its sender gets the reply.
    pub fn remember(&mut self, id: MessageId) {
        let Desk { flights, answered, .. } = self;
        if let Some(flight) = flights.get(&id) {
            answered.keep(id, flight);
        }
    }

    /// Message `reply` answers message `request`, which is here.
    pub fn answers(&mut self, reply: MessageId, request: MessageId) {
        let Some(mut flight) = self.flights.remove(&request) else { return };
        if flight.exposes.is_some() {
            self.answered.keep(request, &flight);
        }
        self.here += usize::from(!flight.here);
        flight.go_on(reply);
        self.flights.insert(reply, flight);
    }

    /// The process has taken the message, at the instant of its last mark. True if that is its end, which it
    /// is not if it announces one or nobody has asked for it yet.
    pub fn taken(&mut self, id: MessageId) -> bool {
        let goes_on = |flight: &Flight| flight.kept || flight.announces && flight.leg == 0;
        match self.flights.get(&id) {
            Some(flight) if !goes_on(flight) => {
                self.end(id);
                true
            }
            _ => false,
        }
    }

    /// The way of a message has ended.
    pub fn end(&mut self, id: MessageId) {
        let Some(flight) = self.flights.remove(&id) else { return };
        self.here -= usize::from(flight.here);
        if let Some(exposed) = flight.exposes.filter(|_| flight.leg == 0) {
            // A later message may wait under this number: the sender knows that this one has come.
            let key = (flight.sender, exposed);
            if self.exposed.get(&key) == Some(&id) {
                self.exposed.remove(&key);
            }
        }
        if flight.start() >= self.launch && flight.start() < Time::NEVER {
            self.tallies.of(self.nid).ended(&flight);
            if let Some(rows) = &mut self.rows {
                rows.message(&flight, self.launch);
            }
        }
        self.spare(flight);
    }

    /// A message has not begun after all.
    pub fn forget(&mut self, id: MessageId) {
        if let Some(flight) = self.flights.remove(&id) {
            self.spare(flight);
        }
    }

    /// Nobody takes a message.
    pub fn dropped(&mut self, id: MessageId) {
        let Some(flight) = self.flights.remove(&id) else { return };
        self.here -= usize::from(flight.here);
        self.unfinished.dropped += u64::from(flight.start() >= self.launch);
        self.spare(flight);
    }

    /// Drops the oldest records of messages that arrived: nobody will ask for them.
    #[cold]
    fn give_up(&mut self) {
        let here = self.flights.values().filter(|flight| flight.here);
        let mut here: Vec<_> = here.map(|flight| (flight.start(), flight.id)).collect();
        here.sort_unstable();
        here.truncate(self.here_max / 4);
        for (_, id) in here {
            let flight = self.flights.remove(&id).expect("it was just found");
            self.here -= 1;
            self.unfinished.given_up += u64::from(flight.start() >= self.launch);
        }
        let flights = &self.flights;
        self.exposed.retain(|_, id| flights.contains_key(id));
    }

    fn spare(&mut self, flight: Box<Flight>) {
        if self.spare.len() < SPARE_MAX {
            self.spare.push(flight);
        }
    }

    /// Numbers of messages that have not come to their end.
    pub fn finish(&mut self) -> Unfinished {
        if let Some(tables) = self.tallies.tables() {
            tables.end_messages(self.nid, self.rows.take());
        }
        let mut unfinished = std::mem::take(&mut self.unfinished);
        for flight in std::mem::take(&mut self.flights).into_values() {
            if flight.start() < self.launch || flight.start() == Time::NEVER {
                continue;
            }
            match flight.here {
                true => unfinished.not_received += 1,
                false => unfinished.on_the_way += 1,
            }
        }
        unfinished
    }
}

// A leg's instants are in a flight, which is moved from node to node as a pointer.
const _: () = assert!(size_of::<Leg>() <= 344);
