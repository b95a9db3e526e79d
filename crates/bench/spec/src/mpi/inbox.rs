//! Messages and operations between the senders and a process: messages that nobody has got yet, by context
//! and sender, and operations that have not been settled, in the order in which they were begun.

use super::verdict::time;
use super::{Buffer, Envelope, Found, Kinds, Tally, Wanted};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex};

/// A message, as its sender meant it.
#[derive(Clone, Debug)]
pub(super) struct Message {
    /// Its place among those of its sender to this process, from 1.
    pub number: u64,
    /// Ranks in the world.
    pub from: u32,
    pub to: u32,
    pub envelope: Envelope,
    pub length: u64,
    /// As they stood when the send began; `None` if they could not be read.
    pub bytes: Option<Vec<u8>>,
    /// The sender's items, if they are known.
    pub kinds: Option<Kinds>,
    pub at: u64,
    /// Of a synchronous send.
    pub meeting: Option<Arc<Mutex<Meeting>>>,
    /// The number of the probe that has found it.
    pub seen: Option<u64>,
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Message { number, from, to, length, envelope, at, .. } = self;
        let Envelope { context, tag, .. } = envelope;
        let at = time(*at);
        write!(
            f,
            "message {number} of rank {from} to rank {to} (tag {tag}, {length} bytes, context \
             {context}, sent at {at})"
        )
    }
}

/// A synchronous send and its receive.
#[derive(Debug, Default)]
pub(super) struct Meeting {
    /// Time at which the receive that got the message had begun.
    pub begun: Option<u64>,
    /// Time at which the send ended.
    pub ended: Option<u64>,
}

impl Meeting {
    /// True if the send is known to have ended before its receive began.
    pub fn is_wrong(&self) -> bool {
        matches!((self.begun, self.ended), (Some(begun), Some(ended)) if ended < begun)
    }
}

/// Use of the message by an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Gets it.
    Receive {
        /// Name of the operation.
        id: u64,
        room: Buffer,
    },
    /// Looks at it.
    Probe,
    /// Keeps it for a receive that names it.
    Take(u64),
}

/// Why an operation must have had its message at a time.
#[derive(Clone, Debug)]
pub(super) enum Because {
    /// A younger operation has found this message, which it wanted, too.
    Passed(Found),
    /// It could not be cancelled.
    Kept,
}

/// An operation that has not been settled.
#[derive(Clone, Debug)]
pub(super) struct Unsettled {
    pub wanted: Wanted,
    pub role: Role,
    /// Time at which it began.
    pub at: u64,
    /// It must have had its message by then.
    pub met: Option<(u64, Because)>,
    pub ended: Option<Ended>,
}

/// End of an operation.
#[derive(Clone, Debug)]
pub(super) struct Ended {
    pub at: u64,
    pub found: Found,
    /// Contents of its buffer; `None` if it cannot be read, or nobody says that it is right.
    pub bytes: Option<Vec<u8>>,
    /// The receiver's items that it has filled, if they are known.
    pub kinds: Option<Kinds>,
}

impl fmt::Display for Unsettled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let noun = match self.role {
            Role::Receive { .. } => "receive",
            Role::Probe => "probe",
            Role::Take(_) => "matching probe",
        };
        let Wanted { context, source, tag } = self.wanted;
        let any = |what: &str, number: Option<i32>| {
            number.map_or_else(|| format!("any {what}"), |number| format!("{what} {number}"))
        };
        let (source, tag, at) = (any("source", source), any("tag", tag), time(self.at));
        write!(f, "the {noun} begun at {at} ({source}, {tag}, context {context})")
    }
}

/// A message that was taken, or is about to be known.
#[derive(Debug)]
pub(super) enum Kept {
    /// Its probe has not been settled.
    Unknown,
    /// This one.
    Known(Message),
}

/// Messages and operations before a process.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    /// By context and sender's rank there.
    pub ways: BTreeMap<(u16, i32), VecDeque<Message>>,
    /// Messages so far, by the sender's rank in the world.
    pub counts: HashMap<u32, u64>,
    /// Operations by number.
    pub unsettled: BTreeMap<u64, Unsettled>,
    /// The number of the next.
    pub next: u64,
    /// The number of the receive with this name.
    pub receives: HashMap<u64, u64>,
    /// Receives of taken messages: the message's name, and the buffer.
    pub claims: HashMap<u64, (u64, Buffer)>,
    /// Messages that were taken and not received.
    pub kept: HashMap<u64, Kept>,
    /// Receives of taken messages that ended before their probe was settled.
    pub early: HashMap<u64, Ended>,
    /// The last message that was received from each sender of a context.
    pub last: BTreeMap<(u16, i32), String>,
    pub tally: Tally,
}

impl Inbox {
    /// An operation begins; its number.
    pub fn begin(&mut self, unsettled: Unsettled) -> u64 {
        let number = self.next;
        self.next += 1;
        self.unsettled.insert(number, unsettled);
        number
    }

    /// True if an operation older than `number` may still be the one that gets a message.
    pub fn is_disputed(&self, number: u64, envelope: Envelope) -> bool {
        self.unsettled.range(..number).any(|(_, older)| {
            let elsewhere = |ended: &Ended| ended.found.source != envelope.source;
            !older.ended.as_ref().is_some_and(elsewhere) && older.wanted.accepts(envelope)
        })
    }

    /// The first message that an ended operation wants, with its place: on the way from the sender that it
    /// names, sent by the time of its end.
    pub fn due(&self, unsettled: &Unsettled, ended: &Ended) -> Option<(usize, &Message)> {
        let messages = self.ways.get(&(unsettled.wanted.context, ended.found.source))?;
        let wants = |message: &Message| {
            message.at <= ended.at && unsettled.wanted.accepts(message.envelope)
        };
        messages.iter().enumerate().find(|(_, message)| wants(message))
    }

    /// A message is found while older receives stand that want it: those must have met theirs.
    pub fn pass(&mut self, number: u64, context: u16, found: Found, at: u64) {
        let envelope = found.envelope(context);
        for (_, older) in self.unsettled.range_mut(..number) {
            let open = older.ended.is_none() && older.met.is_none();
            if open && older.wanted.accepts(envelope) {
                older.met = Some((at, Because::Passed(found)));
            }
        }
    }

    /// A message that a probe has found, that nobody can have got since, and that `wanted` accepts.
    pub fn seen(&self, wanted: &Wanted) -> Option<&Message> {
        let ways = self.ways.iter().filter(|((context, _), _)| *context == wanted.context);
        let mut seen = ways.flat_map(|(_, way)| way).filter(|message| message.seen.is_some());
        seen.find(|message| {
            let since = message.seen.expect("only those are looked at");
            let mut younger = self.unsettled.range(since..).map(|(_, unsettled)| unsettled);
            wanted.accepts(message.envelope)
                && !younger.any(|other| {
                    other.role != Role::Probe && other.wanted.accepts(message.envelope)
                })
        })
    }
}
