//! Watch of a node: it turns reports of the parts into records, and keeps the open slices.

use super::lanes::Lanes;
use super::links::Links;
use super::{Flow, Gauge, Sink, Track, What};
use crate::placement::Placed;
use abi::packet::Packet;
use abi::MessageId;
use des::{Interval, Time};
use host::Class;
use portals::EventKind;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

/// Work of a core, as it is drawn.
#[derive(Clone, Copy, Default)]
struct Work {
    outer: Option<Class>,
    inner: Option<Class>,
    /// Start of an outer slice that is not drawn yet, because it may turn out to have no length.
    held: Option<Time>,
}

/// A point of a message's way through an engine with notifications.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// The transmit engine has taken the command for the header.
    HeaderFetched,
    /// The first packet enters the network.
    Injected,
    /// The last packet has left.
    Departed,
    /// The first packet waits for the receive engine.
    Arrived,
    /// The firmware can see the notification of the new message.
    Announced,
    /// The receive engine has taken the first command for the message.
    Commanded,
    /// The firmware can see the completion.
    Completed,
}

/// Watches a node.
pub struct Watch {
    sinks: Vec<Box<dyn Sink>>,
    /// Slices that are open.
    open: BTreeMap<Track, u32>,
    cores: Vec<Work>,
    transmit: Lanes,
    receive: Lanes,
    links: Links,
    /// Messages in the receive engine's notification FIFO.
    notified: VecDeque<Option<MessageId>>,
    depths: Vec<u32>,
    /// The event ring in host memory, the slot that the firmware writes next, and the one that the kernel
    /// takes next.
    ring: Range<u64>,
    written: u64,
    taken: u64,
}

/// An engine of a network interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// The one that sends.
    Transmit,
    /// The one that receives.
    Receive,
}

/// Bytes of an event.
const SLOT: u64 = 4;

impl Watch {
    /// Watch of a node with so many cores, for these sinks.
    pub fn new(sinks: Vec<Box<dyn Sink>>, cores: u32) -> Watch {
        Watch {
            sinks,
            open: BTreeMap::new(),
            cores: vec![Work::default(); cores as usize],
            transmit: Lanes::default(),
            receive: Lanes::default(),
            links: Links::default(),
            notified: VecDeque::new(),
            depths: Vec::new(),
            ring: 0..0,
            written: 0,
            taken: 0,
        }
    }

    /// Sets the addresses of the event ring, which is empty, and the next slot.
    pub fn set_ring(&mut self, ring: Range<u64>, slot: u32) {
        self.ring = ring;
        (self.written, self.taken) = (slot.into(), slot.into());
    }
    /// The kernel takes this slot next.
    pub fn set_slot(&mut self, slot: Option<u32>) {
        self.taken = slot.map_or(self.taken, u64::from);
    }
    /// The NIC has written to host memory.
    pub fn host_written(&mut self, phys: u64) {
        if self.ring.contains(&phys) {
            self.written = (phys - self.ring.start) / SLOT + 1;
        }
    }
    /// Entries of the event ring that the kernel has not taken.
    pub fn events(&self) -> u32 {
        let slots = ((self.ring.end - self.ring.start) / SLOT).max(1);
        ((self.written + slots - self.taken) % slots) as u32
    }

    fn tell(&mut self, at: Time, what: What) {
        self.sinks.iter_mut().for_each(|sink| sink.record(at, what));
    }
    fn begin_slice(&mut self, at: Time, track: Track, name: Option<&str>, id: Option<MessageId>) {
        *self.open.entry(track).or_default() += 1;
        self.tell(at, What::Begin { track, name, message: id });
    }
    /// A slice begins.
    pub fn begin(&mut self, at: Time, track: Track, name: &str, message: Option<MessageId>) {
        self.begin_slice(at, track, Some(name), message);
    }
    /// The innermost slice of a track ends, if there is one.
    pub fn end(&mut self, at: Time, track: Track) {
        let Some(open) = self.open.get_mut(&track).filter(|open| **open > 0) else { return };
        *open -= 1;
        self.tell(at, What::End { track });
    }
    fn step(&mut self, at: Time, track: Track, name: &str, message: Option<MessageId>, flow: Flow) {
        if let Track::Core(core) = track {
            self.release(core);
        }
        self.tell(at, What::Step { track, name, message, flow });
    }

