//! Messages of the bypass library, each under one id from the process that stores it into its ring to the one
//! that has seen its event. Library, module and control program tell nothing: a message is known by what
//! passes, the ring's structures, the headers of packets, the DMA blocks and the events (`abi/myrinet`).
//!
//! ```text
//!  process: stores into its ring ─► [sender]   ring ─ DMA ─ header: epoch and sequence ─► cable
//!  process: sees its event ◄─────── [receiver] event ◄─ DMA ◄─ buffer that has the packet ◄─ cable
//! ```
//!
//! Each copy of a message, sent again or not, has the id beside its first slot; answers have none.

use super::trail::Trail;
use crate::message_path::{DEPOSITED, FETCHED, FETCH_COMMANDED};
use ::myrinet::{Card, Point, Slot};
use abi::myrinet::register::{RMW, SMH};
use abi::myrinet::{bypass_event_kind, bypass_status, BypassHeader, BypassLimits, BYPASS_LIMITS};
use abi::MessageId;
use des::Time;
use host::SharedMemory;
use machine::instruments::message_trace::Waypoint;
use machine::programs::guests::{Costs, GuestObserver, Turn};
use pci::TargetWrite;
use process::Process;
use receiver::Receiver;
use sender::{Asked, Sender};
use std::cell::RefCell;
use std::rc::Rc;

mod process;
mod receiver;
mod sender;
#[cfg(test)]
mod tests;

/// Ports of a card.
const PORTS: usize = abi::myrinet::BYPASS_PORTS as usize;

/// Observer of a node: of its guest, and of its card.
pub(super) struct Bypass {
    trail: Rc<Trail>,
    launch: Time,
    state: RefCell<State>,
}

struct State {
    sender: Sender,
    receiver: Receiver,
    process: Process,
    /// Present work of the DMA engine.
    moves: Option<Moves>,
}

#[derive(Clone, Copy, Debug)]
enum Moves {
    /// Bytes of a message to the card.
    ToCard,
    /// So many blocks to the host, the last one an event for this port: of this message, if it is of one that
    /// has an id.
    ToHost { blocks: usize, port: usize, message: Option<MessageId> },
}

impl Bypass {
    /// Observer of a guest with this memory. It sees nothing before the launch.
    pub fn new(trail: Rc<Trail>, launch: Time, costs: Costs, memory: SharedMemory) -> Bypass {
        let process = Process::new(costs, memory);
        let (sender, receiver) = Default::default();
        let state = RefCell::new(State { sender, receiver, process, moves: None });
        Bypass { trail, launch, state }
    }

    /// The host has written to the card.
    pub fn written(&self, at: Time, write: &TargetWrite) {
        if let Some(message) = self.state.borrow_mut().sender.arrives(write) {
            self.trail.mark(at, message, Waypoint::COMMAND_ARRIVED);
        }
    }

    /// The card is reset: it has nothing of what it had.
    pub fn resets(&self) {
        let state = &mut *self.state.borrow_mut();
        (state.sender, state.receiver, state.moves) = Default::default();
    }

    /// A slot comes.
    pub fn slot_comes(&self, now: Time, slot: &Slot) {
        if let Some(message) = self.state.borrow_mut().receiver.comes(now, slot) {
            self.trail.mark(now, message, Waypoint::ARRIVED);
        }
    }

    /// The card has passed a point.
    pub fn passes(&self, at: Time, point: Point, card: &Card) {
        let state = &mut *self.state.borrow_mut();
        let register = |offset| card.register(at, offset).unwrap_or_default();
        match point {
            Point::Asked => self.asked(state, at, (card.sram(), register(SMH))),
            Point::Fetches => {
                state.moves = Some(Moves::ToCard);
                state.sender.fetches(at, card.sram());
            }
            Point::Started => self.delivers(state, at, card.sram()),
            Point::Moved => self.moved(state, at),
            Point::Received { bytes, good } => {
                let end = register(RMW);
                state.receiver.received(at, end.wrapping_sub(bytes)..end, good);
            }
            Point::Discarded => state.receiver.discarded(),
            Point::Signalled { .. } | Point::Released => {}
            Point::Held(_) => self.trail.passes(at, point),
        }
    }

