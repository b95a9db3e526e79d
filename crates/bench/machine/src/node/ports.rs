//! Requests of a network interface, and of the host, to their node.

use super::{Crossing, Event, Nic};
use crate::device_memory::{self, DeviceMemory};
use crate::faults::InterruptLine;
use crate::instruments::journal::Journal;
use crate::instruments::message_trace::{Flight, Waypoint};
use crate::instruments::timeline::{Engine, Gauge};
use crate::judge::Adapter;
use crate::remains::Failure;
use abi::wire::PortalsHeader;
use abi::MessageId;
use bus::BusError;
use des::{Duration, Envelope, EventQueue, Outbox, TieBreak, Time, TraceHash};
use std::fmt;
use std::rc::Rc;

/// Services of a node for its network interface. The fields that every event needs come first.
#[repr(C, align(64))]
pub struct Ports<N: Nic> {
    pub(super) queue: EventQueue<Event<N::Event>>,
    /// End of the window while the node advances.
    pub(super) horizon: Time,
    pub(super) hash: TraceHash,
    pub(super) nid: u32,
    /// True if there are observers; the journal knows it too.
    pub(super) watched: bool,
    pub(super) judge: Option<Rc<Adapter>>,
    pub(super) journal: Rc<Journal>,
    pub(super) failure: Option<Failure>,
    /// Messages that the node sends while it advances.
    pub(super) outbox: Outbox<Crossing<N::Message>>,
    pub(super) messages: Slab<N::Message>,
    pub(super) lines: Slab<Line>,
    /// The host's memory, with its observers.
    memory: Box<dyn DeviceMemory>,
    pub(super) line: Box<dyn InterruptLine>,
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
            hash: TraceHash::default(),
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
    /// A store of the host arrives at the interface at `at`: [`Nic::store`].
    pub fn deliver_store(&mut self, at: Time, addr: u64, data: &[u8]) {
        let event = match padded(data) {
            Some(bytes) => Event::Store { addr, len: data.len() as u8, data: bytes },
            None => Event::StoreLine { slot: self.lines.put(Line::new(data)), addr },
        };
        self.queue.schedule(at, event);
    }
    /// A load of the host arrives at the interface at `at`: [`Nic::load`].
    pub fn deliver_load(&mut self, at: Time, addr: u64, len: usize) {
        self.queue.schedule(at, Event::Load { addr, len: len as u8 });
    }
    /// Answers the host's oldest load with as many bytes as it has asked for.
    pub fn answer(&mut self, at: Time, data: &[u8]) {
        let event = match padded(data) {
            Some(bytes) => Event::Answer { len: data.len() as u8, data: bytes },
            None => Event::AnswerLine { slot: self.lines.put(Line::new(data)) },
        };
        self.queue.schedule(at, event);
    }
    /// Keeps a message until it arrives: [`Nic::receive`].
    pub fn keep(&mut self, envelope: Envelope<N::Message>) {
        let slot = self.messages.put(envelope.message);
        let Envelope { at, source, sequence, .. } = envelope;
        self.queue.schedule_from(at, source, sequence, Event::Message { slot });
    }
    /// Raises the host's interrupt line: the time at which the host sees it, unless it is lost.
    pub fn interrupt(&mut self, at: Time) -> Option<Time> {
        self.interrupt_by(at, 0)
    }
    /// The same by one of 64 vectors, of which the host's handler learns (`host::Cpu::take_vectors`).
    pub fn interrupt_by(&mut self, at: Time, vector: u8) -> Option<Time> {
        debug_assert!(vector < 64, "there are 64 vectors");
        let at = self.line.raise(at)?;
        self.queue.schedule(at, Event::Interrupt { vector });
        Some(at)
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
    /// An engine does this for a message from `at` on, or nothing any more (`Watch::stage`).
    pub fn stage(&self, at: Time, engine: Engine, message: MessageId, stage: Option<&str>) {
        self.journal.watch(|watch| watch.stage(at, engine, message, stage));
    }
    /// Queues have these depths (`Watch::depths`).
    pub fn depths(&self, at: Time, depths: &[(Gauge, u32)]) {
        self.journal.watch(|watch| watch.depths(at, depths));
    }
    /// A message with this header enters the network.
    pub fn injected(&mut self, at: Time, header: &PortalsHeader) {
        if let Some(flight) = self.journal.injected(at, header) {
            self.flies(header.target_nid.into(), flight);
        }
    }
    /// The message of the program enters the network for node `target`.
    pub fn departs(&mut self, at: Time, message: MessageId, target: u32) {
        if let Some(flight) = self.journal.departs(at, message) {
            self.flies(target, flight);
        }
    }
    /// The record of a message goes with it.
    fn flies(&mut self, target: u32, flight: Box<Flight>) {
        if target == self.nid {
            return self.journal.comes(flight);
        }
        self.outbox.send(target, Time::NEVER, Crossing::Flight(flight));
    }
    /// Ends the run; `what` is a sentence without a period that follows "node 3: ".
    pub fn fail(&mut self, at: Time, what: impl fmt::Display) {
        self.end(at, 1, what);
    }
    /// The same with another exit status.
    pub fn end(&mut self, at: Time, code: i32, what: impl fmt::Display) {
        let sentence = format!("node {}: {what}", self.nid);
        self.end_with(Failure { at, sentence, code });
    }
    /// The same with a whole sentence; the first failure of a node counts.
    pub fn end_with(&mut self, failure: Failure) {
        self.failure.get_or_insert(failure);
    }
    /// Failure that ends the run, if there is one: a sentence.
    pub fn failure(&self) -> Option<&str> {
        self.failure.as_ref().map(|failure| &*failure.sentence)
    }
    /// End of the window while the node advances, then of the run.
    pub fn horizon(&self) -> Time {
        self.horizon
    }
    /// Time of the next event.
    #[inline(always)]
    pub fn next_time(&self) -> Time {
        self.queue.next_time()
    }
    /// The node's events: for an interface that has a queue of its own in one order with them, or that looks
    /// ahead.
    #[inline(always)]
    pub fn queue(&self) -> &EventQueue<Event<N::Event>> {
        &self.queue
    }
    /// The same, to take events from it or postpone them.
    #[inline(always)]
    pub fn queue_mut(&mut self) -> &mut EventQueue<Event<N::Event>> {
        &mut self.queue
    }
    /// Place of an event that is now scheduled in another queue ([`EventQueue::place`]).
    #[inline(always)]
    pub fn place(&mut self) -> TieBreak {
        self.queue.place()
    }
    /// The trace hash takes in an event of another queue.
    #[inline(always)]
    pub fn trace(&mut self, now: Time, word: u64) {
        self.hash.event(now, word);
    }
    /// The trace hash so far.
    pub fn trace_hash(&self) -> u64 {
        self.hash.value()
    }
    /// The journal of the node's messages and calls.
    #[inline(always)]
    pub fn journal(&self) -> &Rc<Journal> {
        &self.journal
    }
    /// The judge, if its events are judged.
    #[inline(always)]
    pub fn judge(&self) -> Option<&Rc<Adapter>> {
        self.judge.as_ref()
    }
    /// The host's interrupt line.
    pub fn line(&self) -> &dyn InterruptLine {
        &*self.line
    }
    /// True if somebody watches the node's events, since the launch.
    #[inline(always)]
    pub fn is_watched(&self) -> bool {
        self.watched
    }
    /// True if an observer gets each event.
    fn is_observed(&self) -> bool {
        self.judge.is_some() || self.watched
    }
}

/// Services of a node for its host.
pub struct HostPorts<'a, N: Nic> {
    pub(super) nic: &'a mut N,
    pub(super) ports: &'a mut Ports<N>,
}

