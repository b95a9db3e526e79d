//! Real cost of a run: wall time of the processor model, and the number of instructions that it executed
//! rather than skipped. Nothing of it is simulated, and nothing simulated depends on it.

use machine::effort::{Effort, Metered};

/// True if [`ticks`] are cycles of the time stamp counter; else they are nanoseconds.
pub const TICKS_ARE_CYCLES: bool = cfg!(target_arch = "x86_64");

/// A clock that is quick to read, of this processor: the time stamp counter, which runs at the processor's
/// nominal frequency whatever its present one is. Where there is none, nanoseconds.
#[inline(always)]
pub fn ticks() -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: reading the time stamp counter touches no memory, and x86-64 has it.
        unsafe { core::arch::x86_64::_rdtsc() }
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        use std::sync::OnceLock;
        use std::time::Instant;
        static START: OnceLock<Instant> = OnceLock::new();
        START.get_or_init(Instant::now).elapsed().as_nanos() as u64
    }
}

/// A call that takes more ticks and executes less than [`MANY`] instructions was interrupted: some 100 us.
const LONG: u64 = 250_000;
const MANY: u64 = 1_000;

/// Measures one node's processor model. The switch comes first: each call of the model reads it.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Meter {
    on: bool,
    metered: Metered,
    /// Counts at the last begin, and at the launch.
    begun: (u64, u64),
    before: (u64, u64),
}

/// Instructions executed one by one, and parked, so far.
fn counts(core: &ppc440::Core) -> (u64, u64) {
    let parked = core.skipped_instructions();
    (core.counters().instructions - parked, parked)
}

impl Meter {
    pub fn new(on: bool) -> Meter {
        Meter { on, ..Meter::default() }
    }
    /// The processor model is called now.
    #[inline(always)]
    pub fn begin(&mut self, core: &ppc440::Core) {
        if self.on {
            self.begun.1 = counts(core).0;
            self.begun.0 = ticks();
        }
    }
    /// It has returned.
    #[inline(always)]
    pub fn end(&mut self, core: &ppc440::Core) {
        if self.on {
            let spent = ticks().wrapping_sub(self.begun.0);
            let executed = counts(core).0 - self.begun.1;
            if spent > LONG && executed < MANY {
                self.metered.interrupted += 1;
            } else {
                self.metered.ticks += spent;
                self.metered.calls += 1;
                self.metered.executed += executed;
            }
        }
    }
    /// Starts counting at the launch: earlier work does not count.
    pub fn launch(&mut self, core: &ppc440::Core) {
        self.before = counts(core);
        self.metered = Metered::default();
    }
    /// Work since the launch.
    pub fn effort(&self, core: &ppc440::Core) -> Effort {
        let ((executed, parked), before) = (counts(core), self.before);
        let metered = self.metered;
        let (executed, parked) = (executed - before.0, parked - before.1);
        Effort { executed, parked, metered, ..Effort::default() }
    }
}
