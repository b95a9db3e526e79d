//! Operations that processes of this node begin, and the short cut between two of them.

use super::observe::{Begun, TracePoint};
use super::tap::{Fate, Told};
use super::wire::{self, Destination};
use super::{Kernel, Slot};
use crate::library::{
    AckRequest, Error, Grant, IoVec, Issue, MdHandle, NiFail, ProcessId, Region, Request,
    RequestKind, Response, Span, Work,
};
use crate::nal::{Ending, Source, Transmit};
use abi::seastar::{header_flag, portals_op};
use abi::MessageId;
use des::Time;
use host::Cpu;

/// The longest piece that is copied at once between two processes.
const COPY_PIECE: u64 = 64 << 10;

/// Outcome of a copy between two processes: for the owner of the bytes, and for the receiver. As between
/// nodes, the sender does not learn that the receiver could not store them.
#[derive(Clone, Copy, Default)]
struct Copied {
    read: NiFail,
    stored: NiFail,
}

impl Copied {
    const UNREAD: Copied = Copied { read: NiFail::Fail, stored: NiFail::Fail };
}

/// The arguments of PtlPut and PtlGet and their like.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    pub(crate) md: MdHandle,
    pub(crate) region: Option<Region>,
    pub(crate) target: ProcessId,
    pub(crate) pt_index: u32,
    pub(crate) ac_index: u32,
    pub(crate) match_bits: u64,
    pub(crate) remote_offset: u64,
    pub(crate) hdr_data: u64,
    pub(crate) ack: AckRequest,
    pub(crate) entered: Time,
}

impl Call {
    /// Destination in a machine of so many nodes.
    pub(crate) fn destination(&self, nodes: u32) -> Result<Destination, Error> {
        let id = |id: u32| u16::try_from(id).map_err(|_| Error::ProcessInvalid);
        if self.target.nid >= nodes {
            return Err(Error::ProcessInvalid);
        }
        Ok(Destination {
            nid: id(self.target.nid)?,
            pid: id(self.target.pid)?,
            pt_index: u8::try_from(self.pt_index).map_err(|_| Error::PtIndexInvalid)?,
            ac_index: u8::try_from(self.ac_index).map_err(|_| Error::AcIndexInvalid)?,
        })
    }

    pub(crate) fn issue(&self, message: MessageId) -> Issue {
        Issue {
            pt_index: self.pt_index,
            match_bits: self.match_bits,
            remote_offset: self.remote_offset,
            hdr_data: self.hdr_data,
            message,
        }
    }

    pub(crate) fn request(
        &self,
        kind: RequestKind,
        initiator: ProcessId,
        grant: &Grant,
    ) -> Request {
        Request {
            kind,
            initiator,
            uid: 0,
            pt_index: self.pt_index,
            ac_index: self.ac_index,
            match_bits: self.match_bits,
            rlength: grant.mlength,
            offset: self.remote_offset,
            hdr_data: self.hdr_data,
            ack: kind == RequestKind::Put && self.ack == AckRequest::Ack,
            message: grant.operation.event().message,
        }
    }

    pub(crate) fn response(&self, from: ProcessId, grant: &Grant, message: MessageId) -> Response {
        Response {
            from,
            uid: 0,
            md: self.md,
            match_bits: self.match_bits,
            pt_index: self.pt_index,
            mlength: grant.mlength,
            offset: grant.offset,
            local_offset: self.region.map_or(0, |region| region.offset),
            message,
        }
    }
}

/// A part of a process's memory.
#[derive(Clone, Copy)]
struct Place<'a> {
    slot: Slot,
    span: &'a Span,
}

impl Kernel {
    /// Begins a message's observation.
    pub(crate) fn begin(&self, cpu: &Cpu, slot: Slot, entered: Time) -> MessageId {
        let on_nic = self.on_nic(slot);
        let id = match &on_nic {
            Some(user) => user.next_message(self.nid),
            None => self.next_message(),
        };
        self.observer.mark(cpu.core(), entered, id, TracePoint::CallEntered);
        if on_nic.is_none() {
            self.mark(cpu, id, TracePoint::KernelEntered);
        }
        id
    }

    /// Tells what a message is.
    pub(crate) fn begun(
        &self,
        cpu: &Cpu,
        op: u8,
        id: MessageId,
        from: ProcessId,
        call: &Call,
        bytes: u64,
    ) {
        let Call { target: to, pt_index, match_bits, hdr_data, .. } = *call;
        let begun = Begun { op, from, to, pt_index, match_bits, hdr_data, bytes };
        self.observer.begun(cpu.core(), id, &begun);
    }

