//! A node whose processor gdb debugs: it halts where gdb wants it to, and before its faults end the
//! run.

use super::local_bus::LocalBus;
use super::*;
use powerpc::debugger::{killed, Debugged, Debugger, Halted, Surroundings, Why, KILLED};
use powerpc::Told;
use ppc440::{Off, Stop};

/// All of the node but its processor.
struct Around<'a> {
    nic: &'a mut nic::SeaStar,
    seam: &'a mut Seam,
}

impl Surroundings for Around<'_> {
    fn look(&mut self, _: Time, real: u64, bytes: &mut [u8]) -> bool {
        let judge = self.seam.observers.judge.take();
        let there = self.nic.plb_look(real, bytes, self.seam);
        self.seam.observers.judge = judge;
        there
    }

    fn write(&mut self, now: Time, real: u64, bytes: &[u8]) -> bool {
        let judge = self.seam.observers.judge.take();
        let written = if self.nic.is_sram(real) {
            self.nic.sram_mut().write(real, bytes)
        } else {
            self.nic.ras_write(now, real, bytes, self.seam)
        };
        self.seam.observers.judge = judge;
        written.is_ok()
    }

    fn changed(&mut self) {
        self.seam.firmware.stimulated();
    }

    fn failure(&self) -> Option<&str> {
        self.seam.failure.as_ref().map(|failure| &*failure.sentence)
    }
}

impl Node {
    /// Lets gdb debug the processor, from its first instruction on.
    pub fn set_debugger(&mut self, debugger: Option<Debugger>) {
        self.seat = Seat::new(debugger, &mut self.core);
    }

    /// Lets gdb debug the processor again if it has come back. Called at the beginning of a window, before
    /// anything is done in it.
    pub(super) fn welcome(&mut self) {
        if !self.seat.wants_back() {
            return;
        }
        // An idle firmware may lag behind; what gdb makes it do must not come before this window.
        self.run_processor(self.horizon, false);
        self.seat.take_back(&mut self.core);
    }

    /// Executes as [`Node::run_processor`] does, and halts where gdb wants to look.
    pub(super) fn debug_processor(&mut self, horizon: Time) {
        while self.seat.is_taken() {
            let limit = horizon.min(self.seam.next_time());
            let mut stop = Stop::Until;
            let Node { nic, seam, seat, .. } = self;
            if let Some(watch) = seat.watch().filter(|_| self.core.now() < limit) {
                let mut bus = LocalBus { nic, seam, horizon, may_wait: false };
                stop = match self.recorder.as_deref_mut() {
                    None => {
                        let mut probe = Debugged { watch, observer: &mut Off };
                        self.core.run_observed(&mut bus, limit, &mut probe)
                    }
                    Some(recorder) => {
                        let observer = &mut Told(recorder);
                        let mut probe = Debugged { watch, observer };
                        self.core.run_observed(&mut bus, limit, &mut probe)
                    }
                };
            }
            let Some(why) = self.seat.why(stop) else { return self.ran(stop) };
            self.stand_still(why, limit);
            if self.seam.failure.is_some() {
                return;
            }
        }
        self.run_processor(horizon, true);
    }

    /// Shows the debugger the failure that ends the run, unless it was shown before it happened.
    pub(super) fn show_failure(&mut self) {
        let Some(failure) = &self.seam.failure else { return };
        if let Some(why) = self.seat.last_look(&self.core) {
            self.stand_still(why, failure.at);
        }
    }

    /// Does what gdb requests until it wants the processor to go on, which has reached `limit` at most.
    fn stand_still(&mut self, why: Why, limit: Time) {
        let now = self.core.now().min(limit);
        let Node { core, nic, seam, seat, .. } = self;
        if seat.stand_still(why, &mut Halted { core, around: &mut Around { nic, seam }, now }) {
            self.seam.fail(
                now,
                KILLED,
                format!("node {}: {}", self.seam.nid, killed(now, &self.core, &self.symbols)),
            );
        }
        // gdb may have woken it.
        self.acts = self.core.now();
    }
}
