//! Faults of the lanes to one node's card.

use super::{LANE_BITERROR, LANE_CREDIT};
use des::{Random, Time};
use machine::faults::{Faults, Rule, Which};

/// Symbols that a fault of lanes strikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Struck {
    /// Symbols with contents.
    Symbols,
    /// Credits.
    Credits,
}

/// Faults of one card's lanes, and the number of symbols that they have spoilt.
#[derive(Clone, Debug)]
pub struct Lanes {
    seed: u64,
    rules: Vec<Rule>,
    /// Symbols and credits so far.
    seen: [u64; 2],
    /// Symbols and credits that were spoilt.
    pub spoilt: u64,
}

impl Lanes {
    /// Faults of the lanes to the card of node `nid`, if they have any.
    pub fn of(faults: &Faults, nid: u32) -> Option<Lanes> {
        let own = |rule: &&Rule| rule.is(&LANE_BITERROR) || rule.is(&LANE_CREDIT);
        let rules: Vec<Rule> = faults.on_node(nid).filter(own).copied().collect();
        // Apart from what the same seed does to links and interrupts.
        let seed = Random::new(faults.seed ^ u64::from(nid).wrapping_mul(0xd6e8_feb8_6659_fd93))
            .next_u64();
        (!rules.is_empty()).then_some(Lanes { seed, rules, seen: [0; 2], spoilt: 0 })
    }

    /// Handles the next symbol or credit, which comes at `now`: if a fault strikes it, a random number that
    /// says how.
    pub fn next(&mut self, now: Time, struck: Struck) -> Option<u64> {
        let seen = &mut self.seen[struck as usize];
        *seen += 1;
        let kind = match struck {
            Struck::Symbols => &LANE_BITERROR,
            Struck::Credits => &LANE_CREDIT,
        };
        for (salt, rule) in self.rules.iter().enumerate() {
            if !rule.holds(now) || !rule.is(kind) {
                continue;
            }
            let key = *seen << 9 | (struck as u64) << 8 | salt as u64 & 0xFF;
            let mut random = Random::new(self.seed ^ key);
            let strikes = match rule.which() {
                None => false,
                Some(Which::Number(number)) => number == *seen,
                Some(Which::Chance(p)) => random.unit() < p,
            };
            if strikes {
                self.spoilt += 1;
                return Some(random.next_u64());
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::faults::parse_of_hosts;

    #[test]
    fn rules_strike_what_they_name() {
        let when = "@4@10ps..900ps";
        let texts = ["lane.credit=#20", "lane.biterror=0.25"].map(|fault| format!("{fault}{when}"));
        let faults = parse_of_hosts(&texts, 1, 5, Time::ZERO, crate::MODEL.fault_kinds()).unwrap();
        assert!(Lanes::of(&faults, 3).is_none());
        let mut lanes = Lanes::of(&faults, 4).unwrap();
        let mut spoilt = [Vec::new(), Vec::new()];
        for at in 0..1000 {
            for struck in [Struck::Symbols, Struck::Credits] {
                let strikes = lanes.next(Time(at), struck);
                spoilt[struck as usize].extend(strikes.map(|_| at));
            }
        }
        assert_eq!(spoilt[1], [19]);
        assert!((150..300).contains(&spoilt[0].len()), "{spoilt:?}");
        assert!(spoilt[0].iter().all(|at| (10..900).contains(at)));
        assert_eq!(lanes.spoilt as usize, spoilt[0].len() + 1);
    }
}
