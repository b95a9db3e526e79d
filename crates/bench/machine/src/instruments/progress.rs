//! Progress of a run, for other threads.

use des::Time;
use std::sync::atomic::{AtomicU64, Ordering};

/// Progress of a run. Nothing simulated depends on it.
#[derive(Debug, Default)]
pub struct Progress {
    messages: AtomicU64,
    at: AtomicU64,
}

impl Progress {
    /// Counts a message that has come to its end.
    pub(crate) fn ended(&self, at: Time) {
        self.messages.fetch_add(1, Ordering::Relaxed);
        self.at.fetch_max(at.0, Ordering::Relaxed);
    }
    /// Number of messages that have ended, and the time of the last end.
    pub fn now(&self) -> (u64, Time) {
        (self.messages.load(Ordering::Relaxed), Time(self.at.load(Ordering::Relaxed)))
    }
}
