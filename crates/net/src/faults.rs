//! Faults of links, on request and by seed.
//!
//! What befalls a packet depends on the seed, the link and the packet's number on the link only, so
//! that it is the same for any number of threads, and one kind of fault does not move another.

use crate::LINKS;
use abi::packet::Packet;
use abi::seastar::FLIT_BYTES;
use des::{Duration, Random, Time};

/// What is to happen to links.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Faults {
    /// Seed of all chances.
    pub seed: u64,
    /// Chance of each bit on a link to arrive wrong.
    pub bit_error: f64,
    /// Chance of each packet on a link to be lost.
    pub drop: f64,
    /// Chance of each packet on a link to be delayed.
    pub delay: f64,
    /// By how much.
    pub delay_by: Duration,
    /// Links that die.
    pub dead: Vec<DeadLink>,
}

/// A link between two neighbours, both ways, that carries nothing any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeadLink {
    /// One end.
    pub a: u32,
    /// The other.
    pub b: u32,
    /// Since when.
    pub from: Time,
}

impl Faults {
    /// True if nothing is asked for.
    pub fn is_empty(&self) -> bool {
        self.bit_error == 0.0 && self.drop == 0.0 && self.delay == 0.0 && self.dead.is_empty()
    }
}

/// What befalls a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Unharmed,
    /// Bits of it are wrong now.
    Damaged,
    Delayed(Duration),
    Lost,
}

/// The faults of one router's outgoing links.
#[derive(Clone, Debug)]
pub(crate) struct LinkFaults {
    faults: Faults,
    node: u32,
    dead_from: [Option<Time>; LINKS],
}

/// Kinds of chance: each has its own numbers.
#[derive(Clone, Copy)]
enum Chance {
    Bits = 1,
    Drop = 2,
    Delay = 3,
}

impl LinkFaults {
    pub(crate) fn new(
        faults: &Faults,
        node: u32,
        neighbours: &[Option<u32>; LINKS],
    ) -> Option<LinkFaults> {
        let dead_from = neighbours.map(|neighbour| {
            let ends = |d: &&DeadLink| {
                neighbour.is_some_and(|n| (d.a, d.b) == (node, n) || (d.b, d.a) == (node, n))
            };
            faults.dead.iter().filter(ends).map(|d| d.from).min()
        });
        let faults = Faults { dead: Vec::new(), ..faults.clone() };
        let none = faults.is_empty() && dead_from.iter().all(Option::is_none);
        (!none).then_some(LinkFaults { faults, node, dead_from })
    }
    /// Since when a link is dead.
    pub(crate) fn dead_from(&self, link: usize) -> Option<Time> {
        *self.dead_from.get(link)?
    }
    fn random(&self, link: usize, number: u64, chance: Chance) -> Random {
        let mut seed = Random::new(self.faults.seed);
        let place = u64::from(self.node) * LINKS as u64 + link as u64;
        for word in [place, number, chance as u64] {
            seed = Random::new(seed.next_u64() ^ word.wrapping_mul(0xd6e8_feb8_6659_fd93));
        }
        seed
    }
    /// What befalls packet `number` of `link`.
    pub(crate) fn strike(&self, link: usize, number: u64, packet: &mut Packet) -> Fate {
        let happens =
            |chance, p: f64| p > 0.0 && unit(self.random(link, number, chance).next_u64()) < p;
        if happens(Chance::Drop, self.faults.drop) {
            return Fate::Lost;
        }
        if self.faults.bit_error > 0.0 {
            let fate =
                damage(packet, self.faults.bit_error, &mut self.random(link, number, Chance::Bits));
            if fate != Fate::Unharmed {
                return fate;
            }
        }
        if happens(Chance::Delay, self.faults.delay) {
            return Fate::Delayed(self.faults.delay_by);
        }
        Fate::Unharmed
    }
}

/// A number in [0, 1).
fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

/// Flips each bit with the chance `p`. A wrong bit in the routing flit loses the packet: nobody can
/// tell where it belongs.
fn damage(packet: &mut Packet, p: f64, random: &mut Random) -> Fate {
    let routing = u64::from(FLIT_BYTES) * 8;
    let payload = u64::from(packet.size) * 8;
    let bits = routing + payload + if packet.is_last() { 32 } else { 0 };
    let mut fate = Fate::Unharmed;
    let mut at = 0_u64;
    loop {
        // The distance to the next wrong bit is distributed geometrically.
        let good = ((1.0 - unit(random.next_u64())).ln() / (-p).ln_1p()).floor();
        if good >= (bits - at) as f64 {
            return fate;
        }
        at += good as u64;
        match at {
            _ if at < routing => return Fate::Lost,
            _ if at < routing + payload => {
                let bit = at - routing;
                packet.payload[(bit / 8) as usize] ^= 1 << (bit % 8);
            }
            _ => packet.crc ^= 1 << (at - routing - payload),
        }
        fate = Fate::Damaged;
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use abi::packet::flag;

    fn faults(faults: Faults) -> LinkFaults {
        LinkFaults::new(&faults, 3, &[Some(1); LINKS]).expect("something is asked for")
    }

    #[test]
    fn bits_are_wrong_as_often_as_asked() {
        let p = 1e-3;
        let faults = faults(Faults { seed: 5, bit_error: p, ..Faults::default() });
        let (mut wrong, mut lost) = (0, 0);
        let packets = 20_000;
        for number in 0..packets {
            let mut packet = Packet { size: 64, flags: flag::LAST, ..Packet::default() };
            match faults.strike(0, number, &mut packet) {
                Fate::Lost => lost += 1,
                _ => {
                    let payload = packet.payload.iter().map(|byte| byte.count_ones());
                    wrong += payload.sum::<u32>() + packet.crc.count_ones();
                }
            }
        }
        let survived = (packets - lost) as f64;
        let rate = f64::from(wrong) / (survived * (512.0 + 32.0));
        assert!((rate / p - 1.0).abs() < 0.05, "{rate}");
        let losses = lost as f64 / packets as f64 / (64.0 * p);
        assert!((losses - 1.0).abs() < 0.1, "{losses}");
    }

    #[test]
    fn chances_depend_on_seed_link_and_number_only() {
        let of = |seed, link| -> Vec<u64> {
            let faults = faults(Faults { seed, drop: 0.1, ..Faults::default() });
            let lost = |n: &u64| faults.strike(link, *n, &mut Packet::default()) == Fate::Lost;
            (0..1000).filter(lost).collect()
        };
        assert_eq!(of(1, 0), of(1, 0));
        assert_ne!(of(1, 0), of(2, 0));
        assert_ne!(of(1, 0), of(1, 1));
        assert!((70..130).contains(&of(1, 0).len()));
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
