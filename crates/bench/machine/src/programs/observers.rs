//! Observers of libraries and programs: they turn reports into timestamps of messages, for journal and judge.

use crate::console;
use crate::instruments::account::Clerk;
use crate::instruments::journal::{Begins, Journal, Sending};
use crate::instruments::message_trace::{MessageKind, Part, Protocol, Waypoint};
use crate::instruments::timeline::{Flow, Gauge, Track};
use crate::judge::Adapter;
use crate::placement::{Placed, Placement};
use abi::mpi::Function;
use abi::MessageId;
use des::Time;
use portals::EventKind;
use rank::{FabricCall, FabricNote, Outside};
use std::cell::Cell;
use std::rc::Rc;

/// The observers of a node's ranks, one for each core, and the node's judge.
pub(super) struct Observers {
    pub cores: Vec<Rc<Observer>>,
    pub journal: Rc<Journal>,
    pub placement: Placement,
    pub judge: Option<Rc<Adapter>>,
}

impl portals::Observer for Observers {
    fn mark(&self, core: usize, at: Time, id: MessageId, mark: portals::TracePoint) {
        self.cores[core].mark(at, id, mark);
    }
    fn begun(&self, core: usize, id: MessageId, begun: &portals::Begun) {
        let to = self.placement.rank_of(begun.to);
        let above = self.cores[core].above.get();
        let bytes = self.journal.begun(id, begun, Begins { to, above });
        // The fetch of a message is a part of it.
        if let Some(bytes) = bytes {
            self.journal.account(core as u32, |clerk| clerk.begun(to, bytes));
        }
    }
    fn answers(&self, reply: MessageId, request: MessageId) {
        self.journal.answers(reply, request);
    }
    fn searched(&self, id: MessageId, since: Time, until: Time) {
        self.journal.with(id, |flight| {
            flight.searching = Some(until.since(since));
            flight.mark(since, Waypoint::HEADER_READ);
            flight.mark(until, Waypoint::SEARCHED);
        });
    }
    fn stored(&self, id: MessageId, at: Time) {
        self.journal.announces(at, id);
    }
    fn listens(&self) -> bool {
        self.judge.is_some()
    }
    fn told(&self, at: Time, told: &portals::Told) {
        if let Some(judge) = &self.judge {
            judge.told(at, told);
        }
    }
}

/// Observer that turns reports of one rank's libraries into timestamps of messages.
pub(super) struct Observer {
    core: u32,
    rank: u32,
    journal: Rc<Journal>,
    /// Time that the kernel takes for an entry of the match list.
    list_entry: des::Duration,
    /// The program's call of MPI, libfabric or Portals, while it is in one.
    call: Cell<Option<Call>>,
    /// The same, of libfabric alone: Portals calls in it are its own.
    above: Cell<Option<FabricCall>>,
    /// The message that the process took last, within this call.
    taken: Cell<Option<MessageId>>,
    /// Times at which the interrupt that leads to the next drained event was raised, and at which its handler
    /// began.
    interrupt: Cell<(Time, Time)>,
    /// True if the program makes no more calls.
    endless: Cell<bool>,
}

/// A call of the program.
#[derive(Clone, Copy)]
struct Call {
    entered: Time,
    /// True if it sends or receives a message of its own. A message of a collective starts when the library
    /// sends it.
    own: bool,
}

impl Observer {
    pub fn new(
        Placed { core, rank }: Placed,
        journal: Rc<Journal>,
        list_entry: des::Duration,
    ) -> Observer {
        Observer {
            core,
            rank,
            journal,
            list_entry,
            call: Cell::default(),
            above: Cell::default(),
            taken: Cell::default(),
            interrupt: Cell::default(),
            endless: Cell::default(),
        }
    }

    /// True if the program is in a loop that nothing ends.
    pub fn is_endless(&self) -> bool {
        self.endless.get()
    }
}

/// True for calls that send one message, or whose return means that one has come.
fn is_point_to_point(function: Function) -> bool {
    matches!(
        function,
        Function::Send
            | Function::Ssend
            | Function::Rsend
            | Function::Bsend
            | Function::Isend
            | Function::Issend
            | Function::Irsend
            | Function::Recv
            | Function::Wait
    )
}

/// Bits that distinguish numbers of functions of Portals and libfabric from those of MPI's.
const PORTALS: u16 = 1 << 15;
const FABRIC: u16 = 1 << 14;

