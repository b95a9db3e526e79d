//! The words of `tests/contract/portals/*.toml`.

use portals::{option, EventKind};
use serde::Deserialize;

/// Every word that a step may have.
pub const WORDS: &[&str] = &[
    "ac",
    "ack",
    "acked",
    "at",
    "base",
    "bits",
    "buffer",
    "count",
    "do",
    "dropped",
    "entry",
    "eq",
    "error",
    "fail",
    "from",
    "get",
    "hdr_data",
    "ignore",
    "index",
    "into",
    "jid",
    "kind",
    "kinds",
    "length",
    "link",
    "match_bits",
    "max_size",
    "md",
    "me",
    "mlength",
    "moved",
    "nid",
    "offset",
    "old_length",
    "op",
    "options",
    "pid",
    "pieces",
    "position",
    "pt",
    "put",
    "read_only",
    "region",
    "regions",
    "register",
    "rlength",
    "sequence",
    "start",
    "test",
    "threshold",
    "to",
    "uid",
    "unlink",
    "value",
];

/// A file of cases.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    pub case: Vec<Case>,
}

/// A clause of the standard, and steps that show it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    pub name: String,
    pub source: String,
    pub max_mes: Option<u32>,
    pub max_mds: Option<u32>,
    pub max_me_list: Option<u32>,
    pub max_eqs: Option<u32>,
    pub max_md_iovecs: Option<u32>,
    pub max_getput_md: Option<u32>,
    pub steps: Vec<Step>,
}

fn any() -> u32 {
    u32::MAX
}
fn two() -> u32 {
    2
}
fn after() -> String {
    "after".to_owned()
}
fn hundred() -> u64 {
    100
}
fn page() -> u64 {
    0x1000
}
fn unlimited() -> i32 {
    -1
}

/// Messages that a match entry accepts.
#[derive(Debug, Deserialize)]
pub struct Entry {
    #[serde(default)]
    pub bits: u64,
    #[serde(default)]
    pub ignore: u64,
    #[serde(default = "any")]
    pub nid: u32,
    #[serde(default = "any")]
    pub pid: u32,
    #[serde(default)]
    pub unlink: bool,
}

/// A memory descriptor.
#[derive(Debug, Deserialize)]
pub struct Buffer {
    #[serde(default = "page")]
    pub start: u64,
    #[serde(default = "hundred")]
    pub length: u64,
    #[serde(default = "unlimited")]
    pub threshold: i32,
    #[serde(default)]
    pub max_size: u64,
    #[serde(default)]
    pub options: Vec<String>,
    /// Regions of a descriptor with option iovec: addresses and lengths. Its `length` counts them.
    #[serde(default)]
    pub regions: Vec<[u64; 2]>,
    pub eq: Option<String>,
    #[serde(default)]
    pub unlink: bool,
}

/// A request that arrives.
#[derive(Debug, Deserialize)]
pub struct Request {
    #[serde(default)]
    pub pt: u32,
    #[serde(default)]
    pub ac: u32,
    #[serde(default)]
    pub bits: u64,
    #[serde(default = "two")]
    pub nid: u32,
    #[serde(default = "two")]
    pub pid: u32,
    #[serde(default)]
    pub uid: u32,
    #[serde(default)]
    pub length: u64,
    #[serde(default)]
    pub offset: u64,
    #[serde(default)]
    pub hdr_data: u64,
    #[serde(default)]
    pub ack: bool,
}

/// Outcome of the message: without `into` it is dropped.
#[derive(Debug, Deserialize)]
pub struct Outcome {
    pub into: Option<String>,
    pub at: Option<u64>,
    pub moved: Option<u64>,
    pub start: Option<u64>,
    /// Address and length of each contiguous piece.
    pub pieces: Option<Vec<[u64; 2]>>,
    #[serde(default)]
    pub acked: bool,
}

/// The next event of a queue; fields that are not given are not compared.
#[derive(Debug, Deserialize)]
pub struct Event {
    pub eq: String,
    pub kind: Option<String>,
    #[serde(default)]
    pub dropped: bool,
    #[serde(default)]
    pub fail: bool,
    pub rlength: Option<u64>,
    pub mlength: Option<u64>,
    pub offset: Option<u64>,
    pub match_bits: Option<u64>,
    pub hdr_data: Option<u64>,
    pub link: Option<u64>,
    pub sequence: Option<u64>,
    pub nid: Option<u64>,
    pub pid: Option<u64>,
    pub pt: Option<u64>,
    pub md: Option<String>,
    pub threshold: Option<i32>,
    pub error: Option<String>,
}

