//! Translator from the instructions of the 440 to those of the host: one block, from an address on, where
//! the stream of issue is in a known state.
//!
//! Registers of the host in a block:
//!
//! | register | holds |
//! |---|---|
//! | `rbx` | the core, at an offset from which most is near |
//! | `r12` | slots from the block's first cycle to the core's limit |
//! | `r13`, `r14` | instructions and branches done since blocks were entered |
//! | `rbp` | the branch history |
//! | `[rsp]` | what accesses need (`access::Visit`) |
//!
//! All others are free within an instruction. Each instruction is done in whole, or not at all: it may be
//! left to the interpreter (an exit [`Then::Interpret`], or [`Then::Access`]) before anything of it has been
//! done.
//!
//! Each block is executed once a message or so. What takes long then is to fetch its code: it is made to be
//! short rather than fast, and what many instructions do is done by routines beside the thunk.

use super::access::{self, After};
use super::thunk::{Places, BTAC, CR, CTR, LR, MIDDLE, PC};
use super::Numbers;
use crate::code::{Line, Text};
use crate::core::blocks::{Address, View};
use crate::decode::{Op, GUESS, LK};
use crate::instructions::Kind;
use crate::semantics::flow;
use crate::timing::pipeline_state::PipelineState;
use crate::timing::Pipeline;
use dynasmrt::x64::X64Relocation;
use dynasmrt::{dynasm, DynamicLabel, DynasmApi, DynasmLabelApi, VecAssembler};
use std::mem::offset_of;
use std::ptr;

/// Exit from a block.
pub(super) struct Exit {
    /// The next instruction; `None` if the core knows.
    pub pc: Option<u32>,
    /// Cycles since the block began, or since what `r12` tells.
    pub cycles: u32,
    /// Pipeline state at the exit.
    pub pipeline_state: PipelineState,
    /// Instructions done since the block began that have not been counted.
    pub instructions: u32,
    pub then: Then,
    /// The block that goes on there, once it is known, unless `pc` is not.
    pub code: *const u8,
}

/// Continuation after a block.
pub(super) enum Then {
    /// The next instruction is not done by blocks, or not as things are now.
    Interpret,
    /// The same for a load or store: which, in which cycle it issues, and what came after it before.
    Access { op: *const Op, issues: u32, first: After, others: Vec<After> },
    /// Something may be up; if not, another block. The distance of the jump to it is there, if it
    /// can be linked and is not.
    Next(Option<*const u8>),
}

/// Location of a block, and addresses that it calls.
pub(super) struct Site<'a> {
    pub at: *const u8,
    pub thunk: *const u8,
    pub places: Places,
    /// Table in which returns look up blocks.
    pub quick: *const super::Quick,
    pub exits: &'a mut Vec<Exit>,
    pub numbers: &'a mut Numbers,
}

/// Most instructions of a block.
const MOST: u64 = 64;
/// The cycle in which a block begins, while it is made: late enough for all that was before.
const BASE: u64 = 1 << 32;

/// A branch at `pc` went as the static prediction says, or not. True if it was predicted.
extern "sysv64" fn learn(core: Address, pc: u32, agrees: bool) -> bool {
    // SAFETY: the core waits for the answer in its block.
    unsafe { core.view() }.learn(pc, agrees)
}

macro_rules! emit {
    ($block:ident $($code:tt)*) => { dynasm!($block.asm ; .arch x64 $($code)*) };
}

mod instruction;

/// A block that is being made.
struct Block<'a> {
    asm: VecAssembler<X64Relocation>,
    core: &'a View<'a>,
    site: Site<'a>,
    /// State of the stream of issue when execution is here.
    pipeline: Pipeline,
    pc: u32,
    /// Instructions done so far.
    done: u64,
    /// The last cycle that was compared with the limit.
    compared: u64,
    /// Exits whose code is still to be written.
    pending: Vec<(DynamicLabel, usize)>,
    /// Branches for which the predictor is asked.
    unsure: Vec<Unsure>,
    /// Exits that can be linked, each with the offset of its jump's distance.
    jumps: Vec<(usize, usize)>,
}

/// A branch with a condition that went, or did not, and may not have been predicted.
struct Unsure {
    op: Op,
    taken: bool,
    cycle: u64,
    sure: DynamicLabel,
    unsure: DynamicLabel,
}

