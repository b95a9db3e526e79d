//! The seam below requests and collectives: what carries messages from process to process.
//!
//! A [`Transport`] matches messages with receives by MPI's rules and moves their bytes. It knows operations
//! by their [`RequestId`] and tells how each ended; what that means for requests, statuses, datatypes and
//! communicators is decided above. It spends the process's time through [`Local`].
//!
//! ```text
//!   call, api, collective ─► request ─► Transport ─► portals, queues
//!                               ▲           │
//!                               └── Ending ─┘
//! ```

use crate::error::Result;
use crate::local::Local;
use crate::request::RequestId;

pub(crate) mod message;
pub(crate) mod portals;
pub(crate) mod queues;
pub(crate) mod watched;

pub use message::{
    Address, Awaits, Begun, Bytes, Ending, Entries, Found, GroupStep, Mode, Step, Taken, Wanted,
};

/// Carries the messages of one process.
pub trait Transport {
    /// The greatest tag (MPI_TAG_UB).
    fn tag_max(&self) -> i32;

    /// The node on which a rank of the world runs.
    fn node_of(&self, rank: u32) -> u32;

    /// The name of a node, by a rank on it.
    fn node_name(&self, rank: u32) -> String {
        format!("nid{:05}", self.node_of(rank))
    }

    /// Starts sending. True if the bytes may be used again already: then nothing more is heard of `id`.
    fn send(
        &mut self,
        local: &mut Local,
        id: RequestId,
        to: Address,
        bytes: Bytes,
        mode: Mode,
    ) -> Result<bool>;

    /// Starts receiving into `room`, which lies in the process's memory. The message is the first of those
    /// that have come and are wanted, or else the first that comes and for which no older receive is posted.
    fn receive(&mut self, local: &mut Local, id: RequestId, wanted: Wanted, room: Bytes) -> Begun;

    /// Starts receiving a message that was taken before.
    fn receive_taken(
        &mut self,
        local: &mut Local,
        id: RequestId,
        message: Taken,
        room: Bytes,
    ) -> Begun;

    /// Takes back a receive. False if a message has already matched it: then it ends as any other.
    fn cancel(&mut self, local: &mut Local, id: RequestId) -> bool;

    /// The message that a receive of `wanted` would get, among those that have come.
    fn find(&mut self, local: &mut Local, wanted: Wanted) -> Option<Found>;

    /// True if `find` would find something: what a probe that waits asks after each piece of news.
    fn has(&mut self, local: &mut Local, wanted: Wanted) -> bool;

    /// Takes the message that `find` has found: no receive or probe finds it any more.
    fn take(&mut self, local: &mut Local, wanted: Wanted) -> Taken;

    /// Looks once for news.
    fn poll(&mut self, local: &mut Local) -> Step;

    /// Waits for news.
    fn wait(&mut self, local: &mut Local) -> Step;

    /// True if nothing reads this process's memory any more for sends that are over.
    fn is_quiet(&self) -> bool;

    /// Gives the network interface a group's schedule for this process. False if it performs no collective
    /// operations, or has no room.
    fn open_group(&mut self, _: &mut Local, _group: u16, _: &[GroupStep], _reduces: bool) -> bool {
        false
    }

    /// Takes back a group; nothing is under way in it.
    fn close_group(&mut self, _: &mut Local, _group: u16) {}

    /// True if the network interface can reduce such entries.
    fn reduces(&self, _: &Entries) -> bool {
        false
    }

    /// This process enters the next operation of an open group, after those that it has entered before.
    fn collect(&mut self, _: &mut Local, _: RequestId, _group: u16, _: Option<Entries>) {
        unreachable!("no group was opened");
    }
}
