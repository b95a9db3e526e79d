//! Point-to-point messages over Portals.
//!
//! ```text
//! portal MESSAGES:  [posted receives ...] [empty entry] [block] [block] [block]
//! portal EXPOSED:   [buffers of long or synchronous sends, each fetched at most once by its receiver]
//! ```
//! A message up to the eager limit is one put.
//!
//! A longer one is one put, too, which asks for an acknowledgement. A posted receive takes it without this
//! library, and the acknowledgement completes the send. With no receive posted, the empty entry takes it:
//! it cuts the message to nothing and acknowledges nothing. Its header data say how long it is and which
//! exposed buffer holds it; the receiver gets it from there, and the end of that get completes the send.
//!
//! A synchronous one up to the eager limit is only announced, by an empty put with such header data, and is
//! always fetched.
//!
//! A receive is posted only if no event waits in the queue of unexpected messages, which Portals tests and
//! does in one step; else the events are taken, the list is searched, and the receive is posted again. So no
//! message can slip through between search and post.

use crate::comm::CommId;
use crate::constant;
use crate::error::{Error, Result};
use crate::process::Process;
use crate::request::{Direction, Owner, Request, RequestId, Scattered, State, Status};
use des::Duration;
use failure::damaged;
use matching::{Exposed, Pattern, Protocol};
use portals::{
    option, Criteria, Error as PortalsError, Event, EventKind, Md, NiFail, Position, ProcessId,
    StatusRegister, Target, Unlink,
};
use unexpected::Message;

pub(crate) mod failure;
pub(crate) mod matching;
pub(crate) mod queues;
mod send;
pub(crate) mod unexpected;

/// Portal of all messages.
pub(crate) const MESSAGES: u32 = 4;
/// Portal of exposed buffers.
pub(crate) const EXPOSED: u32 = 5;
/// Access control entry that admits the processes of the job.
const ACCESS: u32 = 0;
/// Events that an operation can leave in its queue: END and UNLINK.
pub(crate) const EVENTS_PER_OPERATION: u32 = 2;
/// The same of a long send: the END of its put, an acknowledgement or the END of a get, UNLINK.
pub(crate) const EVENTS_PER_LONG_SEND: u32 = 3;

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
        let (base, test) = (self.catcher, self.unexpected_queue);
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
        if matching::protocol_of(message.bits) != Protocol::Eager {
            self.fetch(id, message.initiator, Exposed::unpack(message.hdr_data));
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

    /// Gets a message from its sender.
    fn fetch(&mut self, id: RequestId, from: ProcessId, what: Exposed) {
        let request = self.requests.get_mut(id);
        request.state = State::Arriving;
        request.status.bytes = what.length;
        // Of bytes that have come and are damaged, none is fetched: that ends the send.
        let room = if request.error.is_some() { 0 } else { request.length };
        let (va, length) = (request.va, room.min(what.length));
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
        let events = self.events_of(self.requests.get(id));
        if let Some(queue) = queue {
            self.queues[usize::from(queue)].reserved -= events;
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
            (EventKind::PutStart, Owner::Catcher) => self.unexpected.started(None, event),
            // Whether its bytes were damaged does not matter: they are fetched.
            (EventKind::PutEnd, Owner::Catcher) => {}
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
            (EventKind::SendEnd | EventKind::GetEnd | EventKind::Ack, Owner::Request(id)) => {
                if !self.is_long_send(self.requests.get(id)) {
                    self.complete(id);
                }
            }
            (EventKind::Unlink, Owner::Request(id)) => self.unlinked(id),
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

    /// A descriptor of a request has seen its last operation. Of a long send that is the first moment at
    /// which its put has left and its receiver has the bytes, in whichever order those ended.
    fn unlinked(&mut self, id: RequestId) {
        let there = self.requests.find(id).is_some();
        if there && self.is_long_send(self.requests.get(id)) {
            self.complete(id);
        }
    }

    /// A message met a posted receive.
    fn arrived(&mut self, id: RequestId, event: &Event) {
        let request = self.requests.get_mut(id);
        request.status.source = matching::source_of(event.match_bits);
        request.status.tag = matching::tag_of(event.match_bits);
        match matching::protocol_of(event.match_bits) {
            // Nobody acknowledges bytes that were lost.
            Protocol::Long if event.fail == NiFail::Ok => self.received(id, event.rlength),
            Protocol::Long | Protocol::Announced => {
                self.fetch(id, event.initiator, Exposed::unpack(event.hdr_data));
            }
            Protocol::Eager => self.received(id, event.rlength),
        }
    }
}
