//! Operations: issued by this process (`start_put`, `start_get`), arriving for it (`deliver`), answered to
//! it (`ack`, `reply`), and their ends (`complete`). Events and their order: Portals 3.3 s3.11, s3.13.

use super::error::Error;
use super::handle::{EqHandle, MdHandle};
use super::md::{Accepted, MemoryDescriptor};
use super::me::NONE;
use super::span::Span;
use super::table::Interface;
use super::types::{
    option, Event, EventKind, Md, NiFail, ProcessId, Request, RequestKind, Response, Unlink, Work,
};
use crate::mutant::{is_mutant, Mutant};
use abi::MessageId;

/// An operation under way, to be handed back to `Interface::complete` when it ends.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    md: MdHandle,
    eq: Option<EqHandle>,
    /// True if an END event will be posted.
    end: bool,
    /// The END event, except its sequence number and failure.
    event: Event,
}

impl Operation {
    /// One of which only the descriptor is known, for an observer.
    pub(crate) fn seen(md: MdHandle) -> Operation {
        let id = ProcessId::default();
        let event = Event {
            kind: EventKind::PutEnd,
            initiator: id,
            uid: 0,
            jid: 0,
            pt_index: 0,
            match_bits: 0,
            rlength: 0,
            mlength: 0,
            offset: 0,
            md_handle: md,
            md: Md::new(0, 0, 0),
            hdr_data: 0,
            link: 0,
            sequence: 0,
            fail: NiFail::Ok,
            message: MessageId::default(),
        };
        Operation { md, eq: None, end: false, event }
    }

    /// The END event that the operation posts, if its descriptor wants it.
    pub fn event(&self) -> &Event {
        &self.event
    }
}

/// Memory that an operation reads or fills.
#[derive(Clone, Debug)]
pub struct Grant {
    /// The operation, for `Interface::complete`.
    pub operation: Operation,
    /// The bytes.
    pub span: Span,
    /// Offset of the first one in the memory descriptor.
    pub offset: u64,
    /// Bytes.
    pub mlength: u64,
    /// The initiator shall get an acknowledgement.
    pub ack: bool,
}

/// Outcome of something that arrived.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// Destination; `None` if it was dropped.
    pub grant: Option<Grant>,
    /// Work done, to be charged.
    pub work: Work,
}

/// A region of a memory descriptor (PtlPutRegion, PtlGetRegion).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub length: u64,
}

/// Properties of a put or get that its events contain.
#[derive(Clone, Copy, Debug)]
pub struct Issue {
    /// Portal that is addressed.
    pub pt_index: u32,
    /// Match bits.
    pub match_bits: u64,
    /// Offset at the target.
    pub remote_offset: u64,
    /// Out-of-band word.
    pub hdr_data: u64,
    /// The wire message.
    pub message: MessageId,
}

/// START and END of a kind of operation.
#[derive(Clone, Copy)]
struct Kinds(EventKind, EventKind);

const PUT: Kinds = Kinds(EventKind::PutStart, EventKind::PutEnd);
const GET: Kinds = Kinds(EventKind::GetStart, EventKind::GetEnd);
const REPLY: Kinds = Kinds(EventKind::ReplyStart, EventKind::ReplyEnd);
const GETPUT: Kinds = Kinds(EventKind::GetPutStart, EventKind::GetPutEnd);
const SEND: Kinds = Kinds(EventKind::SendStart, EventKind::SendEnd);

impl Interface {
    /// True if a put of a region (None: all) of `md` can begin.
    pub(crate) fn may_put(&self, md: MdHandle, region: Option<Region>) -> bool {
        self.issue_region(md, region).is_ok()
    }

    /// Begins a put of a region (None: all) of `md`.
    pub fn start_put(
        &mut self,
        md: MdHandle,
        region: Option<Region>,
        issue: &Issue,
    ) -> Result<(Grant, Work), Error> {
        let (region, span) = self.issue_region(md, region)?;
        let descriptor = self.md_mut(md);
        descriptor.count();
        descriptor.pending += 1;
        self.status.sent += 1;
        self.status.sent_bytes += region.length;
        let event = self.issue_event(md, region.length, issue);
        let mut work = Work::default();
        let operation = self.begin(md, SEND, event, &mut work);
        let (offset, mlength) = (region.offset, region.length);
        Ok((Grant { operation, span, offset, mlength, ack: false }, work))
    }

