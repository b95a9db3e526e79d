//! Events that library and kernel report to an observer that listens: every call of a process with its
//! result, every message that leaves or arrives and its outcome, every end of an operation. Reported at the
//! instant at which it takes effect, without simulated time, and not at all if nobody listens.

use super::issue::Call;
use super::wire::Destination;
use super::{Kernel, Slot};
use crate::library::{
    AccessEntry, AckRequest, Criteria, Delivery, EntryPair, EqHandle, Error, EventKind, Grant,
    Identity, IoVec, Limits, Md, MdHandle, MeHandle, Next, NiFail, OnPortal, Position, ProcessId,
    Region, RequestKind, StatusRegister, Unlink, Work,
};
use abi::seastar::PortalsHeader;
use abi::MessageId;
use host::{Cpu, SpaceId};

/// A call that makes, changes, frees or reads an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // The calls' own arguments, as `Ni` has them.
pub enum ObjectCall {
    AcEntry {
        index: u32,
        entry: AccessEntry,
    },
    MeAttach {
        pt_index: u32,
        criteria: Criteria,
        unlink: Unlink,
        position: Position,
    },
    MeAttachAny {
        criteria: Criteria,
        unlink: Unlink,
    },
    MeInsert {
        base: MeHandle,
        criteria: Criteria,
        unlink: Unlink,
        position: Position,
    },
    MeUnlink {
        me: MeHandle,
    },
    MdAttach {
        me: MeHandle,
        md: Md,
        unlink: Unlink,
    },
    MdBind {
        md: Md,
        unlink: Unlink,
    },
    MdUnlink {
        md: MdHandle,
    },
    MdUpdate {
        md: MdHandle,
        new: Option<Md>,
        test: Option<EqHandle>,
    },
    MeMdPost {
        base: MeHandle,
        criteria: Criteria,
        unlink_me: Unlink,
        position: Position,
        md: Md,
        unlink_md: Unlink,
        test: EqHandle,
    },
    EqAlloc {
        count: u32,
        /// Events by which it grows when it is full; 0: it loses the oldest.
        growth: u32,
    },
    EqFree {
        eq: EqHandle,
    },
    Status {
        register: StatusRegister,
    },
}

/// Result of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Returned {
    /// Nothing.
    Nothing,
    /// Handle of a new object.
    Handle(u32),
    /// Portal, and handle of the match entry on it.
    Portal(u32, u32),
    /// Handles of a match entry and its descriptor.
    Pair(u32, u32),
    /// The former description.
    Md(Md),
    /// A counter.
    Number(u64),
    /// The former description, which only the library will know.
    Unseen,
}

impl From<()> for Returned {
    fn from((): ()) -> Returned {
        Returned::Nothing
    }
}
impl From<MeHandle> for Returned {
    fn from(me: MeHandle) -> Returned {
        Returned::Handle(me.raw())
    }
}
impl From<MdHandle> for Returned {
    fn from(md: MdHandle) -> Returned {
        Returned::Handle(md.raw())
    }
}
impl From<EqHandle> for Returned {
    fn from(eq: EqHandle) -> Returned {
        Returned::Handle(eq.raw())
    }
}
impl From<OnPortal> for Returned {
    fn from(made: OnPortal) -> Returned {
        Returned::Portal(made.pt_index, made.me.raw())
    }
}
impl From<EntryPair> for Returned {
    fn from(pair: EntryPair) -> Returned {
        Returned::Pair(pair.me.raw(), pair.md.raw())
    }
}
impl From<Md> for Returned {
    fn from(md: Md) -> Returned {
        Returned::Md(md)
    }
}
impl From<u64> for Returned {
    fn from(number: u64) -> Returned {
        Returned::Number(number)
    }
}

/// An operation as a process requested it.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    /// Kind of the request.
    pub kind: RequestKind,
    /// The descriptor that is sent, or that a get fills.
    pub md: MdHandle,
    /// The descriptor that an atomic operation's answer goes to.
    pub get: Option<MdHandle>,
    /// Part of it.
    pub region: Option<Region>,
    /// The target.
    pub target: ProcessId,
    /// Portal.
    pub pt_index: u32,
    /// Access control entry.
    pub ac_index: u32,
    /// Match bits.
    pub match_bits: u64,
    /// Offset at the target.
    pub remote_offset: u64,
    /// Out-of-band word.
    pub hdr_data: u64,
    /// An acknowledgement is wanted.
    pub ack: AckRequest,
    /// The message.
    pub message: MessageId,
}

impl Asked {
    pub(crate) fn new(
        kind: RequestKind,
        call: &Call,
        get: Option<MdHandle>,
        message: MessageId,
    ) -> Asked {
        Asked {
            kind,
            md: call.md,
            get,
            region: call.region,
            target: call.target,
            pt_index: call.pt_index,
            ac_index: call.ac_index,
            match_bits: call.match_bits,
            remote_offset: call.remote_offset,
            hdr_data: call.hdr_data,
            ack: call.ack,
            message,
        }
    }
}

/// Outcome of a message.
#[derive(Clone, Copy, Debug)]
pub enum Fate<'a> {
    /// There is no such process.
    Nobody,
    /// The library of the process in this seat had it.
    Handed {
        /// The process.
        slot: usize,
        /// Its destination, if it has one.
        grant: Option<&'a Grant>,
        /// Work done.
        work: Work,
    },
}

