//! Turns of polling loops are booked and not executed: nothing else may differ.
#![allow(clippy::unwrap_used)]

mod support;

use des::{Clock, Random};
use lanai::{Probe, Step};
use support::{core, Flat};

/// ld 0[%r4], %r6; st %r6, 0[%r5]; add %r6, %r7, %r8; add %r8, %r7, %r8; add %r6, %r8, %r8; bt 0; nop
const LD: u32 = 0x8310_0000;
const ST_R5: u32 = 0x9314_0000;
const ADD: u32 = 0xc418_3800;
const COUNT: u32 = 0xc420_3800;
const AGAIN: u32 = 0xe000_0000;
const NOP: u32 = 1;
/// st %r8, 0[%r5]
const ST_R8: u32 = 0x9414_0000;

/// Observer, with which everything is executed.
struct Counts(u64);

impl Probe for Counts {
    fn step(&mut self, _: Step) {
        self.0 += 1;
    }
}

/// Runs `words` twice side by side, once with all iterations executed, to times far and near, and changes the
/// word that is polled now and then. Returns true if the loop was found, and the number of instructions
/// that were not executed.
fn beside(words: &[u32], taken: u32) -> (bool, u64) {
    let clock = Clock::from_hz(66_000_000);
    let mut random = Random::new(u64::from(words[0]) + words.len() as u64);
    let mut boards = [Flat::new(), Flat::new()];
    let mut cores = [core(), core()];
    for (board, core) in boards.iter_mut().zip(&mut cores) {
        board.put(0, words);
        board.taken = taken;
        for (register, value) in [(4, 0x1000), (5, 0x2000), (7, 1)] {
            core.set_register(register, value);
        }
    }
    let (mut found, mut executed, mut until) = (false, Counts(0), 0);
    for _ in 0..300 {
        let far = random.below(3) == 0;
        until += 1 + random.below(if far { 20_000 } else { 50 });
        cores[0].run(&mut boards[0], clock.edge(until));
        cores[1].run_observed(&mut boards[1], clock.edge(until), &mut executed);
        found |= cores[0].polls();
        for part in [0, 1] {
            assert_eq!(cores[part].fault(), None);
        }
        assert_eq!(cores[0].cycle(), cores[1].cycle());
        assert_eq!(cores[0].counters(), cores[1].counters());
        assert_eq!(cores[0].registers(), cores[1].registers());
        assert_eq!(cores[0].idle(), cores[1].idle());
        let idle = cores[0].idle();
        assert!(idle.cycles <= cores[0].cycle());
        assert!(idle.instructions <= cores[0].counters().instructions);
        assert_eq!(idle.cycles > 0, found, "what was found is counted, and nothing else");
        assert_eq!(boards[0].sram[0x1000..0x2010], boards[1].sram[0x1000..0x2010]);
        if random.below(4) == 0 {
            let value = random.next_u64() as u32;
            for (board, core) in boards.iter_mut().zip(&mut cores) {
                board.put(0x1000, &[value]);
                core.memory_changed(0x1000, 4);
            }
        }
    }
    assert_eq!(executed.0, cores[1].counters().instructions, "the other executes all");
    (found, executed.0)
}

#[test]
fn a_loop_that_only_polls_is_found() {
    for taken in [0, 300] {
        assert!(beside(&[LD, ADD, AGAIN, NOP], taken).0);
        // It stores the same again and again.
        assert!(beside(&[LD, NOP, ST_R5, AGAIN, NOP], taken).0);
        assert!(beside(&[NOP, AGAIN, LD, NOP], taken).0);
    }
}

#[test]
fn a_loop_that_counts_is_none() {
    assert!(!beside(&[LD, COUNT, AGAIN, NOP], 0).0);
    assert!(!beside(&[COUNT, ST_R8, AGAIN, NOP], 0).0);
}

/// It would be one if memory did not count: the register is loaded anew in each turn.
#[test]
fn a_loop_that_counts_in_memory_is_none() {
    // ld 0[%r5], %r8
    let load = 0x8414_0000;
    // The register is the same at the loop's end: mov 0x5, %r8.
    let forget = 0xf402_0005;
    assert!(!beside(&[load, NOP, COUNT, ST_R8, forget, AGAIN, NOP], 0).0);
    assert!(beside(&[load, NOP, ST_R8, forget, AGAIN, NOP], 0).0);
}
