//! Posted receives that a message overtook.
//!
//! Where match lists are on the network interface, a post does not wait for it. A message that comes between
//! goes to the unexpected, and the interface refuses the post, and all behind it that have not heard of the
//! message. This library learns of both together. It then looks for those receives' messages, or posts them
//! again, in the order in which they were posted first, before it posts, or lets a probe find, anything else.

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

/// Receives whose posts were refused, in the order in which they were posted first.
#[derive(Default)]
pub(super) struct Overtaken {
    receives: VecDeque<(u64, RequestId)>,
    /// Receives posted so far.
    places: u64,
}

impl Overtaken {
    pub fn any(&self) -> bool {
        !self.receives.is_empty()
    }

    /// The place of a receive that is posted now for the first time.
    pub fn next_place(&mut self) -> u64 {
        self.places += 1;
        self.places
    }

    fn add(&mut self, place: u64, id: RequestId) {
        let at = self.receives.partition_point(|(other, _)| *other < place);
        self.receives.insert(at, (place, id));
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
            if let Some(step) = next.or_else(|| self.start_deferred(local)) {
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
            if let Some((_, place)) = operation.posted {
                self.overtaken.add(place, operation.id());
            }
            let at = local.cpu.now();
            local.observe(|observer| observer.unposted(at));
        }
    }

    /// Finds the messages of overtaken receives, or posts them again. None if there were none; after each
    /// piece of news it returns, and goes on when it is called again.
    fn post_again(&mut self, local: &mut Local) -> Option<Step> {
        while let Some(&(_, id)) = self.overtaken.receives.front() {
            local.settle();
            match self.ni.eq_poll(&self.poll_set[..1], Some(Duration::ZERO)) {
                Err(PortalsError::MdNoUpdate) => {
                    self.take_refused(local);
                    continue;
                }
                Err(PortalsError::EqEmpty) => {}
                polled => return Some(self.take_event(local, polled)),
            }
            let operation = self.operations.get(id);
            let (pattern, _) = operation.posted.expect("it was posted");
            let room = operation.bytes;
            let Some(begun) = self.claim_or_post(local, id, pattern, room) else { continue };
            self.overtaken.remove(id);
            match begun {
                Begun::Ended(ending) => return Some(Step::Ended(ending)),
                Begun::UnderWay | Begun::Again(_) if !self.overtaken.any() => {
                    return Some(Step::Event)
                }
                Begun::UnderWay | Begun::Again(_) => {}
            }
        }
        None
    }

    /// Takes back a receive whose post was refused. False if it is none.
    pub(super) fn forget_overtaken(&mut self, id: RequestId) -> bool {
        let was = self.overtaken.remove(id);
        if was {
            self.end_operation(id);
        }
        was
    }
}
