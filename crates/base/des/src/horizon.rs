//! Horizons: the time up to which each logical process may advance before anything that others do can reach
//! it.

use crate::set::Set;
use crate::{Duration, Lookahead, Time};

/// Links between processes. Each message takes at least the lookahead.
#[derive(Clone, Debug)]
pub struct Links {
    lookahead: Duration,
    processes: u32,
    /// Processes that take messages from anybody.
    receivers: usize,
    /// True if all send to all.
    all: bool,
    /// Receivers of each process's messages; empty if all send to all.
    to: Rows,
    /// Side of each process, if there are two sides and messages only go from one to the other.
    side: Option<Vec<bool>>,
}

impl Links {
    /// Process `i` of `processes` takes messages from `neighbours(i)` only. The lookahead must not
    /// be zero.
    pub fn new<I: IntoIterator<Item = u32>>(
        lookahead: Duration,
        processes: u32,
        neighbours: impl Fn(u32) -> I,
    ) -> Links {
        assert!(lookahead > Duration::ZERO, "windows need a lookahead");
        let mut to = vec![Vec::new(); processes as usize];
        let mut receivers = 0;
        for process in 0..processes {
            let mut senders = neighbours(process).into_iter().peekable();
            receivers += usize::from(senders.peek().is_some());
            senders.for_each(|sender| to[sender as usize].push(process));
        }
        let (all, side, to) = (false, sides(&to), Rows::new(&to));
        Links { lookahead, processes, receivers, all, to, side }
    }
    /// Everybody sends to everybody, and to itself.
    pub fn between_all(lookahead: Duration, processes: u32) -> Links {
        let links = Links::new(lookahead, processes, |_| None);
        Links { all: true, side: None, ..links }
    }
    pub(crate) fn lookahead(&self) -> Duration {
        self.lookahead
    }
    /// Side of a process, if there are two.
    fn side_of(&self, process: u32) -> bool {
        self.side.as_ref().is_some_and(|side| side[process as usize])
    }
}

/// Divides the processes, which send messages `to` others, into two sides, if no message then stays on its
/// side.
fn sides(to: &[Vec<u32>]) -> Option<Vec<bool>> {
    let mut linked = to.to_vec();
    for (process, receivers) in (0..).zip(to) {
        receivers.iter().for_each(|receiver| linked[*receiver as usize].push(process));
    }
    let mut sides = vec![None; to.len()];
    let mut found = Vec::new();
    for first in 0..to.len() {
        if sides[first].is_none() {
            sides[first] = Some(false);
            found.push(first);
        }
        while let Some(process) = found.pop() {
            let other = sides[process].map(|side: bool| !side);
            for neighbour in linked[process].iter().map(|neighbour| *neighbour as usize) {
                if sides[neighbour].is_none() {
                    sides[neighbour] = other;
                    found.push(neighbour);
                } else if sides[neighbour] != other {
                    return None;
                }
            }
        }
    }
    sides.into_iter().collect()
}

/// Numbers of processes for each process. All rows are as long as the longest, so that their ends need not be
/// looked up: shorter rows are filled with the number behind the last process, which is that of nobody.
#[derive(Clone, Debug)]
struct Rows {
    width: usize,
    numbers: Vec<u32>,
}

impl Rows {
    fn new(rows: &[Vec<u32>]) -> Rows {
        let width = rows.iter().map(Vec::len).max().unwrap_or(0);
        let nobody = std::iter::repeat(rows.len() as u32);
        let padded = |row: &'_ Vec<u32>| row.clone().into_iter().chain(nobody.clone()).take(width);
        Rows { width, numbers: rows.iter().flat_map(padded).collect() }
    }
    fn of(&self, process: u32) -> &[u32] {
        &self.numbers[process as usize * self.width..][..self.width]
    }
}

/// Announcement of a message before it is sent, because its process will pass on something that is on its
/// way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Announced {
    /// Process that will receive it.
    pub target: u32,
    /// Earliest time of its arrival.
    pub at: Time,
    /// True if it is meant for the target, which may send something because of it after its reaction time
    /// ([`crate::Lookahead::reaction_time`]). If not, every message that the target sends because of it is
    /// announced, too.
    pub ends: bool,
}

/// State of a process that others compute horizons from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) process: u32,
    /// [`crate::LogicalProcess::next_event`].
    pub(crate) next: Time,
    pub(crate) lookahead: Lookahead,
}

/// Times at which a process may affect others, and others it.
#[derive(Clone, Copy)]
struct Contact {
    /// Earliest time at which it may send anything, by itself or because of others' messages.
    sends: Time,
    /// Earliest time at which a message of others can reach it.
    takes: Time,
    /// Earliest arrival of an announced message.
    meets: Time,
}

