//! Semantics of multiplication, division and the 440's 16-bit multiply-accumulate instructions.

use super::integer::to_rt;
use crate::core::{Core, Flow};
use crate::decode::{Op, OE};
use crate::registers::Registers;

/// Low half of RA times high half of RB.
pub(crate) const CROSS: u8 = 0;
/// High halves.
pub(crate) const HIGH: u8 = 1;
/// Low halves.
pub(crate) const LOW: u8 = 2;
/// The product is unsigned.
pub(crate) const UNSIGNED: u8 = 4;
/// The sum saturates.
pub(crate) const SATURATE: u8 = 8;
/// The product is subtracted.
pub(crate) const NEGATE: u8 = 16;

pub(crate) fn low_immediate(r: &mut Registers, op: &Op) {
    r.set(op.rt, r.get(op.ra).wrapping_mul(op.imm));
}
pub(crate) fn low(r: &mut Registers, op: &Op) {
    let wide = i64::from(r.get(op.ra) as i32) * i64::from(r.get(op.rb) as i32);
    if op.flags & OE != 0 {
        r.overflow(i32::try_from(wide).is_err());
    }
    to_rt(r, op, wide as u32);
}
pub(crate) fn high(r: &mut Registers, op: &Op) {
    let wide = i64::from(r.get(op.ra) as i32) * i64::from(r.get(op.rb) as i32);
    to_rt(r, op, (wide >> 32) as u32);
}
pub(crate) fn high_unsigned(r: &mut Registers, op: &Op) {
    let wide = u64::from(r.get(op.ra)) * u64::from(r.get(op.rb));
    to_rt(r, op, (wide >> 32) as u32);
}
/// Divides, signed. If the manual leaves the quotient undefined (by zero, or the least number by -1) it is
/// the dividend.
pub(crate) fn divide(core: &mut Core, op: &Op) -> Flow {
    let r = &mut core.registers;
    let (a, b) = (r.get(op.ra) as i32, r.get(op.rb) as i32);
    quotient(r, op, a.checked_div(b).map(|q| q as u32));
    core.pipeline.divide(core.issue);
    Flow::Next
}
pub(crate) fn divide_unsigned(core: &mut Core, op: &Op) -> Flow {
    let r = &mut core.registers;
    let value = r.get(op.ra).checked_div(r.get(op.rb));
    quotient(r, op, value);
    core.pipeline.divide(core.issue);
    Flow::Next
}
fn quotient(r: &mut Registers, op: &Op, value: Option<u32>) {
    if op.flags & OE != 0 {
        r.overflow(value.is_none());
    }
    to_rt(r, op, value.unwrap_or(r.get(op.ra)));
}

#[inline(always)]
fn product<const FORM: u8>(r: &Registers, op: &Op) -> i64 {
    let (a, b) = (r.get(op.ra), r.get(op.rb));
    let (a, b) = match FORM & 3 {
        CROSS => (a as u16, (b >> 16) as u16),
        HIGH => ((a >> 16) as u16, (b >> 16) as u16),
        _ => (a as u16, b as u16),
    };
    if FORM & UNSIGNED != 0 {
        i64::from(a) * i64::from(b)
    } else {
        i64::from(a as i16) * i64::from(b as i16)
    }
}

pub(crate) fn halves<const FORM: u8>(r: &mut Registers, op: &Op) {
    to_rt(r, op, product::<FORM>(r, op) as u32);
}

/// RT plus or minus the product, wrapped or saturated; overflow if OE.
pub(crate) fn accumulate<const FORM: u8>(r: &mut Registers, op: &Op) {
    let product = product::<FORM>(r, op);
    let product = if FORM & NEGATE != 0 { -product } else { product };
    let (sum, least, most) = if FORM & UNSIGNED != 0 {
        (i64::from(r.get(op.rt)) + product, 0, i64::from(u32::MAX))
    } else {
        (i64::from(r.get(op.rt) as i32) + product, i64::from(i32::MIN), i64::from(i32::MAX))
    };
    if op.flags & OE != 0 {
        r.overflow(sum < least || sum > most);
    }
    let value = if FORM & SATURATE != 0 { sum.clamp(least, most) } else { sum };
    to_rt(r, op, value as u32);
}