    /// Begins a get into a region (None: all) of `md`. It posts nothing and does not count; `complete` it
    /// when the request has left.
    pub fn start_get(
        &mut self,
        md: MdHandle,
        region: Option<Region>,
        issue: &Issue,
    ) -> Result<Grant, Error> {
        let (region, span) = self.issue_region(md, region)?;
        self.md_mut(md).pending += 1;
        self.status.sent += 1;
        let event = self.issue_event(md, region.length, issue);
        let operation = Operation { md, eq: None, end: false, event };
        let (offset, mlength) = (region.offset, region.length);
        Ok(Grant { operation, span, offset, mlength, ack: false })
    }

    fn issue_region(&self, md: MdHandle, region: Option<Region>) -> Result<(Region, Span), Error> {
        let descriptor = self.mds.get(md.raw()).filter(|md| md.active()).ok_or(Error::MdInvalid)?;
        let length = descriptor.bytes;
        let region = region.unwrap_or(Region { offset: 0, length });
        let left = length.checked_sub(region.offset).ok_or(Error::MdIllegal)?;
        // The wire header has 32 bits for the length.
        if region.length > left || region.length > u64::from(u32::MAX) {
            return Err(Error::MdIllegal);
        }
        Ok((region, descriptor.span(region.offset, region.length)))
    }

    fn issue_event(&mut self, md: MdHandle, length: u64, issue: &Issue) -> Event {
        let user = self.md_mut(md).user;
        Event {
            kind: EventKind::SendEnd,
            initiator: self.identity.id,
            uid: self.identity.uid,
            jid: self.identity.jid,
            pt_index: issue.pt_index,
            match_bits: issue.match_bits,
            rlength: length,
            mlength: length,
            offset: issue.remote_offset,
            md_handle: md,
            md: user,
            hdr_data: issue.hdr_data,
            link: 0,
            sequence: 0,
            fail: NiFail::Ok,
            message: issue.message,
        }
    }

    /// Finds the memory descriptor that takes a request (Portals 3.3 s2.2): access control, then the
    /// portal's match list in order. The first entry that matches and whose descriptor accepts gets it.
    pub fn deliver(&mut self, request: &Request) -> Delivery {
        let mut work = Work::default();
        let legal = match request.kind {
            RequestKind::Atomic(atomic) => atomic.takes(request.rlength, self.limits.max_getput_md),
            _ => true,
        };
        let admitted = legal && !self.leaving && self.admits(request);
        let found = if admitted { self.search(request, &mut work) } else { None };
        let Some((md, accepted)) = found else {
            self.dropped(request.rlength);
            return Delivery { grant: None, work };
        };
        self.grant(md, accepted, request, work)
    }

    /// The network interface has found the memory descriptor that takes a request, and where: what
    /// [`Interface::deliver`] does once it has found it. None if there is no such descriptor.
    pub(crate) fn deliver_to(
        &mut self,
        md: MdHandle,
        accepted: Accepted,
        request: &Request,
    ) -> Option<Delivery> {
        self.mds.get(md.raw())?;
        Some(self.grant(md, accepted, request, Work::default()))
    }

