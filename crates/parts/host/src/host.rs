//! The host: its cores, their shared state, and the node's calls to each of them.

use crate::accounting::Observer;
use crate::pace::Pace;
use crate::processor::Processor;
use crate::shared::Shared;
use crate::{Costs, Cpu, FibreId, FibreState, SharedMemory, Times};
use des::{Duration, Time};
use std::fmt;
use std::rc::Rc;

/// Services of the node for its host.
pub trait Ports {
    /// Asks for [`Host::handle`] with `event` at `at` (not before now).
    fn schedule(&mut self, at: Time, event: Event);
    /// A posted store leaves the processor for the interface's address `addr`: up to
    /// [`LINE`](crate::LINE) bytes, within an aligned line.
    fn mmio_write(&mut self, now: Time, addr: u64, data: &[u8]);
    /// A read of `len` bytes, up to a line, leaves the processor; the node answers with
    /// [`Host::mmio_reply`], later than now. Each core may have one under way; they are answered in the order
    /// in which they left.
    fn mmio_read(&mut self, now: Time, addr: u64, len: usize);
    /// Time before which nothing happens on the node except what is asked for here. The host does without
    /// events until then, and reports them later ([`Host::take_passed`]).
    fn alone_until(&self) -> Time {
        Time::ZERO
    }
    /// The same for what a program of one core could notice: `disturbs` is the time at which an event of the
    /// host's at a time could affect it. Later than [`Ports::alone_until`], or the same.
    fn undisturbed_until(&self, disturbs: &dyn Fn(Time, Event) -> Time) -> Time {
        let _ = disturbs;
        self.alone_until()
    }
    /// Number of events so far that were not the host's own; `None` if the node does not count them.
    fn stirs(&self) -> Option<u64> {
        None
    }
    /// Least time from the begin of a store that a program makes to a device, without the kernel, to an
    /// effect on another core. If it is zero a host of several cores does without no event.
    fn reaction(&self) -> Duration {
        Duration::ZERO
    }
}

/// Event that the host has scheduled for itself, in 16 bytes: nodes keep thousands of them in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    core: u8,
    is_deadline: bool,
    /// Fibre of a deadline.
    fibre: u32,
    /// Generation of the core's work, or number of the fibre's wait.
    number: u64,
}

impl Event {
    pub(crate) fn new(core: usize, kind: Kind) -> Event {
        let (is_deadline, fibre, number) = match kind {
            Kind::Ends { generation } => (false, 0, generation),
            Kind::Deadline { fibre, wait } => (true, fibre, wait),
        };
        Event { core: core as u8, is_deadline, fibre, number }
    }
    /// Number of the core that it is for.
    pub fn core(&self) -> usize {
        self.core.into()
    }
    pub(crate) fn kind(&self) -> Kind {
        match self.is_deadline {
            false => Kind::Ends { generation: self.number },
            true => Kind::Deadline { fibre: self.fibre, wait: self.number },
        }
    }
}

impl Default for Event {
    /// Event without effect.
    fn default() -> Event {
        Event::new(0, ENDED)
    }
}

/// End of work that has ended.
pub(crate) const ENDED: Kind = Kind::Ends { generation: 0 };

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// End of the core's present work, unless that was preempted since.
    Ends { generation: u64 },
    /// A deadline of `fibre`'s wait number `wait`.
    Deadline { fibre: u32, wait: u64 },
}

/// A fault of the program or of the firmware that host software ran into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Time of the fault.
    pub at: Time,
    /// Name of the fibre that ran into it.
    pub fibre: String,
    /// Description, as a sentence.
    pub what: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (in {}, at {})", self.what, self.fibre, self.at)
    }
}

/// The host of one node: cores with their fibres, and memory. Created, used and dropped on one thread.
///
/// Several cores act at the same instant in the order of the node's events; effects on other cores (a wake, a
/// lock handed over) come at once, the lowest core first.
///
/// Dropping it unwinds the stacks of suspended fibres, so that what they own is freed: their code must not
/// swallow panics across a [`Cpu`] call, nor call [`Cpu`] in a destructor.
pub struct Host {
    cores: Vec<Processor>,
    shared: Rc<Shared>,
}

