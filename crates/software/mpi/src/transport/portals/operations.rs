//! Operations under way, with room in event queues for what Portals will tell of them.

use super::credits::Deferred;
use super::matching::{Exposed, Pattern};
use super::room::Holding;
use super::{Portals, EVENTS_PER_LONG_SEND};
use crate::error::Error;
use crate::local::Local;
use crate::params::EVENTS_PER_OPERATION;
use crate::request::RequestId;
use crate::transport::{Bytes, Ending, Found};
use portals::{EqHandle, MeHandle, ProcessId};
use std::collections::VecDeque;

/// An operation under way.
#[derive(Debug)]
pub(super) struct Operation {
    id: RequestId,
    /// A send that has put all its bytes and waits for their outcome.
    pub long_send: bool,
    pub bytes: Bytes,
    /// The message of a receive, once it is known.
    pub found: Found,
    /// Its message, or its receiver, has not been found yet.
    pub open: bool,
    /// The posted receive's, or the exposed buffer's, match entry.
    pub entry: Option<MeHandle>,
    /// Event queue that it has reserved room in.
    queue: u8,
    /// Messages of the unexpected list that it has looked at, and how many had been taken out by then.
    pub searched: (usize, u64),
    /// Pattern of a posted receive, and its place among the posted.
    pub posted: Option<(Pattern, u64)>,
    /// Number of the first message that a kept receive has not met.
    pub heard: Option<u64>,
    /// Its room on the network interface, and whether that is a posted receive's.
    pub holding: Holding,
    pub holds_post: bool,
    pub error: Option<Error>,
}

impl Operation {
    pub fn id(&self) -> RequestId {
        self.id
    }
    fn events(&self) -> u32 {
        if self.long_send {
            EVENTS_PER_LONG_SEND
        } else {
            EVENTS_PER_OPERATION
        }
    }
}

/// All of a process, by the index of their requests.
#[derive(Default)]
pub(super) struct Operations(Vec<Option<Operation>>);

impl Operations {
    fn add(&mut self, operation: Operation) {
        let index = operation.id.index as usize;
        if index >= self.0.len() {
            self.0.resize_with(index + 1, || None);
        }
        self.0[index] = Some(operation);
    }
    /// The operation, unless it is over.
    pub fn find(&mut self, id: RequestId) -> Option<&mut Operation> {
        self.0.get_mut(id.index as usize)?.as_mut().filter(|operation| operation.id == id)
    }
    /// The operation, which must be under way.
    pub fn get(&mut self, id: RequestId) -> &mut Operation {
        self.find(id).expect("the operation is under way")
    }
    /// The receive that was posted with this match entry.
    pub fn posted_as(&mut self, entry: MeHandle) -> Option<&mut Operation> {
        let posted = |operation: &&mut Operation| {
            operation.posted.is_some() && operation.entry == Some(entry)
        };
        self.0.iter_mut().flatten().find(posted)
    }
    fn remove(&mut self, id: RequestId) -> Operation {
        self.0[id.index as usize].take().expect("the operation is under way")
    }
}

/// A message to be fetched.
pub(super) struct Fetch {
    pub id: RequestId,
    pub from: ProcessId,
    pub what: Exposed,
}

/// Operations that wait for room, in the order of their beginning.
#[derive(Default)]
pub(super) struct Waiting {
    pub sends: VecDeque<Deferred>,
    pub fetches: VecDeque<Fetch>,
}

impl Waiting {
    /// True if no send waits.
    pub fn is_quiet(&self) -> bool {
        self.sends.is_empty()
    }
}

impl Portals {
    /// Takes note of an operation that will get events, in a queue that has room for them.
    pub(super) fn begin_operation(
        &mut self,
        local: &mut Local,
        id: RequestId,
        send: bool,
        bytes: Bytes,
    ) {
        let long_send = send && bytes.length > self.params.eager_limit;
        let mut operation = Operation {
            id,
            long_send,
            bytes,
            found: Found::NOTHING,
            open: true,
            entry: None,
            queue: 0,
            searched: (0, 0),
            posted: None,
            heard: None,
            holding: Holding::default(),
            holds_post: false,
            error: None,
        };
        operation.queue = self.reserve(local, operation.events());
        self.operations.add(operation);
    }

