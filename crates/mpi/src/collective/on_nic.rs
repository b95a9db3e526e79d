//! Collective operations that the network interface performs (`mpi.barrier = "nic"`, `mpi.allreduce =
//! "nic"`).
//!
//! A communicator has a group for its barriers and one for its reductions. Each member gives its own schedule
//! to its network interface at the first operation; then all agree, by messages, whether everybody could: if
//! not, the operations stay the hosts'. The schedules are those of the hosts' algorithms, so that results are
//! equal bit by bit.

use super::schedule::{Plan, Schedule};
use super::{allreduce, barrier, Accumulator};
use crate::comm::{CommId, OnNicState};
use crate::constant::{self, PROC_NULL};
use crate::error::Result;
use crate::process::Process;
use crate::reduction::op::Op;
use crate::reduction::{Operator, Reduction};
use crate::request::{Direction, Request, RequestId};
use crate::transport::{Awaits, Entries, GroupStep};
use std::rc::Rc;

/// An operation that the network interface may perform.
#[derive(Clone, Debug)]
pub(crate) enum OnNicOperation {
    Barrier,
    Allreduce(Accumulator),
}

impl OnNicOperation {
    /// Number of the communicator's group that performs it.
    pub fn place(&self) -> usize {
        match self {
            OnNicOperation::Barrier => 0,
            OnNicOperation::Allreduce(_) => 1,
        }
    }
}

/// An agreement about a group under way.
#[derive(Clone, Debug)]
pub(crate) struct Opening {
    operation: OnNicOperation,
    /// Address of one byte: 1 if all have opened the group.
    va: u64,
    /// This process has opened it.
    opened: bool,
}

/// Number of a communicator's group: another for each that a process can have at a time.
fn group_of(number: u16, place: usize) -> u16 {
    2 * number + place as u16
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
        let possible = self.size > 1 && self.process.performs(&operation);
        let comm = self.process.comm(self.comm).ok().filter(|_| possible);
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
        let number = self.process.comm(self.comm).map_or(0, |comm| comm.number);
        self.collect(group_of(number, operation.place()), entries_of(operation));
    }

    /// Opens the group, and plans how all learn whether everybody has.
    fn agree(&mut self, operation: OnNicOperation) {
        let va = self.buffer(2);
        let opened = self.process.open_group(self.comm, operation.place()).unwrap_or(false);
        self.process.set_group(self.comm, operation.place(), OnNicState::Asked);
        let byte = self.process.write(va, &[u8::from(opened)]);
        byte.expect("the buffer is the library's own");
        let datatype = self.process.datatype(constant::BYTE).expect("it is predefined");
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

impl Process {
    /// True if the network interface knows such an operation: all members give the same answer.
    fn performs(&self, operation: &OnNicOperation) -> bool {
        match operation {
            OnNicOperation::Barrier => true,
            OnNicOperation::Allreduce(_) => {
                entries_of(operation).is_some_and(|entries| self.transport.reduces(&entries))
            }
        }
    }

    fn open_group(&mut self, comm: CommId, place: usize) -> Result<bool> {
        let comm = self.comms.get(comm)?;
        let steps = match place {
            0 => dissemination(comm.rank, &comm.members),
            _ => recursive_doubling(comm.rank, &comm.members),
        };
        let group = group_of(comm.number, place);
        Ok(self.transport.open_group(&mut self.local, group, &steps, place == 1))
    }

    /// Takes what all have agreed on, and plans the operation.
    pub(super) fn settle_group(
        &mut self,
        opening: Opening,
        comm: CommId,
        schedule: &mut Schedule,
    ) -> Result<()> {
        let Opening { operation, va, opened } = opening;
        let mut agreed = [0];
        self.read(va, &mut agreed)?;
        let place = operation.place();
        let number = self.comm(comm)?.number;
        if opened && agreed == [0] {
            self.transport.close_group(&mut self.local, group_of(number, place));
        }
        let state = if agreed == [0] { OnNicState::Nowhere } else { OnNicState::Open };
        self.set_group(comm, place, state);
        self.plan_chosen(&operation, comm, schedule)?;
        self.let_next_go(comm, place);
        Ok(())
    }

    /// Plans an operation that was held back.
    pub(super) fn choose(
        &mut self,
        operation: OnNicOperation,
        comm: CommId,
        schedule: &mut Schedule,
    ) -> Result<()> {
        self.plan_chosen(&operation, comm, schedule)?;
        let place = operation.place();
        self.comms.get_mut(comm)?.groups[place].held.pop_front();
        self.let_next_go(comm, place);
        Ok(())
    }

    /// Plans an operation when it is known who performs it. Entering is its next step, and no other operation
    /// of the process comes between.
    fn plan_chosen(
        &mut self,
        operation: &OnNicOperation,
        comm: CommId,
        schedule: &mut Schedule,
    ) -> Result<()> {
        let open = self.comm(comm)?.groups[operation.place()].state == OnNicState::Open;
        let mut plan = Plan::resumed(self, comm, std::mem::take(schedule))?;
        match open {
            true => plan.enter(operation),
            false => plan.by_hosts(operation),
        }
        *schedule = plan.suspended();
        Ok(())
    }

    fn set_group(&mut self, comm: CommId, place: usize, state: OnNicState) {
        if let Ok(comm) = self.comms.get_mut(comm) {
            comm.groups[place].state = state;
        }
    }

    /// Holds an operation back until those of the same group before it have been planned.
    pub(super) fn hold_back(&mut self, comm: CommId, tag: i32, place: usize) -> Result<RequestId> {
        let id = self.part(comm, tag);
        self.comms.get_mut(comm)?.groups[place].held.push_back(id);
        Ok(id)
    }

    fn let_next_go(&mut self, comm: CommId, place: usize) {
        let held = self.comms.get(comm).ok().and_then(|comm| comm.groups[place].held.front());
        if let Some(id) = held.copied() {
            self.complete(id);
        }
    }

    /// A part of a collective operation that is no message.
    fn part(&mut self, comm: CommId, tag: i32) -> RequestId {
        let mut request = Request::new(Direction::Collective, comm, PROC_NULL, tag);
        request.collective = true;
        self.requests.insert(request)
    }

    /// Enters an operation of the network interface.
    pub(super) fn start_on_nic(
        &mut self,
        comm: CommId,
        tag: i32,
        group: u16,
        entries: Option<Entries>,
    ) -> RequestId {
        self.charge(self.local.params.request);
        let id = self.part(comm, tag);
        self.transport.collect(&mut self.local, id, group, entries);
        id
    }

    /// A communicator goes: its groups are closed.
    pub(crate) fn close_groups(&mut self, comm: CommId) -> Result<()> {
        let number = self.comm(comm)?.number;
        for place in 0..2 {
            if self.comm(comm)?.groups[place].state == OnNicState::Open {
                self.transport.close_group(&mut self.local, group_of(number, place));
            }
        }
        Ok(())
    }
}
