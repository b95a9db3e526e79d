//! Whole networks of routers: delivery, order, times.

use abi::packet::{flag, Packet};
use des::{Duration, EventQueue, Random, Time};
use net::{Event, Link, Params, Ports, Router, Topology};
use proptest::prelude::*;

const PARAMS: Params = Params {
    route: Duration::from_ns(10),
    link_latency: Duration::from_ns(40),
    flit: Duration::from_ns(3),
    port_flit: Duration::from_ns(2),
};

enum Due {
    Router(Event),
    Arrive(Packet),
    Inject,
}

/// A network whose nodes inject what they have as fast as their ports take it.
struct Network {
    queue: EventQueue<(u32, Due)>,
    routers: Vec<Router>,
    around: Around,
}

#[derive(Default)]
struct Around {
    ejected: Vec<(Time, u32, Packet)>,
    unreachable: Vec<u16>,
    backlog: Vec<std::collections::VecDeque<Packet>>,
}

struct NodePorts<'a> {
    now: Time,
    node: u32,
    queue: &'a mut EventQueue<(u32, Due)>,
    around: &'a mut Around,
}

impl Ports for NodePorts<'_> {
    fn schedule(&mut self, at: Time, event: Event) {
        assert!(at >= self.now);
        self.queue.schedule(at, (self.node, Due::Router(event)));
    }
    fn send(&mut self, at: Time, neighbour: u32, packet: Packet) {
        assert!(at >= self.now + PARAMS.lookahead(), "nothing crosses sooner than the lookahead");
        self.queue.schedule(at, (neighbour, Due::Arrive(packet)));
    }
    fn eject(&mut self, now: Time, packet: Packet) {
        self.around.ejected.push((now, self.node, packet));
    }
    fn unreachable(&mut self, _now: Time, packet: &Packet) {
        self.around.unreachable.push(packet.dest);
    }
    fn injection_free(&mut self, _now: Time) {}
}

impl Network {
    fn new(topology: &str) -> Network {
        let topology: Topology = topology.parse().expect("the test writes topologies well");
        let nodes = topology.nodes();
        let backlog = vec![Default::default(); nodes as usize];
        Network {
            queue: EventQueue::new(0),
            routers: (0..nodes).map(|node| Router::new(&PARAMS, &topology, node)).collect(),
            around: Around { backlog, ..Around::default() },
        }
    }
    fn send(&mut self, at: Time, packet: Packet) {
        let node = u32::from(packet.source);
        let backlog = &mut self.around.backlog[node as usize];
        if backlog.is_empty() {
            self.queue.schedule(at, (node, Due::Inject));
        }
        backlog.push_back(packet);
    }
    fn run(&mut self) {
        while let Some((now, (node, due))) = self.queue.pop_before(Time::NEVER) {
            let router = &mut self.routers[node as usize];
            let (queue, around) = (&mut self.queue, &mut self.around);
            let mut ports = NodePorts { now, node, queue, around };
            match due {
                Due::Router(event) => router.handle(now, event, &mut ports),
                Due::Arrive(packet) => router.arrive(now, packet, &mut ports),
                Due::Inject => {
                    let packet =
                        ports.around.backlog[node as usize].pop_front().expect("an event a packet");
                    let free = router.inject(now, packet, &mut ports);
                    assert!(free > now);
                    if !self.around.backlog[node as usize].is_empty() {
                        self.queue.schedule(free, (node, Due::Inject));
                    }
                }
            }
        }
    }
}

fn packet(source: u32, dest: u32, size: u8, message: u16) -> Packet {
    let (source, dest) = (source as u16, dest as u16);
    Packet { source, dest, size, message, flags: flag::LAST, ..Packet::default() }
}

