//! The requests of a process, in a slab, so that handles are small integers and nothing is hashed.

use super::{Direction, RequestId, Status};
use crate::collective::schedule::Schedule;
use crate::comm::CommId;
use crate::datatype::items::Items;
use crate::error::Error;
use crate::scratch::Buffer;

/// Items in the program's memory that are not one run of bytes: they travel through a library
/// buffer.
#[derive(Clone, Debug)]
pub(crate) struct Scattered {
    pub buffer: Buffer,
    /// Destination of a receive's bytes; a send's are gathered beforehand.
    pub target: Option<Items>,
}

/// An operation under way.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub direction: Direction,
    /// It is over; the status holds.
    pub complete: bool,
    pub comm: CommId,
    /// It carries a collective's data.
    pub collective: bool,
    /// Rank in `comm` of the other side, or MPI_ANY_SOURCE.
    pub peer: i32,
    pub tag: i32,
    /// Bytes to send, or room for those to receive.
    pub length: u64,
    pub scattered: Option<Scattered>,
    /// True if nobody will use it any more: it is freed when it completes.
    pub orphan: bool,
    /// The collective operation that it is a part of.
    pub parent: Option<RequestId>,
    /// Parts of a collective operation that are not over.
    pub open: u32,
    /// Remaining steps of a collective operation; taken out while they are executed.
    pub schedule: Option<Box<Schedule>>,
    pub status: Status,
    pub error: Option<Error>,
}

impl Request {
    /// An operation just begun.
    pub fn new(direction: Direction, comm: CommId, peer: i32, tag: i32) -> Request {
        Request {
            direction,
            complete: false,
            comm,
            collective: false,
            peer,
            tag,
            length: 0,
            scattered: None,
            orphan: false,
            parent: None,
            open: 0,
            schedule: None,
            status: Status::EMPTY,
            error: None,
        }
    }
    /// True when it is over.
    pub fn is_complete(&self) -> bool {
        self.complete
    }
}

struct Slot {
    generation: u32,
    request: Option<Request>,
}

/// All requests of a process.
#[derive(Default)]
pub(crate) struct Requests {
    slots: Vec<Slot>,
    free: Vec<u32>,
}

impl Requests {
    /// Adds one.
    pub fn insert(&mut self, request: Request) -> RequestId {
        if let Some(index) = self.free.pop() {
            let slot = &mut self.slots[index as usize];
            slot.request = Some(request);
            return RequestId { index, generation: slot.generation };
        }
        let index = u32::try_from(self.slots.len()).expect("fewer requests than 2^32");
        self.slots.push(Slot { generation: 0, request: Some(request) });
        RequestId { index, generation: 0 }
    }
    /// The request, unless it was removed.
    pub fn find(&mut self, id: RequestId) -> Option<&mut Request> {
        let slot = self.slots.get_mut(id.index as usize)?;
        slot.request.as_mut().filter(|_| slot.generation == id.generation)
    }
    /// The request; it must exist.
    pub fn get(&self, id: RequestId) -> &Request {
        let slot = &self.slots[id.index as usize];
        assert_eq!(slot.generation, id.generation, "the request was removed");
        slot.request.as_ref().expect("the request was removed")
    }
    /// The same, to be changed.
    pub fn get_mut(&mut self, id: RequestId) -> &mut Request {
        self.find(id).expect("the request was removed")
    }
    /// Takes it out.
    pub fn remove(&mut self, id: RequestId) -> Request {
        let slot = &mut self.slots[id.index as usize];
        assert_eq!(slot.generation, id.generation, "the request was removed");
        slot.generation = slot.generation.wrapping_add(1) & RequestId::GENERATION_MASK;
        self.free.push(id.index);
        slot.request.take().expect("the request was removed")
    }
    /// True if there is an operation on a communicator.
    pub fn use_comm(&self, comm: CommId) -> bool {
        self.slots.iter().filter_map(|slot| slot.request.as_ref()).any(|r| r.comm == comm)
    }
    /// The sends that are not over.
    pub fn unfinished_send(&self) -> Option<&Request> {
        let requests = self.slots.iter().filter_map(|slot| slot.request.as_ref());
        requests.into_iter().find(|r| r.direction == Direction::Send && !r.is_complete())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_id_does_not_find_the_next_request() {
        let mut requests = Requests::default();
        let request = || Request::new(Direction::Send, CommId(0), 1, 2);
        let old = requests.insert(request());
        requests.remove(old);
        let new = requests.insert(request());
        assert_eq!(new.index, old.index);
        assert!(requests.find(old).is_none());
        assert!(requests.find(new).is_some());
    }
}
