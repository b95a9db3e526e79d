//! The kernel's Portals on one node: its processes, the operations that they begin, and the outcome of
//! messages that arrive. It meets the network interface in a driver ([`crate::nal`]).
//!
//! The kernel runs with interrupts masked and nothing else of its core runs meanwhile, and on a host of
//! several cores one lock keeps the others out, so a kernel section is atomic even where it lets time pass.
//! Only event queues, which are in the processes' own memory, are read beside it.

use crate::library::{Error, Identity, Interface, IoVec, ProcessId, Span, Work, PID_ANY};
use crate::nal::{seastar, Nal, NewUser, Run};
use abi::seastar::PortalsHeader;
use abi::MessageId;
use host::{Cpu, Extent, Lock, SpaceId, Waker};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

mod atomic;
mod costs;
mod deliver;
mod issue;
mod observe;
mod tap;
pub(crate) mod wire;

pub(crate) use atomic::{Data, DATA_MAX};
pub use costs::{Bridge, Config, Costs, System};
pub(crate) use deliver::Taker;
pub(crate) use issue::Call;
pub use observe::{Begun, Observer, TracePoint, Unobserved};
pub use tap::{Asked, Fate, ObjectCall, Reaction, Returned, Told};

/// Names a process's place in the kernel; never used again once the process has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot(pub(crate) usize);

struct Process {
    pid: u32,
    space: SpaceId,
    waker: Waker,
    /// Its library, if its match lists are on the network interface.
    on_nic: Option<Rc<seastar::Accelerated>>,
    /// None once the process has left.
    interface: Option<Interface>,
}

/// Counters of the kernel's Portals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Runs of the interrupt handler.
    pub interrupts: u64,
    /// Runs of the interrupt handler that found no event: an earlier run had taken it.
    pub empty_interrupts: u64,
    /// Firmware events taken.
    pub events: u64,
    /// Commands written to the mailbox.
    pub commands: u64,
    /// Mailbox indices read from the network interface: round trips.
    pub index_reads: u64,
    /// Messages handed to the firmware.
    pub transmits: u64,
    /// Messages that had to wait for a pending or a DMA list.
    pub transmits_queued: u64,
    /// Receive commands that had to wait for a DMA list.
    pub receives_deferred: u64,
    /// Messages that arrived.
    pub receives: u64,
    /// Messages for processes that do not exist, or with a header that cannot be trusted.
    pub undeliverable: u64,
    /// Match entries looked at.
    pub list_entries: u64,
    /// Events by which event queues grew that were full.
    pub queue_events: u64,
    /// Messages between processes of this node, copied by the kernel.
    pub local: u64,
    /// Events that libraries of accelerated processes took from their rings.
    pub ring_events: u64,
    /// Match entries that the firmware looked at for them.
    pub nic_entries: u64,
    /// Their posts that the firmware refused, because a message had come before.
    pub posts_refused: u64,
    /// Receives that libraries above kept, because the network interface had no room for them.
    pub receives_kept: u64,
    /// The same of sends.
    pub sends_kept: u64,
    /// Pages pinned for memory descriptors (Linux).
    pub pages_pinned: u64,
    /// Pages of payloads for which DMA commands were computed (Linux).
    pub pages_translated: u64,
    /// Atomic operations that the kernel performed on memory of this node's processes.
    pub atomics: u64,
    /// Those that the firmware performed.
    pub nic_atomics: u64,
    /// Times that the lock around the kernel's Portals was taken (hosts of several cores).
    pub locks: u64,
    /// Times that another core held it.
    pub locks_contended: u64,
}

/// The kernel's Portals on one node.
pub struct Kernel {
    pub(crate) nid: u16,
    pub(crate) config: Config,
    pub(crate) observer: Rc<dyn Observer>,
    /// The observer listens.
    pub(crate) listened: bool,
    /// Lock of the kernel's Portals on a host of several cores.
    pub(crate) lock: Lock,
    processes: RefCell<Vec<Process>>,
    /// Drives the network interface.
    nal: Rc<dyn Nal>,
    /// Room for the extents of a buffer, used again and again.
    spare_extents: Cell<Vec<Extent>>,
    serial: Cell<u32>,
    counters: Cell<Counters>,
}

