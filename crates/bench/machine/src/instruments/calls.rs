//! Observer for a library that only one model has: it passes the rank's calls and messages to journal and
//! account.

use super::journal::{Journal, Sending};
use super::message_trace::{Flight, Part, Waypoint};
use super::timeline::{Flow, Track};
use crate::placement::Placed;
use abi::MessageId;
use des::Time;
use portals::EventKind;
use std::cell::Cell;
use std::rc::Rc;

/// A function of such a library: its number among them, and its name.
pub type Function = (u16, &'static str);

/// Observer of one rank.
pub struct Calls {
    journal: Rc<Journal>,
    core: u32,
    rank: u32,
    /// Function that the program is in, and the time at which it was called.
    call: Cell<Option<(Time, &'static str)>>,
}

impl Calls {
    /// Observer of a rank on a core of the journal's node.
    pub fn new(journal: Rc<Journal>, Placed { core, rank }: Placed) -> Calls {
        Calls { journal, core, rank, call: Cell::default() }
    }

    /// The program calls a function.
    pub fn enters(&self, at: Time, (number, name): Function) {
        self.journal.watch(|watch| watch.begin(at, Track::Rank(self.rank), name, None));
        self.journal.account(self.core, |clerk| clerk.enters(at, number, name, false));
        self.call.set(Some((at, name)));
    }
    /// It returns.
    pub fn returns(&self, at: Time) {
        self.journal.watch(|watch| watch.end(at, Track::Rank(self.rank)));
        self.journal.account(self.core, |clerk| clerk.returns(at));
        self.call.set(None);
    }

    /// Begins a message of so many bytes for rank `to`; its way began with the call.
    pub fn sends(&self, at: Time, id: MessageId, to: u32, bytes: u64) {
        let (called, function) = self.call.get().unwrap_or((at, ""));
        let chain = self.journal.account(self.core, |clerk| clerk.begins(at, id));
        let (rank, chain) = (self.rank, chain.unwrap_or_default());
        let by = Waypoint::PUT_ENTERED;
        self.journal.begin(id, Sending { rank, called, function, put: at, by, chain });
        self.journal.with(id, |flight| (flight.to, flight.bytes) = (Some(to), bytes));
        self.journal.account(self.core, |clerk| clerk.begun(Some(to), bytes));
        self.step(at, "posts", id, Flow::Step);
    }
    /// The message is with the network interface, as far as the processor knows.
    pub fn handed_over(&self, at: Time, id: MessageId) {
        self.journal.mark(at, id, Waypoint::COMMAND_WRITTEN);
    }
    /// The library has waited until now for its own network interface.
    pub fn awaited_interface(&self, at: Time) {
        self.journal.account(self.core, |clerk| clerk.takes(at, EventKind::SendEnd, None, None));
    }
    /// A part of the machine has worked for the call until now.
    pub fn works(&self, at: Time, part: Part) {
        self.journal.account(self.core, |clerk| clerk.works(at, part));
    }
    /// The process takes a message that it could see since `posted`. The message's way ends with the call, or
    /// here outside of a call.
    pub fn takes(&self, at: Time, id: MessageId, posted: Waypoint) {
        let function = self.call.get();
        self.journal.with(id, |flight: &mut Flight| {
            let since = flight.at(posted);
            flight.received_in = function.map_or("", |(_, name)| name);
            // Whoever has waited for it since before has looked all the time.
            let late = function.filter(|(entered, _)| since.is_some_and(|since| since < *entered));
            if let Some((entered, _)) = late {
                flight.mark(entered, Waypoint::PROCESS_LOOKED);
            }
            if let Some(since) = since {
                flight.mark(since, Waypoint::EVENT_POSTED);
            }
            flight.mark(at, Waypoint::EVENT_RETURNED);
        });
        self.journal.takes(self.core, at, id, EventKind::PutEnd);
        self.step(at, "takes", id, Flow::Last);
    }
    /// Ends the way of a message that was taken, with the call in which it was.
    pub fn ends(&self, at: Time, id: MessageId) {
        self.journal.mark(at, id, Waypoint::CALL_RETURNED);
        self.journal.end(id);
    }

    fn step(&self, at: Time, name: &str, id: MessageId, flow: Flow) {
        self.journal.watch(|watch| watch.point(at, Track::Rank(self.rank), name, id, flow));
    }
}
