//! The administration network: what TCP connections between ranks do, and when each end sees it.
//!
//! All nodes share one state, each under its own simulated time. What one does is written down with the
//! time at which others can see it, the network's latency later, and does not exist before. No node is
//! simulated further ahead of another than the notice of a failure takes, which is less: so whatever a
//! node can see at its time is there by then, on any number of threads.

use super::desk::Desk;
use super::link::Link;
use super::records::{Listener, Name, Node, Request, Role, Socket};
use crate::launch;
use des::{Duration, Time};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Properties of the network, from a machine file's `[admin.*]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// A call of a socket, in the program and the system on its node.
    pub call: Duration,
    /// Time from one node to the other.
    pub latency: Duration,
    /// Bytes a second that a node sends.
    pub rate: u64,
    /// Bytes of a connection that may be on their way or wait to be received.
    pub buffer: u64,
    /// Bytes of a segment.
    pub segment: u64,
    /// A command that the launcher serves.
    pub launcher: Duration,
}

/// Result of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// It is done.
    Done(u64),
    /// It has failed with this error number.
    Failed(i32),
    /// Nothing to be done yet. The time at which that changes, as far as it is known for sure.
    Later(Option<Time>),
}
use Answer::{Done, Failed, Later};

/// First of the ports that the system chooses.
const PORTS: u16 = 32768;

#[derive(Debug, Default)]
pub(crate) struct State {
    costs: Costs,
    notice: Duration,
    ranks: u32,
    pub(super) per_node: u32,
    sockets: Vec<Option<Socket>>,
    listeners: Vec<Listener>,
    pub(super) links: Vec<Link>,
    pub(super) nodes: BTreeMap<u32, Node>,
    /// The launcher, if it is one of the network.
    pub(super) desk: Option<Desk>,
}

/// The network of a run.
#[derive(Debug, Default)]
pub struct Network(Mutex<State>);

impl Network {
    /// Sets up the network before ranks begin: no node is simulated further ahead of another than `notice`,
    /// and `ranks` ranks are on nodes of `per_node` each.
    pub fn begin(&self, costs: Costs, notice: Duration, ranks: u32, per_node: u32) {
        *self.lock() =
            State { costs, notice, ranks, per_node: per_node.max(1), ..State::default() };
    }

    /// Opens the launcher, which serves the ranks of these programs. To be called behind `begin`.
    pub fn launch(&self, programs: &[Range<u32>]) {
        let mut state = self.lock();
        state.desk = Some(Desk::new(programs, state.per_node));
    }

    /// The network as a node sees it at `now`.
    pub(crate) fn at(&self, now: Time) -> MutexGuard<'_, State> {
        let mut state = self.lock();
        state.serve(now);
        state
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    pub fn costs(&self) -> Costs {
        self.costs
    }

    /// Lookahead: time after a look for which everything that a node can see is known; `None` if the
    /// network is too fast for that.
    pub fn outlook(&self) -> Option<Duration> {
        let ahead = self.costs.latency.0.checked_sub(self.notice.0).filter(|ahead| *ahead > 0);
        ahead.map(Duration)
    }

    /// The least latency that a network can have here.
    pub fn notice(&self) -> Duration {
        self.notice
    }

    /// The first of these times that is still to come, if it is sure at `now` that there is none before.
    fn next(&self, times: impl IntoIterator<Item = Time>, now: Time) -> Option<Time> {
        let known = now + self.outlook().unwrap_or_default();
        times.into_iter().filter(|at| *at > now && *at <= known).min()
    }

    fn socket(&mut self, number: u64) -> Option<&mut Socket> {
        self.sockets.get_mut(usize::try_from(number).ok()?)?.as_mut()
    }

    fn copy(&self, number: u64) -> Option<Socket> {
        *self.sockets.get(usize::try_from(number).ok()?)?
    }

    fn add(&mut self, socket: Socket) -> u64 {
        let free = self.sockets.iter().position(Option::is_none);
        let at = free.unwrap_or(self.sockets.len());
        if at == self.sockets.len() {
            self.sockets.push(None);
        }
        self.sockets[at] = Some(socket);
        at as u64
    }

    pub fn open(&mut self, rank: u32, node: u32) -> u64 {
        self.add(Socket { rank, node, port: None, role: Role::Fresh, error: 0 })
    }

    /// True if a socket of the rank's has that number: a program can write any.
    pub fn is_of(&self, number: u64, rank: u32) -> bool {
        self.copy(number).is_some_and(|socket| socket.rank == rank)
    }

    fn is_taken(&self, name: Name) -> bool {
        let bound = |socket: &Socket| socket.node == name.node && socket.port == Some(name.port);
        self.sockets.iter().flatten().any(|socket| {
            bound(socket) && !matches!(socket.role, Role::Connected(..) | Role::Connecting(..))
        })
    }

