//! Datatypes of both sides of a message, and of the members in a collective operation: they must match
//! (MPI 5.0 s3.3.1). A mismatch is a fault of the program, and breaks no rule of whatever carries its
//! messages.
//!
//! A message is compared when its receive is settled, a part of a collective operation when that has ended on
//! the process that takes it: then whoever has given it has begun it, however many threads simulate.

use super::verdict::time;
use std::collections::HashMap;

/// Predefined items, as a call has them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kinds {
    /// The call: "MPI_Send".
    pub call: &'static str,
    /// Their number.
    pub items: u64,
    /// A number for their kinds and order.
    pub number: u64,
    /// They match everything.
    pub matches_all: bool,
    /// They in words: "4 MPI_INT".
    pub text: String,
}

impl Kinds {
    /// True if these are the same items as those.
    pub fn matches(&self, other: &Kinds) -> bool {
        let same = (self.items, self.number) == (other.items, other.number);
        self.matches_all || other.matches_all || same
    }
}

/// Items of each member.
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

impl Share {
    /// The part of a member, for the one of rank `own`.
    fn of(&self, member: u32, own: u32) -> Option<&Kinds> {
        match self {
            Share::Nothing => None,
            Share::All(kinds) => Some(kinds),
            Share::Lower(kinds) => (member < own).then_some(kinds),
            Share::One(only, kinds) => (*only == member).then_some(kinds),
            Share::Each(all) => all.get(member as usize),
        }
    }
}

/// Place of a process in a collective operation: communicator, number of the operation, rank, members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seat {
    /// Identity of the communicator.
    pub communicator: u64,
    /// Number of the operation on it.
    pub number: i32,
    /// Rank of the process in it.
    pub rank: u32,
    /// Members of it.
    pub members: u32,
}

/// A collective operation: what each member gives.
#[derive(Debug)]
struct Assembly {
    /// By rank: rank in the world, and items.
    gives: Vec<Option<(u32, Share)>>,
    /// Members that have not ended it.
    left: u32,
}

/// Collective operations under way.
#[derive(Debug, Default)]
pub(super) struct Assemblies {
    under_way: HashMap<(u64, i32), Assembly>,
}

impl Assemblies {
    /// A process of this rank in the world begins one.
    pub fn join(&mut self, world: u32, seat: &Seat, gives: Share) {
        let key = (seat.communicator, seat.number);
        let members = seat.members;
        let assembly = self.under_way.entry(key).or_insert_with(|| Assembly {
            gives: (0..members).map(|_| None).collect(),
            left: members,
        });
        if let Some(place) = assembly.gives.get_mut(seat.rank as usize) {
            *place = Some((world, gives));
        }
    }

    /// It has ended there, where the process takes these: the first member that gives it other items, and
    /// both.
    pub fn leave(&mut self, seat: &Seat, takes: &Share) -> Option<(u32, Kinds, Kinds)> {
        let key = (seat.communicator, seat.number);
        let assembly = self.under_way.get_mut(&key)?;
        let differs = |(member, given): (usize, &Option<(u32, Share)>)| {
            let (world, gives) = given.as_ref()?;
            let taken = takes.of(member as u32, seat.rank)?;
            let given = match gives {
                // Of what goes to the members, this is for the one that takes.
                Share::Each(all) => all.get(seat.rank as usize)?,
                Share::All(kinds) => kinds,
                _ => return None,
            };
            (!taken.matches(given)).then(|| (*world, given.clone(), taken.clone()))
        };
        let first = assembly.gives.iter().enumerate().find_map(differs);
        assembly.left -= 1;
        if assembly.left == 0 {
            self.under_way.remove(&key);
        }
        first
    }
}

/// A side of a transfer: who gives or takes there, and the items.
#[derive(Clone, Copy)]
pub(super) struct Side<'a> {
    /// Rank in the world.
    pub rank: u32,
    pub kinds: &'a Kinds,
}

/// A mismatch, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// Time at which it showed, in picoseconds.
    pub at: u64,
    /// Rank in the world to which it showed: who receives.
    pub rank: u32,
    /// Both sides: rank, call, items.
    pub what: String,
}

impl Mismatch {
    /// Of a message with this tag, or of a collective operation.
    pub(super) fn new(at: u64, taker: Side<'_>, giver: Side<'_>, tag: Option<i32>) -> Mismatch {
        let Side { rank, kinds: takes } = taker;
        let Side { rank: from, kinds: gives } = giver;
        let tag = tag.map(|tag| format!(" (tag {tag})")).unwrap_or_default();
        let what = format!(
            "rank {rank}: {}: {} where rank {from} has {} in {}{tag}: the datatypes of both sides \
             must match",
            takes.call, takes.text, gives.text, gives.call
        );
        Mismatch { at, rank, what }
    }
}

impl std::fmt::Display for Mismatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, at {}", self.what, time(self.at))
    }
}
