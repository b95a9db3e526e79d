//! Faults of links, on request and by seed.
//!
//! The faults of a packet depend on the seed, the link and the packet's number on the link only, so that they
//! are the same for any number of threads, and a fault does not move one of another kind or place. Copies
//! that a link makes have no number, and suffer no further fault.

use crate::LINKS;
use abi::packet::Packet;
use abi::seastar::FLIT_BYTES;
use des::{Duration, Random, Time};

/// Faults of links, on request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Faults {
    /// Seed of all chances.
    pub seed: u64,
    /// Faults of packets.
    pub rules: Vec<Rule>,
    /// Links that die.
    pub dead: Vec<DeadLink>,
}

/// A fault of packets on links.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// Kind of fault.
    pub what: What,
    /// Packets of a link that it hits.
    pub which: Which,
    /// Links that it hits.
    pub place: FaultSite,
    /// Start of the time in which a packet's head may enter the link.
    pub from: Time,
    /// End of that time.
    pub until: Time,
}

/// Fault of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// It is lost.
    Drop,
    /// Bits of it arrive wrong.
    BitError,
    /// It is late, and all behind it on the link: order is kept.
    Delay(Duration),
    /// It comes twice, the second time right behind the first.
    Duplicate,
    /// It is late, and those behind it pass.
    Overtake(Duration),
}

/// Packets of a link, or bits for [`What::BitError`], that a fault hits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Which {
    /// Each with this chance.
    Chance(f64),
    /// The packet with this number on the link, from 1; one bit of it.
    Number(u64),
}

/// Links that a fault hits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FaultSite {
    /// All.
    #[default]
    Everywhere,
    /// Links that leave a node.
    From(u32),
    /// The one between two neighbours, both ways.
    Between(u32, u32),
}

/// A link between two neighbours, both ways, that carries nothing any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeadLink {
    /// One end.
    pub a: u32,
    /// The other.
    pub b: u32,
    /// Time of the failure.
    pub from: Time,
}

impl Faults {
    /// True if no fault is requested.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty() && self.dead.is_empty()
    }
}

impl FaultSite {
    fn has(self, node: u32, neighbour: u32) -> bool {
        match self {
            FaultSite::Everywhere => true,
            FaultSite::From(from) => from == node,
            FaultSite::Between(a, b) => (a, b) == (node, neighbour) || (b, a) == (node, neighbour),
        }
    }
}

/// Fault that a packet has suffered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Unharmed,
    /// Bits of it are wrong now.
    Damaged,
    Delayed(Duration),
    Lost,
    Doubled,
    Overtaken(Duration),
}

/// The faults of one router's outgoing links.
#[derive(Clone, Debug)]
pub(crate) struct LinkFaults {
    seed: u64,
    node: u32,
    /// Rules of each link, with the salts that tell their chances apart. Losses come first, then damage,
    /// and so on.
    rules: [Vec<(Rule, u64)>; LINKS],
    /// Packets so far, without the copies.
    numbers: [u64; LINKS],
    dead_from: [Option<Time>; LINKS],
}

impl What {
    /// Tells chances of one kind from those of another, and the order in which they strike.
    fn kind(self) -> (u64, u64) {
        match self {
            What::Drop => (0, 2),
            What::BitError => (1, 1),
            What::Delay(_) => (2, 3),
            What::Duplicate => (3, 4),
            What::Overtake(_) => (4, 5),
        }
    }
}

/// More kinds than there are.
const KINDS: u64 = 8;

