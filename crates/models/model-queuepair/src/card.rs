//! The card: registers, both rings, and the port to the link.

use crate::engine::{self, Engine, Job, Wrong};
use crate::entries::{
    long, Command, Completion, Layout, Submission, BASE, HEAD, OPERAND_MAX, PIECE, SUBMISSION, TAIL,
};
use crate::faults::Losses;
use crate::link::{Frame, Link, Part, Segment};
use crate::message_path::{self as path, Passes, DEPTHS};
use crate::settings::Params;
use abi::MessageId;
use des::{Duration, Time};
use host::Extent;
use machine::instruments::message_trace::Waypoint;
use machine::instruments::timeline::{Engine as Lane, Gauge};
use machine::node::{self, Nic};
use portals::messages::Incoming;
use std::collections::{BTreeMap, VecDeque};

type Ports = node::Ports<Card>;

/// Event that the card has scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A store of the host has come to a register.
    Register { addr: u32, value: u64 },
    /// The engine has done its job.
    Moved,
    /// The link is free for the next frame.
    LinkFree,
    /// Node `peer` may have been silent for too long.
    Timeout { peer: u32 },
}

/// A message to send, of which a part has been read.
struct Sending {
    submission: Submission,
    extents: Vec<Extent>,
    read: u64,
}

/// The card's end of the submission ring.
#[derive(Default)]
struct Submissions {
    /// Indices behind the last one that there is, and behind the last one that was read.
    tail: u32,
    fetched: u32,
    /// The engine reads the next one, or its list.
    fetching: bool,
}

/// The card's end of the completion ring.
#[derive(Default)]
struct Completions {
    /// Those without room in it.
    waiting: VecDeque<(Completion, Option<Passes>)>,
    /// Indices behind those that the engine has, those that are written, and those that the driver has read.
    issued: u32,
    written: u32,
    head: u32,
}

#[derive(Default)]
struct Counts {
    sent: u64,
    sent_bytes: u64,
    segments: u64,
    resent: u64,
    received: u64,
    received_bytes: u64,
    out_of_order: u64,
    deepest: [u32; 5],
}

pub(crate) struct Card {
    params: Params,
    layout: Layout,
    losses: Losses,
    engine: Engine,
    submissions: Submissions,
    completions: Completions,
    /// Messages to send; the engine reads a segment of the first.
    sending: VecDeque<Sending>,
    reading: bool,
    link: Link,
    link_busy: bool,
    /// Messages that have come, until the driver gives them a place.
    held: BTreeMap<MessageId, Vec<u8>>,
    counts: Counts,
}

impl Card {
    pub fn new(params: Params, losses: Losses) -> Card {
        Card {
            params,
            layout: Layout { base: 0, params },
            losses,
            engine: Engine::default(),
            submissions: Submissions::default(),
            completions: Completions::default(),
            sending: VecDeque::new(),
            reading: false,
            link: Link::default(),
            link_busy: false,
            held: BTreeMap::new(),
            counts: Counts::default(),
        }
    }

    /// Tells the depths of all queues.
    fn measure(&mut self, now: Time, ports: &Ports) {
        let depths = [
            self.submissions.tail.wrapping_sub(self.submissions.fetched),
            self.sending.len() as u32,
            self.link.unacknowledged,
            self.held.len() as u32,
            self.completions.written.wrapping_sub(self.completions.head),
        ];
        for (deepest, depth) in self.counts.deepest.iter_mut().zip(depths) {
            *deepest = depth.max(*deepest);
        }
        let gauges = [0, 1, 2, 3, 4].map(|at| (Gauge::Own(at as u8), depths[at]));
        ports.depths(now, &gauges);
    }

    // The engine, submissions and completions.

    fn add_job(&mut self, now: Time, job: Job, ports: &mut Ports) {
        self.engine.add(job);
        if let Some(time) = self.engine.start(&self.params) {
            ports.schedule(now + time, Event::Moved);
        }
    }