/// A step. `error` is the return code that is expected instead of success.
#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Step {
    EqAlloc {
        eq: String,
        count: u32,
        error: Option<String>,
    },
    EqFree {
        eq: String,
        error: Option<String>,
    },
    /// All events that are in the queue, by kind.
    Events {
        eq: String,
        kinds: Vec<String>,
    },
    Event(Event),
    MeAttach {
        me: String,
        #[serde(default)]
        pt: u32,
        #[serde(default = "after")]
        position: String,
        #[serde(flatten)]
        entry: Entry,
        error: Option<String>,
    },
    MeAttachAny {
        me: String,
        pt: Option<u32>,
        #[serde(flatten)]
        entry: Entry,
        error: Option<String>,
    },
    MeInsert {
        me: String,
        base: String,
        position: String,
        #[serde(flatten)]
        entry: Entry,
        error: Option<String>,
    },
    MeUnlink {
        me: String,
        error: Option<String>,
    },
    MeMdPost {
        me: String,
        md: String,
        base: String,
        position: String,
        test: String,
        entry: Entry,
        buffer: Buffer,
        error: Option<String>,
    },
    MdAttach {
        md: String,
        me: String,
        #[serde(flatten)]
        buffer: Buffer,
        error: Option<String>,
    },
    MdBind {
        md: String,
        #[serde(flatten)]
        buffer: Buffer,
        error: Option<String>,
    },
    MdUnlink {
        md: String,
        error: Option<String>,
    },
    MdUpdate {
        md: String,
        test: Option<String>,
        old_length: Option<u64>,
        #[serde(default)]
        read_only: bool,
        #[serde(flatten)]
        buffer: Buffer,
        error: Option<String>,
    },
    AcEntry {
        index: u32,
        #[serde(default = "any")]
        jid: u32,
        #[serde(default = "any")]
        nid: u32,
        #[serde(default = "any")]
        pid: u32,
        #[serde(default = "any")]
        uid: u32,
        #[serde(default = "any")]
        pt: u32,
        error: Option<String>,
    },
    Status {
        register: String,
        value: u64,
    },
    /// This process puts; `op` names the operation, which ends when the message has left.
    Put {
        md: String,
        region: Option<[u64; 2]>,
        op: Option<String>,
        error: Option<String>,
    },
    /// This process gets.
    Get {
        md: String,
        region: Option<[u64; 2]>,
        op: Option<String>,
        error: Option<String>,
    },
    /// This process swaps, or compares and swaps, or adds.
    Atomic {
        kind: String,
        get: String,
        put: String,
        op: Option<String>,
        error: Option<String>,
    },
    /// A request of another process arrives.
    Arrive {
        kind: String,
        op: Option<String>,
        #[serde(flatten)]
        request: Request,
        #[serde(flatten)]
        outcome: Outcome,
    },
    /// The reply to a get arrives.
    Reply {
        md: String,
        length: u64,
        #[serde(default, rename = "to")]
        at: u64,
        op: Option<String>,
        #[serde(flatten)]
        outcome: Outcome,
    },
    /// The acknowledgement of a put arrives.
    Ack {
        md: String,
        #[serde(default)]
        length: u64,
        #[serde(default)]
        offset: u64,
    },
    /// An operation ends.
    Complete {
        op: String,
        #[serde(default)]
        fail: bool,
    },
}

impl Step {
    /// The name of the operation that the step begins, if it has one; None for other steps.
    pub fn operation(&self) -> Option<&Option<String>> {
        match self {
            Step::Put { op, .. }
            | Step::Get { op, .. }
            | Step::Atomic { op, .. }
            | Step::Arrive { op, .. } => Some(op),
            _ => None,
        }
    }

    /// True for an operation that is refused or dropped.
    pub fn comes_to_nothing(&self) -> bool {
        match self {
            Step::Put { error, .. } | Step::Get { error, .. } | Step::Atomic { error, .. } => {
                error.is_some()
            }
            Step::Arrive { outcome, .. } => outcome.into.is_none(),
            _ => false,
        }
    }
}

/// An option bit by its name.
pub fn option(name: &str) -> u32 {
    match name {
        "op_put" => option::OP_PUT,
        "op_get" => option::OP_GET,
        "manage_remote" => option::MANAGE_REMOTE,
        "truncate" => option::TRUNCATE,
        "ack_disable" => option::ACK_DISABLE,
        "iovec" => option::IOVEC,
        "max_size" => option::MAX_SIZE,
        "event_start_disable" => option::EVENT_START_DISABLE,
        "event_end_disable" => option::EVENT_END_DISABLE,
        other => panic!("option {other}"),
    }
}

/// The standard's name of a kind of event.
pub fn name(kind: EventKind) -> &'static str {
    match kind {
        EventKind::GetStart => "GET_START",
        EventKind::GetEnd => "GET_END",
        EventKind::PutStart => "PUT_START",
        EventKind::PutEnd => "PUT_END",
        EventKind::GetPutStart => "GETPUT_START",
        EventKind::GetPutEnd => "GETPUT_END",
        EventKind::ReplyStart => "REPLY_START",
        EventKind::ReplyEnd => "REPLY_END",
        EventKind::SendStart => "SEND_START",
        EventKind::SendEnd => "SEND_END",
        EventKind::Ack => "ACK",
        EventKind::Unlink => "UNLINK",
    }
}
