//! Operations for which the network interface has no room.
//!
//! A receive is kept by the library (`overtaken`). What else has none waits here: a send, behind those to the
//! same process, and the fetch of a message, whose order does not matter. So the messages of two processes
//! keep their order, and a nonblocking send returns at once all the same. A pending to transmit is room, too.

use super::credits::Deferred;
use super::matching::Exposed;
use super::operations::Fetch;
use super::room::Holding;
use super::Portals;
use crate::local::Local;
use crate::request::RequestId;
use crate::transport::{Bytes, Ending, Found, Mode, Step};
use portals::ProcessId;

impl Portals {
    /// An operation takes room.
    pub(super) fn hold(&mut self, id: RequestId, holding: Holding, receives: bool) {
        let operation = self.operations.get(id);
        debug_assert_eq!(operation.holding, Holding::default(), "it gave back what it had");
        (operation.holding, operation.holds_post) = (holding, receives);
        self.room.take(holding, receives);
    }

    /// An operation that goes on gives back what it has.
    pub(super) fn leave_list(&mut self, id: RequestId) {
        let operation = self.operations.get(id);
        let holding = std::mem::take(&mut operation.holding);
        let receives = std::mem::take(&mut operation.holds_post);
        self.room.give(holding, receives);
    }

    /// True if a send may begin now.
    fn has_room_for(&self, bytes: Bytes, mode: Mode) -> bool {
        let Bytes { length, .. } = bytes;
        let copied = length <= self.params.copy_limit && !self.free_copies.is_empty();
        let room = match mode {
            Mode::Standard if length == 0 || copied => true,
            Mode::Standard if length <= self.params.eager_limit => self.room.has_descriptor(),
            Mode::Standard | Mode::Synchronous => self.room.has_entry(),
        };
        room && self.ni.may_send()
    }

    /// True if a send may begin; else it waits. One behind another to the same process waits, too.
    pub(super) fn admits_send(&mut self, send: Deferred) -> bool {
        let target = send.to.target;
        let behind = self.waiting.sends.iter().any(|other| other.to.target == target);
        if !behind && self.has_room_for(send.bytes, send.mode) {
            return true;
        }
        self.ni.count_kept_send();
        self.waiting.sends.push_back(send);
        false
    }

    /// True if a fetch may begin; else it waits.
    pub(super) fn admits_fetch(&mut self, id: RequestId, from: ProcessId, what: Exposed) -> bool {
        if self.room.has_descriptor() && self.ni.may_send() {
            return true;
        }
        self.waiting.fetches.push_back(Fetch { id, from, what });
        false
    }

    /// Begins what has waited and has room. A send that is over at once, or cannot begin, is told.
    pub(super) fn start_waiting(&mut self, local: &mut Local) -> Option<Step> {
        while !self.waiting.fetches.is_empty()
            && self.room.has_descriptor()
            && self.ni.may_send()
            && let Some(Fetch { id, from, what }) = self.waiting.fetches.pop_front()
        {
            self.start_fetch(local, id, from, what);
        }
        let mut behind = Vec::new();
        let mut at = 0;
        while let Some(&send) = self.waiting.sends.get(at) {
            if !self.ni.may_send() {
                return None;
            }
            let Deferred { id, to, bytes, mode } = send;
            if behind.contains(&to.target) || !self.has_room_for(bytes, mode) {
                behind.push(to.target);
                at += 1;
                continue;
            }
            self.waiting.sends.remove(at);
            let error = match self.start_send(local, id, to, bytes, mode) {
                Ok(false) => continue,
                Ok(true) => None,
                Err(error) => {
                    self.untake_credit(to);
                    Some(error)
                }
            };
            return Some(Step::Ended(Ending { id, found: Found::NOTHING, error }));
        }
        None
    }
}
