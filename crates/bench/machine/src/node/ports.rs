//! Requests of a network interface, and of the host, to their node.

use super::{Crossing, Event, Nic};
use crate::device_memory::{self, DeviceMemory};
use crate::faults::InterruptLine;
use crate::instruments::journal::Journal;
use crate::instruments::message_trace::Waypoint;
use crate::judge::Adapter;
use crate::remains::Failure;
use abi::wire::PortalsHeader;
use abi::MessageId;
use bus::BusError;
use des::{EventQueue, Outbox, Time};
use std::fmt;
use std::rc::Rc;

/// Services of a node for its network interface and its host.
pub struct Ports<N: Nic> {
    pub(super) nid: u32,
    pub(super) queue: EventQueue<Event<N::Event>>,
    /// End of the window while the node advances, and the outbox for its messages.
    pub(super) horizon: Time,
    /// Time of the interface's own processor's next action ([`Nic::next_action`]).
    pub(super) acts: Time,
    pub(super) outbox: Outbox<Crossing<N::Message>>,
    pub(super) messages: Slab<N::Message>,
    pub(super) lines: Slab<Line>,
    /// The host's memory, with its observers.
    memory: Box<dyn DeviceMemory>,
    pub(super) judge: Option<Rc<Adapter>>,
    pub(super) journal: Rc<Journal>,
    /// True if there are observers; the journal knows it too.
    pub(super) watched: bool,
    pub(super) line: Box<dyn InterruptLine>,
    pub(super) failure: Option<Failure>,
}

/// Messages on their way, by number.
pub(super) struct Slab<M> {
    slots: Vec<Option<M>>,
    vacant: Vec<u32>,
}

/// Data of an access of more than 8 bytes.
pub(super) struct Line {
    len: u8,
    data: [u8; host::LINE],
}

impl Line {
    fn new(bytes: &[u8]) -> Line {
        let mut data = [0; host::LINE];
        data[..bytes.len()].copy_from_slice(bytes);
        Line { len: bytes.len() as u8, data }
    }
    pub(super) fn bytes(&self) -> &[u8] {
        &self.data[..usize::from(self.len)]
    }
    /// Word for the trace hash.
    pub(super) fn digest(&self) -> u64 {
        files::digest(self.bytes())
    }
}

/// Bytes that fit into an event.
fn padded(data: &[u8]) -> Option<[u8; 8]> {
    let mut padded = [0; 8];
    padded.get_mut(..data.len())?.copy_from_slice(data);
    Some(padded)
}

impl<M> Slab<M> {
    fn new() -> Slab<M> {
        Slab { slots: Vec::new(), vacant: Vec::new() }
    }
    pub(super) fn put(&mut self, message: M) -> u32 {
        let slot = self.vacant.pop().unwrap_or(self.slots.len() as u32);
        match self.slots.get_mut(slot as usize) {
            Some(place) => *place = Some(message),
            None => self.slots.push(Some(message)),
        }
        slot
    }
    pub(super) fn take(&mut self, slot: u32) -> M {
        self.vacant.push(slot);
        self.slots[slot as usize].take().expect("a message is taken once")
    }
}

