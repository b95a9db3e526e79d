//! Cards around a crossbar: everything arrives, no card starves, and nothing is lost if all send to one port.

#[path = "../../forth-nic/tests/bench/mod.rs"]
mod bench;

use abi::forth::control;
use bench::fabric::Fabric;
use bench::{World, MEMORY_BYTES};
use crossbar::{Params, Switch};
use des::{Clock, Random, Time};
use forth_nic::LINK_HZ;
use serial::{Channel, ChannelParams, Symbol, Symbols};

/// A crossbar with its clock, and a lane each way for each card.
struct Star {
    switch: Switch,
    clock: Clock,
    edges: u64,
    up: Vec<Channel>,
    down: Vec<Channel>,
}

impl Star {
    fn new(params: Params, ppm: u64) -> Star {
        let lane = |port: usize| {
            let shift = (port % 4) as u8;
            Channel::new(ChannelParams { shift, ..ChannelParams::default() }, 0)
        };
        Star {
            switch: Switch::new(params),
            clock: Clock::from_hz(LINK_HZ + LINK_HZ / 1_000_000 * ppm),
            edges: 0,
            up: (0..params.ports).map(lane).collect(),
            down: (0..params.ports).map(lane).collect(),
        }
    }
}

impl Fabric for Star {
    fn send(&mut self, node: usize, now: Time, symbols: Symbols) {
        self.up[node].send(now, symbols[0]);
    }
    fn receive(&mut self, node: usize, now: Time) -> Symbols {
        [self.down[node].receive(now), Symbol::default()]
    }
    fn next_edge(&self) -> Time {
        self.clock.edge(self.edges)
    }
    fn edge(&mut self) {
        let now = self.next_edge();
        let symbols: Vec<Symbol> = self.up.iter_mut().map(|lane| lane.receive(now)).collect();
        let out = self.switch.clock(&symbols);
        self.down.iter_mut().zip(out).for_each(|(lane, symbol)| lane.send(now, symbol));
        self.edges += 1;
    }
    fn is_quiet(&self) -> bool {
        self.switch.crossbar.is_quiet()
    }
}

