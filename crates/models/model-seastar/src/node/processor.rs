//! Execution of a node's processor: start and end of each run.

use super::local_bus::LocalBus;
use super::*;
use ppc440_debug::Told;

/// Longest lag of a processor that turns idly, if its turns are not known.
const LAG_MAX: Duration = Duration::from_us(1000);

impl Node {
    /// True if the processor need not be run up to the next event or the horizon: it has come there, or
    /// its firmware idles and the event does not concern it.
    pub(super) fn may_lag(&self, horizon: Time) -> bool {
        // A debugger wants to see it at the time of the rest of the node.
        if self.gdb.is_taken() {
            return false;
        }
        let due = self.ports.next_time().min(horizon);
        // Turns that cannot be skipped are executed bit by bit, so that the run can be stopped.
        let far = !self.ports.firmware.waits && due >= self.acts + LAG_MAX;
        self.acts >= due
            || self.ports.firmware.idles()
                && !far
                && self.ports.next_is_visible(&self.nic, horizon) == Visible::Nobody
    }

    /// Runs the processor up to the next event or the horizon; if it may wait, no further than it does
    /// anything but poll.
    pub(super) fn run_processor(&mut self, horizon: Time, may_wait: bool) {
        self.ports.stirs += u64::from(!self.ports.firmware.idles());
        if self.gdb.is_taken() {
            return self.debug_processor(horizon);
        }
        let limit = horizon.min(self.ports.next_time());
        while self.acts < limit {
            let patience = self.ports.firmware.beat + self.schedule.ras_patience;
            let until = limit.min(patience);
            let Node { nic, ports, .. } = self;
            let mut bus = LocalBus { nic, ports, horizon, may_wait };
            self.meter.begin(&self.core);
            let stop = match self.recorder.as_deref_mut() {
                None => self.core.run(&mut bus, until),
                Some(recorder) => self.core.run_observed(&mut bus, until, &mut Told(recorder)),
            };
            self.meter.end(&self.core);
            self.ran(stop);
            if until == limit || self.acts < until || self.ports.failure.is_some() {
                return;
            }
            if self.ports.firmware.beat + self.schedule.ras_patience == patience {
                return self.hangs(patience);
            }
        }
    }

    /// Lets a processor that has stopped its node go on to the end of the run, beyond which no window was:
    /// its write was seen by the time to which it had run ahead, which depends on how it was simulated.
    pub(super) fn run_halted(&mut self, end: Time) {
        let Node { nic, ports, .. } = self;
        let mut bus = LocalBus { nic, ports, horizon: end, may_wait: false };
        match self.recorder.as_deref_mut() {
            None => self.core.run(&mut bus, end),
            Some(recorder) => self.core.run_observed(&mut bus, end, &mut Told(recorder)),
        };
    }

    /// The processor has run as far as it could.
    #[inline(always)]
    pub(super) fn ran(&mut self, stop: ppc440::Stop) {
        self.acts = self.core.now();
        self.ports.firmware.waits = self.core.is_waiting();
        if stop == ppc440::Stop::Fault {
            self.firmware_fault();
        }
        if let Some((at, vector)) = self.ports.firmware.exception.take() {
            self.exception(at, vector);
        }
    }
}
