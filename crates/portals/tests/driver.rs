//! The kernel's driver between two simulated hosts, without the real network interface.

#![allow(clippy::unwrap_used)] // A test may panic anywhere.

mod bench;

use bench::{config, id, Behaviour, Bench, Fate, Journal, Process, HOLE};
use des::Duration;
use portals::{
    option, AckRequest, Config, Criteria, EqHandle, Error, Event, EventKind, Mark, Md, MdHandle,
    NiFail, Position, ProcessId, Region, StatusRegister, Target, Unlink,
};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

const DATA: u64 = 0x10_0000;
const PID: u32 = 7;
const SIZES: [usize; 11] = [0, 1, 11, 12, 13, 64, 100, 4096, 4097, 65_536, 100_000];

fn pattern(seed: usize, len: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 7 + at / 256 + seed * 13 + 1) as u8).collect()
}

fn anybody(match_bits: u64, ignore_bits: u64) -> Criteria {
    Criteria { match_id: ProcessId::ANY, match_bits, ignore_bits }
}

fn target(nid: u32, match_bits: u64) -> Target {
    Target { id: id(nid, PID), pt_index: 3, ac_index: 0, match_bits, offset: 0 }
}

/// A queue and a descriptor of `length` bytes at `start` that hangs on portal 3.
fn expose(p: &Process, bits: u64, start: u64, length: u64, options: u32) -> (EqHandle, MdHandle) {
    let eq = p.ni.eq_alloc(64).unwrap();
    let me = p.ni.me_attach(3, anybody(bits, 0), Unlink::Retain, Position::After).unwrap();
    let md = Md { eq: Some(eq), ..Md::new(start, length, options) };
    (eq, p.ni.md_attach(me, md, Unlink::Retain).unwrap())
}

fn wait(p: &Process, eq: EqHandle, kind: EventKind) -> Event {
    let next = p.ni.eq_wait(eq).unwrap();
    assert!(!next.dropped);
    assert_eq!(next.event.kind, kind, "{:?}", next.event);
    next.event
}

/// Lets the peer act: a process that has nothing to wait for.
fn pause(p: &Process, us: u64) {
    p.cpu.spend(Duration::from_us(us));
}

fn put_sizes(config: Config, behaviour: Behaviour) {
    let mut bench = Bench::new(config, behaviour);
    bench.process(1, PID, |p| {
        let (eq, _) = expose(&p, 5, DATA, 1 << 20, option::OP_PUT | option::MANAGE_REMOTE);
        for (n, size) in SIZES.into_iter().enumerate() {
            let start = wait(&p, eq, EventKind::PutStart);
            let end = wait(&p, eq, EventKind::PutEnd);
            assert_eq!((start.link, end.link), (start.sequence, start.sequence));
            assert_eq!((end.rlength, end.mlength), (size as u64, size as u64));
            assert_eq!((end.initiator, end.match_bits, end.pt_index), (id(0, PID), 5, 3));
            assert_eq!((end.hdr_data, end.offset, end.fail), (n as u64, 100, NiFail::Ok));
            assert_eq!(p.read(DATA + 100, size), pattern(n, size));
        }
    });
    bench.process(0, PID, |p| {
        let eq = p.ni.eq_alloc(16).unwrap();
        pause(&p, 20);
        for (n, size) in SIZES.into_iter().enumerate() {
            p.write(DATA, &pattern(n, size));
            let md = Md { eq: Some(eq), user_ptr: 99, ..Md::new(DATA, size as u64, 0) };
            let md = p.ni.md_bind(md, Unlink::Retain).unwrap();
            let to = Target { offset: 100, ..target(1, 5) };
            p.ni.put(md, AckRequest::Ack, to, n as u64).unwrap();
            assert_eq!(p.ni.md_unlink(md), Err(Error::MdInUse));
            wait(&p, eq, EventKind::SendStart);
            let end = wait(&p, eq, EventKind::SendEnd);
            assert_eq!((end.mlength, end.md_user_ptr, end.md_handle), (size as u64, 99, md));
            let ack = wait(&p, eq, EventKind::Ack);
            assert_eq!((ack.mlength, ack.offset, ack.initiator), (size as u64, 100, id(1, PID)));
            p.ni.md_unlink(md).unwrap();
        }
    });
    bench.finish();
}

