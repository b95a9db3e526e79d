//! Acts of a guest's processes: they store into their rings, give places, and look at their events.
//!
//! A guest computes in no time. A process that waits reads the clock between two looks at memory, so it has
//! seen an event when a reading of the clock, or the sleep that stands for many of them, has ended behind the
//! event. With events of several ports at once it is not known at which the process looks; then it has seen
//! those before one at which it looks later, or whose place it gives back.

use super::sender::Sender;
use super::PORTS;
use crate::guest_calls::{is_about, offset, word, NS};
use crate::trail::{Found, Trail};
use abi::myrinet::{
    bypass_event, bypass_event_kind, bypass_limits, BypassEvent, BypassLimits, BypassPlace,
    BypassSend, BYPASS_EVENTS, BYPASS_LIMITS, BYPASS_PAGE, BYPASS_PAGES, BYPASS_PLACES,
    BYPASS_SENDS,
};
use abi::MessageId;
use des::Time;
use host::SharedMemory;
use machine::programs::guests::{Act, Costs, Reason, Turn};
use std::collections::VecDeque;

/// Offsets of the places in a port's page.
const PLACES: u32 = BYPASS_SENDS * BypassSend::SIZE as u32;
const PLACES_END: u32 = PLACES + BYPASS_PLACES * BypassPlace::SIZE as u32;

/// The processes of a guest.
pub(super) struct Process {
    memory: SharedMemory,
    /// Nanoseconds of reading the clock.
    clock: u64,
    /// The last sleep: the instant before it, and its end.
    slept: Option<(Time, u64)>,
    /// Word of an event at which it looks.
    watched: Option<u64>,
    waits: Option<Waits>,
    /// Message of which the last store is on its way out of the processor.
    storing: Option<MessageId>,
    /// Return of the last call.
    returned: Time,
    ports: [Events; PORTS],
}

/// A call that waits for an event.
#[derive(Clone, Copy, Debug)]
struct Waits {
    begun: Time,
    /// Time of its last look, if it may have returned then.
    looked: Option<Time>,
}

/// Events of a port that its process has not been seen to see, the first first.
#[derive(Default)]
struct Events {
    /// Address of the ring in memory; 0 if the port was never open.
    ring: u64,
    queue: VecDeque<News>,
}

/// An event.
#[derive(Clone, Copy, Debug)]
struct News {
    /// Address of its number, and the number.
    word: u64,
    number: u32,
    found: Found,
    /// Place of a message that has come.
    place: Option<u32>,
}

impl Process {
    pub fn new(costs: Costs, memory: SharedMemory) -> Process {
        Process {
            memory,
            clock: u64::from(costs.clock.max(1)),
            slept: None,
            watched: None,
            waits: None,
            storing: None,
            returned: Time::ZERO,
            ports: Default::default(),
        }
    }

    /// The card brings an event to that address, of this message if it is of one that has come.
    pub fn expects(
        &mut self,
        trail: &Trail,
        port: usize,
        event_at: u64,
        event: &BypassEvent,
        message: Option<MessageId>,
    ) {
        // There are no more in memory.
        if self.ports[port].queue.len() == BYPASS_EVENTS as usize {
            self.leaves(trail, port);
        }
        let received = event.kind == bypass_event_kind::RECEIVED;
        self.ports[port].queue.push_back(News {
            word: event_at + bypass_event::NUMBER as u64,
            number: event.number,
            found: if received { Found::Message(message) } else { Found::Sent },
            place: received.then_some(event.offset),
        });
    }

    /// A port is closed, or was: nobody will be seen to look at its events. The ways of messages end where
    /// their events are.
    pub fn closes(&mut self, trail: &Trail, port: usize) {
        while !self.ports[port].queue.is_empty() {
            self.leaves(trail, port);
        }
    }

    /// The next event of a port is nobody's.
    fn leaves(&mut self, trail: &Trail, port: usize) {
        let Some(news) = self.ports[port].queue.pop_front() else { return };
        if let (Found::Message(Some(message)), true) = (news.found, self.is_there(&news)) {
            trail.ends_in_memory(message);
        }
    }

    /// True if memory has the last event of a port.
    pub fn has_come(&self, port: usize) -> bool {
        self.ports[port].queue.back().is_some_and(|news| self.is_there(news))
    }

    /// True if memory has that event, or has had it: a later one may be in its place.
    fn is_there(&self, news: &News) -> bool {
        let mut number = [0; 4];
        let read = self.memory.borrow_mut().read_phys(news.word, &mut number);
        let since = u32::from_be_bytes(number).wrapping_sub(news.number);
        read.is_ok() && (since as i32) >= 0
    }

    /// The next event of a port, if memory has it.
    fn next(&self, port: usize) -> Option<News> {
        self.ports[port].queue.front().copied().filter(|news| self.is_there(news))
    }

    /// The guest goes on.
    pub fn turn(&mut self, trail: &Trail, sender: &mut Sender, turn: &Turn<'_>) {
        let at = turn.at;
        let mut read = None;
        match turn.reason {
            Reason::Boots | Reason::Interrupted => {}
            Reason::Wakes => read = self.wakes(trail, at),
            Reason::Answered(_) => {
                if let Some(message) = self.storing.take() {
                    trail.process_has_sent(at, message);
                    self.returned = at;
                }
            }
        }
        match turn.act {
            Act::Sleep(until) => self.slept = Some((at, *until)),
            Act::Watch(_, watch) => self.looks(trail, at, read, watch.word),
            Act::Store(place, bytes) => {
                self.times_out(trail, at);
                if let Some(offset) = offset(*place) {
                    self.stores(trail, sender, at, offset, bytes);
                }
            }
            Act::Load(..) | Act::End(_) => self.times_out(trail, at),
        }
    }

