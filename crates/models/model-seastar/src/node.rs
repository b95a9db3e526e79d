//! A SeaStar on its node: the NIC with its processor and its router. Host and software are the bench's
//! (`machine::node`), which has the events of all but the datapath.

use super::assembly::LateDriver;
use crate::faults::{of_links, streams};
use crate::meter::Meter;
use abi::seastar::{READY_FLAG, READY_VALUE};
use bus::Direction;
use datapath::DatapathEvent;
use des::{Announced, Duration, Envelope, Lookahead, Offers, Time, LAGS};
use heartbeat::{IdleTurn, IDLE_OBSERVED};
use kinds::{is_visible, Event, Visible};
use machine::effort::Effort;
use machine::faults::Faults;
use machine::firmware::profile::Profile;
use machine::firmware::recorder::Recorder;
use machine::firmware::symbols::Symbols;
use machine::firmware::work::Count;
use machine::instruments::capture::{Side, Tap};
use machine::instruments::timeline::About;
use machine::judge::Adapter;
use machine::node::{Nic, Ports};
use machine::report::NodeReport;
use ports::{Chipset, Message, NodePorts, Touched};
use ppc440_debug::debugger::GdbSlot;
use std::rc::Rc;
use std::sync::Arc;

mod accelerated;
mod coherence;
mod control;
mod counters;
mod datapath;
mod debug;
mod earliest_output;
mod exception;
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
pub(crate) use remains::Left;
#[cfg(test)]
pub(crate) use warm::{advance_alone, state};
pub(crate) use warm::{follow, Boot, ReplayLog, Step, TAPED};

/// Node of a machine with SeaStars.
pub(crate) type Node = machine::node::Node<Station>;

/// The chip: its processor, and the rest of it.
pub(crate) struct Chip {
    pub core: ppc440::Core,
    pub nic: seastar_nic::SeaStar,
}

/// A SeaStar on its node. The fields that every event needs come first (`repr(C)`, here and in
/// [`Chipset`]): nodes by the hundred share the host's caches.
#[repr(C)]
pub(crate) struct Station {
    /// End of the last window: the processor may be at an earlier time, waiting to issue after it.
    horizon: Time,
    /// Time of the processor's next action, as [`ppc440::Core::now`] told after it last ran.
    acts: Time,
    /// The processor has just been run as far as it had to be: nothing happens here after what it did.
    came: bool,
    recorder: Option<Box<Recorder>>,
    gdb: GdbSlot,
    schedule: Schedule,
    steady: steady::SteadyState,
    idle: IdleTurn,
    meter: Meter,
    chipset: Chipset,
    core: ppc440::Core,
    nic: seastar_nic::SeaStar,
    symbols: Arc<Symbols>,
    driver: LateDriver,
    /// Once it has been launched.
    at_launch: Option<Count>,
    /// Once it has ended.
    at_end: Option<Count>,
    /// Reasons why it is stuck then.
    stuck: Vec<String>,
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

impl Station {
    /// A SeaStar whose firmware is in SRAM and whose processor leaves reset now.
    pub fn start(
        Chip { mut core, nic }: Chip,
        chipset: Chipset,
        driver: LateDriver,
        symbols: Arc<Symbols>,
        schedule: Schedule,
    ) -> Station {
        core.release_reset(Time::ZERO);
        Station {
            horizon: Time::ZERO,
            acts: core.now(),
            came: false,
            recorder: None,
            gdb: GdbSlot::default(),
            schedule,
            steady: Default::default(),
            idle: IdleTurn::unknown(),
            meter: Meter::default(),
            chipset,
            core,
            nic,
            symbols,
            driver,
            at_launch: None,
            at_end: None,
            stuck: Vec::new(),
        }
    }

    /// Lets a profiler observe the firmware, from reset on.
    pub fn set_recorder(&mut self, recorder: Option<Recorder>) {
        self.recorder = recorder.map(Box::new);
    }

    /// Lets a judge hear of accesses to the host's memory.
    pub fn set_judge(&mut self, judge: Option<&Rc<Adapter>>) {
        self.chipset.judge_memory(judge);
    }

    /// Lets packets that enter and leave the network here be written down.
    pub fn set_tap(&mut self, tap: Option<Tap>) {
        self.chipset.observers.tap = tap;
    }

    /// Lets spans of streams that repeat themselves be skipped.
    pub fn set_merging(&mut self, merge: bool) {
        self.steady.on = merge;
    }

    /// Lets the chip, and the links that leave it, fail as asked; it has not been launched yet.
    pub fn set_faults(&mut self, nid: u32, faults: &Faults) {
        if let Some(links) = of_links(faults) {
            self.chipset.router.set_faults(&links, nid);
        }
        if let Some(streams) = streams(faults, nid) {
            self.nic.withhold_streams(streams);
        }
    }

    /// Measures what the processor model costs.
    pub fn set_meter(&mut self, on: bool) {
        self.meter = Meter::new(on);
    }