    fn free_port(&mut self, node: u32) -> Option<u16> {
        for _ in PORTS..=u16::MAX {
            let own = self.nodes.entry(node).or_default();
            let port = PORTS + own.ports % (u16::MAX - PORTS);
            own.ports = own.ports.wrapping_add(1);
            if !self.is_taken(Name { node, port }) {
                return Some(port);
            }
        }
        None
    }

    pub fn bind(&mut self, number: u64, port: u16) -> Answer {
        let Some(socket) = self.copy(number) else { return Failed(libc::EBADF) };
        if socket.port.is_some() || socket.role != Role::Fresh {
            return Failed(libc::EINVAL);
        }
        let wanted = if port == 0 { self.free_port(socket.node) } else { Some(port) };
        match wanted {
            Some(port) if !self.is_taken(Name { node: socket.node, port }) => {
                self.socket(number).expect("it is there").port = Some(port);
                Done(0)
            }
            _ => Failed(libc::EADDRINUSE),
        }
    }

    pub fn listen(&mut self, number: u64, now: Time) -> Answer {
        let Some(socket) = self.copy(number) else { return Failed(libc::EBADF) };
        match socket.role {
            Role::Listening(_) => return Done(0),
            Role::Fresh => {}
            _ => return Failed(libc::EINVAL),
        }
        let Some(port) = socket.port.or_else(|| self.free_port(socket.node)) else {
            return Failed(libc::EADDRINUSE);
        };
        let name = Name { node: socket.node, port };
        let role = Role::Listening(self.listeners.len());
        self.listeners.push(Listener { name, since: now, until: None, requests: Vec::new() });
        let own = self.socket(number).expect("it is there");
        (own.port, own.role) = (Some(port), role);
        Done(0)
    }

    /// Begins a connection, or goes on with it.
    pub fn connect(&mut self, number: u64, to: Name, again: bool, now: Time) -> Answer {
        let Some(socket) = self.copy(number) else { return Failed(libc::EBADF) };
        match socket.role {
            Role::Fresh if socket.error != 0 => return Failed(self.take_error(number)),
            Role::Fresh if to.node == launch::NODE && self.desk.is_some() => {
                if to.port != launch::PORT {
                    return Failed(libc::ECONNREFUSED);
                }
                self.join(number, to, now);
            }
            Role::Fresh if to.node >= self.ranks.div_ceil(self.per_node) => {
                return Failed(libc::EHOSTUNREACH)
            }
            Role::Fresh => self.socket(number).expect("it is there").role = Role::Seeking(to),
            Role::Listening(_) => return Failed(libc::EINVAL),
            Role::Connected(..) if !again => return Failed(libc::EISCONN),
            Role::Seeking(_) | Role::Connecting(..) if !again => {
                self.progress(number, now);
                let connected =
                    matches!(self.copy(number), Some(Socket { role: Role::Connected(..), .. }));
                return if connected { Done(0) } else { Failed(libc::EALREADY) };
            }
            _ => {}
        }
        let next = self.progress(number, now);
        match self.copy(number).expect("it is there") {
            Socket { role: Role::Connected(..), .. } => Done(0),
            Socket { error: 0, .. } => Later(next),
            _ => Failed(self.take_error(number)),
        }
    }

    pub fn take_error(&mut self, number: u64) -> i32 {
        self.socket(number).map_or(0, |socket| std::mem::take(&mut socket.error))
    }

    /// Does what a connect has left to do at `now`; when there is more of it.
    fn progress(&mut self, number: u64, now: Time) -> Option<Time> {
        let socket = self.copy(number)?;
        match socket.role {
            Role::Seeking(to) => self.seek(number, to, now),
            Role::Connecting(link, at) if at <= now => {
                self.socket(number)?.role = Role::Connected(link, 0);
                None
            }
            Role::Connecting(_, at) => Some(at),
            _ => None,
        }
    }

    fn seek(&mut self, number: u64, to: Name, now: Time) -> Option<Time> {
        let latency = self.costs.latency;
        let there = |listener: &&mut Listener| {
            let ended = listener.until.is_some_and(|until| until + latency <= now);
            listener.name == to && listener.since + latency <= now && !ended
        };
        if self.listeners.iter_mut().find(there).is_none() {
            let since = self.listeners.iter().filter(|l| l.name == to).map(|l| l.since + latency);
            let since = self.next(since, now);
            if self.is_deserted(to.node, now) {
                let own = self.socket(number)?;
                (own.role, own.error) = (Role::Fresh, libc::ECONNREFUSED);
            }
            return since;
        }
        let request = self.join(number, to, now)?;
        let Request { arrives, link, .. } = request;
        let at = arrives + latency;
        let listener = self.listeners.iter_mut().find(there).expect("just found");
        // It has gone when the request arrives.
        if listener.until.is_some_and(|until| until <= arrives) {
            self.links[link].flows[1].reset = Some(at);
        } else {
            listener.requests.push(request);
        }
        Some(at)
    }