    /// Begins other work of a core, or more work of the same class.
    pub fn core_does(&mut self, core: u32, at: Time, class: Class) {
        let track = Track::Core(core);
        if matches!(class, Class::Stall | Class::Lock) {
            self.release(core);
            self.cores[core as usize].inner = Some(class);
            return self.begin(at, track, name_of(class), None);
        }
        let work = &mut self.cores[core as usize];
        if work.inner.take().is_some() {
            let goes_on = work.outer == Some(class);
            self.end(at, track);
            if goes_on {
                return;
            }
        }
        if self.cores[core as usize].held != Some(at) {
            self.release(core);
            if self.cores[core as usize].outer.is_some_and(|outer| outer != Class::Idle) {
                self.end(at, track);
            }
        }
        // What had no length is forgotten.
        let work = &mut self.cores[core as usize];
        work.outer = Some(class);
        work.held = (class != Class::Idle).then_some(at);
    }
    /// Draws the present work of a core.
    fn release(&mut self, core: u32) {
        let work = &mut self.cores[core as usize];
        if let Some((since, class)) = work.held.take().zip(work.outer) {
            self.begin(since, Track::Core(core), name_of(class), None);
        }
    }

    /// Records that message `id` passed a mark in the work of `rank` or of the kernel on its core.
    pub fn passes(
        &mut self,
        at: Time,
        Placed { core, rank }: Placed,
        id: MessageId,
        mark: portals::TracePoint,
    ) {
        use portals::TracePoint;
        let (core, rank) = (Track::Core(core), Track::Rank(rank));
        let (track, name, flow) = match mark {
            TracePoint::CallEntered => (rank, "Portals call", Flow::Step),
            // Told of the same instant, or drawn as slices of the core.
            TracePoint::KernelEntered
            | TracePoint::InterruptRaised
            | TracePoint::HandlerEntered => return,
            TracePoint::Refused | TracePoint::EndedSilently => return,
            TracePoint::Queued => (core, "waits for a transmit pending", Flow::Beside),
            TracePoint::CommandWritten => (core, "transmit command written", Flow::Step),
            TracePoint::SentDrained => (core, "event: sent", Flow::Beside),
            TracePoint::HeaderDrained => (core, "event: header", Flow::Step),
            TracePoint::RingRead => (rank, "ring: matched", Flow::Step),
            TracePoint::RingCompleted => (rank, "ring: received", Flow::Step),
            TracePoint::Matched(_) => (core, "matched", Flow::Beside),
            TracePoint::Dropped => (core, "dropped", Flow::Beside),
            TracePoint::ReceiveWritten => (core, "receive command written", Flow::Step),
            TracePoint::ReceivedDrained => (core, "event: received", Flow::Step),
            TracePoint::EventPosted(kind) => (core, posted(kind), Flow::Beside),
            TracePoint::EventReturned(kind) => (rank, returned(kind), flow_of(kind)),
        };
        self.step(at, track, name, Some(id), flow);
    }

    /// A message passes a point of its way through the NIC.
    pub fn engine(&mut self, at: Time, id: MessageId, point: Point) {
        match point {
            Point::HeaderFetched => {
                let lane = self.transmit.enter(id).map(Track::Transmit);
                self.enter(at, lane, id, "reads");
            }
            Point::Arrived => {
                let lane = self.receive.enter(id).map(Track::Receive);
                self.enter(at, lane, id, "header to SRAM");
            }
            Point::Injected => self.next(at, self.transmit.find(id).map(Track::Transmit), "sends"),
            Point::Announced => {
                self.notified.push_back(Some(id));
                let lane = self.receive.find(id).map(Track::Receive);
                self.next(at, lane, "waits for its command");
            }
            Point::Commanded => {
                self.next(at, self.receive.find(id).map(Track::Receive), "deposits")
            }
            Point::Departed => {
                let lane = self.transmit.leave(id).map(Track::Transmit);
                self.leave(at, lane);
            }
            Point::Completed => {
                self.notified.push_back(Some(id));
                let lane = self.receive.leave(id).map(Track::Receive);
                self.leave(at, lane);
            }
        }
    }
    fn enter(&mut self, at: Time, lane: Option<Track>, id: MessageId, name: &str) {
        if let Some(lane) = lane {
            self.begin_slice(at, lane, None, Some(id));
            self.begin(at, lane, name, None);
        }
    }
    fn next(&mut self, at: Time, lane: Option<Track>, name: &str) {
        if let Some(lane) = lane {
            self.end(at, lane);
            self.begin(at, lane, name, None);
        }
    }
    fn leave(&mut self, at: Time, lane: Option<Track>) {
        if let Some(lane) = lane {
            self.end(at, lane);
            self.end(at, lane);
        }
    }

    /// Records that a message is at a stage of an engine that only its model has; `None`: it has left the
    /// engine.
    pub fn stage(&mut self, at: Time, engine: Engine, id: MessageId, stage: Option<&str>) {
        let (lanes, track): (&mut Lanes, fn(u16) -> Track) = match engine {
            Engine::Transmit => (&mut self.transmit, Track::Transmit),
            Engine::Receive => (&mut self.receive, Track::Receive),
        };
        match (lanes.find(id), stage) {
            (None, None) => {}
            (None, Some(stage)) => {
                let lane = lanes.enter(id).map(track);
                self.enter(at, lane, id, stage);
            }
            (Some(lane), Some(stage)) => self.next(at, Some(track(lane)), stage),
            (Some(_), None) => {
                let lane = lanes.leave(id).map(track);
                self.leave(at, lane);
            }
        }
    }

