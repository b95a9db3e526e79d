//! Observer of a running core: it is told the cause of every cycle and every miss.
//!
//! Each cycle is spent on behalf of one instruction, the one that could not complete earlier, and for one
//! [`Cause`]. A cycle in which something issues is an issue cycle; it is reported with the next instruction
//! that issues later, or with the one that issued if that one stalls. All others are stalls. So the sum of
//! all reported cycles is always the number of cycles since the release of reset, and issue cycles are
//! cycles in which the core did something.
//!
//! With [`Off`] nothing of this exists in the compiled loop. A probe changes nothing: iterations of a polling
//! loop that are not executed are reported as often as they would have been.

use super::debug::Upcoming;
use crate::core::{Core, Counters};
use crate::decode::{Op, LK};
use crate::instructions::Kind;
use crate::timing::{reg, IssueSlot};

/// Cause for which cycles were spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Cause {
    /// Something issued.
    Issue,
    /// A result was waited for: of arithmetic, of a load that hit, of a move to or from a special
    /// register; or the divider.
    Operand,
    /// A line of the data cache was waited for, or the place where it goes.
    Load,
    /// A read around the data cache was waited for.
    Read,
    /// A write on the bus waited for a slot.
    Write,
    /// Instructions were waited for: a line of the instruction cache, or of an inhibited page.
    Fetch,
    /// A taken branch, predicted right, made a bubble.
    Branch,
    /// A branch was predicted wrongly.
    Mispredict,
    /// The context was synchronised, an exception was entered, or msync or mbar waited.
    Synchronise,
    /// The core slept until an interrupt (`MSR[WE]`).
    Sleep,
}

impl Cause {
    /// All, in order.
    pub const ALL: [Cause; 10] = [
        Cause::Issue,
        Cause::Operand,
        Cause::Load,
        Cause::Read,
        Cause::Write,
        Cause::Fetch,
        Cause::Branch,
        Cause::Mispredict,
        Cause::Synchronise,
        Cause::Sleep,
    ];
}

/// Kind of a transfer of control to another function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Jump {
    /// A taken branch that sets the link register to the next instruction.
    Call,
    /// A taken branch to the link register that does not set it.
    Return,
    /// Entry into the handler of an exception, before the instruction or (system call) after it.
    Exception,
    /// Return from an exception.
    Resume,
}

/// Something that happened. Each names the address of its instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Observation {
    /// Cycles passed.
    Spent {
        /// Address of the instruction that they passed for.
        pc: u32,
        /// Cause of the wait.
        cause: Cause,
        /// Number of cycles; at least one.
        cycles: u64,
    },
    /// An instruction completed.
    Completed {
        /// Its address.
        pc: u32,
    },
    /// Lines of a cache were filled, or fetched from an inhibited page.
    Missed {
        /// Address of the instruction that needed them.
        pc: u32,
        /// Lines of instructions.
        instructions: u64,
        /// Lines of data.
        data: u64,
    },
    /// Control went elsewhere.
    Jumped {
        /// Address of the branch, or of the interrupted instruction.
        pc: u32,
        /// Target address.
        target: u32,
        /// Kind of the transfer.
        jump: Jump,
    },
}

/// Observer that is told what happens, in its order.
pub trait Probe {
    /// False if it needs no reports.
    const ON: bool;
    /// This happened.
    fn observe(&mut self, what: Observation);
    /// All this happened `times` times over: iterations of a polling loop.
    fn repeat(&mut self, iteration: &[Observation], times: u64);
    /// True if it is asked before each instruction: a debugger (see `debug`). Such a core must not park.
    const STEPS: bool = false;
    /// True if the core is to halt before this instruction.
    fn halts(&mut self, next: &Upcoming) -> bool {
        let _ = next;
        false
    }
}

/// No observer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Off;

impl Probe for Off {
    const ON: bool = false;
    fn observe(&mut self, _what: Observation) {}
    fn repeat(&mut self, _iteration: &[Observation], _times: u64) {}
}

/// Cycles and counts reported so far. Only kept while there is a probe; not part of the core's state.
#[derive(Clone)]
pub(crate) struct Account {
    /// Everything before this cycle has been told.
    cycle: u64,
    /// Something issued in it.
    issued: bool,
    counters: Counters,
    /// Cause of the wait of an instruction that needs this register before it is ready.
    late: [Cause; reg::SINK as usize + 1],
    /// Cause of the wait of the instruction just executed, if it waited.
    why: Cause,
}

impl Account {
    pub fn new() -> Account {
        Account {
            cycle: 0,
            issued: false,
            counters: Counters::default(),
            late: [Cause::Operand; reg::SINK as usize + 1],
            why: Cause::Issue,
        }
    }
}

impl Core {
    /// Everything before this cycle has been told, if there is a probe.
    pub fn told_until(&self) -> u64 {
        self.account.cycle
    }

    /// Skips what passed without a probe: it is not reported.
    pub(crate) fn resume_account(&mut self) {
        if self.account.cycle != self.pipeline.cycle() {
            self.open_account();
        }
    }

    fn open_account(&mut self) {
        self.account.cycle = self.pipeline.cycle();
        self.account.issued = self.pipeline.is_taken();
        self.account.counters = self.counters;
    }

    fn tell<P: Probe>(&mut self, probe: &mut P, what: Observation) {
        self.idle_loop.tell(what);
        probe.observe(what);
    }

