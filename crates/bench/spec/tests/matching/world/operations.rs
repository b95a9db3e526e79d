//! Operations: messages that come, those that the process sends, and their ends.

use super::{command, Message, Running, World, OWN, QUEUE};
use crate::firmware::{Act, Answer, Differs, Firmware, Wanted};
use abi::seastar::{command_op, entry_result, EntryCommand};
use abi::MessageId;
use spec::{option, Id, Issue, Key, Kind, Request, Response, Role};

impl World {
    fn message(&mut self, nid: u32) -> MessageId {
        self.serial += 1;
        MessageId { source_nid: nid, serial: self.serial }
    }

    pub(super) fn arrive(&mut self, m: &Message, firmware: &mut Firmware) -> Result<(), Differs> {
        let message = self.message(m.from.nid);
        let request = Request {
            kind: m.kind,
            from: m.from,
            uid: m.uid,
            to: OWN,
            portal: m.portal,
            access: m.access,
            bits: m.bits,
            length: m.length.into(),
            offset: m.offset,
            hdr_data: 0,
            ack: false,
            message,
        };
        let grant = self.spec.arrive(&request);
        let visits = self.spec.take_visits() as u32;
        let mut expected = Answer { visits, ..self.state() };
        if let Some(grant) = grant {
            let slot = self.mds.iter().position(|md| *md == grant.md).expect("it is one of them");
            expected.result = 1;
            expected.entry = slot as u32;
            expected.handle = grant.md;
            expected.mlength = grant.mlength as u32;
            expected.offset = grant.offset as u32;
            let key = Key { role: Role::Target, message };
            self.running.push(Running { key, slot, queued: self.eventful(slot) });
        }
        let wanted = Wanted {
            nid: m.from.nid,
            pid: m.from.pid,
            uid: m.uid,
            bits: m.bits,
            offset: m.offset,
            length: m.length,
            option: match m.kind {
                Kind::Put => option::OP_PUT,
                Kind::Get => option::OP_GET,
                Kind::Atomic(_) => option::OP_PUT | option::OP_GET,
            },
            whole: matches!(m.kind, Kind::Atomic(atomic) if atomic != spec::Atomic::Swap),
            portal: m.portal,
            access: m.access,
        };
        firmware.act(Act::Request(wanted), expected)
    }

    pub(super) fn end(&mut self, newest: bool, firmware: &mut Firmware) -> Result<(), Differs> {
        let at = if newest { self.running.len() - 1 } else { 0 };
        let Running { key, slot, queued } = self.running.remove(at);
        assert!(self.spec.complete(key, false), "it is under way");
        match key.role {
            Role::Sender => self.own_events |= queued,
            _ => self.ended += u16::from(queued),
        }
        firmware.act(Act::End(slot), self.state())
    }

    pub(super) fn look(&mut self) {
        while self.spec.take_event(QUEUE).is_some() {}
        self.seen += std::mem::take(&mut self.ended);
        self.acks_seen = self.acks;
        self.own_events = false;
    }

    pub(super) fn send(&mut self, firmware: &mut Firmware) -> Result<(), Differs> {
        let slot = self.first(true).expect("there is one");
        let md = self.mds[slot];
        let message = self.message(OWN.nid);
        let issue = self.issue(md, message);
        let mut result = entry_result::GONE;
        if self.spec.refusals(&issue, 16).is_empty() {
            self.spec.issue(&issue);
            result = entry_result::DONE;
            let queued = self.eventful(slot);
            self.own_events |= queued;
            self.running.push(Running { key: Key { role: Role::Sender, message }, slot, queued });
            let descriptor = self.spec.descriptor(md).expect("it is there");
            self.acks_due.push_back((descriptor, message));
        }
        let command = EntryCommand { handle: md, ..command(command_op::COUNT, slot) };
        firmware.command(&command, Answer { result: result.into(), ..self.state() })
    }

    fn issue(&self, md: u32, message: MessageId) -> Issue {
        let request = Request {
            kind: Kind::Put,
            from: OWN,
            uid: 0,
            to: Id { nid: 1, pid: 5 },
            portal: 0,
            access: 0,
            bits: 0,
            length: 0,
            offset: 0,
            hdr_data: 0,
            ack: true,
            message,
        };
        Issue { request, md, get: None, region: None }
    }

    pub(super) fn ack(&mut self, firmware: &mut Firmware) -> Result<(), Differs> {
        let (md, message) = self.acks_due.pop_front().expect("one is due");
        let there = self.spec.descriptor(md.handle) == Some(md);
        let taken = there && self.spec.refusals(&self.issue(md.handle, message), 16).is_empty();
        let description = self.spec.described(md.handle);
        self.own_events |= taken && description.is_some_and(|md| md.eq.is_some());
        self.spec.ack(&Response {
            from: Id { nid: 1, pid: 5 },
            uid: 0,
            md,
            bits: 0,
            portal: 0,
            mlength: 0,
            offset: 0,
            local_offset: 0,
            message,
        });
        self.acks += 1;
        firmware.act(Act::Ack(md.handle), Answer { result: taken.into(), ..self.state() })
    }
}
