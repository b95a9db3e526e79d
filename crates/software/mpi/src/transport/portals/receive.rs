//! Receives and probes.

use super::events::damaged;
use super::matching::{Exposed, Pattern, Protocol};
use super::operations::Owner;
use super::overtaken::Queues;
use super::room::Holding;
use super::unexpected::UnexpectedMessage;
use super::{must, Portals, ACCESS, EXPOSED};
use crate::local::Local;
use crate::request::RequestId;
use crate::transport::{Begun, Bytes, Ending, Step};
use des::Duration;
use portals::{option, Criteria, Error as PortalsError, Md, Position, ProcessId, Target, Unlink};

impl Portals {
    /// Starts receiving, or goes on with it: each event that comes between is handled first.
    pub(super) fn start_receive(
        &mut self,
        local: &mut Local,
        id: RequestId,
        pattern: Pattern,
        room: Bytes,
    ) -> Begun {
        if self.operations.find(id).is_none() {
            self.begin_operation(local, id, false, room);
        }
        let step = self.look(local, Queues::Unexpected, Some(Duration::ZERO));
        if !matches!(step, Step::Nothing) {
            return Begun::Again(step);
        }
        match self.claim_or_post(local, id, pattern, room) {
            Some(begun) => begun,
            // Something was matched by a block meanwhile: its event is there or is about to come.
            None => Begun::Again(self.look(local, Queues::Unexpected, None)),
        }
    }

    /// Finds the message of a receive in the list, or posts it. None if something came between.
    pub(super) fn claim_or_post(
        &mut self,
        local: &mut Local,
        id: RequestId,
        pattern: Pattern,
        room: Bytes,
    ) -> Option<Begun> {
        if let Some(begun) = self.claim(local, id, pattern) {
            return Some(begun);
        }
        if self.keeps_next() {
            self.keep(local, id, pattern);
            return Some(Begun::UnderWay);
        }
        self.post(local, id, pattern, room).then_some(Begun::UnderWay)
    }

    /// Finds the message of a receive in the list, behind those that it has looked at.
    pub(super) fn claim(
        &mut self,
        local: &mut Local,
        id: RequestId,
        pattern: Pattern,
    ) -> Option<Begun> {
        let operation = self.operations.get(id);
        let (searched, taken) = operation.searched;
        let searched = match operation.heard {
            Some(heard) => self.unexpected.since(heard),
            None if taken == self.unexpected.taken => searched,
            // Other receives may have taken messages since.
            None => 0,
        };
        if let Some(index) = self.search(local, pattern, searched) {
            let message = self.unexpected.take(index);
            return Some(self.accept(local, id, message));
        }
        let operation = self.operations.get(id);
        operation.searched = (self.unexpected.len(), self.unexpected.taken);
        if operation.heard.is_some() {
            operation.heard = Some(self.unexpected.next);
        }
        None
    }

    /// Looks for a message in the list, from entry `from` on.
    pub(super) fn search(
        &mut self,
        local: &mut Local,
        pattern: Pattern,
        from: usize,
    ) -> Option<usize> {
        let found = self.unexpected.find(pattern, from);
        let end = found.map_or(self.unexpected.len(), |index| index + 1);
        let entries = (end - from) as u64;
        let time = self.params.unexpected_entry * entries;
        local.charge(time);
        if entries > 0 {
            local.observe(|observer| observer.searched(entries, time));
        }
        found
    }

