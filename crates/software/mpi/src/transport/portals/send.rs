//! Sends.

use super::credits::Deferred;
use super::matching::{self, Exposed, Protocol};
use super::operations::Owner;
use super::room::Holding;
use super::{must, Portals, ACCESS, EXPOSED, MESSAGES};
use crate::error::Result;
use crate::local::Local;
use crate::request::RequestId;
use crate::transport::{Address, Bytes, Mode};
use portals::{
    option, AckRequest, Criteria, Md, MdHandle, Position, ProcessId, Region, Target, Unlink,
};

/// A memory descriptor, and the bytes of it that are put.
struct Described {
    md: MdHandle,
    length: u64,
}

impl Portals {
    /// Starts sending, or waits for room. True if the bytes may be used again.
    pub(super) fn start_or_wait(
        &mut self,
        local: &mut Local,
        id: RequestId,
        to: Address,
        bytes: Bytes,
        mode: Mode,
    ) -> Result<bool> {
        if self.admits_send(Deferred { id, to, bytes, mode }) {
            return self.start_send(local, id, to, bytes, mode);
        }
        Ok(false)
    }

    /// Starts sending. True if the bytes may be used again.
    pub(super) fn start_send(
        &mut self,
        local: &mut Local,
        id: RequestId,
        to: Address,
        bytes: Bytes,
        mode: Mode,
    ) -> Result<bool> {
        let target = self.map[to.target as usize];
        let bits = |protocol| matching::bits(protocol, to.context, to.source, to.tag);
        let Bytes { va, length } = bytes;
        if length > self.params.eager_limit {
            return self.send_exposed(local, id, target, bytes, bits(Protocol::Long));
        }
        if mode == Mode::Synchronous {
            return self.send_exposed(local, id, target, bytes, bits(Protocol::Announced));
        }
        let bits = bits(Protocol::Eager);
        if length == 0 {
            self.put(local, Described { md: self.empty, length: 0 }, target, bits, 0);
            return Ok(true);
        }
        if length <= self.params.copy_limit
            && let Some(copy) = self.free_copies.pop()
        {
            return self.send_copy(local, copy, bytes, target, bits);
        }
        local.check_buffer(va, length)?;
        self.begin_operation(local, id, true, bytes);
        let md = self.bind(local, id, bytes);
        self.put(local, Described { md, length }, target, bits, 0);
        Ok(false)
    }

    /// Sends from a library buffer: the program's own is free at once.
    fn send_copy(
        &mut self,
        local: &mut Local,
        copy: u32,
        Bytes { va, length }: Bytes,
        target: ProcessId,
        bits: u64,
    ) -> Result<bool> {
        let (buffer, md) = self.copies[copy as usize];
        if let Err(error) = local.copy(va, buffer, length) {
            self.free_copies.push(copy);
            return Err(error);
        }
        self.put(local, Described { md, length }, target, bits, 0);
        Ok(true)
    }

    /// Exposes the buffer and tells the target about it: with all its bytes, or with none of them.
    fn send_exposed(
        &mut self,
        local: &mut Local,
        id: RequestId,
        target: ProcessId,
        bytes: Bytes,
        bits: u64,
    ) -> Result<bool> {
        let Bytes { va, length } = bytes;
        local.check_buffer(va, length)?;
        assert!(id.index < Exposed::MAX_ID, "too many requests at a time");
        self.begin_operation(local, id, true, bytes);
        let (long, eq) = (self.operations.get(id).long_send, self.queue_of(id));
        let criteria =
            Criteria { match_id: target, match_bits: u64::from(id.index), ignore_bits: 0 };
        let md = Md {
            // A get; of a long one the put, and a get or an acknowledgement.
            threshold: if long { 2 } else { 1 },
            user_ptr: Owner::Operation(id).pack(),
            eq: Some(eq),
            ..Md::new(va, length, option::OP_GET | option::TRUNCATE | option::EVENT_START_DISABLE)
        };
        local.settle();
        let entry = self.ni.me_attach(EXPOSED, criteria, Unlink::Unlink, Position::After);
        let entry = must(local, entry, "PtlMEAttach");
        let md = must(local, self.ni.md_attach(entry, md, Unlink::Unlink), "PtlMDAttach");
        self.hold(id, Holding::LISTED, false);
        self.operations.get(id).entry = Some(entry);
        let what = match long {
            true => Described { md, length },
            false => Described { md: self.empty, length: 0 },
        };
        self.put(local, what, target, bits, Exposed { id: id.index, length }.pack());
        Ok(false)
    }

    fn put(
        &mut self,
        local: &mut Local,
        Described { md, length }: Described,
        id: ProcessId,
        match_bits: u64,
        hdr_data: u64,
    ) {
        local.settle();
        let target = Target { id, pt_index: MESSAGES, ac_index: ACCESS, match_bits, offset: 0 };
        let all = Region { offset: 0, length };
        let ack = match matching::protocol_of(match_bits) {
            Protocol::Long => AckRequest::Ack,
            Protocol::Eager | Protocol::Announced => AckRequest::NoAck,
        };
        let put = self.ni.put_region(md, all, ack, target, hdr_data);
        must(local, put, "PtlPutRegion");
    }

    /// A memory descriptor over bytes of an operation that goes away after one use.
    pub(super) fn bind(&mut self, local: &mut Local, id: RequestId, bytes: Bytes) -> MdHandle {
        let eq = self.queue_of(id);
        let md = Md {
            threshold: 1,
            user_ptr: Owner::Operation(id).pack(),
            eq: Some(eq),
            ..Md::new(bytes.va, bytes.length, option::EVENT_START_DISABLE)
        };
        local.settle();
        let bound = must(local, self.ni.md_bind(md, Unlink::Unlink), "PtlMDBind");
        self.hold(id, Holding::BOUND, false);
        bound
    }
}
