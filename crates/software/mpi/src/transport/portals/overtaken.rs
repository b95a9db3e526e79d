//! Receives that are in no list of Portals: those that a message overtook, and those without room.
//!
//! Where match lists are on the network interface, a post does not wait for it. A message that comes between
//! goes to the unexpected, and the interface refuses the post, and all behind it that have not heard of the
//! message. This library learns of both together. It then looks for those receives' messages, or posts them
//! again, in the order in which they were posted first, before it posts, or lets a probe find, anything else.
//!
//! A receive for which there is no room is kept here, too, and so are all behind it: what Portals has is
//! always the oldest part of the list. Each message of the unexpected meets the kept receives in order,
//! before anything else happens. When there is room again the oldest is posted, on the same condition as any
//! other: that no message came which it has not met.

use super::matching::Pattern;
use super::{Portals, Step};
use crate::local::Local;
use crate::request::RequestId;
use crate::transport::Begun;
use des::Duration;
use portals::Error as PortalsError;
use std::collections::VecDeque;

/// Event queues to look into.
#[derive(Clone, Copy)]
pub(super) enum Queues {
    /// That of the unexpected messages.
    Unexpected,
    All,
}

/// Receives whose posts were refused, or that have no room, in the order in which they were posted first.
#[derive(Default)]
pub(super) struct Overtaken {
    receives: VecDeque<(u64, RequestId)>,
    /// All of them have met all messages of the list: they wait for room.
    met: bool,
    /// Receives posted so far.
    places: u64,
}

impl Overtaken {
    /// True if some of them may take messages of the list.
    pub fn choose(&self) -> bool {
        !self.receives.is_empty() && !self.met
    }

    /// A message has come into the list.
    pub fn message_came(&mut self) {
        self.met = false;
    }

    /// The place of a receive that is posted now for the first time.
    pub fn next_place(&mut self) -> u64 {
        self.places += 1;
        self.places
    }

    fn add(&mut self, place: u64, id: RequestId) {
        let at = self.receives.partition_point(|(other, _)| *other < place);
        self.receives.insert(at, (place, id));
        self.met = false;
    }

    fn remove(&mut self, id: RequestId) -> bool {
        let at = self.receives.iter().position(|(_, other)| *other == id);
        at.is_some_and(|at| self.receives.remove(at).is_some())
    }
}

impl Portals {
    /// Looks for news, up to `timeout` (None: for ever).
    pub(super) fn look(
        &mut self,
        local: &mut Local,
        queues: Queues,
        timeout: Option<Duration>,
    ) -> Step {
        loop {
            let next = self.take_collected(local).or_else(|| self.post_again(local));
            let next = next.or_else(|| self.start_deferred(local));
            if let Some(step) = next.or_else(|| self.start_waiting(local)) {
                return step;
            }
            local.settle();
            let eqs = match queues {
                Queues::Unexpected => &self.poll_set[..1],
                Queues::All => &self.poll_set[..],
            };
            match self.ni.eq_poll(eqs, timeout) {
                Err(PortalsError::MdNoUpdate) => self.take_refused(local),
                polled => return self.take_event(local, polled),
            }
        }
    }

    /// Takes note of the posts that were refused, and of collective operations that are over.
    pub(super) fn take_refused(&mut self, local: &mut Local) {
        self.collected.extend(std::iter::from_fn(|| self.ni.next_collected()));
        while let Some(entry) = self.ni.next_refused() {
            let Some(operation) = self.operations.posted_as(entry) else { continue };
            operation.entry = None;
            let id = operation.id();
            if let Some((_, place)) = operation.posted {
                self.overtaken.add(place, id);
            }
            let kept = operation.heard.is_some();
            self.leave_list(id);
            if !kept {
                let at = local.cpu.now();
                local.observe(|observer| observer.unposted(at));
            }
        }
    }

    /// Finds the messages of overtaken receives, or posts them again. None if there were none; after each
    /// piece of news it returns, and goes on when it is called again.
    fn post_again(&mut self, local: &mut Local) -> Option<Step> {
        while let Some(&(_, id)) = self.overtaken.receives.front() {
            if self.overtaken.met && !self.room.admits_receive() {
                return None;
            }
            local.settle();
            match self.ni.eq_poll(&self.poll_set[..1], Some(Duration::ZERO)) {
                Err(PortalsError::MdNoUpdate) => {
                    self.take_refused(local);
                    continue;
                }
                Err(PortalsError::EqEmpty) => {}
                polled => return Some(self.take_event(local, polled)),
            }
            if !self.room.admits_receive() {
                return Some(self.meet(local));
            }
            let operation = self.operations.get(id);
            let (pattern, _) = operation.posted.expect("it has a place");
            let room = operation.bytes;
            let begun = match self.claim(local, id, pattern) {
                Some(begun) => begun,
                None if self.post(local, id, pattern, room) => Begun::UnderWay,
                None => continue,
            };
            self.overtaken.remove(id);
            match begun {
                Begun::Ended(ending) => return Some(Step::Ended(ending)),
                Begun::UnderWay | Begun::Again(_) if self.overtaken.receives.is_empty() => {
                    return Some(Step::Event)
                }
                Begun::UnderWay | Begun::Again(_) => {}
            }
        }
        None
    }

    /// Finds the messages of receives without room.
    fn meet(&mut self, local: &mut Local) -> Step {
        let mut at = 0;
        while let Some(&(_, id)) = self.overtaken.receives.get(at) {
            let (pattern, _) = self.operations.get(id).posted.expect("it has a place");
            let Some(begun) = self.claim(local, id, pattern) else {
                at += 1;
                continue;
            };
            self.overtaken.receives.remove(at);
            if let Begun::Ended(ending) = begun {
                return Step::Ended(ending);
            }
        }
        self.overtaken.met = true;
        Step::Event
    }

    /// True if the next receive is kept: no room is left, or another is kept that is older.
    pub(super) fn keeps_next(&self) -> bool {
        !self.overtaken.receives.is_empty() || !self.room.admits_receive()
    }

    /// Keeps a receive that has met all messages of the list.
    pub(super) fn keep(&mut self, local: &Local, id: RequestId, pattern: Pattern) {
        let place = self.overtaken.next_place();
        let next = self.unexpected.next;
        let operation = self.operations.get(id);
        (operation.posted, operation.heard) = (Some((pattern, place)), Some(next));
        let met = self.overtaken.receives.is_empty() || self.overtaken.met;
        self.overtaken.add(place, id);
        self.overtaken.met = met;
        self.ni.count_kept_receive();
        let at = local.cpu.now();
        local.observe(|observer| observer.posted(at));
    }

    /// A kept receive, if it is one, has a message or is taken back.
    pub(super) fn unkept(&mut self, local: &Local, id: RequestId) {
        if self.operations.get(id).heard.is_some() {
            let at = local.cpu.now();
            local.observe(|observer| observer.unposted(at));
        }
    }

    /// Takes back a receive that is here. False if it is none.
    pub(super) fn forget_overtaken(&mut self, local: &Local, id: RequestId) -> bool {
        let was = self.overtaken.remove(id);
        if was {
            self.unkept(local, id);
            self.end_operation(id);
        }
        was
    }
}
