//! Reductions to one rank.

use super::{Accumulator, Algorithm, Reduce};
use crate::comm::CommId;
use crate::constant;
use crate::error::{Error, Result};
use crate::items::Items;
use crate::op::Op;
use crate::process::Process;

pub(super) static ALGORITHMS: [Algorithm<Reduce>; 2] = [
    Algorithm {
        name: "binomial",
        doc: "up a binomial tree to the root; ceil(log2 n) rounds",
        run: binomial,
    },
    Algorithm { name: "linear", doc: "each rank in turn to the root", run: linear },
];

fn binomial(process: &mut Process, acc: &Accumulator, root: u32, comm: CommId) -> Result<()> {
    let (rank, size) = (process.comm(comm)?.rank, process.comm(comm)?.size());
    let relative = (rank + size - root) % size;
    let absolute = |relative: u32| (relative + root) % size;
    let mut bit = 1;
    while bit < size {
        if relative & bit != 0 {
            return process.tell(comm, absolute(relative - bit), (acc.va, acc.bytes));
        }
        if relative + bit < size {
            process.hear(comm, absolute(relative + bit), (acc.received, acc.bytes))?;
            process.combine(acc)?;
        }
        bit *= 2;
    }
    Ok(())
}

fn linear(process: &mut Process, acc: &Accumulator, root: u32, comm: CommId) -> Result<()> {
    let (rank, size) = (process.comm(comm)?.rank, process.comm(comm)?.size());
    if rank != root {
        return process.tell(comm, root, (acc.va, acc.bytes));
    }
    for from in (0..size).filter(|&from| from != root) {
        process.hear(comm, from, (acc.received, acc.bytes))?;
        process.combine(acc)?;
    }
    Ok(())
}

impl Process {
    /// Accumulator = received op accumulator.
    pub(crate) fn combine(&mut self, acc: &Accumulator) -> Result<()> {
        let mut bounce = std::mem::take(&mut self.bounce);
        bounce.resize(2 * acc.bytes as usize, 0);
        let (input, inout) = bounce.split_at_mut(acc.bytes as usize);
        let read = self.read(acc.received, input).and_then(|()| self.read(acc.va, inout));
        let combined = read.and_then(|()| {
            acc.op.apply(acc.basic, input, inout);
            self.write(acc.va, inout)
        });
        self.bounce = bounce;
        self.charge(self.params.reduce_element * acc.elements);
        combined
    }

    /// Runs a reduction over `send`, whose result goes to `recv` (None: this rank gets no result).
    pub(crate) fn accumulate(
        &mut self,
        send: &Items,
        recv: Option<&Items>,
        op: Op,
        run: impl FnOnce(&mut Process, &Accumulator) -> Result<()>,
    ) -> Result<()> {
        let basic = legal(op, send)?;
        let bytes = send.bytes();
        if bytes == 0 {
            return Ok(());
        }
        self.check_items(send)?;
        recv.map_or(Ok(()), |items| self.check_items(items))?;
        // Where the result is wanted in one run of bytes, it is accumulated in place.
        let in_place = recv.filter(|items| items.is_contiguous());
        let own = self.scratch.take(self.cpu.memory(), bytes);
        let received = self.scratch.take(self.cpu.memory(), bytes);
        let va = in_place.map_or(own.va, |items| items.va);
        let elements = send.count * send.datatype.elements;
        let acc = Accumulator { va, bytes, received: received.va, op, basic, elements };
        let begun = if va == send.va { Ok(()) } else { self.gather(send, va) };
        let mut result = begun.and_then(|()| run(self, &acc));
        if let (Ok(()), Some(items), None) = (&result, recv, in_place) {
            result = self.scatter(own.va, &items.datatype, items.va, items.count, bytes);
        }
        self.scratch.give(own);
        self.scratch.give(received);
        result
    }

    /// Reduces `send` of all ranks into `recv` of rank `root`.
    pub(crate) fn reduce_items(
        &mut self,
        send: &Items,
        recv: Option<&Items>,
        op: Op,
        root: u32,
        comm: CommId,
    ) -> Result<()> {
        let run = self.params.algorithms.reduce.run;
        self.accumulate(send, recv, op, |process, acc| run(process, acc, root, comm))
    }
}

/// What the operation works on; an error if it is not defined on the items.
fn legal(op: Op, items: &Items) -> Result<crate::datatype::Basic> {
    let datatype = &items.datatype;
    let basic = datatype.basic.filter(|&basic| datatype.predefined && op.is_legal(basic));
    basic.ok_or_else(|| {
        let text = format!("{} is not defined on {}", op.name(), datatype.name);
        Error::new(constant::ERR_OP, text)
    })
}
