//! Reductions to all ranks.

use super::algorithm::{Algorithm, Allreduce};
use super::plan::Plan;
use super::reduce;
use super::schedule::Accumulator;
use super::schedule::OnNicOperation;
use crate::datatype::items::Items;
use crate::error::Result;
use crate::reduction::Reduction;
use std::rc::Rc;

pub(super) static ALGORITHMS: [Algorithm<Allreduce>; 4] = [
    Algorithm {
        name: "recursive_doubling",
        doc: "pairs at distance 1, 2, 4 ... exchange; ranks beyond a power of two hand over first",
        run: recursive_doubling,
    },
    Algorithm { name: "reduce_bcast", doc: "a reduce to rank 0, then a bcast", run: reduce_bcast },
    Algorithm {
        name: "ring",
        doc: "each rank reduces its share of the items around a ring, then shares go round; \
              recursive_doubling for operations that do not commute",
        run: ring,
    },
    Algorithm {
        name: "nic",
        doc: "recursive_doubling by the network interfaces' firmware, up to 20 numbers of 4 or 8 \
              bytes (floating point: 8); else, and where a member has none, by the hosts",
        run: |plan, acc| plan.on_nic(OnNicOperation::Allreduce(acc.clone())),
    },
];

pub(super) fn recursive_doubling(plan: &mut Plan<'_>, acc: &Accumulator) {
    let (rank, size) = (plan.rank, plan.size);
    // The largest power of two takes part; of the first 2 * extra ranks the even ones hand over to
    // the odd.
    let partners = 1 << size.ilog2();
    let extra = size - partners;
    let in_pair = rank < 2 * extra;
    if in_pair && rank % 2 == 0 {
        plan.send(rank + 1, plan.own(acc));
        plan.wait();
        plan.receive(rank + 1, plan.own(acc));
        return plan.wait();
    }
    if in_pair {
        plan.receive(rank - 1, plan.other(acc));
        plan.wait();
        plan.take_in(acc, true);
    }
    let place = if in_pair { rank / 2 } else { rank - extra };
    let at = |place: u32| if place < extra { 2 * place + 1 } else { place + extra };
    let mut bit = 1;
    while bit < partners {
        let partner = at(place ^ bit);
        plan.swap(partner, plan.own(acc), partner, plan.other(acc));
        plan.take_in(acc, partner < rank);
        bit *= 2;
    }
    if in_pair {
        plan.send(rank - 1, plan.own(acc));
        plan.wait();
    }
}

fn reduce_bcast(plan: &mut Plan<'_>, acc: &Accumulator) {
    let algorithms = plan.collectives.algorithms;
    (algorithms.reduce.run)(plan, acc, 0);
    let own = plan.own(acc);
    (algorithms.bcast.run)(plan, &own, 0);
    plan.wait();
}

fn ring(plan: &mut Plan<'_>, acc: &Accumulator) {
    if !acc.reduction.operator.commutes() {
        return recursive_doubling(plan, acc);
    }
    let (rank, size, item) = (plan.rank, plan.size, acc.reduction.size());
    // First item of a share.
    let start = |share: u32| acc.count * u64::from(share) / u64::from(size);
    let count = |share: u32| start(share + 1) - start(share);
    let (next, previous) = ((rank + 1) % size, (rank + size - 1) % size);
    for step in 1..size {
        let (out, into) = ((rank + size + 1 - step) % size, (rank + size - step) % size);
        let sent = plan.bytes(acc.va + start(out) * item, count(out) * item);
        let heard = plan.bytes(acc.received, count(into) * item);
        plan.swap(next, sent, previous, heard);
        plan.combine(&acc.reduction, acc.received, acc.va + start(into) * item, count(into));
    }
    for step in 1..size {
        let (out, into) = ((rank + 2 + size - step) % size, (rank + 1 + size - step) % size);
        let sent = plan.bytes(acc.va + start(out) * item, count(out) * item);
        let heard = plan.bytes(acc.va + start(into) * item, count(into) * item);
        plan.swap(next, sent, previous, heard);
    }
}

/// Plans to reduce `send` of all ranks into everyone's `recv`.
pub(crate) fn plan(
    plan: &mut Plan<'_>,
    send: &Items,
    recv: &Items,
    reduction: &Rc<Reduction>,
) -> Result<()> {
    let run = plan.collectives.algorithms.allreduce.run;
    reduce::plan_with(plan, send, Some(recv), reduction, run)
}
