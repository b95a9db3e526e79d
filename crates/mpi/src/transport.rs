//! Point-to-point messages over Portals.
//!
//! ```text
//! portal MESSAGES:  [posted receives ...] [announcements] [block] [block] [block]
//! portal EXPOSED:   [buffers of long or synchronous sends, each fetched once by its receiver]
//! ```
//! A message up to the eager limit is one put. A longer or a synchronous one is announced by an
//! empty put, whose header data say how long it is and which exposed buffer holds it; the receiver
//! gets it from there, and the end of that get completes the send. A receive is posted only if no
//! event waits in the queue of unexpected messages, which Portals tests and does in one step; else
//! the events are taken, the list is searched, and the receive is posted again. So no message can
//! slip through between search and post.

use crate::comm::CommId;
use crate::constant;
use crate::error::{Error, Result};
use crate::process::Process;
use crate::request::{Direction, Owner, Request, RequestId, Scattered, State, Status};
use des::Duration;
use failure::damaged;
use matching::{Announcement, Pattern, Protocol};
use portals::{
    option, AckRequest, Criteria, Error as PortalsError, Event, EventKind, Md, MdHandle, NiFail,
    Position, ProcessId, Region, StatusRegister, Target, Unlink,
};
use unexpected::Message;

pub(crate) mod failure;
pub(crate) mod matching;
pub(crate) mod queues;
pub(crate) mod unexpected;

/// Portal of all messages.
pub(crate) const MESSAGES: u32 = 4;
/// Portal of exposed buffers.
pub(crate) const EXPOSED: u32 = 5;
/// Access control entry that admits the processes of the job.
const ACCESS: u32 = 0;
/// Events that one operation can leave in its queue: END and UNLINK.
pub(crate) const EVENTS_PER_OPERATION: u32 = 2;

/// How a send completes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// When the buffer may be used again.
    Standard,
    /// When the receive has started, too.
    Synchronous,
}

/// Where a message goes or comes from, beside its bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Envelope {
    pub comm: CommId,
    pub collective: bool,
    /// Rank in `comm`, or MPI_ANY_SOURCE.
    pub peer: i32,
    /// Tag, or MPI_ANY_TAG.
    pub tag: i32,
}

impl Process {
    // Sending.

    /// Starts sending `length` bytes at `va`, which `scattered` (if any) gathered.
    pub(crate) fn start_send(
        &mut self,
        to: Envelope,
        (va, length): (u64, u64),
        scattered: Option<Scattered>,
        mode: Mode,
    ) -> Result<RequestId> {
        self.charge(self.params.request);
        let comm = self.comms.get(to.comm)?;
        let context = if to.collective { comm.collective_context() } else { comm.context() };
        let source = comm.rank;
        let target = self.world.map[comm.members[to.peer as usize] as usize];
        let mut request = Request::new(Direction::Send, to.comm, to.peer, to.tag);
        (request.collective, request.va, request.length) = (to.collective, va, length);
        request.scattered = scattered;
        let bits = |protocol| matching::bits(protocol, context, source, to.tag);
        if mode == Mode::Synchronous || length > self.params.eager_limit {
            return self.announce(request, target, bits(Protocol::Rendezvous));
        }
        let bits = bits(Protocol::Eager);
        if length == 0 {
            self.put(self.empty, 0, target, bits, 0);
            return Ok(self.sent_already(request));
        }
        if length <= self.params.copy_limit {
            if let Some(copy) = self.free_copies.pop() {
                return self.send_copy(request, copy, target, bits);
            }
        }
        self.check_buffer(va, length)?;
        let id = self.insert(request);
        let md = self.bind(id, va, length);
        self.put(md, length, target, bits, 0);
        Ok(id)
    }

    /// Sends from a library buffer: the program's own is free at once.
    fn send_copy(
        &mut self,
        request: Request,
        copy: u32,
        target: ProcessId,
        bits: u64,
    ) -> Result<RequestId> {
        let (buffer, md) = self.copies[copy as usize];
        if let Err(error) = self.copy(request.va, buffer, request.length) {
            self.free_copies.push(copy);
            return Err(error);
        }
        self.put(md, request.length, target, bits, 0);
        Ok(self.sent_already(request))
    }

    fn sent_already(&mut self, mut request: Request) -> RequestId {
        request.state = State::Complete;
        if let Some(scattered) = request.scattered.take() {
            self.scratch.give(scattered.buffer);
        }
        self.requests.insert(request)
    }

