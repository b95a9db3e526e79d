//! Requests of the block layer.

use super::packets::Packets;
use super::{Drain, Trail};
use crate::message_path::DEPOSITED;
use abi::MessageId;
use des::Time;
use machine::instruments::message_trace::{MessageKind, Protocol, Waypoint};

impl Trail {
    /// A message is the command of a request that the block layer has made, for data or with them.
    pub fn begins_request(&self, now: Time, message: MessageId, reads: bool) {
        self.journal.with(message, |flight| {
            flight.kind = if reads { MessageKind::Get } else { MessageKind::Put };
            flight.protocol = Protocol::Reply;
            flight.mark(now, Waypoint::KERNEL_ENTERED);
        });
    }

    /// The handler has found the word for which a process sleeps.
    pub fn drains_word(&self, drain: Drain) {
        let Drain { entered, now, source } = drain;
        let come = &mut *self.come.borrow_mut();
        let here = &mut come.here[source as usize];
        if here.is_empty() {
            here.extend(self.early(now, &mut come.foreseen[source as usize]));
        }
        let interrupt = self.raised.get().min(entered);
        let Some(message) = come.here[source as usize].front() else { return };
        self.journal.with(*message, |flight| {
            if flight.at(DEPOSITED).is_some_and(|at| at <= entered) {
                flight.mark(interrupt.max(entered), Waypoint::COMPLETION_ENTERED);
            }
            flight.mark(now, Waypoint::COMPLETION_DRAINED);
        });
    }

    /// True if the handler has told of a message.
    pub fn was_told_of(&self, message: MessageId) -> bool {
        let told = self.journal.with(message, |flight| flight.at(Waypoint::COMPLETION_DRAINED));
        told.flatten().is_some()
    }

    /// The card begins anew: what was in it, and on the lanes, is lost, and nothing of the past comes.
    pub fn begins_anew(&self, now: Time) {
        self.out.borrow_mut().reset(now);
        let come = &mut *self.come.borrow_mut();
        come.landing.reset(now);
        for expected in come.foreseen.iter_mut().flat_map(|all| all.drain(..)) {
            self.journal.dropped(expected.message);
        }
        let here = come.here.iter_mut().chain(&mut come.rung).flat_map(|all| all.drain(..));
        here.for_each(|message| self.journal.end(message));
        (come.lost, come.drained) = (false, None);
        come.lanes = Packets::new();
    }

    /// A message is not posted, as the card takes nothing any more.
    pub fn gives_up(&self, message: MessageId) {
        self.journal.dropped(message);
    }

    /// The disk has done what a request wanted.
    pub fn disk_done(&self, at: Time, request: MessageId) {
        self.journal.mark(at, request, Waypoint::CLAIMED);
    }

    /// Message `reply`, made by the block layer, answers a request.
    pub fn answers(&self, now: Time, reply: MessageId, request: MessageId) {
        self.journal.answers(reply, request);
        self.begins(reply, 1, true);
        self.journal.mark(now, reply, Waypoint::KERNEL_ENTERED);
    }
}
