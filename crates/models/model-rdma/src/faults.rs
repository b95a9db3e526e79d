//! Faults of this model's machines: of lanes, and bugs of cards and driver.

mod bugs;
mod lanes;

pub use lanes::{Lanes, Struck};

use machine::faults::{FaultKind, Form, Harm, Scope};

/// All kinds.
pub const KINDS: &[&FaultKind] = &[
    &LANE_BITERROR,
    &LANE_CREDIT,
    &bugs::BUG_BAR,
    &bugs::BUG_STOP,
    &bugs::BUG_OMIT,
    &bugs::BUG_DOUBLE,
    &bugs::BUG_COMPLETION,
    &bugs::BUG_SETUP,
    &bugs::BUG_EMPTY_FIFO,
    &bugs::BUG_SKEW,
    &bugs::BUG_ATTRIBUTES,
    &bugs::BUG_DRIFT,
    &bugs::BUG_FIRST_CREDIT,
    &bugs::BUG_WRAP,
    &bugs::BUG_HEADER_CRC,
    &bugs::BUG_CREDIT,
    &bugs::BUG_CREDIT_FLIP,
    &bugs::BUG_ROUND_TRIP,
    &bugs::BUG_SECOND_LOOK,
    &bugs::BUG_LINE,
    &bugs::BUG_CROSSPOINT,
    &QUIZ,
];

/// Endings of runs in which packets or credits of lanes are lost.
const STARVED: &[&str] =
    &["deadlock: nothing in the machine moves any more", "credits that were lost", "is wrong"];

/// Bits that arrive wrong.
pub static LANE_BITERROR: FaultKind = FaultKind {
    name: "lane.biterror",
    value: Form::Share,
    scope: Scope::Nodes,
    what: "A bit of what comes over the lanes to a card arrives wrong: of each symbol of four \
           bytes with the chance, or of symbol #NUMBER of the card. Idle symbols are not \
           counted.",
    expected: "A header's CRC16 finds it, and the packet is lost: nobody but remote block I/O \
               sends it again, and whoever waits for it waits in a deadlock. A payload is in \
               memory before its CRC32 has come, which then raises no interrupt and counts an \
               error; who polls for it takes what is there. A credit with wrong parity is \
               discarded, as with lane.credit.",
    counter: "rx.symbols_spoilt, rx.header_errors, rx.payload_errors, rx.bond_errors",
    endings: STARVED,
    misleads: true,
    harm: Harm::None,
    example: "lane.biterror=1e-5@1",
};

/// Credits that are lost.
pub static LANE_CREDIT: FaultKind = FaultKind {
    name: "lane.credit",
    value: Form::Share,
    scope: Scope::Nodes,
    what: "Credits come to a card with a wrong bit, and are discarded for their parity.",
    expected: "Counts are cumulative: the next credit of the flow tells what a lost one would \
               have. Nothing but time, unless it was the last: then the flow waits for ever, \
               as nothing in the protocol sends a credit again, and after 20 ms the run ends \
               with a sentence that names the flow.",
    counter: "rx.symbols_spoilt, rx.credit_errors",
    endings: STARVED,
    misleads: false,
    harm: Harm::None,
    example: "lane.credit=#2@0",
};

/// A bug without its name.
pub static QUIZ: FaultKind = FaultKind {
    name: "quiz",
    value: Form::Seed,
    scope: Scope::Hardware,
    what: "One of the bugs bug.*, on node 0 or 1; the number says which. `sunstar faults --quiz \
           SEED` tells how to go on.",
    expected: "Something of what they do. `sunstar faults --quiz SEED --answer NAME --seen LINE` \
               checks an answer.",
    counter: "",
    endings: STARVED,
    misleads: true,
    harm: Harm::None,
    example: "quiz=7",
};
