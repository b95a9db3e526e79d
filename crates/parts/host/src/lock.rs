//! A lock of the kernel, for hosts of several cores.

use crate::fibre::Request;
use crate::Cpu;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

/// A spin lock of the kernel. Cores that find it held spin with interrupts masked, and get it in the order of
/// their arrival. On a host of one core, masked interrupts are enough: there a lock has no cost and no
/// effect.
#[derive(Debug, Default)]
pub struct Lock {
    holder: Cell<Option<usize>>,
    /// The core that had it last: its line is in that core's cache.
    last: Cell<usize>,
    waiting: RefCell<VecDeque<usize>>,
    taken: Cell<u64>,
    contended: Cell<u64>,
}

impl Lock {
    /// A lock that nobody holds.
    pub fn new() -> Lock {
        Lock::default()
    }

    /// Runs `f` while the core of `cpu`, which is in the kernel, holds the lock. Calls must not be nested.
    pub fn hold<R>(&self, cpu: &Cpu, f: impl FnOnce() -> R) -> R {
        if cpu.cores() == 1 {
            return f();
        }
        self.take(cpu);
        let result = f();
        self.release(cpu);
        result
    }

    /// Number of times that it was taken, and number of those for which another core held it.
    pub fn counts(&self) -> (u64, u64) {
        (self.taken.get(), self.contended.get())
    }

    fn take(&self, cpu: &Cpu) {
        let me = cpu.core();
        assert!(cpu.core.masked(), "a core that holds a lock takes no interrupts");
        self.taken.set(self.taken.get() + 1);
        match self.holder.get() {
            None => {
                self.holder.set(Some(me));
                let here = self.last.get() == me;
                cpu.spend(if here { cpu.costs().lock_take } else { cpu.costs().lock_pass });
            }
            Some(holder) => {
                assert!(holder != me, "core {me} takes a lock that it holds");
                self.contended.set(self.contended.get() + 1);
                self.waiting.borrow_mut().push_back(me);
                cpu.core.suspend(Request::Spin);
                debug_assert_eq!(self.holder.get(), Some(me), "whoever held it has handed it over");
            }
        }
    }

    /// Gives the lock to the next core that spins; the host tells that core.
    fn release(&self, cpu: &Cpu) {
        self.last.set(cpu.core());
        let next = self.waiting.borrow_mut().pop_front();
        self.holder.set(next);
        if let Some(core) = next {
            cpu.core.shared.handed.borrow_mut().push_back(core);
        }
    }
}