#[test]
fn puts_of_all_sizes_arrive_under_every_option() {
    for shadow_fifos in [true, false] {
        for inline_messages in [true, false] {
            for inline in [true, false] {
                let config = Config { shadow_fifos, inline_messages, ..config() };
                put_sizes(config, Behaviour { inline, ..Behaviour::default() });
            }
        }
    }
}

#[test]
fn gets_of_all_sizes_fill_the_region_that_was_named() {
    for inline in [true, false] {
        let mut bench = Bench::new(config(), Behaviour { inline, ..Behaviour::default() });
        bench.process(1, PID, |p| {
            p.write(DATA, &pattern(3, 200_000));
            let (eq, _) = expose(&p, 5, DATA, 200_000, option::OP_GET | option::MANAGE_REMOTE);
            for size in SIZES {
                wait(&p, eq, EventKind::GetStart);
                let end = wait(&p, eq, EventKind::GetEnd);
                assert_eq!((end.mlength, end.offset), (size as u64, 50));
            }
        });
        bench.process(0, PID, |p| {
            let eq = p.ni.eq_alloc(16).unwrap();
            let md = Md { eq: Some(eq), ..Md::new(DATA, 150_000, 0) };
            let md = p.ni.md_bind(md, Unlink::Retain).unwrap();
            pause(&p, 20);
            for size in SIZES {
                p.write(DATA, &vec![0; 150_000]);
                let region = Region { offset: 1000, length: size as u64 };
                let to = Target { offset: 50, ..target(1, 5) };
                p.ni.get_region(md, region, to).unwrap();
                let start = wait(&p, eq, EventKind::ReplyStart);
                let end = wait(&p, eq, EventKind::ReplyEnd);
                assert_eq!(end.link, start.sequence);
                assert_eq!((end.mlength, end.offset), (size as u64, 1000));
                assert_eq!(p.read(DATA + 1000, size), pattern(3, 200_000)[50..50 + size]);
                assert_eq!(p.read(DATA + 1000 + size as u64, 8), [0; 8]);
            }
        });
        bench.finish();
    }
}

#[test]
fn the_oldest_matching_entry_takes_a_message_and_wildcards_take_the_rest() {
    let behaviour = Behaviour { jitter: Duration::from_us(50), ..Behaviour::default() };
    let mut bench = Bench::new(config(), behaviour);
    bench.process(1, PID, |p| {
        let eq = p.ni.eq_alloc(256).unwrap();
        let post = |bits, ignore, start, threshold, user_ptr| {
            let options = option::OP_PUT | option::EVENT_START_DISABLE;
            let md = Md { eq: Some(eq), threshold, user_ptr, ..Md::new(start, 40_000, options) };
            let me = p.ni.me_attach(3, anybody(bits, ignore), Unlink::Unlink, Position::After);
            p.ni.md_attach(me.unwrap(), md, Unlink::Unlink).unwrap();
        };
        post(2, 0, DATA, 1, 1);
        post(0, u64::MAX, DATA + 0x10000, 1, 2);
        post(2, 0, DATA + 0x20000, 1, 3);
        post(0, u64::MAX, DATA + 0x30000, portals::THRESH_INF, 4);
        let mut taken = BTreeMap::new();
        while taken.len() < 5 {
            let event = p.ni.eq_wait(eq).unwrap().event;
            if event.kind == EventKind::PutEnd {
                let base = DATA + 0x10000 * (event.md_user_ptr - 1) + event.offset;
                let size = event.mlength as usize;
                assert_eq!(p.read(base, size), pattern(event.hdr_data as usize, size));
                taken.insert(event.hdr_data, event.md_user_ptr);
            }
        }
        // Bits 2, 2, 2, 9, 2 in this order.
        assert_eq!(taken, BTreeMap::from([(0, 1), (1, 2), (2, 3), (3, 4), (4, 4)]));
    });
    bench.process(0, PID, |p| {
        pause(&p, 20);
        for (n, bits) in [2, 2, 2, 9, 2].into_iter().enumerate() {
            let at = DATA + 0x10000 * n as u64;
            let size = [30_000, 5, 9_000, 100, 2_000][n];
            p.write(at, &pattern(n, size));
            let md = p.ni.md_bind(Md::new(at, size as u64, 0), Unlink::Retain).unwrap();
            p.ni.put(md, AckRequest::NoAck, target(1, bits), n as u64).unwrap();
        }
    });
    bench.finish();
}

