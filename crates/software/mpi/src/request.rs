//! Requests: operations under way, waiting for them, and the report of a deadlock.

pub(crate) mod point_to_point;
pub(crate) mod table;
pub(crate) mod waiting;

/// Names a request of one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RequestId {
    pub(crate) index: u32,
    pub(crate) generation: u32,
}

impl RequestId {
    /// Bits of a generation: number and kind of what an event belongs to share a word in some transports.
    pub(crate) const GENERATION_MASK: u32 = (1 << 30) - 1;

    /// Place of the request: small, and used again. No two requests at a time have the same.
    pub fn index(self) -> usize {
        self.index as usize
    }

    /// All of it as a number.
    pub fn word(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.index)
    }
}

/// Result of a completed receive or probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// Rank of the sender, or a negative constant.
    pub source: i32,
    /// Tag of the message, or a negative constant.
    pub tag: i32,
    /// Bytes received.
    pub bytes: u64,
    /// The operation was cancelled.
    pub cancelled: bool,
    /// Error class of the operation.
    pub error: i32,
}

impl Status {
    /// Status of an operation that receives nothing: a send, or no operation at all.
    pub const EMPTY: Status = Status {
        source: crate::constant::ANY_SOURCE,
        tag: crate::constant::ANY_TAG,
        bytes: 0,
        cancelled: false,
        error: 0,
    };
    /// Status of a receive from MPI_PROC_NULL.
    pub const PROC_NULL: Status = Status { source: crate::constant::PROC_NULL, ..Status::EMPTY };
}

/// Direction of the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Send,
    Receive,
    /// Neither: a schedule of sends and receives.
    Collective,
}
