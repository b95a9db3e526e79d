//! A debugger may halt a core before any instruction and look at everything: nothing else can see it. The
//! report on the next instruction agrees with what that does.

use crate::polled::{start, BUSY, MAILBOX};
use crate::support::asm::*;
use crate::support::{Flat, OnAnyBus};
use crate::{polled, program, support};
use bus::Bus;
use des::{Duration, Time};
use ppc440::{Core, DataAccess, Observation, Probe, Stop, Trouble, Upcoming};
use ppc440::{TlbEntry, TLB_E, TLB_G, TLB_I, TLB_W};

/// Halts before each instruction that has not been halted before.
#[derive(Default)]
struct Debugger {
    left: Option<u64>,
    pc: u32,
    data: Option<DataAccess>,
    trouble: Option<Trouble>,
    halts: u64,
}

impl Probe for Debugger {
    const ON: bool = false;
    const STEPS: bool = true;
    fn observe(&mut self, _what: Observation) {}
    fn repeat(&mut self, _iteration: &[Observation], _times: u64) {}
    fn halts(&mut self, next: &Upcoming) -> bool {
        if self.left == Some(next.progress()) {
            return false;
        }
        self.left = Some(next.progress());
        self.pc = next.pc();
        self.data = next.data();
        self.trouble = next.trouble();
        self.halts += 1;
        true
    }
}

impl Debugger {
    /// Goes to `at` and looks around before each instruction on the way.
    fn advance(&mut self, core: &mut Core, bus: &mut dyn Bus, at: Time) -> Stop {
        loop {
            match core.run_observed_on(bus, at, self) {
                Stop::Halted => {
                    look(core, self.pc);
                    look(core, core.gpr(1));
                }
                stop => return stop,
            }
        }
    }
}

/// Looks at the contents of an address, and at registers.
fn look(core: &Core, addr: u32) {
    if let Some(at) = core.locate(addr) {
        let mut bytes = vec![0; at.len.min(64)];
        core.overlay(at, &mut bytes);
    }
    assert!([ppc440::spr::DEC, ppc440::spr::TSR].iter().all(|spr| core.spr(*spr).is_some()));
}

#[test]
fn halting_before_each_instruction_changes_nothing() {
    let program = program::Program::compile("kernels.c", &["-O2"]);
    for attributes in [0, TLB_I, TLB_W] {
        let (mut core, mut flat) = program.load(1, attributes);
        let (mut other, mut others) = program.load(1, attributes);
        flat.logging = true;
        others.logging = true;
        let mut debugger = Debugger::default();
        let mut at = Time::ZERO;
        loop {
            at += Duration(3_333_333);
            (flat.horizon, others.horizon) = (at, at);
            let stop = debugger.advance(&mut core, &mut flat, at);
            assert_eq!(stop, other.run_on(&mut others, at));
            assert_eq!((core.now(), core.pc()), (other.now(), other.pc()));
            if stop == Stop::Fault {
                break;
            }
        }
        assert_eq!(core.digest(), other.digest());
        assert!(flat.log == others.log && !flat.log.is_empty(), "other transactions");
        assert!(debugger.halts >= core.counters().instructions && debugger.halts > 10_000);
    }
}

#[test]
fn a_parked_loop_is_one_that_was_halted_everywhere() {
    for attributes in [0, TLB_E] {
        let (mut core, mut bus) = start(false, attributes);
        let (mut skipped, mut other) = start(true, attributes);
        let mut debugger = Debugger::default();
        let mut at = Time::ZERO;
        for wake in 0..40u32 {
            at += Duration(3_017_000 + 777 * u64::from(wake));
            bus.horizon = at;
            assert_eq!(debugger.advance(&mut core, &mut bus, at), Stop::Until);
            polled::advance(&mut skipped, &mut other, at);
            assert_eq!(core.digest(), skipped.digest(), "at {at}");
            assert_eq!(bus.free, other.free);
            for bus in [&mut bus, &mut other] {
                let address = MAILBOX + u64::from(wake % 3 == 0) * 4;
                bus.memory.write(address, &wake.to_be_bytes()).unwrap();
                bus.free[1] = bus.free[1].max(at + BUSY);
            }
        }
        assert!(other.repeated > 100 && bus.repeated == 0);
    }
}

