//! Heartbeat: a cable that is cut is noticed at both ends, after as many beats as it should be, whether
//! beats are sent or booked.

use crate::bench::{Bench, Node};
use crate::trouble::Trouble;
use abi::myrinet::{isr, register};
use des::{Duration, Time};
use myrinet::{Params, Switch, SwitchParams};
use proptest::prelude::*;

/// A card at a switch, whose cable is cut `after` so long: when card and switch have noticed it.
pub fn silence(sent: bool, after: Duration, delay: Duration) -> Result<[Time; 2], Trouble> {
    let link = Params::new(delay);
    let mut bench = Bench::new(&link);
    let card = bench.add_card(link);
    let params = SwitchParams { ports: 4, route: Duration::from_ns(100), link };
    let switch = bench.add(Node::Switch(Switch::new(params)));
    bench.connect((card, 0), (switch, 2));
    if sent {
        bench.card(card).send_beats(Time::ZERO);
        if let Node::Switch(switch) = &mut bench.nodes[switch] {
            switch.send_beats(Time::ZERO, 2);
        }
    }
    // Off the nanoseconds at which beats arrive: it is not defined which of the two is first in one instant.
    bench.pass(after + Duration(1));
    let known = |bench: &mut Bench| {
        let switch = bench.switch(switch).silent(2);
        [bench.card(card).silent(), switch]
    };
    if known(&mut bench) != [None; 2] {
        return Err(Trouble::WholeIsSilent);
    }
    let cut = bench.now;
    bench.cut((card, 0));
    bench.run(cut + link.beat * u64::from(link.beats_missed) + Duration(1));
    let [Some(a), Some(b)] = known(&mut bench) else {
        return Err(Trouble::CutIsWhole);
    };
    let least = cut + link.beat * u64::from(link.beats_missed - 1);
    if a.min(b) < least {
        return Err(Trouble::Early { ends: [a, b], least });
    }
    let now = bench.now;
    let status = bench.card(card).register(now, register::ISR).unwrap();
    let counted = [bench.card(card).counters().silences, bench.switch(switch).counters().silences];
    if status & isr::LINK3 == 0 || counted != [1; 2] {
        return Err(Trouble::Silences { status, counted });
    }
    Ok([a, b])
}

#[test]
fn a_cut_cable_is_noticed_after_the_beats_that_are_missed() {
    // The last BEAT that comes has left at 30 us.
    let found = silence(true, Duration::from_us(33), Duration::from_ns(50)).unwrap();
    assert_eq!(found, [Time(70_050_000); 2]);
}

/// The last beat that comes arrives just before the cut.
#[test]
fn a_beat_that_just_arrives_counts() {
    let (after, delay) = (Duration::from_ns(41_863), Duration::from_ns(1_863));
    for sent in [true, false] {
        assert_eq!(silence(sent, after, delay).unwrap(), [Time(81_863_000); 2], "sent: {sent}");
    }
}

/// A link with nothing to say has no next action as long as its cable is whole.
#[test]
fn booked_beats_are_no_events() {
    let link = Params::new(Duration::from_ns(50));
    let mut bench = Bench::new(&link);
    let card = bench.add_card(link);
    let params = SwitchParams { ports: 4, route: Duration::from_ns(100), link };
    assert_eq!(bench.card(card).next(), Time::NEVER);
    assert_eq!(Switch::new(params).next(), Time::NEVER);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..Default::default() })]

    #[test]
    fn booked_beats_are_as_good_as_sent_ones(after_ns in 1..100_000_u64, delay_ns in 1..2000_u64) {
        let (after, delay) = (Duration::from_ns(after_ns), Duration::from_ns(delay_ns));
        let found = |sent| silence(sent, after, delay).unwrap();
        prop_assert_eq!(found(true), found(false));
    }
}
