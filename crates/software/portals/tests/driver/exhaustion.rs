//! Exhaustion in the kernel's driver: of pendings, mailbox, SRAM for DMA commands.

use crate::bench::{
    anybody, config, expose, pattern, pause, target, wait, Behaviour, Bench, Process, DATA, PID,
};
use des::Duration;
use portals::seastar::{Config, Pools};
use portals::{option, AckRequest, EventKind, Md, NiFail, Position, Unlink};

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

/// A buffer that crosses from one segment into another that is no physical neighbour.
const SCATTERED: u64 = 2 * host::SEGMENT_SIZE - 3000;

fn scatter(p: &Process) {
    // The second segment gets its frame first, so the two are no neighbours.
    let mut memory = p.cpu.memory().borrow_mut();
    memory.translate(p.ni.space(), 2 * host::SEGMENT_SIZE, 1).unwrap();
    assert_eq!(memory.translate(p.ni.space(), SCATTERED, 6000).unwrap().len(), 2);
}

#[test]
fn buffers_of_several_extents_travel_by_precomputed_commands() {
    let mut bench = Bench::new(config(), Behaviour::default());
    bench.process(1, PID, |p| {
        scatter(&p);
        let (eq, _) = expose(&p, 5, SCATTERED, 6000, option::OP_PUT | option::MANAGE_REMOTE);
        for n in 0..600 {
            wait(&p, eq, EventKind::PutStart);
            assert_eq!(wait(&p, eq, EventKind::PutEnd).mlength, 6000);
            assert_eq!(p.read(SCATTERED, 6000), pattern(n, 6000));
        }
    });
    bench.process(0, PID, |p| {
        pause(&p, 20);
        scatter(&p);
        let eq = p.ni.eq_alloc(16).unwrap();
        let md = Md { eq: Some(eq), ..Md::new(SCATTERED, 6000, option::EVENT_START_DISABLE) };
        let md = p.ni.md_bind(md, Unlink::Retain).unwrap();
        for n in 0..600 {
            p.write(SCATTERED, &pattern(n, 6000));
            p.ni.put(md, AckRequest::Ack, target(1, 5), 0).unwrap();
            wait(&p, eq, EventKind::SendEnd);
            wait(&p, eq, EventKind::Ack);
        }
    });
    bench.finish();
}

/// Not only where the commands are missing.
#[test]
fn what_needs_more_commands_than_there_are_fails_at_both_ends() {
    let pools = Pools { list_commands: 1, ..Pools::FULL };
    let mut bench = Bench::new(Config { pools, ..config() }, Behaviour::default());
    bench.process(1, PID, |p| {
        let (eq, md) = expose(&p, 5, DATA, 6000, option::OP_PUT);
        wait(&p, eq, EventKind::PutStart);
        assert_eq!(wait(&p, eq, EventKind::PutEnd).fail, NiFail::Fail);
        p.ni.get(md, target(0, 6)).unwrap();
        wait(&p, eq, EventKind::ReplyStart);
        assert_eq!(wait(&p, eq, EventKind::ReplyEnd).fail, NiFail::Fail);
    });
    bench.process(0, PID, |p| {
        scatter(&p);
        let (eq, md) = expose(&p, 6, SCATTERED, 6000, option::OP_GET);
        pause(&p, 20);
        p.ni.put(md, AckRequest::Ack, target(1, 5), 0).unwrap();
        wait(&p, eq, EventKind::SendStart);
        assert_eq!(wait(&p, eq, EventKind::SendEnd).fail, NiFail::Fail);
        wait(&p, eq, EventKind::GetStart);
        assert_eq!(wait(&p, eq, EventKind::GetEnd).fail, NiFail::Fail);
    });
    bench.finish();
}

#[test]
fn messages_wait_for_room_for_their_commands() {
    // 560 messages of two extents at once need 1120 commands at either end, where 1024 fit.
    const COUNT: u64 = 560;
    const LENGTH: u64 = 40_000;
    let jitter = Duration::from_us(2_000_000);
    let config = Config { tx_pendings: 600, ..config() };
    let mut bench = Bench::new(config, Behaviour { jitter, ..Behaviour::default() });
    bench.process(1, PID, |p| {
        scatter(&p);
        let options = option::OP_PUT | option::MANAGE_REMOTE | option::EVENT_START_DISABLE;
        let eq = p.ni.eq_alloc(1024).unwrap();
        let me = p.ni.me_attach(3, anybody(5, 0), Unlink::Retain, Position::After).unwrap();
        let md = Md { eq: Some(eq), ..Md::new(SCATTERED, LENGTH, options) };
        p.ni.md_attach(me, md, Unlink::Retain).unwrap();
        let mut seen: Vec<u64> =
            (0..COUNT).map(|_| wait(&p, eq, EventKind::PutEnd).hdr_data).collect();
        seen.sort();
        assert!(seen.into_iter().eq(0..COUNT));
        assert_eq!(p.read(SCATTERED, LENGTH as usize), pattern(1, LENGTH as usize));
    });
    bench.process(0, PID, |p| {
        pause(&p, 20);
        scatter(&p);
        p.write(SCATTERED, &pattern(1, LENGTH as usize));
        let md = p.ni.md_bind(Md::new(SCATTERED, LENGTH, 0), Unlink::Retain).unwrap();
        for n in 0..COUNT {
            p.ni.put(md, AckRequest::NoAck, target(1, 5), n).unwrap();
        }
    });
    bench.finish();
    let counters = bench.counters(0);
    assert!(counters.transmits_queued > 0, "{counters:?}");
    assert!(bench.counters(1).receives_deferred > 0, "{:?}", bench.counters(1));
}
