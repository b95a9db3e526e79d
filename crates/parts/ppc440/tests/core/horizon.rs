//! The bench's contract: no transaction at or after the horizon, no effect of where the runs are
//! cut.

use crate::support::asm::*;
use crate::support::{core, map, twin, Flat, OnAnyBus, ALL};
use bus::{Bus, BusError};
use des::{Duration, Random, Time};
use ppc440::{spr, Core, Stop, TlbEntry, MSR_EE, TLB_G, TLB_I, TLB_W};

/// A device at `DEVICE` whose every read counts, before flat memory.
struct Counting {
    flat: Flat,
    reads: u32,
    writes: Vec<(Time, u64, Vec<u8>)>,
}

const DEVICE: u64 = 0x10_0000;
/// mtmsr r5
const MTMSR_WAIT: u32 = 31 << 26 | 5 << 21 | 146 << 1;

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
        lwz(6, 2, 4),       // misaligned within a quadword
        lwz(7, 13, 4),      // across a quadword: two transactions
        d(46, 24, 4, 0x40), // lmw: eight
        stw(5, 0x80, 4),
        stw(6, 0x83, 4),
        d(47, 24, 4, 0x101), // stmw, misaligned
        stw(5, 0x40, 4),
        stw(6, 0x44, 4), // joins
        d(44, 7, 4, 0x48),
        stw(7, 0x2000, 0),
        stw(7, 0x50, 4),
        lwz(8, 0x2020, 0),
        addi(10, 0, 1),
        addi(10, 10, 1),
        addi(10, 10, 1),
        addi(10, 10, 1),
        addi(10, 10, 1), // by now the last store's write is due
        addi(10, 10, 1),
        x(31, 0, 0, 9, 86), // dcbf of address 0
        MSYNC,
        d(40, 9, 4, 6),
        add(10, 9, 8),
        END,
    ]
}

/// Runs the program in slices; `cut` says how long the next slice and its horizon are.
fn slices(pages: [u32; 2], cut: impl FnMut() -> (Duration, Duration)) -> (Core, Counting) {
    slices_of(pages, cut, |_| {})
}

/// The same; something is done with the core after each slice.
fn slices_of(
    [attributes, device]: [u32; 2],
    mut cut: impl FnMut() -> (Duration, Duration),
    between: impl Fn(&mut Core),
) -> (Core, Counting) {
    let mut flat = Flat::new(0, DEVICE as usize);
    flat.words_be(0x1000, &program());
    let mut bus = Counting { flat, reads: 0, writes: Vec::new() };
    let mut core = core(0x1000);
    core.set_tlb_entry(0, TlbEntry::new(0, 0, 4, attributes | ALL));
    core.set_tlb_entry(1, TlbEntry::new(DEVICE as u32, DEVICE, 5, TLB_I | device | ALL));
    let mut now = Time::ZERO;
    for _ in 0..100_000 {
        let (step, ahead) = cut();
        bus.flat.horizon = now + ahead;
        let until = now + step;
        if core.run_on(&mut bus, until) == Stop::Fault {
            return (core, bus);
        }
        now = until.min(bus.flat.horizon).max(now);
        between(&mut core);
    }
    panic!("no progress at {:#x}", core.pc());
}

