//! Where a core's time went.

use des::{Duration, Time};

/// What a core is doing, for accounting only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Idle,
    User,
    Kernel,
    Interrupt,
    Stall,
    Lock,
    Polling,
}

/// Time a core has spent in each kind of work, and how often it changed kind. The kinds exclude one another
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

/// The running sums.
#[derive(Debug)]
pub(crate) struct Account {
    pub(crate) times: Times,
    class: Class,
    since: Time,
}

impl Account {
    pub(crate) fn new() -> Account {
        Account { times: Times::default(), class: Class::Idle, since: Time::ZERO }
    }
    pub(crate) fn class(&self) -> Class {
        self.class
    }
    /// From `now` on the core does `class`.
    pub(crate) fn switch(&mut self, now: Time, class: Class) {
        if class != self.class {
            self.times = self.until(now);
            self.class = class;
            self.since = now;
        }
    }
    /// The sums with the current stretch counted up to `now`.
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
