//! Buffer that the program attaches for buffered sends.

use crate::request::table::Requests;
use crate::request::RequestId;

/// The attached buffer.
#[derive(Default)]
pub(crate) struct Attached {
    pub buffer: Option<(u64, u64)>,
    /// Sends under way, and the bytes that each takes.
    pub pending: Vec<(RequestId, u64)>,
}

impl Attached {
    /// Forgets the sends that are over; the bytes that the others take.
    pub fn prune(&mut self, requests: &mut Requests) -> u64 {
        self.pending.retain(|&(id, _)| {
            let over = requests.get(id).is_complete();
            if over {
                requests.remove(id);
            }
            !over
        });
        self.pending.iter().map(|&(_, bytes)| bytes).sum()
    }
}
