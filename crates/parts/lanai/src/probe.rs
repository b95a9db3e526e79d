//! Observer of a core: it is told the cause of every cycle.

/// An instruction that has been executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Its address.
    pub pc: u32,
    /// Cycle in which it would have issued, if it had waited for nothing.
    pub cycle: u64,
    /// Cycles that it waited for a register that was being loaded.
    pub load_wait: u32,
    /// Cycles of its own: one, or two.
    pub own: u32,
    /// Cycles that the next one waits for the memory which this one took.
    pub memory_wait: u32,
    /// Target of its jump, taken after its delay slots.
    pub jump: Option<u32>,
    /// It jumps by loading the program counter, as clang's functions return.
    pub loads: bool,
}

impl Step {
    /// All cycles that are its.
    pub fn cycles(&self) -> u64 {
        u64::from(self.load_wait) + u64::from(self.own) + u64::from(self.memory_wait)
    }
}

/// An observer of a core.
pub trait Probe {
    /// False if it needs no reports; then they take no time.
    const ON: bool = true;
    /// An instruction has been executed.
    fn step(&mut self, step: Step);
    /// True if the core is to halt before the instruction at `pc`, of which `before` have been executed.
    #[inline(always)]
    fn halts(&mut self, pc: u32, before: u64) -> bool {
        let _ = (pc, before);
        false
    }
}

/// No observer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Off;

impl Probe for Off {
    const ON: bool = false;
    fn step(&mut self, _: Step) {}
}
