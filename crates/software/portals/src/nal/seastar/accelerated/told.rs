//! Reports to the judge on an accelerated process: the firmware's actions, when it stores the word that
//! announces them, and the library's view, when that word is in memory.

use super::{Accelerated, Call};
use crate::kernel::{wire, Fate, Kernel, ObjectCall, Reaction, Returned, Told};
use crate::library::{EqHandle, Error, EventKind, Grant, MdHandle, NiFail, Operation, Work};
use abi::seastar::{
    entry_result, event_type, header_flag, portals_op, EventLine, PortalsHeader, UpperPending,
    ATOMIC_INLINE_MAX, ENTRY_NONE, EVENT_WHOLE, SERIAL_ACK, SERIAL_SPACE_SHIFT,
};
use abi::MessageId;
use des::Time;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};

/// State from one word to the next.
#[derive(Default)]
pub(super) struct State {
    /// Messages under way, by their pendings.
    under_way: RefCell<BTreeMap<u16, UnderWay>>,
    /// Words of which the judge knows, and which are not in memory: the events that they bring.
    flying: RefCell<VecDeque<Brought>>,
}

/// The event queues that get an event from a word, as the firmware counts them.
#[derive(Clone, Copy, Default)]
enum Brought {
    #[default]
    Nothing,
    Message(EqHandle),
    /// The firmware does not know an acknowledgement's queue.
    Acknowledgement,
}

impl Brought {
    /// True if a post that tests `eq`, and does not know of this, is refused.
    fn refuses(self, eq: EqHandle) -> bool {
        match self {
            Brought::Nothing => false,
            Brought::Message(queue) => queue == eq,
            Brought::Acknowledgement => true,
        }
    }
}

/// A message for which the firmware stores an event.
#[derive(Clone, Copy)]
pub(super) struct Seen {
    /// As the engine left it in SRAM, if the event is the message's first.
    pub header: PortalsHeader,
    /// The event's line.
    pub found: EventLine,
}

/// A message that has further events.
struct UnderWay {
    seen: Seen,
    grant: Option<Grant>,
    /// It is an atomic operation whose operand was damaged.
    damaged: bool,
}

/// True for the event `word` that is the first of a message.
pub(super) fn announces(word: u32) -> bool {
    match (word >> 16) as u16 {
        event_type::RX_HEADER | event_type::RX_GET | event_type::RX_INLINE => true,
        event_type::ERR_RX_CRC => word & 0xffff == EVENT_WHOLE,
        _ => false,
    }
}

/// Host memory around a store of an event word.
pub(super) struct Memory<'a, 'b> {
    /// Reads it as it will be.
    pub look: &'a mut (dyn FnMut(u64, &mut [u8]) + 'b),
    /// Bytes that stores since the last word have gone over, each with their address.
    pub overwritten: &'a [(u64, Vec<u8>)],
}

/// Times of a search.
pub(super) struct Search {
    /// The processor had the header.
    pub since: Time,
    /// It had searched.
    pub until: Time,
    /// It stores the event.
    pub stored: Time,
}

