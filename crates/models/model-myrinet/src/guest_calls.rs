//! System calls and interrupt service of a guest, as they show at its card: the module looks whether the card
//! is free, stores a packet and the command, and waits; its handler looks at the card, and starts the DMA.
//!
//! A guest computes in no time, and then waits for what its kernel charges ([`Costs`]). So a system call that
//! sends has begun at the instant before the wait that ends with the first look at the card. One that reads
//! returns behind a wait for a change of processes, or a system call, and the copy of the packet. Where no
//! wait of that length follows the handler, the packet's way ends in the module.
//!
//! ```text
//!  dp_write: begun ─ wait ─ looks ─ stores ─ command ─ looks until it is sent ─ status: returns
//!  handler:  interrupted ─ wait ─ looks ─ DMA ─ looks until it is over: the channel has it ─ wait ─ returns
//! ```

use super::trail::{Sent, Trail};
use abi::myrinet::{
    board_control, command, command_area, dma_block, status, PacketHeader, BOARD_CONTROL,
    DMA_RECEIVE_CHAIN, REGION_COMMAND_BASE, REGION_SEND_BASE,
};
use abi::MessageId;
use des::Time;
use machine::instruments::message_trace::Waypoint;
use machine::programs::guests::{Act, Costs, GuestObserver, Location, Reason, Space, Turn};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// Waits behind the handler in which a reader may be found.
const PATIENCE: u32 = 8;

/// Picoseconds of a nanosecond, by which a guest's clock counts.
pub(super) const NS: u64 = 1000;

/// Words of the card at which the module looks, and those that it stores.
const COMMAND: u32 = REGION_COMMAND_BASE + command_area::COMMAND as u32;
const STATUS: u32 = REGION_COMMAND_BASE + command_area::STATUS as u32;
const WAITING: u32 = REGION_COMMAND_BASE + command_area::WAITING as u32;
const LENGTH: u32 = DMA_RECEIVE_CHAIN + dma_block::LENGTH as u32;

/// Observer of a guest.
pub(super) struct GuestCalls {
    trail: Rc<Trail>,
    launch: Time,
    costs: Costs,
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    /// The last sleep, and the one that the handler has interrupted.
    slept: Sleep,
    outer: Option<Sleep>,
    /// Word of the card that the guest loads.
    loads: Option<u32>,
    sending: Sending,
    handler: Option<Handler>,
    /// Packets that the module has, the first first, and nobody is known to have read.
    delivered: VecDeque<Delivered>,
    /// The last instant before a wait for a system call and nothing else.
    called: Time,
    /// Return of the last call.
    returned: Time,
}

/// A sleep: the instant before it, and its end.
#[derive(Clone, Copy, Default)]
struct Sleep {
    from: Time,
    until: u64,
}

/// Packet that is being sent.
#[derive(Clone, Copy, Default)]
struct Sending {
    /// Beginning of what led to it, and of the first look at the card.
    begun: Option<(Time, Time)>,
    header: [u8; PacketHeader::SIZE],
    /// The command is written.
    commanded: bool,
    /// The packet, if it is one of a system call; any.
    sent: Option<Sent>,
}

/// Interrupt service.
#[derive(Clone, Copy, Default)]
struct Handler {
    looks: bool,
    /// Number of the packet, once it is known.
    number: u32,
    message: Option<MessageId>,
    /// Bytes that the DMA brings.
    bytes: u32,
    started: bool,
}

/// A packet that its channel has.
struct Delivered {
    message: MessageId,
    /// Bytes for the reader.
    bytes: u32,
    /// Waits since.
    waits: u32,
    /// Wait of its reader: when its call has begun, and the wait's end.
    reader: Option<(Time, u64)>,
}

impl GuestCalls {
    /// Observer for the packets of this trail. It sees nothing before the launch.
    pub fn new(trail: Rc<Trail>, launch: Time, costs: Costs) -> GuestCalls {
        GuestCalls { trail, launch, costs, state: RefCell::default() }
    }

    // ---- sending -----------------------------------------------------------------------------------------

    /// The module looks whether the card is free; who has called it began at `begun`.
    fn looks_at_command(state: &mut State, at: Time, begun: Time) {
        if !state.sending.commanded {
            state.sending.begun.get_or_insert((begun, at));
        }
    }

