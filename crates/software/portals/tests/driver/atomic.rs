//! Atomic operations and descriptors of several regions, between two simulated hosts without the real network
//! interface.

use crate::bench;
use crate::bench::{
    config, expose, id, pattern, pause, target, wait, Behaviour, Bench, Fate, CONSTANT, DATA,
    FLEETING, PID,
};
use portals::seastar::Config;
use portals::{
    option, AckRequest, Atomic, Error, EventKind, Md, MdHandle, NiFail, Region, Target, Unlink,
};
use std::collections::BTreeMap;

const BOTH: u32 = option::OP_PUT | option::OP_GET | option::MANAGE_REMOTE;
const ANSWER: u64 = DATA + 0x1000;
/// Address of this process's lists of regions.
const LIST: u64 = DATA + 0x8000;

fn word(value: i64) -> [u8; 8] {
    value.to_le_bytes()
}

/// Stores a list of regions; the descriptor that it makes.
fn listed(p: &bench::Process, regions: &[(u64, u64)], options: u32) -> Md {
    let words = regions.iter().flat_map(|(start, length)| [*start, *length]);
    p.write(LIST, &words.flat_map(u64::to_le_bytes).collect::<Vec<_>>());
    Md::new(LIST, regions.len() as u64, options | option::IOVEC)
}

fn bind(p: &bench::Process, md: Md) -> MdHandle {
    p.ni.md_bind(md, Unlink::Retain).unwrap()
}

/// Sizes that travel inline, and such that do not.
const SWAPS: [usize; 6] = [0, 1, 8, 12, 13, 64];

fn swaps(config: Config, behaviour: Behaviour, to: u32) {
    let mut bench = Bench::new(config, behaviour);
    let server = PID + 1;
    bench.process(to as usize, server, move |p| {
        p.write(DATA, &pattern(1, 100));
        let (eq, _) = expose(&p, 5, DATA, 100, BOTH);
        for (n, size) in SWAPS.into_iter().enumerate() {
            let start = wait(&p, eq, EventKind::GetPutStart);
            let end = wait(&p, eq, EventKind::GetPutEnd);
            assert_eq!(
                (end.link, end.rlength, end.mlength),
                (start.sequence, size as u64, end.rlength)
            );
            assert_eq!((end.hdr_data, end.offset, end.initiator), (n as u64, 3, id(0, PID)));
            // On one node the peer is ahead: it waits for nobody, and there is one processor.
            if to == 0 && n + 1 < SWAPS.len() {
                continue;
            }
            assert_eq!(p.read(DATA + 3, size), pattern(n + 10, size));
            let rest = &pattern(1, 100)[3 + size..];
            assert_eq!(p.read(DATA + 3 + size as u64, 97 - size), rest);
        }
    });
    bench.process(0, PID, move |p| {
        let eq = p.ni.eq_alloc(16).unwrap();
        pause(&p, 20);
        let get = bind(&p, Md { eq: Some(eq), ..Md::new(ANSWER, 64, 0) });
        let mut before = pattern(1, 100);
        for (n, size) in SWAPS.into_iter().enumerate() {
            p.write(DATA, &pattern(n + 10, size));
            let put = bind(&p, Md { eq: Some(eq), ..Md::new(DATA, size as u64, 0) });
            let to = Target { offset: 3, id: id(to, server), ..target(to, 5) };
            p.ni.atomic(Atomic::Swap, get, put, to, n as u64).unwrap();
            wait(&p, eq, EventKind::SendStart);
            assert_eq!(wait(&p, eq, EventKind::SendEnd).md_handle, put);
            wait(&p, eq, EventKind::ReplyStart);
            let end = wait(&p, eq, EventKind::ReplyEnd);
            assert_eq!((end.md_handle, end.mlength, end.offset), (get, size as u64, 0));
            assert_eq!(p.read(ANSWER, size), before[3..3 + size]);
            before[3..3 + size].copy_from_slice(&pattern(n + 10, size));
            p.ni.md_unlink(put).unwrap();
            pause(&p, 20);
        }
    });
    bench.finish();
    assert_eq!(bench.counters(to as usize).atomics, SWAPS.len() as u64);
}

