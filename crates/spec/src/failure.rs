//! Which operations may fail: those that the network or the program itself has spoilt.

use crate::judge::{read, Judge, Open};
use crate::ledger::Message;
use crate::types::{same, Wrong};
use abi::MessageId;

impl Judge {
    /// Whether an operation may fail: something must have happened to its message.
    pub(crate) fn check_failure(
        &self,
        seat: usize,
        message: &Message,
        pieces: &[(u64, u64)],
    ) -> Result<(), Wrong> {
        if self.refused(seat, pieces) || self.refused_another(message.id) {
            self.poison(message);
        }
        let excused = self.ledger.is_lossy()
            || self.scattered
            || message.state().poisoned
            || read(&*self.memory, self.space(seat), pieces).is_none();
        let what = || format!("ni_fail_type of {}", message.describe());
        same(
            "Portals 3.3 s3.11 (ni_fail_type)",
            what,
            &"PTL_NI_OK",
            &if excused { "PTL_NI_OK" } else { "PTL_NI_FAIL" },
        )
    }

    /// The program may not write to a place, which only shows when somebody does.
    fn refused(&self, seat: usize, pieces: &[(u64, u64)]) -> bool {
        let space = self.space(seat);
        pieces.iter().any(|&(start, length)| self.memory.refused(space, start, length))
    }

    /// What takes part in a message's operation, on this node.
    fn parties(&self, id: MessageId) -> impl Iterator<Item = (usize, &Open)> {
        let parties = self.open.iter().filter(move |((_, key), _)| key.message == id);
        parties.map(|((seat, _), open)| (*seat, open))
    }

    fn refused_another(&self, id: MessageId) -> bool {
        self.parties(id).any(|(seat, open)| self.refused(seat, &open.grant.pieces))
    }

    /// The operation of a message, and of its answer on this node, may fail.
    fn poison(&self, message: &Message) {
        message.state().poisoned = true;
        for (_, open) in self.parties(message.id) {
            open.message.state().poisoned = true;
        }
    }
}
