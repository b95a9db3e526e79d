//! Requests of a client that are under way: each is cut in pieces, of which up to [`SLOTS`] have commands.

use super::SLOTS;
use block::{Ask, Operation, PIECE, SECTOR, STRIPE};
use des::Time;
use std::collections::VecDeque;
use std::ops::Range;

/// A request that is under way, or has ended.
#[derive(Debug)]
pub(super) struct Request {
    pub ask: Ask,
    /// The data of a write or a read.
    pub data: Vec<u8>,
    /// Time at which it was asked for.
    pub since: Time,
    pub failed: bool,
    /// Bytes that are read beyond what it wants; they are kept unless somebody has written there.
    pub ahead: u64,
    pub stale: bool,
    /// Times that it was tried; the first of its bytes that no command is about; and its commands.
    tries: u32,
    next: u64,
    open: u32,
    /// It has begun, and no command is to come.
    begun: bool,
    all: bool,
}

impl Request {
    /// Its bytes on the disk, those that are read ahead with them.
    pub fn bytes(&self) -> Range<u64> {
        self.ask.offset..self.ask.offset + self.ask.length + self.ahead
    }
    /// It needs no command.
    pub fn needs_none(&mut self) {
        self.all = true;
    }
}

/// Piece of a request, which a command is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub ask: Ask,
    pub slot: u64,
    /// Its bytes, counted from the request's first.
    pub bytes: Range<u64>,
}

/// The requests, in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct UnderWay {
    /// Each with a name of its own.
    requests: VecDeque<(u64, Request)>,
    named: u64,
    /// Request and bytes of each command without an answer.
    slots: [Option<(u64, Range<u64>)>; SLOTS as usize],
}

impl UnderWay {
    /// A request comes.
    pub fn push(&mut self, ask: Ask, data: Vec<u8>, since: Time) {
        let (failed, stale, begun, all) = (false, false, false, false);
        let (ahead, tries, next, open) = (0, 0, 0, 0);
        let request =
            Request { ask, data, since, failed, ahead, stale, tries, next, open, begun, all };
        self.requests.push_back((self.named, request));
        self.named += 1;
    }

    pub fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }
    /// Operation of the oldest request.
    pub fn operation(&self) -> Option<Operation> {
        self.requests.front().map(|(_, request)| request.ask.operation)
    }
    /// The data of a write that the command of a slot is about.
    pub fn data(&self, slot: u64) -> Vec<u8> {
        let (name, bytes) = self.slots[slot as usize].as_ref().expect("it has a command");
        let request = self.requests.iter().find(|(other, _)| other == name);
        let (_, request) = request.expect("it is under way");
        request.data[bytes.start as usize..bytes.end as usize].to_vec()
    }
    /// Bytes are written that some may be reading ahead.
    pub fn written(&mut self, bytes: &Range<u64>) {
        for (_, request) in self.requests.iter_mut().filter(|(_, request)| request.ahead > 0) {
            let read = request.bytes();
            request.stale |= bytes.start < read.end && read.start < bytes.end;
        }
    }

    /// The first request that has not begun, if the next command is to be one of its: it begins now.
    pub fn begin_next(&mut self) -> Option<&mut Request> {
        let place = self.requests.iter().position(|(_, request)| !request.all)?;
        self.slots.iter().any(Option::is_none).then_some(())?;
        let request = &mut self.requests[place].1;
        (!std::mem::replace(&mut request.begun, true)).then_some(request)
    }

    /// The next piece to have a command, of so many bytes at most; none if there is none, or no slot. Pieces
    /// that are `merged` pages are on one disk each.
    pub fn next_piece(&mut self, most: u64, merged: bool) -> Option<Piece> {
        let slot = self.slots.iter().position(Option::is_none)?;
        let (name, request) = self.requests.iter_mut().find(|(_, request)| !request.all)?;
        let length = request.ask.length + request.ahead;
        let moves = !request.data.is_empty();
        let mut end = request.next + if moves { most } else { ZERO_MOST };
        if merged && moves {
            let stripe = STRIPE * SECTOR;
            let at = request.ask.offset + request.next;
            end = end.min((at / stripe + 1) * stripe - request.ask.offset);
        }
        let bytes = request.next..end.min(length);
        (request.next, request.open) = (bytes.end, request.open + 1);
        request.all = request.next == length;
        self.slots[slot] = Some((*name, bytes.clone()));
        Some(Piece { ask: request.ask, slot: slot as u64, bytes })
    }

    /// A command has been answered: its request, and its bytes. None if it was not under way.
    pub fn answered(&mut self, slot: u64) -> Option<(&mut Request, Range<u64>)> {
        let (name, bytes) = self.slots.get_mut(slot as usize)?.take()?;
        let mut requests = self.requests.iter_mut();
        let (_, request) = requests.find(|(other, _)| *other == name)?;
        request.open -= 1;
        Some((request, bytes))
    }

    /// The first request that has begun and ended is taken. It is tried again if it has failed, as far as
    /// `tries` go, and first without what would be read ahead.
    pub fn take_ended(&mut self, tries: u32) -> Option<Request> {
        loop {
            let ended = |(_, request): &(u64, Request)| request.all && request.open == 0;
            let place = self.requests.iter().position(ended)?;
            let request = &mut self.requests[place].1;
            let ahead = std::mem::take(&mut request.ahead);
            request.tries += u32::from(ahead == 0);
            if !request.failed || request.tries >= tries {
                let (_, mut request) = self.requests.remove(place)?;
                request.ahead = ahead;
                return Some(request);
            }
            request.data.truncate(request.ask.length as usize);
            (request.next, request.all, request.failed) = (0, false, false);
        }
    }

    /// No command is answered any more: all requests have failed.
    pub fn fail(&mut self) {
        self.slots = Default::default();
        for (_, request) in &mut self.requests {
            (request.begun, request.all, request.open, request.failed) = (true, true, 0, true);
        }
    }
}

