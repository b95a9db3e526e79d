//! Debugger's interface to a core: a call before each instruction that says what the instruction is about
//! to do, and memory as the core sees it. Nothing here has an effect except the functions that change
//! memory.
//!
//! The debugger is a [`Probe`] with [`Probe::STEPS`]. It is asked after interrupts have been taken, before
//! the instruction is executed; it is asked again if the instruction has to wait for the bus. If it halts
//! the core, [`Core::run_observed`] returns [`Stop::Halted`](crate::Stop), and the next call goes on as if
//! nothing had happened.

use super::probe::Probe;
use crate::code::Text;
use crate::core::Core;
use crate::decode::Op;
use crate::instructions::Kind;
use crate::registers::{MSR_DS, MSR_IS};
use crate::semantics::flow::traps;
use crate::storage::arrays::LINE;
use crate::storage::coherence::lines;
use crate::storage::tlb::{page, Real};

/// The instruction that the core is about to execute.
pub struct Upcoming<'a> {
    core: &'a Core,
    /// `None` if it cannot be fetched.
    op: Option<&'a Op>,
}

/// An access to data, in effective addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataAccess {
    /// Its first byte.
    pub addr: u32,
    /// Bytes; at least one.
    pub len: u32,
    /// A store, or `dcbz`.
    pub write: bool,
}

/// Reason why an instruction will not do what it was written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The 440 has no such instruction.
    Illegal,
    /// Its operand, or the instruction itself, lies where nothing is mapped, or where it may not go.
    Unmapped,
    /// It traps.
    Trap,
}

impl Upcoming<'_> {
    /// Its address.
    pub fn pc(&self) -> u32 {
        self.core.registers.pc
    }
    /// Another number than before once the last instruction has completed or ended with an exception.
    pub fn progress(&self) -> u64 {
        self.core.progress()
    }
    /// The data that it loads or stores.
    pub fn data(&self) -> Option<DataAccess> {
        let op = self.op?;
        let (write, len) = access(self.core, op)?;
        let base = self.core.registers.get(op.ra);
        let offset = match op.kind {
            Kind::Lswi | Kind::Stswi => 0,
            kind if is_indexed(kind) => self.core.registers.get(op.rb),
            _ => op.imm,
        };
        let addr = base.wrapping_add(offset);
        let addr = if op.kind == Kind::Dcbz { addr & !(LINE as u32 - 1) } else { addr };
        (len > 0).then_some(DataAccess { addr, len, write })
    }
    /// Reason why the instruction will fail, as far as that can be found without the bus.
    pub fn trouble(&self) -> Option<Trouble> {
        let Some(op) = self.op else { return Some(Trouble::Unmapped) };
        match op.kind {
            Kind::Illegal => return Some(Trouble::Illegal),
            Kind::Tw | Kind::Twi => {
                let registers = &self.core.registers;
                let b = if op.kind == Kind::Tw { registers.get(op.rb) } else { op.imm };
                return traps(op.rt, registers.get(op.ra), b).then_some(Trouble::Trap);
            }
            _ => {}
        }
        let DataAccess { addr, len, write } = self.data()?;
        let need = if write { page::WRITE } else { page::READ };
        let ends = [addr, addr.wrapping_add(len - 1)];
        let allowed = ends.into_iter().all(|end| self.core.allows(end, need));
        (!allowed).then_some(Trouble::Unmapped)
    }
}

/// Kind and size of an instruction's access: (true if it stores, bytes loaded or stored); `None` if it does
/// neither.
fn access(core: &Core, op: &Op) -> Option<(bool, u32)> {
    use Kind::*;
    let multiple = 4 * (32 - u32::from(op.rt));
    let counted = u32::from(core.registers.count);
    Some(match op.kind {
        Lbz | Lbzu | Lbzx | Lbzux => (false, 1),
        Lhz | Lhzu | Lhzx | Lhzux | Lha | Lhau | Lhax | Lhaux | Lhbrx => (false, 2),
        Lwz | Lwzu | Lwzx | Lwzux | Lwbrx | Lwarx => (false, 4),
        Lmw => (false, multiple),
        Lswi => (false, op.imm),
        Lswx => (false, counted),
        Stb | Stbu | Stbx | Stbux => (true, 1),
        Sth | Sthu | Sthx | Sthux | Sthbrx => (true, 2),
        Stw | Stwu | Stwx | Stwux | Stwbrx => (true, 4),
        Stwcx => (true, if core.registers.reserved { 4 } else { 0 }),
        Stmw => (true, multiple),
        Stswi => (true, op.imm),
        Stswx => (true, counted),
        Dcbz => (true, LINE as u32),
        _ => return None,
    })
}

