//! Loops that only poll.
//!
//! What the core does next depends on its state, on the memory and on what it reads beyond it. So if a
//! turn of a loop ends in the state in which it began, has left the memory as it was, has written nothing
//! else and has read only what stays the same until something else happens
//! ([`crate::Board::is_steady`]), then all iterations will be like it until then. Such iterations are
//! booked and not executed, and a search for the core's next action does not count them. Any turn of any
//! program is found that fulfils this; nothing is known of the program.
//!
//! A state is remembered now and then, after twice as many cycles each time, and compared whenever the
//! program counter is the same (Brent's search for a cycle). Events on the card put the search off.

use crate::core::Counters;

/// No address of an instruction.
const NOWHERE: u32 = u32::MAX;

/// Cycles of the first look at a loop, and of the longest.
const SHORT: u64 = 64;
const LONG: u64 = 1 << 14;

/// Words that a turn may store to: the stack of a few calls.
const STORES: usize = 32;

/// State on which the next instructions depend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct State {
    pub registers: [u32; 32],
    pub flags: u32,
    pub pc: u32,
    pub next: u32,
    pub late: u32,
    pub loading: u32,
    pub waited: bool,
    pub left: i32,
    pub owed: i32,
}

/// A turn that changes nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Iteration {
    pub cycles: u64,
    pub counters: Counters,
}

/// The search for such a turn.
pub(crate) struct Polling {
    /// Address of the remembered state, while it is compared.
    pub anchor: u32,
    /// True if stores must be reported ([`Polling::note`]).
    pub records: bool,
    /// Cycle from which on another state should be remembered.
    pub end: u64,
    state: Option<State>,
    began: u64,
    counters: Counters,
    /// Cycles until the next state is remembered, if this one does not come back.
    length: u64,
    /// Words that were stored to since, as they had been.
    stores: Vec<(u32, [u8; 4])>,
    iteration: Option<Iteration>,
    /// Such iterations are booked instead of executed.
    pub books: bool,
    /// Cycles of the last turn that was found: the next may be the same.
    last: u64,
    /// Time in turns that have changed nothing, before the present one; and the begin of the first like that.
    idle: Spent,
    since: Option<Spent>,
}

/// Cycles and instructions, up to an instant or between two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Cycles.
    pub cycles: u64,
    /// Instructions.
    pub instructions: u64,
}

impl Polling {
    pub fn new() -> Polling {
        Polling {
            anchor: NOWHERE,
            records: false,
            end: 0,
            state: None,
            began: 0,
            counters: Counters::default(),
            length: SHORT,
            stores: Vec::with_capacity(STORES),
            iteration: None,
            books: true,
            last: 0,
            idle: Spent::default(),
            since: None,
        }
    }

    /// Time in turns that have changed nothing, up to an instant.
    pub fn idle(&self, now: Spent) -> Spent {
        let mut idle = self.idle;
        if let Some(since) = self.since {
            idle.cycles += now.cycles - since.cycles;
            idle.instructions += now.instructions - since.instructions;
        }
        idle
    }

    /// The processor does nothing for so many cycles, and begins anew.
    pub fn stood(&mut self, cycles: u64) {
        self.idle.cycles += cycles;
    }

    /// The turn in which the core is.
    #[inline(always)]
    pub fn iteration(&self) -> Option<Iteration> {
        self.iteration
    }

    /// Something has happened: the present turn is no longer known, and is searched again after a turn or so.
    #[inline]
    pub fn put_off(&mut self, now: Spent) {
        self.idle = self.idle(now);
        self.since = None;
        let cycle = now.cycles;
        (self.anchor, self.records, self.iteration) = (NOWHERE, false, None);
        self.end = cycle + SHORT.max(self.last);
        self.length = SHORT.max(self.last + 1);
    }

    /// Remembers a state, to see whether it comes back.
    pub fn begin(&mut self, state: State, cycle: u64, counters: Counters) {
        (self.anchor, self.records) = (state.pc, true);
        (self.state, self.began, self.counters) = (Some(state), cycle, counters);
        self.stores.clear();
        self.end = cycle + self.length;
        self.length = (2 * self.length).min(LONG);
    }

    /// A word at `addr` is about to be stored to.
    #[cold]
    pub fn note(&mut self, sram: &[u8], addr: u32) {
        let word = addr & !3;
        let Some(bytes) = sram.get(word as usize..).and_then(|rest| rest.first_chunk()) else {
            return;
        };
        if self.stores.iter().any(|(known, _)| *known == word) {
            return;
        }
        if self.stores.len() == STORES {
            // Too many: this one is given up.
            (self.anchor, self.records) = (NOWHERE, false);
            return;
        }
        self.stores.push((word, *bytes));
    }

    /// The core is where the state was remembered: true if nothing has changed since.
    pub fn turned(&mut self, state: &State, cycle: u64, now: Counters, sram: &[u8]) -> bool {
        if cycle == self.began || self.state.as_ref() != Some(state) {
            return false;
        }
        let unchanged = |(addr, bytes): &(u32, [u8; 4])| sram[*addr as usize..].starts_with(bytes);
        if !self.stores.iter().all(unchanged) {
            return false;
        }
        let before = self.counters;
        let counters = Counters {
            instructions: now.instructions - before.instructions,
            load_waits: now.load_waits - before.load_waits,
            memory_waits: now.memory_waits - before.memory_waits,
        };
        let cycles = cycle - self.began;
        (self.iteration, self.last) = (Some(Iteration { cycles, counters }), cycles);
        (self.anchor, self.records, self.end) = (NOWHERE, false, u64::MAX);
        self.since = Some(Spent { cycles: self.began, instructions: before.instructions });
        true
    }
}