impl Kernel {
    /// Starts the network interface behind `nal`. Runs in a fibre; ends in a fault of that fibre if the
    /// interface does not answer as it should.
    pub fn boot(
        cpu: &Cpu,
        nid: u16,
        config: &Config,
        observer: Rc<dyn Observer>,
        nal: Rc<dyn Nal>,
    ) -> Rc<Kernel> {
        let swap = config.limits.max_getput_md as usize;
        assert!(swap <= DATA_MAX, "an atomic operation's bytes are as many as the kernel keeps");
        let kernel = Rc::new(Kernel {
            nid,
            config: *config,
            listened: observer.listens(),
            observer,
            lock: Lock::new(),
            processes: RefCell::default(),
            nal,
            spare_extents: Cell::default(),
            serial: Cell::new(0),
            counters: Cell::default(),
        });
        kernel.nal.join(&kernel);
        cpu.kernel(|| kernel.nal.start(&kernel, cpu));
        // Messages may have come before the caller can hand interrupts to this kernel.
        while kernel.nal.has_events() {
            cpu.kernel(|| kernel.interrupt(cpu));
        }
        kernel
    }

    /// The interrupt handler: takes all that the network interface has to tell.
    pub fn interrupt(&self, cpu: &Cpu) {
        let run = Run { raised: cpu.interrupt_raised_at(), entered: cpu.now() };
        self.lock.hold(cpu, || self.nal.interrupt(self, cpu, run));
    }

    /// Charges for a call that stays in the process's library.
    pub fn charge_call(&self, cpu: &Cpu) {
        cpu.spend(self.config.costs.api_call);
    }

    /// Current counters.
    pub fn counters(&self) -> Counters {
        let (locks, locks_contended) = self.lock.counts();
        let mut counters = Counters { locks, locks_contended, ..self.counters.get() };
        self.nal.count(&mut counters);
        counters
    }

    pub(crate) fn count(&self, change: impl FnOnce(&mut Counters)) {
        let mut counters = self.counters.get();
        change(&mut counters);
        self.counters.set(counters);
    }

    // Processes.

    /// Gives a process its interface (PtlNIInit).
    pub(crate) fn open(
        &self,
        cpu: &Cpu,
        pid: u32,
        space: SpaceId,
        wanted: bool,
    ) -> Result<Slot, Error> {
        if pid > u32::from(u16::MAX) || pid == PID_ANY || self.find(pid).is_some() {
            return Err(Error::PidInvalid);
        }
        let id = ProcessId { nid: u32::from(self.nid), pid };
        let mut interface = Interface::new(Identity { id, uid: 0, jid: 0 }, self.config.limits);
        if cpu.cores() > 1 {
            // The process may look at its queues while another core is at work on them.
            interface.hold_events_back();
        }
        let slot = Slot(self.processes.borrow().len());
        let on_nic = match wanted {
            true => self.nal.accelerate(self, cpu, NewUser { slot, pid: pid as u16, space }),
            false => None,
        };
        let identity = Identity { id, uid: 0, jid: 0 };
        let mut limits = self.config.limits;
        if let Some(user) = &on_nic {
            limits = user.limits(limits);
            interface = Interface::new(identity, limits);
        }
        let told = on_nic.is_some();
        let (waker, interface) = (cpu.waker(), Some(interface));
        self.processes.borrow_mut().push(Process { pid, space, waker, on_nic, interface });
        self.tell(cpu, || Told::Opened { slot: slot.0, space, identity, limits, on_nic: told });
        Ok(slot)
    }

    /// The library of a process on the network interface.
    pub(crate) fn on_nic(&self, slot: Slot) -> Option<Rc<seastar::Accelerated>> {
        self.processes.borrow().get(slot.0)?.on_nic.clone()
    }

    /// True if the process of this number is there.
    pub(crate) fn is_on_nic(&self, pid: u32) -> bool {
        self.find(pid).is_some_and(|slot| self.on_nic(slot).is_some())
    }

    /// Makes a process look.
    pub(crate) fn wake(&self, slot: Slot) {
        if let Some(process) = self.processes.borrow().get(slot.0) {
            process.waker.wake();
        }
    }

    /// Makes a process look into its memory, in which the network interface has stored something.
    pub(crate) fn notice(&self, slot: Slot) {
        if let Some(process) = self.processes.borrow().get(slot.0) {
            process.waker.notice();
        }
    }

    /// A process begins to leave (PtlNIFini): what still arrives for it is dropped.
    pub(crate) fn leave(&self, cpu: &Cpu, slot: Slot) {
        if let Some(user) = self.on_nic(slot) {
            user.leave(cpu);
            user.sync(self, cpu);
        }
        self.with(slot, Interface::leave);
        self.make_room(cpu);
        self.tell(cpu, || Told::Leaving { slot: slot.0 });
    }

    /// Takes its interface from a process that is leaving. False while operations are under way.
    pub(crate) fn close(&self, cpu: &Cpu, slot: Slot) -> bool {
        self.look(cpu, slot);
        let busy = self.with(slot, |interface| interface.is_busy()).unwrap_or(false);
        if !busy {
            if let Some(user) = self.on_nic(slot) {
                cpu.kernel(|| self.nal.end(self, cpu, &user));
            }
            self.processes.borrow_mut()[slot.0].interface = None;
            self.tell(cpu, || Told::Closed { slot: slot.0 });
        }
        !busy
    }

