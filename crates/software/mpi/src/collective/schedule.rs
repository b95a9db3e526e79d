//! Collective operations under way: each is a schedule of steps that an algorithm has planned from
//! the ranks' numbers alone, and that goes on whenever its process is in the library. A blocking
//! collective is a schedule that is waited for, a persistent one is planned anew at each start.

use crate::comm::CommId;
use crate::datatype::items::Items;
use crate::error::Error;
use crate::reduction::Reduction;
use crate::request::{RequestId, Status};
use crate::scratch::Buffer;
use crate::transport::message::Entries;
use std::rc::Rc;

/// One step. Sends and receives go on side by side until the next `Wait`; all other steps are done
/// at once.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Items to a rank.
    Send {
        to: u32,
        items: Items,
    },
    /// Items from a rank, which must send as many bytes if `exact`.
    Receive {
        from: u32,
        items: Items,
        exact: bool,
    },
    /// Items of a message of the program's own: these, or a copy of them.
    MessageTo {
        to: i32,
        tag: i32,
        items: Items,
        of: Items,
    },
    /// Room for one; its status is that of the whole.
    MessageFrom {
        from: i32,
        tag: i32,
        items: Items,
    },
    /// All that was begun is over.
    Wait,
    /// Items to where there is as much room.
    Copy {
        from: Items,
        to: Items,
    },
    /// `inout = input op inout` on packed items.
    Combine {
        reduction: Rc<Reduction>,
        input: u64,
        inout: u64,
        count: u64,
    },
    /// Numbers are offered for a new communicator; what comes then is planned when that is done.
    Offer(Numbering),
    /// All have offered.
    Settle(Numbering),
    /// All have said whether they have opened a group on the network interface; what comes then is planned.
    Opened(Opening),
    /// An operation of the network interface.
    OnNic {
        group: u16,
        entries: Option<Entries>,
    },
    /// Held back until all have agreed about the group of an operation, which is planned then.
    Held(usize),
    Choose(OnNicOperation),
}

/// Packed items that are being reduced: this rank's own at first, the result in the end.
#[derive(Clone, Debug)]
pub(crate) struct Accumulator {
    pub va: u64,
    pub bytes: u64,
    /// Buffer of as many bytes, for the items of others.
    pub received: u64,
    pub reduction: Rc<Reduction>,
    /// Items.
    pub count: u64,
}

/// An operation that the network interface may perform.
#[derive(Clone, Debug)]
pub(crate) enum OnNicOperation {
    Barrier,
    Allreduce(Accumulator),
}

/// An agreement about a group on the network interface.
#[derive(Clone, Debug)]
pub(crate) struct Opening {
    pub operation: OnNicOperation,
    /// Address of one byte: 1 if all have opened the group.
    pub va: u64,
    /// This process has opened it.
    pub opened: bool,
}

/// An agreement about the number of a new communicator.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbering {
    /// Communicator that gets the number; `None` if this rank could not make one.
    pub new: Option<CommId>,
    /// Address of the offer; that of another rank is behind it.
    pub va: u64,
    /// Windows tried before.
    pub round: u32,
    /// The numbers of the window are offered here.
    pub lent: bool,
}

/// A collective operation under way.
#[derive(Clone, Debug, Default)]
pub(crate) struct Schedule {
    pub steps: Vec<Step>,
    pub next: usize,
    /// Sends and receives begun since the last `Wait`; how many bytes a receive must get.
    pub children: Vec<(RequestId, Option<u64>)>,
    pub buffers: Vec<Buffer>,
    /// The datatype whose handle a function of the program gets.
    pub held: Option<u64>,
    /// The child whose status is that of the whole, and that status.
    pub speaker: Option<RequestId>,
    pub status: Option<Status>,
    pub error: Option<Error>,
}

impl Schedule {
    /// Its sends and receives.
    pub fn children(&self) -> impl Iterator<Item = RequestId> + '_ {
        self.children.iter().map(|&(child, _)| child)
    }
}
