//! Operations of the program.

use super::arguments::int;
use super::collective::{apart, reduction};
use super::Answer;
use crate::constant;
use crate::process::Process;
use crate::reduction::UserOp;

/// `function, commutes, op`. A function for large counts finds a count of 8 bytes where the other
/// finds an `int`: the first four of them.
pub(super) fn create(mpi: &mut Process, args: &[u64]) -> Answer {
    let handle = mpi.ops.add(UserOp { function: args[0], commutes: int(args[1]) != 0 });
    mpi.put_word(args[2], "the operation", handle)
}

pub(super) fn free(mpi: &mut Process, args: &[u64]) -> Answer {
    let handle = mpi.get_word(args[0], "the operation")?;
    mpi.ops.get(handle)?;
    if !mpi.ops.is_user(handle) {
        return mpi.ops.remove(handle);
    }
    mpi.free_when_unused(handle)?;
    mpi.put_word(args[0], "the operation", constant::OP_NULL)
}

pub(super) fn commutative(mpi: &mut Process, args: &[u64]) -> Answer {
    let commutes = mpi.ops.get(args[0])?.commutes();
    mpi.put_int(args[1], "the flag", i32::from(commutes))
}

/// `inbuf, inoutbuf, count, datatype, op`.
pub(super) fn reduce_local(mpi: &mut Process, args: &[u64]) -> Answer {
    let input = mpi.items(args[0], args[2], args[3])?;
    let inout = mpi.items(args[1], args[2], args[3])?;
    apart(&input, &inout)?;
    let reduction = reduction(mpi, &inout, args[3], args[4])?;
    reduction.check()?;
    let bytes = inout.bytes();
    let memory = mpi.local.cpu.memory().clone();
    let (a, b) = (mpi.scratch.take(&memory, bytes), mpi.scratch.take(&memory, bytes));
    let done = mpi
        .gather(&input, a.va)
        .and_then(|()| mpi.gather(&inout, b.va))
        .and_then(|()| mpi.combine(&reduction, a.va, b.va, inout.count))
        .and_then(|()| mpi.scatter(b.va, &inout, bytes));
    mpi.scratch.give(a);
    mpi.scratch.give(b);
    done
}
