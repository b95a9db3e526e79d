//! Links and switches: nothing is lost or made, no slack buffer overflows, however long the cables are and
//! whichever end stops the other.

use crate::bench::{Bench, Node, Sender};
use crate::crossbar::{run, Traffic};
use des::Duration;
use myrinet::{check_routes, End, Params, Switch, SwitchParams, Topology};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..Default::default() })]

    #[test]
    fn packets_arrive_whole_over_cables_of_any_length(
        seed in any::<u32>(), delay_ns in 1..2000_u64, pause_ns in 0..3000_u64,
    ) {
        let traffic = Traffic {
            seed: seed.into(),
            delay: Duration::from_ns(delay_ns),
            pause: Duration::from_ns(pause_ns),
            packets: 60,
            longest: 1500,
        };
        let outcome = run(&traffic).map_err(|trouble| TestCaseError::fail(trouble.to_string()))?;
        prop_assert!(outcome.high <= outcome.slack, "{outcome:?}");
    }
}

/// STOP is at the other end before the slot that caused it has left there: nobody may have gone on so far.
#[test]
fn packets_arrive_whole_over_the_shortest_cables() {
    for seed in 0..4 {
        let (delay, pause) = (Duration::from_ns(1), Duration::from_ns(2000));
        let traffic = Traffic { seed, delay, pause, packets: 60, longest: 1500 };
        let outcome = run(&traffic).unwrap();
        assert!(outcome.high <= outcome.slack, "{outcome:?}");
    }
}

/// The buffers are as large as they must be, and no larger: some traffic fills one to the last byte but
/// three.
#[test]
fn slack_is_wanted() {
    let traffic = |seed| Traffic {
        seed,
        delay: Duration::from_ns(200),
        pause: Duration::from_ns(2000),
        packets: 60,
        longest: 1500,
    };
    let outcomes: Vec<_> = (0..20).map(|seed| run(&traffic(seed)).unwrap()).collect();
    let high = outcomes.iter().map(|outcome| outcome.high).max().unwrap();
    assert!(outcomes[0].slack - high <= 3, "{high} of {}", outcomes[0].slack);
}

/// Four switches in a ring, and packets that all go the same way round, over half of it.
#[test]
fn cyclic_routes_do_deadlock_and_are_named() {
    let link = Params::new(Duration::from_ns(50));
    let params = SwitchParams { ports: 4, route: Duration::from_ns(100), link };
    let (mut bench, mut topology) = (Bench::new(&link), Topology::new());
    for _ in 0..4 {
        bench.add(Node::Switch(Switch::new(params)));
    }
    for n in 0..4 {
        bench.connect((n, 1), ((n + 1) % 4, 2));
        topology.connect(End::Port(n, 1), End::Port((n + 1) % 4, 2));
        let sender = bench.add(Node::Sender(Sender::new(&link)));
        bench.connect((sender, 0), (n, 0));
        topology.connect(End::Card(n), End::Port(n, 0));
        // Over three switches, and out where the third one's sender is.
        bench.sender(sender).send(&[0x81, 0xbf, 0xbf, 0x81], &[0; 4000]);
    }
    let routes: Vec<_> = (0..4).map(|n| (n, vec![0x81, 0xbf, 0xbf, 0x81])).collect();
    let deadlock = check_routes(&topology, &routes).unwrap_err();
    bench.pass(Duration::from_us(200));
    // Each switch has a packet that waits for the way on, which another one has; nothing moves any more.
    let inside = |bench: &Bench| (0..4).map(|n| bench.switch(n).held()).collect::<Vec<_>>();
    let before = inside(&bench);
    bench.pass(Duration::from_us(200));
    assert_eq!(before, inside(&bench));
    for end in &deadlock.0 {
        let End::Port(switch, port) = *end else { panic!("{end}") };
        let waits: Vec<_> = bench.switch(switch).waits().map(|(_, output, _)| output).collect();
        assert!(waits.contains(&port), "{end} is named, and nobody waits for it: {waits:?}");
    }
    assert_eq!(deadlock.0.len(), 4);
}
