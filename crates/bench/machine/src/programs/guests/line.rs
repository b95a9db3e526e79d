//! Interrupt line between a card and its guest.

use host::Waker;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Handlers that may end in a row while the line stays up; then nobody can be meant. Linux gives up a line
/// after 100,000 interrupts that nobody wanted.
const STUCK: u32 = 10_000;

/// Level of a card's interrupt pin, as a model of a card drives it: interrupts of PCI are level
/// sensitive (PCI specification 2.2, section 2.2.6).
///
/// A model whose card has such a pin shares it with the guest ([`super::GuestRank::with_pin`]): a line
/// that is still up when the guest's handler has ended interrupts again. Without a pin, each
/// [`crate::node::Ports::interrupt`] interrupts once.
#[derive(Clone, Debug, Default)]
pub struct Pin(Rc<Level>);

#[derive(Debug, Default)]
struct Level {
    is_up: Cell<bool>,
    /// True if the processor has seen that.
    is_seen: Cell<bool>,
    /// Handlers that have ended since it rose.
    handled: Cell<u32>,
}

impl Pin {
    /// Drives the pin. A model that raises it calls [`crate::node::Ports::interrupt`], too, with the time at
    /// which the processor sees that.
    pub fn drive(&self, level: bool) {
        self.0.is_up.set(level);
        if !level {
            self.0.is_seen.set(false);
            self.0.handled.set(0);
        }
    }
    fn take(&self) -> bool {
        let handled = self.0.handled.get();
        let wanted = self.0.is_seen.get() && handled < STUCK;
        self.0.handled.set(handled + u32::from(wanted));
        wanted
    }
}

/// Interrupt line of the card, as the guest's processor sees it.
#[derive(Default)]
pub(super) struct Line {
    raised: Cell<bool>,
    waker: RefCell<Option<Waker>>,
    pin: Option<Pin>,
}

impl Line {
    /// A line that follows a pin, if there is one.
    pub fn of(pin: Option<Pin>) -> Line {
        Line { pin, ..Line::default() }
    }
    pub fn set_waker(&self, waker: Waker) {
        *self.waker.borrow_mut() = Some(waker);
    }
    /// The processor sees that the card interrupts.
    pub fn rise(&self) {
        match &self.pin {
            Some(pin) => pin.0.is_seen.set(pin.0.is_up.get()),
            None => self.raised.set(true),
        }
        if let Some(waker) = &*self.waker.borrow() {
            waker.wake();
        }
    }
    /// True if the guest is to be interrupted, which may be in its handler (`serves`) still.
    pub fn take(&self, serves: bool) -> bool {
        match &self.pin {
            Some(pin) => !serves && pin.take(),
            None => self.raised.take(),
        }
    }
}
