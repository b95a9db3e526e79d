//! What libraries and programs tell of themselves becomes marks of messages, for journal and judge.

use crate::console;
use crate::instruments::journal::Journal;
use crate::instruments::journey::Waypoint;
use crate::instruments::timeline::Track;
use crate::judge::Bailiff;
use abi::mpi::Function;
use abi::MessageId;
use des::Time;
use portals::EventKind;
use std::cell::Cell;
use std::rc::Rc;

/// The observers of a node's ranks, one a core, and the node's judge.
pub(super) struct Observers {
    pub cores: Vec<Observer>,
    pub judge: Option<Rc<Bailiff>>,
}

impl portals::Observer for Observers {
    fn mark(&self, core: usize, at: Time, id: MessageId, mark: portals::Mark) {
        self.cores[core].mark(at, id, mark);
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

/// Turns what the libraries tell of one rank into marks of the journey.
pub(super) struct Observer {
    core: u32,
    rank: u32,
    journal: Rc<Journal>,
    /// When the program's current call reached the MPI library, if that call is one that sends or receives
    /// a message of its own; a message of a collective starts when the library sends it.
    call_entered: Cell<Option<Time>>,
    /// The message whose event the MPI library took last, within the current call.
    returned: Cell<Option<MessageId>>,
    /// When the interrupt was raised that led to what is drained next, and when its handler began.
    interrupt: Cell<(Time, Time)>,
}

impl Observer {
    pub fn new(core: u32, rank: u32, journal: Rc<Journal>) -> Observer {
        Observer {
            core,
            rank,
            journal,
            call_entered: Cell::default(),
            returned: Cell::default(),
            interrupt: Cell::default(),
        }
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

impl rank::Observer for Observer {
    fn call_entered(&self, at: Time, function: Function) {
        Calls(self).call_entered(at, function);
        self.call_entered.set(is_point_to_point(function).then_some(at));
        self.returned.set(None);
    }
    fn call_returned(&self, at: Time, function: Function) {
        Calls(self).call_returned(at, function);
        if let Some(message) = self.returned.take() {
            self.journal.mark(at, message, Waypoint::CallReturned, None);
        }
    }
    fn portals_entered(&self, at: Time, function: abi::portals::Function) {
        self.begins(at, function.name());
        // The message's way begins with PtlPut itself.
        self.call_entered.set(None);
        self.returned.set(None);
    }
    fn portals_returned(&self, at: Time, _function: abi::portals::Function) {
        self.ends(at);
    }
    fn computes_for_long(&self, time: std::time::Duration) {
        let rank = self.rank;
        let seconds = time.as_secs();
        console::say(&format!("rank {rank} has computed for {seconds} s without an MPI call"));
    }
}

/// Tells whoever watches of a rank's calls, and nothing else.
pub(super) struct Calls<'a>(pub &'a Observer);

impl rank::Observer for Calls<'_> {
    fn call_entered(&self, at: Time, function: Function) {
        self.0.begins(at, function.name());
    }
    fn call_returned(&self, at: Time, _function: Function) {
        self.0.ends(at);
    }
}

impl Observer {
    fn begins(&self, at: Time, function: &str) {
        self.journal.watch(|watch| watch.begin(at, Track::Rank(self.rank), function, None));
    }
    fn ends(&self, at: Time) {
        self.journal.watch(|watch| watch.end(at, Track::Rank(self.rank)));
    }
    fn mark(&self, at: Time, id: MessageId, mark: portals::Mark) {
        let journal = &self.journal;
        journal.watch(|watch| watch.passes(at, (self.core, self.rank), id, mark));
        let pass = |at, waypoint| journal.mark(at, id, waypoint, None);
        match mark {
            portals::Mark::CallEntered => {
                pass(self.call_entered.get().unwrap_or(at), Waypoint::CallEntered);
                pass(at, Waypoint::PutEntered);
            }
            portals::Mark::KernelEntered => pass(at, Waypoint::KernelEntered),
            portals::Mark::CommandWritten => {
                pass(at, Waypoint::CommandWritten);
                let arrives = journal.last_write_arrives.get();
                if arrives >= at {
                    pass(arrives, Waypoint::CommandArrived);
                }
            }
            portals::Mark::InterruptRaised => self.interrupt.set((at, at)),
            portals::Mark::HandlerEntered => self.interrupt.set((self.interrupt.get().0, at)),
            portals::Mark::HeaderDrained => {
                let (raised, entered) = self.interrupt.get();
                if let Some(written) = journal.written_for(raised) {
                    pass(written, Waypoint::InterruptWritten);
                }
                pass(raised, Waypoint::InterruptArrived);
                pass(entered, Waypoint::HandlerEntered);
                pass(at, Waypoint::EventDrained);
            }
            portals::Mark::ReceiveWritten => {
                pass(at, Waypoint::ReceiveWritten);
                pass(journal.last_write_arrives.get(), Waypoint::ReceiveArrived);
            }
            portals::Mark::ReceivedDrained => {
                let (raised, entered) = self.interrupt.get();
                if let Some(written) = journal.written_for(raised) {
                    pass(written, Waypoint::CompletionWritten);
                }
                pass(raised, Waypoint::CompletionArrived);
                pass(entered, Waypoint::CompletionEntered);
                pass(at, Waypoint::CompletionDrained);
            }
            portals::Mark::EventPosted(EventKind::PutEnd | EventKind::ReplyEnd) => {
                pass(at, Waypoint::EventPosted);
            }
            portals::Mark::EventReturned(EventKind::PutEnd | EventKind::ReplyEnd) => {
                pass(at, Waypoint::EventReturned);
                if self.call_entered.get().is_some() {
                    self.returned.set(Some(id));
                } else {
                    pass(at, Waypoint::CallReturned);
                }
            }
            _ => {}
        }
    }
}
