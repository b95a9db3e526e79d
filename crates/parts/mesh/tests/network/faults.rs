//! Links that fail on request.

use crate::bench::{class_of, packet, traffic, Network, CONTROL};
use abi::packet::Packet;
use des::{Duration, Time};
use mesh::{Class, DeadLink, FaultSite, Faults, Rule, What, Which};

/// A rule for a share of the packets of all links.
fn share(what: What, chance: f64) -> Rule {
    let (from, until) = (Time::ZERO, Time::NEVER);
    Rule { what, which: Which::Chance(chance), place: FaultSite::Everywhere, from, until }
}

/// Sum of a counter over all links.
fn links(network: &Network, f: fn(&mesh::OutputCounters) -> u64) -> u64 {
    network.routers.iter().flat_map(|r| r.counters().links).map(|l| f(&l)).sum()
}

#[test]
fn lost_and_damaged_packets_take_no_credits_with_them() {
    let mut network = Network::new("3x3");
    let rules = vec![
        share(What::BitError, 1e-4),
        share(What::Drop, 0.05),
        share(What::Delay(Duration::from_us(1)), 0.1),
    ];
    network.fail(&Faults { seed: 3, rules, ..Faults::default() });
    let sent = traffic(&mut network, 9, 7, 5000);
    network.run();
    let lost = links(&network, |l| l.lost);
    let damaged = links(&network, |l| l.damaged);
    assert!(lost > 250 && damaged > 250 && links(&network, |l| l.delayed) > 500);
    assert_eq!(network.around.ejected.len() as u64 + lost, sent.len() as u64);
    let changed = |(_, _, packet): &&(Time, u32, Packet)| {
        let whole = sent[usize::from(packet.message & !CONTROL)];
        packet.data() != whole.data() || packet.crc != whole.crc
    };
    let wrong = network.around.ejected.iter().filter(changed).count();
    assert!(wrong > 100 && wrong as u64 <= damaged);
}

/// Copies need room like all packets, also where there is none, and get it.
#[test]
fn doubled_packets_come_twice_and_keep_the_books() {
    for (chance, slow) in [(0.1, 0), (1.0, 0), (0.3, 40)] {
        let mut network = Network::new("3x3");
        network.digest = Duration::from_ns(slow);
        let rules = vec![share(What::Duplicate, chance)];
        network.fail(&Faults { seed: 3, rules, ..Faults::default() });
        let sent = traffic(&mut network, 9, 7, 2000);
        network.run();
        let doubled = links(&network, |l| l.doubled);
        assert!(doubled as f64 > 2000.0 * chance, "{doubled}");
        let ejected = &network.around.ejected;
        assert_eq!(ejected.len() as u64, sent.len() as u64 + doubled);
        // A copy comes behind its packet, and nothing else changes places.
        for source in 0..9 {
            for dest in 0..9 {
                let pair = |p: &&Packet| (u32::from(p.source), u32::from(p.dest)) == (source, dest);
                let of = |class: Class| move |p: &&Packet| class_of(p) == class;
                for class in [Class::Data, Class::Control] {
                    let mut got: Vec<_> =
                        ejected.iter().map(|e| e.2).filter(|p| pair(&p) && of(class)(&p)).collect();
                    got.dedup();
                    let mut want: Vec<_> =
                        sent.iter().copied().filter(|p| pair(&p) && of(class)(&p)).collect();
                    want.sort_by_key(|p| got.iter().position(|g| g == p));
                    assert_eq!(got, want, "{source} to {dest}");
                }
            }
        }
    }
}

/// A copy has no number: a fault requested by number hits the same packet with and without it.
#[test]
fn copies_do_not_move_what_befalls_others() {
    let rule = |what, number| Rule { which: Which::Number(number), ..share(what, 0.0) };
    let (doubled, lost) = (rule(What::Duplicate, 5), rule(What::Drop, 7));
    let got = |rules: &[Rule]| {
        let mut network = Network::new("2");
        network.fail(&Faults { rules: rules.to_vec(), ..Faults::default() });
        (1..=9).for_each(|message| network.send(Time::ZERO, packet(0, 1, 64, message)));
        network.run();
        network.around.ejected.iter().map(|e| e.2.message).collect::<Vec<_>>()
    };
    assert_eq!(got(&[lost]), [1, 2, 3, 4, 5, 6, 8, 9]);
    assert_eq!(got(&[doubled, lost]), [1, 2, 3, 4, 5, 5, 6, 8, 9]);
    // The copy suffers no fault.
    let all = share(What::Duplicate, 1.0);
    assert_eq!(got(&[lost, all]), [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 8, 8, 9, 9]);
}

#[test]
fn packets_pass_one_that_is_held_back() {
    let mut network = Network::new("2");
    let held = share(What::Overtake(Duration::from_ns(100)), 0.0);
    let rules = vec![Rule { which: Which::Number(2), ..held }];
    network.fail(&Faults { rules, ..Faults::default() });
    for message in 0..6 {
        network.send(Time::ZERO, packet(0, 1, 64, message));
    }
    network.run();
    // A packet takes 27 ns on the link.
    let order: Vec<_> = network.around.ejected.iter().map(|e| e.2.message).collect();
    assert_eq!(order, [0, 2, 3, 4, 1, 5]);
    assert_eq!(links(&network, |l| l.overtaken), 1);
}

#[test]
fn what_waits_for_a_dead_link_waits_for_ever_and_the_rest_goes_on() {
    let mut network = Network::new("4");
    let from = Time(2_000_000);
    network.fail(&Faults { dead: vec![DeadLink { a: 2, b: 1, from }], ..Faults::default() });
    for message in 0..200 {
        network.send(Time::ZERO, packet(0, 3, 64, message));
        network.send(Time::ZERO, packet(2, 3, 64, message));
    }
    network.run();
    let of = |source| network.around.ejected.iter().filter(|e| e.2.source == source).count();
    assert_eq!(of(2), 200);
    assert!((10..100).contains(&of(0)), "{}", of(0));
    let waiting: Vec<_> = network.routers[1].waiting_for_dead().collect();
    assert_eq!(waiting, [(2, 1)]);
}
