//! Communicators: who takes part, and which contexts keep their messages apart.

use crate::constant;
use crate::error::{Error, Result};
use crate::local::World;
use crate::request::RequestId;
use crate::slots::{Slots, COMMUNICATORS};
use attributes::Attributes;
use graph::Graph;
use std::collections::VecDeque;
use std::rc::Rc;
use topology::Cartesian;

pub(crate) mod attributes;
pub(crate) mod graph;
pub(crate) mod group;
pub(crate) mod topology;

/// Names a communicator of one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommId(pub(crate) u32);

impl CommId {
    /// MPI_COMM_WORLD.
    pub(crate) const WORLD: CommId = CommId(0);
    /// MPI_COMM_SELF.
    pub(crate) const SELF: CommId = CommId(1);

    /// Its handle.
    pub(crate) fn handle(self) -> u64 {
        match self {
            CommId::WORLD => constant::COMM_WORLD,
            CommId::SELF => constant::COMM_SELF,
            CommId(index) => COMMUNICATORS + u64::from(index),
        }
    }
    /// The communicator with a handle that the library has chosen, whether there is one or not.
    pub(crate) fn made(handle: u64) -> Option<CommId> {
        let index = handle.checked_sub(COMMUNICATORS);
        index.and_then(|index| u32::try_from(index).ok()).map(CommId)
    }
}

/// Effect of a failed operation on a communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnError {
    /// The run ends.
    Fatal,
    /// The same, requested as MPI_ERRORS_ABORT: the whole run is all that can end.
    Abort,
    /// The call returns the error class.
    Return,
    /// The program's error handler with this handle is called; then the call returns the error
    /// class.
    Call(u64),
}

/// Error handler of a program before it sets one (MPI 5.0 s11.5,
/// `mpiexec -initial-errhandler`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InitialErrors {
    /// The run ends: MPI_ERRORS_ARE_FATAL.
    #[default]
    Fatal,
    /// The same: MPI_ERRORS_ABORT.
    Abort,
    /// The call returns the error class: MPI_ERRORS_RETURN.
    Return,
}

impl From<InitialErrors> for OnError {
    fn from(errors: InitialErrors) -> OnError {
        match errors {
            InitialErrors::Fatal => OnError::Fatal,
            InitialErrors::Abort => OnError::Abort,
            InitialErrors::Return => OnError::Return,
        }
    }
}

impl OnError {
    /// True if the run ends.
    pub fn is_fatal(self) -> bool {
        matches!(self, OnError::Fatal | OnError::Abort)
    }
}

/// A communicator.
#[derive(Clone, Debug)]
pub(crate) struct Comm {
    /// Name in messages to the user.
    pub name: Rc<str>,
    /// Number that all members agree on: its messages have contexts `2 * number` (point to point)
    /// and `2 * number + 1` (collectives).
    pub number: u16,
    /// This process's rank in it.
    pub rank: u32,
    /// The number is known: the call that makes it is complete.
    pub is_ready: bool,
    /// Rank in the world of each member.
    pub members: Rc<[u32]>,
    /// Error handling.
    pub on_error: OnError,
    /// The name that the program or the standard has given, as it was given.
    pub given_name: Option<Rc<[u8]>>,
    /// Grid of the ranks, if they have one.
    pub cartesian: Option<Rc<Cartesian>>,
    /// Graph of the ranks, if they have one.
    pub graph: Option<Rc<Graph>>,
    /// Words that the program has attached.
    pub attributes: Attributes,
    /// The program has freed it; operations under way still use it.
    pub freed: bool,
    /// Names it to those who observe: the same for all members.
    pub identity: u64,
    /// Its groups on the network interface: for barriers, and for reductions.
    pub groups: [OnNic; 2],
    /// Collective operations begun.
    collectives: u32,
}

/// A communicator's group on the network interface.
#[derive(Clone, Debug, Default)]
pub(crate) struct OnNic {
    pub state: OnNicState,
    /// Operations that were begun before all had agreed, in order: the request that holds each of them back.
    pub held: VecDeque<RequestId>,
}

/// Number of a communicator's group: another for each that a process can have at a time.
pub(crate) fn group_of(number: u16, place: usize) -> u16 {
    2 * number + place as u16
}

/// Knowledge of a member about a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum OnNicState {
    /// No operation has asked for it.
    #[default]
    Unknown,
    /// The first operation has asked, and not all have answered.
    Asked,
    /// All members have opened it.
    Open,
    /// One of them could not, so none has it.
    Nowhere,
}

