//! A node: host, NIC with its processor, router, and the event queue that orders them.

use super::assembly::LateDriver;
use crate::faults::{of_links, streams};
use crate::meter::Meter;
use abi::seastar::{READY_FLAG, READY_VALUE};
use bus::Direction;
use datapath::DatapathEvent;
use des::{
    Announced, Duration, Envelope, LogicalProcess, Lookahead, Offers, Outbox, Status, Time, LAGS,
};
use heartbeat::{IdleTurn, IDLE_OBSERVED};
use kinds::{is_for_host, kind};
use machine::effort::Effort;
use machine::faults::Faults;
use machine::firmware::recorder::Recorder;
use machine::firmware::symbols::Symbols;
use machine::instruments::capture::{Side, Tap};
use machine::instruments::spool::Stream;
use machine::programs::Ranks;
use machine::remains::Remains;
use machine::report::NodeReport;
use ports::{Crossing, Event, NodePorts, Touched};
use ppc440_debug::debugger::GdbSlot;
use std::sync::Arc;

mod accelerated;
mod coherence;
mod control;
mod counters;
mod datapath;
mod debug;
mod earliest_output;
mod exception;
mod failures;
mod heartbeat;
mod kinds;
mod local_bus;
pub(super) mod observers;
pub(crate) mod ports;
mod processor;
mod progress;
mod remains;
mod steady;
mod warm;
mod watching;
pub(crate) use kinds::{is_visible, Visible};
pub(crate) use remains::Left;
pub(crate) use warm::{Boot, ReplayLog, Step, TAPED};

/// A node of the machine. Built, run and ended on one worker thread. The fields that every event needs come
/// first (`repr(C)`, here and in `NodePorts`): nodes by the hundred share the host's caches.
#[repr(C)]
pub(crate) struct Node {
    /// End of the last window: the processor may be at an earlier time, waiting to issue after it.
    horizon: Time,
    /// Time of the last event.
    last: Time,
    /// Time of the processor's next action, as [`ppc440::Core::now`] told after it last ran.
    acts: Time,
    recorder: Option<Box<Recorder>>,
    gdb: GdbSlot,
    schedule: Schedule,
    steady: steady::SteadyState,
    host: host::Host,
    ranks: Ranks,
    idle: IdleTurn,
    meter: Meter,
    ports: NodePorts,
    core: ppc440::Core,
    nic: seastar_nic::SeaStar,
    symbols: Arc<Symbols>,
    driver: LateDriver,
    /// Once it has been launched.
    at_launch: Option<Snapshot>,
}

/// Times at which the machine's keepers act.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Schedule {
    /// Period at which the RAS system looks for the ready flag.
    pub ras_poll: Duration,
    /// Longest time that it lets the firmware go without a heartbeat.
    pub ras_patience: Duration,
    /// Time at which the launcher starts the program; all nodes have booted by then.
    pub launch: Time,
}

/// Running sums at one instant.
#[derive(Clone, Debug, Default)]
struct Snapshot {
    instructions: u64,
    cycles: u64,
    /// Turns of the firmware's main loop.
    turns: u64,
    /// Times of each core of the host.
    host: Vec<host::Times>,
}

impl Node {
    /// A node whose firmware is in SRAM and whose processor leaves reset now.
    pub fn start(
        mut core: ppc440::Core,
        nic: seastar_nic::SeaStar,
        host: host::Host,
        (ranks, driver): (Ranks, LateDriver),
        mut ports: NodePorts,
        symbols: Arc<Symbols>,
        schedule: Schedule,
    ) -> Node {
        core.release_reset(Time::ZERO);
        // By the loader: the caches are empty.
        ports.touched.clear();
        ports.queue.schedule(Time::ZERO + schedule.ras_poll, Event::PollReady);
        let idling = schedule.launch.since(Time::ZERO + IDLE_OBSERVED);
        ports.queue.schedule(Time::ZERO + idling, Event::Observe);
        ports.queue.schedule(schedule.launch, Event::Launch);
        Node {
            acts: core.now(),
            core,
            nic,
            host,
            ranks,
            driver,
            ports,
            symbols,
            schedule,
            horizon: Time::ZERO,
            last: Time::ZERO,
            at_launch: None,
            idle: IdleTurn::unknown(),
            recorder: None,
            gdb: GdbSlot::default(),
            meter: Meter::default(),
            steady: Default::default(),
        }
    }

