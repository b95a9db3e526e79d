//! A guest with an observer. The guest tells nothing of processes and system calls; but it goes on at an
//! instant, executes in no time, and then accesses its device or sleeps. Whoever knows its driver knows what
//! that means.

use super::life::Driven;
use super::output_error::OutputError;
use des::Time;
use guest::{Act, Kept};
use std::rc::Rc;

/// Reason for which a guest goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason<'a> {
    /// It boots.
    Boots,
    /// Its sleep is over.
    Wakes,
    /// Its access is done; the bytes are those of a load.
    Answered(&'a [u8]),
    /// Its card interrupts. It sleeps on, mostly until now.
    Interrupted,
}

/// A guest has gone on, and what it does next.
#[derive(Clone, Copy, Debug)]
pub struct Turn<'a> {
    /// The instant.
    pub at: Time,
    /// Why it goes on.
    pub reason: Reason<'a>,
    /// Its next act, at that instant.
    pub act: &'a Act,
    /// True if its kernel has been told of the interrupt, and has not ended its handler.
    pub serves: bool,
}

/// Observer of a guest.
pub trait GuestObserver {
    /// The guest has gone on.
    fn turn(&self, turn: &Turn<'_>);
}

/// A guest, and its observer, if it has one.
pub(super) struct Observed<G> {
    pub guest: G,
    pub observer: Option<Rc<dyn GuestObserver>>,
}

impl<G: Driven> Observed<G> {
    /// Tells of what the guest does, which has gone on at `now`.
    fn tell(&self, now: u64, reason: Reason<'_>, act: Act) -> Act {
        if let Some(observer) = &self.observer {
            let at = Time(now.saturating_mul(1000));
            observer.turn(&Turn { at, reason, act: &act, serves: self.guest.serves() });
        }
        act
    }
}

impl<G: Driven> Driven for Observed<G> {
    fn boot(&mut self) -> Act {
        let act = self.guest.boot();
        self.tell(0, Reason::Boots, act)
    }
    fn run(&mut self, now: u64) -> Act {
        let act = self.guest.run(now);
        self.tell(now, Reason::Wakes, act)
    }
    fn answer(&mut self, now: u64, bytes: &[u8]) -> Act {
        let act = self.guest.answer(now, bytes);
        self.tell(now, Reason::Answered(bytes), act)
    }
    fn interrupt(&mut self, now: u64) -> Act {
        let act = self.guest.interrupt(now);
        self.tell(now, Reason::Interrupted, act)
    }
    fn watch(&self, word: Option<u64>) -> bool {
        self.guest.watch(word)
    }
    fn serves(&self) -> bool {
        self.guest.serves()
    }
    fn is_ready(&self) -> bool {
        self.guest.is_ready()
    }
    fn kept(&self) -> Kept {
        self.guest.kept()
    }
    fn pass_on(&mut self) -> Result<(), OutputError> {
        self.guest.pass_on()
    }
}
