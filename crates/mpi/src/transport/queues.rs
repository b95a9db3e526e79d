//! Event queues: each operation reserves room for the events that it may leave.

use super::{EVENTS_PER_LONG_SEND, EVENTS_PER_OPERATION};
use crate::process::Process;
use crate::request::{Request, RequestId};

impl Process {
    /// Adds a request that will get events, in a queue that has room for them.
    pub(crate) fn insert(&mut self, mut request: Request) -> RequestId {
        request.queue = Some(self.reserve(self.events_of(&request)));
        self.requests.insert(request)
    }

    /// Events that an operation can leave in its queue.
    pub(super) fn events_of(&self, request: &Request) -> u32 {
        if self.is_long_send(request) {
            EVENTS_PER_LONG_SEND
        } else {
            EVENTS_PER_OPERATION
        }
    }

    fn reserve(&mut self, events: u32) -> u8 {
        let room = self.params.event_room();
        let free = self.queues.iter().position(|q| q.reserved + events <= room);
        let index = free.unwrap_or_else(|| {
            self.settle();
            let eq = self.ni.eq_alloc(self.params.events);
            let eq = eq.unwrap_or_else(|_| self.out_of_queues());
            self.add_queue(eq);
            self.queues.len() - 1
        });
        self.queues[index].reserved += events;
        u8::try_from(index).expect("an interface has fewer queues")
    }

    /// The interface gives no further queue: the program has begun more than it can end.
    fn out_of_queues(&self) -> ! {
        let (rank, function, events) = (self.world.rank, self.function, self.params.events);
        let queues = self.queues.len();
        self.cpu.fault(format!(
            "rank {rank}: {function}: more sends and receives at a time than {queues} event queues \
             have room for (mpi.events = {events})"
        ))
    }
}
