//! Faults on request, as the command line writes them (`sunstar faults`, docs/reference/faults.md): grammar,
//! chances, and those of hosts and interrupt lines. Kinds of the parts of a machine are its model's, which
//! gives them to its parts.

mod fault_error;
pub mod hidden;
mod interrupts;
mod kinds;
mod network;
mod parse;
mod strikes;

pub use fault_error::{FaultError, WrongFault};
use interrupts::FaultyLine;
pub use interrupts::{FaultlessLine, InterruptLine};
pub use kinds::{FaultKind, Form, Harm, Scope, OF_ALL};
pub use network::Network;
pub use parse::{parse, parse_of_hosts, set, ModelFaults};
pub use strikes::Strikes;

use des::{Duration, Time};
use kinds::{HOST_PAUSE, HOST_SLOW, INTERRUPT_LATE, INTERRUPT_LOST, INTERRUPT_STUCK};

/// All faults that the user asked for.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    /// Seed of all chances.
    pub seed: u64,
    rules: Vec<Rule>,
}

/// A fault, and where and when it strikes.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Its kind.
    pub kind: &'static FaultKind,
    /// Its value.
    pub value: FaultValue,
    /// Place; of kinds whose value is a place, that place.
    pub place: FaultSite,
    /// Time from which it strikes.
    pub from: Time,
    /// End of that time.
    pub until: Time,
}

/// Value of a fault, by its [`Form`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FaultValue {
    /// Some of a sequence.
    Share(Which),
    /// Some of a sequence, each for this time.
    ShareTime(Which, Duration),
    /// A node, or a link between two.
    Place,
    /// A level of a line: true if high.
    Level(bool),
    /// A factor, in thousandths.
    Factor(u64),
    /// A time, once or in each period.
    Pause {
        /// Length.
        length: Duration,
        /// Time from one to the next.
        period: Option<Duration>,
    },
    /// A number.
    Number(u32),
}

/// Selection from a sequence of things, or of bits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Which {
    /// Each one, with this probability.
    Chance(f64),
    /// The one with this number, from 1; of a packet, one bit of it.
    Number(u64),
}

/// Place of a fault.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FaultSite {
    /// Everywhere.
    #[default]
    Everywhere,
    /// A node, or the links that leave it.
    Node(u32),
    /// The link between two neighbours, both ways.
    Between(u32, u32),
}

impl Rule {
    /// True if it is of that kind.
    pub fn is(&self, kind: &FaultKind) -> bool {
        self.kind.name == kind.name
    }

    /// Selection that it strikes, if its value is a share.
    pub fn which(&self) -> Option<Which> {
        match self.value {
            FaultValue::Share(which) | FaultValue::ShareTime(which, _) => Some(which),
            _ => None,
        }
    }

    /// True if it strikes at `now`.
    pub fn holds(&self, now: Time) -> bool {
        self.from <= now && now < self.until
    }
}

impl Faults {
    /// All rules, in the order in which they were given.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Rules for a node, or for all.
    pub fn on_node(&self, nid: u32) -> impl Iterator<Item = &Rule> {
        let own = move |place| place == FaultSite::Everywhere || place == FaultSite::Node(nid);
        self.rules.iter().filter(move |rule| own(rule.place))
    }

    /// Number that was given for a kind on a node: the last one for the node, else the last one for all;
    /// without a node, that for all.
    pub fn number(&self, kind: &FaultKind, nid: Option<u32>) -> Option<u32> {
        let last = |place| {
            let here = self.rules.iter().rev().filter(|rule| rule.is(kind));
            here.filter(|rule| rule.place == place).find_map(|rule| match rule.value {
                FaultValue::Number(number) => Some(number),
                _ => None,
            })
        };
        nid.and_then(|nid| last(FaultSite::Node(nid))).or_else(|| last(FaultSite::Everywhere))
    }

    /// Time from which a fault of that kind, which has no value but its place, strikes a node.
    pub fn since(&self, kind: &FaultKind, nid: u32) -> Option<Time> {
        self.on_node(nid).filter(|rule| rule.is(kind)).map(|rule| rule.from).min()
    }

    /// Speed of a node's host over time.
    pub fn pace(&self, nid: u32) -> host::Pace {
        let spells = self.on_node(nid).filter_map(|rule| {
            let speed = match rule.value {
                FaultValue::Factor(thousandths) if rule.is(&HOST_SLOW) => {
                    host::Speed::Slow(thousandths)
                }
                FaultValue::Pause { length, period } if rule.is(&HOST_PAUSE) => {
                    host::Speed::Rests { length, period }
                }
                _ => return None,
            };
            Some(host::Spell { from: rule.from, until: rule.until, speed })
        });
        host::Pace::new(spells.collect())
    }

    /// A node's interrupt line, with the faults that it was asked to have.
    pub fn interrupt_line(&self, nid: u32) -> Box<dyn InterruptLine> {
        let rules = self.interrupt_rules(nid);
        match rules.is_empty() {
            true => Box::new(FaultlessLine),
            false => Box::new(FaultyLine::new(self.seed, nid, rules)),
        }
    }

    fn interrupt_rules(&self, nid: u32) -> Vec<interrupts::Rule> {
        self.on_node(nid)
            .filter_map(|rule| {
                let (late_by, which) = match rule.value {
                    FaultValue::Share(which) if rule.is(&INTERRUPT_LOST) => (None, which),
                    FaultValue::ShareTime(which, by) if rule.is(&INTERRUPT_LATE) => {
                        (Some(by), which)
                    }
                    FaultValue::Level(false) if rule.is(&INTERRUPT_STUCK) => {
                        (None, Which::Chance(1.0))
                    }
                    _ => return None,
                };
                Some(interrupts::Rule { late_by, which, from: rule.from, until: rule.until })
            })
            .collect()
    }

    /// Time from which the interrupt line of a node is stuck high.
    pub fn stuck_since(&self, nid: u32) -> Option<Time> {
        let high =
            |rule: &&Rule| rule.is(&INTERRUPT_STUCK) && rule.value == FaultValue::Level(true);
        self.on_node(nid).filter(high).map(|rule| rule.from).min()
    }

    /// True if messages may be lost, damaged, doubled or out of order.
    pub fn loses(&self) -> bool {
        self.rules.iter().any(|rule| rule.kind.harm == Harm::Loses)
    }

    /// True if messages may stay on their way for ever.
    pub fn stalls(&self) -> bool {
        let ends = |value| matches!(value, FaultValue::ShareTime(..) | FaultValue::Level(true));
        self.rules.iter().any(|rule| rule.kind.harm == Harm::Stalls && !ends(rule.value))
    }
}
