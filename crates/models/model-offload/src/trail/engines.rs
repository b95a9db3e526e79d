//! Actions of the engines, and completions.

use super::{kind_of, Copied, Departs, Trail, OLDEST, READS};
use crate::message_path::{DEPOSITED, HEADER_COMMANDED, RECEIVE_COMMANDED};
use abi::offload as of;
use abi::offload::{completion_kind, dma_operation, packet_kind, Completion, Packet};
use abi::MessageId;
use des::Time;
use machine::instruments::message_trace::{Flight, Waypoint};
use machine::instruments::stages::Piece;
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
        let message = self.own_of(packet, target);
        self.out.enter(at, READS, Piece::whole(message, ()));
        self.out.tell(at);
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
        self.out.pass(at, READS);
        Trail::carries(packet).then_some((at, message, target))
    }

    pub(super) fn moves(&mut self, at: Time, moves: Moves) {
        let Moves { operation, local, .. } = moves;
        let mut message = None;
        let mut all = false;
        if operation == dma_operation::COPY_TO_HOST {
            let place = self.copies.iter().position(|kept| kept.buffer == local);
            message = place.map(|place| self.copies.swap_remove(place).message);
            all = true;
        } else if let Some(packet) = self.payloads.pop_front() {
            let comes = self.message_of(&packet);
            message = Some(comes);
            if operation == dma_operation::TAKE_TO_MEMORY {
                let all = self.processes.iter_mut().flat_map(|process| process.kept.each());
                let kept = all.filter(|kept| kept.message == comes).last();
                kept.into_iter().for_each(|kept| kept.buffer = local);
            } else {
                let left = |flight: &mut Flight| {
                    flight.packets = flight.packets.saturating_sub(1);
                    flight.packets == 0
                };
                all = self.journal.with(comes, left).unwrap_or(true);
            }
        }
        if let Some(message) = message.filter(|_| operation != dma_operation::TAKE_TO_MEMORY) {
            self.journal.mark(at, message, RECEIVE_COMMANDED);
        }
        self.moving.enter(at, OLDEST, Piece::of(message, Copied { all }));
        self.moving.tell(at);
    }

    pub(super) fn moved(&mut self, at: Time) {
        let Some(moved) = self.moving.leave(at, OLDEST) else { return };
        self.moving.tell(at);
        if let Some(message) = moved.message.filter(|_| moved.with.all) {
            self.journal.mark(at, message, DEPOSITED);
        }
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
        self.stores.enter(at, OLDEST, Piece::of(message, ()));
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
                self.receives(at, message, None);
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