    /// The cycles up to `until` that have not been told were spent on `cause`.
    fn tell_cycles<P: Probe>(&mut self, probe: &mut P, pc: u32, until: u64, cause: Cause) {
        let account = &mut self.account;
        let cycles = until - account.cycle;
        if cycles == 0 {
            return;
        }
        account.cycle = until;
        let issue = u64::from(std::mem::take(&mut account.issued));
        if issue != 0 {
            self.tell(probe, Observation::Spent { pc, cause: Cause::Issue, cycles: issue });
        }
        if cycles != issue {
            self.tell(probe, Observation::Spent { pc, cause, cycles: cycles - issue });
        }
    }

    /// The instruction at `pc` has stalled the core until now.
    pub(crate) fn tell_stall<P: Probe>(&mut self, probe: &mut P, pc: u32, cause: Cause) {
        self.tell_cycles(probe, pc, self.pipeline.cycle(), cause);
    }

    /// Reports a stall if a line that is executed next had to be fetched.
    #[inline(always)]
    pub(crate) fn tell_fetch<P: Probe>(&mut self, probe: &mut P) {
        let pc = self.registers.pc;
        self.tell_stall(probe, pc, Cause::Fetch);
        self.tell_misses(probe, pc);
    }

    /// Reports a write to the bus that nobody waits for.
    pub(crate) fn tell_write(&mut self) {
        self.account.counters.uncached_writes = self.counters.uncached_writes;
    }

    fn tell_misses<P: Probe>(&mut self, probe: &mut P, pc: u32) {
        let (now, told) = (self.counters, &mut self.account.counters);
        let instructions = now.icache_misses - told.icache_misses;
        let data = now.dcache_misses - told.dcache_misses;
        told.icache_misses = now.icache_misses;
        told.dcache_misses = now.dcache_misses;
        if instructions | data != 0 {
            self.tell(probe, Observation::Missed { pc, instructions, data });
        }
    }

    /// The instruction at `pc` has been executed and is about to issue at its place.
    pub(crate) fn tell_issue<P: Probe>(
        &mut self,
        probe: &mut P,
        pc: u32,
        op: &Op,
        place: IssueSlot,
    ) {
        let (now, told) = (self.counters, self.account.counters);
        let holds = self.unit.gather.holds(pc);
        self.account.why = if now.mispredicts != told.mispredicts {
            Cause::Mispredict
        } else if matches!(op.kind, Kind::Msync | Kind::Mbar) {
            Cause::Synchronise
        } else if now.uncached_reads != told.uncached_reads {
            Cause::Read
        } else if now.dcache_misses != told.dcache_misses {
            Cause::Load
        } else if holds
            || now.uncached_writes + now.writebacks != told.uncached_writes + told.writebacks
        {
            Cause::Write
        } else {
            // A multiple, or a misaligned access: one piece after the other goes to the cache.
            Cause::Issue
        };
        self.tell_misses(probe, pc);
        let latest = op.source.into_iter().max_by_key(|&source| self.pipeline.ready_at(source));
        let late = latest.map_or(Cause::Operand, |source| self.account.late[usize::from(source)]);
        self.tell_cycles(probe, pc, place.cycle(), late);
        self.account.counters = now;
        self.account.issued = true;
        for result in op.result {
            self.account.late[usize::from(result)] = Cause::Operand;
        }
        self.tell(probe, Observation::Completed { pc });
    }

    /// The instruction at `pc` has used the slow path of the load and store unit.
    pub(crate) fn tell_late<P: Probe>(&mut self, probe: &mut P, pc: u32, op: &Op) {
        let there = self.unit.data_at;
        if there != 0 {
            let hit = self.issue.max(self.unit.stall) + u64::from(op.latency[0] >> 3);
            let late = match self.account.why {
                _ if there <= hit => Cause::Operand,
                Cause::Read => Cause::Read,
                _ => Cause::Load,
            };
            for register in 0..reg::SINK {
                if self.pipeline.ready_at(register) == there {
                    self.account.late[usize::from(register)] = late;
                }
            }
        }
        self.tell_stall(probe, pc, self.account.why);
    }

    /// The branch at `pc` has been executed.
    pub(crate) fn tell_branch<P: Probe>(&mut self, probe: &mut P, pc: u32, op: &Op) {
        let wrong = self.account.why == Cause::Mispredict;
        self.tell_stall(probe, pc, if wrong { Cause::Mispredict } else { Cause::Branch });
        let target = self.next;
        let jump = match (op.flags & LK != 0, op.kind) {
            _ if target == pc.wrapping_add(4) => return,
            (true, _) => Jump::Call,
            (false, Kind::Bclr) => Jump::Return,
            (false, _) => return,
        };
        self.tell(probe, Observation::Jumped { pc, target, jump });
    }

    /// The instruction at `pc` has ended the line that was executed.
    pub(crate) fn tell_leave<P: Probe>(&mut self, probe: &mut P, pc: u32, op: &Op) {
        self.tell_stall(probe, pc, Cause::Synchronise);
        let jump = match op.kind {
            Kind::Sc => Jump::Exception,
            Kind::Rfi | Kind::Rfci | Kind::Rfmci => Jump::Resume,
            _ => return,
        };
        self.tell(probe, Observation::Jumped { pc, target: self.registers.pc, jump });
    }

    /// An exception was taken instead of the instruction at `pc`, or before it.
    pub(crate) fn tell_exception<P: Probe>(&mut self, probe: &mut P, pc: u32) {
        self.tell_stall(probe, pc, Cause::Synchronise);
        self.tell_misses(probe, pc);
        let target = self.registers.pc;
        self.tell(probe, Observation::Jumped { pc, target, jump: Jump::Exception });
    }

    /// iterations were skipped: `iteration`, `times` over.
    pub(crate) fn tell_again<P: Probe>(
        &mut self,
        probe: &mut P,
        iteration: &[Observation],
        times: u64,
    ) {
        probe.repeat(iteration, times);
        self.open_account();
    }
}
