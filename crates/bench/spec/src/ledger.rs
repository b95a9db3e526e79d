//! The messages of the whole machine: what each is, as its sender meant it, and what has become of it. Nodes
//! meet only here, and what one writes another reads no earlier than a hop of the network later, so that it
//! does not matter on which threads they run.

use crate::types::{Descriptor, Id, Kind, Request, Response};
use crate::verdict::Disagreement;
use abi::wire::SERIAL_SPACE_SHIFT;
use abi::MessageId;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard};

/// Kind of message.
#[derive(Clone, Copy, Debug)]
pub(crate) enum What {
    Request(Request),
    Ack(Response),
    Reply(Response),
}

/// Progress of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    /// Its process has asked for it.
    #[default]
    Called,
    /// The kernel has handed it to the firmware.
    Commanded,
    /// The target's kernel has it.
    Taken,
    /// The target has done with it: it is in memory, or was dropped.
    Done,
}

/// State of a message.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub stage: Stage,
    /// The payload as it was read at the source, so far.
    pub bytes: Vec<u8>,
    /// It travels in the header.
    pub inline: bool,
    /// Its memory could not be read or written.
    pub poisoned: bool,
    /// Its header was sent alone, because there is no payload to be had.
    pub unsent: bool,
    /// The sender's operation has ended.
    pub source_done: bool,
}

/// Facts of a message.
#[derive(Debug)]
pub(crate) struct Facts {
    pub id: MessageId,
    pub what: What,
    pub from: Id,
    pub to: Id,
    /// It goes through the network interface: no kernel copies it.
    pub travels: bool,
    /// Payload bytes.
    pub length: u64,
    /// Places from which the payload is read; empty if it comes out of the kernel.
    pub pieces: Vec<(u64, u64)>,
    /// The initiator's descriptor that an answer is for.
    pub answer_to: Descriptor,
    /// Offset in it at which a reply goes.
    pub local_offset: u64,
    /// Time of the request, in picoseconds.
    pub at: u64,
}

/// A message.
#[derive(Debug)]
pub(crate) struct Message {
    facts: Facts,
    /// It stands in the ledger: answers on the same node do not.
    pub listed: bool,
    state: Mutex<State>,
}

impl Deref for Message {
    type Target = Facts;
    fn deref(&self) -> &Facts {
        &self.facts
    }
}

impl Message {
    pub fn new(facts: Facts) -> Message {
        Message { facts, listed: true, state: Mutex::default() }
    }
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nobody panics while holding a message")
    }
    pub fn request(&self) -> Option<&Request> {
        match &self.what {
            What::Request(request) => Some(request),
            _ => None,
        }
    }
    /// Its kind, length and ends, for people.
    pub fn describe(&self) -> String {
        let name = match &self.what {
            What::Request(request) => request.kind.name(),
            What::Ack(_) => "acknowledgement",
            What::Reply(_) => "reply",
        };
        let MessageId { source_nid, serial } = self.id;
        let ends = |id: Id| format!("process {} on node {}", id.pid, id.nid);
        let bytes = match &self.what {
            What::Request(Request { kind: Kind::Get, length, .. }) => *length,
            _ => self.length,
        };
        format!(
            "message {source_nid}:{serial} ({name}, {bytes} bytes, {} to {})",
            ends(self.from),
            ends(self.to)
        )
    }
}

/// Counters of serials on a node: kernel, libraries, firmware (`abi/seastar`).
const COUNTERS: usize = 1 << (32 - SERIAL_SPACE_SHIFT);

fn counter(serial: u32) -> u32 {
    serial >> SERIAL_SPACE_SHIFT
}

/// The messages of one source node.
#[derive(Debug, Default)]
struct SourceLedger {
    messages: BTreeMap<u32, Arc<Message>>,
    /// By target process, and who counts: serials in the order in which they were asked for, which is that of
    /// their arrival. Of two processes of a node one may be the kernel's, which takes messages when it comes
    /// to it, and one the firmware's.
    ways: HashMap<(Id, u32), VecDeque<u32>>,
    /// The last serial of each who counts.
    last: [u32; COUNTERS],
}

/// The messages of the whole machine.
#[derive(Debug)]
pub struct Ledger {
    sources: Vec<Mutex<SourceLedger>>,
    lossy: bool,
    stalls: bool,
    repeats: bool,
}

/// Why a message cannot be taken.
pub(crate) enum Untakable {
    Unknown,
    Again,
    /// Another one, which was sent before it, has not come.
    Overtook(Arc<Message>),
}