/// Tells communicators apart by number and members (FNV-1a).
fn identity_of(number: u16, members: &[u32]) -> u64 {
    let words = std::iter::once(u32::from(number)).chain(members.iter().copied());
    words.fold(0xCBF2_9CE4_8422_2325, |hash, word| {
        (hash ^ u64::from(word)).wrapping_mul(0x0000_0100_0000_01B3)
    })
}

impl Comm {
    /// Members.
    pub fn size(&self) -> u32 {
        self.members.len() as u32
    }
    /// Context of point-to-point messages.
    pub fn context(&self) -> u16 {
        2 * self.number
    }
    /// Context of the collectives' messages.
    pub fn collective_context(&self) -> u16 {
        2 * self.number + 1
    }
    /// True if `rank` is a rank of it.
    pub fn has(&self, rank: i32) -> bool {
        (0..self.size() as i32).contains(&rank)
    }
    /// The error for a `what` ("destination", "root") that is not a rank.
    pub fn not_a_rank(&self, class: i32, what: &str, rank: i32) -> Error {
        let (name, size) = (&self.name, self.size());
        Error::new(class, format!("{what} {rank} is not a rank of {name} (size {size})"))
    }
}

/// True if a message of this context is a part of a collective operation.
pub(crate) fn is_collective(context: u16) -> bool {
    context & 1 == 1
}

/// Communicators that can exist at a time: each takes one context for its point-to-point messages and one for
/// its collectives.
pub(crate) const MAX_COMMUNICATORS: usize = 1 << 11;
/// Tag of the barrier in MPI_Finalize, which is none of the program's collective operations.
pub(crate) const ENDING: i32 = 0;
/// Collective operations of passing communicators are numbered from here on.
const PASSING: u32 = 1 << 30;

/// The communicators of a process.
pub(crate) struct Comms {
    table: Slots<Comm, 0>,
    /// One bit a number that is not in use here.
    free: [u64; MAX_COMMUNICATORS / 64],
    /// Windows whose numbers are offered to others at present, a bit each.
    lent: u64,
    made: u32,
}

/// Numbers from here on are for communicators that are made beside other calls, in windows of eight.
const WINDOWS_FROM: usize = MAX_COMMUNICATORS / 4 * 3;
const _: () = assert!(Comms::WINDOWS == u64::BITS as usize);

