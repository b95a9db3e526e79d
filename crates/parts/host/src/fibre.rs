//! Fibres: host software that can stop in the middle and go on later.

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use des::{Duration, Time};
use std::cell::Cell;

/// Names a fibre of one core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FibreId(pub(crate) usize);

/// Address space of a fibre's stack. Pages are committed as they are touched.
const STACK_SIZE: usize = 1 << 20;
/// Advice if there is no address space.
const ADVICE: &str = "raise the limit of address space (ulimit -v) or take fewer nodes";
/// Mappings of address space that the simulator has for a fibre: its stack, and the guard page below.
pub const MAPPINGS_PER_FIBRE: u64 = 2;

/// Request of a fibre to its core when it suspends. The answer is the `u64` with which it is resumed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Request {
    /// Let time pass.
    Spend(Duration),
    /// Send an uncached store of the first `len` bytes out now.
    Store { addr: u64, len: u8, bytes: [u8; 8] },
    /// Send an uncached store of the first `len` bytes of the core's line out now.
    StoreLine { addr: u64, len: u8 },
    /// Send an uncached read of up to 8 bytes and stall until the reply, which is the answer.
    Load { addr: u64, len: u8 },
    /// The same of up to a line, which is put where the core says.
    LoadLine { addr: u64, len: u8 },
    /// Spin until another core hands over a lock.
    Spin,
    /// Spin until woken, or until the deadline (`Time::NEVER`: none). Answer: [`WOKEN`] or [`TIMED_OUT`].
    Wait { poll: Duration, deadline: Time },
    /// Take interrupts again.
    Unmask,
    /// The interrupt handler has returned (answered when it is to run again).
    HandlerDone,
    /// Never resume me.
    Stop,
}

pub(crate) const WOKEN: u64 = 1;
pub(crate) const TIMED_OUT: u64 = 0;

/// State of a fibre.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FibreState {
    /// Has the core, or is ready for it.
    Running,
    /// Spins until woken.
    Waiting,
    /// Suspended for ever by a fault.
    Stopped,
    /// Its function has returned.
    Done,
}

/// Poll instants of a waiting fibre.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Polling {
    pub(crate) start: Time,
    pub(crate) period: Duration,
}

impl Polling {
    /// The first poll instant at or after `t`. The poll at `start` failed: that is why the fibre waits.
    pub(crate) fn next(&self, t: Time) -> Time {
        let periods = t.since(self.start).0.div_ceil(self.period.0).max(1);
        self.start + self.period * periods
    }
}

thread_local! {
    /// Stack of the fibre that returned last, to be used again: each node's kernel boots in a fibre, one node
    /// after the other.
    static SPARE: Cell<Option<DefaultStack>> = const { Cell::new(None) };
}

pub(crate) type Suspend = Yielder<u64, Request>;

pub(crate) struct Fibre {
    pub(crate) name: String,
    pub(crate) state: FibreState,
    /// Answer with which it is resumed.
    pub(crate) answer: u64,
    /// Its poll loop, from `Wait` until it runs again.
    pub(crate) polling: Option<Polling>,
    /// True if it ends a wait when it runs next, with a poll that sees all wakes so far.
    pub(crate) looks: bool,
    /// Counts its waits, so that a deadline of an earlier wait is known to be stale.
    pub(crate) waits: u64,
    /// Coroutine with its stack. None after its function has returned, or if the system refused a stack.
    coroutine: Option<Coroutine<u64, Request, ()>>,
}

impl Fibre {
    /// Fibre that is ready to run `f`. If the system refuses a stack, it stops at once, and `refused` gets a
    /// sentence.
    pub(crate) fn new(
        name: &str,
        f: impl FnOnce(&Suspend) + 'static,
        refused: impl FnOnce(String),
    ) -> Fibre {
        let stack = SPARE.take().map_or_else(|| DefaultStack::new(STACK_SIZE), Ok);
        let stack = stack.map_err(|why| {
            refused(format!("the system refuses a stack of {STACK_SIZE} bytes: {why}; {ADVICE}"));
        });
        let state = if stack.is_ok() { FibreState::Running } else { FibreState::Stopped };
        let run = move |suspend: &Suspend, _| f(suspend);
        Fibre {
            name: name.to_string(),
            state,
            answer: 0,
            polling: None,
            looks: false,
            waits: 0,
            coroutine: stack.ok().map(|stack| Coroutine::with_stack(stack, run)),
        }
    }
    /// Runs it until its next request; `None` when its function has returned. A panic inside is passed on.
    pub(crate) fn resume(&mut self) -> Option<Request> {
        if self.state == FibreState::Stopped {
            return Some(Request::Stop); // It never had a stack.
        }
        let coroutine =
            self.coroutine.as_mut().expect("a fibre that has returned never runs again");
        match coroutine.resume(self.answer) {
            CoroutineResult::Yield(request) => Some(request),
            CoroutineResult::Return(()) => {
                SPARE.set(self.coroutine.take().map(Coroutine::into_stack));
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Thousands of nodes have fibres that have returned (each kernel's boot), and mappings are few.
    #[test]
    fn a_fibre_that_has_returned_has_no_stack() {
        let wait = |suspend: &Suspend| {
            suspend.suspend(Request::Unmask);
        };
        let mut fibre = Fibre::new("one", wait, |why| panic!("{why}"));
        assert!(fibre.resume().is_some() && fibre.coroutine.is_some());
        assert!(fibre.resume().is_none() && fibre.coroutine.is_none());
    }
}