impl Ledger {
    /// The ledger of a machine. `lossy`: messages may be lost or damaged on links.
    pub fn new(nodes: u32, lossy: bool) -> Ledger {
        let sources = (0..nodes).map(|_| Mutex::default()).collect();
        Ledger { sources, lossy, stalls: false, repeats: false }
    }

    /// Nodes of the machine.
    pub fn nodes(&self) -> u32 {
        self.sources.len() as u32
    }

    /// Messages may stay on their way for ever, if `stalls`.
    pub fn with_stalls(self, stalls: bool) -> Ledger {
        Ledger { stalls, ..self }
    }

    /// Network interfaces send again what was refused, if `repeats`: until a sender is told of the end, its
    /// memory may be read more than once.
    pub fn with_repeats(self, repeats: bool) -> Ledger {
        Ledger { repeats, ..self }
    }

    /// Messages may be sent again.
    pub(crate) fn repeats(&self) -> bool {
        self.repeats
    }

    /// Messages may be lost or damaged on links.
    pub fn is_lossy(&self) -> bool {
        self.lossy
    }

    fn source(&self, nid: u32) -> Option<MutexGuard<'_, SourceLedger>> {
        let source = self.sources.get(nid as usize)?;
        Some(source.lock().expect("nobody panics while holding a shelf"))
    }

    /// A message begins. `None` if its id is not new.
    pub(crate) fn begin(&self, facts: Facts) -> Option<Arc<Message>> {
        let mut source = self.source(facts.id.source_nid)?;
        let serial = facts.id.serial;
        let whose = counter(serial);
        let fresh = serial > source.last[whose as usize];
        if !fresh {
            return None;
        }
        source.last[whose as usize] = serial;
        if facts.travels {
            source.ways.entry((facts.to, whose)).or_default().push_back(serial);
        }
        let message = Arc::new(Message::new(facts));
        source.messages.insert(serial, message.clone());
        Some(message)
    }

    /// A message that has begun and not ended at both ends.
    pub(crate) fn find(&self, id: MessageId) -> Option<Arc<Message>> {
        self.source(id.source_nid)?.messages.get(&id.serial).cloned()
    }

    /// Node `nid` has got a message.
    pub(crate) fn take(&self, id: MessageId, nid: u32) -> Result<Arc<Message>, Untakable> {
        let mut source = self.source(id.source_nid).ok_or(Untakable::Unknown)?;
        let message = source.messages.get(&id.serial).cloned();
        let whose = counter(id.serial);
        let to = message.as_ref().map(|message| message.to).filter(|to| to.nid == nid);
        let way = to.map(|to| source.ways.entry((to, whose)).or_default());
        let found = way.and_then(|way| Some((way.iter().position(|own| *own == id.serial)?, way)));
        let Some((at, way)) = found else {
            let again = message.is_some() || source.last[whose as usize] >= id.serial;
            return Err(if again { Untakable::Again } else { Untakable::Unknown });
        };
        if self.lossy {
            way.drain(..=at);
        } else {
            way.remove(at);
        }
        let first = way.front().copied().filter(|_| at > 0 && !self.lossy);
        let message = message.ok_or(Untakable::Unknown)?;
        if let Some(first) = first.and_then(|first| source.messages.get(&first)) {
            return Err(Untakable::Overtook(first.clone()));
        }
        message.state().stage = Stage::Taken;
        Ok(message)
    }

    /// The target has done with a message.
    pub(crate) fn target_done(&self, message: &Message) {
        self.done(message, |state| state.stage = Stage::Done);
    }

    /// The source's operation has ended.
    pub(crate) fn source_done(&self, message: &Message) {
        self.done(message, |state| state.source_done = true);
    }

    fn done(&self, message: &Message, change: impl FnOnce(&mut State)) {
        let source = self.source(message.id.source_nid);
        let mut source = source.expect("the message stands there");
        let mut state = message.state();
        change(&mut state);
        if message.listed && state.source_done && state.stage == Stage::Done {
            source.messages.remove(&message.id.serial);
        }
    }

    /// Nothing moves any more: the messages of which somebody still waits for something.
    pub fn unsettled(&self, now: u64) -> Vec<Disagreement> {
        let mut all = Vec::new();
        if self.lossy || self.stalls {
            return all;
        }
        for source in &self.sources {
            let source = source.lock().expect("nobody panics while holding a shelf");
            all.extend(
                source.messages.values().map(|message| Disagreement::unsettled(message, now)),
            );
        }
        all.sort_by_key(|found| (found.since, found.message));
        all
    }
}
