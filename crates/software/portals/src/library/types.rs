//! The values that Portals 3.3 passes around: identifiers, memory descriptors, events, requests.

use super::atomic::Atomic;
use super::handle::{EqHandle, MdHandle};
use abi::MessageId;

/// Node id that matches every node.
pub const NID_ANY: u32 = u32::MAX;
/// Process id that matches every process.
pub const PID_ANY: u32 = u32::MAX;
/// User id that matches every user.
pub const UID_ANY: u32 = u32::MAX;
/// Job id that matches every job.
pub const JID_ANY: u32 = u32::MAX;
/// Portal index that matches every portal, in an access control entry.
pub const PT_INDEX_ANY: u32 = u32::MAX;
/// Threshold of a memory descriptor that never becomes inactive by counting.
pub const THRESH_INF: i32 = -1;

/// Names a process in the machine. `NID_ANY` and `PID_ANY` are wildcards where a pattern is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProcessId {
    /// Node id.
    pub nid: u32,
    /// Process id on the node.
    pub pid: u32,
}

impl ProcessId {
    /// Matches every process of every node.
    pub const ANY: ProcessId = ProcessId { nid: NID_ANY, pid: PID_ANY };

    /// True if this pattern admits `process`.
    pub fn admits(self, process: ProcessId) -> bool {
        (self.nid == NID_ANY || self.nid == process.nid)
            && (self.pid == PID_ANY || self.pid == process.pid)
    }
}

/// Option bits of a memory descriptor (Portals 3.3 s3.10.1).
pub mod option {
    /// Put operations are accepted.
    pub const OP_PUT: u32 = 0x1;
    /// Get operations are accepted.
    pub const OP_GET: u32 = 0x2;
    /// The initiator's offset is used, not the local one.
    pub const MANAGE_REMOTE: u32 = 0x4;
    /// Longer requests are truncated instead of rejected.
    pub const TRUNCATE: u32 = 0x8;
    /// No acknowledgement is ever sent.
    pub const ACK_DISABLE: u32 = 0x10;
    /// `start` points to a list of regions (`ptl_md_iovec_t`), and `length` counts them.
    pub const IOVEC: u32 = 0x20;
    /// Inactive once less than `max_size` bytes are left.
    pub const MAX_SIZE: u32 = 0x40;
    /// No START events.
    pub const EVENT_START_DISABLE: u32 = 0x80;
    /// No END events.
    pub const EVENT_END_DISABLE: u32 = 0x100;
    /// Every bit with a meaning here.
    pub const ALL: u32 = 0x1ff;
}

/// A memory descriptor as a process describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Md {
    /// First byte, an address of the process; with `option::IOVEC` that of a list of regions.
    pub start: u64,
    /// Bytes; with `option::IOVEC` regions.
    pub length: u64,
    /// Operations until it becomes inactive; `THRESH_INF` for no limit.
    pub threshold: i32,
    /// Least room with `option::MAX_SIZE`, in bytes: it becomes inactive once fewer are left.
    pub max_size: u64,
    /// `option` bits.
    pub options: u32,
    /// The process's own word, returned in every event.
    pub user_ptr: u64,
    /// Event queue; `None` if there is none.
    pub eq: Option<EqHandle>,
}

impl Md {
    /// A buffer without event queue, with unlimited threshold and `options`.
    pub fn new(start: u64, length: u64, options: u32) -> Md {
        Md { start, length, threshold: THRESH_INF, max_size: 0, options, user_ptr: 0, eq: None }
    }
}

/// Automatic unlinking of an object (`PTL_UNLINK`, `PTL_RETAIN`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unlink {
    /// It is unlinked once it is used up.
    Unlink,
    /// It stays until it is unlinked by a call.
    Retain,
}

/// Position of a match entry, relative to another or to the whole list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// Position before the base entry; the head of the list.
    Before,
    /// Position after the base entry; the tail of the list.
    After,
}

/// Request of the initiator of a put for an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckRequest {
    /// It does.
    Ack,
    /// It does not.
    NoAck,
}

/// Kinds of events, in the standard's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EventKind {
    /// A get was matched.
    GetStart,
    /// Its reply has left.
    GetEnd,
    /// A put was matched.
    PutStart,
    /// Its data are in memory.
    PutEnd,
    /// An atomic operation was matched.
    GetPutStart,
    /// Its reply has left.
    GetPutEnd,
    /// The reply to a get has begun to arrive.
    ReplyStart,
    /// It is in memory.
    ReplyEnd,
    /// A put was handed to the network interface.
    SendStart,
    /// Its buffer may be used again.
    SendEnd,
    /// The target has acknowledged a put.
    Ack,
    /// A memory descriptor was unlinked because it was used up.
    Unlink,
}

impl EventKind {
    /// All of them, in the standard's order.
    pub const ALL: [EventKind; 12] = [
        EventKind::GetStart,
        EventKind::GetEnd,
        EventKind::PutStart,
        EventKind::PutEnd,
        EventKind::GetPutStart,
        EventKind::GetPutEnd,
        EventKind::ReplyStart,
        EventKind::ReplyEnd,
        EventKind::SendStart,
        EventKind::SendEnd,
        EventKind::Ack,
        EventKind::Unlink,
    ];
}

/// Outcome of an operation (`ptl_ni_fail_t`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NiFail {
    /// Nothing went wrong.
    #[default]
    Ok,
    /// The payload did not survive the way, or could not be stored.
    Fail,
}

