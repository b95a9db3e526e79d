//! Sending: a header in an upper pending, the payload where it lies, a TX command (pedretti2005 s4.3.1).

use super::dma_list::{self, DmaList};
use super::overflow::Sending;
use super::Driver;
use crate::kernel::wire::payload_length;
use crate::kernel::{Data, Kernel, Told, TracePoint, DATA_MAX};
use crate::library::NiFail;
use crate::nal::{Ending, Source, Transmit};
use abi::seastar::{
    command_op, header_flag, transmit_slot, PortalsHeader, TransmitSlot, TxCommand,
    GENERIC_PROCESS, INLINE_MAX,
};
use abi::MessageId;
use host::{Cpu, Extent};
use std::rc::Rc;

/// Words of a TX command that have a meaning.
const TX_BYTES: usize = 24;
/// The same where the kernel numbers messages.
const LONG_TX_BYTES: usize = 28;

/// Bytes of a transmit_slot that have a meaning.
const SLOT_BYTES: usize = transmit_slot::HEADER + PortalsHeader::SIZE;

/// A message in the hands of the firmware.
#[derive(Clone, Debug)]
pub(crate) struct Flight {
    id: MessageId,
    list: Option<DmaList>,
    ending: Option<Ending>,
    /// There was no payload, and the sender is told when the header has left.
    failed: bool,
    /// The message, if the kernel may have to repeat it.
    kept: Option<Rc<Sending>>,
}

/// A message that the kernel may have to repeat, and its number.
pub(super) struct Numbered {
    /// With NUMBER_TELL.
    pub(super) number: u16,
    pub(super) sending: Rc<Sending>,
}

impl Driver {
    /// Sends a message now, or queues it behind those that wait.
    pub(super) fn send(&self, kernel: &Kernel, cpu: &Cpu, message: Transmit) {
        if let Some(relay) = &self.relay {
            return self.keep(relay, kernel, cpu, message);
        }
        if self.waiting.borrow().is_empty() && self.try_transmit(kernel, cpu, &message, None) {
            return;
        }
        kernel.count(|counters| counters.transmits_queued += 1);
        kernel.mark(cpu, MessageId::from(&message.header), TracePoint::Queued);
        self.waiting.borrow_mut().push_back(message);
    }

    /// True if the next message goes to the firmware at once.
    pub(super) fn may_transmit(&self) -> bool {
        self.waiting.borrow().is_empty() && !self.free.borrow().is_empty()
    }

    /// Sends what waits, as far as there are pendings and DMA lists.
    fn transmit_waiting(&self, kernel: &Kernel, cpu: &Cpu) {
        if let Some(relay) = &self.relay {
            return self.send_ready(relay, kernel, cpu);
        }
        loop {
            let Some(message) = self.waiting.borrow_mut().pop_front() else { return };
            if !self.try_transmit(kernel, cpu, &message, None) {
                return self.waiting.borrow_mut().push_front(message);
            }
        }
    }

    /// False if there is no pending or no DMA list for it.
    pub(super) fn try_transmit(
        &self,
        kernel: &Kernel,
        cpu: &Cpu,
        message: &Transmit,
        numbered: Option<&Numbered>,
    ) -> bool {
        let Some(pending) = self.free.borrow_mut().pop() else { return false };
        self.used.set(self.used.get().max(pending + 1));
        let id = MessageId::from(&message.header);
        let payload = self.payload(kernel, cpu, message, pending);
        // The header goes without it, or the target would wait for ever.
        let failed = payload.is_none();
        let payload = payload.unwrap_or(Payload::Inline([0; INLINE_MAX as usize]));
        let list = match &payload {
            Payload::Extents(extents) if extents.len() > 1 => {
                let Some(list) = self.lists.alloc(extents.len()) else {
                    self.free.borrow_mut().push(pending);
                    payload.keep(kernel);
                    return false;
                };
                dma_list::write(cpu, &self.region, list, extents);
                Some(list)
            }
            _ => None,
        };
        let (slot, inline) = (message.ending.map(|e| e.slot.0), payload.is_inline());
        let again = numbered.is_some_and(|numbered| numbered.sending.is_repeat());
        if !again {
            kernel.tell(cpu, || Told::Commanded { slot, message: id, inline, failed });
        }
        let mut header = message.header;
        if let Payload::Inline(data) = &payload {
            header.flags |= header_flag::INLINE;
            header.inline_data = *data;
        }
        if failed {
            header.flags |= header_flag::FAILED;
        }
        cpu.spend(self.config.costs.header_build);
        self.region.write_header(pending, &header);
        // The firmware ends operations of a process on the network interface.
        let now = failed && self.process == GENERIC_PROCESS;
        let ending = message.ending.filter(|_| !now && numbered.is_none());
        let kept = numbered.map(|numbered| numbered.sending.clone());
        if let Some(kept) = &kept {
            kept.flies(payload.inline_data(), failed);
        }
        self.fly(pending, Flight { id, list, ending, failed, kept });
        let number = numbered.map_or(0, |numbered| numbered.number);
        if self.process == GENERIC_PROCESS {
            self.write_tx(cpu, pending, &header, number, &payload, list);
        } else {
            self.write_slot(cpu, pending, &header, &payload);
        }
        payload.keep(kernel);
        if again {
            return true;
        }
        kernel.count(|counters| counters.transmits += 1);
        kernel.mark(cpu, id, TracePoint::CommandWritten);
        match numbered {
            Some(numbered) if now => self.ends_failed(kernel, cpu, &numbered.sending),
            None if now => kernel.end(cpu, message.ending, id, NiFail::Fail),
            _ => {}
        }
        true
    }

