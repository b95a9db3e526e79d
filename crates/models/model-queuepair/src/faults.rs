//! Faults of this model's machines: frames that the link loses, and doorbells that do not reach the card.

use machine::faults::{FaultKind, Faults, Form, Harm, Scope, Strikes};

/// All kinds.
pub(crate) static KINDS: &[&FaultKind] = &[&SEGMENT_LOST, &ACKNOWLEDGEMENT_LOST, &DOORBELL_LOST];

/// Endings of runs in which a card has sent something as often as it may.
const GIVEN_UP: &[&str] = &["gave up on node"];

/// A fault of which nothing but time may come, unless it strikes again and again.
const fn lost(name: &'static str, example: &'static str) -> FaultKind {
    FaultKind {
        name,
        value: Form::Share,
        scope: Scope::Nodes,
        what: "",
        expected: "",
        counter: "",
        endings: GIVEN_UP,
        misleads: false,
        harm: Harm::None,
        example,
    }
}

pub(crate) static SEGMENT_LOST: FaultKind = FaultKind {
    what: "Segments that leave a card are lost on the link.",
    expected:
        "Nothing but time: after queuepair.timeout without an acknowledgement the card sends \
               all from the lost one on again, and the message's step \"lost segments\" has the \
               time. After queuepair.retries in a row the run ends with a sentence that names both \
               nodes.",
    counter: "link.segments_lost, tx.resent, rx.out_of_order",
    ..lost("segment.lost", "segment.lost=#3@0")
};

pub(crate) static ACKNOWLEDGEMENT_LOST: FaultKind = FaultKind {
    what: "Acknowledgements that leave a card are lost on the link.",
    expected:
        "Less than that: the next acknowledgement has what the lost one had. Only behind the \
               last one segments are sent again, which the receiver has and drops.",
    counter: "link.acknowledgements_lost, tx.resent, rx.out_of_order",
    ..lost("acknowledgement.lost", "acknowledgement.lost=0.1@1")
};

pub(crate) static DOORBELL_LOST: FaultKind = FaultKind {
    what: "Stores to the register with the tail of the submission ring do not reach the card.",
    expected:
        "The next store has the index that the lost one had, so the card takes both commands. \
               If none comes, the run ends in a deadlock.",
    counter: "doorbells_lost",
    endings: &["deadlock: nothing in the machine moves any more"],
    harm: Harm::Stalls,
    ..lost("doorbell.lost", "doorbell.lost=#4@0")
};

/// Faults of a card: those of the frames that it sends, and of its doorbell.
#[derive(Debug)]
pub(crate) struct Losses {
    pub segments: Strikes,
    pub acknowledgements: Strikes,
    pub doorbells: Strikes,
}

impl Losses {
    pub fn of(faults: &Faults, nid: u32) -> Losses {
        let of = |kind| Strikes::of(faults, kind, nid);
        Losses {
            segments: of(&SEGMENT_LOST),
            acknowledgements: of(&ACKNOWLEDGEMENT_LOST),
            doorbells: of(&DOORBELL_LOST),
        }
    }

    pub fn counters(&self) -> [(&'static str, u64); 3] {
        [
            ("link.segments_lost", self.segments.struck()),
            ("link.acknowledgements_lost", self.acknowledgements.struck()),
            ("doorbells_lost", self.doorbells.struck()),
        ]
    }
}
