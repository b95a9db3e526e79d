//! Messages that a probe has taken out of the queue.

use crate::comm::CommId;
use crate::slots::MESSAGES;
use crate::transport::message::{Found, Taken};
use std::collections::BTreeMap;

/// A message that a probe has taken.
#[derive(Clone, Copy)]
pub(crate) struct Probed {
    pub comm: CommId,
    pub message: Taken,
    pub found: Found,
}

/// Messages that were probed and not received.
#[derive(Default)]
pub(crate) struct Messages {
    next: u64,
    pub table: BTreeMap<u64, Probed>,
}

impl Messages {
    /// Adds one; its handle.
    pub fn add(&mut self, probed: Probed) -> u64 {
        let handle = MESSAGES + self.next;
        self.next += 1;
        self.table.insert(handle, probed);
        handle
    }
}