impl<N: Nic> Ports<N> {
    pub(super) fn new(
        nid: u32,
        memory: &host::SharedMemory,
        journal: Rc<Journal>,
        judge: Option<Rc<Adapter>>,
        line: Box<dyn InterruptLine>,
    ) -> Ports<N> {
        Ports {
            nid,
            queue: EventQueue::new(nid),
            horizon: Time::ZERO,
            acts: Time::NEVER,
            outbox: Outbox::default(),
            messages: Slab::new(),
            lines: Slab::new(),
            memory: device_memory::judged(memory, judge.as_ref()),
            judge,
            journal,
            watched: false,
            line,
            failure: None,
        }
    }
    /// The node's number.
    pub fn nid(&self) -> u32 {
        self.nid
    }
    /// Asks for [`Nic::handle`] with `event` at `at`, not before now.
    pub fn schedule(&mut self, at: Time, event: N::Event) {
        self.queue.schedule(at, Event::Nic(event));
    }
    /// Sends a message to node `target`, where it arrives at `at`: at least the model's lookahead later than
    /// now.
    pub fn send(&mut self, target: u32, at: Time, message: N::Message) {
        self.outbox.send(target, at, Crossing::Message(message));
    }
    /// Reads the host's memory, as a device does.
    pub fn read(&mut self, phys: u64, buf: &mut [u8]) -> Result<(), BusError> {
        self.memory.read(phys, buf)
    }
    /// Writes the host's memory, as a device does.
    pub fn write(&mut self, phys: u64, data: &[u8]) -> Result<(), BusError> {
        self.memory.write(phys, data)
    }
    /// Answers the host's oldest load with as many bytes as it has asked for.
    pub fn answer(&mut self, at: Time, data: &[u8]) {
        let event = match padded(data) {
            Some(bytes) => Event::Answer { len: data.len() as u8, data: bytes },
            None => Event::AnswerLine { slot: self.lines.put(Line::new(data)) },
        };
        self.queue.schedule(at, event);
    }
    /// Raises the host's interrupt line.
    pub fn interrupt(&mut self, at: Time) {
        if let Some(at) = self.line.raise(at) {
            self.queue.schedule(at, Event::Interrupt);
        }
    }
    /// Runs the fibres of the host that the interface has woken ([`host::Waker`]): they poll memory that it
    /// has written.
    pub fn attend(&mut self, at: Time) {
        self.queue.schedule(at, Event::Attend);
    }
    /// A message of the program passes a waypoint.
    pub fn mark(&self, at: Time, message: MessageId, waypoint: Waypoint) {
        self.journal.mark(at, message, waypoint);
    }
    /// A message with this header enters the network.
    pub fn injected(&mut self, at: Time, header: &PortalsHeader) {
        if let Some(flight) = self.journal.injected(at, header) {
            self.outbox.send(header.target_nid.into(), Time::NEVER, Crossing::Flight(flight));
        }
    }
    /// The message of the program enters the network for node `target`.
    pub fn departs(&mut self, at: Time, message: MessageId, target: u32) {
        if let Some(flight) = self.journal.departs(at, message) {
            self.outbox.send(target, Time::NEVER, Crossing::Flight(flight));
        }
    }
    /// Ends the run; `what` is a sentence without a period that follows "node 3: ".
    pub fn fail(&mut self, at: Time, what: impl fmt::Display) {
        self.end(at, 1, what);
    }
    /// The same with another exit status.
    pub fn end(&mut self, at: Time, code: i32, what: impl fmt::Display) {
        let sentence = format!("node {}: {what}", self.nid);
        self.failure.get_or_insert(Failure { at, sentence, code });
    }
    /// Failure that ends the run, if there is one: a sentence.
    pub fn failure(&self) -> Option<&str> {
        self.failure.as_ref().map(|failure| &*failure.sentence)
    }
    /// True if an observer gets each event.
    fn is_observed(&self) -> bool {
        self.judge.is_some() || self.watched
    }
}

impl<N: Nic> host::Ports for Ports<N> {
    fn schedule(&mut self, at: Time, event: host::Event) {
        self.queue.schedule(at, Event::Host(event));
    }
    fn mmio_write(&mut self, now: Time, addr: u64, data: &[u8]) {
        let event = match padded(data) {
            Some(bytes) => Event::Store { addr, len: data.len() as u8, data: bytes },
            None => Event::StoreLine { slot: self.lines.put(Line::new(data)), addr },
        };
        self.queue.schedule(now, event);
    }
    fn mmio_read(&mut self, now: Time, addr: u64, len: usize) {
        self.queue.schedule(now, Event::Load { addr, len: len as u8 });
    }
    fn alone_until(&self) -> Time {
        if self.is_observed() || self.failure.is_some() {
            return Time::ZERO;
        }
        self.horizon.min(self.queue.next_time()).min(self.acts)
    }
}
