//! Atomic operations. In generic mode the target's kernel performs them on the process's memory
//! (brightwell2007): a kernel section is atomic, so they are to one another. The operand arrives like a put's
//! payload, but in kernel memory (the second half of the upper pending), and so leaves the answer.

use super::issue::Call;
use super::observe::TracePoint;
use super::tap::{Fate, Told};
use super::wire;
use super::{Kernel, Slot};
use crate::library::{Atomic, Error, Grant, MdHandle, NiFail, ProcessId, RequestKind, Span};
use crate::mutant::{is_mutant, Mutant};
use crate::nal::{Ending, Source, Transmit};
use abi::seastar::PortalsHeader;
use abi::MessageId;
use host::Cpu;

/// Bytes that an atomic operation has at most.
pub(crate) const DATA_MAX: usize = 64;

/// Operand or answer of an atomic operation.
pub type Data = [u8; DATA_MAX];

impl Kernel {
    /// PtlGetPut, PtlCGetPut and PtlGetAdd, in the kernel: `call` names the operand's descriptor, `get` that
    /// of the answer.
    pub(crate) fn atomic(
        &self,
        cpu: &Cpu,
        slot: Slot,
        call: &Call,
        atomic: Atomic,
        get: MdHandle,
    ) -> Result<(), Error> {
        let purpose = (RequestKind::Atomic(atomic), Some(get));
        let to = self.destination(cpu, slot, call, purpose)?;
        let id = self.begin(cpu, slot, call.entered);
        cpu.spend(self.config.costs.api_check);
        self.look(cpu, slot);
        let issue = call.issue(id);
        let started = self.with(slot, |interface| {
            let (grant, work) = interface.start_atomic(atomic, get, call.md, &issue)?;
            Ok((grant, work, interface.identity().id))
        });
        let started = started.expect("the caller has an interface");
        self.tell(cpu, || Told::asked(slot, call, purpose, id, &started));
        let (grant, work, me) = started.inspect_err(|_| self.mark(cpu, id, TracePoint::Refused))?;
        self.begun(cpu, wire::atomic_op(atomic), id, me, call, grant.mlength);
        self.charge_events(cpu, slot, work, id);
        if self.copies(slot, to) {
            self.local_atomic(cpu, slot, me, &Call { md: get, ..*call }, atomic, grant);
            return Ok(());
        }
        let op = wire::atomic_op(atomic);
        let header = wire::issue(op, me.pid as u16, to, &issue, get, grant.mlength);
        self.tell(cpu, || Told::Header { slot: slot.0, header: &header });
        let ending = Some(Ending { slot, operation: grant.operation });
        self.transmit(cpu, Transmit { header, source: Source::Span(grant.span), ending });
        Ok(())
    }

    /// One on a process of this node; `call` names the answer's descriptor.
    fn local_atomic(
        &self,
        cpu: &Cpu,
        slot: Slot,
        me: ProcessId,
        call: &Call,
        atomic: Atomic,
        grant: Grant,
    ) {
        let id = grant.operation.event().message;
        let request = call.request(RequestKind::Atomic(atomic), me, &grant);
        let taker = self.local_deliver(cpu, call.target, &request);
        let mut operand = [0; DATA_MAX];
        let sent = self.fetch(cpu, slot, &grant.span, &mut operand);
        self.end(cpu, Some(Ending { slot, operation: grant.operation }), id, sent);
        let Some((target, taken)) = taker else { return };
        let ending = Some(Ending { slot: target, operation: taken.operation });
        let answer = match sent {
            NiFail::Ok => self.perform(cpu, target, atomic, call.hdr_data, &taken, &operand),
            NiFail::Fail => Err(NiFail::Fail),
        };
        let fail = answer.err().unwrap_or_default();
        let response = call.response(call.target, &taken, id);
        let reply = self.with(slot, |interface| interface.reply(&response));
        let reply = reply.expect("the caller has an interface");
        self.tell_local(cpu, target, id, Fate::of(slot, &reply), fail);
        self.charge_events(cpu, slot, reply.work, id);
        if let Some(span) = reply.grant {
            let stored = answer.map_or(fail, |data| self.store(cpu, slot, &span.span, &data));
            self.end(cpu, Some(Ending { slot, operation: span.operation }), id, stored);
        }
        self.end(cpu, ending, id, fail);
    }

    /// The operand of a request is there, or is lost: performs the operation and sends the reply.
    /// It ends when that has left.
    pub(crate) fn answer_atomic(
        &self,
        cpu: &Cpu,
        slot: Slot,
        header: &PortalsHeader,
        atomic: Atomic,
        grant: Grant,
        operand: Result<Data, NiFail>,
    ) {
        let answer = operand
            .and_then(|operand| self.perform(cpu, slot, atomic, header.hdr_data, &grant, &operand));
        let fail = answer.err().unwrap_or_default();
        let reply = wire::reply(header, &grant, self.next_message());
        // The answer goes to the descriptor's beginning.
        let reply = PortalsHeader { hdr_data: 0, ..reply };
        self.observer.answers(MessageId::from(&reply), MessageId::from(header));
        self.tell_answer(cpu, slot, header, &reply, fail);
        let ending = Some(Ending { slot, operation: grant.operation });
        let source = answer.map_or(Source::Lost, Source::Data);
        self.transmit(cpu, Transmit { header: reply, source, ending });
    }

    /// Performs the operation on the process's memory at `span`, and returns the bytes that were there
    /// before.
    fn perform(
        &self,
        cpu: &Cpu,
        slot: Slot,
        atomic: Atomic,
        condition: u64,
        grant: &Grant,
        operand: &Data,
    ) -> Result<Data, NiFail> {
        let span = &grant.span;
        self.count(|counters| counters.atomics += 1);
        let mut found = [0; DATA_MAX];
        if self.fetch(cpu, slot, span, &mut found) != NiFail::Ok {
            return Err(NiFail::Fail);
        }
        let message = grant.operation.event().message;
        self.tell(cpu, || Told::Performs { slot: slot.0, message });
        let length = span.len() as usize;
        let mut memory = found;
        if atomic.perform(&mut memory[..length], &operand[..length], condition) {
            match self.store(cpu, slot, span, &memory) {
                NiFail::Ok => {}
                fail => return Err(fail),
            }
        }
        Ok(found)
    }

    /// Reads a process's bytes into the beginning of `data`, which is long enough.
    pub(crate) fn fetch(&self, cpu: &Cpu, slot: Slot, span: &Span, data: &mut [u8]) -> NiFail {
        cpu.spend(cpu.copy_cost(span.len()));
        let space = self.space(slot);
        let mut memory = cpu.memory().borrow_mut();
        let mut rest = data;
        for piece in span.pieces() {
            let (part, after) = rest.split_at_mut(piece.length as usize);
            if memory.read(space, piece.start, part).is_err() {
                return NiFail::Fail;
            }
            rest = after;
        }
        NiFail::Ok
    }

    /// Writes the beginning of `data` to a process's bytes.
    pub(crate) fn store(&self, cpu: &Cpu, slot: Slot, span: &Span, data: &[u8]) -> NiFail {
        cpu.spend(cpu.copy_cost(span.len()));
        let space = self.space(slot);
        let mut memory = cpu.memory().borrow_mut();
        let mut rest = data;
        for piece in span.pieces() {
            let (part, after) = rest.split_at(piece.length as usize);
            let stored = memory.write(space, piece.start, part);
            if stored.is_err() || is_mutant(Mutant::StoresInVain) {
                return NiFail::Fail;
            }
            rest = after;
        }
        NiFail::Ok
    }
}
