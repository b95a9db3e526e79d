//! Addresses at which payloads are read and written: by the DMA engines, and the contents of memory when an
//! operation ends. A payload is the bytes read at its source, where and when the engine read them; so it
//! does not matter what a program does to memory before or after.

use crate::judge::{read, About, Going, Judge, Open};
use crate::ledger::{Facts, Message, Stage};
use crate::process::Key;
use crate::types::{same, Grant, Kind, Wrong};
use abi::MessageId;
use std::sync::Arc;

const CLAUSE: &str =
    "Portals 3.3 s3.10 and s3.13: the bytes of the message, in the descriptor's place";

/// A payload that a DMA engine writes.
pub(crate) struct Coming {
    slot: usize,
    key: Key,
    space: u32,
    message: Arc<Message>,
    pieces: Vec<(u64, u64)>,
    length: u64,
    filled: u64,
    /// Bytes came that are not those of the message; the operation must end in an error then.
    wrong: Option<Wrong>,
}

/// The address of byte `at` of a place, and how many bytes of its piece are left there.
fn address(pieces: &[(u64, u64)], mut at: u64) -> Option<(u64, u64)> {
    for &(start, length) in pieces {
        if at < length {
            return Some((start + at, length - at));
        }
        at -= length;
    }
    None
}

/// True if `length` bytes at `va` are those from byte `at` of a place on.
fn is_next(pieces: &[(u64, u64)], at: u64, va: u64, length: u64) -> bool {
    address(pieces, at).is_some_and(|(there, left)| there == va && length <= left)
}

/// The offset in a place of `length` bytes at `va`, if they lie in one piece of it.
fn offset(pieces: &[(u64, u64)], va: u64, length: u64) -> Option<u64> {
    let mut at = 0;
    for &(start, whole) in pieces {
        if start <= va && va + length <= start + whole {
            return Some(at + (va - start));
        }
        at += whole;
    }
    None
}

/// True if two places share a byte.
fn overlap(one: &[(u64, u64)], other: &[(u64, u64)]) -> bool {
    let meet = |(a, m): (u64, u64), (b, n): (u64, u64)| a < b + n && b < a + m;
    one.iter().any(|piece| other.iter().any(|with| meet(*piece, *with)))
}

impl Message {
    /// The offset in its payload of `length` bytes at `va`, if they can be read for it now: those behind what
    /// was read, or also those before, if that is `ambiguous`.
    fn offset(&self, va: u64, length: u64, ambiguous: bool) -> Option<u64> {
        let known = self.state().bytes.len() as u64;
        if is_next(&self.pieces, known, va, length) {
            return Some(known);
        }
        let before = |from: &u64| *from < known;
        ambiguous.then(|| offset(&self.pieces, va, length)).flatten().filter(before)
    }

    fn is_read_whole(&self) -> bool {
        self.state().bytes.len() as u64 == self.length
    }

    /// Its bytes from `from` on are read; some of them may have been read before.
    fn is_read(&self, from: u64, length: u64, data: Option<&[u8]>) -> Result<(), Wrong> {
        let mut state = self.state();
        let Some(data) = data else {
            state.poisoned = true;
            let known = state.bytes.len().max((from + length) as usize);
            state.bytes.resize(known, 0);
            return Ok(());
        };
        let known = &state.bytes[from as usize..];
        let (again, more) = data.split_at(known.len().min(data.len()));
        if known[..again.len()] != *again && !state.poisoned {
            return Err(Wrong {
                clause: "Portals 3.3 s3.11: a buffer is not changed before its END",
                what: format!("bytes of {}, sent again", self.describe()),
                expected: "those that were sent first".to_owned(),
                got: format!("others in {length} bytes from byte {from} on"),
            });
        }
        state.bytes.extend_from_slice(more);
        Ok(())
    }

    /// The answer to a request on the same node, with its payload.
    pub(crate) fn local(facts: Facts, bytes: Option<Vec<u8>>) -> Message {
        let mut message = Message::new(facts);
        message.listed = false;
        let mut state = message.state();
        state.poisoned = bytes.is_none();
        state.bytes = bytes.unwrap_or_default();
        (state.stage, state.source_done) = (Stage::Commanded, true);
        drop(state);
        message
    }
}

