//! The launcher's end of its connections: when it serves which line, and when the answer is there.
//!
//! The launcher is no node and has no thread. Whoever looks at the network at `now` lets it do first all
//! that is due before `now` + (latency - notice): no node is more than the notice behind `now`, so what
//! another one sends from here on arrives at `now` - notice + latency or later. All that is due before is
//! known, and is done in the order of time, node, and number on the node. That order, and each answer's time
//! with it, does not depend on who looks first. An answer arrives more than the latency behind its cause, so
//! that it is there when anybody can see it.

use super::network::State;
use crate::launch::{self, abort_code, Barrier, Event, Group, Inbox, Server};
use des::{Duration, Time};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;

/// Bytes of answers that a client may leave unread before its commands are left unread.
const UNREAD_MAX: usize = 64 << 10;

/// Something of a connection happens at the launcher's end. In the order in which it is looked after.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Due {
    at: Time,
    node: u32,
    number: u64,
    link: usize,
}

/// An answer that leaves at a time, as far as there is room.
#[derive(Debug)]
struct Outgoing {
    ready: Time,
    line: Vec<u8>,
}

#[derive(Debug, Default)]
struct Client {
    rank: u32,
    inbox: Inbox,
    outgoing: VecDeque<Outgoing>,
}

/// End of a run that a rank has wished for.
#[derive(Clone, Copy, Debug)]
struct Abort {
    /// Its node knows it from here on.
    seen: Time,
    code: i32,
}

/// The launcher.
#[derive(Debug, Default)]
pub(crate) struct Desk {
    server: Server,
    clients: BTreeMap<usize, Client>,
    due: BTreeSet<Due>,
    /// Number of what was due, by node.
    numbers: BTreeMap<u32, u64>,
    /// It has done all lines that have come then.
    busy_until: Time,
    aborts: BTreeMap<u32, Abort>,
}

impl Desk {
    /// One that serves the ranks of these programs, on nodes of so many each.
    pub fn new(programs: &[Range<u32>], per_node: u32) -> Desk {
        Desk { server: Server::new(Group::new(programs, per_node)), ..Desk::default() }
    }

    /// A socket of a rank's connects.
    pub fn come(&mut self, link: usize, rank: u32) {
        self.clients.insert(link, Client { rank, ..Client::default() });
        self.server.come(link, rank);
    }

    fn add(&mut self, link: usize, node: u32, at: Time) {
        let number = self.numbers.entry(node).or_default();
        *number += 1;
        self.due.insert(Due { at, node, number: *number, link });
    }

    /// Does the lines among bytes that have come at `now`, each for the time of its own.
    fn take(&mut self, link: usize, data: &[u8], now: Time, service: Duration, latency: Duration) {
        let lines = self.clients.get_mut(&link).map(|client| client.inbox.take(data));
        for line in lines.unwrap_or_default() {
            self.busy_until = self.busy_until.max(now) + service;
            let ready = self.busy_until;
            for event in self.server.take(link, &line, now) {
                match event {
                    Event::Answer { client, line } => {
                        let outgoing = self.clients.get_mut(&client).map(|to| &mut to.outgoing);
                        outgoing.into_iter().for_each(|queue| {
                            queue.push_back(Outgoing { ready, line: line.clone() });
                        });
                        self.add(client, launch::NODE, ready);
                    }
                    Event::Abort { rank, code } => {
                        let seen = ready + latency;
                        self.aborts.entry(rank).or_insert(Abort { seen, code });
                    }
                }
            }
        }
    }
}

impl State {
    /// Lets the launcher do what it has done, for all that a node can see at `now`, and for some time after.
    pub fn serve(&mut self, now: Time) {
        let Some(outlook) = self.outlook() else { return };
        while let Some(desk) = &mut self.desk
            && let Some(Due { at, link, .. }) = desk.due.first().copied()
            && at < now + outlook
        {
            desk.due.pop_first();
            self.attend(link, at);
        }
    }

    /// Something of a connection happens at its far end then: the launcher looks, if that is its own.
    pub(super) fn rouse(&mut self, link: usize, at: Time) {
        let [near, far] = self.links[link].names;
        if let Some(desk) = self.desk.as_mut().filter(|_| far.node == launch::NODE) {
            desk.add(link, near.node, at);
        }
    }

    /// The launcher looks at a connection.
    fn attend(&mut self, link: usize, now: Time) {
        self.pass_on(link, now);
        let (latency, service) = (self.costs().latency, self.costs().launcher);
        let Some(desk) = &mut self.desk else { return };
        let Some(client) = desk.clients.get(&link) else { return };
        let unread = client.outgoing.iter().map(|outgoing| outgoing.line.len()).sum::<usize>();
        if unread > UNREAD_MAX {
            return;
        }
        let flow = &mut self.links[link].flows[0];
        let data = flow.take(usize::MAX, false, now, now + latency);
        let ended = flow.has_ended(now);
        desk.take(link, &data, now, service, latency);
        if ended {
            desk.server.leave(link, now);
            desk.clients.remove(&link);
            self.links[link].close(1, now + latency);
        }
    }

    /// Answers that are ready leave as far as there is room.
    fn pass_on(&mut self, link: usize, now: Time) {
        let buffer = self.costs().buffer;
        loop {
            let Some(desk) = &mut self.desk else { return };
            let Some(Client { outgoing, .. }) = desk.clients.get_mut(&link) else { return };
            let flow = &mut self.links[link].flows[1];
            if flow.is_stopped(now) {
                outgoing.clear();
            }
            let Some(first) = outgoing.front_mut().filter(|first| first.ready <= now) else {
                return;
            };
            let room = usize::try_from(flow.room(buffer, now)).unwrap_or(usize::MAX);
            if room == 0 {
                return;
            }
            let bytes = room.min(first.line.len());
            let part: Vec<u8> = first.line.drain(..bytes).collect();
            if first.line.is_empty() {
                outgoing.pop_front();
            }
            self.transmit(link, 1, &part, now);
        }
    }

    /// Code with which the launcher ends a rank, which has wished for that and hears of it by `now`.
    pub fn abort_of(&self, rank: u32, now: Time) -> Option<i32> {
        let abort = self.desk.as_ref()?.aborts.get(&rank)?;
        (abort.seen <= now).then_some(abort.code)
    }

    /// The same for a rank that has ended: its wish may still be on its way.
    pub fn last_wish(&self, rank: u32) -> Option<i32> {
        let desk = self.desk.as_ref()?;
        if let Some(abort) = desk.aborts.get(&rank) {
            return Some(abort.code);
        }
        // A rank has one connection; of several, the order is not the host's: the least code is taken.
        let own = desk.clients.iter().filter(|(_, client)| client.rank == rank);
        let codes = own.filter_map(|(link, client)| {
            let lines = client.inbox.clone().take(&self.links[*link].flows[0].rest());
            lines.iter().find_map(abort_code)
        });
        codes.min()
    }

    /// The launcher's barrier, if a rank that looks at `now` is at it.
    pub fn barrier_of(&self, rank: u32, now: Time) -> Option<Barrier> {
        self.desk.as_ref()?.server.barrier_of(rank, now + self.outlook()?)
    }

    /// Number of a rank among those that the launcher serves.
    pub fn number_of(&self, rank: u32) -> Option<u32> {
        self.desk.as_ref()?.server.group().number_of(rank)
    }
}
