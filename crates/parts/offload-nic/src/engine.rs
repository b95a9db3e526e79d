//! The engines: sends, messages that have come, receive DMA. Their actions are known when they are started;
//! they only wait for their time.

use crate::point::packet;
use crate::{Event, Header, Params, Ports, WireMessage};
use abi::offload as of;
use des::{Duration, Time};
use std::collections::VecDeque;

/// A send on its way out.
pub(crate) struct Send {
    pub header: Header,
    pub phys: u64,
    pub length: u32,
    pub target: u32,
    /// Time at which its descriptor has crossed the bus.
    pub asked: Time,
}

impl Send {
    /// Time until its first byte is here: the payload is requested and comes back over the bus.
    fn read(&self, params: &Params) -> Duration {
        match self.length {
            0 => Duration::ZERO,
            _ => params.bus_delay * 2 + params.host_memory,
        }
    }
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
    /// The oldest send has begun, into a network with a pace of its own, which has not taken all of it.
    begun: bool,
}

/// Times at which a send begins to leave, and at which its last byte has left, as far as they are known.
#[derive(Default)]
pub(crate) struct Span {
    begins: Option<Time>,
    ends: Option<Time>,
}

impl Span {
    /// Asks to be called then.
    pub fn schedule(&self, ports: &mut impl Ports) {
        self.begins.into_iter().for_each(|at| ports.schedule(at, Event::Depart));
        self.ends.into_iter().for_each(|at| ports.schedule(at, Event::Left));
    }
}

impl Sender {
    /// Takes a descriptor. A sentence if there is no room for it.
    pub fn take(&mut self, send: Send, params: &Params) -> Result<Span, &'static str> {
        if self.queue.len() as u32 + self.leaving >= of::SEND_DEPTH {
            return Err("more sends than the send engine has room for");
        }
        let Some(wire_rate) = params.wire_rate else {
            let asked = send.asked;
            self.queue.push_back(send);
            return Ok(self.next(asked, params));
        };
        let begins = send.asked.max(self.free) + send.read(params);
        let bytes = u64::from(of::PACKET_SIZE) + u64::from(send.length);
        let ends = begins + Duration::of_transfer(bytes, wire_rate.min(params.dma_rate));
        self.free = ends;
        self.queue.push_back(send);
        Ok(Span { begins: Some(begins), ends: Some(ends) })
    }

    /// Begins with the oldest send for a network with a pace of its own, unless one has begun.
    fn next(&mut self, now: Time, params: &Params) -> Span {
        let next = self.queue.front().filter(|_| !self.begun);
        let begins = next.map(|next| next.asked.max(now) + next.read(params));
        self.begun |= begins.is_some();
        Span { begins, ends: None }
    }

    /// The oldest begins to leave. In a network that cuts messages its header says how many bytes follow.
    pub fn depart(&mut self, params: &Params) -> Send {
        self.leaving += 1;
        let mut send = self.queue.pop_front().expect("a send departs that was taken");
        if params.wire_rate.is_none() {
            set_length(&mut send.header, send.length);
        }
        send
    }

    /// It is gone. The next begins, if nobody knew before when it would.
    pub fn left(&mut self, now: Time, params: &Params) -> Span {
        self.leaving -= 1;
        self.done += 1;
        if params.wire_rate.is_some() {
            return Span::default();
        }
        self.begun = false;
        self.next(now, params)
    }
}

/// Writes into a header how many bytes are behind it.
fn set_length(header: &mut Header, length: u32) {
    let own = &mut header[of::packet::PROCESS..][..4];
    let word = u32::from(own[0]) | length << 8;
    own.copy_from_slice(&word.to_le_bytes());
}

/// A message whose header is here.
struct Arrived {
    header: Header,
    length: u32,
}

/// A payload.
pub(crate) struct Payload {
    pub bytes: Vec<u8>,
    /// Time at which the last of it is here, once that is known.
    whole: Option<Time>,
    /// Node from which the rest comes otherwise.
    source: u32,
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
    free: Time,
}

impl Receiver {
    /// A message reaches this end of a wire of this rate. Returns when its header is here.
    pub fn reach(&mut self, now: Time, message: WireMessage, rate: u64) -> Time {
        let header = now.max(self.free) + Duration::of_transfer(of::PACKET_SIZE.into(), rate);
        self.free = header + Duration::of_transfer(message.payload.len() as u64, rate);
        self.coming.push_back((message, self.free));
        header
    }

    /// The header of the oldest is here.
    pub fn header(&mut self) {
        let (message, whole) = self.coming.pop_front().expect("a message has come");
        self.come(message, whole);
    }

