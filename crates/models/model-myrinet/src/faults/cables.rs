//! Faults of the cable that leads from a node's card.

use super::{LINK_BITERROR, LINK_DROP};
use des::{Random, Time};
use machine::faults::{FaultKind, Faults, Rule, Which};

/// Fate of a piece of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It arrives.
    Whole,
    /// It arrives with this bit wrong.
    Wrong(u32),
    /// It is lost with its packet.
    Lost,
}

/// Faults of one cable, and numbers of the packets that they have struck.
#[derive(Clone, Debug)]
pub struct Cable {
    random: Random,
    rules: Vec<Rule>,
    /// Packets so far.
    packets: u64,
    /// The packet is on its way; it is being lost; bits of it were wrong already.
    inside: bool,
    loses: bool,
    spoils: bool,
    /// Packets that were lost.
    pub lost: u64,
    /// Packets of which bits were wrong.
    pub damaged: u64,
}

impl Cable {
    /// Handles the next `bytes` bytes of a packet, which `ends` with them or not, at `now`.
    pub fn carries(&mut self, now: Time, bytes: usize, ends: bool) -> Fate {
        let first = !std::mem::replace(&mut self.inside, !ends);
        if first {
            self.packets += 1;
            (self.loses, self.spoils) = (self.strikes(now), false);
            self.lost += u64::from(self.loses);
        }
        if self.loses {
            return Fate::Lost;
        }
        let Some(bit) = self.wrong_bit(now, 8 * bytes as u32, first) else {
            return Fate::Whole;
        };
        self.damaged += u64::from(!std::mem::replace(&mut self.spoils, true));
        Fate::Wrong(bit)
    }

    /// True if the packet is lost.
    fn strikes(&mut self, now: Time) -> bool {
        let mut strikes = false;
        for rule in self.rules.iter().filter(|rule| holds(rule, now, &LINK_DROP)) {
            strikes |= match rule.which() {
                None => false,
                Some(Which::Number(number)) => number == self.packets,
                Some(Which::Chance(p)) => self.random.unit() < p,
            };
        }
        strikes
    }

    /// A bit of these that is wrong.
    fn wrong_bit(&mut self, now: Time, bits: u32, first: bool) -> Option<u32> {
        let mut wrong = None;
        for rule in self.rules.iter().filter(|rule| holds(rule, now, &LINK_BITERROR)) {
            let strikes = match rule.which() {
                None => false,
                Some(Which::Number(number)) => first && number == self.packets,
                Some(Which::Chance(p)) => self.random.unit() < 1.0 - (1.0 - p).powi(bits as i32),
            };
            if strikes {
                wrong = Some(self.random.below(bits.into()) as u32);
            }
        }
        wrong
    }
}

/// True if the rule is one of that kind, and of that time.
fn holds(rule: &Rule, now: Time, kind: &FaultKind) -> bool {
    rule.is(kind) && rule.holds(now)
}

impl Cable {
    /// Faults of the cable from node `nid`, if it has any.
    pub fn of(faults: &Faults, nid: u32) -> Option<Cable> {
        let own = |rule: &&Rule| rule.is(&LINK_DROP) || rule.is(&LINK_BITERROR);
        let rules: Vec<Rule> = faults.on_node(nid).filter(own).copied().collect();
        let seed = faults.seed ^ u64::from(nid).wrapping_mul(0x9e6c_63d0_876a_368f);
        (!rules.is_empty()).then(|| Cable {
            random: Random::new(seed),
            rules,
            packets: 0,
            inside: false,
            loses: false,
            spoils: false,
            lost: 0,
            damaged: 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::faults::parse_of_hosts;

    fn cable(fault: &str) -> Cable {
        let texts = [format!("{fault}@3@10ps..2000ps")];
        let faults = parse_of_hosts(&texts, 5, 4, Time::ZERO, crate::MODEL.fault_kinds()).unwrap();
        assert!(Cable::of(&faults, 2).is_none());
        Cable::of(&faults, 3).unwrap()
    }

    /// Packets of three pieces, 8, 8 and 5 bytes.
    fn fates(cable: &mut Cable, packets: u64) -> Vec<[Fate; 3]> {
        let packet = |at| {
            [(8, false), (8, false), (5, true)]
                .map(|(bytes, ends)| cable.carries(Time(at), bytes, ends))
        };
        (0..packets).map(packet).collect()
    }

    #[test]
    fn a_packet_is_lost_whole() {
        let mut cable = cable("link.drop=#12");
        let fates = fates(&mut cable, 20);
        let lost: Vec<usize> = (0..20).filter(|packet| fates[*packet] == [Fate::Lost; 3]).collect();
        assert_eq!((lost, cable.lost), (vec![11], 1));
        assert!((0..20).all(|packet| packet == 11 || fates[packet] == [Fate::Whole; 3]));
    }

    #[test]
    fn bits_are_wrong_by_their_chance() {
        let mut cable = cable("link.biterror=0.001");
        let fates = fates(&mut cable, 1500);
        assert!(fates[..10].iter().all(|packet| *packet == [Fate::Whole; 3]));
        let of = |piece: usize| {
            let bits = fates.iter().filter_map(|packet| match packet[piece] {
                Fate::Wrong(bit) => Some(bit),
                _ => None,
            });
            bits.collect::<Vec<u32>>()
        };
        // 64 bits of 1,490 packets: 92 are expected, and 58 of 40 bits.
        assert!((60..130).contains(&of(0).len()) && (35..85).contains(&of(2).len()));
        assert!(of(2).iter().all(|bit| *bit < 40) && cable.damaged > 150, "{cable:?}");
    }
}
