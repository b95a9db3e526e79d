//! Collective operations that the network interface performs (`mpi.barrier = "nic"`, `mpi.allreduce =
//! "nic"`).
//!
//! A communicator has a group for its barriers and one for its reductions. Each member gives its own schedule
//! to its network interface at the first operation; then all agree, by messages, whether everybody could: if
//! not, the operations stay the hosts'. The schedules are those of the hosts' algorithms, so that results are
//! equal bit by bit.

use super::plan::Plan;
use super::schedule::{Accumulator, OnNicOperation, Opening};
use super::{allreduce, barrier};
use crate::comm::{group_of, CommId, OnNicState};
use crate::constant::{self, PROC_NULL};
use crate::error::Result;
use crate::reduction::op::Op;
use crate::reduction::{Operator, Reduction};
use crate::request::point_to_point::PointToPoint;
use crate::request::table::Request;
use crate::request::{Direction, RequestId};
use crate::transport::message::{Awaits, Entries, GroupStep};
use crate::transport::Transport;
use std::rc::Rc;

impl OnNicOperation {
    /// Number of the communicator's group that performs it.
    pub fn place(&self) -> usize {
        match self {
            OnNicOperation::Barrier => 0,
            OnNicOperation::Allreduce(_) => 1,
        }
    }
}

/// Steps of a rank in the dissemination barrier.
fn dissemination(rank: u32, members: &[u32]) -> Vec<GroupStep> {
    let size = members.len() as u32;
    let distances = (0..u32::BITS).map(|round| 1 << round).take_while(|distance| *distance < size);
    let step = |distance| GroupStep {
        tells: Some(members[((rank + distance) % size) as usize]),
        awaits: Awaits::Word,
    };
    distances.map(step).collect()
}

/// Steps of a rank in recursive doubling; the first and the last are for ranks beyond a power of two.
fn recursive_doubling(rank: u32, members: &[u32]) -> Vec<GroupStep> {
    let size = members.len() as u32;
    let rounds = size.ilog2();
    let extra = size - (1 << rounds);
    let tells = |rank: u32| Some(members[rank as usize]);
    let mut steps = vec![GroupStep::default(); rounds as usize + 2];
    let last = steps.len() - 1;
    let in_pair = rank < 2 * extra;
    if in_pair && rank % 2 == 0 {
        steps[0].tells = tells(rank + 1);
        steps[last].awaits = Awaits::Result;
        return steps;
    }
    if in_pair {
        steps[0].awaits = Awaits::Word;
        steps[last].tells = tells(rank - 1);
    }
    let place = if in_pair { rank / 2 } else { rank - extra };
    let at = |place: u32| if place < extra { 2 * place + 1 } else { place + extra };
    for round in 0..rounds {
        let partner = at(place ^ (1 << round));
        steps[round as usize + 1] = GroupStep { tells: tells(partner), awaits: Awaits::Word };
    }
    steps
}

impl Plan<'_> {
    /// Plans an operation for the network interface if it can perform it, else for the hosts.
    pub fn on_nic(&mut self, operation: OnNicOperation) {
        let possible = self.size > 1 && performs(self.p2p.transport.as_ref(), &operation);
        let comm = self.p2p.comm(self.comm).ok().filter(|_| possible);
        let Some(group) = comm.map(|comm| &comm.groups[operation.place()]) else {
            return self.by_hosts(&operation);
        };
        match group.state {
            // Operations of a group are entered in the order in which they are begun.
            _ if !group.held.is_empty() => self.hold(operation),
            OnNicState::Asked => self.hold(operation),
            OnNicState::Open => self.enter(&operation),
            OnNicState::Nowhere => self.by_hosts(&operation),
            OnNicState::Unknown => self.agree(operation),
        }
    }

    fn by_hosts(&mut self, operation: &OnNicOperation) {
        match operation {
            OnNicOperation::Barrier => barrier::dissemination(self),
            OnNicOperation::Allreduce(acc) => allreduce::recursive_doubling(self, acc),
        }
    }

    fn enter(&mut self, operation: &OnNicOperation) {
        let number = self.p2p.comm(self.comm).map_or(0, |comm| comm.number);
        self.collect(group_of(number, operation.place()), entries_of(operation));
    }

    /// Opens the group, and plans how all learn whether everybody has.
    fn agree(&mut self, operation: OnNicOperation) {
        let va = self.buffer(2);
        let opened = open_group(self.p2p, self.comm, operation.place()).unwrap_or(false);
        set_group(self.p2p, self.comm, operation.place(), OnNicState::Asked);
        let byte = self.p2p.local.write(va, &[u8::from(opened)]);
        byte.expect("the buffer is the library's own");
        let datatype = self.objects.types.committed(constant::BYTE).expect("it is predefined");
        let operator = Operator::Predefined(Op::BitAnd);
        let reduction = Rc::new(Reduction { operator, datatype, handle: constant::BYTE });
        let acc = Accumulator { va, bytes: 1, received: va + 1, reduction, count: 1 };
        allreduce::recursive_doubling(self, &acc);
        self.wait();
        self.opened(Opening { operation, va, opened });
    }
}

