//! A receiver's side: the number that each peer's next message must have, and who waits to be called.

use super::{after, is_before, Control, Lack, NUMBER_MASK};
use crate::mutant::{is_mutant, Mutant};
use std::collections::{BTreeMap, VecDeque};

/// Peers that are called at once.
const CALLED_MAX: usize = 8;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    #[default]
    Open,
    /// Its message was refused.
    Waiting,
    /// It may send that again.
    Called,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Peer {
    /// Number of the message that is taken next.
    expected: u16,
    state: State,
    /// For lack of this it waits, or was called.
    lack: Lack,
    owed: Option<Control>,
}

/// Receive pendings that the kernel has, and payloads under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Room {
    /// Receive pendings that are not in use.
    pub(crate) pendings: usize,
    /// Messages whose payload is not in memory.
    pub(crate) under_way: usize,
}

/// A packet for another kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Packet {
    pub(crate) peer: u16,
    pub(crate) control: Control,
    pub(crate) number: u16,
}

/// All peers.
#[derive(Clone, Debug)]
pub(crate) struct Inbound {
    peers: BTreeMap<u16, Peer>,
    /// Peers that wait for streams, and for pendings, in turn.
    streams: VecDeque<u16>,
    pendings: VecDeque<u16>,
    /// And for room in the event queues of processes.
    queues: BTreeMap<usize, VecDeque<u16>>,
    /// Called peers, and those of them that waited for streams.
    called: usize,
    called_streams: usize,
    /// Those may be so many: half as many after a call in vain, one more after another.
    most: usize,
    /// Streams that have come back since one was missing.
    freed: usize,
    /// The peer that was called in vain: until its message was taken, others are not let in before it.
    in_vain: Option<u16>,
    /// Peers that are owed a packet.
    owed: VecDeque<u16>,
}

impl Default for Inbound {
    fn default() -> Inbound {
        Inbound {
            peers: BTreeMap::new(),
            streams: VecDeque::new(),
            pendings: VecDeque::new(),
            queues: BTreeMap::new(),
            called: 0,
            called_streams: 0,
            most: CALLED_MAX,
            freed: 0,
            in_vain: None,
            owed: VecDeque::new(),
        }
    }
}

/// A message that has come.
#[derive(Clone, Copy)]
pub(crate) struct Arrival {
    /// Node of its sender.
    pub(crate) nid: u16,
    pub(crate) number: u16,
    /// Its sender wants to know whether it is taken.
    pub(crate) tell: bool,
}

impl Inbound {
    /// A message has come into a pending. True if it is taken; else it is as if it had not come. `crowded`:
    /// the process that it is for has no room for its events.
    pub(crate) fn arrived(&mut self, arrival: Arrival, crowded: Option<usize>) -> bool {
        let Arrival { nid, number, tell } = arrival;
        let peer = self.peers.entry(nid).or_default();
        let next = number == peer.expected || is_mutant(Mutant::TakesAnyNumber);
        match peer.state {
            State::Called if next && crowded.is_some() => {
                self.uncall(nid, false);
                self.wait(nid, crowded.map(Lack::Queue).unwrap_or_default(), true);
                return false;
            }
            State::Open if next && crowded.is_none() && self.in_vain.is_none() => {}
            State::Called if next => self.uncall(nid, true),
            // One before it was lost, or others go first.
            State::Open if !is_before(number, peer.expected) => {
                self.refuse(nid, crowded.map(Lack::Queue).unwrap_or_default());
                return false;
            }
            _ => return false,
        }
        let peer = self.peers.entry(nid).or_default();
        peer.expected = after(number);
        if tell && !is_mutant(Mutant::LosesTaken) {
            self.owe(nid, Control::Taken);
        }
        true
    }

    /// The firmware has dropped a message.
    pub(crate) fn dropped(&mut self, nid: u16, number: u16, lack: Lack) {
        if lack == Lack::Stream {
            self.freed = 0;
        }
        let peer = self.peers.entry(nid).or_default();
        match peer.state {
            State::Open if !is_before(number, peer.expected) => self.refuse(nid, lack),
            State::Called if number == peer.expected => {
                self.uncall(nid, false);
                self.in_vain.get_or_insert(nid);
                self.wait(nid, lack, true);
            }
            // Those behind a refused one.
            _ => {}
        }
    }

    /// A payload is in memory.
    pub(crate) fn completed(&mut self) {
        self.freed += 1;
    }