#[test]
fn a_message_that_is_too_long_is_truncated_and_the_rest_discarded() {
    for size in [10, 12, 5000] {
        let mut bench = Bench::new(config(), Behaviour::default());
        bench.process(1, PID, move |p| {
            let options = option::OP_PUT | option::TRUNCATE;
            let (eq, _) = expose(&p, 5, DATA, 7, options);
            wait(&p, eq, EventKind::PutStart);
            let end = wait(&p, eq, EventKind::PutEnd);
            assert_eq!((end.rlength, end.mlength), (size as u64, 7));
            assert_eq!(p.read(DATA, 7), pattern(1, 7));
            assert_eq!(p.read(DATA + 7, 64), [0; 64]);
        });
        bench.process(0, PID, move |p| {
            pause(&p, 20);
            p.write(DATA, &pattern(1, size));
            let eq = p.ni.eq_alloc(8).unwrap();
            let md = Md { eq: Some(eq), ..Md::new(DATA, size as u64, 0) };
            let md = p.ni.md_bind(md, Unlink::Retain).unwrap();
            p.ni.put(md, AckRequest::Ack, target(1, 5), 0).unwrap();
            wait(&p, eq, EventKind::SendStart);
            wait(&p, eq, EventKind::SendEnd);
            assert_eq!(wait(&p, eq, EventKind::Ack).mlength, 7);
        });
        bench.finish();
    }
}

#[test]
fn what_nobody_takes_is_dropped_and_counted() {
    let mut bench = Bench::new(config(), Behaviour::default());
    bench.process(1, PID, |p| {
        expose(&p, 5, DATA, 100, option::OP_PUT);
        pause(&p, 200);
        assert_eq!(p.ni.ni_status(StatusRegister::DropCount), 3);
        assert_eq!(p.ni.ni_status(StatusRegister::DropLength), 4000 + 8 + 8);
    });
    bench.process(0, PID, |p| {
        pause(&p, 20);
        let eq = p.ni.eq_alloc(8).unwrap();
        let options = option::EVENT_START_DISABLE;
        let bind = |length| {
            let md = Md { eq: Some(eq), ..Md::new(DATA, length, options) };
            p.ni.md_bind(md, Unlink::Retain).unwrap()
        };
        let (long, short) = (bind(4000), bind(8));
        p.ni.put(long, AckRequest::Ack, target(1, 5), 0).unwrap();
        wait(&p, eq, EventKind::SendEnd);
        p.ni.put(short, AckRequest::Ack, target(1, 6), 0).unwrap();
        wait(&p, eq, EventKind::SendEnd);
        p.ni.get(short, target(1, 5)).unwrap();
        // A process that does not exist.
        let nobody = Target { id: id(1, 9), ..target(1, 5) };
        p.ni.put(long, AckRequest::Ack, nobody, 0).unwrap();
        wait(&p, eq, EventKind::SendEnd);
        let none = p.ni.eq_poll(&[eq], Some(Duration::from_us(100)));
        assert_eq!(none.unwrap_err(), Error::EqEmpty);
        p.ni.md_unlink(long).unwrap();
        p.ni.md_unlink(short).unwrap();
    });
    bench.finish();
    assert_eq!(bench.counters(1).undeliverable, 1);
}

#[test]
fn damage_is_reported_and_not_acknowledged() {
    let fates =
        BTreeMap::from([((0, 1), Fate::Damaged), ((0, 2), Fate::Damaged), ((0, 3), Fate::Refused)]);
    let mut bench = Bench::new(config(), Behaviour { fates, ..Behaviour::default() });
    bench.process(1, PID, |p| {
        let (eq, _) = expose(&p, 5, DATA, 5000, option::OP_PUT | option::MANAGE_REMOTE);
        wait(&p, eq, EventKind::PutStart);
        assert_eq!(wait(&p, eq, EventKind::PutEnd).fail, NiFail::Fail);
        wait(&p, eq, EventKind::PutStart);
        assert_eq!(wait(&p, eq, EventKind::PutEnd).fail, NiFail::Ok);
    });
    bench.process(0, PID, |p| {
        pause(&p, 20);
        let eq = p.ni.eq_alloc(32).unwrap();
        let options = option::EVENT_START_DISABLE;
        let bind = |length| {
            let md = Md { eq: Some(eq), ..Md::new(DATA, length, options) };
            p.ni.md_bind(md, Unlink::Retain).unwrap()
        };
        let (long, short) = (bind(4000), bind(8));
        // Damaged payload; damaged header; refused by the transmit engine; good.
        for (md, fail) in
            [(long, NiFail::Ok), (short, NiFail::Ok), (long, NiFail::Fail), (long, NiFail::Ok)]
        {
            p.ni.put(md, AckRequest::Ack, target(1, 5), 0).unwrap();
            assert_eq!(wait(&p, eq, EventKind::SendEnd).fail, fail);
        }
        wait(&p, eq, EventKind::Ack);
        let none = p.ni.eq_poll(&[eq], Some(Duration::from_us(100)));
        assert_eq!(none.unwrap_err(), Error::EqEmpty);
    });
    bench.finish();
    assert_eq!(bench.counters(1).undeliverable, 1);
}

