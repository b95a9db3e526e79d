//! Outputs of switches that are stuck.

use super::SWITCH_STUCK;
use des::{Random, Time};
use machine::faults::{FaultSite, FaultValue, Faults, Rule, Which};

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
        for rule in self.rules.iter().filter(|rule| rule.holds(now)) {
            let strikes = match rule.which() {
                None => false,
                Some(Which::Number(number)) => number == self.packets,
                Some(Which::Chance(p)) => self.random.unit() < p,
            };
            if strikes {
                self.times += 1;
                let works = match rule.value {
                    FaultValue::ShareTime(_, lasts) => now + lasts,
                    _ => Time::NEVER,
                };
                self.works = self.works.max(works);
            }
        }
        self.works
    }
}

impl StuckOutput {
    /// Output `port` of a switch, which leads to the card of `node` or to another switch, if it may be stuck.
    pub fn of(faults: &Faults, switch: u32, port: u32, node: Option<u32>) -> Option<StuckOutput> {
        let here = |place| match place {
            FaultSite::Everywhere => true,
            FaultSite::Node(own) => node == Some(own),
            FaultSite::Between(..) => false,
        };
        let own = |rule: &&Rule| rule.is(&SWITCH_STUCK) && here(rule.place);
        let rules: Vec<Rule> = faults.rules().iter().filter(own).copied().collect();
        let place = u64::from(switch) << 32 | u64::from(port);
        let seed = faults.seed ^ place.wrapping_add(1).wrapping_mul(0xd6e8_feb8_6659_fd93);
        let (random, works) = (Random::new(seed), Time::ZERO);
        (!rules.is_empty()).then_some(StuckOutput { random, rules, packets: 0, times: 0, works })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::faults::parse_of_hosts;

    fn faults(value: &str) -> Faults {
        let texts = [format!("switch.stuck={value}@3@10ps..5000ps")];
        parse_of_hosts(&texts, 5, 4, Time::ZERO, crate::MODEL.fault_kinds()).unwrap()
    }

    #[test]
    fn an_output_is_stuck_from_its_packet_on() {
        let faults = faults("#2:100ps");
        assert!(StuckOutput::of(&faults, 0, 1, Some(2)).is_none());
        assert!(StuckOutput::of(&faults, 0, 1, None).is_none());
        let mut output = StuckOutput::of(&faults, 0, 1, Some(3)).unwrap();
        let works: Vec<Time> = [20, 30, 40, 200].map(|at| output.packet(Time(at))).into();
        assert_eq!(works, [0, 130, 130, 130].map(Time));
        assert_eq!(output.times, 1);
    }

    #[test]
    fn without_a_time_it_is_stuck_for_ever() {
        let mut output = StuckOutput::of(&faults("1"), 0, 1, Some(3)).unwrap();
        assert_eq!([5, 10].map(|at| output.packet(Time(at))), [Time::ZERO, Time::NEVER]);
    }

    #[test]
    fn each_output_has_chances_of_its_own() {
        let faults = faults("0.1:1ps");
        let struck = |port| -> Vec<u64> {
            let mut output = StuckOutput::of(&faults, 0, port, Some(3)).unwrap();
            let strikes = |at: &u64| output.packet(Time(*at)) == Time(at + 1);
            (10..1010).filter(strikes).collect()
        };
        assert!((60..140).contains(&struck(1).len()), "{}", struck(1).len());
        assert_ne!(struck(1), struck(2));
    }
}