    /// Makes the connection of a socket with whom it has found; the request that is on its way.
    fn join(&mut self, number: u64, to: Name, now: Time) -> Option<Request> {
        let socket = self.copy(number)?;
        let port = socket.port.or_else(|| self.free_port(socket.node))?;
        let link = self.links.len();
        self.links.push(Link::new([Name { node: socket.node, port }, to]));
        let arrives = now + self.costs.latency;
        let node = self.nodes.entry(socket.node).or_default();
        node.requests += 1;
        let request = Request { arrives, node: socket.node, number: node.requests, link };
        if let Some(desk) = self.desk.as_mut().filter(|_| to.node == launch::NODE) {
            desk.come(link, socket.rank);
        }
        let told = arrives + self.costs.latency;
        let own = self.socket(number)?;
        (own.port, own.role) = (Some(port), Role::Connecting(link, told));
        Some(request)
    }

    /// True if all ranks of a node are known to have ended.
    fn is_deserted(&self, node: u32, now: Time) -> bool {
        let all = self.ranks.saturating_sub(node * self.per_node).min(self.per_node);
        let over = |node: &Node| node.ended == all && node.ended_at + self.costs.latency <= now;
        self.nodes.get(&node).is_some_and(over)
    }

    pub fn accept(&mut self, number: u64, now: Time) -> Answer {
        let Some(socket) = self.copy(number) else { return Failed(libc::EBADF) };
        let Role::Listening(listener) = socket.role else { return Failed(libc::EINVAL) };
        let requests = &self.listeners[listener].requests;
        let next = self.next(requests.iter().map(|request| request.arrives), now);
        let listener = &mut self.listeners[listener];
        let here = listener.requests.iter().enumerate().filter(|(_, r)| r.arrives <= now);
        let Some((at, _)) = here.min_by_key(|(_, request)| **request) else { return Later(next) };
        let request = listener.requests.swap_remove(at);
        let port = Some(listener.name.port);
        let role = Role::Connected(request.link, 1);
        Done(self.add(Socket { port, role, error: 0, ..socket }))
    }

    /// The connection of a socket, and which end of it that is.
    fn end(&self, number: u64) -> Result<(usize, usize), Answer> {
        match self.copy(number).ok_or(Failed(libc::EBADF))?.role {
            Role::Connected(link, side) => Ok((link, side)),
            Role::Seeking(_) | Role::Connecting(..) => Err(Later(None)),
            _ => Err(Failed(libc::ENOTCONN)),
        }
    }

    pub fn send(&mut self, number: u64, data: &[u8], now: Time) -> Answer {
        self.progress(number, now);
        let (link, side) = match self.end(number) {
            Ok(end) => end,
            Err(answer) => return answer,
        };
        let buffer = self.costs.buffer;
        let flow = &mut self.links[link].flows[side];
        if flow.end.is_some() || flow.is_stopped(now) {
            return Failed(libc::EPIPE);
        }
        let room = flow.room(buffer, now);
        if room == 0 && !data.is_empty() {
            let news = flow.read.iter().map(|(at, _)| *at).chain(flow.stopped).collect::<Vec<_>>();
            return Later(self.next(news, now));
        }
        let taken = data.len().min(room as usize);
        self.transmit(link, side, &data[..taken], now);
        Done(taken as u64)
    }

    /// Bytes leave a node.
    pub(super) fn transmit(&mut self, link: usize, side: usize, data: &[u8], now: Time) {
        let Costs { latency, segment, rate, .. } = self.costs;
        let Link { names, flows } = &mut self.links[link];
        let node = self.nodes.entry(names[side].node).or_default();
        let mut arrivals = Vec::new();
        let mut leaves = node.sends_until.max(now);
        for piece in data.chunks(segment.max(1) as usize) {
            leaves += time_of(piece.len() as u64, rate);
            flows[side].put(leaves + latency, piece);
            arrivals.push(leaves + latency);
        }
        node.sends_until = leaves;
        // The launcher's own bytes are no news for it.
        for at in arrivals.into_iter().filter(|_| side == 0) {
            self.rouse(link, at);
        }
    }

    /// Bytes that can be received, into `into`.
    pub fn receive(
        &mut self,
        number: u64,
        most: usize,
        stay: bool,
        now: Time,
    ) -> Result<Vec<u8>, Answer> {
        self.progress(number, now);
        let (link, side) = self.end(number)?;
        let seen = now + self.costs.latency;
        let flow = &mut self.links[link].flows[1 - side];
        if flow.is_reset(now) {
            return Err(Failed(libc::ECONNRESET));
        }
        if most == 0 || flow.deaf {
            return Ok(Vec::new());
        }
        let data = flow.take(most, stay, now, seen);
        if data.is_empty() && !flow.has_ended(now) {
            let news = flow.news();
            return Err(Later(self.next(news, now)));
        }
        self.rouse(link, seen);
        Ok(data)
    }