    /// Empties the ring of a process on the network interface, as its library does before it looks at its
    /// objects.
    pub(crate) fn look(&self, cpu: &Cpu, slot: Slot) {
        if let Some(user) = self.on_nic(slot) {
            user.drain(self, cpu);
        }
    }

    /// Empties the rings of the process's other interfaces, if there is something in them: nobody else would,
    /// while it waits at this one, and messages for them would wait for it.
    pub(crate) fn look_around(&self, cpu: &Cpu, slot: Slot) {
        let space = self.space(slot);
        let mut other = 0;
        loop {
            let user = match self.processes.borrow().get(other) {
                None => return,
                Some(process) => process.on_nic.clone().filter(|user| {
                    let mine = other != slot.0 && process.space == space;
                    mine && process.interface.is_some() && user.has_events()
                }),
            };
            if let Some(user) = user {
                user.drain(self, cpu);
            }
            other += 1;
        }
    }

    /// True if the kernel copies between two processes of this node: both must be its own.
    pub(crate) fn copies(&self, slot: Slot, to: Destination) -> bool {
        to.nid == self.nid && self.on_nic(slot).is_none() && !self.is_on_nic(u32::from(to.pid))
    }

    /// PtlPut and PtlPutRegion, in the kernel.
    pub(crate) fn put(&self, cpu: &Cpu, slot: Slot, call: &Call) -> Result<(), Error> {
        let to = self.destination(cpu, slot, call, (RequestKind::Put, None))?;
        let id = self.begin(cpu, slot, call.entered);
        cpu.spend(self.config.costs.api_check);
        self.look(cpu, slot);
        let issue = call.issue(id);
        let started = self.with(slot, |interface| {
            let (grant, work) = interface.start_put(call.md, call.region, &issue)?;
            Ok((grant, work, interface.identity().id))
        });
        let started = started.expect("the caller has an interface");
        self.tell(cpu, || Told::asked(slot, call, (RequestKind::Put, None), id, &started));
        let (grant, work, me) = started.inspect_err(|_| self.mark(cpu, id, TracePoint::Refused))?;
        self.begun(cpu, portals_op::PUT, id, me, call, grant.mlength);
        self.charge_events(cpu, slot, work, id);
        let ending = Some(Ending { slot, operation: grant.operation });
        if self.copies(slot, to) {
            self.local_put(cpu, slot, me, call, &grant);
            return Ok(());
        }
        let mut header =
            wire::issue(portals_op::PUT, me.pid as u16, to, &issue, call.md, grant.mlength);
        if call.ack == AckRequest::Ack {
            header.flags |= header_flag::ACK_REQUESTED;
        }
        self.tell(cpu, || Told::Header { slot: slot.0, header: &header });
        self.transmit(cpu, Transmit { header, source: Source::Span(grant.span), ending });
        Ok(())
    }

    /// PtlGet and PtlGetRegion, in the kernel.
    pub(crate) fn get(&self, cpu: &Cpu, slot: Slot, call: &Call) -> Result<(), Error> {
        let to = self.destination(cpu, slot, call, (RequestKind::Get, None))?;
        let id = self.begin(cpu, slot, call.entered);
        cpu.spend(self.config.costs.api_check);
        self.look(cpu, slot);
        // The reply brings the local offset back in the word that a put uses for user data.
        let local_offset = call.region.map_or(0, |region| region.offset);
        let issue = Issue { hdr_data: local_offset, ..call.issue(id) };
        let started = self.with(slot, |interface| {
            let grant = interface.start_get(call.md, call.region, &issue)?;
            Ok((grant, Work::default(), interface.identity().id))
        });
        let started = started.expect("the caller has an interface");
        self.tell(cpu, || Told::asked(slot, call, (RequestKind::Get, None), id, &started));
        let (grant, _, me) = started.inspect_err(|_| self.mark(cpu, id, TracePoint::Refused))?;
        self.begun(cpu, portals_op::GET, id, me, call, grant.mlength);
        let ending = Some(Ending { slot, operation: grant.operation });
        if self.copies(slot, to) {
            self.end(cpu, ending, id, NiFail::Ok);
            self.local_get(cpu, slot, me, call, &grant);
            return Ok(());
        }
        let mut header =
            wire::issue(portals_op::GET, me.pid as u16, to, &issue, call.md, grant.mlength);
        header.flags |= header_flag::INLINE;
        self.tell(cpu, || Told::Header { slot: slot.0, header: &header });
        self.transmit(cpu, Transmit { header, source: Source::Nothing, ending });
        Ok(())
    }