/// Reaction to a request.
#[derive(Clone, Copy, Debug)]
pub enum Reaction<'a> {
    /// A message.
    Sent(&'a PortalsHeader),
    /// An answer on this node.
    Local(Fate<'a>),
}

/// Something that has just taken effect. A seat is a process's place in the kernel, never used again.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)] // The fields are what their types say.
pub enum Told<'a> {
    /// A process has its interface.
    Opened { slot: usize, space: SpaceId, identity: Identity, limits: Limits, on_nic: bool },
    /// It begins to leave.
    Leaving { slot: usize },
    /// It has left.
    Closed { slot: usize },
    /// A call about objects; `regions` are those of its description.
    Called { slot: usize, call: ObjectCall, regions: &'a [IoVec], result: Result<Returned, Error> },
    /// A look into an event queue.
    Looked { slot: usize, eq: EqHandle, result: &'a Result<Next, Error> },
    /// A put, get or atomic operation.
    Asked { slot: usize, asked: Asked, result: Result<&'a Grant, Error>, work: Work },
    /// The header of one for another node.
    Header { slot: usize, header: &'a PortalsHeader },
    /// A message is handed to the firmware; the payload of one that is not `inline` is read by DMA, and there
    /// is none of one that has `failed`. An acknowledgement is no operation of a process.
    Commanded { slot: Option<usize>, message: MessageId, inline: bool, failed: bool },
    /// A message has arrived.
    Taken { header: &'a PortalsHeader, fate: Fate<'a> },
    /// A request between processes of this node.
    Delivered { message: MessageId, fate: Fate<'a> },
    /// The firmware says that a header is damaged.
    Damaged,
    /// The kernel changes a process's memory for an atomic operation next.
    Performs { slot: usize, message: MessageId },
    /// The firmware has performed an atomic operation on a process's memory: it found these bytes, and left
    /// those.
    Performed { slot: usize, message: MessageId, found: &'a [u8], left: &'a [u8] },
    /// A request that came with `request` is answered by the process in `slot`; with `fail`, that it failed.
    Answered { slot: usize, request: MessageId, reaction: Reaction<'a>, fail: NiFail },
    /// The firmware stores a word that tells the library of a process on the network interface of what was
    /// told last.
    Posted { slot: usize },
    /// That word is in memory: what it announces is there, and its events can be seen.
    Landed { slot: usize },
    /// An operation has ended.
    Ended { slot: usize, kind: EventKind, message: MessageId, fail: NiFail, work: Work },
}

/// Kind of a request, and the descriptor of an atomic operation's answer.
pub(crate) type Purpose = (RequestKind, Option<MdHandle>);

impl<'a> Told<'a> {
    /// An operation that a process requested, as the library began it.
    pub(crate) fn asked(
        slot: Slot,
        call: &Call,
        (kind, get): Purpose,
        message: MessageId,
        started: &'a Result<(Grant, Work, ProcessId), Error>,
    ) -> Told<'a> {
        let work = started.as_ref().map_or(Work::default(), |started| started.1);
        let result = started.as_ref().map(|started| &started.0).map_err(|error| *error);
        Told::Asked { slot: slot.0, asked: Asked::new(kind, call, get, message), result, work }
    }
}

impl<'a> Fate<'a> {
    /// Outcome in the library of a process.
    pub(crate) fn of(slot: Slot, delivery: &'a Delivery) -> Fate<'a> {
        let Delivery { grant, work } = delivery;
        Fate::Handed { slot: slot.0, grant: grant.as_ref(), work: *work }
    }
}

impl Kernel {
    /// Destination of an operation; reports one that has none.
    pub(crate) fn destination(
        &self,
        cpu: &Cpu,
        slot: Slot,
        call: &Call,
        purpose: Purpose,
    ) -> Result<Destination, Error> {
        call.destination(self.config.nodes).inspect_err(|error| {
            let refused = Err(*error);
            self.tell(cpu, || Told::asked(slot, call, purpose, MessageId::default(), &refused));
        })
    }

    /// A request of this node was answered by the process in `slot`.
    pub(crate) fn tell_local(
        &self,
        cpu: &Cpu,
        slot: Slot,
        request: MessageId,
        fate: Fate,
        fail: NiFail,
    ) {
        let reaction = Reaction::Local(fate);
        self.tell(cpu, || Told::Answered { slot: slot.0, request, reaction, fail });
    }

    /// A request was answered by a message of the process in `slot`.
    pub(crate) fn tell_answer(
        &self,
        cpu: &Cpu,
        slot: Slot,
        request: &PortalsHeader,
        header: &PortalsHeader,
        fail: NiFail,
    ) {
        let (request, reaction) = (MessageId::from(request), Reaction::Sent(header));
        self.tell(cpu, || Told::Answered { slot: slot.0, request, reaction, fail });
    }

    /// Tells the observer something, if it listens.
    #[inline]
    pub(crate) fn tell<'a>(&self, cpu: &Cpu, told: impl FnOnce() -> Told<'a>) {
        if self.listened {
            self.observer.told(cpu.now(), &told());
        }
    }
}
