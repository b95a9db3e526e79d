//! Numbers of communicators that are made beside other calls (`MPI_Comm_idup`).
//!
//! A blocking call offers all numbers that are free, and nothing else of its process requests one meanwhile.
//! Of these operations any number may be under way, and not all members of the one need to have begun the
//! other. So each offers a few numbers, in windows that follow from its own communicator and its turn there,
//! the same on all members; while a window is offered for one, nothing in it is offered for another. Where
//! the members find none in common, which is rare, they go on to the next window.

use super::plan::Plan;
use super::schedule::{Accumulator, Numbering};
use crate::comm::{CommId, Comms};
use crate::constant;
use crate::error::Result;
use crate::reduction::op::Op;
use crate::reduction::{Operator, Reduction};
use std::rc::Rc;

/// Bytes of an offer: a bit a number.
const OFFER: u64 = 1;

/// Window that an operation tries in a round: `turn` tells the operations on communicator `number` from one
/// another. In as many rounds as there are windows, each window is tried once.
fn window(number: u16, turn: i32, round: u32) -> usize {
    let key = u32::from(number).wrapping_mul(0x9e37_79b1) ^ (turn as u32).wrapping_mul(0x85eb_ca6b);
    let (first, step) = (key >> 16, key >> 8 | 1);
    first.wrapping_add(step.wrapping_mul(round)) as usize % Comms::WINDOWS
}

/// Plans to find a number for `new`, a copy of the plan's communicator; all its members do so.
pub(crate) fn plan(plan: &mut Plan<'_>, new: Option<CommId>) -> Result<()> {
    let va = plan.buffer(2 * OFFER);
    plan.offer(Numbering { new, va, round: 0, lent: false });
    Ok(())
}

/// Offers the numbers of a window, and plans how they meet those of the others.
pub(crate) fn offer(plan: &mut Plan<'_>, mut numbering: Numbering, turn: i32) -> Result<()> {
    let window = window(plan.p2p.comm(plan.comm)?.number, turn, numbering.round);
    let offer = plan.p2p.comms.lend(window);
    numbering.lent = offer.is_some();
    plan.p2p.local.write(numbering.va, &[offer.unwrap_or(0)])?;
    let datatype = plan.objects.types.committed(constant::BYTE)?;
    let operator = Operator::Predefined(Op::BitAnd);
    let reduction = Rc::new(Reduction { operator, datatype, handle: constant::BYTE });
    let (va, received) = (numbering.va, numbering.va + OFFER);
    let acc = Accumulator { va, bytes: OFFER, received, reduction, count: 1 };
    let run = plan.collectives.algorithms.allreduce.run;
    run(plan, &acc);
    plan.wait();
    plan.settle(numbering);
    Ok(())
}

/// Takes the number that all have offered, or plans the next round.
pub(crate) fn settle(plan: &mut Plan<'_>, numbering: Numbering, turn: i32) -> Result<()> {
    let comms = &mut plan.p2p.comms;
    let window = window(comms.get(plan.comm)?.number, turn, numbering.round);
    if numbering.lent {
        comms.give_back(window);
    }
    let mut agreed = [0];
    plan.p2p.local.read(numbering.va, &mut agreed)?;
    if let Some(number) = Comms::in_window(window, agreed[0]) {
        return numbering.new.map_or(Ok(()), |new| comms.number(new, number));
    }
    let round = numbering.round + 1;
    if round as usize == Comms::WINDOWS {
        numbering.new.map_or(Ok(()), |new| comms.remove(new))?;
        return Err(Comms::none_left());
    }
    plan.offer(Numbering { round, ..numbering });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn an_operation_tries_all_windows() {
        for (number, turn) in [(0, 1), (0, 2), (1, 1), (77, 1 << 30)] {
            let rounds = 0..Comms::WINDOWS as u32;
            let tried: BTreeSet<_> = rounds.map(|round| window(number, turn, round)).collect();
            assert_eq!(tried.len(), Comms::WINDOWS, "{number} {turn}");
        }
        let first: BTreeSet<_> = (0..32).map(|turn| window(3, turn, 0)).collect();
        assert!(first.len() > 16, "turns of a communicator begin apart: {first:?}");
    }
}
