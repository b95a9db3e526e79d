//! What can be seen of messages within the library. Observation takes no simulated time.

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
}
