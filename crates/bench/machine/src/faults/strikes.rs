//! Faults that strike some of a sequence, at a part of a node.

use super::{FaultKind, FaultValue, Faults, Rule, Which};
use des::{Random, Time};

/// Fault of one kind at one node: whom it strikes of what passes there, one after the other.
#[derive(Debug)]
pub struct Strikes {
    rules: Vec<Rule>,
    /// A stream of chances of its own: a fault changes nothing that another one draws.
    random: Random,
    passed: u64,
    struck: u64,
}

impl Strikes {
    /// Of this kind, whose values are shares, at node `nid`.
    pub fn of(faults: &Faults, kind: &FaultKind, nid: u32) -> Strikes {
        let rules = faults.on_node(nid).filter(|rule| rule.is(kind)).copied().collect();
        let place = files::digest(kind.name.as_bytes()).wrapping_add(u64::from(nid) << 1 | 1);
        let random = Random::new(Random::new(faults.seed ^ place).next_u64());
        Strikes { rules, random, passed: 0, struck: 0 }
    }

    /// The next one passes at `now`: value of the rule that strikes it, of several the first.
    pub fn next(&mut self, now: Time) -> Option<FaultValue> {
        self.passed += 1;
        let mut value = None;
        for rule in self.rules.iter().filter(|rule| rule.holds(now)) {
            let strikes = match rule.which() {
                Some(Which::Number(number)) => number == self.passed,
                Some(Which::Chance(chance)) => self.random.unit() < chance,
                None => false,
            };
            if strikes && value.is_none() {
                value = Some(rule.value);
            }
        }
        self.struck += u64::from(value.is_some());
        value
    }

    /// Number of those that it has struck.
    pub fn struck(&self) -> u64 {
        self.struck
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults::{FaultSite, INTERRUPT_LOST};

    fn faults(which: &[Which]) -> Faults {
        let rule = |which: &Which| Rule {
            kind: &INTERRUPT_LOST,
            value: FaultValue::Share(*which),
            place: FaultSite::Everywhere,
            from: Time(10),
            until: Time(1_000),
        };
        Faults { seed: 7, rules: which.iter().map(rule).collect() }
    }

    fn struck(strikes: &mut Strikes, times: impl Iterator<Item = u64>) -> Vec<u64> {
        times.filter(|at| strikes.next(Time(*at)).is_some()).collect()
    }

    #[test]
    fn numbers_count_all_that_pass_and_strike_within_their_time() {
        let faults = faults(&[Which::Number(3), Which::Number(12), Which::Number(1_500)]);
        let mut strikes = Strikes::of(&faults, &INTERRUPT_LOST, 0);
        assert_eq!(struck(&mut strikes, 0..2_000), [11]);
        assert_eq!(strikes.struck(), 1);
    }

    #[test]
    fn chances_are_a_nodes_own_and_those_of_others_do_not_count() {
        let (one, two) =
            (faults(&[Which::Chance(0.5)]), faults(&[Which::Chance(0.5), Which::Number(1)]));
        let of = |faults, nid| struck(&mut Strikes::of(faults, &INTERRUPT_LOST, nid), 10..1_000);
        let share = of(&one, 0).len();
        assert!((400..600).contains(&share), "{share}");
        assert_ne!(of(&one, 0), of(&one, 1));
        assert_eq!(of(&one, 0), of(&one, 0));
        let beside: Vec<u64> = of(&two, 0).into_iter().filter(|at| *at > 10).collect();
        let alone: Vec<u64> = of(&one, 0).into_iter().filter(|at| *at > 10).collect();
        assert_eq!(beside, alone, "a number draws nothing");
    }
}
