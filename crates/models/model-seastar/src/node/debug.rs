//! A node whose processor gdb debugs: it halts where gdb wants it to, and before its faults end the
//! run.

use super::local_bus::LocalBus;
use super::*;
use ppc440::{Off, Stop};
use ppc440_debug::debugger::{killed, Debugged, Debugger, Halted, Surroundings, Why, KILLED};
use ppc440_debug::Told;

/// All of the node but its processor.
struct Around<'a> {
    nic: &'a mut seastar_nic::SeaStar,
    ports: NodePorts<'a>,
}

impl Surroundings for Around<'_> {
    fn look(&mut self, _: Time, real: u64, bytes: &mut [u8]) -> bool {
        self.ports.unjudged(|ports| self.nic.plb_look(real, bytes, ports))
    }

    fn write(&mut self, now: Time, real: u64, bytes: &[u8]) -> bool {
        if self.nic.is_sram(real) {
            return self.nic.sram_mut().write(real, bytes).is_ok();
        }
        self.ports.unjudged(|ports| self.nic.ras_write(now, real, bytes, ports)).is_ok()
    }

    fn changed(&mut self) {
        self.ports.chipset.firmware.stimulated();
    }

    fn failure(&self) -> Option<&str> {
        self.ports.ports.failure()
    }
}

impl Station {
    /// Lets gdb debug the processor, from its first instruction on.
    pub fn set_debugger(&mut self, debugger: Option<Debugger>) {
        self.gdb = GdbSlot::new(debugger, &mut self.core);
    }

    /// Lets gdb debug the processor again if it has come back. Called at the beginning of a window, before
    /// anything is done in it.
    pub(super) fn welcome(&mut self, ports: &mut Ports<Station>) {
        if !self.gdb.wants_back() {
            return;
        }
        // An idle firmware may lag behind; what gdb makes it do must not come before this window.
        self.run_processor(self.horizon, false, ports);
        self.gdb.take_back(&mut self.core);
    }

    /// Executes as [`Station::run_processor`] does, and halts where gdb wants to look.
    pub(super) fn debug_processor(&mut self, horizon: Time, ports: &mut Ports<Station>) {
        while self.gdb.is_taken() {
            let limit = horizon.min(self.next_time(ports));
            let mut stop = Stop::Until;
            let Station { nic, chipset, gdb, .. } = self;
            if let Some(watch) = gdb.watch().filter(|_| self.core.now() < limit) {
                let around = NodePorts { chipset, ports: &mut *ports };
                let mut bus = LocalBus { nic, around, horizon, may_wait: false };
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
            let Some(why) = self.gdb.why(stop) else { return self.ran(stop, ports) };
            self.stand_still(why, limit, ports);
            if ports.failure().is_some() {
                return;
            }
        }
        self.run_processor(horizon, true, ports);
    }

    /// Shows the debugger the failure that ends the run, unless it was shown before it happened.
    pub(super) fn show_failure(&mut self, at: Time, ports: &mut Ports<Station>) {
        if let Some(why) = self.gdb.last_look(&self.core) {
            self.stand_still(why, at, ports);
        }
    }

    /// Does what gdb requests until it wants the processor to go on, which has reached `limit` at most.
    fn stand_still(&mut self, why: Why, limit: Time, ports: &mut Ports<Station>) {
        let now = self.core.now().min(limit);
        let Station { core, nic, chipset, gdb, .. } = self;
        let around = &mut Around { nic, ports: NodePorts { chipset, ports: &mut *ports } };
        if gdb.stand_still(why, &mut Halted { core, around, now }) {
            ports.end(now, KILLED, killed(now, &self.core, &self.symbols));
        }
        // gdb may have woken it.
        self.acts = self.core.now();
    }
}
