//! What can be seen of messages within the library. Observation takes no simulated time.

use abi::MessageId;

/// Is told what becomes of messages that have come.
pub trait Observer {
    /// A message has come that no receive was posted for: the library keeps it.
    fn kept(&self, message: MessageId);
    /// The call under way receives a message that was kept.
    fn claimed(&self, message: MessageId);
}
