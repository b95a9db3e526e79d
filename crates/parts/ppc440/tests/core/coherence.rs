//! Bytes that others change or read behind the data cache: faults, and what makes them none.

use crate::support::asm::*;
use crate::support::{Flat, OnAnyBus, ALL, CLOCK, TIMING};
use des::{Duration, Time};
use ppc440::{Config, Core, FaultKind, Stop, TlbEntry, TLB_I, TLB_W};

/// A cached word, and the addresses of the same page inhibited and written through.
const DATA: u64 = 0x8010;
const LINE: u64 = DATA & !31;
const INHIBITED: u32 = 0x4000_0000;
const THROUGH: u32 = 0x5000_0000;

struct Machine {
    core: Core,
    flat: Flat,
    at: Time,
}

/// Runs on whenever `go` is called, each time the next `body`, which ends in a branch to itself.
fn machine(faults: bool) -> Machine {
    let mut core = Core::new(&Config {
        clock: CLOCK,
        timing: TIMING,
        coherence_faults: faults,
        code: ppc440::Code::new(&TIMING),
    });
    core.release_reset(Time::ZERO);
    core.set_tlb_entry(0, TlbEntry::new(0, 0, 9, ALL));
    core.set_tlb_entry(1, TlbEntry::new(INHIBITED, 0, 9, TLB_I | ALL));
    core.set_tlb_entry(2, TlbEntry::new(THROUGH, 0, 9, TLB_W | ALL));
    core.set_gpr(4, DATA as u32);
    core.set_gpr(5, INHIBITED + DATA as u32);
    core.set_gpr(6, THROUGH + DATA as u32);
    Machine { core, flat: Flat::new(0, 0x10_0000), at: Time::ZERO }
}

impl Machine {
    fn go(&mut self, body: &[u32]) -> Option<FaultKind> {
        let mut words = body.to_vec();
        words.push(b(0));
        self.flat.words_be(0x1000, &words);
        self.core.memory_changed();
        self.core.set_pc(0x1000);
        self.at += Duration::from_us(2);
        match self.core.run_on(&mut self.flat, self.at) {
            Stop::Until => None,
            Stop::Fault | Stop::Halted => self.core.fault().map(|fault| fault.kind),
        }
    }
    /// Writes as another device would, and tells the core.
    fn write(&mut self, addr: u64, bytes: &[u8]) {
        self.flat.memory.write(addr, bytes).unwrap();
        self.core.written_outside(addr, bytes.len());
    }
    /// Reads as another device would, and tells the core.
    fn read(&mut self, addr: u64, len: usize) -> Option<FaultKind> {
        let data = self.flat.memory.bytes(addr, len).unwrap();
        self.core.read_outside(addr, &data);
        self.core.fault().map(|fault| fault.kind)
    }
}

/// Cache operations on DATA.
fn cache(op: u32) -> u32 {
    x(31, 0, 0, 4, op)
}
const DCBF: u32 = 86;
const DCBST: u32 = 54;
const DCBI: u32 = 470;
const DCBZ: u32 = 1014;
const DCCCI: u32 = 454;

#[test]
fn a_load_of_a_stale_byte_is_a_fault() {
    let load = &[lwz(7, 0, 4)];
    let stale = |addr| Some(FaultKind::Stale { addr });
    let mut m = machine(true);
    assert_eq!(m.go(load), None, "a fill");
    m.write(DATA + 4, &[1; 4]);
    assert_eq!(m.go(load), None, "other bytes of the line");
    m.write(DATA + 3, &[1]);
    assert_eq!(m.go(&[d(34, 7, 4, 2)]), None, "lbz of the byte before");
    assert_eq!(m.go(&[lwz(7, 0, 5)]), None, "around the cache");
    assert_eq!(m.go(load), stale(DATA + 3));
    let fault = *m.core.fault().unwrap();
    assert_eq!((fault.pc, fault.addr), (0x1000, Some(DATA + 3)));
    assert!(fault.to_string().contains("0x00008013 is stale"), "{fault}");

    // Misaligned, and in a multiple.
    let mut m = machine(true);
    assert_eq!(m.go(load), None);
    m.write(DATA + 12, &[1]);
    assert_eq!(m.go(&[lwz(7, 9, 4)]), stale(DATA + 12));
    let mut m = machine(true);
    assert_eq!(m.go(load), None);
    m.write(DATA - 0x10, &[0; 64]);
    assert_eq!(m.go(&[d(46, 30, 4, 0)]), stale(DATA), "whatever was written");
}