/// The entries of an operation, if it reduces and is one of the kinds that network interfaces may know.
fn entries_of(operation: &OnNicOperation) -> Option<Entries> {
    let OnNicOperation::Allreduce(acc) = operation else { return None };
    let Operator::Predefined(op) = acc.reduction.operator else { return None };
    let basic = acc.reduction.datatype.basic.filter(|_| acc.reduction.datatype.predefined)?;
    Some(Entries { op, basic, va: acc.va, count: u32::try_from(acc.count).ok()? })
}

/// True if the network interface knows such an operation: all members give the same answer.
fn performs(transport: &dyn Transport, operation: &OnNicOperation) -> bool {
    match operation {
        OnNicOperation::Barrier => true,
        OnNicOperation::Allreduce(_) => {
            entries_of(operation).is_some_and(|entries| transport.reduces(&entries))
        }
    }
}

fn open_group(p2p: &mut PointToPoint, comm: CommId, place: usize) -> Result<bool> {
    let comm = p2p.comms.get(comm)?;
    let steps = match place {
        0 => dissemination(comm.rank, &comm.members),
        _ => recursive_doubling(comm.rank, &comm.members),
    };
    let group = group_of(comm.number, place);
    Ok(p2p.transport.open_group(&mut p2p.local, group, &steps, place == 1))
}

fn set_group(p2p: &mut PointToPoint, comm: CommId, place: usize, state: OnNicState) {
    if let Ok(comm) = p2p.comms.get_mut(comm) {
        comm.groups[place].state = state;
    }
}

/// Takes what all have agreed on, and plans the operation.
pub(super) fn settle(plan: &mut Plan<'_>, opening: &Opening) -> Result<()> {
    let Opening { operation, va, opened } = opening;
    let mut agreed = [0];
    plan.p2p.local.read(*va, &mut agreed)?;
    let place = operation.place();
    let number = plan.p2p.comm(plan.comm)?.number;
    if *opened && agreed == [0] {
        plan.p2p.transport.close_group(&mut plan.p2p.local, group_of(number, place));
    }
    let state = if agreed == [0] { OnNicState::Nowhere } else { OnNicState::Open };
    set_group(plan.p2p, plan.comm, place, state);
    plan_chosen(plan, operation)?;
    let_next_go(plan.p2p, plan.comm, place);
    Ok(())
}

/// Plans an operation that was held back.
pub(super) fn choose(plan: &mut Plan<'_>, operation: &OnNicOperation) -> Result<()> {
    plan_chosen(plan, operation)?;
    let place = operation.place();
    plan.p2p.comms.get_mut(plan.comm)?.groups[place].held.pop_front();
    let_next_go(plan.p2p, plan.comm, place);
    Ok(())
}

/// Plans an operation when it is known who performs it. Entering is its next step, and no other operation
/// of the process comes between.
fn plan_chosen(plan: &mut Plan<'_>, operation: &OnNicOperation) -> Result<()> {
    match plan.p2p.comm(plan.comm)?.groups[operation.place()].state {
        OnNicState::Open => plan.enter(operation),
        _ => plan.by_hosts(operation),
    }
    Ok(())
}

/// Holds an operation back until those of the same group before it have been planned.
pub(super) fn hold_back(
    p2p: &mut PointToPoint,
    comm: CommId,
    tag: i32,
    place: usize,
) -> Result<RequestId> {
    let id = part(p2p, comm, tag);
    p2p.comms.get_mut(comm)?.groups[place].held.push_back(id);
    Ok(id)
}

fn let_next_go(p2p: &mut PointToPoint, comm: CommId, place: usize) {
    let held = p2p.comms.get(comm).ok().and_then(|comm| comm.groups[place].held.front());
    if let Some(id) = held.copied() {
        p2p.complete(id);
    }
}

/// A part of a collective operation that is no message.
fn part(p2p: &mut PointToPoint, comm: CommId, tag: i32) -> RequestId {
    let mut request = Request::new(Direction::Collective, comm, PROC_NULL, tag);
    request.collective = true;
    p2p.requests.insert(request)
}

/// Enters an operation of the network interface.
pub(super) fn start(
    p2p: &mut PointToPoint,
    comm: CommId,
    tag: i32,
    group: u16,
    entries: Option<Entries>,
) -> RequestId {
    p2p.local.charge(p2p.local.params.request);
    let id = part(p2p, comm, tag);
    p2p.transport.collect(&mut p2p.local, id, group, entries);
    id
}
