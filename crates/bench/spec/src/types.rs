//! The words of Portals 3.3 as the specification uses them. They are its own: nothing here is shared with
//! what is judged.

use abi::MessageId;

/// A wildcard for node, process, user, job and portal ids.
pub const ANY: u32 = u32::MAX;

/// A return code other than `PTL_OK`, by the standard's name.
pub type Code = &'static str;

/// A process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id {
    /// Node.
    pub nid: u32,
    /// Process on it.
    pub pid: u32,
}

impl Id {
    /// True if this pattern, which may have wildcards, admits `id`.
    pub fn admits(self, id: Id) -> bool {
        (self.nid == ANY || self.nid == id.nid) && (self.pid == ANY || self.pid == id.pid)
    }
}

/// Options of a memory descriptor (s3.10.1).
pub mod option {
    /// Takes puts.
    pub const OP_PUT: u32 = 1 << 0;
    /// Takes gets.
    pub const OP_GET: u32 = 1 << 1;
    /// The initiator says where.
    pub const MANAGE_REMOTE: u32 = 1 << 2;
    /// Takes a part of what is too long.
    pub const TRUNCATE: u32 = 1 << 3;
    /// Never acknowledges.
    pub const ACK_DISABLE: u32 = 1 << 4;
    /// Consists of regions.
    pub const IOVEC: u32 = 1 << 5;
    /// Is used up when less than `max_size` is left.
    pub const MAX_SIZE: u32 = 1 << 6;
    /// No START events.
    pub const START_DISABLE: u32 = 1 << 7;
    /// No END events.
    pub const END_DISABLE: u32 = 1 << 8;
    /// All of them.
    pub const ALL: u32 = (1 << 9) - 1;
}

/// A memory descriptor as a process describes it (s3.10.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Md {
    /// First byte, or address of the list of regions.
    pub start: u64,
    /// Bytes, or regions.
    pub length: u64,
    /// Operations that it takes part in; -1: any number.
    pub threshold: i32,
    /// See `option::MAX_SIZE`.
    pub max_size: u64,
    /// Bits of [`option`].
    pub options: u32,
    /// The process's own word.
    pub user_ptr: u64,
    /// Its event queue's handle.
    pub eq: Option<u32>,
    /// Its regions with `option::IOVEC`: address and length. The list that the call brought.
    pub regions: Vec<(u64, u64)>,
}

/// Messages that a match entry accepts (s3.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Criteria {
    /// Initiators; wildcards allowed.
    pub from: Id,
    /// Match bits.
    pub bits: u64,
    /// Bits that are not compared.
    pub ignore: u64,
}

/// An access control entry (s3.12).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Initiators.
    pub from: Id,
    /// Their user.
    pub uid: u32,
    /// Their job.
    pub jid: u32,
    /// Portal.
    pub portal: u32,
}

/// Limits of an interface (s3.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // The standard's own names.
pub struct Limits {
    pub max_mes: u32,
    pub max_mds: u32,
    pub max_eqs: u32,
    pub max_ac_index: u32,
    pub max_pt_index: u32,
    pub max_md_iovecs: u32,
    pub max_me_list: u32,
    pub max_getput_md: u32,
}

/// Kinds of events (s3.11), in the standard's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)] // The standard's own names.
pub enum EventKind {
    GetStart,
    GetEnd,
    PutStart,
    PutEnd,
    GetPutStart,
    GetPutEnd,
    ReplyStart,
    ReplyEnd,
    SendStart,
    SendEnd,
    Ack,
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

/// An event (s3.11).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Kind of event.
    pub kind: EventKind,
    /// Process that caused it.
    pub initiator: Id,
    /// User of the initiator.
    pub uid: u32,
    /// Job of the initiator.
    pub jid: u32,
    /// Portal.
    pub portal: u32,
    /// Match bits.
    pub bits: u64,
    /// Bytes asked for.
    pub rlength: u64,
    /// Bytes moved.
    pub mlength: u64,
    /// Offset in the descriptor.
    pub offset: u64,
    /// The descriptor's handle.
    pub md_handle: u32,
    /// The descriptor; `regions` is not told.
    pub md: Md,
    /// Out-of-band word.
    pub hdr_data: u64,
    /// Sequence of the START event; 0 if there was none.
    pub link: u64,
    /// Number in its queue, from 1.
    pub sequence: u64,
    /// The operation failed.
    pub failed: bool,
}

