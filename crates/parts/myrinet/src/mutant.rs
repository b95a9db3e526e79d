//! Bugs that can be planted in card, links and switches, to see that the tests find them
//! (`tests/whole/mutants.rs`). Only a build with debug assertions has them; a release does not.

/// A bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutant {
    /// A switch leaves the route byte where it is.
    RouteByteStays,
    /// A switch passes the CRC-8 on as it came.
    OldCrc,
    /// A switch makes the CRC-8 anew without looking at the one that came: damage is healed.
    HealsCrc,
    /// STOP is sent a slot late.
    LateStop,
    /// GO is never sent.
    NoGo,
    /// A packet's end does not free the switch's output.
    KeepsOutput,
    /// A switch takes the route byte as the output's own number.
    AbsoluteRoute,
    /// The CRC-32 covers the routing header.
    CoversRoute,
    /// A received CRC-32 is not looked at.
    TrustsCrc32,
    /// The receive interface writes beyond its limit.
    IgnoresLimit,
    /// A DMA chain stops after its first block.
    OneBlock,
    /// DMA loses the upper half of the host's address.
    LosesHigh,
    /// The interrupt's mask is not looked at.
    IgnoresMask,
    /// A silent cable is not noticed.
    Deaf,
}

#[cfg(debug_assertions)]
thread_local! {
    static MUTANT: std::cell::Cell<Option<Mutant>> = const { std::cell::Cell::new(None) };
}

/// Gives cards, links and switches on this thread this bug, or none.
#[cfg(debug_assertions)]
pub fn set_mutant(bug: Option<Mutant>) {
    MUTANT.set(bug);
}

/// There are no bugs in a release.
#[cfg(not(debug_assertions))]
pub fn set_mutant(_: Option<Mutant>) {}

/// True if it has this bug.
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
