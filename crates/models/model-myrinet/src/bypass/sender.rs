//! Messages on their way from a process's ring to the cable.

use super::PORTS;
use crate::pins::is_to;
use abi::myrinet::{
    bypass_send, BypassHeader, BypassLimits, BypassSend, DmaBlock, BYPASS_MESSAGE, BYPASS_PAGE,
    BYPASS_PAGES, BYPASS_SENDS, DMA_SEND_CHAIN,
};
use abi::MessageId;
use des::Time;
use pci::TargetWrite;
use std::collections::VecDeque;

const SENDS: usize = BYPASS_SENDS as usize;

/// Messages of a port that are remembered: those that are on their way, and as many that are over, of which a
/// copy may still wait for the cable.
const KEPT: usize = 2 * SENDS;

/// Fetches that are remembered: each buffer of the card has one.
const FETCHES: usize = 8;

/// The rings of a node.
#[derive(Default)]
pub(super) struct Sender {
    rings: [Ring; PORTS],
    /// Messages whose stores are on the bus, by the address of the last.
    crossing: VecDeque<(u32, MessageId)>,
    fetches: VecDeque<Fetch>,
}

/// Ring of a port, as its process has stored it.
#[derive(Default)]
struct Ring {
    stored: [[u8; BypassSend::SIZE]; SENDS],
    /// Time of the first store of each that is not complete.
    begun: [Option<Time>; SENDS],
    /// Messages so far.
    written: u32,
    letters: VecDeque<Letter>,
}

/// A message.
struct Letter {
    message: Option<MessageId>,
    send: BypassSend,
    /// Its epoch and sequence, once it was sent.
    peer: Option<(u16, u16)>,
    /// Its process was told that it is over.
    over: bool,
}

/// DMA of a message's bytes into a buffer.
struct Fetch {
    buffer: u32,
    from: u64,
    begun: Time,
    done: Option<Time>,
}

/// A message that a process has stored.
#[derive(Clone, Copy, Debug)]
pub(super) struct Written {
    pub port: usize,
    pub begun: Time,
    pub send: BypassSend,
    /// Address of the word that was stored last.
    address: u32,
}

/// A message that the control program sends.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Asked {
    pub id: MessageId,
    pub target: u32,
    /// It was sent before.
    pub again: bool,
    /// Beginning and end of the DMA that has fetched it.
    pub fetch: Option<(Time, Time)>,
}

impl Letter {
    /// True if it can be the message with this header, whose bytes were fetched from `offset`.
    fn suits(&self, header: &BypassHeader, offset: Option<u64>, limits: &BypassLimits) -> bool {
        let BypassSend { target, port, offset: own, length, .. } = self.send;
        // Others are told of at once, and never sent.
        let valid = length <= BYPASS_MESSAGE
            && u64::from(own) + u64::from(length) <= u64::from(limits.bytes);
        let to = (target, port as u8, length);
        let same = to == (header.target, header.target_port, header.length);
        valid && same && offset.is_none_or(|offset| offset == own.into())
    }
}

impl Sender {
    /// A port is opened: its ring is empty.
    pub fn opens(&mut self, port: usize) {
        self.rings[port] = Ring::default();
    }

