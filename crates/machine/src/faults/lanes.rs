//! Faults of the lanes to one node's card.

use super::Which;
use des::{Random, Time};

/// Symbols that a fault of lanes strikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Struck {
    /// Symbols with contents.
    Symbols,
    /// Credits.
    Credits,
}

/// Fault of lanes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rule {
    pub struck: Struck,
    pub which: Which,
    pub from: Time,
    pub until: Time,
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
    /// Faults of node `nid`.
    pub(crate) fn new(seed: u64, nid: u32, rules: Vec<Rule>) -> Lanes {
        // Apart from what the same seed does to links and interrupts.
        let seed =
            Random::new(seed ^ u64::from(nid).wrapping_mul(0xd6e8_feb8_6659_fd93)).next_u64();
        Lanes { seed, rules, seen: [0; 2], spoilt: 0 }
    }

    /// Handles the next symbol or credit, which comes at `now`: if a fault strikes it, a random number that
    /// says how.
    pub fn next(&mut self, now: Time, struck: Struck) -> Option<u64> {
        let seen = &mut self.seen[struck as usize];
        *seen += 1;
        for (salt, rule) in self.rules.iter().enumerate() {
            if rule.struck != struck || now < rule.from || rule.until <= now {
                continue;
            }
            let key = *seen << 9 | (struck as u64) << 8 | salt as u64 & 0xFF;
            let mut random = Random::new(self.seed ^ key);
            let strikes = match rule.which {
                Which::Number(number) => number == *seen,
                Which::Chance(p) => random.unit() < p,
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

    #[test]
    fn rules_strike_what_they_name() {
        let rule = |struck, which| Rule { struck, which, from: Time(10), until: Time(900) };
        let rules = vec![
            rule(Struck::Credits, Which::Number(20)),
            rule(Struck::Symbols, Which::Chance(0.25)),
        ];
        let mut lanes = Lanes::new(1, 4, rules);
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
