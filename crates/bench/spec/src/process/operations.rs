//! Operations: begun by this process, arriving for it, answered to it, and their ends (Portals 3.3 s2.2,
//! s3.11, s3.13).

use super::{Of, Operation, Process};
use crate::types::{
    option, Code, Descriptor, Event, EventKind, Grant, Kind, Md, Register, Request, Response, ANY,
};
use abi::MessageId;

/// Role of a process in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// It sent the put or atomic operation.
    Sender,
    /// It sent the get.
    Getter,
    /// It is the target.
    Target,
    /// It gets the reply.
    Replied,
}

/// Names an operation under way in a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// Role of the process in it.
    pub role: Role,
    /// The message.
    pub message: MessageId,
}

/// An operation as the process asks for it.
#[derive(Clone, Copy, Debug)]
pub struct Issue {
    /// The request; its length follows from the descriptor.
    pub request: Request,
    /// The descriptor that is sent, or that a get fills.
    pub md: u32,
    /// The descriptor that an atomic operation's answer goes to.
    pub get: Option<u32>,
    /// Part of the descriptor: offset and length.
    pub region: Option<(u64, u64)>,
}

const NONE: Md = Md {
    start: 0,
    length: 0,
    threshold: 0,
    max_size: 0,
    options: 0,
    user_ptr: 0,
    eq: None,
    regions: Vec::new(),
};

impl Process {
    /// All codes of what is wrong with an operation (s3.13) in a machine of so many nodes.
    pub fn refusals(&self, issue: &Issue, nodes: u32) -> Vec<Code> {
        let mut codes = Vec::new();
        let Request { to, portal, access, kind, .. } = issue.request;
        // The wire has 16 bits for a process, 8 for portal and access control index.
        if to.nid >= nodes || to.pid > u16::MAX.into() {
            codes.push("PTL_PROCESS_INVALID");
        }
        if portal > u8::MAX.into() {
            codes.push("PTL_PT_INDEX_INVALID");
        }
        if access > u8::MAX.into() {
            codes.push("PTL_AC_INDEX_INVALID");
        }
        let active = |md: &u32| self.mds.get(md).is_some_and(|md| md.active());
        if !active(&issue.md) || issue.get.is_some_and(|get| !active(&get)) {
            codes.push("PTL_MD_INVALID");
        }
        if let Some(memory) = self.mds.get(&issue.md) {
            let bytes = memory.bytes();
            let (offset, length) = issue.region.unwrap_or((0, bytes));
            let inside = offset.checked_add(length).is_some_and(|end| end <= bytes);
            let takes = match kind {
                Kind::Atomic(atomic) => atomic.takes(length, self.limits.max_getput_md),
                _ => true,
            };
            if !inside || !takes || length > u32::MAX.into() {
                codes.push("PTL_MD_ILLEGAL");
            }
        }
        codes
    }

    /// An operation that nothing is wrong with begins. A put or atomic operation counts; a get does when the
    /// reply comes (s3.10.1).
    pub fn issue(&mut self, issue: &Issue) -> Grant {
        let request = issue.request;
        let memory = self.mds.get_mut(&issue.md).expect("nothing was wrong with it");
        let (offset, length) = issue.region.unwrap_or((0, memory.bytes()));
        let pieces = memory.pieces(offset, length);
        self.counters[Register::SendCount as usize] += 1;
        let mut event = self.event(EventKind::SendEnd, issue.md);
        event.initiator = self.id;
        event.portal = request.portal;
        event.bits = request.bits;
        (event.rlength, event.mlength, event.offset) = (length, length, request.offset);
        event.hdr_data = request.hdr_data;
        if request.kind == Kind::Get {
            let key = Key { role: Role::Getter, message: request.message };
            self.pend(issue.md);
            // It posts no END, but it may be the last that uses its descriptor: UNLINK shows that.
            event.md = Md { regions: Vec::new(), ..self.mds[&issue.md].md.clone() };
            self.running.insert(key, Operation { md: issue.md, end: None, event });
        } else {
            self.counted(Register::SendLength, length);
            let key = Key { role: Role::Sender, message: request.message };
            self.begin(key, [EventKind::SendStart, EventKind::SendEnd], issue.md, event);
        }
        Grant { md: issue.md, offset, mlength: length, pieces, ack: false }
    }