/// The core that takes interrupts and boots.
const FIRST: usize = 0;

impl Host {
    /// A host of one core with nothing to run and an empty memory.
    pub fn new(costs: &Costs) -> Host {
        Host::with_cores(costs, 1)
    }

    /// The same with several cores.
    pub fn with_cores(costs: &Costs, cores: usize) -> Host {
        assert!((1..=256).contains(&cores), "a host has 1 to 256 cores, not {cores}");
        let shared = Rc::new(Shared::new(costs, cores));
        let cores: Vec<_> = (0..cores).map(|index| Processor::new(index, &shared)).collect();
        *shared.all.borrow_mut() =
            cores.iter().map(|core| Rc::downgrade(&core.cpu().core)).collect();
        Host { cores, shared }
    }

    /// Adds a user-level fibre to the first core ([`Cpu::spawn_on`] to another). It starts when the core is
    /// free, at the earliest at the next [`Host::attend`].
    pub fn spawn(&mut self, name: &str, f: impl FnOnce(Cpu) + 'static) -> FibreId {
        self.cores[FIRST].spawn(name, Box::new(f))
    }

    /// Sets the interrupt handler: it runs in a fibre of its own on the first core, with interrupts masked.
    /// Interrupts that come meanwhile (one pending bit) run it again.
    pub fn set_interrupt_handler(&mut self, handler: Rc<dyn Fn(&Cpu)>) {
        self.cores[FIRST].set_interrupt_handler(handler);
    }

    /// Makes all cores slow, or stop, at times: a fault on request. Work in progress ends as if they were
    /// not.
    pub fn set_pace(&mut self, pace: &Pace) {
        self.cores.iter_mut().for_each(|core| core.set_pace(pace));
    }

    /// Keeps the interrupt line up once it is raised at or after `from`: a fault on request.
    pub fn set_stuck_line(&mut self, from: Time) {
        self.cores[FIRST].set_stuck(from);
    }

    /// Time from which the interrupt line is stuck.
    pub fn stuck_since(&self) -> Option<Time> {
        self.cores[FIRST].stuck_since()
    }

    /// Lets the fibres run that are ready: at the start, and after [`Host::spawn`] or [`crate::Waker::wake`]
    /// from outside.
    pub fn attend(&mut self, now: Time, ports: &mut impl Ports) {
        self.shared.together.set(self.cores.len() > 1);
        for core in &mut self.cores {
            core.attend(now, ports);
        }
        self.shared.together.set(false);
        self.tell_cores(now, ports);
    }

    /// True once after a device has stored something that a fibre watches ([`crate::Waker::notice`]):
    /// [`Host::attend`] is due.
    pub fn has_noticed(&self) -> bool {
        self.shared.noticed.take()
    }

    /// [`Host::attend`] by another name, for the start.
    pub fn start(&mut self, now: Time, ports: &mut impl Ports) {
        self.attend(now, ports);
    }

    /// An event that the host scheduled is due.
    pub fn handle(&mut self, now: Time, event: Event, ports: &mut impl Ports) {
        if matches!(event.kind(), Kind::Deadline { .. }) || self.cores[event.core()].is_masked() {
            self.shared.stir();
        }
        self.cores[event.core()].handle(now, event.kind(), ports);
        self.tell_cores(now, ports);
    }

    /// True if this event has no effect: it is the deadline of a wait that has ended.
    pub fn is_stale(&self, event: Event) -> bool {
        self.cores[event.core()].is_stale(event.kind())
    }

    /// The NIC raises the interrupt line. Before there is a handler the interrupt stays pending, to be taken
    /// at the next [`Host::attend`] or when the first core next could take it.
    pub fn interrupt(&mut self, now: Time, ports: &mut impl Ports) {
        self.interrupt_by(now, 0, ports);
    }

