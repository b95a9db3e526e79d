//! Portals 3.3 as an executable specification, and the judge that holds library, firmware and DMA engines
//! against it while they run; and, apart from that, the judges of MPI's own rules (`mpi`) and of Directed
//! Point.
//!
//! It shares nothing with what it judges but the ids of messages (`abi::MessageId`): types, matching, event
//! queues and arithmetic are its own, written for clarity alone. It knows no time and no hardware; the
//! times in its reports are those that it is told.
//!
//! ```text
//! process   the specification of one process's interface: what each call returns, who takes what arrives,
//!           which events are posted
//! judge     a node's processes, told the causes and the effects
//! answers   acknowledgements and replies, when they are due
//! failure   which operations may end in an error
//! header    what a message's header must say
//! payload   where the bytes of messages are read and written
//! ledger    the messages of the whole machine: each is delivered once, or dropped
//! mpi       MPI's rules of matching, over whatever carries its messages
//! directed_point  packets of channels, from program to program
//! ```

#![forbid(unsafe_code)]

mod answers;
pub mod directed_point;
mod failure;
mod header;
mod judge;
mod ledger;
pub mod mpi;
mod on_nic;
mod payload;
mod process;
mod tally;
mod types;
mod verdict;

pub use header::{Header, Op};
pub use judge::{Answer, Fate, Judge, Memory};
pub use ledger::Ledger;
pub use process::{Issue, Key, Process, Role};
pub use tally::Tally;
pub use types::{
    option, Access, Atomic, Call, Code, Criteria, Descriptor, Event, EventKind, Grant, Id, Kind,
    Limits, Md, Register, Request, Response, Value, Wrong, ANY,
};
pub use verdict::Disagreement;
