//! Recovery by the kernel (`firmware.overflow=host`) against firmware whose streams and pendings run out, judged.

use crate::bench::{
    anybody, config, pattern, pause, target, wait, Behaviour, Bench, Process, DATA, PID,
};
use des::Duration;
use portals::seastar::{Config, Pools};
use portals::{option, AckRequest, EqHandle, EventKind, Md, Position, Unlink};

/// Bytes of the messages, in turn: in the header, and behind it.
const SIZES: [u64; 5] = [0, 12, 13, 3000, 100];
const ROUNDS: u64 = 12;

/// A machine whose kernel has few receive pendings.
fn few(pendings: u16) -> Config {
    let pools = Pools { receives: pendings, ..Pools::FULL };
    Config { recovers: true, pools, ..config() }
}

/// Takes messages of the other node, and looks at the bytes of the last.
fn takes(p: &Process, strict: bool) {
    let options = option::OP_PUT | option::OP_GET | option::EVENT_START_DISABLE;
    let eq = p.ni.eq_alloc(1024).unwrap();
    let me = p.ni.me_attach(3, anybody(5, 0), Unlink::Retain, Position::After).unwrap();
    let md = Md { eq: Some(eq), ..Md::new(DATA, 1 << 20, options | option::MANAGE_REMOTE) };
    p.ni.md_attach(me, md, Unlink::Retain).unwrap();
    sends(p, eq, strict);
}

/// Sends to the other node, and waits for what it sends. With a bug only the judge looks at it.
fn sends(p: &Process, eq: EqHandle, strict: bool) {
    let other = 1 - p.ni.id().nid;
    p.write(DATA + 0x20_0000, &pattern(9, 3000));
    pause(p, 20);
    let sent = p.ni.eq_alloc(1024).unwrap();
    let bind = |size| {
        let options = option::EVENT_START_DISABLE;
        let md = Md { eq: Some(sent), ..Md::new(DATA + 0x20_0000, size, options) };
        p.ni.md_bind(md, Unlink::Retain).unwrap()
    };
    let mds = SIZES.map(bind);
    for n in 0..ROUNDS {
        let ack = if n % 3 == 0 { AckRequest::Ack } else { AckRequest::NoAck };
        for (place, md) in mds.iter().enumerate() {
            p.ni.put(*md, ack, target(other, 5), n * 8 + place as u64).unwrap();
        }
    }
    let all = ROUNDS * SIZES.len() as u64;
    if !strict {
        return (0..all).for_each(|_| assert!(p.ni.eq_wait(eq).is_ok()));
    }
    // Payloads end in any order; that of arrivals is the judge's business.
    let mut ended: Vec<u64> = (0..all).map(|_| wait(p, eq, EventKind::PutEnd).hdr_data).collect();
    ended.sort_unstable();
    assert!(ended.iter().copied().eq((0..ROUNDS).flat_map(|n| (0..5).map(move |at| n * 8 + at))));
    // Every third round is acknowledged.
    let events = all + ROUNDS.div_ceil(3) * SIZES.len() as u64;
    let ends = (0..events).map(|_| p.ni.eq_wait(sent).unwrap().event.kind);
    assert_eq!(ends.filter(|kind| *kind == EventKind::SendEnd).count() as u64, all);
    assert_eq!(p.read(DATA, 3000), pattern(9, 3000));
}

fn run(pendings: u16, behaviour: Behaviour, strict: bool) -> Bench {
    let mut bench = Bench::new(few(pendings), behaviour);
    (0..2).for_each(|node| bench.process(node, PID, move |p| takes(&p, strict)));
    bench.run();
    bench
}

#[test]
fn whatever_runs_out_everything_arrives() {
    for pendings in [1, 2, 5, 100] {
        for streams in [1, 2, usize::MAX] {
            let jitter = Duration::from_us(3 * u64::from(pendings % 2));
            let behaviour = Behaviour { streams, jitter, ..Behaviour::default() };
            run(pendings, behaviour, true).finish();
        }
    }
}

/// Nothing is said but that messages were taken, if nothing runs out.
#[test]
fn with_room_for_all_nothing_is_refused() {
    let mut bench = run(600, Behaviour::default(), true);
    bench.finish();
    for node in 0..2 {
        let counts = bench.overflow_counts(node);
        assert_eq!((counts.refused, counts.called, counts.repeated), (0, 0, 0), "{counts:?}");
        assert!(counts.taken > 0, "{counts:?}");
    }
}

#[cfg(debug_assertions)]
#[test]
fn every_bug_of_the_recovery_is_found() {
    use portals::Mutant;
    let bugs = [
        (Mutant::TakesAnyNumber, "arrival of a message"),
        (Mutant::RepeatsTheNext, ""),
        (Mutant::LosesCall, ""),
        (Mutant::LosesTaken, ""),
    ];
    for (bug, words) in bugs {
        portals::set_mutant(Some(bug));
        let bench = run(2, Behaviour { streams: 1, ..Behaviour::default() }, false);
        portals::set_mutant(None);
        let verdicts = bench.verdicts();
        let first = verdicts.first().unwrap_or_else(|| panic!("{bug:?} is not found"));
        println!("{bug:?}: {first}");
        assert!(first.starts_with("the judge: node ") && first.contains(words), "{bug:?}: {first}");
    }
}
