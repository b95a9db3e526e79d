//! The program's account: the time of each rank, call by call. The part of a call's time in which its own
//! messages are under way is divided by the part of the machine that works; the part before the other side's
//! call is waiting for that side.
//!
//! ```text
//!  call entered ── waiting for the other side ──┬── library, kernel, NIC, network ── returned
//!                                               └ the last call that the return depends on was entered
//! ```
//! A *chain* leads from a rank's last action back to the call in which that began, on this rank or on
//! another: when a rank has waited for a message, the sender's chain becomes its own. So the parts of a call
//! add up to its time.

mod length;
mod meetings;
mod searches;
mod told;

pub use meetings::{CameLast, Collective};
pub(crate) use meetings::{Meeting, Meetings};
pub use told::{Call, Rank, Sent, WaitsFor};

use super::message_trace::{Flight, Part};
use super::tables::{CallRow, Rows, Tables};
use abi::MessageId;
use des::{Duration, Time};
use length::Length;
use meetings::Arrival;
use portals::EventKind;
use rank::Outside;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::sync::Arc;

/// Number of parts into which the time of calls is divided, waiting apart.
const PARTS: usize = Part::ALL.len();

/// Chain of causes, from a call to an instant that it has led to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Chain {
    /// Rank of the call, and the time at which the call was entered.
    rank: u32,
    origin: Time,
    /// Time up to which it goes.
    until: Time,
    /// Time of each part since then, in picoseconds; the sum is the time from `origin` to `until`.
    spent: [u64; PARTS],
    /// Part of that time spent waiting for a rank that was in its call and had not sent yet.
    waited: u64,
    /// Rank for which that rank had waited last, and how long, if it had.
    blame: Option<(u32, u64)>,
}

impl Chain {
    fn of(rank: u32, entered: Time, blame: Option<(u32, u64)>) -> Chain {
        Chain { rank, origin: entered, until: entered, blame, ..Chain::default() }
    }

    /// Extends the chain to `at` with work of `part`.
    fn spend(&mut self, at: Time, part: Part) {
        if at > self.until {
            self.spent[part as usize] += at.since(self.until).0;
            self.until = at;
        }
    }

    /// Chain of rank `own`, which entered its call at `entered`, behind that of another which it waited for.
    fn behind(other: Chain, own: u32, entered: Time) -> Chain {
        match () {
            _ if other.origin >= entered => other,
            // That was over before: all that was left was the way from there.
            _ if other.until <= entered => Chain::of(own, entered, None),
            // The other was in its call before, and did something else first.
            _ => Chain {
                origin: entered,
                until: other.until,
                waited: other.until.since(entered).0,
                rank: other.rank,
                spent: [0; PARTS],
                blame: other.blame,
            },
        }
    }

    /// Chain that leads through a message, from `entered` on, the time at which rank `own` entered its call.
    fn through(flight: &Flight, own: u32, entered: Time) -> Chain {
        let mut chain = Chain::behind(flight.chain, own, entered);
        flight.parts(|part, until| chain.spend(until, part));
        chain
    }
}

/// Number of ranks that are reported of those for which a call waited.
const WAITS_MAX: usize = 3;

/// Number of answered requests whose end the process has not seen yet: older ones are dropped.
const ANSWERED_MAX: usize = 1024;

/// Keeps the account of a rank.
#[derive(Debug, Default)]
pub struct Clerk {
    rank: u32,
    launch: Time,
    /// Return time of the last call.
    left: Time,
    /// Time outside of calls, and what of it is no computation, by [`Outside`]; since the last return it is
    /// not known yet whether another call follows.
    between: u64,
    outside: [u64; 3],
    outside_now: [u64; 3],
    calls: Vec<(u16, Call, FxHashMap<u32, u64>)>,
    open: Option<Open>,
    chain: Chain,
    /// The rank for which this one has waited last, and how long.
    blame: Option<(u32, u64)>,
    sent: FxHashMap<u32, (u64, u64)>,
    kept: Length,
    posted: Length,
    told: Rank,
    tables: Option<Arc<Tables>>,
    rows: Option<Rows>,
    meetings: Arc<Meetings>,
    /// Collective operations that it has begun, by communicator.
    joined: FxHashMap<u64, u64>,
}

