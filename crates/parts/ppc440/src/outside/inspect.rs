//! Access to a core's state from outside, for debuggers, tests and the bench.

use crate::core::{Core, Counters, State};
use crate::TlbEntry;
use des::Time;
use std::hash::{Hash, Hasher};

impl Core {
    /// Address of the next instruction.
    pub fn pc(&self) -> u32 {
        self.registers.pc
    }
    /// Sets the address of the next instruction.
    pub fn set_pc(&mut self, pc: u32) {
        self.disturb();
        self.registers.pc = pc & !3;
    }
    /// Forgets a fault and goes on at `pc`, as a debugger would.
    pub fn resume_at(&mut self, pc: u32) {
        self.set_pc(pc);
        self.fault = None;
        if self.state == State::Stopped {
            self.state = State::Running;
        }
        self.unit.replay_forgotten();
        self.blocked = Time::ZERO;
    }
    /// General register `n` (0 to 31).
    pub fn gpr(&self, n: usize) -> u32 {
        assert!(n < 32, "a general register is 0 to 31");
        self.registers.gpr[n]
    }
    /// Sets general register `n` (0 to 31).
    pub fn set_gpr(&mut self, n: usize, value: u32) {
        assert!(n < 32, "a general register is 0 to 31");
        self.disturb();
        self.registers.gpr[n] = value;
    }
    /// The condition register.
    pub fn cr(&self) -> u32 {
        self.registers.cr()
    }
    /// Sets the condition register.
    pub fn set_cr(&mut self, value: u32) {
        self.disturb();
        self.registers.set_cr(value, 0xff);
    }
    /// Machine state register.
    pub fn msr(&self) -> u32 {
        self.registers.msr
    }
    /// Sets the machine state register.
    pub fn set_msr(&mut self, value: u32) {
        self.disturb();
        self.set_msr_now(value);
    }
    /// Special purpose register `number`; `None` if the 440 has none of that number.
    pub fn spr(&self, number: u32) -> Option<u32> {
        self.read_special(number, self.pipeline.cycle())
    }
    /// Sets special purpose register `number`; `None` if the 440 has none of that number that can
    /// be written.
    pub fn set_spr(&mut self, number: u32, value: u32) -> Option<()> {
        self.disturb();
        self.write_special(number, value, self.pipeline.cycle())
    }
    /// TLB entry `index` (0 to 63).
    pub fn tlb_entry(&self, index: usize) -> TlbEntry {
        self.tlb.entry(index)
    }
    /// Sets TLB entry `index` (0 to 63).
    pub fn set_tlb_entry(&mut self, index: usize, entry: TlbEntry) {
        self.disturb();
        self.tlb.set_entry(index, entry);
    }
    /// Counts since the core was made; cycles since the release of reset.
    pub fn counters(&self) -> Counters {
        let cycles = self.pipeline.cycle() - self.started.min(self.pipeline.cycle());
        Counters { cycles, ..self.counters }
    }
    /// Cycles from the release of reset to `now`, to which the core has been run: it may be some cycles
    /// before that, or after it if an access took longer. Those of a stopped core ended where it stopped.
    pub fn cycles_at(&self, now: Time) -> u64 {
        match self.state {
            State::Running => self.cycle_at(now).saturating_sub(self.started),
            State::Reset | State::Stopped => self.counters().cycles,
        }
    }
    /// Everything in the core that can have an effect or be seen, a number for each part.
    pub fn digest(&self) -> [(&'static str, u64); 9] {
        fn of(part: impl Hash) -> u64 {
            let mut hasher = std::hash::DefaultHasher::new();
            part.hash(&mut hasher);
            hasher.finish()
        }
        [
            ("registers", of(&self.registers)),
            ("system registers", of(&self.special)),
            ("translation", of(&self.tlb)),
            ("instruction cache", of(&self.icache)),
            ("data cache", of(&self.dcache)),
            ("load and store unit", of(self.unit.without_past(self.pipeline.cycle()))),
            ("pipeline", of(&self.pipeline)),
            ("predictor", of(&self.predictor)),
            ("counters", of(self.counters)),
        ]
    }
}
