//! A core's side of every request: scheduling of fibres, and interrupts.
//!
//! At any time a core has at most one *current* fibre. It is running (inside `run`), or busy until an
//! event, or stalled in an uncached read. When the interrupt handler runs, what it preempted is kept aside
//! with the time it had left. Waiting fibres do not have the core, though a core with nothing better to do
//! spins in their poll loops, which are never simulated: a wake computes the next poll instant.

mod access;
mod busy;

use crate::accounting::{Class, Observer};
use crate::core::{Core, Line};
use crate::fibre::{Fibre, Polling, Request, Suspend, TIMED_OUT, WOKEN};
use crate::host::{Event, Kind, Ports};
use crate::pace::Pace;
use crate::shared::Shared;
use crate::{Cpu, FibreId, FibreState, Times};
use bus::BusError;
use des::{Duration, Time};
use std::collections::VecDeque;
use std::rc::Rc;

/// Work that an interrupt preempted.
#[derive(Clone, Copy, Debug)]
struct Preempted {
    at: Time,
    /// The current fibre, and the time that it still needs before it runs on.
    fibre: Option<(usize, Duration)>,
    class: Class,
}

/// Phase of the interrupt handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Outside,
    Entering,
    Inside,
    Leaving,
}

/// One core with its fibres.
pub(crate) struct Processor {
    core: Rc<Core>,
    fibres: Vec<Fibre>,
    /// Fibres that want the core, first come first served.
    ready: VecDeque<usize>,
    current: Option<usize>,
    /// Time until which the current fibre (or interrupt entry or exit) is busy.
    ends: Time,
    stalled: bool,
    /// Bytes of that read, and the line for them if they are no answer.
    wanted: usize,
    into: Option<Line>,
    /// True while it spins for a lock that another core holds.
    spins: bool,
    /// True if the event for `ends` has not been scheduled yet.
    unscheduled: bool,
    handler: Option<usize>,
    phase: Phase,
    preempted: Option<Preempted>,
    pending: Option<Time>,
    /// Time from which the interrupt line is stuck, so that it is raised again after each handler.
    stuck: Option<Time>,
    /// None at full speed.
    pace: Option<Box<Pace>>,
}

impl Processor {
    /// Core number `index`, with nothing to run.
    pub(crate) fn new(index: usize, shared: &Rc<Shared>) -> Processor {
        Processor {
            core: Rc::new(Core::new(index, shared)),
            fibres: Vec::new(),
            ready: VecDeque::new(),
            current: None,
            ends: Time::ZERO,
            stalled: false,
            wanted: 0,
            into: None,
            spins: false,
            unscheduled: false,
            handler: None,
            phase: Phase::Outside,
            preempted: None,
            pending: None,
            stuck: None,
            pace: None,
        }
    }

    /// Makes the core slow, or stop, at times.
    pub(crate) fn set_pace(&mut self, pace: &Pace) {
        self.pace = (!pace.is_full()).then(|| Box::new(pace.clone()));
    }

    /// Keeps the interrupt line up once it is raised at or after `from`.
    pub(crate) fn set_stuck(&mut self, from: Time) {
        self.stuck = Some(from);
    }

    pub(crate) fn stuck_since(&self) -> Option<Time> {
        self.stuck
    }

    /// Adds a user-level fibre. It starts when the core is free, at the next [`Processor::attend`] or later.
    pub(crate) fn spawn(&mut self, name: &str, f: Box<dyn FnOnce(Cpu)>) -> FibreId {
        let id = self.core.spawn(name, f);
        self.collect_spawned();
        id
    }

    /// Sets the interrupt handler, which runs in a fibre of its own with interrupts masked.
    pub(crate) fn set_interrupt_handler(&mut self, handler: Rc<dyn Fn(&Cpu)>) {
        assert!(self.handler.is_none(), "a host has one interrupt handler");
        let handle = move |cpu: Cpu| loop {
            handler(&cpu);
            cpu.core.suspend(Request::HandlerDone);
        };
        let id = self.spawn("interrupt handler", Box::new(handle));
        self.ready.retain(|fibre| *fibre != id.0);
        self.handler = Some(id.0);
    }

    /// Lets the fibres run that are ready: at the start, and after `spawn` or a wake from outside.
    pub(crate) fn attend(&mut self, now: Time, ports: &mut impl Ports) {
        self.core.now.set(now);
        self.collect_woken(ports);
        if self.must_interrupt() {
            self.take_interrupt(ports);
        }
        self.offer_core(ports);
        self.go_on(ports);
    }