/// A call under way.
#[derive(Clone, Copy, Debug)]
struct Open {
    /// Its index among the calls.
    place: usize,
    entered: Time,
    collective: bool,
    /// True if it waited last for a receiver.
    sends: bool,
    /// The message that it hands to the network interface, by a kernel or itself.
    sending: Option<MessageId>,
    /// Messages that began in it, and their payload.
    messages: u64,
    bytes: u64,
    /// Its collective operation, if it is one.
    meeting: Option<Meeting>,
}

/// Copies of the flights of requests that were answered here.
#[derive(Debug, Default)]
pub(crate) struct Answered(VecDeque<(MessageId, Box<Flight>)>);

impl Answered {
    pub fn keep(&mut self, request: MessageId, flight: &Flight) {
        if self.0.len() == ANSWERED_MAX {
            self.0.pop_front();
        }
        self.0.push_back((request, Box::new(flight.clone())));
    }
    pub fn has(&self, request: MessageId) -> bool {
        self.0.iter().any(|(id, _)| *id == request)
    }
    pub fn take(&mut self, request: MessageId) -> Option<Box<Flight>> {
        let place = self.0.iter().position(|(id, _)| *id == request)?;
        self.0.remove(place).map(|(_, flight)| flight)
    }
}

impl Clerk {
    pub(crate) fn new(
        rank: u32,
        launch: Time,
        tables: Option<Arc<Tables>>,
        meetings: Arc<Meetings>,
    ) -> Clerk {
        let rows = tables.as_ref().and_then(|tables| tables.call_rows());
        let queue = Length { since: launch, ..Length::default() };
        Clerk {
            rank,
            launch,
            left: launch,
            kept: queue,
            posted: queue,
            tables,
            rows,
            meetings,
            ..Clerk::default()
        }
    }

    /// The program enters a call: a function by number and name.
    pub fn enters(&mut self, at: Time, number: u16, name: &'static str, collective: bool) {
        // A program that has left a function of its own for good does not return from the call around it.
        self.returns(at);
        self.between += at.max(self.left).since(self.left).0;
        let now = std::mem::take(&mut self.outside_now);
        self.outside.iter_mut().zip(now).for_each(|(sum, ps)| *sum += ps);
        let place = self.calls.iter().position(|(known, ..)| *known == number);
        let place = place.unwrap_or_else(|| {
            let call = Call { call: name, ..Call::default() };
            self.calls.push((number, call, FxHashMap::default()));
            self.calls.len() - 1
        });
        let (sends, sending, messages, bytes) = (false, None, 0, 0);
        let (entered, meeting) = (at, None);
        let open = Open { place, entered, collective, sends, sending, messages, bytes, meeting };
        self.open = Some(open);
        self.chain = Chain::of(self.rank, at, self.blame);
    }

    /// The program has done something that is no call, and no computation, for so long.
    pub fn passes(&mut self, what: Outside, time: Duration) {
        if self.open.is_none() {
            self.outside_now[what as usize] += time.0;
        }
    }

