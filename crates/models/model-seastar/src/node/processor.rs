//! Execution of a node's processor: start and end of each run.

use super::local_bus::LocalBus;
use super::*;
use ppc440_debug::Told;

/// Longest lag of a processor that turns idly, if its turns are not known.
const LAG_MAX: Duration = Duration::from_us(1000);

impl Station {
    /// True if the processor need not be run up to the next event or the horizon: it has come there, or
    /// its firmware idles and the event does not concern it.
    pub(super) fn may_lag(&self, horizon: Time, ports: &Ports<Station>) -> bool {
        // A debugger wants to see it at the time of the rest of the node.
        if self.gdb.is_taken() {
            return false;
        }
        let chipset = &self.chipset;
        let due = chipset.next_time(ports).min(horizon);
        // Turns that cannot be skipped are executed bit by bit, so that the run can be stopped.
        let far = !chipset.firmware.waits && due >= self.acts + LAG_MAX;
        self.acts >= due
            || chipset.firmware.idles()
                && !far
                && chipset.next_is_visible(&self.nic, horizon, ports) == Visible::Nobody
    }

    /// Runs the processor up to the next event or the horizon; if it may wait, no further than it does
    /// anything but poll.
    pub(super) fn run_processor(
        &mut self,
        horizon: Time,
        may_wait: bool,
        ports: &mut Ports<Station>,
    ) {
        self.chipset.stirs += u64::from(!self.chipset.firmware.idles());
        if self.gdb.is_taken() {
            return self.debug_processor(horizon, ports);
        }
        let limit = horizon.min(self.next_time(ports));
        while self.acts < limit {
            let patience = self.chipset.firmware.beat + self.schedule.ras_patience;
            let until = limit.min(patience);
            let Station { nic, chipset, .. } = self;
            let around = NodePorts { chipset, ports };
            let mut bus = LocalBus { nic, around, horizon, may_wait };
            self.meter.begin(&self.core);
            let stop = match self.recorder.as_deref_mut() {
                None => self.core.run(&mut bus, until),
                Some(recorder) => self.core.run_observed(&mut bus, until, &mut Told(recorder)),
            };
            self.meter.end(&self.core);
            self.ran(stop, ports);
            if until == limit || self.acts < until || ports.failure().is_some() {
                return;
            }
            if self.chipset.firmware.beat + self.schedule.ras_patience == patience {
                return self.hangs(patience, ports);
            }
        }
    }

    /// Lets a processor that has stopped its node go on to the end of the run, beyond which no window was:
    /// its write was seen by the time to which it had run ahead, which depends on how it was simulated.
    pub(super) fn run_halted(&mut self, ports: &mut Ports<Station>) {
        let Station { nic, chipset, .. } = self;
        let end = ports.horizon();
        let around = NodePorts { chipset, ports };
        let mut bus = LocalBus { nic, around, horizon: end, may_wait: false };
        match self.recorder.as_deref_mut() {
            None => self.core.run(&mut bus, end),
            Some(recorder) => self.core.run_observed(&mut bus, end, &mut Told(recorder)),
        };
    }

    /// The processor has run as far as it could.
    #[inline(always)]
    pub(super) fn ran(&mut self, stop: ppc440::Stop, ports: &mut Ports<Station>) {
        self.acts = self.core.now();
        self.chipset.firmware.waits = self.core.is_waiting();
        if stop == ppc440::Stop::Fault {
            self.firmware_fault(ports);
        }
        if let Some((at, vector)) = self.chipset.firmware.exception.take() {
            self.exception(at, vector, ports);
        }
    }
}
