//! A node of any network interface: host, ranks, the interface, and the event queue that orders them. A new
//! model provides a [`Nic`]; docs/adding-a-nic.md walks through one.

use crate::faults::Faults;
use crate::firmware::profile::Profile;
use crate::instruments::journal::{Cores, Journal};
use crate::instruments::message_trace::Flight;
use crate::instruments::timeline::{About, Queue, Watch, Watcher};
use crate::judge::Adapter;
use crate::remains::{Failure, Remains};
use crate::report::{self, Core, NodeReport};
use abi::MessageId;
use des::{Envelope, LogicalProcess, Outbox, Status, Time, TraceHash};
use host::Host;
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

mod ports;
mod process;
mod software;

pub use ports::Ports;
pub use process::{Process, Switch};
pub use software::Software;

/// A network interface. It is passive: it is called with the time, and with the [`Ports`] for its requests.
/// Accesses of its host come as they leave the host's processor; the link between them is part of the
/// interface.
pub trait Nic: Sized + 'static {
    /// Event that it has scheduled.
    type Event: Copy + fmt::Debug;
    /// Message between nodes.
    type Message: Send;

    /// Handles an event that is due.
    fn handle(&mut self, now: Time, event: Self::Event, ports: &mut Ports<Self>);
    /// A message has come from another node.
    fn receive(&mut self, now: Time, message: Self::Message, ports: &mut Ports<Self>);
    /// A message of the program is on its way here; no part of it has come yet. Messages of a node are
    /// reported in the order in which they left it.
    fn foreseen(&mut self, message: MessageId) {
        let _ = message;
    }
    /// The host stores up to [`host::LINE`] bytes, within an aligned line, at the interface's address `addr`.
    fn store(&mut self, now: Time, addr: u64, data: &[u8], ports: &mut Ports<Self>);
    /// The host loads `len` bytes, up to a line, from `addr` and waits; [`Ports::answer`] answers with as
    /// many, later than now.
    fn load(&mut self, now: Time, addr: u64, len: usize, ports: &mut Ports<Self>) {
        let _ = addr;
        ports.answer(now + des::Duration(1), &[0; host::LINE][..len]);
    }
    /// Word for the trace hash that distinguishes this event from others of its time.
    fn word(event: &Self::Event) -> u64;
    /// Earliest output time of `event`, which is due at `at`: a message that it causes leaves no sooner, so
    /// other nodes may advance meanwhile. `at` is always a safe bound.
    fn earliest_output(&self, at: Time, event: &Self::Event) -> Time {
        let _ = event;
        at
    }
    /// Time of its own processor's next action that others can see; never if it has no processor, or if that
    /// only waits.
    fn next_action(&self) -> Time {
        Time::NEVER
    }
    /// True if its own processor does more than wait; one that is debugged may act at any time, even if it
    /// only waits.
    fn works(&self) -> bool {
        self.next_action() < Time::NEVER
    }
    /// Time at which it is known to do nothing more, if nothing happens on the node after `last`. A run in
    /// which nothing moves ends no sooner, so that its end does not depend on the windows.
    fn quiesce_time(&self, last: Time) -> Time {
        last
    }
    /// The run ends at `at` because of [`Ports::failure`]: a debugger may examine the processor.
    fn failed(&mut self, at: Time, ports: &mut Ports<Self>) {
        let _ = (at, ports);
    }
    /// Runs its own processor until `until`, or until it has scheduled an event before that.
    fn run(&mut self, until: Time, ports: &mut Ports<Self>) {
        let _ = (until, ports);
    }
    /// The launcher starts the program: observations count from here on.
    fn launched(&mut self, now: Time, ports: &mut Ports<Self>) {
        let _ = (now, ports);
    }
    /// Ends it at `end`, before which there is no event any more that others can see: the profile of its own
    /// processor, if one was recorded.
    fn finish(&mut self, end: Time, ports: &mut Ports<Self>) -> Option<Profile> {
        let _ = (end, ports);
        None
    }
    /// Counters, by name.
    fn counters(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
    /// Reasons why it is stuck where nothing in the machine moves any more, a sentence each.
    fn waiting(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Message between processes of a run.
#[derive(Debug)]
pub enum Crossing<M> {
    /// Message of the model.
    Message(M),
    /// Record of a message of the program, for the node to which it goes; no part of the machine.
    Flight(Box<Flight>),
}

/// Event on a node.
#[derive(Clone, Copy, Debug)]
enum Event<E> {
    Nic(E),
    Host(host::Event),
    /// Message from another node. It is kept outside of the event, so that events are small.
    Message {
        slot: u32,
    },
    Store {
        addr: u64,
        len: u8,
        data: [u8; 8],
    },
    /// A store of more bytes, which are kept outside of the event.
    StoreLine {
        slot: u32,
        addr: u64,
    },
    Load {
        addr: u64,
        len: u8,
    },
    Answer {
        len: u8,
        data: [u8; 8],
    },
    AnswerLine {
        slot: u32,
    },
    Interrupt,
    /// Runs the fibres that the interface has woken.
    Attend,
    /// The launcher starts the program.
    Launch,
}

// Queues sort events by the thousand: longer data stand in a slab of the node.
const _: () = assert!(size_of::<Event<()>>() <= 24);

/// A node of the machine. Built, run and ended on one worker thread.
pub struct Node<N: Nic> {
    nic: N,
    ports: Ports<N>,
    host: Host,
    software: Box<dyn Software>,
    hash: TraceHash,
    /// Time of the last event.
    last: Time,
    launch: Time,
    /// Names of the interface's own queues.
    queues: &'static [Queue],
    /// Host times of each core at the launch.
    at_launch: Option<Vec<host::Times>>,
}

/// Parts of a node beside its network interface.
pub struct Equipment {
    /// Its host.
    pub host: Host,
    /// The host's software.
    pub software: Box<dyn Software>,
    /// Journal of its messages and calls.
    pub journal: Rc<Journal>,
    /// Judge, if its events are judged.
    pub judge: Option<Rc<Adapter>>,
}

impl<N: Nic> Node<N> {
    /// Node `nid`, which boots from time 0 on and fails as asked. The launcher starts the program at `launch`.
    pub fn new(nid: u32, nic: N, equipment: Equipment, faults: &Faults, launch: Time) -> Node<N> {
        let Equipment { mut host, software, journal, judge } = equipment;
        host.set_pace(&faults.pace(nid));
        let mut ports = Ports::new(nid, host.memory(), journal, judge, faults.interrupt_line(nid));
        if let Some(from) = faults.stuck_since(nid) {
            host.set_stuck_line(from);
            ports.queue.schedule(from, Event::Interrupt);
        }
        ports.queue.schedule(launch, Event::Launch);
        software.boot(&mut host, launch);
        host.start(Time::ZERO, &mut ports);
        let (hash, last) = (TraceHash::default(), Time::ZERO);
        Node { nic, ports, host, software, hash, last, launch, queues: &[], at_launch: None }
    }

    /// Names of the interface's own queues, in the order of their numbers.
    pub fn set_queues(&mut self, queues: &'static [Queue]) {
        self.queues = queues;
    }

    /// Lets these observe its events from the launch on.
    pub fn set_watchers(&mut self, watchers: &[Arc<dyn Watcher>]) {
        if !watchers.is_empty() {
            let sinks = watchers.iter().map(|watcher| watcher.node(self.about())).collect();
            self.ports.journal.set_watch(Watch::new(sinks, self.host.cores() as u32));
        }
    }

    fn about(&self) -> About {
        About {
            nid: self.ports.nid,
            ranks: self.software.ranks(),
            cores: self.host.cores() as u32,
            neighbours: Default::default(),
            links: Default::default(),
            queues: self.queues,
        }
    }

    fn dispatch(&mut self, now: Time, event: Event<N::Event>) {
        self.hash.event(now, word::<N>(&event));
        if let Some(judge) = &self.ports.judge {
            judge.set_now(now);
        }
        let Node { nic, host, ports, .. } = self;
        ports.acts = nic.next_action();
        match event {
            Event::Nic(event) => nic.handle(now, event, ports),
            Event::Host(event) => host.handle(now, event, ports),
            Event::Message { slot } => {
                let message = ports.messages.take(slot);
                nic.receive(now, message, ports);
            }
            Event::Store { addr, len, data } => {
                nic.store(now, addr, &data[..usize::from(len)], ports);
            }
            Event::StoreLine { slot, addr } => {
                let line = ports.lines.take(slot);
                self.hash.event(now, line.digest());
                nic.store(now, addr, line.bytes(), ports);
            }
            Event::Load { addr, len } => nic.load(now, addr, len.into(), ports),
            Event::Answer { len, data } => {
                host.mmio_reply(now, &data[..usize::from(len)], ports);
            }
            Event::AnswerLine { slot } => {
                let line = ports.lines.take(slot);
                self.hash.event(now, line.digest());
                host.mmio_reply(now, line.bytes(), ports);
            }
            Event::Interrupt => host.interrupt(now, ports),
            Event::Attend => host.attend(now, ports),
            Event::Launch => self.start_program(now),
        }
        if self.host.has_noticed() {
            self.host.attend(now, &mut self.ports);
        }
        self.last = now;
        let Node { host, hash, last, .. } = self;
        // What the host has done without events counts as if there had been some.
        host.take_passed(|at, event| {
            hash.event(at, word::<N>(&Event::Host(event)));
            *last = at;
        });
        self.collect_failures();
    }

    fn start_program(&mut self, now: Time) {
        if let Some(what) = self.software.late() {
            let why = format!("{what} not ready for the launch at {now}; see machine.launch");
            return self.ports.fail(now, why);
        }
        self.at_launch = Some(self.host.times_of_cores(now).collect());
        self.ports.watched = self.ports.journal.begin_watch();
        if self.ports.watched {
            self.ports.journal.watch(|watch| watch.launch(now, Default::default(), 0));
            let cores = Cores(self.ports.journal.clone());
            self.host.set_observer(now, &Rc::new(cores));
        }
        self.nic.launched(now, &mut self.ports);
    }

    /// Collects failures of fibres, ranks and judge; the first one ends the run.
    fn collect_failures(&mut self) {
        let now = self.last;
        let ports = &mut self.ports;
        if let Some(fault) = self.host.has_fault().then(|| self.host.fault()).flatten() {
            ports.fail(fault.at, &fault);
        }
        if let Some((code, sentence)) = self.software.failure() {
            ports.failure.get_or_insert(Failure { at: now, sentence, code });
        }
        if let Some(verdict) = ports.judge.as_ref().and_then(|judge| judge.verdict()) {
            let (at, sentence) = (Time(verdict.at), verdict.to_string());
            ports.failure.get_or_insert(Failure { at, sentence, code: 1 });
        }
    }

    /// True if events are due other than those left by ranks that have ended.
    fn awaits(&self) -> bool {
        let matters = |(at, _, event): (Time, u32, &Event<N::Event>)| match event {
            Event::Host(event) => !self.host.is_stale(*event),
            Event::Interrupt => self.host.stuck_since() != Some(at),
            _ => true,
        };
        let queue = &self.ports.queue;
        self.nic.works()
            || !queue.is_empty() && (!self.software.all_ended() || queue.iter().any(matters))
    }

    fn report(&self, now: Time) -> NodeReport {
        let end: Vec<host::Times> = self.host.times_of_cores(now).collect();
        let start = self.at_launch.as_ref().unwrap_or(&end);
        let span = |end, start| report::host_ns(end, start, self.host.cores());
        let all = |times: &[host::Times]| times.iter().copied().sum();
        let each = end.iter().zip(start).map(|(end, start)| Core { host_ns: span(end, start) });
        let mut counters: BTreeMap<String, u64> =
            self.nic.counters().into_iter().map(|(name, n)| (name.to_string(), n)).collect();
        let line = &self.ports.line;
        counters.insert("nic.interrupts_lost".into(), line.lost());
        counters.insert("nic.interrupts_late".into(), line.late());
        NodeReport {
            nid: self.ports.nid,
            ranks: self.software.ranks(),
            counters,
            host_ns: span(&all(&end), &all(start)),
            links: Vec::new(),
            cores: each.filter(|_| end.len() > 1).collect(),
        }
    }
}

/// A number for each kind of event, for the trace hash.
fn word<N: Nic>(event: &Event<N::Event>) -> u64 {
    match event {
        Event::Nic(event) => 1 | N::word(event) << 8,
        Event::Host(event) => 2 | (event.core() as u64) << 8,
        Event::Message { .. } => 4,
        Event::Store { addr, data, .. } => {
            6 ^ addr << 8 ^ u64::from_le_bytes(*data).rotate_left(17)
        }
        Event::StoreLine { addr, .. } => 12 ^ addr << 8,
        Event::Load { addr, len } => (7 | addr << 8) ^ u64::from(len ^ 4) << 56,
        Event::Answer { len, data } => {
            (8 ^ u64::from_le_bytes(*data).rotate_left(8)) ^ u64::from(len ^ 4) << 56
        }
        Event::AnswerLine { .. } => 13,
        Event::Interrupt => 9,
        Event::Attend => 10,
        Event::Launch => 11,
    }
}

impl<N: Nic> LogicalProcess for Node<N> {
    type Message = Crossing<N::Message>;
    type Report = Remains<()>;

    fn next_event(&self) -> Time {
        self.ports.queue.next_time().min(self.nic.next_action())
    }

    fn earliest_output(&self) -> Time {
        let mut earliest_output = self.nic.next_action();
        for (at, _, event) in self.ports.queue.iter() {
            if at >= earliest_output {
                break;
            }
            let sends = match event {
                Event::Nic(event) => self.nic.earliest_output(at, event),
                _ => at,
            };
            earliest_output = earliest_output.min(sends);
        }
        earliest_output
    }

    fn advance_to(&mut self, horizon: Time, outbox: &mut Outbox<Crossing<N::Message>>) {
        std::mem::swap(outbox, &mut self.ports.outbox);
        self.ports.horizon = horizon;
        while self.ports.failure.is_none() {
            let due = self.ports.queue.next_time().min(horizon);
            if self.nic.next_action() < due {
                self.nic.run(due, &mut self.ports);
                continue;
            }
            let Some((now, event)) = self.ports.queue.pop_before(horizon) else { break };
            self.dispatch(now, event);
        }
        if let Some(failure) = &self.ports.failure {
            self.nic.failed(failure.at, &mut self.ports);
        }
        std::mem::swap(outbox, &mut self.ports.outbox);
    }

    fn receive(&mut self, e: Envelope<Crossing<N::Message>>) {
        let message = match e.message {
            Crossing::Message(message) => message,
            Crossing::Flight(flight) => {
                let message = flight.id;
                self.ports.journal.comes(flight);
                return self.nic.foreseen(message);
            }
        };
        let slot = self.ports.messages.put(message);
        self.ports.queue.schedule_from(e.at, e.source, e.sequence, Event::Message { slot });
    }

    fn status(&self) -> Status {
        if let Some(failure) = &self.ports.failure {
            Status::Failed(failure.at)
        } else if self.awaits() {
            Status::Busy
        } else if self.software.all_ended() {
            Status::Done
        } else {
            Status::Quiet
        }
    }

    fn quiesce_time(&self) -> Time {
        self.nic.quiesce_time(self.last.max(self.launch))
    }

    fn finish(mut self, now: Time) -> Remains<()> {
        let until = self.ports.failure.as_ref().map_or(now, |failure| failure.at);
        let profile = self.nic.finish(until, &mut self.ports);
        if let Some(watch) = self.ports.journal.end_watch() {
            watch.finish(now);
        }
        let waiting = self.software.waiting().into_iter().chain(self.nic.waiting());
        Remains {
            waiting: waiting.collect(),
            report: Some(self.report(until)),
            profile,
            judged: self.ports.judge.as_ref().map(|judge| judge.tally()),
            failure: self.ports.failure.take(),
            missed: self.software.missed(),
            journal: self.ports.journal.finish(until),
            hash: self.hash.value(),
            endings: self.software.endings(),
            end: now,
            left: (),
        }
    }
}
