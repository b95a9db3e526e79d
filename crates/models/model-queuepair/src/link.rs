//! The reliable link: segments to each node are numbered, kept until they are acknowledged, and all sent
//! again from the oldest one on if nothing comes in time. The receiver takes them in order, and says with
//! each which one it wants next, so that a later acknowledgement has what a lost one had.

use abi::wire::PortalsHeader;
use abi::MessageId;
use des::Time;
use portals::messages::Incoming;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Part of a message.
#[derive(Debug)]
pub(crate) struct Part {
    /// The message, for observers.
    pub message: MessageId,
    /// Header of the message, with its first part.
    pub header: Option<Box<PortalsHeader>>,
    pub data: Vec<u8>,
    /// With the last one: the tag of its command, which means nothing to the receiver.
    pub last: Option<u32>,
}

/// A frame on the link, from node `source`.
#[derive(Debug)]
pub(crate) enum Frame {
    Segment(Segment),
    /// All before `next` have come.
    Acknowledgement {
        source: u32,
        next: u32,
    },
}

#[derive(Debug)]
pub(crate) struct Segment {
    pub source: u32,
    pub number: u32,
    /// It has been sent before.
    pub again: bool,
    pub part: Arc<Part>,
}

impl Frame {
    /// Bytes of it beside those that all frames have.
    pub fn bytes(&self) -> u64 {
        match self {
            Frame::Segment(Segment { part, .. }) => {
                let header = part.header.as_ref().map_or(0, |_| PortalsHeader::SIZE);
                (header + part.data.len()) as u64
            }
            Frame::Acknowledgement { .. } => 0,
        }
    }
}

/// Knowledge of a node about another.
#[derive(Debug, Default)]
pub(crate) struct Peer {
    /// Number of the next segment to it, and those before that it has not acknowledged.
    number: u32,
    pub unacknowledged: VecDeque<Arc<Part>>,
    /// Segments to it that wait for the link.
    pub queued: u32,
    /// Time at which they are sent again, if an event is scheduled for that.
    pub deadline: Time,
    pub timed: bool,
    pub retries: u32,
    /// Number of the next segment from it, and the message of which some have come.
    pub expected: u32,
    pub partial: Option<Incoming>,
}

/// All peers, and the frames that wait for the link.
#[derive(Debug, Default)]
pub(crate) struct Link {
    pub peers: BTreeMap<u32, Peer>,
    /// Segments that have not been acknowledged, to all peers.
    pub unacknowledged: u32,
    frames: VecDeque<(u32, Frame)>,
}

impl Link {
    pub fn peer(&mut self, nid: u32) -> &mut Peer {
        self.peers.entry(nid).or_default()
    }

    /// A new segment from node `source` to `target`.
    pub fn push(&mut self, source: u32, target: u32, part: Part) {
        let (peer, part) = (self.peers.entry(target).or_default(), Arc::new(part));
        let number = peer.number;
        peer.number = number.wrapping_add(1);
        peer.queued += 1;
        peer.unacknowledged.push_back(part.clone());
        self.unacknowledged += 1;
        let segment = Segment { source, number, again: false, part };
        self.frames.push_back((target, Frame::Segment(segment)));
    }

    /// All segments to `target` again; their number.
    pub fn push_again(&mut self, source: u32, target: u32) -> u32 {
        let peer = self.peers.entry(target).or_default();
        let oldest = peer.number.wrapping_sub(peer.unacknowledged.len() as u32);
        for (part, at) in peer.unacknowledged.iter().zip(0..) {
            let (number, part) = (oldest.wrapping_add(at), part.clone());
            let segment = Segment { source, number, again: true, part };
            self.frames.push_back((target, Frame::Segment(segment)));
            peer.queued += 1;
        }
        peer.queued
    }

    /// An acknowledgement, which goes before all segments.
    pub fn acknowledge(&mut self, source: u32, target: u32) {
        let next = self.peer(target).expected;
        self.frames.push_front((target, Frame::Acknowledgement { source, next }));
    }

    /// The next frame for the link, and its target.
    pub fn pop(&mut self) -> Option<(u32, Frame)> {
        let (target, frame) = self.frames.pop_front()?;
        if let Frame::Segment(_) = frame {
            self.peer(target).queued -= 1;
        }
        Some((target, frame))
    }

    /// Node `source` has all segments before `next`: those that it had not before.
    pub fn acknowledged(&mut self, source: u32, next: u32) -> Vec<Arc<Part>> {
        let peer = self.peer(source);
        let open = peer.number.wrapping_sub(next) as usize;
        let acknowledged = peer.unacknowledged.len().saturating_sub(open);
        if acknowledged > 0 {
            peer.retries = 0;
        }
        let parts = peer.unacknowledged.drain(..acknowledged).collect();
        self.unacknowledged -= acknowledged as u32;
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARTS: u32 = 3;

    /// The next frame of a link, unless it is lost: lost ones have a bit in `lost`, in the order of sending.
    fn carried(link: &mut Link, lost: &mut u32) -> Option<Option<Frame>> {
        let (_, frame) = link.pop()?;
        let is_lost = *lost & 1 == 1;
        *lost >>= 1;
        Some(Some(frame).filter(|_| !is_lost))
    }

    /// Whatever is lost among the first frames, each part is taken once, in order, and all is acknowledged.
    #[test]
    fn whatever_is_lost_comes_again() {
        for pattern in 0..1 << 10 {
            let (mut sender, mut receiver, mut lost) = (Link::default(), Link::default(), pattern);
            for number in 0..PARTS {
                let message = MessageId { source_nid: 0, serial: number };
                let part = Part { message, header: None, data: Vec::new(), last: Some(number) };
                sender.push(0, 1, part);
            }
            let (mut taken, mut ended) = (Vec::new(), Vec::new());
            for _ in 0..20 {
                while let Some(frame) = carried(&mut sender, &mut lost) {
                    let Some(Frame::Segment(segment)) = frame else { continue };
                    let Segment { number, part, .. } = segment;
                    let peer = receiver.peer(0);
                    if number == peer.expected {
                        peer.expected += 1;
                        taken.push(part.message.serial);
                    }
                    receiver.acknowledge(1, 0);
                }
                while let Some(frame) = carried(&mut receiver, &mut lost) {
                    let Some(Frame::Acknowledgement { next, .. }) = frame else { continue };
                    ended.extend(sender.acknowledged(1, next).iter().filter_map(|part| part.last));
                }
                sender.push_again(0, 1);
            }
            let all: Vec<u32> = (0..PARTS).collect();
            assert_eq!((taken, ended), (all.clone(), all), "lost: {pattern:b}");
            assert_eq!((sender.unacknowledged, sender.peer(1).queued), (0, 0));
        }
    }
}
