//! State, the main loop, cycles.

use crate::board::{Board, SLOTS_A_CYCLE, SLOT_UNIT};
use crate::code::Code;
use crate::decode::Op;
use crate::fault::{Fault, FaultKind};
use crate::instructions::execute;
use crate::polling::{Polling, State};
use crate::probe::{Off, Probe, Step};
use des::{Clock, Time};
use std::ops::Range;

mod idle;
mod registers;

/// The program counter among the registers.
const PC: usize = 2;

/// No jump is on its way.
const NONE: u32 = u32::MAX;

/// No register is loaded. The bit of `r0`, which never is, stays set: an instruction that is stale reads it.
const LOADS_NONE: u32 = 1;

/// Share of the memory that an instruction fetch takes: two instructions are fetched in an access.
const FETCH: i32 = SLOT_UNIT as i32 / 2;
const ACCESS: i32 = SLOT_UNIT as i32;
/// Capacity of the memory in a cycle.
const CYCLE: i32 = (SLOTS_A_CYCLE * SLOT_UNIT) as i32;

/// Configuration of a core.
#[derive(Clone, Debug)]
pub struct Config {
    /// The processor's clock.
    pub clock: Clock,
    /// Addresses that nothing may be stored to: a store there is a fault with a name.
    pub guard: Range<u32>,
}

/// Outcome of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    Next,
    Fault,
}

/// Reason for which [`Core::run`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The next instruction would issue at or after the requested time, or the board's horizon.
    Reached,
    /// The program did something wrong: [`Core::fault`].
    Fault,
    /// The observer wants it to halt before the next instruction ([`Probe::halts`]).
    Halted,
}

/// Counters since the core's last reset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Instructions.
    pub instructions: u64,
    /// Cycles that an instruction waited for a register that was being loaded.
    pub load_waits: u64,
    /// Cycles that an instruction waited for memory, which DMA and links had.
    pub memory_waits: u64,
}

/// A LANai processor.
pub struct Core {
    registers: [u32; 32],
    pub(crate) flags: u32,
    pc: u32,
    /// Address of the instruction after this one, and of the one after that.
    next: u32,
    after: u32,
    /// Target of a load into the program counter, from its first slot on.
    late: u32,
    /// A bit for the register that the last instruction loads, and [`LOADS_NONE`].
    loading: u32,
    /// The next instruction has waited for that.
    waited: bool,
    /// The next instruction issues in this cycle or later.
    cycle: u64,
    /// First cycle in which nothing may issue, by `until` and the horizon.
    stop: u64,
    /// The same, or where the search for a polling loop wants to be asked.
    limit: u64,
    pub(crate) polling: Polling,
    until: Time,
    horizon: Time,
    /// Share of the memory that DMA and links leave in a cycle.
    left: i32,
    /// Accesses that the memory still owes.
    owed: i32,
    code: Code,
    counters: Counters,
    config: Config,
    fault: Option<Fault>,
}

impl Core {
    /// A core that will begin at address 0 at time zero.
    pub fn new(config: Config) -> Core {
        let mut core = Core {
            registers: [0; 32],
            flags: 0,
            pc: 0,
            next: 4,
            after: 8,
            late: NONE,
            loading: LOADS_NONE,
            waited: false,
            cycle: 0,
            stop: 0,
            limit: 0,
            polling: Polling::new(),
            until: Time::ZERO,
            horizon: Time::ZERO,
            left: CYCLE,
            owed: 0,
            code: Code::new(),
            counters: Counters::default(),
            config,
            fault: None,
        };
        core.reset(Time::ZERO);
        core
    }

    /// Begins anew at address 0, with the first clock edge at or after `at`. Registers are zero.
    pub fn reset(&mut self, at: Time) {
        self.registers = [0; 32];
        self.registers[1] = u32::MAX;
        (self.flags, self.loading, self.waited, self.owed) = (0, LOADS_NONE, false, -FETCH);
        (self.pc, self.next, self.late) = (0, 4, NONE);
        self.polling.put_off(self.spent());
        let first = self.config.clock.edge_at_or_after(at);
        self.polling.stood(first.saturating_sub(self.cycle));
        self.cycle = first;
        self.counters = Counters::default();
        self.fault = None;
        self.polling.put_off(self.spent());
    }

    /// Executes instructions that issue before `until` and before the board's horizon.
    pub fn run<B: Board>(&mut self, board: &mut B, until: Time) -> Stop {
        self.run_observed(board, until, &mut Off)
    }

