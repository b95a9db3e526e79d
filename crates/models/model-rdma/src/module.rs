//! The kernel module: finds the card, sets it up, pins pages, and serves its interrupt in two halves.

use super::memory::{self, frame, word, Watch, PAGE};
use super::partial::{is_inbox, Inbox};
use super::request_queue::RequestQueue;
use super::settings::{Costs, Settings};
use super::storage::Disks;
use super::tally::{add, Tally};
use super::trail::{Drain, Trail};
use abi::forth::{control_bit, register, table};
use des::{Duration, Time};
use host::{Cpu, SharedMemory, Waker};
use pci::node::{CONFIG, REGION};
use pci::register as config;
use rank::Network;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

mod restart;

/// Bits of the command register: memory, bus master, parity.
const COMMAND: u32 = 1 << 1 | 1 << 2 | 1 << 6;

/// State that card and host software of a node share.
#[derive(Clone)]
pub(super) struct Shared {
    pub tally: Rc<Tally>,
    pub trail: Rc<Trail>,
    pub watch: Rc<Watch>,
}

/// A pending flag: a word that another node writes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flag {
    pub sender: u32,
    pub addr: u64,
    /// Lower half of the word once it is written.
    pub turn: u32,
}

impl Flag {
    fn is_of_its_turn(&self, memory: &SharedMemory) -> bool {
        word(memory, self.addr) as u32 == self.turn
    }
}

/// The driver of a node.
pub(super) struct Module {
    pub nid: u32,
    nodes: u32,
    /// There is a crossbar between the cards.
    crossed: bool,
    pub costs: Costs,
    pub disks: Disks,
    pub network: Arc<Network>,
    /// Clock of the card's lanes.
    pub lanes_hz: u64,
    second_look: bool,
    flow_words: u16,
    /// Descriptors with which the card's queue still takes another.
    pub queue_room: u64,
    /// Pages that handles can be bound to; 0: descriptors have physical addresses.
    bindings: u16,
    /// Bindings made so far. The first are those of the other nodes' doorbells, in their order.
    bound: Cell<u32>,
    /// Numbers and words of them, as the card was told.
    bindings_set: RefCell<Vec<(u32, u64)>>,
    /// Bits of CONTROL beside those that every card works with.
    control: Cell<u32>,
    pub tally: Rc<Tally>,
    pub trail: Rc<Trail>,
    pub watch: Rc<Watch>,
    /// The request queue, which it shares with a process.
    pub queue: RequestQueue,
    pub inbox: Inbox,
    /// Pages pinned so far.
    pinned: Cell<u64>,
    /// Doorbells of each sender, as the bottom half has seen them last.
    seen: RefCell<Vec<u64>>,
    /// Time at which it has seen the first ring of each sender.
    first: RefCell<Vec<Option<Time>>>,
    sleeper: RefCell<Option<Waker>>,
    /// A pending flag for which a process sleeps.
    expected: Cell<Option<Flag>>,
    pub ready: Cell<bool>,
}

/// Page with the count of notifications.
const NOTIFY_PAGE: u64 = 0;
/// Page with a doorbell for each sender.
const DOORBELLS_PAGE: u64 = 1;
/// Pages of the module itself.
pub(super) const OWN_PAGES: u64 = 2;

/// Physical address on node `nid` of the doorbell that `sender` rings: a word that only it writes.
pub(super) fn doorbell(nid: u32, sender: u32) -> u64 {
    frame(nid, DOORBELLS_PAGE) + 8 * u64::from(sender)
}

/// True if what `source` writes at that address of node `nid` is for the handler.
pub(super) fn is_for_handler(nid: u32, source: u32, addr: u64) -> bool {
    addr == doorbell(nid, source) || is_inbox(source, addr)
}

/// Physical address on node `nid` to which its card writes the count of notifications.
pub(super) fn notify_addr(nid: u32) -> u64 {
    frame(nid, NOTIFY_PAGE)
}

