//! Accelerated processes (pedretti2005 s4.1, brightwell2007): the user-level library of a process whose
//! match lists are on the network interface. It writes commands to a mailbox of its own and reads an event
//! ring of its own; the kernel sets both up and then has no part in it.
//!
//! The library keeps a copy of the process's objects (`Interface`), which gives handles and makes events.
//! Only the firmware knows which entry takes a message: it says so in the line of the event. The copy
//! follows the ring: before each look at it the ring is emptied, in the same instant.

use super::{Config, Driver};
use crate::kernel::wire;
use crate::kernel::{Kernel, ObjectCall, Returned, Slot, Taker, TracePoint};
use crate::library::{
    option, Accepted, AccessEntry, Criteria, EntryPair, EqHandle, Error, Limits, Md, MdHandle,
    MeHandle, NiFail, Position, ProcessId, Unlink, NID_ANY, PID_ANY, PT_INDEX_ANY, THRESH_INF,
    UID_ANY,
};
use crate::nal::{Ending, NewUser, Transmit};
use abi::seastar::{
    command_op, entry_flag, entry_result, event_type, header_flag, portals_op, CreditCommand,
    EntryCommand, EventLine, MarkAliveCommand, PortalsHeader, ACCELERATED_DESCRIPTORS,
    ACCELERATED_ENTRIES, ACCELERATED_MAX, ACCELERATED_PENDINGS, ENTRY_NONE, EQ_NONE, EVENT_WHOLE,
    SERIAL_SPACE_SHIFT,
};
use abi::MessageId;
use host::{Cpu, Extent};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

mod collective;
mod commands;
mod events;
mod rings;
mod told;

pub(super) use collective::RESULTS;
pub(crate) use commands::NewEntry;
pub use rings::Rings;

/// The first firmware process that is no kernel's.
pub(super) const FIRST: u32 = 2;
/// Entries for the answers to gets, behind those of match lists.
const GET_ENTRIES: u32 = 64;
/// Match entries that a process can have.
pub(crate) const MATCH_ENTRIES: u32 = ACCELERATED_ENTRIES - GET_ENTRIES;
/// Words of an entry_command that have a meaning.
const ENTRY_BYTES: usize = 56;
const CREDIT_BYTES: usize = 4;
/// Events of messages of whose reading the firmware is told at once, if there are pendings for as many
/// messages: it lets two for each pending be unread.
const CREDIT_MANY: u16 = 128;
/// Slots of the event ring: the fewest that the firmware takes.
const EVENT_SLOTS: u32 = 1024;

/// A message whose payload the firmware is depositing, or whose answer is on its way.
#[derive(Debug)]
struct Receive {
    header: PortalsHeader,
    /// None if it was dropped.
    taker: Option<Taker>,
    /// It is an atomic operation whose operand is damaged.
    damaged: bool,
}

/// A post that the firmware may have refused.
#[derive(Clone, Copy, Debug)]
struct Post {
    command: u32,
    me: MeHandle,
    test: EqHandle,
}

/// Entry for the answers to gets of one descriptor.
#[derive(Clone, Copy, Debug)]
struct Getter {
    md: MdHandle,
    /// Answers that have not come. The entry is another descriptor's when there are none, and one is needed.
    due: u32,
    /// The descriptor as the firmware knows it; `None` if that does not stay so.
    described: Option<Md>,
}

/// A call that is reported to the judge once the firmware has taken its command.
struct Call {
    command: u32,
    call: ObjectCall,
    result: Result<Returned, Error>,
}

/// The user-level library of an accelerated process.
pub struct Accelerated {
    slot: Slot,
    driver: Driver,
    serial: Cell<u32>,
    receives: RefCell<Vec<Option<Box<Receive>>>>,
    getters: RefCell<Vec<Option<Getter>>>,
    /// Messages that each event queue has had, as the firmware counts them, and acknowledgements.
    seen: RefCell<[u16; 64]>,
    acks: Cell<u16>,
    posts: RefCell<VecDeque<Post>>,
    refused: RefCell<VecDeque<MeHandle>>,
    result: Cell<Option<u16>>,
    /// The firmware has ended it because of this command.
    ended: Cell<Option<u8>>,
    /// Calls that have not been reported to the judge.
    calls: RefCell<VecDeque<Call>>,
    /// The call whose result the firmware gives.
    asking: RefCell<Option<ObjectCall>>,
    told: told::State,
    /// Groups whose operation is over, and nobody has been told.
    collected: RefCell<VecDeque<u16>>,
    /// Events of messages that have been read and not been told of.
    read: Cell<u16>,
}