/// Sends `count` messages at once; returns the sender's counters.
fn flood(config: Config, behaviour: Behaviour, count: u64, size: u64) -> portals::Counters {
    let mut bench = Bench::new(config, behaviour);
    bench.process(1, PID, move |p| {
        let options = option::OP_PUT | option::EVENT_START_DISABLE | option::MANAGE_REMOTE;
        let eq = p.ni.eq_alloc(1024).unwrap();
        let me = p.ni.me_attach(3, anybody(5, 0), Unlink::Retain, Position::After).unwrap();
        let md = Md { eq: Some(eq), ..Md::new(DATA, 1 << 20, options) };
        p.ni.md_attach(me, md, Unlink::Retain).unwrap();
        for n in 0..count {
            assert_eq!(wait(&p, eq, EventKind::PutEnd).hdr_data, n);
        }
    });
    bench.process(0, PID, move |p| {
        pause(&p, 20);
        let eq = p.ni.eq_alloc(1024).unwrap();
        let options = option::EVENT_START_DISABLE;
        let md = Md { eq: Some(eq), ..Md::new(DATA, size, options) };
        let md = p.ni.md_bind(md, Unlink::Retain).unwrap();
        for n in 0..count {
            p.ni.put(md, AckRequest::NoAck, target(1, 5), n).unwrap();
        }
        for n in 0..count {
            assert_eq!(wait(&p, eq, EventKind::SendEnd).hdr_data, n);
        }
    });
    bench.finish();
    bench.counters(0)
}

#[test]
fn nothing_is_lost_when_transmit_pendings_run_out() {
    let few = Config { tx_pendings: 2, ..config() };
    assert!(flood(few, Behaviour::default(), 60, 3000).transmits_queued > 50);
    let slow = Behaviour { command: Duration::from_us(5), ..Behaviour::default() };
    assert!(flood(few, slow, 60, 4).transmits_queued > 50);
}

#[test]
fn a_full_mailbox_makes_the_kernel_look_at_the_head() {
    let slow = Behaviour { command: Duration::from_us(5), ..Behaviour::default() };
    let counters = flood(config(), slow, 200, 4);
    assert_eq!(counters.transmits, 200);
    assert!(counters.index_reads > 20, "{counters:?}");
}

#[test]
fn shadow_copies_save_two_round_trips_a_command() {
    let with = flood(config(), Behaviour::default(), 10, 4);
    let without = flood(Config { shadow_fifos: false, ..config() }, Behaviour::default(), 10, 4);
    assert_eq!(with.commands, without.commands);
    assert_eq!(without.index_reads - with.index_reads, 2 * with.commands);
}