/// Hops over which horizons are looked for. Whoever is further away from all that may send is kept back to
/// what can reach it over so many: the work of a window does not grow with the diameter of the network.
const REACH: usize = 8;

/// The horizon of each process: it does everything before it, and takes nothing in before it.
///
/// Only those that have changed, may send, or are reached cost anything in a window; a horizon is computed
/// when it is asked for.
pub(crate) struct Horizons<'a> {
    links: &'a Links,
    /// State of each process, as it was published last.
    next: Vec<Time>,
    lookahead: Vec<Lookahead>,
    /// Processes that have an event, and those that may send something by themselves.
    moving: Set,
    sending: Set,
    /// Times of each process. The last entry is that of nobody, who never sends and is never reached.
    contacts: Vec<Contact>,
    /// Processes whose times are not those that follow from their state alone.
    touched: Vec<u32>,
    /// Processes that may send and have not updated their neighbours yet, in no order.
    waiting: Vec<u32>,
    window: Window,
}

/// Bounds of all processes' horizons.
#[derive(Clone, Copy)]
enum Window {
    /// They have the same horizon.
    Together(Time),
    Apart {
        /// Before it nobody is reached whose time is not known.
        beyond: Time,
        /// Horizon of a process that nothing can reach.
        least: Time,
        /// No horizon is later.
        end: Time,
        /// Side that advances, if there are two.
        goes: Option<bool>,
    },
}

