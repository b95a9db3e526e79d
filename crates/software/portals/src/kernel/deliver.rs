//! Messages that have arrived: who takes each, what answers it, how it ends. Drivers call it.

use super::atomic::Data;
use super::observe::TracePoint;
use super::tap::{Fate, Told};
use super::{wire, Kernel, Slot};
use crate::library::{Delivery, EventKind, Grant, NiFail, Work};
use crate::mutant::{is_mutant, Mutant};
use crate::nal::{Ending, Source, Transmit};
use abi::seastar::{portals_op, PortalsHeader};
use abi::MessageId;
use host::Cpu;

/// The process that takes a message, and where its bytes go.
#[derive(Clone, Debug)]
pub(crate) struct Taker {
    pub(crate) slot: Slot,
    pub(crate) grant: Grant,
}

impl Kernel {
    /// Finds the receiver of a message. A get is answered and an acknowledgement handed on at once: nobody
    /// waits for a payload then.
    pub(crate) fn take(&self, cpu: &Cpu, header: &PortalsHeader) -> Option<Taker> {
        let id = MessageId::from(header);
        let Some(slot) = self.find(u32::from(header.target_pid)) else {
            self.count(|counters| counters.undeliverable += 1);
            self.mark(cpu, id, TracePoint::Dropped);
            self.tell(cpu, || Told::Taken { header, fate: Fate::Nobody });
            return None;
        };
        if header.op == portals_op::ACK {
            self.acknowledged(cpu, slot, header);
            return None;
        }
        let delivery = self.deliver(cpu, slot, header)?;
        let Some(grant) = delivery.grant else {
            self.mark(cpu, id, TracePoint::Dropped);
            return None;
        };
        if header.op == portals_op::GET {
            self.answer(cpu, slot, header, grant);
            return None;
        }
        Some(Taker { slot, grant })
    }

    /// Hands a put, get or reply to the library; `None` for any other.
    fn deliver(&self, cpu: &Cpu, slot: Slot, header: &PortalsHeader) -> Option<Delivery> {
        let id = MessageId::from(header);
        let delivery = self.with(slot, |interface| match header.op {
            portals_op::REPLY => Some(interface.reply(&wire::response(header))),
            _ => match wire::request(header) {
                Some(request) => Some(interface.deliver(&request)),
                None => {
                    interface.dropped(u64::from(header.length));
                    None
                }
            },
        });
        let Some(delivery) = delivery.flatten() else {
            self.mark(cpu, id, TracePoint::Dropped);
            let fate = Fate::Handed { slot: slot.0, grant: None, work: Work::default() };
            self.tell(cpu, || Told::Taken { header, fate });
            return None;
        };
        self.tell(cpu, || Told::Taken { header, fate: Fate::of(slot, &delivery) });
        self.charge_search(cpu, delivery.work);
        self.mark(cpu, id, TracePoint::Matched(delivery.work.entries));
        self.charge_events(cpu, slot, delivery.work, id);
        Some(delivery)
    }

    pub(crate) fn acknowledged(&self, cpu: &Cpu, slot: Slot, header: &PortalsHeader) {
        let work = self.with(slot, |interface| interface.ack(&wire::response(header)));
        let work = work.unwrap_or_default();
        let fate = Fate::Handed { slot: slot.0, grant: None, work };
        if self.on_nic(slot).is_none() {
            self.tell(cpu, || Told::Taken { header, fate });
        }
        self.charge_events(cpu, slot, work, MessageId::from(header));
    }

    /// Sends the reply to a get; the get ends when it has left.
    fn answer(&self, cpu: &Cpu, slot: Slot, header: &PortalsHeader, grant: Grant) {
        let reply = wire::reply(header, &grant, self.next_message());
        self.observer.answers(MessageId::from(&reply), MessageId::from(header));
        self.tell_answer(cpu, slot, header, &reply, NiFail::Ok);
        let ending = Some(Ending { slot, operation: grant.operation });
        self.transmit(cpu, Transmit { header: reply, source: Source::Span(grant.span), ending });
    }

    /// All bytes of a put, reply or atomic operation are there; `operand` reads those of the last. A put:
    /// acknowledgement first, then END.
    pub(crate) fn finish(
        &self,
        cpu: &Cpu,
        header: &PortalsHeader,
        taker: Option<Taker>,
        fail: NiFail,
        operand: impl FnOnce(&Grant) -> Data,
    ) {
        let Some(Taker { slot, grant }) = taker else { return };
        if let Some(atomic) = wire::atomic(header) {
            let operand = match fail {
                NiFail::Ok => Ok(operand(&grant)),
                fail => Err(fail),
            };
            return self.answer_atomic(cpu, slot, header, atomic, grant, operand);
        }
        let ack = grant.ack && !(is_mutant(Mutant::AcknowledgesLittle) && grant.mlength > 12);
        if ack && fail == NiFail::Ok {
            let ack = wire::ack(header, &grant, self.next_message());
            self.tell_answer(cpu, slot, header, &ack, NiFail::Ok);
            self.transmit(cpu, Transmit { header: ack, source: Source::Nothing, ending: None });
        }
        let ending = Some(Ending { slot, operation: grant.operation });
        self.end(cpu, ending, MessageId::from(header), fail);
    }

    /// Hands a message to the driver.
    pub(crate) fn transmit(&self, cpu: &Cpu, message: Transmit) {
        match message.ending.and_then(|ending| self.on_nic(ending.slot)) {
            Some(user) => user.transmit(self, cpu, message),
            None => self.nal.transmit(self, cpu, message),
        }
    }

    /// Ends an operation: END and UNLINK events.
    pub(crate) fn end(&self, cpu: &Cpu, ending: Option<Ending>, id: MessageId, fail: NiFail) {
        let Some(Ending { slot, operation }) = ending else { return };
        let work = self.with(slot, |interface| interface.complete(&operation, fail));
        let work = work.unwrap_or_default();
        let (kind, message) = (operation.event().kind, operation.event().message);
        // Of a process on the network interface the firmware has told.
        if self.on_nic(slot).is_none() {
            self.tell(cpu, || Told::Ended { slot: slot.0, kind, message, fail, work });
        }
        self.charge_events(cpu, slot, work, id);
        if work.events == 0 && matches!(kind, EventKind::PutEnd | EventKind::ReplyEnd) {
            self.mark(cpu, id, TracePoint::EndedSilently);
        }
        self.wake_leaving(slot);
    }
}