impl Accelerated {
    /// The processor stores the word of an event at `at`. `acks` counts the acknowledgements that the
    /// firmware has sent by itself; `memory` is as it will be when the word is there.
    pub(super) fn posted(
        &self,
        kernel: &Kernel,
        at: Time,
        seen: Seen,
        acks: &Cell<u32>,
        memory: Memory<'_, '_>,
    ) {
        let word = seen.found.word;
        let (kind, index) = ((word >> 16) as u16, word as u16);
        let mut under_way = self.told.under_way.borrow_mut();
        let answers = |seen: &Seen| {
            let reply = MessageId { source_nid: kernel.nid.into(), serial: seen.found.answer };
            kernel.observer.answers(reply, MessageId::from(&seen.header));
        };
        match kind {
            event_type::RX_GET => answers(&seen),
            event_type::RX_COMPLETE | event_type::ERR_RX_CRC => {
                if let Some(operand) = under_way.get(&index).filter(|one| one.seen.is_answered()) {
                    answers(&operand.seen);
                }
            }
            _ => {}
        }
        if matches!(kind, event_type::RX_HEADER | event_type::RX_GET) {
            under_way.insert(index, UnderWay { seen, grant: None, damaged: false });
        }
        if !kernel.listened {
            return;
        }
        let mut brought = Brought::Nothing;
        let teller = Teller { user: self, kernel, at };
        match kind {
            event_type::RESULT => teller.answered(index),
            event_type::TX_COMPLETE | event_type::ERR_TX => {
                let sent = u32::from(index) < u32::from(self.driver.config.tx_pendings);
                let own = if sent { None } else { under_way.remove(&index) };
                let header = match &own {
                    Some(one) => one.seen.header,
                    None => self.sent_header(index, memory.look),
                };
                let unsent = header.flags & header_flag::FAILED != 0;
                let lost = kind == event_type::ERR_TX || unsent;
                let damaged = own.is_some_and(|one| one.damaged);
                let fail = if lost || damaged { NiFail::Fail } else { NiFail::Ok };
                let end = if sent { EventKind::SendEnd } else { end_of(&header) };
                teller.ended(end, MessageId::from(&header), fail);
            }
            _ if announces(word) => {
                let grant = teller.taken(&seen, &mut brought);
                match kind {
                    event_type::RX_INLINE => teller.whole(&seen, grant, NiFail::Ok, acks),
                    event_type::ERR_RX_CRC => teller.whole(&seen, grant, NiFail::Fail, acks),
                    event_type::RX_GET => {
                        if let Some(grant) = grant.filter(|_| seen.is_answered()) {
                            let unread = seen.header.flags & header_flag::FAILED != 0;
                            teller.performed(&seen, &grant, unread, memory);
                        }
                    }
                    _ => {
                        let grant = grant.filter(|_| seen.found.answer != 0);
                        under_way.insert(index, UnderWay { seen, grant, damaged: false });
                    }
                }
            }
            event_type::RX_COMPLETE | event_type::ERR_RX_CRC => {
                let fail = if kind == event_type::RX_COMPLETE { NiFail::Ok } else { NiFail::Fail };
                let Some(mut one) = under_way.remove(&index) else { return };
                let (seen, grant) = (one.seen, one.grant.take());
                if seen.is_answered() {
                    one.damaged = fail == NiFail::Fail;
                    if let Some(grant) = grant {
                        teller.performed(&seen, &grant, one.damaged, memory);
                    }
                    under_way.insert(index, one);
                } else {
                    if let Some(grant) = grant.filter(|_| fail == NiFail::Ok) {
                        teller.acknowledges(&seen.header, &grant, acks);
                    }
                    if u32::from(seen.found.entry) != ENTRY_NONE {
                        teller.ended(end_of(&seen.header), MessageId::from(&seen.header), fail);
                    }
                }
            }
            _ => {}
        }
        self.told.flying.borrow_mut().push_back(brought);
        let slot = self.slot.0;
        kernel.observer.told(at, &Told::Posted { slot });
    }

    /// The processor had a header, has searched the match list for it, and stores the event about it.
    pub(super) fn searched(
        &self,
        kernel: &Kernel,
        search: Search,
        line: &EventLine,
        header: &PortalsHeader,
    ) {
        if announces(line.word) && (line.word >> 16) as u16 != event_type::ERR_RX_CRC {
            let id = MessageId::from(header);
            kernel.observer.searched(id, search.since, search.until);
            kernel.observer.stored(id, search.stored);
        }
    }

    /// A word is in memory: the library may see it, and what it announces.
    pub fn landed(&self, kernel: &Kernel, at: Time) {
        if kernel.listened && self.told.flying.borrow_mut().pop_front().is_some() {
            kernel.observer.told(at, &Told::Landed { slot: self.slot.0 });
        }
        kernel.notice(self.slot);
    }

    /// The header of a message that the library has sent.
    fn sent_header(&self, index: u16, look: &mut dyn FnMut(u64, &mut [u8])) -> PortalsHeader {
        let mut bytes = [0; PortalsHeader::SIZE];
        let at = self.driver.region.pendings + u64::from(index) * UpperPending::SIZE as u64;
        look(at, &mut bytes);
        PortalsHeader::parse(&bytes).expect("its size")
    }

    /// Reports a call to the judge once its command, the next, has been taken: not at all if it is a post
    /// that the firmware will refuse, because a word that the library has not seen brings its queue an event.
    pub(crate) fn tell_later(
        &self,
        kernel: &Kernel,
        call: ObjectCall,
        result: Result<Returned, Error>,
    ) {
        let refused = match call {
            ObjectCall::MeMdPost { test, .. } => {
                self.told.flying.borrow().iter().any(|brought| brought.refuses(test))
            }
            _ => false,
        };
        if kernel.listened && !refused {
            let command = self.written() + 1;
            self.calls.borrow_mut().push_back(Call { command, call, result });
        }
    }