impl Comms {
    /// MPI_COMM_WORLD and MPI_COMM_SELF.
    pub fn new(world: &World) -> Comms {
        let everybody = (0..world.size).collect();
        let comm = |name: &str, number, rank, members: Rc<[u32]>| Comm {
            identity: identity_of(number, &members),
            name: name.into(),
            number,
            rank,
            is_ready: true,
            members,
            on_error: OnError::Fatal,
            given_name: Some(name.as_bytes().into()),
            cartesian: None,
            graph: None,
            attributes: Attributes::new(),
            freed: false,
            groups: Default::default(),
            collectives: 0,
        };
        let mut table = Slots::default();
        table.add(comm("MPI_COMM_WORLD", 0, world.rank, everybody));
        table.add(comm("MPI_COMM_SELF", 1, 0, Rc::new([world.rank])));
        let mut free = [u64::MAX; MAX_COMMUNICATORS / 64];
        free[0] &= !0b11;
        Comms { table, free, lent: 0, made: 0 }
    }
    /// Windows.
    pub const WINDOWS: usize = (MAX_COMMUNICATORS - WINDOWS_FROM) / 8;
    /// Numbers of a window that are free, as a bit set, which are reserved until they are given back; `None`
    /// if the window is reserved.
    pub fn lend(&mut self, window: usize) -> Option<u8> {
        let bit = 1 << window;
        let free = self.lent & bit == 0;
        self.lent |= bit;
        let byte = WINDOWS_FROM / 8 + window;
        free.then(|| self.free[byte / 8].to_le_bytes()[byte % 8])
    }
    /// The numbers of a window are not offered any more.
    pub fn give_back(&mut self, window: usize) {
        self.lent &= !(1 << window);
    }
    /// The lowest number of a window that is in the bit set.
    pub fn in_window(window: usize, agreed: u8) -> Option<u16> {
        let number = WINDOWS_FROM + 8 * window + agreed.trailing_zeros() as usize;
        (agreed != 0).then_some(number as u16)
    }
    /// The communicator of `id`.
    pub fn get(&self, id: CommId) -> Result<&Comm> {
        self.table.get(id.0.into()).ok_or_else(Self::invalid)
    }
    /// The same, to be changed.
    pub fn get_mut(&mut self, id: CommId) -> Result<&mut Comm> {
        self.table.get_mut(id.0.into()).ok_or_else(Self::invalid)
    }
    /// Error where all numbers are in use.
    pub fn none_left() -> Error {
        Error::new(constant::ERR_OTHER, "no communicator is left; free some (MPI_Comm_free)")
    }
    fn invalid() -> Error {
        Error::new(constant::ERR_COMM, "the communicator was freed or never existed")
    }
    /// True of an operation of a passing communicator, which is none of the program's.
    pub fn is_passing(tag: i32) -> bool {
        tag as u32 & PASSING != 0
    }
    /// Tag of the messages of the next collective operation on `id`: all ranks count alike.
    pub fn next_collective(&mut self, id: CommId) -> i32 {
        let comm = self.table.get_mut(id.0.into()).expect("an operation begins on it");
        let number = ((comm.collectives + 1) & (PASSING - 1)).max(ENDING as u32 + 1);
        comm.collectives = comm.collectives & PASSING | number;
        comm.collectives as i32
    }
    /// Numbers free here, as a bit set: what the members of a new communicator agree on.
    pub fn free_numbers(&self) -> Vec<u8> {
        let mut bytes: Vec<u8> = self.free.iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes[WINDOWS_FROM / 8..].fill(0);
        bytes
    }
    /// The lowest number that is in the bit set.
    pub fn lowest(numbers: &[u8]) -> Option<u16> {
        let byte = numbers.iter().position(|&byte| byte != 0)?;
        u16::try_from(byte * 8 + numbers[byte].trailing_zeros() as usize).ok()
    }
    /// Adds a communicator with members of `parent` under `number`.
    pub fn add(&mut self, parent: CommId, number: u16, rank: u32, members: Rc<[u32]>) -> CommId {
        let id = self.add_without_number(parent, rank, members);
        self.number(id, number).expect("it was just added");
        id
    }
    /// Gives one its number.
    pub fn number(&mut self, id: CommId, number: u16) -> Result<()> {
        let comm = self.get_mut(id)?;
        (comm.number, comm.is_ready) = (number, true);
        comm.identity = identity_of(number, &comm.members);
        self.free[usize::from(number) / 64] &= !(1 << (number % 64));
        Ok(())
    }
    /// Adds a communicator with members of `parent` that cannot be used yet.
    pub fn add_without_number(&mut self, parent: CommId, rank: u32, members: Rc<[u32]>) -> CommId {
        let on_error = self.get(parent).map_or(OnError::Fatal, |comm| comm.on_error);
        self.made += 1;
        let name = format!("communicator {}", self.made).into();
        let (given_name, cartesian, attributes, collectives) = (None, None, Attributes::new(), 0);
        let comm = Comm {
            name,
            number: 0,
            rank,
            is_ready: false,
            members,
            on_error,
            given_name,
            cartesian,
            graph: None,
            attributes,
            freed: false,
            groups: Default::default(),
            identity: 0,
            collectives,
        };
        CommId(self.table.add(comm) as u32)
    }
    /// True if something is attached under the key to any of them.
    pub fn have_attribute(&self, key: i32) -> bool {
        self.table.iter().any(|(_, comm)| comm.attributes.contains_key(&key))
    }
    /// A communicator of some members of `parent` for one collective operation, whose messages
    /// differ from all others of `parent` by their tag.
    pub fn pass(
        &mut self,
        parent: CommId,
        rank: u32,
        members: Rc<[u32]>,
        tag: i32,
    ) -> Result<CommId> {
        let old = self.get(parent)?;
        let collectives = PASSING | tag as u32 & (PASSING - 1);
        let (cartesian, graph, attributes) = (None, None, Attributes::new());
        let nowhere = || OnNic { state: OnNicState::Nowhere, held: VecDeque::new() };
        let groups = [nowhere(), nowhere()];
        let comm = Comm {
            rank,
            members,
            cartesian,
            graph,
            attributes,
            groups,
            collectives,
            ..old.clone()
        };
        Ok(CommId(self.table.add(comm) as u32))
    }
    /// Forgets such a communicator; its number is its parent's.
    pub fn end_passing(&mut self, id: CommId) {
        self.table.remove(id.0.into());
    }
    /// Communicators that the program has freed and that are still there.
    pub fn freed(&self) -> Vec<CommId> {
        let freed = self.table.iter().filter(|(_, comm)| comm.freed);
        freed.map(|(index, _)| CommId(index as u32)).collect()
    }
    /// Removes one.
    pub fn remove(&mut self, id: CommId) -> Result<()> {
        let comm = self.get(id)?;
        let number = comm.is_ready.then_some(comm.number);
        self.table.remove(id.0.into());
        if let Some(number) = number {
            self.free[usize::from(number) / 64] |= 1 << (number % 64);
        }
        Ok(())
    }
}