#[test]
fn swaps_of_all_sizes_return_what_was_there_under_every_option() {
    for inline_messages in [true, false] {
        for inline in [true, false] {
            let config = Config { inline_messages, ..config() };
            swaps(config, Behaviour { inline, ..Behaviour::default() }, 1);
        }
    }
}

#[test]
fn swaps_within_a_node_are_the_kernels_own() {
    swaps(config(), Behaviour::default(), 0);
}

#[test]
fn adds_and_conditional_swaps_work_on_numbers() {
    let mut bench = Bench::new(config(), Behaviour::default());
    bench.process(1, PID + 1, |p| {
        p.write(DATA, &word(40));
        let (eq, _) = expose(&p, 5, DATA, 8, BOTH | option::TRUNCATE);
        for value in [42, -1, -1, 7, 7 - (1 << 32)] {
            wait(&p, eq, EventKind::GetPutStart);
            wait(&p, eq, EventKind::GetPutEnd);
            assert_eq!(p.read(DATA, 8), word(value));
        }
    });
    bench.process(0, PID, move |p| {
        let eq = p.ni.eq_alloc(16).unwrap();
        pause(&p, 20);
        let options = option::EVENT_START_DISABLE;
        let get = bind(&p, Md { eq: Some(eq), ..Md::new(ANSWER, 8, options) });
        let put = bind(&p, Md::new(DATA, 8, 0));
        let half = bind(&p, Md::new(DATA, 4, 0));
        let to = Target { id: id(1, PID + 1), ..target(1, 5) };
        let ask = |atomic, operand, condition: i64, expected: i64| {
            p.write(DATA, &word(operand));
            p.ni.atomic(atomic, get, put, to, condition as u64).unwrap();
            let end = wait(&p, eq, EventKind::ReplyEnd);
            assert_eq!((p.read(ANSWER, 8), end.mlength), (word(expected).to_vec(), 8));
            pause(&p, 20);
        };
        ask(Atomic::Add, 2, 0, 40);
        ask(Atomic::Add, -43, 0, 42);
        ask(Atomic::CompareSwap, 7, 42, -1);
        ask(Atomic::CompareSwap, 7, -1, -1);
        // Four bytes: their carry is lost.
        p.write(DATA, &word(-1));
        p.ni.atomic(Atomic::Add, get, half, Target { offset: 4, ..to }, 0).unwrap();
        assert_eq!(wait(&p, eq, EventKind::ReplyEnd).mlength, 4);
        pause(&p, 20);
    });
    bench.finish();
}

#[test]
fn what_cannot_be_swapped_is_refused_or_dropped() {
    let mut bench = Bench::new(config(), Behaviour::default());
    bench.process(1, PID, |p| {
        expose(&p, 1, DATA, 100, option::OP_PUT | option::MANAGE_REMOTE);
        expose(&p, 2, DATA, 100, option::OP_GET | option::MANAGE_REMOTE);
        expose(&p, 3, DATA, 100, BOTH | option::TRUNCATE);
        pause(&p, 500);
        assert_eq!(p.ni.ni_status(portals::StatusRegister::DropCount), 3);
    });
    bench.process(0, PID, |p| {
        pause(&p, 20);
        let bound = |length| bind(&p, Md::new(DATA, length, 0));
        let (get, put, long, odd) = (bound(100), bound(8), bound(65), bound(6));
        let to = target(1, 1);
        assert_eq!(p.ni.atomic(Atomic::Swap, get, long, to, 0), Err(Error::MdIllegal));
        assert_eq!(p.ni.atomic(Atomic::Add, get, odd, to, 0), Err(Error::MdIllegal));
        assert_eq!(p.ni.atomic(Atomic::CompareSwap, get, odd, to, 0), Err(Error::MdIllegal));
        let stale = bound(8);
        p.ni.md_unlink(stale).unwrap();
        assert_eq!(p.ni.atomic(Atomic::Swap, stale, put, to, 0), Err(Error::MdInvalid));
        assert_eq!(p.ni.atomic(Atomic::Swap, get, stale, to, 0), Err(Error::MdInvalid));
        // Not allowed to be put to, not to be got from, and a number that would be cut.
        p.ni.atomic(Atomic::Swap, get, put, to, 0).unwrap();
        p.ni.atomic(Atomic::Swap, get, put, target(1, 2), 0).unwrap();
        p.ni.atomic(Atomic::Add, get, put, Target { offset: 95, ..target(1, 3) }, 0).unwrap();
    });
    bench.finish();
}

