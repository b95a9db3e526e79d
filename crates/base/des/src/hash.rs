//! The trace hash: one number over all events.

use crate::Time;

/// FNV-1a over (time, what) pairs. Equal runs give equal hashes; it is not meant to resist an adversary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceHash(u64);

impl Default for TraceHash {
    fn default() -> Self {
        TraceHash(0xcbf2_9ce4_8422_2325)
    }
}

impl TraceHash {
    /// Takes in one 64-bit word.
    pub fn word(&mut self, word: u64) {
        // A word at a time instead of a byte: weaker mixing, eight times fewer multiplications.
        self.0 = (self.0 ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23);
    }
    /// Takes in an event at `at`.
    pub fn event(&mut self, at: Time, what: u64) {
        self.word(at.0);
        self.word(what);
    }
    /// Value of the hash.
    pub fn value(self) -> u64 {
        self.0
    }
}
