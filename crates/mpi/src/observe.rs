//! What can be seen of messages within the library. Observation takes no simulated time.

use crate::request::{RequestId, Status};
use crate::transport::{Address, Bytes, Ending, Found, Mode, Taken, Wanted};
use abi::MessageId;
use des::{Duration, Time};

/// Is told what becomes of messages that have come.
pub trait Observer {
    /// A message has come that no receive was posted for: the library keeps it.
    fn kept(&self, message: MessageId, at: Time);
    /// The call under way receives a message that was kept.
    fn claimed(&self, message: MessageId, at: Time);
    /// The list of kept messages was searched: so many were looked at, in this time.
    fn searched(&self, entries: u64, time: Duration);
    /// A receive stands in the list of posted ones from now on.
    fn posted(&self, at: Time);
    /// One of them stands there no more: the library has been told of its message, or takes it back.
    fn unposted(&self, at: Time);
    /// A message begins that the network interface carries without a kernel.
    fn begins(&self, message: MessageId, at: Time, sent: &Sent);
    /// The library is told that the bytes of such a message may be used again.
    fn sent(&self, message: MessageId, at: Time);
    /// The library has such a message.
    fn received(&self, message: MessageId, at: Time);
    /// A collective operation begins on a communicator, which all its members call alike.
    fn joins(&self, communicator: u64, members: u32);
}

/// What is known of a message when it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Rank of the receiver in the world.
    pub to: u32,
    /// Its bytes.
    pub bytes: u64,
    /// It is a part of a collective operation.
    pub collective: bool,
    /// Its bytes are fetched by the receiver.
    pub fetched: bool,
}

/// Is told of everything that passes the seam below requests, whatever carries the messages: what is asked of
/// a transport before it does it, and what it answers before anybody hears of it.
pub trait Witness {
    /// A send begins.
    fn sends(&self, id: RequestId, to: Address, bytes: Bytes, mode: Mode);
    /// It was over at once.
    fn sent(&self, id: RequestId);
    /// It could not begin.
    fn unsent(&self, id: RequestId);
    /// A receive begins.
    fn receives(&self, id: RequestId, wanted: Wanted, room: Bytes);
    /// A receive begins of a message that was taken.
    fn receives_taken(&self, id: RequestId, message: Taken, room: Bytes);
    /// A receive is to be taken back, and was or was not.
    fn cancels(&self, id: RequestId, cancelled: bool);
    /// A probe has found this.
    fn probed(&self, wanted: Wanted, found: Option<Found>);
    /// A probe that waits would find something now, or nothing.
    fn promises(&self, wanted: Wanted, something: bool);
    /// A message was taken that a probe had found.
    fn takes(&self, wanted: Wanted, message: Taken, found: Found);
    /// An operation has ended.
    fn ended(&self, ending: &Ending);
    /// The program may see the status of a receive; `failed` if it is told of an error, too.
    fn completed(&self, id: RequestId, status: &Status, failed: bool);
}
