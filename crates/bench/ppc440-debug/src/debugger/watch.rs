//! Stops of the processor: checked before each instruction.

use super::{Pace, Signal, StopPoint, WatchKind, Why};
use ppc440::{DataAccess, Observation, Probe, Trouble, Upcoming};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

/// Breakpoints, watchpoints, and how far the processor is to go.
pub struct Watch {
    /// Address, and whether it is of hardware's kind.
    breakpoints: Vec<(u32, bool)>,
    watchpoints: Vec<Watchpoint>,
    pace: Pace,
    /// Progress at which it was released ([`Upcoming::progress`]).
    left: Option<u64>,
    /// The instruction that was checked last, by progress and address, and the reason for which it was
    /// stopped.
    last: Option<(u64, u32)>,
    shown: Shown,
    interrupt: Arc<AtomicBool>,
    why: Option<Why>,
}

/// Reasons for which an instruction was stopped: each is shown once, so that the processor can go on past
/// it.
#[derive(Clone, Copy, Default)]
struct Shown {
    breakpoint: bool,
    watchpoint: bool,
    trouble: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Watchpoint {
    addr: u32,
    len: u32,
    kind: WatchKind,
}

impl Watchpoint {
    /// The first byte of an access that is watched.
    fn hit(&self, access: DataAccess) -> Option<u32> {
        let kind = match self.kind {
            WatchKind::Write => access.write,
            WatchKind::Read => !access.write,
            WatchKind::ReadWrite => true,
        };
        let into = self.addr.wrapping_sub(access.addr);
        let before = access.addr.wrapping_sub(self.addr);
        match kind {
            true if into < access.len => Some(self.addr),
            true if before < self.len => Some(access.addr),
            _ => None,
        }
    }
}

impl Watch {
    /// Stops at the first instruction of all.
    pub(crate) fn new(interrupt: Arc<AtomicBool>) -> Watch {
        Watch {
            breakpoints: Vec::new(),
            watchpoints: Vec::new(),
            pace: Pace::Step,
            left: None,
            last: None,
            shown: Shown::default(),
            interrupt,
            why: None,
        }
    }

    /// Lets the processor go, which is at `progress`.
    pub(crate) fn go(&mut self, pace: Pace, progress: u64) {
        self.pace = pace;
        self.left = Some(progress);
        self.why = None;
    }

    /// Reason for which it has stopped, once.
    pub(crate) fn why(&mut self) -> Why {
        self.why.take().unwrap_or(Why::Signal(Signal::Int))
    }

    /// Forgets all marks, and never stops: there is no debugger.
    pub(crate) fn rest(&mut self) {
        self.breakpoints.clear();
        self.watchpoints.clear();
        self.pace = Pace::Continue;
        self.left = None;
        self.why = None;
    }

    /// Adds a mark, or removes it.
    pub(crate) fn mark(&mut self, mark: StopPoint, add: bool) {
        match mark {
            StopPoint::Break { addr, hardware } => {
                set(&mut self.breakpoints, (addr, hardware), add)
            }
            StopPoint::Watch { addr, len, kind } => {
                set(&mut self.watchpoints, Watchpoint { addr, len, kind }, add);
            }
        }
    }

    fn reason(&mut self, next: &Upcoming) -> Option<Why> {
        let (progress, pc) = (next.progress(), next.pc());
        if self.last != Some((progress, pc)) {
            self.last = Some((progress, pc));
            self.shown = Shown::default();
        }
        let at = |(addr, _): &&(u32, bool)| *addr == pc;
        if let Some((_, hardware)) = self.breakpoints.iter().find(at)
            && !std::mem::replace(&mut self.shown.breakpoint, true)
        {
            return Some(if *hardware { Why::HwBreak } else { Why::SwBreak });
        }
        let stepped = match self.pace {
            Pace::Continue => false,
            Pace::Step => self.left != Some(progress),
            Pace::Range(start, end) => self.left != Some(progress) && !(start..end).contains(&pc),
        };
        if stepped {
            return Some(Why::DoneStep);
        }
        if self.interrupt.load(Ordering::Relaxed) {
            return Some(Why::Signal(Signal::Int));
        }
        if let Some((kind, addr)) = self.watched(next)
            && !std::mem::replace(&mut self.shown.watchpoint, true)
        {
            return Some(Why::Watch { kind, addr });
        }
        let trouble = next.trouble()?;
        let shown = std::mem::replace(&mut self.shown.trouble, true);
        (!shown).then_some(Why::Signal(signal(trouble)))
    }

    /// The watchpoint that an instruction is about to hit, and where.
    fn watched(&self, next: &Upcoming) -> Option<(WatchKind, u32)> {
        if self.watchpoints.is_empty() {
            return None;
        }
        let access = next.data()?;
        self.watchpoints.iter().find_map(|point| Some((point.kind, point.hit(access)?)))
    }
}

/// Adds an item to a list, or removes it. Either may be requested twice, with the result of once.
fn set<T: PartialEq>(list: &mut Vec<T>, item: T, add: bool) {
    match (list.iter().position(|other| *other == item), add) {
        (None, true) => list.push(item),
        (Some(index), false) => drop(list.swap_remove(index)),
        _ => {}
    }
}

/// Signal that a process would get for the error.
fn signal(trouble: Trouble) -> Signal {
    match trouble {
        Trouble::Illegal => Signal::Ill,
        Trouble::Unmapped => Signal::Segv,
        Trouble::Trap => Signal::Trap,
    }
}

/// A processor that is debugged, and observed as well.
pub struct Debugged<'a, P> {
    /// Asked before each instruction.
    pub watch: &'a mut Watch,
    /// Told what happens.
    pub observer: &'a mut P,
}

impl<P: Probe> Probe for Debugged<'_, P> {
    const ON: bool = P::ON;
    const STEPS: bool = true;
    fn observe(&mut self, what: Observation) {
        self.observer.observe(what);
    }
    fn repeat(&mut self, turn: &[Observation], times: u64) {
        self.observer.repeat(turn, times);
    }
    fn halts(&mut self, next: &Upcoming) -> bool {
        self.watch.why = self.watch.reason(next);
        self.watch.why.is_some()
    }
}
