//! Where the processor stops: asked before each instruction.

use super::{Mark, Pace, Why};
use gdbstub::common::Signal;
use gdbstub::target::ext::breakpoints::WatchKind;
use ppc440::{DataAccess, Observation, Probe, Trouble, Upcoming};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

/// Breakpoints, watchpoints, and how far the processor is to go.
pub(crate) struct Watch {
    /// Address, and whether it is of hardware's kind.
    breakpoints: Vec<(u32, bool)>,
    watchpoints: Vec<Watchpoint>,
    pace: Pace,
    /// Where it was let go ([`Upcoming::progress`]): that instruction is not stopped at again.
    left: Option<u64>,
    interrupt: Arc<AtomicBool>,
    why: Option<Why>,
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
    pub fn new(interrupt: Arc<AtomicBool>) -> Watch {
        Watch {
            breakpoints: Vec::new(),
            watchpoints: Vec::new(),
            pace: Pace::Step,
            left: None,
            interrupt,
            why: None,
        }
    }

    /// Lets the processor go, which stands at `progress`.
    pub fn go(&mut self, pace: Pace, progress: u64) {
        self.pace = pace;
        // One whose program counter was changed may stop where it now stands.
        self.left = Some(progress);
        self.why = None;
    }

    /// Why it has stopped, once.
    pub fn why(&mut self) -> Why {
        self.why.take().unwrap_or(Why::Signal(Signal::SIGINT))
    }

    /// Adds a mark, or removes it.
    pub fn mark(&mut self, mark: Mark, add: bool) {
        match mark {
            Mark::Break { addr, hardware } => set(&mut self.breakpoints, (addr, hardware), add),
            Mark::Watch { addr, len, kind } => {
                set(&mut self.watchpoints, Watchpoint { addr, len, kind }, add);
            }
        }
    }

    fn reason(&self, next: &Upcoming) -> Option<Why> {
        if self.left == Some(next.progress()) {
            return None;
        }
        let pc = next.pc();
        if let Some((_, hardware)) = self.breakpoints.iter().find(|(addr, _)| *addr == pc) {
            return Some(if *hardware { Why::HwBreak(()) } else { Why::SwBreak(()) });
        }
        match self.pace {
            Pace::Step => return Some(Why::DoneStep),
            Pace::Range(start, end) if !(start..end).contains(&pc) => return Some(Why::DoneStep),
            _ => {}
        }
        if self.interrupt.load(Ordering::Relaxed) {
            return Some(Why::Signal(Signal::SIGINT));
        }
        if !self.watchpoints.is_empty() {
            if let Some(access) = next.data() {
                let hit = |point: &Watchpoint| Some((point.kind, point.hit(access)?));
                if let Some((kind, addr)) = self.watchpoints.iter().find_map(hit) {
                    return Some(Why::Watch { tid: (), kind, addr });
                }
            }
        }
        next.trouble().map(|trouble| Why::Signal(signal(trouble)))
    }
}

/// Adds an item to a list, or removes one like it.
fn set<T: PartialEq>(list: &mut Vec<T>, item: T, add: bool) {
    if add {
        list.push(item);
    } else if let Some(index) = list.iter().position(|other| *other == item) {
        list.swap_remove(index);
    }
}

/// What a process would get for it.
fn signal(trouble: Trouble) -> Signal {
    match trouble {
        Trouble::Illegal => Signal::SIGILL,
        Trouble::Unmapped => Signal::SIGSEGV,
        Trouble::Trap => Signal::SIGTRAP,
    }
}

/// A processor that is debugged, and observed by somebody else as well.
pub(crate) struct Debugged<'a, P> {
    pub watch: &'a mut Watch,
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
