//! Messages that a probe has taken out of the queue.

use crate::comm::CommId;
use crate::slots::MESSAGES;
use crate::transport::message::{Found, Taken};
use std::collections::BTreeMap;

/// Messages that were probed and not received.
#[derive(Default)]
pub(crate) struct Messages {
    next: u64,
    pub table: BTreeMap<u64, (CommId, Taken, Found)>,
}

impl Messages {
    /// Adds one; its handle.
    pub fn add(&mut self, comm: CommId, message: Taken, found: Found) -> u64 {
        let handle = MESSAGES + self.next;
        self.next += 1;
        self.table.insert(handle, (comm, message, found));
        handle
    }
}