    fn refuse(&mut self, nid: u16, lack: Lack) {
        self.wait(nid, lack, false);
        self.owe(nid, Control::Refused);
    }

    fn wait(&mut self, nid: u16, lack: Lack, first: bool) {
        let peer = self.peers.entry(nid).or_default();
        (peer.state, peer.lack) = (State::Waiting, lack);
        let queue = self.queue(lack);
        match first {
            true => queue.push_front(nid),
            false => queue.push_back(nid),
        }
    }

    fn queue(&mut self, lack: Lack) -> &mut VecDeque<u16> {
        match lack {
            Lack::Stream => &mut self.streams,
            Lack::Pending => &mut self.pendings,
            Lack::Queue(slot) => self.queues.entry(slot).or_default(),
        }
    }

    /// True if peers wait for room in the event queue of a process.
    pub(crate) fn wait_for(&self, slot: usize) -> bool {
        self.queues.get(&slot).is_some_and(|queue| !queue.is_empty())
    }

    /// A call has ended: the message was taken, or found no room.
    fn uncall(&mut self, nid: u16, taken: bool) {
        let peer = self.peers.entry(nid).or_default();
        peer.state = State::Open;
        self.called -= 1;
        if peer.lack == Lack::Stream {
            self.called_streams -= 1;
            self.most = if taken { (self.most + 1).min(CALLED_MAX) } else { self.most.div_ceil(2) };
        }
        if self.in_vain == Some(nid) {
            self.in_vain = None;
        }
    }

    fn owe(&mut self, nid: u16, control: Control) {
        let peer = self.peers.entry(nid).or_default();
        if peer.owed.replace(control).is_none() {
            self.owed.push_back(nid);
        }
    }

    /// Calls those that wait, as far as there is room; `is_roomy`: for events of a process.
    pub(crate) fn call(&mut self, room: Room, is_roomy: impl Fn(usize) -> bool) {
        while self.called < CALLED_MAX && room.pendings > self.called {
            let streams = if room.under_way == 0 { self.most } else { self.most.min(self.freed) };
            let has_stream = self.called_streams < streams;
            let Some(nid) = self.whose_turn(has_stream, &is_roomy) else { return };
            let peer = self.peers.entry(nid).or_default();
            peer.state = State::Called;
            self.called += 1;
            if peer.lack == Lack::Stream {
                self.called_streams += 1;
                self.freed = self.freed.saturating_sub(1);
            }
            if !is_mutant(Mutant::LosesCall) {
                self.owe(nid, Control::Called);
            }
        }
    }

    /// The peer that is called next; it waits no longer.
    fn whose_turn(&mut self, has_stream: bool, is_roomy: &impl Fn(usize) -> bool) -> Option<u16> {
        if let Some(nid) = self.in_vain {
            let Peer { state, lack, .. } = *self.peers.entry(nid).or_default();
            let has_room = match lack {
                Lack::Stream => has_stream,
                Lack::Pending => true,
                Lack::Queue(slot) => is_roomy(slot),
            };
            if state != State::Waiting || !has_room {
                return None;
            }
            self.queue(lack).retain(|other| *other != nid);
            return Some(nid);
        }
        if let Some(nid) = self.pendings.pop_front() {
            return Some(nid);
        }
        if let Some(nid) = has_stream.then(|| self.streams.pop_front()).flatten() {
            return Some(nid);
        }
        let mut queues = self.queues.iter_mut();
        let ready = queues.find(|(slot, queue)| !queue.is_empty() && is_roomy(**slot));
        ready.and_then(|(_, queue)| queue.pop_front())
    }

    /// The next packet that is owed.
    pub(crate) fn next_packet(&mut self) -> Option<Packet> {
        let nid = self.owed.pop_front()?;
        let peer = self.peers.entry(nid).or_default();
        let control = peer.owed.take().expect("a peer that is owed one");
        let number = match control {
            Control::Taken => peer.expected.wrapping_sub(1) & NUMBER_MASK,
            Control::Refused | Control::Called => peer.expected,
        };
        Some(Packet { peer: nid, control, number })
    }

    /// Nobody waits or was called, and nothing is owed.
    #[cfg(test)]
    pub(crate) fn is_quiet(&self) -> bool {
        self.owed.is_empty() && self.peers.values().all(|peer| peer.state == State::Open)
    }
}