/// An entry of an event queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Kind of event.
    pub kind: EventKind,
    /// Process that caused it.
    pub initiator: ProcessId,
    /// User id of the initiator.
    pub uid: u32,
    /// Job id of the initiator.
    pub jid: u32,
    /// Portal that was addressed.
    pub pt_index: u32,
    /// Match bits of the request.
    pub match_bits: u64,
    /// Requested bytes.
    pub rlength: u64,
    /// Bytes that were moved.
    pub mlength: u64,
    /// Offset in the memory descriptor.
    pub offset: u64,
    /// The memory descriptor. Stale once an UNLINK event for it was posted.
    pub md_handle: MdHandle,
    /// The descriptor when the operation had been counted, with its threshold at that time.
    pub md: Md,
    /// The initiator's out-of-band word.
    pub hdr_data: u64,
    /// Sequence number of the START event of the same operation; 0 if there was none.
    pub link: u64,
    /// Number of this event in its queue, from 1.
    pub sequence: u64,
    /// Outcome of the operation.
    pub fail: NiFail,
    /// The wire message that caused the event: for observation only, no part of Portals.
    pub message: MessageId,
}

/// Operations that arrive at a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestKind {
    /// PtlPut.
    Put,
    /// PtlGet.
    Get,
    /// PtlGetPut and its like.
    Atomic(Atomic),
}

/// A request as it arrives at its target: what the wire header says, without its encoding.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// Kind of the request.
    pub kind: RequestKind,
    /// Initiator.
    pub initiator: ProcessId,
    /// User id of the initiator.
    pub uid: u32,
    /// Portal that is addressed.
    pub pt_index: u32,
    /// Access control entry that shall admit it.
    pub ac_index: u32,
    /// Match bits.
    pub match_bits: u64,
    /// Bytes that are sent or wanted.
    pub rlength: u64,
    /// Offset for memory descriptors that are managed remotely.
    pub offset: u64,
    /// Out-of-band word of a put or swap; condition of a compare-and-swap.
    pub hdr_data: u64,
    /// The initiator of a put wants an acknowledgement.
    pub ack: bool,
    /// The wire message.
    pub message: MessageId,
}

/// The answer to a put (ACK), or to a get or atomic operation (REPLY), as it arrives at the initiator.
#[derive(Clone, Copy, Debug)]
pub struct Response {
    /// The former target.
    pub from: ProcessId,
    /// Its user id.
    pub uid: u32,
    /// The initiator's memory descriptor, echoed.
    pub md: MdHandle,
    /// Match bits, echoed.
    pub match_bits: u64,
    /// Portal, echoed.
    pub pt_index: u32,
    /// Bytes that the target moved.
    pub mlength: u64,
    /// Offset that the target used.
    pub offset: u64,
    /// REPLY: where in the initiator's memory descriptor the data go.
    pub local_offset: u64,
    /// The wire message.
    pub message: MessageId,
}

/// Limits of an interface, desired or actual (`ptl_ni_limits_t`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Match entries.
    pub max_mes: u32,
    /// Memory descriptors.
    pub max_mds: u32,
    /// Event queues.
    pub max_eqs: u32,
    /// Greatest index of the access control table.
    pub max_ac_index: u32,
    /// Greatest portal index.
    pub max_pt_index: u32,
    /// Regions of a memory descriptor.
    pub max_md_iovecs: u32,
    /// Match entries in one list.
    pub max_me_list: u32,
    /// Bytes of a PtlGetPut.
    pub max_getput_md: u32,
}

impl Limits {
    /// Limits of a process that requests none.
    pub const DEFAULT: Limits = Limits {
        max_mes: 1 << 16,
        max_mds: 1 << 16,
        max_eqs: 64,
        max_ac_index: 7,
        max_pt_index: 63,
        max_md_iovecs: 16,
        max_me_list: 1 << 16,
        max_getput_md: 64,
    };
}

impl Default for Limits {
    fn default() -> Limits {
        Limits::DEFAULT
    }
}

/// Counters that an interface keeps (`ptl_sr_index_t`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusRegister {
    /// Requests and responses that were dropped.
    DropCount,
    /// Bytes that were dropped with them.
    DropLength,
    /// Messages accepted.
    RecvCount,
    /// Bytes accepted.
    RecvLength,
    /// Messages sent.
    SendCount,
    /// Bytes sent.
    SendLength,
}

/// Work that the library did, for the caller to charge time for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Match entries looked at.
    pub entries: u32,
    /// Events written to event queues.
    pub events: u32,
    /// Events by which queues grew for them.
    pub grown: u32,
    /// Their kinds: bit n stands for the n-th `EventKind`.
    posted: u16,
}

impl Work {
    pub(crate) fn post(&mut self, kind: EventKind) {
        self.events += 1;
        self.posted |= 1 << kind as u32;
    }
    /// The kinds of the events that were written, in the standard's order.
    pub fn posted(self) -> impl Iterator<Item = EventKind> {
        EventKind::ALL.into_iter().filter(move |kind| self.posted & 1 << *kind as u32 != 0)
    }
}

impl std::ops::AddAssign for Work {
    fn add_assign(&mut self, other: Work) {
        self.entries += other.entries;
        self.events += other.events;
        self.grown += other.grown;
        self.posted |= other.posted;
    }
}
