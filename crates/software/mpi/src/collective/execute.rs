//! Execution of the steps that were planned.

use super::plan::{Collectives, Plan};
use super::schedule::{Schedule, Step};
use super::{numbering, on_nic};
use crate::comm::CommId;
use crate::constant;
use crate::error::{Error, Result};
use crate::objects::Objects;
use crate::reduction::{Operands, Operator, Reduction, UserOp};
use crate::request::point_to_point::{Envelope, PointToPoint};
use crate::request::RequestId;
use crate::transport::message::Mode;
use std::rc::Rc;

/// An operation while its steps are executed.
struct Operation {
    id: RequestId,
    comm: CommId,
    tag: i32,
    schedule: Box<Schedule>,
}

/// `inout = input op inout` on `count` packed items, by a function of the program.
pub(crate) struct Combination {
    pub user: UserOp,
    pub reduction: Rc<Reduction>,
    pub input: u64,
    pub inout: u64,
    pub count: u64,
}

/// An operation that goes on when a function of the program has run.
pub(crate) struct Paused {
    operation: Operation,
    pub combination: Combination,
}

/// Executes the steps of collective operations.
pub(crate) struct Executor<'a> {
    pub p2p: &'a mut PointToPoint,
    pub objects: &'a mut Objects,
    pub collectives: &'a mut Collectives,
}

