//! Faults of one node's interrupts, between its network interface and its host.

use super::Which;
use des::{Duration, Random, Time};

/// Fault that strikes interrupts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rule {
    /// None if they are lost.
    pub late_by: Option<Duration>,
    pub which: Which,
    pub from: Time,
    pub until: Time,
}

/// A node's interrupt line, from its network interface to its host.
pub trait InterruptLine {
    /// The interface raises the line so that the host would see it at `at`; when the host sees it, `None` if
    /// never.
    fn raise(&mut self, at: Time) -> Option<Time>;
    /// Interrupts that were lost.
    fn lost(&self) -> u64 {
        0
    }
    /// Interrupts that came late.
    fn late(&self) -> u64 {
        0
    }
}

/// A line without faults.
pub struct FaultlessLine;

impl InterruptLine for FaultlessLine {
    fn raise(&mut self, at: Time) -> Option<Time> {
        Some(at)
    }
}

/// Fate of an interrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It arrives in time.
    Arrives,
    /// It arrives later by this.
    Late(Duration),
    /// It never arrives.
    Lost,
}

impl Rule {
    /// Number of the kind, for the random numbers.
    fn kind(&self) -> u64 {
        match self.late_by {
            Some(_) => 0,
            None => 1,
        }
    }
}

const KINDS: usize = 2;

/// A line with faults, and counts of their effects.
#[derive(Clone, Debug)]
pub(crate) struct FaultyLine {
    seed: u64,
    /// Rules, losses first, each with the salt of its random numbers: its kind, and its number among the
    /// rules of that kind. So one kind of fault does not change the other's random numbers.
    rules: Vec<(Rule, u64)>,
    /// Interrupts so far.
    number: u64,
    /// Interrupts that were lost.
    lost: u64,
    /// Interrupts that came late.
    late: u64,
}

impl InterruptLine for FaultyLine {
    fn raise(&mut self, at: Time) -> Option<Time> {
        match self.next(at) {
            Fate::Arrives => Some(at),
            Fate::Late(by) => Some(at + by),
            Fate::Lost => None,
        }
    }
    fn lost(&self) -> u64 {
        self.lost
    }
    fn late(&self) -> u64 {
        self.late
    }
}

impl FaultyLine {
    /// Faults of node `nid`.
    pub(crate) fn new(seed: u64, nid: u32, rules: Vec<Rule>) -> FaultyLine {
        // Apart from what the same seed does to links.
        let seed =
            Random::new(seed ^ u64::from(nid).wrapping_mul(0x9fb2_1c65_1e98_df25)).next_u64();
        let mut told = [0; KINDS];
        let salted = rules.into_iter().map(|rule| {
            let told = &mut told[rule.kind() as usize];
            let salt = rule.kind() + KINDS as u64 * *told;
            *told += 1;
            (rule, salt)
        });
        let mut rules: Vec<_> = salted.collect();
        rules.sort_by_key(|(rule, _)| rule.late_by.is_some());
        FaultyLine { seed, rules, number: 0, lost: 0, late: 0 }
    }
    /// Decides the fate of the next interrupt, which reaches the host at `now`.
    fn next(&mut self, now: Time) -> Fate {
        self.number += 1;
        for (rule, salt) in &self.rules {
            let strikes = match rule.which {
                Which::Number(number) => number == self.number,
                Which::Chance(p) => {
                    let seed = self.seed ^ (self.number << 8 | salt);
                    Random::new(seed).unit() < p
                }
            };
            if !strikes || now < rule.from || rule.until <= now {
                continue;
            }
            return match rule.late_by {
                None => {
                    self.lost += 1;
                    Fate::Lost
                }
                Some(by) => {
                    self.late += 1;
                    Fate::Late(by)
                }
            };
        }
        Fate::Arrives
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(late_by: Option<Duration>, which: Which) -> Rule {
        Rule { late_by, which, from: Time(10), until: Time(900) }
    }

    #[test]
    fn rules_strike_by_number_chance_and_time() {
        let rules =
            vec![rule(None, Which::Number(20)), rule(Some(Duration(3)), Which::Chance(0.25))];
        let mut line = FaultyLine::new(1, 4, rules);
        let fates: Vec<Fate> = (0..1000).map(|at| line.next(Time(at))).collect();
        assert!(fates[..10].iter().chain(&fates[900..]).all(|fate| *fate == Fate::Arrives));
        assert_eq!(fates[19], Fate::Lost);
        assert_eq!((line.lost, fates.iter().filter(|fate| **fate == Fate::Lost).count()), (1, 1));
        assert!((150..300).contains(&line.late), "{}", line.late);
    }

    /// Numbers of the late ones of the first thousand interrupts.
    fn late(rules: &[Rule]) -> Vec<u64> {
        let mut line = FaultyLine::new(1, 4, rules.to_vec());
        (0..1000).filter(|at| matches!(line.next(Time(*at)), Fate::Late(_))).collect()
    }

    #[test]
    fn chances_of_one_kind_do_not_depend_on_the_other() {
        let some = rule(Some(Duration(3)), Which::Chance(0.25));
        let alone = late(&[some]);
        for lost in [rule(None, Which::Chance(0.0)), rule(None, Which::Number(1))] {
            assert_eq!(late(&[lost, some]), alone);
            assert_eq!(late(&[some, lost]), alone);
        }
        // One that is lost is not late, whichever was told first.
        let half = rule(None, Which::Chance(0.5));
        let left = late(&[half, some]);
        assert_eq!(late(&[some, half]), left);
        assert!(left.len() < alone.len() && left.iter().all(|number| alone.contains(number)));
        // The same kind twice strikes others too.
        assert!(late(&[some, some]).len() > alone.len());
    }
}
