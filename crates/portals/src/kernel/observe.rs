//! What can be seen of a message's way through the host. Observation never takes simulated time.

use super::tap::Told;
use crate::library::EventKind;
use abi::MessageId;
use des::Time;

/// A point that a message has passed on a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mark {
    /// Initiator: the process called PtlPut or PtlGet.
    CallEntered,
    /// Initiator: the call's first instruction in the kernel.
    KernelEntered,
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
    /// Receiver: the match list was searched.
    Matched,
    /// Receiver: nobody takes the message.
    Dropped,
    /// Receiver: the receive command's tail index was issued.
    ReceiveWritten,
    /// Receiver: the handler has read the event that the payload is in memory.
    ReceivedDrained,
    /// A Portals event is visible to its process.
    EventPosted(EventKind),
    /// The process has taken a Portals event from its queue.
    EventReturned(EventKind),
}

/// Receives the marks.
pub trait Observer {
    /// Message `id` passed `mark` at `at`, in what core `core` of the host does. Marks of one message come in
    /// order of time but for `CallEntered`, `KernelEntered`, `InterruptRaised` and `HandlerEntered`, which are
    /// told once the message is known.
    fn mark(&self, core: usize, at: Time, id: MessageId, mark: Mark);

    /// Whether it wants to be told more than marks. Asked once.
    fn listens(&self) -> bool {
        false
    }

    /// Something took effect at `at`.
    fn told(&self, _at: Time, _told: &Told) {}
}

/// Sees nothing.
pub struct Unobserved;

impl Observer for Unobserved {
    fn mark(&self, _core: usize, _at: Time, _id: MessageId, _mark: Mark) {}
}