    /// A request reaches the process (s2.2): access control, then the portal's match list in order; the first
    /// entry that matches and whose descriptor accepts takes it. `None`: nobody does.
    pub fn arrive(&mut self, request: &Request) -> Option<Grant> {
        let found = self.admits(request).then(|| self.find(request)).flatten();
        let Some((md, offset, mlength)) = found else {
            self.dropped(request.length);
            return None;
        };
        let memory = self.mds.get_mut(&md).expect("it was found");
        let pieces = memory.pieces(offset, mlength);
        let ack = request.ack && !memory.has(option::ACK_DISABLE);
        memory.local_offset = memory.local_offset.saturating_add(mlength);
        let left = memory.bytes().saturating_sub(memory.local_offset);
        let managed = memory.has(option::MANAGE_REMOTE);
        memory.full |= memory.has(option::MAX_SIZE) && !managed && left < memory.md.max_size;
        if request.kind != Kind::Get {
            self.counted(Register::RecvCount, 1);
            self.counted(Register::RecvLength, mlength);
        }
        if request.kind != Kind::Put {
            self.counted(Register::SendCount, 1);
            self.counted(Register::SendLength, mlength);
        }
        let kinds = request.kind.events();
        let mut event = self.event(kinds[1], md);
        (event.initiator, event.uid) = (request.from, request.uid);
        (event.portal, event.bits) = (request.portal, request.bits);
        (event.rlength, event.mlength, event.offset) = (request.length, mlength, offset);
        event.hdr_data = request.hdr_data;
        let key = Key { role: Role::Target, message: request.message };
        self.begin(key, kinds, md, event);
        Some(Grant { md, offset, mlength, pieces, ack })
    }

    fn admits(&self, request: &Request) -> bool {
        let entry = self.access.get(request.access as usize).copied().flatten();
        let legal = match request.kind {
            Kind::Atomic(atomic) => atomic.takes(request.length, self.limits.max_getput_md),
            _ => true,
        };
        legal
            && !self.leaving
            && request.portal <= self.limits.max_pt_index
            && entry.is_some_and(|entry| {
                entry.from.admits(request.from)
                    && [request.uid, ANY].contains(&entry.uid)
                    && [self.jid, ANY].contains(&entry.jid)
                    && [request.portal, ANY].contains(&entry.portal)
            })
    }

    /// Descriptor, offset and length of what takes a request.
    fn find(&mut self, request: &Request) -> Option<(u32, u64, u64)> {
        for me in &self.portals[request.portal as usize] {
            self.visits += 1;
            let entry = &self.mes[me];
            let differ = (entry.criteria.bits ^ request.bits) & !entry.criteria.ignore != 0;
            if differ || !entry.criteria.from.admits(request.from) {
                continue;
            }
            let Some(md) = entry.md else { continue };
            let memory = &self.mds[&md];
            if !memory.active() || !memory.has(request.kind.needs()) {
                continue;
            }
            let managed = memory.has(option::MANAGE_REMOTE);
            let offset = if managed { request.offset } else { memory.local_offset };
            let Some(left) = memory.bytes().checked_sub(offset) else { continue };
            // Whole numbers are not cut.
            let cuts = match request.kind {
                Kind::Atomic(atomic) => atomic == crate::types::Atomic::Swap,
                _ => true,
            };
            if request.length <= left || (cuts && memory.has(option::TRUNCATE)) {
                return Some((md, offset, request.length.min(left)));
            }
        }
        None
    }

    /// The descriptor that an answer is for, if it still takes part in operations.
    fn answered(&mut self, md: Descriptor) -> Option<u32> {
        let memory = self.mds.get(&md.handle)?;
        (memory.number == md.number && memory.active()).then_some(md.handle)
    }

    /// An acknowledgement reaches the initiator. If the descriptor has gone, nothing happens (s3.13).
    pub fn ack(&mut self, ack: &Response) {
        let Some(md) = self.answered(ack.md) else { return };
        self.counted(Register::RecvCount, 1);
        self.count(md);
        self.pend(md);
        let mut event = self.response_event(EventKind::Ack, ack, md);
        (event.mlength, event.offset) = (ack.mlength, ack.offset);
        let memory = &self.mds[&md];
        event.md = Md { regions: Vec::new(), ..memory.md.clone() };
        let eq = memory.md.eq.filter(|_| memory.eventful());
        self.post(eq, event.clone(), Of::Neither);
        self.ended(md, event);
    }

