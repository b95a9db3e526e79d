//! Loads, stores and barriers that blocks do not do themselves, because they are slow. A block calls the
//! instruction's own function and goes on in the block that follows it, mostly the one that followed it
//! before.

use super::emit::{Exit, Then};
use super::{Ran, Start, Translator};
use crate::code::Text;
use crate::core::blocks::{Address, Issue, Latency, View};
use crate::core::Flow;
use crate::decode::Op;
use crate::instructions::Kind;
use crate::semantics::caches::storage_synchronise;
use crate::semantics::memory::{load_around, store_around, INDEXED as X, SIGNED as A, UPDATE as W};
use crate::timing::pipeline_state::PipelineState;
use bus::Bus;
use std::any::Any;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr;

/// Outcome of an access.
#[derive(Clone, Copy)]
pub(super) struct After {
    took: Latency,
    /// Pipeline state after it, and the block that goes on from there.
    pipeline_state: PipelineState,
    code: *const u8,
}

impl After {
    pub const NONE: After =
        After { took: Latency::NEVER, pipeline_state: PipelineState::NONE, code: ptr::null() };
    /// Number of outcomes remembered of an access, beside the first.
    const MOST: usize = 7;
}

/// Context that blocks need for their accesses.
#[repr(C)]
pub(super) struct Visit<'a, B> {
    pub table: &'static [Function; COUNT],
    pub core: Address,
    pub bus: &'a mut B,
    pub own: &'a mut Translator,
    pub text: &'a Text,
    /// Outcome of the blocks, if an access ended them.
    pub ran: Option<Ran>,
    /// Panic raised in an access: it cannot unwind through blocks.
    pub panic: Option<Box<dyn Any + Send>>,
}

/// Address at which to go on, and slots from there to the limit.
#[repr(C)]
pub(super) struct GoOn {
    code: *const u8,
    slots: u64,
}

/// Does the access in front of which there is an exit, so many slots before the limit.
pub(super) type Function = extern "sysv64" fn(visit: *mut (), exit: u64, slots: u64) -> GoOn;

macro_rules! accesses {
    ($($kind:ident $function:expr;)*) => {
        const KINDS: &[Kind] = &[$(Kind::$kind,)*];
        /// Number of instructions.
        pub(super) const COUNT: usize = KINDS.len();

        impl<B: Bus> Visit<'_, B> {
            /// The function of each.
            pub const TABLE: &'static [Function; COUNT] = &[$({
                extern "sysv64" fn function<B: Bus>(visit: *mut (), exit: u64, slots: u64) -> GoOn {
                    // SAFETY: blocks are entered with such a visit, which nobody else uses meanwhile.
                    let visit = unsafe { &mut *visit.cast::<Visit<'_, B>>() };
                    visit.access(exit as usize, slots, |core, bus, op, at| core.execute(bus, op, at, $function))
                }
                function::<B>
            },)*];
        }
    };
}

accesses! {
    Lbz   load_around::<B, 1, 0>;
    Lbzu  load_around::<B, 1, W>;
    Lbzx  load_around::<B, 1, X>;
    Lbzux load_around::<B, 1, { X | W }>;
    Lhz   load_around::<B, 2, 0>;
    Lhzu  load_around::<B, 2, W>;
    Lhzx  load_around::<B, 2, X>;
    Lhzux load_around::<B, 2, { X | W }>;
    Lha   load_around::<B, 2, A>;
    Lhax  load_around::<B, 2, { A | X }>;
    Lwz   load_around::<B, 4, 0>;
    Lwzu  load_around::<B, 4, W>;
    Lwzx  load_around::<B, 4, X>;
    Lwzux load_around::<B, 4, { X | W }>;
    Stb   store_around::<B, 1, 0>;
    Stbu  store_around::<B, 1, W>;
    Stbx  store_around::<B, 1, X>;
    Stbux store_around::<B, 1, { X | W }>;
    Sth   store_around::<B, 2, 0>;
    Sthu  store_around::<B, 2, W>;
    Sthx  store_around::<B, 2, X>;
    Sthux store_around::<B, 2, { X | W }>;
    Stw   store_around::<B, 4, 0>;
    Stwu  store_around::<B, 4, W>;
    Stwx  store_around::<B, 4, X>;
    Stwux store_around::<B, 4, { X | W }>;
    Mbar  storage_synchronise;
    Msync storage_synchronise;
}

