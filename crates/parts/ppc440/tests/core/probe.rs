//! A probe is told of every cycle, instruction and miss, once, and changes nothing.

use crate::polled::{start, Polled, BUSY, MAILBOX};
use crate::support::asm::*;
use crate::support::{Flat, OnAnyBus};
use crate::{polled, program, support};
use des::{Duration, Time};
use ppc440::{Cause, Core, Jump, Observation, Probe, Stop, TlbEntry, TLB_E, TLB_I};
use std::collections::BTreeMap;

/// Sums of the reports.
#[derive(Default, PartialEq, Eq, Debug)]
struct Sums {
    cycles: BTreeMap<(u32, Cause), u64>,
    completed: BTreeMap<u32, u64>,
    missed: BTreeMap<u32, (u64, u64)>,
    jumps: BTreeMap<(u32, u32), u64>,
    calls: u64,
    returns: u64,
    exceptions: u64,
    resumes: u64,
}

impl Sums {
    fn add(&mut self, what: Observation, times: u64) {
        match what {
            Observation::Spent { pc, cause, cycles } => {
                assert!(cycles > 0);
                *self.cycles.entry((pc, cause)).or_default() += cycles * times;
            }
            Observation::Completed { pc } => *self.completed.entry(pc).or_default() += times,
            Observation::Missed { pc, instructions, data } => {
                let lines = self.missed.entry(pc).or_default();
                lines.0 += instructions * times;
                lines.1 += data * times;
            }
            Observation::Jumped { pc, target, jump } => {
                *self.jumps.entry((pc, target)).or_default() += times;
                *match jump {
                    Jump::Call => &mut self.calls,
                    Jump::Return => &mut self.returns,
                    Jump::Exception => &mut self.exceptions,
                    Jump::Resume => &mut self.resumes,
                } += times;
            }
        }
    }
    fn of(&self, cause: Cause) -> u64 {
        self.cycles.iter().filter(|((_, of), _)| *of == cause).map(|(_, cycles)| cycles).sum()
    }
    fn at(&self, pc: u32, cause: Cause) -> u64 {
        self.cycles.get(&(pc, cause)).copied().unwrap_or(0)
    }
    /// Checks that everything that the core counted was reported.
    fn check(&self, core: &Core) {
        let counters = core.counters();
        assert_eq!(self.cycles.values().sum::<u64>(), counters.cycles, "cycles");
        assert_eq!(self.completed.values().sum::<u64>(), counters.instructions, "instructions");
        let missed = self.missed.values().fold((0, 0), |sum, m| (sum.0 + m.0, sum.1 + m.1));
        assert_eq!(missed, (counters.icache_misses, counters.dcache_misses), "misses");
        assert_eq!(self.exceptions, counters.exceptions, "exceptions");
    }
}

impl Probe for Sums {
    const ON: bool = true;
    fn observe(&mut self, what: Observation) {
        self.add(what, 1);
    }
    fn repeat(&mut self, iteration: &[Observation], times: u64) {
        iteration.iter().for_each(|&what| self.add(what, times));
    }
}

#[test]
fn everything_is_told_of_compiled_code() {
    let program = program::Program::compile("kernels.c", &["-O2"]);
    for attributes in [0, TLB_I, ppc440::TLB_W] {
        let (mut core, mut flat) = program.load(1, attributes);
        let mut sums = Sums::default();
        // Cut anywhere: the reports do not depend on it.
        let mut at = Time::ZERO;
        let stop = loop {
            at += Duration(3_333_333);
            flat.horizon = at;
            match core.run_observed_on(&mut flat, at, &mut sums) {
                Stop::Until => sums.check(&core),
                stop => break stop,
            }
        };
        assert_eq!(stop, Stop::Fault);
        sums.check(&core);
        // A function may leave by a jump into another one that returns for it.
        assert!(sums.calls > 0 && sums.calls == sums.returns, "{} {}", sums.calls, sums.returns);
        let (mut other, mut flat) = program.load(1, attributes);
        support::run_to_fault(&mut other, &mut flat, 60_000_000);
        assert_eq!(core.digest(), other.digest());
    }
}

fn observed(core: &mut Core, bus: &mut Polled, at: Time, sums: &mut Sums) {
    bus.horizon = at;
    assert_eq!(core.run_observed_on(bus, at, sums), Stop::Until);
    sums.check(core);
}

#[test]
fn skipped_turns_are_told_as_if_they_were_executed() {
    for attributes in [0, TLB_E] {
        let mut cores = [start(true, attributes), start(false, attributes)];
        let mut sums = [Sums::default(), Sums::default()];
        let mut at = Time::ZERO;
        for wake in 0..600u32 {
            at += Duration(3_017_000 + 777 * u64::from(wake));
            for ((core, bus), sums) in cores.iter_mut().zip(&mut sums) {
                observed(core, bus, at, sums);
                let address = MAILBOX + u64::from(wake % 3 == 0) * 4;
                bus.memory.write(address, &wake.to_be_bytes()).unwrap();
                bus.free[1] = bus.free[1].max(at + BUSY);
            }
            assert_eq!(sums[0], sums[1], "at {at}");
        }
        assert!(cores[0].1.repeated > 10_000 && cores[1].1.repeated == 0);
        assert!(sums[0].calls > 300 && sums[0].calls == sums[0].returns);
    }
}

