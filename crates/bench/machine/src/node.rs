//! A node of any network interface: host, ranks, the interface, and the event queue that orders them. A new
//! model provides a [`Nic`]; docs/adding-a-nic.md walks through one.

use crate::faults::Faults;
use crate::instruments::journal::{Cores, Journal};
use crate::instruments::message_trace::Flight;
use crate::instruments::timeline::{About, Queue, Watch, Watcher};
use crate::judge::Adapter;
use crate::remains::{Failure, Remains};
use crate::report::{self, Core, NodeReport};
use des::{
    Announced, Duration, Envelope, LogicalProcess, Lookahead, Offers, Outbox, Status, Time, LAGS,
};
use host::Host;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

mod event;
mod nic;
mod ports;
mod process;
mod software;

pub use event::{word, Event};
pub use nic::Nic;
pub use ports::{HostPorts, Ports};
pub use process::{Process, Switch};
pub use software::Software;

/// Message between processes of a run.
#[derive(Debug)]
pub enum Crossing<M> {
    /// Message of the model.
    Message(M),
    /// Record of a message of the program, for the node to which it goes; no part of the machine.
    Flight(Box<Flight>),
}

/// A node of the machine. Built, run and ended on one worker thread. The fields that every event needs come
/// first (`repr(C)`, here and in [`Ports`]): nodes by the hundred share the host's caches.
#[repr(C)]
pub struct Node<N: Nic> {
    ports: Ports<N>,
    /// Time of the last event.
    last: Time,
    host: Host,
    nic: N,
    software: Box<dyn Software>,
    /// The software has been started.
    booting: bool,
    launch: Time,
    /// Names of the interface's own queues.
    queues: &'static [Queue],
    /// Host times of each core at the launch.
    at_launch: Option<Vec<host::Times>>,
}

/// Parts of a node, for a model that acts beside its events: that boots all nodes of a run at once.
pub struct NodeParts<'a, N: Nic> {
    /// The network interface.
    pub nic: &'a mut N,
    /// Its ports.
    pub ports: &'a mut Ports<N>,
    /// The host.
    pub host: &'a mut Host,
    /// The host's software.
    pub software: &'a dyn Software,
}