impl<N: Nic> host::Ports for HostPorts<'_, N> {
    fn schedule(&mut self, at: Time, event: host::Event) {
        self.ports.queue.schedule(at, Event::Host(event));
    }
    fn mmio_write(&mut self, now: Time, addr: u64, data: &[u8]) {
        self.nic.store_leaves(now, addr, data, self.ports);
    }
    fn mmio_read(&mut self, now: Time, addr: u64, len: usize) {
        self.nic.load_leaves(now, addr, len, self.ports);
    }
    fn alone_until(&self) -> Time {
        let ports = &*self.ports;
        if ports.is_observed() || ports.failure.is_some() {
            return Time::ZERO;
        }
        ports.horizon.min(ports.queue.next_time()).min(self.nic.quiet_until())
    }
    fn undisturbed_until(&self, disturbs: &dyn Fn(Time, host::Event) -> Time) -> Time {
        if self.nic.stirs().is_none() {
            return self.alone_until();
        }
        let mut until = self.ports.horizon.min(self.nic.undisturbed_until());
        for (at, _, event) in self.ports.queue.iter() {
            if at >= until {
                break;
            }
            until = until.min(match event {
                Event::Host(event) => disturbs(at, *event),
                _ => at,
            });
        }
        until
    }
    fn stirs(&self) -> Option<u64> {
        self.nic.stirs()
    }
    fn reaction(&self) -> Duration {
        self.nic.reaction()
    }
}
