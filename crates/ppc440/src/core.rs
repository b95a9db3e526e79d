//! The core: its state, and what the bench calls.

use crate::{Fault, Timing};
use bus::Bus;
use des::{Clock, Time};

/// What a core is built from.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// The core's clock.
    pub clock: Clock,
    /// Parameters of the timing model.
    pub timing: Timing,
}

/// Why [`Core::run`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// `now() >= until`, or the next instruction needs the bus at or after its horizon.
    Until,
    /// The core has stopped for good: see [`Core::fault`].
    Fault,
}

/// What happened so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Instructions completed.
    pub instructions: u64,
    /// Core cycles since reset, waiting included.
    pub cycles: u64,
    /// Instruction cache lines filled.
    pub icache_misses: u64,
    /// Data cache lines filled.
    pub dcache_misses: u64,
    /// Data cache lines written back.
    pub writebacks: u64,
    /// Data reads that bypass the cache, in bus transactions.
    pub uncached_reads: u64,
    /// Data writes that bypass the cache or go through it, in bus transactions.
    pub uncached_writes: u64,
    /// Branches executed.
    pub branches: u64,
    /// Branches predicted wrongly.
    pub mispredicts: u64,
    /// Exceptions taken.
    pub exceptions: u64,
}

/// One PowerPC 440 core.
pub struct Core {
    counters: Counters,
}

impl Core {
    /// A core held in reset.
    pub fn new(_config: &Config) -> Core {
        Core { counters: Counters::default() }
    }
    /// Lets the core go; it fetches its first instruction at 0xFFFFFFFC at the first clock edge at or after `now`.
    pub fn release_reset(&mut self, _now: Time) {}
    /// When the next instruction can issue; `Time::NEVER` in reset, after a fault, and while it waits (MSR[WE]).
    pub fn now(&self) -> Time {
        Time::NEVER
    }
    /// Executes until `now() >= until`, the bus's horizon, or a fault.
    pub fn run(&mut self, _bus: &mut impl Bus, _until: Time) -> Stop {
        Stop::Until
    }
    /// What stopped the core.
    pub fn fault(&self) -> Option<&Fault> {
        None
    }
    /// The external interrupt line, level sensitive.
    pub fn set_external_interrupt(&mut self, _level: bool, _now: Time) {}
    /// Address of the next instruction.
    pub fn pc(&self) -> u32 {
        0xffff_fffc
    }
    /// General register `n`.
    pub fn gpr(&self, _n: usize) -> u32 {
        0
    }
    /// Sets general register `n`.
    pub fn set_gpr(&mut self, _n: usize, _value: u32) {}
    /// Machine state register.
    pub fn msr(&self) -> u32 {
        0
    }
    /// Special purpose register `number`; `None` if the 440 has none of that number.
    pub fn spr(&self, _number: u32) -> Option<u32> {
        None
    }
    /// What happened so far.
    pub fn counters(&self) -> Counters {
        self.counters
    }
    /// Memory was changed from outside (an image was loaded): all decoded code is forgotten.
    pub fn memory_changed(&mut self) {}
}