#[test]
fn a_turn_that_was_learnt_without_a_probe_is_not_told() {
    let (mut core, mut bus) = start(true, TLB_E);
    let half = Time::ZERO + Duration::from_us(50);
    polled::advance(&mut core, &mut bus, half);
    let (before, skipped) = (core.counters(), core.skipped_iterations());
    let mut sums = Sums::default();
    let end = Time::ZERO + Duration::from_us(100);
    bus.horizon = end;
    core.run_observed_on(&mut bus, end, &mut sums);
    let after = core.counters();
    assert!(skipped > 0 && core.skipped_iterations() > skipped);
    assert_eq!(sums.cycles.values().sum::<u64>(), after.cycles - before.cycles);
    assert_eq!(sums.completed.values().sum::<u64>(), after.instructions - before.instructions);
}

/// A program from 0x1000 on a memory with 40 ns a read and 20 ns a write, observed to its end.
fn told(words: &[u32]) -> Sums {
    let mut flat = Flat::new(0, 0x10_0000);
    flat.words_be(0x1000, words);
    flat.words_be(0x1000 + 4 * words.len() as u64, &[END]);
    let mut core = support::core(0x1000);
    core.set_tlb_entry(0, TlbEntry::new(0, 0, 9, support::ALL));
    core.set_tlb_entry(1, TlbEntry::new(0x4000_0000, 0, 9, TLB_I | support::ALL));
    core.set_gpr(4, 0x8000);
    core.set_gpr(10, 0x4000_8000);
    core.set_spr(ppc440::spr::CTR, 100).unwrap();
    let mut sums = Sums::default();
    let end = Time::ZERO + Duration::from_us(1000);
    assert_eq!(core.run_observed_on(&mut flat, end, &mut sums), Stop::Fault);
    sums.check(&core);
    sums
}

#[test]
fn causes_are_told_apart() {
    let loops = |body: &[u32]| {
        let mut words = body.to_vec();
        words.push(bdnz(-4 * body.len() as i32));
        told(&words)
    };
    // 20 cycles a read, of which one is the issue of the read itself; the use waits for it.
    let read = loops(&[lwz(5, 0, 10), add(6, 5, 5)]);
    assert_eq!((read.at(0x1004, Cause::Read), read.of(Cause::Load)), (1900, 0));
    // Four reads of 20 cycles at once: the fifth waits for its turn.
    let reads = told(&[lwz(5, 0, 10); 5]);
    assert_eq!((reads.at(0x1010, Cause::Read), reads.of(Cause::Read)), (15, 15));
    // One line from memory, then hits; the use waits for it, and not the load.
    let load = told(&[NOP, lwz(5, 0, 4), NOP, add(6, 5, 5)]);
    assert!((15..20).contains(&load.at(0x100c, Cause::Load)), "{load:?}");
    assert_eq!((load.at(0x1004, Cause::Load), load.missed[&0x1004]), (0, (0, 1)));
    let hit = loops(&[lwz(5, 0, 4), add(6, 5, 5)]);
    assert_eq!(hit.at(0x1004, Cause::Operand), 2 * 99, "load to use 3");
    // Five writes of 10 cycles want four slots.
    let write = told(&[stw(5, 0, 10); 8]);
    assert!(write.of(Cause::Write) > 0 && write.of(Cause::Read) == 0, "{write:?}");
    let fetch = told(&[NOP; 16]);
    // Two lines and one with the end, behind whose first cycles something else issues.
    assert!((19..=60).contains(&fetch.of(Cause::Fetch)), "{fetch:?}");
    assert_eq!(fetch.missed[&0x1000], (1, 0));
    let divide = loops(&[x(31, 5, 6, 7, 491), add(6, 5, 5)]);
    assert!(divide.at(0x1004, Cause::Operand) > 100 * 30);
    // Not taken a hundred times although it goes backwards.
    let wrong = loops(&[cmpwi(0, 20, 1), bc(12, 2, -4)]);
    assert!((1..20).contains(&wrong.at(0x1004, Cause::Mispredict)), "{wrong:?}");
    let synchronise = loops(&[ISYNC]);
    assert!(synchronise.at(0x1000, Cause::Synchronise) >= 6 * 100);
    let call = told(&[b(8) | 1, b(12), NOP, 19 << 26 | 20 << 21 | 16 << 1, NOP]);
    assert_eq!((call.calls, call.returns), (1, 1), "{call:?}");
    assert_eq!(call.jumps[&(0x100c, 0x1004)], 1);
}