    /// Lets a profiler observe the firmware, from reset on.
    pub fn set_recorder(&mut self, recorder: Option<Recorder>) {
        self.recorder = recorder.map(Box::new);
    }

    /// Lets packets that enter and leave the network here be written down.
    pub fn set_tap(&mut self, tap: Option<Tap>) {
        self.ports.observers.tap = tap;
    }

    /// Lets spans of streams that repeat themselves be skipped.
    pub fn set_merging(&mut self, merge: bool) {
        self.steady.on = merge;
    }

    /// Lets this node, and the links that leave it, fail as asked; it has not been launched yet.
    pub fn set_faults(&mut self, faults: &Faults) {
        let nid = self.ports.nid;
        if let Some(links) = of_links(faults) {
            self.ports.router.set_faults(&links, nid);
        }
        self.ports.line = faults.interrupt_line(nid);
        self.host.set_pace(&faults.pace(nid));
        if let Some(streams) = streams(faults, nid) {
            self.nic.withhold_streams(streams);
        }
        if let Some(from) = faults.stuck_since(nid) {
            self.host.set_stuck_line(from);
            self.ports.queue.schedule(from, Event::Interrupt);
        }
    }

    /// Measures what the processor model costs.
    pub fn set_meter(&mut self, on: bool) {
        self.meter = Meter::new(on);
    }

    #[inline(always)]
    fn dispatch(&mut self, now: Time, event: Event) {
        let kind = kind(&event);
        self.ports.hash.event(now, kind);
        self.ports.stirs += u64::from(!matches!(event, Event::Host(_)));
        self.ports.observers.replay_log(|| Step::Due(now, event));
        if let Some(judge) = &self.ports.observers.judge {
            judge.set_now(now);
        }
        self.ports.now = now;
        let visible = is_visible(&self.nic, &event);
        if visible == Visible::Firmware {
            debug_assert!(!self.core.is_waiting(), "the processor has come here before");
            self.ports.firmware.stimulated();
        }
        self.steady.follow(now, kind, || steady::only_passes(&event, visible));
        let may_fail = is_for_host(&event);
        let Node { nic, host, ports, .. } = self;
        match event {
            Event::Nic(event) => nic.handle(now, event, ports),
            Event::Host(event) => host.handle(now, event, ports),
            Event::MmioWrite { addr, len, data } => {
                nic.mmio_write(now, addr, &data[..usize::from(len)], ports);
            }
            Event::MmioRead { addr } => {
                let mut word = [0; 4];
                let leaves = nic.mmio_read(now, addr, &mut word, ports);
                let bytes = ports.ht_overhead[2] + word.len() as u64;
                let arrives = ports.link.send(leaves, Direction::ToHost, bytes);
                let value = u32::from_le_bytes(word);
                ports.queue.schedule(arrives, Event::MmioReply { value });
            }
            Event::MmioReply { value } => host.mmio_reply(now, &value.to_le_bytes(), ports),
            Event::Interrupt => host.interrupt(now, ports),
            Event::PollReady => self.poll_ready(now),
            Event::Observe => self.observe(now),
            Event::Launch => self.launch(now),
        }
        if !self.ports.touched.is_empty() {
            self.tell_of_memory();
        }
        let may_fail = may_fail || self.wake_accelerated(now);
        self.watch_depths(now);
        self.last = if may_fail { self.take_passed(now) } else { now };
        if may_fail {
            self.collect_failures(self.last);
        }
        self.collect_verdict();
    }