    /// A message passes a point of its way on a track.
    pub fn point(&mut self, at: Time, track: Track, name: &str, id: MessageId, flow: Flow) {
        self.step(at, track, name, Some(id), flow);
    }

    /// The firmware gives the transmit engine the command for a message's header.
    pub fn commands(&mut self, at: Time, message: Option<MessageId>) {
        self.step(at, Track::Firmware, "transmit command", message, Flow::Step);
    }
    /// The firmware takes `count` words from the receive engine's notification FIFO.
    pub fn takes_notifications(&mut self, at: Time, count: u32) {
        for _ in 0..count {
            let message = self.notified.pop_front().flatten();
            self.step(at, Track::Firmware, "takes notification", message, Flow::Step);
        }
    }
    /// The firmware interrupts the host.
    pub fn interrupts(&mut self, at: Time) {
        self.step(at, Track::Firmware, "interrupts", None, Flow::Beside);
    }

    /// Something happens beside the messages, on the track of the firmware: a sentence without a subject.
    pub fn beside(&mut self, at: Time, what: &str) {
        self.step(at, Track::Firmware, what, None, Flow::Beside);
    }

    /// A packet has an output of the router for an interval.
    pub fn passed(&mut self, output: usize, interval: Interval, packet: &Packet) {
        let Watch { links, sinks, .. } = self;
        let tell = |at, what: What| sinks.iter_mut().for_each(|sink| sink.record(at, what));
        links.passed(output, interval, packet, tell);
    }

    /// Records the length of a queue of a rank's library.
    pub fn length(&mut self, at: Time, gauge: Gauge, value: u32) {
        self.tell(at, What::Depth { gauge, value });
    }

    /// Records the present depths, of the same queues each time.
    pub fn depths(&mut self, at: Time, depths: &[(Gauge, u32)]) {
        self.depths.resize(depths.len(), 0);
        for (number, &(gauge, value)) in depths.iter().enumerate() {
            if std::mem::replace(&mut self.depths[number], value) != value {
                self.tell(at, What::Depth { gauge, value });
            }
        }
    }

    /// Begins the watch with these depths; the messages in the notification FIFO are unknown.
    pub fn launch(&mut self, at: Time, depths: &[(Gauge, u32)], notified: u32) {
        self.depths = depths.iter().map(|(_, value)| *value).collect();
        for &(gauge, value) in depths {
            self.tell(at, What::Depth { gauge, value });
        }
        self.notified.extend((0..notified).map(|_| None));
    }

    /// Ends the node and all slices.
    pub fn finish(mut self, at: Time) {
        for core in 0..self.cores.len() as u32 {
            self.release(core);
        }
        let Watch { links, sinks, .. } = &mut self;
        links.finish(|at, what| sinks.iter_mut().for_each(|sink| sink.record(at, what)));
        for (track, open) in std::mem::take(&mut self.open) {
            for _ in 0..open {
                self.tell(at, What::End { track });
            }
        }
        self.sinks.into_iter().for_each(|sink| sink.finish(at));
    }
}

fn name_of(class: Class) -> &'static str {
    match class {
        Class::Idle => "idle",
        Class::User => "user",
        Class::Kernel => "kernel",
        Class::Interrupt => "interrupt",
        Class::Stall => "reads the NIC",
        Class::Lock => "waits for a lock",
        Class::Polling => "polling",
    }
}

/// The events that end the way of a message, at its target or, for a reply, at its initiator.
fn flow_of(kind: EventKind) -> Flow {
    match kind {
        EventKind::PutEnd | EventKind::ReplyEnd => Flow::Last,
        _ => Flow::Beside,
    }
}

fn posted(kind: EventKind) -> &'static str {
    match kind {
        EventKind::GetStart => "posts GET_START",
        EventKind::GetEnd => "posts GET_END",
        EventKind::PutStart => "posts PUT_START",
        EventKind::PutEnd => "posts PUT_END",
        EventKind::GetPutStart => "posts GETPUT_START",
        EventKind::GetPutEnd => "posts GETPUT_END",
        EventKind::ReplyStart => "posts REPLY_START",
        EventKind::ReplyEnd => "posts REPLY_END",
        EventKind::SendStart => "posts SEND_START",
        EventKind::SendEnd => "posts SEND_END",
        EventKind::Ack => "posts ACK",
        EventKind::Unlink => "posts UNLINK",
    }
}

fn returned(kind: EventKind) -> &'static str {
    posted(kind).strip_prefix("posts ").unwrap_or_default()
}

#[cfg(test)]
mod tests;
