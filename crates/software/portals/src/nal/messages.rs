//! A driver for network interfaces that take and give whole messages: they read outgoing payloads from the
//! host's memory, and write what comes where the driver says, by DMA. Driver and interface meet in a
//! [`Channel`]. [`Port`] is one whose entries pass as values: a store to [`DOORBELL`] tells the interface
//! that there is something new, an interrupt the driver. An interface with rings of its own brings another.

use super::{Ending, Nal, Run, Source, Transmit};
use crate::kernel::wire::{self, payload_length};
use crate::kernel::{Counters, Data, Kernel, Taker, Told, TracePoint, DATA_MAX};
use crate::library::NiFail;
use abi::seastar::{header_flag, portals_op, PortalsHeader};
use abi::MessageId;
use des::Duration;
use host::{Cpu, Extent};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// Address of the interface that the driver stores to when it has put something into the port.
pub const DOORBELL: u32 = 0;

/// The way between driver and interface, as the driver uses it: in the kernel, with its lock held, but for
/// `has_events`.
pub trait Channel {
    /// Starts the interface.
    fn start(&self, _cpu: &Cpu) {}
    /// Gives the interface a message to send, or keeps it until there is room.
    fn send(&self, cpu: &Cpu, message: Outgoing);
    /// Gives it the place of a payload that has come, likewise.
    fn deposit(&self, cpu: &Cpu, deposit: Deposit);
    /// A message that has come needs no deposit: the interface may forget it.
    fn release(&self, _cpu: &Cpu, _header: &PortalsHeader) {}
    /// Takes what the interface tells next.
    fn next(&self, cpu: &Cpu) -> Option<Notice>;
    /// True if it has told something that has not been taken.
    fn has_events(&self) -> bool;
}

/// Port between the driver and the interface of a node.
#[derive(Debug, Default)]
pub struct Port {
    sends: RefCell<VecDeque<Outgoing>>,
    deposits: RefCell<VecDeque<Deposit>>,
    notices: RefCell<VecDeque<Notice>>,
}

/// A message to send.
#[derive(Debug)]
pub struct Outgoing {
    header: PortalsHeader,
    payload: Payload,
    ending: Option<Ending>,
}

#[derive(Debug)]
enum Payload {
    Memory(Vec<Extent>),
    Bytes(Vec<u8>),
}

/// A message that has come.
#[derive(Debug)]
pub struct Incoming {
    /// Its header.
    pub header: PortalsHeader,
    /// Its payload; at least the operand of an atomic operation, where the interface keeps the rest.
    pub data: Vec<u8>,
}

/// A payload to write to the host's memory.
#[derive(Debug)]
pub struct Deposit {
    message: Incoming,
    extents: Vec<Extent>,
    taker: Taker,
    fail: NiFail,
}

/// Notice of the interface to the driver.
#[derive(Debug)]
pub enum Notice {
    /// The last byte of a message has left.
    Sent(Outgoing),
    /// All of a message has come.
    Arrived(Incoming),
    /// Its payload is in its place.
    Deposited(Deposit),
}

impl Outgoing {
    /// Its header.
    pub fn header(&self) -> &PortalsHeader {
        &self.header
    }
    /// Length of its payload in bytes.
    pub fn bytes(&self) -> u64 {
        match &self.payload {
            Payload::Memory(extents) => extents.iter().map(|extent| extent.len).sum(),
            Payload::Bytes(bytes) => bytes.len() as u64,
        }
    }
    /// Its payload in the host's memory, or the bytes that the kernel gives with the command.
    pub fn source(&self) -> Result<&[Extent], &[u8]> {
        match &self.payload {
            Payload::Memory(extents) => Ok(extents),
            Payload::Bytes(bytes) => Err(bytes),
        }
    }
    /// Its payload, read from the host's memory with `read` (address, buffer).
    pub fn payload<E>(
        &self,
        mut read: impl FnMut(u64, &mut [u8]) -> Result<(), E>,
    ) -> Result<Vec<u8>, E> {
        let extents = match &self.payload {
            Payload::Bytes(bytes) => return Ok(bytes.clone()),
            Payload::Memory(extents) => extents,
        };
        let mut data = vec![0; self.bytes() as usize];
        let mut rest = &mut data[..];
        for extent in extents {
            let (piece, behind) = rest.split_at_mut(extent.len as usize);
            read(extent.phys, piece)?;
            rest = behind;
        }
        Ok(data)
    }
}