fn star(nodes: usize) -> World<Star> {
    let switch = Params { ports: nodes, ..Params::default() };
    let card = |source: usize| forth_nic::Params {
        source: source as u8,
        lanes: 1,
        rx_words: switch.card_words,
        peer_words: switch.point_words,
        ..forth_nic::Params::default()
    };
    let cards: Vec<forth_nic::Params> = (0..nodes).map(card).collect();
    let ppm: Vec<i64> = (0..nodes).map(|node| [100, -100, 0, 50][node % 4]).collect();
    let bus = pci::Params::pcix_64_100();
    let mut world = World::new(&cards, bus, true, &ppm, Star::new(switch, 30));
    for node in &mut world.nodes {
        for word in 0x40..MEMORY_BYTES as u64 / 16 {
            node.set_word(8 * word, word.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        }
        for flow in 0..nodes as u8 {
            node.set_limit(flow, switch.point_words);
        }
    }
    world.settle().expect("nothing was posted");
    world
}

/// Checks that nothing was lost anywhere, and that every counter of credits has its first value.
fn check(world: &World<Star>) {
    let counters = world.fabric.switch.crossbar.counters();
    let errors = counters.header_errors + counters.credit_errors + counters.overflows;
    assert_eq!(errors + world.fabric.switch.bond_errors(), 0, "{counters:?}");
    assert!(counters.occupancy.iter().all(|words| *words == 0));
    for node in &world.nodes {
        let link = node.nic.link_counters();
        let errors = link.header_errors + link.payload_errors + link.credit_errors;
        assert_eq!(errors + link.bond_errors + link.overflows, 0, "{link:?}");
        let flows = 0..world.nodes.len() as u8;
        assert!(flows.into_iter().all(|flow| node.nic.outstanding(flow) == 0));
    }
    let sent: u64 = world.nodes.iter().map(|node| node.nic.link_counters().sent_words).sum();
    let packets: u64 = counters.packets.iter().sum();
    assert_eq!(counters.words.iter().sum::<u64>(), sent + 3 * packets, "words are conserved");
}

#[test]
fn random_writes_among_all_arrive_as_the_specification_says() {
    for (seed, nodes) in [(1, 2), (2, 3), (3, 5), (4, 8)] {
        let mut random = Random::new(seed);
        let mut world = star(nodes);
        for message in 0..120_u64 {
            let node = random.below(nodes as u64) as usize;
            let to = random.below(nodes as u64) as u8;
            let words = 1 + if random.below(3) == 0 { random.below(512) } else { random.below(32) };
            let from = 0x200 + 8 * random.below(0xF000);
            // Each message has a place of its own: senders do not know of one another.
            let addr = MEMORY_BYTES as u64 / 2 + message * 0x1000 % 0x7_F000;
            let flags = if random.below(2) == 0 { control::NOTIFY } else { 0 };
            world.write(node, from, to, addr as u32, words as u16, flags);
            let pause = world.now + des::Duration::from_ns(random.below(1500));
            world.run_until(pause);
        }
        world.settle().unwrap_or_else(|error| panic!("{nodes} nodes: {error}"));
        assert_eq!(world.spec.arrived(), 120);
        check(&world);
    }
}

/// Keeps `messages` of `words` from each sender under way until `rounds` each have been posted; returns the
/// messages that each receiver has from each sender when the last message of the first sender to finish has
/// come.
fn flood(world: &mut World<Star>, pairs: &[(usize, usize)], words: u16, rounds: u64) -> Vec<usize> {
    let mut posted = vec![0; pairs.len()];
    let arrived = |world: &World<Star>, (from, to): (usize, usize)| {
        let arrivals = world.nodes[to].arrivals.iter();
        arrivals.filter(|(_, arrival)| usize::from(arrival.header.source) == from).count()
    };
    loop {
        for (place, (from, to)) in pairs.iter().enumerate() {
            if posted[place] < rounds && world.nodes[*from].stores.is_empty() {
                let addr = MEMORY_BYTES as u64 / 2 + 0x1000 * *from as u64;
                world.write(*from, 0x1000, *to as u8, addr as u32, words, 0);
                posted[place] += 1;
            }
        }
        (0..50).for_each(|_| world.step());
        let counts: Vec<usize> = pairs.iter().map(|pair| arrived(world, *pair)).collect();
        if counts.iter().any(|count| *count as u64 == rounds) {
            return counts;
        }
    }
}

#[test]
fn where_all_want_one_port_each_gets_its_share() {
    let mut world = star(8);
    let pairs: Vec<(usize, usize)> = (1..8).map(|from| (from, 0)).collect();
    let counts = flood(&mut world, &pairs, 512, 60);
    let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
    assert!(most - least <= 1, "2 % of 60: {counts:?}");
    world.settle().unwrap_or_else(|error| panic!("{error}"));
    check(&world);
    let pressure = |node: usize| world.nodes[node].nic.link_counters().back_pressure;
    assert!((1..8).all(|node| pressure(node) > 10_000), "senders are held back");
}

#[test]
fn a_permutation_goes_at_the_rate_of_the_lanes() {
    let mut world = star(8);
    let pairs: Vec<(usize, usize)> = (0..8).map(|from| (from, (from + 3) % 8)).collect();
    let start = world.now;
    let counts = flood(&mut world, &pairs, 512, 40);
    let seconds = world.now.since(start).0 as f64 * 1e-12;
    let rate = counts.iter().sum::<usize>() as f64 / 8.0 * 4096.0 / seconds / f64::from(1 << 20);
    assert!(rate > 0.93 * 298.0, "{rate:.1} of 298 MiB/s a lane");
    assert!(counts.iter().all(|count| *count >= 38), "{counts:?}");
    world.settle().unwrap_or_else(|error| panic!("{error}"));
    check(&world);
}

#[test]
fn small_and_large_packets_share_a_port() {
    let mut world = star(4);
    // Three floods of different sizes: each gets as many packets as the others.
    for (from, words) in [(1, 512), (2, 64), (3, 8)] {
        for _ in 0..30 {
            let addr = MEMORY_BYTES as u32 / 2 + 0x1000 * from as u32;
            world.write(from, 0x1000, 0, addr, words, 0);
        }
    }
    world.settle().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(world.spec.arrived(), 90);
    check(&world);
}