    /// The same by one of 64 vectors, of which the handler learns ([`Cpu::take_vectors`]).
    pub fn interrupt_by(&mut self, now: Time, vector: u8, ports: &mut impl Ports) {
        let vectors = &self.shared.vectors;
        vectors.set(vectors.get() | 1 << vector);
        self.cores[FIRST].interrupt(now, ports);
        self.tell_cores(now, ports);
    }

    /// Answers the oldest uncached read with its bytes.
    pub fn mmio_reply(&mut self, now: Time, data: &[u8], ports: &mut impl Ports) {
        let core = self.shared.reads.borrow_mut().pop_front().expect("a read is outstanding");
        self.cores[core].mmio_reply(now, data, ports);
        self.tell_cores(now, ports);
    }

    /// Passes on the events that it did without since the last call, and their times, in order.
    pub fn take_passed(&mut self, mut take: impl FnMut(Time, Event)) {
        self.shared.passed.borrow_mut().drain(..).for_each(|(at, event)| take(at, event));
    }

    /// Tells the other cores what one core did, at the time at which it did so: it may have started or woken
    /// fibres there, or handed over locks.
    fn tell_cores(&mut self, now: Time, ports: &mut impl Ports) {
        if self.cores.len() == 1 {
            return;
        }
        let now = self.shared.passed.borrow().last().map_or(now, |(passed, _)| now.max(*passed));
        self.shared.together.set(true);
        self.tell_cores_at(now, ports);
        self.shared.together.set(false);
        self.shared.called.set(false);
    }

    fn tell_cores_at(&mut self, now: Time, ports: &mut impl Ports) {
        loop {
            let mut told = false;
            while let Some(core) = self.shared.take_handed() {
                told = true;
                self.cores[core].receive_lock(now, ports);
            }
            while let Some((core, name, f)) = self.shared.take_started() {
                told = true;
                self.cores[core].spawn(&name, f);
                self.cores[core].attend(now, ports);
            }
            for core in &mut self.cores {
                if core.is_called() {
                    told = true;
                    core.attend(now, ports);
                }
            }
            if !told {
                return;
            }
            self.shared.stir();
        }
    }

    /// Tells `observer` what the cores do, from `now` on.
    pub fn set_observer(&mut self, now: Time, observer: &Rc<impl Observer + 'static>) {
        for core in &self.cores {
            core.set_observer(now, observer.clone());
        }
    }

    /// Number of cores.
    pub fn cores(&self) -> usize {
        self.cores.len()
    }

    /// The host's memory.
    pub fn memory(&self) -> &SharedMemory {
        &self.shared.memory
    }

    /// Handle of the first core, for use before any fibre runs.
    pub fn cpu(&self) -> Cpu {
        self.cores[FIRST].cpu()
    }

    /// True if a fibre recorded a fault.
    #[inline]
    pub fn has_fault(&self) -> bool {
        self.shared.fault.borrow().is_some()
    }
    /// The first fault that a fibre recorded.
    pub fn fault(&self) -> Option<Fault> {
        let fault = self.shared.fault.borrow();
        fault.as_ref().map(|(at, core, fibre, what)| Fault {
            at: *at,
            fibre: self.cores[*core].name_of(*fibre).to_string(),
            what: what.clone(),
        })
    }

    /// Time of all cores together up to `now`, by class of work.
    pub fn times(&self, now: Time) -> Times {
        self.cores.iter().map(|core| core.times(now)).sum()
    }

    /// Time of each core up to `now`, by class of work.
    pub fn times_of_cores(&self, now: Time) -> impl Iterator<Item = Times> + '_ {
        self.cores.iter().map(move |core| core.times(now))
    }

    /// The user-level fibres of all cores: name and state.
    pub fn fibres(&self) -> impl Iterator<Item = (&str, FibreState)> {
        self.cores.iter().flat_map(Processor::fibres)
    }
}
