//! The kernel's driver between two simulated hosts, without the real network interface.

use crate::bench::{
    anybody, config, expose, id, pattern, pause, target, wait, Behaviour, Bench, Fate, CONSTANT,
    DATA, FLEETING, HOLE, PID,
};
use des::Duration;
use portals::seastar::Config;
use portals::{
    option, AckRequest, Error, EventKind, Md, NiFail, Position, ProcessId, Region, StatusRegister,
    Target, Unlink,
};
use std::collections::BTreeMap;

const SIZES: [usize; 11] = [0, 1, 11, 12, 13, 64, 100, 4096, 4097, 65_536, 100_000];

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
            assert_eq!((end.mlength, end.md.user_ptr, end.md_handle), (size as u64, 99, md));
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
                let base = DATA + 0x10000 * (event.md.user_ptr - 1) + event.offset;
                let size = event.mlength as usize;
                assert_eq!(p.read(base, size), pattern(event.hdr_data as usize, size));
                taken.insert(event.hdr_data, event.md.user_ptr);
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

/// A process may expose memory that it may not write to. A put there fails, for it alone, be it from this
/// node or another; and the judge says nothing about that.
#[test]
fn what_a_process_may_not_write_to_takes_nothing() {
    for to in [0_u32, 1] {
        let mut bench = Bench::new(config(), Behaviour::default());
        bench.process(to as usize, PID, |p| {
            let (eq, _) = expose(&p, 6, DATA, 8, option::OP_GET);
            let (put, _) = expose(&p, 5, CONSTANT.start, 100, option::OP_PUT);
            wait(&p, put, EventKind::PutStart);
            assert_eq!(wait(&p, put, EventKind::PutEnd).fail, NiFail::Fail);
            wait(&p, eq, EventKind::GetStart);
            assert_eq!(wait(&p, eq, EventKind::GetEnd).fail, NiFail::Ok);
        });
        bench.process(0, PID + 1, move |p| {
            let eq = p.ni.eq_alloc(16).unwrap();
            let bind = |at| {
                let md = Md { eq: Some(eq), ..Md::new(at, 8, 0) };
                p.ni.md_bind(md, Unlink::Retain).unwrap()
            };
            pause(&p, 20);
            p.ni.put(bind(DATA), AckRequest::Ack, target(to, 5), 0).unwrap();
            wait(&p, eq, EventKind::SendStart);
            assert_eq!(wait(&p, eq, EventKind::SendEnd).fail, NiFail::Ok);
            pause(&p, 20);
            p.ni.get(bind(CONSTANT.start), target(to, 6)).unwrap();
            wait(&p, eq, EventKind::ReplyStart);
            assert_eq!(wait(&p, eq, EventKind::ReplyEnd).fail, NiFail::Fail);
        });
        bench.finish();
    }
}

/// A buffer that is not there when the kernel looks keeps nobody waiting, whether the target is on this
/// node or another.
#[test]
fn what_cannot_be_read_fails_at_both_ends() {
    for (to, inline) in [(0, true), (1, true), (1, false)] {
        let mut bench = Bench::new(config(), Behaviour { inline, ..Behaviour::default() });
        bench.process(to as usize, PID, |p| {
            let (put, _) = expose(&p, 5, DATA, 8, option::OP_PUT);
            let (get, _) = expose(&p, 6, FLEETING.start, 8, option::OP_GET);
            p.write(FLEETING.start, &[0]);
            p.write(DATA, &[1; 8]);
            wait(&p, put, EventKind::PutStart);
            let end = wait(&p, put, EventKind::PutEnd);
            assert_eq!((end.fail, end.mlength), (NiFail::Fail, 8));
            assert_eq!(p.read(DATA, 8), [1; 8]);
            wait(&p, get, EventKind::GetStart);
            assert_eq!(wait(&p, get, EventKind::GetEnd).fail, NiFail::Fail);
        });
        bench.process(0, PID + 1, move |p| {
            let eq = p.ni.eq_alloc(16).unwrap();
            let bind = |at| {
                let md = Md { eq: Some(eq), ..Md::new(at, 8, option::EVENT_START_DISABLE) };
                p.ni.md_bind(md, Unlink::Retain).unwrap()
            };
            pause(&p, 20);
            let gone = bind(FLEETING.start);
            p.write(FLEETING.start, &[0]);
            p.ni.put(gone, AckRequest::Ack, target(to, 5), 0).unwrap();
            assert_eq!(wait(&p, eq, EventKind::SendEnd).fail, NiFail::Fail);
            p.ni.get(bind(DATA), target(to, 6)).unwrap();
            let end = wait(&p, eq, EventKind::ReplyEnd);
            assert_eq!((end.fail, end.mlength), (NiFail::Fail, 8));
        });
        bench.finish();
    }
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
        // There are two nodes.
        let beyond = Target { id: id(2, 5), ..target(1, 5) };
        assert_eq!(p.ni.put(md, AckRequest::NoAck, beyond, 0), Err(Error::ProcessInvalid));
        assert_eq!(p.ni.get(md, beyond), Err(Error::ProcessInvalid));
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
fn a_process_that_leaves_waits_for_what_is_under_way_and_takes_nothing_more() {
    let mut bench = Bench::new(config(), Behaviour::default());
    bench.process(1, PID, |p| {
        let (eq, _) = expose(&p, 5, DATA, 200_000, option::OP_PUT);
        wait(&p, eq, EventKind::PutStart);
        let (cpu, space) = (p.cpu.clone(), p.ni.space());
        // The second message comes meanwhile.
        p.ni.fini();
        let mut last = [0; 100];
        cpu.memory().borrow_mut().read(space, DATA + 99_900, &mut last).unwrap();
        assert_eq!(last[..], pattern(1, 100_000)[99_900..]);
        cpu.memory().borrow_mut().read(space, DATA + 100_000, &mut last[..50]).unwrap();
        assert_eq!(last[..50], [0; 50]);
    });
    bench.process(0, PID, |p| {
        pause(&p, 20);
        p.write(DATA, &pattern(1, 100_000));
        let md = p.ni.md_bind(Md::new(DATA, 100_000, 0), Unlink::Retain).unwrap();
        p.ni.put(md, AckRequest::NoAck, target(1, 5), 0).unwrap();
        // The first has left, and is being deposited.
        pause(&p, 120);
        let small = Region { offset: 0, length: 50 };
        p.ni.put_region(md, small, AckRequest::NoAck, target(1, 5), 0).unwrap();
        let (cpu, space) = (p.cpu.clone(), p.ni.space());
        p.ni.fini();
        // Both have left: this process may do with its memory what it likes.
        cpu.memory().borrow_mut().write(space, DATA, &[0; 100_000]).unwrap();
    });
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