    /// Exposes the buffer and tells the target about it.
    fn announce(&mut self, request: Request, target: ProcessId, bits: u64) -> Result<RequestId> {
        let (va, length) = (request.va, request.length);
        self.check_buffer(va, length)?;
        let id = self.insert(request);
        assert!(id.index < Announcement::MAX_ID, "too many requests at a time");
        let queue = self.requests.get(id).queue.expect("inserted with a queue");
        let criteria =
            Criteria { match_id: target, match_bits: u64::from(id.index), ignore_bits: 0 };
        let md = Md {
            threshold: 1,
            user_ptr: Owner::Request(id).pack(),
            eq: Some(self.queues[usize::from(queue)].eq),
            ..Md::new(va, length, option::OP_GET | option::TRUNCATE | option::EVENT_START_DISABLE)
        };
        self.settle();
        let entry = self.ni.me_attach(EXPOSED, criteria, Unlink::Unlink, Position::After);
        let entry = self.must(entry, "PtlMEAttach");
        let attached = self.ni.md_attach(entry, md, Unlink::Unlink);
        self.must(attached, "PtlMDAttach");
        self.requests.get_mut(id).entry = Some(entry);
        let announcement = Announcement { id: id.index, length };
        self.put(self.empty, 0, target, bits, announcement.pack());
        Ok(id)
    }

    fn put(&mut self, md: MdHandle, length: u64, id: ProcessId, match_bits: u64, hdr_data: u64) {
        self.settle();
        let target = Target { id, pt_index: MESSAGES, ac_index: ACCESS, match_bits, offset: 0 };
        let all = Region { offset: 0, length };
        let put = self.ni.put_region(md, all, AckRequest::NoAck, target, hdr_data);
        self.must(put, "PtlPutRegion");
    }

    /// A memory descriptor over `request`'s bytes that goes away after one operation.
    fn bind(&mut self, request: RequestId, va: u64, length: u64) -> MdHandle {
        let queue = self.requests.get(request).queue.expect("inserted with a queue");
        let md = Md {
            threshold: 1,
            user_ptr: Owner::Request(request).pack(),
            eq: Some(self.queues[usize::from(queue)].eq),
            ..Md::new(va, length, option::EVENT_START_DISABLE)
        };
        self.settle();
        let md = self.ni.md_bind(md, Unlink::Unlink);
        self.must(md, "PtlMDBind")
    }

    // Receiving.

    /// Starts receiving up to `length` bytes to `va`, from where `scattered` (if any) scatters
    /// them.
    pub(crate) fn start_receive(
        &mut self,
        from: Envelope,
        (va, length): (u64, u64),
        scattered: Option<Scattered>,
    ) -> Result<RequestId> {
        self.charge(self.params.request);
        self.check_buffer(va, length)?;
        let pattern = self.pattern(from)?;
        let mut request = Request::new(Direction::Receive, from.comm, from.peer, from.tag);
        (request.collective, request.va, request.length) = (from.collective, va, length);
        request.scattered = scattered;
        let id = self.insert(request);
        let mut searched = 0;
        loop {
            while self.poll_unexpected() {}
            if let Some(index) = self.search(pattern, searched) {
                let message = self.unexpected.take(index);
                self.accept(id, message);
                return Ok(id);
            }
            searched = self.unexpected.len();
            if self.post(id, pattern) {
                return Ok(id);
            }
            // Something was matched by a block meanwhile: its event is there or is about to come.
            self.await_unexpected();
        }
    }

    /// What a receive or a probe looks for.
    pub(crate) fn pattern(&self, from: Envelope) -> Result<Pattern> {
        let comm = self.comms.get(from.comm)?;
        let context = if from.collective { comm.collective_context() } else { comm.context() };
        Ok(Pattern::new(context, from.peer, from.tag))
    }

    /// Looks for a message in the list, from entry `from` on.
    pub(crate) fn search(&mut self, pattern: Pattern, from: usize) -> Option<usize> {
        let found = self.unexpected.find(pattern, from);
        let end = found.map_or(self.unexpected.len(), |index| index + 1);
        self.charge(self.params.unexpected_entry * (end - from) as u64);
        found
    }

    /// Posts a receive before the entries that catch the unexpected, unless one of those has just
    /// matched.
    fn post(&mut self, id: RequestId, pattern: Pattern) -> bool {
        let request = self.requests.get(id);
        let queue = request.queue.expect("inserted with a queue");
        let options = option::OP_PUT | option::TRUNCATE | option::EVENT_START_DISABLE;
        let md = Md {
            threshold: 1,
            user_ptr: Owner::Request(id).pack(),
            eq: Some(self.queues[usize::from(queue)].eq),
            ..Md::new(request.va, request.length, options)
        };
        let criteria = Criteria {
            match_id: ProcessId::ANY,
            match_bits: pattern.bits,
            ignore_bits: pattern.ignore,
        };
        self.settle();
        let (base, test) = (self.announcements, self.unexpected_queue);
        let (unlink, before) = (Unlink::Unlink, Position::Before);
        match self.ni.me_md_post(base, criteria, unlink, before, md, unlink, test) {
            Err(PortalsError::MdNoUpdate) => false,
            posted => {
                let (entry, _) = self.must(posted, "PtlMEMDPost");
                self.requests.get_mut(id).entry = Some(entry);
                true
            }
        }
    }

