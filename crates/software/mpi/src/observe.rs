//! Observer of messages within the library. Observation takes no simulated time.

pub use crate::datatype::items::Kinds;
use crate::request::{RequestId, Status};
use crate::transport::message::{Address, Bytes, Ending, Found, Mode, Taken, Wanted};
use abi::MessageId;
use des::{Duration, Time};

/// Observer of messages that have arrived.
pub trait Observer {
    /// A message has come that no receive was posted for: the library keeps it.
    fn kept(&self, message: MessageId, at: Time);
    /// The call under way receives a message that was kept.
    fn claimed(&self, message: MessageId, at: Time);
    /// The list of kept messages was searched: so many were looked at, in this time.
    fn searched(&self, entries: u64, time: Duration);
    /// A receive is in the list of posted ones from now on.
    fn posted(&self, at: Time);
    /// One of them has left the list: the library has got the event of its message, or takes it back.
    fn unposted(&self, at: Time);
    /// A message begins that the network interface carries without a kernel.
    fn begins(&self, message: MessageId, at: Time, sent: &Sent);
    /// The library learns that the bytes of such a message may be used again.
    fn sent(&self, message: MessageId, at: Time);
    /// The library has such a message.
    fn received(&self, message: MessageId, at: Time);
    /// A collective operation begins on a communicator, which all its members call alike.
    fn joins(&self, communicator: u64, members: u32);
    /// The library gives such an operation to the network interface.
    fn collects(&self, at: Time);
    /// The library learns that the network interface has performed one.
    fn collected(&self, at: Time);
}

/// Properties of a message known when it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Rank of the receiver in the world.
    pub to: u32,
    /// Its bytes.
    pub bytes: u64,
    /// It is a part of a collective operation.
    pub collective: bool,
    /// Its bytes are fetched by the receiver.
    pub fetched: bool,
}

/// Place of a process in a collective operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seat {
    /// Identity of the communicator, the same on all members.
    pub communicator: u64,
    /// Number of the operation on it, the same on all members.
    pub number: i32,
    /// The process's rank in it.
    pub rank: u32,
    /// Members of it.
    pub members: u32,
}

/// Items that a process gives to the other members in a collective operation, and takes of them.
#[derive(Clone, Debug, Default)]
pub struct Exchange {
    /// Items for them.
    pub gives: Share,
    /// Items of theirs.
    pub takes: Share,
}

/// Items of each member of a communicator.
#[derive(Clone, Debug, Default)]
pub enum Share {
    /// None, or nobody says so.
    #[default]
    Nothing,
    /// The same for all members.
    All(Kinds),
    /// The same for the members with lower ranks.
    Lower(Kinds),
    /// Of this member.
    One(u32, Kinds),
    /// Of each member.
    Each(Vec<Kinds>),
}

/// Observer of everything between requests and transport, whatever carries the messages: each call of
/// a transport before it does it, and its answer before anybody else gets it.
pub trait Witness {
    /// A send begins, of the program's items of these kinds if it is known what they are.
    fn sends(&self, id: RequestId, to: Address, bytes: Bytes, mode: Mode, kinds: Option<Kinds>);
    /// It was over at once.
    fn sent(&self, id: RequestId);
    /// It could not begin.
    fn unsent(&self, id: RequestId);
    /// A receive begins.
    fn receives(&self, id: RequestId, wanted: Wanted, room: Bytes);
    /// A receive begins of a message that was taken.
    fn receives_taken(&self, id: RequestId, message: Taken, room: Bytes);
    /// A receive is cancelled, with success or without.
    fn cancels(&self, id: RequestId, cancelled: bool);
    /// A probe has found this.
    fn probed(&self, wanted: Wanted, found: Option<Found>);
    /// A probe that waits would find something now, or nothing.
    fn promises(&self, wanted: Wanted, something: bool);
    /// A message was taken that a probe had found.
    fn takes(&self, wanted: Wanted, message: Taken, found: Found);
    /// An operation has ended; `kinds` are those of the program's items that the message has filled.
    fn ended(&self, ending: &Ending, kinds: Option<Kinds>);
    /// A collective operation begins on a communicator.
    fn joins(&self, id: RequestId, place: &Seat, exchange: Exchange);
    /// It has ended here.
    fn leaves(&self, id: RequestId);
    /// The program may see the status of a receive; `failed` if it gets an error, too.
    fn completed(&self, id: RequestId, status: &Status, failed: bool);
}
