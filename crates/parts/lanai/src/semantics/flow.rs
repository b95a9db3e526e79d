//! Branches, and what does nothing.

use crate::core::{Core, Flow};
use crate::decode::Op;
use crate::fault::FaultKind;
use crate::flags::meet;

#[inline(always)]
pub(crate) fn nothing(_: &mut Core, _: &Op) -> Flow {
    Flow::Next
}

#[inline(always)]
pub(crate) fn branch(core: &mut Core, op: &Op) -> Flow {
    core.branch(op.imm)
}

#[inline(always)]
pub(crate) fn branch_if(core: &mut Core, op: &Op) -> Flow {
    if meet(core.flags, op.cond) {
        core.branch(op.imm)
    } else {
        Flow::Next
    }
}

/// Relative to its own address: assumed. LLVM calls it so, and encodes `r0` as its base; clang does not
/// emit it.
#[inline(always)]
pub(crate) fn branch_relative(core: &mut Core, op: &Op) -> Flow {
    if meet(core.flags, op.cond) {
        core.branch(core.pc().wrapping_add(op.imm))
    } else {
        Flow::Next
    }
}

#[cold]
pub(crate) fn punt(core: &mut Core, _: &Op) -> Flow {
    core.fail(FaultKind::Punt, None)
}