    /// True for the deadline of a wait that has ended.
    pub(crate) fn is_stale(&self, kind: Kind) -> bool {
        match kind {
            Kind::Deadline { fibre, wait } => {
                let fibre = &self.fibres[fibre as usize];
                fibre.state != FibreState::Waiting || fibre.waits != wait
            }
            Kind::Ends { .. } => false,
        }
    }

    /// An event that the host scheduled is due.
    pub(crate) fn handle(&mut self, now: Time, kind: Kind, ports: &mut impl Ports) {
        match kind {
            Kind::Deadline { fibre, wait } => {
                if !self.is_stale(Kind::Deadline { fibre, wait }) {
                    self.fibres[fibre as usize].answer = TIMED_OUT;
                    self.core.now.set(now);
                    self.make_ready(fibre as usize, ports);
                }
            }
            Kind::Ends { generation } if generation == self.core.generation.get() => {
                self.core.now.set(now);
                self.ended(ports);
            }
            // The handler came between: what was left of it has been scheduled anew.
            Kind::Ends { .. } => {}
        }
        self.go_on(ports);
    }

    /// The NIC raises the interrupt line. Before there is a handler the interrupt stays pending, to be taken
    /// at the next [`Processor::attend`] or when the core next could take it.
    pub(crate) fn interrupt(&mut self, now: Time, ports: &mut impl Ports) {
        self.core.now.set(now);
        self.pending.get_or_insert(now);
        if self.must_interrupt() {
            self.take_interrupt(ports);
        }
        self.go_on(ports);
    }

    pub(crate) fn set_observer(&self, now: Time, observer: Rc<dyn Observer>) {
        self.core.account.borrow_mut().set_observer(now, observer);
    }

    pub(crate) fn cpu(&self) -> Cpu {
        Cpu { core: self.core.clone() }
    }

    /// Another core hands over the lock for which this one spins.
    pub(crate) fn receive_lock(&mut self, now: Time, ports: &mut impl Ports) {
        assert!(std::mem::take(&mut self.spins), "a lock is handed to a core that spins for it");
        self.core.now.set(now);
        self.busy_for(self.core.shared.costs.lock_pass, ports);
        self.go_on(ports);
    }

    /// True if a fibre that waits has been woken and has not run since.
    pub(crate) fn is_called(&self) -> bool {
        let waits = |id: &FibreId| self.fibres[id.0].state == FibreState::Waiting;
        self.core.woken.borrow().iter().any(waits)
    }

    pub(crate) fn name_of(&self, fibre: FibreId) -> &str {
        &self.fibres[fibre.0].name
    }

    /// Time of the core up to `now`, by class of work.
    pub(crate) fn times(&self, now: Time) -> Times {
        self.core.account.borrow().until(now)
    }

    /// The user-level fibres: name and state.
    pub(crate) fn fibres(&self) -> impl Iterator<Item = (&str, FibreState)> {
        let user = self.fibres.iter().enumerate().filter(|(index, _)| Some(*index) != self.handler);
        user.map(|(_, fibre)| (fibre.name.as_str(), fibre.state))
    }

    fn enter(&mut self, class: Class) {
        self.core.account.borrow_mut().switch(self.core.now(), class);
    }

    /// Class of work of the current mode.
    fn mode(&self) -> Class {
        match (self.phase, self.core.masked()) {
            (Phase::Outside, false) => Class::User,
            (Phase::Outside, true) => Class::Kernel,
            _ => Class::Interrupt,
        }
    }

    fn schedule(&self, at: Time, kind: Kind, ports: &mut impl Ports) {
        ports.schedule(at, Event::new(self.core.index, kind));
    }

    /// True during a rest.
    fn rests(&self) -> bool {
        self.pace.as_ref().is_some_and(|pace| pace.rests(self.core.now()))
    }

    /// Work that is left of the core's present work, as time at full speed.
    fn left(&self) -> Duration {
        let now = self.core.now();
        self.pace.as_ref().map_or(self.ends.since(now), |pace| pace.work(now, self.ends))
    }

