//! Work of a card's firmware between the launch and the end of the run: its counts there, and the cost of a
//! turn of its main loop that finds nothing to do.

use machine::firmware::work::{Count, IdleTurn, Work};
use offload_nic::Counters;

/// Counts at the launch and at the end, and the cost of an idle turn.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Meter {
    pub launch: Count,
    pub end: Count,
    pub idle: IdleTurn,
}

impl Meter {
    /// Work between launch and end. A card that was never launched has done nothing.
    pub fn work(&self, card: Counters) -> Work {
        let launch = if self.launch == Count::default() { self.end } else { self.launch };
        Work::between(launch, self.end, self.idle, card.sent[0] + card.received[0])
    }
}