    /// The chip, and what is around it.
    #[inline(always)]
    fn chip<'a>(
        &'a mut self,
        ports: &'a mut Ports<Station>,
    ) -> (&'a mut seastar_nic::SeaStar, NodePorts<'a>) {
        (&mut self.nic, NodePorts { chipset: &mut self.chipset, ports })
    }

    /// Time of the next event.
    #[inline(always)]
    fn next_time(&self, ports: &Ports<Station>) -> Time {
        self.chipset.next_time(ports)
    }

    /// The loader looks whether the firmware is ready.
    fn is_ready(&mut self, ports: &mut Ports<Station>) -> bool {
        let mut word = [0; 4];
        let (nic, mut ports) = self.chip(ports);
        let read = nic.ras_read(READY_FLAG.into(), &mut word, &mut ports);
        if let Err(error) = read {
            unreachable!("the ready flag stands in SRAM: {error}");
        }
        self.chipset.touched.push(Touched::Read { addr: READY_FLAG.into(), data: word });
        u32::from_le_bytes(word) == READY_VALUE
    }
}

impl Nic for Station {
    type Event = seastar_nic::Event;
    type Message = Message;
    type Left = Option<Left>;

    #[inline(always)]
    fn handle(&mut self, now: Time, event: seastar_nic::Event, ports: &mut Ports<Station>) {
        let (nic, mut ports) = self.chip(ports);
        nic.handle(now, event, &mut ports);
    }
    fn receive(&mut self, _: Time, _: Message, _: &mut Ports<Station>) {
        unreachable!("what comes goes into the datapath's queue");
    }
    fn word(_: &seastar_nic::Event) -> u64 {
        0
    }

    fn expect(&mut self, envelope: Envelope<Message>, ports: &mut Ports<Station>) {
        let Envelope { at, source, sequence, message, .. } = envelope;
        match message {
            Message::Link(message) => {
                let next = self.chipset.arrivals.expect(message);
                self.chipset.datapath.schedule_from(at, source, sequence, next);
            }
            Message::Skipped(skipped) => {
                let (nic, mut ports) = self.chip(ports);
                nic.take_skipped(&skipped, &mut ports);
            }
        }
    }
    fn store(&mut self, now: Time, addr: u64, data: &[u8], ports: &mut Ports<Station>) {
        let (nic, mut ports) = self.chip(ports);
        nic.mmio_write(now, local(addr), data, &mut ports);
    }
    fn load(&mut self, now: Time, addr: u64, len: usize, ports: &mut Ports<Station>) {
        debug_assert_eq!(len, 4, "drivers of the SeaStar read words");
        let mut word = [0; 4];
        let (nic, mut around) = self.chip(ports);
        let leaves = nic.mmio_read(now, local(addr), &mut word, &mut around);
        let bytes = self.chipset.ht_overhead[2] + word.len() as u64;
        ports.answer(self.chipset.link.send(leaves, Direction::ToHost, bytes), &word);
    }
    fn store_leaves(&mut self, now: Time, addr: u64, data: &[u8], ports: &mut Ports<Station>) {
        let Chipset { observers, link, ht_overhead, .. } = &mut self.chipset;
        if !observers.replay_log(|| Step::Write { at: now, addr, data: data.to_vec() }) {
            return;
        }
        let arrives = link.send(now, Direction::ToNic, ht_overhead[0] + data.len() as u64);
        ports.journal().last_write_arrives.set(arrives);
        ports.deliver_store(arrives, addr, data);
    }
    fn load_leaves(&mut self, now: Time, addr: u64, len: usize, ports: &mut Ports<Station>) {
        let Chipset { observers, link, ht_overhead, .. } = &mut self.chipset;
        if observers.replay_log(|| Step::Read { at: now, addr }) {
            let arrives = link.send(now, Direction::ToNic, ht_overhead[1]);
            ports.deliver_load(arrives, addr, len);
        }
    }

    fn lookahead(&self, told: &mut Vec<Announced>, ports: &Ports<Station>) -> Option<Lookahead> {
        Some(self.foresee(told, ports))
    }
    fn quiesce_time(&self, last: Time) -> Time {
        self.rests_from(last)
    }

    fn next_action(&self) -> Time {
        self.processor_acts()
    }
    fn works(&self) -> bool {
        !self.chipset.datapath.is_empty() || !self.chipset.firmware.idles()
    }
    #[inline(always)]
    fn catch_up(&mut self, horizon: Time, ports: &mut Ports<Station>) -> bool {
        if self.idle.wanted < horizon {
            self.measure_idle_turn(horizon, ports);
        }
        self.came = !self.came && !self.may_lag(horizon, ports);
        if self.came {
            self.run_processor(horizon, true, ports);
        }
        self.came
    }
    fn enter(&mut self, horizon: Time, ports: &mut Ports<Station>) {
        self.welcome(ports);
        self.horizon = horizon;
        self.came = false;
    }
    fn look_again(&mut self, now: Time, ports: &mut Ports<Station>) -> Option<Time> {
        if now > Time::ZERO && self.is_ready(ports) {
            self.chipset.observers.replay_log(|| Step::Ready);
            return None;
        }
        Some(now + self.schedule.ras_poll)
    }
    fn late(&self) -> (&'static str, String) {
        let place = self.symbols.describe(self.core.pc());
        ("the firmware was", format!("it stands at {place}"))
    }
    fn observed_from(&self, launch: Time) -> Option<Time> {
        Some(Time::ZERO + launch.since(Time::ZERO + IDLE_OBSERVED))
    }
    fn observe(&mut self, now: Time, _: &mut Ports<Station>) {
        // It will idle until the launch.
        self.idle.wanted = now;
        if let Some(recorder) = &mut self.recorder {
            recorder.learn();
        }
    }
    fn failed(&mut self, at: Time, ports: &mut Ports<Station>) {
        self.show_failure(at, ports);
    }

