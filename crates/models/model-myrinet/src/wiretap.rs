//! `--pcap`: the packets that pass a card's cable, in both directions, each with its id before it.

use super::evidence::{Assembly, ROUTE};
use ::myrinet::Slot;
use abi::myrinet::CaptureHeader;
use abi::MessageId;
use des::Time;
use machine::instruments::capture::{Side, Streams, Tap};
use std::collections::VecDeque;

/// Node of a packet without an id.
const NOBODY: u16 = u16::MAX;

/// A direction: the packet that is on it.
#[derive(Default)]
struct Wire {
    inside: bool,
    id: Option<MessageId>,
    bytes: Assembly,
}

impl Wire {
    /// Adds a slot. Returns the packet that it ends, as it is in the file.
    fn add(&mut self, slot: &Slot) -> Option<Vec<u8>> {
        if !std::mem::replace(&mut self.inside, !slot.ends) {
            self.id = slot.id;
        }
        let bytes = self.bytes.add(slot)?;
        let route = bytes.iter().take_while(|byte| **byte & ROUTE != 0).count() as u16;
        let id = self.id.take();
        let header = CaptureHeader {
            source_nid: id.map_or(NOBODY, |id| id.wire_nid()),
            route,
            serial: id.map_or(u32::MAX, |id| id.serial),
        };
        let mut packet = vec![0; CaptureHeader::SIZE];
        header.emit(&mut packet);
        packet.extend_from_slice(&bytes);
        Some(packet)
    }
}

/// The taps of a card.
pub(super) struct Wiretap {
    nid: u32,
    tap: Tap,
    streams: Streams,
    sent: Wire,
    came: Wire,
    /// Packets that will have left when their last byte has.
    leaving: VecDeque<(Time, Vec<u8>)>,
}

impl Wiretap {
    /// Of node `nid`.
    pub fn new(nid: u32, tap: Tap, streams: Streams) -> Wiretap {
        let (sent, came, leaving) = Default::default();
        Wiretap { nid, tap, streams, sent, came, leaving }
    }

    /// A slot has left the card at `at`, which may be later than now.
    pub fn leaves(&mut self, at: Time, slot: &Slot) {
        let packet = self.sent.add(slot);
        self.leaving.extend(packet.map(|packet| (at, packet)));
    }

    /// A slot comes.
    pub fn comes(&mut self, now: Time, slot: &Slot) {
        if let Some(packet) = self.came.add(slot) {
            self.write(now);
            self.tap.packet(now, Side::Received, |out| out.extend_from_slice(&packet));
        }
    }

    /// Writes the packets that have left before `now`.
    fn write(&mut self, now: Time) {
        while self.leaving.front().is_some_and(|(at, _)| *at <= now) {
            let (at, packet) = self.leaving.pop_front().expect("it was just found");
            self.tap.packet(at, Side::Sent, |out| out.extend_from_slice(&packet));
        }
    }

    /// The node is over.
    pub fn finish(mut self) {
        self.write(Time::NEVER);
        self.streams.put(self.nid, self.tap);
    }
}