    /// Ends the call.
    pub fn returns(&mut self, at: Time) {
        let Some(open) = self.open.take() else { return };
        self.chain.spend(at, Part::Library);
        let Chain { origin, rank, waited, spent, blame, .. } = self.chain;
        let (_, call, waits) = &mut self.calls[open.place];
        let waiting = origin.since(open.entered).0 + waited;
        call.times += 1;
        call.total_ps += at.since(open.entered).0;
        let [library, kernel, nic, network, refused, disk] = spent;
        // It is the network interface that had no room; and a kernel that waits for its disks.
        let (kernel, nic) = (kernel + disk, nic + refused);
        for (sum, ps) in [
            (&mut call.library_ps, library),
            (&mut call.kernel_ps, kernel),
            (&mut call.nic_ps, nic),
            (&mut call.refused_ps, refused),
            (&mut call.disk_ps, disk),
            (&mut call.network_ps, network),
        ] {
            *sum += ps;
        }
        let mut waited_for = None;
        if waiting > 0 {
            *match open {
                Open { collective: true, .. } => &mut call.imbalance_ps,
                Open { sends: true, .. } => &mut call.late_receiver_ps,
                _ => &mut call.late_sender_ps,
            } += waiting;
            // Whoever was late because he had waited himself, and for about as long, is not the cause.
            let cause = blame.filter(|(cause, ps)| *cause != self.rank && 2 * ps >= waiting);
            let cause = cause.map_or(rank, |(cause, _)| cause);
            *waits.entry(cause).or_default() += waiting;
            self.blame = Some((cause, waiting));
            waited_for = Some(cause);
        }
        self.left = at;
        if let Some(rows) = &mut self.rows {
            let waits = |is: bool| if is { waiting } else { 0 };
            let (imbalance, receiver) = (open.collective, !open.collective && open.sends);
            let numbers = [
                u64::from(self.rank),
                open.entered.since(self.launch).0,
                at.since(open.entered).0,
                library,
                kernel,
                nic,
                network,
                waits(!imbalance && !receiver),
                waits(receiver),
                waits(imbalance),
            ];
            let (head, tail) = (numbers.map(|number| Some(number as i64)), waited_for);
            let counts = [open.messages, open.bytes].map(|number| Some(number as i64));
            let mut all = [None; 15];
            all[..10].copy_from_slice(&head);
            all[10] = tail.map(i64::from);
            all[11..13].copy_from_slice(&counts);
            all[13] = open.meeting.map(|(communicator, _)| communicator as i64);
            all[14] = open.meeting.map(|(_, number)| number as i64);
            rows.call(&CallRow { call: call.call, numbers: all });
        }
    }

    /// Begins a collective operation on this communicator, in which all members begin the same ones. The
    /// first one within a collective call is the call's own.
    pub fn joins(&mut self, communicator: u64, members: u32) {
        // As tables can have it.
        let communicator = communicator >> 1;
        let joined = self.joined.entry(communicator).or_default();
        let meeting = (communicator, *joined);
        *joined += 1;
        let own = |open: &&mut Open| open.collective && open.meeting.is_none();
        let Some(open) = self.open.as_mut().filter(own) else { return };
        open.meeting = Some(meeting);
        let call = self.calls[open.place].1.call;
        let arrival = Arrival { call, rank: self.rank, at: open.entered };
        self.meetings.comes(meeting, members, arrival);
    }

    /// A collective operation goes to the network interface.
    pub fn collects(&mut self, at: Time) {
        let Some(open) = &self.open else { return };
        self.chain.spend(at, Part::Library);
        if let Some(meeting) = open.meeting {
            self.meetings.hands_over(meeting, self.chain);
        }
    }

    /// The network interface has performed one: the rank that handed it over last was waited for, the rest is
    /// the network interfaces'.
    pub fn collected(&mut self, at: Time) {
        let Some(open) = &self.open else { return };
        if let Some(last) = open.meeting.and_then(|meeting| self.meetings.last_hand_over(meeting)) {
            self.chain = Chain::behind(last, self.rank, open.entered);
        }
        self.chain.spend(at, Part::Nic);
    }

