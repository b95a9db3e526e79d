//! The driver for the SeaStar in generic mode (pedretti2005 s4): every process's operations go through one
//! mailbox, and one interrupt handler drains one event queue.

use crate::kernel::{Counters, Data, Kernel, Slot};
use crate::nal::{Nal, NewUser, Run, Transmit};
use abi::seastar::{
    command_op, InitEqcbCommand, InitProcessCommand, MarkAliveCommand, ATOMIC_MAX,
    GENERIC_PENDINGS, GENERIC_PROCESS, READY_FLAG, READY_VALUE,
};
use dma_list::DmaLists;
use host::{Cpu, Extent, SharedMemory};
use mailbox::{Mailbox, Slots};
use overflow::Relay;
use receive::Receive;
use region::{Region, Sizes};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use transmit::Flight;

mod accelerated;
mod config;
mod dma_list;
mod mailbox;
mod overflow;
mod receive;
mod region;
mod transmit;

pub(crate) use accelerated::NewEntry;
pub use accelerated::{Accelerated, Rings};
pub use config::{Config, Costs, Pools};
pub use overflow::OverflowCounts;

/// Process id that the generic firmware process is initialised with: it serves every process id.
const GENERIC_PID: u16 = 0;

/// An atomic operation's operand and answer travel in a pending's second half.
const _: () = assert!(
    size_of::<Data>() == abi::seastar::UpperPending::SIZE - abi::seastar::PortalsHeader::SIZE
);

/// The driver of one node's SeaStar.
pub struct Driver {
    config: Config,
    /// The firmware process whose mailbox and pendings it uses.
    process: u32,
    mailbox: Mailbox,
    region: Region,
    lists: DmaLists,
    /// Free pendings of the host's pool.
    free: RefCell<Vec<u16>>,
    /// Transmit in progress in each pending of the host's pool, as far as they have been used.
    flights: RefCell<Vec<Option<Flight>>>,
    /// Messages that wait for a pending or a DMA list.
    waiting: RefCell<VecDeque<Transmit>>,
    /// Receive in progress in each pending; the host's own stay empty.
    receives: RefCell<Vec<Option<Box<Receive>>>>,
    /// Receive commands that wait for a DMA list.
    deferred: RefCell<VecDeque<(u16, Vec<Extent>)>>,
    slot: Cell<u32>,
    /// Runs of the interrupt handler since the last that found an event.
    empty: Cell<u64>,
    /// Pendings of the host's pool that have ever been in use.
    used: Cell<u16>,
    /// True for each pending of the firmware's that has ever been in use.
    seen: RefCell<Vec<bool>>,
    /// 1 and the number of the match entry that the next message's operation was counted on; else 0.
    counted: Cell<u16>,
    /// The accelerated processes of the node.
    rings: Rc<Rings>,
    /// Recovery by the kernel.
    relay: Option<Relay>,
}

/// Most pendings that were in use at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PendingsMax {
    /// Pendings of the host's pool, for transmits.
    pub transmit: u16,
    /// Pendings of the firmware's pool, for receives.
    pub receive: u16,
}

impl Driver {
    /// Sets up, in the kernel's memory, the region that the firmware writes to.
    pub fn new(memory: &SharedMemory, config: &Config) -> Driver {
        Driver::of(memory, config, GENERIC_PROCESS, GENERIC_PENDINGS, region::WINDOW)
    }

    /// The same; `rings` knows the accelerated processes of its node.
    pub fn with_rings(memory: &SharedMemory, config: &Config, rings: Rc<Rings>) -> Driver {
        Driver { rings, ..Driver::new(memory, config) }
    }

    /// The same of firmware process `process`, behind host window `window`.
    fn of(
        memory: &SharedMemory,
        config: &Config,
        process: u32,
        pendings: u32,
        window: u32,
    ) -> Driver {
        let tx = config.tx_pendings;
        assert!(u32::from(tx) < pendings && tx > 0, "both pools of pendings have some");
        let pools = config.pools;
        let (commands, slots) = (config.list_commands, pools.event_slots);
        let own = process != GENERIC_PROCESS;
        let beside = if own { ATOMIC_MAX } else { 0 };
        let results = if own && config.collectives { accelerated::RESULTS } else { 0 };
        let (slot, ring) = match own {
            true => (region::EVENT_LINE, Slots::MESSAGES),
            false => (region::EVENT_WORD, Slots::COMMANDS),
        };
        let sizes = Sizes { pendings, beside, results, commands, slots, slot };
        let region = Region::new(memory, window, sizes);
        let receives = u32::from(pools.receives).min(pendings - u32::from(tx));
        let spare = slots.saturating_sub(u32::from(tx) + receives);
        let recovers = config.recovers && process == GENERIC_PROCESS;
        Driver {
            relay: recovers.then(|| Relay::new(receives as usize, spare)),
            config: *config,
            process,
            mailbox: Mailbox::new(process, ring, config.shadow_fifos),
            counted: Cell::new(0),
            rings: Rc::default(),
            lists: DmaLists::new(region.lists_local(), config.list_commands, pools.list_commands),
            region,
            free: RefCell::new((0..tx.min(pools.transmits)).rev().collect()),
            flights: RefCell::default(),
            waiting: RefCell::default(),
            receives: RefCell::new(vec![None; pendings as usize]),
            deferred: RefCell::default(),
            slot: Cell::new(0),
            empty: Cell::new(0),
            used: Cell::new(0),
            seen: RefCell::new(vec![false; pendings as usize]),
        }
    }