    /// Handles the end of the core's present work.
    fn ended(&mut self, ports: &mut impl Ports) {
        if self.phase == Phase::Leaving && self.stuck.is_some_and(|from| from <= self.core.now()) {
            self.pending.get_or_insert(self.core.now());
        }
        match self.phase {
            Phase::Entering => {
                self.phase = Phase::Inside;
                self.current = self.handler;
                self.run(ports);
            }
            Phase::Leaving if self.pending.is_some() => self.enter_handler(ports),
            Phase::Leaving => self.leave_handler(ports),
            Phase::Outside | Phase::Inside => self.run(ports),
        }
    }

    /// True if a pending interrupt must be taken now. Without a handler it stays pending: the kernel has not
    /// switched interrupts on yet.
    fn must_interrupt(&self) -> bool {
        let possible = !self.core.masked() && !self.stalled && self.handler.is_some();
        possible && self.pending.is_some()
    }

    /// Preempts the core's work and enters the handler.
    fn take_interrupt(&mut self, ports: &mut impl Ports) {
        let now = self.core.now();
        let left = self.left();
        let fibre = self.current.take().map(|fibre| (fibre, left));
        self.preempted =
            Some(Preempted { at: now, fibre, class: self.core.account.borrow().class() });
        self.core.masked.set(true);
        self.enter_handler(ports);
    }

    fn enter_handler(&mut self, ports: &mut impl Ports) {
        let raised_at = self.pending.take().expect("an interrupt is pending");
        self.core.raised_at.set(raised_at);
        {
            let mut account = self.core.account.borrow_mut();
            account.times.interrupts += 1;
            account.begin(self.core.now(), Class::Interrupt);
        }
        self.phase = Phase::Entering;
        self.busy_for(self.core.shared.costs.interrupt_entry, ports);
    }

    /// Leaves the handler: the preempted work goes on.
    fn leave_handler(&mut self, ports: &mut impl Ports) {
        let preempted = self.preempted.take().expect("the handler preempted something");
        self.phase = Phase::Outside;
        self.core.masked.set(false);
        let lost = self.core.now().since(preempted.at);
        // Poll loops made no progress meanwhile.
        for fibre in self.fibres.iter_mut() {
            if let Some(polling) = fibre.polling.as_mut() {
                polling.start += lost;
            }
        }
        match preempted.fibre {
            Some((fibre, left)) => {
                self.current = Some(fibre);
                self.enter(preempted.class);
                if left > Duration::ZERO || self.rests() {
                    self.busy_for(left, ports);
                } else {
                    self.run(ports);
                }
            }
            None => self.offer_core(ports),
        }
    }

    /// Runs the next fibre that wants the core, if the core is free.
    fn offer_core(&mut self, ports: &mut impl Ports) {
        if self.current.is_none() && self.phase == Phase::Outside && self.dispatch(ports) {
            self.run(ports);
        }
    }

    /// Gives the free core to the next fibre that wants it. True if that fibre is to run right now; else the
    /// core is busy until the fibre's next poll, or has nothing to run.
    fn dispatch(&mut self, ports: &mut impl Ports) -> bool {
        self.current = self.ready.pop_front();
        let Some(fibre) = self.current else {
            let waiting = self.fibres.iter().any(|fibre| fibre.state == FibreState::Waiting);
            self.enter(if waiting { Class::Polling } else { Class::Idle });
            return false;
        };
        let now = self.core.now();
        let look = self.fibres[fibre].polling.take().map_or(now, |polling| polling.next(now));
        if look > now || self.rests() {
            self.enter(Class::Polling);
            self.busy_for(look.since(now), ports);
            return false;
        }
        true
    }