    /// Counts what the host has done without events as if there had been events; returns the time of the
    /// last one.
    fn take_passed(&mut self, now: Time) -> Time {
        let mut last = now;
        let Node { host, ports, steady, .. } = self;
        host.take_passed(|at, event| {
            ports.hash.event(at, kind(&Event::Host(event)));
            steady.follow(at, 0, || false);
            last = at;
        });
        last
    }

    /// The loader waits for the firmware, then the kernel boots.
    fn poll_ready(&mut self, now: Time) {
        let mut word = [0; 4];
        let read = self.nic.ras_read(READY_FLAG.into(), &mut word, &mut self.ports);
        if let Err(error) = read {
            unreachable!("the ready flag stands in SRAM: {error}");
        }
        self.ports.touched.push(Touched::Read { addr: READY_FLAG.into(), data: word });
        self.polled(now, u32::from_le_bytes(word) == READY_VALUE);
    }

    /// The loader has looked, and the firmware was ready or not.
    fn polled(&mut self, now: Time, ready: bool) {
        if ready {
            self.ports.observers.replay_log(|| Step::Ready);
            self.ranks.boot(&mut self.host, self.schedule.launch);
            self.host.start(now, &mut self.ports);
        } else {
            self.ports.queue.schedule(now + self.schedule.ras_poll, Event::PollReady);
        }
    }

    fn launch(&mut self, now: Time) {
        if !self.ranks.booted() {
            let at = self.core.pc();
            let nid = self.ports.nid;
            let place = self.symbols.describe(at);
            let (what, why) = match self.ranks.late() {
                Some(what) => (what, "see machine.launch".into()),
                None => ("the firmware was".into(), format!("it stands at {place}")),
            };
            let sentence = format!("node {nid}: {what} not ready for the launch at {now}; {why}");
            return self.ports.fail(now, 1, sentence);
        }
        self.idle.wanted = Time::NEVER;
        self.at_launch = Some(self.snapshot(now));
        self.meter.launch(&self.core);
        if let Some(recorder) = &mut self.recorder {
            recorder.count(self.core.told_until());
        }
        self.begin_watch(now);
    }

    /// The firmware idles, and will until the launch.
    fn observe(&mut self, now: Time) {
        self.idle.wanted = now;
        if let Some(recorder) = &mut self.recorder {
            recorder.learn();
        }
    }

    /// Something is due that is more than what was left behind by ranks that have ended, or will go wrong
    /// after them.
    fn awaits(&self) -> bool {
        let matters = |(at, _, event): (Time, u32, &Event)| match event {
            Event::Host(event) => !self.host.is_stale(*event),
            Event::Interrupt => self.host.stuck_since() != Some(at),
            _ => true,
        };
        !self.ports.datapath.is_empty()
            || !self.ports.queue.is_empty()
                && (!self.ranks.all_ended() || self.ports.queue.iter().any(matters))
    }

    fn snapshot(&mut self, now: Time) -> Snapshot {
        Snapshot {
            instructions: self.core.counters().instructions,
            cycles: self.core.cycles_at(now),
            turns: self.ports.firmware.turns,
            host: self.host.times_of_cores(now).collect(),
        }
    }

    /// A field of the NIC control block, read as the RAS system does.
    fn niccb(&mut self, name: &str) -> u64 {
        let fields = counters::niccb(&mut |addr, buf| {
            let read = self.nic.ras_read(addr, buf, &mut self.ports);
            read.expect("the control block stands in SRAM");
        });
        fields.get(name).copied().unwrap_or(0)
    }
}

impl LogicalProcess for Node {
    type Message = Crossing;
    type Report = Remains<Left>;

    fn next_event(&self) -> Time {
        self.ports.next_time().min(self.processor_acts())
    }

    fn lookahead(&self, told: &mut Vec<Announced>) -> Lookahead {
        self.foresee(told)
    }