/// Index of the function that executes such an instruction.
pub(super) fn number(kind: Kind) -> usize {
    KINDS.iter().position(|of| *of == kind).expect("a load, a store or a barrier")
}

impl<B: Bus> Visit<'_, B> {
    #[inline(always)]
    fn access(
        &mut self,
        exit: usize,
        slots: u64,
        execute: impl FnOnce(&mut View<'_>, &mut B, &Op, Issue) -> Flow,
    ) -> GoOn {
        let done = catch_unwind(AssertUnwindSafe(|| self.carry_out(exit, slots, execute)));
        done.unwrap_or_else(|panic| {
            self.panic = Some(panic);
            self.end(Ran::Cold)
        })
    }
    #[inline(always)]
    fn carry_out(
        &mut self,
        number: usize,
        slots: u64,
        execute: impl FnOnce(&mut View<'_>, &mut B, &Op, Issue) -> Flow,
    ) -> GoOn {
        // SAFETY: the core is this call's: it does not run on in its block.
        let mut core = unsafe { self.core.view() };
        let exit = &self.own.exits[number];
        let Then::Access { op, issues, first, .. } = &exit.then else {
            unreachable!("an access has an exit of its own")
        };
        let base = core.cycle_before_limit(slots);
        // SAFETY: it lies in the text, which the translator holds.
        let op = unsafe { &**op };
        let issue = base + u64::from(*issues);
        let pc = exit.pc.unwrap_or_default();
        let at = Issue { pc, cycle: issue, instructions: exit.instructions };
        let flow = execute(&mut core, self.bus, op, at);
        if flow != Flow::Next && flow != Flow::Late {
            core.assume(base + u64::from(exit.cycles), exit.pipeline_state);
            return self.end(Ran::With(op, flow));
        }
        let took = core.complete(flow);
        let cycle = issue + took.next;
        let next = if first.took == took && core.is_filled(cycle) {
            *first
        } else {
            match after(&mut core, self.own, number, op, took, base) {
                Some(next) => next,
                None => return self.end(Ran::Enough),
            }
        };
        if core.is_up(cycle, next.pipeline_state, self.text) {
            core.assume(cycle, next.pipeline_state);
            return self.end(Ran::Enough);
        }
        GoOn { code: next.code, slots: core.slots_from(cycle) }
    }
    /// The blocks end here.
    fn end(&mut self, ran: Ran) -> GoOn {
        self.ran = Some(ran);
        GoOn { code: self.own.left, slots: 0 }
    }
}

/// Pipeline state after an access, and the block that goes on from there; `None` if there is none, and then
/// the pipeline itself is in that state.
#[inline(never)]
fn after(
    core: &mut View<'_>,
    own: &mut Translator,
    exit: usize,
    op: &Op,
    took: Latency,
    base: u64,
) -> Option<After> {
    let filled = core.is_filled(core.issue() + took.next);
    let Exit { then, cycles, pipeline_state, .. } = &own.exits[exit];
    if let Then::Access { others, .. } = then
        && let Some(after) = others.iter().find(|after| filled && after.took == took)
    {
        return Some(*after);
    }
    let pipeline_state =
        core.assume_access(base + u64::from(*cycles), *pipeline_state, op, took)?;
    if !filled {
        return None;
    }
    let Start::Block(code) = own.start(core, core.pc(), pipeline_state) else {
        return None;
    };
    let next = After { took, pipeline_state, code };
    if let Some(Exit { then: Then::Access { first, others, .. }, .. }) = own.exits.get_mut(exit) {
        if first.code.is_null() {
            *first = next;
        } else if others.len() < After::MOST {
            others.push(next);
        }
    }
    core.forget_pipeline();
    Some(next)
}