/// Bytes that a command writes zeroes to, at most: it needs no buffer.
const ZERO_MOST: u64 = 1024 * PIECE;

#[cfg(test)]
mod tests {
    use super::*;

    fn read(offset: u64, length: u64) -> (Ask, Vec<u8>, Time) {
        (Ask::new(Operation::Read, offset, length), vec![0; length as usize], Time::ZERO)
    }

    fn all(under_way: &mut UnderWay, most: u64, merged: bool) -> Vec<(u64, Range<u64>)> {
        std::iter::from_fn(|| {
            under_way.begin_next();
            under_way.next_piece(most, merged).map(|piece| (piece.slot, piece.bytes))
        })
        .collect()
    }

    #[test]
    fn pieces_of_several_requests_share_the_slots() {
        let mut under_way = UnderWay::default();
        for (ask, data, since) in [read(0, 8192), read(65536, 512), read(0, 1 << 20)] {
            under_way.push(ask, data, since);
        }
        let pieces = all(&mut under_way, 4096, false);
        assert_eq!(pieces.len() as u64, SLOTS);
        assert_eq!(pieces[..4], [(0, 0..4096), (1, 4096..8192), (2, 0..512), (3, 0..4096)]);
        // Answers come in any order, and the request that is over first is taken first.
        assert!(under_way.take_ended(1).is_none());
        let (request, bytes) = under_way.answered(2).unwrap();
        assert_eq!((request.ask.offset, bytes), (65536, 0..512));
        assert!(under_way.answered(2).is_none(), "it has been answered");
        assert_eq!(under_way.take_ended(1).unwrap().ask.offset, 65536);
        assert_eq!(all(&mut under_way, 4096, false), [(2, 13 * 4096..14 * 4096)]);
    }

    #[test]
    fn merged_pages_are_on_one_disk() {
        let mut under_way = UnderWay::default();
        let (ask, data, since) = read(65536 - 8192, 81920);
        under_way.push(ask, data, since);
        let pieces = all(&mut under_way, 32768, true);
        let bytes: Vec<Range<u64>> = pieces.into_iter().map(|(_, bytes)| bytes).collect();
        assert_eq!(bytes, [0..8192, 8192..40960, 40960..73728, 73728..81920]);
    }

    #[test]
    fn what_has_failed_is_tried_again_and_what_is_given_up_is_not() {
        let mut under_way = UnderWay::default();
        let (ask, data, since) = read(0, 512);
        under_way.push(ask, data, since);
        for _ in 0..3 {
            assert!(under_way.take_ended(4).is_none());
            assert_eq!(all(&mut under_way, 4096, false), [(0, 0..512)]);
            under_way.answered(0).unwrap().0.failed = true;
        }
        assert!(under_way.take_ended(3).unwrap().failed);
        let (ask, data, since) = read(0, 512);
        under_way.push(ask, data, since);
        under_way.fail();
        assert!(under_way.take_ended(1).unwrap().failed && under_way.is_empty());
    }
}