impl Judge {
    /// The kernel hands a message to the firmware; the payload of one that is not `inline` is read by
    /// DMA, and one that has `failed` has none although it should.
    pub fn commanded(
        &mut self,
        at: u64,
        slot: usize,
        message: MessageId,
        inline: bool,
        failed: bool,
    ) {
        self.judge(at, self.about(slot, Some(message)), |judge| {
            let Some(message) = judge.ledger.find(message) else {
                return Err(Wrong {
                    clause: "Portals 3.3 s2.2: what is sent was asked for",
                    what: "a message for the firmware".to_owned(),
                    expected: "one that somebody asked for".to_owned(),
                    got: format!("{message:?}"),
                });
            };
            {
                let mut state = message.state();
                let stage = std::mem::replace(&mut state.stage, Stage::Commanded);
                let what = || format!("a command for {}", message.describe());
                same("Portals 3.3 s2.2: each message once", what, &Stage::Called, &stage)?;
                state.inline = inline;
            }
            if failed {
                judge.check_failure(slot, &message, &message.pieces)?;
                let mut state = message.state();
                (state.unsent, state.poisoned) = (true, true);
                return Ok(());
            }
            if message.pieces.is_empty() {
                return Ok(());
            }
            if inline || !judge.watched {
                judge.fetch(slot, &message);
            } else {
                judge.goes(judge.space(slot), message);
            }
            Ok(())
        })
    }

    /// A DMA engine is going to read the payload of a message.
    fn goes(&mut self, space: u32, message: Arc<Message>) {
        let mut ambiguous = self.ledger.repeats();
        for going in self.going.iter_mut().filter(|going| going.space == space) {
            if overlap(&going.message.pieces, &message.pieces) {
                (ambiguous, going.ambiguous) = (true, true);
            }
        }
        self.going.push_back(Going { space, message, ambiguous });
    }

    /// The kernel reads a payload now.
    pub(crate) fn fetch(&mut self, slot: usize, message: &Message) {
        let bytes = read(&*self.memory, self.space(slot), &message.pieces);
        let mut state = message.state();
        state.poisoned |= bytes.is_none();
        state.bytes = bytes.unwrap_or_default();
    }

    /// A DMA engine has read a process's memory; `None`: it is not there. Nobody tells for which message: if
    /// it can be for several, it counts for each.
    pub fn dma_read(&mut self, at: u64, space: u32, va: u64, length: u64, data: Option<&[u8]>) {
        self.judge(at, About::default(), |judge| {
            let (mut counted, mut wrong) = (None, None);
            for (index, going) in judge.going.iter().enumerate() {
                let from = going.message.offset(va, length, going.ambiguous);
                let Some(from) = from.filter(|_| going.space == space) else { continue };
                match going.message.is_read(from, length, data) {
                    Ok(()) => counted = Some(index),
                    Err(why) => wrong = Some(why),
                }
                if !going.ambiguous {
                    break;
                }
            }
            let Some(index) = counted else {
                return Err(wrong.unwrap_or_else(|| Wrong {
                    clause: CLAUSE,
                    what: "memory that the network interface reads".to_owned(),
                    expected: "the next bytes of a message that is being sent".to_owned(),
                    got: format!("{length} bytes at {va:#x}"),
                }));
            };
            let Going { message, ambiguous, .. } = &judge.going[index];
            if !ambiguous && message.is_read_whole() {
                judge.going.remove(index);
            }
            Ok(())
        })
    }

    /// A DMA engine has written a process's memory.
    pub fn dma_write(&mut self, at: u64, space: u32, va: u64, data: &[u8]) {
        let length = data.len() as u64;
        let found = self.coming.iter().position(|coming| {
            coming.space == space && is_next(&coming.pieces, coming.filled, va, length)
        });
        let about = match found {
            Some(found) => {
                self.about(self.coming[found].slot, Some(self.coming[found].key.message))
            }
            None => About::default(),
        };
        self.judge(at, about, |judge| {
            let Some(found) = found else { return judge.misplaced(va, length) };
            let lossy = judge.ledger.is_lossy();
            let coming = &mut judge.coming[found];
            let from = coming.filled as usize;
            coming.filled += length;
            judge.tally.bytes += length;
            let state = coming.message.state();
            let sent = state.bytes.get(from..from + data.len()).unwrap_or_default();
            if lossy && sent.len() < data.len() {
                // The judge of the sender has fallen silent.
                drop(state);
                return judge.gives_up();
            }
            if coming.wrong.is_none() && sent != data && !state.poisoned {
                let odd = sent.iter().zip(data).position(|(a, b)| a != b).unwrap_or(sent.len());
                let byte = |bytes: &[u8]| {
                    bytes.get(odd).map_or("nothing".to_owned(), |byte| format!("{byte:#04x}"))
                };
                coming.wrong = Some(Wrong {
                    clause: CLAUSE,
                    what: format!("byte {} of {}", from + odd, coming.message.describe()),
                    expected: byte(sent),
                    got: byte(data),
                });
            }
            Ok(())
        })
    }

    fn misplaced(&mut self, va: u64, length: u64) -> Result<(), Wrong> {
        if self.ledger.is_lossy() {
            return self.gives_up();
        }
        let waiting = self.coming.iter().find(|coming| coming.filled < coming.length);
        let expected = match waiting {
            Some(Coming { message, pieces, filled, .. }) => {
                let next = address(pieces, *filled).map_or(0, |(va, _)| va);
                format!("byte {filled} of {} at {next:#x}", message.describe())
            }
            None => "none: no payload is expected".to_owned(),
        };
        Err(Wrong {
            clause: CLAUSE,
            what: "memory that the network interface writes".to_owned(),
            expected,
            got: format!("{length} bytes at {va:#x}"),
        })
    }