impl LinkFaults {
    pub(crate) fn new(
        faults: &Faults,
        node: u32,
        neighbours: &[Option<u32>; LINKS],
    ) -> Option<LinkFaults> {
        let rules = neighbours.map(|neighbour| {
            let Some(neighbour) = neighbour else { return Vec::new() };
            let mut rules = Vec::new();
            let mut told = [0; KINDS as usize];
            for rule in &faults.rules {
                if !rule.place.has(node, neighbour) {
                    continue;
                }
                let (_, kind) = rule.what.kind();
                let salt = kind + KINDS * told[kind as usize];
                told[kind as usize] += 1;
                rules.push((*rule, salt));
            }
            rules.sort_by_key(|(rule, _)| rule.what.kind().0);
            rules
        });
        let dead_from = neighbours.map(|neighbour| {
            let ends = |d: &&DeadLink| {
                neighbour.is_some_and(|n| FaultSite::Between(d.a, d.b).has(node, n))
            };
            faults.dead.iter().filter(ends).map(|d| d.from).min()
        });
        let none = rules.iter().all(Vec::is_empty) && dead_from.iter().all(Option::is_none);
        let numbers = [0; LINKS];
        (!none).then_some(LinkFaults { seed: faults.seed, node, rules, numbers, dead_from })
    }
    /// Time from which a link is dead.
    pub(crate) fn dead_from(&self, link: usize) -> Option<Time> {
        *self.dead_from.get(link)?
    }
    /// Fault of the next packet of `link`, whose head enters it at `at`.
    pub(crate) fn strike(&mut self, link: usize, at: Time, packet: &mut Packet) -> Fate {
        self.numbers[link] += 1;
        let number = self.numbers[link];
        for (rule, salt) in &self.rules[link] {
            if at < rule.from || rule.until <= at {
                continue;
            }
            let mut random = random(self.seed, self.node, link, number, *salt);
            let fate = match (rule.what, rule.which) {
                (What::BitError, Which::Chance(p)) => damage(packet, p, &mut random),
                (_, Which::Chance(p)) if random.unit() >= p => Fate::Unharmed,
                (_, Which::Number(n)) if n != number => Fate::Unharmed,
                (What::BitError, Which::Number(_)) => {
                    let bit = random.below(bits(packet));
                    flip(packet, bit)
                }
                (What::Drop, _) => Fate::Lost,
                (What::Delay(by), _) => Fate::Delayed(by),
                (What::Duplicate, _) => Fate::Doubled,
                (What::Overtake(by), _) => Fate::Overtaken(by),
            };
            if fate != Fate::Unharmed {
                return fate;
            }
        }
        Fate::Unharmed
    }
}

/// The numbers of one chance.
fn random(seed: u64, node: u32, link: usize, number: u64, salt: u64) -> Random {
    let mut seed = Random::new(seed);
    let place = u64::from(node) * LINKS as u64 + link as u64;
    for word in [place, number, salt] {
        seed = Random::new(seed.next_u64() ^ word.wrapping_mul(0xd6e8_feb8_6659_fd93));
    }
    seed
}

const ROUTING_BITS: u64 = FLIT_BYTES as u64 * 8;

/// Bits of a packet on a link: the routing flit, the payload, the CRC behind the last.
fn bits(packet: &Packet) -> u64 {
    ROUTING_BITS + u64::from(packet.size) * 8 + if packet.is_last() { 32 } else { 0 }
}

/// Flips a bit of a packet. A wrong one in the routing flit loses the packet: nobody can tell where it
/// belongs.
fn flip(packet: &mut Packet, bit: u64) -> Fate {
    let payload = u64::from(packet.size) * 8;
    match bit.checked_sub(ROUTING_BITS) {
        None => return Fate::Lost,
        Some(bit) if bit < payload => packet.payload[(bit / 8) as usize] ^= 1 << (bit % 8),
        Some(bit) => packet.crc ^= 1 << (bit - payload),
    }
    Fate::Damaged
}