impl<'a, N: Nic> NodeParts<'a, N> {
    /// The host, and its services.
    pub fn host(self) -> (&'a mut Host, HostPorts<'a, N>) {
        let NodeParts { nic, ports, host, .. } = self;
        (host, HostPorts { nic, ports })
    }
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
            ports.queue.schedule(from, Event::Interrupt { vector: 0 });
        }
        if let Some(from) = nic.observed_from(launch) {
            ports.queue.schedule(from, Event::Observe);
        }
        ports.queue.schedule(launch, Event::Launch);
        let last = Time::ZERO;
        let (queues, at_launch) = (&[][..], None);
        let mut node =
            Node { ports, last, host, nic, software, booting: false, launch, queues, at_launch };
        let again = node.nic.look_again(Time::ZERO, &mut node.ports);
        node.looked(Time::ZERO, again);
        node
    }

    /// The interface is ready, and the host's software boots; or it is to be looked at again.
    pub fn looked(&mut self, now: Time, again: Option<Time>) {
        if let Some(at) = again {
            return self.ports.queue.schedule(at, Event::Look);
        }
        self.booting = true;
        self.software.boot(&mut self.host, self.launch);
        let Node { nic, host, ports, .. } = self;
        host.start(now, &mut HostPorts { nic, ports });
    }

    /// Its parts.
    pub fn parts(&mut self) -> NodeParts<'_, N> {
        let Node { nic, ports, host, software, .. } = self;
        NodeParts { nic, ports, host, software: &**software }
    }

    /// Its network interface alone.
    pub fn into_nic(self) -> N {
        self.nic
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
        let mut about = About {
            nid: self.ports.nid,
            ranks: self.software.ranks(),
            cores: self.host.cores() as u32,
            neighbours: Default::default(),
            links: Default::default(),
            queues: self.queues,
        };
        self.nic.describe(&mut about);
        about
    }

    #[inline(always)]
    fn dispatch(&mut self, now: Time, event: Event<N::Event>) {
        let word = word::<N>(&event);
        self.ports.hash.event(now, word);
        if let Some(judge) = &self.ports.judge {
            judge.set_now(now);
        }
        let Node { nic, host, ports, .. } = self;
        nic.due(now, &event, word, ports);
        let mut host_has_run = event.is_for_host();
        match event {
            Event::Nic(event) => nic.handle(now, event, ports),
            Event::Host(event) => host.handle(now, event, &mut HostPorts { nic, ports }),
            Event::Message { slot } => {
                let message = ports.messages.take(slot);
                nic.receive(now, message, ports);
            }
            Event::Store { addr, len, data } => {
                nic.store(now, addr, &data[..usize::from(len)], ports);
            }
            Event::StoreLine { slot, addr } => {
                let line = ports.lines.take(slot);
                ports.hash.event(now, line.digest());
                nic.store(now, addr, line.bytes(), ports);
            }
            Event::Load { addr, len } => nic.load(now, addr, len.into(), ports),
            Event::Answer { len, data } => {
                let data = &data[..usize::from(len)];
                host.mmio_reply(now, data, &mut HostPorts { nic, ports });
            }
            Event::AnswerLine { slot } => {
                let line = ports.lines.take(slot);
                ports.hash.event(now, line.digest());
                host.mmio_reply(now, line.bytes(), &mut HostPorts { nic, ports });
            }
            Event::Interrupt { vector } => {
                host.interrupt_by(now, vector, &mut HostPorts { nic, ports });
            }
            Event::Attend => host.attend(now, &mut HostPorts { nic, ports }),
            Event::Look => {
                let again = nic.look_again(now, ports);
                self.looked(now, again);
            }
            Event::Observe => nic.observe(now, ports),
            Event::Launch => self.start_program(now),
        }
        let Node { nic, host, ports, .. } = self;
        if host.has_noticed() {
            host_has_run = true;
            host.attend(now, &mut HostPorts { nic, ports });
        }
        nic.done(now, ports);
        self.last = now;
        if host_has_run {
            self.take_passed();
            self.collect_failures(self.last);
        }
        self.collect_verdict();
    }

    /// Counts what the host has done without events as if there had been events.
    fn take_passed(&mut self) {
        let Node { host, ports, last, nic, .. } = self;
        host.take_passed(|at, event| {
            ports.hash.event(at, word::<N>(&Event::Host(event)));
            nic.passed(at);
            *last = at;
        });
    }

    fn start_program(&mut self, now: Time) {
        let late = match self.booting {
            true => self.software.late().map(|what| (what, "see machine.launch".to_owned())),
            false => {
                let (what, why) = self.nic.late();
                Some((what.to_owned(), why))
            }
        };
        if let Some((what, why)) = late {
            let why = format!("{what} not ready for the launch at {now}; {why}");
            return self.ports.fail(now, why);
        }
        self.at_launch = Some(self.host.times_of_cores(now).collect());
        self.ports.watched = self.ports.journal.begin_watch();
        self.nic.launched(now, &mut self.ports);
        if self.ports.watched {
            self.nic.watched(now, &mut self.ports);
            let cores = Cores(self.ports.journal.clone());
            self.host.set_observer(now, &Rc::new(cores));
        }
    }

    /// Collects failures of fibres and ranks at `now`; the first one ends the run.
    pub fn collect_failures(&mut self, now: Time) {
        let ports = &mut self.ports;
        if let Some(fault) = self.host.has_fault().then(|| self.host.fault()).flatten() {
            ports.fail(fault.at, &fault);
        }
        if let Some((code, sentence)) = self.software.failure() {
            ports.end_with(Failure { at: now, sentence, code });
        }
    }

    /// A disagreement of the judge ends the run.
    #[inline(always)]
    fn collect_verdict(&mut self) {
        if self.ports.judge.is_some() {
            self.hear_judge();
        }
    }

    #[cold]
    fn hear_judge(&mut self) {
        if let Some(verdict) = self.ports.judge.as_ref().and_then(|judge| judge.verdict()) {
            let (at, sentence) = (Time(verdict.at), verdict.to_string());
            self.ports.end_with(Failure { at, sentence, code: 1 });
        }
    }

    /// True if events are due other than those left by ranks that have ended.
    fn awaits(&self) -> bool {
        let matters = |(at, _, event): (Time, u32, &Event<N::Event>)| match event {
            Event::Host(event) => !self.host.is_stale(*event),
            Event::Interrupt { .. } => self.host.stuck_since() != Some(at),
            _ => true,
        };
        let queue = &self.ports.queue;
        self.nic.works()
            || !queue.is_empty() && (!self.software.all_ended() || queue.iter().any(matters))
    }

    fn report(&mut self, now: Time) -> NodeReport {
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
        counters.extend(self.software.counters());
        let mut report = NodeReport {
            nid: self.ports.nid,
            ranks: self.software.ranks(),
            counters,
            host_ns: span(&all(&end), &all(start)),
            links: Vec::new(),
            work: None,
            cores: each.filter(|_| end.len() > 1).collect(),
        };
        self.nic.report(&mut report, &mut self.ports);
        report
    }
}

