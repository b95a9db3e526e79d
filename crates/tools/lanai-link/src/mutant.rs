//! Bugs that can be planted in the linker, to see that the tests find them (`tests/link/mutants.rs`). Only
//! a build with debug assertions has them; a release does not.

/// A bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutant {
    /// An address that does not fit its field is cut.
    CutsAddress,
    /// The upper five of 21 bits are not filled in.
    LosesUpperBits,
    /// The upper half of an address is rounded, as for a lower half with a sign.
    RoundsUpperHalf,
    /// Addends of addresses are left out.
    LosesAddend,
    /// Undefined symbols are at 0.
    UndefinedIsZero,
    /// The first of two definitions is taken.
    FirstWins,
    /// A weak definition does not give way.
    WeakWins,
    /// Sections begin where the last one ended.
    IgnoresAlignment,
    /// The image may reach into the stack.
    IgnoresStack,
    /// Debug information is not relocated.
    LosesLines,
}

#[cfg(debug_assertions)]
thread_local! {
    static MUTANT: std::cell::Cell<Option<Mutant>> = const { std::cell::Cell::new(None) };
}

/// Gives the linker this bug on this thread, or none.
#[cfg(debug_assertions)]
pub fn set_mutant(bug: Option<Mutant>) {
    MUTANT.set(bug);
}

/// True if it has this bug.
pub(crate) fn is_mutant(bug: Mutant) -> bool {
    #[cfg(debug_assertions)]
    return MUTANT.get() == Some(bug);
    #[cfg(not(debug_assertions))]
    {
        let _ = bug;
        false
    }
}