    /// Descriptor `md` takes a request.
    fn grant(
        &mut self,
        md: MdHandle,
        accepted: Accepted,
        request: &Request,
        mut work: Work,
    ) -> Delivery {
        let descriptor = self.md_mut(md);
        descriptor.consume(accepted);
        let kinds = match request.kind {
            RequestKind::Put => PUT,
            RequestKind::Get => GET,
            RequestKind::Atomic(_) => GETPUT,
        };
        let event = Event {
            kind: kinds.1,
            initiator: request.initiator,
            uid: request.uid,
            jid: 0,
            pt_index: request.pt_index,
            match_bits: request.match_bits,
            rlength: request.rlength,
            mlength: accepted.mlength,
            offset: accepted.offset,
            md_handle: md,
            md: descriptor.user,
            hdr_data: request.hdr_data,
            link: 0,
            sequence: 0,
            fail: NiFail::Ok,
            message: request.message,
        };
        let never = descriptor.has(option::ACK_DISABLE) && !is_mutant(Mutant::AcknowledgesAlways);
        let ack = request.ack && !never;
        let span = descriptor.span(accepted.offset, accepted.mlength);
        self.count_delivery(request.kind, accepted.mlength);
        let event = Event { jid: self.identity.jid, ..event };
        let operation = self.begin(md, kinds, event, &mut work);
        let grant =
            Grant { operation, span, offset: accepted.offset, mlength: accepted.mlength, ack };
        Delivery { grant: Some(grant), work }
    }

    fn count_delivery(&mut self, kind: RequestKind, bytes: u64) {
        if kind != RequestKind::Get {
            self.status.received += 1;
            self.status.received_bytes += bytes;
        }
        if kind != RequestKind::Put {
            self.status.sent += 1;
            self.status.sent_bytes += bytes;
        }
    }

    fn admits(&self, request: &Request) -> bool {
        let entry = self.access.get(request.ac_index as usize).copied().flatten();
        request.pt_index <= self.limits.max_pt_index
            && entry.is_some_and(|entry| {
                use super::types::{JID_ANY, PT_INDEX_ANY, UID_ANY};
                entry.match_id.admits(request.initiator)
                    && (entry.uid == UID_ANY || entry.uid == request.uid)
                    && (entry.jid == JID_ANY || entry.jid == self.identity.jid)
                    && (entry.pt_index == PT_INDEX_ANY || entry.pt_index == request.pt_index)
            })
    }

    fn search(&self, request: &Request, work: &mut Work) -> Option<(MdHandle, Accepted)> {
        let mut index = self.portals[request.pt_index as usize].head;
        while index != NONE {
            work.entries += 1;
            let entry = self.mes.at(index);
            if entry.criteria.admit(request.initiator, request.match_bits)
                && let Some(md) = entry.md
            {
                let descriptor = self.mds.at(md.index());
                let accepted = descriptor.accept(request.kind, request.rlength, request.offset);
                if let Some(accepted) = accepted {
                    return Some((md, accepted));
                }
            }
            index = entry.next;
        }
        None
    }

    /// Counts a message of `bytes` that nobody takes.
    pub fn dropped(&mut self, bytes: u64) {
        self.status.dropped += 1;
        self.status.dropped_bytes += bytes;
    }

    /// An acknowledgement has arrived. It is dropped in silence if its descriptor is gone or inactive.
    pub fn ack(&mut self, response: &Response) -> Work {
        let mut work = Work::default();
        let Some(descriptor) = self.mds.get_mut(response.md.raw()).filter(|md| md.active()) else {
            return work;
        };
        descriptor.count();
        descriptor.pending += 1;
        let (eq, eventful) = (descriptor.user.eq, descriptor.eventful());
        let user = descriptor.user;
        self.status.received += 1;
        self.promise_unlink(response.md);
        let event = self.response_event(EventKind::Ack, response, response.mlength, user);
        let event = Event { offset: response.offset, ..event };
        if eventful {
            self.post(eq, event, &mut work);
        }
        self.finish(response.md, event, &mut work);
        work
    }

