//! Slot of a processor for its debugger.

use super::{Debugger, Halted, Signal, Then, Watch, Why};
use des::Time;
use machine::firmware::symbols::Symbols;
use ppc440::{Core, FaultKind};

/// Exit status of a run that gdb killed, as a shell has it: 128 + SIGKILL.
pub const KILLED: i32 = 137;

/// Says that gdb killed the run.
pub fn killed(now: Time, core: &Core, symbols: &Symbols) -> String {
    format!("gdb killed the run at {now}, in {}", symbols.describe(core.pc()))
}

/// gdb on a processor: connected, or gone and may come back; empty if no gdb is expected.
#[derive(Default)]
pub struct GdbSlot {
    here: Option<Box<Debugger>>,
    away: Option<Box<Debugger>>,
}

impl GdbSlot {
    /// Lets gdb debug the processor, from its first instruction on. A debugged processor never fast-forwards.
    pub fn new(debugger: Option<Debugger>, core: &mut Core) -> GdbSlot {
        if debugger.is_some() {
            core.set_idle_fast_forward(false);
        }
        GdbSlot { here: debugger.map(Box::new), away: None }
    }

    /// The processor is debugged.
    pub fn is_taken(&self) -> bool {
        self.here.is_some()
    }

    /// The processor is debugged, or may be at any time.
    pub fn may_be_taken(&self) -> bool {
        self.here.is_some() || self.away.is_some()
    }

    /// gdb has come back.
    pub fn wants_back(&self) -> bool {
        self.away.as_ref().is_some_and(|debugger| debugger.interrupted())
    }

    /// Lets it debug the processor again.
    pub fn take_back(&mut self, core: &mut Core) {
        core.set_idle_fast_forward(false);
        self.here = self.away.take();
    }

    /// Breakpoints and watchpoints, if gdb is connected.
    pub fn watch(&mut self) -> Option<&mut Watch> {
        self.here.as_mut().map(|debugger| &mut debugger.watch)
    }

    /// Reason for which the processor, which ran as far as it could, has to halt, if it has to.
    pub fn why(&mut self, stop: ppc440::Stop) -> Option<Why> {
        let debugger = self.here.as_mut()?;
        match stop {
            ppc440::Stop::Halted => Some(debugger.stands()),
            ppc440::Stop::Until if debugger.interrupted() => Some(Why::Signal(Signal::Int)),
            ppc440::Stop::Until | ppc440::Stop::Fault => None,
        }
    }

    /// Reason to show the failure that ends the run, unless it was shown before it happened.
    pub fn last_look(&self, core: &Core) -> Option<Why> {
        let unseen = self.here.as_ref().is_some_and(|debugger| !debugger.warned);
        let fault = core.fault().map(|fault| signal(fault.kind));
        unseen.then(|| Why::Signal(fault.unwrap_or(Signal::Abort)))
    }

    /// Does what gdb requests until it wants the processor to go on. True if the run must end.
    pub fn stand_still(&mut self, why: Why, halted: &mut Halted<'_>) -> bool {
        let Some(mut debugger) = self.here.take() else { return false };
        match debugger.talk(why, halted) {
            Then::Run => self.here = Some(debugger),
            Then::Detached => {
                halted.core.set_idle_fast_forward(debugger.park);
                self.away = Some(debugger);
            }
            Then::Killed => return true,
        }
        false
    }
}

/// Signal that a process would get for the fault.
fn signal(kind: FaultKind) -> Signal {
    match kind {
        FaultKind::Illegal { .. } | FaultKind::Dcr { .. } | FaultKind::Spr { .. } => Signal::Ill,
        FaultKind::Bus(_) | FaultKind::Stale { .. } | FaultKind::Unflushed { .. } => Signal::Bus,
    }
}