    pub fn available(&self, number: u64, now: Time) -> Answer {
        match self.end(number) {
            Ok((link, side)) => Done(self.links[link].flows[1 - side].arrived(now)),
            Err(Failed(error)) => Failed(error),
            Err(_) => Done(0),
        }
    }

    pub fn shutdown(&mut self, number: u64, how: u64, now: Time) -> Answer {
        self.progress(number, now);
        let (link, side) = match self.end(number) {
            Ok(end) => end,
            Err(Failed(error)) => return Failed(error),
            Err(_) => return Failed(libc::ENOTCONN),
        };
        if how != 1 {
            self.links[link].flows[1 - side].deaf = true;
        }
        if how != 0 {
            let last = now + self.costs.latency;
            let end = self.links[link].flows[side].finish(last);
            self.rouse(link, end);
        }
        Done(0)
    }

    pub fn close(&mut self, number: u64, now: Time) -> Answer {
        let Some(socket) = self.copy(number) else { return Failed(libc::EBADF) };
        let seen = now + self.costs.latency;
        match socket.role {
            Role::Listening(listener) => {
                let listener = &mut self.listeners[listener];
                listener.until = Some(now);
                for request in listener.requests.drain(..) {
                    let at = request.arrives.max(now) + self.costs.latency;
                    self.links[request.link].flows[1].reset = Some(at);
                }
            }
            Role::Connecting(link, _) => self.leave(link, 0, seen),
            Role::Connected(link, side) => self.leave(link, side, seen),
            Role::Fresh | Role::Seeking(_) => {}
        }
        self.sockets[number as usize] = None;
        Done(0)
    }

    /// An end of a connection is closed, as the other one sees then.
    fn leave(&mut self, link: usize, side: usize, seen: Time) {
        let end = self.links[link].close(side, seen);
        self.rouse(link, seen);
        self.rouse(link, end);
    }

    /// A rank has ended: what it has left open is closed.
    pub fn end_rank(&mut self, rank: u32, now: Time) {
        let own = |socket: &Option<Socket>| socket.is_some_and(|socket| socket.rank == rank);
        for number in 0..self.sockets.len() {
            if own(&self.sockets[number]) {
                self.close(number as u64, now);
            }
        }
        let node = self.nodes.entry(rank / self.per_node.max(1)).or_default();
        node.ended += 1;
        node.ended_at = node.ended_at.max(now);
    }

    /// Its own name and its peer's, if there is one.
    pub fn names(&self, number: u64) -> Option<(Name, Option<Name>)> {
        let socket = self.copy(number)?;
        let own = Name { node: socket.node, port: socket.port.unwrap_or(0) };
        Some(match socket.role {
            Role::Connected(link, side) => (own, Some(self.links[link].names[1 - side])),
            _ => (own, None),
        })
    }

    /// Events of poll(2) that a socket has at `now`, and when there may be others.
    pub fn look(&mut self, number: u64, now: Time) -> (i16, Option<Time>) {
        let connecting = self.progress(number, now);
        let Some(socket) = self.copy(number) else { return (libc::POLLNVAL, None) };
        match socket.role {
            Role::Fresh if socket.error != 0 => {
                (libc::POLLERR | libc::POLLHUP | libc::POLLOUT | libc::POLLIN, None)
            }
            Role::Fresh => (libc::POLLOUT | libc::POLLHUP, None),
            Role::Seeking(_) | Role::Connecting(..) => (0, connecting),
            Role::Listening(listener) => {
                let arrivals = self.listeners[listener].requests.iter().map(|r| r.arrives);
                let here = arrivals.clone().any(|at| at <= now);
                (if here { libc::POLLIN } else { 0 }, self.next(arrivals, now))
            }
            Role::Connected(link, side) => {
                let buffer = self.costs.buffer;
                let found = self.links[link].events(side, buffer, now);
                let [to, from] = [side, 1 - side].map(|flow| &self.links[link].flows[flow]);
                let sent = to.read.iter().map(|(at, _)| *at).chain(to.stopped);
                (found, self.next(sent.chain(from.news()), now))
            }
        }
    }
}

/// Time that so many bytes take.
fn time_of(bytes: u64, rate: u64) -> Duration {
    let time = u128::from(bytes) * 1_000_000_000_000 / u128::from(rate.max(1));
    Duration(u64::try_from(time).unwrap_or(u64::MAX))
}