#[test]
fn cuts_change_nothing() {
    let pages = [0, TLB_W, TLB_I].iter().flat_map(|&page| [[page, 0], [page, TLB_G]]);
    for attributes in pages {
        let (whole, bus) = slices(attributes, || (Duration::from_us(900), Duration::from_us(901)));
        assert_eq!(whole.pc(), 0x1000 + 4 * 24, "{}", whole.fault().unwrap());
        assert_eq!(bus.reads, 13);
        let gathered = whole.counters().gathered_stores;
        assert!((gathered > 0) == (attributes[1] == 0), "{gathered} gathered stores");
        let mut random = Random::new(11);
        for _ in 0..100 {
            let bound = 1 + random.below(200);
            let renewed = random.below(10) == 0;
            let (cut, cut_bus) = slices_of(
                attributes,
                || {
                    let step = Duration::from_ns(1 + random.below(bound));
                    (step, Duration::from_ns(1 + random.below(bound)))
                },
                // Another core can take over at each cut.
                |core| {
                    if renewed {
                        *core = twin(core);
                    }
                },
            );
            assert_eq!(cut.fault(), whole.fault());
            assert_eq!(cut.counters(), whole.counters());
            assert_eq!(cut.digest(), whole.digest());
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
    assert_eq!(core.run_on(&mut flat, Time(1_000_000)), Stop::Until);
    assert_eq!((core.now(), core.pc()), (Time::ZERO, 0x1000));
    assert_eq!(core.counters().instructions, 0);
    flat.horizon = Time::NEVER;
    assert_eq!(core.run_on(&mut flat, Time(1_000_000)), Stop::Fault);
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
    core.set_tlb_entry(1, TlbEntry::new(DEVICE as u32, DEVICE, 5, TLB_I | TLB_G | ALL));
    core.run_on(&mut bus, Time(10_000_000));
    let times: Vec<_> = bus.writes.iter().map(|write| write.0.since(bus.writes[0].0)).collect();
    let ns = Duration::from_ns;
    assert_eq!(times, [ns(0), ns(2), ns(4), ns(6), ns(70), ns(72)]);
}

#[test]
fn stores_are_gathered_into_what_the_bus_can_do() {
    // Offsets of stores to the device with their lengths, and the writes that become of them.
    type Case<'a> = (u32, &'a [(i32, u32)], &'a [(u64, usize)], &'a str);
    let cases: &[Case] = &[
        (0, &[(0, 4), (4, 4), (8, 4), (12, 4)], &[(0, 16)], "a quadword"),
        (0, &[(4, 4), (8, 4), (0, 4)], &[(0, 12)], "contiguous with what is there, on either side"),
        (0, &[(0, 4), (8, 4), (4, 4)], &[(0, 4), (4, 8)], "not contiguous, then contiguous"),
        (0, &[(3, 1), (4, 2), (6, 4), (10, 1)], &[(3, 8)], "any bytes"),
        (0, &[(13, 2), (15, 1), (16, 4)], &[(13, 3), (16, 4)], "not across quadwords"),
        (0, &[(12, 4), (16, 4), (20, 4)], &[(12, 4), (16, 8)], "not across quadwords"),
        (0, &[(0, 4), (0, 4)], &[(0, 4), (0, 4)], "no byte twice"),
        (0, &[(0, 4), (2, 4)], &[(0, 4), (2, 4)], "no byte twice"),
        (0, &[(14, 4)], &[(14, 2), (16, 2)], "one store, two pieces"),
        (0, &[(0, 4), (4, 0), (4, 4)], &[(0, 4), (4, 4)], "not across mbar"),
        (TLB_G, &[(0, 4), (4, 4)], &[(0, 4), (4, 4)], "not if guarded"),
    ];
    for &(attributes, stores, expected, why) in cases {
        let mut words = vec![lis(4, (DEVICE >> 16) as u32)];
        words.extend(stores.iter().map(|&(offset, len)| match len {
            0 => MBAR,
            1 => d(38, 3, 4, offset),
            2 => d(44, 3, 4, offset),
            _ => stw(3, offset, 4),
        }));
        words.push(END);
        for disabled in [false, true] {
            let mut flat = Flat::new(0, DEVICE as usize);
            flat.words_be(0x1000, &words);
            let mut bus = Counting { flat, reads: 0, writes: Vec::new() };
            let mut core = core(0x1000);
            core.set_tlb_entry(0, TlbEntry::new(0, 0, 4, ALL));
            let page = TlbEntry::new(DEVICE as u32, DEVICE, 5, TLB_I | attributes | ALL);
            core.set_tlb_entry(1, page);
            core.set_spr(spr::CCR0, if disabled { 0x0020_0000 } else { 0 }).unwrap();
            core.run_on(&mut bus, Time(10_000_000));
            let writes = bus.writes.iter().map(|(_, addr, data)| (addr - DEVICE, data.len()));
            if disabled {
                let bytes: usize = writes.map(|(_, len)| len).sum();
                assert_eq!(bytes as u32, stores.iter().map(|store| store.1).sum::<u32>(), "{why}");
                assert_eq!(core.counters().gathered_stores, 0);
            } else {
                assert_eq!(writes.collect::<Vec<_>>(), expected, "{why}");
            }
        }
    }
}

#[test]
fn a_store_is_written_when_it_is_due_whatever_the_core_does() {
    // The store issues in cycle 25 or so, and nothing else uses the bus; then the core waits.
    for tail in [&[NOP; 40][..], &[MTMSR_WAIT][..]] {
        let mut flat = Flat::new(0, DEVICE as usize);
        let mut words = vec![lis(4, (DEVICE >> 16) as u32), stw(3, 0, 4)];
        words.extend(tail);
        flat.words_be(0x1000, &words);
        let mut bus = Counting { flat, reads: 0, writes: Vec::new() };
        let mut core = core(0x1000);
        core.set_tlb_entry(0, TlbEntry::new(0, 0, 4, ALL));
        core.set_tlb_entry(1, TlbEntry::new(DEVICE as u32, DEVICE, 5, TLB_I | ALL));
        core.set_gpr(5, ppc440::MSR_WE);
        // The horizon stays while the core goes on, up to the write.
        let mut at = Time::ZERO;
        while bus.writes.is_empty() {
            bus.flat.horizon = at + Duration::from_ns(1);
            assert_eq!(core.run_on(&mut bus, at + Duration::from_ns(1)), Stop::Until);
            assert!(core.now() > at, "{} at {at}", core.now());
            at = core.now();
        }
        let store = Time::ZERO + Duration::from_ns(40 + 2);
        assert_eq!(bus.writes[0].0, store + Duration::from_ns(10), "five cycles after the store");
    }
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
                assert_eq!(core.run_on(&mut bus, next), Stop::Until);
                now = next;
            }
            core.set_external_interrupt(true, now);
            bus.flat.horizon = Time::NEVER;
            assert_eq!(core.run_on(&mut bus, now + Duration::from_us(2)), Stop::Fault);
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