    /// The engine's job is done: its effect, and the next one. The error is the end of a sentence.
    fn moved(&mut self, now: Time, ports: &mut Ports) -> Result<(), Wrong> {
        let job = self.engine.end();
        if let Some(time) = self.engine.start(&self.params) {
            ports.schedule(now + time, Event::Moved);
        }
        match job {
            Job::Fetch => {
                let mut entry = [0; SUBMISSION];
                let at = self.layout.submission(self.submissions.fetched);
                ports.read(at, &mut entry)?;
                self.submissions.fetched = self.submissions.fetched.wrapping_add(1);
                let submission = Submission::parse(&entry).ok_or(Wrong::NoCommand)?;
                let Submission { pieces, address: phys, bytes: len, .. } = submission;
                if pieces <= 1 {
                    return self.take(now, submission, vec![Extent { phys, len }], ports);
                }
                self.add_job(now, Job::List(submission), ports);
            }
            Job::List(submission) => {
                let mut list = vec![0; submission.pieces as usize * PIECE as usize];
                ports.read(submission.address, &mut list)?;
                let piece = |at: &[u8]| Extent { phys: long(at, 0), len: long(at, 8) };
                let extents = list.chunks(PIECE as usize).map(piece).collect();
                self.take(now, submission, extents, ports)?;
            }
            Job::Segment(bytes) => self.cut(now, bytes, ports)?,
            Job::Place { submission: Submission { tag, header, .. }, extents, data } => {
                let failed = !engine::scatter(ports, &extents, &data);
                let message = MessageId::from(&header);
                ports.mark(now, message, path::PLACED);
                ports.stage(now, Lane::Receive, message, None);
                let passes = Some(Passes { message, waypoint: path::PLACE_TOLD });
                self.complete(now, Completion::Ended { tag, failed }, passes, ports);
            }
            Job::Complete { index, completion, passes } => {
                let (at, phase) = (self.layout.completion(index), self.layout.phase(index));
                ports.write(at, &completion.emit(phase))?;
                self.completions.written = index.wrapping_add(1);
                if let Some(Passes { message, waypoint }) = passes {
                    ports.mark(now, message, waypoint);
                }
                ports.interrupt(now + self.params.register);
            }
        }
        Ok(())
    }

    fn fetch(&mut self, now: Time, ports: &mut Ports) {
        let Submissions { tail, fetched, fetching } = &mut self.submissions;
        if fetched != tail && !std::mem::replace(fetching, true) {
            self.add_job(now, Job::Fetch, ports);
        }
    }

    /// A submission is here, with all of its pieces.
    fn take(
        &mut self,
        now: Time,
        submission: Submission,
        extents: Vec<Extent>,
        ports: &mut Ports,
    ) -> Result<(), Wrong> {
        let message = MessageId::from(&submission.header);
        match submission.command {
            Command::Send => {
                ports.mark(now, message, path::FETCHED);
                ports.stage(now, Lane::Transmit, message, Some("before the window"));
                self.sending.push_back(Sending { submission, extents, read: 0 });
                self.admit(now, ports);
            }
            Command::Place => {
                let data = self.held.remove(&message).ok_or(Wrong::NoMessage)?;
                ports.mark(now, message, path::PLACE_FETCHED);
                ports.stage(now, Lane::Receive, message, Some("to its place"));
                self.add_job(now, Job::Place { submission, extents, data }, ports);
            }
            Command::Release => {
                self.held.remove(&message).ok_or(Wrong::NothingToForget)?;
                ports.stage(now, Lane::Receive, message, None);
                let ended = Completion::Ended { tag: submission.tag, failed: false };
                self.complete(now, ended, None, ports);
            }
        }
        self.submissions.fetching = false;
        self.fetch(now, ports);
        Ok(())
    }

    fn complete(
        &mut self,
        now: Time,
        completion: Completion,
        passes: Option<Passes>,
        ports: &mut Ports,
    ) {
        self.completions.waiting.push_back((completion, passes));
        self.issue(now, ports);
    }

    /// Writes completions as long as there is room in their ring.
    fn issue(&mut self, now: Time, ports: &mut Ports) {
        loop {
            let Completions { waiting, issued, head, .. } = &mut self.completions;
            if issued.wrapping_sub(*head) == self.params.completions {
                return;
            }
            let Some((completion, passes)) = waiting.pop_front() else { return };
            let index = *issued;
            *issued = index.wrapping_add(1);
            self.add_job(now, Job::Complete { index, completion, passes }, ports);
        }
    }

    // The link.

