//! A disagreement, for people.

use crate::ledger::{Message, Stage};
use crate::types::Wrong;
use abi::MessageId;
use std::fmt;

/// Library or firmware did what the standard does not say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disagreement {
    /// Node on which it showed.
    pub nid: u32,
    /// Process, if it is one's.
    pub pid: Option<u32>,
    /// Time, in picoseconds of simulated time.
    pub at: u64,
    /// The message, if it is about one.
    pub message: Option<MessageId>,
    /// Time at which the message was requested, in picoseconds.
    pub since: Option<u64>,
    /// Description of the error.
    pub wrong: Wrong,
}

impl Disagreement {
    /// A message that nobody has ended while nothing moves any more.
    pub(crate) fn unsettled(message: &Message, now: u64) -> Disagreement {
        let state = message.state();
        let (nid, pid, got) = match state.stage {
            Stage::Called => (message.from, message.from.pid, "it is still in its kernel"),
            Stage::Commanded => (message.to, message.to.pid, "it never came"),
            Stage::Taken => (message.to, message.to.pid, "it was taken, and never ended"),
            Stage::Done => (message.from, message.from.pid, "it never ended at its sender"),
        };
        let wrong = Wrong {
            clause:
                "Portals 3.3 s2.2 and s3.13: a message is delivered once, or dropped and counted",
            what: format!("fate of {}", message.describe()),
            expected: "that it ends, as everything in the machine stands still".to_owned(),
            got: got.to_owned(),
        };
        Disagreement {
            nid: nid.nid,
            pid: Some(pid),
            at: now,
            message: Some(message.id),
            since: Some(message.at),
            wrong,
        }
    }
}

fn time(ps: u64) -> String {
    format!("{}.{:06} us", ps / 1_000_000, ps % 1_000_000)
}

impl fmt::Display for Disagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Wrong { clause, what, expected, got } = &self.wrong;
        write!(f, "the judge: node {}", self.nid)?;
        if let Some(pid) = self.pid {
            write!(f, ", process {pid}")?;
        }
        write!(f, ", at {}", time(self.at))?;
        if let Some(MessageId { source_nid, serial }) = self.message {
            write!(f, ", message {source_nid}:{serial}")?;
        }
        if let Some(since) = self.since {
            write!(f, " (asked for at {})", time(since))?;
        }
        write!(f, ": {what}: expected {expected}, got {got} [{clause}]")
    }
}
