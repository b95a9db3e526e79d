//! The Portals 3.3 library: match lists, memory descriptors and event queues of a process as a pure state
//! machine. It knows no time, no host and no network interface; it says what it did, so that its caller can
//! charge for it.

mod atomic;
mod deliver;
mod eq;
mod error;
mod handle;
mod md;
mod me;
mod span;
mod table;
mod types;

pub use atomic::Atomic;
pub use deliver::{Delivery, Grant, Issue, Operation, Region};
pub use eq::Next;
pub use error::Error;
pub use handle::{EntryPair, EqHandle, MdHandle, MeHandle, OnPortal};
pub(crate) use md::Accepted;
pub use me::Criteria;
pub use span::{Buffer, IoVec, Pieces, Span};
pub use table::{AccessEntry, Identity, Interface};
pub use types::{
    option, AckRequest, Event, EventKind, Limits, Md, NiFail, Position, ProcessId, Request,
    RequestKind, Response, StatusRegister, Unlink, Work, JID_ANY, NID_ANY, PID_ANY, PT_INDEX_ANY,
    THRESH_INF, UID_ANY,
};