    /// A reply reaches the initiator. Its descriptor takes it, cut if need be, unless it has gone (s3.13).
    pub fn reply(&mut self, reply: &Response) -> Option<Grant> {
        let Some(md) = self.answered(reply.md) else {
            self.dropped(reply.mlength);
            return None;
        };
        let memory = &self.mds[&md];
        let offset = reply.local_offset.min(memory.bytes());
        let mlength = reply.mlength.min(memory.bytes() - offset);
        let pieces = memory.pieces(offset, mlength);
        self.counted(Register::RecvCount, 1);
        self.counted(Register::RecvLength, mlength);
        let mut event = self.response_event(EventKind::ReplyEnd, reply, md);
        (event.mlength, event.offset) = (mlength, offset);
        let key = Key { role: Role::Replied, message: reply.message };
        self.begin(key, [EventKind::ReplyStart, EventKind::ReplyEnd], md, event);
        Some(Grant { md, offset, mlength, pieces, ack: false })
    }

    fn response_event(&self, kind: EventKind, response: &Response, md: u32) -> Event {
        let mut event = self.event(kind, md);
        (event.initiator, event.uid) = (response.from, response.uid);
        (event.portal, event.bits) = (response.portal, response.bits);
        event.rlength = response.mlength;
        event
    }

    fn event(&self, kind: EventKind, md_handle: u32) -> Event {
        Event {
            kind,
            initiator: self.id,
            uid: self.uid,
            jid: self.jid,
            portal: 0,
            bits: 0,
            rlength: 0,
            mlength: 0,
            offset: 0,
            md_handle,
            md: NONE,
            hdr_data: 0,
            link: 0,
            sequence: 0,
            failed: false,
        }
    }

    fn count(&mut self, md: u32) {
        self.mds.get_mut(&md).expect("it takes part").count();
    }
    fn pend(&mut self, md: u32) {
        self.mds.get_mut(&md).expect("it takes part").pending += 1;
    }

    /// An operation that counts begins: START, and END to come. Events show the descriptor as it is when the
    /// operation has been counted.
    fn begin(&mut self, key: Key, kinds: [EventKind; 2], md: u32, mut event: Event) {
        self.count(md);
        self.pend(md);
        let memory = &self.mds[&md];
        event.md = Md { regions: Vec::new(), ..memory.md.clone() };
        let start = memory.posts(option::START_DISABLE);
        let end = memory.posts(option::END_DISABLE);
        if let Some(eq) = start {
            event.link = self.eqs.get(&eq).map_or(0, |queue| queue.written + 1);
            self.post(start, Event { kind: kinds[0], ..event.clone() }, Of::Start(key));
        }
        event.kind = kinds[1];
        self.running.insert(key, Operation { md, end, event });
    }

    /// The operation that such an END event about `message` ends.
    pub fn ending(&self, kind: EventKind, message: MessageId) -> Key {
        let key = |role| Key { role, message };
        match kind {
            EventKind::ReplyEnd => key(Role::Replied),
            EventKind::SendEnd if self.is_running(key(Role::Getter)) => key(Role::Getter),
            EventKind::SendEnd => key(Role::Sender),
            _ => key(Role::Target),
        }
    }

    /// True if such an operation is under way.
    pub fn is_running(&self, key: Key) -> bool {
        self.running.contains_key(&key)
    }

    /// An operation has ended: END, and UNLINK after the last operation of a descriptor that is used up
    /// (s3.10.2). False if it is not under way.
    pub fn complete(&mut self, key: Key, failed: bool) -> bool {
        let Some(operation) = self.running.remove(&key) else { return false };
        self.flying.keeps_use(operation.md);
        let event = Event { failed, ..operation.event };
        self.post(operation.end, event.clone(), Of::End(key));
        self.ended(operation.md, event);
        true
    }

    fn ended(&mut self, md: u32, event: Event) {
        let memory = self.mds.get_mut(&md).expect("a descriptor in use stays");
        memory.pending -= 1;
        if memory.pending > 0 || !memory.spent() {
            return;
        }
        let eq = memory.md.eq.filter(|_| memory.eventful());
        self.post(eq, Event { kind: EventKind::Unlink, link: 0, ..event }, Of::Neither);
        self.remove_memory(md);
    }
}
