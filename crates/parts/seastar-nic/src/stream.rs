//! Messages in flight at the receive engine: the content-addressable memory that finds a packet's
//! stream, and what each stream holds.

use crate::crc::Crc;
use abi::packet::{Packet, PAYLOAD_BYTES};
use abi::seastar::CAM_ENTRIES;
use abi::MessageId;
use des::Time;
use std::collections::VecDeque;

/// A receive command that its stream has not finished.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Command {
    /// Drop the bytes instead of depositing them.
    pub(crate) discard: bool,
    /// The message's last.
    pub(crate) last: bool,
    /// Returned in the completion.
    pub(crate) tag: u16,
    /// Host physical address of the next byte.
    pub(crate) addr: u64,
    /// Bytes left.
    pub(crate) left: u32,
    /// Number of its slot in the command FIFO: a fault names it.
    pub(crate) place: u64,
}

/// Bytes that leave in the order in which they came, in one piece.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bytes {
    bytes: Vec<u8>,
    /// Number of them that have left.
    gone: usize,
    /// Number of bytes that the CRC has taken in, or need not: it takes many at once.
    summed: usize,
}

impl Bytes {
    pub(crate) fn len(&self) -> usize {
        self.bytes.len() - self.gone
    }
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// More come; `crc` is that of all.
    pub(crate) fn append(&mut self, bytes: &[u8], crc: &mut Crc) {
        // No more bytes are moved than have left.
        if self.gone >= self.len() {
            self.sum(crc);
            self.bytes.drain(..std::mem::take(&mut self.gone));
            self.summed = self.bytes.len();
        }
        self.bytes.extend_from_slice(bytes);
    }
    /// The CRC takes in all that have come.
    pub(crate) fn sum(&mut self, crc: &mut Crc) {
        crc.update(&self.bytes[self.summed..]);
        self.summed = self.bytes.len();
    }
    /// The oldest `count` leave.
    pub(crate) fn leave(&mut self, count: usize) {
        self.gone += count;
        debug_assert!(self.gone <= self.bytes.len());
    }
    pub(crate) fn clear(&mut self) {
        self.leave(self.len());
    }
    /// Oldest first.
    pub(crate) fn all(&self) -> &[u8] {
        &self.bytes[self.gone..]
    }
    /// The same, to change.
    pub(crate) fn all_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.gone..]
    }
}

/// One message in flight.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stream {
    /// Allocated to a message.
    used: bool,
    /// Its number while it is.
    number: u16,
    pub(crate) id: MessageId,
    pub(crate) crc: Crc,
    /// Payload that waits for commands.
    pub(crate) buffer: Bytes,
    /// Packets whose payload it is.
    pub(crate) held: u32,
    /// Commands, oldest first.
    pub(crate) commands: VecDeque<Command>,
    /// A command with LAST is or was among them.
    pub(crate) closed: bool,
    /// The engine has taken a command for it.
    pub(crate) commanded: bool,
    /// The last packet has arrived.
    pub(crate) arrived: bool,
    /// The completion will carry ERROR.
    pub(crate) error: bool,
    /// More bytes came than its commands request.
    pub(crate) excess: bool,
    /// It is in the queue for the way to the host.
    pub(crate) waiting: bool,
    /// Payload sent to the host, gathered into one write to host memory.
    pub(crate) gather: Vec<u8>,
    /// Host physical address of its first byte.
    pub(crate) gather_addr: u64,
    /// Time at which the last write sent arrives at the host.
    pub(crate) written: Time,
    /// Payload bytes that have come.
    pub(crate) received: u64,
    /// Payload that the next packets would carry if they had not been skipped.
    pub(crate) replaced: VecDeque<u8>,
}

impl Stream {
    /// That is its number.
    fn is(&self, number: u16) -> bool {
        self.used && self.number == number
    }
    /// Takes in a packet's payload.
    pub(crate) fn take(&mut self, packet: &Packet) {
        self.received += u64::from(packet.size);
        if self.replaced.is_empty() {
            self.buffer.append(packet.data(), &mut self.crc);
        } else {
            let mut packet = *packet;
            let right = self.replaced.len().min(packet.data().len());
            for (byte, right) in packet.payload.iter_mut().zip(self.replaced.drain(..right)) {
                *byte = right;
            }
            self.buffer.append(packet.data(), &mut self.crc);
        }
    }
    /// Packets that its buffer no longer needs. All of a message but the last are full, and they
    /// leave from the front.
    pub(crate) fn packets_done(&mut self) -> u32 {
        let needed = self.buffer.len().div_ceil(PAYLOAD_BYTES) as u32;
        let gone = self.held.saturating_sub(needed);
        self.held -= gone;
        gone
    }
    /// Makes it the stream `number`, of a new message; its buffers keep their memory.
    fn allocate(&mut self, number: u16, id: MessageId) {
        debug_assert!(!self.used && self.buffer.is_empty() && self.commands.is_empty());
        debug_assert_eq!(self.held, 0);
        self.used = true;
        self.number = number;
        self.id = id;
        self.buffer.summed = self.buffer.bytes.len();
        self.crc = Crc::default();
        self.closed = false;
        self.commanded = false;
        self.arrived = false;
        self.error = false;
        self.excess = false;
        self.written = Time::ZERO;
        self.received = 0;
    }
}

/// Result of a look-up by a packet's source and message number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// A stream.
    Stream(u16),
    /// A message that found no free stream and is being dropped.
    Dropped,
    /// Nothing: the header never came.
    Nothing,
}