    /// A message is here whose last byte is at a time.
    pub fn come(&mut self, message: WireMessage, whole: Time) {
        let WireMessage { header, payload: bytes } = message;
        self.waiting.push_back(Arrived { header, length: bytes.len() as u32 });
        if !bytes.is_empty() {
            self.payloads.push_back(Payload { bytes, whole: Some(whole), source: 0 });
        }
    }

    /// The header of a message of this node is here, which says that bytes follow.
    pub fn begin(&mut self, source: u32, header: Header) {
        let length = packet(&header).process >> 8;
        self.waiting.push_back(Arrived { header, length });
        self.payloads.push_back(Payload { bytes: Vec::new(), whole: None, source });
    }

    /// These bytes are here, at `now`, which the engine may have been told to move before.
    pub fn end(&mut self, now: Time, source: u32, bytes: Vec<u8>, mover: &mut Mover) {
        let mut all = self.payloads.iter_mut().chain(mover.payloads());
        let payload = all.find(|payload| payload.whole.is_none() && payload.source == source);
        let payload = payload.expect("a message of a node ends after it has begun");
        (payload.bytes, payload.whole) = (bytes, Some(now));
    }

    /// The oldest header that waits for a place, if there is one.
    pub fn next(&self) -> Option<&Header> {
        let room = self.come.wrapping_sub(self.taken) < of::ARRIVAL_COUNT;
        self.waiting.front().filter(|_| room).map(|arrived| &arrived.header)
    }

    /// It has its place: the address, and the bytes there, except those that the engine itself adds.
    pub fn place(&mut self) -> (u32, Header) {
        let Arrived { mut header, length } = self.waiting.pop_front().expect("a header waits");
        set_length(&mut header, length);
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
    length: u32,
    /// Time at which its descriptor has crossed the bus.
    asked: Time,
}

/// Source of bytes.
pub(crate) enum Source {
    /// The oldest payload.
    Taken(Payload),
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
    queue: VecDeque<Transfer>,
    /// Those of them, the oldest, of which it is known when they are done.
    begun: usize,
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
    /// Takes a descriptor that was written at `now`. A sentence if it cannot be done.
    pub fn take(
        &mut self,
        now: Time,
        order: &Order,
        receiver: &mut Receiver,
        params: &Params,
    ) -> Result<(), &'static str> {
        if self.queue.len() as u32 >= of::DMA_DEPTH {
            return Err("more descriptors than the DMA engine has room for");
        }
        let Order { operation, local, phys, length } = *order;
        let (bytes, to) = match operation {
            of::dma_operation::TAKE_TO_HOST | of::dma_operation::TAKE_TO_MEMORY => {
                let payload = receiver.take().ok_or("no payload is there to be taken")?;
                let to = match operation {
                    _ if length == 0 => Destination::Nowhere,
                    of::dma_operation::TAKE_TO_HOST => Destination::Host(phys),
                    _ => Destination::Memory(local),
                };
                (Source::Taken(payload), to)
            }
            of::dma_operation::COPY_TO_HOST => {
                (Source::Memory(local, length), Destination::Host(phys))
            }
            _ => return Err("no such operation of the DMA engine"),
        };
        let asked = now + params.bus_delay;
        self.queue.push_back(Transfer { bytes, to, length, asked });
        Ok(())
    }

    /// Asks to be called when copies are done, as far as that is known and was not before.
    pub fn schedule(&mut self, params: &Params, ports: &mut impl Ports) {
        while let Some(done) = self.begin(params) {
            ports.schedule(done, Event::Moved);
        }
    }

    /// Begins with the next copy, if it is known when its bytes are here. Returns when it is done.
    fn begin(&mut self, params: &Params) -> Option<Time> {
        let Transfer { bytes, length, asked, .. } = self.queue.get(self.begun)?;
        let asked = self.free.max(*asked);
        let time = Duration::of_transfer((*length).into(), params.dma_rate);
        let begins = match bytes {
            // Its last byte is moved when it has come, at the earliest.
            Source::Taken(payload) => asked.max(Time(payload.whole?.0.saturating_sub(time.0))),
            Source::Memory(..) => asked + params.memory,
        };
        self.begun += 1;
        self.free = begins + time;
        Some(self.free + params.bus_delay)
    }

    /// The oldest is done.
    pub fn pop(&mut self) -> Transfer {
        self.begun -= 1;
        self.done += 1;
        let mut done = self.queue.pop_front().expect("the engine moves something");
        if let Source::Taken(payload) = &mut done.bytes {
            payload.bytes.truncate(done.length as usize);
        }
        done
    }

    /// Payloads that it has been told to move.
    fn payloads(&mut self) -> impl Iterator<Item = &mut Payload> {
        self.queue.iter_mut().filter_map(|transfer| match &mut transfer.bytes {
            Source::Taken(payload) => Some(payload),
            Source::Memory(..) => None,
        })
    }
}