#[test]
fn a_damaged_operand_changes_nothing() {
    let fates = BTreeMap::from([((0, 1), Fate::Damaged)]);
    let mut bench = Bench::new(config(), Behaviour { fates, ..Behaviour::default() });
    bench.process(1, PID, |p| {
        p.write(DATA, &[1; 20]);
        let (eq, _) = expose(&p, 5, DATA, 20, BOTH);
        wait(&p, eq, EventKind::GetPutStart);
        assert_eq!(wait(&p, eq, EventKind::GetPutEnd).fail, NiFail::Fail);
        assert_eq!(p.read(DATA, 20), [1; 20]);
    });
    bench.process(0, PID, |p| {
        pause(&p, 20);
        let (get, put) = (bind(&p, Md::new(ANSWER, 20, 0)), bind(&p, Md::new(DATA, 20, 0)));
        p.ni.atomic(Atomic::Swap, get, put, target(1, 5), 0).unwrap();
    });
    bench.finish();
}

/// Memory that is gone, memory that may only be read, and an operand that is gone: all are answered.
#[test]
fn operations_that_fail_are_answered() {
    for to in [0, 1] {
        let mut bench = Bench::new(config(), Behaviour::default());
        bench.process(to as usize, PID, |p| {
            let places = [(5, FLEETING.start), (6, CONSTANT.start), (7, DATA)];
            let places = places.map(|(bits, start)| expose(&p, bits, start, 8, BOTH));
            p.write(FLEETING.start, &[0]);
            for (eq, _) in places {
                wait(&p, eq, EventKind::GetPutStart);
                assert_eq!(wait(&p, eq, EventKind::GetPutEnd).fail, NiFail::Fail);
            }
            assert_eq!(p.read(DATA, 8), [0; 8]);
        });
        bench.process(0, PID + 1, move |p| {
            pause(&p, 20);
            let eq = p.ni.eq_alloc(16).unwrap();
            let bound = |at| {
                let options = option::EVENT_START_DISABLE;
                bind(&p, Md { eq: Some(eq), ..Md::new(at, 8, options) })
            };
            p.write(DATA, &word(2));
            let (get, put, gone) = (bound(ANSWER), bound(DATA), bound(FLEETING.start));
            p.write(FLEETING.start, &[0]);
            for (bits, operand, sent) in
                [(5, put, NiFail::Ok), (6, put, NiFail::Ok), (7, gone, NiFail::Fail)]
            {
                p.ni.atomic(Atomic::Add, get, operand, target(to, bits), 0).unwrap();
                assert_eq!(wait(&p, eq, EventKind::SendEnd).fail, sent);
                let end = wait(&p, eq, EventKind::ReplyEnd);
                assert_eq!((end.fail, end.mlength, end.md_handle), (NiFail::Fail, 8, get));
            }
        });
        bench.finish();
    }
}

/// Regions of odd sizes at odd addresses, one of them empty.
const REGIONS: [(u64, u64); 5] =
    [(DATA + 1, 3), (DATA + 0x2001, 10), (DATA, 0), (DATA + 0x100, 1), (DATA + 0x4000, 5000)];

fn gather(p: &bench::Process) -> Vec<u8> {
    REGIONS.iter().flat_map(|(start, length)| p.read(*start, *length as usize)).collect()
}

