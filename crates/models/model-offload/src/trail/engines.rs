//! Actions of the engines, and completions.

use super::{kind_of, Departs, Moving, Trail, MOVES, SENDS};
use crate::message_path::{DEPOSITED, HEADER_COMMANDED, RECEIVE_COMMANDED};
use abi::offload as of;
use abi::offload::{completion_kind, dma_operation, packet_kind, Completion, Packet};
use abi::MessageId;
use des::Time;
use machine::instruments::message_trace::{Flight, Waypoint};
use machine::instruments::timeline::Engine;
use offload_nic::Moves;

impl Trail {
    /// The message of which a packet of this node's for another is a part.
    pub(crate) fn own_of(&self, packet: &Packet, target: u32) -> MessageId {
        let source_nid = match kind_of(packet) {
            packet_kind::CLEAR => target,
            _ => self.nid,
        };
        MessageId { source_nid, serial: packet.serial }
    }

    /// True if the records of a message travel with this packet: with its first one, and back with the
    /// answer. An answer that no bytes follow carries none.
    pub(super) fn carries(packet: &Packet) -> bool {
        match kind_of(packet) {
            packet_kind::CLEAR => packet.length > 0,
            packet_kind::DATA => packet.bits_lo == 0,
            _ => true,
        }
    }

    pub(super) fn sends(&mut self, at: Time, packet: &Packet, target: u32) {
        self.sending += 1;
        self.depth(at, SENDS, self.sending);
        let message = self.own_of(packet, target);
        self.stage(at, Engine::Transmit, message, Some("reads the payload"));
        if !Trail::carries(packet) {
            return;
        }
        match kind_of(packet) {
            packet_kind::CLEAR => {
                // Packets in which the bytes will come.
                let packets = packet.length.div_ceil(of::CHUNK);
                self.journal.with(message, |flight| flight.packets = packets);
                self.journal.answers(message, message);
            }
            packet_kind::DATA => {
                self.journal.remember(message);
                self.journal.answers(message, message);
            }
            _ => {}
        }
        self.journal.mark(at, message, HEADER_COMMANDED);
    }

    pub(super) fn departs(&mut self, at: Time, packet: &Packet, target: u32) -> Option<Departs> {
        let message = self.own_of(packet, target);
        self.leaving.push_back(message);
        self.stage(at, Engine::Transmit, message, Some("sends"));
        Trail::carries(packet).then_some((at, message, target))
    }

    pub(super) fn moves(&mut self, at: Time, moves: Moves) {
        let Moves { operation, local, .. } = moves;
        let mut moving = Moving { message: None, last: false };
        if operation == dma_operation::COPY_TO_HOST {
            let place = self.copies.iter().position(|kept| kept.buffer == local);
            if let Some(place) = place {
                moving =
                    Moving { message: Some(self.copies.swap_remove(place).message), last: true };
            }
        } else if let Some(packet) = self.payloads.pop_front() {
            let message = self.message_of(&packet);
            moving.message = Some(message);
            if operation == dma_operation::TAKE_TO_MEMORY {
                let all = self.processes.iter_mut().flat_map(|process| process.kept.each());
                let kept = all.filter(|kept| kept.message == message).last();
                kept.into_iter().for_each(|kept| kept.buffer = local);
            } else {
                let left = |flight: &mut Flight| {
                    flight.packets = flight.packets.saturating_sub(1);
                    flight.packets == 0
                };
                moving.last = self.journal.with(message, left).unwrap_or(true);
            }
        }
        if let Some(message) = moving.message {
            if operation != dma_operation::TAKE_TO_MEMORY {
                self.journal.mark(at, message, RECEIVE_COMMANDED);
            }
            self.stage(at, Engine::Receive, message, Some("moves the payload"));
        }
        self.moving.push_back(moving);
        self.depth(at, MOVES, self.moving.len() as u32);
    }

    pub(super) fn moved(&mut self, at: Time) {
        let Some(Moving { message, last }) = self.moving.pop_front() else { return };
        self.depth(at, MOVES, self.moving.len() as u32);
        let Some(message) = message else { return };
        if last {
            self.journal.mark(at, message, DEPOSITED);
        }
        self.stage(at, Engine::Receive, message, None);
    }

    // ---- completions -------------------------------------------------------------------------------------

    pub(super) fn completes(&mut self, at: Time, process: usize, offset: u32, bytes: &[u8]) {
        let own = &mut self.processes[process];
        let from = offset as usize % Completion::SIZE;
        let end = from + bytes.len();
        let mut message = None;
        if let Some(place) = own.completion.get_mut(from..end) {
            place.copy_from_slice(bytes);
            let whole = (end == Completion::SIZE).then(|| Completion::parse(&own.completion));
            message = whole.flatten().and_then(|completion| self.told(at, process, &completion));
        }
        self.stores.push_back(message);
    }

    /// A completion is written; the message that has come with it.
    pub(super) fn told(
        &mut self,
        at: Time,
        process: usize,
        completion: &Completion,
    ) -> Option<MessageId> {
        let own = &mut self.processes[process];
        match completion.kind {
            completion_kind::RECEIVED => {
                let source_nid = (completion.handle as u16).into();
                let message = MessageId { source_nid, serial: completion.serial };
                self.journal.mark(at, message, Waypoint::COMPLETION_WRITTEN);
                // Without room nothing was copied.
                self.copies.retain(|kept| kept.message != message);
                self.stage(at, Engine::Receive, message, None);
                return Some(message);
            }
            completion_kind::CANCELLED => {
                let place = own.posted.place_of(|request| *request == completion.request);
                if place.and_then(|place| own.posted.remove(place)).is_some() {
                    self.unposts(at, process);
                }
            }
            completion_kind::TAKEN => {
                if let Some((handle, _)) = own.taken.last_mut() {
                    *handle = completion.handle;
                }
            }
            _ => {}
        }
        None
    }
}
