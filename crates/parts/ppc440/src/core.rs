//! The core: its state.

use crate::clock::{inverse, whole_period};
use crate::code::Code;
use crate::decode::Op;
use crate::exception::Exception;
use crate::idle_loop::IdleLoop;
use crate::outside::probe::Account;
use crate::registers::{Registers, MSR_DS, MSR_MASK, MSR_PR, MSR_WE};
use crate::special::Special;
use crate::storage::arrays::{DataCache, InstructionCache};
use crate::storage::tlb::Tlb;
use crate::storage::unit::Unit;
use crate::timing::predictor::Predictor;
use crate::timing::{IssueSlot, Pipeline};
use crate::translate::HOT;
use crate::{Fault, FaultKind, Timing};
use blocks::LastExit;
use des::{Clock, Time};

#[cfg_attr(not(all(target_os = "linux", target_arch = "x86_64")), allow(dead_code))]
pub(crate) mod blocks;
pub(crate) mod loops;

/// Configuration of a core.
#[derive(Clone, Debug)]
pub struct Config {
    /// The core's clock.
    pub clock: Clock,
    /// Parameters of the timing model.
    pub timing: Timing,
    /// A load of a stale byte, and a read of an unflushed one by others, are faults.
    pub coherence_faults: bool,
    /// Store of decoded instructions. Cores that execute the same code should share one.
    pub code: Code,
}

/// Reason for which [`Core::run`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// `now() >= until`, or the next instruction needs the bus at or after its horizon.
    Until,
    /// The core has stopped for good: see [`Core::fault`].
    Fault,
    /// A debugger wants it to halt before the next instruction ([`crate::Probe::halts`]).
    Halted,
}

/// Counts since the core was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Counters {
    /// Instructions completed.
    pub instructions: u64,
    /// Core cycles since the release of reset, waiting included.
    pub cycles: u64,
    /// Instruction cache lines filled, and lines fetched from caching-inhibited pages.
    pub icache_misses: u64,
    /// Data cache lines filled.
    pub dcache_misses: u64,
    /// Data cache lines written back.
    pub writebacks: u64,
    /// Data reads that bypass the cache, in bus transactions.
    pub uncached_reads: u64,
    /// Data writes that bypass the cache or go through it, in bus transactions.
    pub uncached_writes: u64,
    /// Stores that became part of an earlier store's bus transaction.
    pub gathered_stores: u64,
    /// Branches executed.
    pub branches: u64,
    /// Branches predicted wrongly.
    pub mispredicts: u64,
    /// Exceptions taken.
    pub exceptions: u64,
}

/// Control flow after an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// The next one.
    Next,
    /// The next one, after the load and store unit's delays.
    Late,
    /// The one at `Core::next`, `Core::bubble` cycles after this one.
    Branch,
    /// The next one, fetched anew because translation, caches or interrupts may have changed.
    Refetch,
    /// The one at the program counter, which is set already, after a synchronisation.
    Synchronise,
    /// The handler at the program counter; the instruction has not completed.
    Exception,
    /// This one again, later: the horizon does not allow its bus transaction now.
    Retry,
    /// None: the core has stopped.
    Fault,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Reset,
    Running,
    Stopped,
}

/// One PowerPC 440 core. Fields that most instructions need come first and close together, here and in its
/// parts (`repr(C)`): simulated nodes by the hundred share the caches of the machine that simulates.
#[derive(Clone)]
#[repr(C, align(64))]
pub struct Core {
    pub(crate) registers: Registers,
    pub(crate) pipeline: Pipeline,
    /// Cycle at which `run` must return, and place from which on the loop must look up: for that,
    /// or an interrupt.
    pub(crate) until: u64,
    pub(crate) limit: IssueSlot,
    /// The same without a write that is held.
    pub(crate) calm_limit: IssueSlot,
    /// Earliest issue time of the next instruction, which needs the bus; the horizon did not allow it.
    pub(crate) blocked: Time,
    /// Cycle in which the current instruction issues.
    pub(crate) issue: u64,
    /// Target of the branch just executed, and cycles from its issue to the next instruction.
    pub(crate) next: u32,
    pub(crate) bubble: u64,
    /// The clock's period, if that is a whole number of picoseconds and the first edge is at time
    /// 0; else 0.
    pub(crate) period: u64,
    /// 2^64 divided by that.
    pub(crate) inverse: u64,
    pub(crate) synchronise: u64,
    pub(crate) state: State,
    pub(crate) coherence_faults: bool,
    /// Level of the external interrupt line, and the cycle in which it rose.
    pub(crate) interrupt: bool,
    pub(crate) interrupt_at: u64,
    /// Executions of an address before it is translated; 0: never.
    pub(crate) hot: u32,
    /// Last exit from translated code.
    pub(crate) last_exit: LastExit,
    pub(crate) idle_loop: IdleLoop,
    pub(crate) unit: Unit,
    pub(crate) tlb: Tlb,
    pub(crate) dcache: DataCache,
    pub(crate) predictor: Predictor,
    pub(crate) counters: Counters,
    pub(crate) icache: InstructionCache,
    pub(crate) special: Special,
    pub(crate) clock: Clock,
    pub(crate) fault: Option<Fault>,
    /// First cycle after the release of reset.
    pub(crate) started: u64,
    pub(crate) account: Account,
}

