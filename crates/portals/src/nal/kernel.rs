//! The kernel's Portals on one node: its processes, its pendings, and how they are set up.

use super::atomic::DATA_MAX;
use super::costs::Config;
use super::dma_list::DmaLists;
use super::mailbox::Mailbox;
use super::observe::{Mark, Observer};
use super::receive::Receive;
use super::region::Region;
use super::tap::Told;
use super::transmit::{Flight, Transmit};
use crate::library::{Error, Identity, Interface, IoVec, Place, ProcessId, Work, PID_ANY};
use abi::seastar::{
    command_op, InitEqcbCommand, InitProcessCommand, MarkAliveCommand, GENERIC_PENDINGS,
    GENERIC_PROCESS, READY_FLAG, READY_VALUE,
};
use abi::MessageId;
use host::{Cpu, Extent, Lock, SpaceId, Waker};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

/// Process id that the generic firmware process is initialised with: it serves every process id.
const GENERIC_PID: u16 = 0;

/// Names a process's place in the kernel; never used again once the process has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seat(pub(crate) usize);

struct Process {
    pid: u32,
    space: SpaceId,
    waker: Waker,
    /// None once the process has left.
    interface: Option<Interface>,
}

/// What the kernel's Portals has counted.
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
    /// Messages between processes of this node, copied by the kernel.
    pub local: u64,
    /// Pages pinned for memory descriptors (Linux).
    pub pages_pinned: u64,
    /// Pages of payloads for which DMA commands were computed (Linux).
    pub pages_translated: u64,
    /// Atomic operations performed on memory of this node's processes.
    pub atomics: u64,
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
    /// Whoever uses the kernel's Portals on a host of several cores holds it.
    pub(crate) lock: Lock,
    processes: RefCell<Vec<Process>>,
    pub(crate) mailbox: Mailbox,
    pub(crate) region: Region,
    pub(crate) lists: DmaLists,
    /// Free pendings of the host's pool.
    pub(crate) free: RefCell<Vec<u16>>,
    /// What is under way in each pending of the host's pool, as far as they have been used.
    pub(crate) flights: RefCell<Vec<Option<Flight>>>,
    /// Messages that wait for a pending or a DMA list.
    pub(crate) waiting: RefCell<VecDeque<Transmit>>,
    /// What is under way in each pending; the host's own stay empty.
    pub(crate) receives: RefCell<Vec<Option<Box<Receive>>>>,
    /// Receive commands that wait for a DMA list.
    pub(crate) deferred: RefCell<VecDeque<(u16, Vec<Extent>)>>,
    /// Room for the extents of a buffer, used again and again.
    spare_extents: Cell<Vec<Extent>>,
    pub(crate) slot: Cell<u32>,
    /// Runs of the interrupt handler since the last that found an event.
    pub(crate) empty: Cell<u64>,
    serial: Cell<u32>,
    pub(crate) counters: Cell<Counters>,
    /// Pendings of the host's pool that have ever been in use.
    pub(crate) used: Cell<u16>,
    /// Which of the firmware's have.
    pub(crate) seen: RefCell<Vec<bool>>,
}

/// Most pendings that were in use at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PendingsMax {
    /// Of the host's pool, for transmits.
    pub transmit: u16,
    /// Of the firmware's, for receives.
    pub receive: u16,
}

impl Kernel {
    /// Sets up the region that the firmware writes to, maps it, and starts the generic firmware process. Runs
    /// in a fibre; ends in a fault of that fibre if the firmware does not answer as it should.
    pub fn boot(cpu: &Cpu, nid: u16, config: &Config, observer: Rc<dyn Observer>) -> Rc<Kernel> {
        let tx = config.tx_pendings;
        assert!(u32::from(tx) < GENERIC_PENDINGS && tx > 0, "both pools of pendings have some");
        let swap = config.limits.max_getput_md as usize;
        assert!(swap <= DATA_MAX, "an atomic operation's bytes fit in an upper pending");
        let pools = config.pools;
        let region = Region::new(cpu.memory(), config.system.list_commands, pools.event_slots);
        let kernel = Rc::new(Kernel {
            nid,
            config: *config,
            listened: observer.listens(),
            observer,
            lock: Lock::new(),
            processes: RefCell::default(),
            mailbox: Mailbox::new(config.shadow_fifos),
            lists: DmaLists::new(
                region.lists_local(),
                config.system.list_commands,
                pools.list_commands,
            ),
            region,
            free: RefCell::new((0..tx.min(pools.transmits)).rev().collect()),
            flights: RefCell::default(),
            waiting: RefCell::default(),
            receives: RefCell::new(vec![None; GENERIC_PENDINGS as usize]),
            deferred: RefCell::default(),
            spare_extents: Cell::default(),
            slot: Cell::new(0),
            empty: Cell::new(0),
            serial: Cell::new(0),
            counters: Cell::default(),
            used: Cell::new(0),
            seen: RefCell::new(vec![false; GENERIC_PENDINGS as usize]),
        });
        cpu.kernel(|| kernel.initialise(cpu));
        // Messages may have come before the caller can hand interrupts to this kernel.
        while kernel.region.has_event(kernel.slot.get()) {
            cpu.kernel(|| kernel.interrupt(cpu));
        }
        kernel
    }

