//! Faults of this model's machines: a DMA engine that is late.

use des::{Duration, Random, Time};
use machine::faults::{FaultKind, FaultValue, Faults, Form, Harm, Rule, Scope, Which};

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
    random: Random,
    rules: Vec<Rule>,
    jobs: u64,
    late: u64,
    /// Some engine of the machine is late.
    asked: bool,
}

impl Lateness {
    /// Faults of the engine of node `nid`.
    pub(crate) fn of(faults: &Faults, nid: u32) -> Lateness {
        let rules = faults.on_node(nid).filter(|rule| rule.is(&ENGINE_LATE)).copied().collect();
        // Apart from what the same seed does to interrupts.
        let seed = faults.seed ^ u64::from(nid).wrapping_mul(0x8ebc_6af0_9c88_c6e3);
        let asked = faults.rules().iter().any(|rule| rule.is(&ENGINE_LATE));
        Lateness { random: Random::new(seed), rules, jobs: 0, late: 0, asked }
    }

    /// Number of jobs that were late, on machines where some may be.
    pub(crate) fn counter(&self) -> Option<(&'static str, u64)> {
        self.asked.then_some(("engine.late", self.late))
    }

    /// By how much the next job is late, which starts now.
    pub(crate) fn next(&mut self, now: Time) -> Duration {
        self.jobs += 1;
        let mut late = Duration::ZERO;
        for rule in self.rules.iter().filter(|rule| rule.holds(now)) {
            let FaultValue::ShareTime(which, by) = rule.value else { continue };
            let strikes = match which {
                Which::Number(number) => number == self.jobs,
                Which::Chance(chance) => self.random.unit() < chance,
            };
            if strikes {
                late += by;
            }
        }
        self.late += u64::from(late > Duration::ZERO);
        late
    }
}