impl Core {
    /// A core held in reset. Caches are empty, registers 0.
    pub fn new(config: &Config) -> Core {
        Core {
            registers: Registers::new(),
            special: Special::default(),
            tlb: Tlb::new(),
            icache: InstructionCache::new(&config.code, &config.timing),
            dcache: DataCache::new(),
            unit: Unit::new(&config.timing),
            pipeline: Pipeline::new(&config.timing),
            predictor: Predictor::new(&config.timing),
            counters: Counters::default(),
            clock: config.clock,
            period: whole_period(config.clock),
            inverse: inverse(whole_period(config.clock)),
            synchronise: u64::from(config.timing.synchronise),
            state: State::Reset,
            fault: None,
            coherence_faults: config.coherence_faults,
            issue: 0,
            next: 0,
            bubble: 0,
            blocked: Time::ZERO,
            interrupt: false,
            interrupt_at: 0,
            until: 0,
            limit: IssueSlot::first_of(0),
            calm_limit: IssueSlot::first_of(0),
            started: 0,
            hot: HOT,
            last_exit: LastExit::default(),
            idle_loop: IdleLoop::new(false),
            account: Account::new(),
        }
    }
    /// Lets the core go. It fetches its first instruction at 0xFFFFFFFC, at the first clock edge at
    /// or after `now`. Does nothing if the core runs already.
    pub fn release_reset(&mut self, now: Time) {
        if self.state == State::Reset {
            self.state = State::Running;
            self.started = self.cycle_at(now);
            self.pipeline.stall(self.started);
        }
    }
    /// Time of the core's next action: the next instruction can issue, or a write that waits for others to
    /// join it is requested. `Time::NEVER` in reset, after a fault, and while the core waits (`MSR[WE]`)
    /// for something that is not due.
    pub fn now(&self) -> Time {
        let held = self.unit.gather.due;
        if self.state != State::Running {
            return Time::NEVER;
        }
        if self.registers.msr & MSR_WE != 0 {
            return match self.wake_cycle().min(held) {
                u64::MAX => Time::NEVER,
                cycle => self.edge(cycle),
            };
        }
        let issue = self.edge(self.pipeline.cycle()).max(self.blocked);
        match held {
            u64::MAX => issue,
            cycle => issue.min(self.edge(cycle)),
        }
    }
    /// Fault that stopped the core, if any.
    pub fn fault(&self) -> Option<&Fault> {
        self.fault.as_ref()
    }
    /// The external interrupt line, level sensitive.
    pub fn set_external_interrupt(&mut self, level: bool, now: Time) {
        if level && !self.interrupt {
            self.interrupt_at = self.cycle_at(now);
        }
        self.disturb();
        self.interrupt = level;
        self.blocked = Time::ZERO;
        self.refresh_limit();
    }
    /// Memory was changed from outside (an image was loaded): the instruction cache and all decoded
    /// code are forgotten. The data cache keeps its lines.
    pub fn memory_changed(&mut self) {
        self.disturb();
        self.icache.invalidate_all();
    }

    /// Sets the MSR and what follows from it.
    pub(crate) fn set_msr_now(&mut self, value: u32) {
        let value = value & MSR_MASK;
        self.tlb.msr_changed(self.registers.msr, value);
        self.registers.msr = value;
        self.refresh_limit();
    }

    pub(crate) fn user(&self) -> bool {
        self.registers.msr & MSR_PR != 0
    }
    pub(crate) fn data_space(&self) -> bool {
        self.registers.msr & MSR_DS != 0
    }

    /// A program exception in user mode.
    pub(crate) fn privileged(&mut self) -> Result<(), Flow> {
        if self.user() {
            return Err(self.raise(Exception::Privileged));
        }
        Ok(())
    }

    /// Records a fault and stops the core.
    pub(crate) fn stop(&mut self, kind: FaultKind, addr: Option<u64>) -> Flow {
        let at = self.edge(self.issue.max(self.pipeline.cycle()));
        self.stop_at(at, self.registers.pc, kind, addr)
    }

    /// The same for an instruction that has issued before.
    pub(crate) fn stop_at(
        &mut self,
        at: Time,
        pc: u32,
        kind: FaultKind,
        addr: Option<u64>,
    ) -> Flow {
        self.fault = Some(Fault { at, pc, kind, addr });
        self.state = State::Stopped;
        Flow::Fault
    }

    pub(crate) fn illegal(&mut self, op: &Op) -> Flow {
        self.stop(FaultKind::Illegal { word: op.imm }, None)
    }
}