impl Deposit {
    /// Writes it to the host's memory with `write` (address, bytes).
    pub fn write<E>(&self, mut write: impl FnMut(u64, &[u8]) -> Result<(), E>) -> Result<(), E> {
        let mut rest = &self.message.data[..];
        for extent in &self.extents {
            let (piece, behind) = rest.split_at(rest.len().min(extent.len as usize));
            write(extent.phys, piece)?;
            rest = behind;
        }
        Ok(())
    }
    /// Header of its message.
    pub fn header(&self) -> &PortalsHeader {
        &self.message.header
    }
    /// Its place in the host's memory, in the order of its bytes.
    pub fn extents(&self) -> &[Extent] {
        &self.extents
    }
    /// Length of the payload, in bytes.
    pub fn bytes(&self) -> u64 {
        self.extents.iter().map(|extent| extent.len).sum()
    }
    /// It could not be written: the operation ends as failed.
    pub fn lost(&mut self) {
        self.fail = NiFail::Fail;
    }
}

impl Port {
    /// The next message to be sent.
    pub fn next_send(&self) -> Option<Outgoing> {
        self.sends.borrow_mut().pop_front()
    }
    /// Its last byte has left; to be followed by an interrupt.
    pub fn sent(&self, message: Outgoing) {
        self.notices.borrow_mut().push_back(Notice::Sent(message));
    }
    /// All of a message has come; to be followed by an interrupt.
    pub fn arrived(&self, message: Incoming) {
        self.notices.borrow_mut().push_back(Notice::Arrived(message));
    }
    /// The next payload to be written.
    pub fn next_deposit(&self) -> Option<Deposit> {
        self.deposits.borrow_mut().pop_front()
    }
    /// It has been; to be followed by an interrupt.
    pub fn deposited(&self, deposit: Deposit) {
        self.notices.borrow_mut().push_back(Notice::Deposited(deposit));
    }
}

impl Channel for Port {
    fn send(&self, cpu: &Cpu, message: Outgoing) {
        self.sends.borrow_mut().push_back(message);
        cpu.mmio_write(DOORBELL, &[0; 4]);
    }
    fn deposit(&self, cpu: &Cpu, deposit: Deposit) {
        self.deposits.borrow_mut().push_back(deposit);
        cpu.mmio_write(DOORBELL, &[0; 4]);
    }
    fn next(&self, _cpu: &Cpu) -> Option<Notice> {
        self.notices.borrow_mut().pop_front()
    }
    fn has_events(&self) -> bool {
        !self.notices.borrow().is_empty()
    }
}

/// The driver of one node's interface.
pub struct Driver {
    channel: Rc<dyn Channel>,
    /// Time of the processor for each message that leaves or comes.
    overhead: Duration,
}

impl Driver {
    /// Driver of the interface at the other end of `channel`. Each message takes `overhead` of the
    /// processor's time when it leaves, and again when it arrives.
    pub fn new(channel: Rc<dyn Channel>, overhead: Duration) -> Driver {
        Driver { channel, overhead }
    }

    /// Payload of a message; `None` if the process does not have it.
    fn payload(&self, kernel: &Kernel, cpu: &Cpu, message: &Transmit) -> Option<Payload> {
        let bytes = match message.header.op {
            portals_op::GET => 0, // the length is that of the answer
            _ => payload_length(&message.header),
        };
        match (&message.source, message.ending) {
            (Source::Lost, _) => None,
            (Source::Span(span), Some(Ending { slot, .. })) if bytes > 0 => {
                kernel.extents(cpu, slot, span).map(Payload::Memory)
            }
            (Source::Data(data), _) => Some(Payload::Bytes(data[..bytes as usize].to_vec())),
            _ => Some(Payload::Memory(Vec::new())),
        }
    }

