//! Loads and stores.

use super::integer::operate;
use crate::board::Board;
use crate::core::{Core, Flow};
use crate::decode::Op;
use crate::fault::FaultKind;
use crate::flags::C;

/// Sizes in bytes.
pub(crate) const BYTE: usize = 1;
pub(crate) const HALF: usize = 2;
pub(crate) const WORD: usize = 4;

/// Loads `rd` from `addr`, and then moves `rs1` to `moved`; both are written after all is read.
#[inline(always)]
fn load<B: Board, const LEN: usize, const SIGNED: bool>(
    core: &mut Core,
    board: &mut B,
    op: &Op,
    addr: u32,
    moved: Option<u32>,
) -> Flow {
    if addr as usize % LEN != 0 {
        return core.fail(FaultKind::Misaligned { len: LEN, store: false }, Some(addr));
    }
    let value = match board.sram().get(addr as usize..).and_then(|rest| rest.get(..LEN)) {
        Some(bytes) => bytes.iter().fold(0, |value, byte| value << 8 | u32::from(*byte)),
        None => match core.read_outside(board, addr, LEN) {
            Some(value) => value,
            None => return Flow::Fault,
        },
    };
    let unused = 32 - 8 * LEN as u32;
    let value = if SIGNED { ((value << unused) as i32 >> unused) as u32 } else { value };
    if let Some(moved) = moved
        && let Flow::Fault = core.put(op.rs1, moved)
    {
        return Flow::Fault;
    }
    core.put_late(op.rd, value)
}

#[inline(always)]
fn store<B: Board, const LEN: usize>(
    core: &mut Core,
    board: &mut B,
    op: &Op,
    addr: u32,
    moved: Option<u32>,
) -> Flow {
    if addr as usize % LEN != 0 {
        return core.fail(FaultKind::Misaligned { len: LEN, store: true }, Some(addr));
    }
    let value = core.register(op.rd);
    if core.polling.records {
        core.polling.note(board.sram(), addr);
    }
    match board.sram().get_mut(addr as usize..).and_then(|rest| rest.get_mut(..LEN)) {
        Some(place) => {
            if core.guards(addr) {
                return core.fail(FaultKind::Guard, Some(addr));
            }
            place.copy_from_slice(&value.to_be_bytes()[4 - LEN..]);
            core.stored(addr);
        }
        None => {
            if !core.write_outside(board, addr, LEN, value) {
                return Flow::Fault;
            }
        }
    }
    match moved {
        Some(moved) => core.put(op.rs1, moved),
        None => Flow::Next,
    }
}

/// Address of an access that moves `rs1` by the immediate, before or after, and where `rs1` moves to.
#[inline(always)]
fn moving(core: &Core, op: &Op) -> (u32, u32) {
    let before = core.register(op.rs1);
    let after = before.wrapping_add(op.imm);
    (if op.cond != 0 { after } else { before }, after)
}

/// Address of an access at an operation on two registers, and where `rs1` moves to, if it does.
#[inline(always)]
fn indexed(core: &Core, op: &Op) -> (u32, Option<u32>) {
    let before = core.register(op.rs1);
    let carry = core.flags / C;
    let after = operate(op.alu.into(), before, core.register(op.rs2), carry).0;
    (if op.imm & 2 != 0 { after } else { before }, (op.imm & 1 != 0).then_some(after))
}

#[inline(always)]
pub(crate) fn load_at<const LEN: usize, const SIGNED: bool>(
    core: &mut Core,
    board: &mut impl Board,
    op: &Op,
) -> Flow {
    let addr = core.register(op.rs1).wrapping_add(op.imm);
    load::<_, LEN, SIGNED>(core, board, op, addr, None)
}

#[inline(always)]
pub(crate) fn load_moving<const LEN: usize, const SIGNED: bool>(
    core: &mut Core,
    board: &mut impl Board,
    op: &Op,
) -> Flow {
    let (addr, moved) = moving(core, op);
    load::<_, LEN, SIGNED>(core, board, op, addr, Some(moved))
}

/// A shift as the operation has the size that is encoded, as clang means it (the description of the format
/// has words only).
#[inline(always)]
pub(crate) fn load_indexed<const LEN: usize, const SIGNED: bool>(
    core: &mut Core,
    board: &mut impl Board,
    op: &Op,
) -> Flow {
    let (addr, moved) = indexed(core, op);
    load::<_, LEN, SIGNED>(core, board, op, addr, moved)
}

#[inline(always)]
pub(crate) fn load_absolute(core: &mut Core, board: &mut impl Board, op: &Op) -> Flow {
    load::<_, WORD, false>(core, board, op, op.imm, None)
}

#[inline(always)]
pub(crate) fn literal(core: &mut Core, _: &mut impl Board, op: &Op) -> Flow {
    core.put_late(op.rd, op.imm)
}

#[inline(always)]
pub(crate) fn store_at<const LEN: usize>(core: &mut Core, board: &mut impl Board, op: &Op) -> Flow {
    let addr = core.register(op.rs1).wrapping_add(op.imm);
    store::<_, LEN>(core, board, op, addr, None)
}

#[inline(always)]
pub(crate) fn store_moving<const LEN: usize>(
    core: &mut Core,
    board: &mut impl Board,
    op: &Op,
) -> Flow {
    let (addr, moved) = moving(core, op);
    store::<_, LEN>(core, board, op, addr, Some(moved))
}

#[inline(always)]
pub(crate) fn store_indexed<const LEN: usize>(
    core: &mut Core,
    board: &mut impl Board,
    op: &Op,
) -> Flow {
    let (addr, moved) = indexed(core, op);
    store::<_, LEN>(core, board, op, addr, moved)
}

#[inline(always)]
pub(crate) fn store_absolute(core: &mut Core, board: &mut impl Board, op: &Op) -> Flow {
    store::<_, WORD>(core, board, op, op.imm, None)
}
