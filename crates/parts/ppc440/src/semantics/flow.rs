//! Semantics of branches, traps, returns from interrupts and the condition register.

use crate::core::{Core, Flow};
use crate::decode::{Op, AA, GUESS, LK};
use crate::exception::Exception;
use crate::instructions::Kind;
use crate::registers::Registers;

#[inline(always)]
pub(crate) fn branch(core: &mut Core, op: &Op) -> Flow {
    let pc = core.registers.pc;
    let cycles = core.predictor.target(pc);
    go(core, op, target(pc, op), cycles)
}

/// Target of a taken branch at `pc` (not of a branch to a register).
#[inline(always)]
pub(crate) fn target(pc: u32, op: &Op) -> u32 {
    if op.flags & AA != 0 {
        op.imm
    } else {
        pc.wrapping_add(op.imm)
    }
}

/// Properties of a branch for the predictor: (it has a condition, its target is looked up in the BTAC).
pub(crate) fn prediction(op: &Op) -> (bool, bool) {
    match op.kind {
        Kind::B => (false, true),
        Kind::Bc if always(op) => (false, true),
        Kind::Bc => (true, counts_only(op)),
        _ => (!always(op), false),
    }
}

/// Does what a branch does to the registers, and says where control goes on.
pub(crate) fn follow(r: &mut Registers, op: &Op) -> u32 {
    let next = r.pc.wrapping_add(4);
    let target = match op.kind {
        Kind::Bclr => r.lr & !3,
        Kind::Bcctr => r.ctr & !3,
        _ => target(r.pc, op),
    };
    let taken = op.kind == Kind::B || holds(r, op);
    if op.flags & LK != 0 {
        r.lr = next;
    }
    if taken {
        target
    } else {
        next
    }
}

/// Tests BO and BI, counting CTR down if BO says so.
#[inline(always)]
fn holds(r: &mut Registers, op: &Op) -> bool {
    let bo = op.rt;
    let counted = if bo & 4 == 0 {
        r.ctr = r.ctr.wrapping_sub(1);
        (r.ctr != 0) != (bo & 2 != 0)
    } else {
        true
    };
    counted && (bo & 16 != 0 || r.selected(op.rb) == (bo & 8 != 0))
}

/// A branch with a condition is taken whatever the registers hold.
fn always(op: &Op) -> bool {
    op.rt & 20 == 20
}

/// A branch depends on CTR alone (bdnz, bdz).
fn counts_only(op: &Op) -> bool {
    op.rt & 4 == 0 && op.rt & 16 != 0
}

#[inline(always)]
pub(crate) fn branch_if(core: &mut Core, op: &Op) -> Flow {
    let pc = core.registers.pc;
    let taken = holds(&mut core.registers, op);
    if always(op) {
        let cycles = core.predictor.target(pc);
        return go(core, op, target(pc, op), cycles);
    }
    let guess = op.flags & GUESS != 0;
    let (right, cycles) = core.predictor.conditional(pc, guess, taken, counts_only(op));
    decided(core, op, taken.then(|| target(pc, op)), right, cycles)
}

pub(crate) fn branch_link(core: &mut Core, op: &Op) -> Flow {
    let target = core.registers.lr & !3;
    to_register(core, op, target)
}

pub(crate) fn branch_count(core: &mut Core, op: &Op) -> Flow {
    // bcctr that counts is an invalid form; it branches to the value before.
    let target = core.registers.ctr & !3;
    to_register(core, op, target)
}

#[inline(always)]
fn to_register(core: &mut Core, op: &Op, target: u32) -> Flow {
    let taken = holds(&mut core.registers, op);
    if always(op) {
        let cycles = core.predictor.register();
        return go(core, op, target, cycles);
    }
    let guess = op.flags & GUESS != 0;
    let (right, cycles) = core.predictor.conditional(core.registers.pc, guess, taken, false);
    decided(core, op, taken.then_some(target), right, cycles)
}

#[inline(always)]
fn decided(core: &mut Core, op: &Op, target: Option<u32>, right: bool, cycles: u64) -> Flow {
    if !right {
        core.counters.mispredicts += 1;
    }
    if let Some(target) = target {
        return go(core, op, target, cycles);
    }
    if op.flags & LK != 0 {
        core.registers.lr = core.registers.pc.wrapping_add(4);
    }
    core.counters.branches += 1;
    core.next = core.registers.pc.wrapping_add(4);
    core.bubble = cycles;
    Flow::Branch
}

#[inline(always)]
fn go(core: &mut Core, op: &Op, target: u32, cycles: u64) -> Flow {
    if op.flags & LK != 0 {
        core.registers.lr = core.registers.pc.wrapping_add(4);
    }
    core.counters.branches += 1;
    core.next = target;
    core.bubble = cycles;
    Flow::Branch
}

pub(crate) fn system_call(core: &mut Core, _op: &Op) -> Flow {
    core.raise(Exception::SystemCall)
}

/// True if a trap instruction with this TO traps.
pub(crate) fn traps(to: u8, a: u32, b: u32) -> bool {
    let (sa, sb) = (a as i32, b as i32);
    to & 16 != 0 && sa < sb
        || to & 8 != 0 && sa > sb
        || to & 4 != 0 && a == b
        || to & 2 != 0 && a < b
        || to & 1 != 0 && a > b
}

fn trap_if(core: &mut Core, to: u8, a: u32, b: u32) -> Flow {
    if traps(to, a, b) {
        core.raise(Exception::Trap)
    } else {
        Flow::Next
    }
}

pub(crate) fn trap_immediate(core: &mut Core, op: &Op) -> Flow {
    trap_if(core, op.rt, core.registers.get(op.ra), op.imm)
}

pub(crate) fn trap(core: &mut Core, op: &Op) -> Flow {
    trap_if(core, op.rt, core.registers.get(op.ra), core.registers.get(op.rb))
}

pub(crate) fn return_normal(core: &mut Core, _op: &Op) -> Flow {
    core.resume(core.special.srr0, core.special.srr1)
}

pub(crate) fn return_critical(core: &mut Core, _op: &Op) -> Flow {
    core.resume(core.special.csrr0, core.special.csrr1)
}

pub(crate) fn return_check(core: &mut Core, _op: &Op) -> Flow {
    core.resume(core.special.mcsrr0, core.special.mcsrr1)
}

/// `TABLE` holds the result for BA = BB = 1 in bit 3, BA = 1 in bit 2, BB = 1 in bit 1, neither in
/// bit 0.
pub(crate) fn cr<const TABLE: u8>(r: &mut Registers, op: &Op) {
    // For the table above: and = 1000, andc (BA and not BB) = 0100, orc = 1101.
    let index = u8::from(r.cr_bit(op.ra)) << 1 | u8::from(r.cr_bit(op.rb));
    r.set_cr_bit(op.rt, TABLE >> index & 1 != 0);
}

pub(crate) fn cr_move(r: &mut Registers, op: &Op) {
    r.cr[usize::from(op.rt >> 2) & 7] = r.cr[usize::from(op.ra >> 2) & 7];
}

pub(crate) fn cr_from_xer(r: &mut Registers, op: &Op) {
    r.cr[usize::from(op.rt >> 2) & 7] = (r.xer() >> 28) as u8;
    r.so = false;
    r.ov = false;
    r.ca = false;
}

pub(crate) fn from_cr(r: &mut Registers, op: &Op) {
    r.set(op.rt, r.cr());
}

pub(crate) fn to_cr(r: &mut Registers, op: &Op) {
    r.set_cr(r.get(op.rt), op.imm as u8);
}
