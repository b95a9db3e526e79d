//! Sends: put with all their bytes, or exposed and told about.

use super::matching::{self, Exposed, Protocol};
use super::{Envelope, Mode, ACCESS, EXPOSED, MESSAGES};
use crate::error::Result;
use crate::process::Process;
use crate::request::{Direction, Owner, Request, RequestId, Scattered, State};
use portals::{
    option, AckRequest, Criteria, Md, MdHandle, Position, ProcessId, Region, Target, Unlink,
};

impl Process {
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
        if length > self.params.eager_limit {
            return self.send_exposed(request, target, bits(Protocol::Long));
        }
        if mode == Mode::Synchronous {
            return self.send_exposed(request, target, bits(Protocol::Announced));
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

    /// Exposes the buffer and tells the target about it: with all its bytes, or with none of them.
    fn send_exposed(
        &mut self,
        request: Request,
        target: ProcessId,
        bits: u64,
    ) -> Result<RequestId> {
        let (va, length) = (request.va, request.length);
        self.check_buffer(va, length)?;
        let long = self.is_long_send(&request);
        let id = self.insert(request);
        assert!(id.index < Exposed::MAX_ID, "too many requests at a time");
        let queue = self.requests.get(id).queue.expect("inserted with a queue");
        let criteria =
            Criteria { match_id: target, match_bits: u64::from(id.index), ignore_bits: 0 };
        let md = Md {
            // A get; of a long one the put, and a get or an acknowledgement.
            threshold: if long { 2 } else { 1 },
            user_ptr: Owner::Request(id).pack(),
            eq: Some(self.queues[usize::from(queue)].eq),
            ..Md::new(va, length, option::OP_GET | option::TRUNCATE | option::EVENT_START_DISABLE)
        };
        self.settle();
        let entry = self.ni.me_attach(EXPOSED, criteria, Unlink::Unlink, Position::After);
        let entry = self.must(entry, "PtlMEAttach");
        let attached = self.ni.md_attach(entry, md, Unlink::Unlink);
        let md = self.must(attached, "PtlMDAttach");
        self.requests.get_mut(id).entry = Some(entry);
        let hdr_data = Exposed { id: id.index, length }.pack();
        let (md, bytes) = if long { (md, length) } else { (self.empty, 0) };
        self.put(md, bytes, target, bits, hdr_data);
        Ok(id)
    }

    /// True for a send that has put all its bytes and waits to hear what became of them.
    pub(crate) fn is_long_send(&self, request: &Request) -> bool {
        request.direction == Direction::Send && request.length > self.params.eager_limit
    }

    fn put(&mut self, md: MdHandle, length: u64, id: ProcessId, match_bits: u64, hdr_data: u64) {
        self.settle();
        let target = Target { id, pt_index: MESSAGES, ac_index: ACCESS, match_bits, offset: 0 };
        let all = Region { offset: 0, length };
        let ack = match matching::protocol_of(match_bits) {
            Protocol::Long => AckRequest::Ack,
            Protocol::Eager | Protocol::Announced => AckRequest::NoAck,
        };
        let put = self.ni.put_region(md, all, ack, target, hdr_data);
        self.must(put, "PtlPutRegion");
    }

    /// A memory descriptor over `request`'s bytes that goes away after one operation.
    pub(super) fn bind(&mut self, request: RequestId, va: u64, length: u64) -> MdHandle {
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
}