/// Atomic operations (s3.13; the second and third are Cray's, brightwell2007).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Atomic {
    /// PtlGetPut.
    Swap,
    /// PtlCGetPut.
    CompareSwap,
    /// PtlGetAdd.
    Add,
}

impl Atomic {
    /// True if an operand of `length` bytes is legal.
    pub fn takes(self, length: u64, max: u32) -> bool {
        let whole = self == Atomic::Swap || length == 4 || length == 8;
        whole && length <= max.into()
    }

    /// Contents of memory after the operation.
    pub fn result(self, found: &[u8], operand: &[u8], condition: u64) -> Vec<u8> {
        let number =
            |bytes: &[u8]| bytes.iter().rev().fold(0u64, |sum, byte| sum << 8 | u64::from(*byte));
        let mask = |value: u64| match found.len() {
            4 => value & 0xffff_ffff,
            _ => value,
        };
        match self {
            Atomic::CompareSwap if number(found) != mask(condition) => found.to_vec(),
            Atomic::Swap | Atomic::CompareSwap => operand.to_vec(),
            Atomic::Add => {
                let mut sum = number(found).wrapping_add(number(operand));
                found.iter().map(|_| (sum as u8, sum >>= 8).0).collect()
            }
        }
    }
}

/// Requests (s2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// PtlPut.
    Put,
    /// PtlGet.
    Get,
    /// PtlGetPut and its like.
    Atomic(Atomic),
}

impl Kind {
    /// Options that a descriptor must have to take it.
    pub(crate) fn needs(self) -> u32 {
        match self {
            Kind::Put => option::OP_PUT,
            Kind::Get => option::OP_GET,
            Kind::Atomic(_) => option::OP_PUT | option::OP_GET,
        }
    }
    /// START and END at its target.
    pub(crate) fn events(self) -> [EventKind; 2] {
        match self {
            Kind::Put => [EventKind::PutStart, EventKind::PutEnd],
            Kind::Get => [EventKind::GetStart, EventKind::GetEnd],
            Kind::Atomic(_) => [EventKind::GetPutStart, EventKind::GetPutEnd],
        }
    }
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Put => "put",
            Kind::Get => "get",
            Kind::Atomic(Atomic::Swap) => "swap",
            Kind::Atomic(Atomic::CompareSwap) => "compare-and-swap",
            Kind::Atomic(Atomic::Add) => "atomic add",
        }
    }
}

/// A request as its initiator meant it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Kind of the request.
    pub kind: Kind,
    /// By whom.
    pub from: Id,
    /// User of the initiator.
    pub uid: u32,
    /// Of whom.
    pub to: Id,
    /// Portal.
    pub portal: u32,
    /// Access control entry.
    pub access: u32,
    /// Match bits.
    pub bits: u64,
    /// Bytes.
    pub length: u64,
    /// Offset for descriptors that the initiator manages.
    pub offset: u64,
    /// Out-of-band word; 0 for a get.
    pub hdr_data: u64,
    /// An acknowledgement is wanted.
    pub ack: bool,
    /// The message.
    pub message: MessageId,
}

/// The descriptor of an initiator, by handle and by its number among all that its process ever had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// Handle.
    pub handle: u32,
    /// Number.
    pub number: u64,
}

/// An acknowledgement or reply as its sender meant it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response {
    /// The former target.
    pub from: Id,
    /// Its user.
    pub uid: u32,
    /// The initiator's descriptor.
    pub md: Descriptor,
    /// Match bits of the request.
    pub bits: u64,
    /// Portal of the request.
    pub portal: u32,
    /// Bytes that the target moved.
    pub mlength: u64,
    /// Offset that the target used.
    pub offset: u64,
    /// Reply: where in the initiator's descriptor the bytes go.
    pub local_offset: u64,
    /// The message.
    pub message: MessageId,
}