    fn fly(&self, pending: u16, flight: Flight) {
        let (mut flights, slot) = (self.flights.borrow_mut(), usize::from(pending));
        if flights.len() <= slot {
            flights.resize(slot + 1, None);
        }
        flights[slot] = Some(flight);
    }

    /// Form in which the payload travels; `None` if the process does not have it, or it is in too many
    /// pieces.
    fn payload(
        &self,
        kernel: &Kernel,
        cpu: &Cpu,
        message: &Transmit,
        pending: u16,
    ) -> Option<Payload> {
        let bytes = payload_length(&message.header);
        let inline = message.header.flags & header_flag::INLINE != 0
            || (self.config.inline_messages && bytes <= INLINE_MAX);
        let slot = message.ending.map(|ending| ending.slot);
        let mut data = [0; INLINE_MAX as usize];
        match (&message.source, slot) {
            (Source::Span(span), Some(slot)) if bytes > 0 => {
                if !inline {
                    return kernel.extents(cpu, slot, span).map(Payload::Extents);
                }
                if kernel.fetch(cpu, slot, span, &mut data) != NiFail::Ok {
                    return None;
                }
            }
            (Source::Data(answer), _) if bytes > 0 => {
                cpu.spend(cpu.copy_cost(u64::from(bytes)));
                if !inline {
                    self.region.write_data(pending, &answer[..bytes as usize]);
                    let extent = Extent { phys: self.region.data(pending), len: bytes.into() };
                    let mut extents = kernel.no_extents();
                    extents.push(extent);
                    return Some(Payload::Extents(extents));
                }
                data[..bytes as usize].copy_from_slice(&answer[..bytes as usize]);
            }
            (Source::Lost, _) => return None,
            _ if !inline => return Some(Payload::Extents(kernel.no_extents())),
            _ => {}
        }
        Some(Payload::Inline(data))
    }

    fn write_tx(
        &self,
        cpu: &Cpu,
        pending: u16,
        header: &PortalsHeader,
        number: u16,
        payload: &Payload,
        list: Option<DmaList>,
    ) {
        let mut command = TxCommand {
            op: command_op::TX,
            process_index: self.process as u8,
            pending,
            peer: header.target_nid,
            ..TxCommand::default()
        };
        if let Payload::Extents(extents) = payload {
            command.length = extents.iter().map(|extent| extent.len as u32).sum();
            if let Some(first) = extents.first() {
                command.addr_lo = first.phys as u32;
                command.addr_hi = (first.phys >> 32) as u32;
            }
        }
        if let Some(list) = list {
            command.dma_count = list.count();
            command.dma_list = list.addr;
        }
        command.number = number;
        let words = if self.relay.is_none() { TX_BYTES } else { LONG_TX_BYTES };
        let mut bytes = [0; TxCommand::SIZE];
        command.emit(&mut bytes);
        cpu.spend(self.config.costs.command_build);
        self.mailbox.command(cpu, &bytes[..words]);
    }

    /// The same of an accelerated process: the header goes along, and its memory is in one piece.
    fn write_slot(&self, cpu: &Cpu, pending: u16, header: &PortalsHeader, payload: &Payload) {
        let mut slot = TransmitSlot {
            op: command_op::TX,
            process_index: self.process as u8,
            pending,
            entry: self.counted.take(),
            ..TransmitSlot::default()
        };
        if let Payload::Extents(extents) = payload
            && let Some(first) = extents.first()
        {
            slot.length = first.len as u32;
            (slot.addr_lo, slot.addr_hi) = (first.phys as u32, (first.phys >> 32) as u16);
        }
        header.emit(&mut slot.header);
        let mut bytes = [0; TransmitSlot::SIZE];
        slot.emit(&mut bytes);
        cpu.spend(self.config.costs.command_build);
        self.mailbox.command(cpu, &bytes[..SLOT_BYTES]);
    }

    /// The firmware says that the message in `pending` has left, or could not.
    pub(crate) fn transmitted(&self, kernel: &Kernel, cpu: &Cpu, pending: u16, fail: NiFail) {
        let flight = self.flights.borrow_mut().get_mut(usize::from(pending)).and_then(Option::take);
        let Some(flight) = flight else {
            cpu.fault(format_args!(
                "the firmware of node {} ended transmit {pending}, which is not under way",
                kernel.nid
            ));
        };
        kernel.mark(cpu, flight.id, TracePoint::SentDrained);
        let fail = if flight.failed { NiFail::Fail } else { fail };
        self.free.borrow_mut().push(pending);
        match &flight.kept {
            Some(sending) => self.left(kernel, cpu, sending, fail),
            None => kernel.end(cpu, flight.ending, flight.id, fail),
        }
        if let Some(list) = flight.list {
            self.free_list(kernel, cpu, list);
        }
        self.transmit_waiting(kernel, cpu);
    }

    /// Gives a DMA list back to those that wait for one; receives go first.
    pub(crate) fn free_list(&self, kernel: &Kernel, cpu: &Cpu, list: DmaList) {
        self.lists.free(list);
        self.receive_deferred(kernel, cpu);
        self.transmit_waiting(kernel, cpu);
    }
}

enum Payload {
    Inline([u8; INLINE_MAX as usize]),
    Extents(Vec<Extent>),
}

impl Payload {
    fn is_inline(&self) -> bool {
        matches!(self, Payload::Inline(_))
    }

    /// Bytes that go in the header, as the answer of an atomic operation is given.
    fn inline_data(&self) -> Option<Data> {
        let Payload::Inline(bytes) = self else { return None };
        let mut data = [0; DATA_MAX];
        data[..bytes.len()].copy_from_slice(bytes);
        Some(data)
    }

    fn keep(self, kernel: &Kernel) {
        if let Payload::Extents(extents) = self {
            kernel.keep_extents(extents);
        }
    }
}