fn scattered(node: usize, config: Config) {
    const ALL: usize = 5014;
    let parts = [(0, 5014), (2, 4), (3, 9), (12, 2), (13, 5000), (0, 0), (5013, 1)];
    let mut bench = Bench::new(config, Behaviour::default());
    bench.process(node, PID + 1, move |p| {
        let md = listed(&p, &REGIONS, BOTH);
        let eq = p.ni.eq_alloc(64).unwrap();
        let me = p.ni.me_attach(3, bench::anybody(5, 0), Unlink::Retain, portals::Position::After);
        p.ni.md_attach(me.unwrap(), Md { eq: Some(eq), ..md }, Unlink::Retain).unwrap();
        // The list is the library's own by now.
        p.write(LIST, &[0xff; 80]);
        let mut expected = vec![0; ALL];
        for (n, (offset, length)) in parts.into_iter().enumerate() {
            wait(&p, eq, EventKind::PutStart);
            let end = wait(&p, eq, EventKind::PutEnd);
            assert_eq!((end.offset, end.mlength), (offset, length as u64));
            assert_eq!((end.md.length, end.md.start), (5, LIST));
            expected[offset as usize..][..length].copy_from_slice(&pattern(n, ALL)[..length]);
            if node != 0 || n + 1 == parts.len() {
                assert!(gather(&p) == expected, "part {n}");
            }
        }
        wait(&p, eq, EventKind::GetStart);
        wait(&p, eq, EventKind::GetEnd);
    });
    bench.process(0, PID, move |p| {
        let eq = p.ni.eq_alloc(16).unwrap();
        pause(&p, 20);
        let options = option::EVENT_START_DISABLE;
        let to = Target { id: id(node as u32, PID + 1), ..target(1, 5) };
        let mut there = vec![0; ALL];
        let md = Md { eq: Some(eq), ..listed(&p, &REGIONS, options) };
        let md = bind(&p, md);
        for (n, (offset, length)) in parts.into_iter().enumerate() {
            let bytes = pattern(n, ALL);
            let mut rest = &bytes[..];
            for (start, length) in REGIONS {
                let (part, after) = rest.split_at(length as usize);
                p.write(start, part);
                rest = after;
            }
            let region = Region { offset: 0, length: length as u64 };
            p.ni.put_region(md, region, AckRequest::Ack, Target { offset, ..to }, 0).unwrap();
            wait(&p, eq, EventKind::SendEnd);
            assert_eq!(wait(&p, eq, EventKind::Ack).mlength, length as u64);
            there[offset as usize..][..length].copy_from_slice(&bytes[..length]);
            pause(&p, 50);
        }
        for (start, length) in REGIONS {
            p.write(start, &vec![0; length as usize]);
        }
        p.ni.get(md, to).unwrap();
        assert_eq!(wait(&p, eq, EventKind::ReplyEnd).mlength, ALL as u64);
        assert!(gather(&p) == there);
    });
    bench.finish();
}

#[test]
fn descriptors_of_several_regions_are_gathered_and_scattered() {
    for inline_messages in [true, false] {
        scattered(1, Config { inline_messages, ..config() });
    }
}

#[test]
fn and_so_they_are_within_a_node() {
    scattered(0, config());
}

#[test]
fn lists_that_are_too_long_or_not_there_are_refused() {
    let mut bench = Bench::new(config(), Behaviour::default());
    bench.process(0, PID, |p| {
        let max = p.ni.limits().max_md_iovecs as usize;
        let md = listed(&p, &vec![(DATA, 1); max], 0);
        p.ni.md_bind(md, Unlink::Retain).unwrap();
        let md = listed(&p, &vec![(DATA, 1); max + 1], 0);
        assert_eq!(p.ni.md_bind(md, Unlink::Retain), Err(Error::MdIllegal));
        let md = listed(&p, &[(DATA, 1), (bench::HOLE.start, 1)], 0);
        assert_eq!(p.ni.md_bind(md, Unlink::Retain), Err(Error::Segv));
        let md = Md { start: bench::HOLE.start, ..md };
        assert_eq!(p.ni.md_bind(md, Unlink::Retain), Err(Error::Segv));
    });
    bench.finish();
}