/// Location of an operation's bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The descriptor's handle.
    pub md: u32,
    /// First byte in the descriptor.
    pub offset: u64,
    /// Bytes.
    pub mlength: u64,
    /// Addresses and lengths, in order; none is empty.
    pub pieces: Vec<(u64, u64)>,
    /// An acknowledgement is due when the bytes are there.
    pub ack: bool,
}

/// Counter of the interface (s3.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // The standard's own names.
pub enum Register {
    DropCount,
    DropLength,
    RecvCount,
    RecvLength,
    SendCount,
    SendLength,
}

/// A call that makes, changes or frees an object.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // The calls' own arguments.
pub enum Call {
    AcEntry {
        index: u32,
        entry: Access,
    },
    MeAttach {
        portal: u32,
        criteria: Criteria,
        unlink: bool,
        at_head: bool,
    },
    MeAttachAny {
        criteria: Criteria,
        unlink: bool,
    },
    MeInsert {
        base: u32,
        criteria: Criteria,
        unlink: bool,
        before: bool,
    },
    MeUnlink {
        me: u32,
    },
    MdAttach {
        me: u32,
        md: Md,
        unlink: bool,
    },
    MdBind {
        md: Md,
        unlink: bool,
    },
    MdUnlink {
        md: u32,
    },
    MdUpdate {
        md: u32,
        new: Option<Md>,
        test: Option<u32>,
    },
    MeMdPost {
        base: u32,
        criteria: Criteria,
        unlink_me: bool,
        before: bool,
        md: Md,
        unlink_md: bool,
        test: u32,
    },
    EqAlloc {
        count: u32,
        /// It grows when it is full; else it loses the oldest event.
        grows: bool,
    },
    EqFree {
        eq: u32,
    },
    Status {
        register: Register,
    },
}

impl Call {
    /// The function's name.
    pub fn name(&self) -> &'static str {
        match self {
            Call::AcEntry { .. } => "PtlACEntry",
            Call::MeAttach { .. } => "PtlMEAttach",
            Call::MeAttachAny { .. } => "PtlMEAttachAny",
            Call::MeInsert { .. } => "PtlMEInsert",
            Call::MeUnlink { .. } => "PtlMEUnlink",
            Call::MdAttach { .. } => "PtlMDAttach",
            Call::MdBind { .. } => "PtlMDBind",
            Call::MdUnlink { .. } => "PtlMDUnlink",
            Call::MdUpdate { .. } => "PtlMDUpdate",
            Call::MeMdPost { .. } => "PtlMEMDPost",
            Call::EqAlloc { .. } => "PtlEQAlloc",
            Call::EqFree { .. } => "PtlEQFree",
            Call::Status { .. } => "PtlNIStatus",
        }
    }
}

/// Result of such a call when it succeeds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// Nothing.
    Nothing,
    /// Handle of the new object.
    Handle(u32),
    /// Portal, and handle of the match entry on it.
    Portal(u32, u32),
    /// Handles of a match entry and its descriptor.
    Pair(u32, u32),
    /// The former description.
    Md(Md),
    /// A counter.
    Number(u64),
    /// The former description, which nobody but the process will see.
    Unseen,
}

/// Library or firmware did not do what the standard says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// Clause of the standard.
    pub clause: &'static str,
    /// Description of the error.
    pub what: String,
    /// Expected value.
    pub expected: String,
    /// Actual value.
    pub got: String,
}

/// `Ok` if `got` is what it should be.
pub(crate) fn same<T: PartialEq + std::fmt::Debug>(
    clause: &'static str,
    what: impl FnOnce() -> String,
    expected: &T,
    got: &T,
) -> Result<(), Wrong> {
    if expected == got {
        return Ok(());
    }
    let (expected, got) = (format!("{expected:?}"), format!("{got:?}"));
    Err(Wrong { clause, what: what(), expected, got })
}
