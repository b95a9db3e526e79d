//! Integer instructions.

use crate::core::Core;
use crate::decode::Op;
use crate::flags::{meet, C, N, V, Z};

/// Operations, as they are encoded; the arithmetic shift has a bit more.
pub(crate) const ADD: u32 = 0;
/// Addition with the carry.
pub(crate) const ADDC: u32 = 1;
pub(crate) const SUB: u32 = 2;
/// Subtraction with the carry: a clear one is a borrow.
pub(crate) const SUBB: u32 = 3;
pub(crate) const AND: u32 = 4;
pub(crate) const OR: u32 = 5;
pub(crate) const XOR: u32 = 6;
/// Logical.
pub(crate) const SHIFT: u32 = 7;
pub(crate) const SHIFT_ARITHMETIC: u32 = 15;

/// A sum with a carry in, and its flags V and C.
#[inline(always)]
fn sum(a: u32, b: u32, carry: u32) -> (u32, u32) {
    let wide = u64::from(a) + u64::from(b) + u64::from(carry);
    let result = wide as u32;
    let overflow = (a ^ result) & (b ^ result);
    (result, ((wide >> 32) as u32 * C) | ((overflow >> 31) * V))
}

/// A shift by a signed amount: to the left, or to the right if it is negative. Defined for -31 to 31;
/// beyond that all bits are shifted out. The carry is the last bit that a shift to the left discards.
#[inline(always)]
fn shifted(a: u32, amount: u32, arithmetic: bool) -> (u32, u32) {
    let amount = amount as i32;
    match amount {
        0 => (a, 0),
        1..=31 => (a << amount, (a >> (32 - amount) & 1) * C),
        32.. => (0, 0),
        _ => {
            let right = amount.unsigned_abs();
            let result = match (arithmetic, right > 31) {
                (true, _) => (a as i32 >> right.min(31)) as u32,
                (false, true) => 0,
                (false, false) => a >> right,
            };
            (result, 0)
        }
    }
}

/// An operation's result, and its flags V and C.
#[inline(always)]
pub(crate) fn operate(operation: u32, a: u32, b: u32, carry: u32) -> (u32, u32) {
    match operation {
        ADD => sum(a, b, 0),
        ADDC => sum(a, b, carry),
        SUB => sum(a, !b, 1),
        SUBB => sum(a, !b, carry),
        AND => (a & b, 0),
        OR => (a | b, 0),
        XOR => (a ^ b, 0),
        SHIFT => shifted(a, b, false),
        _ => shifted(a, b, true),
    }
}

#[inline(always)]
fn result<const OPERATION: u32, const FLAGS: bool>(core: &mut Core, a: u32, b: u32) -> u32 {
    let (value, flags) = operate(OPERATION, a, b, core.flags / C);
    if FLAGS {
        core.flags = flags | (u32::from(value == 0) * Z) | ((value >> 31) * N);
    }
    value
}

#[inline(always)]
pub(crate) fn immediate<const OPERATION: u32, const FLAGS: bool>(core: &mut Core, op: &Op) -> u32 {
    result::<OPERATION, FLAGS>(core, core.register(op.rs1), op.imm)
}

#[inline(always)]
pub(crate) fn registers<const OPERATION: u32, const FLAGS: bool>(core: &mut Core, op: &Op) -> u32 {
    result::<OPERATION, FLAGS>(core, core.register(op.rs1), core.register(op.rs2))
}

#[inline(always)]
pub(crate) fn predicated<const OPERATION: u32, const FLAGS: bool>(
    core: &mut Core,
    op: &Op,
) -> Option<u32> {
    meet(core.flags, op.cond).then(|| registers::<OPERATION, FLAGS>(core, op))
}

#[inline(always)]
pub(crate) fn select(core: &mut Core, op: &Op) -> u32 {
    core.register(if meet(core.flags, op.cond) { op.rs1 } else { op.rs2 })
}

#[inline(always)]
pub(crate) fn set(core: &mut Core, op: &Op) -> u32 {
    meet(core.flags, op.cond).into()
}

#[inline(always)]
pub(crate) fn population(core: &mut Core, op: &Op) -> u32 {
    core.register(op.rs1).count_ones()
}

#[inline(always)]
pub(crate) fn leading_zeros(core: &mut Core, op: &Op) -> u32 {
    core.register(op.rs1).leading_zeros()
}

#[inline(always)]
pub(crate) fn trailing_zeros(core: &mut Core, op: &Op) -> u32 {
    core.register(op.rs1).trailing_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shifts_go_both_ways() {
        assert_eq!(shifted(0x8000_0001, 1, false), (2, C));
        assert_eq!(shifted(0x8000_0001, 0, false), (0x8000_0001, 0));
        assert_eq!(shifted(0x8000_0010, -4_i32 as u32, false), (0x0800_0001, 0));
        assert_eq!(shifted(0x8000_0010, -4_i32 as u32, true), (0xf800_0001, 0));
        assert_eq!(shifted(0x8000_0010, -31_i32 as u32, true), (0xffff_ffff, 0));
        assert_eq!(shifted(0x8000_0010, 32, false), (0, 0));
        assert_eq!(shifted(0x8000_0010, i32::MIN as u32, false), (0, 0));
    }

    #[test]
    fn carries_and_borrows_chain() {
        // 0x1_0000_0000 - 1 in two words.
        let (low, flags) = operate(SUB, 0, 1, 0);
        let (high, _) = operate(SUBB, 1, 0, flags / C);
        assert_eq!((high, low), (0, 0xffff_ffff));
        let (low, flags) = operate(ADD, 0xffff_ffff, 1, 0);
        let (high, _) = operate(ADDC, 0, 0, flags / C);
        assert_eq!((high, low), (1, 0));
        assert_eq!(operate(ADD, 0x7fff_ffff, 1, 0), (0x8000_0000, V));
        assert_eq!(operate(SUB, 0x8000_0000, 1, 0), (0x7fff_ffff, V | C));
    }
}