    /// The queue of an operation's events.
    pub(super) fn queue_of(&mut self, id: RequestId) -> EqHandle {
        let queue = self.operations.get(id).queue;
        self.queues[usize::from(queue)].eq
    }

    /// Ends an operation.
    pub(super) fn end_operation(&mut self, id: RequestId) -> Ending {
        let operation = self.operations.remove(id);
        self.queues[usize::from(operation.queue)].reserved -= operation.events();
        self.room.give(operation.holding, operation.holds_post);
        Ending { id, found: operation.found, error: operation.error }
    }

    fn reserve(&mut self, local: &mut Local, events: u32) -> u8 {
        let room = self.params.event_room();
        let free = self.queues.iter().position(|q| q.reserved + events <= room);
        let index = free.unwrap_or_else(|| {
            local.settle();
            let eq = self.ni.eq_alloc(self.params.events);
            let eq = eq.unwrap_or_else(|_| self.out_of_queues(local));
            self.add_queue(eq);
            self.queues.len() - 1
        });
        self.queues[index].reserved += events;
        u8::try_from(index).expect("an interface has fewer queues")
    }

    /// The interface gives no further queue: the program has begun more than it can end.
    fn out_of_queues(&self, local: &Local) -> ! {
        let (rank, function, events) = (local.world.rank, local.function, self.params.events);
        let queues = self.queues.len();
        local.cpu.fault(format!(
            "rank {rank}: {function}: more sends and receives at a time than {queues} event queues \
             have room for (mpi.events = {events})"
        ))
    }
}

/// Owner of an event: the meaning of `user_ptr` in every memory descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// An operation.
    Operation(RequestId),
    /// A block for unexpected messages.
    Block(u32),
    /// The empty entry, which catches gets of exposed buffers.
    Catcher,
    /// A library buffer for copied sends.
    Copy(u32),
    /// The entry to which credits come back.
    Credits,
}

const KIND_SHIFT: u32 = 62;
const GENERATION_SHIFT: u32 = 32;
const GENERATION_MASK: u32 = (1 << (KIND_SHIFT - GENERATION_SHIFT)) - 1;
const _: () = assert!(GENERATION_MASK == RequestId::GENERATION_MASK);

impl Owner {
    /// Packs it into the word that a memory descriptor carries.
    pub fn pack(self) -> u64 {
        let (kind, generation, index) = match self {
            Owner::Operation(id) => (0, id.generation, id.index),
            Owner::Block(index) => (1, 0, index),
            Owner::Catcher => (2, 0, 0),
            Owner::Copy(index) => (3, 0, index),
            Owner::Credits => (2, 0, 1),
        };
        kind << KIND_SHIFT | u64::from(generation) << GENERATION_SHIFT | u64::from(index)
    }
    /// Unpacks that word.
    pub fn unpack(word: u64) -> Owner {
        let index = word as u32;
        let generation = (word >> GENERATION_SHIFT) as u32 & GENERATION_MASK;
        match word >> KIND_SHIFT {
            0 => Owner::Operation(RequestId { index, generation }),
            1 => Owner::Block(index),
            2 if index == 1 => Owner::Credits,
            2 => Owner::Catcher,
            _ => Owner::Copy(index),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_survive_the_user_pointer() {
        let id = RequestId { index: u32::MAX, generation: GENERATION_MASK };
        for owner in
            [Owner::Operation(id), Owner::Block(3), Owner::Catcher, Owner::Copy(7), Owner::Credits]
        {
            assert_eq!(Owner::unpack(owner.pack()), owner);
        }
    }
}