impl Module {
    pub fn new(settings: &Settings, nid: u32, shared: Shared) -> Module {
        let Shared { tally, trail, watch } = shared;
        Module {
            nid,
            nodes: settings.nodes,
            crossed: settings.crossbar.is_some(),
            costs: settings.costs,
            disks: settings.disks,
            network: settings.network.clone(),
            lanes_hz: settings.lanes_clock(nid).hz(),
            second_look: settings.bugs.second_look(nid, settings),
            flow_words: settings.flow_words(),
            queue_room: u64::from(settings.nic(nid).queue_depth).saturating_sub(5).max(1),
            bindings: settings.bindings(),
            bound: Cell::new(settings.nodes),
            bindings_set: RefCell::default(),
            control: Cell::default(),
            tally,
            trail,
            watch,
            queue: RequestQueue::new(settings.combining),
            inbox: Inbox::default(),
            pinned: Cell::new(0),
            seen: RefCell::new(vec![0; settings.nodes as usize]),
            first: RefCell::new(vec![None; settings.nodes as usize]),
            sleeper: RefCell::default(),
            expected: Cell::default(),
            ready: Cell::new(false),
        }
    }

    /// Nodes of the machine.
    pub fn nodes(&self) -> u32 {
        self.nodes
    }
    /// Words of buffer that a flow has at the other end.
    pub fn flow_words(&self) -> u16 {
        self.flow_words
    }
    /// Count of a sender's doorbell that the handler has seen.
    pub fn seen_of(&self, sender: u32) -> u64 {
        self.seen.borrow()[sender as usize]
    }

    /// Address at which the card writes the count of notifications.
    pub fn notify_addr(&self) -> u64 {
        notify_addr(self.nid)
    }

    /// The module is loaded: the card is found, mapped and started.
    pub fn boot(&self, cpu: &Cpu) {
        memory::reserve(cpu.memory());
        let id = cpu.mmio_read(CONFIG + u32::from(config::ID));
        if id & 0xFFFF != 0x10EE {
            cpu.fault(format_args!("there is no card in the slot: {id:#010x}"));
        }
        cpu.mmio_write(CONFIG + u32::from(config::BAR0), &REGION.to_le_bytes());
        cpu.mmio_write(CONFIG + u32::from(config::COMMAND), &COMMAND.to_le_bytes()[..2]);
        self.pin(cpu, OWN_PAGES);
        self.set_up(cpu);
        let mut on = control_bit::SEND | control_bit::RECEIVE;
        if self.bindings > 0 {
            on |= control_bit::HANDLES;
            for node in (0..self.nodes).filter(|node| *node != self.nid) {
                self.set_binding(cpu, node, node, DOORBELLS_PAGE);
            }
        }
        self.control.set(on);
        self.set(cpu, register::CONTROL, on.into());
        // A read comes back behind all that was posted before.
        let control = cpu.mmio_read(REGION + register::CONTROL);
        if control != on {
            cpu.fault(format_args!("the card has not started: its CONTROL is {control:#x}"));
        }
        self.ready.set(true);
    }

    fn set_up(&self, cpu: &Cpu) {
        self.set(cpu, register::NOTIFY, self.notify_addr());
        for flow in (0..self.nodes).filter(|flow| *flow != self.nid) {
            self.set(cpu, table::LIMITS + 8 * flow, self.flow_words.into());
        }
        self.set(cpu, register::INTERRUPT, 1);
    }

    /// Binds `pages` of another node's to handles for a process here; gives the number of the first binding,
    /// or none where descriptors have physical addresses.
    pub fn bind(&self, cpu: &Cpu, node: u32, pages: std::ops::Range<u64>) -> Option<u32> {
        if self.bindings == 0 {
            return None;
        }
        let first = self.bound.get();
        cpu.kernel(|| {
            for (number, page) in (first..).zip(pages) {
                self.set_binding(cpu, number, node, page);
                self.bound.set(number + 1);
            }
        });
        Some(first)
    }

    /// The binding of another node's doorbells.
    pub fn doorbells(&self, node: u32) -> Option<u32> {
        (self.bindings > 0).then_some(node)
    }

    fn set_binding(&self, cpu: &Cpu, number: u32, node: u32, page: u64) {
        assert!(number < self.bindings.into(), "workloads are held to what there is");
        let word = table::Bindings(frame(node, page)).with_flow(node as u8).with_valid(true);
        self.bindings_set.borrow_mut().push((number, word.0));
        self.set(cpu, table::BINDINGS + 8 * number, word.0);
    }

    fn set(&self, cpu: &Cpu, offset: u32, value: u64) {
        cpu.mmio_write(REGION + offset, &value.to_le_bytes());
    }