impl<'a> Horizons<'a> {
    pub(crate) fn new(links: &'a Links) -> Horizons<'a> {
        let processes = links.processes as usize;
        let nobody = Contact { sends: Time::NEVER, takes: Time::ZERO, meets: Time::ZERO };
        let mut contacts =
            vec![Contact { takes: Time::NEVER, meets: Time::NEVER, ..nobody }; processes];
        contacts.push(nobody);
        Horizons {
            links,
            next: vec![Time::NEVER; processes],
            lookahead: vec![Lookahead::NEVER; processes],
            moving: Set::new(processes),
            sending: Set::new(processes),
            contacts,
            touched: Vec::new(),
            waiting: Vec::new(),
            window: Window::Together(Time::ZERO),
        }
    }
    /// Takes note of a process's state.
    pub(crate) fn learn(&mut self, &Change { process, next, lookahead }: &Change) {
        let index = process as usize;
        let sends = lookahead.earliest_output;
        let is = |time: Time| time < Time::NEVER;
        if is(next) != is(self.next[index]) {
            self.moving.set(index, is(next));
        }
        if is(sends) != is(self.lookahead[index].earliest_output) {
            self.sending.set(index, is(sends));
        }
        (self.next[index], self.lookahead[index]) = (next, lookahead);
        self.contacts[index].sends = sends;
    }
    /// Time of the next event of all.
    pub(crate) fn next(&self) -> Time {
        self.moving.iter().fold(Time::NEVER, |next, process| next.min(self.next[process]))
    }
    /// Of `count` processes from `first` on, those that have an event.
    pub(crate) fn moving(&self, first: u32, count: usize) -> impl Iterator<Item = u32> + '_ {
        let within = self.moving.iter_from(first as usize).map(|process| process as u32);
        within.take_while(move |process| ((process - first) as usize) < count)
    }
    /// Horizon of a process; zero if it has to wait for the other side.
    pub(crate) fn of(&self, process: u32) -> Time {
        match self.window {
            Window::Together(horizon) => horizon,
            Window::Apart { goes: Some(goes), .. } if self.links.side_of(process) != goes => {
                Time::ZERO
            }
            Window::Apart { beyond, least, end, .. } => {
                let Contact { sends, takes, meets } = self.contacts[process as usize];
                // What comes back from the nearest neighbour, should there be none.
                let own = sends + self.links.lookahead + self.links.lookahead;
                let horizon = own.min(takes).min(meets).min(beyond);
                let horizon = if horizon == Time::NEVER { least } else { horizon };
                horizon.min(end)
            }
        }
    }
    /// Earliest time at which anybody may send anything. `announced` as for [`Horizons::apart`].
    pub(crate) fn earliest_output(&self, announced: &[(u32, Announced)]) -> Time {
        let own = self.sending.iter().map(|process| self.lookahead[process].earliest_output);
        own.chain(announced.iter().map(|(_, told)| self.sent(told))).fold(Time::NEVER, Time::min)
    }
    /// Earliest time at which an announced message is sent.
    fn sent(&self, told: &Announced) -> Time {
        Time(told.at.0.saturating_sub(self.links.lookahead.0))
    }
    /// Sets the same horizon for all processes.
    pub(crate) fn together(&mut self, horizon: Time) {
        self.window = Window::Together(horizon);
    }
    /// Sets the horizon of each process by its distance from those that may send, by itself or because of
    /// the announced messages `announced`, given with their processes. No horizon is beyond `end`, and all
    /// are at least `least`.
    ///
    /// If there are two sides, only the side of the first process advances: the other one, whose messages
    /// from this side are then known, will advance twice as far in one window.
    pub(crate) fn apart(&mut self, announced: &[(u32, Announced)], least: Time, end: Time) {
        for process in self.touched.drain(..) {
            let sends = self.lookahead[process as usize].earliest_output;
            let contact = &mut self.contacts[process as usize];
            *contact = Contact { sends, takes: Time::NEVER, meets: Time::NEVER };
        }
        self.waiting.clear();
        let mut first = (Time::NEVER, 0);
        for process in self.sending.iter() {
            self.waiting.push(process as u32);
            first = first.min((self.lookahead[process].earliest_output, process));
        }
        for &(source, told) in announced {
            // Of several at once it is the least, as what is announced comes in the order of the workers.
            first = first.min((self.sent(&told), source as usize));
            let Announced { target, at, ends } = told;
            let Lookahead { reaction_time, .. } = self.lookahead[target as usize];
            let contact = &mut self.contacts[target as usize];
            self.touched.push(target);
            contact.meets = contact.meets.min(at);
            if ends || reaction_time == Duration::ZERO {
                if contact.sends == Time::NEVER {
                    self.waiting.push(target);
                }
                contact.sends = contact.sends.min(at + reaction_time);
            }
        }
        let sides = self.links.side.as_deref().filter(|_| first.0 < end);
        let goes = sides.map(|side| side[first.1]);
        let beyond = self.spread(first.0, self.latest(first.0, goes).min(end));
        self.window = Window::Apart { beyond, least, end, goes };
    }
    /// No process that has an event has a later horizon, whatever others do. `first` as of
    /// [`Horizons::spread`]; never if that is not expected to end earlier for it.
    fn latest(&self, first: Time, goes: Option<bool>) -> Time {
        if self.links.all {
            return Time::NEVER;
        }
        let far = first + self.links.lookahead * REACH as u64;
        let mut latest = Time::ZERO;
        for process in self.moving.iter() {
            let Contact { sends, meets, .. } = self.contacts[process];
            let own = (sends + self.links.lookahead + self.links.lookahead).min(meets);
            let waits = goes.is_some_and(|goes| self.links.side_of(process as u32) != goes);
            if waits || self.next[process] >= own {
                continue;
            }
            if own >= far {
                return Time::NEVER;
            }
            latest = latest.max(own);
        }
        latest
    }
    /// Spreads the earliest outputs: a process that sends may make its neighbours send a lookahead later.
    /// `first` is the earliest output of all. Outputs less than a lookahead behind it are final, so their
    /// processes update their neighbours; then come the next ones, until all are updated, or what comes next
    /// is not before `latest`, or [`REACH`] rounds are over. Returns the time before which nobody else is
    /// reached.
    fn spread(&mut self, mut first: Time, latest: Time) -> Time {
        let Horizons { links, contacts, touched, waiting, .. } = self;
        if links.all {
            return first + links.lookahead;
        }
        let mut untold = links.receivers;
        for _ in 0..REACH {
            if untold == 0 || first == Time::NEVER {
                return Time::NEVER;
            }
            let limit = first + links.lookahead;
            if limit >= latest {
                return limit;
            }
            let (mut next, mut kept, count) = (Time::NEVER, 0, waiting.len());
            for index in 0..count {
                let process = waiting[index];
                let sends = contacts[process as usize].sends;
                if sends >= limit {
                    next = next.min(sends);
                    waiting[kept] = process;
                    kept += 1;
                    continue;
                }
                let arrival = sends + links.lookahead;
                for neighbour in links.to.of(process) {
                    let told = &mut contacts[*neighbour as usize];
                    if arrival < told.takes {
                        if told.takes == Time::NEVER {
                            untold -= 1;
                            touched.push(*neighbour);
                        }
                        told.takes = arrival;
                        if told.sends == Time::NEVER {
                            waiting.push(*neighbour);
                        }
                        told.sends = told.sends.min(arrival);
                        next = next.min(arrival);
                    }
                }
            }
            waiting.copy_within(count.., kept);
            waiting.truncate(kept + waiting.len() - count);
            first = next;
        }
        first + links.lookahead
    }
}

#[cfg(test)]
mod tests;