    /// The guest stores into the card's memory.
    fn stores(&self, state: &mut State, at: Time, offset: u32, bytes: &[u8]) {
        let sending = &mut state.sending;
        if let Some(into) = offset.checked_sub(REGION_SEND_BASE) {
            let header = sending.header.get_mut(into as usize..).unwrap_or_default();
            header.iter_mut().zip(bytes).for_each(|(to, byte)| *to = *byte);
        }
        match (offset, word(bytes)) {
            (COMMAND, Some(command::SEND)) => {
                let (begun, looks) = sending.begun.unwrap_or((at, at));
                let begun = begun.max(state.returned);
                let header = PacketHeader::parse(&sending.header);
                let times = [begun, looks.max(begun), at];
                sending.sent = header.and_then(|header| self.trail.module_sends(times, &header));
                sending.commanded = true;
            }
            (LENGTH, Some(length)) => {
                if let Some(handler) = &mut state.handler {
                    handler.bytes = length;
                }
            }
            (BOARD_CONTROL, Some(bits)) if bits & board_control::DMA_1 != 0 => {
                if let Some(handler) = state.handler.as_mut().filter(|handler| handler.number > 0) {
                    handler.started = true;
                    self.handles(at, handler.message, Waypoint::RECEIVE_WRITTEN, "starts the DMA");
                }
            }
            _ => {}
        }
    }

    /// The card has said how sending ended.
    fn sent(&self, state: &mut State, at: Time, result: u32) {
        let Sending { commanded, sent, .. } = std::mem::take(&mut state.sending);
        if let Some(sent) = sent.filter(|_| commanded) {
            self.trail.module_has_sent(at, sent, result == status::DONE);
            state.returned = at;
        }
    }

    // ---- interrupt service -------------------------------------------------------------------------------

    /// The card answers a load.
    fn answered(&self, state: &mut State, at: Time, offset: u32, value: u32) {
        if offset == STATUS {
            return self.sent(state, at, value);
        }
        let Some(handler) = &mut state.handler else { return };
        match offset {
            WAITING if handler.number == 0 => handler.number = value,
            WAITING if handler.started && value != handler.number => {
                let Handler { message, bytes, .. } = std::mem::take(handler);
                if let Some(message) = message {
                    self.delivers(state, at, message, bytes);
                }
            }
            LENGTH => self.mark(at, handler.message, Waypoint::EVENT_DRAINED),
            _ => {}
        }
    }

    /// The handler looks whether a packet waits.
    fn looks_at_waiting(&self, state: &mut State, at: Time) {
        let Some(handler) = &mut state.handler else { return };
        if !std::mem::replace(&mut handler.looks, true) {
            handler.message = self.trail.held();
            self.handles(at, handler.message, Waypoint::HANDLER_ENTERED, "interrupt service");
        }
    }

    /// A packet is in memory, and with its channel or the network; its header alone if there was no room.
    fn delivers(&self, state: &mut State, at: Time, message: MessageId, bytes: u32) {
        self.mark(at, Some(message), Waypoint::COMPLETION_DRAINED);
        match bytes.checked_sub(PacketHeader::SIZE as u32) {
            Some(bytes) if bytes > 0 => {
                self.handles(at, Some(message), Waypoint::EVENT_POSTED, "service layer");
                let (waits, reader) = (0, None);
                state.delivered.push_back(Delivered { message, bytes, waits, reader });
                if !self.trail.is_for_reader(message) {
                    state.delivered.pop_back();
                    self.trail.ends_in_memory(message);
                }
            }
            _ => self.trail.drops(message),
        }
    }

    /// The handler does something with its packet.
    fn handles(&self, at: Time, message: Option<MessageId>, waypoint: Waypoint, what: &str) {
        self.mark(at, message, waypoint);
        if let Some(message) = message {
            self.trail.module(at, message, what);
        }
    }

    fn mark(&self, at: Time, message: Option<MessageId>, waypoint: Waypoint) {
        if let Some(message) = message {
            self.trail.mark(at, message, waypoint);
        }
    }

    // ---- waits -------------------------------------------------------------------------------------------

    /// Time of copying so many bytes, in ps, as the guest's kernel has it.
    fn copied(&self, bytes: u32) -> u64 {
        u64::from(bytes) * u64::from(self.costs.copied_kb) * NS / 1024
    }

