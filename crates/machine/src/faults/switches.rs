//! Outputs of switches that are stuck.

use super::kinds::{FaultKind, Form, Scope};
use super::{Faults, What, Which};
use des::{Duration, Random, Time};

/// The kind.
pub(super) const STUCK: FaultKind = FaultKind {
    name: "switch.stuck",
    value: Form::ShareMaybeTime,
    scope: Scope::Nodes,
    what:
        "An output of a switch is stuck from the packet on that has just got it, for the time, or \
           for ever without one: of packets at each output with the chance, or packet #NUMBER of \
           each. With @NODE only outputs to that node's card. Only machines of model myrinet have \
           such switches.",
    expected: "Packets for that output wait before it, and what is behind them, back to the cards \
               that send. Nothing is lost, unless the output is stuck for ever: then the run ends \
               in a deadlock that names switch and port, if anything needs it.",
    counter: "switches[].counters.stuck",
    endings: &["deadlock: nothing in the machine moves any more"],
    misleads: false,
    example: "switch.stuck=0.01:50us@1",
};

/// A rule for an output.
#[derive(Clone, Copy, Debug)]
struct Rule {
    which: Which,
    /// For ever if there is none.
    lasts: Option<Duration>,
    from: Time,
    until: Time,
}

/// Output of a switch that may be stuck.
#[derive(Clone, Debug)]
pub struct StuckOutput {
    random: Random,
    rules: Vec<Rule>,
    /// Packets so far.
    packets: u64,
    /// Times that it was stuck.
    pub times: u64,
    /// Time from which it works.
    pub works: Time,
}

impl StuckOutput {
    /// A packet gets it at `now`: the time from which it works.
    pub fn packet(&mut self, now: Time) -> Time {
        self.packets += 1;
        for rule in self.rules.iter().filter(|rule| rule.from <= now && now < rule.until) {
            let strikes = match rule.which {
                Which::Number(number) => number == self.packets,
                Which::Chance(p) => self.random.unit() < p,
            };
            if strikes {
                self.times += 1;
                self.works = self.works.max(rule.lasts.map_or(Time::NEVER, |lasts| now + lasts));
            }
        }
        self.works
    }
}

impl Faults {
    /// True if outputs of switches may be stuck.
    pub fn sticks(&self) -> bool {
        self.nodes.iter().any(|rule| matches!(rule.what, What::Stuck(..)))
    }

    /// Output `port` of a switch, which leads to the card of `node` or to another switch, if it may be stuck.
    pub fn output(&self, switch: u32, port: u32, node: Option<u32>) -> Option<StuckOutput> {
        let own = self.nodes.iter().filter(|rule| rule.node.is_none() || rule.node == node);
        let rule = |rule: &super::Rule| match rule.what {
            What::Stuck(which, lasts) => {
                Some(Rule { which, lasts, from: rule.from, until: rule.until })
            }
            _ => None,
        };
        let rules: Vec<Rule> = own.filter_map(rule).collect();
        let place = u64::from(switch) << 32 | u64::from(port);
        let seed = self.seed ^ place.wrapping_add(1).wrapping_mul(0xd6e8_feb8_6659_fd93);
        let (random, works) = (Random::new(seed), Time::ZERO);
        (!rules.is_empty()).then_some(StuckOutput { random, rules, packets: 0, times: 0, works })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(which: Which, lasts: Option<Duration>) -> Faults {
        let what = What::Stuck(which, lasts);
        let rule = super::super::Rule { what, node: Some(3), from: Time(10), until: Time(5000) };
        Faults { seed: 5, nodes: vec![rule], ..Faults::default() }
    }

    #[test]
    fn an_output_is_stuck_from_its_packet_on() {
        let faults = faults(Which::Number(2), Some(Duration(100)));
        assert!(faults.output(0, 1, Some(2)).is_none() && faults.output(0, 1, None).is_none());
        let mut output = faults.output(0, 1, Some(3)).unwrap();
        let works: Vec<Time> = [20, 30, 40, 200].map(|at| output.packet(Time(at))).into();
        assert_eq!(works, [0, 130, 130, 130].map(Time));
        assert_eq!(output.times, 1);
    }

    #[test]
    fn without_a_time_it_is_stuck_for_ever() {
        let mut output = faults(Which::Chance(1.0), None).output(0, 1, Some(3)).unwrap();
        assert_eq!([5, 10].map(|at| output.packet(Time(at))), [Time::ZERO, Time::NEVER]);
    }

    #[test]
    fn each_output_has_chances_of_its_own() {
        let faults = faults(Which::Chance(0.1), Some(Duration(1)));
        let struck = |port| -> Vec<u64> {
            let mut output = faults.output(0, port, Some(3)).unwrap();
            let strikes = |at: &u64| output.packet(Time(*at)) == Time(at + 1);
            (10..1010).filter(strikes).collect()
        };
        assert!((60..140).contains(&struck(1).len()), "{}", struck(1).len());
        assert_ne!(struck(1), struck(2));
    }
}