impl<N: Nic> LogicalProcess for Node<N> {
    type Message = Crossing<N::Message>;
    type Report = Remains<N::Left>;

    fn next_event(&self) -> Time {
        self.ports.next_time().min(self.nic.own_time()).min(self.nic.next_action())
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

    fn lookahead(&self, told: &mut Vec<Announced>) -> Lookahead {
        self.nic.lookahead(told, &self.ports).unwrap_or_else(|| Lookahead {
            earliest_output: self.earliest_output(),
            reaction_time: Duration::ZERO,
        })
    }

    fn advance_to(&mut self, horizon: Time, outbox: &mut Outbox<Crossing<N::Message>>) {
        std::mem::swap(outbox, &mut self.ports.outbox);
        self.ports.horizon = horizon;
        self.nic.enter(horizon, &mut self.ports);
        while self.ports.failure.is_none() {
            if self.nic.catch_up(horizon, &mut self.ports) {
                continue;
            }
            if self.nic.own_key() < self.ports.queue.key() {
                match self.nic.carry_on(horizon, &mut self.ports) {
                    Some(now) => self.last = now,
                    None => break,
                }
                self.collect_verdict();
                continue;
            }
            match self.ports.queue.pop_before(horizon) {
                Some((now, event)) => self.dispatch(now, event),
                None => break,
            }
        }
        if let Some(failure) = &self.ports.failure {
            self.nic.failed(failure.at, &mut self.ports);
        }
        std::mem::swap(outbox, &mut self.ports.outbox);
    }

    fn receive(&mut self, e: Envelope<Crossing<N::Message>>) {
        let Envelope { at, source, sequence, target, message } = e;
        match message {
            Crossing::Message(message) => {
                let envelope = Envelope { at, source, sequence, target, message };
                self.nic.expect(envelope, &mut self.ports);
            }
            Crossing::Flight(flight) => {
                let message = flight.id;
                self.ports.journal.comes(flight);
                self.nic.foreseen(message);
            }
        }
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

    fn progress(&self) -> Option<u64> {
        self.nic.progress()
    }

    fn sample(&mut self, number: u64, now: Time, began: [Time; LAGS]) -> Option<Offers> {
        self.nic.sample(number, now, began, &mut self.ports)
    }

    fn repeat(
        &mut self,
        since: u64,
        span: Duration,
        times: u64,
        outbox: &mut Outbox<Crossing<N::Message>>,
    ) {
        std::mem::swap(outbox, &mut self.ports.outbox);
        self.nic.repeat(since, span, times, &mut self.ports);
        std::mem::swap(outbox, &mut self.ports.outbox);
    }

    fn quiesce_time(&self) -> Time {
        self.nic.quiesce_time(self.last.max(self.launch))
    }

    fn finish(mut self, now: Time) -> Remains<N::Left> {
        let until = self.ports.failure.as_ref().map_or(now, |failure| failure.at);
        self.ports.horizon = now;
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
            hash: self.ports.hash.value(),
            endings: self.software.endings(),
            end: now,
            left: self.nic.left(),
        }
    }
}