    /// A receive meets a message of the list.
    fn accept(&mut self, id: RequestId, message: Message) {
        let request = self.requests.get_mut(id);
        request.state = State::Arriving;
        request.status.source = matching::source_of(message.bits);
        request.status.tag = matching::tag_of(message.bits);
        if matching::is_rendezvous(message.bits) {
            self.fetch(id, message.initiator, Announcement::unpack(message.hdr_data));
        } else if message.complete {
            self.take_from_block(id, message);
        } else {
            self.unexpected.claim(message, id);
        }
    }

    /// Starts receiving a message that was taken out of the list before.
    pub(crate) fn start_matched(
        &mut self,
        comm: CommId,
        message: Message,
        (va, length): (u64, u64),
        scattered: Option<Scattered>,
    ) -> Result<RequestId> {
        let message = self.unexpected.held(message);
        self.charge(self.params.request);
        self.check_buffer(va, length)?;
        let (source, tag) = (matching::source_of(message.bits), matching::tag_of(message.bits));
        let mut request = Request::new(Direction::Receive, comm, source, tag);
        (request.va, request.length, request.scattered) = (va, length, scattered);
        let id = self.insert(request);
        self.accept(id, message);
        Ok(id)
    }

    /// Copies a message from its block to where it belongs.
    fn take_from_block(&mut self, id: RequestId, message: Message) {
        let block = message.block.expect("an eager message lies in a block");
        let request = self.requests.get(id);
        let (va, bytes) = (request.va, message.length.min(request.length));
        let from = self.unexpected.blocks[block as usize].va + message.offset;
        let copied = if message.damaged { Err(damaged()) } else { self.copy(from, va, bytes) };
        self.requests.get_mut(id).error = copied.err();
        if self.unexpected.consumed(block) {
            self.attach_block(block);
        }
        self.received(id, message.length);
    }

    /// Gets an announced message from its sender.
    fn fetch(&mut self, id: RequestId, from: ProcessId, what: Announcement) {
        let request = self.requests.get_mut(id);
        request.state = State::Arriving;
        request.status.bytes = what.length;
        let (va, length) = (request.va, request.length.min(what.length));
        let md = self.bind(id, va, length);
        let match_bits = u64::from(what.id);
        let target =
            Target { id: from, pt_index: EXPOSED, ac_index: ACCESS, match_bits, offset: 0 };
        let get = self.ni.get(md, target);
        self.must(get, "PtlGet");
    }

    /// All bytes of a message of `length` bytes are there.
    fn received(&mut self, id: RequestId, length: u64) {
        let request = self.requests.get_mut(id);
        let bytes = length.min(request.length);
        request.status.bytes = bytes;
        if length > request.length && request.error.is_none() {
            let (source, tag, room) = (request.status.source, request.status.tag, request.length);
            request.error = Some(Error::new(
                constant::ERR_TRUNCATE,
                format!(
                    "the message of {length} bytes from rank {source} with tag {tag} does not fit \
                     in the receive buffer of {room} bytes"
                ),
            ));
        }
        self.complete(id);
    }

    /// Ends a request: frees what it held, scatters what it received.
    pub(crate) fn complete(&mut self, id: RequestId) {
        let request = self.requests.get_mut(id);
        request.state = State::Complete;
        request.entry = None;
        let (queue, scattered) = (request.queue.take(), request.scattered.take());
        let bytes = request.status.bytes;
        if let Some(queue) = queue {
            self.queues[usize::from(queue)].reserved -= EVENTS_PER_OPERATION;
        }
        if let Some(scattered) = scattered {
            if let Some(target) = &scattered.target {
                let result = self.scatter(scattered.buffer.va, target, bytes);
                let request = self.requests.get_mut(id);
                request.error = request.error.take().or(result.err());
            }
            self.scratch.give(scattered.buffer);
        }
        let request = self.requests.get_mut(id);
        request.status.error = request.error.as_ref().map_or(constant::SUCCESS, |e| e.class);
        let (orphan, parent) = (request.orphan, request.parent);
        if orphan {
            self.requests.remove(id);
        }
        if let Some(parent) = parent {
            let operation = self.requests.get_mut(parent);
            operation.open -= 1;
            if operation.open == 0 {
                self.ready.push_back(parent);
            }
        }
    }

