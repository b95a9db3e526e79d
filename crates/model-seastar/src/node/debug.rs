//! A node whose processor gdb debugs: it stands still where gdb wants it to, and before its faults end the
//! run.

use super::local_bus::LocalBus;
use super::*;
use crate::debugger::{Debugged, Halted, Signal, Then, Why};
use powerpc::Told;
use ppc440::{FaultKind, Off, Stop};

/// Exit status of a run that gdb killed, as a shell has it: 128 + SIGKILL.
const KILLED: i32 = 137;

impl Node {
    /// Lets gdb debug the processor, from its first instruction on.
    pub fn set_debugger(&mut self, debugger: Option<Debugger>) {
        self.debugger = debugger.map(Box::new);
        if self.debugger.is_some() {
            self.core.set_parking(false);
        }
    }

    /// Lets gdb debug the processor again if it has come back. Called at the beginning of a window, before
    /// anything is done in it.
    pub(super) fn welcome(&mut self) {
        if !self.away.as_ref().is_some_and(|debugger| debugger.interrupted()) {
            return;
        }
        // An idle firmware may lag behind; what gdb makes it do must not come before this window.
        self.run_processor(self.horizon, false);
        self.core.set_parking(false);
        self.debugger = self.away.take();
    }

    /// Executes as [`Node::run_processor`] does, and stands still where gdb wants to look.
    pub(super) fn debug_processor(&mut self, horizon: Time) {
        while let Some(debugger) = self.debugger.as_deref_mut() {
            let limit = horizon.min(self.seam.next_time());
            let mut stop = Stop::Until;
            if self.core.now() < limit {
                let Node { nic, seam, .. } = self;
                let mut bus = LocalBus { nic, seam, horizon, may_wait: false };
                let watch = &mut debugger.watch;
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
            let why = match stop {
                Stop::Halted => debugger.stands(),
                Stop::Until if debugger.interrupted() => Why::Signal(Signal::Int),
                Stop::Until | Stop::Fault => return self.ran(stop),
            };
            self.stand_still(why, limit);
            if self.seam.failure.is_some() {
                return;
            }
        }
        self.run_processor(horizon, true);
    }

    /// What ends the run is there to be looked at, unless it has been shown before it happened.
    pub(super) fn show_failure(&mut self) {
        let Some(debugger) = &self.debugger else { return };
        if let (Some(failure), false) = (&self.seam.failure, debugger.warned) {
            let fault = self.core.fault().map(|fault| signal(fault.kind));
            self.stand_still(Why::Signal(fault.unwrap_or(Signal::Abort)), failure.at);
        }
    }

    /// Does what gdb asks for until it wants the processor to go on, which has come to `limit` at most.
    fn stand_still(&mut self, why: Why, limit: Time) {
        let Some(mut debugger) = self.debugger.take() else { return };
        let now = self.core.now().min(limit);
        let Node { core, nic, seam, .. } = self;
        match debugger.talk(why, &mut Halted { core, nic, seam, now }) {
            Then::Run => self.debugger = Some(debugger),
            Then::Detached => {
                self.core.set_parking(debugger.park);
                self.away = Some(debugger);
            }
            Then::Killed => {
                let place = self.symbols.describe(self.core.pc());
                let nid = self.seam.nid;
                let sentence = format!("node {nid}: gdb killed the run at {now}, in {place}");
                self.seam.fail(now, KILLED, sentence);
            }
        }
        // gdb may have woken it.
        self.acts = self.core.now();
    }
}

/// What a process would get for it.
fn signal(kind: FaultKind) -> Signal {
    match kind {
        FaultKind::Illegal { .. } | FaultKind::Dcr { .. } | FaultKind::Spr { .. } => Signal::Ill,
        FaultKind::Bus(_) | FaultKind::Stale { .. } | FaultKind::Unflushed { .. } => Signal::Bus,
    }
}
