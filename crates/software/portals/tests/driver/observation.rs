//! Observation of a message's way through the kernel's driver.

use crate::bench::{config, expose, pause, target, wait, Behaviour, Bench, Journal, DATA, PID};
use portals::seastar::Config;
use portals::{option, AckRequest, EventKind, Md, Observer, TracePoint, Unlink, Unobserved};
use std::cell::RefCell;
use std::rc::Rc;

/// One put of `size` bytes; when it ended, and what was seen.
fn observed(size: u64) -> (des::Time, Vec<(des::Time, TracePoint)>) {
    let journal = Rc::new(Journal(RefCell::default()));
    let end = one_put(size, journal.clone());
    let first = abi::MessageId { source_nid: 0, serial: 1 };
    let seen = journal.0.borrow();
    let of_first = seen.iter().filter(|(_, id, _)| *id == first).map(|(at, _, mark)| (*at, *mark));
    (end, of_first.collect())
}

/// One put of `size` bytes under the eyes of `observer`; when it ended.
fn one_put(size: u64, observer: Rc<dyn Observer>) -> des::Time {
    let mut bench = Bench::observed(config(), Behaviour::default(), observer);
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
    bench.now()
}

#[test]
fn a_message_is_seen_at_every_step_of_its_way() {
    let marks = |size| {
        let mut marks = observed(size).1;
        marks.sort_by_key(|(at, _)| *at);
        marks.into_iter().map(|(_, mark)| mark).collect::<Vec<_>>()
    };
    let begin = [TracePoint::CallEntered, TracePoint::KernelEntered, TracePoint::CommandWritten];
    for size in [8, 800] {
        let seen = marks(size);
        assert_eq!(seen[..3], begin);
        let at = |mark| seen.iter().position(|seen| *seen == mark).expect("was seen");
        assert!(at(TracePoint::InterruptRaised) < at(TracePoint::HandlerEntered));
        assert!(at(TracePoint::HandlerEntered) < at(TracePoint::HeaderDrained));
        assert!(at(TracePoint::HeaderDrained) < at(TracePoint::Matched(1)));
        assert!(at(TracePoint::Matched(1)) < at(TracePoint::EventPosted(EventKind::PutStart)));
        let posted = at(TracePoint::EventPosted(EventKind::PutEnd));
        assert!(posted < at(TracePoint::EventReturned(EventKind::PutEnd)));
        assert_eq!(seen.contains(&TracePoint::ReceivedDrained), size > 12);
        assert!(seen.contains(&TracePoint::SentDrained));
    }
}

#[test]
fn runs_are_repeatable_and_interrupts_are_what_inlining_saves() {
    assert_eq!(observed(800), observed(800));
    assert_eq!(observed(800).0, one_put(800, Rc::new(Unobserved)));
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