    /// Posts a receive before the entries that catch the unexpected, unless one of those has just
    /// matched. Where match lists are on the network interface that may turn out later (`overtaken`).
    pub(super) fn post(
        &mut self,
        local: &mut Local,
        id: RequestId,
        pattern: Pattern,
        room: Bytes,
    ) -> bool {
        let options = option::OP_PUT | option::TRUNCATE | option::EVENT_START_DISABLE;
        let md = Md {
            threshold: 1,
            user_ptr: Owner::Operation(id).pack(),
            eq: Some(self.queue_of(id)),
            ..Md::new(room.va, room.length, options)
        };
        let criteria = Criteria {
            match_id: ProcessId::ANY,
            match_bits: pattern.bits,
            ignore_bits: pattern.ignore,
        };
        local.settle();
        let (base, test) = (self.catcher, self.unexpected_queue);
        let (unlink, before) = (Unlink::Unlink, Position::Before);
        match self.ni.post(base, criteria, unlink, before, md, unlink, test) {
            Err(PortalsError::MdNoUpdate) => false,
            posted => {
                let entry = must(local, posted, "PtlMEMDPost").me;
                self.hold(id, Holding::LISTED, true);
                let operation = self.operations.get(id);
                operation.entry = Some(entry);
                if operation.posted.is_none() {
                    operation.posted = Some((pattern, self.overtaken.next_place()));
                }
                // A kept one counts since it is kept.
                if operation.heard.is_none() {
                    let at = local.cpu.now();
                    local.observe(|observer| observer.posted(at));
                }
                true
            }
        }
    }

    /// A receive meets a message of the list.
    pub(super) fn accept(
        &mut self,
        local: &mut Local,
        id: RequestId,
        message: UnexpectedMessage,
    ) -> Begun {
        let at = local.cpu.now();
        local.observe(|observer| observer.claimed(message.id, at));
        self.unkept(local, id);
        let operation = self.operations.get(id);
        operation.open = false;
        operation.found = message.found();
        if message.protocol() != Protocol::Eager {
            self.fetch(local, id, message.initiator, Exposed::unpack(message.hdr_data));
            Begun::UnderWay
        } else if message.complete {
            Begun::Ended(self.take_from_block(local, id, message))
        } else {
            self.unexpected.claim(message, id);
            Begun::UnderWay
        }
    }

    /// Copies a message from its block to where it belongs.
    pub(super) fn take_from_block(
        &mut self,
        local: &mut Local,
        id: RequestId,
        message: UnexpectedMessage,
    ) -> Ending {
        let block = message.block.expect("an eager message lies in a block");
        let room = self.operations.get(id).bytes;
        let from = self.unexpected.blocks[block as usize].va + message.offset;
        let copied = match message.damaged {
            true => Err(damaged()),
            false => local.copy(from, room.va, message.length.min(room.length)),
        };
        self.operations.get(id).error = copied.err();
        if self.unexpected.consumed(block) {
            self.attach_again(local, block);
        }
        self.end_operation(id)
    }

    /// Gets a message from its sender, when there is room.
    pub(super) fn fetch(
        &mut self,
        local: &mut Local,
        id: RequestId,
        from: ProcessId,
        what: Exposed,
    ) {
        let operation = self.operations.get(id);
        operation.open = false;
        operation.found.bytes = what.length;
        if self.admits_fetch(id, from, what) {
            self.start_fetch(local, id, from, what);
        }
    }

    pub(super) fn start_fetch(
        &mut self,
        local: &mut Local,
        id: RequestId,
        from: ProcessId,
        what: Exposed,
    ) {
        let operation = self.operations.get(id);
        // Of bytes that have come and are damaged, none is fetched: that ends the send.
        let room = if operation.error.is_some() { 0 } else { operation.bytes.length };
        let bytes = Bytes { va: operation.bytes.va, length: room.min(what.length) };
        let md = self.bind(local, id, bytes);
        let match_bits = u64::from(what.id);
        let target =
            Target { id: from, pt_index: EXPOSED, ac_index: ACCESS, match_bits, offset: 0 };
        must(local, self.ni.get(md, target), "PtlGet");
    }

    /// Takes back a posted receive. False if a message has already matched it.
    pub(super) fn unpost(&mut self, local: &mut Local, id: RequestId) -> bool {
        let operation = self.operations.get(id);
        let (true, Some(entry)) = (operation.open, operation.entry) else {
            return self.forget_overtaken(local, id);
        };
        local.settle();
        if self.ni.me_unlink(entry).is_err() {
            // A message has it, or it was refused: nothing else takes an entry away.
            self.take_refused(local);
            return self.forget_overtaken(local, id);
        }
        self.end_operation(id);
        let at = local.cpu.now();
        local.observe(|observer| observer.unposted(at));
        true
    }
}