    /// Takes back a posted receive. False if a message has already matched it.
    pub(crate) fn withdraw(&mut self, id: RequestId) -> bool {
        let request = self.requests.get(id);
        let (Direction::Receive, State::Posted, Some(entry)) =
            (request.direction, request.state, request.entry)
        else {
            return false;
        };
        self.settle();
        if self.ni.me_unlink(entry).is_err() {
            return false;
        }
        let request = self.requests.get_mut(id);
        request.status = Status { cancelled: true, ..Status::EMPTY };
        request.scattered.iter_mut().for_each(|s| s.target = None);
        self.complete(id);
        true
    }

    // Events.

    /// Takes one event of any queue, if there is one.
    pub(crate) fn poll(&mut self) -> bool {
        self.settle();
        let event = self.ni.eq_poll(&self.poll_set, Some(Duration::ZERO));
        self.take_event(event)
    }

    /// Waits for the next event of any queue.
    pub(crate) fn await_event(&mut self) {
        self.settle();
        let event = self.ni.eq_poll(&self.poll_set, None);
        self.take_event(event);
    }

    fn poll_unexpected(&mut self) -> bool {
        self.settle();
        let event = self.ni.eq_poll(&self.poll_set[..1], Some(Duration::ZERO));
        self.take_event(event)
    }

    fn await_unexpected(&mut self) {
        self.settle();
        let event = self.ni.eq_poll(&self.poll_set[..1], None);
        self.take_event(event);
    }

    pub(crate) fn dispatch(&mut self, event: &Event) {
        self.charge(self.params.event);
        let owner = Owner::unpack(event.md.user_ptr);
        if event.fail != NiFail::Ok {
            self.failed(owner);
        }
        match (event.kind, owner) {
            (EventKind::PutStart, Owner::Block(block)) => {
                self.unexpected.started(Some(block), event);
                self.watch_room(block, event.offset + event.rlength);
            }
            (EventKind::PutStart, Owner::Announcements) => self.unexpected.started(None, event),
            (EventKind::PutEnd, Owner::Announcements) => {}
            (EventKind::PutEnd, Owner::Block(_)) => {
                let damaged = event.fail != NiFail::Ok;
                if let Some((message, request)) = self.unexpected.ended(event.link, damaged) {
                    self.take_from_block(request, message);
                }
            }
            (EventKind::Unlink, Owner::Block(block)) if self.unexpected.unlinked(block) => {
                self.attach_block(block);
            }
            (EventKind::SendEnd, Owner::Copy(copy)) => self.free_copies.push(copy),
            (EventKind::PutEnd, Owner::Request(id)) => self.arrived(id, event),
            (EventKind::ReplyEnd, Owner::Request(id)) => {
                let length = self.requests.get(id).status.bytes;
                self.received(id, length);
            }
            (EventKind::SendEnd | EventKind::GetEnd, Owner::Request(id)) => self.complete(id),
            (EventKind::Unlink, _) => {}
            (kind, owner) => unreachable!("no {kind:?} event was asked for {owner:?}"),
        }
    }

    /// A block is filled up to `end`. Beside the one that fills there must be another, or messages
    /// could arrive between the last that fits and this library's hearing of it.
    fn watch_room(&mut self, block: u32, end: u64) {
        if end + self.params.eager_limit <= self.params.unexpected_block_size {
            return;
        }
        self.unexpected.blocks[block as usize].full = true;
        if self.unexpected.blocks.iter().filter(|block| !block.full).count() > 1 {
            return;
        }
        let another = self.add_block();
        self.attach_block(another);
        // While the program was busy elsewhere and the last block was full, messages may have gone
        // astray.
        let lost = self.ni.ni_status(StatusRegister::DropCount);
        if lost > 0 {
            let (rank, blocks) = (self.world.rank, self.params.unexpected_blocks);
            let size = self.params.unexpected_block_size;
            self.cpu.fault(format!(
                "rank {rank}: {lost} messages were lost because unexpected messages had filled \
                 all {blocks} blocks of {size} bytes (mpi.unexpected_blocks, \
                 mpi.unexpected_block_size)"
            ));
        }
    }

    /// A message met a posted receive.
    fn arrived(&mut self, id: RequestId, event: &Event) {
        let request = self.requests.get_mut(id);
        request.status.source = matching::source_of(event.match_bits);
        request.status.tag = matching::tag_of(event.match_bits);
        if matching::is_rendezvous(event.match_bits) {
            self.fetch(id, event.initiator, Announcement::unpack(event.hdr_data));
        } else {
            self.received(id, event.rlength);
        }
    }
}