/// Gives a process Portals on the network interface of `driver`'s node, if there is room.
pub(super) fn accelerate(
    driver: &Driver,
    kernel: &Kernel,
    cpu: &Cpu,
    user: NewUser,
) -> Option<Rc<Accelerated>> {
    let most = driver.config.accelerated.min(ACCELERATED_MAX);
    let taken = (0..most).find(|span| driver.rings.at(FIRST + span).is_none())?;
    // The firmware moves payloads in one piece (pedretti2005 s4.1: memory must be contiguous).
    if !cpu.memory().borrow().is_contiguous(user.space) {
        return None;
    }
    let config = Config {
        tx_pendings: driver.config.accelerated_tx_pendings,
        list_commands: 0,
        pools: super::Pools { event_slots: EVENT_SLOTS, ..driver.config.pools },
        ..driver.config
    };
    let process = FIRST + taken;
    let window = super::region::WINDOW + 1 + taken;
    let own = Driver::of(cpu.memory(), &config, process, ACCELERATED_PENDINGS, window);
    let (command, serial) = driver.rings.begins(process);
    own.mailbox.begin_at(command);
    driver.set_up(kernel, cpu, &own, user.pid);
    let made = Rc::new(Accelerated {
        slot: user.slot,
        driver: own,
        serial: Cell::new(serial),
        receives: RefCell::new((0..ACCELERATED_PENDINGS).map(|_| None).collect()),
        getters: RefCell::new(vec![None; GET_ENTRIES as usize]),
        seen: RefCell::new([0; 64]),
        acks: Cell::new(0),
        posts: RefCell::default(),
        refused: RefCell::default(),
        result: Cell::new(None),
        ended: Cell::new(None),
        calls: RefCell::default(),
        asking: RefCell::default(),
        told: told::State::default(),
        collected: RefCell::default(),
        read: Cell::new(0),
    });
    driver.rings.add(made.clone());
    Some(made)
}

impl Driver {
    /// The firmware has ended a process for a bad command.
    pub(super) fn process_ended(&self, kernel: &Kernel, index: u16) {
        let (process, op) = (u32::from(index & 0xff), (index >> 8) as u8);
        if let Some(ended) = self.rings.at(process) {
            ended.ended.set(Some(op));
            kernel.wake(ended.slot);
        }
    }

    /// An accelerated process has left.
    pub(super) fn end_process(&self, kernel: &Kernel, cpu: &Cpu, process: &Accelerated) {
        let command = MarkAliveCommand {
            op: command_op::END_PROCESS,
            process_index: process.driver.process as u8,
        };
        let mut bytes = [0; MarkAliveCommand::SIZE];
        command.emit(&mut bytes);
        self.ask(kernel, cpu, &bytes, 0, "END_PROCESS");
        self.rings.remove(process.driver.process);
    }
}

impl Accelerated {
    /// Limits of such a process's interface, where the kernel's are `all`.
    pub(crate) fn limits(&self, all: Limits) -> Limits {
        let entries = MATCH_ENTRIES.min(self.driver.config.pools.match_entries);
        Limits {
            max_mes: entries,
            max_mds: ACCELERATED_DESCRIPTORS,
            // Its memory must be contiguous.
            max_md_iovecs: 1,
            max_me_list: entries,
            ..all
        }
    }

    /// The id of the next message: its serials are its own.
    pub(crate) fn next_message(&self, nid: u16) -> MessageId {
        let serial = self.serial.get().wrapping_add(1) & ((1 << SERIAL_SPACE_SHIFT) - 1);
        self.serial.set(serial);
        MessageId {
            source_nid: nid.into(),
            serial: self.driver.process << SERIAL_SPACE_SHIFT | serial,
        }
    }

    /// True if a message that is begun now goes to the firmware at once.
    pub(crate) fn may_transmit(&self) -> bool {
        self.driver.may_transmit()
    }

    pub(crate) fn transmit(&self, kernel: &Kernel, cpu: &Cpu, message: Transmit) {
        self.driver.send(kernel, cpu, message);
    }
}
