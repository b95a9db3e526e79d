//! State that the cores of a host share.

use crate::core::Core;
use crate::host::Event;
use crate::{Costs, Cpu, FibreId, Memory, SharedMemory};
use des::Time;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Weak;

/// A fibre that begins on another core than the one that started it: the core, name and function.
pub(crate) type Started = (usize, String, Box<dyn FnOnce(Cpu)>);

/// Fault in a fibre: time, core, fibre, description.
pub(crate) type Faulted = (Time, usize, FibreId, String);

/// State that the cores of a host share.
pub(crate) struct Shared {
    pub(crate) cores: usize,
    pub(crate) costs: Costs,
    pub(crate) memory: SharedMemory,
    /// Cores whose uncached reads are under way, in the order in which these left.
    pub(crate) reads: RefCell<VecDeque<usize>>,
    /// Fibres for other cores that the host has not passed on yet.
    pub(crate) started: RefCell<VecDeque<Started>>,
    /// Cores that have been handed a lock and have not been told yet.
    pub(crate) handed: RefCell<VecDeque<usize>>,
    /// A fibre was woken that is not of the core that runs, and the host has not told its core yet.
    pub(crate) called: Cell<bool>,
    /// A device has stored something that a fibre watches.
    pub(crate) noticed: Cell<bool>,
    /// Interrupt vectors by which the NIC has interrupted since the handler last took them, a bit each.
    pub(crate) vectors: Cell<u64>,
    /// Number of events of cores that were not just ends of a user's work, and of entries into the kernel.
    pub(crate) stirs: Cell<u64>,
    /// Several cores act at the same instant: none may get ahead.
    pub(crate) together: Cell<bool>,
    /// All cores, by number, once there are all.
    pub(crate) all: RefCell<Vec<Weak<Core>>>,
    /// Ends of a core's work that needed no event, because nothing else happened before them.
    pub(crate) passed: RefCell<Vec<(Time, Event)>>,
    /// First fault: it is the cause; later ones may follow from it.
    pub(crate) fault: RefCell<Option<Faulted>>,
}

impl Shared {
    pub(crate) fn new(costs: &Costs, cores: usize) -> Shared {
        Shared {
            cores,
            costs: *costs,
            memory: Memory::shared(),
            reads: RefCell::default(),
            started: RefCell::default(),
            handed: RefCell::default(),
            called: Cell::default(),
            noticed: Cell::default(),
            vectors: Cell::default(),
            stirs: Cell::default(),
            together: Cell::default(),
            all: RefCell::default(),
            passed: RefCell::default(),
            fault: RefCell::default(),
        }
    }
    /// True if a core has done something of which others must be told at this instant.
    #[inline]
    pub(crate) fn has_news(&self) -> bool {
        let told = || self.handed.borrow().is_empty() && self.started.borrow().is_empty();
        self.cores > 1 && (self.called.get() || !told())
    }
    /// Something happens that a program on another core could notice.
    pub(crate) fn stir(&self) {
        self.stirs.set(self.stirs.get() + 1);
    }
    pub(crate) fn take_started(&self) -> Option<Started> {
        self.started.borrow_mut().pop_front()
    }
    pub(crate) fn take_handed(&self) -> Option<usize> {
        self.handed.borrow_mut().pop_front()
    }
}