#[test]
fn buffers_of_several_extents_travel_by_precomputed_commands() {
    const SEGMENT: u64 = host::SEGMENT_SIZE;
    let mut bench = Bench::new(config(), Behaviour::default());
    let start = 2 * SEGMENT - 3000;
    // The second segment gets its frame first, so the two are no neighbours.
    let scatter = move |p: &Process| {
        let memory = p.cpu.memory();
        memory.borrow_mut().translate(p.ni.space(), 2 * SEGMENT, 1).unwrap();
        let extents = memory.borrow_mut().translate(p.ni.space(), start, 6000).unwrap();
        assert_eq!(extents.len(), 2);
    };
    bench.process(1, PID, move |p| {
        scatter(&p);
        let (eq, _) = expose(&p, 5, start, 6000, option::OP_PUT | option::MANAGE_REMOTE);
        for n in 0..600 {
            wait(&p, eq, EventKind::PutStart);
            assert_eq!(wait(&p, eq, EventKind::PutEnd).mlength, 6000);
            assert_eq!(p.read(start, 6000), pattern(n, 6000));
        }
    });
    bench.process(0, PID, move |p| {
        pause(&p, 20);
        scatter(&p);
        let eq = p.ni.eq_alloc(16).unwrap();
        let md = Md { eq: Some(eq), ..Md::new(start, 6000, option::EVENT_START_DISABLE) };
        let md = p.ni.md_bind(md, Unlink::Retain).unwrap();
        for n in 0..600 {
            p.write(start, &pattern(n, 6000));
            p.ni.put(md, AckRequest::Ack, target(1, 5), 0).unwrap();
            wait(&p, eq, EventKind::SendEnd);
            wait(&p, eq, EventKind::Ack);
        }
    });
    bench.finish();
}

#[test]
fn processes_of_one_node_reach_one_another_and_themselves() {
    let mut bench = Bench::new(config(), Behaviour::default());
    bench.process(0, 8, |p| {
        let (eq, _) = expose(&p, 5, DATA, 1 << 20, option::OP_PUT | option::MANAGE_REMOTE);
        wait(&p, eq, EventKind::PutStart);
        assert_eq!(wait(&p, eq, EventKind::PutEnd).initiator, id(0, PID));
        assert_eq!(p.read(DATA, 100_000), pattern(1, 100_000));
    });
    bench.process(0, PID, |p| {
        pause(&p, 20);
        let eq = p.ni.eq_alloc(16).unwrap();
        p.write(DATA, &pattern(1, 100_000));
        let md = Md { eq: Some(eq), ..Md::new(DATA, 100_000, option::EVENT_START_DISABLE) };
        let md = p.ni.md_bind(md, Unlink::Retain).unwrap();
        let to = Target { id: id(0, 8), ..target(0, 5) };
        p.ni.put(md, AckRequest::Ack, to, 0).unwrap();
        wait(&p, eq, EventKind::SendEnd);
        wait(&p, eq, EventKind::Ack);
        // And a get from itself.
        let (own, _) = expose(&p, 6, DATA, 100_000, option::OP_GET);
        let copy = Md { start: 4 * DATA, ..Md::new(0, 100_000, 0) };
        let copy = p.ni.md_bind(Md { eq: Some(eq), ..copy }, Unlink::Retain).unwrap();
        p.ni.get(copy, target(0, 6)).unwrap();
        wait(&p, own, EventKind::GetStart);
        wait(&p, own, EventKind::GetEnd);
        wait(&p, eq, EventKind::ReplyStart);
        wait(&p, eq, EventKind::ReplyEnd);
        assert_eq!(p.read(4 * DATA, 100_000), pattern(1, 100_000));
    });
    bench.finish();
    assert_eq!(bench.counters(0).local, 2);
}

#[test]
fn mistakes_are_error_codes() {
    let mut bench = Bench::new(config(), Behaviour::default());
    bench.process(0, PID, |p| {
        let bind = |start, length| p.ni.md_bind(Md::new(start, length, 0), Unlink::Retain);
        assert_eq!(bind(HOLE.start, 1), Err(Error::Segv));
        assert_eq!(bind(HOLE.start - 10, 11), Err(Error::Segv));
        assert_eq!(bind(u64::MAX - 3, 10), Err(Error::Segv));
        let md = bind(DATA, 10).unwrap();
        let far = Target { id: ProcessId::ANY, ..target(1, 5) };
        assert_eq!(p.ni.put(md, AckRequest::NoAck, far, 0), Err(Error::ProcessInvalid));
        let high = Target { pt_index: 256, ..target(1, 5) };
        assert_eq!(p.ni.get(md, high), Err(Error::PtIndexInvalid));
        let region = Region { offset: 8, length: 3 };
        let long = p.ni.put_region(md, region, AckRequest::NoAck, target(1, 5), 0);
        assert_eq!(long, Err(Error::MdIllegal));
        p.ni.md_unlink(md).unwrap();
        assert_eq!(p.ni.put(md, AckRequest::NoAck, target(1, 5), 0), Err(Error::MdInvalid));
        let eq = p.ni.eq_alloc(1).unwrap();
        assert_eq!(p.ni.eq_get(eq), Err(Error::EqEmpty));
        p.ni.eq_free(eq).unwrap();
        assert_eq!(p.ni.eq_get(eq), Err(Error::EqInvalid));
        assert_eq!(p.ni.ni_dist(id(0, 3)), 0);
        p.ni.fini();
    });
    bench.finish();
    bench.process(0, PID, |p| assert_eq!(p.ni.id(), id(0, PID)));
    bench.finish();
}

