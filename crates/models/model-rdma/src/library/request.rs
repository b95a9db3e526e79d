//! Requests of the block layer: a command to the other side, and the completion that answers it, are one
//! message of two legs.

use super::{function, segments, Buffer, Library, Message};
use crate::message_path::DEPOSITED;
use crate::module::Flag;
use abi::forth::control;
use abi::MessageId;
use block::Operation;
use des::{Duration, Time};
use machine::instruments::message_trace::Waypoint;

/// Message of a queue.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Queued {
    /// A command, which begins a request for so many bytes.
    Command(Operation, u64),
    /// The completion of a request, which may have come without a name.
    Completion(Option<MessageId>),
}

impl Library {
    /// The program is in a request until `does` has done it.
    pub fn in_request<R>(&self, operation: Operation, does: impl FnOnce() -> R) -> R {
        self.in_call(function::DISK[operation.number() as usize], does)
    }

    /// Writes a message into a queue on another node, with an interrupt there if it `tells`.
    pub fn queue(&self, what: Queued, from: Buffer, to: Buffer, bytes: u64, tells: bool) {
        self.in_call(function::WRITE, || {
            let (trail, now) = (&self.module.trail, self.cpu.now());
            let message = match what {
                Queued::Command(operation, length) => {
                    let message = self.begins(to.nid, length, 1, true);
                    trail.begins_request(now, message.id, operation == Operation::Read);
                    message
                }
                Queued::Completion(request) => {
                    let id = trail.name();
                    request.into_iter().for_each(|request| trail.answers(now, id, request));
                    Message { id, to: to.nid, packets: 1 }
                }
            };
            let segment = segments(from, to, bytes).next().expect("it has words");
            let flags = if tells { control::INTERRUPT } else { 0 };
            self.post(message, 0, segment, flags);
            self.flush();
        });
    }

    /// Sleeps until a node has written a flag here, of which an interrupt tells, or until a time; true if it
    /// has.
    pub fn sleep_until(&self, flag: Flag, until: Time) -> bool {
        self.in_call(function::SLEEP, || self.module.sleep_until(&self.cpu, flag, until))
    }

    /// The message of a queue that a node has written, when it was found.
    pub fn dequeue(&self, from: u32) -> Option<MessageId> {
        let trail = &self.module.trail;
        let message = trail.found(self.cpu.now(), from)?;
        let posted = match trail.was_told_of(message) {
            true => Waypoint::COMPLETION_DRAINED,
            false => DEPOSITED,
        };
        self.takes(Some(message), posted)
    }

    /// The disk has done what a request wanted.
    pub fn disk_done(&self, at: Time, request: Option<MessageId>) {
        request.into_iter().for_each(|request| self.module.trail.disk_done(at, request));
    }

    /// The card is stuck if it frees no handle for so long.
    pub fn set_patience(&self, most: Duration) {
        self.patience.set(Some(most));
    }

    /// Transfers under way at most, and those of which one asks for a notification. Where someone resets a
    /// stuck card its queue never fills: a full one takes no store, a reset neither.
    pub(super) fn limits(&self) -> (u64, u64) {
        let costs = &self.module.costs;
        if self.patience.get().is_none() {
            return (costs.handles, costs.notify);
        }
        let handles = costs.handles.min(self.module.queue_room);
        (handles, costs.notify.min(handles / 5).max(1))
    }

    /// True if it is.
    pub fn is_stuck(&self) -> bool {
        self.stuck.get()
    }

    /// The card has begun anew: what was posted is over.
    pub fn begins_anew(&self) {
        self.freed.set(self.posted.get());
        self.asked.borrow_mut().clear();
        self.notified.set(0);
        self.stuck.set(false);
    }

    /// A request has ended.
    pub fn end_request(&self, request: Option<MessageId>) {
        self.ends(request);
    }
}
