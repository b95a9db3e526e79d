//! Operations that may fail: those that the network or the program itself has spoilt.

use crate::judge::{read, Judge};
use crate::ledger::Message;
use crate::types::{same, Wrong};

impl Judge {
    /// Checks that an operation may fail: something must have happened to its message.
    pub(crate) fn check_failure(
        &self,
        slot: usize,
        message: &Message,
        pieces: &[(u64, u64)],
    ) -> Result<(), Wrong> {
        let excused = self.ledger.is_lossy()
            || self.scattered
            || message.state().poisoned
            || self.refused(slot, pieces)
            || read(&*self.memory, self.space(slot), pieces).is_none();
        let what = || format!("ni_fail_type of {}", message.describe());
        same(
            "Portals 3.3 s3.11 (ni_fail_type)",
            what,
            &"PTL_NI_OK",
            &if excused { "PTL_NI_OK" } else { "PTL_NI_FAIL" },
        )
    }

    /// The program may not write to a place, which only shows when somebody does.
    fn refused(&self, slot: usize, pieces: &[(u64, u64)]) -> bool {
        let space = self.space(slot);
        pieces.iter().any(|&(start, length)| self.memory.refused(space, start, length))
    }
}