    /// Most pendings in use at a time so far. Both pools hand out the pending that was freed last, and one
    /// that was never used only if all others are: as many as were ever used were in use at once.
    pub fn pendings_max(&self) -> PendingsMax {
        let receive = self.seen.borrow().iter().filter(|seen| **seen).count() as u16;
        PendingsMax { transmit: self.used.get(), receive }
    }

    /// Where the firmware writes events, a word each, and the slot from which the next one is taken.
    pub fn events(&self) -> (std::ops::Range<u64>, u32) {
        (self.region.events(), self.slot.get())
    }

    fn initialise(&self, cpu: &Cpu) {
        let deadline = cpu.now() + self.config.boot_timeout;
        while cpu.mmio_read(READY_FLAG) != READY_VALUE {
            if cpu.now() >= deadline {
                cpu.fault(format_args!("the firmware of node {} is not ready", self.nid));
            }
        }
        self.region.map(cpu);
        let init = InitProcessCommand {
            op: command_op::INIT_PROCESS,
            process_index: GENERIC_PROCESS as u8,
            pid: GENERIC_PID,
            num_pendings: self.pendings(),
            pending_tx_limit: self.config.tx_pendings,
            upper_pending_lo: self.region.pendings as u32,
            upper_pending_hi: (self.region.pendings >> 32) as u32,
            upper_pending_local: self.region.pendings_local(),
            ..InitProcessCommand::default()
        };
        let mut bytes = [0; InitProcessCommand::SIZE];
        init.emit(&mut bytes);
        self.ask(cpu, &bytes, 0, "INIT_PROCESS");
        let queue = InitEqcbCommand {
            op: command_op::INIT_EQCB,
            process_index: GENERIC_PROCESS as u8,
            count: self.config.pools.event_slots,
            base_local: self.region.events_local(),
        };
        queue.emit(&mut bytes);
        self.ask(cpu, &bytes, 1, "INIT_EQCB");
        let alive =
            MarkAliveCommand { op: command_op::MARK_ALIVE, process_index: GENERIC_PROCESS as u8 };
        alive.emit(&mut bytes);
        self.ask(cpu, &bytes, 0, "MARK_ALIVE");
    }

    /// The firmware's pendings and the kernel's own.
    fn pendings(&self) -> u16 {
        let tx = self.config.tx_pendings;
        tx + self.config.pools.receives.min(GENERIC_PENDINGS as u16 - tx)
    }

    /// True if the firmware has posted events that no interrupt handler has taken.
    pub fn has_events(&self) -> bool {
        self.region.has_event(self.slot.get())
    }

    fn ask(&self, cpu: &Cpu, command: &[u8], expected: u32, name: &str) {
        cpu.spend(self.config.costs.command_build);
        self.mailbox.command(cpu, command);
        let nid = self.nid;
        match self.mailbox.result(cpu, self.config.boot_timeout) {
            Ok(value) if value == expected => {}
            Ok(value) => cpu.fault(format_args!(
                "the firmware of node {nid} answered {name} with {value} instead of {expected}"
            )),
            Err(_) => cpu.fault(format_args!("the firmware of node {nid} did not answer {name}")),
        }
    }

    /// Charges for a call that stays in the process's library.
    pub fn charge_call(&self, cpu: &Cpu) {
        cpu.spend(self.config.costs.api_call);
    }

    /// What has been counted.
    pub fn counters(&self) -> Counters {
        let (locks, locks_contended) = self.lock.counts();
        Counters {
            locks,
            locks_contended,
            commands: self.mailbox.commands.get(),
            index_reads: self.mailbox.index_reads.get(),
            ..self.counters.get()
        }
    }