    /// Most pendings in use at a time so far. Both pools hand out the pending that was freed last, and one
    /// that was never used only if all others are: as many as were ever used were in use at once.
    pub fn pendings_max(&self) -> PendingsMax {
        let receive = self.seen.borrow().iter().filter(|seen| **seen).count() as u16;
        PendingsMax { transmit: self.used.get(), receive }
    }

    /// Addresses at which the firmware writes events, a word each, and the slot from which the next one is
    /// taken.
    pub fn events(&self) -> (std::ops::Range<u64>, u32) {
        (self.region.events(), self.slot.get())
    }

    fn initialise(&self, kernel: &Kernel, cpu: &Cpu) {
        let deadline = cpu.now() + self.config.boot_timeout;
        while cpu.mmio_read(READY_FLAG) != READY_VALUE {
            if cpu.now() >= deadline {
                cpu.fault(format_args!("the firmware of node {} is not ready", kernel.nid));
            }
        }
        self.set_up(kernel, cpu, self, GENERIC_PID);
    }

    /// Sets up the firmware process of `driver` (pedretti2005 s4.1: this is never offloaded).
    fn set_up(&self, kernel: &Kernel, cpu: &Cpu, driver: &Driver, pid: u16) {
        let (region, process_index) = (&driver.region, driver.process as u8);
        region.map(cpu);
        let init = InitProcessCommand {
            op: command_op::INIT_PROCESS,
            process_index,
            pid,
            num_pendings: driver.pendings(),
            pending_tx_limit: driver.config.tx_pendings,
            upper_pending_lo: region.pendings as u32,
            upper_pending_hi: (region.pendings >> 32) as u32,
            upper_pending_local: region.pendings_local(),
            ..InitProcessCommand::default()
        };
        let mut bytes = [0; InitProcessCommand::SIZE];
        init.emit(&mut bytes);
        self.ask(kernel, cpu, &bytes, 0, "INIT_PROCESS");
        let queue = InitEqcbCommand {
            op: command_op::INIT_EQCB,
            process_index,
            count: driver.config.pools.event_slots,
            base_local: region.events_local(),
        };
        queue.emit(&mut bytes);
        self.ask(kernel, cpu, &bytes, 1, "INIT_EQCB");
        let alive = MarkAliveCommand { op: command_op::MARK_ALIVE, process_index };
        alive.emit(&mut bytes);
        self.ask(kernel, cpu, &bytes, 0, "MARK_ALIVE");
    }

    /// The firmware's pendings and the kernel's own.
    fn pendings(&self) -> u16 {
        let (tx, all) = (self.config.tx_pendings, self.receives.borrow().len() as u16);
        tx + self.config.pools.receives.min(all - tx)
    }

    fn ask(&self, kernel: &Kernel, cpu: &Cpu, command: &[u8], expected: u32, name: &str) {
        cpu.spend(self.config.costs.command_build);
        self.mailbox.command(cpu, command);
        let nid = kernel.nid;
        match self.mailbox.result(cpu, self.config.boot_timeout) {
            Ok(value) if value == expected => {}
            Ok(value) => cpu.fault(format_args!(
                "the firmware of node {nid} answered {name} with {value} instead of {expected}"
            )),
            Err(_) => cpu.fault(format_args!("the firmware of node {nid} did not answer {name}")),
        }
    }
}

impl Nal for Driver {
    fn start(&self, kernel: &Kernel, cpu: &Cpu) {
        self.initialise(kernel, cpu);
    }
    fn transmit(&self, kernel: &Kernel, cpu: &Cpu, message: Transmit) {
        self.send(kernel, cpu, message);
    }
    fn interrupt(&self, kernel: &Kernel, cpu: &Cpu, run: Run) {
        self.drain(kernel, cpu, run);
    }
    fn has_events(&self) -> bool {
        self.region.has_event(self.slot.get())
    }
    fn takes_pieces(&self, pieces: usize) -> bool {
        self.lists.can_hold(pieces)
    }
    fn accelerate(&self, kernel: &Kernel, cpu: &Cpu, user: NewUser) -> Option<Rc<Accelerated>> {
        accelerated::accelerate(self, kernel, cpu, user)
    }
    fn join(&self, kernel: &Rc<Kernel>) {
        self.rings.join(kernel);
    }
    fn has_refused(&self, slot: Slot) -> bool {
        self.relay.as_ref().is_some_and(|relay| relay.has_refused(slot))
    }
    fn make_room(&self, kernel: &Kernel, cpu: &Cpu) {
        if let Some(relay) = &self.relay {
            self.answer(relay, kernel, cpu);
        }
    }
    fn end(&self, kernel: &Kernel, cpu: &Cpu, process: &Accelerated) {
        self.end_process(kernel, cpu, process);
    }
    fn count(&self, counters: &mut Counters) {
        counters.commands += self.mailbox.commands.get();
        counters.index_reads += self.mailbox.index_reads.get();
    }
}
