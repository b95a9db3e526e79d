//! Processor as a fibre sees it.

use crate::core::Core;
use crate::fibre::{Request, WOKEN};
use crate::{Costs, FibreId, SharedMemory, LINE};
use des::{Duration, Time};
use std::cell::Cell;
use std::fmt;
use std::rc::Rc;

/// The processor, as host software in a fibre sees it. Every call may suspend its fibre; outside of a fibre
/// only calls that take no simulated time are allowed.
#[derive(Clone)]
pub struct Cpu {
    pub(crate) core: Rc<Core>,
}

fn is_within_line(addr: u64, len: usize) -> bool {
    len > 0 && (addr % LINE as u64) as usize + len <= LINE
}

impl Cpu {
    /// The number of this core on its host.
    pub fn core(&self) -> usize {
        self.core.index
    }

    /// Number of the host's cores.
    pub fn cores(&self) -> usize {
        self.core.shared.cores
    }

    /// The simulated time.
    pub fn now(&self) -> Time {
        self.core.now()
    }

    /// Computes for `time`. In user mode interrupts preempt it, and the rest is postponed by the handler's
    /// time; in the kernel and in the handler they wait.
    pub fn spend(&self, time: Duration) {
        if time == Duration::ZERO {
            return;
        }
        if self.core.pass(self.core.now() + time) {
            self.core.begin();
        } else {
            self.core.suspend(Request::Spend(time));
        }
    }

    /// Time before which nothing happens on the node that a program on this core could notice, as long as it
    /// only computes; that of other cores is no such thing. It is in the past at less than full speed.
    pub fn undisturbed_until(&self) -> Time {
        match self.core.shared.has_news() {
            true => Time::ZERO,
            false => self.core.undisturbed_until.get(),
        }
    }

    /// Number of events so far on the node that a program on this core could notice, others included; `None`
    /// if that is not known. It is up to date whenever simulated time has passed.
    pub fn stirs(&self) -> Option<u64> {
        self.core.stirs.get()
    }

    /// Announces that the program does nothing but compute until `until`, so that others are undisturbed by
    /// it; until the next call.
    pub fn computes_until(&self, until: Time) {
        self.core.computes_until.set(until);
    }