/// The address is the sum of two registers.
fn is_indexed(kind: Kind) -> bool {
    use Kind::*;
    let loads = matches!(
        kind,
        Lbzx | Lbzux | Lhzx | Lhzux | Lhax | Lhaux | Lhbrx | Lwzx | Lwzux | Lwbrx | Lwarx | Lswx
    );
    let stores = matches!(
        kind,
        Stbx | Stbux | Sthx | Sthux | Sthbrx | Stwx | Stwux | Stwbrx | Stwcx | Stswx | Dcbz
    );
    loads || stores
}

/// Location of a byte that a debugger names by its effective address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Located {
    /// Its real address.
    pub real: u64,
    /// Bytes from there on that are translated alike.
    pub len: usize,
    /// The data cache may hold it.
    pub cacheable: bool,
    /// It may be an instruction.
    pub executable: bool,
}

/// The smallest page.
const PAGE: u32 = 1 << 10;

impl Core {
    /// Instructions completed and exceptions taken.
    pub fn progress(&self) -> u64 {
        self.counters.instructions + self.counters.exceptions
    }

    /// Asks a debugger before the next instruction is fetched, if that cannot be.
    pub(crate) fn halts_before_fetch<P: Probe>(&self, text: &Text, probe: &mut P) -> bool {
        if self.fetched(text).is_some() {
            return false;
        }
        let pc = self.registers.pc;
        let real = self.located(pc, self.registers.msr & MSR_IS != 0);
        let fetched = real.is_some_and(|real| real.flags & page::EXECUTE != 0);
        !fetched && probe.halts(&Upcoming { core: self, op: None })
    }

    /// Asks a debugger before the next instruction.
    pub(crate) fn halts<P: Probe>(&self, op: &Op, probe: &mut P) -> bool {
        probe.halts(&Upcoming { core: self, op: Some(op) })
    }

    fn located(&self, addr: u32, space: bool) -> Option<Real> {
        self.tlb.translate(addr, space, self.special.pid as u8, self.user())
    }

    fn allows(&self, addr: u32, need: u8) -> bool {
        // Most are in the map.
        let mapped = self.tlb.mapped(addr).is_some_and(|mapped| mapped.flags() & need != 0);
        let real = || self.located(addr, self.data_space());
        mapped || real().is_some_and(|real| real.flags & need != 0)
    }

    /// Location of the byte at effective address `addr`: in the address space of data, else in that of
    /// instructions, else in the other one. Permissions are ignored. As long as the TLB is empty, effective
    /// addresses are taken as real ones. `None` if nothing is mapped there.
    pub fn locate(&self, addr: u32) -> Option<Located> {
        let len = (PAGE - addr % PAGE) as usize;
        let msr = self.registers.msr;
        let spaces = [msr & MSR_DS != 0, msr & MSR_IS != 0, msr & MSR_DS == 0];
        match spaces.into_iter().find_map(|space| self.located(addr, space)) {
            Some(real) => Some(Located {
                real: real.addr,
                len,
                cacheable: real.flags & page::INHIBITED == 0,
                executable: real.flags & page::EXECUTE != 0,
            }),
            None if self.tlb.is_empty() => {
                Some(Located { real: addr.into(), len, cacheable: false, executable: true })
            }
            None => None,
        }
    }

    /// Turns the contents of memory into what the core sees: with what the data cache holds of it, and
    /// the store that is still on its way. `bytes` lie on one page.
    pub fn overlay(&self, at: Located, bytes: &mut [u8]) {
        if at.cacheable {
            for (line, first, len, before) in lines(at.real, bytes.len()) {
                if let Some(index) = self.dcache.position(line) {
                    let cached = &self.dcache.line(index)[first..first + len];
                    bytes[before..before + len].copy_from_slice(cached);
                }
            }
        }
        self.unit.gather.overlay(at.real, bytes);
    }

    /// Writes to what the core holds of memory: memory itself is the caller's.
    pub fn store_held(&mut self, at: Located, bytes: &[u8]) {
        if at.cacheable {
            for (line, first, len, before) in lines(at.real, bytes.len()) {
                if let Some(index) = self.dcache.position(line) {
                    let cached = &mut self.dcache.line_mut(index)[first..first + len];
                    cached.copy_from_slice(&bytes[before..before + len]);
                    self.dcache.freshen(index, first, len);
                }
            }
        }
        self.unit.gather.replace(at.real, bytes);
        if at.executable {
            self.icache.invalidate_all();
        }
    }
}
