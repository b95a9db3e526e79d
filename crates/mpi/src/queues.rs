//! Event queues: each operation reserves room for the events that it may leave.

use crate::process::Process;
use crate::request::{Request, RequestId};
use crate::transport::EVENTS_PER_OPERATION;

impl Process {
    /// Adds a request that will get events, in a queue that has room for them.
    pub(crate) fn insert(&mut self, mut request: Request) -> RequestId {
        request.queue = Some(self.reserve());
        self.requests.insert(request)
    }

    fn reserve(&mut self) -> u8 {
        let room = self.params.events.saturating_sub(2 * EVENTS_PER_OPERATION);
        let free = self.queues.iter().position(|q| q.reserved + EVENTS_PER_OPERATION <= room);
        let index = free.unwrap_or_else(|| {
            self.settle();
            let eq = self.ni.eq_alloc(self.params.events);
            let eq = self.must(eq, "PtlEQAlloc");
            self.add_queue(eq);
            self.queues.len() - 1
        });
        self.queues[index].reserved += EVENTS_PER_OPERATION;
        u8::try_from(index).expect("an interface has fewer queues")
    }
}
