//! Operations of the program.

use super::collective::{apart, reduction};
use super::handler::Answer;
use crate::constant;
use crate::process::Process;
use crate::reduction::{Operands, UserOp};
use abi::mpi::args;

/// A function for large counts finds a count of 8 bytes where the other finds an `int`: the first
/// four of them.
pub(super) fn create(mpi: &mut Process, args: &args::OpCreate) -> Answer {
    let handle =
        mpi.objects.ops.add(UserOp { function: args.user_fn, commutes: args.commute != 0 });
    mpi.put_word(args.op, "the operation", handle)
}

pub(super) fn free(mpi: &mut Process, args: &args::OpFree) -> Answer {
    let handle = mpi.get_word(args.op, "the operation")?;
    mpi.objects.ops.get(handle)?;
    if !mpi.objects.ops.is_user(handle) {
        return mpi.objects.ops.remove(handle);
    }
    mpi.objects.free_when_unused(&mut mpi.p2p, handle)?;
    mpi.put_word(args.op, "the operation", constant::OP_NULL)
}

pub(super) fn commutative(mpi: &mut Process, args: &args::OpCommutative) -> Answer {
    let commutes = mpi.objects.ops.get(args.op)?.commutes();
    mpi.put_int(args.commute, "the flag", i32::from(commutes))
}

pub(super) fn reduce_local(mpi: &mut Process, args: &args::ReduceLocal) -> Answer {
    let input = mpi.items(args.inbuf, args.count, args.datatype)?;
    let inout = mpi.items(args.inoutbuf, args.count, args.datatype)?;
    apart(&input, &inout)?;
    let reduction = reduction(mpi, &inout, args.datatype, args.op)?;
    reduction.check()?;
    let bytes = inout.bytes();
    let local = &mut mpi.p2p.local;
    let (a, b) = (local.take_buffer(bytes), local.take_buffer(bytes));
    let operands = Operands { input: a.va, inout: b.va };
    let done = input
        .gather(local, a.va)
        .and_then(|()| inout.gather(local, b.va))
        .and_then(|()| mpi.combine(reduction, operands, inout.count))
        .and_then(|()| inout.scatter(&mut mpi.p2p.local, b.va, bytes));
    mpi.p2p.local.give_buffer(a);
    mpi.p2p.local.give_buffer(b);
    done
}