    /// The reply to a get or atomic operation has arrived, with `response.mlength` bytes. Descriptors
    /// accept and truncate every reply; it is dropped only if the descriptor is gone or inactive.
    pub fn reply(&mut self, response: &Response) -> Delivery {
        let mut work = Work::default();
        let Some(descriptor) = self.mds.get_mut(response.md.raw()).filter(|md| md.active()) else {
            self.dropped(response.mlength);
            return Delivery { grant: None, work };
        };
        descriptor.count();
        descriptor.pending += 1;
        let left = descriptor.bytes.saturating_sub(response.local_offset);
        let mlength = response.mlength.min(left);
        let asked = if is_mutant(Mutant::ReplyAtStart) { 0 } else { response.local_offset };
        let offset = asked.min(descriptor.bytes);
        let span = descriptor.span(offset, mlength);
        let user = descriptor.user;
        self.status.received += 1;
        self.status.received_bytes += mlength;
        let event = self.response_event(EventKind::ReplyEnd, response, mlength, user);
        let event = Event { offset, ..event };
        let operation = self.begin(response.md, REPLY, event, &mut work);
        Delivery { grant: Some(Grant { operation, span, offset, mlength, ack: false }), work }
    }

    fn response_event(&self, kind: EventKind, response: &Response, mlength: u64, md: Md) -> Event {
        Event {
            kind,
            initiator: response.from,
            uid: response.uid,
            jid: self.identity.jid,
            pt_index: response.pt_index,
            match_bits: response.match_bits,
            rlength: response.mlength,
            mlength,
            offset: 0,
            md_handle: response.md,
            md,
            hdr_data: 0,
            link: 0,
            sequence: 0,
            fail: NiFail::Ok,
            message: response.message,
        }
    }

    /// Posts START if wanted, and promises END and UNLINK.
    fn begin(&mut self, md: MdHandle, kinds: Kinds, event: Event, work: &mut Work) -> Operation {
        let descriptor = self.md_mut(md);
        let eq = descriptor.user.eq;
        let start = eq.is_some()
            && !descriptor.has(option::EVENT_START_DISABLE)
            && !is_mutant(Mutant::NoStart);
        let end = eq.is_some() && !descriptor.has(option::EVENT_END_DISABLE);
        let mut event = Event { kind: kinds.1, ..event };
        if start {
            let queue = eq.and_then(|eq| self.eqs.get(eq.raw()));
            event.link = queue.map_or(0, |queue| queue.next_sequence());
            self.post(eq, Event { kind: kinds.0, ..event }, work);
        }
        if end {
            self.promise(eq, 1);
        }
        self.promise_unlink(md);
        Operation { md, eq, end, event }
    }

    /// An operation has ended: END, and UNLINK if it was the last one of a descriptor that is used up.
    pub fn complete(&mut self, operation: &Operation, fail: NiFail) -> Work {
        let mut work = Work::default();
        let event = Event { fail, ..operation.event };
        if operation.end {
            self.promise(operation.eq, -1);
            self.post(operation.eq, event, &mut work);
        }
        self.finish(operation.md, event, &mut work);
        work
    }

    fn promise_unlink(&mut self, md: MdHandle) {
        let descriptor = self.md_mut(md);
        let used_up = descriptor.unlink == Unlink::Unlink && !descriptor.active();
        if used_up && descriptor.eventful() && !descriptor.unlink_promised {
            descriptor.unlink_promised = true;
            let eq = descriptor.user.eq;
            self.promise(eq, 1);
        }
    }

    fn finish(&mut self, md: MdHandle, event: Event, work: &mut Work) {
        let descriptor = self.md_mut(md);
        descriptor.pending -= 1;
        let used_up = descriptor.unlink == Unlink::Unlink && !descriptor.active();
        if !used_up || descriptor.pending > 0 {
            return;
        }
        let (eq, promised) = (descriptor.user.eq, descriptor.unlink_promised);
        if promised && !is_mutant(Mutant::NoUnlink) {
            self.promise(eq, -1);
            self.post(eq, Event { kind: EventKind::Unlink, link: 0, ..event }, work);
        }
        self.md_remove(md);
    }

    fn post(&mut self, eq: Option<EqHandle>, event: Event, work: &mut Work) {
        if let Some(queue) = eq.and_then(|eq| self.eqs.get_mut(eq.raw())) {
            work.grown += queue.post(event);
            work.post(event.kind);
        }
    }

    fn md_mut(&mut self, md: MdHandle) -> &mut MemoryDescriptor {
        self.mds.get_mut(md.raw()).expect("a descriptor with pending operations stays")
    }
}
