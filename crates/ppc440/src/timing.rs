//! When instructions issue.

/// Parameters of the timing model, in core cycles unless said otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Result latency of a simple integer instruction (I or J pipe).
    pub simple: u8,
    /// Result latency of a load that hits: a use can issue this many cycles after the load.
    pub load: u8,
    /// Latency of the updated base register of a load or store with update.
    pub update: u8,
    /// From a compare or record form to a use of the condition register field.
    pub compare: u8,
    /// Result latency of a 32 x 32 bit multiplication.
    pub multiply: u8,
    /// Result latency of a 16-bit multiplication and of a multiply-accumulate.
    pub multiply_half: u8,
    /// Result latency of a division.
    pub divide: u8,
    /// Cycles for which a division occupies the I pipe.
    pub divide_busy: u8,
    /// From a move to LR or CTR to a use.
    pub move_to_branch: u8,
    /// From a move from LR, CTR, CR, XER, MSR or another SPR to a use.
    pub move_from_special: u8,
    /// From mtcrf to a use of the condition register.
    pub move_to_cr: u8,
    /// From a taken branch, predicted right, to the next instruction, beyond the one cycle of its issue.
    pub taken: u8,
    /// The same if the BTAC holds the branch.
    pub taken_btac: u8,
    /// From a mispredicted branch to the next instruction.
    pub mispredict: u8,
    /// From a context-synchronising instruction or an exception to the next instruction.
    pub synchronise: u8,
    /// Entries of the branch history table; a power of two.
    pub bht_entries: u16,
    /// Entries of each of the two arrays (even, odd) of the BTAC; a power of two, at most 8.
    pub btac_entries: u8,
    /// Line fills that the data cache can have outstanding, at most 4.
    pub line_fills: u8,
    /// Uncached or written-back stores outstanding before the next one waits, at most 8.
    pub write_slots: u8,
}