    // ---- looks -------------------------------------------------------------------------------------------

    /// A sleep is over. Gives the beginning of a reading of the clock behind which nothing was found.
    fn wakes(&mut self, trail: &Trail, at: Time) -> Option<Time> {
        let slept = self.slept.take();
        if let Some(word) = self.watched.take() {
            let port = (0..PORTS).find(|port| self.next(*port).is_some_and(|n| n.word == word));
            if let Some(port) = port {
                self.finds(trail, at, port);
            } else if let Some(waits) = &mut self.waits {
                waits.looked = Some(at);
            }
            return None;
        }
        let (from, until) = slept.filter(|(_, until)| at.0 / NS >= *until)?;
        if !is_about(until.saturating_sub(from.0 / NS), self.clock * NS) {
            return None;
        }
        let mut ports = (0..PORTS).filter(|port| self.next(*port).is_some());
        let port = ports.next();
        let several = ports.next().is_some();
        let Some(port) = port else { return Some(from) };
        if !several {
            self.times_out(trail, from);
            self.waits = Some(Waits { begun: from, looked: None });
            self.finds(trail, at, port);
        }
        None
    }

    /// The process that waits has seen the next event of a port.
    fn finds(&mut self, trail: &Trail, at: Time, port: usize) {
        let Some(news) = self.ports[port].queue.pop_front() else { return };
        let begun = self.waits.take().map_or(at, |waits| waits.begun);
        trail.process_waits([begun.max(self.returned).min(at), at], news.found);
        self.returned = at;
    }

    /// An event of a port was seen before; when is not known, but not later than now.
    fn has_found(&mut self, trail: &Trail, at: Time, port: usize) {
        let news = self.ports[port].queue.pop_front();
        if let Some(Found::Message(Some(message))) = news.map(|news| news.found) {
            trail.process_finds(at, message);
        }
    }

    /// A process looks at a word again and again; before, it may have read the clock from `read` on.
    fn looks(&mut self, trail: &Trail, at: Time, read: Option<Time>, word: u64) {
        let all = u64::from(BYPASS_EVENTS) * BypassEvent::SIZE as u64;
        let own =
            |events: &Events| events.ring > 0 && (events.ring..events.ring + all).contains(&word);
        let Some(port) = self.ports.iter().position(own) else {
            return self.times_out(trail, at);
        };
        while self.next(port).is_some_and(|news| news.word != word) {
            self.has_found(trail, at, port);
        }
        match &mut self.waits {
            Some(waits) if read.is_none() => waits.looked = None,
            _ => {
                self.times_out(trail, at);
                self.waits = Some(Waits { begun: read.unwrap_or(at), looked: None });
            }
        }
        self.watched = Some(word);
    }

    /// The call that waits, if there is one, has returned without an event: at its last look, or now.
    fn times_out(&mut self, trail: &Trail, at: Time) {
        self.watched = None;
        if let Some(waits) = self.waits.take() {
            let end = waits.looked.unwrap_or(at);
            trail.process_waits([waits.begun.max(self.returned).min(end), end], Found::Nothing);
            self.returned = end;
        }
    }

    // ---- stores ------------------------------------------------------------------------------------------

    /// The guest stores into the card's memory.
    fn stores(&mut self, trail: &Trail, sender: &mut Sender, at: Time, offset: u32, bytes: &[u8]) {
        if let Some(written) = sender.stores(at, offset, bytes) {
            let (to, bytes) = (written.send.target.into(), written.send.length.into());
            let begun = written.begun.max(self.returned).min(at);
            let message = trail.process_sends([begun, at], to, bytes);
            sender.names(&written, message);
            self.storing = message;
            return;
        }
        let within = |base: u32, each: u32| {
            let from = offset.checked_sub(base)?;
            let port = (from / each) as usize;
            (port < PORTS).then_some((port, from % each))
        };
        if let Some((port, into)) = within(BYPASS_PAGES, BYPASS_PAGE) {
            let place = BypassPlace::parse(bytes);
            if let Some(place) = place.filter(|_| (PLACES..PLACES_END).contains(&into)) {
                self.gives(trail, at, port, place.offset);
            }
        } else if let Some((port, into)) = within(BYPASS_LIMITS, BypassLimits::SIZE as u32) {
            match (into as usize, word(bytes)) {
                (bypass_limits::HOST, Some(host)) => self.ports[port].ring = host.into(),
                (bypass_limits::OPEN, Some(open)) => {
                    self.closes(trail, port);
                    if open != 0 {
                        sender.opens(port);
                    }
                }
                _ => {}
            }
        }
    }

    /// A process gives a place: it has seen the message that was there, and all events before.
    fn gives(&mut self, trail: &Trail, at: Time, port: usize, place: u32) {
        let queue = &self.ports[port].queue;
        let there = queue.iter().position(|news| news.place == Some(place) && self.is_there(news));
        for _ in 0..there.map_or(0, |last| last + 1) {
            self.has_found(trail, at, port);
        }
    }
}