    /// A guest stores into the card's memory. Gives the message that this makes complete; [`Sender::names`]
    /// must follow.
    pub fn stores(&mut self, at: Time, offset: u32, bytes: &[u8]) -> Option<Written> {
        let offset = offset.checked_sub(BYPASS_PAGES)?;
        let (port, into) = ((offset / BYPASS_PAGE) as usize, (offset % BYPASS_PAGE) as usize);
        let ring = self.rings.get_mut(port)?;
        let places = into..into + bytes.len();
        for (place, byte) in places.clone().zip(bytes) {
            let (slot, byte_of) = (place / BypassSend::SIZE, place % BypassSend::SIZE);
            if let Some(stored) = ring.stored.get_mut(slot) {
                stored[byte_of] = *byte;
                ring.begun[slot].get_or_insert(at);
            }
        }
        let slot = ring.written as usize % SENDS;
        let number = slot * BypassSend::SIZE + bypass_send::NUMBER;
        let send = BypassSend::parse(&ring.stored[slot])?;
        let touched = places.start < number + 4 && number < places.end;
        if !touched || send.number != ring.written.wrapping_add(1) {
            return None;
        }
        ring.written = send.number;
        let begun = ring.begun[slot].take().unwrap_or(at);
        let address = BYPASS_PAGES + port as u32 * BYPASS_PAGE + number as u32;
        Some(Written { port, begun, send, address })
    }

    /// That message has this id, or none.
    pub fn names(&mut self, written: &Written, message: Option<MessageId>) {
        let letters = &mut self.rings[written.port].letters;
        if letters.len() == KEPT {
            letters.pop_front();
        }
        letters.push_back(Letter { message, send: written.send, peer: None, over: false });
        self.crossing.extend(message.map(|message| (written.address, message)));
    }

    /// The bus has brought a store of the host: the message that the card can see now.
    pub fn arrives(&mut self, write: &TargetWrite) -> Option<MessageId> {
        let first = self.crossing.front().filter(|(address, _)| is_to(write, *address))?.1;
        self.crossing.pop_front();
        Some(first)
    }

    /// The control program has started DMA from the host.
    pub fn fetches(&mut self, at: Time, sram: &[u8]) {
        let block = sram.get(DMA_SEND_CHAIN as usize..).and_then(DmaBlock::parse);
        let Some(DmaBlock { local, host_hi, host_lo, .. }) = block else { return };
        self.fetches.retain(|fetch| fetch.buffer != local);
        if self.fetches.len() == FETCHES {
            self.fetches.pop_front();
        }
        let from = u64::from(host_hi) << 32 | u64::from(host_lo);
        self.fetches.push_back(Fetch { buffer: local, from, begun: at, done: None });
    }

    /// It is over.
    pub fn fetched(&mut self, at: Time) {
        if let Some(last) = self.fetches.back_mut() {
            last.done.get_or_insert(at);
        }
    }

    /// The control program sends a packet with this header; its bytes begin at `data_at`. Gives the message,
    /// if it has an id. A port's messages to a node are sent in order, and each has a sequence of its own.
    pub fn asked(
        &mut self,
        header: &BypassHeader,
        data_at: u32,
        limits: &BypassLimits,
    ) -> Option<Asked> {
        let fetch = self.fetches.iter().find(|fetch| header.length > 0 && fetch.buffer == data_at);
        let offset = fetch.map(|fetch| fetch.from.wrapping_sub(limits.host.into()));
        let letters = &mut self.rings.get_mut(usize::from(header.source_port))?.letters;
        let peer = (header.epoch, header.sequence);
        let sent =
            |letter: &Letter| letter.peer == Some(peer) && letter.send.target == header.target;
        let known = letters.iter().position(sent);
        let waits = |letter: &Letter| letter.peer.is_none() && !letter.over;
        let next = |letter: &Letter| waits(letter) && letter.suits(header, offset, limits);
        let place = known.or_else(|| letters.iter().position(next))?;
        let letter = &mut letters[place];
        letter.peer = Some(peer);
        let fetch = fetch.and_then(|fetch| Some((fetch.begun, fetch.done?)));
        let (target, again) = (header.target.into(), known.is_some());
        Some(Asked { id: letter.message?, target, again, fetch })
    }

    /// A process is told that the oldest of its messages is over: that one.
    pub fn is_over(&mut self, port: usize) -> Option<MessageId> {
        let mut letters = self.rings[port].letters.iter_mut();
        let oldest = letters.find(|letter| !letter.over)?;
        oldest.over = true;
        oldest.message
    }
}