    fn advance_to(&mut self, horizon: Time, outbox: &mut Outbox<Crossing>) {
        std::mem::swap(outbox, &mut self.ports.outbox);
        self.welcome();
        // A debugger of the firmware sees every event.
        self.ports.horizon = if !self.gdb.is_taken() { horizon } else { Time::ZERO };
        // The processor has just been run as far as it had to be.
        let mut came = false;
        while self.ports.failure.is_none() {
            if self.idle.wanted < horizon {
                self.measure_idle_turn(horizon);
            }
            if !came && !self.may_lag(horizon) {
                self.run_processor(horizon, true);
                // Nothing happens here after what the firmware did.
                came = true;
                continue;
            }
            came = false;
            if self.ports.datapath.key() < self.ports.queue.key() {
                match self.ports.datapath.pop_before(horizon) {
                    Some((now, next)) => self.move_on(now, next),
                    None => break,
                }
                continue;
            }
            match self.ports.queue.pop_before(horizon) {
                Some((now, event)) => self.dispatch(now, event),
                None => break,
            }
        }
        if self.ports.failure.is_some() {
            self.show_failure();
        }
        self.horizon = horizon;
        std::mem::swap(outbox, &mut self.ports.outbox);
    }

    fn receive(&mut self, e: Envelope<Crossing>) {
        match e.message {
            Crossing::Link(message) => {
                let next = self.ports.arrivals.expect(message);
                self.ports.datapath.schedule_from(e.at, e.source, e.sequence, next);
            }
            Crossing::Flight(flight) => self.ports.observers.journal.comes(flight),
            Crossing::Skipped(skipped) => self.nic.take_skipped(&skipped, &mut self.ports),
        }
    }

    fn status(&self) -> Status {
        if let Some(failure) = &self.ports.failure {
            Status::Failed(failure.at)
        } else if self.awaits() || !self.ports.firmware.idles() {
            Status::Busy
        } else if self.ranks.all_ended() {
            Status::Done
        } else {
            Status::Quiet
        }
    }

    fn progress(&self) -> Option<u64> {
        self.nic.progress()
    }

    fn sample(&mut self, number: u64, now: Time, began: [Time; LAGS]) -> Option<Offers> {
        self.steady.on.then(|| self.take_sample(number, now, began))?
    }

    fn repeat(&mut self, since: u64, span: Duration, times: u64, outbox: &mut Outbox<Crossing>) {
        self.ports.stirs += 1;
        self.repeat_since(since, span, times, outbox);
    }

    fn quiesce_time(&self) -> Time {
        self.quiesce_time()
    }

    fn finish(mut self, now: Time) -> Remains<Left> {
        // An idle firmware may not have reached the event that failed.
        let until = self.ports.failure.as_ref().map_or(now, |failure| failure.at);
        self.run_processor(until, false);
        if self.ports.firmware.halted {
            self.run_halted(now);
        }
        let end = self.snapshot(until);
        // A node that was never launched has done nothing since.
        let launch = self.at_launch.take().unwrap_or_else(|| end.clone());
        let (work, ledger) = (self.work(&launch, &end), self.ledger());
        let told = self.core.told_until();
        let profile = self.recorder.take().map(|recorder| recorder.finish(self.ports.nid, told));
        if let Some(watch) = self.ports.observers.journal.end_watch() {
            watch.finish(now);
        }
        Remains {
            judged: self.ports.observers.judge.as_ref().map(|judge| judge.tally()),
            profile,
            failure: self.ports.failure.take(),
            missed: self.ranks.missed(),
            journal: self.ports.observers.journal.finish(until),
            hash: self.ports.hash.value(),
            waiting: self.waiting(until),
            endings: self.ranks.endings(),
            end: now,
            report: Some(self.report(&launch, &end)),
            left: Left {
                work,
                ledger,
                effort: Effort { events: self.steady.events, ..self.meter.effort(&self.core) },
                packets: self.ports.observers.tap.take().map(Tap::finish),
                sram: self.nic.into_sram(),
            },
        }
    }
}
