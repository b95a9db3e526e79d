//! The bench's contract: no transaction at or after the horizon, no effect of where the runs are
//! cut.
#![allow(clippy::unwrap_used)]

mod support;

use bus::{Bus, BusError};
use des::{Duration, Random, Time};
use ppc440::{spr, Core, Stop, TlbEntry, MSR_EE, TLB_G, TLB_I, TLB_W};
use support::asm::*;
use support::{core, map, Flat, ALL};

/// A device at `DEVICE` whose every read counts, before flat memory.
struct Counting {
    flat: Flat,
    reads: u32,
    writes: Vec<(Time, u64, Vec<u8>)>,
}

const DEVICE: u64 = 0x10_0000;

impl Bus for Counting {
    fn horizon(&self) -> Time {
        self.flat.horizon
    }
    fn read(&mut self, now: Time, addr: u64, buf: &mut [u8]) -> Result<Time, BusError> {
        if addr < DEVICE {
            return self.flat.read(now, addr, buf);
        }
        assert!(now < self.flat.horizon);
        self.reads += 1;
        let count = self.reads.to_be_bytes();
        buf.copy_from_slice(&count[4 - buf.len()..]);
        Ok(now + Duration::from_ns(90))
    }
    fn write(&mut self, now: Time, addr: u64, data: &[u8]) -> Result<Time, BusError> {
        if addr < DEVICE {
            return self.flat.write(now, addr, data);
        }
        assert!(now < self.flat.horizon);
        self.writes.push((now, addr, data.to_vec()));
        Ok(now + Duration::from_ns(70))
    }
}

/// Device accesses of every shape, mixed with cached ones.
fn program() -> Vec<u32> {
    vec![
        lis(4, (DEVICE >> 16) as u32),
        lwz(5, 0, 4),
        lwz(6, 2, 4),       // misaligned: two transactions
        lwz(7, 13, 4),      // across a quadword: three
        d(46, 24, 4, 0x40), // lmw: eight
        stw(5, 0x80, 4),
        stw(6, 0x83, 4),
        d(47, 24, 4, 0x101), // stmw, misaligned
        stw(7, 0x2000, 0),
        lwz(8, 0x2020, 0),
        x(31, 0, 0, 9, 86), // dcbf of address 0
        MSYNC,
        d(40, 9, 4, 6),
        add(10, 9, 8),
        END,
    ]
}

/// Runs the program in slices; `cut` says how long the next slice and its horizon are.
fn slices(attributes: u32, mut cut: impl FnMut() -> (Duration, Duration)) -> (Core, Counting) {
    let mut flat = Flat::new(0, DEVICE as usize);
    flat.words_be(0x1000, &program());
    let mut bus = Counting { flat, reads: 0, writes: Vec::new() };
    let mut core = core(0x1000);
    core.set_tlb_entry(0, TlbEntry::new(0, 0, 4, attributes | ALL));
    core.set_tlb_entry(1, TlbEntry::new(DEVICE as u32, DEVICE, 5, TLB_I | TLB_G | ALL));
    let mut now = Time::ZERO;
    for _ in 0..100_000 {
        let (step, ahead) = cut();
        bus.flat.horizon = now + ahead;
        let until = now + step;
        if core.run(&mut bus, until) == Stop::Fault {
            return (core, bus);
        }
        now = until.min(bus.flat.horizon).max(now);
    }
    panic!("no progress at {:#x}", core.pc());
}

#[test]
fn cuts_change_nothing() {
    for attributes in [0, TLB_W, TLB_I] {
        let (whole, bus) = slices(attributes, || (Duration::from_us(900), Duration::from_us(901)));
        assert_eq!(whole.pc(), 0x1000 + 4 * 14, "{}", whole.fault().unwrap());
        assert!(bus.reads >= 15, "{} reads", bus.reads);
        let mut random = Random::new(11);
        for _ in 0..200 {
            let bound = 1 + random.below(200);
            let (cut, cut_bus) = slices(attributes, || {
                let step = Duration::from_ns(1 + random.below(bound));
                (step, Duration::from_ns(1 + random.below(bound)))
            });
            assert_eq!(cut.fault(), whole.fault());
            assert_eq!(cut.counters(), whole.counters());
            assert_eq!(cut_bus.reads, bus.reads, "a device's word is read once");
            assert_eq!(cut_bus.writes, bus.writes, "the same writes at the same times");
            for register in 0..32 {
                assert_eq!(cut.gpr(register), whole.gpr(register), "r{register}");
            }
        }
    }
}