#[test]
fn events_that_no_firmware_posts_are_its_fault() {
    for (word, complaint) in [
        (77 << 16 | 3, "unknown type 77"),
        (1 << 16 | 3, "ended transmit 3"),
        (3 << 16 | 700, "completed pending 700"),
        (2 << 16 | 60_000, "pending 60000"),
    ] {
        let mut bench = Bench::new(config(), Behaviour::default());
        bench.rogue_event(1, word);
        bench.run();
        let fault = bench.fault(1).expect("a fault").what;
        assert!(fault.contains(complaint), "{fault}");
    }
}

/// One put of `size` bytes; when it ended, and what was seen.
fn observed(size: u64) -> (des::Time, Vec<(des::Time, Mark)>) {
    let journal = Rc::new(Journal(RefCell::default()));
    let mut bench = Bench::observed(config(), Behaviour::default(), journal.clone());
    bench.process(1, PID, |p| {
        let (eq, _) = expose(&p, 5, DATA, 1 << 20, option::OP_PUT);
        wait(&p, eq, EventKind::PutStart);
        wait(&p, eq, EventKind::PutEnd);
    });
    bench.process(0, PID, move |p| {
        pause(&p, 20);
        let md = p.ni.md_bind(Md::new(DATA, size, 0), Unlink::Retain).unwrap();
        p.ni.put(md, AckRequest::NoAck, target(1, 5), 0).unwrap();
    });
    bench.finish();
    let first = abi::MessageId { source_nid: 0, serial: 1 };
    let seen = journal.0.borrow();
    let of_first = seen.iter().filter(|(_, id, _)| *id == first).map(|(at, _, mark)| (*at, *mark));
    (bench.now(), of_first.collect())
}

#[test]
fn a_message_is_seen_at_every_step_of_its_way() {
    let marks = |size| {
        let mut marks = observed(size).1;
        marks.sort_by_key(|(at, _)| *at);
        marks.into_iter().map(|(_, mark)| mark).collect::<Vec<_>>()
    };
    let begin = [Mark::CallEntered, Mark::KernelEntered, Mark::CommandWritten];
    for size in [8, 800] {
        let seen = marks(size);
        assert_eq!(seen[..3], begin);
        let at = |mark| seen.iter().position(|seen| *seen == mark).expect("was seen");
        assert!(at(Mark::InterruptRaised) < at(Mark::HandlerEntered));
        assert!(at(Mark::HandlerEntered) < at(Mark::HeaderDrained));
        assert!(at(Mark::HeaderDrained) < at(Mark::Matched));
        assert!(at(Mark::Matched) < at(Mark::EventPosted(EventKind::PutStart)));
        let posted = at(Mark::EventPosted(EventKind::PutEnd));
        assert!(posted < at(Mark::EventReturned(EventKind::PutEnd)));
        assert_eq!(seen.contains(&Mark::ReceivedDrained), size > 12);
        assert!(seen.contains(&Mark::SentDrained));
    }
}

#[test]
fn runs_are_repeatable_and_interrupts_are_what_inlining_saves() {
    assert_eq!(observed(800), observed(800));
    let interrupts = |inline_messages| {
        let config = Config { inline_messages, ..config() };
        let mut bench = Bench::new(config, Behaviour::default());
        bench.process(1, PID, |p| {
            let (eq, _) = expose(&p, 5, DATA, 100, option::OP_PUT);
            wait(&p, eq, EventKind::PutStart);
            wait(&p, eq, EventKind::PutEnd);
        });
        bench.process(0, PID, |p| {
            pause(&p, 20);
            let md = p.ni.md_bind(Md::new(DATA, 8, 0), Unlink::Retain).unwrap();
            p.ni.put(md, AckRequest::NoAck, target(1, 5), 0).unwrap();
        });
        bench.finish();
        bench.counters(1).interrupts
    };
    assert_eq!((interrupts(true), interrupts(false)), (1, 2));
}