    /// A message has arrived: its receiver says where its payload goes.
    fn take(&self, kernel: &Kernel, cpu: &Cpu, message: Incoming) {
        cpu.spend(self.overhead);
        kernel.count(|counters| counters.receives += 1);
        let header = message.header;
        match self.place(kernel, cpu, message) {
            Some(deposit) => self.channel.deposit(cpu, deposit),
            None => self.channel.release(cpu, &header),
        }
    }

    /// The place of its payload, or its end if it needs none.
    fn place(&self, kernel: &Kernel, cpu: &Cpu, message: Incoming) -> Option<Deposit> {
        let header = message.header;
        let taker = kernel.take(cpu, &header)?;
        if header.flags & header_flag::FAILED != 0 {
            kernel.finish(cpu, &header, Some(taker), NiFail::Fail, |_| [0; DATA_MAX]);
            return None;
        }
        if wire::atomic(&header).is_some() {
            let operand = |_: &_| operand(&message.data);
            kernel.finish(cpu, &header, Some(taker), NiFail::Ok, operand);
            return None;
        }
        let Some(extents) = kernel.extents(cpu, taker.slot, &taker.grant.span) else {
            kernel.finish(cpu, &header, Some(taker), NiFail::Fail, |_| [0; DATA_MAX]);
            return None;
        };
        Some(Deposit { message, extents, taker, fail: NiFail::Ok })
    }
}

/// The operand of an atomic operation.
fn operand(bytes: &[u8]) -> Data {
    let mut data = [0; DATA_MAX];
    data[..bytes.len()].copy_from_slice(bytes);
    data
}

impl Nal for Driver {
    fn start(&self, _kernel: &Kernel, cpu: &Cpu) {
        self.channel.start(cpu);
    }

    fn transmit(&self, kernel: &Kernel, cpu: &Cpu, message: Transmit) {
        cpu.spend(self.overhead);
        let id = MessageId::from(&message.header);
        let payload = self.payload(kernel, cpu, &message);
        // The header goes without it, or the target would wait for ever.
        let failed = payload.is_none();
        let slot = message.ending.map(|ending| ending.slot.0);
        kernel.tell(cpu, || Told::Commanded { slot, message: id, inline: false, failed });
        let mut header = message.header;
        if failed {
            header.flags |= header_flag::FAILED;
        }
        let payload = payload.unwrap_or(Payload::Memory(Vec::new()));
        let ending = message.ending.filter(|_| !failed);
        self.channel.send(cpu, Outgoing { header, payload, ending });
        kernel.count(|counters| counters.transmits += 1);
        kernel.mark(cpu, id, TracePoint::CommandWritten);
        if failed {
            kernel.end(cpu, message.ending, id, NiFail::Fail);
        }
    }

    fn interrupt(&self, kernel: &Kernel, cpu: &Cpu, _run: Run) {
        let mut events = 0;
        while let Some(notice) = self.channel.next(cpu) {
            events += 1;
            match notice {
                Notice::Sent(Outgoing { header, ending, .. }) => {
                    let id = MessageId::from(&header);
                    kernel.mark(cpu, id, TracePoint::SentDrained);
                    kernel.end(cpu, ending, id, NiFail::Ok);
                }
                Notice::Arrived(message) => self.take(kernel, cpu, message),
                Notice::Deposited(Deposit { message, extents, taker, fail }) => {
                    kernel.keep_extents(extents);
                    let none = |_: &_| [0; DATA_MAX];
                    kernel.finish(cpu, &message.header, Some(taker), fail, none);
                }
            }
        }
        kernel.count(|counters| {
            counters.interrupts += 1;
            counters.events += events;
            counters.empty_interrupts += u64::from(events == 0);
        });
    }

    fn has_events(&self) -> bool {
        self.channel.has_events()
    }

    fn takes_pieces(&self, _pieces: usize) -> bool {
        true
    }

    fn count(&self, _counters: &mut Counters) {}
}