    /// Reads the next segment of the oldest message, if the window of its target has room.
    fn admit(&mut self, now: Time, ports: &mut Ports) {
        let Some(first) = self.sending.front().filter(|_| !self.reading) else { return };
        let Sending { submission: Submission { header, bytes, .. }, read, .. } = first;
        if self.link.peer(header.target_nid.into()).unacknowledged.len() >= self.params.window {
            return;
        }
        let segment = (bytes - read).min(self.params.segment);
        if *read == 0 {
            let message = MessageId::from(header);
            ports.mark(now, message, path::ADMITTED);
            ports.stage(now, Lane::Transmit, message, Some("reads and sends"));
        }
        self.reading = true;
        self.add_job(now, Job::Segment(segment), ports);
    }

    /// A segment has been read: it goes to the link.
    fn cut(&mut self, now: Time, length: u64, ports: &mut Ports) -> Result<(), Wrong> {
        self.reading = false;
        let mut data = vec![0; length as usize];
        let sending = self.sending.front_mut().expect("a message is sent");
        let Submission { header, tag, bytes, .. } = sending.submission;
        engine::gather(ports, &sending.extents, sending.read, &mut data)?;
        let first = sending.read == 0;
        sending.read += length;
        let last = (sending.read == bytes).then_some(tag);
        if first {
            ports.injected(now, &header);
        }
        if last.is_some() {
            self.sending.pop_front();
            self.counts.sent += 1;
            self.counts.sent_bytes += bytes;
        }
        let (message, target) = (MessageId::from(&header), header.target_nid.into());
        let part = Part { message, header: first.then(|| header.into()), data, last };
        self.link.push(ports.nid(), target, part);
        self.transmit(now, ports);
        self.admit(now, ports);
        Ok(())
    }

    /// The next frame takes the link.
    fn transmit(&mut self, now: Time, ports: &mut Ports) {
        let Some((target, frame)) = (!self.link_busy).then(|| self.link.pop()).flatten() else {
            return;
        };
        self.link_busy = true;
        let Params { frame: own, link_rate, link_latency, timeout, .. } = self.params;
        let gone = now + Duration::of_transfer(own + frame.bytes(), link_rate);
        ports.schedule(gone, Event::LinkFree);
        let losses = match frame {
            Frame::Segment(_) => {
                self.counts.segments += 1;
                let peer = self.link.peer(target);
                peer.deadline = gone + timeout;
                if !std::mem::replace(&mut peer.timed, true) {
                    ports.schedule(peer.deadline, Event::Timeout { peer: target });
                }
                &mut self.losses.segments
            }
            Frame::Acknowledgement { .. } => &mut self.losses.acknowledgements,
        };
        if losses.next(now).is_none() {
            ports.send(target, gone + link_latency, frame);
        }
    }

    fn timeout(&mut self, now: Time, target: u32, ports: &mut Ports) {
        let peer = self.link.peer(target);
        if peer.unacknowledged.is_empty() {
            peer.timed = false;
            return;
        }
        let due = peer.deadline <= now;
        if due {
            peer.deadline = now + self.params.timeout;
        }
        ports.schedule(peer.deadline, Event::Timeout { peer: target });
        // What waits for the link has a deadline when it leaves.
        if !due || peer.queued > 0 {
            return;
        }
        peer.retries += 1;
        if peer.retries > self.params.retries {
            return ports.fail(now, format_args!("gave up on node {target}: it is silent"));
        }
        self.counts.resent += u64::from(self.link.push_again(ports.nid(), target));
        self.transmit(now, ports);
    }

    /// A segment has come. It is acknowledged whether it is the expected one or not.
    fn accept(&mut self, now: Time, segment: Segment, ports: &mut Ports) {
        let Segment { source, number, again, part } = segment;
        let peer = self.link.peer(source);
        let mut whole = None;
        if number == peer.expected {
            peer.expected = number.wrapping_add(1);
            if let Some(header) = &part.header {
                peer.partial = Some(Incoming { header: **header, data: Vec::new() });
            }
            let message = peer.partial.as_mut().expect("the first segment comes first");
            message.data.extend_from_slice(&part.data);
            whole = part.last.and_then(|_| peer.partial.take());
            if again {
                ports.mark(now, part.message, path::RECOVERED);
            }
            if part.header.is_some() {
                ports.stage(now, Lane::Receive, part.message, Some("comes"));
            }
        } else {
            self.counts.out_of_order += 1;
        }
        self.link.acknowledge(ports.nid(), source);
        self.transmit(now, ports);
        if let Some(message) = whole {
            self.arrived(now, message, ports);
        }
    }

