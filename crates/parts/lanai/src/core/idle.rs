//! The core while it only polls.

use super::Core;
use crate::polling::Spent;

impl Core {
    /// True while it only polls: it goes round in a loop, and each turn leaves processor, memory and card as
    /// they were, until something else happens on the card ([`Core::disturbed`]).
    pub fn polls(&self) -> bool {
        self.fault.is_none() && self.polling.iteration().is_some()
    }

    /// Sets whether iterations of a loop that only polls are booked; else all are executed, with the same
    /// result.
    pub fn set_booking(&mut self, books: bool) {
        self.polling.books = books;
    }

    /// Cycles and instructions so far.
    pub(super) fn spent(&self) -> Spent {
        Spent { cycles: self.cycle, instructions: self.counters.instructions }
    }

    /// The part of them in which it only polled, as [`Core::polls`] says, or stood in reset: from the begin
    /// of the first turn that changed nothing to the next event on the card.
    pub fn idle(&self) -> Spent {
        self.polling.idle(self.spent())
    }
}