    /// A put to a process of this node: the kernel copies.
    fn local_put(&self, cpu: &Cpu, slot: Slot, me: ProcessId, call: &Call, grant: &Grant) {
        let id = grant.operation.event().message;
        let request = call.request(RequestKind::Put, me, grant);
        let taker = self.local_deliver(cpu, call.target, &request);
        let mut copied = Copied::default();
        if let Some((target, taken)) = &taker {
            let from = Place { slot, span: &grant.span };
            copied = self.copy(cpu, from, Place { slot: *target, span: &taken.span });
        }
        self.end(cpu, Some(Ending { slot, operation: grant.operation }), id, copied.read);
        let Some((target, taken)) = taker else { return };
        if taken.ack && copied.stored == NiFail::Ok {
            let response = call.response(call.target, &taken, id);
            let work = self.with(slot, |interface| interface.ack(&response)).unwrap_or_default();
            let fate = Fate::Handed { slot: slot.0, grant: None, work };
            self.tell_local(cpu, target, id, fate, NiFail::Ok);
            self.charge_events(cpu, slot, work, id);
        }
        self.end(cpu, Some(Ending { slot: target, operation: taken.operation }), id, copied.stored);
    }

    /// A get from a process of this node: the kernel copies.
    fn local_get(&self, cpu: &Cpu, slot: Slot, me: ProcessId, call: &Call, grant: &Grant) {
        let id = grant.operation.event().message;
        let request = Request { hdr_data: 0, ..call.request(RequestKind::Get, me, grant) };
        let Some((target, taken)) = self.local_deliver(cpu, call.target, &request) else { return };
        let response = call.response(call.target, &taken, id);
        let reply = self.with(slot, |interface| interface.reply(&response));
        let reply = reply.expect("the caller has an interface");
        self.tell_local(cpu, target, id, Fate::of(slot, &reply), NiFail::Ok);
        self.charge_events(cpu, slot, reply.work, id);
        let mut copied = Copied::default();
        if let Some(span) = reply.grant {
            let from = Place { slot: target, span: &taken.span };
            copied = self.copy(cpu, from, Place { slot, span: &span.span });
            self.end(cpu, Some(Ending { slot, operation: span.operation }), id, copied.stored);
        }
        self.end(cpu, Some(Ending { slot: target, operation: taken.operation }), id, copied.read);
    }

    pub(crate) fn local_deliver(
        &self,
        cpu: &Cpu,
        target: ProcessId,
        request: &Request,
    ) -> Option<(Slot, Grant)> {
        self.count(|counters| counters.local += 1);
        let Some(slot) = self.find(target.pid) else {
            self.count(|counters| counters.undeliverable += 1);
            self.mark(cpu, request.message, TracePoint::Dropped);
            let message = request.message;
            self.tell(cpu, || Told::Delivered { message, fate: Fate::Nobody });
            return None;
        };
        let delivery = self.with(slot, |interface| interface.deliver(request))?;
        let message = request.message;
        self.tell(cpu, || Told::Delivered { message, fate: Fate::of(slot, &delivery) });
        self.charge_search(cpu, delivery.work);
        self.mark(cpu, request.message, TracePoint::Matched(delivery.work.entries));
        self.charge_events(cpu, slot, delivery.work, request.message);
        if delivery.grant.is_none() {
            self.mark(cpu, request.message, TracePoint::Dropped);
        }
        delivery.grant.map(|grant| (slot, grant))
    }

    /// Copies as many bytes as the second place has; the first has no fewer.
    fn copy(&self, cpu: &Cpu, from: Place<'_>, to: Place<'_>) -> Copied {
        cpu.spend(cpu.copy_cost(to.span.len()));
        let (source, target) = (self.space(from.slot), self.space(to.slot));
        let mut memory = cpu.memory().borrow_mut();
        let mut buffer = vec![0; to.span.len().min(COPY_PIECE) as usize];
        let mut pieces = from.span.pieces();
        let mut here = IoVec::default();
        for mut there in to.span.pieces() {
            while there.length > 0 {
                if here.length == 0 {
                    let Some(next) = pieces.next() else { return Copied::UNREAD };
                    here = next;
                }
                let bytes = here.length.min(there.length).min(COPY_PIECE);
                let part = &mut buffer[..bytes as usize];
                if memory.read(source, here.start, part).is_err() {
                    return Copied::UNREAD;
                }
                if memory.write(target, there.start, part).is_err() {
                    return Copied { read: NiFail::Ok, stored: NiFail::Fail };
                }
                for side in [&mut here, &mut there] {
                    side.start += bytes;
                    side.length -= bytes;
                }
            }
        }
        Copied::default()
    }
}
