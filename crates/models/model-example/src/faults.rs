//! Faults of this model's machines: a DMA engine that is late.

use des::{Duration, Time};
use machine::faults::{FaultKind, FaultValue, Faults, Form, Harm, Scope, Strikes};

/// All kinds.
pub(crate) static KINDS: &[&FaultKind] = &[&ENGINE_LATE];

static ENGINE_LATE: FaultKind = FaultKind {
    name: "engine.late",
    value: Form::ShareTime,
    scope: Scope::Nodes,
    what:
        "Jobs of the DMA engine take longer by the time: a payload that it reads, or one that it \
           writes.",
    expected: "Nothing but time, in the sender's step \"TX DMA\" or the receiver's \"kernel \
               Portals, receive\"; what is behind the job waits.",
    counter: "engine.late",
    endings: &[],
    misleads: false,
    harm: Harm::None,
    example: "engine.late=0.1:5us@1",
};

/// Faults of one engine.
pub(crate) struct Lateness {
    strikes: Strikes,
    /// Some engine of the machine is late.
    asked: bool,
}

impl Lateness {
    /// Faults of the engine of node `nid`.
    pub(crate) fn of(faults: &Faults, nid: u32) -> Lateness {
        let asked = faults.rules().iter().any(|rule| rule.is(&ENGINE_LATE));
        Lateness { strikes: Strikes::of(faults, &ENGINE_LATE, nid), asked }
    }

    /// Number of jobs that were late, on machines where some may be.
    pub(crate) fn counter(&self) -> Option<(&'static str, u64)> {
        self.asked.then_some(("engine.late", self.strikes.struck()))
    }

    /// By how much the next job is late, which starts now.
    pub(crate) fn next(&mut self, now: Time) -> Duration {
        match self.strikes.next(now) {
            Some(FaultValue::ShareTime(_, by)) => by,
            _ => Duration::ZERO,
        }
    }
}
