//! MPI's rules of matching (MPI 5.0 s3), and the judge that holds against them what is told to requests by
//! whatever carries their messages.
//!
//! It sees what a program could see, and no more: which operations begin, in which order, and how each ends.
//! When a message meets a receive is not told, and need not be. Messages of one sender within a context have
//! an order, and so have the receives of a process; who gets which message follows from the two, as far as
//! the endings have said which sender and tag it was:
//!
//! ```text
//! sends ──► inbox of the receiver: messages by context and sender, in their order
//!              │
//! receives ──► standing operations, in theirs ──► settled, once nothing can change which
//! probes                                          message it is: the first that it wants of that sender
//! ```
//!
//! An operation is settled as soon as no older one that still stands could get the first message that it
//! wants. A history is refused if no order of arrival explains it.
//!
//! | module | what |
//! |---|---|
//! | `judge` | one process: operations begun and ended |
//! | `inbox` | what stands between the senders and a process |
//! | `settle` | which message it was, and whether that was right |
//! | `kinds` | datatypes of both sides |
//! | `ledger` | the processes of a run, and what is left of them at its end |
//! | `verdict` | a broken rule, for people |

mod inbox;
mod judge;
mod kinds;
mod ledger;
mod settle;
mod verdict;

#[cfg(test)]
mod tests;

pub use judge::{Judge, Send};
pub use kinds::{Kinds, Mismatch, Seat, Share};
pub use ledger::Ledger;
pub use verdict::Broken;

/// Fields of a message that the rules look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// Messages of different contexts never meet.
    pub context: u16,
    /// Rank of the sender in the communicator.
    pub source: i32,
    /// Tag.
    pub tag: i32,
}

/// The messages that a receive or a probe accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Of this context.
    pub context: u16,
    /// From this rank of the communicator, or from any.
    pub source: Option<i32>,
    /// With this tag, or with any.
    pub tag: Option<i32>,
}

impl Wanted {
    fn accepts(&self, envelope: Envelope) -> bool {
        let Envelope { context, source, tag } = envelope;
        self.context == context
            && self.source.is_none_or(|own| own == source)
            && self.tag.is_none_or(|own| own == tag)
    }
}

/// Memory in which a receive leaves its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// Its first byte.
    pub address: u64,
    /// Bytes of it.
    pub length: u64,
}

/// The message that a receive or a probe says it has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// Rank of the sender in the communicator.
    pub source: i32,
    /// Tag.
    pub tag: i32,
    /// Bytes of the whole message.
    pub bytes: u64,
}

impl Found {
    fn envelope(&self, context: u16) -> Envelope {
        Envelope { context, source: self.source, tag: self.tag }
    }
}

/// Status of a receive, as the program gets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// Rank of the sender.
    pub source: i32,
    /// Tag.
    pub tag: i32,
    /// Bytes received.
    pub bytes: u64,
    /// It ended in an error.
    pub failed: bool,
}

/// Comparisons so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Messages sent.
    pub sent: u64,
    /// Messages received.
    pub received: u64,
    /// Probes.
    pub probes: u64,
    /// Bytes that were sent and received.
    pub bytes: u64,
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.sent += other.sent;
        self.received += other.received;
        self.probes += other.probes;
        self.bytes += other.bytes;
    }
}
