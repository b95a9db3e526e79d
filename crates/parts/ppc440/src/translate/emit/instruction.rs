//! Instructions that are no branches.

use super::super::thunk::{gpr, CR, CTR, LR, REGISTERS};
use super::Block;
use crate::decode::{Op, OE, RC};
use crate::instructions::{execute_plain, is_plain, Kind};
use crate::registers::Registers;
use crate::semantics::memory::{INDEXED as X, SIGNED as A, UPDATE as W};
use crate::timing::reg;
use dynasmrt::{dynasm, DynasmApi, DynasmLabelApi};
use std::ptr;

/// Does an instruction that sees registers only.
extern "sysv64" fn plain(registers: &mut Registers, op: &Op) {
    execute_plain(registers, op);
}

impl Block<'_> {
    /// One that is no branch. `None` if blocks do not do it.
    pub(super) fn instruction(&mut self, op: &Op) -> Option<()> {
        let (rt, ra, rb, imm) = (gpr(op.rt), gpr(op.ra), gpr(op.rb), op.imm as i32);
        if op.flags & OE != 0 {
            return self.call(op);
        }
        match op.kind {
            Kind::Addi | Kind::Addis if op.ra == reg::ZERO => {
                emit!(self; mov DWORD [BYTE rbx + rt], imm);
            }
            Kind::Addi | Kind::Addis => {
                emit!(self; mov eax, [BYTE rbx + ra]);
                self.add(imm);
                emit!(self; mov [BYTE rbx + rt], eax);
            }
            Kind::Add => {
                emit!(self; mov eax, [BYTE rbx + ra]; add eax, [BYTE rbx + rb]);
                self.result(rt, op);
            }
            Kind::Subf => {
                emit!(self; mov eax, [BYTE rbx + rb]; sub eax, [BYTE rbx + ra]);
                self.result(rt, op);
            }
            Kind::Neg => {
                emit!(self; mov eax, [BYTE rbx + ra]; neg eax);
                self.result(rt, op);
            }
            Kind::Mullw => {
                emit!(self; mov eax, [BYTE rbx + ra]; imul eax, [BYTE rbx + rb]);
                self.result(rt, op);
            }
            Kind::Ori | Kind::Oris if op.imm == 0 && rt == ra => {}
            Kind::Ori | Kind::Oris => {
                emit!(self; mov eax, [BYTE rbx + rt]; or eax, imm; mov [BYTE rbx + ra], eax);
            }
            Kind::Xori | Kind::Xoris => {
                emit!(self; mov eax, [BYTE rbx + rt]; xor eax, imm; mov [BYTE rbx + ra], eax);
            }
            Kind::Andi | Kind::Andis => {
                emit!(self; mov eax, [BYTE rbx + rt]; and eax, imm; mov [BYTE rbx + ra], eax);
                self.record();
            }
            Kind::Or if rt == rb => {
                emit!(self; mov eax, [BYTE rbx + rt]);
                self.result(ra, op);
            }
            Kind::Or => {
                emit!(self; mov eax, [BYTE rbx + rt]; or eax, [BYTE rbx + rb]);
                self.result(ra, op);
            }
            Kind::And => {
                emit!(self; mov eax, [BYTE rbx + rt]; and eax, [BYTE rbx + rb]);
                self.result(ra, op);
            }
            Kind::Xor => {
                emit!(self; mov eax, [BYTE rbx + rt]; xor eax, [BYTE rbx + rb]);
                self.result(ra, op);
            }
            Kind::Nor => {
                emit!(self; mov eax, [BYTE rbx + rt]; or eax, [BYTE rbx + rb]; not eax);
                self.result(ra, op);
            }
            Kind::Extsb => {
                emit!(self; movsx eax, BYTE [BYTE rbx + rt]);
                self.result(ra, op);
            }
            Kind::Extsh => {
                emit!(self; movsx eax, WORD [BYTE rbx + rt]);
                self.result(ra, op);
            }
            Kind::Rlwinm => {
                emit!(self; mov eax, [BYTE rbx + rt]);
                if op.rb != 0 {
                    emit!(self; rol eax, op.rb as i8);
                }
                if op.imm != u32::MAX {
                    emit!(self; and eax, imm);
                }
                self.result(ra, op);
            }
            Kind::Rlwimi => {
                emit!(self
                    ; mov eax, [BYTE rbx + rt]
                    ; rol eax, op.rb as i8
                    ; and eax, imm
                    ; mov ecx, [BYTE rbx + ra]
                    ; and ecx, !imm
                    ; or eax, ecx);
                self.result(ra, op);
            }
            // With 64 bits the six bits that count are those that the host takes.
            Kind::Slw => {
                emit!(self; mov ecx, [BYTE rbx + rb]; mov eax, [BYTE rbx + rt]; shl rax, cl);
                self.result(ra, op);
            }
            Kind::Srw => {
                emit!(self; mov ecx, [BYTE rbx + rb]; mov eax, [BYTE rbx + rt]; shr rax, cl);
                self.result(ra, op);
            }
            Kind::Cmpi | Kind::Cmpli => {
                match i8::try_from(imm) {
                    // cmp dword [rbx + ra], imm
                    Ok(imm) => emit!(self; .u8 0x83; .u8 0x7b; .i8 ra; .i8 imm),
                    Err(_) => emit!(self; cmp DWORD [BYTE rbx + ra], imm),
                }
                self.compared(op.kind == Kind::Cmpi, op.rt >> 2);
            }
            Kind::Cmp | Kind::Cmpl => {
                emit!(self; mov eax, [BYTE rbx + ra]; cmp eax, [BYTE rbx + rb]);
                self.compared(op.kind == Kind::Cmp, op.rt >> 2);
            }
            Kind::Mfspr if op.imm == 8 => {
                emit!(self; mov eax, [BYTE rbx + LR]; mov [BYTE rbx + rt], eax);
            }
            Kind::Mfspr if op.imm == 9 => {
                emit!(self; mov eax, [BYTE rbx + CTR]; mov [BYTE rbx + rt], eax);
            }
            Kind::Mtspr if op.imm == 8 => {
                emit!(self; mov eax, [BYTE rbx + rt]; mov [BYTE rbx + LR], eax);
            }
            Kind::Mtspr if op.imm == 9 => {
                emit!(self; mov eax, [BYTE rbx + rt]; mov [BYTE rbx + CTR], eax);
            }
            Kind::Lbz => self.load(op, 1, 0),
            Kind::Lbzu => self.load(op, 1, W),
            Kind::Lbzx => self.load(op, 1, X),
            Kind::Lbzux => self.load(op, 1, X | W),
            Kind::Lhz => self.load(op, 2, 0),
            Kind::Lhzu => self.load(op, 2, W),
            Kind::Lhzx => self.load(op, 2, X),
            Kind::Lhzux => self.load(op, 2, X | W),
            Kind::Lha => self.load(op, 2, A),
            Kind::Lhax => self.load(op, 2, A | X),
            Kind::Lwz => self.load(op, 4, 0),
            Kind::Lwzu => self.load(op, 4, W),
            Kind::Lwzx => self.load(op, 4, X),
            Kind::Lwzux => self.load(op, 4, X | W),
            Kind::Stb => self.store(op, 1, 0),
            Kind::Stbu => self.store(op, 1, W),
            Kind::Stbx => self.store(op, 1, X),
            Kind::Stbux => self.store(op, 1, X | W),
            Kind::Sth => self.store(op, 2, 0),
            Kind::Sthu => self.store(op, 2, W),
            Kind::Sthx => self.store(op, 2, X),
            Kind::Sthux => self.store(op, 2, X | W),
            Kind::Stw => self.store(op, 4, 0),
            Kind::Stwu => self.store(op, 4, W),
            Kind::Stwx => self.store(op, 4, X),
            Kind::Stwux => self.store(op, 4, X | W),
            _ => return self.call(op),
        }
        Some(())
    }
    /// Leaves one that sees registers only to its function.
    fn call(&mut self, op: &Op) -> Option<()> {
        if !is_plain(op.kind) {
            return None;
        }
        let function: extern "sysv64" fn(&mut Registers, &Op) = plain;
        emit!(self
            ; lea rdi, [BYTE rbx + REGISTERS]
            ; mov rsi, QWORD ptr::from_ref(op) as i64
            ; mov rax, QWORD function as *const () as i64
            ; call rax);
        Some(())
    }
    /// `eax` into a register, and CR0 in the record form.
    fn result(&mut self, register: i8, op: &Op) {
        emit!(self; mov [BYTE rbx + register], eax);
        if op.flags & RC != 0 {
            self.record();
        }
    }
    /// CR0 from `eax`.
    fn record(&mut self) {
        emit!(self; test eax, eax);
        self.compared(true, 0);
    }
    /// A condition register field from the host's comparison.
    fn compared(&mut self, signed: bool, field: u8) {
        let places = &self.site.places;
        self.call_thunk(if signed { places.signed } else { places.unsigned });
        let field = CR + field as i8;
        emit!(self; mov [BYTE rbx + field], al);
    }
    /// Adds a number to `eax`.
    fn add(&mut self, number: i32) {
        match i8::try_from(number) {
            Ok(0) => {}
            Ok(number) => emit!(self; add eax, BYTE number),
            Err(_) => emit!(self; add eax, number),
        }
    }
    /// The address into `eax`.
    fn address(&mut self, op: &Op, form: u8) {
        let (ra, rb, imm) = (gpr(op.ra), gpr(op.rb), op.imm as i32);
        emit!(self; mov eax, [BYTE rbx + ra]);
        if form & X != 0 {
            emit!(self; add eax, [BYTE rbx + rb]);
        } else {
            self.add(imm);
        }
    }
    fn load(&mut self, op: &Op, len: u8, form: u8) {
        let slow = self.access(op);
        self.address(op, form);
        let loads = self.site.places.loads;
        self.call_thunk(match (len, form & A != 0) {
            (1, _) => loads[0],
            (2, false) => loads[1],
            (2, true) => loads[3],
            _ => loads[2],
        });
        emit!(self; jnz =>slow);
        if form & W != 0 {
            emit!(self; mov [BYTE rbx + gpr(op.ra)], eax);
        }
        emit!(self; mov [BYTE rbx + gpr(op.rt)], ecx);
    }
    fn store(&mut self, op: &Op, len: u8, form: u8) {
        let slow = self.access(op);
        self.address(op, form);
        emit!(self; mov ecx, [BYTE rbx + gpr(op.rt)]);
        self.call_thunk(self.site.places.stores[len.ilog2() as usize]);
        emit!(self; jnz =>slow);
        if form & W != 0 {
            emit!(self; mov [BYTE rbx + gpr(op.ra)], eax);
        }
    }
}
