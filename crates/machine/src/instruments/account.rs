//! The program's account: where the time of each rank went, call by call. Of a call's time, that on the way
//! of its own messages is told by who was at work; that before the other side had called is waiting for it.
//!
//! ```text
//!  call entered ── waiting for the other side ──┬── library, kernel, NIC, network ── returned
//!                                               └ the last call that the return depends on was entered
//! ```
//! A *chain* leads from what a rank has just done back to the call in which that began, on this rank or on
//! another: with each message that a rank has waited for, the sender's chain becomes its own. So the parts of
//! a call add up to its time.

mod length;
mod meetings;
mod searches;
mod told;

pub use meetings::{CameLast, Collective};
pub(crate) use meetings::{Meeting, Meetings};
pub use told::{Call, Rank, Sent, WaitsFor};

use super::journey::{Flight, Part};
use super::tables::{CallRow, Rows, Tables};
use abi::MessageId;
use des::Time;
use length::Length;
use portals::EventKind;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::sync::Arc;

/// Where the time within calls goes, but for waiting.
const PARTS: usize = Part::ALL.len();

/// From a call to an instant of what it has led to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Chain {
    /// The rank whose call it is, and when that was entered.
    rank: u32,
    origin: Time,
    /// Until when it goes.
    until: Time,
    /// What the time went into since then, in picoseconds; adds up to that from `origin` to `until`.
    spent: [u64; PARTS],
    /// Of that, waiting for a rank that was in its call and had not sent yet.
    waited: u64,
    /// For whom that rank had waited last, and how long, if it had.
    blame: Option<(u32, u64)>,
}

impl Chain {
    fn of(rank: u32, entered: Time, blame: Option<(u32, u64)>) -> Chain {
        Chain { rank, origin: entered, until: entered, blame, ..Chain::default() }
    }

    /// Goes on until `at` with the work of `part`.
    fn spend(&mut self, at: Time, part: Part) {
        if at > self.until {
            self.spent[part as usize] += at.since(self.until).0;
            self.until = at;
        }
    }

    /// The chain that leads through a message, as far as it lies behind `entered`, when rank `own` came.
    fn through(flight: &Flight, (own, entered): (u32, Time)) -> Chain {
        let sender = flight.chain;
        let mut chain = match () {
            _ if sender.origin >= entered => sender,
            // It was sent before: all that was left was its way.
            _ if sender.until <= entered => Chain::of(own, entered, None),
            // Its sender was in its call before, and did something else first.
            _ => Chain {
                origin: entered,
                until: sender.until,
                waited: sender.until.since(entered).0,
                rank: sender.rank,
                spent: [0; PARTS],
                blame: sender.blame,
            },
        };
        flight.parts(|part, until| chain.spend(until, part));
        chain
    }
}

/// Ranks that are told of those for which a call waited.
const WAITS_MAX: usize = 3;

/// Requests that were answered and whose end the process has not been told: the oldest are forgotten.
const ANSWERED_MAX: usize = 1024;

/// Keeps the account of a rank.
#[derive(Debug, Default)]
pub struct Clerk {
    rank: u32,
    launch: Time,
    /// When the last call returned.
    left: Time,
    computes: u64,
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
    /// Its place among the calls.
    place: usize,
    entered: Time,
    collective: bool,
    /// The last that it waited for was that somebody receives.
    sends: bool,
    /// The message that it hands to the kernel.
    sending: Option<MessageId>,
    /// Messages that began in it, and their payload.
    messages: u64,
    bytes: u64,
    /// The collective operation that it is.
    meeting: Option<Meeting>,
}

/// Requests that were answered here, as they were then.
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
    pub fn enters(&mut self, at: Time, (number, name): (u16, &'static str), collective: bool) {
        // A program that has left a function of its own for good does not return from the call around it.
        self.returns(at);
        self.computes += at.max(self.left).since(self.left).0;
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

    /// It returns.
    pub fn returns(&mut self, at: Time) {
        let Some(open) = self.open.take() else { return };
        self.chain.spend(at, Part::Library);
        let Chain { origin, rank, waited, spent, blame, .. } = self.chain;
        let (_, call, waits) = &mut self.calls[open.place];
        let waiting = origin.since(open.entered).0 + waited;
        call.times += 1;
        call.total_ps += at.since(open.entered).0;
        for (part, ps) in Part::ALL.into_iter().zip(spent) {
            *match part {
                Part::Library => &mut call.library_ps,
                Part::Kernel => &mut call.kernel_ps,
                Part::Nic => &mut call.nic_ps,
                Part::Network => &mut call.network_ps,
            } += ps;
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
            let [library, kernel, nic, network] = spent;
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

    /// A collective operation begins on this communicator, as all of its members do alike. The first within a
    /// call that is one is the call's own.
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
        self.meetings.comes(meeting, members, (call, self.rank, open.entered));
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
    /// What has begun is for this rank, if that is known.
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
    /// The kernel has passed a message on to the network interface.
    pub fn commanded(&mut self, at: Time, id: MessageId) {
        self.handed_over(at, id, Part::Kernel);
    }
    /// Whoever it was has passed a message on to the network interface.
    pub fn handed_over(&mut self, at: Time, id: MessageId, by: Part) {
        if let Some(open) = self.open.as_mut().filter(|open| open.sending == Some(id)) {
            open.sending = None;
            self.chain.spend(at, by);
        }
    }

    /// The process has an event of a message; `flight` is what is known of that, and `posted` when the event
    /// was there.
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
                self.chain = Chain::through(flight, (self.rank, open.entered));
            }
            // The receiver has fetched what this rank sends.
            (EventKind::GetEnd, Some(flight)) => {
                let chain = Chain::through(flight, (self.rank, open.entered));
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

    /// The library keeps a message for a receive that comes later; gives the number of those.
    pub fn keeps(&mut self, at: Time) -> u32 {
        self.told.unexpected += 1;
        self.kept.change(at, 1)
    }
    /// That has come.
    pub fn claims(&mut self, at: Time) -> u32 {
        self.kept.change(at, -1)
    }
    /// A receive is posted; gives the number of those.
    pub fn posts(&mut self, at: Time) -> u32 {
        self.told.posted += 1;
        self.posted.change(at, 1)
    }
    /// One of them has its message, or is taken back.
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
        rank.computes_ps = self.computes;
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