    /// The same, and tells `probe` of each.
    pub fn run_observed<B: Board, P: Probe>(
        &mut self,
        board: &mut B,
        until: Time,
        probe: &mut P,
    ) -> Stop {
        if self.fault.is_some() {
            return Stop::Fault;
        }
        self.until = until;
        self.look(board, true);
        if !P::ON {
            self.skip();
        }
        while self.cycle < self.limit || self.search() {
            if self.pc == self.polling.anchor && self.turned(board.sram()) {
                if !P::ON {
                    self.skip();
                }
                continue;
            }
            let Some(&op) = self.code.get(self.pc) else {
                if !self.code.decode(board.sram(), self.pc) {
                    self.fail(FaultKind::Fetch, None);
                    return Stop::Fault;
                }
                continue;
            };
            let waits = op.reads & self.loading != 0;
            if waits && op.is_stale() {
                self.code.decode(board.sram(), self.pc);
                continue;
            }
            if P::ON && !self.waited && probe.halts(self.pc, self.counters.instructions) {
                return Stop::Halted;
            }
            if waits {
                self.wait_for_load();
                continue;
            }
            if self.step(board, &op, probe) == Flow::Fault {
                return Stop::Fault;
            }
        }
        Stop::Reached
    }

    #[inline(always)]
    fn step<B: Board, P: Probe>(&mut self, board: &mut B, op: &Op, probe: &mut P) -> Flow {
        self.loading = LOADS_NONE;
        let load_wait = std::mem::take(&mut self.waited);
        let (pc, issued) = (self.pc, self.cycle);
        let in_slot = self.late != NONE || self.next != pc.wrapping_add(4);
        self.registers[PC] = self.pc;
        self.after = self.next.wrapping_add(4);
        if self.late != NONE {
            self.after = self.late;
            self.late = NONE;
        }
        if execute(self, board, op) == Flow::Fault {
            return Flow::Fault;
        }
        self.cycle += 1 + u64::from(op.more);
        self.counters.instructions += 1;
        if self.left < FETCH + ACCESS {
            self.contend(op);
        }
        if P::ON {
            let own = 1 + u32::from(op.more);
            let straight = self.next.wrapping_add(4);
            let target = if self.late != NONE { self.late } else { self.after };
            probe.step(Step {
                pc,
                cycle: issued - u64::from(load_wait),
                load_wait: load_wait.into(),
                own,
                memory_wait: (self.cycle - issued) as u32 - own,
                jump: (target != straight && !in_slot).then_some(target),
                loads: self.late != NONE,
            });
        }
        (self.pc, self.next) = (self.next, self.after);
        Flow::Next
    }

    /// Waits for what the last instruction loads.
    #[inline(always)]
    fn wait_for_load(&mut self) {
        self.loading = LOADS_NONE;
        self.waited = true;
        self.cycle += 1;
        self.counters.load_waits += 1;
    }

    /// Waits until the memory has given what `op` took.
    #[cold]
    fn contend(&mut self, op: &Op) {
        let cycles = 1 + i32::from(op.more);
        self.owed += FETCH + ACCESS * i32::from(op.accesses) - self.left * cycles;
        if self.owed > 0 {
            let waits = (self.owed + self.left - 1) / self.left;
            self.owed -= waits * self.left;
            self.cycle += waits as u64;
            self.counters.memory_waits += waits as u64;
        }
        // Capacity not used in a cycle is lost, except the half of an access that a fetch leaves.
        self.owed = self.owed.max(-FETCH);
    }

    /// Looks at what the board may have changed.
    #[inline(always)]
    fn look<B: Board>(&mut self, board: &B, anew: bool) {
        self.left = CYCLE - board.taken() as i32;
        debug_assert!(self.left >= ACCESS / 16, "the processor never gets at the memory");
        let horizon = board.horizon();
        if anew || horizon != self.horizon {
            self.horizon = horizon;
            self.stop = self.config.clock.edge_at_or_after(self.until.min(horizon));
        }
        self.limit = self.stop.min(self.polling.end);
    }

    /// Looks for a turn of a polling loop from here on, if the limit that was reached is that of the
    /// search.
    #[cold]
    fn search(&mut self) -> bool {
        if self.cycle >= self.stop {
            return false;
        }
        let state = self.state();
        self.polling.begin(state, self.cycle, self.counters);
        self.limit = self.stop.min(self.polling.end);
        true
    }

    /// State on which the next instructions depend, except memory and values read outside of it.
    fn state(&self) -> State {
        State {
            registers: self.registers,
            flags: self.flags,
            pc: self.pc,
            next: self.next,
            late: self.late,
            loading: self.loading,
            waited: self.waited,
            left: self.left,
            owed: self.owed,
        }
    }

    /// True if this ends a turn that has changed nothing.
    #[cold]
    fn turned(&mut self, sram: &[u8]) -> bool {
        let state = self.state();
        let proved = self.polling.turned(&state, self.cycle, self.counters, sram);
        self.limit = self.stop.min(self.polling.end);
        proved
    }

