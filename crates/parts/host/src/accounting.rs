//! Account of a core's time.

use des::{Duration, Time};
use std::rc::Rc;

/// Class of a core's work, for accounting and observers only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// No work.
    Idle,
    /// Libraries and programs.
    User,
    /// Kernel services, with entry and exit.
    Kernel,
    /// The interrupt handler, with entry and exit.
    Interrupt,
    /// Stalled in an uncached read of the NIC.
    Stall,
    /// Spinning for a lock.
    Lock,
    /// Spinning on a word in memory.
    Polling,
}

/// Observer of a host's cores. It changes nothing.
pub trait Observer {
    /// Core `core` begins work of `class` at `at`, even if its last work was of the same class.
    fn does(&self, core: usize, at: Time, class: Class);
}

/// Time that a core has spent in each kind of work, and the number of changes. The kinds exclude one another
/// and add up to the time since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// Libraries and programs.
    pub user: Duration,
    /// Kernel services, with entry and exit.
    pub kernel: Duration,
    /// The interrupt handler, with entry and exit.
    pub interrupt: Duration,
    /// Stalled in uncached reads of the NIC, in any mode.
    pub mmio_stall: Duration,
    /// Spinning for a lock that another core holds, or has just handed over.
    pub lock: Duration,
    /// Spinning on a word in memory.
    pub polling: Duration,
    /// Nothing to run.
    pub idle: Duration,
    /// Kernel entries.
    pub kernel_entries: u64,
    /// Runs of the interrupt handler.
    pub interrupts: u64,
    /// Uncached stores of up to 8 bytes.
    pub mmio_writes: u64,
    /// Uncached reads.
    pub mmio_reads: u64,
}

impl std::iter::Sum for Times {
    fn sum<I: Iterator<Item = Times>>(times: I) -> Times {
        times.fold(Times::default(), |a, b| Times {
            user: a.user + b.user,
            kernel: a.kernel + b.kernel,
            interrupt: a.interrupt + b.interrupt,
            mmio_stall: a.mmio_stall + b.mmio_stall,
            lock: a.lock + b.lock,
            polling: a.polling + b.polling,
            idle: a.idle + b.idle,
            kernel_entries: a.kernel_entries + b.kernel_entries,
            interrupts: a.interrupts + b.interrupts,
            mmio_writes: a.mmio_writes + b.mmio_writes,
            mmio_reads: a.mmio_reads + b.mmio_reads,
        })
    }
}

/// Running sums of a core's times.
pub(crate) struct Account {
    pub(crate) times: Times,
    class: Class,
    since: Time,
    /// Number of the core, for its observer.
    core: usize,
    observer: Option<Rc<dyn Observer>>,
}

impl Account {
    pub(crate) fn new(core: usize) -> Account {
        let (class, since) = (Class::Idle, Time::ZERO);
        Account { times: Times::default(), class, since, core, observer: None }
    }
    /// Sets the observer, from `now` on.
    pub(crate) fn set_observer(&mut self, now: Time, observer: Rc<dyn Observer>) {
        observer.does(self.core, now, self.class);
        self.observer = Some(observer);
    }
    pub(crate) fn class(&self) -> Class {
        self.class
    }
    /// Switches the core's work to `class` at `now`.
    pub(crate) fn switch(&mut self, now: Time, class: Class) {
        if class != self.class {
            self.begin(now, class);
        }
    }
    /// Begins work of `class` at `now`, even if the last work was of the same class.
    pub(crate) fn begin(&mut self, now: Time, class: Class) {
        self.times = self.until(now);
        self.class = class;
        self.since = now;
        if let Some(observer) = &self.observer {
            observer.does(self.core, now, class);
        }
    }
    /// Sums, with the present work counted up to `now`.
    pub(crate) fn until(&self, now: Time) -> Times {
        let mut times = self.times;
        let sum = match self.class {
            Class::Idle => &mut times.idle,
            Class::User => &mut times.user,
            Class::Kernel => &mut times.kernel,
            Class::Interrupt => &mut times.interrupt,
            Class::Stall => &mut times.mmio_stall,
            Class::Lock => &mut times.lock,
            Class::Polling => &mut times.polling,
        };
        *sum += now.since(self.since);
        times
    }
}
