//! Bugs that can be planted in the library, to see that the judge finds them (`tests/mutants.rs`). Only a
//! build with debug assertions has them; a release does not.

/// A bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutant {
    /// PtlMEAttach puts an entry that should be the first at the end of the list.
    HeadIsTail,
    /// Match bits are compared only where they should be ignored.
    IgnoresTheWrongBits,
    /// A descriptor that truncates refuses a message that is too long nevertheless.
    NeverTruncates,
    /// The local offset stays where it is.
    OffsetStays,
    /// A threshold is one operation too long.
    CountsTooLate,
    /// No START event is posted.
    NoStart,
    /// No UNLINK event is posted.
    NoUnlink,
    /// PTL_EQ_DROPPED is never told.
    DropsInSilence,
    /// Puts are acknowledged although the descriptor says never.
    AcknowledgesAlways,
    /// Puts of more than 12 bytes are not acknowledged.
    AcknowledgesLittle,
    /// A reply to a region begins at the descriptor's first byte.
    ReplyAtStart,
    /// An atomic add forgets the carry out of the lowest byte.
    LosesCarry,
    /// Stores of the kernel for a process are reported as failed.
    StoresInVain,
    /// Recovery: a message is taken whatever its number is.
    TakesAnyNumber,
    /// Recovery: what is sent again begins behind the message that was refused.
    RepeatsTheNext,
    /// Recovery: a peer that was refused is not called.
    LosesCall,
    /// Recovery: a sender is not told that its message was taken.
    LosesTaken,
}

#[cfg(debug_assertions)]
thread_local! {
    static MUTANT: std::cell::Cell<Option<Mutant>> = const { std::cell::Cell::new(None) };
}

/// Gives the libraries on this thread this bug, or none.
#[cfg(debug_assertions)]
pub fn set_mutant(bug: Option<Mutant>) {
    MUTANT.set(bug);
}

/// True if the library has this bug.
#[inline(always)]
pub(crate) fn is_mutant(bug: Mutant) -> bool {
    #[cfg(debug_assertions)]
    return MUTANT.get() == Some(bug);
    #[cfg(not(debug_assertions))]
    {
        let _ = bug;
        false
    }
}