    /// A process takes a message.
    pub(crate) fn open(&mut self, slot: usize, key: Key, message: &Arc<Message>, grant: Grant) {
        // An atomic operation's operand goes to the kernel.
        let operand =
            matches!(message.request().map(|r| r.kind), Some(Kind::Atomic(_) | Kind::Get));
        let local = message.from.nid == self.nid && !message.travels;
        if local && read(&*self.memory, self.space(slot), &grant.pieces).is_none() {
            message.state().poisoned = true;
        }
        let inline = message.state().inline || local;
        if self.watched && !inline && !operand && grant.mlength > 0 {
            self.coming.push(Coming {
                slot,
                key,
                space: self.space(slot),
                message: message.clone(),
                pieces: grant.pieces.clone(),
                length: grant.mlength,
                filled: 0,
                wrong: None,
            });
        }
        let message = message.clone();
        let open =
            Open { message, grant, answer: None, answered: false, found: Vec::new(), left: None };
        self.open.insert((slot, key), open);
    }

    /// The operation of a message's sender has ended.
    pub(crate) fn left(&mut self, slot: usize, id: MessageId, failed: bool) -> Result<(), Wrong> {
        let Some(message) = self.ledger.find(id) else { return Ok(()) };
        self.sent_whole(slot, &message, failed)?;
        self.ledger.source_done(&message);
        Ok(())
    }

    /// A message has left, or could not.
    fn sent_whole(&mut self, slot: usize, message: &Message, failed: bool) -> Result<(), Wrong> {
        let (stage, read, poisoned) = {
            let state = message.state();
            (state.stage, state.bytes.len() as u64, state.poisoned)
        };
        self.going.retain(|going| going.message.id != message.id);
        if failed {
            return self.check_failure(slot, message, &message.pieces);
        }
        let what = |what: &str| format!("{what} of {} when its sending ends", message.describe());
        let left = stage != Stage::Called;
        same("Portals 3.3 s3.11 (SEND_END)", || what("departure"), &true, &left)?;
        if poisoned {
            return Ok(());
        }
        let clause = "Portals 3.3 s3.11: END of a sender says that its buffer may be used again";
        same(clause, || what("bytes read"), &message.length, &read)
    }

    /// The operation of a message's taker has ended.
    pub(crate) fn arrived(&mut self, slot: usize, key: Key, failed: bool) -> Result<(), Wrong> {
        let Some(open) = self.open.remove(&(slot, key)) else { return Ok(()) };
        let at = self.coming.iter().position(|coming| (coming.slot, coming.key) == (slot, key));
        let coming = at.map(|at| self.coming.remove(at));
        let kind = open.message.request().map(|request| request.kind);
        let answer_due = match kind {
            Some(Kind::Put) => open.grant.ack && !failed,
            Some(_) => true,
            None => false,
        };
        let what = || format!("answer to {} before it ends", open.message.describe());
        let clause = "Portals 3.3 s3.13 (acknowledgements and replies)";
        same(clause, what, &answer_due, &open.answered)?;
        if failed {
            self.check_failure(slot, &open.message, &open.grant.pieces)?;
        } else if matches!(kind, Some(Kind::Put) | None) {
            self.is_there(slot, &open, coming)?;
        }
        if let Some(reply) = &open.answer {
            self.sent_whole(slot, reply, failed)?;
            self.ledger.source_done(reply);
        }
        self.ledger.target_done(&open.message);
        Ok(())
    }

    /// The payload of a put or reply is where it should be.
    fn is_there(&mut self, slot: usize, open: &Open, coming: Option<Coming>) -> Result<(), Wrong> {
        if open.message.state().unsent {
            let what = || format!("ni_fail_type of {}", open.message.describe());
            same("Portals 3.3 s3.11 (ni_fail_type)", what, &"PTL_NI_FAIL", &"PTL_NI_OK")?;
        }
        if let Some(Coming { filled, length, wrong, message, .. }) = coming {
            let what = || format!("bytes in memory when {} ends", message.describe());
            same("Portals 3.3 s3.11 (PUT_END, REPLY_END)", what, &length, &filled)?;
            return wrong.map_or(Ok(()), Err);
        }
        let Some(there) = read(&*self.memory, self.space(slot), &open.grant.pieces) else {
            return Ok(());
        };
        self.tally.bytes += there.len() as u64;
        let state = open.message.state();
        if state.poisoned {
            return Ok(());
        }
        if self.ledger.is_lossy() && state.bytes.len() < there.len() {
            drop(state);
            return self.gives_up();
        }
        let sent = state.bytes.get(..there.len()).unwrap_or(&state.bytes);
        let what = || format!("payload of {}", open.message.describe());
        same(CLAUSE, what, &sent, &&there[..])
    }
}