    /// Uncached, posted stores: each up to 8 bytes within an aligned 8 bytes, in order, each after its issue
    /// time. `addr` is of the network interface's own space.
    pub fn mmio_write(&self, addr: impl Into<u64>, data: &[u8]) {
        let mut addr = addr.into();
        let mut rest = data;
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(rest.len().min(8 - (addr % 8) as usize));
            self.spend(self.costs().mmio_write);
            let mut bytes = [0; 8];
            bytes[..piece.len()].copy_from_slice(piece);
            self.core.suspend(Request::Store { addr, len: piece.len() as u8, bytes });
            addr += piece.len() as u64;
            rest = after;
        }
    }

    /// One posted store of up to [`LINE`] bytes within an aligned line, after its issue time: what a
    /// processor writes at once, by a wide instruction or from a buffer that combines writes.
    ///
    /// # Panics
    /// If there are no bytes, or not within a line.
    pub fn mmio_write_line(&self, addr: impl Into<u64>, data: &[u8]) {
        let addr = addr.into();
        assert!(is_within_line(addr, data.len()), "{} bytes at {addr:#x}", data.len());
        self.spend(self.costs().mmio_write);
        let mut line = [0; LINE];
        line[..data.len()].copy_from_slice(data);
        self.core.line.set(line);
        self.core.suspend(Request::StoreLine { addr, len: data.len() as u8 });
    }

    /// An uncached read of the word at the network interface's address `addr`: the core stalls for the round
    /// trip.
    pub fn mmio_read(&self, addr: impl Into<u64>) -> u32 {
        self.core.suspend(Request::Load { addr: addr.into(), len: 4 }) as u32
    }

    /// The same of up to [`LINE`] bytes within an aligned line.
    ///
    /// # Panics
    /// If there are no bytes, or not within a line.
    pub fn mmio_read_line(&self, addr: impl Into<u64>, data: &mut [u8]) {
        let (addr, len) = (addr.into(), data.len());
        assert!(is_within_line(addr, len), "{len} bytes at {addr:#x}");
        if len <= 8 {
            let answer = self.core.suspend(Request::Load { addr, len: len as u8 });
            return data.copy_from_slice(&answer.to_le_bytes()[..len]);
        }
        let into = Rc::new(Cell::new([0; LINE]));
        self.core.into.set(Some(into.clone()));
        self.core.suspend(Request::LoadLine { addr, len: len as u8 });
        data.copy_from_slice(&into.get()[..len]);
    }

    /// Runs `f` in the kernel: entry and exit cost their time, interrupts wait until after the exit. Nested
    /// calls, and calls from the interrupt handler, just run `f`.
    pub fn kernel<R>(&self, f: impl FnOnce() -> R) -> R {
        if self.core.masked() {
            return f();
        }
        self.core.enter_kernel();
        self.spend(self.costs().kernel_entry);
        let result = f();
        self.spend(self.costs().kernel_exit);
        self.core.suspend(Request::Unmask);
        result
    }

    /// Runs `f` for a user that is in the kernel already: nothing is entered, but interrupts wait until the
    /// end. Nested calls, and calls from the interrupt handler, just run `f`.
    pub fn kernel_section<R>(&self, f: impl FnOnce() -> R) -> R {
        if self.core.masked() {
            return f();
        }
        self.core.mask();
        let result = f();
        self.core.suspend(Request::Unmask);
        result
    }

    /// Handle that wakes this fibre from [`Cpu::wait`].
    pub fn waker(&self) -> Waker {
        Waker { core: self.core.clone(), fibre: self.core.running_fibre() }
    }

    /// Spins: polls every `poll` whether [`Waker::wake`] was called, and returns at the first poll after
    /// that. A wake before the call is not lost: the call then returns at once. Time that the interrupt
    /// handler takes does not count as spinning. Other fibres of the core run meanwhile.
    pub fn wait(&self, poll: Duration) {
        self.wait_until(poll, Time::NEVER);
    }

    /// Like [`Cpu::wait`], but gives up at the first poll at or after `deadline`. True if woken.
    pub fn wait_until(&self, poll: Duration, deadline: Time) -> bool {
        assert!(poll > Duration::ZERO, "a poll loop takes time");
        assert!(!self.core.masked(), "waiting with interrupts masked would never end");
        self.core.suspend(Request::Wait { poll, deadline }) == WOKEN
    }

    /// Starts another fibre on this core; it runs when this one waits or ends.
    pub fn spawn(&self, name: &str, f: impl FnOnce(Cpu) + 'static) -> FibreId {
        self.core.spawn(name, Box::new(f))
    }

    /// Starts a fibre on core `core` of this host; it runs there when that core has nothing else to do.
    pub fn spawn_on(&self, core: usize, name: &str, f: impl FnOnce(Cpu) + 'static) {
        assert!(core < self.cores(), "a host of {} cores has no core {core}", self.cores());
        if core == self.core() {
            self.spawn(name, f);
        } else {
            let started = (core, name.to_string(), Box::new(f) as Box<dyn FnOnce(Cpu)>);
            self.core.shared.started.borrow_mut().push_back(started);
        }
    }

    /// Takes the vectors by which the NIC has interrupted since they were last taken, a bit each.
    pub fn take_vectors(&self) -> u64 {
        self.core.shared.vectors.take()
    }

    /// Time at which the interrupt that the handler now serves was raised (the first, if several were
    /// pending).
    pub fn interrupt_raised_at(&self) -> Time {
        self.core.interrupt_raised_at()
    }

    /// Time to copy `bytes` from memory to memory.
    pub fn copy_cost(&self, bytes: u64) -> Duration {
        self.costs().copy(bytes)
    }

    /// Costs of the primitives.
    pub fn costs(&self) -> &Costs {
        self.core.costs()
    }

    /// The host's memory.
    pub fn memory(&self) -> &SharedMemory {
        self.core.memory()
    }

    /// Records a fault of the program or of the firmware and never returns: the fibre stays suspended, with
    /// interrupts as they are, until the host is dropped.
    pub fn fault(&self, what: impl fmt::Display) -> ! {
        self.core.record_fault(self.core.running_fibre(), what.to_string());
        loop {
            self.core.suspend(Request::Stop);
        }
    }
}

impl fmt::Debug for Cpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cpu").field("now", &self.now()).finish()
    }
}

/// Wakes one fibre from [`Cpu::wait`].
#[derive(Clone)]
pub struct Waker {
    core: Rc<Core>,
    fibre: FibreId,
}

impl Waker {
    /// Makes the fibre's next poll (now or later) succeed. Called from outside of the host's fibres, it takes
    /// effect at the next [`crate::Host::attend`].
    pub fn wake(&self) {
        self.core.wake(self.fibre);
    }
    /// The same for a fibre that watches memory, in which a device has stored something: who drives the
    /// device learns of it ([`crate::Host::has_noticed`]).
    pub fn notice(&self) {
        self.core.shared.noticed.set(true);
        self.wake();
    }
}

impl fmt::Debug for Waker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Waker").field(&self.fibre).finish()
    }
}
