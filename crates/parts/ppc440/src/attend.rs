//! Events between instructions, at times known in advance: the end of a run, interrupts, timers, a write
//! that is due.

use crate::core::{Core, Flow, Stop};
use crate::exception::Exception;
use crate::outside::probe::{Cause, Probe};
use crate::registers::MSR_WE;
use crate::timing::IssueSlot;
use bus::Bus;

impl Core {
    /// The clock has reached the limit: writes a store that is held and due, takes a pending interrupt,
    /// wakes from the wait state. Says so if `run` must return.
    pub(crate) fn attend<B: Bus, P: Probe>(&mut self, bus: &mut B, probe: &mut P) -> Option<Stop> {
        if let Err(flow) = self.write_due(bus) {
            return Some(if flow == Flow::Fault { Stop::Fault } else { Stop::Until });
        }
        let pc = self.registers.pc;
        if P::ON {
            self.tell_write();
        }
        // Nothing else was up.
        if self.pipeline.next() < self.limit {
            return None;
        }
        self.idle_loop.forget_record();
        if self.registers.msr & MSR_WE != 0 {
            let wake = self.wake_cycle();
            if wake >= self.until {
                return Some(Stop::Until);
            }
            self.pipeline.stall(wake);
            if P::ON {
                self.tell_stall(probe, pc, Cause::Sleep);
            }
        }
        if self.pipeline.cycle() >= self.until {
            return Some(Stop::Until);
        }
        self.special.update_timers(self.pipeline.cycle());
        // An instruction that has begun to use the bus is completed first.
        if self.unit.replay.count == 0 {
            if let Some(exception) = self.pending_interrupt() {
                if exception == Exception::External {
                    self.pipeline.stall(self.interrupt_at);
                }
                self.raise(exception);
                self.unit.replay_forgotten();
                self.pipeline.stall(self.pipeline.cycle() + self.synchronise);
                if P::ON {
                    self.tell_exception(probe, pc);
                }
            }
            self.refresh_limit();
        } else {
            self.set_limit(self.until);
        }
        (self.pipeline.cycle() >= self.until).then_some(Stop::Until)
    }

    /// Asks for the write that is held, if that is due before anything else.
    fn write_due<B: Bus>(&mut self, bus: &mut B) -> Result<(), Flow> {
        let due = self.unit.gather.due;
        let waiting = self.registers.msr & MSR_WE != 0;
        let next = if waiting { self.wake_cycle() } else { self.pipeline.cycle() };
        if due < self.until && due <= next {
            self.write_gathered(bus, due)?;
        }
        Ok(())
    }

    /// Writes the earlier stores to the bus after a fault.
    pub(crate) fn write_last<B: Bus>(&mut self, bus: &mut B) {
        let fault = self.fault;
        if !self.unit.gather.is_empty() {
            // It may have to wait for the horizon; a second fault is not recorded.
            let _ = self.write_gathered(bus, self.unit.gather.due);
        }
        self.fault = fault.or(self.fault);
    }

    /// Cycle in which an interrupt ends the wait state; `u64::MAX` if none is in sight.
    pub(crate) fn wake_cycle(&self) -> u64 {
        let external = match self.pending_interrupt() {
            Some(Exception::External) => self.interrupt_at.max(self.pipeline.cycle()),
            _ => u64::MAX,
        };
        external.min(self.timer_cycle())
    }

    /// Finds out when the loop must look up next.
    pub(crate) fn refresh_limit(&mut self) {
        self.set_limit(self.limit_but_for_writes());
    }

    /// The loop must look up in `cycle`, or for a write before.
    fn set_limit(&mut self, cycle: u64) {
        self.calm_limit = IssueSlot::first_of(cycle);
        self.limit = self.calm_limit;
        self.look_up_at(self.unit.gather.due);
    }

    /// Cycle at which something is up: the end of the run, an interrupt, a timer, a write.
    pub(crate) fn true_limit(&self) -> u64 {
        self.limit_but_for_writes().min(self.unit.gather.due)
    }

    fn limit_but_for_writes(&self) -> u64 {
        let waiting = self.registers.msr & MSR_WE != 0;
        if waiting || self.pending_interrupt().is_some() {
            0
        } else {
            self.until.min(self.timer_cycle())
        }
    }

    /// The loop must look up in `cycle` at the latest.
    pub(crate) fn look_up_at(&mut self, cycle: u64) {
        self.limit = self.limit.min(IssueSlot::first_of(cycle));
    }
}