    /// True if messages for a process were refused because its event queue was full.
    pub(crate) fn has_refused(&self, slot: Slot) -> bool {
        self.nal.has_refused(slot)
    }

    /// A process has made room in such a queue, or leaves.
    pub(crate) fn make_room(&self, cpu: &Cpu) {
        self.nal.make_room(self, cpu);
    }

    /// The process that a message is for, if its event queue has no room for it.
    pub(crate) fn crowded(&self, header: &PortalsHeader) -> Option<Slot> {
        wire::request(header)?;
        let slot = self.find(u32::from(header.target_pid))?;
        self.with(slot, |interface| interface.is_crowded())?.then_some(slot)
    }

    /// True if a process's event queues have room again, or it has left.
    pub(crate) fn is_roomy(&self, slot: Slot) -> bool {
        self.with(slot, |interface| interface.is_roomy()).unwrap_or(true)
    }

    /// Makes a process look that waits for the end of its operations.
    pub(crate) fn wake_leaving(&self, slot: Slot) {
        if self.with(slot, |interface| interface.is_leaving()).unwrap_or(false) {
            self.processes.borrow()[slot.0].waker.wake();
        }
    }

    pub(crate) fn find(&self, pid: u32) -> Option<Slot> {
        let processes = self.processes.borrow();
        let found = processes.iter().position(|p| p.pid == pid && p.interface.is_some());
        found.map(Slot)
    }

    /// Lets `f` use a process's interface; None if the process has left.
    pub(crate) fn with<R>(&self, slot: Slot, f: impl FnOnce(&mut Interface) -> R) -> Option<R> {
        self.processes.borrow_mut()[slot.0].interface.as_mut().map(f)
    }

    pub(crate) fn space(&self, slot: Slot) -> SpaceId {
        self.processes.borrow()[slot.0].space
    }

    /// Physical addresses of a process's bytes; `None` if they cannot be translated, or are in more pieces
    /// than a DMA list can have commands. Return the vector with `keep_extents`, so that the next buffer
    /// needs no new memory.
    pub(crate) fn extents(&self, cpu: &Cpu, slot: Slot, span: &Span) -> Option<Vec<Extent>> {
        cpu.spend(self.config.costs.translate);
        let mut extents = self.no_extents();
        let space = self.space(slot);
        let mut pages = 0;
        for IoVec { start, length } in span.pieces() {
            let mut memory = cpu.memory().borrow_mut();
            pages += memory.pages(space, start, length);
            if memory.translate_into(space, start, length, &mut extents).is_err() {
                drop(memory);
                self.keep_extents(extents);
                return None;
            }
        }
        self.count(|counters| counters.pages_translated += pages);
        cpu.spend(self.config.system.translate_page * pages);
        if !self.nal.takes_pieces(extents.len()) {
            self.keep_extents(extents);
            return None;
        }
        Some(extents)
    }

    /// Room for extents, empty.
    pub(crate) fn no_extents(&self) -> Vec<Extent> {
        let mut extents = self.spare_extents.take();
        extents.clear();
        extents
    }

    pub(crate) fn keep_extents(&self, extents: Vec<Extent>) {
        self.spare_extents.set(extents);
    }

    // Time and observation.

    /// Charges for the search of a match list.
    pub(crate) fn charge_search(&self, cpu: &Cpu, work: Work) {
        self.count(|counters| counters.list_entries += u64::from(work.entries));
        cpu.spend(self.config.costs.list_entry * u64::from(work.entries));
    }

    /// Charges for the events that were posted to a process, and makes it look.
    pub(crate) fn charge_events(&self, cpu: &Cpu, slot: Slot, work: Work, id: MessageId) {
        if work.events == 0 {
            return;
        }
        if work.grown > 0 {
            let costs = &self.config.costs;
            self.count(|counters| counters.queue_events += u64::from(work.grown));
            cpu.spend(costs.object + costs.queue_event * u64::from(work.grown));
        }
        cpu.spend(self.config.costs.event_post * u64::from(work.events));
        for kind in work.posted() {
            self.mark(cpu, id, TracePoint::EventPosted(kind));
        }
        if cpu.cores() > 1 {
            self.with(slot, Interface::publish_events);
        }
        self.processes.borrow()[slot.0].waker.wake();
    }

    pub(crate) fn mark(&self, cpu: &Cpu, id: MessageId, mark: TracePoint) {
        self.observer.mark(cpu.core(), cpu.now(), id, mark);
    }

    /// The id of the next message.
    pub(crate) fn next_message(&self) -> MessageId {
        let serial = self.serial.get().wrapping_add(1);
        self.serial.set(serial);
        MessageId { source_nid: self.nid.into(), serial }
    }
}