/// True for calls that depend on all processes of a communicator.
fn is_collective(function: Function) -> bool {
    matches!(
        function,
        Function::Allgather
            | Function::Allgatherv
            | Function::Allreduce
            | Function::Alltoall
            | Function::Alltoallv
            | Function::Alltoallw
            | Function::Barrier
            | Function::Bcast
            | Function::Exscan
            | Function::Finalize
            | Function::Gather
            | Function::Gatherv
            | Function::Reduce
            | Function::ReduceScatter
            | Function::ReduceScatterBlock
            | Function::Scan
            | Function::Scatter
            | Function::Scatterv
    )
}

impl rank::Observer for Observer {
    fn call_entered(&self, at: Time, function: Function) {
        self.begins(at, function.name());
        let (number, name) = (function.id(), function.name());
        let collective = is_collective(function);
        self.journal.account(self.core, |clerk| clerk.enters(at, number, name, collective));
        self.call.set(Some(Call { entered: at, own: is_point_to_point(function) }));
    }
    fn call_returned(&self, at: Time, _function: Function) {
        self.ends(at);
        self.journal.account(self.core, |clerk| clerk.returns(at));
        self.settle(self.call.take().filter(|call| call.own).map(|_| at));
    }
    fn outside(&self, what: Outside, time: des::Duration) {
        self.journal.account(self.core, |clerk| clerk.passes(what, time));
    }
    fn fabric_entered(&self, at: Time, call: FabricCall) {
        self.begins(at, call.name());
        let number = FABRIC | call.number() as u16;
        self.journal.account(self.core, |clerk| clerk.enters(at, number, call.name(), false));
        self.call.set(Some(Call { entered: at, own: call.sends() }));
        self.above.set(Some(call));
    }
    fn fabric_returned(&self, at: Time) {
        self.ends(at);
        self.journal.account(self.core, |clerk| clerk.returns(at));
        self.call.set(None);
        self.above.set(None);
        self.settle(None);
    }
    fn fabric_noted(&self, at: Time, note: FabricNote, time: des::Duration) {
        match note {
            FabricNote::Posted => mpi::Observer::posted(self, at),
            FabricNote::Unposted => mpi::Observer::unposted(self, at),
            FabricNote::Kept => {
                self.length(at, Gauge::Unexpected(self.rank), |clerk| clerk.keeps(at));
            }
            FabricNote::Claimed => {
                self.length(at, Gauge::Unexpected(self.rank), |clerk| clerk.claims(at));
            }
            FabricNote::Searched(entries) => mpi::Observer::searched(self, entries, time),
            FabricNote::Begins(_) | FabricNote::Ends(_) | FabricNote::Copied(_) => {}
        }
    }
    fn portals_entered(&self, at: Time, function: abi::portals::Function) {
        self.begins(at, function.name());
        if self.above.get().is_some() {
            return;
        }
        let (number, name) = (PORTALS | function.id(), function.name());
        self.journal.account(self.core, |clerk| clerk.enters(at, number, name, false));
        // The message's way begins with PtlPut itself.
        self.call.set(Some(Call { entered: at, own: false }));
    }
    fn portals_returned(&self, at: Time, _function: abi::portals::Function) {
        self.ends(at);
        if self.above.get().is_some() {
            return;
        }
        self.journal.account(self.core, |clerk| clerk.returns(at));
        self.call.set(None);
        self.settle(None);
    }
    fn computes_for_long(&self, time: std::time::Duration) {
        let rank = self.rank;
        let seconds = time.as_secs();
        console::say(&format!("rank {rank} has computed for {seconds} s without an MPI call"));
    }
    fn computes_for_ever(&self) {
        self.endless.set(true);
    }
}