#[test]
fn a_lone_packet_takes_the_time_of_the_formula() {
    for topology in ["1", "4", "3x4x2", "torus 5x3x1"] {
        let shape: Topology = topology.parse().expect("the test writes topologies well");
        for (source, dest) in
            (0..shape.nodes()).flat_map(|a| (0..shape.nodes()).map(move |b| (a, b)))
        {
            for size in [0, 1, 64] {
                let mut network = Network::new(topology);
                let packet = packet(source, dest, size, 0);
                network.send(Time(7), packet);
                network.run();
                let hops = u64::from(shape.hops(source, dest));
                let flit = if hops == 0 { PARAMS.port_flit } else { PARAMS.flit };
                let time = PARAMS.route + PARAMS.hop() * hops + flit * u64::from(packet.flits());
                assert_eq!(network.around.ejected, [(Time(7) + time, dest, packet)]);
            }
        }
    }
}

#[test]
fn a_stream_flows_at_the_rate_of_the_link_and_two_streams_share_it() {
    // Node 0 and 1 both send to 3 over the link from 1 to 2.
    let packets = 1000;
    for senders in 1..=2 {
        let mut network = Network::new("4");
        for message in 0..packets {
            for source in 0..senders {
                network.send(Time::ZERO, Packet { flags: 0, ..packet(source, 3, 64, message) });
            }
        }
        network.run();
        let ejected = &network.around.ejected;
        let total = usize::from(packets) * senders as usize;
        assert_eq!(ejected.len(), total);
        let span = ejected[total - 1].0.since(ejected[0].0);
        assert_eq!(span, PARAMS.flit * 9 * (total as u64 - 1), "the link is never idle");
        let of_first = ejected[..total / 2].iter().filter(|packet| packet.2.source == 0).count();
        let share = of_first as f64 / (total as f64 / 2.0);
        let fair = 1.0 / f64::from(senders);
        assert!((share - fair).abs() < 0.05, "{share} of the link instead of {fair}");
        let link = network.routers[1].counters().links[Link { dimension: 0, up: true }.index()];
        assert_eq!((link.packets, link.flits), (total as u64, 9 * total as u64));
        assert_eq!(link.busy, PARAMS.flit * link.flits);
        assert_eq!(link.queue_max > 2, senders > 1);
    }
}

#[test]
fn a_destination_that_does_not_exist_is_reported() {
    let mut network = Network::new("2x2");
    network.send(Time::ZERO, packet(0, 4, 10, 0));
    network.run();
    assert_eq!(network.around.unreachable, [4]);
    assert!(network.around.ejected.is_empty());
    assert_eq!(network.routers[0].counters().unreachable, 1);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]
    /// Every packet arrives once, where it should, and those of one pair in order.
    #[test]
    fn packets_of_any_traffic_arrive_in_order(
        dims in (1_u32..6, 1_u32..5, 1_u32..4),
        torus in any::<bool>(),
        seed in any::<u64>(),
        packets in 1_u16..400,
    ) {
        let kind = if torus { "torus" } else { "mesh" };
        let topology = format!("{kind} {}x{}x{}", dims.0, dims.1, dims.2);
        let nodes = u64::from(dims.0 * dims.1 * dims.2);
        let mut network = Network::new(&topology);
        let mut random = Random::new(seed);
        let mut sent = Vec::new();
        for message in 0..packets {
            let (source, dest) = (random.below(nodes) as u32, random.below(nodes) as u32);
            let packet = packet(source, dest, random.below(65) as u8, message);
            network.send(Time::ZERO, packet);
            sent.push(packet);
        }
        network.run();
        let ejected = &network.around.ejected;
        prop_assert_eq!(ejected.len(), sent.len());
        prop_assert!(ejected.iter().all(|(_, node, packet)| *node == u32::from(packet.dest)));
        for source in 0..nodes as u16 {
            for dest in 0..nodes as u16 {
                let pair = |p: &&Packet| (p.source, p.dest) == (source, dest);
                let got: Vec<_> = ejected.iter().map(|e| &e.2).filter(pair).collect();
                let want: Vec<_> = sent.iter().filter(pair).collect();
                prop_assert_eq!(got, want);
            }
        }
        let count = |f: fn(&net::Counters) -> u64| {
            network.routers.iter().map(|router| f(&router.counters())).sum::<u64>()
        };
        prop_assert_eq!(count(|c| c.injected), u64::from(packets));
        prop_assert_eq!(count(|c| c.ejected), u64::from(packets));
    }
}
