//! The bridge: a program's Portals calls, from their raw C arguments to the kernel's library and back.
//!
//! Each call runs in the rank's fibre, on the same simulated timeline as MPI. The program's Portals process
//! is its own: MPI has another.

mod calls;
mod memory;
mod moves;
mod words;

use abi::arguments::Arguments;
use abi::portals::{args, code, Function};
use des::Duration;
use host::{Cpu, SpaceId};
use mpi::{Wait, Waiting};
use portals::{Error, Kernel, Ni, ProcessId};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

/// Processes of a run, by the ids that Portals uses.
#[derive(Clone, Debug)]
pub struct Party {
    /// This process's rank.
    pub rank: u32,
    /// The Portals process of each rank's program.
    pub map: Arc<[ProcessId]>,
}

/// Memory of a program.
#[derive(Clone, Copy, Debug)]
pub struct ProgramSpaces {
    /// The program's own.
    pub space: SpaceId,
    /// The same as the kernel has it, if the program may be a user in the kernel.
    pub in_kernel: Option<SpaceId>,
}

/// Function that gets the events of one queue first.
struct Handler {
    queue: u32,
    /// Address of a function of the program.
    function: u64,
}

#[derive(Default)]
struct State {
    initialized: bool,
    ni: Option<Rc<Ni>>,
    handlers: Vec<Handler>,
}

/// A program's way to Portals.
pub struct Bridge {
    cpu: Cpu,
    kernel: Rc<Kernel>,
    space: SpaceId,
    in_kernel: Option<SpaceId>,
    party: Party,
    waiting: Waiting,
    state: RefCell<State>,
    /// Most time that a look lets pass if it may; None: until something comes.
    watch_most: Cell<Option<Duration>>,
    /// The call above Portals that the program is in, if there is one.
    above: RefCell<Option<Wait>>,
}

/// Sentence about a call of rank `rank` where there is no Portals.
pub(crate) fn missing(rank: u32, function: Function) -> String {
    let name = function.name();
    format!(
        "rank {rank}: {name}: this machine has no Portals, only MPI; choose another one with \
         --machine"
    )
}

/// The queue that a call looks at, if it does nothing else and does not wait.
pub(crate) fn queue_of(function: Function, args: &[u64]) -> Option<u32> {
    let look = (function == Function::EqGet).then(|| args::EqGet::read(args));
    look.filter(|look| look.waits == 0).map(|look| look.eq_handle)
}

/// True if a call is a look at queues that may let time pass.
pub(crate) fn waits(function: Function, args: &[u64]) -> bool {
    match function {
        Function::EqGet => args::EqGet::read(args).waits != 0,
        Function::EqPoll => args::EqPoll::read(args).waits != 0,
        _ => false,
    }
}

/// A return code: the value of `Err` is any but `PTL_OK`.
type Answer = Result<(), i32>;

impl Bridge {
    /// Bridge of a program whose calls come from the fibre of `cpu`. `waiting` tells what the rank waits for.
    pub fn new(
        cpu: Cpu,
        kernel: Rc<Kernel>,
        memory: ProgramSpaces,
        party: Party,
        waiting: Waiting,
    ) -> Rc<Bridge> {
        let ProgramSpaces { space, in_kernel } = memory;
        let (state, above) = Default::default();
        let watch_most = Cell::new(Some(cpu.costs().poll_most));
        Rc::new(Bridge { cpu, kernel, space, in_kernel, party, waiting, state, watch_most, above })
    }

    /// Does `function` with its raw C arguments; its return code.
    pub fn call(&self, function: Function, args: &[u64]) -> i32 {
        self.dispatch(function, args).err().unwrap_or(code::OK)
    }

    /// Looks at a queue again that was empty, without the program's memory; the return code.
    pub fn look(&self, queue: u32) -> i32 {
        let looked = self.open(code::EQ_INVALID).and_then(|ni| calls::look(&ni, queue));
        looked.err().unwrap_or(code::OK)
    }

    /// True if no other rank is on the node, which might give the process something by shared memory.
    pub(crate) fn is_alone(&self) -> bool {
        let Party { rank, map } = &self.party;
        let own = map.get(*rank as usize).map(|process| process.nid);
        map.iter().filter(|process| Some(process.nid) == own).count() == 1
    }

    /// Sets the most time that a look lets pass if it may; None: until something comes.
    pub(crate) fn set_watch_most(&self, most: Option<Duration>) {
        self.watch_most.set(most);
    }

    /// Sets the call above Portals in which the process waits, if it does.
    pub(crate) fn set_above(&self, above: Option<Wait>) {
        *self.above.borrow_mut() = above;
    }

    /// Closes the interface, when the operations under way have ended. Later messages are dropped.
    pub fn close(&self) {
        let ni = std::mem::take(&mut *self.state.borrow_mut()).ni;
        if let Some(ni) = ni.and_then(|ni| Rc::try_unwrap(ni).ok()) {
            self.while_waiting("PtlNIFini", || ni.fini());
        }
    }

    fn is_initialized(&self) -> Answer {
        match self.state.borrow().initialized {
            true => Ok(()),
            false => Err(code::NO_INIT),
        }
    }

    /// The open interface; `otherwise` if there is none.
    fn open(&self, otherwise: i32) -> Result<Rc<Ni>, i32> {
        self.is_initialized()?;
        self.state.borrow().ni.clone().ok_or(otherwise)
    }

    /// The interface that a handle names.
    fn ni(&self, handle: u32) -> Result<Rc<Ni>, i32> {
        let ni = self.open(code::NI_INVALID)?;
        match handle {
            NI_HANDLE => Ok(ni),
            _ => Err(code::NI_INVALID),
        }
    }

    /// Says what the rank waits for while `wait` runs.
    fn while_waiting<R>(&self, function: &'static str, wait: impl FnOnce() -> R) -> R {
        let above = self.above.borrow().clone();
        let wait_in = above.unwrap_or_else(|| Wait::in_call(function));
        let before = self.waiting.replace(Some(wait_in));
        let result = wait();
        self.waiting.replace(before);
        result
    }
}

/// Handle of a process's interface; no other object has it.
const NI_HANDLE: u32 = 1;

/// The standard's number of an error.
fn number(error: Error) -> i32 {
    match error {
        Error::AcIndexInvalid => code::AC_INDEX_INVALID,
        Error::EqEmpty => code::EQ_EMPTY,
        Error::EqInvalid => code::EQ_INVALID,
        Error::MdIllegal => code::MD_ILLEGAL,
        Error::MdInvalid => code::MD_INVALID,
        Error::MdInUse => code::MD_IN_USE,
        Error::MdNoUpdate => code::MD_NO_UPDATE,
        Error::MeInvalid => code::ME_INVALID,
        Error::MeInUse => code::ME_IN_USE,
        Error::MeListTooLong => code::ME_LIST_TOO_LONG,
        Error::NoSpace => code::NO_SPACE,
        Error::PidInvalid => code::PID_INVALID,
        Error::ProcessInvalid => code::PROCESS_INVALID,
        Error::PtFull => code::PT_FULL,
        Error::PtIndexInvalid => code::PT_INDEX_INVALID,
        Error::Segv => code::SEGV,
    }
}
