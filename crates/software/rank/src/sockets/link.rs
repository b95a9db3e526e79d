//! A connection: a flow of bytes each way.

use super::records::Name;
use des::Time;
use std::collections::VecDeque;

/// Bytes that arrive together.
#[derive(Debug)]
pub(super) struct Piece {
    pub arrives: Time,
    data: Vec<u8>,
    /// Number of them that were received.
    taken: usize,
}

/// Bytes from one end to the other. All times are those at which an end sees what they say.
#[derive(Debug, Default)]
pub(super) struct Flow {
    pub pieces: VecDeque<Piece>,
    /// Sent, and not yet known to have been received.
    on_their_way: u64,
    /// So many more were received, as the sender sees.
    pub read: VecDeque<(Time, u64)>,
    /// No more comes.
    pub end: Option<Time>,
    /// The connection is broken.
    pub reset: Option<Time>,
    /// The receiver has gone, as the sender sees.
    pub stopped: Option<Time>,
    /// The receiver wants no more.
    pub deaf: bool,
}

fn is_past(at: Option<Time>, now: Time) -> bool {
    at.is_some_and(|at| at <= now)
}

impl Flow {
    /// Times at which its receiver sees something.
    pub fn news(&self) -> Vec<Time> {
        self.pieces
            .front()
            .map(|piece| piece.arrives)
            .into_iter()
            .chain(self.end)
            .chain(self.reset)
            .collect()
    }

    pub fn is_stopped(&self, now: Time) -> bool {
        is_past(self.stopped, now)
    }

    pub fn is_reset(&self, now: Time) -> bool {
        is_past(self.reset, now)
    }

    pub fn has_ended(&self, now: Time) -> bool {
        is_past(self.end, now) && self.arrived(now) == 0
    }

    /// Bytes that can be sent.
    pub fn room(&mut self, buffer: u64, now: Time) -> u64 {
        while let Some((_, bytes)) = self.read.front().filter(|(at, _)| *at <= now) {
            self.on_their_way -= bytes;
            self.read.pop_front();
        }
        buffer.saturating_sub(self.on_their_way)
    }

    pub fn put(&mut self, arrives: Time, data: &[u8]) {
        self.on_their_way += data.len() as u64;
        self.pieces.push_back(Piece { arrives, data: data.to_vec(), taken: 0 });
    }

    /// Bytes that can be received.
    pub fn arrived(&self, now: Time) -> u64 {
        let here = self.pieces.iter().take_while(|piece| piece.arrives <= now);
        here.map(|piece| (piece.data.len() - piece.taken) as u64).sum()
    }

    /// Receives some; they can be received again if they are to stay. The sender sees that later.
    pub fn take(&mut self, most: usize, stay: bool, now: Time, seen: Time) -> Vec<u8> {
        let mut data = Vec::new();
        let mut whole = 0;
        for piece in self.pieces.iter_mut().take_while(|piece| piece.arrives <= now) {
            let rest = &piece.data[piece.taken..];
            let bytes = rest.len().min(most - data.len());
            data.extend_from_slice(&rest[..bytes]);
            if !stay {
                piece.taken += bytes;
                whole += usize::from(piece.taken == piece.data.len());
            }
            if data.len() == most {
                break;
            }
        }
        self.pieces.drain(..whole);
        if !stay && !data.is_empty() {
            self.read.push_back((seen, data.len() as u64));
        }
        data
    }

    /// No more is sent: that is seen then, or behind what was sent. The time.
    pub fn finish(&mut self, seen: Time) -> Time {
        let last = self.pieces.back().map_or(seen, |piece| piece.arrives.max(seen));
        *self.end.get_or_insert(last)
    }

    /// Bytes that are on their way or were not received.
    pub fn rest(&self) -> Vec<u8> {
        self.pieces.iter().flat_map(|piece| &piece.data[piece.taken..]).copied().collect()
    }
}

/// A connection. Its first end is that of the socket that connected.
#[derive(Debug)]
pub(super) struct Link {
    pub names: [Name; 2],
    /// Bytes that each end sends.
    pub flows: [Flow; 2],
}

impl Link {
    pub fn new(names: [Name; 2]) -> Link {
        Link { names, flows: Default::default() }
    }

    /// This end is closed, as the other one sees then. The time at which it has seen all that was sent.
    pub fn close(&mut self, side: usize, seen: Time) -> Time {
        let from = &mut self.flows[1 - side];
        from.stopped.get_or_insert(seen);
        self.flows[side].finish(seen)
    }

    /// Events of poll(2) that an end has.
    pub fn events(&mut self, side: usize, buffer: u64, now: Time) -> i16 {
        let to = &mut self.flows[side];
        let (room, sends) = (to.room(buffer, now), to.end.is_none());
        let stopped = to.is_stopped(now);
        let from = &self.flows[1 - side];
        let (ended, reset) = (is_past(from.end, now), from.is_reset(now));
        let mut found = 0;
        let mut add = |there: bool, event: i16| found |= if there { event } else { 0 };
        add(from.arrived(now) > 0 || ended || reset || from.deaf, libc::POLLIN);
        add(room > 0 || stopped || !sends, libc::POLLOUT);
        add(ended, libc::POLLRDHUP);
        add(reset || (ended && !sends), libc::POLLHUP);
        add(reset, libc::POLLERR);
        found
    }
}
