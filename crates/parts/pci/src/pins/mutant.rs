//! Bugs that can be planted in the agents, to see that analyser and monitor find them (`tests/pins.rs`).

/// A bug at the pins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutant {
    /// A target drives the data of a read without the turn-around behind the address.
    NoTurnAround,
    /// A reading master goes on driving AD while the target does.
    TwoDrivers,
    /// PAR is odd.
    OddParity,
    /// PAR comes in the cycle of its AD.
    EarlyParity,
    /// A master does not heed STOP#.
    IgnoresStop,
    /// FRAME# is high a data phase too early.
    EarlyFrame,
    /// FRAME# stays low in the last data phase.
    LateFrame,
    /// FRAME# is never driven high before it is released.
    ReleasesLow,
    /// DEVSEL# falls when the master has given up.
    LateDevsel,
    /// TRDY# falls before DEVSEL#.
    EarlyTrdy,
    /// STOP# is released before FRAME# is high.
    BriefStop,
    /// A master takes the bus without GNT#.
    Ungranted,
    /// A master does not wait for the end of another's transaction.
    Impatient,
    /// IRDY# is high again before a data phase is over.
    UnsteadyIrdy,
    /// ACK64# is not asserted, and data come 64 bits wide.
    NoAck64,
    /// C/BE# has the lanes high active.
    ActiveHighLanes,
    /// Wrong parity is not reported.
    NoPerr,
    /// PERR# without an error.
    IdlePerr,
    /// A write's master floats AD in a data phase.
    FloatingData,
    /// A device answers to the address behind its region, too.
    WideDecode,
}
