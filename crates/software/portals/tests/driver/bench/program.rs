//! Parts of the programs of these tests.

use super::{id, Process};
use des::Duration;
use portals::{
    Criteria, EqHandle, Event, EventKind, Md, MdHandle, Position, ProcessId, Target, Unlink,
};

pub const DATA: u64 = 0x10_0000;
pub const PID: u32 = 7;

pub fn pattern(seed: usize, len: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 7 + at / 256 + seed * 13 + 1) as u8).collect()
}

pub fn anybody(match_bits: u64, ignore_bits: u64) -> Criteria {
    Criteria { match_id: ProcessId::ANY, match_bits, ignore_bits }
}

pub fn target(nid: u32, match_bits: u64) -> Target {
    Target { id: id(nid, PID), pt_index: 3, ac_index: 0, match_bits, offset: 0 }
}

/// A queue and a descriptor of `length` bytes at `start` that hangs on portal 3.
pub fn expose(
    p: &Process,
    bits: u64,
    start: u64,
    length: u64,
    options: u32,
) -> (EqHandle, MdHandle) {
    let eq = p.ni.eq_alloc(64).unwrap();
    let me = p.ni.me_attach(3, anybody(bits, 0), Unlink::Retain, Position::After).unwrap();
    let md = Md { eq: Some(eq), ..Md::new(start, length, options) };
    (eq, p.ni.md_attach(me, md, Unlink::Retain).unwrap())
}

pub fn wait(p: &Process, eq: EqHandle, kind: EventKind) -> Event {
    let next = p.ni.eq_wait(eq).unwrap();
    assert!(!next.dropped);
    assert_eq!(next.event.kind, kind, "{:?}", next.event);
    next.event
}

/// Lets the peer act: a process that has nothing to wait for.
pub fn pause(p: &Process, us: u64) {
    p.cpu.spend(Duration::from_us(us));
}