impl mpi::Observer for Observer {
    fn kept(&self, message: MessageId, at: Time) {
        self.length(at, Gauge::Unexpected(self.rank), |clerk| clerk.keeps(at));
        self.journal.with(message, |flight| flight.kept = true);
    }
    fn claimed(&self, message: MessageId, at: Time) {
        self.length(at, Gauge::Unexpected(self.rank), |clerk| clerk.claims(at));
        let call = self.call.get();
        let function = self.journal.account(self.core, |clerk| clerk.call());
        let here = self.journal.with(message, |flight| {
            flight.kept = false;
            flight.received_in = function.unwrap_or_default();
            if let Some(call) = call {
                flight.mark(call.entered, Waypoint::CLAIMED);
            }
            flight.at(Waypoint::EVENT_RETURNED).is_some()
        });
        if here == Some(true) {
            self.takes(message);
        }
    }
    fn searched(&self, entries: u64, time: des::Duration) {
        self.journal.account(self.core, |clerk| clerk.searched(entries, time.0));
    }
    fn posted(&self, at: Time) {
        self.length(at, Gauge::Posted(self.rank), |clerk| clerk.posts(at));
    }
    fn unposted(&self, at: Time) {
        self.length(at, Gauge::Posted(self.rank), |clerk| clerk.unposts(at));
    }
    fn begins(&self, message: MessageId, at: Time, sent: &mpi::Sent) {
        self.starts(at, message);
        self.journal.with(message, |flight| {
            flight.kind = if sent.collective { MessageKind::Collective } else { MessageKind::Send };
            flight.protocol = match sent {
                mpi::Sent { fetched: true, .. } => Protocol::Rendezvous,
                mpi::Sent { bytes: 0, .. } => Protocol::Header,
                _ => Protocol::Eager,
            };
            (flight.to, flight.bytes) = (Some(sent.to), sent.bytes);
        });
        self.journal.account(self.core, |clerk| clerk.begun(Some(sent.to), sent.bytes));
        self.point(at, "sends", message, Flow::Step);
    }
    fn joins(&self, communicator: u64, members: u32) {
        self.journal.account(self.core, |clerk| clerk.joins(communicator, members));
    }
    fn collects(&self, at: Time) {
        self.journal.account(self.core, |clerk| clerk.collects(at));
    }
    fn collected(&self, at: Time) {
        self.journal.account(self.core, |clerk| clerk.collected(at));
    }
    fn sent(&self, message: MessageId, at: Time) {
        // One that was fetched has left behind what is known of its way here.
        let kind = match self.journal.has_answered(message) {
            true => EventKind::GetEnd,
            false => EventKind::SendEnd,
        };
        self.journal.takes(self.core, at, message, kind);
    }
    fn received(&self, message: MessageId, at: Time) {
        self.returns(at, message, EventKind::PutEnd);
        self.point(at, "receives", message, Flow::Last);
    }
}

impl Observer {
    /// Counts a search of a match list; `of`: true if the search was of posted receives, and the receiving
    /// rank, as far as known.
    fn walks(&self, entries: u32, of: Option<(bool, Option<u32>)>) {
        // The first core drains events for all of its node's ranks.
        let core = |rank: u32| (rank + self.core).checked_sub(self.rank);
        match of {
            Some((false, _)) => {}
            Some((true, Some(to))) if core(to).is_some() => {
                let core = core(to).expect("it was looked at");
                self.journal.account(core, |clerk| clerk.walks(entries));
            }
            _ => drop(self.journal.account(self.core, Clerk::walks_untold)),
        }
    }

    /// A message begins.
    fn starts(&self, at: Time, id: MessageId) {
        let own = self.call.get().filter(|call| call.own);
        let begins = |clerk: &mut Clerk| (clerk.call(), clerk.begins(at, id));
        let (function, chain) = self.journal.account(self.core, begins).unwrap_or_default();
        let called = own.map_or(at, |call| call.entered);
        let by = match self.above.get() {
            Some(_) => Waypoint::PROVIDER_CALLED,
            None => Waypoint::PUT_ENTERED,
        };
        self.journal.begin(id, Sending { rank: self.rank, called, function, put: at, by, chain });
    }

    /// The process has a message.
    fn returns(&self, at: Time, id: MessageId, kind: EventKind) {
        let entered = self.call.get().map(|call| call.entered);
        let function = self.journal.account(self.core, |clerk| clerk.call());
        self.journal.with(id, |flight| {
            flight.received_in = function.unwrap_or_default();
            let posted = flight.posted();
            // Whoever has waited for it since before has been at the queue all the time.
            if let Some(entered) = entered.filter(|at| posted.is_some_and(|it| it < *at)) {
                flight.mark(entered, Waypoint::PROCESS_LOOKED);
            }
            flight.mark(at, Waypoint::EVENT_RETURNED);
        });
        self.journal.takes(self.core, at, id, kind);
        self.takes(id);
    }

    fn point(&self, at: Time, name: &str, id: MessageId, flow: Flow) {
        self.journal.watch(|watch| watch.point(at, Track::Rank(self.rank), name, id, flow));
    }

