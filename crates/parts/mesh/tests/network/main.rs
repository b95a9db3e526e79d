//! Whole networks of routers: delivery, order, times.

mod bench;
mod faults;

use abi::packet::Packet;
use bench::{packet, traffic, Network, CONTROL, PARAMS};
use des::{Duration, Random, Time};
use mesh::{Link, Params, Topology};
use proptest::prelude::*;

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
fn what_is_announced_of_a_packet_comes_then_or_later() {
    let params = Params { credit_batch: 1, ..PARAMS };
    for topology in ["7", "3x3x2", "torus 4x3x1"] {
        let nodes = Network::new(topology).routers.len() as u32;
        for (source, dest) in (0..nodes).flat_map(|a| (0..nodes).map(move |b| (a, b))) {
            let mut network = Network::with(topology, &params);
            let packet = packet(source, dest, 64, 1);
            let begins = Time(1_000);
            let mut announced = Vec::new();
            let router = &network.routers[source as usize];
            router.announce_injected(begins, &packet, &mut announced);
            network.send(begins, packet);
            network.run();
            let sent = std::mem::take(&mut network.around.sent);
            let (packets, credits): (Vec<_>, Vec<_>) = sent.into_iter().partition(|sent| sent.2);
            assert_eq!((2 * packets.len(), 2 * credits.len()), (announced.len(), announced.len()));
            for ((told, packet), credit) in announced.chunks(2).zip(packets).zip(credits) {
                let [passes, freed] = [told[0], told[1]];
                assert_eq!(
                    (passes.target, passes.at, passes.ends),
                    (packet.0, packet.1, packet.0 == dest)
                );
                assert_eq!((freed.target, freed.ends), (credit.0, false));
                assert!(freed.at <= credit.1, "{topology}: {source} to {dest}: {freed:?}");
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
        let count = |f: fn(&mesh::Counters) -> u64| {
            network.routers.iter().map(|router| f(&router.counters())).sum::<u64>()
        };
        prop_assert_eq!(count(|c| c.injected), u64::from(packets));
        prop_assert_eq!(count(|c| c.ejected), u64::from(packets));
    }
}

#[test]
fn a_receiver_that_takes_nothing_fills_the_network_and_stops_the_sender() {
    let mut network = Network::new("4");
    network.digest = Duration(1 << 50);
    for message in 0..1000 {
        network.send(Time::ZERO, Packet { flags: 0, ..packet(0, 3, 64, message) });
    }
    network.run_until(Time(1 << 40));
    network.balance(false);
    // Packets that the NIC takes, that are in its queue at the router, and on the way: an input queue a
    // hop, an output queue a link (9 flits of 16), and at last the injection queue.
    let held = u64::from(PARAMS.node_room + PARAMS.node_queue / 9 + 4 * (96 / 9) + 3);
    let sender = network.routers[0].counters();
    // Inputs keep up to a batch of credits back.
    assert!((held - 3 * 2..=held).contains(&sender.injected), "{}", sender.injected);
    assert!(sender.injection_stalls > 0);
    assert_eq!(network.around.ejected.len(), PARAMS.node_room as usize);
    assert!(network.routers.iter().all(|router| router.counters().input_max <= 96));
    // It takes the first at last, and everything moves up.
    network.digest = Duration::from_ns(1);
    network.run();
    assert_eq!(network.around.ejected.len(), 1000);
}

#[test]
fn a_blocked_destination_stops_others_only_behind_it() {
    // Node 2 takes nothing; from 0, packets to 3 share its links, packets to 1 share one of them.
    let mut network = Network::new("4");
    network.around.held[2] = (0, Time(1 << 50));
    for message in 0..400 {
        network.send(Time::ZERO, packet(0, 2, 64, message));
        network.send(Time::ZERO, packet(3, 1, 64, message));
        network.send(Time::ZERO, packet(1, 3, 64, message));
    }
    network.run_until(Time(1 << 40));
    let of = |source| network.around.ejected.iter().filter(|e| e.2.source == source).count();
    assert_eq!(of(0), PARAMS.node_room as usize);
    assert_eq!(of(3), 400, "against the jam");
    assert!(of(1) < 400, "behind the jam, in the same channel");
}

/// Data for node 2 are stuck all the way back; control passes them on the same links, around the
/// edge of a torus in its second channel, too.
#[test]
fn control_passes_data_that_are_stuck() {
    for topology in ["4", "torus 4"] {
        let mut network = Network::new(topology);
        network.control_first = true;
        network.around.held[2] = (0, Time(1 << 50));
        for message in 0..300 {
            network.send(Time::ZERO, packet(0, 2, 64, message));
            network.send(Time::ZERO, packet(3, 2, 64, message));
            network.send(Time::ZERO, packet(1, 2, 64, message | CONTROL));
            network.send(Time::ZERO, packet(1, 3, 8, message | CONTROL));
        }
        network.run_until(Time(1 << 40));
        network.balance(false);
        let ejected = &network.around.ejected;
        let of =
            |control| ejected.iter().filter(|e| (e.2.message & CONTROL != 0) == control).count();
        assert_eq!(of(true), 600, "{topology}");
        assert_eq!(of(false), PARAMS.node_room as usize, "{topology}");
        let links = network.routers.iter().flat_map(|router| router.counters().links);
        assert!(links.map(|link| link.queue_max).max() > Some(0), "{topology}");
    }
}

/// Every node of a ring sends half around it, as much as its queues hold: without the second
/// channel every input queue would wait for the next one.
#[test]
fn rings_of_a_torus_do_not_deadlock() {
    for topology in ["torus 4", "torus 8x1x1", "torus 5x4x3", "torus 3x3x3", "torus 2x2x2"] {
        let shape: Topology = topology.parse().expect("the test writes topologies well");
        for shift in [1, 2] {
            let mut network = Network::new(topology);
            let dims = shape.dims();
            for message in 0..300 {
                for source in 0..shape.nodes() {
                    let mut at = shape.coordinates(source);
                    for (x, dim) in at.iter_mut().zip(dims) {
                        *x = (*x + dim / 2 + if shift == 2 { dim % 2 } else { 0 }) % dim;
                    }
                    let dest = shape.node_at(at);
                    network.send(Time::ZERO, packet(source, dest, 64, message));
                }
            }
            network.run();
            let ejected = network.around.ejected.len();
            assert_eq!(ejected, 300 * shape.nodes() as usize, "{topology}");
        }
    }
}

/// Credits that an input keeps back must not slow a stream down, alone or between others.
#[test]
fn credits_in_batches_cost_no_rate() {
    for batch in [0, 1, 24, 40] {
        let mut network = Network::with("8", &Params { credit_batch: batch, ..PARAMS });
        for message in 0..2000 {
            network.send(Time::ZERO, Packet { flags: 0, ..packet(0, 7, 64, message) });
        }
        network.run();
        let (first, last) = (network.around.ejected[0].0, network.around.ejected[1999].0);
        assert_eq!(last.since(first), PARAMS.flit * 9 * 1999, "batch {batch}");
        let credits = network.around.messages - 2000 * 7;
        assert_eq!(credits, 7 * (2000 / batch.div_ceil(9).max(1) as usize), "batch {batch}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]
    /// Slow receivers and small queues: everything arrives, in order, and the books balance at any
    /// time.
    #[test]
    fn jams_dissolve(
        dims in (1_u32..5, 1_u32..4, 1_u32..3),
        torus in any::<bool>(),
        seed in any::<u64>(),
        queues in (10_u32..100, 10_u32..20, 10_u32..100, 1_u32..20),
        digest in 0_u64..200,
        cut in 0_u64..20_000_000,
    ) {
        let kind = if torus { "torus" } else { "mesh" };
        let topology = format!("{kind} {}x{}x{}", dims.0, dims.1, dims.2);
        let nodes = u64::from(dims.0 * dims.1 * dims.2);
        let (input_queue, output_queue, node_queue, node_room) = queues;
        let params = Params { input_queue, output_queue, node_queue, node_room, ..PARAMS };
        let params = Params { credit_batch: seed as u32 % (input_queue - 8), ..params };
        prop_assert_eq!(params.check(), Ok(()));
        let mut network = Network::with(&topology, &params);
        network.digest = Duration::from_ns(digest);
        let sent = traffic(&mut network, nodes, seed, 1500);
        network.run_until(Time(cut));
        network.balance(false);
        network.run();
        prop_assert_eq!(network.around.ejected.len(), sent.len());
        for (source, dest) in (0..nodes).flat_map(|a| (0..nodes).map(move |b| (a, b))) {
            for control in [0, CONTROL] {
                let pair = |p: &&Packet| {
                    (u64::from(p.source), u64::from(p.dest)) == (source, dest)
                        && p.message & CONTROL == control
                };
                let got: Vec<_> = network.around.ejected.iter().map(|e| &e.2).filter(pair).collect();
                let want: Vec<_> = sent.iter().filter(pair).collect();
                prop_assert_eq!(got, want);
            }
        }
    }
}
