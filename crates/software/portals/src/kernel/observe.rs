//! Observation of a message's way through the host. It never takes simulated time.

use super::tap::Told;
use crate::library::{EventKind, ProcessId};
use abi::MessageId;
use des::Time;

/// A point that a message has passed on a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TracePoint {
    /// Initiator: the process called PtlPut or PtlGet.
    CallEntered,
    /// Initiator: the call's first instruction in the kernel.
    KernelEntered,
    /// Initiator: nothing was begun, for the call had wrong arguments.
    Refused,
    /// Initiator: no transmit pending was free, so the message waits in the kernel.
    Queued,
    /// Initiator, or target for an answer: the transmit command's tail index was issued.
    CommandWritten,
    /// Initiator: the handler has read the event that the message has left.
    SentDrained,
    /// Receiver: the interrupt that led to the next mark was raised.
    InterruptRaised,
    /// Receiver: the interrupt handler's first instruction.
    HandlerEntered,
    /// Receiver: the handler has read the event that announces the message.
    HeaderDrained,
    /// Receiver, process on the network interface: its library has read the event that announces the message.
    RingRead,
    /// The same: it has read the event that the payload is in memory.
    RingCompleted,
    /// Receiver: the match list was searched, and so many entries of it were looked at.
    Matched(u32),
    /// Receiver: the message is dropped.
    Dropped,
    /// Receiver: the receive command's tail index was issued.
    ReceiveWritten,
    /// Receiver: the handler has read the event that the payload is in memory.
    ReceivedDrained,
    /// A Portals event is visible to its process.
    EventPosted(EventKind),
    /// All bytes are there, and no event tells the process.
    EndedSilently,
    /// The process has taken a Portals event from its queue.
    EventReturned(EventKind),
}

/// Request of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Begun {
    /// `abi::seastar::portals_op`.
    pub op: u8,
    /// Initiator.
    pub from: ProcessId,
    /// Target.
    pub to: ProcessId,
    /// Portal table index there.
    pub pt_index: u32,
    /// Match bits.
    pub match_bits: u64,
    /// Out-of-band word of a put.
    pub hdr_data: u64,
    /// Payload, of a get that of the answer.
    pub bytes: u64,
}

/// Receives the marks.
pub trait Observer {
    /// Message `id` passed `mark` at `at`, in what core `core` of the host does. Marks of one message come in
    /// order of time except `CallEntered`, `KernelEntered`, `InterruptRaised` and `HandlerEntered`, which are
    /// told once the message is known.
    fn mark(&self, core: usize, at: Time, id: MessageId, mark: TracePoint);

    /// It is known what message `id`, which has passed `KernelEntered`, is.
    fn begun(&self, _core: usize, _id: MessageId, _begun: &Begun) {}

    /// Message `reply` answers message `request`.
    fn answers(&self, _reply: MessageId, _request: MessageId) {}

    /// Firmware had the header of message `id` at `since`, and had searched the match list at `until`.
    fn searched(&self, _id: MessageId, _since: Time, _until: Time) {}

    /// It stored the event that announces the message to a process on the network interface.
    fn stored(&self, _id: MessageId, _at: Time) {}

    /// True if it wants more than marks. Asked once.
    fn listens(&self) -> bool {
        false
    }

    /// Something took effect at `at`.
    fn told(&self, _at: Time, _told: &Told) {}
}

/// Sees nothing.
pub struct Unobserved;

impl Observer for Unobserved {
    fn mark(&self, _core: usize, _at: Time, _id: MessageId, _mark: TracePoint) {}
}