    /// Tells of all calls whose commands have been taken.
    fn tell_calls(&self, kernel: &Kernel, at: Time, taken: u32) {
        loop {
            let mut calls = self.calls.borrow_mut();
            if calls.front().is_none_or(|call| call.command > taken) {
                return;
            }
            let Some(call) = calls.pop_front() else { return };
            drop(calls);
            kernel.observer.told(
                at,
                &Told::Called {
                    slot: self.slot.0,
                    call: call.call,
                    regions: &[],
                    result: call.result,
                },
            );
        }
    }
}

impl Seen {
    /// True for an atomic operation that somebody takes.
    fn is_answered(&self) -> bool {
        self.found.answer != 0 && wire::atomic(&self.header).is_some()
    }
}

/// The END event of what a message does at its target.
fn end_of(header: &PortalsHeader) -> EventKind {
    match header.op {
        _ if wire::atomic(header).is_some() => EventKind::GetPutEnd,
        portals_op::REPLY => EventKind::ReplyEnd,
        portals_op::GET => EventKind::GetEnd,
        _ => EventKind::PutEnd,
    }
}

/// Puts those of the bytes `over`, which stand at `from`, that are in the place of `bytes`, at `at`.
fn overlay(bytes: &mut [u8], at: u64, over: &[u8], from: u64) {
    for (index, byte) in over.iter().enumerate() {
        let span = (from + index as u64).checked_sub(at);
        if let Some(span) = span.and_then(|span| bytes.get_mut(span as usize)) {
            *span = *byte;
        }
    }
}

struct Teller<'a> {
    user: &'a Accelerated,
    kernel: &'a Kernel,
    at: Time,
}