    /// Books as many whole iterations of a polling loop as fit.
    fn skip(&mut self) {
        if let Some(iteration) = self.polling.iteration().filter(|_| self.polling.books) {
            let times = self.stop.saturating_sub(self.cycle) / iteration.cycles;
            self.cycle += times * iteration.cycles;
            let Counters { instructions, load_waits, memory_waits } = iteration.counters;
            self.counters.instructions += times * instructions;
            self.counters.load_waits += times * load_waits;
            self.counters.memory_waits += times * memory_waits;
        }
    }

    /// Says that something has happened on the card that a polling loop may see. The core has been run up to
    /// then.
    pub fn disturbed(&mut self) {
        self.polling.put_off(self.spent());
    }

    #[inline(always)]
    pub(crate) fn register(&self, number: u8) -> u32 {
        self.registers[usize::from(number) % 32]
    }

    /// Address of the instruction that is executed.
    #[inline(always)]
    pub fn pc(&self) -> u32 {
        self.pc
    }

    #[inline(always)]
    pub(crate) fn put(&mut self, number: u8, value: u32) -> Flow {
        if number > PC as u8 {
            self.registers[usize::from(number) % 32] = value;
            return Flow::Next;
        }
        // The first two are constants.
        if number == PC as u8 {
            return self.branch(value);
        }
        Flow::Next
    }

    /// Puts what has been loaded, which is there a cycle late.
    #[inline(always)]
    pub(crate) fn put_late(&mut self, number: u8, value: u32) -> Flow {
        if number == PC as u8 {
            return self.branch_late(value);
        }
        self.loading = LOADS_NONE | 1 << number;
        self.put(number, value)
    }

    /// Goes to `target` after the next instruction.
    #[inline(always)]
    pub(crate) fn branch(&mut self, target: u32) -> Flow {
        if let Some(kind) = self.usage_error(target) {
            return self.fail(kind, None);
        }
        self.after = target;
        Flow::Next
    }

    /// Goes to `target` after the next two.
    #[inline(always)]
    fn branch_late(&mut self, target: u32) -> Flow {
        if let Some(kind) = self.usage_error(target) {
            return self.fail(kind, None);
        }
        self.late = target;
        Flow::Next
    }

    #[inline(always)]
    fn usage_error(&self, target: u32) -> Option<FaultKind> {
        if self.next != self.pc.wrapping_add(4) || self.after != self.next.wrapping_add(4) {
            return Some(FaultKind::Slot);
        }
        (target % 4 != 0).then_some(FaultKind::Fetch)
    }

    #[inline(always)]
    pub(crate) fn guards(&self, addr: u32) -> bool {
        self.config.guard.contains(&addr)
    }

    #[inline(always)]
    pub(crate) fn stored(&mut self, addr: u32) {
        self.code.written(addr);
    }

    /// Records a fault.
    #[cold]
    pub(crate) fn fail(&mut self, kind: FaultKind, addr: Option<u32>) -> Flow {
        self.fault = Some(Fault { at: self.now(), pc: self.pc, kind, addr });
        Flow::Fault
    }

    #[cold]
    pub(crate) fn illegal(&mut self, op: &Op) -> Flow {
        self.fail(FaultKind::Illegal { word: op.imm }, None)
    }

    pub(crate) fn read_outside<B: Board>(
        &mut self,
        board: &mut B,
        addr: u32,
        len: usize,
    ) -> Option<u32> {
        match board.read(self.now(), addr, len) {
            Ok(value) => {
                if !board.is_steady(addr) {
                    self.polling.put_off(self.spent());
                }
                self.look(board, false);
                Some(value)
            }
            Err(error) => {
                self.fail(FaultKind::Bus(error), Some(addr));
                None
            }
        }
    }

    pub(crate) fn write_outside<B: Board>(
        &mut self,
        board: &mut B,
        addr: u32,
        len: usize,
        value: u32,
    ) -> bool {
        self.polling.put_off(self.spent());
        match board.write(self.now(), addr, len, value) {
            Ok(()) => self.look(board, false),
            Err(error) => {
                self.fail(FaultKind::Bus(error), Some(addr));
            }
        }
        self.fault.is_none()
    }

    /// Reports that others have written `len` bytes of memory at `addr`.
    pub fn memory_changed(&mut self, addr: u32, len: usize) {
        self.disturbed();
        self.code.changed(addr, len);
    }

    /// Clock edge at which the next instruction issues at the earliest.
    pub fn now(&self) -> Time {
        self.config.clock.edge(self.cycle)
    }

    /// Clock cycles since time zero.
    pub fn cycle(&self) -> u64 {
        self.cycle
    }

    /// Everything before this cycle has been told, if there is an observer: it may wait for a load that no
    /// instruction has been told of.
    pub fn told_until(&self) -> u64 {
        self.cycle - u64::from(self.waited)
    }

    /// Fault that stopped the core, if any.
    pub fn fault(&self) -> Option<Fault> {
        self.fault
    }

    /// Counters since the last reset.
    pub fn counters(&self) -> Counters {
        self.counters
    }
}
