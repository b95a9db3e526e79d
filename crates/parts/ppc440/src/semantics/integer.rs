//! Semantics of integer arithmetic, logic, shifts and compares.

use crate::decode::{Op, OE, RC};
use crate::registers::Registers;

/// Result into RT; CR0 in the record form.
#[inline(always)]
pub(crate) fn to_rt(r: &mut Registers, op: &Op, value: u32) {
    r.set(op.rt, value);
    if op.flags & RC != 0 {
        r.record(value);
    }
}

/// Result into RA; CR0 in the record form.
#[inline(always)]
fn to_ra(r: &mut Registers, op: &Op, value: u32) {
    r.set(op.ra, value);
    if op.flags & RC != 0 {
        r.record(value);
    }
}

/// `a + b + carry` into RT, the carry out if `carrying`, and overflow if OE. Subtraction adds the
/// complement.
#[inline(always)]
fn sum(r: &mut Registers, op: &Op, a: u32, b: u32, carry: bool, carrying: bool) {
    let wide = u64::from(a) + u64::from(b) + u64::from(carry);
    let value = wide as u32;
    if carrying {
        r.ca = wide >> 32 != 0;
    }
    if op.flags & OE != 0 {
        r.overflow((a ^ value) & (b ^ value) & 0x8000_0000 != 0);
    }
    to_rt(r, op, value);
}

pub(crate) fn add_immediate(r: &mut Registers, op: &Op) {
    r.set(op.rt, r.get(op.ra).wrapping_add(op.imm));
}
pub(crate) fn add_carrying_immediate(r: &mut Registers, op: &Op) {
    sum(r, op, r.get(op.ra), op.imm, false, true);
}
pub(crate) fn add_carrying_immediate_record(r: &mut Registers, op: &Op) {
    sum(r, &Op { flags: RC, ..*op }, r.get(op.ra), op.imm, false, true);
}
pub(crate) fn subtract_from_immediate(r: &mut Registers, op: &Op) {
    sum(r, op, !r.get(op.ra), op.imm, true, true);
}
pub(crate) fn add(r: &mut Registers, op: &Op) {
    sum(r, op, r.get(op.ra), r.get(op.rb), false, false);
}
pub(crate) fn add_carrying(r: &mut Registers, op: &Op) {
    sum(r, op, r.get(op.ra), r.get(op.rb), false, true);
}
pub(crate) fn add_extended(r: &mut Registers, op: &Op) {
    sum(r, op, r.get(op.ra), r.get(op.rb), r.ca, true);
}
pub(crate) fn add_minus_one(r: &mut Registers, op: &Op) {
    sum(r, op, r.get(op.ra), u32::MAX, r.ca, true);
}
pub(crate) fn add_zero(r: &mut Registers, op: &Op) {
    sum(r, op, r.get(op.ra), 0, r.ca, true);
}
pub(crate) fn subtract_from(r: &mut Registers, op: &Op) {
    sum(r, op, !r.get(op.ra), r.get(op.rb), true, false);
}
pub(crate) fn subtract_from_carrying(r: &mut Registers, op: &Op) {
    sum(r, op, !r.get(op.ra), r.get(op.rb), true, true);
}
pub(crate) fn subtract_from_extended(r: &mut Registers, op: &Op) {
    sum(r, op, !r.get(op.ra), r.get(op.rb), r.ca, true);
}
pub(crate) fn subtract_from_minus_one(r: &mut Registers, op: &Op) {
    sum(r, op, !r.get(op.ra), u32::MAX, r.ca, true);
}
pub(crate) fn subtract_from_zero(r: &mut Registers, op: &Op) {
    sum(r, op, !r.get(op.ra), 0, r.ca, true);
}
pub(crate) fn negate(r: &mut Registers, op: &Op) {
    sum(r, op, !r.get(op.ra), 0, true, false);
}

pub(crate) fn compare_immediate(r: &mut Registers, op: &Op) {
    let field = r.compare((r.get(op.ra) as i32).cmp(&(op.imm as i32)));
    r.cr[usize::from(op.rt >> 2) & 7] = field;
}
pub(crate) fn compare_logical_immediate(r: &mut Registers, op: &Op) {
    let field = r.compare(r.get(op.ra).cmp(&op.imm));
    r.cr[usize::from(op.rt >> 2) & 7] = field;
}
pub(crate) fn compare(r: &mut Registers, op: &Op) {
    let field = r.compare((r.get(op.ra) as i32).cmp(&(r.get(op.rb) as i32)));
    r.cr[usize::from(op.rt >> 2) & 7] = field;
}
pub(crate) fn compare_logical(r: &mut Registers, op: &Op) {
    let field = r.compare(r.get(op.ra).cmp(&r.get(op.rb)));
    r.cr[usize::from(op.rt >> 2) & 7] = field;
}

