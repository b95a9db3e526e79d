//! Acknowledgements and replies: each exactly when it is due (Portals 3.3 s3.13).

use crate::header::check_header;
use crate::judge::{read, Answer, Judge};
use crate::ledger::{Facts, Message, What};
use crate::process::{Key, Role};
use crate::types::{same, Atomic, Grant, Kind, Response, Wrong};
use abi::MessageId;
use std::sync::Arc;

impl Judge {
    /// The kernel begins an atomic operation on a process's memory, which is as it has been.
    pub fn performs(&mut self, at: u64, slot: usize, message: MessageId) {
        self.judge(at, self.about(slot, Some(message)), |judge| {
            let space = judge.space(slot);
            let key = (slot, Key { role: Role::Target, message });
            if let Some(open) = judge.open.get_mut(&key) {
                open.found = read(&*judge.memory, space, &open.grant.pieces).unwrap_or_default();
            }
            Ok(())
        })
    }

    /// The firmware has performed one: it `found` these bytes, and memory will have those that it `left`.
    pub fn performed(
        &mut self,
        at: u64,
        slot: usize,
        message: MessageId,
        found: &[u8],
        left: &[u8],
    ) {
        self.judge(at, self.about(slot, Some(message)), |judge| {
            let key = (slot, Key { role: Role::Target, message });
            if let Some(open) = judge.open.get_mut(&key) {
                (open.found, open.left) = (found.to_vec(), Some(left.to_vec()));
            }
            Ok(())
        })
    }

    /// The process in `slot` answers a request, perhaps that it `failed`.
    pub fn answered(
        &mut self,
        at: u64,
        slot: usize,
        request: MessageId,
        answer: &Answer,
        failed: bool,
    ) {
        let about = self.about(slot, Some(request));
        self.judge(at, about, |judge| judge.answer(at, slot, request, answer, failed))
    }

    fn answer(
        &mut self,
        at: u64,
        slot: usize,
        request: MessageId,
        answer: &Answer,
        failed: bool,
    ) -> Result<(), Wrong> {
        const CLAUSE: &str = "Portals 3.3 s3.13 (acknowledgements and replies)";
        let key = (slot, Key { role: Role::Target, message: request });
        let not_due = |got: &str| Wrong {
            clause: CLAUSE,
            what: "answer to a request".to_owned(),
            expected: "none: none is due".to_owned(),
            got: got.to_owned(),
        };
        let uid = self.process(slot)?.uid();
        let open = self.open.get_mut(&key).ok_or_else(|| not_due("one"))?;
        let asked = *open.message.request().expect("only requests are answered");
        let put = asked.kind == Kind::Put;
        if std::mem::replace(&mut open.answered, true) || (put && !open.grant.ack) {
            return Err(not_due(if put { "an acknowledgement" } else { "a reply" }));
        }
        let message = open.message.clone();
        let response = Response {
            from: asked.to,
            uid,
            md: message.answer_to,
            bits: asked.bits,
            portal: asked.portal,
            mlength: open.grant.mlength,
            offset: open.grant.offset,
            local_offset: message.local_offset,
            message: match answer {
                Answer::Sent(header) => header.message,
                Answer::Local(_) => request,
            },
        };
        let what = if put { What::Ack(response) } else { What::Reply(response) };
        let pieces = match asked.kind {
            Kind::Get => open.grant.pieces.clone(),
            _ => Vec::new(),
        };
        let (found, left) = (std::mem::take(&mut open.found), open.left.take());
        let grant = open.grant.clone();
        if failed {
            self.check_failure(slot, &message, &grant.pieces)?;
            message.state().poisoned = true;
        } else if let Kind::Atomic(atomic) = asked.kind {
            self.check_memory(slot, atomic, &message, &grant, &found, left)?;
        }
        let facts = Facts {
            id: response.message,
            what,
            from: asked.to,
            to: asked.from,
            travels: matches!(answer, Answer::Sent(_)),
            length: if put { 0 } else { grant.mlength },
            pieces,
            answer_to: message.answer_to,
            local_offset: message.local_offset,
            at,
        };
        match answer {
            Answer::Sent(header) => {
                let reply = self.begin(facts)?;
                check_header(&reply, header, "header of the answer")?;
                reply.state().bytes = found;
                reply.state().poisoned = failed;
                if put {
                    reply.state().source_done = true;
                } else if let Some(open) = self.open.get_mut(&key) {
                    open.answer = Some(reply);
                }
                Ok(())
            }
            Answer::Local(fate) => {
                let pieces = (asked.kind == Kind::Get).then_some(&grant.pieces[..]);
                let bytes = match pieces {
                    Some(pieces) => read(&*self.memory, self.space(slot), pieces),
                    None => (!failed).then_some(found),
                };
                let reply = Message::local(facts, bytes);
                self.hand(&Arc::new(reply), fate)
            }
        }
    }

    /// An atomic operation has left what it should.
    fn check_memory(
        &mut self,
        slot: usize,
        atomic: Atomic,
        message: &Message,
        grant: &Grant,
        found: &[u8],
        left: Option<Vec<u8>>,
    ) -> Result<(), Wrong> {
        let now = left.or_else(|| read(&*self.memory, self.space(slot), &grant.pieces));
        let Some(now) = now else { return Ok(()) };
        let request = message.request().expect("atomic operations are requests");
        let state = message.state();
        let Some(operand) = state.bytes.get(..grant.mlength as usize) else { return Ok(()) };
        if found.len() != operand.len() {
            return Ok(());
        }
        let expected = atomic.result(found, operand, request.hdr_data);
        let what = || format!("memory after the {}", message.describe());
        same("Portals 3.3 s3.13 (PtlGetPut); brightwell2007", what, &expected, &now)
    }
}