    /// All of a message has come.
    fn arrived(&mut self, now: Time, Incoming { header, data }: Incoming, ports: &mut Ports) {
        let message = MessageId::from(&header);
        ports.mark(now, message, Waypoint::ARRIVED);
        ports.stage(now, Lane::Receive, message, Some("waits for its place"));
        self.counts.received += 1;
        self.counts.received_bytes += data.len() as u64;
        let operand = data[..data.len().min(OPERAND_MAX)].to_vec();
        self.held.insert(message, data);
        let passes = Some(Passes { message, waypoint: path::ANNOUNCED });
        self.complete(now, Completion::Arrived(Incoming { header, data: operand }), passes, ports);
    }
}

impl Nic for Card {
    type Event = Event;
    type Message = Frame;
    type Left = ();

    fn handle(&mut self, now: Time, event: Event, ports: &mut Ports) {
        match event {
            Event::Register { addr, value } => match u64::from(addr) {
                TAIL => {
                    self.submissions.tail = value as u32;
                    self.fetch(now, ports);
                }
                HEAD => {
                    self.completions.head = value as u32;
                    self.issue(now, ports);
                }
                BASE => self.layout.base = value,
                _ => ports.fail(now, format_args!("the card has no register {addr:#x}")),
            },
            Event::Moved => {
                if let Err(why) = self.moved(now, ports) {
                    ports.fail(now, format_args!("the card's engine: {why}"));
                }
            }
            Event::LinkFree => {
                self.link_busy = false;
                self.transmit(now, ports);
            }
            Event::Timeout { peer } => self.timeout(now, peer, ports),
        }
        self.measure(now, ports);
    }

    fn receive(&mut self, now: Time, frame: Frame, ports: &mut Ports) {
        match frame {
            Frame::Segment(segment) => self.accept(now, segment, ports),
            Frame::Acknowledgement { source, next } => {
                for part in self.link.acknowledged(source, next) {
                    let Some(tag) = part.last else { continue };
                    ports.stage(now, Lane::Transmit, part.message, None);
                    let ended = Completion::Ended { tag, failed: false };
                    self.complete(now, ended, None, ports);
                }
                self.admit(now, ports);
            }
        }
        self.measure(now, ports);
    }

    fn store(&mut self, now: Time, addr: u64, data: &[u8], ports: &mut Ports) {
        if addr == TAIL && self.losses.doorbells.next(now).is_some() {
            return;
        }
        let mut value = [0; 8];
        value[..data.len()].copy_from_slice(data);
        let event = Event::Register { addr: addr as u32, value: u64::from_le_bytes(value) };
        ports.schedule(now + self.params.register, event);
    }

    fn word(event: &Event) -> u64 {
        match *event {
            Event::Register { addr, value } => u64::from(addr) << 3 ^ value << 8,
            Event::Moved => 1,
            Event::LinkFree => 2,
            Event::Timeout { peer } => 3 | u64::from(peer) << 8,
        }
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let Counts { sent, sent_bytes, segments, resent, .. } = self.counts;
        let Counts { received, received_bytes, out_of_order, deepest, .. } = self.counts;
        let mut counters = vec![
            ("tx.messages", sent),
            ("tx.bytes", sent_bytes),
            ("tx.segments", segments),
            ("tx.resent", resent),
            ("rx.messages", received),
            ("rx.bytes", received_bytes),
            ("rx.out_of_order", out_of_order),
        ];
        counters.extend(self.losses.counters());
        let names = DEPTHS.iter().map(|depth| depth.counter);
        counters.extend(names.zip(deepest.map(u64::from)));
        counters
    }

    fn waiting(&self) -> Vec<String> {
        let waits = [
            (self.sending.len(), "messages wait for the window"),
            (self.held.len(), "messages wait on the card for their place"),
            (self.completions.waiting.len(), "completions wait for room in their ring"),
        ];
        let waits = waits.into_iter().filter(|(number, _)| *number > 0);
        waits.map(|(number, what)| format!("{number} {what}")).collect()
    }
}