pub(crate) fn and_immediate_record(r: &mut Registers, op: &Op) {
    let value = r.get(op.rt) & op.imm;
    r.set(op.ra, value);
    r.record(value);
}
pub(crate) fn or_immediate(r: &mut Registers, op: &Op) {
    r.set(op.ra, r.get(op.rt) | op.imm);
}
pub(crate) fn xor_immediate(r: &mut Registers, op: &Op) {
    r.set(op.ra, r.get(op.rt) ^ op.imm);
}
pub(crate) fn and(r: &mut Registers, op: &Op) {
    to_ra(r, op, r.get(op.rt) & r.get(op.rb));
}
pub(crate) fn and_complement(r: &mut Registers, op: &Op) {
    to_ra(r, op, r.get(op.rt) & !r.get(op.rb));
}
pub(crate) fn nand(r: &mut Registers, op: &Op) {
    to_ra(r, op, !(r.get(op.rt) & r.get(op.rb)));
}
pub(crate) fn nor(r: &mut Registers, op: &Op) {
    to_ra(r, op, !(r.get(op.rt) | r.get(op.rb)));
}
pub(crate) fn or(r: &mut Registers, op: &Op) {
    to_ra(r, op, r.get(op.rt) | r.get(op.rb));
}
pub(crate) fn or_complement(r: &mut Registers, op: &Op) {
    to_ra(r, op, r.get(op.rt) | !r.get(op.rb));
}
pub(crate) fn xor(r: &mut Registers, op: &Op) {
    to_ra(r, op, r.get(op.rt) ^ r.get(op.rb));
}
pub(crate) fn equivalent(r: &mut Registers, op: &Op) {
    to_ra(r, op, !(r.get(op.rt) ^ r.get(op.rb)));
}
pub(crate) fn extend_byte(r: &mut Registers, op: &Op) {
    to_ra(r, op, r.get(op.rt) as i8 as u32);
}
pub(crate) fn extend_half(r: &mut Registers, op: &Op) {
    to_ra(r, op, r.get(op.rt) as i16 as u32);
}
pub(crate) fn count_leading_zeros(r: &mut Registers, op: &Op) {
    to_ra(r, op, r.get(op.rt).leading_zeros());
}
pub(crate) fn select(r: &mut Registers, op: &Op) {
    let chosen = if r.cr_bit(op.imm as u8) { op.ra } else { op.rb };
    r.set(op.rt, r.get(chosen));
}

/// dlmzb: number (1 to 8) of the leftmost zero byte of RS and RB, 8 if there is none; XER's byte
/// count gets the same number, CR0 says in which word it was found.
pub(crate) fn leftmost_zero_byte(r: &mut Registers, op: &Op) {
    let bytes = u64::from(r.get(op.rt)) << 32 | u64::from(r.get(op.rb));
    let found = bytes.to_be_bytes().iter().position(|&byte| byte == 0);
    let number = found.map_or(8, |index| index as u8 + 1);
    r.set(op.ra, number.into());
    r.count = number;
    if op.flags & RC != 0 {
        let place = match found {
            Some(0..=3) => 4,
            Some(_) => 8,
            None => 2,
        };
        r.cr[0] = place | u8::from(r.so);
    }
}

pub(crate) fn rotate_insert(r: &mut Registers, op: &Op) {
    let rotated = r.get(op.rt).rotate_left(op.rb.into());
    to_ra(r, op, rotated & op.imm | r.get(op.ra) & !op.imm);
}
pub(crate) fn rotate(r: &mut Registers, op: &Op) {
    to_ra(r, op, r.get(op.rt).rotate_left(op.rb.into()) & op.imm);
}
pub(crate) fn rotate_register(r: &mut Registers, op: &Op) {
    to_ra(r, op, r.get(op.rt).rotate_left(r.get(op.rb) & 31) & op.imm);
}
/// Six bits of RB count: shifts by 32 and more give 0.
pub(crate) fn shift_left(r: &mut Registers, op: &Op) {
    to_ra(r, op, r.get(op.rt).checked_shl(r.get(op.rb) & 63).unwrap_or(0));
}
pub(crate) fn shift_right(r: &mut Registers, op: &Op) {
    to_ra(r, op, r.get(op.rt).checked_shr(r.get(op.rb) & 63).unwrap_or(0));
}
pub(crate) fn shift_algebraic(r: &mut Registers, op: &Op) {
    algebraic(r, op, r.get(op.rb) & 63);
}
pub(crate) fn shift_algebraic_immediate(r: &mut Registers, op: &Op) {
    algebraic(r, op, op.rb.into());
}
/// CA says whether ones were shifted out of a negative number.
fn algebraic(r: &mut Registers, op: &Op, by: u32) {
    let wide = i64::from(r.get(op.rt) as i32);
    let lost = wide & !(-1_i64 << by);
    r.ca = wide < 0 && lost & 0xffff_ffff != 0;
    to_ra(r, op, (wide >> by) as u32);
}
