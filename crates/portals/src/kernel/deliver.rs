//! Messages that have arrived: who takes each, what answers it, how it ends. Drivers call it.

use super::atomic::Data;
use super::observe::Mark;
use super::tap::{Fate, Told};
use super::{wire, Kernel, Seat};
use crate::library::{Delivery, EventKind, Grant, NiFail, Work};
use crate::nal::{Ending, Source, Transmit};
use crate::plant::{is_planted, Plant};
use abi::seastar::{portals_op, PortalsHeader};
use abi::MessageId;
use host::Cpu;

/// The process that takes a message, and where its bytes go.
#[derive(Clone, Debug)]
pub(crate) struct Taker {
    pub(crate) seat: Seat,
    pub(crate) grant: Grant,
}

impl Kernel {
    /// Finds the receiver of a message. A get is answered and an acknowledgement handed on at once: nobody
    /// waits for a payload then.
    pub(crate) fn take(&self, cpu: &Cpu, header: &PortalsHeader) -> Option<Taker> {
        let id = MessageId::from(header);
        let Some(seat) = self.find(u32::from(header.target_pid)) else {
            self.count(|counters| counters.undeliverable += 1);
            self.mark(cpu, id, Mark::Dropped);
            self.tell(cpu, || Told::Taken { header, fate: Fate::Nobody });
            return None;
        };
        if header.op == portals_op::ACK {
            self.acknowledged(cpu, seat, header);
            return None;
        }
        let delivery = self.deliver(cpu, seat, header)?;
        let Some(grant) = delivery.grant else {
            self.mark(cpu, id, Mark::Dropped);
            return None;
        };
        if header.op == portals_op::GET {
            self.answer(cpu, seat, header, grant);
            return None;
        }
        Some(Taker { seat, grant })
    }

    /// Hands a put, get or reply to the library; `None` for any other.
    fn deliver(&self, cpu: &Cpu, seat: Seat, header: &PortalsHeader) -> Option<Delivery> {
        let id = MessageId::from(header);
        let delivery = self.with(seat, |interface| match header.op {
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
            self.mark(cpu, id, Mark::Dropped);
            let fate = Fate::Handed { seat: seat.0, grant: None, work: Work::default() };
            self.tell(cpu, || Told::Taken { header, fate });
            return None;
        };
        self.tell(cpu, || Told::Taken { header, fate: Fate::of(seat, &delivery) });
        self.charge_search(cpu, delivery.work);
        self.mark(cpu, id, Mark::Matched(delivery.work.entries));
        self.charge_events(cpu, seat, delivery.work, id);
        Some(delivery)
    }

    pub(crate) fn acknowledged(&self, cpu: &Cpu, seat: Seat, header: &PortalsHeader) {
        let work = self.with(seat, |interface| interface.ack(&wire::response(header)));
        let work = work.unwrap_or_default();
        let fate = Fate::Handed { seat: seat.0, grant: None, work };
        if self.on_nic(seat).is_none() {
            self.tell(cpu, || Told::Taken { header, fate });
        }
        self.charge_events(cpu, seat, work, MessageId::from(header));
    }

    /// Sends the reply to a get; the get ends when it has left.
    fn answer(&self, cpu: &Cpu, seat: Seat, header: &PortalsHeader, grant: Grant) {
        let reply = wire::reply(header, &grant, self.next_message());
        self.observer.answers(MessageId::from(&reply), MessageId::from(header));
        self.tell_answer(cpu, seat, header, &reply, NiFail::Ok);
        let ending = Some(Ending { seat, operation: grant.operation });
        self.transmit(cpu, Transmit { header: reply, source: Source::Place(grant.place), ending });
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
        let Some(Taker { seat, grant }) = taker else { return };
        if let Some(atomic) = wire::atomic(header) {
            let operand = match fail {
                NiFail::Ok => Ok(operand(&grant)),
                fail => Err(fail),
            };
            return self.answer_atomic(cpu, seat, header, atomic, grant, operand);
        }
        let ack = grant.ack && !(is_planted(Plant::AcknowledgesLittle) && grant.mlength > 12);
        if ack && fail == NiFail::Ok {
            let ack = wire::ack(header, &grant, self.next_message());
            self.tell_answer(cpu, seat, header, &ack, NiFail::Ok);
            self.transmit(cpu, Transmit { header: ack, source: Source::Nothing, ending: None });
        }
        let ending = Some(Ending { seat, operation: grant.operation });
        self.end(cpu, ending, MessageId::from(header), fail);
    }

    /// Hands a message to the driver.
    pub(crate) fn transmit(&self, cpu: &Cpu, message: Transmit) {
        match message.ending.and_then(|ending| self.on_nic(ending.seat)) {
            Some(user) => user.transmit(self, cpu, message),
            None => self.nal.transmit(self, cpu, message),
        }
    }

    /// Ends an operation: END and UNLINK events.
    pub(crate) fn end(&self, cpu: &Cpu, ending: Option<Ending>, id: MessageId, fail: NiFail) {
        let Some(Ending { seat, operation }) = ending else { return };
        let work = self.with(seat, |interface| interface.complete(&operation, fail));
        let work = work.unwrap_or_default();
        let (kind, message) = (operation.event().kind, operation.event().message);
        // Of a process on the network interface the firmware has told.
        if self.on_nic(seat).is_none() {
            self.tell(cpu, || Told::Ended { seat: seat.0, kind, message, fail, work });
        }
        self.charge_events(cpu, seat, work, id);
        if work.events == 0 && matches!(kind, EventKind::PutEnd | EventKind::ReplyEnd) {
            self.mark(cpu, id, Mark::EndedSilently);
        }
        self.wake_leaving(seat);
    }
}
