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
    /// A write to its place may be another message's: one with bytes in the same place was under way, too.
    ambiguous: bool,
}

/// Bytes that came, and are those of no message for whose place they were. The operation whose they were must
/// end in an error.
pub(crate) struct Stray {
    wrong: Wrong,
    /// Operations that they may have been of.
    suspects: Vec<(usize, Key)>,
}

/// Bytes that were written, as they compare with those of a message.
enum Bytes {
    Right,
    Wrong(Wrong),
    /// The judge of the sender has fallen silent.
    Unknown,
}

impl Coming {
    /// The offset in its payload of `length` bytes at `va`, if they can be written for it now: those behind
    /// what was written, or also those before, if that is ambiguous.
    fn offset(&self, space: u32, va: u64, length: u64) -> Option<u64> {
        if self.space != space {
            return None;
        }
        if is_next(&self.pieces, self.filled, va, length) {
            return Some(self.filled);
        }
        let before = |from: &u64| *from < self.filled;
        self.ambiguous.then(|| offset(&self.pieces, va, length)).flatten().filter(before)
    }

    /// Compares what is written to its place, from byte `from` on.
    fn compare(&self, from: u64, data: &[u8], lossy: bool) -> Bytes {
        let from = from as usize;
        let state = self.message.state();
        let sent = state.bytes.get(from..from + data.len()).unwrap_or_default();
        if lossy && sent.len() < data.len() {
            return Bytes::Unknown;
        }
        if sent == data || state.poisoned {
            return Bytes::Right;
        }
        let odd = sent.iter().zip(data).position(|(a, b)| a != b).unwrap_or(sent.len());
        let byte = |bytes: &[u8]| {
            bytes.get(odd).map_or("nothing".to_owned(), |byte| format!("{byte:#04x}"))
        };
        Bytes::Wrong(Wrong {
            clause: CLAUSE,
            what: format!("byte {} of {}", from + odd, self.message.describe()),
            expected: byte(sent),
            got: byte(data),
        })
    }
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

    /// A DMA engine has written a process's memory. Nobody tells for which message: if it can be for several,
    /// it counts for each whose bytes these are.
    pub fn dma_write(&mut self, at: u64, space: u32, va: u64, data: &[u8]) {
        let length = data.len() as u64;
        let mut takers = self.coming.iter().filter(|one| one.offset(space, va, length).is_some());
        let Some(&Coming { slot, key, ambiguous, .. }) = takers.next() else {
            return self.judge(at, About::default(), |judge| judge.misplaced(va, length));
        };
        self.judge(at, self.about(slot, Some(key.message)), |judge| {
            judge.tally.bytes += length;
            let lossy = judge.ledger.is_lossy();
            let (mut taken, mut wrong, mut suspects) = (false, None, Vec::new());
            for coming in &mut judge.coming {
                let Some(from) = coming.offset(space, va, length) else { continue };
                match coming.compare(from, data, lossy) {
                    Bytes::Unknown => return judge.gives_up(),
                    Bytes::Right => {
                        taken = true;
                        coming.filled = coming.filled.max(from + length);
                    }
                    Bytes::Wrong(why) => {
                        wrong.get_or_insert(why);
                        suspects.push((coming.slot, coming.key));
                    }
                }
                if !ambiguous {
                    break;
                }
            }
            if let Some(wrong) = wrong.filter(|_| !taken) {
                judge.strays(Stray { wrong, suspects }, va, length);
            }
            Ok(())
        });
    }

    /// Bytes of no message came to a place: each that they may have been of has them.
    fn strays(&mut self, stray: Stray, va: u64, length: u64) {
        for coming in &mut self.coming {
            if stray.suspects.contains(&(coming.slot, coming.key)) {
                let from = coming.offset(coming.space, va, length).unwrap_or(coming.filled);
                coming.filled = coming.filled.max(from + length);
            }
        }
        // The first ones tell enough.
        if !self.strays.iter().any(|other| other.suspects == stray.suspects) {
            self.strays.push(stray);
        }
    }

    /// An operation that may have brought strays has ended: in an error, as whoever did must, or not.
    fn is_cleared(&mut self, slot: usize, key: Key, failed: bool) -> Result<(), Wrong> {
        let who = (slot, key);
        self.strays.retain(|stray| !failed || !stray.suspects.contains(&who));
        for stray in &mut self.strays {
            stray.suspects.retain(|suspect| *suspect != who);
        }
        let guilty = self.strays.iter().position(|stray| stray.suspects.is_empty());
        guilty.map_or(Ok(()), |at| Err(self.strays.remove(at).wrong))
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
            self.comes(Coming {
                slot,
                key,
                space: self.space(slot),
                message: message.clone(),
                pieces: grant.pieces.clone(),
                length: grant.mlength,
                filled: 0,
                ambiguous: false,
            });
        }
        let message = message.clone();
        let open =
            Open { message, grant, answer: None, answered: false, found: Vec::new(), left: None };
        self.open.insert((slot, key), open);
    }

    /// A DMA engine is going to write the payload of a message.
    fn comes(&mut self, mut next: Coming) {
        for coming in self.coming.iter_mut().filter(|coming| coming.space == next.space) {
            if overlap(&coming.pieces, &next.pieces) {
                (next.ambiguous, coming.ambiguous) = (true, true);
            }
        }
        self.coming.push(next);
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
            self.is_cleared(slot, key, true)?;
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
        if let Some(Coming { filled, length, message, slot, key, .. }) = coming {
            let what = || format!("bytes in memory when {} ends", message.describe());
            same("Portals 3.3 s3.11 (PUT_END, REPLY_END)", what, &length, &filled)?;
            return self.is_cleared(slot, key, false);
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

#[cfg(test)]
#[path = "payload_tests.rs"]
mod tests;