    /// A queue of the rank's library changes.
    fn length(&self, at: Time, gauge: Gauge, change: impl FnOnce(&mut Clerk) -> u32) {
        if let Some(length) = self.journal.account(self.core, change) {
            self.journal.watch(|watch| watch.length(at, gauge, length));
        }
    }
    fn begins(&self, at: Time, function: &str) {
        self.journal.watch(|watch| watch.begin(at, Track::Rank(self.rank), function, None));
    }
    fn ends(&self, at: Time) {
        self.journal.watch(|watch| watch.end(at, Track::Rank(self.rank)));
    }
    /// The process takes a message. The one that it took before in the same call has ended then.
    fn takes(&self, message: MessageId) {
        // A message that was kept may be taken, and claimed in the same call.
        if self.taken.get() != Some(message) {
            self.settle(None);
            self.taken.set(Some(message));
        }
        if self.call.get().is_none() {
            self.settle(None);
        }
    }
    /// Ends the message that was taken last. `returned` is the return time of the call, if the message was
    /// taken for it.
    fn settle(&self, returned: Option<Time>) {
        let Some(message) = self.taken.take() else { return };
        if let Some(at) = returned {
            self.journal.mark(at, message, Waypoint::CALL_RETURNED);
        }
        self.journal.taken(message);
    }
    fn mark(&self, at: Time, id: MessageId, mark: portals::TracePoint) {
        let journal = &self.journal;
        let placed = Placed { core: self.core, rank: self.rank };
        journal.watch(|watch| watch.passes(at, placed, id, mark));
        let pass = |at, waypoint| journal.mark(at, id, waypoint);
        match mark {
            portals::TracePoint::CallEntered => self.starts(at, id),
            portals::TracePoint::Refused => journal.forget(id),
            portals::TracePoint::KernelEntered => pass(at, Waypoint::KERNEL_ENTERED),
            portals::TracePoint::CommandWritten => {
                let past = journal.with(id, |flight| flight.is_called_past_the_kernel());
                let (waypoint, by) = match past {
                    Some(true) => (Waypoint::LIBRARY_COMMANDED, Part::Library),
                    _ => (Waypoint::COMMAND_WRITTEN, Part::Kernel),
                };
                pass(at, waypoint);
                journal.account(self.core, |clerk| clerk.handed_over(at, id, by));
                let arrives = journal.last_write_arrives.get();
                if arrives >= at {
                    pass(arrives, Waypoint::COMMAND_ARRIVED);
                }
            }
            portals::TracePoint::InterruptRaised => self.interrupt.set((at, at)),
            portals::TracePoint::HandlerEntered => self.interrupt.set((self.interrupt.get().0, at)),
            portals::TracePoint::HeaderDrained => {
                let (raised, entered) = self.interrupt.get();
                if let Some(written) = journal.written_for(raised) {
                    pass(written, Waypoint::INTERRUPT_WRITTEN);
                }
                pass(raised, Waypoint::INTERRUPT_ARRIVED);
                pass(entered, Waypoint::HANDLER_ENTERED);
                pass(at, Waypoint::EVENT_DRAINED);
            }
            portals::TracePoint::Matched(entries) => {
                let firmware = journal.with(id, |flight| flight.searching.take()).flatten();
                let ps = match (entries, firmware) {
                    (0, _) => 0,
                    (_, Some(searching)) => searching.0,
                    (_, None) => self.list_entry.0 * u64::from(entries),
                };
                journal.account(self.core, |clerk| clerk.walked(ps));
                let of = journal.with(id, |flight| {
                    flight.entries += entries;
                    if firmware.is_none() {
                        flight.mark(at, Waypoint::MATCHED);
                    }
                    let of_mpi = matches!(flight.kind, MessageKind::Send | MessageKind::Collective);
                    (of_mpi && flight.leg == 0, flight.to)
                });
                // Replies search nothing.
                if entries > 0 {
                    self.walks(entries, of);
                }
            }
            portals::TracePoint::Dropped => journal.dropped(id),
            portals::TracePoint::RingRead => pass(at, Waypoint::RING_READ),
            portals::TracePoint::RingCompleted => pass(at, Waypoint::RING_COMPLETED),
            portals::TracePoint::ReceiveWritten => {
                pass(at, Waypoint::RECEIVE_WRITTEN);
                pass(journal.last_write_arrives.get(), Waypoint::RECEIVE_ARRIVED);
            }
            portals::TracePoint::ReceivedDrained => {
                let (raised, entered) = self.interrupt.get();
                if let Some(written) = journal.written_for(raised) {
                    pass(written, Waypoint::COMPLETION_WRITTEN);
                }
                pass(raised, Waypoint::COMPLETION_ARRIVED);
                pass(entered, Waypoint::COMPLETION_ENTERED);
                pass(at, Waypoint::COMPLETION_DRAINED);
            }
            portals::TracePoint::EventPosted(EventKind::PutEnd | EventKind::ReplyEnd) => {
                journal.with(id, |flight| flight.post(at));
            }
            portals::TracePoint::EventReturned(
                kind @ (EventKind::PutEnd | EventKind::ReplyEnd),
            ) => {
                self.returns(at, id, kind);
            }
            portals::TracePoint::EventReturned(
                kind @ (EventKind::SendEnd | EventKind::GetEnd | EventKind::Ack),
            ) => {
                journal.takes(self.core, at, id, kind);
            }
            portals::TracePoint::EndedSilently => {
                journal.with(id, |flight| flight.post(at));
                journal.end(id);
            }
            _ => {}
        }
    }
}
