//! Messages on their way from the cable into a process's memory.

use super::{header, limits, PORTS};
use ::myrinet::Slot;
use abi::myrinet::{
    bypass_event_kind, dma, BypassEvent, DmaBlock, BYPASS_EVENTS, DMA_RECEIVE_CHAIN,
};
use abi::MessageId;
use des::Time;
use std::collections::VecDeque;
use std::ops::Range;

/// Messages that have come to a card.
#[derive(Default)]
pub(super) struct Receiver {
    /// A packet is on its way in.
    inside: bool,
    /// Packets that have begun to arrive and are not in a buffer yet.
    coming: VecDeque<(Option<MessageId>, Time)>,
    /// Messages in buffers, the oldest first, until another packet comes there.
    held: VecDeque<Held>,
}

/// A whole copy of a message in a buffer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Held {
    pub message: MessageId,
    /// Time at which its first slot came.
    pub came: Time,
    /// Time at which all was in the buffer.
    pub had: Time,
    place: Range<u32>,
}

/// DMA of an event to the host, behind a message or not.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Delivery {
    pub blocks: usize,
    /// The message, if it is of one that has come and has an id.
    pub held: Option<Held>,
    pub port: usize,
    pub event: BypassEvent,
    /// Address of the event in the host's memory.
    pub event_at: u64,
}

impl Receiver {
    /// A slot comes: the message that begins with it.
    pub fn comes(&mut self, now: Time, slot: &Slot) -> Option<MessageId> {
        if std::mem::replace(&mut self.inside, !slot.ends) {
            return None;
        }
        self.coming.push_back((slot.id, now));
        slot.id
    }

    /// The rest of a packet was lost in a reset.
    pub fn discarded(&mut self) {
        self.coming.pop_front();
    }

    /// A packet is in its buffer, whole or not.
    pub fn received(&mut self, at: Time, place: Range<u32>, good: bool) {
        let Some((message, came)) = self.coming.pop_front() else { return };
        let overlaps = |held: &Held| held.place.start < place.end && place.start < held.place.end;
        self.held.retain(|held| !overlaps(held));
        if let Some(message) = message.filter(|_| good) {
            self.held.push_back(Held { message, came, had: at, place });
        }
    }

    /// The control program has started DMA to the host. None if it brings no event to a port.
    pub fn delivers(&mut self, sram: &[u8]) -> Option<Delivery> {
        let block = |at: u32| DmaBlock::parse(sram.get(at as usize..)?);
        let ends = |block: &DmaBlock| block.next & dma::TERMINAL != 0;
        let first = block(DMA_RECEIVE_CHAIN)?;
        let (data, last) = match ends(&first) {
            true => (None, first),
            false => (Some(first), block(first.next & !7).filter(ends)?),
        };
        let event = BypassEvent::parse(sram.get(last.local as usize..)?)?;
        let event_at = u64::from(last.host_hi) << 32 | u64::from(last.host_lo);
        let events = u64::from(BYPASS_EVENTS) * BypassEvent::SIZE as u64;
        let port = (0..PORTS).find(|port| {
            limits(sram, *port).is_some_and(|limits| {
                let begin = u64::from(limits.host);
                let open = limits.open != 0 || limits.state != 0;
                open && (begin..begin + events).contains(&event_at)
            })
        })?;
        let place = self.held.iter().position(|held| match data {
            Some(data) => held.place.contains(&data.local),
            // It has no bytes.
            None => {
                let header = header(sram, held.place.start);
                let from = header.map(|is| (is.source, u16::from(is.source_port), is.length));
                let received = event.kind == bypass_event_kind::RECEIVED;
                received && from == Some((event.node, event.port, 0))
            }
        });
        let held = place.and_then(|place| self.held.remove(place));
        let blocks = 1 + usize::from(data.is_some());
        Some(Delivery { blocks, held, port, event, event_at })
    }
}