    /// The bus has had a cycle: memory may have an event, before the card knows.
    pub fn cycle(&self, now: Time) {
        let state = &*self.state.borrow();
        if let Some(Moves::ToHost { blocks: 1, port, message: Some(message) }) = state.moves
            && state.process.has_come(port)
        {
            self.trail.mark(now, message, Waypoint::EVENT_POSTED);
        }
    }

    /// The control program sends what begins with the header at `header_at`.
    fn asked(&self, state: &mut State, at: Time, (sram, header_at): (&[u8], u32)) {
        let asked = header(sram, header_at).and_then(|header| {
            let limits = limits(sram, header.source_port.into())?;
            let data_at = header_at + BypassHeader::SIZE as u32;
            state.sender.asked(&header, data_at, &limits)
        });
        let Some(Asked { id, target, again, fetch }) = asked else {
            return self.trail.asks(at, None);
        };
        if let Some((begun, done)) = fetch {
            self.trail.mark(begun, id, FETCH_COMMANDED);
            self.trail.mark(done, id, FETCHED);
        }
        self.trail.asks(at, Some((id, target)));
        if again {
            self.trail.mark(at, id, Waypoint::RESENT);
        }
    }

    /// The control program has started the DMA that brings an event to the host, behind a message or not.
    fn delivers(&self, state: &mut State, at: Time, sram: &[u8]) {
        state.moves = None;
        let Some(delivery) = state.receiver.delivers(sram) else { return };
        let message = delivery.held.as_ref().map(|held| held.message);
        if let Some(held) = &delivery.held {
            self.trail.delivers(at, held.message, [held.came, held.had]);
        }
        let (blocks, port, event) = (delivery.blocks, delivery.port, delivery.event);
        state.moves = Some(Moves::ToHost { blocks, port, message });
        if event.kind == bypass_event_kind::SENT {
            let over = state.sender.is_over(port);
            if let Some(message) = over.filter(|_| event.status != bypass_status::DONE) {
                self.trail.drops(message);
            }
        }
        state.process.expects(&self.trail, port, delivery.event_at, &event, message);
    }

    fn moved(&self, state: &mut State, at: Time) {
        match &mut state.moves {
            None => {}
            Some(Moves::ToCard) => {
                state.sender.fetched(at);
                state.moves = None;
            }
            Some(Moves::ToHost { blocks, message, .. }) => {
                *blocks -= 1;
                let last = *blocks == 0;
                match *message {
                    Some(message) if last => self.trail.has_delivered(at, message),
                    Some(message) => self.trail.mark(at, message, DEPOSITED),
                    None => {}
                }
                if last {
                    state.moves = None;
                }
            }
        }
    }

    /// The run is over: nobody will be seen to look at an event.
    pub fn finish(&self) {
        let process = &mut self.state.borrow_mut().process;
        (0..PORTS).for_each(|port| process.closes(&self.trail, port));
    }
}

impl GuestObserver for Bypass {
    fn turn(&self, turn: &Turn<'_>) {
        if turn.at >= self.launch {
            let State { sender, process, .. } = &mut *self.state.borrow_mut();
            process.turn(&self.trail, sender, turn);
        }
    }
}

/// Header of a message at an address of the card; none of anything else.
fn header(sram: &[u8], at: u32) -> Option<BypassHeader> {
    let header = BypassHeader::parse(sram.get(at as usize..)?)?;
    (header.kind == abi::myrinet::packet_type::BYPASS).then_some(header)
}

/// A port, as the driver has told the control program.
fn limits(sram: &[u8], port: usize) -> Option<BypassLimits> {
    let at = BYPASS_LIMITS as usize + port * BypassLimits::SIZE;
    (port < PORTS).then(|| BypassLimits::parse(sram.get(at..)?)).flatten()
}