impl Teller<'_> {
    fn tell(&self, told: Told) {
        self.kernel.observer.told(self.at, &told);
    }

    /// The firmware gives the result of the command that the library waits for.
    fn answered(&self, result: u16) {
        // All commands before it have been taken; the library writes none while it waits.
        self.user.tell_calls(self.kernel, self.at, self.user.written());
        let asked = self.user.asking.borrow_mut().take();
        let Some(call) = asked else { return };
        let result = match (call, result) {
            (ObjectCall::MdUpdate { .. }, entry_result::DONE) => Ok(Returned::Unseen),
            (ObjectCall::MdUpdate { .. }, entry_result::GONE) => Err(Error::MdInvalid),
            (ObjectCall::MdUpdate { .. }, _) => Err(Error::MdNoUpdate),
            (_, entry_result::DONE) => Ok(Returned::Nothing),
            (ObjectCall::MdUnlink { .. }, entry_result::GONE) => Err(Error::MdInvalid),
            (ObjectCall::MdUnlink { .. }, _) => Err(Error::MdInUse),
            (_, entry_result::GONE) => Err(Error::MeInvalid),
            _ => Err(Error::MeInUse),
        };
        self.tell(Told::Called { slot: self.user.slot.0, call, regions: &[], result });
    }

    /// A message has been matched or dropped.
    fn taken(&self, seen: &Seen, brought: &mut Brought) -> Option<Grant> {
        let (header, found) = (&seen.header, &seen.found);
        self.user.tell_calls(self.kernel, self.at, found.taken);
        *brought = self.brought(header, found);
        self.forget_refused(*brought);
        let grant = self.grant(header, found);
        let mut work = Work::default();
        work.entries = found.visits.into();
        let fate = Fate::Handed { slot: self.user.slot.0, grant: grant.as_ref(), work };
        self.tell(Told::Taken { header, fate });
        if header.op == portals_op::GET
            && found.answer != 0
            && let Some(grant) = &grant
        {
            let id = MessageId { source_nid: self.kernel.nid.into(), serial: found.answer };
            let mut reply = wire::reply(header, grant, id);
            if grant.mlength == 0 {
                reply.flags |= header_flag::INLINE;
            }
            self.answers(header, &reply, grant.mlength == 0, NiFail::Ok);
        }
        grant
    }

    /// An atomic operation was performed, unless it has `failed`, and its answer is to be sent. `look` reads
    /// host memory as it will be, which stores since the last word have changed from what it was.
    fn performed(&self, seen: &Seen, grant: &Grant, failed: bool, memory: Memory<'_, '_>) {
        let Memory { look, overwritten } = memory;
        let (header, slot) = (&seen.header, self.user.slot.0);
        let fail = if failed { NiFail::Fail } else { NiFail::Ok };
        if !failed {
            let space = self.kernel.space(self.user.slot);
            let (mut found, mut left) = (Vec::new(), Vec::new());
            for piece in grant.span.pieces() {
                for extent in self.user.driver.region.extents(space, piece.start, piece.length) {
                    let mut bytes = vec![0; extent.len as usize];
                    look(extent.phys, &mut bytes);
                    left.extend_from_slice(&bytes);
                    // What was gone over first was there before.
                    for (phys, was) in overwritten.iter().rev() {
                        overlay(&mut bytes, extent.phys, was, *phys);
                    }
                    found.extend_from_slice(&bytes);
                }
            }
            let (found, left) = (&found[..], &left[..]);
            let message = MessageId::from(header);
            self.tell(Told::Performed { slot, message, found, left });
        }
        let id = MessageId { source_nid: self.kernel.nid.into(), serial: seen.found.answer };
        let reply = PortalsHeader { hdr_data: 0, ..wire::reply(header, grant, id) };
        self.answers(header, &reply, failed || grant.mlength <= ATOMIC_INLINE_MAX.into(), fail);
    }

    fn brought(&self, header: &PortalsHeader, found: &EventLine) -> Brought {
        if header.op == portals_op::ACK {
            return Brought::Acknowledgement;
        }
        if u32::from(found.entry) == ENTRY_NONE {
            return Brought::Nothing;
        }
        let md = MdHandle::from_raw(found.handle);
        let look = self.kernel.with(self.user.slot, |interface| interface.look(md)).flatten();
        look.and_then(|look| look.user.eq).map_or(Brought::Nothing, Brought::Message)
    }

    /// Posts whose commands have not been taken, and that test a queue which has got an event, will be
    /// refused: as if they had not been made.
    fn forget_refused(&self, brought: Brought) {
        self.user.calls.borrow_mut().retain(|call| match call.call {
            ObjectCall::MeMdPost { test, .. } => !brought.refuses(test),
            _ => true,
        });
    }

    /// The firmware's grant; the buffer is the library's, whose copy has the descriptor still.
    fn grant(&self, header: &PortalsHeader, found: &EventLine) -> Option<Grant> {
        if u32::from(found.entry) == ENTRY_NONE || header.op == portals_op::ACK {
            return None;
        }
        let (offset, mlength) = (u64::from(found.offset), u64::from(found.mlength));
        let md = MdHandle::from_raw(found.handle);
        let span =
            self.kernel.with(self.user.slot, |interface| interface.part(md, offset, mlength));
        let operation = Operation::seen(md);
        let ack = header.op == portals_op::PUT && found.answer != 0;
        Some(Grant { operation, span: span.flatten()?, offset, mlength, ack })
    }

    /// A message that was whole in its header is done with.
    fn whole(&self, seen: &Seen, grant: Option<Grant>, fail: NiFail, acks: &Cell<u32>) {
        let Some(grant) = grant else { return };
        if grant.ack && fail == NiFail::Ok {
            self.acknowledges(&seen.header, &grant, acks);
        }
        self.ended(end_of(&seen.header), MessageId::from(&seen.header), fail);
    }

    fn acknowledges(&self, put: &PortalsHeader, grant: &Grant, acks: &Cell<u32>) {
        let count = acks.get().wrapping_add(1) & ((1 << SERIAL_SPACE_SHIFT) - 1);
        acks.set(count);
        let serial = SERIAL_ACK << SERIAL_SPACE_SHIFT | count;
        let id = MessageId { source_nid: self.kernel.nid.into(), serial };
        self.answers(put, &wire::ack(put, grant, id), true, NiFail::Ok);
    }

    fn answers(&self, request: &PortalsHeader, header: &PortalsHeader, inline: bool, fail: NiFail) {
        let (slot, request) = (self.user.slot.0, MessageId::from(request));
        let reaction = Reaction::Sent(header);
        self.tell(Told::Answered { slot, request, reaction, fail });
        let (message, failed) = (MessageId::from(header), fail == NiFail::Fail);
        self.tell(Told::Commanded { slot: Some(slot), message, inline, failed });
    }

    fn ended(&self, kind: EventKind, message: MessageId, fail: NiFail) {
        let (slot, work) = (self.user.slot.0, Work::default());
        self.tell(Told::Ended { slot, kind, message, fail, work });
    }
}