/// All streams, and the CAM in front of them.
#[derive(Clone, Debug)]
pub(crate) struct Cam {
    /// Streams that were in use at the same time; the one that was used last is used again first, since the
    /// caches of the machine that simulates hold it.
    streams: Vec<Stream>,
    spare: Vec<u16>,
    /// Index of each number's stream; of one that is not in use, its last index.
    places: Vec<u16>,
    /// Free streams. First in, first out: a stream and its header slot rest as long as possible
    /// before they are used again.
    free: VecDeque<u16>,
    /// Messages of which packets are still expected. Short: at most one a source.
    arriving: Vec<(u32, Found)>,
    /// Streams that are neither used nor free, on request.
    withheld: usize,
}

fn key(packet: &Packet) -> u32 {
    u32::from(packet.source) << 16 | u32::from(packet.message)
}

impl Cam {
    pub(crate) fn new() -> Cam {
        Cam {
            streams: Vec::new(),
            spare: Vec::new(),
            places: vec![0; CAM_ENTRIES as usize],
            free: (0..CAM_ENTRIES as u16).collect(),
            arriving: Vec::new(),
            withheld: 0,
        }
    }
    /// The stream with number `index`, if that is in use.
    pub(crate) fn get_mut(&mut self, index: u16) -> Option<&mut Stream> {
        let stream = self.streams.get_mut(usize::from(*self.places.get(usize::from(index))?))?;
        stream.is(index).then_some(stream)
    }
    /// The stream with number `index`, which is in use or was until just now.
    pub(crate) fn stream(&mut self, index: u16) -> &mut Stream {
        &mut self.streams[usize::from(self.places[usize::from(index)])]
    }
    /// Streams in use.
    pub(crate) fn is_full(&self) -> bool {
        self.free.is_empty()
    }
    pub(crate) fn in_use(&self) -> usize {
        self.places.len() - self.free.len() - self.withheld
    }
    /// Keeps all but `number` of the free streams from ever being used: a fault on request.
    pub(crate) fn withhold(&mut self, number: usize) {
        let kept = self.free.len().min(number);
        self.withheld += self.free.len() - kept;
        self.free.truncate(kept);
    }
    /// Allocates a stream to the message of a first packet; `None` if there is none, and then the
    /// message's other packets find [`Found::Dropped`].
    pub(crate) fn allocate(&mut self, packet: &Packet) -> Option<u16> {
        let index = self.free.pop_front();
        if let Some(index) = index {
            self.places[usize::from(index)] = self.spare.pop().unwrap_or_else(|| {
                self.streams.push(Stream::default());
                self.streams.len() as u16 - 1
            });
            self.stream(index).allocate(index, packet.id);
        }
        if !packet.is_last() {
            self.arriving.push((key(packet), index.map_or(Found::Dropped, Found::Stream)));
        }
        index
    }
    /// Finds the message of a packet, and forgets it if the packet is its last.
    pub(crate) fn find(&mut self, packet: &Packet) -> Found {
        let key = key(packet);
        // The newest first: a packet most often follows one of the same message.
        let Some(at) = self.arriving.iter().rposition(|entry| entry.0 == key) else {
            return Found::Nothing;
        };
        let found = self.arriving[at].1;
        if packet.is_last() {
            self.arriving.swap_remove(at);
        }
        found
    }
    /// The stream with number `index`, if that is in use, to look at.
    pub(crate) fn peek(&self, index: u16) -> Option<&Stream> {
        let place = *self.places.get(usize::from(index))?;
        self.streams.get(usize::from(place)).filter(|stream| stream.is(index))
    }
    /// Streams in use, with their numbers, by these.
    pub(crate) fn used(&self) -> impl Iterator<Item = (u16, &Stream)> {
        let all = 0..self.places.len() as u16;
        all.filter_map(|index| Some((index, self.peek(index)?))).take(self.in_use())
    }
    /// Streams in use, to change.
    pub(crate) fn in_flight(&mut self) -> impl Iterator<Item = &mut Stream> {
        self.streams.iter_mut().filter(|stream| stream.used)
    }
    /// The stream of a message of which packets are still expected.
    pub(crate) fn arriving(&self, source: u16, message: u16) -> Option<u16> {
        let key = u32::from(source) << 16 | u32::from(message);
        match self.arriving.iter().rfind(|entry| entry.0 == key)?.1 {
            Found::Stream(index) => Some(index),
            Found::Dropped | Found::Nothing => None,
        }
    }
    /// Frees a stream.
    pub(crate) fn release(&mut self, index: u16) {
        let stream = self.stream(index);
        assert!(stream.used, "a stream is freed once");
        stream.used = false;
        self.free.push_back(index);
        self.spare.push(self.places[usize::from(index)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_free_number_finds_nothing_where_another_stream_stands_now() {
        let mut cam = Cam::new();
        let message = |serial| MessageId { source_nid: 1, serial };
        let allocate = |cam: &mut Cam, serial| {
            let packet = Packet { id: message(serial), ..Packet::default() };
            cam.allocate(&packet).expect("streams are free")
        };
        let first = allocate(&mut cam, 1);
        cam.release(first);
        let second = allocate(&mut cam, 2);
        assert_ne!(first, second);
        assert_eq!(cam.streams.len(), 1);
        assert!(cam.get_mut(first).is_none() && cam.peek(first).is_none());
        let used: Vec<_> = cam.used().map(|(number, stream)| (number, stream.id)).collect();
        assert_eq!(used, [(second, message(2))]);
    }
}
