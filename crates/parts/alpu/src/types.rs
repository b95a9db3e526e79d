//! Inputs and outputs of a unit, and the parameters that both the model and the RTL have.

use std::fmt;

/// Queue of MPI that a unit holds (brightwell2005 s3.1, fig 2a and 2b).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum QueueKind {
    /// Posted receives: each cell stores its own mask, requests (headers) are explicit.
    Posted,
    /// Unexpected messages: cells are explicit, the mask comes with the request (a new receive).
    Unexpected,
}

/// A command of the processor (brightwell2005 table I).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Command {
    /// START INSERT: enter insert mode and say how much is free.
    StartInsert,
    /// INSERT: a new youngest entry.
    Insert(Entry),
    /// STOP INSERT: back to plain matching; a held request is tried for the last time.
    StopInsert,
    /// RESET: the list is empty afterwards.
    Reset,
}

/// One entry of the list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Entry {
    /// The bits to be matched; those above the match width are zero.
    pub bits: u64,
    /// Bits that match anything. Only a posted unit stores them.
    pub mask: u64,
    /// The processor's own word, returned on a match.
    pub tag: u64,
}

/// A header (posted unit) or a new receive (unexpected unit) that looks for its entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Request {
    /// The bits to be matched.
    pub bits: u64,
    /// Bits that match anything. Only an unexpected unit looks at them.
    pub mask: u64,
}

/// Word in the result FIFO (brightwell2005 table II).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Response {
    /// START ACKNOWLEDGE: insert mode is on, this many entries fit.
    StartAcknowledge {
        /// Entries that fit.
        free: u32,
    },
    /// MATCH SUCCESS: the oldest matching entry's tag; the entry is gone.
    MatchSuccess {
        /// The processor's own word.
        tag: u64,
    },
    /// MATCH FAILURE: no entry matches.
    MatchFailure,
}

impl fmt::Display for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Response::StartAcknowledge { free } => write!(f, "start acknowledge, {free} free"),
            Response::MatchSuccess { tag } => write!(f, "match success, tag {tag:#x}"),
            Response::MatchFailure => write!(f, "match failure"),
        }
    }
}

impl QueueKind {
    /// Tells whether `request` finds `entry` in a unit of this kind.
    pub fn matches(self, entry: &Entry, request: &Request) -> bool {
        let any = match self {
            QueueKind::Posted => entry.mask,
            QueueKind::Unexpected => request.mask,
        };
        (entry.bits ^ request.bits) & !any == 0
    }
}
