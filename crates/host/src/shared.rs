//! State that the cores of a host share.

use crate::{Costs, Cpu, FibreId, Memory, SharedMemory};
use des::Time;
use std::cell::RefCell;
use std::collections::VecDeque;

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
    /// Ends of a core's work that needed no event, because nothing else happened before them.
    pub(crate) passed: RefCell<Vec<Time>>,
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
            passed: RefCell::default(),
            fault: RefCell::default(),
        }
    }
    pub(crate) fn take_started(&self) -> Option<Started> {
        self.started.borrow_mut().pop_front()
    }
    pub(crate) fn take_handed(&self) -> Option<usize> {
        self.handed.borrow_mut().pop_front()
    }
}
