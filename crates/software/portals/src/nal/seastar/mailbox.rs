//! A firmware process's mailbox in the network interface's SRAM: command ring and result ring. Reading an
//! index is a round trip over HyperTransport, so copies are kept (pedretti2005 s5.3).

use abi::seastar::{
    mailbox, COMMAND_COUNT, COMMAND_SIZE, MAILBOX_BASE, MAILBOX_SIZE, RESULT_COUNT, SLOT_COUNT,
    SLOT_SIZE,
};
use des::{Duration, Time};
use host::Cpu;
use std::cell::Cell;

/// The firmware has not answered in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoResult;

/// The ring of a mailbox.
#[derive(Clone, Copy)]
pub(crate) struct Slots {
    count: u32,
    size: u32,
}

impl Slots {
    /// Those of a kernel's mailbox: a command each.
    pub(crate) const COMMANDS: Slots = Slots { count: COMMAND_COUNT, size: COMMAND_SIZE };
    /// Those of an accelerated process's: a command each, or a transmit_slot.
    pub(crate) const MESSAGES: Slots = Slots { count: SLOT_COUNT, size: SLOT_SIZE };
}

/// The host's end of the mailbox.
pub(crate) struct Mailbox {
    base: u32,
    slots: Slots,
    shadow: bool,
    tail: Cell<u32>,
    head: Cell<u32>,
    result_read: Cell<u32>,
    pub(crate) commands: Cell<u64>,
    pub(crate) index_reads: Cell<u64>,
}

impl Mailbox {
    pub(crate) fn new(process: u32, slots: Slots, shadow: bool) -> Mailbox {
        Mailbox {
            base: MAILBOX_BASE + process * MAILBOX_SIZE,
            slots,
            shadow,
            tail: Cell::new(0),
            head: Cell::new(0),
            result_read: Cell::new(0),
            commands: Cell::new(0),
            index_reads: Cell::new(0),
        }
    }

    /// The place of the next command.
    pub(crate) fn next(&self) -> u32 {
        self.tail.get()
    }

    /// Begins where the process before has ended: the firmware goes on there.
    pub(crate) fn begin_at(&self, index: u32) {
        self.tail.set(index);
        self.head.set(index);
    }

    fn addr(&self, offset: usize) -> u32 {
        self.base + offset as u32
    }

    fn read_index(&self, cpu: &Cpu, offset: usize) -> u32 {
        self.index_reads.set(self.index_reads.get() + 1);
        cpu.mmio_read(self.addr(offset))
    }

    /// Writes a command (as much of it as has a meaning) and then the tail. Spins while the ring is full.
    pub(crate) fn command(&self, cpu: &Cpu, words: &[u8]) {
        let Slots { count, size } = self.slots;
        debug_assert!(words.len() <= size as usize);
        if !self.shadow {
            self.tail.set(self.read_index(cpu, mailbox::COMMAND_WRITE));
            self.head.set(self.read_index(cpu, mailbox::COMMAND_READ));
        }
        let tail = self.tail.get();
        let next = (tail + 1) % count;
        while next == self.head.get() {
            self.head.set(self.read_index(cpu, mailbox::COMMAND_READ));
        }
        cpu.mmio_write(self.addr(mailbox::COMMANDS) + tail * size, words);
        cpu.mmio_write(self.addr(mailbox::COMMAND_WRITE), &next.to_le_bytes());
        self.tail.set(next);
        self.commands.set(self.commands.get() + 1);
    }

    /// Waits for the result of a command that has one.
    pub(crate) fn result(&self, cpu: &Cpu, timeout: Duration) -> Result<u32, NoResult> {
        let deadline: Time = cpu.now() + timeout;
        let read = self.result_read.get();
        while self.read_index(cpu, mailbox::RESULT_WRITE) == read {
            if cpu.now() >= deadline {
                return Err(NoResult);
            }
        }
        let value = cpu.mmio_read(self.addr(mailbox::RESULTS) + read * 4);
        let next = (read + 1) % RESULT_COUNT;
        cpu.mmio_write(self.addr(mailbox::RESULT_READ), &next.to_le_bytes());
        self.result_read.set(next);
        Ok(value)
    }
}
