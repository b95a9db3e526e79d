//! Numbers of communicators that are made beside other calls (`MPI_Comm_idup`).
//!
//! A blocking call offers all numbers that are free, and nothing else of its process requests one meanwhile.
//! Of these operations any number may be under way, and not all members of the one need to have begun the
//! other. So each offers a few numbers, in windows that follow from its own communicator and its turn there,
//! the same on all members; while a window is offered for one, nothing in it is offered for another. Where
//! the members find none in common, which is rare, they go on to the next window.

use super::{CommId, Comms};
use crate::collective::schedule::{Plan, Schedule};
use crate::collective::Accumulator;
use crate::constant;
use crate::error::{Error, Result};
use crate::process::Process;
use crate::reduction::op::Op;
use crate::reduction::{Operator, Reduction};
use crate::request::RequestId;
use std::rc::Rc;

/// An agreement under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbering {
    /// Communicator that gets the number; `None` if this rank could not make one.
    new: Option<CommId>,
    /// Address of the offer; that of another rank is behind it.
    va: u64,
    /// Windows tried before.
    round: u32,
    /// The numbers of the window are offered here.
    lent: bool,
}

/// Bytes of an offer: a bit a number.
const OFFER: u64 = 1;

/// Window that an operation tries in a round: `turn` tells the operations on communicator `number` from one
/// another. In as many rounds as there are windows, each window is tried once.
fn window(number: u16, turn: i32, round: u32) -> usize {
    let key = u32::from(number).wrapping_mul(0x9e37_79b1) ^ (turn as u32).wrapping_mul(0x85eb_ca6b);
    let (first, step) = (key >> 16, key >> 8 | 1);
    first.wrapping_add(step.wrapping_mul(round)) as usize % Comms::WINDOWS
}

impl Process {
    /// Begins to find a number for `new`, a copy of `parent`; all members of `parent` do so.
    pub(crate) fn begin_numbering(
        &mut self,
        parent: CommId,
        new: Option<CommId>,
    ) -> Result<RequestId> {
        let mut plan = Plan::new(self, parent)?;
        let va = plan.buffer(2 * OFFER);
        plan.offer(Numbering { new, va, round: 0, lent: false });
        Ok(plan.begin())
    }

    /// Offers the numbers of a window, and plans how they meet those of the others.
    pub(crate) fn offer_numbers(
        &mut self,
        mut numbering: Numbering,
        (parent, turn): (CommId, i32),
        schedule: &mut Schedule,
    ) -> Result<()> {
        let window = window(self.comm(parent)?.number, turn, numbering.round);
        let offer = self.comms.lend(window);
        numbering.lent = offer.is_some();
        self.write(numbering.va, &[offer.unwrap_or(0)])?;
        let datatype = self.datatype(constant::BYTE)?;
        let operator = Operator::Predefined(Op::BitAnd);
        let reduction = Rc::new(Reduction { operator, datatype, handle: constant::BYTE });
        let (va, received) = (numbering.va, numbering.va + OFFER);
        let acc = Accumulator { va, bytes: OFFER, received, reduction, count: 1 };
        let run = self.local.params.algorithms.allreduce.run;
        let mut plan = Plan::resumed(self, parent, std::mem::take(schedule))?;
        run(&mut plan, &acc);
        plan.wait();
        plan.settle(numbering);
        *schedule = plan.suspended();
        Ok(())
    }

    /// Takes the number that all have offered, or plans the next round.
    pub(crate) fn settle_number(
        &mut self,
        numbering: Numbering,
        (parent, turn): (CommId, i32),
        schedule: &mut Schedule,
    ) -> Result<()> {
        let window = window(self.comm(parent)?.number, turn, numbering.round);
        if numbering.lent {
            self.comms.give_back(window);
        }
        let mut agreed = [0];
        self.read(numbering.va, &mut agreed)?;
        if let Some(number) = Comms::in_window(window, agreed[0]) {
            return numbering.new.map_or(Ok(()), |new| self.comms.number(new, number));
        }
        let round = numbering.round + 1;
        if round as usize == Comms::WINDOWS {
            numbering.new.map_or(Ok(()), |new| self.comms.remove(new))?;
            return Err(none_left());
        }
        schedule.offer(Numbering { round, ..numbering });
        Ok(())
    }
}

/// The error where all numbers are in use.
pub(crate) fn none_left() -> Error {
    Error::new(constant::ERR_OTHER, "no communicator is left; free some (MPI_Comm_free)")
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
