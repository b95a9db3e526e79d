//! Requests: operations under way, in a slab, so that handles are small integers and nothing is
//! hashed.

use crate::collective::schedule::Schedule;
use crate::comm::CommId;
use crate::datatype::items::Items;
use crate::error::Error;
use crate::scratch::Buffer;
use portals::MeHandle;

pub(crate) mod wait;
pub(crate) mod waiting;

/// Names a request of one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestId {
    pub(crate) index: u32,
    pub(crate) generation: u32,
}

/// What a completed receive or probe tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// Rank of the sender, or a negative constant.
    pub source: i32,
    /// Tag of the message, or a negative constant.
    pub tag: i32,
    /// Bytes received.
    pub bytes: u64,
    /// The operation was cancelled.
    pub cancelled: bool,
    /// Error class of the operation.
    pub error: i32,
}

impl Status {
    /// Of an operation that receives nothing: a send, or no operation at all.
    pub const EMPTY: Status = Status {
        source: crate::constant::ANY_SOURCE,
        tag: crate::constant::ANY_TAG,
        bytes: 0,
        cancelled: false,
        error: 0,
    };
    /// Of a receive from MPI_PROC_NULL.
    pub const PROC_NULL: Status = Status { source: crate::constant::PROC_NULL, ..Status::EMPTY };
}

/// Which way the bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Send,
    Receive,
    /// Neither: a schedule of sends and receives.
    Collective,
}

/// How far an operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// A receive that no message has matched, or a send that the receiver has not taken.
    Posted,
    /// A receive whose message is known and whose bytes are on their way.
    Arriving,
    /// It is over; the status holds.
    Complete,
}

/// Items in the program's memory that are not one run of bytes: they travel through a library
/// buffer.
#[derive(Clone, Debug)]
pub(crate) struct Scattered {
    pub buffer: Buffer,
    /// Where a receive's bytes go in the end; a send's are gathered beforehand.
    pub target: Option<Items>,
}

/// An operation under way.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub direction: Direction,
    pub state: State,
    pub comm: CommId,
    /// It carries a collective's data.
    pub collective: bool,
    /// Rank in `comm` of the other side, or MPI_ANY_SOURCE.
    pub peer: i32,
    pub tag: i32,
    /// Bytes to send or to receive into.
    pub va: u64,
    pub length: u64,
    pub scattered: Option<Scattered>,
    /// The posted receive's, or the exposed buffer's, match entry.
    pub entry: Option<MeHandle>,
    /// Event queue that it has reserved room in.
    pub queue: Option<u8>,
    /// Nobody will ask for it any more: it is freed when it completes.
    pub orphan: bool,
    /// The collective operation that it is a part of.
    pub parent: Option<RequestId>,
    /// Parts of a collective operation that are not over.
    pub open: u32,
    /// What a collective operation has to do; away while it is being done.
    pub schedule: Option<Box<Schedule>>,
    pub status: Status,
    pub error: Option<Error>,
}

impl Request {
    /// An operation just begun.
    pub fn new(direction: Direction, comm: CommId, peer: i32, tag: i32) -> Request {
        Request {
            direction,
            state: State::Posted,
            comm,
            collective: false,
            peer,
            tag,
            va: 0,
            length: 0,
            scattered: None,
            entry: None,
            queue: None,
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
        self.state == State::Complete
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
        slot.generation = slot.generation.wrapping_add(1) & GENERATION_MASK;
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

/// Whom an event belongs to: what `user_ptr` of every memory descriptor says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// A request.
    Request(RequestId),
    /// A block for unexpected messages.
    Block(u32),
    /// The empty entry, which catches what is fetched.
    Catcher,
    /// A library buffer for copied sends.
    Copy(u32),
}

const KIND_SHIFT: u32 = 62;
const GENERATION_SHIFT: u32 = 32;
const GENERATION_MASK: u32 = (1 << (KIND_SHIFT - GENERATION_SHIFT)) - 1;

impl Owner {
    /// As the word that a memory descriptor carries.
    pub fn pack(self) -> u64 {
        let (kind, generation, index) = match self {
            Owner::Request(id) => (0, id.generation, id.index),
            Owner::Block(index) => (1, 0, index),
            Owner::Catcher => (2, 0, 0),
            Owner::Copy(index) => (3, 0, index),
        };
        kind << KIND_SHIFT | u64::from(generation) << GENERATION_SHIFT | u64::from(index)
    }
    /// From that word.
    pub fn unpack(word: u64) -> Owner {
        let index = word as u32;
        let generation = (word >> GENERATION_SHIFT) as u32 & GENERATION_MASK;
        match word >> KIND_SHIFT {
            0 => Owner::Request(RequestId { index, generation }),
            1 => Owner::Block(index),
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
        for owner in [Owner::Request(id), Owner::Block(3), Owner::Catcher, Owner::Copy(7)] {
            assert_eq!(Owner::unpack(owner.pack()), owner);
        }
    }

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