    #[inline(always)]
    fn own_key(&self) -> u128 {
        self.chipset.datapath.key()
    }
    #[inline(always)]
    fn own_time(&self) -> Time {
        self.chipset.datapath.next_time()
    }
    #[inline(always)]
    fn carry_on(&mut self, horizon: Time, ports: &mut Ports<Station>) -> Option<Time> {
        let (now, next) = self.chipset.datapath.pop_before(horizon)?;
        self.move_on(now, next, ports);
        Some(now)
    }

    #[inline(always)]
    fn quiet_until(&self) -> Time {
        // A debugger of the firmware sees every event; a replay log is told of each.
        let observed = self.gdb.is_taken() || self.chipset.observers.replay_log.is_some();
        if observed || !self.chipset.firmware.idles() {
            return Time::ZERO;
        }
        self.chipset.datapath.next_time()
    }
    #[inline(always)]
    fn undisturbed_until(&self) -> Time {
        if self.gdb.is_taken() {
            return Time::ZERO;
        }
        self.chipset.datapath.next_time()
    }
    #[inline(always)]
    fn stirs(&self) -> Option<u64> {
        Some(self.chipset.stirs)
    }
    /// To the network interface, and back.
    fn reaction(&self) -> Duration {
        self.chipset.link.latency() * 2
    }

    fn progress(&self) -> Option<u64> {
        self.nic.progress()
    }
    fn sample(
        &mut self,
        number: u64,
        now: Time,
        began: [Time; LAGS],
        ports: &mut Ports<Station>,
    ) -> Option<Offers> {
        self.steady.on.then(|| self.take_sample(number, now, began, ports))?
    }
    fn repeat(&mut self, since: u64, span: Duration, times: u64, ports: &mut Ports<Station>) {
        self.chipset.stirs += 1;
        self.repeat_since(since, span, times, ports);
    }

    #[inline(always)]
    fn due(&mut self, now: Time, event: &Event, word: u64, _: &mut Ports<Station>) {
        let chipset = &mut self.chipset;
        chipset.stirs += u64::from(!matches!(event, Event::Host(_)));
        chipset.observers.replay_log(|| Step::Due(now, *event));
        chipset.now = now;
        let visible = is_visible(&self.nic, event);
        if visible == Visible::Firmware {
            debug_assert!(!self.core.is_waiting(), "the processor has come here before");
            chipset.firmware.stimulated();
        }
        self.steady.follow(now, word, || steady::only_passes(event, visible));
    }
    #[inline(always)]
    fn done(&mut self, now: Time, ports: &mut Ports<Station>) {
        if !self.chipset.touched.is_empty() {
            self.tell_of_memory(ports);
        }
        self.watch_depths(now, ports);
    }
    #[inline(always)]
    fn passed(&mut self, at: Time) {
        self.steady.follow(at, 0, || false);
    }
    fn describe(&self, about: &mut About) {
        mesh_network::describe(&self.chipset.router, about);
    }
    fn watched(&mut self, now: Time, ports: &mut Ports<Station>) {
        self.begin_watch(now, ports);
    }
    fn launched(&mut self, now: Time, _: &mut Ports<Station>) {
        self.idle.wanted = Time::NEVER;
        self.at_launch = Some(self.snapshot(now));
        self.meter.launch(&self.core);
        if let Some(recorder) = &mut self.recorder {
            recorder.count(self.core.told_until());
        }
    }
    fn finish(&mut self, end: Time, ports: &mut Ports<Station>) -> Option<Profile> {
        // An idle firmware may not have reached the event that failed.
        self.run_processor(end, false, ports);
        if self.chipset.firmware.halted {
            self.run_halted(ports);
        }
        self.at_end = Some(self.snapshot(end));
        self.stuck = self.waiting_at(end, ports);
        let told = self.core.told_until();
        self.recorder.take().map(|recorder| recorder.finish(ports.nid(), told))
    }
    fn report(&mut self, report: &mut NodeReport, ports: &mut Ports<Station>) {
        self.add_to(report, ports);
    }
    fn waiting(&self) -> Vec<String> {
        self.stuck.clone()
    }
    fn left(self) -> Option<Left> {
        Some(self.leave())
    }
}

/// An address on the local bus, which has 32 bits. Behind them there is nothing, as at the last one.
fn local(addr: u64) -> u32 {
    u32::try_from(addr).unwrap_or(u32::MAX)
}