impl Executor<'_> {
    /// Goes on with an operation as far as it can, or until it needs the program.
    pub fn advance(&mut self, id: RequestId) -> Option<Paused> {
        let request = self.p2p.requests.find(id)?;
        let (comm, tag) = (request.comm, request.tag);
        let schedule = request.schedule.take()?;
        self.go_on(Operation { id, comm, tag, schedule })
    }

    /// Goes on when the function of the program has run, with this result.
    pub fn resume(&mut self, paused: Paused, result: Result<()>) -> Option<Paused> {
        let Paused { mut operation, .. } = paused;
        operation.schedule.error = result.err();
        self.go_on(operation)
    }

    fn go_on(&mut self, operation: Operation) -> Option<Paused> {
        let Operation { id, comm, tag, mut schedule } = operation;
        while schedule.error.is_none() && schedule.next < schedule.steps.len() {
            let step = schedule.steps[schedule.next].clone();
            if matches!(step, Step::Wait) && !self.all_over(id, &mut schedule) {
                self.p2p.requests.get_mut(id).schedule = Some(schedule);
                return None;
            }
            schedule.next += 1;
            let result = match step {
                Step::Combine { reduction, input, inout, count } => {
                    match self.combine(reduction, Operands { input, inout }, count) {
                        Ok(None) => Ok(()),
                        Ok(Some(combination)) => {
                            let operation = Operation { id, comm, tag, schedule };
                            return Some(Paused { operation, combination });
                        }
                        Err(error) => Err(error),
                    }
                }
                step => self.step(id, step, comm, tag, &mut schedule),
            };
            if let Err(error) = result {
                schedule.error = Some(error);
            }
        }
        if self.all_over(id, &mut schedule) {
            self.end(id, *schedule);
        } else {
            self.p2p.requests.get_mut(id).schedule = Some(schedule);
        }
        None
    }

    /// Ends an operation, all of whose steps are done.
    fn end(&mut self, id: RequestId, mut schedule: Schedule) {
        if let Some(witness) = &self.p2p.local.witness {
            witness.leaves(id);
        }
        let held = schedule.held.take();
        let released = held.map_or(Ok(()), |handle| self.objects.let_go(self.p2p, handle));
        let request = self.p2p.requests.get_mut(id);
        request.error = schedule.error.take().or(released.err());
        if let Some(status) = schedule.status.take() {
            request.status = status;
        }
        for buffer in schedule.buffers.drain(..) {
            self.p2p.local.give_buffer(buffer);
        }
        schedule.steps.clear();
        schedule.next = 0;
        self.collectives.spare.push(schedule);
        self.p2p.complete(id);
    }

    /// Reduces items, unless that is the program's to do.
    pub fn combine(
        &mut self,
        reduction: Rc<Reduction>,
        operands: Operands,
        count: u64,
    ) -> Result<Option<Combination>> {
        if count * reduction.size() == 0 {
            return Ok(None);
        }
        reduction.charge(&mut self.p2p.local, count);
        match reduction.operator {
            Operator::Predefined(op) => {
                reduction.combine(op, &mut self.p2p.local, operands, count).map(|()| None)
            }
            Operator::User(user) => {
                let Operands { input, inout } = operands;
                Ok(Some(Combination { user, reduction, input, inout, count }))
            }
        }
    }

    fn step(
        &mut self,
        id: RequestId,
        step: Step,
        comm: CommId,
        tag: i32,
        schedule: &mut Schedule,
    ) -> Result<()> {
        let envelope = |peer: u32| Envelope { comm, collective: true, peer: peer as i32, tag };
        let p2p = &mut *self.p2p;
        let (child, expected) = match step {
            Step::Wait => return Ok(()),
            Step::Combine { .. } => unreachable!("it is not a step of its own"),
            Step::Copy { from, to } => return from.copy_to(&mut p2p.local, &to),
            Step::Offer(numbering) => {
                return self.replan(comm, schedule, |p| numbering::offer(p, numbering, tag));
            }
            Step::Settle(numbering) => {
                return self.replan(comm, schedule, |p| numbering::settle(p, numbering, tag));
            }
            Step::Opened(opening) => {
                return self.replan(comm, schedule, |p| on_nic::settle(p, &opening));
            }
            Step::Choose(operation) => {
                return self.replan(comm, schedule, |p| on_nic::choose(p, &operation));
            }
            Step::Held(place) => (on_nic::hold_back(p2p, comm, tag, place)?, None),
            Step::OnNic { group, entries } => (on_nic::start(p2p, comm, tag, group, entries), None),
            Step::Send { to, items } => {
                (p2p.send_items(envelope(to), &items, Mode::Standard)?, None)
            }
            Step::MessageTo { to, tag, items, of } => {
                p2p.local.declare_send(&of);
                (p2p.begin_send(&items, to, tag, comm, Mode::Standard)?, None)
            }
            Step::MessageFrom { from, tag, items } => {
                let child = p2p.begin_receive(&items, from, tag, comm)?;
                schedule.speaker = Some(child);
                (child, None)
            }
            Step::Receive { from, items, exact } => {
                let child = p2p.receive_items(envelope(from), &items)?;
                (child, exact.then_some(items.bytes()))
            }
        };
        let request = self.p2p.requests.get_mut(child);
        if !request.is_complete() {
            request.parent = Some(id);
            self.p2p.requests.get_mut(id).open += 1;
        }
        schedule.children.push((child, expected));
        Ok(())
    }

    /// Plans more of an operation.
    fn replan(
        &mut self,
        comm: CommId,
        schedule: &mut Schedule,
        more: impl FnOnce(&mut Plan<'_>) -> Result<()>,
    ) -> Result<()> {
        let taken = std::mem::take(schedule);
        let mut plan = Plan::new(self.p2p, self.objects, self.collectives, comm, taken)?;
        let planned = more(&mut plan);
        *schedule = plan.suspended();
        planned
    }

    /// True if all sends and receives are over; they are gone then.
    fn all_over(&mut self, id: RequestId, schedule: &mut Schedule) -> bool {
        if self.p2p.requests.get(id).open > 0 {
            return false;
        }
        for (child, expected) in schedule.children.drain(..) {
            let (status, result) = self.p2p.take(child);
            if schedule.speaker == Some(child) {
                (schedule.speaker, schedule.status) = (None, Some(status));
            }
            let result = result.and_then(|()| match expected {
                Some(bytes) if bytes != status.bytes => {
                    Err(unequal(status.source, status.bytes, bytes))
                }
                _ => Ok(()),
            });
            schedule.error = schedule.error.take().or(result.err());
        }
        true
    }
}

fn unequal(from: i32, got: u64, wanted: u64) -> Error {
    let text = format!("rank {from} contributes {got} bytes where {wanted} are expected");
    Error::new(constant::ERR_COUNT, text)
}