/// Loads and stores around the cache: the bus sees the announced accesses.
#[test]
fn an_access_is_what_was_announced() {
    let source = "
        lwz 3,8(9)\n lwzu 3,8(10)\n lwzx 3,9,11\n lwzux 3,10,11\n lwbrx 3,9,11\n lwarx 3,9,11
        lhz 3,6(9)\n lhzu 3,6(10)\n lhzx 3,9,11\n lhzux 3,10,11\n lha 3,6(9)\n lhau 3,6(10)
        lhax 3,9,11\n lhaux 3,10,11\n lhbrx 3,9,11
        lbz 3,5(9)\n lbzu 3,5(10)\n lbzx 3,9,11\n lbzux 3,10,11
        lmw 28,16(9)\n lswi 3,9,7\n lswx 3,9,11
        stwcx. 3,9,11\n stwcx. 3,9,11
        stw 3,8(9)\n stwu 3,8(10)\n stwx 3,9,11\n stwux 3,10,11\n stwbrx 3,9,11
        sth 3,6(9)\n sthu 3,6(10)\n sthx 3,9,11\n sthux 3,10,11\n sthbrx 3,9,11
        stb 3,5(9)\n stbu 3,5(10)\n stbx 3,9,11\n stbux 3,10,11
        stmw 28,16(9)\n stswi 3,9,7\n stswx 3,9,11
        addi 3,3,1\n b .\n";
    let words = support::assemble(source);
    let mut flat = Flat::new(0, 0x10000);
    flat.words_be(0x1000, &words);
    flat.logging = true;
    let mut core = support::core(0x1000);
    support::map(&mut core, TLB_I | TLB_G);
    for (register, value) in [(9, 0x8000), (10, 0x9000), (11, 0x24)] {
        core.set_gpr(register, value);
    }
    core.set_spr(ppc440::spr::XER, 11).unwrap();
    let mut debugger = Debugger::default();
    let (mut last, mut accesses) = (None, 0);
    for _ in 0..words.len() {
        assert_eq!(core.run_observed_on(&mut flat, Time::NEVER, &mut debugger), Stop::Halted);
        let seen: Vec<_> = flat.log.drain(..).filter(|(_, addr, ..)| *addr >= 0x8000).collect();
        assert_covers(last, &seen);
        last = debugger.data;
        accesses += u32::from(last.is_some());
    }
    // All but the second conditional store, which has no reservation, and the last two.
    assert_eq!(accesses as usize, words.len() - 3);
}

fn assert_covers(announced: Option<DataAccess>, seen: &[(Time, u64, usize, bool)]) {
    let bytes: usize = seen.iter().map(|(_, _, len, _)| len).sum();
    let Some(DataAccess { addr, len, write }) = announced else {
        return assert!(seen.is_empty(), "{seen:x?} was not announced");
    };
    assert_eq!((seen[0].1, bytes), (addr.into(), len as usize), "{announced:x?} {seen:x?}");
    assert!(seen.iter().all(|(.., wrote)| *wrote == write), "{announced:x?} {seen:x?}");
}

#[test]
fn what_goes_wrong_is_known_before() {
    let (unmapped, read_only) = (0x5000_0000, 0x4000_0000);
    for (word, trouble) in [
        (0, Some(Trouble::Illegal)),
        (0x7c00_0008 | 31 << 21, Some(Trouble::Trap)),
        (0x7c00_0008 | 4 << 21 | 9 << 16 | 11 << 11, None),
        (lwz(3, 0, 9), Some(Trouble::Unmapped)),
        (stw(3, 0, 9), Some(Trouble::Unmapped)),
        (stw(3, 0, 10), Some(Trouble::Unmapped)),
        (lwz(3, 0, 10), None),
        (lwz(3, 0, 11), None),
        (b(0x100_0000), None),
    ] {
        let mut flat = Flat::new(0, 0x10000);
        flat.words_be(0x1000, &[word]);
        let mut core = support::core(0x1000);
        core.set_tlb_entry(0, TlbEntry::new(0, 0, 3, support::ALL));
        core.set_tlb_entry(1, TlbEntry::new(read_only, 0, 3, ppc440::TLB_SUPERVISOR[2]));
        for (register, value) in [(9, unmapped), (10, read_only), (11, 0x8000)] {
            core.set_gpr(register, value);
        }
        let mut debugger = Debugger::default();
        let mut step = || {
            assert_eq!(core.run_observed_on(&mut flat, Time::NEVER, &mut debugger), Stop::Halted);
            (debugger.pc, debugger.trouble)
        };
        assert_eq!(step(), (0x1000, trouble), "{word:#010x}");
        if word == b(0x100_0000) {
            assert_eq!(step(), (0x100_1000, Some(Trouble::Unmapped)));
        }
    }
}

#[test]
fn memory_is_seen_with_what_the_core_holds_of_it() {
    for (attributes, held) in [(0, true), (TLB_I, false)] {
        let mut flat = Flat::new(0, 0x10000);
        flat.words_be(0x1000, &[stw(3, 0, 9), stw(3, 4, 9), b(0)]);
        let mut core = support::core(0x1000);
        support::map(&mut core, attributes);
        core.set_gpr(3, 0x1122_3344);
        core.set_gpr(9, 0x8000);
        let mut debugger = Debugger::default();
        for _ in 0..3 {
            let stop = core.run_observed_on(&mut flat, Time::NEVER, &mut debugger);
            assert_eq!(stop, Stop::Halted);
        }
        // Neither has reached memory: one core holds them in its cache, the other on the way there.
        assert_eq!(flat.word_be(0x8000), 0);
        let at = core.locate(0x8002).unwrap();
        assert_eq!((at.real, at.len, at.cacheable), (0x8002, 1022, held));
        let mut bytes = [0; 8];
        core.overlay(at, &mut bytes);
        assert_eq!(bytes, [0x33, 0x44, 0x11, 0x22, 0x33, 0x44, 0, 0]);
        core.store_held(at, &[0xaa, 0xbb, 0xcc]);
        core.overlay(at, &mut bytes);
        assert_eq!(bytes, [0xaa, 0xbb, 0xcc, 0x22, 0x33, 0x44, 0, 0]);
    }
    let mut core = support::core(0x1000);
    assert_eq!(core.locate(0x8000).unwrap().real, 0x8000);
    core.set_tlb_entry(0, TlbEntry::new(0x1000, 0x2000, 1, TLB_E | support::ALL).in_space_1());
    assert_eq!(core.locate(0x8000), None);
    assert_eq!(core.locate(0x1008).unwrap().real, 0x2008);
}