    /// Pins `pages` of a process, whose physical pages are [`frame`]s from the number on that it gives.
    pub fn pin(&self, cpu: &Cpu, pages: u64) -> u64 {
        cpu.kernel(|| cpu.spend(self.costs.pin * pages));
        self.pinned.replace(self.pinned.get() + pages)
    }

    /// Pages that can still be pinned.
    pub fn free_pages(&self) -> u64 {
        memory::FRAMES - self.pinned.get()
    }

    // ---- the interrupt -----------------------------------------------------------------------------------

    /// The handler. The top half disables the card's interrupt, which clears its level; the bottom half runs
    /// before the handler returns, as what Linux calls a soft interrupt.
    pub fn interrupt(&self, cpu: &Cpu) {
        add(&self.tally.interrupts, 1);
        let entered = cpu.now();
        self.set(cpu, register::INTERRUPT, 0);
        self.drain(cpu, entered);
        self.set(cpu, register::INTERRUPT, 1);
        if !self.second_look {
            return; // The mistake that marazakis2006 s4.1 warns of, on request.
        }
        // What came between draining and enabling has raised nothing: it must be looked for again, once the
        // card has seen the write.
        cpu.mmio_read(REGION + register::INTERRUPT);
        if self.drain(cpu, entered) {
            add(&self.tally.second_looks, 1);
        }
    }

    /// Looks for what no interrupt has told of, outside of the handler.
    pub fn look(&self, cpu: &Cpu) {
        cpu.kernel(|| self.drain(cpu, cpu.now()));
    }

    /// Looks at all doorbells, in the handler that was entered then; true if one has rung.
    fn drain(&self, cpu: &Cpu, entered: Time) -> bool {
        let mut rung = false;
        for sender in 0..self.nodes {
            cpu.spend(self.costs.doorbell);
            let count = word(cpu.memory(), doorbell(self.nid, sender));
            let before = std::mem::replace(&mut self.seen.borrow_mut()[sender as usize], count);
            if before != count {
                rung = true;
                let sleeps = self.sleeper.borrow().is_some();
                let drain = Drain { entered, now: cpu.now(), source: sender };
                self.trail.drains(drain, sleeps, usize::MAX);
                self.first.borrow_mut()[sender as usize].get_or_insert(cpu.now());
            }
        }
        if let Some(flag) = self.expected.get() {
            cpu.spend(self.costs.doorbell);
            if flag.is_of_its_turn(cpu.memory()) {
                rung = true;
                self.trail.drains_word(Drain { entered, now: cpu.now(), source: flag.sender });
            }
        }
        rung |= self.take_records(cpu, entered) | self.looks_at_counts(cpu);
        if rung && let Some(waker) = &*self.sleeper.borrow() {
            waker.wake();
        }
        rung
    }

    /// Time at which a sender has first rung; `None` before [`Module::sleep`] has seen it.
    pub fn first_ring(&self, sender: u32) -> Option<Time> {
        self.first.borrow()[sender as usize]
    }

    /// An event that has come, in the kernel: none, and the process will be woken when one may have.
    pub fn event(&self, cpu: &Cpu) -> Option<(u32, u64)> {
        *self.sleeper.borrow_mut() = Some(cpu.waker());
        self.inbox.event(cpu.memory())
    }
    /// The process does not sleep any more.
    pub fn wakes_nobody(&self) {
        *self.sleeper.borrow_mut() = None;
    }

    /// A process sleeps in the kernel until a flag is of its turn, or until a time. True if it is.
    pub fn sleep_until(&self, cpu: &Cpu, flag: Flag, until: Time) -> bool {
        self.expected.set(Some(flag));
        let there = self.sleep(cpu, |_| flag.is_of_its_turn(cpu.memory()), until);
        self.expected.set(None);
        there
    }

    /// A process sleeps in the kernel until `done` of the doorbells' counts, or until a time. True if `done`.
    pub fn sleep(&self, cpu: &Cpu, done: impl Fn(&[u64]) -> bool, until: Time) -> bool {
        let ready = loop {
            let ready = cpu.kernel(|| {
                *self.sleeper.borrow_mut() = Some(cpu.waker());
                done(&self.seen.borrow())
            });
            if ready || cpu.now() >= until {
                break ready;
            }
            cpu.wait_until(Duration(1), until);
        };
        *self.sleeper.borrow_mut() = None;
        ready
    }
}

/// Pages of so many bytes.
pub(super) fn pages(bytes: u64) -> u64 {
    bytes.div_ceil(PAGE)
}