    pub(crate) fn count(&self, change: impl FnOnce(&mut Counters)) {
        let mut counters = self.counters.get();
        change(&mut counters);
        self.counters.set(counters);
    }

    // Processes.

    /// Gives a process its interface (PtlNIInit).
    pub(crate) fn open(&self, cpu: &Cpu, pid: u32, space: SpaceId) -> Result<Seat, Error> {
        if pid > u32::from(u16::MAX) || pid == PID_ANY || self.find(pid).is_some() {
            return Err(Error::PidInvalid);
        }
        let id = ProcessId { nid: u32::from(self.nid), pid };
        let mut interface = Interface::new(Identity { id, uid: 0, jid: 0 }, self.config.limits);
        if cpu.cores() > 1 {
            // The process may look at its queues while another core is at work on them.
            interface.hold_events_back();
        }
        let mut processes = self.processes.borrow_mut();
        processes.push(Process { pid, space, waker: cpu.waker(), interface: Some(interface) });
        let seat = Seat(processes.len() - 1);
        let (identity, limits) = (Identity { id, uid: 0, jid: 0 }, self.config.limits);
        self.tell(cpu, || Told::Opened { seat: seat.0, space, identity, limits });
        Ok(seat)
    }

    /// A process begins to leave (PtlNIFini): what still arrives for it is dropped.
    pub(crate) fn leave(&self, cpu: &Cpu, seat: Seat) {
        self.with(seat, Interface::leave);
        self.tell(cpu, || Told::Leaving { seat: seat.0 });
    }

    /// Takes its interface from a process that is leaving. False while operations are under way.
    pub(crate) fn close(&self, cpu: &Cpu, seat: Seat) -> bool {
        let busy = self.with(seat, |interface| interface.is_busy()).unwrap_or(false);
        if !busy {
            self.processes.borrow_mut()[seat.0].interface = None;
            self.tell(cpu, || Told::Closed { seat: seat.0 });
        }
        !busy
    }

    /// Makes a process look that waits for the end of its operations.
    pub(crate) fn wake_leaving(&self, seat: Seat) {
        if self.with(seat, |interface| interface.is_leaving()).unwrap_or(false) {
            self.processes.borrow()[seat.0].waker.wake();
        }
    }

    pub(crate) fn find(&self, pid: u32) -> Option<Seat> {
        let processes = self.processes.borrow();
        let found = processes.iter().position(|p| p.pid == pid && p.interface.is_some());
        found.map(Seat)
    }

    /// Lets `f` use a process's interface; None if the process has left.
    pub(crate) fn with<R>(&self, seat: Seat, f: impl FnOnce(&mut Interface) -> R) -> Option<R> {
        self.processes.borrow_mut()[seat.0].interface.as_mut().map(f)
    }

    pub(crate) fn space(&self, seat: Seat) -> SpaceId {
        self.processes.borrow()[seat.0].space
    }

    /// Where a process's bytes stand physically; None if they cannot be translated, or are in more
    /// pieces than a DMA list can have commands. To be given back with `keep_extents`, so that the
    /// next buffer needs no new memory.
    pub(crate) fn extents(&self, cpu: &Cpu, seat: Seat, place: &Place) -> Option<Vec<Extent>> {
        cpu.spend(self.config.costs.translate);
        let mut extents = self.no_extents();
        let space = self.space(seat);
        let mut pages = 0;
        for IoVec { start, length } in place.pieces() {
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
        if !self.lists.can_hold(extents.len()) {
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
    pub(crate) fn charge_events(&self, cpu: &Cpu, seat: Seat, work: Work, id: MessageId) {
        if work.events == 0 {
            return;
        }
        cpu.spend(self.config.costs.event_post * u64::from(work.events));
        for kind in work.posted() {
            self.mark(cpu, id, Mark::EventPosted(kind));
        }
        if cpu.cores() > 1 {
            self.with(seat, Interface::publish_events);
        }
        self.processes.borrow()[seat.0].waker.wake();
    }

    pub(crate) fn mark(&self, cpu: &Cpu, id: MessageId, mark: Mark) {
        self.observer.mark(cpu.core(), cpu.now(), id, mark);
    }

    /// The id of the next message.
    pub(crate) fn next_message(&self) -> MessageId {
        let serial = self.serial.get().wrapping_add(1);
        self.serial.set(serial);
        MessageId { source_nid: self.nid, serial }
    }
}
