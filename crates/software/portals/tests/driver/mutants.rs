//! Each bug that can be planted in the library is found by the judge, which finds nothing in the library as
//! it is.

use crate::bench::{anybody, config, id, pattern, pause, Behaviour, Bench, Process, DATA, PID};
use des::Duration;
use portals::{
    option, AckRequest, Atomic, EqHandle, Md, MdHandle, Mutant, Position, Region, Target, Unlink,
};

/// Match bits of the target's descriptors.
const TWICE: u64 = 1;
const LOOSE: u64 = 0x100;
const SHORT: u64 = 2;
const SECRET: u64 = 3;
const COUNTED: u64 = 4;
const SUM: u64 = 5;
const FLOODED: u64 = 6;

fn md(start: u64, length: u64, options: u32, eq: EqHandle) -> Md {
    Md { eq: Some(eq), ..Md::new(start, length, options) }
}

/// Takes all events that are there.
fn drain(p: &Process, eq: EqHandle) {
    while p.ni.eq_get(eq).is_ok() {}
}

/// The target: something of everything.
fn target(p: &Process) {
    let eq = p.ni.eq_alloc(64).unwrap();
    let small = p.ni.eq_alloc(2).unwrap();
    let both = option::OP_PUT | option::OP_GET;
    let expose = |bits, ignore, position, described: Md, unlink| {
        let me = p.ni.me_attach(3, anybody(bits, ignore), unlink, position).unwrap();
        p.ni.md_attach(me, described, unlink).unwrap()
    };
    let hang = |bits, at, length, options| {
        expose(bits, 0, Position::After, md(DATA + at, length, options, eq), Unlink::Retain)
    };
    p.write(DATA, &pattern(1, 4096));
    hang(TWICE, 0, 100, both);
    // Comes first, and takes a third of what the other does not get.
    let first = md(DATA + 0x100, 40, both, eq);
    expose(TWICE, 0, Position::Before, first, Unlink::Retain);
    let loose = md(DATA + 0x200, 100, both, eq);
    expose(LOOSE, 0xff, Position::After, loose, Unlink::Retain);
    hang(SHORT, 0x300, 10, both | option::TRUNCATE);
    hang(SECRET, 0x400, 100, both | option::ACK_DISABLE);
    let counted = Md { threshold: 2, ..md(DATA + 0x500, 100, both, eq) };
    expose(COUNTED, 0, Position::After, counted, Unlink::Unlink);
    hang(SUM, 0x600, 8, both | option::MANAGE_REMOTE);
    let flooded = md(DATA + 0x700, 100, both, small);
    expose(FLOODED, 0, Position::After, flooded, Unlink::Retain);
    // Others of this node may run meanwhile.
    let never = p.ni.eq_alloc(1).unwrap();
    assert!(p.ni.eq_poll(&[never], Some(Duration::from_us(900))).is_err());
    drain(p, eq);
    drain(p, small);
}

/// The initiator.
fn initiator(p: &Process, to: u32) {
    let eq = p.ni.eq_alloc(256).unwrap();
    p.write(DATA + 0x8000, &pattern(2, 4096));
    let bind = |length| p.ni.md_bind(md(DATA + 0x8000, length, 0, eq), Unlink::Retain).unwrap();
    let at =
        |bits| Target { id: id(to, PID), pt_index: 3, ac_index: 0, match_bits: bits, offset: 0 };
    let put = |length, bits| {
        p.ni.put(bind(length), AckRequest::Ack, at(bits), 77).unwrap();
        pause(p, 30);
    };
    pause(p, 50);
    put(16, TWICE);
    put(16, TWICE);
    put(16, TWICE);
    put(20, LOOSE + 0x42);
    put(50, SHORT);
    put(8, SECRET);
    put(4, COUNTED);
    put(64, COUNTED);
    put(4, COUNTED);
    (0..4).for_each(|_| put(1, FLOODED));
    let region = Region { offset: 7, length: 30 };
    let get: MdHandle = bind(100);
    p.ni.get_region(get, region, at(LOOSE + 1)).unwrap();
    pause(p, 30);
    p.write(DATA + 0x8000, &[0xff; 8]);
    p.ni.atomic(Atomic::Add, bind(8), bind(8), at(SUM), 0).unwrap();
    pause(p, 30);
    drain(p, eq);
}

/// Verdicts of the judges about the library with a bug. The target is on node 1, the initiator on node
/// `from`.
fn verdicts(bug: Option<Mutant>, from: usize) -> (Vec<String>, spec::Tally) {
    portals::set_mutant(bug);
    let mut bench = Bench::new(config(), Behaviour::default());
    bench.process(1, PID, |p| target(&p));
    bench.process(from, PID + 1, |p| initiator(&p, 1));
    bench.run();
    portals::set_mutant(None);
    (bench.verdicts(), bench.judged())
}

#[test]
fn the_library_as_it_is_has_the_judges_agreement() {
    for from in [0, 1] {
        let (verdicts, judged) = verdicts(None, from);
        assert_eq!(verdicts, [""; 0]);
        assert!(judged.messages >= 25 && judged.bytes >= 190, "{judged:?}");
        assert!(judged.calls >= 40 && judged.events >= 40, "{judged:?}");
    }
}

#[test]
fn every_mutant_is_found() {
    let bugs = [
        (Mutant::HeadIsTail, "fate", "s2.2"),
        (Mutant::IgnoresTheWrongBits, "fate", "s2.2"),
        (Mutant::NeverTruncates, "dropped", "s3.10"),
        (Mutant::OffsetStays, "offset", "s3.10"),
        (Mutant::CountsTooLate, "number of events", "s3.11"),
        (Mutant::NoStart, "number of events", "s3.11"),
        (Mutant::NoUnlink, "number of events", "s3.11"),
        (Mutant::DropsInSilence, "PTL_EQ_DROPPED", "s3.11"),
        (Mutant::AcknowledgesAlways, "acknowledgement", "s3.10"),
        (Mutant::AcknowledgesLittle, "answer", "s3.13"),
        (Mutant::ReplyAtStart, "offset", "s3.10"),
        (Mutant::LosesCarry, "memory after the message", "s3.13"),
        (Mutant::StoresInVain, "ni_fail_type", "s3.11"),
    ];
    for (bug, what, clause) in bugs {
        // Operations between a node's own processes do not pass the driver, which has this bug.
        let nodes = if bug == Mutant::AcknowledgesLittle { 1 } else { 2 };
        for from in 0..nodes {
            let (verdicts, _) = verdicts(Some(bug), from);
            let first = verdicts.first().unwrap_or_else(|| panic!("{bug:?} is not found"));
            assert!(first.starts_with("the judge: node "), "{bug:?}: {first}");
            assert!(first.contains(what) && first.contains(clause), "{bug:?}: {first}");
        }
    }
}