    /// Runs fibres until the core is busy, stalled, in the handler, or has nothing to do.
    fn run(&mut self, ports: &mut impl Ports) {
        self.enter(self.mode());
        while let Some(fibre) = self.current {
            self.look_ahead(ports);
            let request = self.resume(fibre);
            self.collect_spawned();
            self.collect_woken(ports);
            match request {
                Some(Request::Spend(time)) => return self.busy_for(time, ports),
                Some(Request::Store { addr, len, bytes }) => {
                    self.core.account.borrow_mut().times.mmio_writes += 1;
                    ports.mmio_write(self.core.now(), addr, &bytes[..usize::from(len)]);
                }
                Some(Request::StoreLine { addr, len }) => {
                    self.core.account.borrow_mut().times.mmio_writes += 1;
                    let line = self.core.line.get();
                    ports.mmio_write(self.core.now(), addr, &line[..usize::from(len)]);
                }
                Some(Request::Load { addr, len }) => return self.load(addr, len, None, ports),
                Some(Request::LoadLine { addr, len }) => {
                    let into = self.core.into.take();
                    return self.load(addr, len, into, ports);
                }
                Some(Request::Spin) => {
                    self.spins = true;
                    return self.enter(Class::Lock);
                }
                Some(Request::Wait { poll, deadline }) => {
                    if !self.wait(fibre, poll, deadline, ports) && !self.dispatch(ports) {
                        return;
                    }
                    self.enter(Class::User);
                }
                Some(Request::Unmask) => {
                    self.core.masked.set(false);
                    self.ends = self.core.now();
                    self.enter(Class::User);
                    if self.must_interrupt() {
                        return self.take_interrupt(ports);
                    }
                }
                Some(Request::HandlerDone) => {
                    self.current = None;
                    self.phase = Phase::Leaving;
                    return self.busy_for(self.core.shared.costs.interrupt_exit, ports);
                }
                Some(Request::Stop) => {
                    self.fibres[fibre].state = FibreState::Stopped;
                    return self.enter(Class::Idle);
                }
                None => {
                    self.fibres[fibre].state = FibreState::Done;
                    if !self.dispatch(ports) {
                        return;
                    }
                    self.enter(Class::User);
                }
            }
        }
    }

    /// Makes the current fibre wait. True if it need not, because it was woken already.
    fn wait(
        &mut self,
        fibre: usize,
        period: Duration,
        deadline: Time,
        ports: &mut impl Ports,
    ) -> bool {
        let now = self.core.now();
        self.fibres[fibre].answer = WOKEN;
        if self.core.take_wake(fibre) {
            return true;
        }
        if deadline <= now {
            self.fibres[fibre].answer = TIMED_OUT;
            return true;
        }
        let waiting = &mut self.fibres[fibre];
        waiting.state = FibreState::Waiting;
        waiting.waits += 1;
        waiting.polling = Some(Polling { start: now, period });
        if deadline < Time::NEVER {
            let wait = waiting.waits;
            self.schedule(deadline, Kind::Deadline { fibre: fibre as u32, wait }, ports);
        }
        false
    }

    fn resume(&mut self, fibre: usize) -> Option<Request> {
        let settled = self.core.shared.memory.borrow_mut().settle();
        if let Err(error) = settled {
            self.device_fault(fibre, error);
        }
        if std::mem::take(&mut self.fibres[fibre].looks) && self.core.take_wake(fibre) {
            self.fibres[fibre].answer = WOKEN;
        }
        self.core.running.set(Some(FibreId(fibre)));
        let request = self.fibres[fibre].resume();
        self.core.running.set(None);
        self.core.suspend.set(std::ptr::null());
        // What the fibre changed in a process is not what a device read before.
        self.core.shared.memory.borrow_mut().forget();
        request
    }

    /// Records that gathered device writes found no memory.
    fn device_fault(&mut self, fibre: usize, error: BusError) {
        let what = format!("the NIC wrote to address {:#x}: {}", error.addr, error.why);
        self.core.record_fault(FibreId(fibre), what);
    }

    fn collect_spawned(&mut self) {
        while !self.core.spawned.borrow().is_empty() {
            let (name, f) = self.core.spawned.borrow_mut().remove(0);
            let cpu = self.cpu();
            let id = self.fibres.len();
            self.ready.push_back(id);
            let run = move |suspend: &Suspend| {
                cpu.core.suspend.set(suspend);
                f(cpu);
            };
            let refused = |why| self.core.record_fault(FibreId(id), why);
            self.fibres.push(Fibre::new(&name, run, refused));
        }
    }

    /// Makes woken fibres that wait ready; the others will see their wake when they wait.
    fn collect_woken(&mut self, ports: &mut impl Ports) {
        let mut index = 0;
        loop {
            let Some(id) = self.core.woken.borrow().get(index).copied() else { return };
            if self.fibres[id.0].state == FibreState::Waiting {
                self.core.woken.borrow_mut().remove(index);
                self.fibres[id.0].answer = WOKEN;
                self.make_ready(id.0, ports);
            } else {
                index += 1;
            }
        }
    }

    /// Makes a waiting fibre ready; it gets the core if that is free.
    fn make_ready(&mut self, fibre: usize, ports: &mut impl Ports) {
        self.fibres[fibre].state = FibreState::Running;
        self.fibres[fibre].looks = true;
        self.ready.push_back(fibre);
        self.offer_core(ports);
    }
}