    /// The guest waits `ns`, from `at` on, outside of the handler: for what its kernel charges, or for an
    /// event.
    fn waits(&self, state: &mut State, at: Time, ns: u64) {
        let [call, change] = [self.costs.syscall, self.costs.context_switch].map(u64::from);
        if is_about(ns, call * NS) {
            state.called = at;
        }
        let Some(first) = state.delivered.front_mut().filter(|first| first.reader.is_none()) else {
            return;
        };
        first.waits += 1;
        let copied = self.copied(first.bytes);
        let until = at.0 / NS + ns;
        if is_about(ns, change * NS + copied) {
            first.reader = Some((state.called, until));
        } else if is_about(ns, call * NS + copied) {
            first.reader = Some((at, until));
        } else if first.waits == PATIENCE {
            self.trail.ends_in_memory(first.message);
            state.delivered.pop_front();
        }
    }

    /// A wait outside of the handler is over; behind it the module looks at the card (`sends`), or not.
    fn wakes(&self, state: &mut State, at: Time, sends: bool) {
        let Some(first) = state.delivered.front_mut() else { return };
        let Some((called, _)) = first.reader.filter(|(_, until)| at.0 / NS >= *until) else {
            return;
        };
        if sends {
            // It was a call that sends as many bytes.
            first.reader = None;
            return;
        }
        self.trail.module_has_read([called.max(state.returned), at], first.message);
        state.returned = at;
        state.delivered.pop_front();
    }

    /// The run is over: nobody will be known to have read.
    pub fn finish(&self) {
        let state = &mut *self.state.borrow_mut();
        state.delivered.drain(..).for_each(|left| self.trail.ends_in_memory(left.message));
    }

    fn sleeps(&self, state: &mut State, turn: &Turn<'_>, until: u64) {
        let Turn { at, reason, serves, .. } = *turn;
        let own = Sleep { from: at, until };
        if serves {
            state.slept = own;
            return;
        }
        // The handler, or a timer, has interrupted a sleep that goes on.
        let before = state.outer.take().or(Some(state.slept).filter(|_| reason == Reason::Wakes));
        match before.filter(|before| before.until == until) {
            Some(before) => state.slept = before,
            None => {
                state.slept = own;
                self.waits(state, at, until.saturating_sub(at.0 / NS));
            }
        }
    }
}

impl GuestObserver for GuestCalls {
    fn turn(&self, turn: &Turn<'_>) {
        if turn.at < self.launch {
            return;
        }
        let state = &mut *self.state.borrow_mut();
        let at = turn.at;
        let mut begun = at;
        match turn.reason {
            Reason::Boots => {}
            Reason::Interrupted => {
                state.outer = Some(state.slept);
                state.handler = Some(Handler::default());
            }
            Reason::Wakes => {
                begun = state.slept.from;
                if state.handler.is_none() {
                    let sends =
                        matches!(turn.act, Act::Load(place, _) if offset(*place) == Some(COMMAND));
                    self.wakes(state, at, sends);
                }
            }
            Reason::Answered(bytes) => {
                if let Some((offset, value)) = state.loads.zip(word(bytes)) {
                    self.answered(state, at, offset, value);
                }
            }
        }
        state.loads = None;
        if !turn.serves {
            state.handler = None;
        }
        match turn.act {
            Act::Sleep(until) | Act::Watch(until, _) => self.sleeps(state, turn, *until),
            Act::Store(place, bytes) => {
                if let Some(offset) = offset(*place) {
                    self.stores(state, at, offset, bytes);
                }
            }
            Act::Load(place, _) => {
                state.loads = offset(*place);
                match state.loads {
                    Some(COMMAND) => {
                        let begun = state.outer.filter(|_| !turn.serves).map_or(begun, |o| o.from);
                        Self::looks_at_command(state, at, begun);
                    }
                    Some(WAITING) => self.looks_at_waiting(state, at),
                    _ => {}
                }
            }
            Act::End(_) => {}
        }
        if !turn.serves && !matches!(turn.act, Act::Sleep(_) | Act::Watch(..)) {
            state.outer = None;
        }
    }
}

/// Offset in the card's region.
pub(super) fn offset(place: Location) -> Option<u32> {
    (place.space == Space::Region(0)).then(|| u32::try_from(place.offset).ok()).flatten()
}

/// A word of the card, which is big endian.
pub(super) fn word(bytes: &[u8]) -> Option<u32> {
    bytes.try_into().ok().map(u32::from_be_bytes)
}

/// True of a wait for `ps` picoseconds, to which less than a nanosecond may have been left over before.
pub(super) fn is_about(ns: u64, ps: u64) -> bool {
    let waited = ns.saturating_mul(NS);
    waited < ps.saturating_add(NS) && ps < waited.saturating_add(NS)
}