/// Makes the block from `pc` on. `None` if its first instruction is none that blocks do.
pub(super) fn translate(
    core: &View<'_>,
    text: &Text,
    pc: u32,
    pipeline_state: PipelineState,
    site: Site<'_>,
) -> Option<Vec<u8>> {
    let mut pipeline = core.empty_pipeline();
    pipeline.assume(BASE, pipeline_state);
    let asm = VecAssembler::new(site.at as usize);
    let (pending, unsure, jumps) = (Vec::new(), Vec::new(), Vec::new());
    let (done, compared) = (0, 0);
    let mut block = Block { asm, core, site, pipeline, pc, done, compared, pending, unsure, jumps };
    let line = text.line(pc >> 5)?;
    block.lines(text, line);
    (block.done > 0).then(|| block.finish())
}

impl Block<'_> {
    /// Instructions, line after line, up to a branch or one that blocks do not do.
    fn lines<'t>(&mut self, text: &'t Text, mut line: &'t Line) {
        loop {
            for op in line.rest(self.pc) {
                if !self.step(op) {
                    return;
                }
            }
            let Some(next) = text.line(self.pc >> 5).filter(|_| self.done < MOST) else {
                return self.to(self.pc, true);
            };
            let exit = self.exit(Then::Next(None));
            self.enter_line(self.pc, exit);
            line = next;
        }
    }
    /// One instruction. False if the block ends with it, or before it.
    fn step(&mut self, op: &Op) -> bool {
        let issued = self.pipeline.place(op, self.pipeline.next());
        let mut after = self.pipeline.clone();
        after.issue(op, issued);
        let tells = after.pipeline_state().is_some();
        if tells && self.branches(op) {
            self.pipeline = after;
            self.done += 1;
            self.branch(op, issued.cycle());
            return false;
        }
        if tells && matches!(op.kind, Kind::Mbar | Kind::Msync) {
            let access = self.access(op);
            emit!(self; jmp =>access);
            self.done += 1;
            return false;
        }
        if !tells || self.instruction(op).is_none() {
            if self.done > 0 {
                let slow = self.exit(Then::Interpret);
                emit!(self; jmp =>slow);
            }
            return false;
        }
        self.pipeline = after;
        self.done += 1;
        self.pc = self.pc.wrapping_add(4);
        if self.cycles() > self.compared {
            self.compared = self.cycles();
            let exit = self.exit(Then::Next(None));
            match i8::try_from(self.slots()) {
                // cmp r12, slots
                Ok(slots) => emit!(self; .u8 0x49; .u8 0x83; .u8 0xfc; .i8 slots),
                Err(_) => emit!(self; cmp r12, self.slots()),
            }
            emit!(self; jbe =>exit);
        }
        true
    }
    /// Cycles since the block began.
    fn cycles(&self) -> u64 {
        self.pipeline.cycle() - BASE
    }
    fn slots(&self) -> i32 {
        i32::try_from(self.cycles() << 3).expect("a piece is short")
    }
    /// An exit before a load or store.
    fn access(&mut self, op: &Op) -> DynamicLabel {
        let issues = self.pipeline.place(op, self.pipeline.next()).cycle() - BASE;
        let issues = issues as u32;
        self.exit(Then::Access { op, issues, first: After::NONE, others: Vec::new() })
    }
    /// An exit after what has been done so far.
    fn exit(&mut self, then: Then) -> DynamicLabel {
        let exit = Exit {
            pc: Some(self.pc),
            cycles: self.cycles() as u32,
            pipeline_state: self.pipeline_state(),
            instructions: self.done as u32,
            then,
            code: ptr::null(),
        };
        self.leave_by(exit).0
    }
    fn leave_by(&mut self, exit: Exit) -> (DynamicLabel, usize) {
        let label = self.asm.new_dynamic_label();
        self.pending.push((label, self.site.exits.len()));
        self.site.exits.push(exit);
        (label, self.site.exits.len() - 1)
    }
    fn pipeline_state(&mut self) -> PipelineState {
        self.pipeline.pipeline_state().expect("what a piece does is soon ready")
    }
    /// Another line begins at `pc`, unless an observer needs to know of it.
    fn enter_line(&mut self, pc: u32, exit: DynamicLabel) {
        emit!(self; mov eax, pc as i32);
        self.call_thunk(self.site.places.line);
        emit!(self; jnz =>exit);
    }
    /// Counts what was done, and takes its time.
    fn settle(&mut self, branches: bool, exit: DynamicLabel) {
        emit!(self; add r13, BYTE self.done as i8);
        if branches {
            emit!(self; inc r14);
        }
        match i8::try_from(self.slots()) {
            Ok(0) => {}
            Ok(slots) => emit!(self; sub r12, BYTE slots),
            Err(_) => emit!(self; sub r12, self.slots()),
        }
        if self.cycles() > self.compared {
            emit!(self; jbe =>exit);
        }
    }
    /// Goes on at `target`, in another block.
    fn to(&mut self, target: u32, falls: bool) {
        let (pc, pipeline_state) = (Some(target), self.pipeline_state());
        let (cycles, instructions, then) = (0, 0, Then::Next(None));
        let exit = Exit { pc, cycles, pipeline_state, instructions, then, code: ptr::null() };
        let (label, exit) = self.leave_by(exit);
        self.settle(!falls, label);
        if falls || (target ^ self.pc) & !31 != 0 {
            self.enter_line(target, label);
        }
        emit!(self; jmp =>label);
        self.jumps.push((exit, self.asm.offset().0 - 4));
    }
    /// Goes on where `eax` says.
    fn go_to_register(&mut self) {
        let pipeline_state = self.pipeline_state();
        let number = self.site.numbers.of(pipeline_state);
        let (cycles, instructions, then) = (0, 0, Then::Next(None));
        let exit = Exit { pc: None, cycles, pipeline_state, instructions, then, code: ptr::null() };
        let (exit, _) = self.leave_by(exit);
        emit!(self; mov [BYTE rbx + PC], eax);
        self.settle(true, exit);
        self.call_thunk(self.site.places.line);
        emit!(self
            ; jnz =>exit
            ; mov rcx, QWORD (u64::from(number) << 32) as i64
            ; or rcx, rax
            ; mov edx, eax
            ; shr edx, 2
            ; xor edx, super::Quick::mix(number) as i32
            ; and edx, super::QUICK as i32 - 1
            ; shl edx, 4
            ; mov rsi, QWORD self.site.quick as i64
            ; cmp [rsi + rdx + offset_of!(super::Quick, key) as i32], rcx
            ; jne =>exit
            ; jmp QWORD [rsi + rdx + offset_of!(super::Quick, code) as i32]);
    }
    /// A jump to, or a call of, a part of the thunk.
    fn beside(&mut self, operation: u8, place: usize) {
        let end = self.site.at as isize + self.asm.offset().0 as isize + 5;
        let target = self.site.thunk as isize + place as isize;
        emit!(self; .u8 operation; .i32 (target - end) as i32);
    }
    fn call_thunk(&mut self, place: usize) {
        self.beside(0xe8, place);
    }
    /// Writes the exits, and where they are linked.
    fn finish(mut self) -> Vec<u8> {
        for (label, exit) in std::mem::take(&mut self.pending) {
            emit!(self; =>label);
            if let Then::Access { op, .. } = self.site.exits[exit].then {
                // SAFETY: it lies in the text, of which this block is made.
                let number = access::number(unsafe { &*op }.kind);
                emit!(self
                    ; mov rdi, [rsp]
                    ; mov esi, exit as i32
                    ; mov rdx, r12
                    ; mov rax, [rdi]
                    ; call QWORD [rax + 8 * number as i32]
                    ; mov r12, rdx
                    ; jmp rax);
                continue;
            }
            emit!(self; mov eax, exit as i32);
            self.beside(0xe9, self.site.places.leave);
        }
        for &(exit, place) in &self.jumps {
            let jump = self.site.at.wrapping_add(place);
            self.site.exits[exit].then = Then::Next(Some(jump));
        }
        self.asm.finalize().expect("every label has its place")
    }

    /// True for a branch that blocks do: none that counts.
    fn branches(&self, op: &Op) -> bool {
        let counts = op.rt & 4 == 0;
        match op.kind {
            Kind::B => true,
            Kind::Bc | Kind::Bclr | Kind::Bcctr => !counts,
            _ => false,
        }
    }
    /// A branch that issues in `cycle`.
    fn branch(&mut self, op: &Op, cycle: u64) {
        let predictor = self.core.predictor();
        let (taken, btac, register) = (predictor.taken, predictor.taken_btac, predictor.register());
        let to_register = matches!(op.kind, Kind::Bclr | Kind::Bcctr);
        let always = op.kind == Kind::B || op.rt & 20 == 20;
        let before = self.pipeline.clone();
        if !always {
            let goes = self.asm.new_dynamic_label();
            let (field, bit) = (CR + (op.rb >> 4) as i8, (op.rb & 15) as i8);
            emit!(self; test BYTE [BYTE rbx + field], bit);
            if op.rt & 8 != 0 {
                emit!(self; jnz =>goes);
            } else {
                emit!(self; jz =>goes);
            }
            self.predict(op, false, cycle);
            self.link(op);
            self.pipeline.stall(cycle);
            self.to(self.pc.wrapping_add(4), false);
            emit!(self; =>goes);
            self.pipeline = before.clone();
            self.predict(op, true, cycle);
        }
        match (always, to_register) {
            (true, false) => {
                let target = flow::target(self.pc, op);
                let miss = self.asm.new_dynamic_label();
                let slot = BTAC + 4 * ((self.pc >> 2 & predictor.btac_mask) as i32 & 15);
                emit!(self; cmp DWORD [rbx + slot], self.pc as i32; jne =>miss);
                self.link(op);
                self.pipeline.stall(cycle + btac);
                self.to(target, false);
                self.pipeline = before.clone();
                emit!(self; =>miss; mov DWORD [rbx + slot], self.pc as i32);
                self.link(op);
                self.pipeline.stall(cycle + taken);
                self.to(target, false);
            }
            (false, false) => {
                self.link(op);
                self.pipeline.stall(cycle + taken);
                self.to(flow::target(self.pc, op), false);
            }
            (_, true) => {
                self.target(op);
                self.link(op);
                self.pipeline.stall(cycle + register);
                self.go_to_register();
            }
        }
        for branch in std::mem::take(&mut self.unsure) {
            self.ask(branch, &before);
        }
    }
    fn link(&mut self, op: &Op) {
        if op.flags & LK != 0 {
            emit!(self; mov DWORD [BYTE rbx + LR], self.pc.wrapping_add(4) as i32);
        }
    }
    /// The branch with a condition goes, or not; it issued in `cycle`. One that is predicted, and whose
    /// prediction learns nothing from it, goes on here; for others the predictor is asked, which may send
    /// them on as mispredicted.
    fn predict(&mut self, op: &Op, taken: bool, cycle: u64) {
        let (byte, shift) = self.core.predictor().index(self.pc);
        let guess = op.flags & GUESS != 0;
        let wanted = if taken == guess { 3 << shift } else { 0 };
        let (sure, unsure) = (self.asm.new_dynamic_label(), self.asm.new_dynamic_label());
        emit!(self
            ; mov al, [rbp + byte as i32]
            ; and al, 3_u8.wrapping_shl(shift) as i8
            ; cmp al, wanted as i8
            ; jne =>unsure
            ; =>sure);
        self.unsure.push(Unsure { op: *op, taken, cycle, sure, unsure });
    }
    /// Asks the predictor.
    fn ask(&mut self, branch: Unsure, before: &Pipeline) {
        let Unsure { op, taken, cycle, sure, unsure } = branch;
        let function: extern "sysv64" fn(Address, u32, bool) -> bool = learn;
        let agrees = taken == (op.flags & GUESS != 0);
        emit!(self
            ; =>unsure
            ; lea rdi, [rbx - MIDDLE as i32]
            ; mov esi, self.pc as i32
            ; mov edx, i32::from(agrees)
            ; mov rax, QWORD function as *const () as i64
            ; call rax
            ; test al, al
            ; jnz =>sure);
        self.pipeline = before.clone();
        self.pipeline.stall(cycle + self.core.predictor().mispredict);
        match (taken, op.kind) {
            (false, _) => {
                self.link(&op);
                self.to(self.pc.wrapping_add(4), false);
            }
            (true, Kind::Bc) => {
                self.link(&op);
                self.to(flow::target(self.pc, &op), false);
            }
            (true, _) => {
                self.target(&op);
                self.link(&op);
                self.go_to_register();
            }
        }
    }
    /// Loads the target of a branch to a register into `eax`.
    fn target(&mut self, op: &Op) {
        let source = if op.kind == Kind::Bclr { LR } else { CTR };
        emit!(self; mov eax, [BYTE rbx + source]; and eax, BYTE -4);
    }
}