/// Flips each bit with the chance `p`.
fn damage(packet: &mut Packet, p: f64, random: &mut Random) -> Fate {
    let bits = bits(packet);
    let mut fate = Fate::Unharmed;
    let mut at = 0_u64;
    if p <= 0.0 {
        return fate;
    }
    loop {
        // The distance to the next wrong bit is distributed geometrically.
        let good = ((1.0 - random.unit()).ln() / (-p).ln_1p()).floor();
        if good >= (bits - at) as f64 {
            return fate;
        }
        at += good as u64;
        fate = flip(packet, at);
        if fate == Fate::Lost {
            return fate;
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use abi::packet::flag;

    fn rule(what: What, which: Which) -> Rule {
        Rule { what, which, place: FaultSite::Everywhere, from: Time::ZERO, until: Time::NEVER }
    }

    fn faults(seed: u64, rules: &[Rule]) -> LinkFaults {
        let faults = Faults { seed, rules: rules.to_vec(), dead: Vec::new() };
        LinkFaults::new(&faults, 3, &[Some(1); LINKS]).expect("something is asked for")
    }

    #[test]
    fn bits_are_wrong_as_often_as_asked() {
        let p = 1e-3;
        let mut faults = faults(5, &[rule(What::BitError, Which::Chance(p))]);
        let (mut wrong, mut lost) = (0, 0);
        let packets = 20_000;
        for _ in 0..packets {
            let mut packet = Packet { size: 64, flags: flag::LAST, ..Packet::default() };
            match faults.strike(0, Time::ZERO, &mut packet) {
                Fate::Lost => lost += 1,
                _ => {
                    let payload = packet.payload.iter().map(|byte| byte.count_ones());
                    wrong += payload.sum::<u32>() + packet.crc.count_ones();
                }
            }
        }
        let survived = f64::from(packets - lost);
        let rate = f64::from(wrong) / (survived * (512.0 + 32.0));
        assert!((rate / p - 1.0).abs() < 0.05, "{rate}");
        let losses = f64::from(lost) / f64::from(packets) / (64.0 * p);
        assert!((losses - 1.0).abs() < 0.1, "{losses}");
    }

    /// The packets of the first thousand that a rule strikes; each enters the link at its number.
    fn struck(seed: u64, link: usize, rules: &[Rule], fate: Fate) -> Vec<u64> {
        let mut faults = faults(seed, rules);
        let mut at = |n: u64| faults.strike(link, Time(n), &mut Packet::default());
        (1..=1000).filter(|n| at(*n) == fate).collect()
    }

    #[test]
    fn chances_depend_on_seed_link_and_number_only() {
        let drop = rule(What::Drop, Which::Chance(0.1));
        let of = |seed, link| struck(seed, link, &[drop], Fate::Lost);
        assert_eq!(of(1, 0), of(1, 0));
        assert_ne!(of(1, 0), of(2, 0));
        assert_ne!(of(1, 0), of(1, 1));
        assert!((70..130).contains(&of(1, 0).len()));
        // Other kinds, and the same kind elsewhere, change nothing about it.
        let other = rule(What::Duplicate, Which::Chance(0.5));
        assert_eq!(struck(1, 0, &[other, drop], Fate::Lost), of(1, 0));
        let elsewhere = Rule { place: FaultSite::From(7), ..drop };
        assert_eq!(struck(1, 0, &[elsewhere, drop], Fate::Lost), of(1, 0));
        // The same kind twice strikes others too.
        assert!(struck(1, 0, &[drop, drop], Fate::Lost).len() > of(1, 0).len());
    }

    #[test]
    fn rules_have_their_numbers_times_and_places() {
        let third = rule(What::Duplicate, Which::Number(3));
        assert_eq!(struck(1, 0, &[third], Fate::Doubled), [3]);
        let late = rule(What::Delay(Duration(5)), Which::Chance(1.0));
        let late = Rule { from: Time(10), until: Time(13), ..late };
        assert_eq!(struck(1, 0, &[late], Fate::Delayed(Duration(5))), [10, 11, 12]);
        for (place, here) in [
            (FaultSite::From(3), true),
            (FaultSite::From(1), false),
            (FaultSite::Between(1, 3), true),
            (FaultSite::Between(3, 2), false),
        ] {
            let faults = Faults { seed: 0, rules: vec![Rule { place, ..third }], dead: Vec::new() };
            let at = LinkFaults::new(&faults, 3, &[Some(1); LINKS]);
            assert_eq!(at.is_some(), here, "{place:?}");
        }
    }

    #[test]
    fn one_bit_of_a_packet_with_a_number_is_wrong() {
        let mut faults = faults(9, &[rule(What::BitError, Which::Number(1))]);
        let mut packet = Packet { size: 64, flags: flag::LAST, ..Packet::default() };
        let fate = faults.strike(0, Time::ZERO, &mut packet);
        let wrong: u32 = packet.payload.iter().map(|byte| byte.count_ones()).sum();
        let wrong = wrong + packet.crc.count_ones();
        assert!(matches!((fate, wrong), (Fate::Damaged, 1) | (Fate::Lost, 0)), "{fate:?} {wrong}");
    }

    #[test]
    fn a_dead_link_is_dead_both_ways_and_only_that_link() {
        let dead = vec![DeadLink { a: 0, b: 1, from: Time(9) }];
        let asked = Faults { dead, ..Faults::default() };
        let at = |node, neighbour| {
            let mut neighbours = [None; LINKS];
            neighbours[1] = Some(neighbour);
            LinkFaults::new(&asked, node, &neighbours).and_then(|faults| faults.dead_from(1))
        };
        assert_eq!(at(0, 1), Some(Time(9)));
        assert_eq!(at(1, 0), Some(Time(9)));
        assert_eq!(at(1, 2), None);
    }
}
