//! Messages, and the operations on them, as a transport and its observers name them.

use crate::datatype::Basic;
use crate::error::Error;
use crate::reduction::op::Op;
use crate::request::RequestId;

/// Condition under which a send completes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Completes when the buffer may be used again.
    Standard,
    /// Completes when, in addition, the receive has started.
    Synchronous,
}

/// Fields of a message that matching looks at, and its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// Messages of different contexts never match: a communicator has one for messages, one for collectives.
    pub context: u16,
    /// Rank of the sender in the communicator.
    pub source: u32,
    /// Tag, from 0 to [`Transport::tag_max`](super::Transport::tag_max).
    pub tag: i32,
    /// Rank of the receiver in the world.
    pub target: u32,
}

/// The messages that a receive or a probe accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Context.
    pub context: u16,
    /// Rank of the sender in the communicator, or MPI_ANY_SOURCE.
    pub source: i32,
    /// Tag, or MPI_ANY_TAG.
    pub tag: i32,
}

/// Bytes in the process's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes {
    /// Address.
    pub va: u64,
    /// Number of bytes.
    pub length: u64,
}

/// Result of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    /// Request of the operation.
    pub id: RequestId,
    /// The message that a receive has got.
    pub found: Found,
    /// Its bytes did not survive; of a send: why they have not left.
    pub error: Option<Error>,
}

/// A message that a receive or a probe has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// Rank of the sender in the communicator.
    pub source: i32,
    /// Tag.
    pub tag: i32,
    /// Bytes of the message, which may be more than a receive has room for.
    pub bytes: u64,
}

impl Found {
    /// Nothing, as a send finds it.
    pub const NOTHING: Found = Found { source: 0, tag: 0, bytes: 0 };
}

/// Outcome of one look for news.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// There was nothing.
    Nothing,
    /// Something has happened that ends no operation.
    Event,
    /// The bytes of a send cannot be read; it ends later, or never.
    Failed(RequestId, Error),
    /// An operation has ended.
    Ended(Ending),
    /// A collective operation has ended on the network interface.
    Collected(RequestId),
}

/// Progress of a receive that was just begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Begun {
    /// It waits for its message, or for the bytes of it.
    UnderWay,
    /// Its message was there.
    Ended(Ending),
    /// Something else came between; to be called again.
    Again(Step),
}

/// A message that a probe has taken for a later receive (MPI_Mprobe), as the transport names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken(pub u64);

/// A step of a process in the collective operations of a group: it tells another one, then awaits a word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupStep {
    /// Rank of the world that is told.
    pub tells: Option<u32>,
    /// Wait until somebody has told this process, and its purpose.
    pub awaits: Awaits,
}

/// Word that a step awaits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Awaits {
    /// Nothing.
    #[default]
    Nothing,
    /// A word; entries of a reduction are combined with this process's.
    Word,
    /// Entries that take the place of this process's.
    Result,
}

/// Entries of a reduction on the network interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entries {
    pub(crate) op: Op,
    pub(crate) basic: Basic,
    /// Address of this process's entries, and of the result.
    pub(crate) va: u64,
    /// Number of entries.
    pub(crate) count: u32,
}
