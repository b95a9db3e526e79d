//! The engines: sends, messages that have come, receive DMA. Their actions are known when they are started;
//! they only wait for their time.

use crate::{Params, WireMessage};
use abi::offload as of;
use des::{Duration, Time};
use std::collections::VecDeque;

/// A send on its way out.
pub(crate) struct Send {
    pub header: [u8; of::PACKET_SIZE as usize],
    pub phys: u64,
    pub length: u32,
    pub target: u32,
}

/// The send engine and its end of the wire.
#[derive(Default)]
pub(crate) struct Sender {
    pub queue: VecDeque<Send>,
    /// Sends that have begun to leave and are not gone.
    leaving: u32,
    /// Sends that are gone.
    pub done: u32,
    free: Time,
}

/// Times at which a send begins to leave, and at which its last byte has left.
pub(crate) struct Span {
    pub begins: Time,
    pub ends: Time,
}

impl Sender {
    /// Takes a descriptor that was written at `now`. Nothing if there is no room for it.
    pub fn take(&mut self, now: Time, send: Send, params: &Params) -> Option<Span> {
        if self.queue.len() as u32 + self.leaving >= of::SEND_DEPTH {
            return None;
        }
        // The descriptor crosses the bus; the payload is requested and comes back over it.
        let read = match send.length {
            0 => Duration::ZERO,
            _ => params.bus_delay * 2 + params.host_memory,
        };
        let begins = (now + params.bus_delay).max(self.free) + read;
        let bytes = u64::from(of::PACKET_SIZE) + u64::from(send.length);
        let ends = begins + Duration::of_transfer(bytes, params.wire_rate.min(params.dma_rate));
        self.free = ends;
        self.queue.push_back(send);
        Some(Span { begins, ends })
    }

    /// The oldest begins to leave.
    pub fn depart(&mut self) -> Send {
        self.leaving += 1;
        self.queue.pop_front().expect("a send departs that was taken")
    }

    /// It is gone.
    pub fn left(&mut self) {
        self.leaving -= 1;
        self.done += 1;
    }
}

/// A message whose header is here.
struct Arrived {
    header: [u8; of::PACKET_SIZE as usize],
    length: u32,
}

/// A payload that nobody has taken.
struct Payload {
    bytes: Vec<u8>,
    /// Time at which the last of it is here.
    whole: Time,
}

/// The receive engine and its end of the wire.
#[derive(Default)]
pub(crate) struct Receiver {
    /// Messages on the wire, with the time of its last byte.
    coming: VecDeque<(WireMessage, Time)>,
    /// Headers that no place was free for, here or in a unit.
    waiting: VecDeque<Arrived>,
    payloads: VecDeque<Payload>,
    /// Headers that firmware can see, and has taken.
    pub come: u32,
    pub taken: u32,
    pub bytes: u64,
    free: Time,
}

impl Receiver {
    /// A message reaches this end of the wire. Returns when its header is here.
    pub fn reach(&mut self, now: Time, message: WireMessage, rate: u64) -> Time {
        let header = now.max(self.free) + Duration::of_transfer(of::PACKET_SIZE.into(), rate);
        self.free = header + Duration::of_transfer(message.payload.len() as u64, rate);
        self.coming.push_back((message, self.free));
        header
    }

    /// The header of the oldest is here.
    pub fn header(&mut self) {
        let (message, whole) = self.coming.pop_front().expect("a message has come");
        let WireMessage { header, payload: bytes } = message;
        self.bytes += bytes.len() as u64;
        self.waiting.push_back(Arrived { header, length: bytes.len() as u32 });
        if !bytes.is_empty() {
            self.payloads.push_back(Payload { bytes, whole });
        }
    }

    /// The oldest header that waits for a place, if there is one.
    pub fn next(&self) -> Option<&[u8; of::PACKET_SIZE as usize]> {
        let room = self.come.wrapping_sub(self.taken) < of::ARRIVAL_COUNT;
        self.waiting.front().filter(|_| room).map(|arrived| &arrived.header)
    }

    /// It has its place: the address, and the bytes there, except those that the engine itself adds.
    pub fn place(&mut self) -> (u32, [u8; of::PACKET_SIZE as usize]) {
        let Arrived { mut header, length } = self.waiting.pop_front().expect("a header waits");
        let own = &mut header[of::packet::PROCESS..][..4];
        let word = u32::from(own[0]) | length << 8;
        own.copy_from_slice(&word.to_le_bytes());
        let place = of::ARRIVAL_BASE + self.come % of::ARRIVAL_COUNT * of::PACKET_SIZE;
        self.come = self.come.wrapping_add(1);
        (place, header)
    }

    /// Takes the oldest payload.
    fn take(&mut self) -> Option<Payload> {
        self.payloads.pop_front()
    }

    /// Messages at this end.
    pub fn held(&self) -> usize {
        self.coming.len() + self.waiting.len()
    }
}

/// Copy by the receive DMA engine.
pub(crate) struct Transfer {
    pub bytes: Source,
    pub to: Destination,
}

/// Source of bytes.
pub(crate) enum Source {
    /// Here.
    Taken(Vec<u8>),
    /// Address in memory, and number of bytes.
    Memory(u32, u32),
}

/// Destination of bytes.
#[derive(Clone, Copy)]
pub(crate) enum Destination {
    Host(u64),
    Memory(u32),
    Nowhere,
}

/// The receive DMA engine.
#[derive(Default)]
pub(crate) struct Mover {
    pub queue: VecDeque<Transfer>,
    pub done: u32,
    free: Time,
}

/// A descriptor of it.
pub(crate) struct Order {
    pub operation: u32,
    pub local: u32,
    pub phys: u64,
    pub length: u32,
}

impl Mover {
    /// Takes a descriptor that was written at `now`. Returns when it is done; a sentence if it cannot be.
    pub fn take(
        &mut self,
        now: Time,
        order: &Order,
        receiver: &mut Receiver,
        params: &Params,
    ) -> Result<Time, &'static str> {
        if self.queue.len() as u32 >= of::DMA_DEPTH {
            return Err("more descriptors than the DMA engine has room for");
        }
        let Order { operation, local, phys, length } = *order;
        let asked = (now + params.bus_delay).max(self.free);
        let time = |bytes: u32| Duration::of_transfer(bytes.into(), params.dma_rate);
        let (next, begins) = match operation {
            of::dma_operation::TAKE_TO_HOST | of::dma_operation::TAKE_TO_MEMORY => {
                let Payload { mut bytes, whole } =
                    receiver.take().ok_or("no payload is there to be taken")?;
                let to = match operation {
                    _ if length == 0 => Destination::Nowhere,
                    of::dma_operation::TAKE_TO_HOST => Destination::Host(phys),
                    _ => Destination::Memory(local),
                };
                bytes.truncate(length as usize);
                // Its last byte is moved when it has come, at the earliest.
                let begins = asked.max(Time(whole.0.saturating_sub(time(length).0)));
                (Transfer { bytes: Source::Taken(bytes), to }, begins)
            }
            of::dma_operation::COPY_TO_HOST => {
                let bytes = Source::Memory(local, length);
                (Transfer { bytes, to: Destination::Host(phys) }, asked + params.memory)
            }
            _ => return Err("no such operation of the DMA engine"),
        };
        self.queue.push_back(next);
        self.free = begins + time(length);
        Ok(self.free + params.bus_delay)
    }
}
