//! Semantics of system instructions: special registers, MSR, translation, synchronisation.

use crate::core::{Core, Flow};
use crate::decode::{Op, RC};
use crate::fault::FaultKind;
use crate::registers::{EQ, MSR_EE};
use crate::special::{spr, MMUCR_STS};
use crate::storage::tlb::TlbEntry;

/// dcba, tlbsync.
pub(crate) fn nothing(_core: &mut Core, _op: &Op) -> Flow {
    Flow::Next
}

pub(crate) fn instruction_synchronise(core: &mut Core, _op: &Op) -> Flow {
    core.registers.pc = core.registers.pc.wrapping_add(4);
    core.tlb.synchronise();
    Flow::Synchronise
}

/// Registers whose number has this bit are the supervisor's.
const PRIVILEGED: u32 = 0x10;

pub(crate) fn from_special(core: &mut Core, op: &Op) -> Flow {
    if op.imm == spr::LR {
        core.registers.set(op.rt, core.registers.lr);
        return Flow::Next;
    }
    if op.imm & PRIVILEGED != 0
        && let Err(flow) = core.privileged()
    {
        return flow;
    }
    if op.imm == spr::TSR || op.imm == spr::DEC {
        core.special.update_timers(core.issue);
    }
    match core.read_special(op.imm, core.issue) {
        Some(value) => {
            core.registers.set(op.rt, value);
            Flow::Next
        }
        None => core.no_special(op.imm),
    }
}

pub(crate) fn to_special(core: &mut Core, op: &Op) -> Flow {
    match op.imm {
        spr::LR => core.registers.lr = core.registers.get(op.rt),
        spr::CTR => core.registers.ctr = core.registers.get(op.rt),
        _ => return to_other_special(core, op),
    }
    Flow::Next
}

fn to_other_special(core: &mut Core, op: &Op) -> Flow {
    if op.imm & PRIVILEGED != 0
        && let Err(flow) = core.privileged()
    {
        return flow;
    }
    let value = core.registers.get(op.rt);
    match core.write_special(op.imm, value, core.issue) {
        Some(()) => Flow::Refetch,
        None => core.no_special(op.imm),
    }
}

pub(crate) fn from_msr(core: &mut Core, op: &Op) -> Flow {
    core.registers.set(op.rt, core.registers.msr);
    Flow::Next
}

pub(crate) fn to_msr(core: &mut Core, op: &Op) -> Flow {
    core.set_msr_now(core.registers.get(op.rt));
    Flow::Refetch
}

pub(crate) fn write_enable(core: &mut Core, op: &Op) -> Flow {
    enable(core, core.registers.get(op.rt) & MSR_EE)
}

pub(crate) fn write_enable_immediate(core: &mut Core, op: &Op) -> Flow {
    enable(core, op.imm)
}

fn enable(core: &mut Core, bit: u32) -> Flow {
    core.set_msr_now(core.registers.msr & !MSR_EE | bit);
    Flow::Next
}

/// There is no device on the DCR bus.
pub(crate) fn device_control(core: &mut Core, op: &Op) -> Flow {
    core.stop(FaultKind::Dcr { number: op.imm }, None)
}

pub(crate) fn tlb_read(core: &mut Core, op: &Op) -> Flow {
    let entry = core.tlb.entry(core.registers.get(op.ra) as usize);
    if op.imm == 0 {
        core.special.mmucr = core.special.mmucr & !0xff | u32::from(entry.tid);
    }
    // WS above 2 is an invalid form with an undefined result.
    let word = entry.words.get(op.imm as usize).copied().unwrap_or(0);
    core.registers.set(op.rt, word);
    Flow::Next
}

pub(crate) fn tlb_write(core: &mut Core, op: &Op) -> Flow {
    let index = core.registers.get(op.ra) as usize;
    let mut entry: TlbEntry = core.tlb.entry(index);
    if op.imm == 0 {
        entry.tid = core.special.mmucr as u8;
    }
    if let Some(word) = entry.words.get_mut(op.imm as usize) {
        *word = core.registers.get(op.rt);
    }
    core.tlb.set_entry(index, entry);
    Flow::Refetch
}

pub(crate) fn tlb_search(core: &mut Core, op: &Op) -> Flow {
    let effective = core.registers.get(op.ra).wrapping_add(core.registers.get(op.rb));
    let mmucr = core.special.mmucr;
    let found = core.tlb.search(effective, mmucr & MMUCR_STS != 0, mmucr as u8);
    if let Some(index) = found {
        core.registers.set(op.rt, index as u32);
    }
    if op.flags & RC != 0 {
        let bit = if found.is_some() { EQ } else { 0 };
        core.registers.cr[0] = bit | u8::from(core.registers.so);
    }
    Flow::Next
}
