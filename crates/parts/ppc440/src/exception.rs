//! Exceptions that software handles: their vectors, what they save, and interrupts from outside and
//! the timers.

use crate::core::{Core, Flow};
use crate::registers::{MSR_CE, MSR_DE, MSR_EE, MSR_ME};
use crate::special::{TCR_DIE, TCR_FIE, TSR_DIS, TSR_FIS};

/// Exception, with the values that its handler is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exception {
    DataStorage { addr: u32, store: bool },
    InstructionStorage,
    External,
    Alignment { addr: u32, store: bool },
    Privileged,
    Trap,
    SystemCall,
    Decrementer,
    FixedInterval,
    DataMiss { addr: u32, store: bool },
    InstructionMiss,
}

/// ESR: the access was a store.
const ESR_ST: u32 = 0x0080_0000;
/// ESR: privileged instruction.
const ESR_PPR: u32 = 0x0400_0000;
/// ESR: trap instruction.
const ESR_PTR: u32 = 0x0200_0000;

impl Exception {
    /// Number of the IVOR.
    fn vector(self) -> usize {
        match self {
            Exception::DataStorage { .. } => 2,
            Exception::InstructionStorage => 3,
            Exception::External => 4,
            Exception::Alignment { .. } => 5,
            Exception::Privileged | Exception::Trap => 6,
            Exception::SystemCall => 8,
            Exception::Decrementer => 10,
            Exception::FixedInterval => 11,
            Exception::DataMiss { .. } => 13,
            Exception::InstructionMiss => 14,
        }
    }
    /// New value of ESR; `None` leaves ESR unchanged.
    fn syndrome(self) -> Option<u32> {
        match self {
            Exception::DataStorage { store, .. }
            | Exception::Alignment { store, .. }
            | Exception::DataMiss { store, .. } => Some(if store { ESR_ST } else { 0 }),
            Exception::InstructionStorage => Some(0),
            Exception::Privileged => Some(ESR_PPR),
            Exception::Trap => Some(ESR_PTR),
            _ => None,
        }
    }
}

impl Core {
    /// Takes an exception at the current instruction: saves where it was, and goes to the vector.
    pub(crate) fn raise(&mut self, exception: Exception) -> Flow {
        let after = exception == Exception::SystemCall;
        self.special.srr0 = self.registers.pc.wrapping_add(if after { 4 } else { 0 });
        self.special.srr1 = self.registers.msr;
        if let Some(syndrome) = exception.syndrome() {
            self.special.esr = syndrome;
        }
        match exception {
            Exception::DataStorage { addr, .. }
            | Exception::Alignment { addr, .. }
            | Exception::DataMiss { addr, .. } => self.special.dear = addr,
            _ => {}
        }
        let vector = self.special.ivor[exception.vector()];
        self.registers.pc = self.special.ivpr & 0xffff_0000 | vector & 0xfff0;
        self.set_msr_now(self.registers.msr & (MSR_CE | MSR_ME | MSR_DE));
        self.tlb.synchronise();
        self.counters.exceptions += 1;
        if after {
            Flow::Synchronise
        } else {
            Flow::Exception
        }
    }

    /// Returns from an interrupt.
    pub(crate) fn resume(&mut self, pc: u32, msr: u32) -> Flow {
        self.registers.pc = pc & !3;
        self.set_msr_now(msr);
        self.tlb.synchronise();
        Flow::Synchronise
    }

    /// The interrupt that is pending and enabled at the current cycle.
    pub(crate) fn pending_interrupt(&self) -> Option<Exception> {
        let timers = self.special.tcr;
        let status = self.special.tsr;
        if self.registers.msr & MSR_EE == 0 {
            None
        } else if self.interrupt {
            Some(Exception::External)
        } else if timers & TCR_FIE != 0 && status & TSR_FIS != 0 {
            Some(Exception::FixedInterval)
        } else if timers & TCR_DIE != 0 && status & TSR_DIS != 0 {
            Some(Exception::Decrementer)
        } else {
            None
        }
    }
}