#[test]
fn a_blocked_core_says_when_it_wants_to_go_on() {
    let mut flat = Flat::new(0, 0x1_0000);
    flat.words_be(0x1000, &[NOP, END]);
    flat.horizon = Time::ZERO;
    let mut core = core(0x1000);
    map(&mut core, 0);
    core.set_gpr(3, 1);
    assert_eq!(core.run(&mut flat, Time(1_000_000)), Stop::Until);
    assert_eq!((core.now(), core.pc()), (Time::ZERO, 0x1000));
    assert_eq!(core.counters().instructions, 0);
    flat.horizon = Time::NEVER;
    assert_eq!(core.run(&mut flat, Time(1_000_000)), Stop::Fault);
}

#[test]
fn four_writes_can_be_outstanding() {
    // Six stores to the device, 70 ns each: the fifth waits for the first slot.
    let mut flat = Flat::new(0, DEVICE as usize);
    let mut words = vec![lis(4, (DEVICE >> 16) as u32)];
    words.extend((0..6).map(|index| stw(3, 4 * index, 4)));
    words.push(END);
    flat.words_be(0x1000, &words);
    let mut bus = Counting { flat, reads: 0, writes: Vec::new() };
    let mut core = core(0x1000);
    core.set_tlb_entry(0, TlbEntry::new(0, 0, 4, ALL));
    core.set_tlb_entry(1, TlbEntry::new(DEVICE as u32, DEVICE, 5, TLB_I | ALL));
    core.run(&mut bus, Time(10_000_000));
    let times: Vec<_> = bus.writes.iter().map(|write| write.0.since(bus.writes[0].0)).collect();
    let ns = Duration::from_ns;
    assert_eq!(times, [ns(0), ns(2), ns(4), ns(6), ns(70), ns(72)]);
}

#[test]
fn an_interrupt_is_taken_at_the_same_instruction_however_runs_are_cut() {
    // A loop that reads the device; the handler counts and goes on; the line rises three times.
    let rises = [Time(3_001_000), Time(3_500_000), Time(7_777_777)];
    let run = |mut cut: Box<dyn FnMut() -> Duration>| {
        let mut flat = Flat::new(0, DEVICE as usize);
        flat.words_be(
            0x1000,
            &[lis(4, (DEVICE >> 16) as u32), lwz(5, 2, 4), add(6, 6, 5), stw(6, 0x44, 4), b(-12)],
        );
        flat.words_be(0x2040, &[addi(7, 7, 1), mfspr(8, spr::SRR0), add(9, 9, 8), END]);
        let mut bus = Counting { flat, reads: 0, writes: Vec::new() };
        let mut core = core(0x1000);
        core.set_tlb_entry(0, TlbEntry::new(0, 0, 4, ALL));
        core.set_tlb_entry(1, TlbEntry::new(DEVICE as u32, DEVICE, 5, TLB_I | TLB_G | ALL));
        core.set_spr(spr::IVOR0 + 4, 0x2040).unwrap();
        core.set_msr(MSR_EE);
        let mut trace = Vec::new();
        let mut now = Time::ZERO;
        for rise in rises {
            while now < rise {
                let next = (now + cut()).min(rise);
                bus.flat.horizon = next;
                assert_eq!(core.run(&mut bus, next), Stop::Until);
                now = next;
            }
            core.set_external_interrupt(true, now);
            bus.flat.horizon = Time::NEVER;
            assert_eq!(core.run(&mut bus, now + Duration::from_us(2)), Stop::Fault);
            core.set_external_interrupt(false, now);
            trace.push((core.fault().copied(), core.gpr(6), core.gpr(9), core.counters()));
            // The handler returns.
            core.resume_at(core.spr(spr::SRR0).unwrap());
            core.set_msr(MSR_EE);
        }
        (trace, bus.reads, bus.writes)
    };
    let whole = run(Box::new(|| Duration::from_us(1000)));
    for seed in 0..50 {
        let mut random = Random::new(seed);
        let cut = run(Box::new(move || Duration(1 + random.below(100_000))));
        assert_eq!(cut, whole, "seed {seed}");
    }
}
