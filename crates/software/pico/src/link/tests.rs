//! Two ends of a link, and between them a channel that keeps the order, loses packets, and has few places.

use super::*;
use des::Random;

/// One direction: what is on the wire or in the module's places.
#[derive(Default)]
struct Way {
    packets: VecDeque<Vec<u8>>,
    most: usize,
}

struct Pair {
    links: [Link; 2],
    ways: [Way; 2],
    /// Numbers that were sent and that came, of each end's.
    sent: [u32; 2],
    came: [u32; 2],
    random: Random,
    /// Packets of a thousand that are lost.
    losses: u64,
    now: u64,
}

const STEP: u64 = 30_000;

impl Pair {
    fn new(places: u16, losses: u64, seed: u64) -> Pair {
        Pair {
            links: [Link::new(places), Link::new(places)],
            ways: Default::default(),
            sent: [0; 2],
            came: [0; 2],
            random: Random::new(seed),
            losses,
            now: 0,
        }
    }

    fn carry(&mut self, from: usize, mut packet: Vec<u8>) {
        if self.random.below(1000) < self.losses {
            // Half of them are not lost but damaged.
            if self.random.below(2) == 0 {
                return;
            }
            let at = self.random.below(packet.len() as u64) as usize;
            packet[at] ^= 1 << self.random.below(8);
        }
        let way = &mut self.ways[from];
        way.packets.push_back(packet);
        way.most = way.most.max(way.packets.len());
    }

    fn pump(&mut self, end: usize, wanted: u32) {
        while let Some(packet) = self.links[end].due() {
            self.carry(end, packet);
        }
        while self.sent[end] < wanted && self.links[end].may_send() {
            self.sent[end] += 1;
            let packet = self.links[end].send(kind::EAGER, self.sent[end].to_le_bytes().to_vec());
            self.carry(end, packet);
        }
    }

    /// An end reads a packet, or finds that it is time to ask.
    fn act(&mut self, end: usize, wanted: u32) {
        match self.ways[1 - end].packets.pop_front() {
            Some(packet) => {
                if let Came::Segment(kind::EAGER, body) = self.links[end].take(&packet) {
                    self.came[end] += 1;
                    assert_eq!(body, self.came[end].to_le_bytes(), "all, once and in order");
                }
            }
            None => {
                let (now, blocked) = (self.now, self.sent[end] < wanted);
                if self.links[end].alarm(blocked, || now).is_some_and(|alarm| alarm <= now) {
                    let packet = self.links[end].ask(now).expect("it is time");
                    self.carry(end, packet);
                }
            }
        }
        self.pump(end, wanted);
    }

    /// Sends so many each way. End 1 is away for so many steps of each thousand.
    fn exchange(&mut self, wanted: [u32; 2], away: u64) {
        for step in 0.. {
            // Nothing happens in most of a long silence.
            let silent = self.ways.iter().all(|way| way.packets.is_empty());
            self.now += if silent { 100 * STEP } else { STEP };
            self.act(0, wanted[0]);
            if step % 1000 >= away {
                self.act(1, wanted[1]);
            }
            if self.came == [wanted[1], wanted[0]] && self.links.iter().all(Link::is_quiet) {
                return;
            }
            assert!(self.now < 3_600_000_000_000, "{:?} of {wanted:?} have come", self.came);
        }
    }
}

#[test]
fn all_come_in_order_and_the_places_suffice() {
    for places in [4, 5, 21, 32] {
        for wanted in [[200, 0], [0, 200], [100, 100], [1, 1]] {
            for away in [0, 990] {
                let mut pair = Pair::new(places, 0, 1);
                pair.exchange(wanted, away);
                for way in &pair.ways {
                    assert!(way.most <= places.into(), "{} of {places} places", way.most);
                }
            }
        }
    }
}

#[test]
fn what_is_lost_or_damaged_is_sent_again() {
    for seed in 0..40 {
        let places = [4, 5, 21, 32][seed as usize % 4];
        let mut pair = Pair::new(places, [10, 100, 300][seed as usize % 3], seed);
        pair.exchange([300, [0, 300][seed as usize / 2 % 2]], seed * 37 % 900);
        assert!(pair.ways.iter().all(|way| way.most <= usize::from(places) + 2), "{seed}");
    }
}

#[test]
fn numbers_go_round() {
    let mut pair = Pair::new(32, 50, 3);
    for link in &mut pair.links {
        let last = u16::MAX - 20;
        (link.serial, link.seen, link.came, link.told) = (last, last, last, last);
        (link.sequence, link.expected) = (last, last + 1);
    }
    pair.exchange([100, 100], 0);
}

/// A rank that computes for long is asked a few times, not all the time.
#[test]
fn who_is_silent_is_asked_seldom() {
    let mut link = Link::new(4);
    while link.may_send() {
        link.send(kind::EAGER, Vec::new());
    }
    let (mut now, mut asks) = (0, 0);
    while now < 60 * FULL {
        now = link.alarm(true, || now).expect("it waits");
        asks += u32::from(link.ask(now).is_some());
    }
    assert!((3..10).contains(&asks), "{asks} asks in a minute");
}