#[test]
fn what_makes_a_line_fresh() {
    let fresh = |body: &[u32]| {
        let mut m = machine(true);
        assert_eq!(m.go(&[lwz(7, 0, 4)]), None);
        m.write(LINE, &[0x5a; 32]);
        let mut words = body.to_vec();
        words.push(lwz(7, 0, 4));
        (m.go(&words), m.core.gpr(7))
    };
    let old = (Some(FaultKind::Stale { addr: DATA }), 0);
    assert_eq!(fresh(&[]), old);
    assert_eq!(fresh(&[cache(DCBST)]), old, "only writes back, and nothing is dirty");
    assert_eq!(fresh(&[cache(DCBI)]), (None, 0x5a5a_5a5a));
    assert_eq!(fresh(&[cache(DCBF)]), (None, 0x5a5a_5a5a));
    assert_eq!(fresh(&[x(31, 0, 0, 0, DCCCI)]), (None, 0x5a5a_5a5a));
    assert_eq!(fresh(&[cache(DCBZ)]), (None, 0), "all its bytes are the core's own");
    assert_eq!(fresh(&[stw(4, 0, 4)]), (None, DATA as u32), "these bytes are");
    assert_eq!(fresh(&[stw(4, 0, 6)]), (None, DATA as u32), "these, written through, too");
    assert_eq!(fresh(&[d(38, 4, 4, 0)]).0, Some(FaultKind::Stale { addr: DATA + 1 }), "one is");
    // 64 other lines of the set: the line has been replaced.
    let others: Vec<_> = (1..=64).flat_map(|_| [d(33, 8, 9, 512)]).collect(); // lwzu 8,512(9)
    let mut words = vec![addi(9, 4, 0)];
    words.extend(others);
    assert_eq!(fresh(&words), (None, 0x5a5a_5a5a));
}

#[test]
fn a_line_that_is_not_held_is_no_matter() {
    let mut m = machine(true);
    m.write(LINE, &[1; 32]);
    assert_eq!(m.go(&[lwz(7, 0, 4)]), None);
    assert_eq!(m.core.gpr(7), 0x0101_0101);
    assert_eq!(m.go(&[cache(DCBI)]), None);
    m.write(LINE, &[2; 32]);
    assert_eq!(m.go(&[lwz(7, 0, 4)]), None);
    assert_eq!(m.core.gpr(7), 0x0202_0202);
}

#[test]
fn a_read_of_what_was_not_flushed_is_a_fault() {
    let store = &[lis(7, 0x1234), stw(7, 0, 4)];
    let mut m = machine(true);
    assert_eq!(m.go(store), None);
    assert_eq!(m.read(DATA + 4, 4), None, "same doubleword, but not stored");
    assert_eq!(m.read(DATA + 2, 2), None, "stored as it was");
    assert_eq!(m.read(DATA - 1, 4), Some(FaultKind::Unflushed { addr: DATA }));
    let fault = *m.core.fault().unwrap();
    assert_eq!((fault.pc, fault.addr), (0x1008, Some(DATA)), "where the core stood");
    assert_eq!(m.go(&[NOP]), Some(FaultKind::Unflushed { addr: DATA }), "it is stopped");
    for flush in [cache(DCBF), cache(DCBST)] {
        let mut m = machine(true);
        assert_eq!(m.go(store), None);
        assert_eq!(m.go(&[flush]), None);
        assert_eq!(m.read(LINE, 32), None);
    }
    let mut m = machine(true);
    assert_eq!(m.go(&[lis(7, 0x1234), stw(7, 0, 6)]), None);
    assert_eq!(m.read(LINE, 32), None, "written through");
    assert_eq!(m.go(&[addi(7, 7, 1), stw(7, 0, 4), cache(DCBI)]), None);
    assert_eq!(m.read(LINE, 32), None, "lost, and nobody's");
}

#[test]
fn off_gives_old_bytes_silently() {
    let mut m = machine(false);
    assert_eq!(m.go(&[lwz(7, 0, 4)]), None);
    m.write(DATA, &[1; 4]);
    assert_eq!(m.go(&[lwz(7, 0, 4)]), None);
    assert_eq!(m.core.gpr(7), 0);
    assert_eq!(m.go(&[stw(4, 0, 4)]), None);
    assert_eq!(m.read(DATA, 4), None);
}
