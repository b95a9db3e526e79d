//! State that the fibres of a core share with its processor.

use crate::accounting::{Account, Class};
use crate::fibre::{Request, Suspend};
use crate::host::{Event, Kind, ENDED};
use crate::shared::Shared;
use crate::{Costs, Cpu, FibreId, SharedMemory, LINE};
use des::{Duration, Time};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Bytes of a read.
pub(crate) type Line = Rc<Cell<[u8; LINE]>>;

type Spawned = (String, Box<dyn FnOnce(Cpu)>);

/// State that fibres share with their processor.
pub(crate) struct Core {
    /// Its number on its host.
    pub(crate) index: usize,
    pub(crate) shared: Rc<Shared>,
    pub(crate) now: Cell<Time>,
    /// Data of the wide store that leaves.
    pub(crate) line: Cell<[u8; LINE]>,
    /// Place for the line that is read: the fibre's, as others may read before it goes on.
    pub(crate) into: Cell<Option<Line>>,
    /// True if interrupts are masked: in the kernel and in the handler.
    pub(crate) masked: Cell<bool>,
    pub(crate) raised_at: Cell<Time>,
    pub(crate) running: Cell<Option<FibreId>>,
    /// Suspender of the running fibre; null when none runs.
    pub(crate) suspend: Cell<*const Suspend>,
    fibres: Cell<usize>,
    pub(crate) spawned: RefCell<Vec<Spawned>>,
    /// Fibres with a wake that they have not seen, without repetition.
    pub(crate) woken: RefCell<Vec<FibreId>>,
    pub(crate) account: RefCell<Account>,
    /// Number of times that the core has begun to be busy.
    pub(crate) generation: Cell<u64>,
    /// Time before which only this core has events on the node.
    pub(crate) alone_until: Cell<Time>,
    /// Time before which nothing happens on the node that a program on this core could notice.
    pub(crate) undisturbed_until: Cell<Time>,
    /// Number of events on the node that were not ends of a user's work, if that is known.
    pub(crate) stirs: Cell<Option<u64>>,
    /// Time until which the program on this core is known to do nothing but compute.
    pub(crate) computes_until: Cell<Time>,
}

impl Core {
    pub(crate) fn new(index: usize, shared: &Rc<Shared>) -> Core {
        Core {
            index,
            shared: shared.clone(),
            now: Cell::new(Time::ZERO),
            line: Cell::new([0; LINE]),
            into: Cell::default(),
            masked: Cell::new(false),
            raised_at: Cell::new(Time::ZERO),
            running: Cell::new(None),
            suspend: Cell::new(std::ptr::null()),
            fibres: Cell::new(0),
            spawned: RefCell::default(),
            woken: RefCell::default(),
            account: RefCell::new(Account::new(index)),
            generation: Cell::new(0),
            alone_until: Cell::new(Time::ZERO),
            undisturbed_until: Cell::new(Time::ZERO),
            stirs: Cell::default(),
            computes_until: Cell::new(Time::ZERO),
        }
    }
    /// The core begins to be busy.
    pub(crate) fn begin(&self) {
        self.generation.set(self.generation.get() + 1);
    }
    /// Lets the time until `at` pass without an event, if there are no other events before. True if so.
    #[inline]
    pub(crate) fn pass(&self, at: Time) -> bool {
        let alone = at < self.alone_until.get() && !self.shared.has_news();
        if alone {
            self.now.set(at);
            self.shared.passed.borrow_mut().push((at, Event::new(self.index, ENDED)));
        }
        alone
    }
    pub(crate) fn now(&self) -> Time {
        self.now.get()
    }
    pub(crate) fn masked(&self) -> bool {
        self.masked.get()
    }
    pub(crate) fn interrupt_raised_at(&self) -> Time {
        self.raised_at.get()
    }
    pub(crate) fn costs(&self) -> &Costs {
        &self.shared.costs
    }
    pub(crate) fn memory(&self) -> &SharedMemory {
        &self.shared.memory
    }
    pub(crate) fn running_fibre(&self) -> FibreId {
        self.running.get().expect("called from a fibre")
    }
    pub(crate) fn enter_kernel(&self) {
        self.mask();
        self.account.borrow_mut().times.kernel_entries += 1;
    }
    pub(crate) fn mask(&self) {
        self.masked.set(true);
        self.shared.stir();
        self.account.borrow_mut().switch(self.now(), Class::Kernel);
    }
    pub(crate) fn wake(&self, fibre: FibreId) {
        if self.running.get().is_none() {
            self.shared.called.set(true);
            self.shared.stir();
        }
        let mut woken = self.woken.borrow_mut();
        if !woken.contains(&fibre) {
            woken.push(fibre);
        }
    }
    /// Time of the earliest effect on another core of what this one does after its event at `at`, if that is
    /// the end of its present work: code of a user must enter the kernel first, or reach a device.
    pub(crate) fn reaches_others(&self, at: Time, kind: Kind, reaction: Duration) -> Time {
        match kind {
            Kind::Ends { generation } if generation == self.generation.get() && !self.masked() => {
                at.max(self.computes_until.get()) + reaction
            }
            _ => at,
        }
    }
    pub(crate) fn spawn(&self, name: &str, f: Box<dyn FnOnce(Cpu)>) -> FibreId {
        let id = FibreId(self.fibres.get());
        self.fibres.set(id.0 + 1);
        self.spawned.borrow_mut().push((name.to_string(), f));
        id
    }
    pub(crate) fn record_fault(&self, fibre: FibreId, what: String) {
        let mut fault = self.shared.fault.borrow_mut();
        fault.get_or_insert((self.now(), self.index, fibre, what));
    }
    pub(crate) fn take_wake(&self, fibre: usize) -> bool {
        let mut woken = self.woken.borrow_mut();
        let position = woken.iter().position(|id| id.0 == fibre);
        position.map(|index| woken.remove(index)).is_some()
    }

    /// Suspends the running fibre with `request`; returns the answer.
    pub(crate) fn suspend(&self, request: Request) -> u64 {
        let suspend = self.suspend.get();
        assert!(!suspend.is_null(), "only a fibre can let simulated time pass");
        // SAFETY: the pointer is that of the fibre that runs now: the fibre sets it when it starts and
        // whenever it comes back here, and the processor clears it whenever a fibre stops running. The
        // suspender lives on the fibre's own stack below this frame, so it outlives this call.
        let answer = unsafe { &*suspend }.suspend(request);
        self.suspend.set(suspend);
        answer
    }
}