    /// The function of the present call; empty if there is none.
    pub fn call(&self) -> &'static str {
        self.open.map_or("", |open| self.calls[open.place].1.call)
    }

    /// A message begins within the present call, if there is one.
    pub(crate) fn begins(&mut self, at: Time, id: MessageId) -> Chain {
        match &mut self.open {
            Some(open) => {
                open.sending = Some(id);
                self.chain.spend(at, Part::Library);
                self.chain
            }
            None => Chain::of(self.rank, at, None),
        }
    }
    /// Counts a message that has begun; `to` is its rank, if known.
    pub fn begun(&mut self, to: Option<u32>, bytes: u64) {
        if let Some(open) = &mut self.open {
            open.messages += 1;
            open.bytes += bytes;
            let (_, call, _) = &mut self.calls[open.place];
            call.messages += 1;
            call.bytes += bytes;
        }
        if let Some(to) = to {
            let sent = self.sent.entry(to).or_default();
            *sent = (sent.0 + 1, sent.1 + bytes);
        }
    }
    /// A message was passed on to the network interface by a part of the machine.
    pub fn handed_over(&mut self, at: Time, id: MessageId, by: Part) {
        if let Some(open) = self.open.as_mut().filter(|open| open.sending == Some(id)) {
            open.sending = None;
            self.chain.spend(at, by);
        }
    }

    /// A part of the machine has worked for the present call until now.
    pub fn works(&mut self, at: Time, part: Part) {
        if self.open.is_some() {
            self.chain.spend(at, part);
        }
    }

    /// The process has an event of a message; `flight` is the message's record, and `posted` the time of the
    /// event.
    pub fn takes(
        &mut self,
        at: Time,
        kind: EventKind,
        flight: Option<&Flight>,
        posted: Option<Time>,
    ) {
        if let Some(flight) = flight.filter(|_| kind == EventKind::PutEnd) {
            self.told.entries += u64::from(flight.entries);
            self.told.entries_most = self.told.entries_most.max(flight.entries);
        }
        let Some(open) = &mut self.open else { return };
        let waited = posted.is_none_or(|posted| posted > self.chain.until);
        match (kind, flight) {
            (EventKind::PutEnd | EventKind::ReplyEnd, Some(flight)) if waited => {
                open.sends = false;
                self.chain = Chain::through(flight, self.rank, open.entered);
            }
            // The receiver has fetched what this rank sends.
            (EventKind::GetEnd, Some(flight)) => {
                let chain = Chain::through(flight, self.rank, open.entered);
                if chain.until > self.chain.until {
                    open.sends = true;
                    self.chain = chain;
                    self.chain.spend(at, Part::Nic);
                }
            }
            (EventKind::SendEnd | EventKind::Ack, _) => self.chain.spend(at, Part::Nic),
            _ => {}
        }
        self.chain.spend(at, Part::Library);
    }

    /// Counts a message that the library keeps for a later receive; returns the number of kept messages.
    pub fn keeps(&mut self, at: Time) -> u32 {
        self.told.unexpected += 1;
        self.kept.change(at, 1)
    }
    /// The receive has come: the number of kept messages.
    pub fn claims(&mut self, at: Time) -> u32 {
        self.kept.change(at, -1)
    }
    /// Counts a posted receive; returns the number of posted receives.
    pub fn posts(&mut self, at: Time) -> u32 {
        self.told.posted += 1;
        self.posted.change(at, 1)
    }
    /// A posted receive has its message, or is cancelled: the number of posted receives.
    pub fn unposts(&mut self, at: Time) -> u32 {
        self.posted.change(at, -1)
    }
    /// The account, at the end of the run; a call that has not returned ends with it.
    pub fn finish(mut self, end: Time) -> Rank {
        if self.open.is_some() {
            self.returns(end.max(self.chain.until));
        }
        if let Some(tables) = &self.tables {
            tables.end_calls(self.rank, self.rows.take());
        }
        for queue in [&mut self.kept, &mut self.posted] {
            queue.change(self.left.max(queue.since), 0);
        }
        let mut rank = std::mem::take(&mut self.told);
        (rank.unexpected_most, rank.unexpected_time) = (self.kept.most, self.kept.sum);
        (rank.posted_most, rank.posted_time) = (self.posted.most, self.posted.sum);
        rank.rank = self.rank;
        let [clocks, sleeps, sockets] = self.outside;
        (rank.clocks_ps, rank.sleeps_ps, rank.sockets_ps) = (clocks, sleeps, sockets);
        rank.computes_ps = self.between.saturating_sub(clocks + sleeps + sockets);
        rank.total_ps = self.left.since(self.launch).0;
        rank.calls = self.calls.drain(..).map(|(_, call, waits)| told(call, waits)).collect();
        rank.calls.sort_by_key(|call| (std::cmp::Reverse(call.total_ps), call.call));
        let sent = self.sent.drain();
        rank.sent = sent.map(|(to, (messages, bytes))| Sent { to, messages, bytes }).collect();
        rank.sent.sort_by_key(|sent| sent.to);
        rank
    }
}

fn told(mut call: Call, waits: FxHashMap<u32, u64>) -> Call {
    call.waits_for = waits.into_iter().map(|(rank, ps)| WaitsFor { rank, ps }).collect();
    call.waits_for.sort_by_key(|waits| (std::cmp::Reverse(waits.ps), waits.rank));
    call.waits_for.truncate(WAITS_MAX);
    call
}
