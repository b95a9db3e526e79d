//! Messages of the kernel module's own.

use super::Trail;
use abi::MessageId;
use des::Time;
use machine::instruments::message_trace::Waypoint;

impl Trail {
    /// One for node `to` begins, in the handler: it ends in memory there.
    pub fn begins_in_module(&self, now: Time, to: u32, bytes: u64) -> MessageId {
        let message = self.name();
        self.journal.begin_in_system(now, message, self.nid, (to, bytes));
        self.begins(message, 1, false);
        message
    }

    /// It is with the card, as far as the processor knows.
    pub fn hands_over(&self, now: Time, message: MessageId) {
        self.journal.mark(now, message, Waypoint::COMMAND_WRITTEN);
    }
}
